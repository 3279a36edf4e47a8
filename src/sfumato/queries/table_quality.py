"""How good a learnt table is, from its release alone: its mixture against its noisy tables. No record is read.

Three numbers for every table, all total variations (half the sum of absolute differences of shares):

- misfit: between the mixture and the noisy table.
- noise: what noise alone gives on average, 1/2 sum sqrt(2/pi) deviation/n, had the mixture the records' own shares.
- error: an estimate of the total variation between the mixture and the records' own shares.

The misfit is no estimate of the error: most of it is noise, and a mixture that follows the noise fits too well. So the error is
estimated by fitting again. The noisy tables are parted in three by further noise (`NoisyPairs.parted`), so that two parts
together and the third have independent noise, the third of variance v in a cell. The mixture m is fitted to two parts exactly as
the released one was to all, and for the third part y and the records' share t

    E (m - y)^2 = E (m - t)^2 + v,

so that the mean of (m - y)^2 - v over the three ways to leave one out is an unbiased estimate of the squared error of a fit to two
thirds of the information: somewhat more than that of the released one. (Fission of normal data: Oliveira, Lei and Tibshirani,
2021.) Cells of about the same share are averaged, and the root mean square r of such a group counts as sqrt(2/pi) r of absolute
error for each of its cells, as in a normal law. tests/queries/test_table_quality.py compares it with errors that are known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.mixtures.fitting import FOLDS, fitted
from sfumato.mixtures.mixture import Array, Mixture, firsts
from sfumato.mixtures.noisy_pairs import NoisyPairs, NoisyTable
from sfumato.mixtures.rows import drawn_rows
from sfumato.queries.learned_tables import LearnedTable

# E|Z| for a standard normal Z.
_MEAN_ABSOLUTE = math.sqrt(2 / math.pi)
# Groups of cells by their share: with more of them a group has too few cells for its mean square to be above its own noise.
_GROUPS, _LEAST = 8, 12
# Parts of the noisy tables, of which each fit leaves one out. With more cells than these one fit is precise enough, and slow.
_PARTS, _MANY = 3, 5000
# Triples of columns that are compared, and synthetic rows that are drawn for it: a second or two.
_TRIPLES, _ROWS = 120, 20_000
_SEED = 21


@dataclass(frozen=True)
class Fit:
    """One noisy table by the names of its columns: misfit of the mixture, what noise alone gives, and the estimated error."""

    columns: tuple[str, ...]
    cells: int
    misfit: float
    noise: float
    error: float


@dataclass(frozen=True)
class Way:
    """Means over all sets of so many columns; None where nothing was counted to compare with.

    `fits` is between the fits that were pooled and their mean: where it is large, the noisy tables leave open what the shares
    are. `rows` is between synthetic rows, as many as `Quality.rows`, and the mixture.
    """

    columns: int
    misfit: float | None
    noise: float | None
    error: float | None
    fits: float
    rows: float


@dataclass(frozen=True)
class Quality:
    """What a release says about its own synthetic tables."""

    n: int
    rows: int
    # Every column by itself, from all noisy tables that hold it, and every pair that was counted.
    columns: tuple[Fit, ...]
    pairs: tuple[Fit, ...]
    ways: tuple[Way, ...]
    # Pairs that were not counted together, by name: chosen against, and left out by the plan.
    not_chosen: tuple[tuple[str, str], ...]
    left_out: tuple[tuple[str, str], ...]
    # Triples of columns, and those of which all three pairs were counted.
    triples: int
    whole_triples: int
    # Triples that were compared for `ways`.
    compared: int


def quality(table: LearnedTable) -> Quality:
    """The quality of a learnt table, from its release."""
    model, learnt = table.model, table.learnt
    names, pairs = model.names, learnt.pairs
    singles, cells = _errors(learnt.mixture, pairs)
    columns = _singles(table, pairs, singles)
    tables = tuple(_pair(table, noisy, cells) for noisy in learnt.tables if len(noisy.columns) == 2)
    counted = {each.columns for each in learnt.tables}
    absent = [pair for pair in combinations(range(len(names)), 2) if pair not in counted]
    possible = set(model.candidates)
    named = [((names[a], names[b]), (a, b) in possible) for a, b in absent]
    triples = list(combinations(range(len(names)), 3))
    whole = sum(all(pair in counted for pair in combinations(triple, 2)) for triple in triples)
    rows = min(learnt.n, _ROWS)
    ways, compared = _ways(table, (columns, tables), rows, triples)
    return Quality(
        learnt.n, rows, columns, tables, ways, tuple(pair for pair, there in named if there),
        tuple(pair for pair, there in named if not there), len(triples), whole, compared,
    )  # fmt: skip


def parts_of(mixture: Mixture) -> list[Mixture]:
    """The fits that were pooled, one for each fold, in their order."""
    size = len(mixture.weights) // FOLDS
    cuts = [slice(k * size, (k + 1) * size) for k in range(FOLDS)]
    return [Mixture(mixture.sizes, FOLDS * mixture.weights[cut], mixture.laws[cut]) for cut in cuts]


def _errors(mixture: Mixture, pairs: NoisyPairs) -> tuple[Array, Array]:
    """The estimated absolute error of the share of every level, and of every pair of levels that was counted."""
    whole, alone = mixture.pairs(), mixture.singles()
    squares, single_squares = np.zeros(whole.shape), np.zeros(alone.shape)
    parted = pairs.parted(_PARTS, np.random.RandomState(_SEED))
    used = parted if pairs.cells <= _MANY else parted[:1]
    for seen, kept in used:
        again = fitted(seen)
        shares, variances = _margins(kept)
        squares += (again.pairs() - kept.shares) ** 2 - _variances(kept.precisions)
        single_squares += (again.singles() - shares) ** 2 - variances
    upper = np.triu((pairs.precisions > 0) & ~pairs.known)
    errors = np.zeros(whole.shape)
    errors[upper] = _grouped(whole[upper], squares[upper] / len(used))
    return _grouped(alone, single_squares / len(used)), errors + errors.T


def _variances(precisions: Array) -> Array:
    return np.where(precisions > 0, 1 / np.where(precisions > 0, precisions, 1.0), 0.0)


def _margins(pairs: NoisyPairs) -> tuple[Array, Array]:
    """Noisy shares of every level with their variances: the sums of all tables that hold it, weighted by their precisions."""
    edges = firsts(pairs.sizes)
    weights = pairs.single_precisions.copy()
    weighed = weights * pairs.single_shares
    variances = np.where(pairs.known, 0.0, _variances(pairs.precisions))
    for first, last in pairwise(edges):
        summed = variances[:, first:last].sum(axis=1)
        # Within a column's own block nothing is measured, and the variance of a sum of no cells is 0.
        weight = np.where(summed > 0, 1 / np.where(summed > 0, summed, 1.0), 0.0)
        weighed, weights = weighed + weight * pairs.shares[:, first:last].sum(axis=1), weights + weight
    return weighed / np.where(weights > 0, weights, 1.0), _variances(weights)


def _grouped(shares: Array, squares: Array) -> Array:
    """The absolute error of each cell, from the mean square of the cells of about its share."""
    errors = np.empty(len(shares))
    for group in np.array_split(np.argsort(shares, kind="stable"), min(_GROUPS, max(len(shares) // _LEAST, 1))):
        errors[group] = _MEAN_ABSOLUTE * math.sqrt(max(float(squares[group].mean()), 0.0)) if len(group) else 0.0
    return errors


def _singles(table: LearnedTable, pairs: NoisyPairs, errors: Array) -> tuple[Fit, ...]:
    """Every column by itself."""
    shares, variances = _margins(pairs)
    own, edges, fits = table.learnt.mixture.singles(), firsts(pairs.sizes), []
    for name, (first, last) in zip(table.model.names, pairwise(edges), strict=True):
        gaps, noise = np.abs(own - shares)[first:last], _MEAN_ABSOLUTE * np.sqrt(variances[first:last])
        halves = (0.5 * float(each.sum()) for each in (gaps, noise, errors[first:last]))
        fits.append(Fit((name,), last - first, *halves))
    return tuple(fits)


def _pair(table: LearnedTable, noisy: NoisyTable, errors: Array) -> Fit:
    """One noisy table of two columns; combinations that are impossible have no share and are not compared."""
    learnt, model = table.learnt, table.model
    edges = firsts(tuple(model.sizes.values()))
    first, second = (slice(edges[column], edges[column + 1]) for column in noisy.columns)
    names = tuple(model.names[column] for column in noisy.columns)
    possible = ~learnt.pairs.known[first, second]
    gaps = np.abs(table.joint(names) - noisy.counts / learnt.n)[possible]
    cells = int(possible.sum())
    noise = 0.5 * cells * _MEAN_ABSOLUTE * noisy.deviation / learnt.n
    return Fit(names, cells, 0.5 * float(gaps.sum()), noise, 0.5 * float(errors[first, second].sum()))


def _ways(
    table: LearnedTable, fits: tuple[tuple[Fit, ...], ...], rows: int, triples: Sequence[tuple[int, ...]]
) -> tuple[tuple[Way, ...], int]:
    """Means over single columns, pairs and triples."""
    model, mixture = table.model, table.learnt.mixture
    codes = drawn_rows(mixture, rows, np.random.default_rng(_SEED), model.empty_cells)
    parts, places = parts_of(mixture), range(len(model.names))
    # Evenly spaced among all triples: which ones is fixed by their number alone.
    step = max(len(triples) / _TRIPLES, 1.0)
    kept = [triples[int(k * step)] for k in range(min(_TRIPLES, len(triples)))]
    sets: tuple[Sequence[tuple[int, ...]], ...] = ([(k,) for k in places], list(combinations(places, 2)), kept)
    ways = []
    for count, (own, chosen) in enumerate(zip((*fits, ()), sets, strict=True), start=1):
        apart = [_apart(table, parts, codes, each) for each in chosen] or [(0.0, 0.0)]
        between, drawn = np.mean(apart, axis=0).tolist()
        misfit, noise, error = (_mean(own, name) for name in ("misfit", "noise", "error"))
        ways.append(Way(count, misfit, noise, error, between, drawn))
    return tuple(ways), len(kept)


def _mean(fits: Sequence[Fit], name: str) -> float | None:
    return float(np.mean([getattr(fit, name) for fit in fits])) if fits else None


def _apart(
    table: LearnedTable, parts: list[Mixture], codes: NDArray[np.int64], columns: tuple[int, ...]
) -> tuple[float, float]:
    """Total variation between the fits and their mean, and between synthetic rows and the mixture."""
    whole = table.learnt.mixture.joint(columns)
    fits = [0.5 * float(np.abs(part.joint(columns) - whole).sum()) for part in parts]
    flat = np.ravel_multi_index(tuple(codes[:, column] for column in columns), whole.shape)
    shares = np.bincount(flat, minlength=whole.size) / len(codes)
    shown = table.joint([table.model.names[column] for column in columns])
    return float(np.mean(fits)), 0.5 * float(np.abs(shares - shown.ravel()).sum())
