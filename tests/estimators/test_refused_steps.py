"""Which steps of a pipeline are refused, in what words, before a row is read."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import SelectKBest
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.pipeline import make_pipeline as bare_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    KernelCenterer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
    TargetEncoder,
)

import sfumato as sf
from sfumato.errors import ArgumentError

NUMBERS = sf.Schema({"age": sf.Number(18, 90), "hours": sf.Number(0, 60)})
SCALER = sf.PublicScaler(NUMBERS)


def private(**changes) -> sf.PrivateLogisticRegression:
    return sf.PrivateLogisticRegression(1.0, 1e-6).set_params(**changes)


CATEGORIES = {"categories": [[-0.5, 0.5]] * 2, "handle_unknown": "ignore", "sparse_output": False}


class Scaler(sf.PublicScaler):
    """A subclass, which could read anything."""


class Products(PolynomialFeatures):
    pass


class Columns(ColumnTransformer):
    pass


def replaced(step, name: str = "fit"):
    setattr(step, name, lambda X, y=None: step)
    return step


REFUSED = {
    "mean": ([StandardScaler()], "'standardscaler' .StandardScaler.: it learns the mean and deviation .*sf.PublicScaler"),
    "behind a public step": ([SCALER, MinMaxScaler()], "it learns the least and largest value"),
    "levels": ([OneHotEncoder()], "it learns the levels of every column from the rows.*sf.PublicEncoder"),
    "frequent levels": ([SCALER, OneHotEncoder(**CATEGORIES, min_frequency=3)], "it learns the levels"),
    "unknown levels": ([SCALER, OneHotEncoder(categories=[[0]] * 2)], "raises or warns where a cell is of no category"),
    "dropped level": ([SCALER, OneHotEncoder(**CATEGORIES, drop="first")], "raises or warns where a cell"),
    "sparse": ([SCALER, OneHotEncoder(**{**CATEGORIES, "sparse_output": True})], "how many cells are not zero"),
    "target": ([TargetEncoder()], "the mean label of every level"),
    "bins": ([KBinsDiscretizer()], "the edges of its bins"),
    "imputer": ([SimpleImputer()], "Leave it out: sf.PublicScaler and sf.PublicEncoder put the declared missing value"),
    "constant imputer": ([SimpleImputer(strategy="constant", fill_value=0)], "SimpleImputer"),
    "iterative imputer": ([IterativeImputer()], "a regression of each column on the others"),
    "directions": ([SCALER, PCA(2)], "the directions in which the rows vary"),
    "selection": ([SCALER, SelectKBest()], "a score of every column"),
    "function": ([FunctionTransformer(np.log1p)], "a function may read all rows at once"),
    "unknown class": ([SCALER, KernelCenterer()], "not among the steps that are known to learn nothing"),
    "subclass": ([Scaler(NUMBERS)], "a subclass of PublicScaler may read the rows. Use PublicScaler itself"),
    "subclass of scikit-learn": ([SCALER, Products()], "a subclass of PolynomialFeatures may read the rows"),
    "subclass of columns": ([Columns([("a", SCALER, ["age"])])], "a subclass of ColumnTransformer may read the rows"),
    "replaced method": ([SCALER, replaced(PolynomialFeatures())], "its method 'fit' was replaced"),
    "replaced in a union": ([replaced(FeatureUnion([("a", SCALER)]), "transform")], "its method 'transform' was replaced"),
    "raw cells": ([PolynomialFeatures()], "scikit-learn reads cells there .*Put sf.PublicScaler"),
    "raw behind passthrough": (["passthrough", Normalizer()], "scikit-learn reads cells there that no public step has coded"),
    "raw and handed on": ([FunctionTransformer()], "'functiontransformer' .FunctionTransformer.: scikit-learn reads cells there"),
    "raw branch of columns": (
        [ColumnTransformer([("a", SCALER, ["age"]), ("b", "passthrough", ["hours"])])],
        "'b': scikit-learn reads cells there .*Put sf.PublicScaler.bounds=.lower, upper.*in place of \"passthrough\"",
    ),
    "raw branch of a union": ([FeatureUnion([("a", SCALER), ("b", "passthrough")])], "'featureunion', 'b': scikit-learn reads"),
    "raw branch within": (
        [FeatureUnion([("a", SCALER), ("b", bare_pipeline("passthrough", FeatureUnion([("c", bare_pipeline(None))])))])],
        "'b', 'featureunion', 'c': scikit-learn reads",
    ),
    "raw remainder": (
        [ColumnTransformer([("a", SCALER, ["age"])], remainder="passthrough")],
        "'columntransformer', 'remainder': scikit-learn reads cells",
    ),
    "nested": ([bare_pipeline(SCALER, bare_pipeline(StandardScaler()))], "'pipeline', 'pipeline', 'standardscaler'"),
    "union": ([FeatureUnion([("a", SCALER), ("b", StandardScaler())])], "'featureunion', 'b' .StandardScaler."),
    "column": ([ColumnTransformer([("a", SCALER, ["age"]), ("b", StandardScaler(), ["hours"])])], "'b' .StandardScaler."),
    "remainder": (
        [ColumnTransformer([("a", SCALER, ["age"])], remainder=StandardScaler())],
        "'columntransformer', 'remainder' .StandardScaler.",
    ),
    "selector": (
        [ColumnTransformer([("a", SCALER, make_column_selector(dtype_include=float))])],
        "'a': its columns are chosen by a function of the rows",
    ),
    "inner memory": ([Pipeline([("a", SCALER)], memory="cache")], "memory keeps rows in files"),
    "processes": ([SCALER, FeatureUnion([("a", SCALER)], n_jobs=2)], "'featureunion': other processes get the rows"),
    "processes of columns": ([ColumnTransformer([("a", SCALER, ["age"])], n_jobs=-1)], "other processes get the rows"),
}  # fmt: skip


@pytest.mark.planted
@pytest.mark.parametrize("case", sorted(REFUSED))
def test_a_step_that_learns_from_rows_is_refused_with_its_reason(case):
    steps, words = REFUSED[case]
    with pytest.raises(ArgumentError, match=words):
        sf.make_pipeline(*steps, private(data_norm=1.0, classes=[0, 1], missing_class=0))
    # The check of a pipeline that somebody else has made.
    with pytest.raises(ArgumentError, match=words):
        sf.check_pipeline(bare_pipeline(*steps, private(data_norm=1.0, classes=[0, 1], missing_class=0)))


LAST = {
    "without noise": (LogisticRegression(), "it is fitted to the rows without noise. Use a private estimator: sf.Private"),
    "labels": (TransformedTargetRegressor(LogisticRegression()), "it is fitted to the rows without noise"),
    "subclass": (type("Own", (sf.PrivateLinearSVC,), {})(), "a subclass of PrivateLinearSVC may read the rows"),
    "replaced": (replaced(sf.PrivateLinearSVC(1.0, 1e-6)), "the PrivateLinearSVC: its method 'fit' was replaced"),
    "grid": (GridSearchCV(private(), {"epsilon": [1, 2]}, cv=3), "7 times .2 candidates in 3 folds and 1 for the best."),
    "no refit": (GridSearchCV(private(), {"prior": [1, 2, 3]}, refit=False), "15 times .3 candidates in 5 folds."),
    "random": (RandomizedSearchCV(private(), {"epsilon": [1, 2]}), "once for every candidate and fold: each fit is a release"),
}  # fmt: skip


@pytest.mark.parametrize("case", sorted(LAST))
def test_only_a_private_estimator_may_learn_from_rows(case):
    last, words = LAST[case]
    with pytest.raises(ArgumentError, match=words):
        sf.make_pipeline(SCALER, last)


def test_a_search_is_refused_by_itself_and_other_things_are_no_pipeline():
    with pytest.raises(ArgumentError, match="choice among them is made by scores"):
        sf.check_pipeline(GridSearchCV(private(), {"epsilon": [1, 2]}, cv=3))
    with pytest.raises(ArgumentError, match=r"needs a pipeline, .*got PublicScaler"):
        sf.check_pipeline(SCALER)
    with pytest.raises(ArgumentError, match="it has no step"):
        sf.check_pipeline(Pipeline([]))


UNION = FeatureUnion([("a", SCALER), ("b", bare_pipeline(SCALER, Normalizer()))])
COLUMNS = ColumnTransformer([("a", SCALER, ["age"])], remainder="drop")
READ_BY_SCIKIT_LEARN = {
    "union": ([UNION], "step 'featureunion' .FeatureUnion.: in a bare .* sf.make_pipeline.FeatureUnion....., PrivateLogist"),
    "columns": ([COLUMNS, Normalizer()], "step 'columntransformer' .ColumnTransformer.: in a bare Pipeline scikit-learn reads X"),
    "handed on first": (["passthrough", COLUMNS], "step 'columntransformer' .ColumnTransformer.: in a bare"),
    "nested": ([bare_pipeline("passthrough", bare_pipeline(UNION))], "step 'pipeline', 'pipeline', 'featureunion' .*in a bare"),
    "after an empty one": ([bare_pipeline(None), COLUMNS], "step 'columntransformer' .ColumnTransformer.: in a bare"),
}  # fmt: skip


@pytest.mark.parametrize("case", sorted(READ_BY_SCIKIT_LEARN))
def test_a_bare_pipeline_begins_with_a_step_of_our_own(case):
    steps, words = READ_BY_SCIKIT_LEARN[case]
    with pytest.raises(ArgumentError, match=words):
        sf.check_pipeline(bare_pipeline(*steps, private(data_norm=1.0, classes=[0, 1], missing_class=0)))
    # The line that the refusal names; and our own pipeline, as a step of another one, looks at X itself.
    ours = sf.make_pipeline(*steps, private(data_norm=1.0, classes=[0, 1], missing_class=0))
    sf.check_pipeline(bare_pipeline(ours[:-1], ours[-1]))


def test_steps_of_our_own_come_first_in_what_a_bare_pipeline_may_be():
    last = private(data_norm=1.0, classes=[0, 1], missing_class=0)
    for steps in ([], [SCALER], ["passthrough", bare_pipeline(None, SCALER), UNION], [sf.make_pipeline(COLUMNS)]):
        sf.check_pipeline(bare_pipeline(*steps, last))


@pytest.mark.parametrize(
    "around", [BaggingClassifier, CalibratedClassifierCV, OneVsRestClassifier, MultiOutputClassifier]
)
def test_what_is_wrapped_around_a_private_estimator_is_refused(around):
    """A wrapper draws, splits or codes the rows and labels before the estimator sees them."""
    wrapped = around(private(data_norm=1.0, classes=[0, 1], missing_class=0))
    with pytest.raises(ArgumentError, match="wrapped around a private estimator reads the rows before it"):
        sf.check_pipeline(wrapped)
    for make in (sf.make_pipeline, lambda *steps: sf.check_pipeline(bare_pipeline(*steps))):
        with pytest.raises(ArgumentError, match="it is fitted to the rows without noise"):
            make(SCALER, wrapped)
    with pytest.raises(ArgumentError, match=r"'votingclassifier' .VotingClassifier.: it is not among the steps"):
        sf.make_pipeline(SCALER, VotingClassifier([("a", private())]))


def test_callbacks_which_get_the_rows_are_refused():
    callbacks = pytest.importorskip("sklearn.callback")
    for pipe in (bare_pipeline(SCALER, private()), sf.make_pipeline(SCALER, private())):
        with pytest.raises(ArgumentError, match="the pipeline: callbacks get the rows"):
            sf.check_pipeline(pipe.set_callbacks(callbacks.ProgressBar()))
    inner = bare_pipeline(SCALER).set_callbacks(callbacks.ProgressBar())
    with pytest.raises(ArgumentError, match="step 'pipeline': callbacks get the rows"):
        sf.make_pipeline(inner, private())


def test_every_fault_is_listed_and_memory_is_refused():
    steps = [("fill", SimpleImputer()), ("scale", StandardScaler()), ("fit", LogisticRegression())]
    with pytest.raises(ArgumentError, match=r"(?s)4 faults:.*'fill'.*'scale'.*memory.*'fit'"):
        sf.check_pipeline(Pipeline(steps, memory="cache"))
