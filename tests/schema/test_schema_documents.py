"""Schemas as TOML and JSON: both ways, unknown keys refused, unfinished facts listed with the line to write."""

from __future__ import annotations

import json
import tomllib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from sfumato.errors import ArgumentError, FormatError
from sfumato.schema import Boolean, Category, Date, Number, Schema
from sfumato.schema.documents import toml_key, toml_value

INVISIBLE = ["Cc", "Cf", "Cs", "Zl", "Zp"]
texts = (
    st.text(st.characters(exclude_categories=INVISIBLE), min_size=1, max_size=8)
    .map(str.strip)
    .filter(lambda text: text not in ("", "REQUIRED"))
)
finite = st.floats(-1e300, 1e300)


@st.composite
def numbers(draw):
    low, high = sorted((draw(finite), draw(finite)))
    if low == high:
        high = low + max(1.0, abs(low))
    return Number(low, high, missing=draw(st.floats(low, high)))


@st.composite
def categories(draw):
    levels = draw(
        st.lists(texts, min_size=1, unique=True) | st.lists(st.integers(-(2**52), 2**52), min_size=1, unique=True)
    )
    return Category(levels, missing=draw(st.sampled_from(levels)))


@st.composite
def dates(draw):
    low, high = sorted(draw(st.lists(st.dates(), min_size=2, max_size=2, unique=True)))
    format = draw(st.sampled_from(["%Y-%m-%d", "%d.%m.%Y %H:%M", "%Y%m%d"]))
    return Date(low, high, format=format, missing=draw(st.dates(low, high)), missing_codes=draw(codes))


codes = st.lists(texts | st.integers(-(2**52), 2**52) | finite, max_size=3)
columns = numbers() | categories() | st.builds(Boolean, st.booleans()) | dates()


@st.composite
def forms(draw):
    """Facts of [table]; mostly none."""
    facts = {"missing_codes": draw(codes)}
    if draw(st.booleans()):
        separator = draw(st.sampled_from([";", "\t", "|"]))
        facts |= {"separator": separator, "decimal": ",", "thousands": draw(st.sampled_from([None, ".", " "]))}
    return draw(st.just({}) | st.just({**facts, "encoding": draw(st.sampled_from(["utf-8", "cp1252"]))}))


@st.composite
def schemas(draw):
    named = draw(st.dictionaries(texts, columns, min_size=1, max_size=5))
    norm = draw(st.none() | st.floats(1e-3, 1e3))
    rows = "clip" if norm is None else draw(st.sampled_from(["clip", "normalise"]))
    common = {"name": draw(texts), "unit": draw(texts), "rows": rows}
    if draw(st.booleans()):
        target = draw(st.none() | st.sampled_from(list(named)))
        try:
            return Schema(named, target=target, data_norm=norm, **common, **draw(forms()))
        except ArgumentError as error:
            if "the missing code" in str(error):  # it is a level
                reject()
            raise
    return Schema.vector(draw(st.integers(1, 10**6)), data_norm=norm or 1.0, target=draw(st.none() | columns), **common)


@given(schemas())
def test_both_forms_are_read_back_to_the_same_schema(schema):
    for again in (
        Schema.from_toml(schema.to_toml()),
        Schema.from_json(schema.to_json()),
        Schema.from_json(json.dumps(schema.to_json())),
    ):
        assert again == schema
        assert again.digest == schema.digest
        assert list(again.columns) == list(schema.columns)
    assert tomllib.loads(schema.to_toml()) == schema.to_json()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_written_as_toml(text):
    assert tomllib.loads(f"{toml_key(text) if text else 'a'} = {toml_value(text)}") == {text or "a": text}


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "a\tb", "a\x1b[2Kb", "a\u202eb", "a\u2028b", "a\x7fb", "a\ufeffb"])
def test_names_and_levels_hold_no_character_that_a_terminal_acts_on(text):
    made = (
        lambda: Schema({text: Boolean(missing=False)}),
        lambda: Schema({"x": Boolean(missing=False)}, name=text),
        lambda: Schema({"x": Boolean(missing=False)}, unit=text),
        lambda: Category(["a", text], missing="a"),
    )
    for make in made:
        with pytest.raises(ArgumentError, match="one line of visible text") as refused:
            make()
        assert text not in str(refused.value)
    with pytest.raises(FormatError, match="one line of visible text"):
        Schema.from_json(
            {
                "sfumato": "schema",
                "version": 1,
                "columns": {"x": {"type": "category", "levels": [text], "missing": text}},
            }
        )


@pytest.mark.parametrize("text", ["a b", "a\xa0b", "é", "e\u0301", "می\u200cخواهم", "क्\u200dष", "a=b", "☂️"])
def test_other_texts_are_kept(text):
    assert Category([text], missing=text).levels == (text,)
    assert Schema({text: Boolean(missing=False)}, name=text, unit=text).name == text


