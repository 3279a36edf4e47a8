"""Small tasks of every procedure, and groups of data sets of which every two differ in one record only.

A group has the same records but for the first, which is one of those that a person may choose against the bounds, or an odd one
(nothing, not a number, infinite, huge, a text, a level that is not declared). Each two of a group are neighbours: 13 data sets
make 78 pairs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy import sparse

import sfumato as sf
from sfumato.auditing.replay import Promise
from sfumato.auditing.replay_record import Record, recorded
from sfumato.engines.opening import open_engine
from sfumato.mechanisms.protocol import Request
from sfumato.mechanisms.shaped_path import at_factor
from sfumato.mixtures.fitting import fitted
from sfumato.procedures import (
    envelope,
    kinked_grid,
    last_iterate,
    lattice,
    law,
    named,
    noisy_tables,
    noisy_totals,
    path,
    reference_chain,
    shaped_chain,
)
from sfumato.procedures.protocol import Task

N, NORM, BOUNDS = 7, 2.0, (-4.0, 6.0)
# The n mu of a shaped path's target, from which radius, bend and ridge of its map follow.
SPEND = 2000.0
ODD_CELLS: list[Any] = [None, math.nan, math.inf, -1e308, "abc", "", "1e400", 10**400]


@dataclass(frozen=True)
class Case:
    """A task, the engines that serve it, and how its groups of data sets are made."""

    procedure: str
    task: Task
    engines: tuple[str, ...]
    groups: Callable[[np.random.Generator, str, int], list[sf.Dataset]]

    def records(self, engine: str, seed: int, count: int, size: float = 1.0) -> list[Record]:
        """The runs of one group, each after the outputs of the first."""
        run, rng = named(self.procedure), np.random.default_rng([seed, 5])
        opened = [open_engine(each, self.task.model, run.NEEDS, engine) for each in self.groups(rng, engine, count)]
        # A mixture is fitted to what is released: a short fit shows as much.
        with patch.object(noisy_tables, "fitted", lambda pairs, report: fitted(pairs, 2, 4, 10, report)):
            first = recorded(run, self.task, opened[0], seed, size=size)
            return [first, *(recorded(run, self.task, each, seed, first) for each in opened[1:])]

    def pairs(self, engine: str, seed: int, count: int, size: float = 1.0) -> Iterator[Any]:
        """Every two runs of a group, compared."""
        yield from every_two(self.procedure, self.task, self.records(engine, seed, count, size))


def every_two(procedure: str, task: Task, runs: list[Record]) -> Iterator[Any]:
    """Every two runs after the same outputs, compared."""
    released = next(run.draws for run in runs if run.draws is not None)
    promise = Promise.of(named(procedure), task, released)
    for one, other in itertools.combinations(runs, 2):
        yield promise.compare(one, other)


# --- regressions -----------------------------------------------------------------------------------------------------

LOSSES: dict[str, tuple[Callable[[float], Any], list[Any], Any]] = {
    "logistic": (sf.losses.Logistic, [0, 1], sf.Category([0, 1], missing=0)),
    "huber": (lambda radius: sf.losses.Huber(radius, 2.0, *BOUNDS), [-4.0, 0.3, 6.0], sf.Number(*BOUNDS)),
    "poisson": (lambda radius: sf.losses.ClippedPoisson(radius, 3.0, 8.0), [0, 1, 8], sf.Number(0, 8)),
    "hinge": (sf.losses.Hinge, [0, 1], sf.Category([0, 1], missing=0)),
}


def model_of(loss: str, d: int, prior: Any = None, intercept: float = 0.0) -> sf.Gibbs:
    """A regression with d coefficients, that of the constant feature included."""
    made = LOSSES[loss][0](math.hypot(NORM, intercept))
    return sf.Gibbs(made, prior or sf.priors.Gaussian(0.5), d, intercept)


def chosen_rows(rng: np.random.Generator, width: int, count: int) -> list[list[Any]]:
    """Longest rows and their opposites, none, odd ones, longer than declared, and random ones."""
    unit = rng.normal(size=(count, width))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    axis = np.eye(width)[0]
    odd = [[cell, *(0.1 for _ in range(width - 1))] for cell in (math.nan, math.inf, 1e308)]
    across = np.eye(width)[-1]
    longest = [NORM * axis, NORM * axis, -NORM * axis, NORM * across, -NORM * across]
    listed = [*longest, *odd, NORM * unit[0], 0 * axis, 1e9 * unit[1], *unit[2:]]
    return [list(map(float, row)) for row in listed[:count]]


def regression_groups(loss: str, width: int) -> Callable[[np.random.Generator, str, int], list[sf.Dataset]]:
    """Groups of data sets of a regression; odd labels too where rows are not sparse."""
    _, labels, target = LOSSES[loss]
    schema = sf.Schema.vector(width, data_norm=NORM, target=target)

    def made(rng: np.random.Generator, engine: str, count: int) -> list[sf.Dataset]:
        others = rng.normal(size=(N - 1, width)) * 10.0 ** np.linspace(0, -2, width)
        given = rng.choice(np.array(labels), N - 1).tolist()
        group = []
        for place, row in enumerate(chosen_rows(rng, width, count)):
            label = ODD_CELLS[place % len(ODD_CELLS)] if place in (6, 9) else labels[place % 2 - 1]
            rows: Any = np.vstack([row, others])
            rows = sparse.csr_array(rows) if engine == "sparse" else rows
            group.append(sf.Dataset.from_arrays(rows, [label, *given], schema=schema))
        return group

    return made


def gibbs(procedure: str, loss: str, d: int, numbers: Any, *, prior: Any = None, intercept: float = 0.0,
          draws: int = 1, keep: tuple[str, ...] = (), engines: tuple[str, ...] = ("values",)) -> Case:  # fmt: skip
    """A case of a regression; `numbers(model)` gives the plan's."""
    model = model_of(loss, d, prior, intercept)
    task = Task(model, N, draws, numbers(model), keep)
    return Case(procedure, task, engines, regression_groups(loss, d - (intercept > 0)))


