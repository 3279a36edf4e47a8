"""Predictions with intervals, for public rows: of the mean of the target, or of one answer.

The score of a row is a linear functional of the coefficients, so its interval is that of `functionals`, and the mean's follows
by the inverse link. One answer scatters around the mean, in a linear regression with the variance of the residuals, in
a Poisson regression as a Poisson count: its interval is that of the mixture over the posterior of the score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato import _validate
from sfumato._quadrature import Array
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.models.losses.protocol import Loss
from sfumato.models.reading import model_from_json
from sfumato.queries import functionals, predict
from sfumato.queries.coefficients import aligned
from sfumato.queries.inverse_links import MEAN, PROBABILITY, RATE, in_own_units, mean_at, mean_kind
from sfumato.queries.statistics.protocol import BOTH
from sfumato.schema import Schema

# Accepted values of `of`.
OF = ("mean", "answer")
# Numbers held at a time: 16 MB.
_BLOCK = 1 << 21
# Numbers that a row needs at once: the posterior draws of a transcript are 400, and more than _LIKELY.
_A_ROW = 400
# Equally likely scores behind the law of a count. Against 4,096 of them no end of 1,000 rows moves by more than one count.
_LIKELY = 64
# Rows that are printed: about a screen.
_SHOWN = 40
# Scores of counts are cut here: the rate e^50 exceeds every count that a float can hold exactly.
_LARGEST_SCORE = 50.0


@dataclass(frozen=True, eq=False)
class Predictions:
    """A prediction and an interval for each public row.

    `of` is "mean" or "answer"; `what` is "probability" (of the target's second level), "rate", "mean" or "quantile". With
    "answer" the estimate is still the mean, which need not be a possible answer. `note` says how many cells of the rows were
    clipped or empty.
    """

    estimate: Array
    lower: Array
    upper: Array
    level: float
    of: str
    what: str
    note: str = ""

    def __len__(self) -> int:
        return len(self.estimate)

    def columns(self) -> dict[str, Array]:
        """The numbers by the names of their columns; the first is called by `what` it is."""
        return {self.what: self.estimate, "lower": self.lower, "upper": self.upper}

    def to_pandas(self) -> Any:
        """One row for each public row, in their order; the first column is called by `what` it is."""
        from sfumato.queries.convert import needed

        return needed("pandas", "to_pandas").DataFrame(self.columns())

    def __str__(self) -> str:
        of = "one answer" if self.of == "answer" else f"the {self.what}"
        shown = [each[:_SHOWN].tolist() for each in self.columns().values()]
        rows = [[str(k + 1), *(f"{value:.5g}" for value in row)] for k, row in enumerate(zip(*shown, strict=True))]
        rest = len(self) - _SHOWN
        more = [f"... and {rest:,} more rows (to_pandas())"] if rest > 0 else []
        lines = aligned([["row", *self.columns()], *rows])
        note = [self.note] if self.note else []
        return "\n".join([f"lower and upper: {100 * self.level:g} % interval of {of}", *lines, *more, *note])


def predict_interval(
    draws: Draws,
    plan: Mapping[str, Any],
    schema: Mapping[str, Any],
    X: Any,
    level: float = 0.9,
    of: str = "mean",
    include: str = BOTH,
) -> Predictions:
    """Predictions for public rows, with central intervals that include the privacy noise; `include` as in `interval`.

    of="mean": the mean of the target for rows like this: a probability of the second level, a rate, a mean or a quantile.
    of="answer": one answer of a linear or Poisson regression; class targets and quantiles are refused.
    """
    regression = predict.read(draws, plan, schema)
    _check(draws, plan, of)
    rows = predict.read_public(regression, X)
    features = predict.features_of(regression, rows.columns)
    return replace(interval_at(draws, plan, schema, features, level, of, include), note=rows.note)


def interval_at(
    draws: Draws,
    plan: Mapping[str, Any],
    schema: Mapping[str, Any],
    features: Array,
    level: float = 0.9,
    of: str = "mean",
    include: str = BOTH,
) -> Predictions:
    """`predict_interval` for rows that are encoded already, the intercept's constant included."""
    share = _validate.between("level", level, 0.0, 1.0)
    loss, what = _check(draws, plan, of)
    if not len(features):
        raise ArgumentError("X must hold at least one row; got none.")
    ends = _ends_of(draws, plan, schema, share, of, what, include)
    size = max(1, _BLOCK // max(features.shape[1], _A_ROW))
    parts = []
    for start in range(0, len(features), size):
        rows = features[start : start + size]
        near = mean_at(loss, functionals.estimate(draws, plan, schema, rows, include))
        parts.append([near, *ends(rows)])
    estimate, lower, upper = np.concatenate(parts, axis=1)
    if of == "answer":  # answers lie within the declared bounds, and so does their mean
        estimate = estimate.clip(_target(schema).lower, _target(schema).upper)
    units = Schema.from_json(schema["document"]).units
    if not (of == "answer" and what == RATE):  # ends of counts are whole numbers in the user's units already
        lower, upper = in_own_units(loss, units, np.stack([lower, upper]))
    return Predictions(in_own_units(loss, units, estimate), lower, upper, share, of, what)


def _check(draws: Draws, plan: Mapping[str, Any], of: str) -> tuple[Loss, str]:
    """The loss and what its scores stand for; refuse what has no interval."""
    _validate.one_of("of", of, OF)
    loss = model_from_json(plan["model"]).loss
    what = mean_kind(loss)
    if of == "mean":
        return loss, what
    if what == PROBABILITY:
        raise ArgumentError(
            'of="answer" is for targets that are numbers; here the answer is a class: use predict_proba, or of="mean" '
            "for the probability with its interval."
        )
    if what not in (MEAN, RATE):
        raise ArgumentError(
            'a quantile regression has no law of an answer: use of="mean" for the quantile with its interval.'
        )
    if what == MEAN and functionals.residual_variance(draws, plan) is None:
        raise ArgumentError(
            'of="answer" needs the variance of the residuals, which a linear regression with mechanism "shaped-path" and '
            'declared label bounds publishes: sf.losses.Huber(radius, clip, lower, upper). Or use of="mean".'
        )
    return loss, what


def _ends_of(
    draws: Draws,
    plan: Mapping[str, Any],
    schema: Mapping[str, Any],
    level: float,
    of: str,
    what: str,
    include: str,
) -> Callable[[Array], Array]:
    """A function from features (rows, d) to lower and upper ends (2, rows)."""
    loss = model_from_json(plan["model"]).loss
    if of == "mean":
        return lambda rows: mean_at(loss, functionals.ends(draws, plan, schema, rows, level, include))
    column = _target(schema)

    def linear(rows: Array) -> Array:
        mean, deviation = functionals.moments(draws, plan, schema, rows, include)
        scatter = float(functionals.residual_variance(draws, plan) or 0.0)
        ends = _normal_ends(mean, deviation**2 + scatter, level)
        return np.asarray(ends.clip(column.lower, column.upper))

    def counts(rows: Array) -> Array:
        scores = functionals.likely_values(draws, plan, schema, rows, _LIKELY, include)
        unit = Schema.from_json(schema["document"]).units
        rates = in_own_units(loss, unit, np.exp(np.minimum(scores, _LARGEST_SCORE)))
        most = float(in_own_units(loss, unit, np.array(column.upper)))
        return np.minimum(count_ends(rates, level, most), most)

    return linear if what == MEAN else counts


def _target(schema: Mapping[str, Any]) -> Any:
    """The declared column of the target."""
    known = Schema.from_json(schema["document"])
    return known.columns[known.target or ""]


def _normal_ends(mean: Array, variance: Array, level: float) -> Array:
    """Central ends (2, m) of normal laws."""
    from scipy.special import ndtri

    away = float(ndtri(0.5 + 0.5 * level)) * np.sqrt(variance)
    return np.stack([mean - away, mean + away])


def count_ends(rates: Array, level: float, most: float) -> Array:
    """Ends (2, m) of counts whose Poisson rate is one of rates (m, k) with equal chances, by bisection up to `most`.

    The lower end is the smallest count with a distribution function of (1 - level)/2 or more, the upper one that with
    (1 + level)/2: counts outside have a probability of at most 1 - level.
    """
    from scipy.special import pdtr

    ends = []
    for share in ((1 - level) / 2, (1 + level) / 2):
        low, high = np.full(len(rates), -1.0), np.full(len(rates), np.ceil(most))
        while (high - low > 1).any():
            middle = np.floor((low + high) / 2)
            enough = pdtr(np.maximum(middle, 0.0)[:, None], rates).mean(axis=1) >= share
            apart = high - low > 1  # elsewhere the search has ended, and both stay
            high, low = np.where(apart & enough, middle, high), np.where(apart & ~enough, middle, low)
        ends.append(high)
    return np.stack(ends)
