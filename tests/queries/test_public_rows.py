"""Public rows to predict for: wrong cells are refused by row, column and cell; empty and clipped ones are counted."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.schema import public_cells
from sfumato.schema.public_cells import is_empty
from unit_tables import study

NEW = {
    "age": [30.0, 95.0, None, 10.0],
    "income": [1.0, 2.0, 3.0, 4.0],
    "smoker": ["yes", "", "no", "no"],
    "region": ["north", "islands", None, "south"],
}
NOTE = (
    "2 cells of age lie outside 20 to 80 and were clipped; 1 empty cell of age counts as 50; "
    "1 empty cell of smoker counts as no; 1 empty cell of region counts as 'north'"
)
CLEAN = {
    "age": [30.0, 80.0, 50.0, 20.0],
    "income": [1.0, 2.0, 3.0, 4.0],
    "smoker": ["yes", "no", "no", "no"],
    "region": ["north", "islands", "north", "south"],
}


def with_cell(name: str, row: int, cell: object) -> dict[str, list[object]]:
    return {**CLEAN, name: [cell if place == row else each for place, each in enumerate(CLEAN[name])]}


def questions(release: sf.Release):
    return (release.predict, release.predict_proba, release.predict_interval, release.marginal_effects,
            release.ask.prediction)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "cell", "said"),
    [
        ("region", "sotuh", "'sotuh' is none of the levels 'north', 'south', 'islands'. Correct"),
        ("region", 3.0, "3 is none of the levels"),
        ("age", "forty", "'forty' is no finite number; age runs from 20 to 80"),
        ("age", np.inf, "inf is no finite number"),
        ("smoker", "perhaps", "'perhaps' is neither yes nor no"),
    ],
)
def test_a_cell_that_is_no_level_or_no_number_is_refused_by_name(name, cell, said):
    for ask in questions(study("logistic").release):
        with pytest.raises(ArgumentError) as refusal:
            ask(public_rows=with_cell(name, 2, cell))
        assert f"X, row 3 (counted from 1), column {name!r}: {said}" in str(refusal.value)


def test_the_first_wrong_cell_is_shown_and_the_others_are_counted(tmp_path):
    release = study("logistic").release
    wrong = {**CLEAN, "region": ["north", "x", "y", "south"], "age": ["a", 1, 2, 3]}
    wanted = r"row 1 .*'age': 'a' is no finite number.* 2 more cells of X are wrong too.*left empty counts as 50"
    frame = pd.DataFrame(wrong)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.astype(str).to_parquet(tmp_path / "rows.parquet")
    for rows in (wrong, frame, tmp_path / "rows.csv", tmp_path / "rows.parquet", frame.astype({"region": "category"})):
        with pytest.raises(ArgumentError, match=wanted):
            release.predict(public_rows=rows)
    long = {name: cells * 3_000 for name, cells in CLEAN.items()}
    long["region"][9_999] = "nowhere"
    with pytest.raises(ArgumentError, match=r"row 10,000 .*'nowhere' is none"):
        release.predict(public_rows=long)


def test_rows_of_another_length_are_refused(tmp_path):
    release = study("logistic").release
    (tmp_path / "rows.csv").write_text("age,income,smoker,region\n30,1,yes,north\n30,1\n\n")
    with pytest.raises(ArgumentError, match="2 rows of X must have one cell for each column"):
        release.predict(public_rows=tmp_path / "rows.csv")
    with pytest.raises(ArgumentError, match="1 row of X must have one cell for each column"):
        release.predict(public_rows=[[30, 1, "yes", "north"], [30, 1]])


def test_empty_and_clipped_cells_are_counted_and_predicted_as_before():
    release = study("logistic").release
    given, clean = release.predict_interval(public_rows=NEW), release.predict_interval(public_rows=CLEAN)
    assert given.note == NOTE
    assert clean.note == ""
    assert np.array_equal(given.estimate, clean.estimate)
    assert release.rows_note(public_rows=pd.DataFrame(NEW)) == NOTE
    effects = release.marginal_effects(public_rows=NEW)
    assert effects.note == NOTE
    assert np.array_equal(effects.estimates, release.marginal_effects(public_rows=CLEAN).estimates)


def test_empty_cells_of_every_kind():
    for cell in (None, "", "  ", b" ", "NaN", float("nan"), np.float32("nan"), pd.NA, pd.NaT):
        assert is_empty(cell)
    for cell in ("NA", 0, 0.0, "0", False, b"\xff", [], float("inf")):
        assert not is_empty(cell)


def test_private_rows_with_such_cells_are_read_as_before():
    """An error would show a private cell: a data set maps every cell to what is declared."""
    made = study("logistic")
    rows = {**with_cell("region", 1, "nowhere"), "target": ["yes", "no", "perhaps", ""]}
    blocks = sf.Dataset.from_table(rows, schema=made.schema)
    assert blocks.n == 4
    counts = made.schema.check(rows, counts=True)
    assert counts.columns["region"].missing == 1
    assert counts.columns["target"].missing == 2


def test_vectors_refuse_texts_and_count_long_rows():
    schema = sf.Schema.vector(2, data_norm=1.0, target=sf.Boolean(missing=False), name="vectors")
    plan = sf.plan(sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(1.0), 2), 500, 5.0, 1e-4, goal="estimate")
    X = np.random.default_rng(1).normal(size=(500, 2))
    release = sf.publish(plan, sf.Dataset.from_arrays(X, X[:, 0] > 0, schema=schema), randomness=sf.seeded(1))
    with pytest.raises(ArgumentError, match=r"row 2 .*'x1': 'b' is no finite number"):
        release.predict(public_rows=[[0.1, 0.2], [0.3, "b"]])
    rows = np.array([[0.3, 0.4], [3.0, 4.0]])
    note = "1 row is longer than data_norm 1 and was shortened"
    assert release.rows_note(public_rows=rows) == release.rows_note(public_rows=rows.tolist()) == note
    assert np.allclose(
        release.predict_proba(public_rows=rows), release.predict_proba(public_rows=rows.tolist()), rtol=1e-12
    )


def test_a_cell_of_a_column_type_without_levels_is_refused_by_its_kind():
    """A type that is neither a number nor has levels, as one that is added may be."""
    assert public_cells._fault("at", SimpleNamespace(levels=None, kind="time of day")) == "is no time of day"
