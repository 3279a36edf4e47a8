"""Private Huber regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sfumato import _validate
from sfumato.estimators._regressor import Labels, PrivateRegressor
from sfumato.models.losses import Huber, Loss

# Default `clip`, in units of half the width of the bounds: a tenth of the width.
_CLIP = 0.2


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateHuberRegressor(PrivateRegressor):
    """Regression with Huber's loss, under (epsilon, delta)-differential privacy: squared near 0, linear beyond `clip`.

    clip: the residual, in the units of the target, beyond which the loss is linear; by default a tenth of the width of
    `bounds_y`. A smaller one forgives outliers and needs less noise. The other arguments and the attributes are those of
    `PrivateLinearRegression`.
    """

    clip: float | None = None

    def _loss(self, labels: Labels) -> Callable[[float], Loss]:
        clip = _CLIP if self.clip is None else _validate.positive("clip", self.clip) / labels.unit
        return lambda radius: Huber(radius=radius, clip=clip)
