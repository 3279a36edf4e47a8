"""Rows that stay in their file: which engine is chosen, what a pass reads, and a file that is changed meanwhile."""

from __future__ import annotations

import subprocess
import sys
import threading
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from effort import LONG, sized
from sfumato.dataset import rows_of
from sfumato.dataset.streaming import assembled
from sfumato.engines import shapes
from sfumato.engines.opening import open_engine, watched
from sfumato.engines.passes import part_count
from sfumato.engines.reading_ahead import ahead
from sfumato.errors import ArgumentError, PublishError
from sfumato.schema.missing_cells import missing_key
from sfumato.schema.structure import BLOCK_ROWS

SCHEMA = sf.Schema(
    {"x": sf.Number(0, 1), "k": sf.Category(["a", "b"], missing="a"), "y": sf.Boolean(missing=False)},
    target="y",
    name="survey",
)


def table(rows: int = 1_000, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    x = rng.random(rows)
    return pa.table({"x": np.where(x < 0.05, np.nan, x), "k": rng.choice(["a", "b", "c"], rows), "y": x < 0.4})


@pytest.fixture(params=["parquet", "feather", "arrow"])
def path(request, tmp_path):
    file = tmp_path / f"t.{request.param}"
    if request.param == "parquet":
        pq.write_table(table(), file, row_group_size=130)
    elif request.param == "feather":
        pa.feather.write_feather(table(), file, chunksize=170)
    else:
        with pa.ipc.new_stream(file, table().schema) as writer:
            writer.write_table(table(), 90)
    return file


def content(data: sf.Dataset, columns=None, records=None) -> dict[str, np.ndarray]:
    blocks = list(rows_of(data).blocks(columns, records))
    names = [*blocks[0], *(missing_key(name) for name in blocks[0])]
    return {name: np.concatenate([block[name] for block in blocks]) for name in names}


@pytest.mark.planted
@pytest.mark.parametrize("records", [None, 64, 999, 5_000])
def test_a_pass_gives_the_rows_that_memory_holds(path, records):
    held, streamed = (sf.Dataset.from_table(path, schema=SCHEMA, engine=where) for where in ("memory", "streamed"))
    assert (held.n, streamed.n) == (1_000, 1_000)
    for _ in range(2):  # every pass reads them anew
        one, other = content(held), content(streamed, None, records)
        assert {name: column.tobytes() for name, column in one.items()} == {
            name: c.tobytes() for name, c in other.items()
        }


@pytest.mark.planted
def test_a_pass_reads_the_columns_that_it_needs_alone(path, monkeypatch):
    from sfumato.dataset import streaming

    seen, opened = [], streaming.open_again

    def spy(file, schema, *given):
        seen.append(tuple(schema.columns))
        return opened(file, schema, *given)

    monkeypatch.setattr(streaming, "open_again", spy)
    data = sf.Dataset.from_table(path, schema=SCHEMA, engine="streamed")
    model = sf.regression("logistic", SCHEMA, ["x"])
    sf.publish(sf.plan(model, 1_000, 1.0, 1e-6, mechanism="langevin-path", goal="estimate", steps=3), data)
    assert set(seen) == {("x", "y")}
    assert len(seen) == 3


def test_rows_that_fit_are_held_and_others_are_streamed(path):
    assert sf.Dataset.from_table(path, schema=SCHEMA).engine == "memory"
    data = sf.Dataset.from_table(path, schema=SCHEMA, memory=1_000)
    assert data.engine == "streamed"
    assert "engine='streamed', columns: x, k, y)" in repr(data)
    assert sf.Dataset.from_table(path, schema=SCHEMA, memory=1_000, engine="memory").engine == "memory"


@pytest.mark.planted
def test_a_declared_limit_is_kept_where_rows_cannot_be_streamed(tmp_path):
    (tmp_path / "t.csv").write_text("x,k,y\n" + "0.5,a,1\n" * 100)
    whole = sum(array.itemsize for array in next(rows_of(table_in(tmp_path, None)).blocks()).values())
    assert table_in(tmp_path, 100 * whole).n == 100
    with pytest.raises(ArgumentError, match=f"take more than the {100 * whole - 1} bytes"):
        table_in(tmp_path, 100 * whole - 1)
    assert table_in(tmp_path, 1, "memory").n == 100


def table_in(folder, memory, engine="auto"):
    return sf.Dataset.from_table(folder / "t.csv", schema=SCHEMA, memory=memory, engine=engine)


@pytest.mark.planted
def test_how_far_a_pass_is_can_be_watched(path):
    data = sf.Dataset.from_table(path, schema=SCHEMA, engine="streamed")
    seen = []
    with watched(data, lambda read, n: seen.append((read, n))):
        list(rows_of(data).blocks(None, 300))
    list(rows_of(data).blocks())
    assert seen == [(300, 1_000), (600, 1_000), (900, 1_000), (1_000, 1_000)]
    with watched(sf.Dataset.from_table(path, schema=SCHEMA), seen.append):
        pass


def test_what_cannot_be_read_again_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("x,k,y\n0.5,a,1\n")
    for source in (table(), {"x": [0.5], "k": ["a"], "y": [True]}, str(tmp_path / "t.csv")):
        with pytest.raises(ArgumentError, match=r"\.parquet, \.arrow or \.feather"):
            sf.Dataset.from_table(source, schema=SCHEMA, engine="streamed")
    with pytest.raises(ArgumentError, match="engine must be one of"):
        sf.Dataset.from_table(table(), schema=SCHEMA, engine="cloud")
    with pytest.raises(ArgumentError, match=r"there is no file .*Several files are read by a Dask cluster"):
        sf.Dataset.from_table(str(tmp_path / "t-*.parquet"), schema=SCHEMA, engine="streamed")
    with pytest.raises(ArgumentError, match="an array is in memory already"):
        sf.Dataset.from_arrays([[0.5]], schema=sf.Schema.vector(1, data_norm=1.0), engine="streamed")


@pytest.mark.planted
def test_a_file_that_was_changed_is_refused(tmp_path):
    file = tmp_path / "t.parquet"
    pq.write_table(table(), file)
    data = sf.Dataset.from_table(file, schema=SCHEMA, engine="streamed")
    pq.write_table(table(seed=1), file)
    with pytest.raises(PublishError, match=r"t\.parquet was changed"):
        list(rows_of(data).blocks())
    # A release sees it before anything is charged.
    ledger = sf.Ledger.open(tmp_path / "budget.db")
    ledger.register("survey", epsilon=3.0, delta=1e-5)
    with pytest.raises(PublishError, match=r"t\.parquet was changed"):
        sf.publish(sf.plan(sf.regression("logistic", SCHEMA, ["x"]), 1_000, 1.0, 1e-6, goal="estimate"), data, ledger)
    assert ledger.spent("survey").charges == 0


def test_blocks_are_cut_at_the_same_places_whatever_the_chunks(monkeypatch):
    from sfumato.dataset import streaming

    monkeypatch.setattr(streaming, "BLOCK_ROWS", 10)
    rows = np.arange(33)
    for sizes in ([33], [1] * 33, [7, 7, 7, 7, 5], [32, 1]):
        edges = np.cumsum([0, *sizes])
        chunks = ({"x": rows[a:b]} for a, b in pairwise(edges.tolist()))
        cut = [block["x"].tolist() for block in assembled(chunks, 4)]
        assert [len(part) for part in cut] == [4, 4, 2, 4, 4, 2, 4, 4, 2, 3]
        assert np.concatenate(cut).tolist() == rows.tolist()


@pytest.mark.parametrize("records", [1, 256, 8_192, 65_536, 5_216])
def test_the_number_of_parts_follows_from_n(records):
    for n in (0, 1, records, records + 1, BLOCK_ROWS, BLOCK_ROWS + 1, 3 * BLOCK_ROWS + 7):
        blocks = [min(BLOCK_ROWS, n - start) for start in range(0, n, BLOCK_ROWS)]
        assert part_count(n, records) == sum(-(-block // records) for block in blocks)


@pytest.mark.planted
def test_items_are_made_ahead_in_order_and_an_error_is_raised_in_its_place():
    assert list(ahead(iter(range(50)))) == list(range(50))

    def failing():
        yield 1
        raise OSError("a disk")

    items = ahead(failing())
    assert next(items) == 1
    with pytest.raises(OSError, match="a disk"):
        next(items)


def test_a_pass_that_is_given_up_leaves_no_thread():
    items = ahead(iter(range(10**9)))
    assert next(items) == 0
    items.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "sfumato-reading"]


@pytest.mark.planted
def test_weights_are_kept_where_there_is_room_and_have_the_same_bits(path, monkeypatch):
    """Room for a weight a row (8 bytes) is a quarter of the memory that rows may take; computed once, or on every pass."""
    computed = []
    weigh = shapes._weigh
    monkeypatch.setattr(shapes, "_weigh", lambda *given: computed.append(1) or weigh(*given))
    model, found = sf.regression("logistic", SCHEMA, ["x", "k"]), {}
    for memory in (4 * 8 * 1_000, 4 * 8 * 1_000 - 1):
        computed.clear()
        data = sf.Dataset.from_table(path, schema=SCHEMA, memory=memory, engine="streamed")
        engine = open_engine(data, model, ("gradients", "shapes"))
        weighed = engine.weighed(3.0 * np.eye(engine.dimension), 1.0)
        theta = np.full((1, engine.dimension), 0.3)
        sums = [weighed.gradient(theta), weighed.gradient(theta), *weighed.second_sums(theta[0], True)]
        found[len(computed)] = [np.asarray(each).tobytes() for each in sums]
    assert set(found) == {1, 3}
    assert found[1] == found[3]


MEASURE = """
import resource, sys
import pyarrow.parquet
import sfumato as sf
from sfumato.engines import dense
columns = {f"x{k}": sf.Number(-4, 4) for k in range(20)}
schema = sf.Schema({**columns, "y": sf.Boolean(missing=False)}, target="y")
model = sf.regression("logistic", schema, list(columns))
plan = sf.plan(model, int(sys.argv[2]), 1.0, 1e-9, mechanism="shaped-path", goal="estimate", steps=2)
# The same on a small file first: the code of all libraries is loaded, and what is measured are rows.
small = sf.Dataset.from_table(sys.argv[5], schema=schema, engine="streamed")
sf.publish(sf.plan(model, 2_000, 1.0, 1e-9, mechanism="shaped-path", goal="estimate", steps=2), small)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
data = sf.Dataset.from_table(sys.argv[1], schema=schema, memory=int(sys.argv[3]), engine=sys.argv[4])
sf.publish(plan, data)
print(data.engine, peak() - before)
"""


@pytest.mark.planted
def test_the_peak_of_a_streamed_regression_is_below_a_quarter_of_the_decoded_table(tmp_path):
    """A limit on memory that is a quarter of what the rows take decoded; in memory they take more than all of it."""
    rows = sized(3_200_000, 12_800_000)
    decoded = rows * 21 * 8
    limit = decoded // 4
    rng = np.random.default_rng(0)
    file = tmp_path / "wide.parquet"
    part = {f"x{k}": rng.normal(size=rows // 16).astype(np.float32) for k in range(20)}
    part["y"] = rng.random(rows // 16) < 0.5
    with pq.ParquetWriter(file, pa.table(part).schema) as writer:
        for _ in range(16):
            writer.write_table(pa.table(part))
    small = tmp_path / "small.parquet"
    pq.write_table(pa.table(part).slice(0, 2_000), small)
    peaks = {}
    for where in sized(("auto",), ("auto", "memory")):
        command = [sys.executable, "-c", MEASURE, str(file), str(rows), str(limit), where, str(small)]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        peaks[printed[0]] = int(printed[1])
    assert peaks["streamed"] <= limit
    assert not LONG or peaks["memory"] > decoded
