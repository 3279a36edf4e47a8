"""Records in groups whose sizes are private: the family's totals in each, counted from the middle of what a record can hold.

Base of `Grouped`, a family in every group of a column, and of `Weighted`, one group of the records that survey weights count. A
replaced record may leave one group and enter another, or with weights count more or less, so the totals of a group are its size
and its centred totals (`_centred`); of bits and categories they are the counts of the cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.grids.rates import cells_for
from sfumato.models import _centred
from sfumato.models.families import _cells
from sfumato.models.families._counts import ONE_MOVED
from sfumato.models.families.beta_bernoulli import BetaBernoulli
from sfumato.models.families.dirichlet_categorical import DirichletCategorical
from sfumato.models.families.family import Array, Family
from sfumato.models.laws import Dirichlet, Product


class HiddenSizes(Family):
    """One posterior per group; totals are one row per group: the counts of its cells, or its size and its totals.

    Subclasses have `model`, the family in each group, `levels`, the names of the groups, and `weighted`: whether records have
    survey weights. Then the sizes are sums of weights, which nobody knows, and add up to no more than n.
    """

    model: Family
    levels: tuple[Any, ...]
    weighted: bool

    def _adopt(self) -> None:
        """Take over what the family declares."""
        object.__setattr__(self, "drawn", self.model.drawn)
        object.__setattr__(self, "bounded", self.model.bounded)
        object.__setattr__(self, "proportion", self.model.proportion)
        object.__setattr__(self, "priced", self._cells is not None and not self.weighted)
        # Sizes are private: without the noisy counts a reader would not know how many records a share is based on.
        object.__setattr__(self, "releases_totals", self._cells is not None or self.weighted)

    @property
    def possible(self) -> tuple[float, float]:
        """That of the family itself."""
        return self.model.possible

    @property
    def counted(self) -> bool:
        """Whether a group's totals are the counts of its cells: of bits or categories."""
        return self._cells is not None

    @property
    def _cells(self) -> tuple[float, ...] | None:
        """Prior cells where the family is one of bits or categories, else None."""
        if isinstance(self.model, BetaBernoulli):
            return (self.model.alpha, self.model.beta)
        return self.model.alpha if isinstance(self.model, DirichletCategorical) else None

    @property
    def presence(self) -> Fraction:
        """What a record adds to the total that counts the records of its group."""
        return self.model.presence

    @property
    def shared_by(self) -> int:
        """Groups among which the n records are divided; with weights also what they leave out."""
        return len(self.levels) + self.weighted

    # --- what is read ------------------------------------------------------------------------------------------------

    def _totals(self, groups: NDArray[np.int64], block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """One row of whole numbers per group; `groups` says which each record belongs to, `columns` are the family's."""
        if self._cells is not None:
            size = len(self._cells)
            if isinstance(self.model, DirichletCategorical):
                codes = self.model.codes(block[columns[0]])
            else:
                codes = 1 - (np.asarray(block[columns[0]]).astype(np.int64) != 0)  # ones are the first cell
            return np.bincount(groups * size + codes, minlength=len(self.levels) * size).astype(np.int64)
        rows = []
        for group in range(len(self.levels)):
            inside = groups == group
            part = {name: block[name][inside] for name in columns}
            rows.append(_centred.centred(self.model, self.model.tally(part, columns).tolist(), int(inside.sum())))
        return np.array(rows, dtype=np.int64).ravel()

    @property
    def units(self) -> tuple[Fraction, ...]:
        """Counts, or the group's size and its totals, counted from the middle of what a record can hold."""
        if self._cells is not None:
            return (Fraction(1),) * (len(self._cells) * len(self.levels))
        return _centred.units(self.model, self.presence) * len(self.levels)

    @property
    def sensitivity(self) -> float:
        """A replaced record changes two orthogonal blocks: the row of the group it leaves, and that of the one it enters.

        A weight between 0 and 1 moves no more: contributions then lie between 0 and that of a whole record.
        """
        return ONE_MOVED if self._cells is not None else _centred.sensitivity(self.model)

    def _sizes(self, rows: Array, n: int | None) -> Array:
        """Noisy sizes from rows of noisy totals; moved so that they sum to n, where that is their sum."""
        return _centred.sizes(self.model, rows, None if self.weighted else n, self.presence)

    def feasible(self, totals: Array, n: int) -> Array:
        """Counts of at least 0, which sum to n if all groups are given; totals within the range of so many records."""
        if self._cells is not None:
            whole = totals.ndim == 1 and not self.weighted
            return _cells.nearest_counts(totals, n) if whole else np.maximum(totals, 0.0)
        rows = self._rows(totals)
        sizes = np.maximum(self._sizes(rows, None), 0.0)
        if self.weighted:
            sizes = np.minimum(sizes, float(n))
        elif totals.ndim == 1:
            sizes = _cells.nearest_counts(sizes, n)
        sizes = np.maximum(np.rint(sizes), 1.0)
        plain = _centred.plain(self.model, rows, sizes)
        inner = [self.model.feasible(row, int(size)) for row, size in zip(plain, sizes, strict=True)]
        return _centred.joined(self.model, sizes, np.array(inner), self.presence).reshape(totals.shape)

    def estimate(self, totals: Sequence[Fraction], n: int) -> list[float]:
        """The family's estimate in each group, at the group's noisy size; sizes without weights are made to sum to n."""
        rows = self._rows(np.array([float(total) for total in totals]))
        sizes = np.maximum(np.rint(self._sizes(rows, n)), 1.0)
        # Noise may lift a total beyond what so many records could have.
        most = sizes[:, None] * 2 * _centred.middles(self.model)
        possible = np.clip(_centred.plain(self.model, rows, sizes), 0.0, most)
        inner = (
            self.model.estimate(list(map(Fraction, row)), int(size))
            for row, size in zip(possible.tolist(), sizes, strict=True)
        )
        return [value for estimate in inner for value in estimate]

    def _average_size(self, n: int) -> int:
        """Records of a group of average size; with weights of the largest weight each."""
        return max(1, n // len(self.levels))

    def widest(self, n: int) -> Array:
        """Those of a group of average size."""
        members = float(self._average_size(n))
        totals = self.model.widest(int(members))[None, :]
        return _centred.joined(self.model, np.array([members]), totals, self.presence).ravel()

    def estimate_error(self, n: int, deviation: float) -> float:
        """Error from the noise of the total, in an average group whose mean is the middle of the bounds."""
        return self.model.estimate_error(self._average_size(n), deviation)

    def _rows(self, totals: Array) -> Array:
        width = len(self._cells) if self._cells is not None else 1 + len(self.model.units)
        return np.asarray(totals, dtype=np.float64).reshape(-1, width)

    # --- what is drawn -----------------------------------------------------------------------------------------------

    def natural(self, totals: Array, n: int, power: float = 1.0, strength: float = 1.0) -> Array:
        """Natural parameters of one group after each row of totals."""
        rows = self._rows(totals)
        if self._cells is not None:
            return strength * np.array(self._cells) + power * rows
        sizes = self._members(rows)
        inner = zip(_centred.plain(self.model, rows, sizes), sizes.astype(int).tolist(), strict=True)
        return np.stack([self.model.natural(row, size, power, strength) for row, size in inner])

    def _members(self, rows: Array) -> Array:
        """The sizes of groups from their rows of totals: whole numbers, at least 1."""
        return np.maximum(np.rint(self._sizes(rows, None)), 1.0)

    def law(self, totals: Sequence[Fraction], n: int, power: float = 1.0, strength: float = 1.0) -> Product:
        """A product over groups, of which a replaced record changes two; the grids depend on n alone, which is public."""
        rows = self._rows(np.array([float(total) for total in totals]))
        if self._cells is None:
            sizes = self._members(rows)
            inner = zip(_centred.plain(self.model, rows, sizes).tolist(), sizes.astype(int).tolist(), strict=True)
            parts = [self.model.law(list(map(Fraction, row)), size, power, strength) for row, size in inner]
            return Product(tuple(parts), touched=2)
        prior = self._cells
        weight, smallest = power * n + strength * sum(prior), strength * min(prior)
        single = isinstance(self.model, BetaBernoulli)
        floor = self.model.floor if isinstance(self.model, BetaBernoulli) else 0.0
        shared = (weight, smallest, floor, single, cells_for(weight))
        cells = self.natural(rows, n, power, strength)
        return Product(tuple(Dirichlet(tuple(map(float, row)), *shared) for row in cells), touched=2)

    def strongest(self, n: int) -> float:
        """Largest strength that the grid of one group can draw if the group holds all records."""
        return self.model.strongest(n)

    # --- what a reader may expect, in a group of average size --------------------------------------------------------

    def simulate(self, rng: np.random.Generator, size: int, n: int) -> tuple[Array, Array]:
        """True parameters and totals of one group of average size."""
        members = self._average_size(n)
        truth, totals = self.model.simulate(rng, size, members)
        if isinstance(self.model, BetaBernoulli):
            return truth, np.concatenate([totals, members - totals], axis=1)
        if self._cells is not None:
            return truth, totals
        return truth, _centred.joined(self.model, np.full(size, float(members)), totals, self.presence)

    def sketch(self, rng: np.random.Generator, natural: Array) -> Array:
        """As in the family itself."""
        return self.model.sketch(rng, natural)

    def divergence(self, first: Array, second: Array) -> Array:
        """As in the family itself."""
        return self.model.divergence(first, second)

    def distance(self, draws: Array, truth: Array) -> Array:
        """As in the family itself."""
        return self.model.distance(draws, truth)
