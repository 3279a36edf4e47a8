"""Private linear support vector classification."""

from __future__ import annotations

from typing import Any

from sfumato.errors import ArgumentError
from sfumato.estimators._classifier import PrivateClassifier, one_score
from sfumato.models.losses import SmoothedHinge

# Width of the parabola in place of the hinge's kink, in units of the margin.
_WIDTH = 1.0


class PrivateLinearSVC(PrivateClassifier):
    """A linear classifier of two classes with the smoothed hinge loss, under (epsilon, delta)-differential privacy.

    The kink of the hinge is replaced by a parabola as wide as the margin. Arguments and attributes are those of
    `PrivateLogisticRegression`, without probabilities. For more than two classes use `PrivateLogisticRegression`: one
    classifier per class would split the privacy budget.
    """

    def _loss(self, classes: int) -> tuple[Any, int]:
        if classes != 2:
            raise ArgumentError(
                f"classes must be two for PrivateLinearSVC; got {classes}. Use PrivateLogisticRegression for more."
            )
        return one_score(SmoothedHinge, width=_WIDTH)

    def _many(self) -> bool:
        return False
