"""Descriptions of pictures: what is shown, in data units, and never how.

One description is drawn by two renderers, `pictures.svg` for pages and notebooks and `plots._render` for matplotlib, so that a
report and `sf.plots` show the same numbers, names and order.
"""

from __future__ import annotations

from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True)
class Axis:
    """An axis: its name with units, its ends, and the numbers that stand at it; `log` is a logarithmic one."""

    name: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...] = ()
    log: bool = False


@dataclass(frozen=True)
class Line:
    """A line through points. `series` picks its colour; None is a grey dotted line for comparison."""

    points: tuple[Point, ...]
    series: int | None = 0
    name: str = ""
    width: float = 2.0
    markers: bool = False


@dataclass(frozen=True)
class Dots:
    """Points. Hollow ones stand for what was asked for, crosses for what could not be had."""

    points: tuple[Point, ...]
    series: int | None = 0
    name: str = ""
    hollow: bool = False
    cross: bool = False


@dataclass(frozen=True)
class Rule:
    """A straight line across the whole picture, at a value of the axis `along`; `series` as of a line."""

    at: float
    along: str = "x"
    name: str = ""
    series: int | None = None


@dataclass(frozen=True)
class Band:
    """A shaded stretch of the horizontal axis."""

    left: float
    right: float
    name: str = ""


@dataclass(frozen=True)
class Bars:
    """Bars that stand on the horizontal axis: (left, right, height)."""

    items: tuple[tuple[float, float, float], ...]
    series: int | None = 0
    name: str = ""


@dataclass(frozen=True)
class Whiskers:
    """Vertical intervals: (across, lower, upper)."""

    items: tuple[tuple[float, float, float], ...]
    series: int | None = 0
    name: str = ""


Mark = Line | Dots | Rule | Band | Bars | Whiskers


@dataclass(frozen=True)
class Chart:
    """Marks between two axes. `alt` says in words what a reader who does not see it should know."""

    title: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    alt: str
    # The corner of the legend where it stands inside (matplotlib's names); "best" picks the emptiest.
    legend: str = "best"


@dataclass(frozen=True)
class Row:
    """One line of a dot plot: a label, an estimate, its interval, and a text at its end.

    Rows that follow each other under the same `group` share its heading. `weight`, from 0 to 1, is the area of the dot, such as
    the size of a group; a `faint` row has an interval too wide to say much. Without a `dot` it has no estimate.
    """

    label: str
    middle: float
    lower: float | None = None
    upper: float | None = None
    group: str = ""
    detail: str = ""
    weight: float | None = None
    faint: bool = False
    dot: bool = True


@dataclass(frozen=True)
class Rows:
    """A dot plot: rows with intervals on one axis. `reference` is a value that stands for no effect; `detail` names the texts."""

    title: str
    x: Axis
    rows: tuple[Row, ...]
    alt: str
    reference: float | None = None
    detail: str = ""


@dataclass(frozen=True)
class Node:
    """A node of a graph: its name."""

    name: str


@dataclass(frozen=True)
class Edge:
    """An arrow between two nodes, by their places in the list; `strength`, from 0 to 1, is its thickness.

    A `faint` arrow stands for a dependence that noise alone could explain; it is thin and broken.
    """

    start: int
    end: int
    strength: float = 0.5
    faint: bool = False


@dataclass(frozen=True)
class Graph:
    """Nodes joined by arrows without a cycle; `pictures.layering` places them."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    alt: str


@dataclass(frozen=True)
class Panels:
    """Charts side by side with one legend; they share their vertical axis."""

    title: str
    charts: tuple[Chart, ...]
    alt: str


@dataclass(frozen=True)
class Pair:
    """Two items of a list by their places; `strength`, from 0 to 1, is the area of their dot.

    A `guessed` pair has a hollow dot; of one that is `unclear`, since noise alone could explain it, only a point is drawn.
    """

    first: int
    second: int
    strength: float
    guessed: bool = False
    unclear: bool = False


@dataclass(frozen=True)
class Matrix:
    """A dot for every pair of some names, below a diagonal on which the names stand. `key` explains the dots: (like, text)."""

    title: str
    names: tuple[str, ...]
    pairs: tuple[Pair, ...]
    alt: str
    key: tuple[tuple[Pair, str], ...] = ()


Picture = Chart | Rows | Graph | Matrix | Panels