SUMS = ("dense", "sparse", "reference")


def ball(radius: float = 1.0) -> Any:
    return sf.priors.Ball(sf.priors.Gaussian(0.5), radius)


def box(d: int) -> Any:
    return sf.priors.Box(sf.priors.Gaussian(0.5), [-1.0] * d, [1.0] * d)


def shaped(factor: float, keep: tuple[str, ...] = (), steps: int = 3) -> Callable[[Any], Any]:
    return lambda model: at_factor(Request(model, N, keep=keep, steps=steps), factor, SPEND)


def mapped(factor: float) -> Callable[[Any], Any]:
    """A mapped chain whose moments have the noise of a shaped path."""
    return lambda model: shaped_chain.Parameters(shaped(factor)(model).moments_noise, 1.0, 3)


def chain(model: Any) -> Any:
    return last_iterate.at(model, N, 2, 0.3, None, 4)


def fixed(numbers: Any) -> Callable[[Any], Any]:
    return lambda model: numbers


PATH = path.Parameters.of(N, 0.3, 0.5, 0.9, 3, 2)
GIBBS: dict[str, Case] = {
    "path": gibbs("path", "logistic", 3, fixed(PATH), draws=2, keep=("transcript",), engines=(*SUMS, "values")),
    "path of counts": gibbs("path", "poisson", 2, fixed(PATH), intercept=1.0, engines=SUMS),
    "path with kinks in a ball": gibbs("path", "hinge", 2, fixed(PATH), prior=ball(), engines=("reference", "values")),
    "chain": gibbs("last-iterate", "logistic", 2, chain, draws=2, engines=(*SUMS, "values")),
    "chain of residuals": gibbs("last-iterate", "huber", 3, chain, intercept=1.0, draws=2, engines=SUMS),
    "shaped path": gibbs("shaped-path", "logistic", 2, shaped(0.02), engines=SUMS),
    "shaped path of a line": gibbs("shaped-path", "logistic", 1, shaped(1.0), engines=("dense",)),
    "shaped path of residuals": gibbs(
        "shaped-path", "huber", 3, shaped(0.02, ("scores",)), intercept=1.0, keep=("scores",), engines=SUMS
    ),
    "shaped path of counts": gibbs("shaped-path", "poisson", 2, shaped(0.1), intercept=1.0, engines=("dense",)),
    "shaped chain": gibbs("shaped-chain", "logistic", 2, mapped(0.1), draws=2, engines=SUMS),
    "shaped chain of residuals": gibbs("shaped-chain", "huber", 2, mapped(0.05), engines=("dense",)),
    "lattice": gibbs("lattice", "logistic", 1, fixed(lattice.Parameters(0.5, 33)), prior=ball()),
    "lattice with kinks": gibbs("lattice", "hinge", 2, fixed(lattice.Parameters(0.5, 9)), prior=ball()),
    "lattice of residuals": gibbs("lattice", "huber", 2, fixed(lattice.Parameters(0.5, 9)), prior=box(2)),
    "trials": gibbs("envelope", "logistic", 3, fixed(envelope.Parameters(0.3, 40)), prior=box(3)),
    "trials in a ball": gibbs("envelope", "logistic", 2, fixed(envelope.Parameters(0.1, 40, 0.1)), prior=ball(1.0)),
    "trials of residuals": gibbs("envelope", "huber", 2, fixed(envelope.Parameters(0.2, 40)), prior=box(2)),
    "kinks on a line": gibbs("kinked-grid", "hinge", 1, fixed(kinked_grid.Parameters(0.3, 1.0, 801))),
    "kinks on an interval": gibbs(
        "kinked-grid", "hinge", 1, fixed(kinked_grid.Parameters(0.3, 1.0, 401)), prior=ball()
    ),
    "kinks in a plane": gibbs("kinked-grid", "hinge", 2, fixed(kinked_grid.Parameters(0.3, 1.0, 17, 40)), prior=box(2)),
    "converged": gibbs("reference-chain", "logistic", 2, fixed(reference_chain.Parameters(0.3, 9, 9, 1.0))),
    "converged in a ball": gibbs(
        "reference-chain", "huber", 2, fixed(reference_chain.Parameters(0.3, 9, 9)), prior=ball()
    ),
    "converged with kinks": gibbs(
        "reference-chain", "hinge", 2, fixed(reference_chain.Parameters(0.3, 9, 9)), prior=ball()
    ),
}

