"""What could not be read: nothing is a default for it, other spellings are declared, and the curator sees what there was."""

from __future__ import annotations

import json
import math
import tomllib
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import sfumato as sf
from sfumato.dataset import Dataset, rows_of
from sfumato.errors import ArgumentError, FormatError
from sfumato.schema.cells import level_finder
from sfumato.schema.encoding import encode

LINES = "says nothing of cells that are empty, unreadable or hold no declared level"
HEAD = {"sfumato": "schema", "version": 1}
SILENT = {"type": "category", "levels": ["f", "m"]}, {"type": "boolean"}


# --- no default -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "level"), [(sf.Category(["f", "m"]), "'f'"), (sf.Category([1, 2]), "1"), (sf.Boolean(), "False")]
)
def test_a_column_that_says_nothing_of_missing_cells_is_in_no_schema(column, level):
    for make in (
        lambda: sf.Schema({"x": sf.Number(0, 1), "c": column}),
        lambda: sf.Schema({"x": sf.Number(0, 1)}).with_columns({"c": column}),
        lambda: sf.Schema.vector(2, data_norm=1.0, target=column),
    ):
        with pytest.raises(ArgumentError, match=LINES) as refused:
            make()
        said = str(refused.value)
        assert "column 'c'" in said or "column 'target'" in said
        assert f"missing={level} " in said
        assert "missing='own level' " in said
    with pytest.raises(ArgumentError, match=LINES):
        encode(column, ["f"])


@pytest.mark.parametrize("silent", SILENT)
def test_a_document_that_says_nothing_of_missing_cells_is_refused_with_the_line_to_write(silent):
    document = {**HEAD, "columns": {"c": silent}}
    toml = "\n".join(
        ['sfumato = "schema"', "version = 1", "[columns.c]", *(f"{k} = {json.dumps(v)}" for k, v in silent.items())]
    )
    for read in (
        lambda: sf.Schema.from_json(document),
        lambda: sf.Schema.from_json(json.dumps(document)),
        lambda: sf.Schema.from_toml(toml),
    ):
        with pytest.raises(FormatError, match=r"\[columns\.c\]  missing = .*own level") as refused:
            read()
        assert "1 public fact must be declared" in str(refused.value)
    unfinished = {**HEAD, "columns": {"c": {**silent, "missing": "REQUIRED"}}}
    with pytest.raises(FormatError, match=r"\[columns\.c\]  missing = "):
        sf.Schema.from_json(unfinished)


def test_drafts_ask_for_what_missing_cells_count_as(tmp_path):
    (tmp_path / "book.csv").write_text(
        "name,type,levels,missing\nsex,category,f|m,\nill,boolean,,\ncity,text,a|b,own level\n"
    )
    found = tomllib.loads(sf.Schema.draft(tmp_path / "book.csv"))["columns"]
    assert {name: facts["missing"] for name, facts in found.items()} == {
        "sex": "REQUIRED", "ill": "REQUIRED", "city": "own level",
    }  # fmt: skip


def test_an_encoder_and_a_classifier_do_not_guess():
    rows = [["f"], ["x"]]
    with pytest.raises(ArgumentError, match=LINES):
        sf.PublicEncoder(levels=["f", "m"]).fit(rows)
    with pytest.raises(ArgumentError, match="one level for each of 1 columns"):
        sf.PublicEncoder(levels=["f", "m"], missing=["f", "m"]).fit(rows)
    assert sf.PublicEncoder(levels=["f", "m"], missing="m").fit(rows).transform(rows).tolist() == [[-0.5], [0.5]]
    own = sf.PublicEncoder(levels=["f", "m"], missing="own level").fit(rows)
    assert own.transform(rows).tolist() == [[0, 0], [0, 1]]
    model = sf.PrivateLogisticRegression(1.0, 1e-6, data_norm=1.0, classes=[0, 1])
    with pytest.raises(ArgumentError, match="missing_class=0,"):
        model.fit(np.zeros((4, 1)), [0, 1, 0, 1])


def test_missing_cells_can_be_a_level_of_their_own():
    texts = sf.Category(["f", "m"], missing="own level")
    assert texts.levels == ("f", "m", "missing")
    assert encode(texts, ["m", "", None, "x", b"\xff", "missing"]).values.tolist() == [1, 2, 2, 2, 2, 2]
    whole = sf.Category([0, 1], missing="own level")
    assert whole.levels == (0, 1, "missing")
    assert encode(whole, np.array([1.0, math.nan, 0.5])).values.tolist() == [1, 2, 2]
    assert encode(whole, ["1.0", "missing", "0"]).values.tolist() == [1, 2, 0]
    schema = sf.Schema({"a": texts, "b": whole})
    assert sf.Schema.from_toml(schema.to_toml()) == sf.Schema.from_json(schema.to_json()) == schema
    assert schema.to_json()["version"] == 1, "older programs read it: it is a level like any other"
    kept = sf.Category(["own level", "x"], missing="own level")
    assert kept.levels == ("own level", "x"), "a level that has this name is that level"
    assert sf.Category(["a", "missing"], missing="own level").levels == ("a", "missing")


