"""Drafts from code books as they come, from labelled files without their rows, and from the first line of a file."""

from __future__ import annotations

import datetime
import sys
import tomllib

import pandas as pd
import pyreadstat
import pytest

from sfumato.errors import ArgumentError
from sfumato.schema import Date, Schema


def columns_of(tmp_path, text: str, ending: str = ".csv") -> dict[str, dict[str, object]]:
    path = tmp_path / f"book{ending}"
    path.write_text(text)
    return tomllib.loads(Schema.draft(path))["columns"]


AGE = {"type": "number", "lower": 0.0, "upper": 110.0, "integer": True}
SEX = {"type": "category", "levels": [1, 2], "missing": "REQUIRED"}
BOOKS = {
    "synonyms": "Variable,Label,Data type,Minimum,Maximum,Values\nage,Age,int,0,110,\nsex,Sex,numeric,,,1=male; 2=female\n",
    "semicolons": "field;description;type;min;max;codes\nage;Age;integer;0;110;\nsex;Sex;;;;1 = male | 2 = female\n",
    "tabs": "VARIABLE_NAME\tTYPE\tLOWER\tUPPER\tLEVELS\nage\tinteger\t0\t110\t\nsex\tcategory\t\t\t1|2\n",
    "bars": 'name|type|range|notes\nage|integer|0-110|x\nsex|factor|"1: male, 2: female"|\n',
    "quoted": '"Name","Type","Allowed values"\n"age","integer","0 to 110"\n"sex","nominal","1, Male | 2, Female"\n',
    "one line per value": "variable,type,value,label\nage,integer,0-110,\nsex,,1,male\n,,2,female\n",
    "one line per value, named again": "Variable;Type;Code;Meaning\nage;integer;0..110;\nsex;;1;male\nsex;;2;female\n",
    "values one to a line": 'name,type,min,max,values\nage,integer,0,110,\nsex,category,,,"1 male\n2 female"\n',
}


@pytest.mark.parametrize("book", BOOKS)
def test_common_forms_of_a_code_book_say_the_same(book, tmp_path):
    assert columns_of(tmp_path, BOOKS[book]) == {"age": AGE, "sex": SEX}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_book_is_read_in_the_encodings_of_spreadsheets(encoding, tmp_path):
    text = "variable;label;description;type;measure;values\nort;Größe;x;string;nominal;Köln|Ulm\n"
    (tmp_path / "book.txt").write_bytes(text.encode(encoding))
    drafted = Schema.draft(tmp_path / "book.txt")
    assert "# Größe\n" in drafted
    assert Schema.from_toml(drafted.replace("REQUIRED", "own level")).columns["ort"].levels == (
        "Köln",
        "Ulm",
        "missing",
    )


def test_labels_become_comments_that_break_no_line(tmp_path):
    (tmp_path / "book.csv").write_text('name,label,values\nsex,"Sex\n\x1b[2J = x","1=male\t; 2=female"\n')
    text = Schema.draft(tmp_path / "book.csv")
    assert "# Sex [2J = x\n" in text
    assert "# 1 = male, 2 = female\n" in text
    assert "\x1b" not in text
    assert Schema.from_toml(text.replace("REQUIRED", "own level")).columns["sex"].levels == (1, 2, "missing")


def test_codes_of_no_answer_are_missing_codes_and_never_levels(tmp_path):
    drafted = columns_of(
        tmp_path,
        "name,type,min,max,values,missing values\n"
        "age,integer,0,110,,-9; 999\n"
        "sex,numeric,,,1=m|2=f|9=refused,9\n"
        "income,number,0,1000,-1=refused,\n"
        "score,number,0,10,0=worst; 10=best,\n"
        "kids,integer,,,99=no answer,\n"
        "region,text,,,EU|NA|AS,.\n",
    )
    assert drafted["age"] == {**AGE, "missing_codes": [-9, 999]}
    assert drafted["sex"] == {"type": "category", "levels": [1, 2], "missing": "REQUIRED", "missing_codes": [9]}
    assert drafted["income"] == {"type": "number", "lower": 0.0, "upper": 1000.0, "missing_codes": [-1]}
    assert drafted["score"] == {"type": "number", "lower": 0.0, "upper": 10.0}
    assert drafted["kids"] == {
        "type": "number", "lower": "REQUIRED", "upper": "REQUIRED", "integer": True, "missing_codes": [99],
    }  # fmt: skip
    assert drafted["region"] == {
        "type": "category",
        "levels": ["EU", "NA", "AS"],
        "missing": "REQUIRED",
        "missing_codes": ["."],
    }


