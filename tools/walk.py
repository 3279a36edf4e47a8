"""How often the walk of a release changes rooms: `python tools/walk.py` (`--rooms` lists the rooms on the way).

`publish` runs under `sys.setprofile`; every call of a function of the package notes the room that the function's file lies in
(helpers whose names begin with an underscore are left out), and a change is counted where two notes in a row differ. Of a path
the loop over its steps is left out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import sfumato as sf

PACKAGE = str(Path(sf.__file__).parent) + "/"
LOOP = ("samplers/langevin.py", "run")


def walk(act: Callable[[], Any]) -> list[str]:
    """The room of every function that is called, in order."""
    rooms: list[str] = []
    inside = 0

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal inside
        path = frame.f_code.co_filename
        if not path.startswith(PACKAGE):
            return
        if (path.removeprefix(PACKAGE), frame.f_code.co_name) == LOOP:
            inside += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not inside:
            room = path.removeprefix(PACKAGE).split("/")[0].removesuffix(".py")
            rooms.extend([] if room.startswith("_") else [room])

    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
    return [room for room, _ in groupby(rooms)]


def beta_rate() -> Callable[[], Any]:
    """Publish one exact draw of a rate of 100 bits."""
    data = sf.Dataset.from_table({"x": np.arange(100) % 2 == 0}, schema=sf.Schema({"x": sf.Boolean(missing=False)}))
    plan = sf.plan(sf.families.BetaBernoulli(1, 1), 100, mechanism="exact")
    return lambda: sf.publish(plan, data)


def logistic_path() -> Callable[[], Any]:
    """Publish the path of a logistic regression of 200 rows."""
    rng = np.random.default_rng(1)
    schema = sf.Schema.vector(3, data_norm=1.0, target=sf.Category([0, 1], missing=0))
    data = sf.Dataset.from_arrays(rng.uniform(-0.5, 0.5, (200, 3)), rng.integers(0, 2, 200), schema=schema)
    model = sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(5.0), 3)
    plan = sf.plan(model, 200, 1.0, 1e-6, mechanism="langevin-path", goal="estimate")
    return lambda: sf.publish(plan, data)


WALKS = {"a Beta rate": beta_rate, "a logistic path, outside its loop": logistic_path}


def changes(name: str) -> list[str]:
    """The rooms of one walk; the first one, which loads modules, is not counted."""
    act = WALKS[name]()
    act()
    return walk(act)


if __name__ == "__main__":
    for each in WALKS:
        visited = changes(each)
        print(f"{each}: {len(visited) - 1} changes of room")
        if "--rooms" in sys.argv:
            print("  " + " > ".join(visited))
