"""One small release of every mechanism and way of drawing: what a file must survive, and what verification must accept.

`python tests/release_cases.py FOLDER` writes them as files, once for each format that later code must still read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf

N = 60
BITS = sf.Schema({"x": sf.Boolean(missing=False)}, name="bits", unit="person")
COLOURS = sf.Schema({"x": sf.Category(["red", "green", "blue"], missing="red")}, name="colours")
COUNTS = sf.Schema({"x": sf.Number(0, 8, integer=True)}, name="counts")
NUMBERS = sf.Schema({"x": sf.Number(0, 6)}, name="numbers")
VECTORS = sf.Schema.vector(2, data_norm=2.0, name="vectors")
GROUPS = sf.Schema({"g": sf.Category(["a", "b"], missing="a"), "x": sf.Boolean(missing=False)}, name="groups")
SIZES = sf.Schema({"g": sf.Category(["a", "b"], missing="a"), "x": sf.Number(0, 6)}, name="sizes")
LINES = sf.Schema({"a": sf.Boolean(missing=False), "b": sf.Category(["u", "v", "w"], missing="u")}, name="lines")
STEPS = sf.Schema(
    {"now": sf.Category(["u", "v"], missing="u"), "then": sf.Category(["u", "v"], missing="u")}, name="steps"
)


def rows(schema: sf.Schema) -> sf.Dataset:
    """N invented records of a schema; every second one has the first level."""
    if schema.dimension is not None:
        rng = np.random.default_rng(1)
        matrix = rng.uniform(-0.5, 0.5, (N, schema.dimension))
        if schema.target is None:
            return sf.Dataset.from_arrays(matrix, schema=schema)
        return sf.Dataset.from_arrays(matrix, np.arange(N) % 2, schema=schema)
    table: dict[str, Any] = {}
    for place, (name, column) in enumerate(schema.columns.items()):
        number = (np.arange(N) * (place + 3)) % 7
        if isinstance(column, sf.Boolean):
            table[name] = number % 2 == 0
        elif isinstance(column, sf.Category):
            table[name] = np.array(column.levels, dtype=object)[number % len(column.levels)]
        else:
            table[name] = number.astype(float)
    return sf.Dataset.from_table(table, schema=schema)


def made(model: Any, schema: sf.Schema, **options: Any) -> sf.Release:
    """A release of N invented records, at (1, 1e-6) unless other terms are given."""
    terms = {} if "target" in options or options.pop("free", False) else {"epsilon": 1.0, "delta": 1e-6}
    ledger = options.pop("ledger", None)
    randomness = options.pop("randomness", None)
    plan = sf.plan(model, N, **{**terms, **options})
    if ledger is None:
        return sf.publish(plan, rows(schema), randomness=randomness)
    return sf.publish(plan, rows(schema), ledger, schema.name, "first")


def labelled(dimension: int) -> sf.Schema:
    """Rows of norm 1 with a label of two classes."""
    return sf.Schema.vector(dimension, data_norm=1.0, target=sf.Category([0, 1], missing=0), name="labelled")


def logistic(dimension: int, prior: Any = None) -> sf.Gibbs:
    return sf.Gibbs(sf.losses.Logistic(1.0), prior or sf.priors.Gaussian(5.0), dimension)


def measured(dimension: int) -> sf.Schema:
    """Rows of norm 1 with a number from 0 to 1 as their label."""
    return sf.Schema.vector(dimension, data_norm=1.0, target=sf.Number(0, 1), name="measured")


def linear(dimension: int, intercept: float) -> sf.Gibbs:
    return sf.Gibbs(sf.losses.Huber(1.2, 0.5, 0.0, 1.0), sf.priors.Gaussian(5.0), dimension, intercept)


def counting(dimension: int, intercept: float) -> sf.Gibbs:
    return sf.Gibbs(sf.losses.ClippedPoisson(1.2, 0.8, 1.0), sf.priors.Gaussian(5.0), dimension, intercept)


def hinge(dimension: int, prior: Any = None) -> sf.Gibbs:
    return sf.Gibbs(sf.losses.Hinge(1.0), prior or sf.priors.Gaussian(5.0), dimension)


def ball(radius: float = 1.0) -> sf.priors.Ball:
    return sf.priors.Ball(sf.priors.Gaussian(5.0), radius)


def box(dimension: int) -> sf.priors.Box:
    return sf.priors.Box(sf.priors.Gaussian(5.0), [-1.0] * dimension, [1.0] * dimension)


RATE = sf.families.BetaBernoulli(12, 8)
SHARES = sf.families.DirichletCategorical(["red", "green", "blue"], 6.0)
NETWORK = {"a": [], "b": ["a"]}
CONVERGED = {"trust": "assumes converged", "steps": 20}

CASES: dict[str, Callable[[], sf.Release]] = {
    # conjugate families
    "rate exact": lambda: made(RATE, BITS, mechanism="exact", free=True),
    "rate diffused": lambda: made(RATE, BITS, mechanism="diffused", draws=3),
    "rate concentrated": lambda: made(RATE, BITS, mechanism="concentrated"),
    "rate exponential": lambda: made(sf.families.BetaBernoulli(2, 3, 0.1), BITS, mechanism="exponential"),
    "rate noisy": lambda: made(RATE, BITS, mechanism="noisy-statistics", draws=4),
    "rate seeded": lambda: made(RATE, BITS, mechanism="diffused", randomness=sf.seeded(1)),
    "rate of trials": lambda: made(sf.families.BetaBinomial(8, 20, 30), COUNTS, mechanism="diffused"),
    "shares": lambda: made(SHARES, COLOURS, mechanism="diffused", draws=3),
    "shares noisy": lambda: made(SHARES, COLOURS, mechanism="noisy-statistics"),
    "events": lambda: made(sf.families.GammaPoisson(60, 20, 8), COUNTS, mechanism="diffused"),
    "durations": lambda: made(sf.families.ExponentialRate(20, 40, 6), NUMBERS, mechanism="diffused"),
    "durations trimmed": lambda: made(
        sf.families.ExponentialRate(2, 1, 6, lower=0.5, upper=3.0), NUMBERS, mechanism="exponential"
    ),
    "scale": lambda: made(sf.families.LaplaceScale(1.0, 0.5, 3.0, 8.0, centre=3.0), NUMBERS, mechanism="exponential"),
    "precision": lambda: made(sf.families.NormalPrecision(40, 40, 3.0, 3.0), NUMBERS, mechanism="diffused"),
    "mean": lambda: made(sf.families.NormalMean(4.0, 0, 6, mean=3.0, precision=2.0), NUMBERS, mechanism="diffused"),
    "vector mean": lambda: made(sf.families.GaussianMean(2, 2.0, 4.0), VECTORS, mechanism="diffused"),
    "correlated mean": lambda: made(
        sf.families.MultivariateNormal([[2.0, 0.5], [0.5, 1.0]], 2.0, 4.0), VECTORS, mechanism="concentrated"
    ),
    "log odds": lambda: made(sf.families.LogitNormal(1.0), BITS, mechanism="diffused", draws=2),
    "finite": lambda: made(sf.families.Finite.bernoulli(0.125), BITS, mechanism="exponential"),
    "quantile": lambda: made(sf.families.Quantile(0.5, [0, 1, 2, 4, 6]), NUMBERS, mechanism="exponential"),
    "quantiles": lambda: made(sf.families.Quantiles([0.25, 0.5], 0, 6, cells=16), NUMBERS, goal="estimate"),
    "bounded mean": lambda: made(sf.families.BoundedMean(0, 6), NUMBERS, goal="estimate", draws=2),
    "groups": lambda: made(sf.grouped(RATE, "g", ["a", "b"]), GROUPS, mechanism="noisy-statistics"),
    "groups diffused": lambda: made(sf.grouped(RATE, "g", ["a", "b"]), GROUPS, mechanism="diffused"),
    "means by group": lambda: made(
        sf.grouped(sf.families.NormalMean(4.0, 0, 6, mean=3.0, precision=2.0), "g", ["a", "b"]),
        SIZES,
        mechanism="noisy-statistics",
    ),
    "durations by group": lambda: made(
        sf.grouped(sf.families.ExponentialRate(20, 40, 6), "g", ["a", "b"]), SIZES, mechanism="noisy-statistics"
    ),
    "bounded means by group": lambda: made(
        sf.grouped(sf.families.BoundedMean(0, 6), "g", ["a", "b"]), SIZES, goal="estimate"
    ),
    "network": lambda: made(
        sf.networks.BayesianNetwork.from_schema(LINES, NETWORK, alpha=20.0), LINES, mechanism="diffused"
    ),
    "network noisy": lambda: made(
        sf.networks.BayesianNetwork.from_schema(LINES, NETWORK), LINES, mechanism="noisy-statistics"
    ),
    "network above a floor": lambda: made(
        sf.networks.BayesianNetwork.from_schema(LINES, NETWORK, floor=0.05), LINES, mechanism="exponential"
    ),
    "transitions": lambda: made(sf.networks.MarkovChain(["u", "v"], 20.0), STEPS, mechanism="diffused"),
    # Gibbs models: chains, grids and lattices
    "chain": lambda: made(logistic(2), labelled(2), mechanism="langevin", draws=2),
    "chain in a ball": lambda: made(logistic(2, ball(0.05)), labelled(2), mechanism="langevin", draws=3),
    "chain in a box": lambda: made(
        logistic(2, sf.priors.Box(sf.priors.Gaussian(5.0), [-0.05, -1], [0.05, 1])),
        labelled(2),
        mechanism="langevin",
        draws=3,
    ),
    "chain exact": lambda: made(logistic(2), labelled(2), mechanism="exact"),
    "chain diffused": lambda: made(logistic(2), labelled(2), mechanism="diffused"),
    "chain concentrated": lambda: made(logistic(2), labelled(2), mechanism="concentrated"),
    "kinks on a line": lambda: made(hinge(1), labelled(1), mechanism="diffused", draws=2),
    "kinks in a plane": lambda: made(hinge(2, box(2)), labelled(2), mechanism="diffused"),
    "lattice on a line": lambda: made(logistic(1, ball()), labelled(1), mechanism="exponential"),
    "lattice in a plane": lambda: made(logistic(2, ball()), labelled(2), mechanism="exponential"),
    "lattice by trials": lambda: made(logistic(3, box(3)), labelled(3), mechanism="exponential"),
    "lattice by trials in a ball": lambda: made(logistic(3, ball(3.0)), labelled(3), mechanism="exponential"),
    "converged": lambda: made(logistic(2), labelled(2), mechanism="exact", **CONVERGED),
    "converged in a ball": lambda: made(logistic(2, ball()), labelled(2), mechanism="exponential", **CONVERGED),
    "path": lambda: made(logistic(2), labelled(2), mechanism="langevin-path", goal="estimate", steps=20),
    "path with transcript": lambda: made(
        logistic(2), labelled(2), mechanism="langevin-path", goal="estimate", steps=20, keep=("transcript",), draws=2
    ),
    "path in a ball": lambda: made(
        logistic(2, ball(0.05)), labelled(2), mechanism="langevin-path", goal="estimate", steps=20, keep=("transcript",)
    ),
    # regressions that learn the shape of their rows first
    "shaped path": lambda: made(logistic(2), labelled(2), mechanism="shaped-path", goal="estimate", steps=20),
    "shaped path with scores": lambda: made(
        linear(3, 0.5), measured(2), mechanism="shaped-path", goal="estimate", steps=20, keep=("scores",), epsilon=6.0
    ),
    "shaped path of counts": lambda: made(
        counting(3, 0.5), measured(2), mechanism="shaped-path", goal="estimate", steps=20, epsilon=6.0
    ),
    "shaped path in a ball": lambda: made(
        logistic(2, ball(0.05)), labelled(2), mechanism="shaped-path", goal="estimate", steps=20
    ),
    "shaped chain": lambda: made(logistic(2), labelled(2), mechanism="shaped-langevin", draws=2),
    # other targets
    "target gaussian": lambda: made(RATE, BITS, target=sf.Gaussian(0.5), mechanism="noisy-statistics"),
    "target renyi": lambda: made(RATE, BITS, target=sf.Renyi([2], [0.5]), mechanism="diffused"),
    "target pure": lambda: made(
        sf.families.BetaBernoulli(2, 3, 0.1), BITS, target=sf.Pure(1.0), mechanism="exponential"
    ),
}


def charged(currency: str, folder: Path, mechanism: str = "noisy-statistics") -> sf.Release:
    """A release with a receipt of a ledger of this currency."""
    with sf.Ledger.open(folder / f"{currency}.db") as ledger:
        order = {"order": 8.0} if currency == "renyi" else {}
        ledger.register("bits", epsilon=3.0, delta=1e-5, currency=currency, unit="person", **order)
        return made(RATE, BITS, mechanism=mechanism, ledger=ledger)


CHARGED: dict[str, Callable[[Path], sf.Release]] = {
    "charged in gdp": lambda folder: charged("gdp", folder),
    "charged in gdp with a reveal": lambda folder: charged("gdp", folder, "diffused"),
    "charged in zcdp": lambda folder: charged("zcdp", folder),
    "charged in renyi": lambda folder: charged("renyi", folder),
}


def main(folder: Path) -> None:
    """Write every case as NAME.release."""
    import tempfile

    folder.mkdir(parents=True, exist_ok=True)
    found = {name: case() for name, case in CASES.items()}
    for name, case in CHARGED.items():
        with tempfile.TemporaryDirectory() as place:
            found[name] = case(Path(place))
    for name, release in found.items():
        (folder / f"{name.replace(' ', '-')}.release").write_bytes(release.verify().to_bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
