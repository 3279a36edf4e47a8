"""Which steps of a pipeline learn nothing from rows. A list of classes: what is not on it is refused, subclasses too.

A step is accepted if (1) what `fit` keeps follows from its parameters, the number of columns and their names; (2) each row of
`transform` is a function of one row of its input; (3) no cell makes it raise or warn. Most steps of scikit-learn that satisfy (1)
and (2) raise on cells that are empty, infinite or texts, so they are accepted only behind a public transformer, whose output
is finite numbers whatever the cells were. Columns that no public transformer has coded are called raw here. A step that puts
columns side by side accepts none of them: NumPy and pandas choose one type for all records, by what each of them is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sklearn.compose import ColumnTransformer  # type: ignore[import-untyped]
from sklearn.pipeline import FeatureUnion, Pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import (  # type: ignore[import-untyped]
    Binarizer,
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
)

from sfumato.estimators import _refusals
from sfumato.estimators.public_encoder import PublicEncoder
from sfumato.estimators.public_scaler import PublicScaler

# (sentence about a fault) for each faulty step, and whether the output is still X, raw as it was given.
Checked = tuple[list[str], bool]

PUBLIC = (PublicScaler, PublicEncoder)
_ACCEPTED = (
    "sf.PublicScaler and sf.PublicEncoder; behind them PolynomialFeatures, Normalizer, Binarizer and OneHotEncoder with "
    "declared categories; Pipeline, ColumnTransformer and FeatureUnion of such steps; 'passthrough' and 'drop'"
)
_RAW = (
    "scikit-learn reads cells there that no public step has coded, and one record may decide their type for all or raise an error, "
    "which reveals it. "
)


def _any(step: Any) -> str | None:
    return None


def _one_hot(step: OneHotEncoder) -> str | None:
    """Only declared categories, cells of no category as zeros, and a dense output."""
    declared = not isinstance(step.categories, str) and step.min_frequency is None and step.max_categories is None
    if not declared:
        return (
            "it learns the levels of every column from the rows, without noise and without a charge. Use "
            "sf.PublicEncoder(schema), which takes the declared levels."
        )
    if step.handle_unknown != "ignore" or step.drop is not None:
        return (
            'it raises or warns where a cell is of no category, which reveals a record. Set handle_unknown="ignore" and '
            "drop=None, or use sf.PublicEncoder."
        )
    if step.sparse_output:
        return (
            "its sparse output is kept or filled according to how many cells are not zero. Set sparse_output=False, or use "
            "sf.PublicEncoder."
        )
    return None


def _hands_on(step: FunctionTransformer) -> str | None:
    return None if is_identity(step) else _refusals.why(step, _ACCEPTED)


# Steps of scikit-learn that learn the number and names of columns alone, with the fault of a step's parameters, if any.
STATELESS: dict[type, Callable[[Any], str | None]] = {
    PolynomialFeatures: _any,
    Normalizer: _any,
    Binarizer: _any,
    OneHotEncoder: _one_hot,
    FunctionTransformer: _hands_on,
}


def checked(step: Any, where: str, raw: bool) -> Checked:
    """Check one step, which is named `where`, on columns that are raw or coded."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return [], raw
    if isinstance(step, str) and step == "drop":
        return [], False
    kind = type(step)
    label = f"{where} ({kind.__name__}): "
    if kind not in STATELESS and kind not in PUBLIC and kind not in COMPOSED:
        known = [base.__name__ for base in kind.__mro__[1:] if base in STATELESS or base in PUBLIC or base in COMPOSED]
        if known:
            return [f"{label}a subclass of {known[0]} may read the rows. Use {known[0]} itself."], False
        return [label + _refusals.why(step, _ACCEPTED)], False
    name = replaced_method(step)
    if name is not None:
        return [f"{label}its method {name!r} was replaced. Make the step anew."], False
    if kind in COMPOSED:
        return COMPOSED[kind](step, where, raw)
    if kind in PUBLIC:
        return [], False
    fault = STATELESS[kind](step)
    if fault is not None:
        return [label + fault], False
    if raw:
        return [f"{label}{_RAW}Put sf.PublicScaler(schema) or sf.PublicEncoder(schema) before it."], False
    return [], False


def is_identity(step: Any) -> bool:
    """Whether a step hands its input on: None, "passthrough", or what a fitted FeatureUnion keeps in place of "passthrough"."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return True
    own = type(step) is FunctionTransformer and replaced_method(step) is None
    return own and step.func is None and step.inverse_func is None and not step.validate


def replaced_method(step: Any) -> str | None:
    """A method of the class that was replaced in this one object, by a function that could do anything; None if there is none."""
    return next((name for name in vars(step) if callable(getattr(type(step), name, None))), None)


def in_order(steps: list[tuple[str, Any]], where: str, raw: bool) -> Checked:
    """Check steps that follow each other."""
    faults: list[str] = []
    for name, step in steps:
        more, raw = checked(step, _under(where, name), raw)
        faults += more
    return faults, raw


def first_reader(steps: list[tuple[str, Any]], where: str = "") -> tuple[str, Any]:
    """The first step that looks at X, with its place: a bare Pipeline and "passthrough" hand it on. ("", None) if there is none."""
    for name, step in steps:
        here = _under(where, name)
        place, first = first_reader(step.steps, here) if type(step) is Pipeline else (here, step)
        if first is not None and not isinstance(first, str):
            return place, first
    return "", None


def branches(step: Any) -> Iterator[tuple[str, Any, Any]]:
    """(name, step, columns) of a ColumnTransformer, the remainder included, or of a FeatureUnion, whose columns are None."""
    if isinstance(step, FeatureUnion):
        for name, each in step.transformer_list:
            yield name, each, None
        return
    yield from step.transformers
    yield "remainder", step.remainder, None


def _side_by_side(step: Any, where: str, raw: bool) -> Checked:
    faults = settings(step, where)
    for name, each, columns in branches(step):
        if callable(columns):
            faults.append(
                f"{_under(where, name)}: its columns are chosen by a function of the rows, and the type of a column may depend "
                "on one record. List the columns by name."
            )
        more, is_raw = checked(each, _under(where, name), raw)
        faults += more
        if is_raw:
            faults.append(
                f"{_under(where, name)}: {_RAW}Put sf.PublicScaler(bounds=(lower, upper)) or sf.PublicEncoder(schema) in place of "
                '"passthrough".'
            )
    return faults, False


def _pipeline(step: Pipeline, where: str, raw: bool) -> Checked:
    faults, raw = in_order(step.steps, where, raw)
    return faults + settings(step, where), raw


def settings(step: Any, where: str) -> list[str]:
    """Faults of the own parameters of a step that is made of steps."""
    found = {
        "memory keeps rows in files. Set memory=None.": getattr(step, "memory", None) is not None,
        "transform_input is not supported. Set transform_input=None.": getattr(step, "transform_input", None)
        is not None,
        "other processes get the rows, through files. Set n_jobs=None.": getattr(step, "n_jobs", None) not in (None, 1),
        "callbacks get the rows. Make it anew without them.": bool(getattr(step, "_skl_callbacks", None)),
    }
    return [f"{where}: {fault}" for fault, holds in found.items() if holds]


def _under(where: str, name: str) -> str:
    return f"{where}, {name!r}" if where else f"step {name!r}"


# Steps made of steps. `pipelines` adds its own class.
COMPOSED: dict[type, Callable[[Any, str, bool], Checked]] = {
    Pipeline: _pipeline,
    ColumnTransformer: _side_by_side,
    FeatureUnion: _side_by_side,
}
