"""Nothing is read from the data: what is not declared is refused with the line to add, before a row is looked at."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_cases import CLASSIFIERS, ESTIMATORS, REGRESSORS, name, rows
from sklearn.base import clone

import sfumato as sf
from sfumato.errors import ArgumentError


class Untouchable:
    """Data that must not be looked at."""

    def __getattr__(self, attribute):
        raise AssertionError(f"the data was asked for {attribute}")


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
@pytest.mark.parametrize(
    ("left_out", "line"),
    [("delta", "delta=1e-6,"), ("data_norm", "data_norm=1.0,"), ("data_norm", "bounds=(lower, upper),")],
)
def test_a_price_or_a_norm_that_is_missing_is_refused_with_its_line(estimator, left_out, line):
    unfinished = clone(estimator).set_params(**{left_out: None})
    with pytest.raises(ArgumentError) as caught:
        unfinished.fit(Untouchable(), Untouchable())
    assert line in str(caught.value)
    assert name(estimator) in str(caught.value)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=name)
def test_classes_that_are_missing_are_refused_with_their_line(estimator):
    with pytest.raises(ArgumentError, match=r"classes=\[0, 1\],"):
        clone(estimator).set_params(classes=None).fit(Untouchable(), Untouchable())


@pytest.mark.parametrize("estimator", REGRESSORS, ids=name)
def test_bounds_of_the_target_that_are_missing_are_refused_with_their_line(estimator):
    with pytest.raises(ArgumentError, match=r"bounds_y=\(0, 100\),"):
        clone(estimator).set_params(bounds_y=None).fit(Untouchable(), Untouchable())


WRONG = [
    ({"epsilon": 0.0}, "epsilon"),
    ({"delta": 0.0}, "delta"),
    ({"delta": 1.0}, "delta"),
    ({"data_norm": -1.0}, "data_norm"),
    ({"data_norm": None, "bounds": (0, 0)}, "bounds"),
    ({"data_norm": None, "bounds": ([0, 0], [1, 1])}, "bounds"),
    ({"data_norm": None, "bounds": [(0, 1), (0, 1)]}, "bounds"),
    ({"data_norm": None, "bounds": "wide"}, "bounds"),
    ({"data_norm": None, "bounds": (0, np.inf)}, "bounds"),
    ({"rows": "scale"}, "rows"),
    ({"fit_intercept": 1}, "fit_intercept"),
    ({"classes": [0]}, "classes"),
    ({"classes": 5}, "classes"),
    ({"classes": [0.5, 1.5]}, "level"),
    ({"classes": [0, "a"]}, "levels"),
    ({"classes": [0, 0]}, "distinct"),
    ({"ledger_name": "survey"}, "ledger"),
    ({"request_id": "r"}, "ledger"),
    ({"random_state": -1}, "random_state"),
    ({"random_state": 0.5}, "random_state"),
    ({"prior": [1.0]}, "prior"),
    ({"prior": "strong"}, "prior"),
]


@pytest.mark.parametrize(("change", "said"), WRONG)
def test_a_wrong_declaration_is_refused_by_name(change, said):
    X, y = rows()
    estimator = sf.PrivateLogisticRegression(1.0, 1e-6, data_norm=1.0, classes=[0, 1], missing_class=0).set_params(
        **change
    )
    with pytest.raises(ArgumentError, match=said):
        estimator.fit(X, y)
    assert not hasattr(estimator, "release_")


@pytest.mark.parametrize("bounds_y", [5, (0,), (1, 0), (0, np.nan), ("a", "b")])
def test_wrong_bounds_of_a_target_are_refused(bounds_y):
    X, y = rows()
    with pytest.raises(ArgumentError):
        sf.PrivateLinearRegression(1.0, 1e-6, data_norm=1.0, bounds_y=bounds_y).fit(X, y)


def test_counts_below_zero_and_more_classes_than_a_machine_has_are_refused():
    X, y = rows()
    with pytest.raises(ArgumentError, match="below 0"):
        sf.PrivatePoissonRegressor(1.0, 1e-6, data_norm=1.0, bounds_y=(-1, 5)).fit(X, y)
    with pytest.raises(ArgumentError, match="PrivateLogisticRegression"):
        sf.PrivateLinearSVC(1.0, 1e-6, data_norm=1.0, classes=[0, 1, 2], missing_class=0).fit(X, y)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_the_promise_is_the_declared_one(estimator):
    X, y = rows()
    fitted = clone(estimator).set_params(epsilon=0.7, delta=1e-6).fit(X, y)
    assert 0.6 < fitted.guarantee_.epsilon(1e-6) <= 0.7
    assert fitted.guarantee_.trust == "proved"
    assert fitted.release_.verify() is fitted.release_
    assert fitted.release_.private
    assert fitted.n_iter_ == fitted.plan_["steps"] >= 1


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_the_plan_is_the_same_for_any_data_of_this_shape(estimator):
    X, y = rows()
    fitted = [clone(estimator).fit(*data) for data in ((X, y), (1e6 * X, 1 - y), (np.full(X.shape, np.nan), 0 * y))]
    assert len({one.plan_.digest for one in fitted}) == 1
    assert len({one.release_.schema["digest"] for one in fitted}) == 1


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_a_seed_is_stamped_not_private_and_says_so(estimator):
    X, y = rows()
    first, again = (clone(estimator).set_params(random_state=3).fit(X, y) for _ in range(2))
    assert np.array_equal(first.coef_, again.coef_)
    assert first.guarantee_.trust == "not private"
    assert not first.release_.private
    assert "NOT PRIVATE" in repr(first)
    assert "NOT PRIVATE" in str(first.release_)
    free = clone(estimator).fit(X, y)
    assert "NOT PRIVATE" not in repr(free)
    assert not np.array_equal(free.coef_, clone(estimator).fit(X, y).coef_)


def test_only_a_seeded_fit_speaks_of_labels_that_were_not_declared():
    X, _ = rows()
    y = np.arange(len(X)) % 3
    private = sf.PrivateLogisticRegression(1.0, 1e-6, data_norm=1.0, classes=[0, 1], missing_class=0)
    assert private.fit(X, y).release_.private
    with pytest.raises(ArgumentError, match="Only binary"):
        clone(private).set_params(random_state=0).fit(X, y)
    with pytest.raises(ArgumentError, match="different labels and classes declares 3"):
        sf.PrivateLogisticRegression(1.0, 1e-6, data_norm=1.0, classes=[0, 1, 2], missing_class=0, random_state=0).fit(
            X, y + (y == 2) * np.arange(len(y))
        )


def encoded(estimator, X, y, monkeypatch):
    """The rows that reach the model, and the plan and schema that they are published under."""
    from sfumato.dataset import rows_of
    from sfumato.engines.design import feature_blocks
    from sfumato.estimators import _fitting

    class Seen(Exception):
        pass

    seen = {}

    def watch(plan, data, **options):
        blocks = list(feature_blocks(data, plan.model))
        seen.update(plan=plan.digest, schema=data.schema.digest, n=rows_of(data).n)
        seen["rows"] = np.concatenate([np.asarray(block.rows) for block in blocks])
        seen["labels"] = np.concatenate([block.labels for block in blocks])
        raise Seen

    monkeypatch.setattr(_fitting, "publish", watch)
    with pytest.raises(Seen):
        clone(estimator).fit(X, y)
    return seen


@pytest.mark.parametrize("declared", [{}, {"data_norm": None, "bounds": (-1, 1)}], ids=["data_norm", "bounds"])
@pytest.mark.parametrize("how", ["clip", "normalise"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_the_range_of_one_record_changes_no_other_record_and_no_plan(estimator, how, declared, monkeypatch):
    """One record far outside, far inside or in the middle: every other row and label is encoded to the same bits."""
    X, y = rows(count=30)
    ready = clone(estimator).set_params(rows=how, **declared)
    before = encoded(ready, X, y, monkeypatch)
    for changed in (1e6, -1e6, 0.0, 1e-9):
        other = X.copy()
        other[7] = changed
        after = encoded(ready, other, y, monkeypatch)
        assert (after["plan"], after["schema"], after["n"]) == (before["plan"], before["schema"], 30)
        keep = np.arange(30) != 7
        np.testing.assert_array_equal(after["rows"][keep], before["rows"][keep])
        np.testing.assert_array_equal(after["labels"], before["labels"])
    far = X.copy()
    far[7] = 1e6
    assert not np.array_equal(encoded(ready, far, y, monkeypatch)["rows"][7], before["rows"][7])


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_a_table_twice_as_wide_is_encoded_twice_as_wide(estimator, monkeypatch):
    """Declared bounds scale the rows, not the rows' own range: half the range gives half the numbers."""
    X, y = rows(count=30)
    ready = clone(estimator).set_params(data_norm=None, bounds=(-4, 4))
    whole, half = (encoded(ready, scale * X, y, monkeypatch)["rows"] for scale in (2.0, 1.0))
    np.testing.assert_allclose(half, whole / 2, rtol=1e-12)
