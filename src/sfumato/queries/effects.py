"""Average marginal effects: how the mean of the target changes with a column, averaged over public rows.

With mu(x) the probability of the target's second level, the rate, the mean or the quantile, the effect of

- a number is the mean over the rows of d mu/dx per unit of the column;
- a yes or no is the mean of mu(yes) - mu(no), all other columns as they are;
- a category is, for every level but the reference (the first, unless another is declared), the mean of mu(level) -
  mu(reference).

The rows are encoded anew with the column changed, so that the effect is right where the encoding is not linear: of a column
with powers and products it is the effect that people ask for. The mean or quantile of a target in its own units is linear in
the coefficients, and so is the effect: its interval is that of `functionals.ends`. Elsewhere intervals are quantiles over
posterior draws of the coefficients (`functionals.sample`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sfumato import _validate
from sfumato._quadrature import Array
from sfumato._validate import visible
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.queries import functionals, predict
from sfumato.queries.inverse_links import MEAN, PROBABILITY, QUANTILE, mean_at, mean_kind
from sfumato.queries.predict import Regression
from sfumato.queries.statistics.protocol import BOTH
from sfumato.schema import Boolean, Category, Number
from sfumato.schema.coding import chosen_reference

# Posterior draws behind an interval: an end at 5 % has a standard error of 0.7 % in level.
_DRAWS = 1000
# Scores held at a time: 16 MB.
_BLOCK = 1 << 21
# Half the step of a difference, as a share of the column's range: its error is of the order of its square, 1e-8.
_STEP = 1e-4


@dataclass(frozen=True, eq=False)
class Effects:
    """Average marginal effects by name ("age", "smoker", "region=south"), with intervals; prints as a table.

    `what` says what changes, and over how many rows it was averaged; `note` how many cells of the rows were clipped or empty.
    """

    names: tuple[str, ...]
    estimates: Array
    lower: Array
    upper: Array
    level: float
    what: str
    note: str = ""

    def to_pandas(self) -> Any:
        """One row for each effect, with the columns effect, lower and upper."""
        from sfumato.queries.convert import needed

        return needed("pandas", "to_pandas").DataFrame(self.columns(), index=list(self.names))

    def columns(self) -> dict[str, Array]:
        """The numbers of the table by the names of its columns."""
        return {"effect": self.estimates, "lower": self.lower, "upper": self.upper}

    def __str__(self) -> str:
        cells = [("", "effect", f"{100 * self.level:g} % interval")]
        for name, middle, low, high in zip(self.names, self.estimates, self.lower, self.upper, strict=True):
            cells.append((visible(name), f"{middle:.4g}", f"{low:.4g} to {high:.4g}"))
        first, second, third = (max(map(len, column)) for column in zip(*cells, strict=True))
        lines = [f"{name.ljust(first)}  {middle.rjust(second)}  {ends.rjust(third)}" for name, middle, ends in cells]
        return "\n".join([visible(self.what), *lines])


def marginal_effects(
    draws: Draws,
    plan: Mapping[str, Any],
    schema: Mapping[str, Any],
    X: Any,
    level: float = 0.9,
    include: str = BOTH,
) -> Effects:
    """Average marginal effects of every feature column over public rows X, for losses with an inverse link."""
    share = _validate.between("level", level, 0.0, 1.0)
    regression = predict.read(draws, plan, schema)
    kind = mean_kind(regression.model.loss, "marginal effects")
    if regression.schema.dimension is not None:
        raise ArgumentError(
            "marginal effects are per declared column, and the rows of this release are vectors without columns: declare "
            "them as a table, sf.Schema({...}), or read the coefficients."
        )
    rows = predict.read_public(regression, X)
    if kind in (MEAN, QUANTILE):
        names, matrix = _measured(regression, rows.columns, partial(_mean_features, regression))
        middle = functionals.estimate(draws, plan, schema, matrix, include)
        lower, upper = functionals.ends(draws, plan, schema, matrix, share, include)
    else:
        points = functionals.sample(draws, plan, schema, include, _DRAWS)
        names, values = _measured(regression, rows.columns, partial(_averaged, regression, points=points))
        lower, middle, upper = np.quantile(values, [(1 - share) / 2, 0.5, (1 + share) / 2], axis=1)
    count = len(next(iter(rows.columns.values())))
    return Effects(names, middle, lower, upper, share, _heading(regression, kind, count), rows.note)


def _measured(
    regression: Regression, columns: dict[str, Any], measure: Callable[[Any, Any, Array], Array]
) -> tuple[tuple[str, ...], Array]:
    """The names of the effects, and a row of numbers for each; one changed table is held at a time."""
    names, rows = [], []
    for name, high, low, steps in _changes(regression, columns):
        names.append(name)
        rows.append(measure(high, low, steps))
    return tuple(names), np.array(rows)


def _changes(regression: Regression, columns: dict[str, Any]) -> Iterator[tuple[str, Any, Any, Array]]:
    """For every effect its name, all columns after the change and before it, and what to divide the difference of a row by."""
    for name in (name for name in regression.schema.features if name in columns):
        column, values = regression.schema.columns[name], np.asarray(columns[name])
        if isinstance(column, Number):
            step = _STEP * (column.upper - column.lower)
            # At a bound the difference is one-sided: beyond it every value is encoded like the bound.
            high, low = np.minimum(values + step, column.upper), np.maximum(values - step, column.lower)
            yield name, {**columns, name: high}, {**columns, name: low}, high - low
            continue
        levels: tuple[Any, ...] = column.levels or ()
        # Effects that sum to zero are compared with the first level.
        base = (chosen_reference(name, column) or 0) if isinstance(column, Category) else 0
        for place, level in enumerate(levels):
            if place == base:
                continue
            after, before = np.full_like(values, place), np.full_like(values, base)
            label = name if isinstance(column, Boolean) else f"{name}={level}"
            yield label, {**columns, name: after}, {**columns, name: before}, np.ones(len(values))


def _averaged(regression: Regression, high: Any, low: Any, steps: Array, points: Array) -> Array:
    """The mean over the rows of (mu(high) - mu(low))/steps at each of the parameters (points, d); rows in blocks."""
    loss, total = regression.model.loss, np.zeros(len(points))
    size = max(1, _BLOCK // len(points))
    for start in range(0, len(steps), size):
        block = slice(start, start + size)
        after, before = (
            mean_at(
                loss, predict.features_of(regression, {name: each[block] for name, each in side.items()}) @ points.T
            )
            for side in (high, low)
        )
        total += (1 / steps[block]) @ (after - before)
    return total / len(steps)


def _mean_features(regression: Regression, high: Any, low: Any, steps: Array) -> Array:
    """The mean over the rows of (features(high) - features(low))/steps, (d,): the effect is its product with the coefficients."""
    total, size = np.zeros(regression.draws.shape[2]), max(1, _BLOCK // regression.draws.shape[2])
    for start in range(0, len(steps), size):
        block = slice(start, start + size)
        after, before = (
            predict.features_of(regression, {name: each[block] for name, each in side.items()}) for side in (high, low)
        )
        total += ((after - before) / steps[block, None]).sum(axis=0)
    return total / len(steps)


def _heading(regression: Regression, kind: str, count: int) -> str:
    """What changes, against what, and over how many rows it is averaged."""
    classes = regression.classes
    if kind == PROBABILITY and classes is not None:
        target = regression.schema.columns[regression.schema.target or ""]
        second = "yes" if isinstance(target, Boolean) else classes[1]
        changed = f"probability of {str(second)!r}"
    elif kind == QUANTILE:
        changed = (
            f"{100 * getattr(regression.model.loss, 'quantile', 0.5):g} % quantile of {regression.schema.target!r}"
        )
    else:
        changed = f"mean of {regression.schema.target!r}"
    return (
        f"Change in the {changed} for one more unit of a number, for yes against no, or against the reference level; "
        f"averaged over {count:,} row{'s' * (count > 1)}."
    )
