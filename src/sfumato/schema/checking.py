"""The checks of a schema's facts against each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.schema.category import declared_missing
from sfumato.schema.columns import COLUMNS, Boolean, Category, Column, public_text
from sfumato.schema.form import Form
from sfumato.schema.missing_codes import with_codes
from sfumato.schema.persons import Persons
from sfumato.schema.weight import Weight

if TYPE_CHECKING:
    from sfumato.schema.vector_units import VectorUnits

# Accepted values of `rows`.
ROWS = ("clip", "normalise")
# Squares of numbers in this range neither overflow nor vanish, so that a norm can be bounded exactly.
NORMS = (2.0**-500, 2.0**500)


def checked(
    columns: Mapping[str, Column],
    target: str | None,
    data_norm: float | None,
    name: str,
    unit: str,
    rows: str,
    dimension: int | None,
    units: VectorUnits | None,
    form: Form,
    persons: Persons | None,
    weight: Weight | None,
) -> dict[str, Any]:
    """Return the fields of a schema, or raise where two facts contradict each other."""
    for label, column in columns.items():
        public_text("the name of a column", label)
        if not isinstance(column, tuple(COLUMNS.values())):
            raise ArgumentError(
                f"column {label!r} must be a sf.Number, sf.Category, sf.Boolean or sf.Date; got {column!r}."
            )
    for label, column in columns.items():
        if isinstance(column, Boolean | Category):
            declared_missing(f"column {label!r}", column)
    # The codes of a column are the table's and its own: a column that is used elsewhere keeps them.
    columns = {label: with_codes(label, column, form.missing_codes) for label, column in columns.items()}
    if target is not None and target not in columns:
        raise ArgumentError(f"target must be one of the columns {', '.join(columns)}; got {target!r}.")
    public_text("name", name)
    public_text("unit", unit)
    _validate.one_of("rows", rows, ROWS)
    if data_norm is not None:
        data_norm = _validate.positive("data_norm", data_norm)
        if not NORMS[0] <= data_norm <= NORMS[1]:
            raise ArgumentError(f"data_norm must lie between 2**-500 and 2**500; got {data_norm!r}.")
    elif rows == "normalise":
        raise ArgumentError('rows="normalise" needs data_norm, the norm that rows are brought to; got None.')
    if units is not None and len(units.names) != dimension:
        raise ArgumentError(f"units must name the {dimension} numbers of a row; got {len(units.names)} names.")
    if persons is not None:
        if not isinstance(persons, Persons):
            raise ArgumentError(f"persons must be an sf.Persons; got {persons!r}.")
        persons.check(columns, dimension is not None)
        unit = "person" if unit == "row" else unit  # a person is protected, not a row
    if weight is not None:
        if not isinstance(weight, Weight):
            raise ArgumentError(f"weight must be an sf.Weight; got {weight!r}.")
        weight.check(columns)
        if persons is not None and persons.id == weight.column:
            raise ArgumentError(f"column {weight.column!r} cannot be both the id of persons and the weight of rows.")
    fields: dict[str, Any] = {
        "_columns": tuple(columns.items()),
        "target": target,
        "data_norm": data_norm,
        "name": name,
        "unit": unit,
    }
    fields |= {"rows": rows, "dimension": dimension, "units": units, "form": form}
    return {**fields, "persons": persons, "weight": weight}
