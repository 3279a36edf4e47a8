"""Compiled kernels are kept on disk and made anew when their file changes: so all that they call must stand in that file."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from effort import sized
from sfumato.engines import kernels

SOURCE = Path(kernels.__file__).read_text()
ASK = """
import numpy as np, kernels
out = np.zeros(1)
kernels.dense_gradient(np.ones((1, 1)), np.ones(1), np.ones(1), np.zeros(1), 0.0, 0, 0.0, 0.0, out)
print(out[0], sum(kernels.dense_gradient.stats.cache_hits.values()))
"""
# The file with the slope of the logistic loss alone, which is compiled in a third of the time; the long form takes all.
OTHERS = SOURCE[SOURCE.index("    if code == 1:") : SOURCE.index("\n\n\n@numba.njit(nogil=True")]
KEPT = sized(SOURCE.replace(OTHERS, "    return 0.0"), SOURCE)
OLD, NEW = "return -y / (1.0 +", "return -2.0 * y / (1.0 +"


def imports_of_our_own(source: str) -> list[str]:
    """Modules of the package, or relative ones, that a source imports anywhere."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            found += ["." * node.level + (node.module or "")]
        elif isinstance(node, ast.Import):
            found += [name.name for name in node.names]
    return [name for name in found if name.split(".")[0] in ("", "sfumato")]


def test_the_kernels_call_nothing_from_another_file_of_ours():
    assert imports_of_our_own(SOURCE) == []


@pytest.mark.parametrize(
    "line", ["from sfumato.engines.slopes import slope", "from .slopes import slope", "import sfumato"]
)
def test_an_import_of_our_own_is_seen(line):
    assert imports_of_our_own(f"{SOURCE}\n{line}\n") != []


def asked(folder: Path) -> tuple[float, int]:
    """A gradient sum of the kernels in a folder, in a new process, and how many kernels came from the disk."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    run = subprocess.run(
        [sys.executable, "-B", "-c", ASK], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    value, hits = run.stdout.split()
    return float(value), int(hits)


def test_a_changed_slope_is_compiled_anew_and_an_unchanged_one_is_not(tmp_path):
    assert KEPT.count(OLD) == 1
    (tmp_path / "kernels.py").write_text(KEPT)
    assert asked(tmp_path) == (-0.5, 0)
    assert asked(tmp_path) == (-0.5, 1)
    (tmp_path / "kernels.py").write_text(KEPT.replace(OLD, NEW))
    assert asked(tmp_path) == (-1.0, 0)


@pytest.mark.planted
def test_a_slope_in_a_file_of_its_own_would_go_stale(tmp_path):
    """The planted fault: the same kernel with its slope imported answers with the old formula after a change."""
    end = KEPT.index("@numba.njit(nogil=True")
    middle = KEPT.index("\n\n\n", end)
    (tmp_path / "slopes.py").write_text(KEPT[:end])
    head = "import numba, numpy as np\nfrom numpy.typing import NDArray\nfrom slopes import FAST, Array, slope\n\n\n"
    (tmp_path / "kernels.py").write_text(head + KEPT[end:middle])
    assert asked(tmp_path) == (-0.5, 0)
    (tmp_path / "slopes.py").write_text(KEPT[:end].replace(OLD, NEW))
    assert asked(tmp_path) == (-0.5, 1)
