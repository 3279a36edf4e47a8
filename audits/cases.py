"""The cases of the battery: every procedure with every model that it serves, found by asking each mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations
from typing import Any

import numpy as np

import sfumato as sf
from sfumato import mechanisms
from sfumato.auditing.pairs import Neighbours
from sfumato.auditing.schemas import public_schema
from sfumato.auditing.shaped_parts import PARTS
from sfumato.errors import SfumatoError
from sfumato.mechanisms.plan import Plan
from sfumato.mechanisms.protocol import CONVERGED, PROVED

# Claims of a mu are audited at 2, others at epsilon 2: fewer runs show less of a smaller one.
MU, EPSILON, DELTA = 2.0, 2.0, 1e-3
# Steps of a chain under audit: a likelihood ratio is computed at each, and the price is the same for any number.
STEPS = 6


@dataclass(frozen=True)
class Case:
    """A named plan; `inside` looks at noisy totals before draws are made from them, `part` at one part of a shape-first path.

    `quick` says whether the quick form has it.
    """

    name: str
    model: str
    plan: Callable[[], Plan]
    procedure: str
    inside: bool = False
    part: str = ""
    quick: bool = False


RATES = [0.2, 0.5, 0.8]
LABELS = (-50.0, 50.0)
GAUSSIAN = sf.priors.Gaussian(1.0)
# Columns of learnt tables.
LEARNT = sf.Schema(
    {
        "a": sf.Category(["x", "y"], missing="x"),
        "b": sf.Category(["u", "v", "w"], missing="u"),
        "c": sf.Boolean(missing=False),
    }
)
LEARNT_NUMBERS = sf.Schema(
    {"a": sf.Category(["x", "y"], missing="x"), "b": sf.Boolean(missing=False), "z": sf.Number(0, 6)}
)
# Each has the fewest records and coordinates at which its price is nearly attained.
FAMILIES: dict[str, tuple[Callable[[], Any], int]] = {
    "BetaBernoulli": (lambda: sf.families.BetaBernoulli(3, 3), 12),
    "BetaBernoulli, floor": (lambda: sf.families.BetaBernoulli(2, 3, 0.1), 12),
    "BetaBinomial": (lambda: sf.families.BetaBinomial(4, 6, 6), 12),
    "DirichletCategorical": (lambda: sf.families.DirichletCategorical(["a", "b", "c"], 3.0), 12),
    "Histogram": (lambda: sf.families.Histogram(0, 6, [0, 1, 4, 6], alpha=3.0), 12),
    "CrossTable": (lambda: sf.families.CrossTable({"a": ["x", "y"], "b": ["u", "v"]}, alpha=3.0), 12),
    "GammaPoisson": (lambda: sf.families.GammaPoisson(20, 5, 4), 12),
    "ExponentialRate": (lambda: sf.families.ExponentialRate(10, 10, 4), 12),
    "ExponentialRate, bounds": (lambda: sf.families.ExponentialRate(2, 1, 4, lower=0.5, upper=3.0), 12),
    "LaplaceScale": (lambda: sf.families.LaplaceScale(1.0, 0.5, 3.0, 8.0, centre=3.0), 12),
    "NormalPrecision": (lambda: sf.families.NormalPrecision(20, 20, 3.0, 3.0), 12),
    "NormalMean": (lambda: sf.families.NormalMean(4.0, 0, 6, mean=3.0, precision=2.0), 12),
    "LogitNormal": (lambda: sf.families.LogitNormal(4.0), 12),
    "GaussianMean": (lambda: sf.families.GaussianMean(2, 2.0, 4.0), 12),
    "MultivariateNormal": (lambda: sf.families.MultivariateNormal([[2.0, 0.5], [0.5, 1.0]], 2.0, 4.0), 12),
    "BoundedMean": (lambda: sf.families.BoundedMean(0, 6), 12),
    "Finite": (lambda: sf.families.Finite(np.log([[1 - p, p] for p in RATES]).tolist(), RATES, levels=["no", "yes"]), 12),
    "Quantile": (lambda: sf.families.Quantile(0.5, [0.0, 1.0, 2.0, 4.0, 8.0]), 12),
    "Quantiles": (lambda: sf.families.Quantiles([0.25, 0.5], 0, 8, cells=[0, 1, 2, 3, 4, 5, 6, 7, 8]), 12),
    "NormalPrecision, bounds": (lambda: sf.families.NormalPrecision(2, 1, 0.0, 4.0, lower=0.5, upper=3.0), 12),
    "grouped rates": (lambda: sf.grouped(sf.families.BetaBernoulli(3, 3), "g", ["u", "v"]), 12),
    "grouped histograms": (lambda: sf.grouped(sf.families.Histogram(0, 6, 3, alpha=3.0), "g", ["u", "v"]), 12),
    "grouped means": (lambda: sf.grouped(sf.families.BoundedMean(0, 6), "g", ["u", "v"]), 12),
    "network": (
        lambda: sf.networks.BayesianNetwork({"a": [], "b": ["a"]}, {"a": ["x", "y"], "b": ["u", "v"]}, 3.0), 12
    ),
    "learnt table": (lambda: sf.networks.learn(LEARNT), 12),
    "learnt table, private bins": (lambda: sf.networks.learn(LEARNT_NUMBERS, bins={"z": {"quantiles": 3}}), 12),
    "learnt table, chosen pairs": (lambda: sf.networks.learn(LEARNT, pairs="select", chosen=2, rounds=2), 12),
    "learnt table, missing": (
        lambda: sf.networks.learn(LEARNT_NUMBERS, {"z": [0, 1, 4, 6]}, missing=["a", "z"], target="b"), 12
    ),
    "Markov chain": (lambda: sf.networks.MarkovChain(["u", "v"], 3.0), 12),
}  # fmt: skip
LOSSES: dict[str, Callable[[], Any]] = {
    "Logistic": lambda: sf.losses.Logistic(1.0),
    "Softmax": lambda: sf.losses.Softmax(radius=1.0, classes=3),
    "Hinge": lambda: sf.losses.Hinge(1.0),
    "SmoothedHinge": lambda: sf.losses.SmoothedHinge(1.0, 0.5),
    "Huber": lambda: sf.losses.Huber(1.0, 1.0, *LABELS),
    "Quantile": lambda: sf.losses.Quantile(1.0, 0.5),
    "SmoothedQuantile": lambda: sf.losses.SmoothedQuantile(1.0, 0.5, 0.5),
    "ClippedProbit": lambda: sf.losses.ClippedProbit(1.0, 2.0),
    "ClippedCloglog": lambda: sf.losses.ClippedCloglog(1.0, 2.0),
    "ClippedPoisson": lambda: sf.losses.ClippedPoisson(1.0, 3.0, 8.0),
    "LogitBernoulli": sf.losses.LogitBernoulli,
    "mean": lambda: sf.losses.GaussianMean(1.0),
}

WITH_INTERCEPT = {
    "Logistic": sf.losses.Logistic(math.hypot(1.0, 1.0)),
    "Huber": sf.losses.Huber(math.hypot(1.0, 1.0), 1.0, *LABELS),
}
PRIORS: dict[str, Callable[[int], Any]] = {
    "": lambda d: GAUSSIAN,
    "on a ball": lambda d: sf.priors.Ball(GAUSSIAN, 5.0),
    "on a box": lambda d: sf.priors.Box(GAUSSIAN, [-2.0] * d, [2.0] * d),
}
# Records of a Gibbs model under audit.
RECORDS = 12


def models() -> Iterator[tuple[str, Callable[[], Any], int]]:
    """(name, model, records) of every model: losses with a prior on all of R^d, on a ball and on a box, in a few dimensions."""
    for name, (family, n) in FAMILIES.items():
        yield name, family, n
    for name, loss in LOSSES.items():
        for where, prior in PRIORS.items():
            for d in _dimensions(name, where):
                yield f"{name}{f' {where}' if where else ''}, d = {d}", _gibbs(loss, prior, d), RECORDS
    # The loss sees rows that are longer than the user's by the constant feature.
    for name, longer in WITH_INTERCEPT.items():
        yield f"{name} with an intercept, d = 2", partial(sf.Gibbs, longer, GAUSSIAN, 2, 1.0), RECORDS


def _dimensions(loss: str, where: str) -> tuple[int, ...]:
    """Two dimensions show a factor that one hides (the logistic loss); lattices differ in one and two, trials serve three."""
    own = {"LogitBernoulli": (1,), "Softmax": (3,), "mean": (2,)}
    if loss in own:
        return own[loss]
    if where == "on a box":
        return (1, 3)
    return (1, 2) if where == "" or loss == "Logistic" else (2,)


def _gibbs(loss: Callable[[], Any], prior: Callable[[int], Any], d: int) -> Callable[[], Any]:
    return lambda: sf.Gibbs(loss(), prior(d), d)


def _targets(mechanism: str) -> list[dict[str, Any]]:
    """What a plan is asked for, the first that the mechanism can meet."""
    if mechanism == "exact":
        return [{}]
    if mechanism == "exponential":
        return [{"epsilon": EPSILON, "delta": 0.0}, {"epsilon": EPSILON, "delta": DELTA}]
    return [{"target": sf.Gaussian(MU)}, {"epsilon": EPSILON, "delta": DELTA}]


@cache
def _plan(name: str, mechanism: str, goal: str, trust: str, most: int | None = None) -> Plan:
    """The plan of a model by a mechanism, for the first target that it can meet; with `most`, for persons of so many rows."""
    made, n = next((made, n) for known, made, n in models() if known == name)
    steps: dict[str, Any] = {"steps": STEPS} if mechanism in ("langevin-path", "shaped-path") else {}
    steps |= {} if most is None else {"persons": sf.Persons("who", most=most, count=n)}
    asked = _targets(mechanism)
    for target in asked:
        try:
            return sf.plan(made(), n, mechanism=mechanism, goal=goal, trust=trust, **steps, **target)
        except SfumatoError:
            if target == asked[-1]:
                raise
    raise AssertionError("there is always a target")


def cases(word: str = "") -> list[Case]:
    """Every case whose name contains the word. Of several mechanisms that draw a model alike, the first that is calibrated."""
    listed: list[Case] = []
    for name, made, _ in models():
        model, seen = made(), set()
        for mechanism in _ORDER:
            for goal, trust in (("draws", PROVED), ("estimate", PROVED), ("draws", CONVERGED)):
                procedure = mechanisms.serving(mechanism, model, goal, trust)
                if isinstance(procedure, str) or (procedure.NAME, _kind(mechanism, model)) in seen:
                    continue
                if procedure.NAME in _WHOLE_SPACE and " on a b" in name:
                    continue
                if procedure.NAME == "reference-chain" and name.endswith("d = 2") and "mean" not in name:
                    continue  # it compiles for seconds; one dimension shows the same
                label = f"{procedure.NAME}: {name}" + (f", {mechanism}" if model.conjugate else "")
                seen.add((procedure.NAME, _kind(mechanism, model)))
                listed += _looks(label, name, procedure.NAME, partial(_plan, name, mechanism, goal, trust))
    listed += _of_persons()
    return [case for case in listed if word.lower() in case.name.lower()]


# Plans about persons with several rows: a model of each kind of claim, by a mechanism that draws it.
_MOST = 3
_PERSONS = (
    ("BetaBernoulli", "diffused", "draws", "law"),
    ("DirichletCategorical", "diffused", "draws", "law"),
    ("grouped rates", "diffused", "draws", "law"),
    ("Quantile", "exponential", "draws", "law"),
    ("grouped means", "noisy-statistics", "estimate", "noisy-totals"),
    ("network", "noisy-statistics", "draws", "noisy-totals"),
    ("learnt table", "noisy-statistics", "estimate", "noisy-tables"),
    ("Huber, d = 2", "langevin-path", "estimate", "path"),
    ("Logistic on a ball, d = 1", "exponential", "draws", "lattice"),
)


def _of_persons() -> list[Case]:
    """Averages of up to three rows of a person; noisy totals are looked at before draws are made from them."""
    return [
        Case(
            f"{procedure}: persons, {name}",
            f"{name}, of persons",
            partial(_plan, name, mechanism, goal, PROVED, _MOST),
            procedure,
            inside=procedure in ("noisy-totals", "noisy-tables"),
            quick=procedure in ("law", "noisy-totals"),
        )
        for name, mechanism, goal, procedure in _PERSONS
    ]


# Calibrated mechanisms come before "exact", whose price is what it is.
_ORDER = ("langevin", *(name for name in mechanisms.TABLE if name not in ("langevin", "exact")), "exact")
# Procedures whose price does not depend on the prior's domain: attacked on all of R^d, where they serve it.
_WHOLE_SPACE = ("shaped-path", "reference-chain")


def _kind(mechanism: str, model: Any) -> str:
    """Families are attacked under each mechanism, since power and strength enter the price differently."""
    return mechanism if model.conjugate else ""


def _looks(label: str, model: str, procedure: str, plan: Callable[[], Plan]) -> list[Case]:
    """The ways to look at a plan."""
    brief = _is_brief(label, procedure)
    looks = [Case(label, model, plan, procedure, quick=brief)]
    if procedure == "noisy-totals":
        # Draws are made from noisy totals one release at a time: three models show it in the quick form.
        whole = model in ("BetaBernoulli", "DirichletCategorical", "grouped means")
        looks = [replace(looks[0], quick=brief and whole)]
        looks.append(Case(f"{label}, inside", model, plan, procedure, inside=True, quick=brief))
    if procedure == "noisy-tables":  # the mixture is fitted to the tables: whoever has these needs no fit
        looks = [Case(label, model, plan, procedure, inside=True, quick=brief)]
    if procedure == "shaped-path":
        named = [part for part in PARTS if part != "shares" or model.startswith("Huber")]
        looks += [Case(f"{label}, {part}", model, plan, procedure, part=part, quick=brief) for part in named]
    return looks


def _is_brief(label: str, procedure: str) -> bool:
    """Whether the quick form has this case: one mechanism for each family, two losses in two dimensions for each procedure."""
    if procedure in ("law", "noisy-totals"):
        return label.endswith(("diffused", "exponential", "noisy-statistics", "Mean", "means", "Quantile", "Quantiles"))
    if procedure == "noisy-tables":  # choices fit a mixture for every run
        return label.endswith(": learnt table")
    if procedure == "reference-chain":  # it compiles for seconds, and the suite replays it
        return False
    losses = ("Logistic", "Huber") if procedure != "kinked-grid" else ("Hinge", "Quantile")
    first = label.partition(": ")[2].startswith(losses)
    return first and label.endswith({"envelope": "d = 3", "kinked-grid": "d = 1"}.get(procedure, "d = 2"))


def part_pairs(plan: Plan) -> list[Neighbours]:
    """Pairs that move single parts of a shape-first path: full rows along different axes, rows of zeros, labels at three places."""
    model, n = plan.model, plan.n
    schema = public_schema(model, n)
    column, d = schema.columns[str(schema.target)], int(schema.dimension or 1)
    labels = column.levels or (column.lower, 0.0 if column.lower < 0 else column.upper / 8, column.upper)
    length = float(schema.data_norm or 1.0)
    records = [(np.zeros(d), labels[0])]
    records += [(length * row, label) for row in (np.eye(d)[0], np.eye(d)[-1]) for label in labels]
    pairs = []
    for name, other in (("zeros", np.zeros(d)), ("full", length * np.eye(d)[0])):
        for one, two in combinations(range(len(records)), 2):
            sets = []
            for row, label in (records[one], records[two]):
                rows, given = (
                    np.vstack([row, np.tile(other, (n - 1, 1))]),
                    [label, *[labels[len(labels) // 2]] * (n - 1)],
                )
                sets.append(sf.Dataset.from_arrays(rows, given, schema=schema))
            pairs.append(Neighbours(f"records {one} and {two}, others {name}", *sets))
    return pairs
