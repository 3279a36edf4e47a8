"""Dates: texts against Python's strptime, typed sources, bounds, and cells that no calendar has."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from table_readers import content

import sfumato as sf
from sfumato.dataset import Dataset
from sfumato.errors import ArgumentError, FormatError
from sfumato.queries.public_rows import _table
from sfumato.schema import Date, Number, Schema
from sfumato.schema.date_format import day_reader

EPOCH = datetime.date(1970, 1, 1)
WIDE = Date("0001-01-01", "9999-12-31", missing="1970-01-01")
FORMATS = [
    "%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%y", "%Y%m%d", "%d%m%Y", "%d %b %Y", "%d-%B-%Y", "%Y-%j", "%Y-%m", "%b %Y",
    "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S.%f", "%m/%d/%Y %I:%M %p", "%Y-%m-%d %H:%M:%S%z", "%d%b%Y", "100%% %Y-%m-%d",
]  # fmt: skip


def days(date: str | datetime.date) -> float:
    return float((datetime.date.fromisoformat(str(date)) - EPOCH).days)


def stored(cells, column: Date = WIDE, name: str = "d") -> list[float]:
    source = cells if hasattr(cells, "columns") or isinstance(cells, pa.Table) else {name: cells}
    return content(Dataset.from_table(source, schema=Schema({name: column})))[name].tolist()


def by_strptime(text: str, format: str) -> int | None:
    try:
        return datetime.datetime.strptime(text, format).date().toordinal()
    except ValueError:
        return None


@pytest.mark.parametrize(
    ("time", "read"),
    [
        ("T23:59:59", True),
        (" 23:59", True),
        ("T00:00:00.123456789Z", True),
        (" 10:11:12,5 +01:00", True),
        ("t10:11-0330", True),
        ("T24:00", False),
        ("T10", False),
        ("T10:61", False),
        (" x", False),
        ("10:11", False),
        ("T10:11:12T", False),
    ],
)
def test_after_the_default_format_a_time_may_follow_and_is_dropped(time, read):
    day = day_reader("%Y-%m-%d")(f"2020-02-29{time}")
    assert day == (datetime.date(2020, 2, 29).toordinal() if read else None)
    assert day_reader("%d.%m.%Y")(f"29.02.2020{time}") is None


@pytest.mark.parametrize("format", FORMATS)
@given(
    when=st.datetimes(datetime.datetime(1969, 1, 1), datetime.datetime(2068, 12, 31), timezones=st.just(datetime.UTC))
)
@example(when=datetime.datetime(1969, 1, 1, tzinfo=datetime.UTC))
@example(when=datetime.datetime(2068, 12, 31, tzinfo=datetime.UTC))
def test_a_written_date_is_read_as_strptime_reads_it(format, when):
    text = when.strftime(format)
    assert day_reader(format)(text) == by_strptime(text, format) is not None


PIECES = st.sampled_from(
    ["0", "1", "2", "3", "9", "12", "13", "20", "29", "30", "31", "32", "99", "00", "1999", "2020", "2023", "0000", "0004",
     "-", ".", "/", " ", ":", "T", "jan", "Feb", "MAR", "Sept", "December", "AM", "pm", "+0100", "Z", "366", "x", ""]
)  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
@given(text=st.lists(PIECES, max_size=9).map("".join))
def test_any_text_is_read_as_strptime_reads_it(format, text):
    if format == "%Y-%m-%d":
        text = text.partition(":")[0]  # a time may follow a date in the default format
    assert day_reader(format)(text) == by_strptime(text, format)


def test_spaces_of_a_format_are_as_one():
    """With a pattern for each of them a cell of a hundred spaces would be tried in as many ways as the spaces can be shared out."""
    wide = day_reader("%Y" + " " * 40 + "%m")
    assert wide("2020 05") == wide("2020" + " " * 80 + "05") == datetime.date(2020, 5, 1).toordinal()
    assert wide("2020" + " " * 90 + "x") is None


def test_every_day_of_a_leap_year_and_no_other():
    reader = day_reader("%d.%m.%Y")
    for month in range(14):
        for day in range(33):
            text = f"{day:02d}.{month:02d}.2020"
            assert reader(text) == by_strptime(text, "%d.%m.%Y")


NO_DATES = [
    "30.02.2020",
    "29.02.2021",
    "01.01.0000",
    "00.01.2020",
    "32.01.2020",
    "2020-01-31",
    "1.1.20",
    "",
    "x",
    "01.13.2020",
]
NO_DATES += [
    "01.01.20200",
    "01.01.2020x",
    "\u0661\u0662.01.2020",
    "1" * 500,
    "\x00",
    "01.01.2020\x00",
    None,
    math.nan,
    1e300,
    -math.inf,
]
NO_DATES += [
    pd.NaT,
    pd.NA,
    np.datetime64("NaT"),
    object(),
    [],
    b"\xff",
    1 + 2j,
    np.datetime64(2**62, "Y"),
    "9999-99-99",
]


@pytest.mark.parametrize("cell", NO_DATES, ids=lambda cell: f"{type(cell).__name__} {str(cell)[:12]!a}"[:40])
def test_a_cell_that_is_no_date_is_missing_and_moves_no_other(cell):
    column = Date("2000-01-01", "2029-12-31", format="%d.%m.%Y", missing="2011-11-11")
    clean = ["31.12.2019", "01.02.2020", "29.02.2020"]
    assert stored([clean[0], cell, clean[2]], column) == [days("2019-12-31"), days("2011-11-11"), days("2020-02-29")]


DAY = datetime.date(2020, 2, 29)
TYPED = {
    "texts": ["2020-02-29"],
    "texts with space": [" 2020-02-29 "],
    "bytes": [b"2020-02-29"],
    "python dates": [DAY],
    "python times": [datetime.datetime(2020, 2, 29, 23, 59)],
    "python times with a zone": [datetime.datetime(2020, 2, 29, 0, 5, tzinfo=datetime.timezone(datetime.timedelta(hours=9)))],
    "pandas times": [pd.Timestamp("2020-02-29 23:59")],
    "numpy scalars": [np.datetime64("2020-02-29T23:59:59.999")],
    "days": [18321],
    "days as floats": [18321.0],
    "numpy days": np.array(["2020-02-29"], "M8[D]"),
    "numpy seconds": np.array(["2020-02-29T23:59:59"], "M8[s]"),
    "numpy in another order of bytes": np.array(["2020-02-29T01"], ">M8[ns]"),
    "numpy floats": np.array([18321.0]),
    "numpy objects": np.array([DAY], dtype=object),
    "pandas series": pd.Series(pd.to_datetime(["2020-02-29 13:00"])),
    "pandas series with a zone": pd.Series(pd.to_datetime(["2020-02-28 16:00"])).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
    "pandas texts": pd.Series(["2020-02-29"]),
    "pandas categories": pd.Series(pd.Categorical(pd.to_datetime(["2020-02-29"]))),
    "arrow days": pa.array([DAY], pa.date32()),
    "arrow milliseconds": pa.array([DAY], pa.date64()),
    "arrow times": pa.array([datetime.datetime(2020, 2, 29, 23)], pa.timestamp("us")),
    "arrow nanoseconds": pa.array([datetime.datetime(2020, 2, 29, 23)], pa.timestamp("ns")),
    "arrow times with a zone": pa.array([datetime.datetime(2020, 2, 28, 16)], pa.timestamp("s", "Asia/Tokyo")),
    "arrow chunks": pa.chunked_array([[DAY], []], pa.date32()),
    "arrow texts": pa.array(["2020-02-29"]),
}  # fmt: skip


@pytest.mark.parametrize("source", TYPED)
def test_every_kind_of_source_holds_dates(source):
    assert stored(TYPED[source]) == [days("2020-02-29")]


@pytest.mark.parametrize("count", [2**63 - 1, -(2**63) + 1, 2**62, -(2**40)])
@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "s", "ms", "ns"])
def test_a_date_beyond_all_calendars_moves_its_own_row_only(unit, count):
    """Casts that fail for all rows on one cell would show that the cell is there."""
    clean = np.array([0, 1, 2]).astype(f"M8[{unit}]")
    bad = clean.copy()
    bad[1] = np.datetime64(count, unit)
    sources = [lambda cells: cells]
    if unit in ("s", "ms", "ns"):
        kind = pa.timestamp(unit, "Europe/Berlin")
        sources += [pa.array, lambda cells: pa.array(cells.astype(np.int64), pa.int64()).cast(kind)]
        zone = pd.DatetimeTZDtype(unit, "Europe/Berlin")
        sources += [lambda cells: pd.Series(pd.array(cells, dtype=f"M8[{unit}]")).dt.tz_localize("UTC").astype(zone)]
    for make in sources:
        before, after = stored(make(clean)), stored(make(bad))
        assert [before[0], before[2]] == [after[0], after[2]]
        # Years, months and weeks that int64 cannot count in days are no date; days and shorter spans are clipped.
        expected = WIDE.missing if unit in ("Y", "M", "W") else min(max(after[1], WIDE.lower), WIDE.upper)
        assert after[1] == expected


def test_null_dates_of_arrow_are_missing():
    for kind in (pa.date32(), pa.date64(), pa.timestamp("ns"), pa.timestamp("us", "UTC")):
        assert stored(pa.array([None, 0], kind), Date("1960-01-01", "1980-01-01", missing="1961-01-01")) == [
            days("1961-01-01"),
            0.0,
        ]


@pytest.mark.parametrize("format", ["%Y%m%d", "%d%m%Y", "%m%d%Y"])
def test_numbers_of_seven_or_eight_digits_are_dates_in_formats_of_digits(format):
    column = Date("1990-01-01", "2029-12-31", format=format, missing="1990-01-02")
    whole = int(datetime.date(2020, 1, 2).strftime(format))
    for cells in ([whole], [float(whole)], np.array([whole]), [str(datetime.date(2020, 1, 2).strftime(format))]):
        assert stored(cells, column) == [days("2020-01-02")]
    assert stored([99_999_999, 20_201_399, 12345.0, 8e7 + 0.5], column)[0::3] == [days("1990-01-02")] * 2
    assert stored([12345.0], column) == [12345.0]


def test_days_of_a_year_and_numbers_of_days_end_with_the_calendar():
    reader = day_reader("%Y-%j")
    assert [reader(text) for text in ("0000-001", "9999-366", "2021-366")] == [None] * 3
    assert reader("9999-365") == datetime.date.max.toordinal()
    assert reader("2020-366") == datetime.date(2020, 12, 31).toordinal()
    ends = [days("0001-01-01"), days("9999-12-31")]
    assert stored(ends) == ends
    assert stored([ends[0] - 1, ends[1] + 1, ends[0] - 0.5]) == [WIDE.missing] * 3
    assert stored([17.9, -0.1]) == [17.0, -1.0], "a part of a day is dropped"


def test_a_date_is_clipped_counted_and_shown_as_a_date():
    column = Date("2000-01-01", "2020-12-31")
    assert stored(["1999-12-31", "2021-01-01", ""], column) == [days("2000-01-01"), days("2020-12-31"), column.missing]
    assert column.shown(column.missing) == "2010-07-02"
    counts = Schema({"d": column}).check({"d": ["1999-12-31", "x"]}, counts=True)
    assert "every cell" not in str(counts)
    wrong = Schema({"d": column}).check({"d": ["31.12.1999", "01.01.2000"]}, counts=True)
    assert str(wrong).endswith(
        "every cell of d is missing: check its type, levels or format, and the decimal mark under [table]"
    )
    assert (counts.columns["d"].missing, counts.columns["d"].clipped) == (1, 1)
    assert repr(column) == "Date('2000-01-01', '2020-12-31', missing='2010-07-02')"
    assert isinstance(column, Number)
    assert column.integer
    assert column.levels is None
    assert column != Number(column.lower, column.upper, column.missing, integer=True)


def test_sentences_about_public_rows_show_dates():
    schema = Schema({"d": Date("2000-01-01", "2020-12-31", format="%d.%m.%Y")})
    read = _table(schema, {"d": ["01.01.1999", ""]})
    assert (
        read.note
        == "1 cell of d lies outside 2000-01-01 to 2020-12-31 and was clipped; 1 empty cell of d counts as 2010-07-02"
    )
    with pytest.raises(
        ArgumentError, match=r"'30\.02\.2020' is no date of the form %d\.%m\.%Y; d runs from 2000-01-01 to"
    ):
        _table(schema, {"d": ["30.02.2020"]})


def test_documents_hold_dates_as_texts_and_read_toml_dates():
    column = Date(datetime.date(2000, 1, 31), "2020-12-31", format="%d.%m.%Y", missing_codes=["01.01.1900", 0])
    schema = Schema({"d": column})
    assert schema.to_json()["version"] == 2
    assert schema.to_json()["columns"]["d"] == {
        "type": "date", "lower": "2000-01-31", "upper": "2020-12-31", "missing": "2010-07-17", "format": "%d.%m.%Y",
        "missing_codes": ["01.01.1900", 0],
    }  # fmt: skip
    assert Schema.from_toml(schema.to_toml()) == schema
    text = 'sfumato = "schema"\nversion = 1\n[columns.d]\ntype = "date"\nlower = 2000-01-31\nupper = 2020-12-31\n'
    assert Schema.from_toml(text).columns["d"] == Date("2000-01-31", "2020-12-31")
    with pytest.raises(FormatError, match=r'upper = "2029-12-31"  # the last date'):
        Schema.from_toml(text.replace("upper = 2020-12-31\n", ""))


REFUSED = {
    "no upper": (lambda: Date("2000-01-01"), "Date needs upper"),
    "a number": (lambda: Date(0, 1), "lower must be a date such as"),
    "no day": (lambda: Date("2000-02-30", "2020-01-01"), "lower must be a date such as"),
    "another order": (lambda: Date("01.01.2000", "2020-01-01"), "lower must be a date such as"),
    "reversed": (lambda: Date("2020-01-01", "2000-01-01"), "lower must be before upper; got 2020-01-01 and 2000-01-01"),
    "missing outside": (lambda: Date("2000-01-01", "2020-01-01", missing="1999-01-01"), "missing must lie between"),
    "no year": (lambda: Date("2000-01-01", "2020-01-01", format="%d.%m."), "must state the year"),
    "two years": (lambda: Date("2000-01-01", "2020-01-01", format="%Y %y %m"), "must state the year"),
    "minutes twice": (lambda: Date("2000-01-01", "2020-01-01", format="%Y-%m-%d %M:%M"), "must state the year"),
    "day without month": (lambda: Date("2000-01-01", "2020-01-01", format="%d %Y"), "must state the year"),
    "unknown directive": (lambda: Date("2000-01-01", "2020-01-01", format="%Y-%q"), "directive %q"),
    "ends in a percent": (lambda: Date("2000-01-01", "2020-01-01", format="%Y%"), "directive %;"),
    "words": (lambda: Date("2000-01-01", "2020-01-01", format="YYYY-MM-DD"), "must state the year"),
    "years alone": (lambda: Date("2000-01-01", "2020-01-01", format="%Y"), "A column of years is a number"),
    "digits": (lambda: Date("2000-01-01", "2020-01-01", format="%y%m%d"), "cannot be distinguished from days"),
    "none": (lambda: Date("2000-01-01", "2020-01-01", format=None), "format must be a text such as"),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_wrong_dates_are_refused_in_a_sentence(wrong):
    make, message = REFUSED[wrong]
    with pytest.raises(ArgumentError, match=message):
        make()


def test_dates_of_another_column_type_are_still_refused_by_structure():
    for cells in (np.array(["2020-01-01"], "M8[D]"), pa.array([DAY]), pd.Series(pd.to_datetime(["2020-01-01"]))):
        with pytest.raises(ArgumentError, match="a number is declared"):
            Dataset.from_table({"x": cells}, schema=Schema({"x": Number(0, 1)}))
    with pytest.raises(ArgumentError, match="a date is declared"):
        Dataset.from_table({"d": pa.array([DAY]).dictionary_encode()}, schema=Schema({"d": WIDE}))


def test_models_take_a_date_as_a_number_of_days():
    """A mean, a quantile and a regression's features of a date, in days; epsilon is so large that the noise is below a day."""
    column = Date("2000-01-01", "2019-12-31")
    schema = Schema({"d": column}, name="visits")
    dates = np.datetime64("2000-01-01") + np.random.default_rng(5).integers(0, 7000, 400)
    data = Dataset.from_table({"d": dates}, schema=schema)
    truth = dates.astype(np.int64).astype(float)
    mean = sf.plan(
        sf.families.BoundedMean(column.lower, column.upper),
        n=400,
        epsilon=1e4,
        delta=1e-6,
        goal="estimate",
        allow_weak=True,
    )
    released = sf.publish(mean, data, ledger=None, randomness=sf.seeded(3))
    assert abs(float(np.ravel(released.draws.pooled())[0]) - truth.mean()) < 1.0
    grid = [float(day) for day in range(int(column.lower), int(column.upper), 30)]
    median, _ = sf.private_quantile(data, "d", 0.5, epsilon=1e4, grid=grid, allow_weak=True, randomness=sf.seeded(4))
    assert abs(median - np.median(truth)) < 30 + 7000 / 400 * 4  # a step of the grid and four gaps between records
    matrix = schema.design(["d", "d^2"]).encode({"d": content(data)["d"]})
    assert matrix.shape == (400, 2)
    assert np.all(np.abs(matrix) <= 0.5)