# --- families --------------------------------------------------------------------------------------------------------

BITS = sf.Schema({"x": sf.Boolean(missing=False)})
COLOURS = sf.Schema({"x": sf.Category(["red", "green", "blue"], missing="red")})
COUNTS = sf.Schema({"x": sf.Number(0, 8, integer=True)})
NUMBERS = sf.Schema({"x": sf.Number(0, 6)})
WIDE = sf.Schema({"x": sf.Number(-5, 11)})
VECTORS = sf.Schema.vector(2, data_norm=NORM)
GROUPS = sf.Schema({"g": sf.Category(["a", "b"], missing="a"), "x": sf.Boolean(missing=False)})
SIZES = sf.Schema({"g": sf.Category(["a", "b"], missing="a"), "x": sf.Number(0, 6)})
TRIPLES = sf.Schema(
    {"a": sf.Boolean(missing=False), "b": sf.Category(["u", "v", "w"], missing="u"), "x": sf.Number(0, 6)}
)
LINES = sf.Schema({"a": sf.Boolean(missing=False), "b": sf.Category(["u", "v", "w"], missing="u")})
STEPS = sf.Schema({"now": sf.Category(["u", "v"], missing="u"), "then": sf.Category(["u", "v"], missing="u")})
RATE = sf.families.BetaBernoulli(12, 8)
MEAN = sf.families.NormalMean(4.0, 0, 6, mean=3.0, precision=2.0)
FAMILIES: dict[str, tuple[Any, sf.Schema]] = {
    "rate": (RATE, BITS),
    "rate of trials": (sf.families.BetaBinomial(8, 20, 30), COUNTS),
    "shares": (sf.families.DirichletCategorical(["red", "green", "blue"], 6.0), COLOURS),
    "events": (sf.families.GammaPoisson(60, 20, 8), COUNTS),
    "durations": (sf.families.ExponentialRate(20, 40, 6), NUMBERS),
    "scale": (sf.families.LaplaceScale(1.0, 0.5, 3.0, 8.0, centre=3.0), WIDE),
    "precision": (sf.families.NormalPrecision(40, 40, 3.0, 3.0), NUMBERS),
    "mean": (MEAN, NUMBERS),
    "vector mean": (sf.families.GaussianMean(2, NORM, 4.0), VECTORS),
    "correlated mean": (sf.families.MultivariateNormal([[2.0, 0.5], [0.5, 1.0]], NORM, 4.0), VECTORS),
    "log odds": (sf.families.LogitNormal(1.0), BITS),
    "finite": (sf.families.Finite.bernoulli(0.125), BITS),
    "quantile": (sf.families.Quantile(0.5, [0, 1, 2, 4, 6]), NUMBERS),
    "bounded mean": (sf.families.BoundedMean(0, 6), NUMBERS),
    "groups": (sf.grouped(RATE, "g", ["a", "b"]), GROUPS),
    "means by group": (sf.grouped(MEAN, "g", ["a", "b"]), SIZES),
    "events by group": (
        sf.grouped(sf.families.GammaPoisson(60, 20, 8), "g", ["a", "b"]),
        sf.Schema({"g": sf.Category(["a", "b"], missing="a"), "x": sf.Number(0, 8, integer=True)}),
    ),
    "bounded means by group": (sf.grouped(sf.families.BoundedMean(0, 6), "g", ["a", "b"]), SIZES),
    "network": (sf.networks.BayesianNetwork.from_schema(LINES, {"a": [], "b": ["a"]}, alpha=20.0), LINES),
    "network above a floor": (sf.networks.BayesianNetwork.from_schema(LINES, {"a": [], "b": ["a"]}, floor=0.05), LINES),
    "transitions": (sf.networks.MarkovChain(["u", "v"], 20.0), STEPS),
}