def test_a_yes_or_no_with_a_level_of_missing_cells_is_a_category_that_reads_the_same():
    own, plain = sf.Boolean("own level", alias={"ja": True, 2: False}), sf.Boolean(False, alias={"ja": True, 2: False})
    cells = [
        "yes",
        "NO",
        "t",
        "F",
        "1",
        "0",
        "1.0",
        "Ja",
        "2",
        True,
        False,
        1,
        0.0,
        2,
        np.True_,
        b"y",
        "",
        None,
        3,
        "maybe",
    ]
    assert own.levels == ("no", "yes", "missing")
    read = encode(plain, cells)
    assert encode(own, cells).values.tolist() == np.where(read.missing, 2, read.values).tolist()
    assert read.missing.tolist() == [False] * 16 + [True] * 4
    with pytest.raises(ArgumentError, match="True, False or 'own level'"):
        sf.Boolean("yes")


# --- other spellings ------------------------------------------------------------------------------------------------------


def test_aliases_and_capitals_are_read_in_every_type_of_cell():
    sex = sf.Category(["f", "m"], missing="f", alias={"Frau": "f", "ß": "m", 9: "m"}, fold_case=True)
    cells = ["M", " FRAU ", "SS", b"m", np.str_("M"), "9", 9, 9.0, np.int8(9)]
    assert encode(sex, cells).values.tolist() == [1, 0, 1, 1, 1, 1, 1, 1, 1]
    assert encode(sex, np.array([9.0, 8.0])).missing.tolist() == [False, True]
    assert encode(sf.Category(["f", "m"], missing="f"), ["M", "Frau"]).missing.all(), "nothing is folded undeclared"
    exact = sf.Category(["f", "m"], missing="f", alias={"F": "f"})
    assert encode(exact, ["F", "M"]).missing.tolist() == [False, True]
    coded = sf.Category([1, 2], missing=1, alias={"zwei": 2, "3": 2})
    assert encode(coded, ["zwei", "3", 3, "2.0", "Zwei"]).values.tolist() == [1, 1, 1, 1, 0]
    answer = sf.Boolean(True, alias={"ja": True, "nein": False, 2: False})
    assert encode(answer, ["NEIN", "ja", 2, "2", "x"]).values.tolist() == [0, 1, 0, 0, 1]
    assert encode(answer, np.array([2.0, 1.0, 0.0, 3.0])).values.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: sf.Category(["m", "M"], "m", fold_case=True), "'M' would stand for two levels, 'm' and 'M'"),
        (lambda: sf.Category(["ss", "ß"], "ss", fold_case=True), "would stand for two levels"),
        (lambda: sf.Category(["f", "m"], "m", alias={"f": "m"}), "'f' would stand for two levels"),
        (lambda: sf.Category(["f", "m"], "m", alias={"F": "m"}, fold_case=True), "'F' would stand for two levels"),
        (lambda: sf.Category(["1", "2"], "1", alias={"1.0": "2"}), "'1.0' would stand for two levels"),
        (lambda: sf.Category(["a", "b"], "a", alias={"1": "a", "01": "b"}), "'01' would stand for two levels"),
        (lambda: sf.Category([1, 2], 1, alias={"1": 2}), "'1' would stand for two levels"),
        (lambda: sf.Category([1, 2], 1, alias={"x": True}), "stand for one of the levels"),
        (lambda: sf.Boolean(False, alias={"YES": False}), "'YES' would stand for two levels"),
        (lambda: sf.Boolean(False, alias={"no": 1}), "stand for one of the levels"),
        (lambda: sf.Category(["f"], "f", alias={"x": "y"}), "stand for one of the levels"),
        (lambda: sf.Category(["f"], "f", alias=["x"]), "alias must be a table"),
        (lambda: sf.Category(["f"], "f", alias={"x" * 201: "f"}), "at most 200 letters"),
        (lambda: sf.Category(["f"], "f", alias={"x\n": "f"}), "alias"),
        (lambda: sf.Category(["f"], "f", fold_case=1), "fold_case must be True or False"),
        (lambda: sf.Category(["f"], "f", missing_codes=["F"], fold_case=True), "is the level 'f'"),
        (lambda: sf.Boolean(False, missing_codes=["ja"], alias={"ja": True}), "means yes"),
    ],
)
def test_a_spelling_that_could_mean_two_things_is_refused(make, said):
    with pytest.raises(ArgumentError, match=said.replace("(", "\\(")):
        make()


