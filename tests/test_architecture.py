"""What docs/architecture.md shows is what the source is: the drawing of the rooms, and the walk of a release."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import rooms

ROOT = Path(__file__).parent.parent

PAGE = (ROOT / "docs" / "architecture.md").read_text()
# Most changes of room that a walk may have.
LIMITS = {"a Beta rate": 38, "a logistic path, outside its loop": 52}


def test_the_drawing_is_that_of_the_imports():
    assert rooms.DRAWING.read_text() == rooms.drawing(rooms.sources()), "run python tools/rooms.py"


@pytest.mark.planted
def test_another_import_makes_another_drawing():
    files = rooms.sources()
    planted = {**files, "grids/x.py": "from sfumato.privacy.curves import Gaussian"}
    assert rooms.drawing(planted) != rooms.drawing(files)
    assert ("grids", "privacy") in rooms.edges(planted) - rooms.edges(files)


def test_a_line_that_a_longer_way_replaces_is_left_out():
    assert rooms.reduced({("a", "b"), ("b", "c"), ("a", "c")}) == {("a", "b"), ("b", "c")}


def test_a_release_walks_through_few_rooms_and_the_page_says_how_many():
    """In a process of its own: another test's profiler or imports must not be counted."""
    command = [sys.executable, str(ROOT / "tools" / "walk.py")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    counted = {name: int(number) for name, number in re.findall(r"(.*): (\d+) changes of room", printed)}
    assert counted.keys() == LIMITS.keys()
    assert all(counted[name] <= limit for name, limit in LIMITS.items()), counted
    assert printed in PAGE, "docs/architecture.md shows other numbers"


@pytest.mark.planted
def test_a_detour_is_counted():
    """A call to another room and back adds two changes."""
    code = f"""
import sys; sys.path.insert(0, {str(ROOT / "tools")!r})
import walk
from sfumato.privacy.curves import Gaussian
from sfumato.theorems.sharp import gaussian_mean
act = lambda: gaussian_mean(power=1.0, radius=1.0, n=5, precision=1.0)
act(); Gaussian(1.0)
print(len(walk.walk(act)), len(walk.walk(lambda: (act(), Gaussian(1.0).delta(1.0), act()))))
"""
    once, twice = map(
        int, subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert twice >= 2 * once
