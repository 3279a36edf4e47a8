"""Rows gathered by person agree with a dictionary of lists: whatever the order of the rows, the roster, and the memory."""

from __future__ import annotations

from collections import defaultdict
from datetime import date, datetime
from decimal import Decimal
from uuid import NAMESPACE_DNS, uuid5

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import sfumato as sf
from sfumato.dataset import rows_of
from sfumato.errors import ArgumentError
from sfumato.schema.identity import Identity
from sfumato.schema.missing_cells import missing_key

UUID = uuid5(NAMESPACE_DNS, "somebody")
COLUMNS = {"x": sf.Number(0, 10), "level": sf.Category(["a", "b", "c"], missing="a"), "yes": sf.Boolean(missing=False)}
LEVELS = ("a", "b", "c")


def schema_of(**persons) -> sf.Schema:
    options = {"most": 3, **persons} if persons.get("rule", "average") == "average" else persons
    return sf.Schema(COLUMNS, persons=sf.Persons("who", **options))


def gathered(data) -> list[list[tuple]]:
    """The rows of every person, in order: (x, level, yes, which cells were missing)."""
    people = []
    for block in rows_of(data).blocks():
        masks = np.stack([block[missing_key(name)] for name in COLUMNS], axis=1)
        rows = list(
            zip(block["x"].tolist(), block["level"].tolist(), block["yes"].tolist(), masks.tolist(), strict=True)
        )
        counts = [1] * len(rows) if block.counts is None else block.counts.tolist()
        at = 0
        for count in counts:
            people.append(rows[at : at + count])
            at += count
    return people


def table(cells: list[tuple]) -> dict:
    """Columns from (who, x, level, yes)."""
    who, x, level, yes = zip(*cells, strict=True) if cells else ((), (), (), ())
    return {"who": list(who), "x": list(x), "level": list(level), "yes": list(yes)}


def by_hash(ids) -> list:
    """Ids in the order that their persons have without a roster: that of the third word of the id, a public hash."""
    return sorted(ids, key=lambda who: int(Identity().encoded([who]).values[0, 2]))


def expected(cells: list[tuple], order: list) -> list[list[tuple]]:
    """The same by hand, without a cap; a person without rows has one of missing cells."""
    rows = defaultdict(list)
    for who, x, level, yes in cells:
        rows[who].append((float(x), LEVELS.index(level), int(yes), [False] * 3))
    return [rows[who] or [(5.0, 0, 0, [True] * 3)] for who in order]


CELLS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 10), st.sampled_from(LEVELS), st.booleans()), min_size=0, max_size=25
)


@given(CELLS, st.permutations(range(8)), st.booleans())
def test_a_roster_gives_the_order_and_everybody_is_there(cells, roster, small):
    data = sf.Dataset.from_table(
        table(cells), schema=schema_of(most=40, count=8), roster=roster, memory=1 if small else None
    )
    assert data.n == 8
    assert gathered(data) == expected(cells, roster)


@pytest.mark.planted
@given(CELLS, st.booleans())
def test_without_a_roster_persons_come_in_a_public_order_and_the_others_last(cells, small):
    """Neither the order of the rows nor whether they passed through temporaries says where anybody stands."""
    data = sf.Dataset.from_table(table(cells), schema=schema_of(most=40, count=9), memory=1 if small else None)
    seen = by_hash({who for who, *_ in cells})
    assert gathered(data) == expected(cells, [*seen, *(f"absent {k}" for k in range(9 - len(seen)))])


@given(CELLS, st.randoms(use_true_random=False), st.integers(1, 4))
def test_no_order_of_the_rows_and_no_memory_changes_who_counts_with_what(cells, random, most):
    """Persons of more rows than count are sampled by their content: the same rows from a shuffled file, and from temporaries."""
    schema, shuffled = schema_of(most=most, count=8), list(cells)
    random.shuffle(shuffled)
    readings = [
        gathered(sf.Dataset.from_table(table(each), schema=schema, roster=list(range(8)), memory=memory))
        for each, memory in ((cells, None), (shuffled, None), (shuffled, 1))
    ]
    for one, other, spilled in zip(*readings, strict=True):
        assert sorted(map(repr, one)) == sorted(map(repr, other)) == sorted(map(repr, spilled))
    whole = expected(cells, list(range(8)))
    for taken, rows in zip(readings[0], whole, strict=True):
        assert len(taken) == min(most, len(rows))
        left = list(rows)
        for row in taken:
            left.remove(row)  # each taken row is one of the person's, and no row is taken twice


OF_CELLS = {
    "first": lambda own: own[0],
    "last": lambda own: own[-1],
    "mean": np.mean,
    "min": min,
    "max": max,
    "sum": sum,
    "any": max,
    "all": min,
}
REDUCED = [
    ("first", "first", "first"), ("last", "last", "last"), ("mean", "any", "first"), ("min", "all", "last"),
    ("max", "any", "last"), ("sum", "all", "first"), ("count", "any", "last"),
]  # fmt: skip


