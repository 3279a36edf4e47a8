"""Pipelines in which nothing but the private estimator at the end is learnt from the rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone  # type: ignore[import-untyped]
from sklearn.compose import ColumnTransformer  # type: ignore[import-untyped]
from sklearn.pipeline import FeatureUnion, Pipeline  # type: ignore[import-untyped]
from sklearn.pipeline import make_pipeline as named_pipeline
from sklearn.utils.metaestimators import available_if  # type: ignore[import-untyped]

from sfumato.errors import ArgumentError
from sfumato.estimators import _refusals, _steps
from sfumato.estimators._encoded import EncodedRows, handed_to
from sfumato.estimators._fitting import PrivateLinear
from sfumato.estimators._norms import digest, norm_after, steps_of, targets
from sfumato.estimators._passing import emptied, passed_on, persons_behind
from sfumato.estimators._persons import check_width
from sfumato.estimators.huber_regressor import PrivateHuberRegressor
from sfumato.estimators.linear_regression import PrivateLinearRegression
from sfumato.estimators.linear_svc import PrivateLinearSVC
from sfumato.estimators.logistic_regression import PrivateLogisticRegression
from sfumato.estimators.poisson_regressor import PrivatePoissonRegressor
from sfumato.estimators.quantile_regressor import PrivateQuantileRegressor
from sfumato.schema.outcome import Outcome, attempt

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
        """Check the steps, code the rows, and publish the estimator's fit.

        The release records the classes of the steps. What was done to X before it was given is not known and not recorded.
        """
        held = {"X": X, "y": y}
        del X, y  # an error keeps no rows in its traceback: what is held is dropped first
        try:
            check_pipeline(self)
            if isinstance(self.steps[-1][1], PrivateLinear):
                held |= passed_on(self, params)
                self._publish(held)
            else:
                _read(self, self, held["X"], partial(super().fit, y=held["y"], **_none(params))).get()
        finally:
            held.clear()
            params.clear()
        return self

    def _publish(self, held: dict[str, Any]) -> None:
        """Fit the estimator to the coded rows."""
        final = self.steps[-1][1]
        persons = persons_behind(self) if final.persons is None else final.persons
        head = self[:-1] if _steps.first_reader(self.steps[:-1])[1] is not None else None
        held["X"] = _read(self, head, held["X"], partial(_coded, head, persons is not None), persons is not None).get()
        with handed_to(final, _facts(head)):
            final.fit(**emptied(held))

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Check the steps, then code the rows. Only for a pipeline without an estimator."""
        held = {"X": X, "y": y}
        del X, y
        try:
            check_pipeline(self)
            return _read(self, self, held["X"], partial(super().fit_transform, y=held["y"], **_none(params))).get()
        finally:
            held.clear()

    @available_if(lambda self: hasattr(super(), "transform"))  # type: ignore[untyped-decorator]
    def transform(self, X: Any, **params: Any) -> Any:
        """Code rows by the fitted steps. Only for a pipeline without an estimator."""
        _check_rows(self, X)
        return super().transform(X, **_none(params))


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
    last step one of the private estimators. Every other class is refused, subclasses of these too. What looks at X first must be
    our own: a public step, a pipeline of `sf.make_pipeline`, or the estimator. Each refused step is named with the reason and
    with what to use instead.
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
            f"sf.PrivateLogisticRegression(...)); got {type(pipe).__name__}. What is wrapped around a private estimator reads the "
            "rows before it, or fits it several times."
        )
    if not pipe.steps:
        return ["it has no step. Give a public step and a private estimator."]
    name, last = pipe.steps[-1]
    private = type(last) in PRIVATE
    is_step = last is None or isinstance(last, str) or hasattr(last, "transform")
    steps = pipe.steps[:-1] if private or not is_step else pipe.steps
    faults = _steps.in_order(steps, "", raw=True)[0] + _steps.settings(pipe, "the pipeline")
    where, first = _steps.first_reader(pipe.steps)
    if type(pipe) is Pipeline and isinstance(first, ColumnTransformer | FeatureUnion):
        faults.append(
            f"{where} ({type(first).__name__}): in a bare Pipeline scikit-learn reads X there before any step of sf does, and one "
            "record may decide the type of all others, or raise an error that quotes rows. Make it with sf.make_pipeline("
            f"{', '.join(type(step).__name__ + '(...)' for _, step in pipe.steps)}), which looks at X first."
        )
    for each in (pipe, last) if private else (pipe,):
        replaced = _steps.replaced_method(each)
        if replaced is not None:
            faults.append(f"the {type(each).__name__}: its method {replaced!r} was replaced. Make it anew.")
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


def _none(params: dict[str, Any]) -> dict[str, Any]:
    """Refuse parameters of a fit that nothing takes."""
    if params:
        raise ArgumentError(f"fit takes X and y alone; got {', '.join(params)}.")
    return params


def _read(
    pipe: Pipeline, head: Pipeline | None, X: Any, work: Callable[[Any], Any], persons: bool = False
) -> Outcome[Any]:
    """work(X) for an X that may be read by the first step, or an error whose words come from the steps and from no row."""
    checked = attempt(_check_rows, pipe, X, persons)
    made = attempt(work, X) if checked.error is None else checked
    return made if made.error is None else attempt(_fail_alike, head, _invented(X), made.error)


def _check_rows(pipe: Pipeline, X: Any, persons: bool = False) -> None:
    """Refuse an X of which scikit-learn would make an array because it looks at it before a step of ours.

    persons: whether one person may have several rows.
    """
    import narwhals as nw

    first = _steps.first_reader(pipe.steps)[1]
    matrix = isinstance(X, np.ndarray) and X.ndim == 2
    if isinstance(first, ColumnTransformer | FeatureUnion) and not (matrix or nw.dependencies.is_into_dataframe(X)):
        raise ArgumentError(
            f"X must be a data frame or an array of two dimensions where the first step is a {type(first).__name__}: what "
            "scikit-learn makes of a list or a sparse matrix, its shape or type, depends on single records."
        )
    if persons and isinstance(first, _steps.PUBLIC):
        check_width(X, first._width())


def _coded(head: Pipeline | None, private: bool, X: Any) -> Any:
    """The rows behind the public steps. Where the number of rows is private, none is no error: an invented row is coded instead."""
    if head is None:
        return X
    if private and tuple(getattr(X, "shape", ()))[:1] == (0,):
        return head.fit_transform(_invented(X))[:0]
    return head.fit_transform(X)


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
            Pipeline.fit_transform(clone(head), invented)  # without our checks, whose failure would lead back here
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
    except (AttributeError, ValueError):  # a step that hands columns on may have no names for them
        names = None
    return EncodedRows(norm_after(head), names, target, digest(head), persons_behind(head), steps_of(head))
