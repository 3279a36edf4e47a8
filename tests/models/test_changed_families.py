"""A class that extends a family of the package is not priced as its parent for what it counts or draws otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.models.families import TABLE
from sfumato.models.families.family import Family

# A concrete function that each family uses to count, to bound or to draw.
CHANGED = {
    "BetaBernoulli": "tally", "BetaBinomial": "tally", "DirichletCategorical": "codes", "Histogram": "codes",
    "CrossTable": "tally", "BoundedMean": "units", "Finite": "law", "Quantile": "tally", "Quantiles": "tally",
    "GammaPoisson": "tally", "ExponentialRate": "statistic", "LaplaceScale": "statistic", "NormalPrecision": "moments",
    "GaussianMean": "sums", "LogitNormal": "tally", "MultivariateNormal": "basis", "NormalMean": "sums",
}  # fmt: skip


@pytest.mark.planted
@pytest.mark.parametrize("name", TABLE)
def test_a_family_that_counts_otherwise_must_state_its_price(name: str) -> None:
    kind, function = TABLE[name], CHANGED[name]
    assert hasattr(kind, function)

    def other(self: Any, *arguments: Any) -> Any:
        return 5 * getattr(kind, function)(self, *arguments)

    with pytest.raises(ArgumentError, match=rf"another {function} than {name}.*sensitivity and claim"):
        type("Fivefold", (kind,), {function: other})
    mixin = type("Mixin", (), {function: other})
    with pytest.raises(ArgumentError, match="sensitivity and claim"):
        type("Mixed", (mixin, kind), {})
    for half in ("sensitivity", "claim"):
        with pytest.raises(ArgumentError, match="sensitivity and claim"):
            type("Half", (kind,), {function: other, half: 1.0})


def test_new_fields_names_and_stated_prices_are_served() -> None:
    @dataclass(frozen=True, repr=False)
    class Named(sf.families.BetaBernoulli):
        alpha: float = 2.0
        note: str = ""
        name = "Named"

        def described(self) -> str:
            return self.note

    plans = [sf.plan(kind(2.0, 1.0), 500, 1.0, 1e-6) for kind in (Named, sf.families.BetaBernoulli)]
    assert plans[0].guarantee == plans[1].guarantee

    class Pairs(sf.families.BetaBernoulli):
        trials = 2

        def tally(self, block: Any, columns: Any) -> Any:
            return 2 * super().tally(block, columns)

        sensitivity = 2.0

        def claim(self, n: int) -> Any:
            return super().claim(n)

    assert Pairs(1.0, 1.0).claim(10).facts["trials"] == 2
    assert Pairs(1.0, 1.0).tally({"x": np.array([True, False, True])}, ["x"]).tolist() == [4]
    with pytest.raises(ArgumentError, match="than Pairs"):
        type("More", (Pairs,), {"tally": lambda self, block, columns: np.array([9])})


def test_a_family_of_its_own_defines_what_it_likes() -> None:
    own = type("Own", (Family,), {"tally": lambda self, block, columns: np.array([1])})
    assert issubclass(own, Family)
