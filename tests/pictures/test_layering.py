"""Properties of layered drawings over random graphs without cycles, checked on the drawn curves."""

from __future__ import annotations

import re
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ArgumentError
from sfumato.pictures import layering, svg
from sfumato.pictures._svg_graph import drawn, pieces, placed
from sfumato.pictures.description import Edge, Graph, Node
from tests.effort import sized

# Points of each piece of a curve at which it is compared with the boxes: one for every few pixels.
_SAMPLES = 24


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Up to 40 nodes with up to 4 parents each, in a random order, with names of 1 to 30 letters."""
    count = draw(st.integers(1, 40))
    most = draw(st.integers(0, 4))
    shuffled = draw(st.permutations(range(count)))
    edges = []
    for k in range(1, count):
        parents = draw(st.lists(st.integers(0, k - 1), max_size=most, unique=True))
        edges += [Edge(shuffled[parent], shuffled[k], draw(st.floats(0, 1))) for parent in parents]
    names = [draw(st.text("abcmw", min_size=1, max_size=30)) for _ in range(count)]
    return Graph("title", tuple(map(Node, names)), tuple(edges), "alt")


def sampled(route: tuple[tuple[float, float], ...]) -> list[tuple[float, float]]:
    """Points along an arrow, its tip included."""
    first, *others = pieces(route)
    points, here = [first[0]], first[0]
    for part in others:
        a, b, c, d = (here, *part) if len(part) == 3 else (here, here, part[0], part[0])
        for k in range(1, _SAMPLES + 1):
            t = k / _SAMPLES
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            points.append(
                tuple(sum(w * p[axis] for w, p in zip(weights, (a, b, c, d), strict=True)) for axis in (0, 1))
            )
        here = part[-1]
    return [*points, route[-1]]


def inside(point: tuple[float, float], box: layering.Box) -> bool:
    """Whether a point lies in the interior of a box."""
    return abs(point[0] - box.x) < box.wide / 2 - 1e-6 and abs(point[1] - box.y) < layering.BOX / 2 - 1e-6


@settings(max_examples=sized(25, 400), deadline=None)
@given(graphs(), st.sampled_from([svg.WIDE, svg.NARROW]))
def test_arrows_point_down_and_meet_no_box_other_than_their_ends(graph: Graph, across: int) -> None:
    drawing = placed(graph, across)
    for edge, route in zip(graph.edges, drawing.routes, strict=True):
        start, end = drawing.boxes[edge.start], drawing.boxes[edge.end]
        assert route[0][1] == pytest.approx(start.y + layering.BOX / 2)
        assert abs(route[0][0] - start.x) <= start.wide / 2
        assert route[-1][1] == pytest.approx(end.y - layering.BOX / 2)
        assert abs(route[-1][0] - end.x) <= end.wide / 2
        points = sampled(route)
        assert all(b[1] >= a[1] - 1e-9 for a, b in pairwise(points))
        assert end.y > start.y
        assert not any(inside(point, box) for point in points for box in drawing.boxes)
        assert all(0 <= x <= across and 0 <= y <= drawing.height for x, y in points)


@settings(max_examples=sized(25, 400), deadline=None)
@given(graphs(), st.sampled_from([svg.WIDE, svg.NARROW]))
def test_boxes_lie_apart_and_within_the_width(graph: Graph, across: int) -> None:
    drawing = placed(graph, across)
    for box in drawing.boxes:
        assert box.wide / 2 <= box.x <= across - box.wide / 2
        assert layering.BOX / 2 <= box.y <= drawing.height - layering.BOX / 2
    for one, other in combinations(drawing.boxes, 2):
        apart = abs(one.x - other.x) - (one.wide + other.wide) / 2
        assert apart > 0 or abs(one.y - other.y) > layering.BOX
    assert drawn(graph, across) == drawn(graph, across)


@settings(max_examples=sized(20, 200), deadline=None)
@given(graphs())
def test_arrows_that_pass_a_row_keep_apart_from_each_other_and_from_boxes(graph: Graph) -> None:
    drawing = placed(graph, svg.WIDE)
    straight = {
        (edge.start, x, top, bottom)
        for edge, route in zip(graph.edges, drawing.routes, strict=True)
        for (x, top), (_, bottom) in zip(route[1::2], route[2::2], strict=False)
    }
    for (one, x, top, _), (other, z, up, _) in combinations(sorted(straight), 2):
        assert one == other or top != up or abs(x - z) >= drawing.room - 1e-6
    for _, x, top, bottom in straight:
        assert bottom - top == pytest.approx(layering.BOX)
        for box in drawing.boxes:
            beside = abs(box.y - layering.BOX / 2 - top) < 1e-6
            assert not beside or abs(box.x - x) - box.wide / 2 >= drawing.room - 1e-6


def test_a_skip_of_a_chain_is_an_arrow_of_its_own_beside_the_boxes() -> None:
    nodes = tuple(map(Node, ("region", "smoker", "active", "hypertension")))
    graph = Graph("net", nodes, (Edge(0, 1), Edge(1, 2), Edge(1, 3), Edge(2, 3)), "alt")
    drawing = placed(graph, svg.WIDE)
    (_, past, leaving, _), active = drawing.routes[2], drawing.boxes[2]
    assert past[0] == leaving[0]
    assert past[1] < active.y < leaving[1]
    assert abs(past[0] - active.x) > active.wide / 2 + drawing.room


def test_levels_are_longest_paths_and_a_cycle_is_refused() -> None:
    assert layering.levels(5, [(0, 1), (1, 2), (0, 2), (3, 2)]) == [0, 1, 2, 1, 0]
    with pytest.raises(ArgumentError, match="no cycle"):
        layering.levels(3, [(0, 1), (1, 2), (2, 1)])


def test_parents_change_places_where_their_arrows_would_cross() -> None:
    drawing = layering.laid_out([60.0] * 5, [(0, 3), (2, 3), (1, 4)], 400)
    starts, ends = zip(*sorted((route[0][0], route[-1][0]) for route in drawing.routes), strict=True)
    assert list(ends) == sorted(ends)
    assert len(set(starts)) == 3


def test_a_level_wider_than_the_picture_goes_on_below_and_thickness_shows_strength() -> None:
    star = Graph(
        "star", tuple(Node(f"column{k}") for k in range(13)), tuple(Edge(0, k, k / 12) for k in range(1, 13)), "alt"
    )
    rows = {across: len({box.y for box in placed(star, across).boxes}) for across in (svg.WIDE, svg.NARROW)}
    assert rows[svg.WIDE] < rows[svg.NARROW]
    _, parts = drawn(star, svg.WIDE)
    thick = [float(each) for part in parts for each in re.findall(r'stroke-width="([\d.]+)"', part)]
    assert thick == sorted(thick, reverse=True)
    assert thick[0] > 3 * thick[-1]
