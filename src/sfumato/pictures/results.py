"""What a release says, row by row, as tables and pictures show it: labels without repeated prefixes, sorted, with even digits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.errors import SfumatoError
from sfumato.models.families import BetaBernoulli, BetaBinomial, BoundedMean, DirichletCategorical, GammaPoisson
from sfumato.models.grouped import Grouped
from sfumato.models.hidden_sizes import HiddenSizes
from sfumato.models.networks.markov_chain import MarkovChain
from sfumato.models.reading import model_from_json
from sfumato.pictures.axes import scientific
from sfumato.queries.at_the_edge import in_words, meaning
from sfumato.queries.one_number import OF_DRAWS
from sfumato.wording import columns_read, date_of_release, shown_labels

# Words beside a number whose interval is too wide to say much.
LITTLE = "little known"
# A rate or share with a coefficient of variation above one third is too unreliable to be published on its own (Statistics
# Canada, Quality Guidelines, rule for sampling error).
_VARIATION = 1 / 3
# The 90 % interval of a uniform prior takes 0.9 of its range; with six tenths of that a mean is as good as unknown, the rule
# that is used for coefficients too (`queries.coefficients.NEARLY`).
_NEARLY = 0.6
# Labels that are in an order of their own: numbers, dates, bins, runs such as "18-29" or "65+".
_ORDERED = re.compile(r"^[\[(<>≤≥]?\s*-?\d")
# Digits of an error that are written.
_DIGITS = 2
_MOST_DECIMALS = 7
# Numbers below this are written with a power of ten where they need more decimals than that; Python's own repr changes here too.
_SMALL = 1e-4
# A number below this part of the last decimal is written as 0: a hundredth is nothing beside what the decimals show.
_SMALLEST = 0.01
# Columns of a trajectory that are named one by one.
_LISTED = 3


@dataclass(frozen=True)
class Result:
    """One released quantity: its label, the heading it stands under, estimate and interval, and the size of its group.

    `little`: too little is known to compare it; `state` is what is said in place of the estimate, where no number stands.
    """

    label: str
    estimate: float
    lower: float | None = None
    upper: float | None = None
    group: str = ""
    size: float | None = None
    little: bool = False
    state: str = ""


@dataclass(frozen=True)
class Results:
    """Rows of results. `quantity` names them with their columns; `reason` says why there are no intervals, where there are none."""

    quantity: str
    level: float
    rows: tuple[Result, ...]
    reason: str = ""
    shown: Callable[[float], str] = str
    unit: str = ""
    # The heading of the labels: the column whose levels they are.
    of: str = "quantity"

    @property
    def interval_name(self) -> str:
        """The heading of the intervals."""
        return f"{100 * self.level:g} % interval"

    @property
    def with_intervals(self) -> str:
        """The end of a title: ", with 90 % intervals"; nothing where there are none."""
        return f", with {self.interval_name}{'s' * (len(self.rows) > 1)}" if self.has_intervals else ""

    @property
    def has_intervals(self) -> bool:
        """Whether the rows have intervals."""
        return any(row.lower is not None for row in self.rows)

    @property
    def name(self) -> str:
        """The heading of the numbers."""
        return "estimate" if self.has_intervals else OF_DRAWS

    def middle(self, row: Result) -> str:
        """The estimate of a row, or what is said in its place."""
        if row.lower is None or row.upper is None:
            return self.shown(row.estimate)
        return in_words(row.estimate, row.lower, row.upper, row.state, self.shown)

    @property
    def meaning(self) -> str:
        """What the words mean that stand in place of estimates; "" where there are none."""
        return meaning(row.state for row in self.rows)

    def ends(self, row: Result) -> str:
        """The interval of a row in words; "" where it has none."""
        return "" if row.lower is None or row.upper is None else interval(row.lower, row.upper, self.shown)


def _counted(release: Any) -> str:
    """What the sizes of groups count: records or, where the rows of a person share one record, the persons' shares."""
    unit, most = str(release.schema["unit"]), (release.plan.get("persons") or {}).get("most", 1)
    return f"{unit}; one in several groups counts in part in each" if most > 1 else unit