def test_two_texts_that_spell_one_number_may_be_levels():
    assert encode(sf.Category(["1", "01"], missing="1"), ["01", "1", 1]).values.tolist() == [1, 0, 0]


def test_other_spellings_are_kept_in_documents_of_their_own_version():
    columns = {
        "sex": sf.Category(["f", "m"], missing="own level", alias={"Frau 1": "f", '"': "m"}, fold_case=True),
        "code": sf.Category([1, 2], missing=1, alias={"zwei": 2}),
        "ill": sf.Boolean(False, alias={"ja": True}),
    }
    schema = sf.Schema(columns)
    assert schema.to_json()["version"] == 4
    for back in (sf.Schema.from_json(schema.to_json()), sf.Schema.from_toml(schema.to_toml())):
        assert (back, back.digest) == (schema, schema.digest)
        assert back.columns["sex"].alias == (("Frau 1", "f"), ('"', "m"))
    plain = sf.Schema({name: sf.Boolean(False) for name in columns})
    assert len({plain.digest, schema.digest, sf.Schema({**columns, "ill": sf.Boolean(False)}).digest}) == 3
    assert eval(repr(columns["sex"]), {"Category": sf.Category}) == columns["sex"]
    assert eval(repr(columns["ill"]), {"Boolean": sf.Boolean}) == columns["ill"]


CELLS = ["M", "frau", "f", "X", "zwölf", "", "m" * 300, " " * 300 + "M"]
READ = [1, 0, 0, 2, 1, 2, 2, 1]


