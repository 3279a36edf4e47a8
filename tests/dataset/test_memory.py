"""Peak memory of reading Parquet: benchmarks/memory.py at three tenths of its full size, four in the long form.

What the readers hold whatever the number of rows weighs more here than at 1,000,000 x 100, so this is the harder form.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from effort import sized

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import memory

ROWS, COLUMNS, GROUP = sized(300_000, 400_000), 100, 131_072


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Path:
    """One file for both tests; they read it in processes of their own, so this one need not stay small."""
    path = tmp_path_factory.mktemp("parquet") / "rows.parquet"
    memory.write_parquet(path, ROWS, COLUMNS, GROUP)
    return path


def ratio(table: Path) -> float:
    """Rise of resident memory over the size of the float64 matrix: the least of three, since how many row groups the threads of the
    Parquet reader hold at a time depends on their timing (1.43 to 1.59 in ten).
    """
    return min(memory.measure_reading(table, ROWS, COLUMNS)["ratio"] for _ in range(3))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
def test_reading_parquet_stays_below_one_and_a_half_matrices(table):
    assert ratio(table) < 1.5


@pytest.mark.planted
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
def test_holding_the_table_beside_the_blocks_is_seen(table, monkeypatch):
    whole = memory.CHILD.replace("from_table(sys.argv[1]", "from_table(pyarrow.parquet.read_table(sys.argv[1])")
    assert whole != memory.CHILD
    monkeypatch.setattr(memory, "CHILD", whole)
    assert ratio(table) > 2.0
