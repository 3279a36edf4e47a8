"""Small blocks, so that a handful of rows crosses several of them."""

from __future__ import annotations

import pytest
from table_readers import database

from sfumato.dataset import storing
from sfumato.schema import read_arrays, read_arrow, read_columns, read_csv


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 4 rows, read 3 rows and 2 columns at a time."""
    for module, name, value in (
        (storing, "BLOCK_ROWS", 4),
        (read_arrays, "BLOCK_ROWS", 4),
        (read_arrays, "CHUNK_ROWS", 3),
        (read_arrow, "CHUNK_ROWS", 3),
        (read_arrow, "_COLUMNS", 2),
        (read_columns, "CHUNK_ROWS", 3),
        (read_csv, "CHUNK_ROWS", 3),
    ):
        monkeypatch.setattr(module, name, value)


@pytest.fixture(autouse=True, scope="session")
def _close_the_database():
    """DuckDB complains at exit about a connection that is still open."""
    yield
    database().close()
    database.cache_clear()