def extreme_cells(column: Any) -> list[Any]:
    """Every level, or both ends and something between."""
    if isinstance(column, sf.Boolean):
        return [True, False]
    return list(column.levels) if isinstance(column, sf.Category) else [column.lower, column.upper, 2.0]


def table_groups(schema: sf.Schema) -> Callable[[np.random.Generator, str, int], list[sf.Dataset]]:
    """Groups of tables: the first row goes through the ends of every column and through odd cells."""

    def made(rng: np.random.Generator, engine: str, count: int) -> list[sf.Dataset]:
        if schema.dimension is not None:
            others = rng.normal(size=(N - 1, schema.dimension))
            rows = chosen_rows(rng, schema.dimension, count)
            return [sf.Dataset.from_arrays(np.vstack([row, others]), schema=schema) for row in rows]
        columns = list(schema.columns.values())
        ends = list(itertools.product(*map(extreme_cells, columns)))
        others = [ends[k] for k in rng.integers(0, len(ends), N - 1)]
        chosen = [ends[k] for k in rng.permutation(len(ends))[: count - 5]]
        while len(chosen) < count:
            odd = list(ends[rng.integers(len(ends))])
            odd[rng.integers(len(odd))] = ODD_CELLS[rng.integers(len(ODD_CELLS))]
            chosen.append(tuple(odd))
        names = list(schema.columns)
        tables = [dict(zip(names, map(list, zip(first, *others, strict=True)), strict=True)) for first in chosen]
        return [sf.Dataset.from_table(table, schema=schema) for table in tables]

    return made


def family_cases() -> dict[str, Case]:
    """Draws of the posterior, and noisy totals, of every family that is served so."""
    cases = {}
    for name, (model, schema) in FAMILIES.items():
        strengths = 2.0 if model.strengthens else 1.0
        tasks = {"law": law.Parameters(0.5, strengths), "noisy-totals": noisy_totals.Parameters(0.7)}
        for procedure, numbers in tasks.items():
            if named(procedure).refuses(model) is None:
                task = Task(model, N, 2, numbers)
                cases[f"{name}, {procedure}"] = Case(procedure, task, ("codes",), table_groups(schema))
    return cases


LEARNT = {
    "learnt table": (sf.networks.learn(LINES), LINES),
    "learnt bins": (sf.networks.learn(SIZES, bins={"x": {"quantiles": 2}}, missing=["g", "x"]), SIZES),
    "learnt table of chosen pairs": (
        sf.networks.learn(TRIPLES, {"x": [0, 2, 6]}, "select", chosen=2, rounds=2, missing=["b"]), TRIPLES
    ),
}  # fmt: skip


def learnt_cases() -> dict[str, Case]:
    """Noisy tables of pairs, with private bins, and with pairs that are chosen."""
    cases = {}
    for name, (model, schema) in LEARNT.items():
        task = Task(model, N, 1, noisy_tables.at_noise(model, 0.7))
        cases[name] = Case("noisy-tables", task, ("codes",), table_groups(schema))
    return cases


CASES = {**GIBBS, **learnt_cases(), **family_cases()}
