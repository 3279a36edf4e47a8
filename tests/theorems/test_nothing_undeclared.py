"""A guarantee lists as declared only what a caller declared: no theorem fills in a hypothesis by itself."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

import sfumato as sf
from sfumato import theorems
from sfumato.models.losses import _scalar
from sfumato.theorems import exponential, finite_step, path, sharp

RUN = {"public_start": True, "full_batch": True}
NUMBERS = {"difference": 1.0, "step": 0.1, "steps": 3}
WHOLE = {"public_schedule": True, **RUN}
CALLS = [
    (sharp.gibbs_draw, {"difference": 1.0, "strong_convexity": 1.0}, {"convex": True, "convex_domain": True}),
    (finite_step.last_iterate, {**NUMBERS, "strong_convexity": 1.0, "smoothness": 2.0}, {**RUN, "convex": True, "momentum": 0.0}),
    (path.whole_path, NUMBERS, WHOLE),
    (exponential.ops_draw, {"power": 1.0, "radius": 1.0, "ball": 1.0}, {"difference": 1.0}),
    (
        sf.losses.ScalarLink,
        {"value": lambda u, y: abs(u), "derivative": lambda u, y: 1.0 - 2.0 * (u < 0), "labels": (0.0,)}
        | {"radius": 1.0, "derivative_bound": 1.0},
        {"convex": True},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("function", "numbers", "declared"), CALLS, ids=[call[0].__name__ for call in CALLS])
def test_what_is_not_declared_is_missed(function, numbers, declared):
    function(**numbers, **declared)
    for name in declared:
        with pytest.raises(TypeError, match=f"missing 1 required .*argument: '{name}'"):
            function(**numbers, **{key: value for key, value in declared.items() if key != name})


def optimistic(function) -> list[str]:
    """Parameters of a function that are True unless a caller says otherwise."""
    found = inspect.signature(function).parameters.values()
    return [f"{function.__module__}.{function.__name__}: {each.name}" for each in found if each.default is True]


def test_no_theorem_has_a_hypothesis_that_is_true_by_default():
    functions = []
    for module in pkgutil.iter_modules(theorems.__path__):
        members = vars(importlib.import_module(f"sfumato.theorems.{module.name}")).values()
        functions += [each for each in members if inspect.isfunction(each) and each.__module__.startswith("sfumato")]
    assert len(functions) > 100
    assert [name for function in functions for name in optimistic(function)] == []
    assert optimistic(_scalar.constants_of_slope) + optimistic(sf.losses.ScalarLink.__init__) == []


def test_an_optimistic_default_is_seen():
    def claim(*, power: float, convex: bool = True) -> None: ...

    assert [name.rpartition(" ")[2] for name in optimistic(claim)] == ["convex"]
