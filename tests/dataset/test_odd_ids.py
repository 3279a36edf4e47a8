"""Ids of every type from every reader, and odd cells in tables of persons: nobody else's rows change, nothing raises or warns.

The suite turns warnings into errors.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from odd_records import ODD
from person_readers import (
    FILES,
    NAMES,
    OBJECTS,
    OWNERS,
    TYPED,
    Source,
    arrow,
    named,
    others_changed,
    parquet,
    people,
    read,
    read_matrix,
    read_partition,
    with_ids,
)
from table_readers import as_text
from test_bad_cells import BAD

from effort import LONG, sized

FAR = np.datetime64(2**40, "s")
# Beside the odd cells of other tables: dates that are far away or have a zone, and ids as long as nobody's.
ODD_IDS = {
    **{name: (lambda cell=cell: cell) for name, cell in BAD.items()},
    **ODD,
    "datetime with a zone": lambda: dt.datetime(2020, 1, 1, 23, tzinfo=ZoneInfo("America/New_York")),
    "datetime with an offset": lambda: dt.datetime(2020, 1, 1, tzinfo=dt.timezone(dt.timedelta(seconds=61))),
    "timestamp with a zone": lambda: pd.Timestamp("2020-01-01 23:00", tz="Europe/Berlin"),
    "far timestamp": lambda: pd.Timestamp(FAR),
    "early timestamp": lambda: pd.Timestamp(np.datetime64(-(2**40), "s")),
    "far timestamp with a zone": lambda: pd.Timestamp(FAR).tz_localize("UTC"),
    **{f"numpy date in {unit}": (lambda unit=unit: np.datetime64(2**62, unit)) for unit in "YMWDhms"},
    **{f"numpy date in {unit}": (lambda unit=unit: np.datetime64(2**62, unit)) for unit in ("us", "ns", "ps", "as")},
    "numpy date of no unit": lambda: np.datetime64("NaT"),
    "time of day": lambda: dt.time(3),
    "marks": lambda: "a" + "\u0315\u0300" * 250_000,
    "a million letters": lambda: "x" * 10**6,
    "a million bytes": lambda: b"\xff" * 10**6,
    "a million digits": lambda: 10 ** (10**6),
    "a decimal of a million digits": lambda: Decimal("9" * 10**6),
    "letters that grow": lambda: "\ufdfa" * 300_000,
    "a million spaces": lambda: " " * 10**6 + "7",
}


@pytest.mark.parametrize("reader", [*OBJECTS, "matrix"])
def test_an_odd_object_as_an_id_moves_its_own_row_only(reader, tmp_path):
    def made(columns):
        return read_matrix(columns, NAMES) if reader == "matrix" else read(OBJECTS[reader](columns, tmp_path), NAMES)

    clean, changed = made(named()), []
    for number, kind in enumerate(ODD_IDS):
        every = (*OBJECTS, "matrix").index(reader)
        for row in range(len(OWNERS)) if LONG else [number % len(OWNERS)] * ((number + every) % 3 == 0):
            odd = made(named(("who", row, ODD_IDS[kind]())))
            changed += [(kind, row)] * others_changed(clean, odd, OWNERS[row], NAMES)
    assert changed == []


# Name -> (cells of seven persons, odd cells, the Arrow array of cells).
Typed = tuple[list, list, Callable[[list], pa.Array]]
ZONES = (None, "UTC", "Europe/Berlin", "America/New_York", "+05:30")
TEXTS = ["", " ", "nan", "NULL", "a" * 100_000, "\ufdfa" * 400, "1e999999", "\u200b", None]


def of_type(kind: pa.DataType, cells: list, odd: list) -> Typed:
    return cells, odd, lambda given: pa.array(given, kind)


def counted(kind: pa.DataType, raw: pa.DataType, day: int) -> Typed:
    """Dates or timestamps by the integers below them: odd ones are the farthest that fit, and years 0 and 10000."""
    top = 2 ** (raw.bit_width - 1) - 1
    odd = [
        top,
        -top,
        top // 2,
        -top // 2,
        *(k * day for k in (-719_163, 2_932_897) if k * day < top and -k * day < top),
        None,
    ]
    return [(10 + k) * day for k in range(7)], odd, lambda given: pa.array(given, raw).view(kind)


def typed_ids() -> dict[str, Typed]:
    """The ids of seven persons in every Arrow type that may hold ids, and odd values of that type."""
    found = {}
    for kind in map(pa.type_for_alias, ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")):
        bounds = np.iinfo(kind.to_pandas_dtype())
        found[str(kind)] = of_type(kind, list(range(10, 17)), [int(bounds.min), int(bounds.max), 0, None])
    # Whole numbers that floats do not tell apart, and one that is missing: pandas makes floats of all of them.
    found["large"] = of_type(pa.int64(), [2**53 + 1 + 2 * k for k in range(7)], [2**53, -(2**63), 2**63 - 1, None])
    for kind in (pa.float16(), pa.float32(), pa.float64()):
        odd = [np.inf, -np.inf, np.nan, -0.0, 0.5, 6e-8, 65504.0, None]
        cells = np.arange(10, 17, dtype=kind.to_pandas_dtype())
        found[str(kind)] = of_type(
            kind, list(cells), [None if cell is None else cells.dtype.type(cell) for cell in odd]
        )
    for kind in (pa.decimal32(9, 2), pa.decimal64(18, 2), pa.decimal128(38, 2), pa.decimal256(76, 2)):
        odd = [Decimal("9" * (kind.precision - 2)), Decimal("-0.01"), Decimal("0.00"), None]
        found[str(kind)] = of_type(kind, [Decimal(10 + k) for k in range(7)], odd)
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        found[str(kind)] = of_type(kind, NAMES, TEXTS)
    raw = [name.encode() for name in NAMES]
    for kind in (pa.binary(), pa.large_binary()):
        found[str(kind)] = of_type(kind, raw, [b"", b"\xff" * 100_000, b"\xed\xa0\x80", None])
    found["binary of 3"] = of_type(pa.binary(3), raw, [b"\xff\xfe\x00", b"   ", None])
    found["dictionary"] = NAMES, TEXTS, lambda given: pa.array(given).dictionary_encode()
    found["large dictionary"] = *found["large"][:2], lambda given: pa.array(given, pa.int64()).dictionary_encode()
    found["date32"] = counted(pa.date32(), pa.int32(), 1)
    found["date64"] = counted(pa.date64(), pa.int64(), 86_400_000)
    for unit, size in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        for zone in ZONES:
            found[f"{unit} {zone}"] = counted(pa.timestamp(unit, zone), pa.int64(), 86_400 * size)
    return found


TYPED_IDS = typed_ids()
NULLABLE = {pa.int64(): pd.Int64Dtype(), pa.string(): pd.StringDtype()}
READERS: dict[str, Source] = {
    **TYPED,
    "partition": parquet,
    "pandas": lambda columns, folder: arrow(columns).to_pandas(),
    "pandas nullable": lambda columns, folder: arrow(columns).to_pandas(types_mapper=NULLABLE.get),
    "pandas categories": lambda columns, folder: READERS["pandas nullable"](columns, folder).astype(
        {"who": "category"}
    ),
}


def source_of(reader: str, ids: list, make: Callable[[list], pa.Array], folder) -> object:
    """The source with these ids; None where it cannot hold one of them."""
    if reader == "pandas" and None in ids and pa.types.is_integer(make(ids).type):
        return None  # whole numbers beside an empty cell become floats before we see them
    kind = make(ids).type
    if reader == "polars" and pa.types.is_decimal256(kind):
        return None
    if reader == "duckdb" and pa.types.is_timestamp(kind) and kind.tz is not None:
        return None  # it shows all of them in the zone of the session, and the roster in its own
    try:
        source = READERS[reader](with_ids(make(ids)), folder)
        if reader == "duckdb":
            source.to_arrow_table()
    except Exception:
        return None
    return source


def met(reader: str, kind: str, folder) -> tuple[int, list]:
    """How many odd ids of a type a reader met, and those that moved the rows of others."""
    cells, odd, make = TYPED_IDS[kind]
    roster, open_ = make(cells), read_partition if reader == "partition" else read
    ids = [cells[owner] for owner in OWNERS]
    source = source_of(reader, ids, make, folder)
    if source is None:
        return 0, []
    clean, count, changed = open_(source, roster), 0, []
    assert len(set(people(clean).values())) >= 5
    for place, cell in enumerate(odd):
        row = place % len(ids)
        source = source_of(reader, [*ids[:row], cell, *ids[row + 1 :]], make, folder)
        if source is not None:
            count += 1
            changed += [(row, cell)] * others_changed(clean, open_(source, roster), OWNERS[row], roster)
    return count, changed


@pytest.mark.parametrize("reader", READERS)
def test_an_odd_id_of_any_type_moves_its_own_row_only(reader, tmp_path):
    """In the quick form of every fifth type, which are others for the next reader."""
    kinds = [kind for place, kind in enumerate(TYPED_IDS) if LONG or (place + list(READERS).index(reader)) % 5 == 0]
    found = {kind: met(reader, kind, tmp_path) for kind in kinds}
    assert {kind: changed for kind, (_, changed) in found.items() if changed} == {}
    assert sum(count for count, _ in found.values()) >= 2 * len(kinds)


CELLS = {**BAD, "marks": "a" + "\u0315\u0300" * 50_000, "surrogate": "\ud800"}


def fits(reader: str, column: str, cell: object) -> bool:
    """Whether a source can hold a cell in a column that its neighbour has too."""
    if reader in OBJECTS:
        return True
    if reader == "csv":
        return "\n" not in str(cell) and "\r" not in str(cell)
    if cell is None or isinstance(cell, str | bytes):
        return True
    return type(cell) is float and column not in ("who", "level")


@pytest.mark.parametrize("reader", FILES)
def test_an_odd_cell_of_a_person_moves_that_person_only(reader, tmp_path):
    """In every column: the id, three columns of the schema, and the weight. In the quick form a fifth of the cells."""
    clean, changed, count = {}, [], 0
    open_ = read_partition if reader == "partition" else read
    for number, (kind, cell) in enumerate(CELLS.items()):
        for place, column in enumerate(named()):
            if not fits(reader, column, cell) or not (LONG or (number + place + list(FILES).index(reader)) % 5 == 0):
                continue
            row, texts = (number + place) % len(OWNERS), isinstance(cell, str | bytes) and reader not in OBJECTS
            sources = []
            for columns in (named(), named((column, row, cell))):
                spelled = {name: list(map(as_text, cells)) if texts else cells for name, cells in columns.items()}
                sources.append(spelled)
            if texts not in clean:
                clean[texts] = open_(FILES[reader](sources[0], tmp_path), NAMES)
            odd = open_(FILES[reader](sources[1], tmp_path), NAMES)
            changed += [(kind, column)] * others_changed(clean[texts], odd, OWNERS[row], NAMES)
            count += 1
    assert changed == []
    assert count >= sized(15, 75)


LONG_IDS = {
    name: make for name, make in ODD_IDS.items() if name.startswith(("a million", "a decimal", "marks", "letters"))
}


def test_ids_of_a_megabyte_take_no_time(tmp_path):
    """Normalising 300 kB of alternating combining marks takes 13 s of processor time, and a megabyte more than ten times that."""
    start = time.process_time()
    for make in LONG_IDS.values():
        cell = make()
        for reader in ("csv", "lists", *TYPED):
            if reader == "lists" or isinstance(cell, str | bytes):
                read(FILES[reader](named(("who", 3, cell)), tmp_path), NAMES)
    assert time.process_time() - start < 20