@pytest.mark.parametrize("steps", REDUCED, ids="-".join)
def test_a_rule_reads_the_cells_that_a_person_has(steps):
    """Empty cells are left out; of no cell the result is missing, but for a sum or a count. Results are clipped to the bounds."""
    rng = np.random.default_rng(3)

    def cell(*values):
        return None if rng.random() < 0.4 else values[rng.integers(len(values))]

    cells = [(int(who), cell(*range(8)), cell(*LEVELS), cell(False, True)) for who in rng.integers(0, 8, 40)]
    cells.append((8, None, None, None))
    schema = schema_of(rule="reduce", count=10, reduce=dict(zip(("x", "yes", "level"), steps, strict=True)))
    found = gathered(sf.Dataset.from_table(table(cells), schema=schema, roster=list(range(10))))
    by_column = {"x": (0, steps[0], 5.0), "level": (1, steps[2], "a"), "yes": (2, steps[1], False)}
    for who, [(*values, missing)] in enumerate(found):
        rows = [each[1:] for each in cells if each[0] == who]
        for place, step, filled in by_column.values():
            own = [row[place] for row in rows if row[place] is not None]
            none = not own and step not in ("sum", "count")
            value = filled if none else len(rows) if step == "count" else OF_CELLS[step](own) if own else 0
            assert values[place] == (LEVELS.index(value) if place == 1 else min(value, 10))
            assert missing[place] == none


def test_a_sample_of_a_persons_rows_is_fair():
    """Of 10 rows, 5 of each kind, 4 are taken: over 2,000 persons half of them are of either kind."""
    who = np.repeat(np.arange(2_000), 10)
    yes = np.tile(np.arange(10) % 2 == 0, 2_000)
    data = sf.Dataset.from_table(
        {"who": who, "x": np.zeros(20_000), "level": np.full(20_000, "a"), "yes": yes},
        schema=schema_of(most=4, count=2_000),
    )
    ones = np.array([sum(row[2] for row in rows) for rows in gathered(data)])
    # Hypergeometric: mean 2, variance 4 * .25 * 6/9; five deviations of the mean of 2,000.
    assert abs(ones.mean() - 2) < 5 * np.sqrt(4 * 0.25 * 6 / 9 / 2_000)
    assert set(ones) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    "who", [None, "", "  ", "NaN", float("nan"), float("inf"), [7], {}, "n/a", pd.NaT, np.datetime64("NaT")]
)
def test_rows_without_an_id_belong_to_nobody(who):
    """They are dropped one by one, and not pooled as the rows of one person."""
    cells = [(0, 1, "a", True), (who, 9, "b", True), (who, 9, "b", True), (1, 2, "c", False)]
    schema = sf.Schema(COLUMNS, persons=sf.Persons("who", most=3, count=3), missing_codes=["n/a"])
    data = sf.Dataset.from_table(table(cells), schema=schema)
    assert gathered(data) == expected([cells[0], cells[3]], [*by_hash([0, 1]), "absent"])


SPELLINGS = [
    ["7", "7.0", " 7 ", 7, 7.0, "007", "7.", "+7", "7e0", np.int64(7), np.float32(7), b"7", "7.00"],
    ["Anna", "anna", " ANNA ", "ａｎｎａ", "An\u200bna"],
    ["É", "é", "E\u0301"],
    ["A 7", "a  7"],
    [12345678901234567890, "12345678901234567890", "12345678901234567890.0"],
    ["7", "0" * 300 + "7", "7." + "0" * 300, "7\0", Decimal("7.00")],
    [2**63, float(2**63), str(2**63), repr(float(2**63))],
    [10**61, str(10**61), Decimal(10**61), 1e61, "1e61"],
    ["-7", "\u22127", "\u20137", -7, "-7.0"],
    [0.1, "0.1", ".1", np.float32(0.1), "1e-1", Decimal("0.10")],
    [True, "True", "TRUE", 1, "1"],
    ["2020-01-01", date(2020, 1, 1), datetime(2020, 1, 1, 5), pd.Timestamp("2020-01-01"), "2020-01-01 00:00:00",
     "2020-01-01T05:00:00Z", np.datetime64("2020-01-01T03")],
    [UUID, str(UUID), str(UUID).upper(), UUID.bytes, UUID.hex],
    ["17e6145787", "17E6145787", "170e6145786"],
    ["7", "\uff17", "\u0667", "\u06f7", "\u096d", "\u0667\ufe0f", "+\u0667"],
    ["Anna", "Anna\ufe0f", "An\u034fna", "Anna\u3164", "\u115fAnna", "Anna\u2800", "Anna\U000e0100", "Anna\u180b"],
    ["ali", "AL\u0130", "ALI", "al\u0131", "ali\u0307"],
    ["O'Neil", "O\u2019Neil", "o\u02bcneil", "O\u2018NEIL"],
]  # fmt: skip


@pytest.mark.planted
@pytest.mark.parametrize("spellings", SPELLINGS)
def test_one_person_is_never_two_by_a_spelling(spellings):
    cells = [(who, 1, "a", True) for who in spellings] + [("somebody else", 1, "a", True)]
    data = sf.Dataset.from_table(table(cells), schema=schema_of(most=40, count=2))
    assert sorted(len(rows) for rows in gathered(data)) == [1, len(spellings)]


