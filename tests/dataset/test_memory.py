"""Peak memory of reading Parquet: the small form of benchmarks/memory.py, carried to 1,000,000 x 100 by two sizes.

Memory is (a per byte of the matrix) * matrix + (what the readers hold, whatever the number of rows). Two sizes give both
numbers; the aim at full size, rise < 1.5 * 800 MB, is then tested on their line.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import memory

FULL = 1_000_000 * 100 * 8
SIZES = (100_000, 250_000)
COLUMNS = 50


def ratio_at_full_size() -> float:
    """The ratio that two small runs predict for the full size."""
    small, large = (memory.measure(rows, COLUMNS, rows) for rows in SIZES)
    slope = (large["rise"] - small["rise"]) / (large["matrix"] - small["matrix"])
    return (large["rise"] + slope * (FULL - large["matrix"])) / FULL


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
def test_reading_parquet_stays_below_one_and_a_half_matrices():
    assert ratio_at_full_size() < 1.5


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
def test_holding_the_table_beside_the_blocks_is_seen(monkeypatch):
    whole = memory.CHILD.replace("from_table(sys.argv[1]", "from_table(pyarrow.parquet.read_table(sys.argv[1])")
    assert whole != memory.CHILD
    monkeypatch.setattr(memory, "CHILD", whole)
    assert ratio_at_full_size() > 1.5
