"""Shared test settings: hypothesis is deterministic, and tests that catch a planted fault are marked.

`HYPOTHESIS_PROFILE=explore` draws fresh random examples and more of them.
The tests that are named in tests/planted/*.toml get the marker `planted`: `pytest -m planted` runs every test that catches
a planted fault. Tests that hold their own wrong variant carry the marker in their file.
"""

from __future__ import annotations

import gc
import itertools
import os
import tempfile
from collections.abc import Generator

import plant
import pytest
from hypothesis import settings

from effort import LONG, LONG_ONLY, THINNED

# JAX spends most of its time compiling chains that are run a few times: the quick form compiles them with less care.
if not LONG:
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

settings.register_profile("fixed", deadline=None, derandomize=True, max_examples=100 if LONG else 40)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


# The state of programs: every test has a folder of its own, so that no file that one releases from is private in another.
STATE = tempfile.TemporaryDirectory(prefix="sfumato-state-")
NUMBERS = itertools.count()
os.environ["XDG_STATE_HOME"] = STATE.name


@pytest.fixture(autouse=True)
def state_of_its_own() -> None:
    os.environ["XDG_STATE_HOME"] = f"{STATE.name}/{next(NUMBERS)}"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from walking over what stays to the end: ten thousand tests and the libraries they import.

    It is off while these are made, and from then on looks at what tests make only, and less often.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(10_000)
        gc.enable()


def pytest_sessionfinish() -> None:
    """At the end pytest collects all garbage, and tells of what nobody closed."""
    gc.unfreeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark every test, whatever its parameters, for which a planted fault is listed; in the quick form thin some lists."""
    faults = {fault.test for fault in plant.read_faults()}
    named = {test.partition("[")[0] for test in faults}
    for item in items:
        if item.nodeid.partition("[")[0] in named:
            item.add_marker(pytest.mark.planted)
    whole = [item for item in items if item.nodeid.partition("[")[0] not in LONG_ONLY | THINNED.keys()]
    if LONG or len(whole) < len(items) / 2:  # a single test, asked for by name, runs all its cases
        return
    seen: dict[str, int] = {}
    cases: dict[str, list[str]] = {}
    for test in faults:
        if "[" in test:
            cases.setdefault(test.partition("[")[0], []).append(test)
    kept, left = [], []
    for item in items:
        name = item.nodeid.partition("[")[0]
        seen[name] = seen.get(name, -1) + 1
        keep = name not in LONG_ONLY and seen[name] % THINNED.get(name, 1) == 0
        keep = keep or any(item.nodeid.startswith(test) for test in cases.get(name, ()))
        (kept if keep else left).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left)
