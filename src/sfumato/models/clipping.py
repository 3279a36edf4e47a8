"""What clipping does to a released quantity, as a sentence that is shown beside it.

A record outside its declared bounds counts as the bound, so a released mean is the mean of the clipped values. Where values lie
beyond the bounds it differs from the mean of the values as they are, and no interval includes that difference.
"""

from __future__ import annotations

from typing import Any

from sfumato.errors import ArgumentError
from sfumato.models import families
from sfumato.models.families._vectors import Vectors
from sfumato.models.grouped import Grouped
from sfumato.models.model import LOSSES
from sfumato.schema import Date, Number, Schema

# Columns of a regression that are listed with their bounds; the schema has the others.
_LISTED = 8


def clipping_of(model: Any, schema: Schema | None = None) -> str:
    """The sentence for a model, with the column's name and declared bounds where its schema is given; "" where none is clipped."""
    if model.summed == LOSSES:
        return "" if schema is None else _of_columns(schema)
    own = model.model if isinstance(model, Grouped) else model
    if isinstance(own, Vectors):
        return (
            f"each record is first shortened to a norm of {own.radius:,.6g}: longer ones count as shortened. "
            "The mean is that of the shortened records."
        )
    bounds = _bounds(own)
    if bounds is None:
        return ""
    column, shown = _declared(model, schema, bounds)
    if isinstance(own, families.Histogram):
        means = " The first and the last bin include them."
    else:
        means = " The mean is that of the clipped values." if own.quantity == "mean" else ""
    return f"each {column} is first clipped to {shown}: values beyond the bounds count as the bound.{means}"


def in_brackets(low: float, high: float) -> str:
    """Bounds as [0, 200,000]."""
    return f"[{low:,.10g}, {high:,.10g}]"


def _bounds(model: Any) -> tuple[float, float] | None:
    """The range in which a record of this family lies; None where nothing is clipped or levels are counted."""
    if isinstance(model, families.Histogram):
        return model.edges[0], model.edges[-1]
    if isinstance(model, (families.BoundedMean, families.NormalMean, families.Quantiles)):
        return model.lower, model.upper
    if isinstance(model, (families.GammaPoisson, families.ExponentialRate)):
        return 0.0, float(model.bound)
    if isinstance(model, (families.LaplaceScale, families.NormalPrecision)):
        return model.centre - model.bound, model.centre + model.bound
    return (0.0, float(model.trials)) if isinstance(model, families.BetaBinomial) else None


def _of_column(column: Number) -> str:
    """The declared bounds; those of dates in days, as every result, and as dates."""
    if not isinstance(column, Date):
        return in_brackets(column.lower, column.upper)
    dates = f"{column.shown(column.lower)} to {column.shown(column.upper)}"
    return f"{in_brackets(column.lower, column.upper)} days since 1970-01-01 ({dates})"


def _declared(model: Any, schema: Schema | None, bounds: tuple[float, float]) -> tuple[str, str]:
    """The column's name with its own bounds, which may be narrower than the model's; "value" where no schema is known."""
    if schema is None:
        return "value", in_brackets(*bounds)
    try:
        name = model.columns(schema)[-1]
    except ArgumentError:  # a schema that the model does not fit: the model's own bounds are all that is known
        return "value", in_brackets(*bounds)
    column = schema.columns[name]
    return f"value of {name}", _of_column(column) if isinstance(column, Number) else in_brackets(*bounds)


def _of_columns(schema: Schema) -> str:
    """The bounds of a regression's Number columns."""
    numbers = [(name, column) for name, column in schema.columns.items() if isinstance(column, Number)]
    if not numbers:
        return ""
    listed = ", ".join(f"{name} to {_of_column(column)}" for name, column in numbers[:_LISTED])
    more = f" and {len(numbers) - _LISTED} more columns to the bounds in the schema" if len(numbers) > _LISTED else ""
    return f"values were first clipped, {listed}{more}: values beyond the bounds count as the bound."
