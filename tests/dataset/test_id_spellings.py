"""Spellings of ids: the length that decides whether one counts, days of dates, and whole numbers beside empty cells."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from person_readers import (
    FILES,
    IDENTITY,
    NAMES,
    SCHEMA,
    csv,
    named,
    people,
    read,
    read_partition,
)

from sfumato.schema.encoding import encode
from sfumato.schema.identity import LONGEST, canonical
from sfumato.schema.read_columns import open_column

WIDE = "\uff41"  # three bytes, and after normalising the one letter "a"


@pytest.mark.planted
@pytest.mark.parametrize("reader", ["csv", "lists", "parquet", "partition"])
def test_the_bound_is_on_the_text_as_it_is_and_what_is_longer_counts_as_missing(reader, tmp_path):
    """A text that would be short once its letters are joined is dropped too: its length decides before anything is done to it."""
    open_ = read_partition if reader == "partition" else read
    letters, thirds = "a" * LONGEST, "a" * (LONGEST // 3)
    roster = [*NAMES[:4], letters, thirds, thirds + "a"]

    def contributions(cell):
        return people(open_(FILES[reader](named(("who", 7, cell)), tmp_path), roster))

    without = contributions(None)
    for cell in (WIDE * len(thirds + "a"), letters + "a", letters + " ", " " * LONGEST + thirds, "0" * LONGEST + "7"):
        assert contributions(cell) == without
    for cell in (letters, letters.upper(), thirds + "a", WIDE * len(thirds), " " * 600 + thirds):
        assert contributions(cell) != without
    assert contributions(letters) == contributions(letters.upper())
    assert contributions(thirds) == contributions(WIDE * len(thirds)) == contributions(" " * 600 + thirds)


def test_the_curator_counts_ids_that_are_too_long(tmp_path):
    source = csv(named(("who", 7, "a" * (LONGEST + 1))), tmp_path)
    assert SCHEMA.check(source, counts=True).persons.without_id == 1


FAR = np.datetime64(2**40, "s")
BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
DAYS = {
    "2020-01-01": [
        dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 23, 30), dt.datetime(2020, 1, 1, 23, 30, tzinfo=NEW_YORK),
        dt.datetime(2020, 1, 1, 0, 30, tzinfo=BERLIN), pd.Timestamp("2020-01-01 00:30", tz=BERLIN), "2020-01-01T00:30:00+01:00",
        "2020-01-01 23:30:00-05", "2020-01-01 05:00:00.123456-04:56:02", np.datetime64("2020-01-01T23", "h"),
 np.datetime64("2020-01-01", "D"), np.datetime64("2020-01", "M"),
    ],
    "36812-02-20": [np.datetime64(2**40, "s"), pd.Timestamp(FAR), pd.Timestamp(FAR).tz_localize("UTC"), "36812-02-20 00:36:16"],
    "-32873-11-12": [np.datetime64(-(2**40), "s"), pd.Timestamp(np.datetime64(-(2**40), "s")), "-32873-11-12T23:23:44Z"],
    "0001-01-01": [dt.date.min, "0001-01-01 00:00", np.datetime64("0001-01-01")],
}  # fmt: skip


@pytest.mark.planted
@pytest.mark.parametrize("day", DAYS)
def test_a_date_is_one_id_in_every_type_by_the_day_that_it_shows(day):
    assert {canonical(cell) for cell in DAYS[day]} == {day}


SHOWN = {"UTC": "2020-01-01", "Europe/Berlin": "2020-01-02", "+05:30": "2020-01-02", "America/New_York": "2020-01-01"}


@pytest.mark.planted
@pytest.mark.parametrize("zone", SHOWN)
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_columns_of_dates_have_the_ids_of_their_days(zone, unit):
    """Also in pandas, whose offsets have other names, and the day is that of the zone."""
    instant = np.array(["2020-01-01T23:30", "1970-01-01"], dtype=f"M8[{unit}]")
    columns = {
        "arrow": pa.array(instant.view(np.int64)).view(pa.timestamp(unit, zone)),
        "pandas": pd.Series(instant).dt.tz_localize("UTC").dt.tz_convert(zone),
        "pandas categories": pd.Series(instant).dt.tz_localize("UTC").dt.tz_convert(zone).astype("category"),
        "polars": pl.Series([SHOWN[zone], "1970-01-01"]),
    }
    first = "1969-12-31" if zone == "America/New_York" else "1970-01-01"
    for name, column in columns.items():
        encoded = [IDENTITY.encoded([SHOWN[zone], first if name != "polars" else "1970-01-01"]).values.tolist()]
        encoded.append(encode(IDENTITY, open_column("who", IDENTITY, column)[1](0, 2)).values.tolist())
        assert encoded[0] == encoded[1], name


@pytest.mark.planted
@pytest.mark.parametrize("kind", ["nullable", "categories", "arrow"])
def test_an_empty_id_changes_no_digit_of_another(kind):
    """pandas makes floats of a column of its own whole numbers with an empty cell, and 2^53 and 2^53 + 1 are one float."""
    nullable = pd.Series([2**53 + 1, 2**53, None], dtype="Int64")
    column = {
        "nullable": nullable,
        "categories": nullable.astype("category"),
        "arrow": nullable.astype("int64[pyarrow]"),
    }[kind]
    encoded = encode(IDENTITY, open_column("who", IDENTITY, column)[1](0, 3))
    assert encoded.values.tolist()[:2] == IDENTITY.encoded([2**53 + 1, 2**53]).values.tolist()
    assert encoded.missing.tolist() == [False, False, True]
