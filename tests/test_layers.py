"""The layers: each room imports from earlier rooms only, and some pairs never meet. Read from the source, not run."""

from __future__ import annotations

import ast

import pytest

from rooms import LAYERS, SOURCE, imports

LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
NEVER = {
    ("samplers", "privacy"),
    ("engines", "privacy"),
    ("queries", "dataset"),
    ("queries", "engines"),
    ("ledger", "dataset"),
    ("models", "theorems"),
    ("procedures", "dataset"),
}
HEAVY = {
    "numba": "engines",
    "sklearn": "estimators",
    "matplotlib": "plots",
    "jax": None,
    "dp_accounting": None,
    "scipy": None,
}


def faults(files: dict[str, str]) -> list[str]:
    """Every import edge that the layers forbid, for sources keyed by path relative to the package."""
    said = []
    for path, text in files.items():
        room = path.split("/")[0].removesuffix(".py")
        if room == "__init__":
            continue
        if room not in LEVEL:
            said.append(f"{path}: {room} stands in no layer")
            continue
        for module, line, at_import in imports(text):
            where = f"{path}:{line}"
            if module == "<relative>":
                said.append(f"{where}: relative import; write the whole name")
            parts = module.split(".")
            if parts[0] in HEAVY and at_import and room != HEAVY[parts[0]]:
                said.append(f"{where}: imports {parts[0]} at import time")
            if parts[0] != "sfumato" or len(parts) < 2:
                continue
            other = parts[1]
            if (room, other) in NEVER:
                said.append(f"{where}: {room} must never know {other}")
            elif other not in LEVEL:
                said.append(f"{where}: imports {other}, which stands in no layer")
            elif LEVEL[other] > LEVEL[room] or (LEVEL[other] == LEVEL[room] and other != room and LEVEL[room] > 0):
                said.append(f"{where}: {room} imports {other} from a layer that is not earlier")
    return said


def test_every_edge_is_allowed():
    files = {str(p.relative_to(SOURCE)): p.read_text() for p in SOURCE.rglob("*.py")}
    assert len(files) > 30
    assert faults(files) == []


PLANTED = [
    ("models/x.py", "from sfumato.theorems import sharp", "must never know"),
    ("privacy/x.py", "import sfumato.models.gibbs", "not earlier"),
    ("samplers/x.py", "from sfumato.privacy.curves import Gaussian", "must never know"),
    ("theorems/x.py", "import scipy.special", "import time"),
    ("planning.py", "from sfumato import comparing", "not earlier"),
    ("models/x.py", "from .constants import Constants", "relative"),
    ("nowhere/x.py", "import math", "no layer"),
    ("queries/x.py", "def f():\n    from sfumato import dataset", "must never know"),
]


@pytest.mark.planted
@pytest.mark.parametrize(("path", "text", "said"), PLANTED)
def test_a_forbidden_edge_is_seen(path, text, said):
    assert any(said in fault for fault in faults({path: text}))


def test_source_has_no_assert_and_no_temperature():
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        assert not any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(text))), path
        assert "temperature" not in text.lower(), f"{path}: the public word is power"
