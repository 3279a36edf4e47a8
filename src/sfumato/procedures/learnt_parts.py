"""The parts of a released learnt table: what was counted with how much noise, in the order in which it is stored.

The totals hold, one after the other: the trees of counts behind private bins; the tables of single columns where pairs are chosen;
the tables of pairs that are always counted; those that were chosen, in the order of their choice. Noise and order follow from the
plan and from what was published before, so that a reader cuts the totals as they were made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sfumato.engines.protocol import Array
from sfumato.mixtures.mixture import Mixture
from sfumato.mixtures.noisy_pairs import NoisyPairs, NoisyTable, assembled
from sfumato.models.families import _count_tree
from sfumato.models.networks._tables import size_of
from sfumato.models.networks.learned import LearnedNetwork
from sfumato.procedures.protocol import Parameters as Base

# Information of a table in proportion to its cells to this power: noise in each of m cells costs m sigma in total variation and
# 1/sigma^2 in price, and the sum of the first at a given sum of the second is least for 1/sigma^2 in proportion to m^(2/3).
_BY_CELLS = 2 / 3
# A target's tables get this many times the information of others of their size.
_TARGET = 4.0

# Names of what is published beside the totals.
CHOSEN, WEIGHTS, LAWS = "chosen", "weights", "laws"


@dataclass(frozen=True)
class Part:
    """One group of counts with the same noise: its columns, its shape, the deviation, and how far a record moves it, squared."""

    columns: tuple[int, ...]
    shape: tuple[int, ...]
    deviation: float
    squared_move: int = 2

    @property
    def size(self) -> int:
        """Counts of the part."""
        return math.prod(self.shape)


def tree_parts(model: LearnedNetwork, noise: float) -> list[Part]:
    """The trees behind private bins, all at the same price; together that of noise 1/mu."""
    parts = []
    for name, _ in model.quantiles:
        radices = model.cell_radices(name)
        moved = 2 * len(radices)
        deviation = noise * math.sqrt(moved * len(model.quantiles))
        parts.append(Part((model.names.index(name),), (_count_tree.tree_size(radices),), deviation, moved))
    return parts


def single_parts(model: LearnedNetwork, noise: float) -> list[Part]:
    """The tables of single columns, where pairs are chosen."""
    if not model.chosen:
        return []
    deviation = noise * math.sqrt(2 * len(model.names))
    return [Part((place,), (size,), deviation) for place, size in enumerate(model.sizes.values())]


def pair_parts(model: LearnedNetwork, noise: float, chosen: Sequence[tuple[int, int]]) -> list[Part]:
    """The tables of pairs: those that are always counted, and those that were chosen so far.

    All pairs share the information by their cells. Where pairs are chosen nobody knows beforehand which will be, and each gets the
    same share of it.
    """
    sizes = list(model.sizes.values())
    shapes = [(sizes[a], sizes[b]) for a, b in (*model.fixed_pairs, *chosen)]
    if model.chosen:
        shares = [1.0 / (len(model.fixed_pairs) + model.chosen)] * len(shapes)
    else:
        weights = [_weight(model, pair, shape) for pair, shape in zip(model.fixed_pairs, shapes, strict=True)]
        shares = [weight / math.fsum(weights) for weight in weights]
    pairs = (*model.fixed_pairs, *chosen)
    return [
        Part(pair, shape, noise * math.sqrt(2 / share))
        for pair, shape, share in zip(pairs, shapes, shares, strict=True)
    ]


def _weight(model: LearnedNetwork, pair: tuple[int, int], shape: tuple[int, int]) -> float:
    aimed = model.target is not None and model.names.index(model.target) in pair
    return float(math.pow(math.prod(shape), _BY_CELLS)) * (_TARGET if aimed else 1.0)


def edges_from(model: LearnedNetwork, counts: Mapping[str, Array], n: int) -> dict[str, tuple[float, ...]]:
    """Edges of private bins: from the left, each bin is closed where it holds its part of the noisy records that are left."""
    edges = {}
    for name, cells in model.quantiles:
        below = np.maximum.accumulate(
            np.clip(
                _count_tree.cumulative_counts(counts[name], model.cell_radices(name), n)[: len(cells)], 0.0, float(n)
            )
        )
        below[-1] = float(n)
        count, place, chosen = size_of(dict(model.cardinalities)[name]), 0, [0]
        for left in range(count, 1, -1):
            wanted = below[place] + (n - below[place]) / left
            near = int(np.argmin(np.abs(below - wanted)))
            # At least one cell for this bin, and for each of those that follow.
            place = min(max(near, place + 1), len(cells) - left)
            chosen.append(place)
        edges[name] = tuple(cells[each] for each in (*chosen, len(cells) - 1))
    return edges


@dataclass(frozen=True, eq=False)
class Learnt:
    """A released learnt table, read back."""

    model: LearnedNetwork  # its bins are public now
    n: int
    tables: tuple[NoisyTable, ...]
    trees: Mapping[str, Array]  # noisy counts behind private bins, by column
    cells: Mapping[str, tuple[float, ...]]  # the edges of the cells that they count
    mixture: Mixture

    @property
    def pairs(self) -> NoisyPairs:
        """All that a mixture is fitted to."""
        return assembled(tuple(self.model.sizes.values()), self.n, self.tables, self.model.empty_cells)


def parts_of(model: LearnedNetwork, numbers: Base, chosen: Sequence[tuple[int, int]]) -> list[Part]:
    """Every part of the totals, in their order."""
    given = dict(numbers)
    trees = tree_parts(model, float(given["bins_noise"])) if model.quantiles else []
    singles = single_parts(model, float(given["single_noise"])) if model.chosen else []
    return [*trees, *singles, *pair_parts(model, float(given["noise"]), chosen)]


def chosen_pairs(model: LearnedNetwork, published: Mapping[str, Array]) -> list[tuple[int, int]]:
    """The chosen pairs, in order, by their places among the open ones."""
    places = published.get(CHOSEN, np.empty(0))
    return [model.open_pairs[int(place)] for place in places.tolist()]


def read_learnt(model: LearnedNetwork, n: int, numbers: Base, totals: Array, published: Mapping[str, Array]) -> Learnt:
    """Cut the totals of a release into its tables."""
    parts = parts_of(model, numbers, chosen_pairs(model, published))
    starts = [0, *np.cumsum([part.size for part in parts]).tolist()]
    cut = [totals[a:b].reshape(part.shape) for (a, b), part in zip(pairwise(starts), parts, strict=True)]
    count = len(model.quantiles)
    trees = {name: counts for (name, _), counts in zip(model.quantiles, cut[:count], strict=True)}
    tables = [
        NoisyTable(part.columns, counts, part.deviation)
        for part, counts in zip(parts[count:], cut[count:], strict=True)
    ]
    resolved = model.resolved(edges_from(model, trees, n)) if model.quantiles else model
    sizes = tuple(model.sizes.values())
    laws = published[LAWS].reshape(-1, sum(sizes))
    return Learnt(resolved, n, tuple(tables), trees, dict(model.quantiles), Mixture(sizes, published[WEIGHTS], laws))
