"""The masks of missing cells: what they say through every reader, where they are kept, and who does not see them."""

from __future__ import annotations

import copy
import datetime
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from table_readers import READERS, TABLE, TABLE_ROWS, VECTOR, VECTOR_ROWS, content

import sfumato as sf
from effort import sized
from sfumato.dataset import Dataset, blocks, rows_of, storing
from sfumato.errors import ArgumentError
from sfumato.models.families.family import Family
from sfumato.queries import public_rows
from sfumato.rehearsing import expected_rows
from sfumato.schema import Boolean, Category, Date, Number, Schema, read_arrays, reading
from sfumato.schema.counts import Tally
from sfumato.schema.encoding import encode
from sfumato.schema.missing_cells import missing_key, read_bits, size_of, with_masks, write_bits
from sfumato.schema.structure import BLOCK_ROWS

TABLE_READERS = [name for name in READERS if READERS[name].schema is TABLE]
NAMES = list(TABLE.columns)


def masks(data: Dataset) -> dict[str, list[bool]]:
    """Which cells of every column are missing, the blocks joined."""
    blocks = list(rows_of(data).blocks())
    return {name: [bool(cell) for block in blocks for cell in block[missing_key(name)]] for name in data.schema.columns}


def holed(count: int, share: float, seed: int) -> tuple[list[tuple], dict[str, list[bool]]]:
    """Rows of the survey with cells taken out at random, and which; every column has its own pattern."""
    gone = np.random.default_rng(seed).random((count, len(NAMES))) < share
    full = [TABLE_ROWS[row % len(TABLE_ROWS)] for row in range(count)]
    rows = [
        tuple(None if out else cell for cell, out in zip(row, lost, strict=True))
        for row, lost in zip(full, gone, strict=True)
    ]
    return rows, {name: gone[:, place].tolist() for place, name in enumerate(NAMES)}


# --- what they say ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reader", TABLE_READERS)
@pytest.mark.parametrize("block", [4, 16])
def test_every_reader_marks_exactly_the_missing_cells(reader, block, tmp_path, small_blocks, monkeypatch):
    """Chunks of 3 rows end inside a byte, blocks of 4 rows are shorter than one, blocks of 16 have two."""
    monkeypatch.setattr(storing, "BLOCK_ROWS", block)
    for count in sized((9, 33), (1, 7, 8, 9, 16, 17, 33, 64)):
        for texts in (False, True):
            rows, gone = holed(count, 0.4, count)
            assert masks(READERS[reader].make(rows, texts, tmp_path)) == gone


@given(st.lists(st.lists(st.booleans(), max_size=21), max_size=8))
def test_runs_of_any_length_are_written_one_after_another(runs):
    whole = [cell for run in runs for cell in run]
    bits, place = np.zeros(size_of(len(whole)), dtype=np.uint8), 0
    for run in runs:
        write_bits(bits, place, np.array(run, dtype=bool))
        place += len(run)
    assert read_bits(bits, len(whole)).tolist() == whole


def test_masks_cross_the_blocks_of_a_data_set():
    gone = np.random.default_rng(3).random(BLOCK_ROWS + 4_097) < 0.3
    cells = np.where(gone, np.nan, 1.0)
    blocks = list(rows_of(Dataset.from_table({"x": cells}, schema=Schema({"x": Number(0, 2)}))).blocks())
    assert [block.rows for block in blocks] == [BLOCK_ROWS, 4_097]
    assert np.array_equal(np.concatenate([block[missing_key("x")] for block in blocks]), gone)


CELLS = {
    "number": (Number(0, 100, missing=50, missing_codes=[99]), [50, 0, 1e9, "7"], [None, "", "abc", 99, "99", np.inf]),
    "whole": (Number(0, 9, integer=True), [4, 4.4, -3], [np.nan, "4,5"]),
    "date": (Date("2000-01-01", "2009-12-31"), ["2000-01-01", datetime.date(1800, 1, 1)], ["2001-02-30", None, "x"]),
    "category": (Category(["a", "unknown"], missing="unknown"), ["a", "unknown", " a "], ["b", "A", None, 3]),
    "levels that are numbers": (Category([3, 1], missing=1, missing_codes=[9]), [1, "3", 1.0], [2, 9, "", None]),
    "boolean": (Boolean(missing=True), [True, 0, "yes"], [2, "maybe", None]),
}


@pytest.mark.parametrize("kind", CELLS)
def test_a_cell_is_missing_where_no_value_was_read_and_not_where_it_holds_the_value_of_missing_cells(kind):
    column, there, gone = CELLS[kind]
    found = masks(Dataset.from_table({"x": [*there, *gone]}, schema=Schema({"x": column})))["x"]
    assert found == [False] * len(there) + [True] * len(gone)


