"""Many at once, and killed: exactly as many charges as fit, none lost, none twice, and the same harness sees the faults."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from ledger_places import PostgresPlace

from sfumato.ledger.currency import cap_of
from sfumato.ledger.terms import Terms
from sfumato.ledger.units import UNITS, root_below

SWARM = Path(__file__).with_name("ledger_swarm.py")


def swarm(**arguments: Any) -> Any:
    done = subprocess.run(
        [sys.executable, str(SWARM), json.dumps(arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def part_of_the_cap(parts: int) -> float:
    """The largest mu that fits `parts` times."""
    return root_below(Fraction(cap_of(Terms(3.0, 1e-6))) ** 2 / parts)


def test_sixteen_processes_spend_exactly_the_cap(place, races):
    found = swarm(task="race", url=place.url, witness=str(place.witness), times=races, mu=part_of_the_cap(100))
    assert found == [100] * races


def test_a_new_ledger_opened_by_many_at_once(place):
    found = swarm(task="opening", url=place.url, witness=str(place.witness))
    assert found == {"acknowledged": 12, "rows": 13}


@pytest.mark.planted
def test_a_naive_ledger_overspends_in_the_same_race(tmp_path):
    """The planted fault. A single race may be lucky; three never were."""
    assert max(swarm(task="naive", path=str(tmp_path / f"{k}.db")) for k in range(3)) > 100


def test_two_hundred_chargers_lose_none_on_sqlite(sqlite_place):
    found = swarm(task="crowd", url=sqlite_place.url, witness=str(sqlite_place.witness), mu=part_of_the_cap(200))
    assert found == {"acknowledged": 200, "distinct": 200, "recorded": 200, "rows": 201}


def test_two_hundred_chargers_lose_none_on_twenty_connections(tmp_path, server):
    place = PostgresPlace(tmp_path, server, connections=20)
    found = swarm(task="crowd", url=place.url, witness=str(place.witness), mu=part_of_the_cap(200))
    assert found == {"acknowledged": 200, "distinct": 200, "recorded": 200, "rows": 201}


def test_killed_at_random_moments(place, kills):
    found = swarm(task="kill", url=place.url, witness=str(place.witness), times=kills, planted=False)
    assert found["lost"] == 0
    assert found["ahead"] <= 1
    assert found["acknowledged"] >= kills // 2  # every other one was charging when it died
    assert found["recorded"] == found["acknowledged"] + 1
    assert found["units"] == found["recorded"] * found["each"] <= UNITS
    assert found["rows"] == found["recorded"] + 1


@pytest.mark.planted
def test_acknowledging_first_is_seen_as_a_loss(sqlite_place):
    """The planted fault for the test above."""
    found = swarm(task="kill", url=sqlite_place.url, witness=str(sqlite_place.witness), times=10, planted=True)
    assert found["lost"] > 0
