"""One example of every family, with a public schema and records that follow the model: what the battery walks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.models.families.family import Family

Generator = np.random.Generator


@dataclass(frozen=True)
class Case:
    """`truth(rng)` draws a parameter from the prior, `records(rng, truth, n)` a table (or matrix) of n records."""

    model: Family
    schema: sf.Schema
    truth: Callable[[Generator], Any]
    records: Callable[[Generator, Any, int], Any]
    n: int = 300

    def dataset(self, rng: Generator, n: int | None = None, truth: Any = None) -> sf.Dataset:
        return self.made(self.records(rng, self.truth(rng) if truth is None else truth, n or self.n))

    def made(self, table: Any) -> sf.Dataset:
        if isinstance(table, dict):
            return sf.Dataset.from_table(table, schema=self.schema)
        return sf.Dataset.from_arrays(table, schema=self.schema)


def _column(name: str, values: Any) -> dict[str, Any]:
    return {name: values}


def _within(draw: Callable[[], float], lower: float, upper: float) -> float:
    """The first of repeated draws that lies in [lower, upper]: a trimmed prior."""
    return next(value for value in iter(draw, None) if lower <= value <= upper)


BITS = sf.Schema({"x": sf.Boolean(missing=False)})
COLOURS = sf.Schema({"x": sf.Category(["red", "green", "blue", "grey"], missing="red")})
GROUPS = sf.Schema({"g": sf.Category(["a", "b"], missing="a"), "x": sf.Boolean(missing=False)})

CASES: dict[str, Case] = {
    "BetaBernoulli": Case(
        sf.families.BetaBernoulli(2, 3),
        BITS,
        lambda rng: rng.beta(2, 3),
        lambda rng, p, n: _column("x", rng.random(n) < p),
    ),
    "BetaBernoulli, truncated": Case(
        sf.families.BetaBernoulli(2, 3, floor=0.1),
        BITS,
        lambda rng: _within(lambda: rng.beta(2, 3), 0.1, 0.9),
        lambda rng, p, n: _column("x", rng.random(n) < p),
    ),
    "BetaBinomial": Case(
        sf.families.BetaBinomial(4, 2, 3),
        sf.Schema({"x": sf.Number(0, 4, integer=True)}),
        lambda rng: rng.beta(2, 3),
        lambda rng, p, n: _column("x", rng.binomial(4, p, n).astype(float)),
    ),
    "DirichletCategorical": Case(
        sf.families.DirichletCategorical(["red", "green", "blue", "grey"], [2.0, 1.0, 3.0, 1.5]),
        COLOURS,
        lambda rng: rng.dirichlet([2.0, 1.0, 3.0, 1.5]),
        lambda rng, p, n: _column("x", np.array(["red", "green", "blue", "grey"])[rng.choice(4, n, p=p)]),
    ),
    "Histogram": Case(
        sf.families.Histogram(0, 60, [0, 18, 30, 60], alpha=[1.0, 2.0, 1.5]),
        sf.Schema({"x": sf.Number(0, 60)}),
        lambda rng: rng.dirichlet([1.0, 2.0, 1.5]),
        lambda rng, p, n: _column("x", np.array([5.0, 18.0, 59.5])[rng.choice(3, n, p=p)]),
    ),
    "CrossTable": Case(
        sf.families.CrossTable({"g": ["a", "b"], "x": [False, True]}, alpha=[2.0, 1.0, 1.5, 3.0]),
        GROUPS,
        lambda rng: rng.dirichlet([2.0, 1.0, 1.5, 3.0]),
        lambda rng, p, n: (lambda k: {"g": np.array(["a", "b"])[k // 2], "x": k % 2 == 1})(rng.choice(4, n, p=p)),
    ),
    "Grouped": Case(
        sf.grouped(sf.families.BetaBernoulli(2, 3), "g", ["a", "b"]),
        GROUPS,
        lambda rng: rng.beta(2, 3, 2),
        lambda rng, p, n: (lambda g: {"g": np.array(["a", "b"])[g], "x": rng.random(n) < p[g]})(rng.integers(0, 2, n)),
    ),
    "GammaPoisson": Case(
        sf.families.GammaPoisson(6, 2, 20),
        sf.Schema({"x": sf.Number(0, 20, integer=True)}),
        lambda rng: rng.gamma(6) / 2,
        lambda rng, rate, n: _column("x", rng.poisson(rate, n).astype(float)),
    ),
    "ExponentialRate": Case(
        sf.families.ExponentialRate(8, 2, 6),
        sf.Schema({"x": sf.Number(0, 6)}),
        lambda rng: rng.gamma(8) / 2,
        lambda rng, rate, n: _column("x", rng.exponential(1 / rate, n)),
    ),
    "ExponentialRate, trimmed": Case(
        sf.families.ExponentialRate(2, 1, 6, lower=0.5, upper=3.0),
        sf.Schema({"x": sf.Number(0, 6)}),
        lambda rng: _within(lambda: rng.gamma(2), 0.5, 3.0),
        lambda rng, rate, n: _column("x", rng.exponential(1 / rate, n)),
    ),
    "LaplaceScale": Case(
        sf.families.LaplaceScale(1.0, 0.5, 3.0, 8.0, centre=1.0),
        sf.Schema({"x": sf.Number(-7, 9)}),
        lambda rng: _within(rng.exponential, 0.5, 3.0),
        lambda rng, rate, n: _column("x", 1 + rng.laplace(0, 1 / rate, n)),
    ),
    "NormalPrecision": Case(
        sf.families.NormalPrecision(8, 8, 2.0, 3.5),
        sf.Schema({"x": sf.Number(-1.5, 5.5)}),
        lambda rng: rng.gamma(8) / 8,
        lambda rng, precision, n: _column("x", 2 + rng.standard_normal(n) / np.sqrt(precision)),
    ),
    "NormalPrecision, trimmed": Case(
        sf.families.NormalPrecision(2, 1, 0.0, 4.0, lower=0.5, upper=3.0),
        sf.Schema({"x": sf.Number(-4, 4)}),
        lambda rng: _within(lambda: rng.gamma(2), 0.5, 3.0),
        lambda rng, precision, n: _column("x", rng.standard_normal(n) / np.sqrt(precision)),
    ),
    "NormalMean": Case(
        sf.families.NormalMean(4.0, 0, 20, mean=10.0, precision=0.25),
        sf.Schema({"x": sf.Number(0, 20)}),
        lambda rng: rng.normal(10, 2),
        lambda rng, mean, n: _column("x", rng.normal(mean, 2, n)),
    ),
    "GaussianMean": Case(
        sf.families.GaussianMean(3, 8.0, 1.0),
        sf.Schema.vector(3, data_norm=8.0),
        lambda rng: rng.standard_normal(3),
        lambda rng, mean, n: mean + rng.standard_normal((n, 3)),
    ),
    "MultivariateNormal": Case(
        sf.families.MultivariateNormal([[2.0, 0.5], [0.5, 1.0]], 8.0, 1.0),
        sf.Schema.vector(2, data_norm=8.0),
        lambda rng: rng.standard_normal(2),
        lambda rng, mean, n: rng.multivariate_normal(mean, np.linalg.inv([[2.0, 0.5], [0.5, 1.0]]), n),
    ),
    "LogitNormal": Case(
        sf.families.LogitNormal(1.0),
        BITS,
        lambda rng: rng.standard_normal(),
        lambda rng, logit, n: _column("x", rng.random(n) < 1 / (1 + np.exp(-logit))),
    ),
    "Finite": Case(
        sf.families.Finite.bernoulli(0.005, lipschitz=3.0),
        BITS,
        lambda rng: _within(lambda: 0.005 * rng.integers(1, 200), 0.0475, 0.9525),
        lambda rng, p, n: _column("x", rng.random(n) < p),
    ),
}