@pytest.mark.parametrize("ending", [".toml", ".json", ".TOML"])
def test_files(ending, tmp_path):
    schema = Schema({"größe": Number(0, 3), "x y": Category(["ä", 'b"'], missing="ä")}, unit="Person")
    schema.save(tmp_path / f"s{ending}")
    assert Schema.load(str(tmp_path / f"s{ending}")) == schema


def test_other_files_are_refused(tmp_path):
    with pytest.raises(ArgumentError, match=r"'\.toml', '\.json'"):
        Schema.load(tmp_path / "s.yaml")
    with pytest.raises(ArgumentError, match=r"'\.toml', '\.json'"):
        Schema({"x": Boolean(missing=False)}).save(tmp_path / "s")


GOOD = Schema({"age": Number(0, 100), "sex": Category(["f", "m"], missing="f")}, data_norm=1.0).to_json()


def changed(*path, value):
    document = json.loads(json.dumps(GOOD))
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return document


WRONG = {
    "another kind": (changed("sfumato", value="guarantee"), 'sfumato = "schema"'),
    "another version": (changed("version", value=5), "version = 1, 2, 3 or 4"),
    "unknown key": (changed("norm", value=1.0), "unknown 'norm'"),
    "unknown fact": (changed("columns", "age", "max", value=1), "column 'age' .* unknown 'max'"),
    "fact of another kind": (changed("columns", "sex", "lower", value=1), "column 'sex' .* unknown 'lower'"),
    "unknown type": (changed("columns", "age", "type", value="interval"), "column 'age': type must be one of"),
    "type that is none": (changed("columns", "age", "type", value=[1]), "column 'age': type must be one of"),
    "bounds reversed": (changed("columns", "age", "lower", value=200), "column 'age' cannot be read"),
    "bound nan": (changed("columns", "age", "lower", value=float("nan")), "column 'age' cannot be read"),
    "no table": (changed("columns", "age", value=5), "column 'age' must be a table"),
    "no columns": (changed("columns", value=[]), "must be a table"),
    "empty columns": (changed("columns", value={}), "at least one column"),
    "target": (changed("target", value=["age"]), "cannot be read"),
    "columns of a vector": (changed("dimension", value=3), 'called "target"'),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_documents_that_say_something_else_are_refused(wrong):
    document, message = WRONG[wrong]
    with pytest.raises(FormatError, match=message):
        Schema.from_json(document)


@pytest.mark.parametrize("text", ["{", "[]", "5", "null"])
def test_what_is_no_document_is_refused(text):
    with pytest.raises(FormatError):
        Schema.from_json(text)
    with pytest.raises(FormatError):
        Schema.from_toml("x = [")


def test_every_unfinished_fact_is_listed_with_its_line():
    text = """
sfumato = "schema"
version = 1
data_norm = "REQUIRED"
[columns.age]
type = "number"
lower = 0
upper = "REQUIRED"
[columns."x y"]
type = "number"
missing = 1
[columns.sex]
type = "category"
levels = "REQUIRED"
missing = "REQUIRED"
[columns.job]
type = "REQUIRED"
[columns.done]
type = "boolean"
missing = false
"""
    with pytest.raises(FormatError) as caught:
        Schema.from_toml(text)
    said = str(caught.value)
    assert "7 public facts must" in said
    for line in (
        "\n  data_norm = ",
        "[columns.age]  upper = ",
        '[columns."x y"]  lower = ',
        '[columns."x y"]  upper = ',
        "[columns.sex]  levels = ",
        "[columns.sex]  missing = ",
        "[columns.job]  type = ",
    ):
        assert line in said
    assert "done" not in said


def test_a_vector_without_a_norm_is_unfinished():
    with pytest.raises(FormatError, match="data_norm = <number>"):
        Schema.from_json({"sfumato": "schema", "version": 1, "dimension": 3})


# drafts -----------------------------------------------------------------------------------------------------------

DICTIONARY = """name,type,lower,upper,levels,missing
age,integer,0,120,,
income,number,0,,,
sex,category,,,f|m|x,x
code,factor,,,0|1|2,1
job,text,,,,
smoker,bool,,,,yes
born,date,,,,
"""


def test_a_draft_from_a_data_dictionary_is_finished_where_the_dictionary_is(tmp_path):
    path = tmp_path / "dictionary.csv"
    path.write_text(DICTIONARY)
    text = Schema.draft(path)
    found = tomllib.loads(text)["columns"]
    assert found["age"] == {"type": "number", "lower": 0.0, "upper": 120.0, "integer": True}
    assert found["income"] == {"type": "number", "lower": 0.0, "upper": "REQUIRED"}
    assert found["sex"] == {"type": "category", "levels": ["f", "m", "x"], "missing": "x"}
    assert found["code"] == {"type": "category", "levels": [0, 1, 2], "missing": 1}
    assert found["job"] == {"type": "category", "levels": "REQUIRED", "missing": "REQUIRED"}
    assert found["smoker"] == {"type": "boolean", "missing": True}
    required = dict.fromkeys(("lower", "upper", "format"), "REQUIRED")
    assert found["born"] == {"type": "date", **required}
    with pytest.raises(FormatError, match="6 public fact"):
        Schema.from_toml(text)
    done = text.replace('upper = "REQUIRED"', "upper = 1e6", 1).replace('upper = "REQUIRED"', "upper = 2020-12-31")
    done = done.replace('levels = "REQUIRED"\nmissing = "REQUIRED"', 'levels = ["a"]\nmissing = "a"')
    done = done.replace('lower = "REQUIRED"', "lower = 1900-01-31").replace('format = "REQUIRED"\n', "")
    assert list(Schema.from_toml(done).columns) == ["age", "income", "sex", "code", "job", "smoker", "born"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age,sex\n31,f\n", "never made from rows"),
        ("name,type,lower,salary\n", "never made from rows"),
        ("", "never made from rows"),
        ("name,type,lower\nage,number,zero\n", "line 2 .* lower must be a number"),
        ("name,type\n,number\n", "line 2"),
        ("name,type\nage,number\nage,number\n", "line 3 .* an earlier line names"),
        ("name,type\nage,number,1,2\n", "line 2"),
    ],
)
def test_dictionaries_that_say_something_else_are_refused(text, message, tmp_path):
    (tmp_path / "d.csv").write_text(text)
    with pytest.raises(ArgumentError, match=message):
        Schema.draft(str(tmp_path / "d.csv"))


