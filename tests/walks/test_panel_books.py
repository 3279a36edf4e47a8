"""Code books, facts and frames of a panel, as a new user gives them."""

import tomllib

import pytest

import sfumato as sf
from command_line import typed
from sfumato.errors import ArgumentError

INTERVIEW = sf.Date("2021-01-01", "2022-12-31")
SCHEMA = sf.Schema(
    {
        "interview": INTERVIEW,
        "trust": sf.Category([1, 2, 3, 4, 5], missing=3),
        "income": sf.Number(0, 100_000, missing=0, missing_codes=[9999999]),
        "ill": sf.Boolean(missing=False),
        "region": sf.Category([10, 20, 41], missing=10),
        "born": sf.Number(1930, 2006, integer=True),
    },
    name="panel",
    missing_codes=[-9],
)
LONG_BOOK = """variable,value,label
trust,1,disagree
trust,2,agree
trust,-9,refused
trust,99,not asked
trust,-1,knows the interviewer
income,9999999,refused
ill,1,yes
ill,2,no
"""
BOOK = """variable;type;min;max;format;missing
interview;date;01.01.2021;31.12.2022;DD.MM.YYYY;30.06.2022
visit;date;1.1.21;31.12.2022;DD.MM.YYYY;
"""


def drafted(tmp_path, text):
    """The columns of a schema draft from a code book, as plain values, and the text itself."""
    (tmp_path / "book.csv").write_text(text)
    draft = sf.Schema.draft(tmp_path / "book.csv")
    return tomllib.loads(draft)["columns"], draft


def test_codes_of_no_answer_in_a_long_book_are_missing_codes(tmp_path):
    columns, text = drafted(tmp_path, LONG_BOOK)
    assert columns["trust"] == {
        "type": "category",
        "levels": [1, 2, -1],
        "missing": "REQUIRED",
        "missing_codes": [-9, 99],
    }
    assert columns["income"] == {"type": "REQUIRED", "missing_codes": [9999999]}
    assert columns["ill"]["levels"] == [1, 2]
    assert text.count('take type = "boolean" with alias = { 2 = false }: 1 is read as yes') == 1


def test_date_bounds_of_a_book_are_drafted_as_a_schema_writes_them(tmp_path):
    columns, _ = drafted(tmp_path, BOOK)
    interview = {
        "type": "date",
        "lower": "2021-01-01",
        "upper": "2022-12-31",
        "format": "%d.%m.%Y",
        "missing": "2022-06-30",
    }
    assert columns["interview"] == interview
    assert columns["visit"]["lower"] == "REQUIRED"
    assert sf.Date(*(interview[key] for key in ("lower", "upper", "format"))).shown(18628) == "2021-01-01"


def test_many_unfinished_facts_are_named_by_column_in_one_readable_sentence(tmp_path, monkeypatch, capsys):
    header = "\n".join(f'[columns.c{k}]\ntype = "number"\nlower = "REQUIRED"\nupper = "REQUIRED"' for k in range(20))
    (tmp_path / "unfinished.toml").write_text('sfumato = "schema"\nversion = 1\nname = "x"\n' + header)
    code, _, said = typed(
        monkeypatch, capsys, "schema", "check", str(tmp_path / "unfinished.toml"), str(tmp_path / "unfinished.toml")
    )
    assert code == 2
    assert "40 public facts must be declared" in said
    assert "[columns.c0] lower, upper; [columns.c1] lower, upper" in said
    assert "left out" not in said


def test_expected_widths_take_dates_and_say_which_level_is_modelled():
    sexes = sf.Schema({"interview": INTERVIEW, "sex": sf.Category([1, 2], missing=1)}, target="sex", name="panel")
    plan = sf.plan(sf.regression("logistic", sexes), 600, epsilon=3.0, delta=1e-6, goal="estimate")
    said = str(sf.expected_widths(plan, sexes, {"interview": {"mean": "2022-01-01", "sd": 100}}, runs=2))
    assert "interview: mean 2022-01-01, sd 100 days (a Beta law between 2021-01-01 and 2022-12-31)" in said
    assert "the regression is of the level 2 against 1" in said
    with pytest.raises(ArgumentError, match=r'rows: the mean of interview must be a date such as "2020-01-31"'):
        sf.expected_widths(plan, sexes, {"interview": {"mean": "01.01.2022", "sd": 100}}, runs=2)


def test_frames_of_other_kinds_are_read_or_refused_in_a_sentence(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "interview": pandas.to_datetime(["2021-05-01", None, "2022-01-31"]),
            "trust": pandas.Series([1, -9, 5], dtype="Int64"),
            "region": pandas.Categorical([10, 20, 41]),
            "income": pandas.Series([10**400, 2**70, 9999999], dtype=object),
            "born": pandas.Series(["1950", "1990.0", "x"], dtype="string"),
            "ill": pandas.Series([True, None, False], dtype="boolean"),
        }
    )
    lines = str(SCHEMA.check(frame, counts=True)).splitlines()
    counts = {line.split()[0]: line.split()[1:] for line in lines if line.split()[0] in SCHEMA.columns}
    assert counts == {
        "interview": ["1", "0", "0", "0"],
        "trust": ["1", "0", "0", "0"],
        "income": ["1", "1", "0", "1"],
        "ill": ["1", "0", "0", "0"],
        "region": ["0", "0", "0", "0"],
        "born": ["0", "1", "0", "0"],
    }
    periods = frame.assign(interview=pandas.period_range("2021-01-01", periods=3))
    with pytest.raises(ArgumentError, match="It must hold dates, texts or numbers of days; convert it"):
        SCHEMA.check(periods, counts=True)
    assert list(SCHEMA.only("income").columns) == ["income"]
    with pytest.raises(ArgumentError, match=r"got '.sav'. Save the rows as .csv or .parquet"):
        sf.Dataset.from_table(tmp_path / "panel.sav", schema=SCHEMA)


def test_a_date_format_of_another_notation_is_refused_with_the_one_to_write():
    with pytest.raises(ArgumentError, match=r"got 'DD.MM.YYYY'. %Y is the year"):
        sf.Date("2021-01-01", "2022-12-31", format="DD.MM.YYYY")