def test_what_stands_in_the_column_missing_is_a_value_if_it_can_be_one_and_else_a_code(tmp_path):
    book = (
        "name,type,lower,upper,levels,missing\na,number,0,10,,5\nb,number,0,10,,-9\nc,number,0,10,,NA\nd,text,,,x|y,z\n"
    )
    drafted = columns_of(tmp_path, book + "e,number,0,10,,-9; 99\nf,category,,,01|02,02\n")
    assert drafted["a"]["missing"] == 5.0
    assert [drafted[name]["missing_codes"] for name in "bcde"] == [[-9], ["NA"], ["z"], [-9, 99]]
    assert drafted["f"] == {"type": "category", "levels": ["01", "02"], "missing": "02"}, "a zero in front is kept"


def test_every_draft_of_a_whole_book_is_a_schema(tmp_path):
    text = (
        "name;type;min;max;format\nage;integer;0;110;\nborn;date;1900-01-01;2020-12-31;DD.MM.YYYY\nsmoker;yes/no;;;\n"
    )
    (tmp_path / "book.txt").write_text(text)
    schema = Schema.from_toml(Schema.draft(tmp_path / "book.txt").replace('"REQUIRED"', "false"))
    assert schema.columns["born"] == Date("1900-01-01", "2020-12-31", format="%d.%m.%Y")
    assert schema.to_json()["version"] == 2


@pytest.mark.parametrize(
    ("written", "format"),
    [
        ("%d.%m.%Y", "%d.%m.%Y"),
        ("YYYY-MM-DD", "%Y-%m-%d"),
        ("dd/mm/yy", "%d/%m/%y"),
        ("MM/DD/YYYY", "%m/%d/%Y"),
        ("", "REQUIRED"),
        ("F8.2", "REQUIRED"),
        ("DATE9.", "REQUIRED"),
    ],
)
def test_the_format_of_dates_is_taken_from_a_book_or_left_open(written, format, tmp_path):
    drafted = columns_of(tmp_path, f"name;type;format\nd;date;{written}\n")
    assert drafted["d"]["format"] == format


REDCAP = (
    '"Variable / Field Name","Form Name","Section Header","Field Type","Field Label","Choices, Calculations, OR Slider Labels",'
    '"Field Note","Text Validation Type OR Show Slider Number","Text Validation Min","Text Validation Max","Identifier?"\n'
    "age,demo,,text,Age,,,integer,18,99,\n"
    "weight,demo,,text,Weight,,,number_1dp,30,300,\n"
    'sex,demo,,radio,Sex,"0, Female | 1, Male, or other",,,,,\n'
    "visit,demo,,text,Visit,,,date_dmy,2020-01-01,today,\n"
    "smoker,demo,,yesno,Smokes?,,,,,,\n"
    'drugs,demo,,checkbox,Drugs,"1, Aspirin | x2, Other",,,,,\n'
    "bmi,demo,,calc,BMI,[w]/[h],,,,,\n"
    "story,demo,,notes,Story,,,,,,\n"
    "surname,demo,,text,Name,,,,,,y\n"
)