@pytest.mark.parametrize("padding", [0, 5000], ids=["short lines", "long lines"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_text_files_of_every_form_are_read_alike(padding, decimal, tmp_path):
    """Long lines are read cell by cell, and numbers with decimal commas in a way of their own: levels are the same."""
    facts = {"missing": "own level", "alias": {"Frau": "f", "zwölf": "m"}, "fold_case": True}
    columns = {"s": sf.Category(["f", "m"], **facts), "n": sf.Category([1, 2], missing=1, alias={"2.0": 2, "two.": 2})}
    columns["b"] = sf.Boolean(False, alias={"j.a": True})
    schema = sf.Schema(columns, separator=";", decimal=decimal, encoding="cp1252")
    lines = [
        f"{cell};{n};{b};{'x' * padding}"
        for cell, n, b in zip(CELLS, ["2.0", "TWO."] * 4, ["J.A", "j"] * 4, strict=True)
    ]
    (tmp_path / "t.csv").write_bytes("\n".join(["s;n;b;filler", *lines, ""]).encode("cp1252"))
    (block,) = rows_of(Dataset.from_table(tmp_path / "t.csv", schema=schema)).blocks()
    assert block["s"].tolist() == READ
    assert block["n"].tolist() == [1, 0] * 4, "an alias is read as it is spelled"
    assert block["b"].tolist() == [1, 0] * 4


def test_a_long_cell_is_looked_at_no_further():
    column = sf.Category(["straße", "weg"], missing="weg", alias={"gasse": "weg"}, fold_case=True)
    find, cell = level_finder(column), "ß" * 10_000_000
    tracemalloc.start()
    assert find(cell) == -1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000, "folding it would copy its 20 million letters"


# --- the curator's counts -------------------------------------------------------------------------------------------------

CANTONS = sf.Category(["Bern", "Zürich", "Genève"], missing="Bern")
WORDS = ["Zürich"] * 7 + ["Bern"] * 2 + ["Genève"] * 3
SEXES = ["f", "M", "F", "x", "", "m", "M", "divers", "f", "m", "", "7"]
ILL = ["yes", "JA", "no", "nein", "", "y", "ja", "ja", "0", "1", " ", "2"]


def survey(path, encoding):
    lines = [",".join(line) for line in zip(WORDS, SEXES, ILL, ["1", "x", "", "9e999"] * 3, strict=True)]
    path.write_bytes("\n".join(["canton,sex,ill,age", *lines, "one cell", ""]).encode(encoding))
    return path


def schema_of(encoding="utf-8", **facts):
    columns = {
        "canton": CANTONS,
        "sex": sf.Category(["f", "m"], missing="own level", **facts),
        "ill": sf.Boolean(False),
    }
    return sf.Schema({**columns, "age": sf.Number(0, 3)}, encoding=encoding)


def parts(counts):
    return {name: (each.empty, each.unreadable, each.undeclared) for name, each in counts.columns.items()}


def test_counts_say_which_cells_are_missing_and_what_to_declare(tmp_path):
    counts = schema_of().check(survey(tmp_path / "t.csv", "cp1252"), counts=True)
    assert parts(counts) == {"canton": (0, 11, 0), "sex": (2, 1, 6), "ill": (2, 1, 5), "age": (3, 7, 0)}
    assert all(each.missing == each.empty + each.unreadable + each.undeclared for each in counts.columns.values())
    said = str(counts).splitlines()
    assert said[1:4] == [
        "13 rows, 1 of the wrong length",
        "column       empty  unreadable  undeclared     clipped",
        said[3],
    ]
    known = 'canton: 10 cells spelled as a level in the encoding cp1252: declare encoding = "cp1252" under [table]'
    assert any(line.startswith(known) for line in said)
    assert "sex: 3 cells spelled as a level but for case: declare fold_case = true" in said
    assert 'sex: 3 cells with another text or number: declare its level, or alias = { "..." = "f" }' in said
    assert 'ill: 5 cells with another text or number: declare its level, or alias = { "..." = true }' in said
    mended = schema_of("latin-1", fold_case=True, alias={"x": "m", "divers": "m", 7: "m"})
    counts = mended.check(tmp_path / "t.csv", counts=True)
    assert parts(counts)["canton"] == (0, 1, 0)
    assert parts(counts)["sex"] == (2, 1, 0)
    assert not counts.columns["sex"].hints


def test_text_that_was_read_in_a_wrong_encoding_is_known_by_its_levels(tmp_path):
    counts = schema_of("cp1252").check(survey(tmp_path / "t.csv", "utf-8"), counts=True)
    assert parts(counts)["canton"] == (0, 1, 10)
    (hint,) = counts.columns["canton"].hints
    assert hint.startswith(
        '10 cells spelled as a level in the encoding utf-8: declare encoding = "utf-8" under [table]'
    )
    frame = pd.read_csv(tmp_path / "t.csv", encoding="latin-1")
    hints = schema_of().check(frame, counts=True).columns["canton"].hints
    (hint,) = [each for each in hints if "encoding" in each]
    assert hint.startswith("10 cells spelled as a level in the encoding utf-8: ")
    assert hint.endswith("or write the table anew as UTF-8")
    (tmp_path / "t.csv").write_bytes(b"canton,sex,ill,age\n\x81\xff,f,1,1\n")
    (hint,) = schema_of().check(tmp_path / "t.csv", counts=True).columns["canton"].hints
    assert hint.startswith("1 cell of bytes that are no text in the encoding utf-8")


def sources(folder):
    path = survey(folder / "t.csv", "utf-8")
    frame = pd.read_csv(path, dtype=str, keep_default_na=False).iloc[:12]
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pa.parquet.write_table(table, folder / "t.parquet")
    dictionaries = pa.table({name: table[name].combine_chunks().dictionary_encode() for name in table.column_names})
    return {
        "frame": frame,
        "parquet": folder / "t.parquet",
        "dictionaries": dictionaries,
        "mapping": {name: frame[name].tolist() for name in frame},
        "rows": frame.to_numpy().tolist(),
    }


@pytest.mark.parametrize("source", ["frame", "parquet", "dictionaries", "mapping", "rows"])
def test_every_source_is_counted_alike(source, tmp_path):
    counts = schema_of().check(sources(tmp_path)[source], counts=True)
    assert parts(counts) == {"canton": (0, 0, 0), "sex": (2, 0, 6), "ill": (2, 0, 5), "age": (3, 6, 0)}
    assert len(counts.columns["sex"].hints) == 2


def test_numbers_and_other_objects_are_told_apart():
    schema = sf.Schema({"c": sf.Category([1, 2], missing=1, missing_codes=[9])})
    counts = schema.check({"c": [1, 9, "9", math.nan, None, 3, "x", [1], b"\xff", math.inf]}, counts=True)
    assert parts(counts) == {"c": (4, 2, 3)}
    counts = schema.check({"c": np.array([1.0, 9.0, math.nan, 3.0, 3.0])}, counts=True)
    assert parts(counts) == {"c": (2, 0, 2)}
    dates = sf.Schema({"d": sf.Date("2020-01-01", "2021-01-01")})
    counts = dates.check({"d": np.array(["2020-05-01", "NaT"], dtype="M8[D]")}, counts=True)
    assert parts(counts) == {"d": (1, 0, 0)}


def test_the_counts_quote_no_cell(tmp_path):
    marked = ["Sentinel77", "sentinel-UP", "Zürich-SENT", "sentinel" * 60]
    text = "canton,sex,ill,age\n" + "".join(f"{word},{word},{word},{word}\n" for word in marked * 3)
    for encoding in ("utf-8", "cp1252"):
        (tmp_path / "t.csv").write_bytes(text.encode(encoding))
        said = str(schema_of().check(tmp_path / "t.csv", counts=True))
        assert "sent" not in said.casefold()
