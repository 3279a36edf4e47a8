"""Totals of a group whose size is private: how many records it has, and their totals counted from the middle of their spans.

A record that changes its group takes its totals from one and brings them to another. Counted from the middle of what a record
can hold they are at most half of that each time, so that with the count in the same unit a change of the group moves all of
them together by no more than a change of the value does (docs/proofs/groups.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from sfumato.models.families.family import Array, Family

# Parts of a sensitivity in which a presence is a whole number: a short fraction for every total of a table.
_PARTS = 256
# More than a conversion, a root and a product can round down.
_UP = 1 + 1e-12


def units(model: Family, presence: Fraction) -> tuple[Fraction, ...]:
    """Of the count, to which a record adds `presence`, and of the centred totals, which are whole numbers of half steps."""
    return (presence, *(unit / 2 for unit in model.units))


def centred(model: Family, totals: Sequence[int], size: int) -> list[int]:
    """The count, and twice the totals less the spans of so many records: whole numbers, exact."""
    return [size, *(2 * int(total) - span * size for total, span in zip(totals, model.spans, strict=True))]


def sensitivity(model: Family) -> float:
    """How far a replaced record moves the totals of all groups: within its group, or out of one and into another."""
    changed = 2 * (model.presence**2 + model.reach**2)
    if changed <= Fraction(model.sensitivity) ** 2:
        return model.sensitivity
    return math.sqrt(float(changed)) * _UP


def weighted_presence(model: Family) -> Fraction:
    """What a record may add to the weighted size without moving more than its value does: sqrt(Delta^2 - reach^2), rounded down.

    The contribution of a weighted record lies between 0 and (presence, centred totals). Where the totals alone reach as far
    from their middle as two records lie apart, the presence is the reach, and the sensitivity grows.
    """
    room = Fraction(model.sensitivity) ** 2 - model.reach**2
    if room <= 0:
        return Fraction(model.reach)
    scale = Fraction(model.sensitivity) / _PARTS
    return max(scale * math.isqrt(math.floor(room / scale**2)), Fraction(scale))


def weighted_sensitivity(model: Family, presence: Fraction) -> float:
    """How far a replaced weighted record moves size and totals: between two values, or between 0 and one of them."""
    alone = presence**2 + model.reach**2
    if alone <= Fraction(model.sensitivity) ** 2:
        return model.sensitivity
    return math.sqrt(float(alone)) * _UP


def middles(model: Family) -> Array:
    """The middle of one record's totals, in their own units."""
    return np.array([float(unit * span / 2) for unit, span in zip(model.units, model.spans, strict=True)])


def sizes(model: Family, rows: Array, n: int | None = None, presence: Fraction | None = None) -> Array:
    """Noisy sizes of groups from rows of noisy totals; with n, moved by the same amount each so that they sum to it."""
    noisy = rows[:, 0] / float(model.presence if presence is None else presence)
    return noisy if n is None else noisy + (n - noisy.sum()) / len(noisy)


def plain(model: Family, rows: Array, counts: Array) -> Array:
    """The totals of groups of these sizes, counted from 0 again."""
    return rows[:, 1:] + counts[:, None] * middles(model)


def joined(model: Family, counts: Array, totals: Array, presence: Fraction | None = None) -> Array:
    """Rows of the count and the centred totals."""
    return np.column_stack(
        [counts * float(model.presence if presence is None else presence), totals - counts[:, None] * middles(model)]
    )
