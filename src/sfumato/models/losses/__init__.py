"""Losses, one file each, with the constants that the theorems need. Tests search for counterexamples to every constant.

`radius` bounds the norm of a row, intercept included: `radius_with_intercept(data_norm)`.
"""

from __future__ import annotations

from sfumato.models.losses._scalar import radius_with_intercept
from sfumato.models.losses.attack import ship
from sfumato.models.losses.clipped_cloglog import ClippedCloglog
from sfumato.models.losses.clipped_poisson import ClippedPoisson
from sfumato.models.losses.clipped_probit import ClippedProbit
from sfumato.models.losses.gaussian_mean import GaussianMean
from sfumato.models.losses.hinge import Hinge
from sfumato.models.losses.huber import Huber
from sfumato.models.losses.labels import LabelInterval, LabelSet
from sfumato.models.losses.logistic import Logistic
from sfumato.models.losses.logit_bernoulli import LogitBernoulli
from sfumato.models.losses.protocol import Loss, ScalarLinkLoss
from sfumato.models.losses.quantile import Quantile
from sfumato.models.losses.scalar_link import ScalarLink
from sfumato.models.losses.smoothed_hinge import SmoothedHinge
from sfumato.models.losses.smoothed_quantile import SmoothedQuantile
from sfumato.models.losses.softmax import Softmax

# name in documents -> class; LOSSES[document.pop("loss")](**document) is the loss again. A ScalarLink is made of
# functions and cannot be read back.
LOSSES: dict[str, type[Loss]] = {
    loss.name: loss
    for loss in (
        Logistic,
        Softmax,
        Hinge,
        SmoothedHinge,
        Huber,
        Quantile,
        SmoothedQuantile,
        ClippedProbit,
        ClippedCloglog,
        ClippedPoisson,
        LogitBernoulli,
        GaussianMean,
    )
}

# Proved and attacked by the tests; any other class, and any of these once it is changed, is attacked where a model takes it.
ship(*LOSSES.values(), ScalarLink)

__all__ = [
    "LOSSES",
    "ClippedCloglog",
    "ClippedPoisson",
    "ClippedProbit",
    "GaussianMean",
    "Hinge",
    "Huber",
    "LabelInterval",
    "LabelSet",
    "Logistic",
    "LogitBernoulli",
    "Loss",
    "Quantile",
    "ScalarLink",
    "ScalarLinkLoss",
    "SmoothedHinge",
    "SmoothedQuantile",
    "Softmax",
    "radius_with_intercept",
]
