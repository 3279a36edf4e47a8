"""Predictions for public rows from a released regression: the average over the draws of what each of them says.

Rows are encoded by the release's own schema, as the private ones were: numbers outside their bounds are clipped, unknown
levels count as the declared missing one, long rows are shortened or normalised. Averaging probabilities and then taking the
likeliest class is Algorithm 2 for the utility "the class is right".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.labels import LabelInterval
from sfumato.models.losses.protocol import LABELLED_ROW
from sfumato.models.reading import model_from_json
from sfumato.schema import Category, Schema
from sfumato.schema.counts import Tally
from sfumato.schema.design import Design
from sfumato.schema.reading import open_source

Array = NDArray[np.float64]
Link = Callable[[Array], Array]
_BLOCK = 1 << 21
# What the name of a data set says where an estimator scaled its rows.
SCALED = ", scaled by bounds "


@dataclass(frozen=True, eq=False)
class Regression:
    """A released regression as its reader sees it."""

    model: Gibbs
    schema: Schema
    draws: Array  # (draw, score, feature)

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """Levels of the target in the order of their codes; None for a target that is a number."""
        if isinstance(self.model.loss.label_domain, LabelInterval):  # type: ignore[attr-defined]
            return None
        column = self.schema.columns[self.schema.target or ""]
        return tuple(column.levels) if isinstance(column, Category) else (False, True)


def read(draws: Draws, plan: Mapping[str, Any], schema: Mapping[str, Any]) -> Regression:
    """The regression of a release; any other model is refused."""
    model = model_from_json(plan["model"])
    if not isinstance(model, Gibbs) or model.loss.record != LABELLED_ROW:
        what = getattr(model, "name", None) or f"a model with the {model.loss.name} loss"
        raise ArgumentError(
            f"predictions for rows need a released regression; this release is of {what}, which reads no features. "
            "Ask it with release.mean(), release.quantile(q) or release.respond(...)."
        )
    declared = Schema.from_json(schema["document"])
    if SCALED in declared.name:
        raise ArgumentError(
            "an estimator scaled the rows of this release by its bounds, which are not in it: use the estimator's own predict."
        )
    scores = getattr(model.loss, "classes", 1)
    values = draws.pooled()
    return Regression(model, declared, values.reshape(len(values), scores, -1))


def predict(regression: Regression, X: Any) -> NDArray[Any]:
    """One prediction per row: the likeliest class, or the mean over the draws of the predicted number.

    For a hinge loss, which has no probabilities, the class that more draws vote for, the first at a tie.
    """
    classes = regression.classes
    if classes is None:
        return _averaged(regression, X, _number_link(regression.model.loss))[:, 0]
    found = _averaged(regression, X, _class_link(regression.model.loss) or _votes).argmax(axis=1)
    levels = np.empty(len(classes), dtype=object)
    levels[:] = classes
    plain = np.array(classes)
    return np.asarray((plain if plain.dtype.kind in "biu" else levels)[found])


def predict_proba(regression: Regression, X: Any) -> Array:
    """Probabilities (rows, classes), in the order of the target's levels, averaged over the draws."""
    if regression.classes is None:
        raise ArgumentError(
            f"the target {regression.schema.target!r} is a number, so there are no classes: use release.predict(X)."
        )
    link = _class_link(regression.model.loss)
    if link is None:
        raise ArgumentError(f"the {regression.model.loss.name} loss has no probabilities: use release.predict(X).")
    return _averaged(regression, X, link)


def _averaged(regression: Regression, X: Any, link: Link) -> Array:
    """Mean over the draws of link(scores), scores shaped (rows, draws, scores); rows in blocks that bound the memory."""
    features = encoded(regression, X)
    draws, scores, width = regression.draws.shape
    flat = regression.draws.reshape(-1, width).T
    block = max(1, _BLOCK // (draws * scores))
    parts = [
        link(np.asarray(features[start : start + block] @ flat).reshape(-1, draws, scores)).mean(axis=1)
        for start in range(0, features.shape[0], block)
    ]
    if not parts:
        raise ArgumentError("X must hold at least one row; got none.")
    return np.concatenate(parts)


def encoded(regression: Regression, X: Any) -> Any:
    """The feature matrix of public rows, the intercept's constant beside it, as the loss saw the private ones."""
    schema = regression.schema.without_target()
    design = Design.of(schema)
    found: dict[str, list[Any]] = {}
    for chunk in open_source(X, None, schema, Tally()):
        for name, values in chunk.items():
            found.setdefault(name, []).append(values)
    block = {name: _joined(parts) for name, parts in found.items()}
    matrix = design.encode(block)
    dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    constant = regression.model.intercept
    return np.column_stack([dense, np.full(len(dense), constant)]) if constant else dense


def _joined(parts: list[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    from scipy.sparse import vstack

    return vstack(parts, format="csr")


# --- from scores to what is predicted --------------------------------------------------------------------------------


def _two(second: Array) -> Array:
    return np.concatenate([1 - second, second], axis=-1)


def _logistic(scores: Array) -> Array:
    return _two(np.exp(-np.logaddexp(0.0, -scores)))


def _probit(scores: Array) -> Array:
    from scipy.special import ndtr

    return _two(np.asarray(ndtr(scores)))


def _cloglog(scores: Array) -> Array:
    return _two(-np.expm1(-np.exp(np.minimum(scores, 7.0))))


def _softmax(scores: Array) -> Array:
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _votes(scores: Array) -> Array:
    return _two((scores > 0).astype(np.float64))


_CLASS_LINKS: dict[str, Link] = {
    "logistic": _logistic,
    "softmax": _softmax,
    "clipped-probit": _probit,
    "clipped-cloglog": _cloglog,
}


def _class_link(loss: Any) -> Link | None:
    return _CLASS_LINKS.get(loss.name)


def _number_link(loss: Any) -> Link:
    """The number itself; a mean count for a Poisson loss, no larger than the declared largest count."""
    if loss.name != "clipped-poisson":
        return lambda scores: scores
    most = math.log(loss.label_bound)
    return lambda scores: np.exp(np.minimum(scores, most))
