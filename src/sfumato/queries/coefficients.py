"""The table of a regression's coefficients, and contrasts of them, in the columns' own units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato import _validate
from sfumato._quadrature import Array
from sfumato._validate import visible
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.queries import functionals, own_units
from sfumato.queries.at_the_edge import NOT_KNOWN, WIDE
from sfumato.queries.intervals import includes_sampling
from sfumato.queries.own_units import View
from sfumato.queries.statistics.protocol import BOTH

# An interval wider than this share of the prior's own is reported as dominated by the prior.
NEARLY = 0.6
# Coefficients that one sentence lists by name.
_NAMED = 8
# Beyond this many decimals, numbers are printed with an exponent.
_DECIMALS = 7


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Estimates with standard errors and intervals that include the privacy noise; prints as a table.

    `ratio` names exp(coefficient) ("odds ratio"), where the link has one. Deviations and intervals are None where the release
    has none, with the `reason`. `little` lists coefficients of which the release has little information: their intervals are
    not much narrower than the prior's own. Of those in `unknown` next to nothing is known, and no number is shown.
    """

    labels: tuple[str, ...]
    estimates: Array
    deviations: Array | None
    intervals: Array | None
    level: float
    ratio: str | None
    little: tuple[str, ...] = ()
    reason: str = ""
    unknown: tuple[str, ...] = ()

    @property
    def ratios(self) -> Array | None:
        """exp(estimate), NaN for intercepts and where no number is shown; None for a link without ratios."""
        return None if self.ratio is None else self._exponentials(self._shown)

    @property
    def _shown(self) -> Array:
        """The estimates, NaN where no number is shown."""
        return np.where([label in self.unknown for label in self.labels], np.nan, self.estimates)

    @property
    def ratio_intervals(self) -> Array | None:
        """The intervals of the ratios, (2, coefficients)."""
        return None if self.ratio is None or self.intervals is None else self._exponentials(self.intervals)

    def _exponentials(self, values: Array) -> Array:
        own = np.array([own_units.is_intercept(label) for label in self.labels])
        with np.errstate(over="ignore"):
            return np.where(own, np.nan, np.exp(values))

    def to_pandas(self) -> Any:
        """One row for each coefficient, one column for each number."""
        from sfumato.queries.convert import needed

        return needed("pandas", "to_pandas").DataFrame(self.columns(), index=list(self.labels))

    def columns(self) -> dict[str, Any]:
        """The numbers of the table by the names of its columns; NaN where none is shown, which `state` explains."""
        table: dict[str, Any] = {"coef": self._shown}
        if self.intervals is not None and self.deviations is not None:
            table |= {"std err": self.deviations, "lower": self.intervals[0], "upper": self.intervals[1]}
        if self.ratio is not None and self.ratios is not None:
            table[self.ratio] = self.ratios
            if self.ratio_intervals is not None:
                below, above = self.ratio_intervals
                table |= {f"{self.ratio} lower": below, f"{self.ratio} upper": above}
        if self.intervals is not None:
            table["state"] = np.array([NOT_KNOWN if label in self.unknown else "" for label in self.labels])
        return table

    def _ends(self) -> tuple[str, str]:
        return f"[{(1 - self.level) / 2:.3g}", f"{(1 + self.level) / 2:.3g}]"

    def rows(self) -> list[list[str]]:
        """The table as texts, its heading first; a star marks coefficients of which little is known."""
        low, high = self._ends()
        head = ["", "coef"]
        columns = [[f"{visible(label)}{' *' if label in self.little else ''}" for label in self.labels]]
        widths = self.deviations
        known = zip(self.labels, _numbers(self.estimates, widths), strict=True)
        columns.append([NOT_KNOWN if label in self.unknown else text for label, text in known])
        if self.intervals is not None and widths is not None:
            head += ["std err", low, high]
            columns += [_numbers(each, widths) for each in (widths, *self.intervals)]
        if self.ratio is not None and self.ratios is not None:
            head.append(self.ratio)
            columns.append([_ratio(value) for value in self.ratios])
            if self.ratio_intervals is not None:
                head += [low, high]
                columns += [[_ratio(value) for value in each] for each in self.ratio_intervals]
        return [head, *map(list, zip(*columns, strict=True))]

    def __str__(self) -> str:
        lines = aligned(self.rows())
        return "\n".join([*lines, *([f"* {self.sentence}"] if self.little else [])])

    @property
    def sentence(self) -> str:
        """A sentence on the coefficients of which little is known; "" where there are none."""
        return little_information(self.little, len(self.labels))


