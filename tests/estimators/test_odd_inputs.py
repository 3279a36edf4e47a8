"""One odd record at a time: all other records reach the engine as if it were not there, and nothing raises or warns."""

from __future__ import annotations

import itertools
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from odd_cases import ANY, BY_LABELS, BY_ROWS, DECLARED, LABELS, ROWS, TABLES, WHOLE, WRAPPED, X, Y, forms_of, made_as
from scipy import sparse
from sklearn.base import clone

from sfumato.dataset import rows_of
from sfumato.estimators import _fitting

sys.path.insert(0, str(Path(__file__).parents[1] / "dataset"))
from odd_records import ODD

# Each odd thing meets each estimator once in `make test`, and in every form and place with SFUMATO_LONG=1.
LONG = os.environ.get("SFUMATO_LONG") == "1"


class Read(Exception):
    """The rows have been read; nothing is drawn from them here."""


@pytest.fixture
def stored(monkeypatch):
    """Return the function from (estimator, X, y) to the bytes of every stored record, as the engine would see them."""

    def stop(plan, data, **_named):
        raise Read(data)

    monkeypatch.setattr(_fitting, "publish", stop)
    monkeypatch.setattr(_fitting, "plan", lambda *_given, **_named: None)

    def fit(estimator, table, labels) -> list[bytes]:
        # Not as errors, which the rules for cells would swallow.
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                clone(estimator).fit(table, labels)
            except Read as read:
                [block] = rows_of(read.args[0]).blocks()
        assert [str(warning.message) for warning in warned] == []
        matrix = block["matrix"] if isinstance(block["matrix"], np.ndarray) else block["matrix"].toarray()
        shape = repr((matrix.shape, matrix.dtype, block["target"].dtype)).encode()
        return [shape + row.tobytes() + label.tobytes() for row, label in zip(matrix, block["target"], strict=True)]

    return fit


def others_differ(clean: list[bytes], odd: list[bytes], changed: int) -> bool:
    return [one for place, one in enumerate(clean) if place != changed] != [
        one for place, one in enumerate(odd) if place != changed
    ]


