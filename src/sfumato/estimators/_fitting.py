"""Base class of the estimators: read declared data, plan, publish, convert the released parameter to the user's units."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from sfumato import _validate
from sfumato.dataset import Dataset
from sfumato.errors import ArgumentError, CalibrationError, MechanismRefused
from sfumato.estimators import _arguments
from sfumato.estimators._encoded import encoded_rows
from sfumato.estimators._persons import averages, check_names, check_width, declared_persons
from sfumato.estimators._rows import Recipe, declared_width
from sfumato.estimators._tables import read_features, read_groups, read_labels
from sfumato.mechanisms.plan import Plan
from sfumato.models import priors
from sfumato.models.building import RANGES
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses import Loss
from sfumato.planning import plan
from sfumato.publishing import publish
from sfumato.queries import shaped_intervals
from sfumato.queries.predict import SCALED
from sfumato.schema.columns import Column
from sfumato.schema.structure import same_length
from sfumato.wording import first_line

Array = NDArray[np.float64]
# Precision of the default prior without bounds, as a share of the largest curvature of one record's loss: it weighs as much as a
# twenty-fifth of one record, so it matters only in directions in which the rows do not vary.
_PRIOR_SHARE = 1 / 25
# Most coefficients for which a release keeps its transcript: steps * coefficients floats, a few megabytes at most.
_KEPT = 1000


@dataclass(frozen=True)
class Scores:
    """From the model's scores to the user's: offset + factor * score, for `outputs` scores per row."""

    outputs: int = 1
    offset: float = 0.0
    factor: float = 1.0


@dataclass(eq=False, repr=False)
class PrivateLinear(BaseEstimator):  # type: ignore[misc]
    """A linear model released by a path of noisy gradients, of which every step is paid for.

    The fields are the arguments that all estimators take. They are kept as given, as scikit-learn requires; `fit` checks them.
    """

    epsilon: float = 1.0
    delta: float | None = None
    _: KW_ONLY
    data_norm: float | None = None
    bounds: Any = None
    fit_intercept: bool = True
    rows: str = "clip"
    prior: Any = None
    persons: Any = None
    unit: str | None = None
    ledger: Any = None
    ledger_name: str | None = None
    request_id: str | None = None
    random_state: int | None = None
    robust: bool = False
    allow_weak: bool = False

    def _read(
        self, X: Any, y: Any, groups: Any, column: Column, scores: Scores, prepare: Callable[[Any], Any]
    ) -> tuple[Dataset, Recipe]:
        """Check the structure of the features and labels; read them under the schema made of the declarations.

        Called through `attempt`, because the frames of this function hold rows. With persons the number of rows is private.
        """
        persons = declared_persons(self)
        private, width = persons is not None, declared_width(self.bounds)
        if y is None:
            raise ArgumentError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        if private:
            check_width(X, width)
        features = read_features(self, X, True, width, private)
        labels = read_labels(y, private)
        same_length({"X": int(features.shape[0]), "y": len(labels)}, private)
        recipe = Recipe.of(self, features.shape[1])
        coded = encoded_rows(self)
        names = getattr(self, "feature_names_in_", None if coded is None else coded.names)
        check_names(persons, names)
        name = _named(self.ledger_name or "data", recipe, scores, "" if coded is None else coded.digest)
        steps = () if coded is None else coded.steps
        schema = recipe.schema(column, name, names, scores.offset, scores.factor, persons, self.unit, steps)
        ids = read_groups(groups) if private else None
        return Dataset.from_arrays(recipe.prepare(features), prepare(labels), schema=schema, groups=ids), recipe

    def _release(self, data: Dataset, recipe: Recipe, loss: Callable[[float], Loss], scores: Scores) -> None:
        """Plan from the declarations and the number of records, publish, and store the release in public attributes."""
        chosen = self._planned(self._model(loss(recipe.radius), recipe, scores), data)
        self.release_ = publish(
            chosen,
            data,
            ledger=self.ledger,
            name=self.ledger_name,
            request_id=self.request_id,
            randomness=_arguments.stream(self),
        )
        self.plan_, self.guarantee_ = chosen, self.release_.guarantee
        self.n_iter_ = int(chosen["steps"])
        self._recipe, self._scores = recipe, scores
        shaped = shaped_intervals.is_shaped(self.release_.plan)
        released = (
            shaped_intervals.predictor(self.release_.draws, self.release_.plan)
            if shaped
            else self.release_.mean(scaled=True)
        )
        parameter = released.reshape(scores.outputs, recipe.size)
        coefficients, intercepts = recipe.to_user(parameter)
        self.coef_: Array = coefficients * scores.factor
        self.intercept_: Any = intercepts * scores.factor + scores.offset

    def _planned(self, model: Gibbs, data: Dataset) -> Plan:
        """The plan for the records of a data set: its persons, where they are declared, however many rows they have."""
        # The noisy gradients are part of the price either way; intervals are computed from them.
        keep = ("transcript",) if (model.dimension or 0) <= _KEPT else ()

        def at(*kept: str) -> Plan:
            price = float(self.epsilon), _validate.positive("delta", self.delta)
            persons, weak = data.schema.persons, self.allow_weak
            return plan(model, data.n, *price, goal="estimate", keep=kept, persons=persons, allow_weak=weak)

        if self.robust:
            return at(*keep, "scores")
        if averages(data.schema.persons):
            # Rows of one person are alike. The matrix of the persons' own scores makes intervals that assume nothing of this.
            try:
                return at(*keep, "scores")
            except (MechanismRefused, CalibrationError):  # the plain path, which many classes take, has no scores
                pass
        return at(*keep)

    def _model(self, loss: Loss, recipe: Recipe, scores: Scores) -> Gibbs:
        dimension = scores.outputs * recipe.size
        prior = self.prior
        if not isinstance(prior, priors.Prior):
            deviation = prior if isinstance(prior, int | float) and not isinstance(prior, bool) else None
            precision = _precision(loss, dimension, recipe, scores, deviation)
            guessed = prior is not None and deviation is None
            prior = priors.Gaussian(precision, self._public_mean(prior, recipe, scores) if guessed else None)
        return Gibbs(loss, prior, dimension, recipe.intercept)

    def _public_mean(self, mean: Any, recipe: Recipe, scores: Scores) -> Array:
        """A public guess of (coef_, intercept_), in the user's units, as the model's parameter."""
        shape = (scores.outputs, recipe.size)
        try:
            given = np.asarray(mean, dtype=np.float64).reshape(shape)
        except (TypeError, ValueError):
            what = "the coefficients and, last, the intercept" if recipe.constant > 0 else "the coefficients"
            raise ArgumentError(
                "prior must be a deviation such as 2.0, one of sf.priors, or a public guess of shape "
                f"{shape}: {what}; got {mean!r}."
            ) from None
        intercepts = given[:, recipe.width] if recipe.constant > 0 else np.full(len(given), scores.offset)
        inner = given[:, : recipe.width] / scores.factor
        return recipe.from_user(inner, (intercepts - scores.offset) / scores.factor).ravel()

    def _linear(self, X: Any) -> Array:
        """Scores of public rows in the user's units, (rows, outputs)."""
        check_is_fitted(self, "release_")
        features = read_features(self, X, reset=False)
        recipe, scores = self._recipe, self._scores
        coefficients = np.atleast_2d(self.coef_)
        intercepts = np.atleast_1d(self.intercept_)
        if recipe.rows == "clip":
            return recipe.scores(features, np.empty(0), coefficients, intercepts)
        inner, shift = coefficients / scores.factor, (intercepts - scores.offset) / scores.factor
        inner_scores = recipe.scores(features, recipe.from_user(inner, shift), inner, shift)
        return inner_scores * scores.factor + scores.offset

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A cell that is no finite number counts as 0 or as the middle of its bounds: an error would reveal a record.
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.sparse = self.bounds is None
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        shown = super().__repr__(N_CHAR_MAX)
        release = self.__dict__.get("release_")
        return f"{shown}  # {head}" if release is not None and (head := first_line(release)) else shown