def of_family(release: Any, level: float = 0.9) -> Results:
    """The results of a release of a family, by group or not."""
    model: Any = model_from_json(release.plan["model"])
    own = model.model if isinstance(model, HiddenSizes) else model
    names = columns_read(release)
    found = release.numbers(level)
    sizes = _sizes(release, model, level)
    labels = shown_labels(release)
    each = len(labels) // len(model.levels) if isinstance(model, Grouped) else 1
    rows = []
    for k, label in enumerate(labels):
        group, text = _by_group(model, k, each) if isinstance(model, Grouped) else _named(label, model, names)
        low, high = (None, None) if found.ends is None else map(float, found.ends[:, k])
        size = None if sizes is None else float(sizes[k // each])
        row = Result(text, float(found.estimates[k]), low, high, group, size, state=found.states[k])
        rows.append(replace(row, little=bool(row.state) or _is_little(row, own, level)))
    date = date_of_release(release)
    write = date.shown if date is not None else even_writer(rows)
    listed = by_estimate(rows) if _sortable(model, own) else rows
    what, unit, of = quantity_of(model, names), _counted(release), _of(model, names)
    return Results(what, level, tuple(listed), found.reason, write, unit, of)


def quantity_of(model: Any, names: Sequence[str]) -> str:
    """The quantity with its columns: "rate of smoker by region"."""
    if isinstance(model, MarkovChain):
        listed = ", ".join(names) if len(names) <= _LISTED else f"{names[0]} to {names[-1]}"
        return f"probability of the next state ({listed})" if names else "probability of the next state"
    quantity = str(model.quantity).removesuffix(" of a group of average size")
    if isinstance(model, Grouped):
        others = [name for name in names if name != model.by]
        return f"{quantity} of {', '.join(others)} by {model.by}" if others else f"{quantity} by {model.by}"
    return f"{quantity} of {', '.join(names)}" if names else quantity


def _of(model: Any, names: Sequence[str]) -> str:
    """The column whose levels label the rows, where there is one."""
    if isinstance(model, Grouped):
        return model.by
    return names[0] if isinstance(model, DirichletCategorical) and len(names) == 1 else "quantity"


def word(level: Any) -> str:
    """A level as pictures and pages name it: yes and no for true and false."""
    if isinstance(level, bool | np.bool_):
        return "yes" if level else "no"
    return str(level)


def by_estimate(rows: Sequence[Result]) -> list[Result]:
    """Rows from the largest to the smallest, where their labels have no order of their own; headings keep their order.

    Rows of which little is known come last: their estimates would be spread at random among the others.
    """
    if len({row.group for row in rows}) > 1 or all(_ORDERED.match(row.label) for row in rows):
        return list(rows)
    return sorted(rows, key=lambda row: (row.little, -row.estimate))


def even_writer(rows: Sequence[Result]) -> Callable[[float], str]:
    """A function that writes all numbers with the same decimals: two digits of the narrowest interval's half."""
    halves = [(row.upper - row.lower) / 2 for row in rows if row.lower is not None and row.upper is not None]
    values = [row.estimate for row in rows]
    return even_decimals(halves, values)


def even_decimals(halves: Sequence[float], values: Sequence[float]) -> Callable[[float], str]:
    """As `even_writer`, from half-widths of intervals, or from the values where there are no intervals."""
    known = [half for half in halves if half > 0 and math.isfinite(half)]
    # Narrow outliers would give all others digits that mean nothing: the lower quarter decides.
    scale = float(np.quantile(known, 0.25)) if known else 0.01 * max((abs(value) for value in values), default=1.0)
    decimals = max(0, _DIGITS - 1 - math.floor(math.log10(scale))) if scale > 0 else 3
    largest = max((abs(value) for value in values), default=0.0)
    if decimals > _MOST_DECIMALS and 0 < largest < _SMALL:
        digits = max(0, decimals + math.floor(math.log10(largest)))
        return lambda value: scientific(value, digits)
    return fixed(decimals)


def fixed(decimals: int) -> Callable[[float], str]:
    """A function that writes numbers with these decimals; one that they would show as 0 keeps two digits."""

    def write(value: float) -> str:
        text = f"{value:,.{decimals}f}"
        if text.strip("-0.") or abs(value) < _SMALLEST * 10.0**-decimals:
            # Minus zero is written as zero.
            return text if text.strip("-0.") else text.removeprefix("-")
        return f"{value:.2g}"

    return write


def interval(lower: float, upper: float, shown: Callable[[float], str]) -> str:
    """An interval in words. One that is too narrow for its decimals has two digits of its own width: 0.9962 to 0.9991."""
    ends = shown(lower), shown(upper)
    if ends[0] == ends[1] and lower < upper and ends[0].strip("-").replace(",", "").replace(".", "").isdigit():
        own = even_decimals([(upper - lower) / 2], [])
        ends = own(lower), own(upper)
    return f"{ends[0]} to {ends[1]}"


def _named(label: str, model: Any, names: Sequence[str]) -> tuple[str, str]:
    """(heading, label) without what is repeated in every label."""
    if isinstance(model, MarkovChain):
        after, _, before = label.partition(" | ")
        # The first state of a trajectory comes after none.
        return (f"after {before}", after.removeprefix("next=")) if before else ("first", label.removeprefix("first="))
    if label in ("theta", "mean", "log odds", "quantile") and names:
        return "", ", ".join(names)
    return "", label


def _by_group(model: Grouped, place: int, each: int) -> tuple[str, str]:
    """(heading, label) by place, since levels hold any text: the group is the label, or the heading of several numbers."""
    level = model.levels[place // each]
    return ("", str(level)) if each == 1 else (f"{model.by} = {level}", str(model.model.labels[place % each]))


def _sizes(release: Any, model: Any, level: float) -> Any:
    """The noisy sizes of the groups, where they were released."""
    if not isinstance(model, Grouped):
        return None
    try:
        return release.group_sizes(level).values
    except SfumatoError:
        return None


def _sortable(model: Any, own: Any) -> bool:
    """Whether the rows may be sorted: groups and levels of a category, not bins, quantiles or coordinates."""
    return isinstance(model, Grouped) or type(own) is DirichletCategorical


def _is_little(row: Result, own: Any, level: float) -> bool:
    """Whether an interval is too wide to say much."""
    if row.lower is None or row.upper is None:
        return False
    half = (row.upper - row.lower) / 2
    if isinstance(own, BoundedMean):
        return half > _NEARLY * level * (own.upper - own.lower) / 2
    if isinstance(own, BetaBernoulli | BetaBinomial | DirichletCategorical | GammaPoisson):
        return half / _normal(level) > _VARIATION * row.estimate
    return False


def _normal(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(0.5 + 0.5 * level))
