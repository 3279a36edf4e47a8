"""No error, repr or copy shows a cell: a marker is planted everywhere and looked for in everything that comes out."""

from __future__ import annotations

import copy
import json
import pickle
import traceback

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array

from sfumato.dataset import Dataset, Rows, rows_of
from sfumato.schema import Boolean, Category, Number, Schema

# Put together here, so that no line of this file that a traceback shows holds it.
WORD = "-".join(["se", "cr", "et"])
FIGURE = float("".join(["31", "33.7"]))
SCHEMA = Schema(
    {"x": Number(0, 10_000), "k": Category(["a", "b"], missing="a"), "b": Boolean(missing=False)}, target="b"
)
VECTOR = Schema.vector(2, data_norm=1e5, target=Number(0, 10_000))


def everything(error: BaseException) -> str:
    """All that an error could show: message, arguments, notes, and every error it is chained to, hidden ones too."""
    seen, said = set(), []
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        said += [str(one), repr(one), repr(one.args), repr(getattr(one, "__notes__", ""))]
        said += traceback.format_exception(one)
        waiting += [other for other in (one.__cause__, one.__context__) if other is not None]
    return "\n".join(said)


def shows(text: str) -> bool:
    return WORD in text or str(FIGURE) in text


@pytest.mark.planted
def test_the_search_itself_finds_a_marker():
    def chained():
        try:
            float(WORD)
        except ValueError:
            raise KeyError("quiet") from None

    with pytest.raises(KeyError) as caught:
        chained()
    assert shows(everything(caught.value))  # suppressed, and still there
    assert not shows(everything(KeyError("quiet")))


def failing_stream(after: int):
    def batches():
        for _ in range(after):
            yield pa.record_batch({"x": [FIGURE], "k": [WORD], "b": [True]})
        raise RuntimeError(f"cannot convert {WORD} and {FIGURE}")

    return pa.RecordBatchReader.from_batches(
        pa.schema([("x", pa.float64()), ("k", pa.string()), ("b", pa.bool_())]), batches()
    )


def headless(folder):
    (folder / "headless.csv").write_text(f"{FIGURE},{WORD},true\n" * 3)
    return folder / "headless.csv"


def cut_parquet(folder):
    path = folder / "cut.parquet"
    pq.write_table(pa.table({"x": [FIGURE] * 999, "k": [WORD] * 999, "b": [True] * 999}), path)
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2])
    return path


def spoilt_parquet(folder):
    """The footer is sound, a page is not."""
    path = folder / "spoilt.parquet"
    table = pa.table({"x": np.arange(999) + FIGURE, "k": [f"{WORD}{i}" for i in range(999)], "b": [True] * 999})
    pq.write_table(table, path, compression="snappy")
    raw = bytearray(path.read_bytes())
    raw[40:400] = bytes(360)
    path.write_bytes(raw)
    return path


def cut_arrow(folder):
    path = folder / "cut.arrow"
    table = pa.table({"x": [FIGURE] * 999, "k": [WORD] * 999, "b": [True] * 999})
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)
    path.write_bytes(path.read_bytes()[:600])
    return path


