"""Small learnt tables with a claim of about mu = 3, and pairs of data sets at which the price of each part is attained."""

from __future__ import annotations

from typing import Any

import numpy as np

import sfumato as sf
from audits.attacks import Pairs, planned
from sfumato.auditing.pairs import Neighbours
from sfumato.mechanisms.plan import Plan
from sfumato.procedures import noisy_tables

PLAIN = sf.Schema(
    {
        "a": sf.Category(["x", "y"], missing="x"),
        "b": sf.Category(["u", "v", "w"], missing="u"),
        "c": sf.Boolean(missing=False),
    }
)
NUMBERS = sf.Schema({"a": sf.Category(["x", "y"], missing="x"), "z": sf.Number(0, 8)})
FOUR = sf.Schema({name: sf.Boolean(missing=False) for name in "abcd"})
# Records of the small data sets, and of those whose choice is attacked: their pairs are far from independent.
FEW, MANY = 12, 400


def all_pairs() -> Plan:
    """Three tables of pairs, mu = 3."""
    return planned("noisy-tables", sf.networks.learn(PLAIN), FEW, noisy_tables.Parameters(1 / 3))


def private_bins() -> Plan:
    """A tree for three private bins, and one table of a pair."""
    model = sf.networks.learn(NUMBERS, bins={"z": {"quantiles": 3}})
    return planned("noisy-tables", model, FEW, noisy_tables.at_noise(model, 1 / 3))


def chosen_pairs() -> Plan:
    """Two of three pairs, chosen in two rounds."""
    model = sf.networks.learn(PLAIN, pairs="select", chosen=2, rounds=2)
    return planned("noisy-tables", model, FEW, noisy_tables.at_noise(model, 1 / 3))


def choice() -> Plan:
    """One of six pairs, with so much noise in all tables that the choice is nearly the whole price: a range of 4."""
    model = sf.networks.learn(FOUR, pairs="select", chosen=1, rounds=1)
    return planned("noisy-tables", model, MANY, noisy_tables.Parameters(100.0, None, 20.0, 1.0))


def _pair(schema: sf.Schema, rows: list[dict[str, Any]], first: dict[str, Any], second: dict[str, Any]) -> Neighbours:
    data = []
    for record in (first, second):
        cells = {name: np.array([row[name] for row in (record, *rows)], dtype=object) for name in schema.columns}
        data.append(sf.Dataset.from_table(cells, schema=schema))
    return Neighbours("all others equal", *data)


def every_cell() -> Neighbours:
    """One record changes in every column."""
    here, there = {"a": "x", "b": "u", "c": False}, {"a": "y", "b": "w", "c": True}
    return _pair(PLAIN, [there] * (FEW - 1), here, there)


def across_bins() -> Pairs:
    """One record moves to the other end of a column, over equally many others on either side."""
    rows = [{"a": "x", "z": float(k % 8)} for k in range(FEW - 1)]
    return (_pair(NUMBERS, rows, {"a": "x", "z": 0.0}, {"a": "y", "z": 8.0}),)


def one_up_one_down() -> Pairs:
    """Of (a, b) the misfit rises by 2 counts and of (c, d) it falls by 2, whatever the reference: all others are at two corners."""
    both = [dict.fromkeys("abcd", side) for side in (False, True)]
    rows = [both[k % 2] for k in range(MANY - 1)]
    first = {"a": False, "b": True, "c": False, "d": False}
    return (_pair(FOUR, rows, first, {"a": False, "b": False, "c": False, "d": True}),)
