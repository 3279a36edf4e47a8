"""The summary of a released regression: what was fitted, a table of coefficients in own units, and how to read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato._quadrature import Array
from sfumato._validate import visible
from sfumato.errors import ArgumentError
from sfumato.models.clipping import clipping_of
from sfumato.models.gibbs import Gibbs
from sfumato.models.whose_rows import by_weight, whose_rows
from sfumato.privacy.neighbours import REPLACE_PERSON, protected
from sfumato.queries import coefficients, intervals, own_units
from sfumato.queries.coefficients import Coefficients
from sfumato.queries.regression_cautions import Clipped, cautions, clipped_of
from sfumato.schema import Category, Schema
from sfumato.schema.coding import chosen_reference
from sfumato.schema.design import Design

# Coefficients that are printed: about a screen.
_SHOWN = 40
# The end of the note on standard errors and intervals.
INCLUDED = "include the privacy noise and the sampling of the records."


@dataclass(frozen=True, eq=False)
class RegressionSummary:
    """Facts on a fit, its coefficients, notes for the reader, and the promise; prints like the table of a statistics package."""

    title: str
    facts: tuple[tuple[str, str], ...]
    coefficients: Coefficients
    notes: tuple[str, ...]
    promise: str
    first: str = ""
    clipped: Clipped | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the coefficients."""
        return self.coefficients.labels

    @property
    def estimates(self) -> Array:
        """The estimated coefficients."""
        return self.coefficients.estimates

    @property
    def intervals(self) -> Array | None:
        """Lower and upper ends (2, coefficients); None where the release has none."""
        return self.coefficients.intervals

    @property
    def reason(self) -> str:
        """Why there are no intervals."""
        return self.coefficients.reason

    @property
    def warning(self) -> str:
        """The sentence on coefficients of which little is known."""
        return self.coefficients.sentence

    def __str__(self) -> str:
        rows = self.coefficients.rows()
        table = coefficients.aligned(rows[: _SHOWN + 1])
        rest = len(rows) - 1 - _SHOWN
        body = [*table[1:], *([f"... and {rest} more (release.coefficients())"] if rest > 0 else [])]
        wide = max(len(line) for line in table)
        head = max(len(name) for name, _ in self.facts)
        facts = [f"{name:<{head}}  {visible(value)}" for name, value in self.facts]
        heavy, light = "=" * wide, "-" * wide
        below = [*map(visible, self.notes), visible(self.promise)]
        above = [self.first] if self.first else []
        return "\n".join([*above, visible(self.title), *facts, heavy, table[0], light, *body, heavy, *below])


def summarise(
    release: Any, level: float, prior: Any, reference: Mapping[str, Any] | None, promise: str, first: str
) -> RegressionSummary:
    """The summary of a release of a regression."""
    intervals.no_prior(prior)
    model = own_units.regression_of(release.plan)
    if model is None:
        raise ArgumentError("this summary is of a regression; the release is of another model.")
    schema = Schema.from_json(release.schema["document"])
    table = release.coefficients(level, reference=reference)
    target = schema.target or "the target"
    facts = (
        ("records", f"{int(release.plan['n']):,} (unit: {_record(schema)})"),
        ("link", link_in_words(model, schema)),
        ("made by", str(release.plan["mechanism"])),
    )
    clipped = None if table.intervals is None else clipped_of(release.draws, release.plan, schema)
    said = "" if clipped is None else clipped.sentence(target)
    notes = _notes(release, model, schema, table, reference or {}, said)
    title = f"{kind_in_words(model)} regression of {target}"
    return RegressionSummary(title, facts, table, tuple(notes), promise, first, clipped)


def kind_in_words(model: Gibbs) -> str:
    """The kind of a regression, capitalised: "Logistic", "Linear"."""
    return model.loss.regression_name.capitalize()


def link_in_words(model: Gibbs, schema: Schema) -> str:
    """What the coefficients add up to."""
    column = schema.columns.get(schema.target or "")
    levels = None if column is None else column.levels
    if levels and model.loss.outputs == 1:
        shown = {True: "yes", False: "no"}.get(levels[-1], levels[-1]) if isinstance(levels[-1], bool) else levels[-1]
        return f"{model.loss.link} of {schema.target} = {shown}"
    return f"{model.loss.link} of {schema.target}"


def _notes(
    release: Any, model: Gibbs, schema: Schema, table: Coefficients, reference: Mapping[str, Any], residuals: str
) -> list[str]:
    """Sentences below the table, in the order of their importance."""
    notes = [f"* {table.sentence}"] if table.little else []
    if table.intervals is None:
        notes.append(f"No interval: {table.reason}")
    else:
        notes.append(f"Standard errors and intervals {INCLUDED}")
        notes.append(f"Intervals are for {model.loss.estimand}.")
        notes += cautions(release.draws, release.plan, schema.target or "the target")
    clipping = clipping_of(model, schema)
    clipped = f"{clipping[:1].upper()}{clipping[1:]}"
    counted = "" if schema.persons is None else whose_rows(model, schema.persons.terms, schema)
    persons = f"{counted[:1].upper()}{counted[1:]}"
    weights = "" if schema.weight is None else by_weight(schema.weight)
    weighed = f"{weights[:1].upper()}{weights[1:]}"
    given = "" if schema.units is None else schema.units.given()
    own = (units_note(model, schema), reference_note(model, schema, reference))
    said = (residuals, given, *own, clipped, persons, weighed)
    return [*notes, *(each for each in said if each)]


def _record(schema: Schema) -> str:
    """What one record is."""
    return schema.unit if schema.persons is None else protected(REPLACE_PERSON, schema.unit, schema.persons.rows)


def units_note(model: Gibbs, schema: Schema) -> str:
    """What one unit is, where it is not that of the columns; and what a bounded norm of the rows does."""
    if schema.rows == "normalise":
        return (
            "Every row was divided by its norm, so coefficients are those of the scaled features, not of the columns."
        )
    design = Design.of(schema, model.terms)
    if schema.dimension is None and schema.data_norm is not None and design.radius == schema.data_norm:
        return "Rows longer than data_norm were shortened; coefficients are those of rows within it."
    return ""


def reference_note(model: Gibbs, schema: Schema, reference: Mapping[str, Any]) -> str:
    """Which level each category is compared with."""
    used = set(schema.features)
    if model.terms is not None:
        terms = Design.of(schema, model.terms).terms or ()
        used = {name for term in terms for name, _ in term.factors}
    compared = []
    for name in schema.features:
        column = schema.columns[name]
        if isinstance(column, Category) and name in used:
            base = chosen_reference(name, column, reference.get(name))
            compared.append(f"{name} with {'the mean of its levels' if base is None else column.levels[base]}")
    return f"Levels are compared: {', '.join(compared)}." if compared else ""


def warning(release: Any, ends: Array, level: float, scaled: bool = False) -> str:
    """Sentences on coefficients of which little is known and on why intervals may cover less; "" for other models."""
    if own_units.regression_of(release.plan) is None:
        return ""
    shown = release.view(scaled)
    names = coefficients.prior_dominated(release.plan, shown.labels, shown.functionals, np.asarray(ends), level)
    said = cautions(release.draws, release.plan, Schema.from_json(release.schema["document"]).target or "the target")
    return " ".join([coefficients.little_information(names, len(shown.labels)), *said]).strip()
