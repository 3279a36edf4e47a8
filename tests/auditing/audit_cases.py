"""Every procedure with every model that it serves: what audits, replays and searches for worst neighbours walk.

A case is a model, a public schema that it fits, a number of records and the keywords of `sf.plan`. The prices are (4, 1e-5), about
mu = 1; "exact" draws of families have the price of the posterior itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import sfumato as sf

N = 40
TERMS: dict[str, Any] = {"epsilon": 4.0, "delta": 1e-5}


@dataclass(frozen=True)
class AuditCase:
    """One plan under audit; `options` are the keywords of `sf.plan` beside the model and n."""

    name: str
    model: Any
    schema: sf.Schema
    n: int = N
    options: dict[str, Any] = field(default_factory=dict)

    @functools.cached_property
    def plan(self) -> sf.Plan:
        return sf.plan(self.model, self.n, **self.options)


F = sf.families
LEVELS = ["red", "green", "blue"]
BITS = sf.Schema({"x": sf.Boolean(missing=False)}, name="bits")
COLOURS = sf.Schema({"x": sf.Category(LEVELS, missing=LEVELS[0])}, name="colours")
COUNTS = sf.Schema({"x": sf.Number(0, 8, integer=True)}, name="counts")
TRIALS = sf.Schema({"x": sf.Number(0, 4, integer=True)}, name="trials")
NUMBERS = sf.Schema({"x": sf.Number(0, 6)}, name="numbers")
VECTORS = sf.Schema.vector(2, data_norm=2.0, name="vectors")
LINES = sf.Schema({"a": sf.Boolean(missing=False), "b": sf.Category(["u", "v", "w"], missing="u")}, name="lines")
TRIPLES = sf.Schema({name: sf.Boolean(missing=False) for name in "abc"}, name="triples")
AGES = sf.Schema({"a": sf.Boolean(missing=False), "x": sf.Number(0, 6)}, name="ages")
STEPS = sf.Schema(
    {"now": sf.Category(["u", "v"], missing="u"), "then": sf.Category(["u", "v"], missing="u")}, name="steps"
)


def by_group(schema: sf.Schema) -> sf.Schema:
    """The schema with a column of two groups before its own."""
    return sf.Schema({"g": sf.Category(["a", "b"], missing="a"), **schema.columns}, name=f"{schema.name} by group")


def walks(*levels: str) -> sf.Schema:
    """Trajectories of four states."""
    return sf.Schema({f"step {k}": sf.Category(list(levels), missing=levels[0]) for k in range(4)}, name="walks")


def network(schema: sf.Schema, **options: Any) -> Any:
    child = list(schema.columns)[1]
    return sf.networks.BayesianNetwork.from_schema(schema, {"a": [], child: ["a"]}, **options)


def grouped(model: Any) -> Any:
    return sf.grouped(model, "g", ["a", "b"])


RATE = F.BetaBernoulli(12, 8)
FLOORED = F.BetaBernoulli(2, 3, 0.1)
DURATIONS = F.ExponentialRate(20, 40, 6)
MEAN = F.NormalMean(4.0, 0, 6, mean=3.0, precision=2.0)
EVENTS = F.GammaPoisson(60, 20, 8)
SUCCESSES = F.BetaBinomial(4, 20, 30)
SCALE = F.LaplaceScale(1.0, 0.5, 3.0, 3.0, centre=3.0)
PRECISION = F.NormalPrecision(40, 40, 3.0, 3.0)
ODDS = F.LogitNormal(1.0)
COINS = F.Finite.bernoulli(0.125)
THREE = F.Finite(np.log([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2], [0.1, 0.8, 0.1]]).tolist(), [0, 1, 2], levels=LEVELS)
SHARES = F.DirichletCategorical(LEVELS, [6.0, 7.0, 8.0])

# Families with a posterior that has all of R or a simplex as its range.
OPEN: dict[str, tuple[Any, sf.Schema]] = {
    "rate": (RATE, BITS),
    "rate of trials": (SUCCESSES, TRIALS),
    "shares": (SHARES, COLOURS),
    "two shares": (F.DirichletCategorical(["u", "v"], 6.0), sf.Schema({"x": sf.Category(["u", "v"], missing="u")})),
    "histogram": (F.Histogram(0, 6, [0, 1, 4, 6], alpha=[6.0, 7.0, 8.0]), NUMBERS),
    "cross table": (F.CrossTable({"g": ["a", "b"], "x": [False, True]}, alpha=[6.0, 7.0, 8.0, 9.0]), by_group(BITS)),
    "events": (EVENTS, COUNTS),
    "durations": (DURATIONS, NUMBERS),
    "precision": (PRECISION, NUMBERS),
    "mean": (MEAN, NUMBERS),
    "vector mean": (F.GaussianMean(2, 2.0, 4.0), VECTORS),
    "correlated mean": (F.MultivariateNormal([[2.0, 0.5], [0.5, 1.0]], 2.0, 4.0), VECTORS),
    "log odds": (ODDS, BITS),
    "rate by group": (grouped(RATE), by_group(BITS)),
    "shares by group": (grouped(SHARES), by_group(COLOURS)),
    "network": (network(LINES, alpha=20.0), LINES),
    "network of bins": (network(AGES, bins={"x": 3}, alpha=20.0), AGES),
    "network of entries": (network(LINES, alpha=20.0, adjacency="replace-entry"), LINES),
    "transitions": (sf.networks.MarkovChain(["u", "v"], 20.0), STEPS),
    "trajectories": (
        sf.networks.MarkovChain(["u", "v", "w"], 20.0, record="trajectory", length=4),
        walks("u", "v", "w"),
    ),
    "ended trajectories": (
        sf.networks.MarkovChain(["u", "v"], 20.0, record="trajectory", length=4, end="stop"),
        walks("u", "v", "stop"),
    ),
}
# Families whose log ratio of neighbours is bounded: their draws are pure.
BOUNDED: dict[str, tuple[Any, sf.Schema]] = {
    "rate above a floor": (FLOORED, BITS),
    "rate of trials above a floor": (F.BetaBinomial(4, 20, 30, 0.1), TRIALS),
    "trimmed durations": (F.ExponentialRate(2, 1, 6, lower=0.5, upper=3.0), NUMBERS),
    "scale": (SCALE, NUMBERS),
    "trimmed precision": (F.NormalPrecision(2, 1, 3.0, 3.0, lower=0.5, upper=3.0), NUMBERS),
    "finite": (COINS, BITS),
    "finite of levels": (THREE, COLOURS),
    "rate above a floor by group": (grouped(FLOORED), by_group(BITS)),
    "network above a floor": (network(LINES, floor=0.05), LINES),
    "entries above a floor": (network(LINES, floor=0.05, adjacency="replace-entry"), LINES),
}
# Models that only noisy totals serve.
NOISY: dict[str, tuple[Any, sf.Schema]] = {
    "bounded mean": (F.BoundedMean(0, 6), NUMBERS),
    "learnt table": (sf.networks.learn(LINES), LINES),
    "learnt bins": (sf.networks.learn(AGES, bins={"x": {"quantiles": 3}}, missing=["a", "x"]), AGES),
    "learnt table of chosen pairs": (sf.networks.learn(TRIPLES, pairs="select", chosen=1), TRIPLES),
    "quantiles": (F.Quantiles([0.25, 0.5], 0, 6, cells=6), NUMBERS),
    "mean by group": (grouped(MEAN), by_group(NUMBERS)),
    "durations by group": (grouped(DURATIONS), by_group(NUMBERS)),
    "bounded mean by group": (grouped(F.BoundedMean(0, 6)), by_group(NUMBERS)),
    "events by group": (grouped(EVENTS), by_group(COUNTS)),
    "rate of trials by group": (grouped(SUCCESSES), by_group(TRIALS)),
    "log odds by group": (grouped(ODDS), by_group(BITS)),
    "scale by group": (grouped(SCALE), by_group(NUMBERS)),
    "precision by group": (grouped(PRECISION), by_group(NUMBERS)),
    "finite by group": (grouped(COINS), by_group(BITS)),
}
QUANTILE = (F.Quantile(0.5, [0, 1, 2, 4, 6]), NUMBERS)
EXACT: dict[str, Any] = {"mechanism": "exact"}


def family_cases() -> Iterator[AuditCase]:
    """All families, by every mechanism that serves them."""
    for name, (model, schema) in OPEN.items():
        yield AuditCase(f"{name}, exact", model, schema, options=EXACT)
        for mechanism in ("diffused", "concentrated", "noisy-statistics"):
            yield AuditCase(f"{name}, {mechanism}", model, schema, options={"mechanism": mechanism, **TERMS})
    for name, (model, schema) in BOUNDED.items():
        yield AuditCase(f"{name}, exact", model, schema, options=EXACT)
        for mechanism in ("exponential", "noisy-statistics"):
            yield AuditCase(f"{name}, {mechanism}", model, schema, options={"mechanism": mechanism, **TERMS})
    for name, (model, schema) in NOISY.items():
        options = {"mechanism": "noisy-statistics", "goal": model.goal, **TERMS}
        yield AuditCase(f"{name}, noisy-statistics", model, schema, options=options)
    yield AuditCase("quantile, exponential", *QUANTILE, options={"mechanism": "exponential", **TERMS})


# --- Gibbs models --------------------------------------------------------------------------------------------------------------

CLASSES, SIGNS = sf.Category([0, 1, 2], missing=0), sf.Category([0, 1], missing=0)
FAR = sf.Number(-1e6, 1e6)
L = sf.losses
# Loss of rows within a radius, and the target; None for rows alone.
LOSSES: dict[str, tuple[Callable[[float], Any], Any]] = {
    "logistic": (L.Logistic, SIGNS),
    "softmax": (lambda radius: L.Softmax(radius, 3), CLASSES),
    "hinge": (L.Hinge, SIGNS),
    "smoothed hinge": (lambda radius: L.SmoothedHinge(radius, 0.5), SIGNS),
    "huber": (lambda radius: L.Huber(radius, 0.5, 0.0, 1.0), sf.Number(0, 1)),
    "huber far": (lambda radius: L.Huber(radius, 0.5), FAR),
    "quantile": (lambda radius: L.Quantile(radius, 0.3), FAR),
    "smoothed quantile": (lambda radius: L.SmoothedQuantile(radius, 0.3, 0.1), FAR),
    "probit": (lambda radius: L.ClippedProbit(radius, 3.0), SIGNS),
    "cloglog": (lambda radius: L.ClippedCloglog(radius, 4.0), SIGNS),
    "poisson": (lambda radius: L.ClippedPoisson(radius, 0.8, 1.0), sf.Number(0, 1)),
    "poisson without bound": (lambda radius: L.ClippedPoisson(radius, 0.8), sf.Number(0, 1e6)),
    "gaussian mean": (L.GaussianMean, None),
}
SMOOTH = [name for name in LOSSES if name not in ("hinge", "quantile", "poisson without bound")]
KINKED = ("hinge", "quantile")
SHAPED = [name for name in SMOOTH if name not in ("softmax", "gaussian mean")]
BALL, BOX, GAUSSIAN = "in a ball", "in a box", "everywhere"
INTERCEPT = 0.5
PATH: dict[str, Any] = {"goal": "estimate", "steps": 20}
CONVERGED: dict[str, Any] = {"trust": "assumes converged", "steps": 20}


def gibbs(name: str, width: int, where: str, intercept: float = 0.0) -> tuple[sf.Gibbs, sf.Schema]:
    """The model of a loss with `width` features of norm 1 beside an intercept, and its schema."""
    made, target = LOSSES[name]
    loss = made(L.radius_with_intercept(1.0, intercept) if intercept else 1.0)
    d = loss.outputs * (width + (1 if intercept else 0))
    prior: Any = sf.priors.Gaussian(1.0)
    if where == BALL:
        prior = sf.priors.Ball(prior, 1.0)
    elif where == BOX:
        prior = sf.priors.Box(prior, [-1.0] * d, [1.0] * d)
    return sf.Gibbs(loss, prior, d, intercept), sf.Schema.vector(width, data_norm=1.0, target=target, name="rows")


def gibbs_case(name: str, mechanism: str, where: str = GAUSSIAN, width: int = 2, **more: Any) -> AuditCase:
    intercept = more.pop("intercept", 0.0)
    model, schema = gibbs(name, width, where, intercept)
    label = f"{name} of {width}{' and an intercept' if intercept else ''} {where}, {mechanism}"
    label += ", assumed converged" if "trust" in more else ""
    return AuditCase(label, model, schema, options={"mechanism": mechanism, **TERMS, **more})


def gibbs_cases() -> Iterator[AuditCase]:
    """All losses, by every mechanism that serves them, on all of R^d, in balls and boxes, with an intercept and without."""
    for name in SMOOTH:
        for mechanism in ("langevin", "exact", "diffused", "concentrated"):
            yield gibbs_case(name, mechanism)
        yield gibbs_case(name, "langevin", BALL)
        yield gibbs_case(name, "exponential", BOX, **({"width": 1} if name == "softmax" else {"width": 3}))
    for name in KINKED:
        for mechanism in ("exact", "diffused", "concentrated"):
            yield gibbs_case(name, mechanism, width=1)
        yield gibbs_case(name, "diffused", BOX)
    for name, (_, target) in LOSSES.items():
        yield gibbs_case(name, "langevin-path", BALL, **PATH)
        yield gibbs_case(name, "exact", **CONVERGED)
        yield gibbs_case(name, "exponential", BALL, **CONVERGED)
        if name != "softmax":
            yield gibbs_case(name, "exponential", BALL)
        if target is not None:
            yield gibbs_case(name, "langevin-path", **PATH)
            yield gibbs_case(name, "langevin-path", intercept=INTERCEPT, **PATH)
    for name in SHAPED:
        yield gibbs_case(name, "shaped-path", **PATH)
        yield gibbs_case(name, "shaped-path", BALL, intercept=INTERCEPT, **PATH)
        yield gibbs_case(name, "shaped-langevin")
    yield gibbs_case("huber", "shaped-path", intercept=INTERCEPT, keep=("scores",), **PATH)
    yield from rates()


def rates() -> Iterator[AuditCase]:
    """The loss whose record is a label alone."""
    schema = sf.Schema({"y": sf.Number(0, 1)}, target="y", name="rates")
    free, held = sf.priors.Gaussian(1.0), sf.priors.Ball(sf.priors.Gaussian(1.0), 1.0)
    for mechanism in ("langevin", "exact", "diffused", "concentrated"):
        yield AuditCase(
            f"log odds loss, {mechanism}",
            sf.Gibbs(L.LogitBernoulli(), free),
            schema,
            options={"mechanism": mechanism, **TERMS},
        )
    for mechanism, more in (("langevin-path", PATH), ("exponential", {}), ("exponential", CONVERGED)):
        name = f"log odds loss in a ball, {mechanism}{', assumed converged' if more is CONVERGED else ''}"
        yield AuditCase(
            name, sf.Gibbs(L.LogitBernoulli(), held), schema, options={"mechanism": mechanism, **TERMS, **more}
        )


CASES: dict[str, AuditCase] = {}
for _case in (*family_cases(), *gibbs_cases()):
    if _case.name in CASES:
        raise ValueError(f"two cases are called {_case.name!r}")
    CASES[_case.name] = _case