class Raising(int):
    """A number that fails when it is read."""

    def __int__(self):
        raise RuntimeError


class Late(date):
    def __str__(self):
        raise RuntimeError


@pytest.mark.planted
@pytest.mark.parametrize("kind", ["exponent", "hexadecimal", "long", "raising", "date"])
def test_no_id_raises(kind):
    """A single id must not decide whether a table can be read; off a roster its row is dropped."""
    long = type("Long", (int,), {})(10**5000)
    odd = {
        "exponent": "1e9999999",
        "hexadecimal": "17e6145787",
        "long": long,
        "raising": Raising(5),
        "date": Late(2020, 1, 1),
    }
    cells = [(1, 1, "a", True), (odd[kind], 9, "b", True)]
    data = sf.Dataset.from_table(table(cells), schema=schema_of(most=3, count=2), roster=[1, 2])
    assert gathered(data) == expected([cells[0]], [1, 2])


@pytest.mark.planted
@pytest.mark.parametrize("kind", ["binary", "text", "list", "numbers", "decimals"])
def test_every_reader_knows_the_persons_of_a_roster(kind):
    ids = {
        "binary": pa.array([b"7", b"8"]),
        "text": pa.array(["7", "8"]).dictionary_encode(),
        "list": [b"7", "8"],
        "numbers": pa.array([7.0, 8.0]),
        "decimals": pa.array([Decimal(7), Decimal(8)], pa.decimal256(70, 3)),
    }[kind]
    cells = {"who": ids, "x": [1, 2], "level": ["a", "b"], "yes": [True, False]}
    data = sf.Dataset.from_table(cells, schema=schema_of(most=3, count=3), roster=[8, 7, 9])
    assert gathered(data) == expected([(7, 1, "a", True), (8, 2, "b", False)], [8, 7, 9])


@pytest.mark.planted
@pytest.mark.parametrize("rule", [{"most": 3}, {"rule": "first"}])
@pytest.mark.parametrize("present", [0, 1, 3])
def test_sparse_rows_stay_sparse_whoever_is_absent(rule, present):
    """The kind of a data set chooses its engine, and must not depend on who has rows."""
    schema = sf.Schema.vector(5, data_norm=1.0, persons=sf.Persons("who", count=3, **rule))
    rows = csr_array(np.eye(5)[: 2 * present])
    data = sf.Dataset.from_arrays(rows, schema=schema, groups=[k // 2 for k in range(2 * present)][: rows.shape[0]])
    assert data.kind == "sparse"
    (block,) = rows_of(data).blocks()
    assert block["matrix"].format == "csr"
    assert (len(block.counts) if block.counts is not None else block.rows) == 3


@pytest.mark.planted
def test_n_is_the_declared_number_and_more_ids_are_an_error_for_the_curator():
    cells = [(who, 1, "a", True) for who in range(5)]
    with pytest.raises(ArgumentError, match="more persons than the schema's count = 4") as caught:
        sf.Dataset.from_table(table(cells), schema=schema_of(count=4))
    assert "5" not in str(caught.value)
    assert sf.Dataset.from_table(table(cells), schema=schema_of(count=5)).n == 5
    assert sf.Dataset.from_table(table(cells), schema=schema_of(count=50)).n == 50
    assert sf.Dataset.from_table(table([]), schema=schema_of(count=50)).n == 50


@pytest.mark.planted
@pytest.mark.parametrize("rule", ["average", "first"])
def test_n_is_the_number_of_persons_and_not_that_of_rows(rule):
    """Twelve rows of three persons of five, with a roster and without."""
    cells = [(who, 1, "a", True) for who in (0, 1, 2) for _ in range(4)]
    for roster in (None, range(5)):
        given = None if roster is None else list(roster)
        data = sf.Dataset.from_table(table(cells), schema=schema_of(count=5, rule=rule), roster=given)
        assert data.n == rows_of(data).n == 5
        assert len(gathered(data)) == 5


def test_rows_of_ids_off_the_roster_are_dropped():
    cells = [(who, who, "b", True) for who in (3, 0, 9, 1, 8)]
    data = sf.Dataset.from_table(table(cells), schema=schema_of(count=4), roster=[0, 1, 2, 3])
    assert gathered(data) == expected([cells[0], cells[1], cells[3]], [0, 1, 2, 3])


def test_a_roster_that_contradicts_the_schema_is_refused():
    with pytest.raises(ArgumentError, match=r"3 persons and the schema declares count = 4"):
        sf.Dataset.from_table(table([]), schema=schema_of(count=4), roster=["a", "A ", "b", "c"])
    with pytest.raises(ArgumentError, match="row without an id"):
        sf.Dataset.from_table(table([]), schema=schema_of(count=4), roster=["a", None, "b", "c"])
    with pytest.raises(ArgumentError, match="declares none"):
        sf.Dataset.from_table({"x": [1]}, schema=sf.Schema({"x": sf.Number(0, 1)}), roster=[1])
