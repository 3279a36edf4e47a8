"""`sf.theorems.sharp.gibbs_draw(...)`: every module of theorems is reached by its name, and imported only then."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import sfumato as sf

MODULES = sorted(path.stem for path in Path(sf.theorems.__file__).parent.glob("[a-z]*.py"))


@pytest.mark.parametrize("name", MODULES)
def test_a_module_of_theorems_is_reached_by_its_name(name):
    assert getattr(sf.theorems, name).__name__ == f"sfumato.theorems.{name}"
    assert name in dir(sf.theorems)


def test_the_sharp_theorem_is_called_by_its_name():
    claim = sf.theorems.sharp.gibbs_draw(difference=1.0, strong_convexity=4.0, convex=True, convex_domain=True)
    assert claim.curve.mu == pytest.approx(0.5)


def test_a_name_that_no_module_has_is_refused():
    with pytest.raises(AttributeError, match="blunt"):
        _ = sf.theorems.blunt


def test_naming_the_theorems_imports_none_of_them():
    code = (
        "import sys, sfumato as sf; sf.theorems; print([m for m in sys.modules if m.startswith('sfumato.theorems.')])"
    )
    code += "; sf.theorems.quantile; print('sfumato.theorems.quantile' in sys.modules, 'sfumato.theorems.path' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "True False"]