def table(
    draws: Draws,
    plan: Mapping[str, Any],
    schema: Mapping[str, Any],
    shown: View,
    level: float = 0.9,
    include: str = BOTH,
) -> Coefficients:
    """The coefficients of a released regression as `shown`; without intervals where the release has none."""
    model = own_units.regression_of(plan)
    if model is None:
        raise ArgumentError("coefficients are those of a regression; this release is of another model.")
    share = _validate.between("level", level, 0.0, 1.0)
    includes_sampling(plan, include)  # refuses a wrong word, which is no reason to leave intervals out
    matrix = shown.functionals
    # A ratio belongs to one unit of a column; coordinates as they were released have none.
    ratio = None if shown.matrix is None else model.loss.ratio
    try:
        ends = functionals.ends(draws, plan, schema, matrix, share, include) + shown.shift
        deviations = functionals.deviations(draws, plan, schema, matrix, include)
    except ArgumentError as error:
        estimates = functionals.estimate(draws, plan, schema, matrix) + shown.shift
        return Coefficients(shown.labels, estimates, None, None, share, ratio, (), str(error))
    estimates = functionals.estimate(draws, plan, schema, matrix, include) + shown.shift
    little, unknown = (prior_dominated(plan, shown.labels, matrix, ends, share, part) for part in (NEARLY, WIDE))
    return Coefficients(shown.labels, estimates, deviations, ends, share, ratio, little, "", unknown)


def prior_dominated(
    plan: Mapping[str, Any], labels: Sequence[str], matrix: Array, ends: Array, level: float, part: float = NEARLY
) -> tuple[str, ...]:
    """The coefficients whose interval takes more than a `part` of the prior's own; none for a flat prior."""
    from scipy.special import ndtri

    own = functionals.prior_deviations(plan, matrix)
    if own is None:
        return ()
    widest = part * 2 * float(ndtri(0.5 + 0.5 * level)) * own
    return tuple(label for label, wide in zip(labels, ends[1] - ends[0] > widest, strict=True) if wide)


def little_information(names: Sequence[str], all_names: int) -> str:
    """The sentence on coefficients of which a release has little information."""
    if not names:
        return ""
    listed = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    which = f"all {all_names} coefficients" if len(names) == all_names > 1 else listed
    return f"This release has little information on {which}: the interval is not much narrower than the prior's own."


@dataclass(frozen=True, eq=False)
class Contrast:
    """A weighted sum of coefficients with its standard error and interval; prints as a sentence."""

    weights: Mapping[str, float]
    estimate: float
    deviation: float
    lower: float
    upper: float
    level: float
    ratio: str | None

    @property
    def ratios(self) -> tuple[float, float, float] | None:
        """Exp of estimate, lower and upper end, where the link has a ratio and no intercept is in the sum."""
        if self.ratio is None or any(own_units.is_intercept(name) for name in self.weights):
            return None
        with np.errstate(over="ignore"):
            first, low, high = (float(value) for value in np.exp([self.estimate, self.lower, self.upper]))
        return first, low, high

    def __str__(self) -> str:
        parts = [f"{weight:+g} {visible(name)}" for name, weight in self.weights.items()]
        estimate, low, high, deviation = (
            _numbers(np.array([value]), np.array([self.deviation]))[0]
            for value in (self.estimate, self.lower, self.upper, self.deviation)
        )
        what = " ".join(parts).removeprefix("+")
        text = f"{what}: {estimate} (std err {deviation}), {100 * self.level:g} % interval {low} to {high}"
        if self.ratios is None:
            return text
        ratio, below, above = (_ratio(value) for value in self.ratios)
        return f"{text}; {self.ratio} {ratio}, {below} to {above}"


def contrast(
    draws: Draws,
    plan: Mapping[str, Any],
    schema: Mapping[str, Any],
    shown: View,
    weights: Mapping[str, float],
    level: float = 0.9,
    include: str = BOTH,
) -> Contrast:
    """A weighted sum of coefficients; a reference level counts 0, so that any two levels can be compared."""
    model = own_units.regression_of(plan)
    if model is None:
        raise ArgumentError("contrasts are of the coefficients of a regression; this release is of another model.")
    row, constant = shown.weighted(weights)
    matrix = row[None, :]
    ends = functionals.ends(draws, plan, schema, matrix, level, include) + constant
    return Contrast(
        {name: float(weight) for name, weight in weights.items()},
        float(functionals.estimate(draws, plan, schema, matrix, include)[0]) + constant,
        float(functionals.deviations(draws, plan, schema, matrix, include)[0]),
        float(ends[0, 0]),
        float(ends[1, 0]),
        float(level),
        model.loss.ratio,
    )


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of texts as lines: the first column to the left, the others to the right."""
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    return ["  ".join([row[0].ljust(first), *map(str.rjust, row[1:], others)]).rstrip() for row in rows]


def _numbers(values: Array, deviations: Array | None) -> list[str]:
    """Numbers with two digits of their standard errors, or with five digits where there are none."""
    if deviations is None:
        return [f"{value:.5g}" for value in values]
    return [_to_digits(float(value), float(deviation)) for value, deviation in zip(values, deviations, strict=True)]


def _to_digits(value: float, deviation: float) -> str:
    if not (np.isfinite(value) and np.isfinite(deviation) and deviation > 0):
        return f"{value:.4g}"
    decimals = max(0, 1 - int(np.floor(np.log10(deviation))))
    return f"{value:.{decimals}f}" if decimals <= _DECIMALS else f"{value:.3e}"


def _ratio(value: float) -> str:
    """A ratio to three digits, more where it is near 1; nothing for an intercept."""
    if np.isnan(value):
        return ""
    near = abs(value - 1)
    if 0 < near < 0.01:
        return f"{value:.{min(_DECIMALS, 1 - int(np.floor(np.log10(near))))}f}"
    return f"{value:.3f}" if 0.01 <= value < 100 else f"{value:.3g}"