def _precision(loss: Loss, dimension: int, recipe: Recipe, scores: Scores, deviation: float | None) -> Any:
    """Precision of the prior where its deviation is declared or left to the default.

    With bounds the deviation is that of the effect of a feature from its lower bound to its upper, as in `sf.regression`, and of
    the intercept; behind the public steps of a pipeline, that of one unit of a coded feature; else that of the score of the
    longest row.
    """
    scaled = None if deviation is None else _validate.positive("prior", deviation) / scores.factor
    if (recipe.lower is None and not recipe.coded) or recipe.rows == "normalise":
        if scaled is None:
            return loss.constants(dimension).smoothness * _PRIOR_SHARE
        return (recipe.radius / scaled) ** 2
    # Labels of a regressor are scaled to a range of 2.
    own = scaled or loss.effect_deviation or 2.0 * RANGES
    each = [own**-2.0] * recipe.width + ([(recipe.constant / own) ** 2] if recipe.constant > 0 else [])
    return np.tile(each, scores.outputs)


def _named(name: str, recipe: Recipe, scores: Scores, coding: str) -> str:
    """The data set's name, with a digest of the scales: the ledger then refuses a repeated request under other bounds.

    coding: digest of the declarations of a pipeline's public steps; empty outside a pipeline.
    """
    if recipe.lower is None and scores == Scores(scores.outputs) and not coding:
        return name
    ends = [] if recipe.lower is None or recipe.upper is None else [recipe.lower.tolist(), recipe.upper.tolist()]
    text = repr((ends, recipe.constant, scores.offset, scores.factor)) + coding
    return f"{name}{SCALED}{hashlib.sha256(text.encode()).hexdigest()[:12]}"
