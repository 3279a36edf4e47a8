"""Every example runs as a reader runs it: from another folder, in little time, and tells its story.

The long form gives each example a process of its own; the quick one runs them in turn in one, since the imports take longest.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from effort import LONG

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
SAID = {
    "first_release": ["verified:", "refused:", "spent epsilon"],
    "price_of_a_draw": ["sharp theorem", "finite-step"],
    "length_of_stay": ["days on average", "admissions a year", "of 2 at delta 1e-06 in 2 charges"],
    "survey_by_region": ["coast", "island", "for four regions", "guesses this one right"],
    "income_classifier": ["epsilon 0.1", "epsilon 2.0", "right; per year", "guesses this one right"],
    "house_prices": ["a garden", "a public house", "the mean price is between"],
    "page_visits": ["next=left | article", "invented visit:"],
    "cluster": ["engine='dask'", "passes over the records, on 2 workers", "odds ratio"],
    "public_prior": ["alpha=1,", "published under the informed prior"],
}


# Runs each file named on its command line as a program and prints, as one document, what each of them printed.
IN_TURN = """
import contextlib, io, json, runpy, sys
said = {}
for path in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        runpy.run_path(path, run_name="__main__")
    said[path] = out.getvalue()
print(json.dumps(said))
"""


def told(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "error"}
    return subprocess.run(
        [sys.executable, *command],
        check=False,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_every_example_is_listed():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SAID)


# The quick form runs those of the README; `make shown` runs all.
QUICK = ["first_release", "price_of_a_draw"]


@pytest.mark.parametrize("names", [[name] for name in sorted(SAID)] if LONG else [QUICK], ids="-".join)
def test_an_example_runs_and_tells_its_story(names, tmp_path):
    paths = {name: str(EXAMPLES / f"{name}.py") for name in names}
    ran = told(tmp_path, *paths.values()) if LONG else told(tmp_path, "-c", IN_TURN, *paths.values())
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    said = {paths[names[0]]: ran.stdout} if LONG else json.loads(ran.stdout)
    assert [(name, word) for name in names for word in SAID[name] if word not in said[paths[name]]] == []
    assert list(tmp_path.iterdir()) == []  # nothing is left behind


@pytest.mark.parametrize("name", sorted(SAID))
def test_an_example_uses_public_names_only_and_no_seed_in_a_release(name):
    tree = ast.parse((EXAMPLES / f"{name}.py").read_text())
    assert ast.get_docstring(tree)
    imports = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    assert [module for module in imports if module.startswith("sfumato")] == []
    words = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
    assert words & {"random_state", "randomness"} == set()


@pytest.mark.planted
def test_an_example_that_fails_or_warns_is_seen(tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("import warnings\nwarnings.warn('odd')\n")
    assert told(tmp_path, str(broken)).returncode != 0
    assert told(tmp_path, "-c", IN_TURN, str(broken)).returncode != 0
