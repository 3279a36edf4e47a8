"""Pipelines in which nothing but the private estimator at the end is learnt from the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import get_config  # type: ignore[import-untyped]
from sklearn.base import clone  # type: ignore[import-untyped]
from sklearn.pipeline import Pipeline  # type: ignore[import-untyped]
from sklearn.pipeline import make_pipeline as named_pipeline

from sfumato.errors import ArgumentError
from sfumato.estimators import _refusals, _steps
from sfumato.estimators._encoded import EncodedRows, handed_to
from sfumato.estimators._fitting import PrivateLinear
from sfumato.estimators._norms import digest, leaves, norm_after, targets
from sfumato.estimators._passing import emptied, passed_on, persons_behind
from sfumato.estimators._persons import check_width
from sfumato.estimators._tables import plain_columns
from sfumato.estimators.huber_regressor import PrivateHuberRegressor
from sfumato.estimators.linear_regression import PrivateLinearRegression
from sfumato.estimators.linear_svc import PrivateLinearSVC
from sfumato.estimators.logistic_regression import PrivateLogisticRegression
from sfumato.estimators.poisson_regressor import PrivatePoissonRegressor
from sfumato.estimators.quantile_regressor import PrivateQuantileRegressor
from sfumato.schema.outcome import attempt

# Estimators that may end a pipeline; a subclass may read the rows and is refused.
PRIVATE = (
    PrivateHuberRegressor,
    PrivateLinearRegression,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivatePoissonRegressor,
    PrivateQuantileRegressor,
)


class PrivatePipeline(Pipeline):  # type: ignore[misc]
    """A pipeline of public steps, usually with a private estimator as the last; `sf.make_pipeline` makes it.

    Every `fit` checks the steps again, because `set_params` may have exchanged one. An estimator that declares neither data_norm
    nor bounds takes the norm of its rows from the public steps, and `classes` or `bounds_y` from the target of their schema, and
    `persons` too; the names of the steps' columns are those of its coefficients.
    """

    def fit(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Check the steps, code the rows, and publish the estimator's fit."""
        check_pipeline(self)
        final = self.steps[-1][1]
        if not isinstance(final, PrivateLinear):
            _check_rows(self, X, params)
            super().fit(plain_columns(X), y)
            return self
        held = {"y": y, **passed_on(self, params)}
        persons = persons_behind(self) if final.persons is None else final.persons
        _check_rows(self, X, {}, persons is not None)
        head = self[:-1] if len(self.steps) > 1 else None
        coded = attempt(_coded, head, X, persons is not None)
        if coded.error is not None:
            held.clear()
            coded = attempt(_fail_alike, head, _invented(X), coded.error)
        del X, y, params  # an error raised from here on keeps no rows in its traceback
        held["X"] = coded.get()
        del coded
        with handed_to(final, _facts(head)):
            final.fit(**emptied(held))
        return self

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Check the steps, then code the rows. Only for a pipeline without an estimator."""
        check_pipeline(self)
        _check_rows(self, X, params)
        return super().fit_transform(plain_columns(X), y)


_steps.COMPOSED[PrivatePipeline] = _steps.COMPOSED[Pipeline]


def make_pipeline(*steps: Any) -> PrivatePipeline:
    """Return a pipeline of these steps, named as scikit-learn names them, that only the last step learns from rows.

    The last step is a private estimator; the others are `sf.PublicScaler`, `sf.PublicEncoder`, and steps of scikit-learn that
    learn nothing (`sf.check_pipeline` lists them). Raises ArgumentError for any other step.
    """
    pipe = PrivatePipeline(named_pipeline(*steps).steps)
    check_pipeline(pipe)
    return pipe


def check_pipeline(pipe: Any) -> None:
    """Raise ArgumentError if a step of a pipeline would be fitted on rows without a price; no row is needed for this.

    Accepted are `sf.PublicScaler` and `sf.PublicEncoder`; behind them PolynomialFeatures, Normalizer, Binarizer, and OneHotEncoder
    with declared categories; Pipeline, ColumnTransformer and FeatureUnion of such steps; "passthrough" and "drop"; and as the
    last step one of the private estimators. Every other class is refused, subclasses of these too. Each refused step is named
    with the reason and with what to use instead.
    """
    faults = _faults(pipe)
    if not faults:
        return
    if len(faults) == 1:
        raise ArgumentError(f"this pipeline must not be fitted to private rows: {faults[0]}")
    listed = "\n".join(f"  - {fault}" for fault in faults)
    raise ArgumentError(f"this pipeline must not be fitted to private rows; {len(faults)} faults:\n{listed}")


def _faults(pipe: Any) -> list[str]:
    searched = _refusals.search(pipe)
    if searched is not None:
        return [searched]
    if type(pipe) not in (Pipeline, PrivatePipeline):
        raise ArgumentError(
            "check_pipeline needs a pipeline, such as sf.make_pipeline(sf.PublicScaler(schema), "
            f"sf.PrivateLogisticRegression(...)); got {type(pipe).__name__}."
        )
    if not pipe.steps:
        return ["it has no step. Give a public step and a private estimator."]
    name, last = pipe.steps[-1]
    private = type(last) in PRIVATE
    is_step = last is None or isinstance(last, str) or hasattr(last, "transform")
    steps = pipe.steps[:-1] if private or not is_step else pipe.steps
    faults, raw = _steps.in_order(steps, "", raw=True)
    faults += _steps.settings(pipe, "the pipeline")
    for each in (pipe, last) if private else (pipe,):
        replaced = _steps.replaced_method(each)
        if replaced is not None:
            faults.append(f"the {type(each).__name__}: its method {replaced!r} was replaced. Make it anew.")
    if private and raw and last.data_norm is None and last.bounds is None:
        faults.append(
            f"step {name!r} ({type(last).__name__}): columns reach it as they are, so it needs data_norm or bounds for them. Code "
            "them with sf.PublicScaler(schema), or declare one of the two."
        )
    if private and type(pipe) is Pipeline and last.persons is None and persons_behind(pipe) is not None:
        faults.append(
            f"step {name!r} ({type(last).__name__}): the schema of a step declares persons, and a bare Pipeline does not hand them "
            "on. Use sf.make_pipeline, or declare persons=schema.persons in the estimator too."
        )
    if not private and not is_step:
        faults.append(f"step {name!r} ({type(last).__name__}): {_last(last)}")
    return faults


def _last(last: Any) -> str:
    """Why an estimator may not end a pipeline."""
    searched = _refusals.search(last)
    if searched is not None:
        return searched
    if isinstance(last, PRIVATE):
        own = next(kind.__name__ for kind in PRIVATE if isinstance(last, kind))
        return f"a subclass of {own} may read the rows. Use sf.{own} itself."
    names = ", ".join(f"sf.{kind.__name__}" for kind in PRIVATE)
    return f"it is fitted to the rows without noise. Use a private estimator: {names}."


def _check_rows(pipe: Pipeline, X: Any, params: dict[str, Any], persons: bool = False) -> None:
    """Refuse parameters of a fit, and a list or sparse matrix that a step other than a public one would read first.

    persons: whether one person may have several rows.
    """
    from scipy.sparse import issparse

    if params:
        raise ArgumentError(f"fit takes X and y alone; got {', '.join(params)}.")
    first = next((step for _, step in pipe.steps if step is not None and step != "passthrough"), None)
    if (isinstance(X, list | tuple) or issparse(X)) and not isinstance(first, (*_steps.PUBLIC, PrivateLinear)):
        raise ArgumentError(
            f"X must be a dense array or a data frame where the first step is a {type(first).__name__}: what scikit-learn makes of "
            "a list or a sparse matrix, its shape or type, depends on single records."
        )
    if persons and isinstance(first, _steps.PUBLIC):
        check_width(X, first._width())
    before = [each for each in pipe.steps if not isinstance(each[1], PrivateLinear)]
    written = [get_config()["transform_output"], *(_output(each) for each in (*leaves(pipe), *dict(before).values()))]
    if "polars" in written and _steps.in_order(before, "", raw=True)[1]:
        raise ArgumentError(
            "columns that no public step codes cannot be handed on as a polars data frame, which has no column of numbers with one "
            'text among them. Code them, or set transform_output to "default" or "pandas".'
        )


def _output(step: Any) -> str:
    """What `set_output` asked a step to write, "" if nothing."""
    return str(getattr(step, "_sklearn_output_config", {}).get("transform", ""))


def _coded(head: Pipeline | None, X: Any, private: bool) -> Any:
    """The rows behind the public steps. Where the number of rows is private, none is no error: an invented row is coded instead."""
    if head is None:
        return X
    if private and tuple(getattr(X, "shape", ()))[:1] == (0,):
        return head.fit_transform(plain_columns(_invented(X)))[:0]
    return head.fit_transform(plain_columns(X))


def _invented(X: Any) -> Any:
    """One empty row with the columns of X, which no private row has part in; None where X is no table."""
    import narwhals as nw

    if nw.dependencies.is_pandas_like_dataframe(X):
        return X.iloc[:0].reindex(range(1))
    if nw.dependencies.is_polars_dataframe(X):
        return X.clear(1)
    return np.zeros((1, X.shape[1])) if isinstance(X, np.ndarray) and X.ndim == 2 else None


def _fail_alike(head: Pipeline | None, invented: Any, error: BaseException) -> Any:
    """Raise with the steps' own words if they fail on an invented row too, else with the words that withhold them.

    A message of scikit-learn about private rows may quote a cell. Faults of parameters and of names of columns, which are the
    usual ones, fail on any row.
    """
    if invented is not None and head is not None:
        try:
            clone(head).fit_transform(invented)
        except Exception as alike:  # of any step; nothing in it comes from the rows
            raise ArgumentError(f"the steps before the estimator cannot read X: {alike}") from None
    raise error


def _facts(head: Pipeline | None) -> EncodedRows:
    """What the fitted public steps declare about their output."""
    if head is None:
        return EncodedRows(None, None, None, "")
    declared = targets(head)
    target = declared[0] if declared and all(each == declared[0] for each in declared) else None
    try:
        names = tuple(map(str, head.get_feature_names_out()))
    except (AttributeError, ValueError):  # a column that passes through an array has no name
        names = None
    return EncodedRows(norm_after(head, None), names, target, digest(head), persons_behind(head))
