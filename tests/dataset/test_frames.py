"""An error that leaves a reader keeps no row: its traceback, cause and context are walked, frame by frame."""

from __future__ import annotations

import gc
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array
from test_no_value_leaves import FIGURE, SCHEMA, VECTOR, WORD, cut_arrow, cut_parquet, failing_stream, spoilt_parquet

import sfumato
import sfumato as sf
from sfumato.dataset import Dataset, dataset
from sfumato.estimators import _fitting
from sfumato.schema import outcome, read_arrays, reading
from sfumato.schema.outcome import attempt

SOURCE = str(Path(sfumato.__file__).parent)
# What holds rows by its type; and what a frame may hold without holding rows, and is not searched further.
TABULAR = (pd.DataFrame, pd.Series, pa.Table, pa.RecordBatch, pa.Array, pa.ChunkedArray)
PUBLIC = (type, types.ModuleType, types.CodeType, str, bytes, int, float, sf.Schema, sf.Number, sf.Category, sf.Boolean)


def frames(error: BaseException):
    """Every frame of the library on the tracebacks of an error and of all errors that it is chained to."""
    waiting, seen = [error], set()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        waiting += [one.__cause__, one.__context__]
        trace = one.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename.startswith(SOURCE):
                yield trace.tb_frame
            trace = trace.tb_next


def is_row(one: object) -> bool:
    marked = (isinstance(one, str) and WORD in one) or (isinstance(one, float) and one == FIGURE)
    # Arrays of two are the declared classes.
    return marked or isinstance(one, TABULAR) or (isinstance(one, np.ndarray) and one.size > 2)


def held(roots: list[object]) -> list[str]:
    """What among the things reachable from these holds rows, by type; functions are followed into what they close over."""
    found, waiting, seen = [], list(roots), set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if is_row(one):
            found.append(type(one).__name__)
        elif isinstance(one, types.FunctionType):
            waiting += [cell.cell_contents for cell in one.__closure__ or ()] + list(one.__defaults__ or ())
        elif isinstance(one, BaseException):  # its own traceback is walked by `frames`
            waiting += one.args
        elif isinstance(one, types.GeneratorType):
            waiting += [] if one.gi_frame is None else list(one.gi_frame.f_locals.values())
        elif not isinstance(one, PUBLIC):
            waiting += gc.get_referents(one)
    return found


def kept(error: BaseException) -> list[str]:
    return [
        f"{frame.f_code.co_name}: {what}" for frame in frames(error) for what in held(list(frame.f_locals.values()))
    ]


def raised(work) -> BaseException:
    with pytest.raises(BaseException) as caught:
        work()
    return caught.value


@pytest.mark.planted
def test_the_walk_itself_finds_rows():
    def rows():
        row = [WORD]
        yield len(row)

    started = rows()
    next(started)
    for root in ([WORD], {"x": FIGURE}, lambda: started, np.ones(3), (pa.table({"x": [1]}),), iter([WORD])):
        assert held([root])
    assert not held([SCHEMA, attempt, "public", 1.0, Path("t.csv")])


class Failing(list):
    """A column that fails after some of its cells have been given out."""

    calls = 0
    error: type[BaseException] = RuntimeError

    def __getitem__(self, part):
        self.calls += 1
        if self.calls > 1:
            raise self.error(WORD)
        return list.__getitem__(self, part)


class Interrupted(Failing):
    error = KeyboardInterrupt


def failing_columns():
    return {"x": Failing([FIGURE] * 9), "k": Failing([WORD] * 9), "b": Failing([1] * 9)}


def csv_file(folder, text: bytes):
    (folder / "t.csv").write_bytes(text)
    return folder / "t.csv"


def spoilt_late(folder):
    """The first row group is sound, the second is not."""
    path = folder / "late.parquet"
    table = pa.table({"x": np.arange(9_999) + FIGURE, "k": [f"{WORD}{i}" for i in range(9_999)], "b": [True] * 9_999})
    pq.write_table(table, path, row_group_size=5_000)
    raw = bytearray(path.read_bytes())
    start = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    raw[start : start + 4_000] = bytes(4_000)
    path.write_bytes(raw)
    return path


TABLES = {
    "stream that fails later": lambda folder: failing_stream(3),
    "cut parquet": cut_parquet,
    "spoilt parquet": spoilt_parquet,
    "parquet spoilt later": spoilt_late,
    "cut arrow": cut_arrow,
    "columns that fail later": lambda folder: failing_columns(),
    "no such column": lambda folder: {"x": [FIGURE], "k": [WORD]},
    "lengths": lambda folder: {"x": [FIGURE], "k": [WORD, WORD], "b": [1]},
    "frame": lambda folder: pd.DataFrame({"x": pd.to_datetime(["2020-01-01"]), "k": [WORD], "b": [1]}),
    "header that is a record": lambda folder: csv_file(folder, f"{WORD},{FIGURE}\n{WORD},{FIGURE}\n".encode()),
    "interrupted": lambda folder: {"x": Interrupted([FIGURE] * 9), "k": [WORD] * 9, "b": [1] * 9},
}


