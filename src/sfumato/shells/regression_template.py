"""The first spec file of a regression, which `sfumato spec --regression` writes: its columns are those of the schema file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.errors import ArgumentError
from sfumato.models.building import refused_kind, regression
from sfumato.rehearsing.fact_examples import example_of, example_of_effects, in_toml
from sfumato.schema import Schema
from sfumato.schema.documents import toml_key, toml_value

_TEMPLATE = """\
# What is released, from which records, at what price. Every number here is public: none is read from the records.
[data]
file = {data}
schema = {schema}

[model]
regression = {regression}
target = {target}
features = {features}  # powers such as "age^2" and products such as "age:sex" too
# prior = 2                    # the prior deviation of the effect of a column from one end to the other

[price]
epsilon = 1.0
delta = 1e-6                   # far below one in the number of records

[expect]                       # what is publicly known of the rows, for the widths that sfumato plan prints: write your own numbers
{expect}

[ledger]                       # the budget; make it with: sfumato ledger create {ledger}
file = {ledger}
name = {name}
"""
# Regressions of two classes, and what widths depend on most there.
_OF_CLASSES = ("logistic", "probit", "cloglog", "svm")
_ASKED = "# How common is the target? Without its share widths are a range, from half of the rows to 2 % of them."
# Facts of columns that are not known yet.
_ANY_FACTS = (
    "# age = { mean = 45, sd = 12 }",
    "# smoker = 0.3",
    "# region = { north = 0.6 }",
    "# effects = { age = 0.03 }",
)


def regression_text(
    kind: str, target: str | None, features: Sequence[str] | None, schema: Schema | None, facts: Mapping[str, str]
) -> str:
    """The text of a spec: of every column of the schema but the target, or of `features`; `facts` are names of files and data.

    With a schema the model is made once, so that a wrong target or feature is refused here; without one, features are required.
    """
    fault = refused_kind("--regression", kind)
    if fault is not None:
        raise ArgumentError(fault)
    wanted = target or (schema.target if schema is not None else None)
    if wanted is None:
        raise ArgumentError("a regression needs --target, the column to be predicted.")
    if schema is None:
        if not features:
            raise ArgumentError(
                f"there is no schema {facts['schema']!r} to take the features from: give --features a,b."
            )
        listed, expect = list(features), list(_ANY_FACTS)
    else:
        whole = schema.with_target(wanted)
        listed = list(whole.features if features is None else features)
        regression(kind, whole, listed).columns(whole)
        expect = _example_facts(whole, listed)
    values: dict[str, Any] = {**facts, "regression": kind, "target": wanted, "features": listed}
    if kind in _OF_CLASSES:
        expect = [_ASKED, *([f"# {toml_key(wanted)} = 0.3"] if schema is None else []), *expect]
    return _TEMPLATE.format(**{key: toml_value(value) for key, value in values.items()}, expect="\n".join(expect))


def _example_facts(schema: Schema, features: Sequence[str]) -> list[str]:
    """A comment for the target and for each column that the features name, with a fact that could be declared of it."""
    from sfumato.schema.terms import read_terms

    used = {name for term in read_terms(features, schema) for name, _ in term.factors}
    part = schema.only([*used, str(schema.target)], schema.target)
    named = {name: example_of(part.columns[name]) for name in (str(part.target), *part.features)}
    named["effects"] = example_of_effects(part)
    return [f"# {toml_key(name)} = {in_toml(fact)}" for name, fact in named.items()]
