"""The order of the items of each row of a layered drawing: by barycentres, with few crossings."""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from itertools import pairwise

# Sweeps over all rows after which orders and places hardly change any more (graphs of 40 boxes).
SWEEPS = 12


def ordered(rows: list[list[int]], between: list[list[tuple[int, int]]]) -> list[list[int]]:
    """Each row in the order with the fewest crossings of all sweeps down and up."""
    best, least = rows, crossings(rows, between)
    current = rows
    for sweep in range(2 * SWEEPS):
        if least == 0:
            break
        current = _swept(current, between, down=sweep % 2 == 0)
        if (count := crossings(current, between)) < least:
            best, least = current, count
    return best


def _swept(rows: list[list[int]], between: list[list[tuple[int, int]]], down: bool) -> list[list[int]]:
    """Sort each row by the mean place of its neighbours in the row before; items without neighbours keep their places."""
    made = [list(row) for row in rows]
    for place in range(1, len(rows)) if down else range(len(rows) - 2, -1, -1):
        fixed, pairs = (made[place - 1], between[place - 1]) if down else (made[place + 1], between[place])
        at = {item: (k + 0.5) / len(fixed) for k, item in enumerate(fixed)}
        key = {}
        for k, item in enumerate(made[place]):
            near = [at[a if down else b] for a, b in pairs if (b if down else a) == item]
            key[item] = math.fsum(near) / len(near) if near else (k + 0.5) / len(made[place])
        made[place].sort(key=key.__getitem__)
    return made


def crossings(rows: list[list[int]], between: list[list[tuple[int, int]]]) -> int:
    """How many pairs of arrows cross between neighbouring rows."""
    count = 0
    for (upper, lower), pairs in zip(pairwise(rows), between, strict=True):
        up, down = ({item: k for k, item in enumerate(row)} for row in (upper, lower))
        seen: list[int] = []
        for _, b in sorted((up[a], down[b]) for a, b in pairs):
            count += len(seen) - bisect_right(seen, b)
            insort(seen, b)
    return count
