"""What clipping does to a released quantity, as a sentence that is shown beside it.

A record outside its declared bounds counts as the bound, so a released mean is the mean of the clipped values. Where values lie
beyond the bounds it differs from the mean of the values as they are, and no interval includes that difference.
"""

from __future__ import annotations

from typing import Any

from sfumato.errors import ArgumentError
from sfumato.models import families
from sfumato.models.families._vectors import Vectors
from sfumato.models.hidden_sizes import HiddenSizes
from sfumato.models.model import LOSSES
from sfumato.models.networks.learned import LearnedNetwork
from sfumato.models.regression import columns_read
from sfumato.models.whose_rows import of_model, without_rows
from sfumato.schema import Boolean, Date, Number, Schema

# From this size on thousands are separated by commas.
_GROUPED = 10_000
# The cells that count as a column declares: missing codes are empty, and only a column of levels knows undeclared ones.
_CELLS = "empty, unreadable or undeclared cells"
# Columns of a regression that are listed with their bounds; the schema has the others.
_LISTED = 8


def clipping_of(model: Any, schema: Schema | None = None) -> str:
    """The sentence for a model, with the column's name and declared bounds where its schema is given; "" where none is clipped."""
    if model.summed == LOSSES:
        return "" if schema is None else _of_columns(_read(model, schema))
    if isinstance(model, LearnedNetwork):
        return "" if schema is None else _of_columns(schema.only(model.names), days=False)
    own = model.model if isinstance(model, HiddenSizes) else model
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


def date_of(model: Any, schema: Schema) -> Date | None:
    """The Date column whose mean or quantiles the model estimates: its results are days, to be shown as dates."""
    own = model.model if isinstance(model, HiddenSizes) else model
    if not isinstance(own, (families.BoundedMean, families.NormalMean, families.Quantiles, families.Quantile)):
        return None
    column = schema.columns[model.columns(schema)[-1]]
    return column if isinstance(column, Date) else None


def missing_of(model: Any, schema: Schema) -> str:
    """What an empty, unreadable or undeclared cell of the columns that the model reads counts as; "" where none can be named.

    Where one person may have several rows, also what a person without any counts as.
    """
    cells = _missing_cells(model, schema)
    if schema.persons is None:
        return cells
    absent = without_rows(schema.persons.terms, schema.unit, of_model(model, schema))
    return f"{cells} {absent}" if cells else f"{absent[:1].lower()}{absent[1:]}"


def _missing_cells(model: Any, schema: Schema) -> str:
    try:
        names = list(_read(model, schema).columns) if model.summed == LOSSES else list(model.columns(schema))
    except ArgumentError:  # a schema that the model does not fit
        return ""
    kept = model.missing if isinstance(model, LearnedNetwork) else ()
    names = [name for name in names if name not in kept]
    if schema.dimension is not None:  # the numbers of a vector have no names
        names = [name for name in names if name in schema.columns]
    beside = _of_features(schema) if schema.dimension is not None and model.summed == LOSSES else ""
    listed = ", ".join(f"{name} as {_missing(schema.columns[name])}" for name in names[:_LISTED])
    more = f" and {len(names) - _LISTED} more columns as the schema declares" if len(names) > _LISTED else ""
    own = ", ".join(kept[:_LISTED]) + (f" and {len(kept) - _LISTED} more columns" if len(kept) > _LISTED else "")
    level = f"a level of their own in {own}" if kept else ""
    if not names:
        return f"{_CELLS}: {level}." if level else beside.strip()
    elsewhere = f"{level}; elsewhere " if level else ""
    return f"{_CELLS}: {elsewhere}{listed}{more}.{beside}"


def _of_features(schema: Schema) -> str:
    """What a cell of a vector's features counts as that is no finite number: 0, which is the middle where they were scaled."""
    scaled = schema.units is not None and any(span != 1.0 for span in schema.units.span)
    return f" Cells of features that are no finite numbers count as {'the middle of their bounds' if scaled else '0'}."


def _read(model: Any, schema: Schema) -> Schema:
    """The facts about the columns that a regression reads; all of them where its terms do not fit the schema."""
    if schema.dimension is not None or model.terms is None:
        return schema
    try:
        return schema.only(columns_read(model, schema))
    except ArgumentError:
        return schema


def _missing(column: Any) -> str:
    if isinstance(column, Number):
        return column.shown(column.missing)
    return ("yes" if column.missing else "no") if isinstance(column, Boolean) else str(column.missing)


def in_brackets(low: float, high: float) -> str:
    """Bounds as [0, 200,000]; numbers of four digits, which may be years, without a comma."""
    return f"[{_number(low)}, {_number(high)}]"


def _number(value: float) -> str:
    return f"{value:.10g}" if abs(value) < _GROUPED else f"{value:,.10g}"


def _bounds_of(column: Number, days: bool = True) -> str:
    """Declared bounds; of dates as dates, with the `days` that results are counted in, if they are."""
    if not isinstance(column, Date):
        return in_brackets(column.lower, column.upper)
    counted = f" (counted in days since 1970-01-01: {column.lower:.0f} to {column.upper:.0f})" if days else ""
    return f"[{column.shown(column.lower)}, {column.shown(column.upper)}]{counted}"


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


def _declared(model: Any, schema: Schema | None, bounds: tuple[float, float]) -> tuple[str, str]:
    """The column's name with its own bounds, which may be narrower than the model's; "value" where no schema is known."""
    if schema is None:
        return "value", in_brackets(*bounds)
    try:
        name = model.columns(schema)[-1]
    except ArgumentError:  # a schema that the model does not fit: the model's own bounds are all that is known
        return "value", in_brackets(*bounds)
    column = schema.columns[name]
    return f"value of {name}", _bounds_of(column) if isinstance(column, Number) else in_brackets(*bounds)


def _of_columns(schema: Schema, days: bool = True) -> str:
    """The bounds of all Number columns."""
    numbers = [(name, column) for name, column in schema.columns.items() if isinstance(column, Number)]
    if not numbers:
        return ""
    listed = ", ".join(f"{name} to {_bounds_of(column, days)}" for name, column in numbers[:_LISTED])
    more = f" and {len(numbers) - _LISTED} more columns to the bounds in the schema" if len(numbers) > _LISTED else ""
    return f"values were first clipped, {listed}{more}: values beyond the bounds count as the bound."
