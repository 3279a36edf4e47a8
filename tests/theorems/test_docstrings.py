"""Every public theorem function states its claim, symbols, arguments and source in 5 to 20 lines."""

from __future__ import annotations

import inspect

import pytest

import sfumato as sf

# Calculations that two modules share.
HELPERS = ("shrunk", "tail_of")
FUNCTIONS = {
    f"{module}.{name}": member
    for module in sf.theorems.__all__
    for name, member in inspect.getmembers(getattr(sf.theorems, module), inspect.isfunction)
    if member.__module__.startswith("sfumato.theorems.") and not name.startswith(("_", "check_"))
    if name not in HELPERS
}


def fits(text: str | None) -> bool:
    return 5 <= len((text or "").splitlines()) <= 20


def test_a_short_or_a_long_docstring_is_noticed():
    assert not fits(None)
    assert not fits("A riddle.")
    assert not fits("a line\n" * 21)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_theorem_is_documented_in_full(name):
    assert fits(inspect.getdoc(FUNCTIONS[name])), inspect.getdoc(FUNCTIONS[name])
