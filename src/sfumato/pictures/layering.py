"""Layered drawing of a directed graph without cycles: boxes in rows, every arrow from a row to one below it.

The method is that of Sugiyama, Tagawa and Toda (1981): levels by longest paths, order within rows by barycentres, and places
that pull joined items together. A level with more boxes than fit is broken into several rows. An arrow that passes a row holds
a place in it, as a box does; all arrows of one start share that place. Arrows bend only between rows, so that none meets a box
other than its two ends. The same input always gives the same drawing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.errors import ArgumentError
from sfumato.pictures._layer_order import SWEEPS, ordered
from sfumato.pictures.description import Point

# Pixels: height of a box, room between two items of a row, and between an arrow that passes a row and its neighbours.
BOX, _GAP, _PASS = 30.0, 18.0, 9.0
# Room between rows: the least, the most, and pixels for each pixel that an arrow goes sideways, which keeps curves steep.
_BETWEEN, _MOST_BETWEEN, _STEEP = 38.0, 84.0, 0.16
# Pixels between two arrows at one side of a box, and the part of a box's side at which arrows may stand.
_PORT, _SIDE = 15.0, 0.8
# Above the first row and below the last, and at the sides, where the outline of a box needs room.
_MARGIN, _EDGE = 4.0, 1.0

# An item of a row: a box is its own number, an arrow that passes the row is -1 - the number of its start.
Item = int
Link = tuple[int, int]


@dataclass(frozen=True)
class Box:
    """The middle of a box, and its width; its height is BOX."""

    x: float
    y: float
    wide: float


@dataclass(frozen=True)
class Drawing:
    """Boxes and routes in pixels. A route alternates curve, straight line, curve: from its first point to the second a curve
    with vertical ends, to the third a straight line down past a row, and so on. `room` is how thick an arrow may be.
    """

    boxes: tuple[Box, ...]
    routes: tuple[tuple[Point, ...], ...]
    height: float
    room: float


def levels(count: int, links: Sequence[Link]) -> list[int]:
    """The level of each node: one below its lowest parent; one without parents stands just above its highest child."""
    depth, left = [0] * count, set(range(count))
    above: list[set[int]] = [set() for _ in range(count)]
    for start, end in links:
        above[end].add(start)
    while ready := sorted(node for node in left if not above[node] & left):
        for node in ready:
            depth[node] = max((depth[each] + 1 for each in above[node]), default=0)
        left -= set(ready)
    if left:
        raise ArgumentError(f"edges must have no cycle; there is one through the nodes {sorted(left)}.")
    for node in range(count):
        if not above[node]:
            depth[node] = min((depth[end] - 1 for start, end in links if start == node), default=0)
    return depth


def laid_out(wides: Sequence[float], links: Sequence[Link], across: float) -> Drawing:
    """Place boxes of these widths, joined by these (start, end), in a picture that is `across` pixels wide."""
    sizes = _sizes(wides, links, across)
    rows, gap = _rows(sizes, links, across)
    between = [_joined(rows, place, links) for place in range(len(rows) - 1)]
    rows = ordered(rows, between)
    places = _places(rows, between, sizes, gap, across)
    return _drawing(rows, places, sizes, links, gap)


def _sizes(wides: Sequence[float], links: Sequence[Link], across: float) -> list[float]:
    """Widths of boxes: wide enough for the arrows at one side, and at most 0.45 of the picture so that two fit beside."""
    ends = [max(sum(s == k for s, _ in links), sum(e == k for _, e in links)) for k in range(len(wides))]
    return [min(max(wide, _PORT * (count + 1)), 0.45 * across) for wide, count in zip(wides, ends, strict=True)]


# --- rows -------------------------------------------------------------------------------------------------------------


def _rows(sizes: list[float], links: Sequence[Link], across: float) -> tuple[list[list[Item]], float]:
    """Rows of items, and the gap between an arrow that passes and its neighbours, less than usual where many arrows pass."""
    depth = levels(len(sizes), links)
    joined = {node for link in links for node in link}
    below: dict[int, set[int]] = {k: {end for start, end in links if start == k} for k in range(len(sizes))}
    rows: list[list[int]] = []
    for level in range(max(depth, default=-1) + 1):
        nodes = [k for k in range(len(sizes)) if depth[k] == level and k in joined]
        rows += _broken(nodes, rows, sizes, below, across, links)
    # Nodes without arrows stand below all others, where nothing passes them.
    rows += _broken([k for k in range(len(sizes)) if k not in joined], rows, sizes, below, across, links)
    full = [[*row, *(-1 - k for k in _passing(rows[:place], row, below))] for place, row in enumerate(rows)]
    gap = _PASS
    for row in full:
        passing = sum(item < 0 for item in row)
        boxes = sum(sizes[item] for item in row if item >= 0) + _GAP * max(len(row) - passing - 1, 0)
        gap = min(gap, (across - 2 * _EDGE - boxes) / (2 * passing) if passing else gap)
    return full, max(gap, 0.0)


def _broken(
    nodes: list[int],
    above: list[list[int]],
    sizes: list[float],
    below: dict[int, set[int]],
    across: float,
    links: Sequence[Link],
) -> list[list[int]]:
    """The nodes of one level in as few rows as hold them, about equally long; those with early parents first."""
    place = {node: (row, k) for row, line in enumerate(above) for k, node in enumerate(line)}
    nodes = sorted(nodes, key=lambda k: (sorted(place[s] for s, e in links if e == k), k))
    rows = _filled(nodes, above, sizes, below, across - 2 * _EDGE)
    # Rows of even length need less width than the picture has: halve the interval in which the least such width lies.
    low, high = 0.0, across - 2 * _EDGE
    for _ in range(SWEEPS):
        middle = (low + high) / 2
        tried = _filled(nodes, above, sizes, below, middle)
        if len(tried) > len(rows):
            low = middle
        else:
            high, rows = middle, tried
    return rows


def _filled(
    nodes: list[int], above: list[list[int]], sizes: list[float], below: dict[int, set[int]], most: float
) -> list[list[int]]:
    """The nodes in rows, each as full as `most` pixels allow, the arrows that pass it counted."""
    rows: list[list[int]] = []
    for node in nodes:
        if rows:
            tried = [*rows[-1], node]
            passing = len(_passing([*above, *rows[:-1]], tried, below))
            wide = sum(sizes[k] for k in tried) + _GAP * (len(tried) - 1) + 2 * _PASS * passing
            if wide <= most:
                rows[-1] = tried
                continue
        rows.append([node])
    return rows


def _passing(above: list[list[int]], row: list[int], below: dict[int, set[int]]) -> list[int]:
    """Nodes above a row with a child below it: their arrows pass the row."""
    before = {node for line in above for node in line}
    return [node for line in above for node in line if below[node] - before - set(row)]


def _joined(rows: list[list[Item]], place: int, links: Sequence[Link]) -> list[tuple[int, int]]:
    """(item of a row, item of the next) for every piece of an arrow between the two, each once."""
    upper, lower = set(rows[place]), set(rows[place + 1])
    pieces = []
    for start, end in links:
        source = start if start in upper else -1 - start
        if source not in upper:
            continue
        # Below the end of this arrow the place is held by other arrows of its start.
        if end in lower:
            pieces.append((source, end))
        elif -1 - start in lower:
            pieces.append((source, -1 - start))
    return list(dict.fromkeys(pieces))


# --- places -----------------------------------------------------------------------------------------------------------


def _places(
    rows: list[list[Item]], between: list[list[tuple[int, int]]], sizes: list[float], gap: float, across: float
) -> list[dict[Item, float]]:
    """The middle of every item of each row: near the items that it is joined to, apart from its neighbours, inside the picture."""
    places = []
    for row in rows:
        wanted = [across * (k + 0.5) / len(row) for k in range(len(row))]
        places.append(dict(zip(row, _apart(row, wanted, sizes, gap, across), strict=True)))
    for sweep in range(2 * SWEEPS):
        down = sweep % 2 == 0
        for at in range(len(rows)) if down else range(len(rows) - 1, -1, -1):
            wanted = []
            for item in rows[at]:
                near = [places[at - 1][a] for a, b in between[at - 1] if b == item] if at else []
                near += [places[at + 1][b] for a, b in between[at] if a == item] if at < len(between) else []
                # Half the old place damps the sweeps and keeps items spread.
                own = places[at][item]
                wanted.append(0.5 * own + 0.5 * math.fsum(near) / len(near) if near else own)
            places[at] = dict(zip(rows[at], _apart(rows[at], wanted, sizes, gap, across), strict=True))
    return places


def _apart(row: list[Item], wanted: list[float], sizes: list[float], gap: float, across: float) -> list[float]:
    """The places nearest to the wanted ones in squares, in order and apart by the widths: an isotonic regression."""
    half = [(sizes[item] if item >= 0 else gap) / 2 for item in row]
    shift, shifts = half[0], [half[0]]
    for k in range(1, len(row)):
        room = _GAP if row[k] >= 0 and row[k - 1] >= 0 else gap
        shift += half[k - 1] + half[k] + room
        shifts.append(shift)
    blocks: list[tuple[float, int]] = []
    for value, moved in zip(wanted, shifts, strict=True):
        mean, count = value - moved, 1
        while blocks and blocks[-1][0] >= mean:
            other, many = blocks.pop()
            mean, count = (mean * count + other * many) / (count + many), count + many
        blocks.append((mean, count))
    top = max(across - _EDGE - shift - half[-1], _EDGE)
    flat = [min(max(mean, _EDGE), top) for mean, count in blocks for _ in range(count)]
    return [value + moved for value, moved in zip(flat, shifts, strict=True)]


# --- routes -----------------------------------------------------------------------------------------------------------


def _drawing(
    rows: list[list[Item]], places: list[dict[Item, float]], sizes: list[float], links: Sequence[Link], gap: float
) -> Drawing:
    """Rows under each other, and the points of every arrow."""
    row_of = {item: place for place, row in enumerate(rows) for item in row if item >= 0}
    between = [_joined(rows, place, links) for place in range(len(rows) - 1)]
    ends = [_ports(pairs, places[k], places[k + 1], sizes) for k, pairs in enumerate(between)]
    tops = [_MARGIN]
    for pairs in ends:
        sideways = max((abs(a - b) for a, b in pairs.values()), default=0.0)
        room = min(_BETWEEN + _STEEP * sideways, _MOST_BETWEEN) if pairs else _GAP
        tops.append(tops[-1] + BOX + room)
    routes = []
    for start, end in links:
        points: list[Point] = []
        for place in range(row_of[start], row_of[end]):
            upper = start if place == row_of[start] else -1 - start
            lower = end if place + 1 == row_of[end] else -1 - start
            a, b = ends[place][upper, lower]
            points += [(a, tops[place] + BOX), (b, tops[place + 1])]
        routes.append(tuple(points))
    boxes = [Box(places[row_of[k]][k], tops[row_of[k]] + BOX / 2, sizes[k]) for k in range(len(sizes))]
    return Drawing(tuple(boxes), tuple(routes), tops[-1] + BOX + _MARGIN if rows else 0.0, gap)


def _ports(
    pairs: list[tuple[int, int]], upper: dict[Item, float], lower: dict[Item, float], sizes: list[float]
) -> dict[tuple[int, int], tuple[float, float]]:
    """Where each piece leaves the upper row and reaches the lower one: side by side at a box, in the order of the other ends."""
    leaves: dict[tuple[int, int], float] = {}
    reaches: dict[tuple[int, int], float] = {}
    for item, middle in upper.items():
        own = sorted((pair for pair in pairs if pair[0] == item), key=lambda pair: lower[pair[1]])
        leaves |= dict(zip(own, _spread(item, middle, len(own), sizes), strict=True))
    for item, middle in lower.items():
        own = sorted((pair for pair in pairs if pair[1] == item), key=lambda pair: upper[pair[0]])
        reaches |= dict(zip(own, _spread(item, middle, len(own), sizes), strict=True))
    return {pair: (leaves[pair], reaches[pair]) for pair in pairs}


def _spread(item: Item, middle: float, count: int, sizes: list[float]) -> list[float]:
    """Evenly apart along the side of a box; arrows that pass a row all stand at its place."""
    if item < 0 or count < 2:
        return [middle] * count
    step = min(_PORT, _SIDE * sizes[item] / (count - 1))
    return [middle + step * (k - (count - 1) / 2) for k in range(count)]