@pytest.mark.parametrize("format", FORMATS)
def test_a_written_date_is_read_back(format):
    column = Date("0800-01-01", "2029-12-31", format=format)
    for text in ("2020-02-29", "1999-12-01", "0812-03-04"):
        if "%z" in format or ("%y" in format and text < "1969"):
            continue
        first = datetime.date.fromisoformat(text).replace(day=1).isoformat()
        expected = text if "%d" in format or "%j" in format else first
        assert stored([column.written(days(text))], column) == [days(expected)]


def test_synthetic_dates_are_read_by_the_same_schema():
    schema = Schema(
        {"d": Date("2020-01-01", "2020-12-31", format="%d.%m.%Y"), "b": sf.Boolean(missing=False)}, name="visits"
    )
    data = Dataset.from_table({"d": ["15.02.2020", "01.12.2020"] * 50, "b": [0, 1] * 50}, schema=schema)
    network = sf.networks.BayesianNetwork.from_schema(schema, {"d": [], "b": ["d"]}, bins={"d": 4})
    release = sf.publish(sf.plan(network, n=100, epsilon=1.0, delta=1e-6), data, randomness=sf.seeded(2))
    table = release.synthesize(20, 1)
    counts = schema.check(table, counts=True)
    assert (counts.rows, counts.columns["d"].missing, counts.columns["d"].clipped) == (20, 0, 0)