def test_a_data_dictionary_of_redcap(tmp_path):
    (tmp_path / "redcap.csv").write_text(REDCAP)
    text = Schema.draft(tmp_path / "redcap.csv")
    number = {"type": "number", "lower": "REQUIRED", "upper": "REQUIRED"}
    assert tomllib.loads(text)["columns"] == {
        "age": {"type": "number", "lower": 18.0, "upper": 99.0, "integer": True},
        "weight": {"type": "number", "lower": 30.0, "upper": 300.0},
        "sex": {"type": "category", "levels": [0, 1], "missing": "REQUIRED"},
        "visit": {"type": "date", "lower": "2020-01-01", "upper": "REQUIRED", "format": "%Y-%m-%d"},
        "smoker": {"type": "boolean", "missing": "REQUIRED"},
        "drugs___1": {"type": "boolean", "missing": "REQUIRED"},
        "drugs___x2": {"type": "boolean", "missing": "REQUIRED"},
        "bmi": number,
    }
    assert "# 0 = Female, 1 = Male, or other\n" in text
    assert '# "surname" holds free text' in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age;sex\n31;f\n", "never made from rows"),
        ("name,value\nSmith,3\n", "never made from rows"),
        ("name,salary\nSmith,3\n", "never made from rows"),
        ("name,variable,type\na,b,c\n", "never made from rows"),
        ('"name;type\n', "never made from rows"),
        ("name,value,label\n,1,male\n", "line 2 .* must have a name"),
        ("name,type\n\n,\nage,number\n,number\n", "line 5 .* must have a name"),
        ("name;type;min\nage;number;zero\n", "line 2 .* lower must be a number"),
        ("name;type\nage;number;1;2\n", "line 2 .* at most 2 fields"),
    ],
)
def test_books_that_say_something_else_are_refused(text, message, tmp_path):
    (tmp_path / "d.csv").write_text(text)
    with pytest.raises(ArgumentError, match=message) as refused:
        Schema.draft(tmp_path / "d.csv")
    assert "Smith" not in str(refused.value)


# labelled files ---------------------------------------------------------------------------------------------------

LABELS = {"sex": {1.0: "male", 2.0: "female", 9.0: "refused"}, "age": {-9.0: "refused"}, "town": {"B": "Berlin"}}


def labelled(path, word: str, figure: float) -> None:
    """A file in which every row holds the given word and figure; names and labels are the same for all."""
    frame = pd.DataFrame(
        {
            "sex": [1.0, 2.0],
            "age": [figure, -9.0],
            "town": [word, word],
            "free": [word, word],
            "when": [datetime.date(2020, 1, 31)] * 2,
        }
    )
    facts = {"column_labels": {"sex": "Sex of respondent"}, "variable_value_labels": LABELS}
    if path.suffix == ".dta":
        frame["when"] = pd.to_datetime(frame["when"])
        facts["variable_value_labels"] = {"sex": {1: "male", 2: "female", 9: "refused"}}
        frame["age"] = frame["age"].astype("int32")
        pyreadstat.write_dta(frame, path, **facts)
    elif path.suffix == ".xpt":
        pyreadstat.write_xport(frame.drop(columns="when"), path, column_labels=facts["column_labels"])
    else:
        ranges = {"sex": [9], "age": [-9, {"lo": -99, "hi": -97}]}
        measures = {"sex": "nominal", "age": "scale"}
        pyreadstat.write_sav(frame, path, missing_ranges=ranges, variable_measure=measures, **facts)


OPEN = {"type": "number", "lower": "REQUIRED", "upper": "REQUIRED"}
TOWN = {"type": "category", "levels": "REQUIRED", "missing": "REQUIRED"}
DATE = {"type": "date", "lower": "REQUIRED", "upper": "REQUIRED", "format": "REQUIRED"}
DRAFTS = {
    ".sav": {
        "sex": {"type": "category", "levels": [1, 2], "missing": "REQUIRED", "missing_codes": [9]},
        "age": {**OPEN, "missing_codes": [-99, -98, -97, -9]},
        "town": {"type": "category", "levels": ["B"], "missing": "REQUIRED"},
        "free": TOWN,
        "when": DATE,
    },
    ".dta": {
        "sex": {"type": "category", "levels": [1, 2, 9], "missing": "REQUIRED"},
        "age": {**OPEN, "integer": True}, "town": TOWN, "free": TOWN, "when": DATE},
    ".xpt": {"sex": OPEN, "age": OPEN, "town": TOWN, "free": TOWN},
}  # fmt: skip


