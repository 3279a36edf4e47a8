"""Checks that names, units, labels and shapes are those of the schema and the model."""

from __future__ import annotations

from sfumato.mechanisms.plan import GOALS
from sfumato.verifying.record import Record, require


def check_names(record: Record) -> None:
    """Name, unit, persons and digest are those of the embedded schema; the unit is also the guarantee's."""
    written, schema = record.release.schema, record.schema
    require(schema.digest == written["digest"], "schema")
    require(written["name"] == schema.name, "name in the schema")
    require(written["unit"] == schema.unit, "unit in the schema")
    require(record.release.guarantee.unit == schema.unit, "unit")
    declared = None if schema.persons is None else schema.persons.terms
    require(record.task.persons == declared, "persons")
    require(record.task.weight == schema.weight, "weight")
    counted = None if schema.persons is None else schema.persons.count
    require(counted in (None, record.plan["n"]), "number of persons")


def check_labels(record: Record) -> None:
    """Labels and shape follow from model and schema, the kind from the goal, the number of draws from the plan."""
    release, plan = record.release, record.plan
    labels, shape = record.model.released(record.schema)
    draws = release.draws
    require(draws.labels == labels and draws.shape[2:] == shape, "shape")
    require(draws.shape[0] * draws.shape[1] == plan["draws"], "number of draws")
    require(plan["goal"] in GOALS, "goal")
    require(release.kind == ("estimate" if plan["goal"] == "estimate" else "draws"), "kind")
