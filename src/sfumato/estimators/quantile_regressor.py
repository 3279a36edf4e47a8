"""Private quantile regression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfumato import _validate
from sfumato.estimators._regressor import Labels, PrivateRegressor
from sfumato.models.losses import Loss, SmoothedQuantile

# Width of the parabola in place of the kink, in units of half the width of the bounds, where none is given.
_WIDTH = 0.2


class PrivateQuantileRegressor(PrivateRegressor):
    """Regression on a quantile of the target, under (epsilon, delta)-differential privacy.

    The loss is the quantile loss with its kink smoothed over `width`.

    quantile: between 0 and 1; 0.5 is the median.
    width: of the smoothing, in the units of the target; by default a tenth of the width of `bounds_y`. The other arguments
        and the attributes are those of `PrivateLinearRegression`.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        quantile: float = 0.5,
        width: float | None = None,
        data_norm: float | None = None,
        bounds: Any = None,
        bounds_y: Any = None,
        fit_intercept: bool = True,
        rows: str = "clip",
        prior: Any = None,
        ledger: Any = None,
        ledger_name: str | None = None,
        request_id: str | None = None,
        random_state: int | None = None,
    ) -> None:
        """Keep the arguments as they are; `fit` checks them."""
        super().__init__(
            epsilon,
            delta,
            data_norm=data_norm,
            bounds=bounds,
            bounds_y=bounds_y,
            fit_intercept=fit_intercept,
            rows=rows,
            prior=prior,
            ledger=ledger,
            ledger_name=ledger_name,
            request_id=request_id,
            random_state=random_state,
        )
        self.quantile = quantile
        self.width = width

    def _loss(self, labels: Labels) -> Callable[[float], Loss]:
        level = _validate.between("quantile", self.quantile, 0.0, 1.0)
        width = _WIDTH if self.width is None else _validate.positive("width", self.width) / labels.unit
        return lambda radius: SmoothedQuantile(radius=radius, quantile=level, width=width)
