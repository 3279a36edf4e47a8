"""What the curator is told about whose rows count agrees with a dictionary of lists."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ArgumentError

WHO = st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=40)


def schema_of(**facts) -> sf.Schema:
    options = {"most": 2, "rows": "visits", **facts} if facts.get("rule", "average") == "average" else facts
    return sf.Schema({"x": sf.Boolean(missing=False)}, persons=sf.Persons("who", **options))


def table(who) -> dict:
    return {"who": who, "x": [True] * len(who)}


@given(WHO, st.integers(1, 12))
@pytest.mark.planted
def test_with_a_declared_number_all_ids_are_persons(who, count):
    each = Counter(one for one in who if one is not None)
    counts = schema_of(count=count).check(table(who), counts=True)
    found = counts.persons
    assert (found.declared, found.without_id, found.off_roster) == (count, who.count(None), 0)
    assert found.absent == max(0, count - len(each))
    assert found.unexpected == max(0, len(each) - count)
    assert found.above == sum(number > 2 for number in each.values())
    assert found.beyond == sum(max(0, number - 2) for number in each.values())
    assert counts.rows == len(who)
    assert list(counts.columns) == (["x"] if who else [])


@given(WHO, st.sets(st.integers(0, 9), min_size=1))
@pytest.mark.planted
def test_with_a_roster_rows_of_other_ids_are_counted_apart(tmp_path_factory, who, listed):
    path = tmp_path_factory.mktemp("roster") / "ids.csv"
    # A person may be listed twice, in another spelling.
    path.write_text("who\n" + "".join(f"{one}\n{one}.0\n" for one in listed))
    each = Counter(one for one in who if one in listed)
    found = schema_of(roster=str(path)).check(table(who), counts=True).persons
    assert (found.declared, found.unexpected) == (len(listed), 0)
    assert found.absent == len(listed) - len(each)
    assert found.off_roster == sum(one is not None and one not in listed for one in who)
    assert found.above == sum(number > 2 for number in each.values())


def test_the_counts_are_said_in_two_lines_for_the_curator_alone(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("who,x\n7,yes\n7.0,no\n 7,no\n8,\n,yes\nb,yes\n")
    (tmp_path / "ids.csv").write_text("who\n7\n8\n9\n")
    text = str(schema_of(count=3).check(path, counts=True, roster=tmp_path / "ids.csv"))
    assert text.splitlines()[0].startswith("For the curator alone")
    assert "persons by who: 3 declared, 1 of them without visits, 1 with more than 2 visits\n" in text
    assert text.endswith(
        "rows left out: 1 without who, 1 of ids that are not on the roster, 1 beyond the 2 of one person"
    )
    first = str(schema_of(count=4, rule="first").check(path, counts=True))
    assert "persons by who: 4 declared, 1 of them without rows\nrows left out: 1 without who" in first
    few = str(schema_of(count=2).check(path, counts=True))
    assert few.endswith("1 person more than the 2 that the schema declares: a release would be refused")
    with pytest.raises(ArgumentError, match="more persons"):
        sf.Dataset.from_table(path, schema=schema_of(count=2))


def test_without_counts_no_row_is_read_and_the_id_column_must_be_there(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("who,x\n7,yes\n")
    assert schema_of(count=3).check(path) is None
    path.write_text("person,x\n7,yes\n")
    with pytest.raises(ArgumentError, match="lacks column 'who'"):
        schema_of(count=3).check(path)
