"""One request, one release: ids that several processes ask for, and processes killed between charge and seal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

from ledger_places import Place

import sfumato as sf

LONG = os.environ.get("SFUMATO_LONG") == "1"

ASKER = """
import os, signal, sys, numpy as np, sfumato as sf
from sfumato.ledger import Ledger
plan = sf.plan(sf.families.BoundedMean(0, 1), 400, 0.05, 1e-9, mechanism="noisy-statistics", goal="estimate")
schema = sf.Schema({"x": sf.Number(0, 1)}, name="survey", unit="patient")
data = sf.Dataset.from_table({"x": np.linspace(0, 1, 400)}, schema=schema)
sf.publish(plan, data)  # modules are read now
url, witness, mode, *ids = sys.argv[1:]
if mode == "die":  # between the charge and the seal, when everything is drawn
    Ledger.seal_first = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
ledger = sf.Ledger.open(url, witness=witness)
print("ready", flush=True)
sys.stdin.readline()
for request in ids:
    child = os.fork() if mode == "die" else 0
    if child:
        os.waitpid(child, 0)
        continue
    release = sf.publish(plan, data, ledger, request_id=request)
    print(request, repr(release.mean().item()), flush=True)
"""


def asker(place: Place, mode: str, ids: list[str]) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", ASKER, place.url, str(place.witness), mode, *ids],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready"
    return process


def answers(processes: list[subprocess.Popen[str]]) -> list[dict[str, str]]:
    """Let all of them start at once; what each was given, by request."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate()[0] for process in processes]
    return [dict(line.split() for line in text.splitlines()) for text in said]


def charged(ledger: sf.Ledger) -> Counter[str]:
    return Counter(entry.request_id for entry in ledger.history("survey") if entry.kind == "charge")


def test_three_processes_with_one_id_get_one_release(place: Place) -> None:
    ledger = place.open()
    ledger.register("survey", epsilon=50.0, delta=1e-3, unit="patient")
    ids = [f"r{k}" for k in range(100 if LONG else 5)]
    given = answers([asker(place, "publish", ids) for _ in range(3)])
    assert given[0] == given[1] == given[2]
    assert set(given[0]) == set(ids)
    assert charged(ledger) == Counter(ids)
    for request, value in given[0].items():
        sealed = ledger.sealed("survey", request)
        assert sealed is not None
        assert repr(sf.Release.from_bytes(sealed).mean().item()) == value
    ledger.verify()


def test_killed_between_charge_and_seal_is_finished_and_charged_once(place: Place) -> None:
    ledger = place.open()
    ledger.register("survey", epsilon=50.0, delta=1e-3, unit="patient")
    ids = [f"r{k}" for k in range(100 if LONG else 5)]
    assert answers([asker(place, "die", ids)]) == [{}]
    assert {ledger.status("survey", request) for request in ids} == {"charged"}
    (given,) = answers([asker(place, "publish", ids)])
    assert set(given) == set(ids)
    assert {ledger.status("survey", request) for request in ids} == {"sealed"}
    assert charged(ledger) == Counter(ids)
    ledger.verify()
