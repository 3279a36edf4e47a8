"""Persons by brute force: all rows that a person may have, all neighbours, and their divergences; no price of the library is used.

A contribution is the mean of the contributions of a person's rows, as exact fractions; a person without rows counts as one row
whose cells are all missing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import integrate, special

import sfumato as sf
from sfumato.engines.opening import open_engine

Totals = tuple[Fraction, ...]


def rows_of_one(records: Sequence[Any], most: int = 2) -> list[tuple[Any, ...]]:
    """Every multiset of at most `most` records, the empty one among them."""
    sizes = range(most + 1)
    return [rows for size in sizes for rows in itertools.combinations_with_replacement(records, size)]


def single(model: Any, schema: sf.Schema, record: Any) -> Totals:
    """The totals of a table of one row, read without persons; None is a row whose cells are all missing."""
    cells = dict.fromkeys(schema.columns) if record is None else record
    data = sf.Dataset.from_table({name: [cells[name]] for name in schema.columns}, schema=schema)
    found = open_engine(data, model, ("totals",)).totals(model.tally)
    return tuple(Fraction(total) * unit for total, unit in zip(found, model.units, strict=True))


def contributions(model: Any, schema: sf.Schema, records: Sequence[Any], most: int = 2) -> list[Totals]:
    """What one person may contribute: the mean over their rows, for every multiset of at most `most` of the records."""
    alone = [single(model, schema, record) for record in records]
    missing = single(model, schema, None)
    found = {mean(rows or (missing,)) for rows in rows_of_one(alone, most)}
    return sorted(found)


def mean(rows: Sequence[Totals]) -> Totals:
    """The mean of several rows, coordinate by coordinate."""
    return tuple(sum(column, Fraction(0)) / len(rows) for column in zip(*rows, strict=True))


def neighbours(own: Sequence[Totals], people: int) -> Iterator[tuple[Totals, Totals]]:
    """The totals of every two tables of so many persons that differ in one of them."""
    for others in itertools.combinations_with_replacement(own, people - 1):
        for one, two in itertools.permutations(own, 2):
            yield added([*others, one]), added([*others, two])


def added(parts: Sequence[Totals]) -> Totals:
    return tuple(map(sum, zip(*parts, strict=True)))


# --- hockey sticks ---------------------------------------------------------------------------------------------------


def beta_delta(first: tuple[float, float], second: tuple[float, float], epsilon: float) -> float:
    """Delta of Beta(first) from Beta(second), whose cells have the same sum: the event is theta beyond a threshold."""
    (a, b), (c, d) = first, second
    if a == c:
        return 0.0
    if a < c:
        (a, b), (c, d) = (b, a), (d, c)
    gap = special.betaln(a, b) - special.betaln(c, d)
    below = special.expit(-(epsilon + gap) / (a - c))  # 1 - threshold
    return float(special.betainc(b, a, below) - math.exp(epsilon) * special.betainc(d, c, below))


def gamma_delta(first: tuple[float, float], second: tuple[float, float], epsilon: float) -> float:
    """Delta of Gamma(shape, rate) from another one with the same shape or the same rate."""
    (a, b), (c, d) = first, second
    if b == d and a != c:
        # log ratio = (a - c) log(b x) - lgamma(a) + lgamma(c)
        edge = math.exp((epsilon + math.lgamma(a) - math.lgamma(c)) / (a - c))
        tail = special.gammaincc if a > c else special.gammainc
        return float(tail(a, edge) - math.exp(epsilon) * tail(c, edge))
    if a == c and b != d:
        edge = (epsilon - a * math.log(b / d)) / (d - b)  # log ratio = a log(b/d) - (b - d) x
        tail = special.gammaincc if d > b else special.gammainc
        reached = max(edge, 0.0)
        return float(tail(a, b * reached) - math.exp(epsilon) * tail(a, d * reached))
    return 0.0


def normal_delta(shift: float, deviation: float, epsilon: float) -> float:
    """Delta of two normals of one deviation."""
    if shift == 0:
        return 0.0
    mu = abs(shift) / deviation
    return float(special.ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * special.ndtr(-mu / 2 - epsilon / mu))


def listed_delta(first: np.ndarray, second: np.ndarray, epsilon: float) -> float:
    """Delta of two laws on the same points, from logarithms of their weights."""
    p, q = (np.exp(logs - special.logsumexp(logs)) for logs in (first, second))
    return float(np.maximum(0.0, p - math.exp(epsilon) * q).sum())


class Interval:
    """Laws on an interval, from their log densities: integrals by Gauss-Legendre, ratios at its nodes and at both ends."""

    def __init__(self, low: float, high: float) -> None:
        nodes, weights = np.polynomial.legendre.leggauss(200)
        self.points = np.concatenate([[low], 0.5 * (high - low) * nodes + 0.5 * (high + low), [high]])
        self.weights = np.concatenate([[0.0], 0.5 * (high - low) * weights, [0.0]])

    def largest_log_ratio(self, first: np.ndarray, second: np.ndarray) -> float:
        """Largest log ratio of two laws whose log densities at the points are given up to constants."""
        one, two = (logs - special.logsumexp(logs, b=self.weights) for logs in (first, second))
        return float((one - two).max())


def dirichlet_renyi(first: np.ndarray, second: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Renyi divergences of two Dirichlets at every order; infinite where the mixed cells leave the domain."""
    mixed = orders[:, None] * first + (1 - orders[:, None]) * second
    inside = (mixed > 0).all(axis=1)
    with np.errstate(invalid="ignore"):
        top = special.gammaln(mixed).sum(axis=1) - special.gammaln(mixed.sum(axis=1))
    ends = [special.gammaln(cells).sum() - special.gammaln(cells.sum()) for cells in (first, second)]
    return np.where(inside, (top - orders * ends[0]) / (orders - 1) + ends[1], math.inf)


# --- a person spread over several cells ------------------------------------------------------------------------------


def spread_delta(cell: float, weight: float, cells: int, epsilon: float) -> float:
    """Delta of Dirichlet cells when a weight leaves so many of them, in equal parts, and enters as many others.

    Before they are normalised the cells are independent Gammas, and the log ratio is a sum of their logarithms that no common
    factor changes. Its tail follows from its characteristic function, a product of Gamma functions (Gil-Pelaez).
    """
    part = weight / cells
    along = np.array([part] * cells + [-part] * cells)
    shapes = cell + np.maximum(along, 0.0)

    def above(given: np.ndarray) -> float:
        base = special.loggamma(given).real.sum()

        def integrand(t: float) -> float:
            return float(np.exp(special.loggamma(given + 1j * along * t).sum() - base - 1j * t * epsilon).imag) / t

        return 0.5 + integrate.quad(integrand, 0.0, math.inf, limit=400)[0] / math.pi

    return above(shapes) - math.exp(epsilon) * above(cell + np.maximum(-along, 0.0))


def worst(pairs: Iterator[tuple[Totals, Totals]], measure: Callable[[Totals, Totals], float]) -> float:
    """The largest value over all pairs."""
    return max(measure(one, two) for one, two in pairs)