TYPES = pa.schema(
    [
        ("count", pa.int32()),
        ("size", pa.float32()),
        ("cost", pa.decimal128(10, 2)),
        ("flag", pa.bool_()),
        ("job", pa.string()),
        ("town", pa.dictionary(pa.int8(), pa.string())),
        ("tags", pa.list_(pa.string())),
        ("when", pa.timestamp("s")),
    ]
)


def draft_of_types():
    number = {"type": "number", "lower": "REQUIRED", "upper": "REQUIRED"}
    category = {"type": "category", "levels": "REQUIRED", "missing": "REQUIRED"}
    return {
        "count": {**number, "integer": True},
        "size": number,
        "cost": number,
        "flag": {"type": "boolean", "missing": "REQUIRED"},
        "job": category,
        "town": category,
        "when": {"type": "date", "lower": "REQUIRED", "upper": "REQUIRED"},
    }


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".feather"])
def test_a_draft_from_a_file_reads_types_and_never_a_value(ending, tmp_path, monkeypatch):
    """Values, statistics and dictionaries are all in the file; none of them is in the draft, whatever they are."""
    drafts = set()
    for word, figure in (("alpha", 1), ("omega", 99)):
        town = pa.array([word, word]).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
        values = [[figure] * 2, [figure] * 2, [figure] * 2, [True] * 2, [word] * 2, town, [[word]] * 2, [figure] * 2]
        arrays = [v if isinstance(v, pa.Array) else pa.array(v, f.type) for v, f in zip(values, TYPES, strict=True)]
        table = pa.Table.from_arrays(arrays, schema=TYPES)
        path = tmp_path / f"t{ending}"
        if ending == ".parquet":
            pq.write_table(table, path)
        else:
            with pa.ipc.new_file(path, TYPES) as writer:
                writer.write_table(table)
        drafts.add(Schema.draft(path))
    assert len(drafts) == 1
    text = drafts.pop()
    assert tomllib.loads(text)["columns"] == draft_of_types()
    assert '# "tags" is neither' in text
    assert Schema.draft(TYPES) == Schema.draft(path, header=True) == text
    twice = Schema.draft(pa.schema([("a", pa.int8()), ("a", pa.int8()), ("b", pa.bool_())]))
    assert list(tomllib.loads(twice)["columns"]) == ["b"]
    numbers = Schema.draft(pa.schema([("codes", pa.dictionary(pa.int8(), pa.int64()))]))
    assert tomllib.loads(numbers)["columns"]["codes"] == {
        "type": "category",
        "levels": "REQUIRED",
        "missing": "REQUIRED",
    }


def test_other_sources_of_a_draft_are_refused(tmp_path):
    (tmp_path / "d.xlsx").touch()
    (tmp_path / "d.parquet").write_bytes(b"no parquet")
    for source, message in (
        (tmp_path / "d.xlsx", "a draft is made from"),
        (tmp_path / "none.csv", "no file"),
        (5, "a draft is made from"),
        (tmp_path / "d.parquet", "could not be read"),
    ):
        with pytest.raises(ArgumentError, match=message):
            Schema.draft(source)