@pytest.mark.parametrize("ending", DRAFTS)
def test_labels_of_a_file_are_read_and_its_rows_are_not(ending, tmp_path, monkeypatch):
    """Two files of the same labels and other rows give one draft, and pyreadstat hands over no row."""
    frames = []

    def spying(read):
        def spied(*given, **facts):
            frame, meta = read(*given, **facts)
            frames.append(len(frame))
            return frame, meta

        return spied

    for name in ("read_sav", "read_dta", "read_xport"):
        monkeypatch.setattr(pyreadstat, name, spying(getattr(pyreadstat, name)))
    drafts = set()
    for word, figure in (("alpha", 31.0), ("omega", 77.0)):
        labelled(tmp_path / f"t{ending}", word, figure)
        drafts.add(Schema.draft(tmp_path / f"t{ending}"))
    text = drafts.pop()
    assert not drafts
    assert frames == [0, 0]
    assert tomllib.loads(text)["columns"] == DRAFTS[ending]
    assert "alpha" not in text
    assert "omega" not in text
    assert "# Sex of respondent\n" in text
    assert ("# 1 = male, 2 = female, 9 = refused\n" in text) == (ending != ".xpt")


def test_letters_that_mark_missing_answers_come_from_labels_alone(tmp_path):
    """Which letters the rows hold is a fact about the rows; which are labelled is one of the code book."""
    frame = pd.DataFrame({"x": [1.0, 2.0, "a"], "y": [1.0, "b", "c"]})
    labels, marks = {"x": {1: "one", "a": "refused"}}, {"x": ["a"], "y": ["b", "c"]}
    pyreadstat.write_dta(frame, tmp_path / "t.dta", missing_user_values=marks, variable_value_labels=labels)
    drafted = tomllib.loads(Schema.draft(tmp_path / "t.dta"))["columns"]
    assert drafted == {
        "x": {"type": "category", "levels": [1], "missing": "REQUIRED", "missing_codes": [".a"]},
        "y": OPEN,
    }


def test_a_range_of_missing_values_that_cannot_be_listed_is_a_comment(tmp_path):
    ranges = {"x": [{"lo": float("-inf"), "hi": -1}], "y": [{"lo": -50, "hi": -1}], "z": [{"lo": -51, "hi": -1}]}
    pyreadstat.write_sav(pd.DataFrame({name: [1.0] for name in ranges}), tmp_path / "t.sav", missing_ranges=ranges)
    text = Schema.draft(tmp_path / "t.sav")
    drafted = tomllib.loads(text)["columns"]
    assert "# values from -inf to -1 are missing: list those that occur" in text
    assert "# values from -51 to -1 are missing" in text
    assert drafted == {"x": OPEN, "y": {**OPEN, "missing_codes": [*range(-50, 0)]}, "z": OPEN}


def test_a_file_that_is_none_and_a_reader_that_is_absent_are_sentences(tmp_path, monkeypatch):
    (tmp_path / "t.sav").write_bytes(b"SECRET")
    with pytest.raises(ArgumentError, match=r"labels of 't\.sav' could not be read: ReadstatError") as refused:
        Schema.draft(tmp_path / "t.sav")
    assert "SECRET" not in str(refused.value)
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(ArgumentError, match=r"pip install 'sfumato\[codebook\]'"):
        Schema.draft(tmp_path / "t.sav")


# first lines ------------------------------------------------------------------------------------------------------


def drafted(tmp_path, raw: bytes, ending: str = ".csv", **facts):
    (tmp_path / f"t{ending}").write_bytes(raw + b"\nSECRET;1|2\t3,4\n")
    text = Schema.draft(tmp_path / f"t{ending}", header=True, **facts)
    assert "SECRET" not in text
    document = tomllib.loads(text)
    return document["version"], document["table"], list(document["columns"])


