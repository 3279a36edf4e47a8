"""Private Huber regression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfumato import _validate
from sfumato.estimators._regressor import Labels, PrivateRegressor
from sfumato.models.losses import Huber, Loss

# The residual from which on the loss is linear, in units of half the width of the bounds, where none is given.
_CLIP = 0.2


class PrivateHuberRegressor(PrivateRegressor):
    """Regression with Huber's loss, under (epsilon, delta)-differential privacy: squared near 0, linear beyond `clip`.

    clip: the residual, in the units of the target, beyond which the loss is linear; by default a tenth of the width of
    `bounds_y`. A smaller one forgives outliers and needs less noise. The other arguments and the attributes are those of
    `PrivateLinearRegression`.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        clip: float | None = None,
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
        self.clip = clip

    def _loss(self, labels: Labels) -> Callable[[float], Loss]:
        clip = _CLIP if self.clip is None else _validate.positive("clip", self.clip) / labels.unit
        return lambda radius: Huber(radius=radius, clip=clip)
