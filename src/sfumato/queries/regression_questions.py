"""Questions to a released regression, as methods of a release: coefficients in own units, contrasts, predictions, effects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.queries.statistics.protocol import BOTH


class RegressionQuestions:
    """The part of `Release` that reads a regression. All of it follows from the release; no row is read."""

    draws: Draws
    plan: Mapping[str, Any]
    schema: Mapping[str, Any]

    def view(self, scaled: bool = False, reference: Mapping[str, Any] | None = None) -> Any:
        """Names and linear map from the released coordinates to what is shown (`queries.own_units.View`)."""
        from sfumato.queries import own_units

        return own_units.view(self.draws, self.plan, self.schema, scaled, reference)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of what is shown: of a regression its coefficients in the columns' own units."""
        return tuple(self.view().labels)

    def coefficients(
        self,
        level: float = 0.9,
        include: str = BOTH,
        *,
        reference: Mapping[str, Any] | None = None,
        scaled: bool = False,
    ) -> Any:
        """A table of coefficients, standard errors, intervals and, where the link has them, ratios.

        `reference` replaces the reference levels of categories: {"region": "south"}, or "sum-to-zero" for effects that add up
        to 0. `scaled=True` shows the coordinates as they were released.
        """
        from sfumato.queries import coefficients

        shown = self.view(scaled, reference)
        return coefficients.table(self.draws, self.plan, self.schema, shown, level, include)

    def prior_dominated(self, ends: NDArray[np.float64], level: float = 0.9, scaled: bool = False) -> str:
        """Sentences on coefficients whose intervals `ends` are hardly narrower than the prior's, and on low coverage; or "".

        The ends are in own units, or with `scaled` as they were released.
        """
        from sfumato.queries import regression_summary

        return regression_summary.warning(self, ends, level, scaled)

    def contrast(self, weights: Mapping[str, float], level: float = 0.9, include: str = BOTH) -> Any:
        """A weighted sum of coefficients: {"region=north": 1, "region=south": -1}, or {"age": 10} for ten years."""
        from sfumato.queries import coefficients

        return coefficients.contrast(self.draws, self.plan, self.schema, self.view(), weights, level, include)

    def predict(self, *unsaid: Any, public_rows: Any = None) -> NDArray[Any]:
        """Predictions of a released regression for public rows, which the release's schema encodes."""
        from sfumato.queries import predict as predicting

        rows = said_public("predict", unsaid, public_rows)
        return predicting.predict(predicting.read(self.draws, self.plan, self.schema), rows)

    def predict_proba(self, *unsaid: Any, public_rows: Any = None) -> NDArray[np.float64]:
        """Probabilities of the target's levels for public rows, averaged over the draws."""
        from sfumato.queries import predict as predicting

        rows = said_public("predict_proba", unsaid, public_rows)
        return predicting.predict_proba(predicting.read(self.draws, self.plan, self.schema), rows)

    def rows_note(self, *unsaid: Any, public_rows: Any = None) -> str:
        """How many cells of public rows a prediction clips or takes as missing, in a sentence; "" where there are none."""
        from sfumato.queries import predict as predicting

        rows = said_public("rows_note", unsaid, public_rows)
        return predicting.read_public(predicting.read(self.draws, self.plan, self.schema), rows).note

    def predict_interval(
        self, *unsaid: Any, public_rows: Any = None, level: float = 0.9, of: str = "mean", include: str = BOTH
    ) -> Any:
        """Predictions with intervals for public rows: of the mean of the target, or of="answer" of one row's target."""
        from sfumato.queries import predicting

        rows = said_public("predict_interval", unsaid, public_rows)
        return predicting.predict_interval(self.draws, self.plan, self.schema, rows, level, of, include)

    def marginal_effects(self, *unsaid: Any, public_rows: Any = None, level: float = 0.9, include: str = BOTH) -> Any:
        """How the probability or rate changes with each column, averaged over public rows."""
        from sfumato.queries import effects

        rows = said_public("marginal_effects", unsaid, public_rows)
        return effects.marginal_effects(self.draws, self.plan, self.schema, rows, level, include)


def said_public(method: str, unsaid: tuple[Any, ...], public_rows: Any) -> Any:
    """The rows of a question, which whoever asks must say to be public; they are read without noise."""
    if unsaid or public_rows is None:
        raise ArgumentError(
            f"rows that are read without noise must be public, and be said to be: release.{method}(public_rows=rows)."
        )
    return public_rows
