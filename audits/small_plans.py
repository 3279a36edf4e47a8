"""Small plans of every procedure, with a claim of about mu = 3 (epsilon 1 to 3 where it is pure), and their worst pairs.

Losses are saturated wherever a theorem is tight there: a Huber loss whose labels lie far off is linear, so two opposite rows move
every gradient by 2 s r, and a posterior of it under a Gaussian prior is a normal that is shifted by G/m.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import sfumato as sf
from audits.attacks import Pairs, planned
from sfumato.auditing.pairs import Neighbours
from sfumato.mechanisms.plan import Plan
from sfumato.procedures import (
    envelope,
    kinked_grid,
    last_iterate,
    lattice,
    law,
    noisy_totals,
    path,
    reference_chain,
)

# Records of the small data sets; a label this far from every score saturates a Huber loss.
FEW, FAR = 4, 50.0
BITS = sf.Schema({"x": sf.Boolean(missing=False)})
COUNTS = sf.Schema({"x": sf.Number(0, 8, integer=True)})
NUMBERS = sf.Schema({"x": sf.Number(0, 6)})
COLOURS = sf.Schema({"x": sf.Category(["red", "green", "blue"], missing="red")})
GROUPS = sf.Schema({"g": sf.Category(["a", "b"], missing="a"), "x": sf.Number(0, 6)})
RATE = sf.families.BetaBernoulli(2, 3)
SHARES = sf.families.DirichletCategorical(["red", "green", "blue"], 6.0)
EVENTS = sf.families.GammaPoisson(60, 20, 8)
MEAN = sf.families.NormalMean(4.0, 0, 6, mean=3.0, precision=2.0)
LOGIT = sf.families.LogitNormal(1.0)
VECTOR_MEAN = sf.families.GaussianMean(2, 2.0, 4.0)
VECTORS = sf.Schema.vector(2, data_norm=2.0)
GROUPED = sf.grouped(sf.families.BoundedMean(0, 6), "g", ["a", "b"])


def table(
    schema: sf.Schema, others: dict[str, Any], first: dict[str, Any], second: dict[str, Any], n: int = 20
) -> Neighbours:
    """N - 1 equal records of a table, and one that is replaced."""

    def made(record: dict[str, Any]) -> sf.Dataset:
        cells = {key: np.array([record[key], *[value] * (n - 1)], dtype=object) for key, value in others.items()}
        return sf.Dataset.from_table(cells, schema=schema)

    return Neighbours("all others equal", made(first), made(second))


def one(schema: sf.Schema, others: Any, first: Any, second: Any, n: int = 20) -> Neighbours:
    """The same for a table of one column."""
    return table(schema, {"x": others}, {"x": first}, {"x": second}, n)


def bits(n: int = 20) -> Neighbours:
    """One more head among tails."""
    return one(BITS, False, False, True, n)


def vectors() -> Neighbours:
    """Two opposite longest rows."""
    rows = [np.array([row, *[[0.0, 0.0]] * 19]) for row in ([2.0, 0.0], [-2.0, 0.0])]
    return Neighbours("opposite rows", *(sf.Dataset.from_arrays(each, schema=VECTORS) for each in rows))


def odd_cells() -> Pairs:
    """Cells that are no numbers, or none that a schema allows, beside ordinary ones; all other records are 0."""
    odd = [(1e9, -1e9), ("abc", 6.0), (math.nan, 0.0), (math.inf, 6.0), (None, 6.0)]
    return tuple(one(NUMBERS, 0.0, first, second) for first, second in odd)


# --- families --------------------------------------------------------------------------------------------------------


def draw(model: Any, power: float = 1.0, strength: float = 1.0, draws: int = 1, n: int = 20) -> Plan:
    """Draws of a posterior."""
    return planned("law", model, n, law.at(model, n, draws, power, strength), draws)


def totals(model: Any, noise: float = 1 / 3, draws: int = 1, n: int = 20) -> Plan:
    """Noisy totals of mu = 3."""
    return planned("noisy-totals", model, n, noisy_totals.Parameters(noise), draws)


# --- regressions without a map ---------------------------------------------------------------------------------------


def labelled(width: int, norm: float, target: Any) -> sf.Schema:
    """Rows of this width and norm with a label."""
    return sf.Schema.vector(width, data_norm=norm, target=target)


def rows_of(schema: sf.Schema, rows: Any, labels: Any) -> sf.Dataset:
    """A data set of rows and labels."""
    return sf.Dataset.from_arrays(np.asarray(rows, dtype=float), list(labels), schema=schema)


def opposite(width: int = 1, norm: float = 1.0, n: int = FEW) -> Neighbours:
    """Two opposite longest rows whose labels lie far off, all other rows 0."""
    schema = labelled(width, norm, sf.Number(-FAR, FAR))
    data = []
    for sign in (1.0, -1.0):
        rows = np.zeros((n, width))
        rows[0, 0] = sign * norm
        data.append(rows_of(schema, rows, [FAR] * n))
    return Neighbours("opposite saturated rows", *data)


def odd_rows(width: int = 2) -> Pairs:
    """The pair of opposite rows, opposite rows that are much longer than declared, and rows that hold no numbers."""
    schema = labelled(width, 1.0, sf.Number(-FAR, FAR))
    pairs = [opposite(width)]
    for first, second in (([1e9, 0.0], [-1e9, 0.0]), ([math.nan, 0.0], [-1.0, 0.0]), ([1e308, 1e308], [-1.0, 0.0])):
        data = [rows_of(schema, [row, *[[0.0] * width] * (FEW - 1)], [FAR] * FEW) for row in (first, second)]
        pairs.append(Neighbours("an odd row", *data))
    return tuple(pairs)


def empty_rows() -> Pairs:
    """Rows that are all 0, and the same with one longest row; and the opposite rows."""
    schema = labelled(2, 1.0, sf.Number(-FAR, FAR))
    data = [rows_of(schema, [[first, 0.0], *[[0.0, 0.0]] * (FEW - 1)], [FAR] * FEW) for first in (0.0, 1.0)]
    return (Neighbours("no row but 0, and one", *data), opposite(2))


def huber(width: int = 1, prior: Any = None) -> sf.Gibbs:
    """A Huber loss of radius 1 and clip 1, linear on the pair `opposite`."""
    return sf.Gibbs(sf.losses.Huber(1.0, 1.0), prior or sf.priors.Gaussian(1.0), width)


def noisy_path(width: int = 2, steps: int = 4, draws: int = 1) -> Plan:
    """Noisy mean gradients of mu = sqrt(steps) 2/(n sigma) = 3."""
    noise = math.sqrt(steps) * 2 / (FEW * 3)
    return planned(
        "path", huber(width), FEW, path.Parameters.of(FEW, noise, 0.1, 0.5, steps, 2), draws, ("transcript",)
    )


def softmax_path() -> Plan:
    """A path of three classes, whose start is wrong about every row: mu = 3."""
    start = [0.0] * 5 + [1000.0]
    model = sf.Gibbs(sf.losses.Softmax(1.0, 3), sf.priors.Gaussian(1.0, mean=start), 6)
    noise = 2 * 2 * math.sqrt(2) / (FEW * 3)
    return planned("path", model, FEW, path.Parameters.of(FEW, noise, 0.01, 0.5, 4, 2), keep=("transcript",))


def softmax_pair() -> Pairs:
    """Nearly opposite rows of one class, both taken for another at the start."""
    schema = labelled(2, 1.0, sf.Category([0, 1, 2], missing=0))
    data = [rows_of(schema, [[side, 0.1], *[[0.0, 0.0]] * (FEW - 1)], [0] * FEW) for side in (0.994, -0.994)]
    return (Neighbours("nearly opposite rows", *data),)


def chain(steps: int = 5, power: float = 3.0, strength: float | None = None, draws: int = 1) -> Plan:
    """The last state of a short chain; mu is about 3."""
    return planned("last-iterate", huber(), FEW, last_iterate.at(huber(), FEW, draws, power, strength, steps), draws)


def signs(width: int, n: int = FEW, towards: int = 1) -> Neighbours:
    """A longest row with opposite labels; the other rows pull the parameter towards the end of its domain."""
    schema = labelled(width, 1.0, sf.Category([0, 1], missing=0))
    rows = np.zeros((n, width))
    rows[:, 0] = 1.0
    rows[1:, 0] *= bool(towards)
    data = [rows_of(schema, rows, [label, *[1] * (n - 1)]) for label in (0, 1)]
    return Neighbours("opposite labels", *data)


# A prior whose mean lies beyond the end of a domain of radius 1: both posteriors lie near that end, and the other end tells most.
_BEYOND = sf.priors.Gaussian(5.0, mean=[2.6])


def one_sided(radius: float = 1.0) -> sf.Gibbs:
    """A logistic regression on [-1, 1] whose posterior lies near the upper end."""
    return sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Box(_BEYOND, [-radius], [radius]), 1)


def lattice_draw(draws: int = 1) -> Plan:
    """An exponential mechanism of bounded range 2 power Delta = 2."""
    return planned("lattice", one_sided(), FEW, lattice.Parameters(1.0, 257), draws)


def trials(draws: int = 1, uniform: float | None = None, flat: bool = False) -> Plan:
    """The same law by rejection on a lattice, or with `flat` a law that is nearly uniform without records."""
    model = one_sided()
    if flat:
        model = model.with_prior(sf.priors.Box(sf.priors.Gaussian(1.0), [-1.0], [1.0]))
    return planned("envelope", model, FEW, envelope.Parameters(1.0, 40 if flat else 200, uniform), draws)


def kinks(width: int = 1, draws: int = 1) -> Plan:
    """Hinge losses that are linear where the posterior lies: mu = 2 power/sqrt(m) = 3."""
    prior: Any = sf.priors.Gaussian(100.0)
    if width == 2:
        prior = sf.priors.Box(prior, [-0.7] * 2, [0.7] * 2)
    model = sf.Gibbs(sf.losses.Hinge(1.0), prior, width)
    numbers = kinked_grid.at(model, FEW, draws, 15.0, 1.0)
    return planned("kinked-grid", model, FEW, numbers, draws)


def converged(strength: float | None = 1.0, draws: int = 1) -> Plan:
    """A chain that is assumed to have converged: the sharp theorem, or the exponential mechanism without a strength."""
    model = huber() if strength else one_sided()
    numbers = reference_chain.Parameters(1.5 if strength else 1.0, 30, 20, strength)
    return planned("reference-chain", model, FEW, numbers, draws)