def cases(forms, kind, odd_rows):
    """(place of the odd record, form, odd thing, what holds it): all of them, or each thing in a form and place that go round.

    A form that cannot hold the odd thing is left out; in the quick form the next one takes its turn.
    """
    names, start = list(forms), list(DECLARED).index(kind)
    for number, thing in enumerate(ODD if names else ()):
        turns = range(len(names) * ROWS) if LONG else range(start + number, start + number + len(names))
        for turn in turns:
            form, place = names[turn % len(names)], (turn // len(names) + turn) % ROWS
            held = made_as(forms[form], odd_rows(place, form, ODD[thing]))
            if held is not None:
                yield place, form, thing, held
            if held is not None and not LONG:
                break


@pytest.mark.parametrize("kind", BY_LABELS)
@pytest.mark.parametrize("within", [False, True])
def test_one_odd_label_changes_no_other_label(kind, within, stored):
    def labels(place, form, odd):
        made = [WRAPPED.get(form, lambda label: label)(label) for label in Y]
        made[place] = [odd()] if within else odd()
        return made

    clean = stored(DECLARED[kind], X, Y)
    tried = [
        (form, thing, others_differ(clean, stored(DECLARED[kind], X, held), place))
        for place, form, thing, held in cases(LABELS, kind, labels)
    ]
    assert [case for case in tried if case[-1]] == []


@pytest.mark.parametrize("kind", BY_ROWS)
@pytest.mark.parametrize("column", [0, 1, 2])
def test_one_odd_cell_changes_no_other_row(kind, column, stored):
    def rows(place, form, odd):
        made = X.tolist()
        made[place][column] = odd()
        return made

    clean = stored(DECLARED[kind], X, Y)
    tried = [
        (form, thing, others_differ(clean, stored(DECLARED[kind], held, Y), place))
        for place, form, thing, held in cases(forms_of(kind, TABLES), kind, rows)
    ]
    assert [case for case in tried if case[-1]] == []


@pytest.mark.parametrize("kind", BY_ROWS)
def test_one_odd_row_changes_no_other_row(kind, stored):
    def rows(place, form, odd):
        made = X.tolist()
        made[place] = odd()
        return made

    clean = stored(DECLARED[kind], X, Y)
    tried = [
        (form, thing, others_differ(clean, stored(DECLARED[kind], held, Y), place))
        for place, form, thing, held in cases(forms_of(kind, WHOLE), kind, rows)
    ]
    assert [case for case in tried if case[-1]] == []


def test_every_odd_thing_in_every_place(stored):
    clean = stored(ANY, X.tolist(), [[label] for label in Y])
    for kind, changed in itertools.product(ODD, range(ROWS)):
        rows, labels = X.tolist(), [[label] for label in Y]
        rows[changed], labels[changed] = ODD[kind](), ODD[kind]()
        assert not others_differ(clean, stored(ANY, rows, labels), changed), (kind, changed)


def test_the_label_none_among_lists_of_one_leaves_the_others(stored):
    """The attack in one line: every label but the third one became "no level" here."""
    clean = stored(ANY, X, [[label] for label in Y])
    assert not others_differ(clean, stored(ANY, X, [[1], [0], None, [1], [0], [1]]), 2)
    assert others_differ(clean, stored(ANY, X, [[1], [1], None, [1], [0], [1]]), 2)


@pytest.mark.parametrize("form", TABLES)
def test_rows_in_every_form_are_the_same_rows(form, stored):
    for kind, estimator in DECLARED.items():
        if form in forms_of(kind, TABLES):
            assert stored(estimator, TABLES[form](X.tolist()), Y) == stored(estimator, X, Y), kind


@pytest.mark.parametrize("form", LABELS)
def test_labels_in_every_form_are_the_same_labels(form, stored):
    wrap = WRAPPED.get(form, lambda label: label)
    for estimator in DECLARED.values():
        assert stored(estimator, X, LABELS[form]([wrap(label) for label in Y])) == stored(estimator, X, np.array(Y))


@pytest.mark.parametrize("odd", ["index beyond", "index below", "not a number", "twice"])
@pytest.mark.parametrize("rows", ["clip", "normalise"])
def test_one_odd_sparse_row_changes_no_other_row(odd, rows, stored):
    """A constant beside the features is added after the entries have been mapped, so that an index is no error."""
    entries = {"index beyond": (9, 0.5), "index below": (-1, 0.5), "not a number": (1, np.nan), "twice": (0, 1e308)}
    made = []
    for where, value in ((1, 0.5), entries[odd]):
        matrix = sparse.csr_array(X)
        matrix.indices[4], matrix.data[4] = where, value
        made.append(stored(clone(ANY).set_params(rows=rows), matrix, Y))
    assert not others_differ(*made, 1)


@pytest.mark.parametrize("rows", ["clip", "normalise"])
def test_an_entry_beside_the_last_feature_is_no_part_of_the_constant(rows, stored):
    made = []
    for where, value in ((3, 0.5), (1, 0.0)):
        matrix = sparse.csr_array(X)
        matrix.indices[4], matrix.data[4] = where, value
        made.append(stored(clone(ANY).set_params(rows=rows), matrix, Y))
    assert made[0] == made[1]


def test_the_width_of_a_list_is_what_most_rows_have(stored):
    for place in range(ROWS):
        rows = X.tolist()
        rows[place] = [0.5] * 500
        assert not others_differ(stored(ANY, X.tolist(), Y), stored(ANY, rows, Y), place)


@pytest.mark.parametrize("bounds", [([-1, -1, -1], [1, 1, 1]), (-1, np.ones(3)), [(-1, 1)] * 3])
def test_bounds_of_each_feature_decide_the_width_against_all_rows_but_one(bounds, stored):
    declared = clone(ANY).set_params(data_norm=None, bounds=bounds)
    odd = stored(declared, [X[0].tolist()] + [[0.5] * 7] * 5, Y)
    assert odd[0] == stored(declared, X, Y)[0]
    assert odd[1] != stored(declared, X, Y)[1]


def test_a_column_of_labels_warns_by_its_shape_alone(stored):
    """numpy makes (6, 1) or (6,) of these lists by what one label is; neither may be seen in a warning."""
    assert stored(ANY, X, np.array([[label] for label in Y], dtype=object)) == stored(ANY, X, Y)
    labels = np.array([[1], [0], None, [1], [0], [1]], dtype=object)
    assert not others_differ(stored(ANY, X, Y), stored(ANY, X, labels), 2)
    for column in (np.array(Y).reshape(-1, 1), pd.DataFrame({"y": Y}), pl.DataFrame({"y": Y})):
        with pytest.warns(UserWarning, match="column-vector y"), pytest.raises(Read):
            clone(ANY).fit(X, column)


def test_public_rows_of_another_length_are_named():
    fitted = clone(ANY).fit(X, Y)
    with pytest.raises(ValueError, match="row 1 does not"):
        fitted.predict([[1.0, 2.0, 3.0], [1.0], [1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="X has 2 features, but PrivateLogisticRegression is expecting 3"):
        fitted.predict([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0, 3.0]])
    assert np.isfinite(fitted.decision_function([["x", None, [1]], [1.0, 2.0, 3.0]])).all()


def test_names_and_levels_of_frames(stored):
    with pytest.raises(ValueError, match="unique column names"):
        stored(ANY, pd.DataFrame(X, columns=["a", "b", "a"]), Y)
    assert stored(ANY, pl.DataFrame(X), pl.Series(list(map(str, Y)), dtype=pl.Enum(["0", "1"]))) == stored(ANY, X, Y)
