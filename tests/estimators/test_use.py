"""Inside scikit-learn: pipelines, clones, searches; on a ledger; in forked children and in threads."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from estimator_cases import ESTIMATORS, name, rows
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import sfumato as sf
from sfumato.errors import LedgerExhausted, PublishError

X, Y = rows(90)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_clone_keeps_every_declaration_and_no_release(estimator):
    fitted = clone(estimator).fit(X, Y)
    again = clone(fitted)
    assert again.get_params() == estimator.get_params()
    with pytest.raises(NotFittedError):
        again.predict(X)
    assert is_classifier(estimator) != is_regressor(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_pipelines_cross_validation_and_searches_work(estimator):
    pipe = make_pipeline(FunctionTransformer(lambda rows: rows / 2), estimator)
    assert pipe.fit(X, Y).predict(X).shape == (90,)
    scores = cross_val_score(pipe, X, Y, cv=3)
    assert np.isfinite(scores).all()
    search = GridSearchCV(estimator, {"epsilon": [1.0, 300.0]}, cv=2).fit(X, Y)
    assert search.best_estimator_.guarantee_.epsilon(1e-5) <= 300.0
    assert search.predict(X).shape == (90,)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_a_fitted_estimator_travels_with_its_promise(estimator):
    fitted = clone(estimator).fit(X, Y)
    back = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(back.predict(X), fitted.predict(X))
    assert back.guarantee_ == fitted.guarantee_
    assert back.release_.verify() is back.release_


@pytest.fixture
def ledger(tmp_path):
    book = sf.Ledger.open(tmp_path / "budget.db")
    book.register("survey", epsilon=2.0, delta=1e-5)
    return book


def on(ledger, **changes) -> sf.PrivateLogisticRegression:
    return sf.PrivateLogisticRegression(
        1.0, 1e-6, data_norm=1.0, classes=[0, 1], missing_class=0, ledger=ledger, ledger_name="survey"
    ).set_params(**changes)


def test_a_fit_is_charged_before_it_is_drawn_and_refused_when_nothing_is_left(ledger):
    first = on(ledger).fit(X, Y)
    assert first.release_.receipt is not None
    refused = on(ledger, epsilon=5.0)
    with pytest.raises(LedgerExhausted):
        refused.fit(X, Y)
    assert not hasattr(refused, "release_")
    with pytest.raises(NotFittedError):
        refused.predict(X)


def test_a_repeated_request_returns_the_same_release_and_other_bounds_are_refused(ledger):
    first, again = (on(ledger, request_id="r1").fit(X, Y) for _ in range(2))
    assert np.array_equal(first.coef_, again.coef_)
    assert len([row for row in ledger.history("survey") if row.kind == "charge" and row.request_id == "r1"]) == 1
    scaled = {"request_id": "r2", "data_norm": None}
    on(ledger, **scaled, bounds=(-1, 1), epsilon=0.1).fit(X, Y)
    with pytest.raises(PublishError, match="another plan or schema"):
        on(ledger, **scaled, bounds=(-2, 2), epsilon=0.1).fit(X, Y)


def test_a_ledger_takes_no_seeded_fit_and_needs_an_account(ledger):
    with pytest.raises(PublishError, match="seeded"):
        on(ledger, random_state=0).fit(X, Y)
    with pytest.raises(sf.errors.ArgumentError, match='ledger_name="survey",'):
        on(ledger, ledger_name=None).fit(X, Y)


def test_a_clone_charges_the_same_ledger(ledger):
    clone(on(ledger, epsilon=0.1)).fit(X, Y)
    assert ledger.spent("survey") is not None
    assert len(ledger.history("survey")) >= 1


FORKED = """
import os, sys
import numpy as np
import sfumato as sf

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(20_000, 3))
y = (X[:, 0] > 0).astype(int)

def coefficients():
    return sf.PrivateLogisticRegression(0.3, 1e-6, data_norm=2.0, classes=[0, 1], missing_class=0).fit(X, y).coef_

print(coefficients().tobytes().hex(), flush=True)
children = []
for _ in range(4):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, coefficients().tobytes())
        os._exit(0)
    os.close(writer)
    children.append((child, reader))
for child, reader in children:
    print(os.read(reader, 1000).hex())
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_fit_and_four_forked_children_that_fit_differ():
    """Rows enough for several parts, so that the parent has its pool of threads when it forks."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], env=env, capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    assert len(found) == 5
    assert len(set(found)) == 5
    assert all(len(one) == 48 for one in found)


def test_four_threads_that_fit_at_once_differ():
    many, labels = rows(20_000)
    estimator = sf.PrivateLogisticRegression(0.3, 1e-6, data_norm=2.0, classes=[0, 1], missing_class=0)
    with ThreadPoolExecutor(4) as pool:
        fitted = list(pool.map(lambda _: clone(estimator).fit(many, labels), range(4)))
    assert len({one.coef_.tobytes() for one in fitted}) == 4
    assert all(one.score(many, labels) > 0.75 for one in fitted)
    assert len({one.plan_.digest for one in fitted}) == 1


def test_importing_the_library_imports_no_scikit_learn():
    code = "import sys, sfumato; assert 'sklearn' not in sys.modules; sfumato.PrivateLinearSVC; print('sklearn' in sys.modules)"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
    assert out.strip() == "True"
