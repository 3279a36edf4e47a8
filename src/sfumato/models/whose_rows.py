"""What is counted and estimated where one person may have several rows, as sentences that are shown beside a result.

With rule "average" the rows of a person share the weight of one record, so that a released mean is that of the mean person. Where
persons with many rows differ from those with few, it is another number than the mean over all rows.
"""

from __future__ import annotations

from typing import Any

from sfumato.errors import ArgumentError
from sfumato.models import families
from sfumato.models.model import LOSSES
from sfumato.models.networks.bayesian_network import BayesianNetwork
from sfumato.models.networks.learned import LearnedNetwork
from sfumato.models.weighted import Weighted
from sfumato.schema import Schema, Weight
from sfumato.schema.encoding import encode
from sfumato.schema.persons import AVERAGE, FIRST, REDUCE, PersonTerms

# Columns whose rules are listed; the schema has the others.
_LISTED = 8
# Rules of a column whose result without any row is 0 and not missing.
_OF_NOTHING = ("sum", "count")
# Families whose parameter is the mean of what single rows contribute, so that an average of persons' own means can be named.
_MEANS = (
    families.BetaBernoulli,
    families.BetaBinomial,
    families.BoundedMean,
    families.GammaPoisson,
    families.GaussianMean,
    families.MultivariateNormal,
    families.NormalMean,
)
_SHARES = (families.CrossTable, families.DirichletCategorical, families.Histogram)


def whose_rows(model: Any, terms: PersonTerms, schema: Schema | None = None, weighted: bool = False) -> str:
    """How often a person counts, what is estimated and which rows are left out; the schema knows what a person is called.

    Without a schema it also says what a person without rows counts as; with one `without_rows` does, with the values. `weighted`:
    rows have survey weights, as where the schema declares them.
    """
    unit = "person" if schema is None else schema.unit
    weighted = weighted or (schema is not None and schema.weight is not None)
    schema = None if schema is None else of_model(model, schema)
    if weighted and terms.rule == AVERAGE and terms.most != 1:
        said = f"{_weighted(unit, terms.rows)} {_limit(terms, unit)}"
    else:
        often = (
            "by the mean weight of their" if weighted and terms.rule == REDUCE else "by the weight of that one of their"
        )
        times = f"counts once, {often} {terms.rows}" if weighted else "counts once"
        said = f"each {unit} {times}{_counted(model, terms, unit, schema)}"
    return said if schema is not None else f"{said} {without_rows(terms, unit, weighted=weighted)}"


def _weighted(unit: str, rows: str) -> str:
    """What an average of rows with weights of their own estimates."""
    return (
        f"each of a {unit}'s {rows} counts by its weight, divided by how many of their {rows} count. So what is estimated is about "
        f"the population that the weights stand for, in which a {unit} with many {rows} counts no more than one with few."
    )


def of_model(model: Any, schema: Schema) -> Schema:
    """The facts about the columns that the model reads; the whole schema where it reads all, or does not fit."""
    if model.summed == LOSSES or schema.dimension is not None:
        return schema
    try:
        return schema.only(model.columns(schema))
    except ArgumentError:
        return schema


def a_record(terms: PersonTerms, unit: str = "person") -> str:
    """What stands beside the number of records: what one of them is, and which number is private."""
    return f"a record is one {unit} with all of their {terms.rows}; how many {terms.rows} there are is private"


def many_records(terms: PersonTerms | None) -> str:
    """What the records of a plan are, in the plural."""
    return "records" if terms is None else f"persons, with all of their {terms.rows},"


def without_rows(terms: PersonTerms, unit: str, schema: Schema | None = None, weighted: bool = False) -> str:
    """What a person of the roster counts as who has no usable row."""
    whom = f"Every {unit} without {terms.rows}"
    if weighted or (schema is not None and schema.weight is not None):
        return f"{whom} has weight 0."
    if schema is not None and schema.dimension is not None:
        # Of features that were scaled to their bounds, 0 is the middle.
        scaled = schema.units is not None and any(span != 1.0 for span in schema.units.span)
        what = "in the middle of the bounds of every feature" if scaled else "of zeros"
        return f"{whom} counts as one row {what}{', with a missing target' if schema.columns else ''}."
    return f"{whom} counts as one row whose cells are all missing{_but_zeros(schema)}."


def by_weight(weight: Weight) -> str:
    """How records with survey weights count, and what is estimated then."""
    top = f"{weight.upper:g}"
    return (
        f"each record counts by its weight in the column {weight.column}: as a whole one at {top}, as half of one at half of that. "
        f"Weights beyond {top} count as {top}, and a record without a weight does not count. What is estimated is about the "
        "population that the weights stand for."
    )


def _counted(model: Any, terms: PersonTerms, unit: str, schema: Schema | None) -> str:
    rows = terms.rows
    if terms.rule == FIRST:
        return (
            f", with the first of their {rows} in the table. What is estimated is about the first of every {unit}'s {rows}, not "
            f"about all {rows}."
        )
    if terms.rule != AVERAGE:
        return (
            f", with one row that their {rows} become by the declared rules{_rules(schema)}. What is estimated is about these "
            f"rows, not about all {rows}."
        )
    if terms.most == 1:
        return f", with one of their {rows}, taken at random."
    return f": {_estimated(model, unit, rows)} {_limit(terms, unit)}"


def _estimated(model: Any, unit: str, rows: str) -> str:
    """What the average over each person's rows makes of the released quantity."""
    model = model.model if isinstance(model, Weighted) else model
    if isinstance(model, _MEANS + _SHARES):
        over = "mean over" if isinstance(model, _MEANS) else "shares among"
        own = f"each {unit}'s own {over} their {rows}"
        return f"what is estimated is the mean over the records of {own}, not the {over} all {rows}."
    share = f"their {rows} share the weight of one record"
    said = f"{share}, so that what is estimated weighs every {unit} alike, not all {rows} alike."
    if isinstance(model, BayesianNetwork | LearnedNetwork):
        said += f" A synthetic row is like one of the {rows} of some {unit}; no two of them belong together."
    return said


def _limit(terms: PersonTerms, unit: str) -> str:
    return (
        f"At most {terms.most:,} {terms.rows} of one {unit} count: more do not cost more noise, and are left out by a random "
        "sample."
    )


def _rules(schema: Schema | None) -> str:
    """The rules of a schema's columns, in brackets."""
    if schema is None or schema.persons is None:
        return ""
    steps = schema.persons.reduce
    listed = ", ".join(f"{name} by {step}" for name, step in steps[:_LISTED])
    more = f" and {len(steps) - _LISTED} more columns" if len(steps) > _LISTED else ""
    return f" ({listed}{more})"


def _but_zeros(schema: Schema | None) -> str:
    """The columns that are 0, or the bound next to it, where there is no row to sum or count."""
    if schema is None or schema.persons is None:
        return ""
    zeros = [name for name, step in schema.persons.reduce if step in _OF_NOTHING]
    listed = ", ".join(f"{name} as {encode(schema.columns[name], [0]).values[0]:.10g}" for name in zeros[:_LISTED])
    more = f" and {len(zeros) - _LISTED} more columns in the same way" if len(zeros) > _LISTED else ""
    return f", but for {listed}{more}" if zeros else ""
