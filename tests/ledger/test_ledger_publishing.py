"""kill -9 of a publishing process, on both databases: what came out is sealed and charged, and nothing twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

from ledger_places import Place

import sfumato as sf
from effort import sized

PUBLISHER = """
import sys, sfumato as sf, numpy as np
plan = sf.plan(sf.families.BoundedMean(0, 1), 400, 0.05, 1e-9, mechanism="noisy-statistics", goal="estimate")
schema = sf.Schema({"x": sf.Number(0, 1)}, name="survey", unit="patient")
data = sf.Dataset.from_table({"x": np.linspace(0, 1, 400)}, schema=schema)
ledger = sf.Ledger.open(sys.argv[1], witness=sys.argv[2])
sf.publish(plan, data)  # modules are read now, so that the kill falls between charge, draw and seal
print("ready", flush=True)
k = 0
while True:
    release = sf.publish(plan, data, ledger, request_id=f"{sys.argv[3]}-{k}")
    print(f"released {sys.argv[3]}-{k} {release.mean().item()!r}", flush=True)
    k += 1
"""


def test_killed_publishers_release_nothing_uncharged(place: Place, kills: int) -> None:
    ledger = place.open()
    ledger.register("survey", epsilon=50.0, delta=1e-3, unit="patient")
    released = {}
    # Each publisher is a new process that imports the library: fewer in the quick form than where a process is forked.
    for turn in range(sized(4, kills)):
        process = subprocess.Popen(
            [sys.executable, "-c", PUBLISHER, place.url, str(place.witness), f"t{turn}"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
        # Every other one dies early, while it connects, charges or draws; the rest in full swing.
        first = process.stdout.readline() if turn % 2 else ""
        time.sleep(random.Random(turn).uniform(0.0, 0.06))
        process.send_signal(signal.SIGKILL)
        lines, _ = process.communicate()
        for line in (first + lines).splitlines():
            words = line.split()
            if len(words) == 3:  # the last line may be cut by the kill
                released[words[1]] = float(words[2])
    ledger.verify()
    for request, value in released.items():
        sealed = ledger.sealed("survey", request)
        assert sealed is not None
        assert sf.Release.from_bytes(sealed).mean().item() == value
    ids = [entry.request_id for entry in ledger.history("survey") if entry.kind == "charge"]
    assert len(ids) == len(set(ids))
    assert set(released) <= set(ids)
    assert released, "no publisher lived long enough to release anything"
