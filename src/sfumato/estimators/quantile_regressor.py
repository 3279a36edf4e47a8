"""Private quantile regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sfumato import _validate
from sfumato.estimators._regressor import Labels, PrivateRegressor
from sfumato.models.losses import Loss, SmoothedQuantile

# Default `width`, in units of half the width of the bounds: a tenth of the width.
_WIDTH = 0.2


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateQuantileRegressor(PrivateRegressor):
    """Regression on a quantile of the target, under (epsilon, delta)-differential privacy.

    The loss is the quantile loss with its kink smoothed over `width`.

    quantile: between 0 and 1; 0.5 is the median.
    width: of the smoothing, in the units of the target; by default a tenth of the width of `bounds_y`. The other arguments
        and the attributes are those of `PrivateLinearRegression`.
    """

    quantile: float = 0.5
    width: float | None = None

    def _loss(self, labels: Labels) -> Callable[[float], Loss]:
        level = _validate.between("quantile", self.quantile, 0.0, 1.0)
        width = _WIDTH if self.width is None else _validate.positive("width", self.width) / labels.unit
        return lambda radius: SmoothedQuantile(radius=radius, quantile=level, width=width)