def test_a_row_of_another_length_is_one_of_missing_cells(tmp_path):
    (tmp_path / "t.csv").write_text("x,k\n1,a\n\n1,a,2\n2,b\n")
    schema = Schema({"x": Number(0, 2), "k": Category(["a", "b"], missing="a")})
    expected = {"x": [False, True, True, False], "k": [False, True, True, False]}
    assert masks(Dataset.from_table(tmp_path / "t.csv", schema=schema)) == expected
    assert masks(Dataset.from_arrays([[1, "a"], [], [1, "a", 2], [2, "b"]], schema=schema)) == expected


def test_the_curator_counts_what_is_marked(tmp_path):
    rows, gone = holed(30, 0.3, 5)
    data = dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))
    counts = TABLE.check(data, counts=True).columns
    assert {name: counts[name].missing for name in NAMES} == {name: sum(gone[name]) for name in NAMES}


# --- what a record can change ----------------------------------------------------------------------------------------

ODD = [None, "", "abc", 1e308, float("nan"), "f", -1.0]


@pytest.mark.parametrize("reader", TABLE_READERS)
def test_the_mask_of_a_record_depends_on_that_record_alone(reader, tmp_path, small_blocks):
    """One replaced record: every other bit stays, and the bits of the record are those that it has alone."""
    entry = READERS[reader]
    rows, _ = holed(11, 0.4, 9)
    for place, cell in enumerate(ODD):
        if not entry.holds(cell):
            continue
        texts, row = isinstance(cell, str), (3 * place) % 11
        record = (cell,) * len(NAMES)
        before = masks(entry.make(rows, texts, tmp_path))
        after = masks(entry.make([*rows[:row], record, *rows[row + 1 :]], texts, tmp_path))
        for name, column in TABLE.columns.items():
            alone = bool(encode(column, [cell]).missing[0])
            assert after[name] == [*before[name][:row], alone, *before[name][row + 1 :]], (name, cell)


# Cells beyond every bound are drawn often, so that two of them meet in one chunk.
anything = st.one_of(
    st.sampled_from([None, "", 1e3, 2e3, "-1e4", "f", 9]), st.floats(), st.text(), st.booleans(), st.binary()
)


@given(st.lists(anything, min_size=1, max_size=6))
def test_any_cell_is_marked_as_it_would_be_alone(cells):
    for column in TABLE.columns.values():
        assert encode(column, cells).missing.tolist() == [bool(encode(column, [cell]).missing[0]) for cell in cells]


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_memory_of_masks_depends_on_public_numbers_alone(share, tmp_path):
    rows, _ = holed(37, share, 1)
    (block,) = rows_of(READERS["mapping"].make(rows, False, tmp_path)).blocks()
    assert {name: bits.nbytes for name, bits in block._bits.items()} == {missing_key(name): 5 for name in NAMES}


# --- where they are kept ---------------------------------------------------------------------------------------------


def test_no_column_can_have_the_name_of_a_mask():
    for name in ("age", "missing", missing_key("age").strip()):
        Schema({name: Number(0, 1)})
        with pytest.raises(ArgumentError, match="without space around it"):
            Schema({missing_key(name): Number(0, 1)})


def test_a_block_lists_its_columns_alone_and_shows_no_mask():
    rows, _ = holed(5, 0.5, 2)
    (block,) = rows_of(READERS["mapping"].make(rows, False, None)).blocks()
    assert list(block) == list(block.keys()) == [name for name, _ in block.items()] == NAMES
    assert len(block) == len(NAMES)
    assert repr(block) == f"Block(rows=5, columns={NAMES})"
    with pytest.raises(ValueError, match="read-only"):
        block[missing_key("age")][0] = True
    with pytest.raises(KeyError):
        block[missing_key("nobody")]
    for escape in (pickle.dumps, copy.copy, copy.deepcopy, vars):
        with pytest.raises(TypeError):
            escape(block)


@pytest.mark.parametrize("reader", [name for name in READERS if READERS[name].schema is VECTOR])
def test_vectors_have_no_masks(reader, tmp_path):
    (block,) = rows_of(READERS[reader].make([*VECTOR_ROWS, (None,) * 4], False, tmp_path)).blocks()
    for name in ("target", "matrix"):
        with pytest.raises(KeyError):
            block[missing_key(name)]
    (chunk,) = reading.open_matrix(np.zeros((2, 3)), [1, None], VECTOR, Tally())
    assert list(chunk) == ["matrix", "target"]


# --- who sees them ---------------------------------------------------------------------------------------------------