def test_the_separator_of_a_header_is_written_into_the_draft(tmp_path):
    assert drafted(tmp_path, b"a,b,c") == (1, {}, ["a", "b", "c"])
    assert drafted(tmp_path, b"a;b;c") == (2, {"separator": ";"}, ["a", "b", "c"])
    assert drafted(tmp_path, b"a\tb") == (2, {"separator": "\t"}, ["a", "b"])
    assert drafted(tmp_path, b"a|b\r") == (2, {"separator": "|"}, ["a", "b"])
    assert drafted(tmp_path, b'"a, b";"c|d"') == (2, {"separator": ";"}, ["a, b", "c|d"])
    assert drafted(tmp_path, b"a") == (1, {}, ["a"])
    assert drafted(tmp_path, b"a\tb", ".tsv") == (1, {}, ["a", "b"])
    assert drafted(tmp_path, b"a;b", ".tsv") == (2, {"separator": ";"}, ["a", "b"])
    for ending in (".txt", ".dat"):
        assert drafted(tmp_path, b"a,b", ending) == (2, {"separator": ","}, ["a", "b"])


def test_a_header_that_two_separators_split_is_for_the_caller_to_decide(tmp_path):
    with pytest.raises(ArgumentError, match="split at commas or at semicolons: state the separator"):
        drafted(tmp_path, b"a, b;c")
    assert drafted(tmp_path, b"a, b;c", separator=";") == (2, {"separator": ";"}, ["a, b", "c"])
    assert drafted(tmp_path, b"a, b;c", separator=",") == (2, {"separator": ","}, ["a", "b;c"])
    with pytest.raises(ArgumentError, match="separator must be one character"):
        drafted(tmp_path, b"a;b", separator="--")


def test_a_header_in_another_encoding_says_so(tmp_path):
    raw = "größe;x".encode("cp1252")
    with pytest.raises(ArgumentError, match="--encoding cp1252"):
        drafted(tmp_path, raw)
    assert drafted(tmp_path, raw, encoding="cp1252") == (2, {"separator": ";", "encoding": "cp1252"}, ["größe", "x"])


def test_the_lines_that_a_draft_proposes_are_accepted(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n")
    text = Schema.draft(tmp_path / "t.csv", header=True).replace(
        'type = "REQUIRED"', 'type = "boolean"\nmissing = false'
    )
    for fact in ("decimal", "thousands", "encoding", "missing_codes"):
        text = text.replace(f"# {fact} =", f"{fact} =")
    form = Schema.from_toml(text).form
    assert (form.separator, form.decimal, form.thousands, form.encoding) == (";", ",", ".", "cp1252")
    assert form.missing_codes == ("NA", -9)


def test_bounds_of_dates_may_be_written_as_the_table_writes_dates(tmp_path):
    book = tmp_path / "book.csv"
    book.write_text(
        "variable;type;min;max;format\nday;date;01.02.2023;31.12.2024;DD.MM.YYYY\nend;date;2023-02-01;;DD.MM.YYYY\n"
    )
    text = Schema.draft(book)
    assert 'lower = "2023-02-01"\nupper = "2024-12-31"\nformat = "%d.%m.%Y"' in text
    assert text.count('lower = "2023-02-01"') == 2
    (tmp_path / "day.toml").write_text(text.split("[columns.end]")[0])
    assert Schema.load(tmp_path / "day.toml").columns["day"] == Date("2023-02-01", "2024-12-31", format="%d.%m.%Y")


def test_a_type_that_is_not_known_is_named_where_it_matters(tmp_path):
    book = tmp_path / "book.csv"
    book.write_text("variable;type;min;max\nday;Datum;01.02.2023;31.12.2024\n")
    with pytest.raises(ArgumentError, match="Its type is none of number, integer, category, boolean and date"):
        Schema.draft(book)