ROWS = {"x": [FIGURE, FIGURE], "k": [WORD, WORD], "b": [WORD, FIGURE]}
FAULTS = {
    "absent column": lambda folder: {"x": [FIGURE], "k": [WORD]},
    "names that are cells": lambda folder: {WORD: [1], FIGURE: [2]},
    "lengths": lambda folder: {"x": [FIGURE], "k": [WORD, WORD], "b": [1]},
    "lists in arrow": lambda folder: pa.table({"x": [[FIGURE]], "k": [WORD], "b": [True]}),
    "lists in polars": lambda folder: pl.DataFrame({"x": [[FIGURE]], "k": [WORD], "b": [True]}),
    "objects in polars": lambda folder: pl.DataFrame(
        {"x": pl.Series([object()], dtype=pl.Object), "k": WORD, "b": FIGURE}
    ),
    "days in pandas": lambda folder: pd.DataFrame({"x": pd.Categorical([pd.Timestamp(0)]), "k": WORD, "b": FIGURE}),
    "periods in pandas": lambda folder: pd.DataFrame({"x": pd.PeriodIndex(["2020"], freq="Y"), "k": WORD, "b": FIGURE}),
    "categories in pandas": lambda folder: pd.DataFrame({"x": pd.Categorical([WORD]), "k": WORD}),
    "a failing query": lambda folder: duckdb.sql(
        f"select cast(k as double) as x, k, true as b from (values ('1'), ('{WORD}')) t(k)"
    ),
    "a stream that fails at once": lambda folder: failing_stream(0),
    "a stream that fails later": lambda folder: failing_stream(3),
    "no header": headless,
    "a cut parquet file": cut_parquet,
    "a spoilt parquet file": spoilt_parquet,
    "a cut arrow file": cut_arrow,
    "a text for a column": lambda folder: {"x": [1], "k": WORD, "b": [1]},
    "a text for a path": lambda folder: "nowhere.csv",
    "rows for a table": lambda folder: [[FIGURE, WORD, True]],
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("counts", [False, True])
def test_no_error_of_a_table_shows_a_cell(fault, counts, tmp_path):
    source = FAULTS[fault](tmp_path)
    work = (
        (lambda: SCHEMA.check(source, counts=True)) if counts else (lambda: Dataset.from_table(source, schema=SCHEMA))
    )
    with pytest.raises(Exception) as caught:
        work()
    assert not shows(everything(caught.value))


ARRAY_FAULTS = {
    "width": (np.full((2, 5), FIGURE), [FIGURE, FIGURE]),
    "length": (np.full((3, 2), FIGURE), [WORD, FIGURE]),
    "type": (np.full((2, 2), FIGURE, dtype=complex), [FIGURE, FIGURE]),
    "no list": ({WORD: FIGURE}, [FIGURE]),
    "text": (WORD, [FIGURE]),
    "y": (np.full((2, 2), FIGURE), WORD),
    "y in two dimensions": (np.full((2, 2), FIGURE), np.full((2, 2), FIGURE)),
    "frame": (pd.DataFrame({WORD: [FIGURE]}), [FIGURE]),
    "sparse": (csr_array(np.full((2, 5), FIGURE)), [FIGURE, FIGURE]),
    "csc": (csr_array(np.full((2, 2), FIGURE)).tocsc(), [FIGURE, FIGURE]),
}


@pytest.mark.parametrize("fault", ARRAY_FAULTS)
def test_no_error_of_arrays_shows_a_cell(fault):
    with pytest.raises(Exception) as caught:
        Dataset.from_arrays(*ARRAY_FAULTS[fault], schema=VECTOR)
    assert not shows(everything(caught.value))


def test_a_draft_from_rows_by_mistake_shows_none(tmp_path):
    with pytest.raises(Exception) as caught:
        Schema.draft(headless(tmp_path))
    assert not shows(everything(caught.value))


def test_a_failing_source_is_reported_by_type_and_chained_to_nothing():
    with pytest.raises(ValueError, match="it failed with RuntimeError") as caught:
        Dataset.from_table(failing_stream(2), schema=SCHEMA)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def holders():
    yield Dataset.from_table(ROWS, schema=SCHEMA)
    yield Dataset.from_arrays(np.full((3, 2), FIGURE), [FIGURE] * 3, schema=VECTOR)
    yield Dataset.from_arrays(csr_array(np.full((3, 2), FIGURE)), [FIGURE] * 3, schema=VECTOR)


ESCAPES = {
    "pickle": pickle.dumps,
    "old pickle": lambda held: pickle.dumps(held, protocol=0),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "state": lambda held: held.__getstate__(),
    "reduce": lambda held: held.__reduce__(),
    "json": json.dumps,
    "vars": vars,
    "set": lambda held: setattr(held, "n", 5),
    "new attribute": lambda held: setattr(held, "other", 5),
}
DATASET_ESCAPES = {
    "index": lambda held: held[0],
    "slice": lambda held: held[:],
    "name": lambda held: held["x"],
    "iterate": list,
    "length": len,
    "float": float,
    "array of floats": lambda held: np.asarray(held, dtype=float),
    "frame": pd.DataFrame,
    "arrow": pa.table,
    "add": lambda held: held + held,
    "contains": lambda held: 1.0 in held,
    "made by hand": lambda held: type(held)(),
}


@pytest.mark.parametrize("way", ESCAPES)
def test_what_holds_rows_cannot_be_copied_out(way):
    for data in holders():
        for held in (data, rows_of(data), next(rows_of(data).blocks())):
            with pytest.raises(TypeError) as caught:
                ESCAPES[way](held)
            assert not shows(everything(caught.value))


@pytest.mark.parametrize("way", DATASET_ESCAPES)
def test_a_data_set_has_no_other_door(way):
    for data in holders():
        with pytest.raises((TypeError, ValueError)) as caught:
            DATASET_ESCAPES[way](data)
        assert not shows(everything(caught.value))


def test_the_sentence_says_what_to_do_instead():
    data = Dataset.from_table(ROWS, schema=SCHEMA)
    with pytest.raises(TypeError, match="holds private rows and cannot be pickled; publish a release"):
        pickle.dumps(data)


def test_what_is_printed_is_public():
    for data in holders():
        for held in (data, rows_of(data), next(rows_of(data).blocks())):
            for text in (repr(held), str(held), f"{held}", f"{[held]}"):
                assert not shows(text)
        assert data.schema.name in repr(data)
        assert f"n={data.n}" in repr(data)
        assert "unit='row'" in repr(data)
        assert set(dir(data)) == {"engine", "from_arrays", "from_dask", "from_table", "n", "schema"}
    assert "columns: x, k, b" in repr(Dataset.from_table(ROWS, schema=SCHEMA))


def test_public_attributes_are_the_schema_and_n():
    data = Dataset.from_table(ROWS, schema=SCHEMA)
    found = {name for name in Dataset.__dict__ if not name.startswith("_")}
    assert found == {"engine", "from_arrays", "from_dask", "from_table", "kind", "n", "schema"}
    assert data.kind == "table"
    assert {name for name in Rows.__dict__ if not name.startswith("_")} == {
        "averaged",
        "blocks",
        "check",
        "held",
        "kind",
        "limit",
        "n",
        "on_card",
        "room",
        "schema",
        "watched",
    }
    assert data.n == 2
    assert data.schema is SCHEMA
    assert np.asarray(data).shape == ()  # numpy sees one opaque object


def test_rows_are_for_engines_and_read_only():
    for data, kind in zip(holders(), ("table", "dense", "sparse"), strict=True):
        rows = rows_of(data)
        assert (rows.n, rows.schema, rows.kind) == (data.n, data.schema, kind)
        for block in rows.blocks():
            for array in block.values():
                with pytest.raises(ValueError, match="read-only"):
                    (array if isinstance(array, np.ndarray) else array.data)[0] = 0
    with pytest.raises(ValueError, match=r"must be a sf\.Dataset"):
        rows_of({"x": [1]})