SMALL = Schema(
    {
        "g": Category(["a", "b"], missing="a"),
        "b": Boolean(missing=False),
        "x": Number(0, 6),
        "y": Boolean(missing=False),
    },
    target="y",
    data_norm=1.0,
)
REGRESSION = sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(5.0), 4)
MODELS = {
    "rate": (sf.families.BetaBernoulli(12, 8), ["b"], "noisy-statistics"),
    "mean": (sf.families.NormalMean(4.0, 0, 6, mean=3.0, precision=2.0), ["x"], "diffused"),
    "rate by group": (sf.grouped(sf.families.BetaBernoulli(12, 8), "g", ["a", "b"]), ["g", "b"], "noisy-statistics"),
    "network": (
        sf.networks.BayesianNetwork.from_schema(SMALL.only(["g", "b"]), {"g": [], "b": ["g"]}),
        ["g", "b"],
        "noisy-statistics",
    ),
    "regression": (REGRESSION, list(SMALL.columns), "langevin"),
}


def draws(model, names, mechanism) -> bytes:
    cells = {"g": ["a", None, "b"], "b": [True, None, 0, 1], "x": [None, 1, 5, "?", 2], "y": [1, 0, None]}
    schema = SMALL.only(names, "y" if "y" in names else None)
    data = Dataset.from_table({name: (cells[name] * 60)[:60] for name in names}, schema=schema)
    plan = sf.plan(model, 60, epsilon=1.0, delta=1e-6, mechanism=mechanism)
    return sf.publish(plan, data, randomness=sf.seeded(4)).draws.values.tobytes()


@pytest.mark.parametrize("case", MODELS)
def test_models_that_do_not_ask_draw_the_same_whatever_is_marked(case, monkeypatch):
    expected = draws(*MODELS[case])

    def inverted(encoded):
        chunk = with_masks(encoded)
        return {name: ~array if name not in encoded else array for name, array in chunk.items()}

    monkeypatch.setattr(reading, "with_masks", inverted)
    assert draws(*MODELS[case]) == expected
    monkeypatch.setattr(blocks, "read_bits", lambda bits, rows: pytest.fail("a mask was read"))
    assert draws(*MODELS[case]) == expected


def test_public_records_come_with_masks_in_the_order_of_their_rows(tmp_path, monkeypatch):
    """`with_public` hands a family the masks of the columns that it reads, run by run."""
    monkeypatch.setattr("sfumato.models.families.family.BLOCK_ROWS", 5)
    rows, gone = holed(13, 0.4, 6)
    seen = []

    class Asking(sf.families.BetaBernoulli):
        def columns(self, schema):
            return ("smoker", "age")

        def tally(self, block, columns):
            assert list(block) == ["smoker", "age", missing_key("smoker"), missing_key("age")]
            seen.append({name: block[missing_key(name)] for name in columns})
            return np.array([int(block["smoker"].sum())])

        sensitivity = sf.families.BetaBernoulli.sensitivity

        def claim(self, *facts):
            raise AssertionError("nothing is drawn")

    public = dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))
    assert isinstance(Asking(1, 1).with_public(public, schema=TABLE), Family)
    assert [len(run["age"]) for run in seen] == [5, 5, 3]
    for name in ("smoker", "age"):
        assert np.concatenate([run[name] for run in seen]).tolist() == gone[name]


def test_public_vectors_are_read_without_masks():
    model = sf.families.GaussianMean(2, 2.0, 4.0)
    public = np.array([[0.5, np.nan], [1.0, 0.0]])
    assert isinstance(model.with_public(public, schema=Schema.vector(2, data_norm=2.0)), Family)


def test_chunks_of_every_table_hold_a_mask_for_each_column(monkeypatch):
    monkeypatch.setattr(read_arrays, "CHUNK_ROWS", 2)
    rows, _ = holed(5, 0.4, 8)
    chunks = list(reading.open_matrix([row[:-1] for row in rows], [row[-1] for row in rows], TABLE, Tally()))
    assert [len(chunk["age"]) for chunk in chunks] == [2, 2, 1]
    for chunk in chunks:
        assert sorted(chunk) == sorted([*NAMES, *map(missing_key, NAMES)])
        assert all(chunk[missing_key(name)].dtype == bool for name in NAMES)
    assert content(Dataset.from_arrays([row[:-1] for row in rows], [row[-1] for row in rows], schema=TABLE)).keys() == {
        *NAMES
    }


def test_public_rows_are_columns_without_masks():
    public = {"x": [1.0, None], "k": ["a", None]}
    schema = Schema({"x": Number(0, 2), "k": Category(["a", "b"], missing="a")})
    assert list(public_rows._table(schema, public).columns) == ["x", "k"]
    assert list(expected_rows._read(schema, public)) == ["x", "k"]
