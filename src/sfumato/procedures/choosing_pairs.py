"""Pairs of columns chosen in rounds: by how badly the mixture fitted to earlier releases fits their counts.

The misfit of a pair is |counts - n shares of the mixture|_1 less what noise alone is expected to add to its table, so that a large
table is not chosen for its noise. The shares are rounded to a public grid first: misfits are exact whole numbers of 2^-10 counts,
and the draw is exact (`samplers.finite`). Counts enter through the misfit alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Protocol

import numpy as np

from sfumato.mixtures.fitting import fitted
from sfumato.mixtures.mixture import Array, firsts
from sfumato.mixtures.noisy_pairs import NoisyTable, assembled
from sfumato.models.families._log_weights import UNITS, tempered
from sfumato.models.laws import Finite
from sfumato.models.networks.learned import LearnedNetwork
from sfumato.procedures.learnt_parts import Part
from sfumato.randomness import Randomness
from sfumato.samplers.finite import draw_finite
from sfumato.samplers.langevin import Report

# Parts of one count in which misfits are whole numbers.
_SCALE = 1 << 10
# Sums below this are exact in 64 bits.
_LARGEST = 1 << 62
# Mean absolute value of a standard normal.
_MEAN_ABSOLUTE = math.sqrt(2 / math.pi)
# Fits between rounds need not be as good as the last one: fewer folds, components and steps.
_FOLDS, _COMPONENTS, _STEPS = 3, 50, 300


class Counting(Protocol):
    """Noisy tables so far, and a way to count more."""

    exact: Mapping[tuple[int, ...], Sequence[int | Fraction]]
    tables: tuple[NoisyTable, ...]

    def count(self, wanted: Sequence[Part]) -> None:
        """Release these tables."""

    def part_of(self, pair: tuple[int, int]) -> Part:
        """The table of an open pair, should it be chosen."""


def choose(
    model: LearnedNetwork, n: int, counting: Counting, power: float, randomness: Randomness, report: Report
) -> list[int]:
    """The places of the chosen pairs among the open ones, in order; each is counted at the end of its round."""
    left, chosen = list(range(len(model.open_pairs))), list[int]()
    for turn, size in enumerate(round_sizes(model)):
        reference = reference_shares(model, n, counting.tables)
        misfits = {place: misfit_of(model, n, counting, reference, place) for place in left}
        taken = []
        for _ in range(size):
            place = drawn(left, misfits, power, randomness)
            left.remove(place)
            taken.append(place)
        counting.count([counting.part_of(model.open_pairs[place]) for place in taken])
        chosen += taken
        report(turn + 1, model.rounds)
    return chosen


def round_sizes(model: LearnedNetwork) -> list[int]:
    """How many pairs each round chooses: nearly equally many, all together those of the model."""
    ends = [turn * model.chosen // model.rounds for turn in range(model.rounds + 1)]
    return [b - a for a, b in pairwise(ends)] if model.chosen else []


def reference_shares(model: LearnedNetwork, n: int, tables: Sequence[NoisyTable]) -> Array:
    """Shares of all pairs of levels by a mixture that is fitted to noisy tables alone."""
    pairs = assembled(tuple(model.sizes.values()), n, tables, model.empty_cells)
    return fitted(pairs, _FOLDS, _COMPONENTS, _STEPS).pairs()


def drawn(left: Sequence[int], misfits: Mapping[int, int], power: float, randomness: Randomness) -> int:
    """One of the places, with probability proportional to exp(power misfit)."""
    return int(draw_finite(law_of(left, misfits, power), 1, randomness)[0, 0])


def law_of(left: Sequence[int], misfits: Mapping[int, int], power: float) -> Finite:
    """The places with the logarithms of their weights."""
    logs = tempered(power, [[misfits[place]] for place in left], [Fraction(UNITS, _SCALE)])
    return Finite(tuple(logs), tuple((float(place),) for place in left))


def misfit_of(model: LearnedNetwork, n: int, counting: Counting, reference: Array, place: int) -> int:
    """The misfit of a pair in whole numbers of 1/_SCALE counts."""
    first, second = model.open_pairs[place]
    edges = firsts(tuple(model.sizes.values()))
    shares = reference[edges[first] : edges[first + 1], edges[second] : edges[second + 1]]
    # Between 0 and n whatever the fit gave, and then whole numbers without an overflow: a record moves the sum by 2 counts at
    # most only if no part of it wraps around.
    wanted = np.rint(np.clip(np.nan_to_num(shares.ravel()), 0.0, 1.0) * float(n * _SCALE))
    counts = counting.exact[first, second]
    small = n * _SCALE * shares.size < _LARGEST and all(isinstance(count, int) for count in counts)
    expected = wanted.astype(np.int64) if small else np.array(list(map(int, wanted.tolist())), dtype=object)
    gap = np.abs(np.array(counts, dtype=expected.dtype) * _SCALE - expected).sum()
    noise = counting.part_of((first, second)).deviation * shares.size * _MEAN_ABSOLUTE
    # Counts of averaged persons are fractions. Rounding the whole sum once, halves upwards, keeps a move of at most 2 counts: a
    # rounded number moves by no more than a whole number that the number itself moves by.
    whole: int = math.floor(gap + Fraction(1, 2))
    return whole - round(noise * _SCALE)