@pytest.mark.parametrize("fault", TABLES)
@pytest.mark.parametrize("way", ["from_table", "check"])
def test_an_error_of_a_table_keeps_no_row(fault, way, tmp_path, small_blocks):
    def work():
        source = TABLES[fault](tmp_path)
        if way == "check":
            SCHEMA.check(source, counts=True)
        else:
            Dataset.from_table(source, schema=SCHEMA)

    error = raised(work)
    assert list(frames(error))
    assert kept(error) == []
    assert error.__cause__ is None
    assert error.__context__ is None


def test_a_file_that_fails_between_its_lines_keeps_no_row(tmp_path, monkeypatch, small_blocks):
    from sfumato.schema import read_csv

    lines = iter([f"{FIGURE},{WORD},1\n".encode()] * 5)

    def line(file, limit):
        read = next(lines, None)
        if read is None:
            raise OSError(WORD)
        return read

    path = csv_file(tmp_path, b"x,k,b\n")
    monkeypatch.setattr(read_csv, "_line", line)
    error = raised(lambda: Dataset.from_table(path, schema=SCHEMA))
    assert "it failed with OSError" in str(error)
    assert kept(error) == []


MATRIX = np.full((9, 2), FIGURE)
ARRAYS = {
    "rows that fail later": (Failing([[FIGURE, FIGURE]] * 9), [FIGURE] * 9),
    "labels that fail later": (MATRIX, Failing([FIGURE] * 9)),
    "width": (np.full((9, 5), FIGURE), [FIGURE] * 9),
    "length": (MATRIX, [FIGURE]),
    "labels of two dimensions": (MATRIX, MATRIX),
    "sparse": (csr_array(np.full((9, 5), FIGURE)), [FIGURE] * 9),
}


@pytest.mark.parametrize("fault", ARRAYS)
def test_an_error_of_arrays_keeps_no_row(fault, small_blocks):
    X, y = ARRAYS[fault]
    error = raised(lambda: Dataset.from_arrays(X, y, schema=VECTOR))
    assert list(frames(error))
    assert kept(error) == []


@pytest.mark.parametrize(
    "fault", ["labels that fail later", "rows that fail later", "length", "labels of two dimensions"]
)
@pytest.mark.parametrize("kind", [sf.PrivateLinearRegression, sf.PrivateLogisticRegression])
def test_an_error_of_a_fit_keeps_no_row(fault, kind, small_blocks):
    X, y = ARRAYS[fault]
    if isinstance(X, Failing):
        X.calls = 0
    if isinstance(y, Failing):
        y.calls = 1  # a regression reads all labels at once
    declared = {"bounds_y": (0, 1)} if kind is sf.PrivateLinearRegression else {"classes": [0, 1]}
    error = raised(lambda: kind(1.0, 1e-6, data_norm=1.0, **declared).fit(X, y))
    assert list(frames(error))
    assert kept(error) == []


def test_an_error_after_the_rows_were_read_keeps_none_either(monkeypatch):
    def failing(*_given, **_named):
        raise RuntimeError("the ledger is exhausted")

    monkeypatch.setattr(_fitting, "publish", failing)
    X, y = MATRIX, [FIGURE] * 9
    error = raised(lambda: sf.PrivateLinearRegression(1.0, 1e-6, data_norm=1.0, bounds_y=(0, 1)).fit(X, y))
    names = {frame.f_code.co_name for frame in frames(error)}
    assert {"fit", "_release"} <= names
    for frame in frames(error):
        assert all(value is not X and value is not y for value in frame.f_locals.values())


def test_what_an_attempt_passes_on(monkeypatch):
    assert attempt(int, "5").get() == 5
    own = attempt(reading.open_table, {}, SCHEMA, None)
    assert own.error.__traceback__ is None
    assert "lacks columns" in str(own.error)
    with pytest.raises(MemoryError, match="do not fit"):
        attempt(lambda: np.empty(2**50)).get()
    with pytest.raises(ValueError, match="failed with ValueError") as caught:
        attempt(float, WORD).get()
    assert WORD not in str(caught.value)
    with pytest.raises(SystemExit):
        attempt(exit, 3)


@pytest.mark.planted
def test_an_error_raised_where_it_happens_is_seen(monkeypatch, small_blocks):
    """The planted fault: errors are not carried out of the frames that hold rows."""

    def directly(work, *given, **named):
        return outcome.Outcome(work(*given, **named))

    for module in (reading, dataset):
        monkeypatch.setattr(module, "attempt", directly)
    error = raised(lambda: Dataset.from_table(failing_columns(), schema=SCHEMA))
    assert any(found.startswith("from_table") for found in kept(error))
    monkeypatch.setattr(read_arrays, "open_labels", lambda *_given: float(WORD))
    error = raised(lambda: Dataset.from_arrays(MATRIX, [FIGURE] * 9, schema=VECTOR))
    assert any(found.startswith("open_arrays") for found in kept(error))
