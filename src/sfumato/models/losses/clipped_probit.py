"""Probit loss with a clipped derivative."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from sfumato.models.constants import Constants
from sfumato.models.losses import _scalar
from sfumato.models.losses.labels import SIGNS
from sfumato.models.losses.protocol import FloatArray, ScalarLinkLoss, Target

# Clipping level of a spec file: reached where a label had a probability of 1 in 280.
_CLIP = 3.0
# Margin below which the series replaces the formula: there both have a relative error of about 1e-13.
_SERIES = -30.0


def _steepness(margin: FloatArray) -> FloatArray:
    """N(s)/Phi(s), the inverse Mills ratio at -s: decreasing in s, about -s for s far below 0."""
    from scipy.special import erfcx

    ratio: FloatArray = math.sqrt(2.0 / math.pi) / erfcx(-margin / math.sqrt(2.0))
    return ratio


def _bend(margin: FloatArray) -> FloatArray:
    """The second derivative h (h + s) with h = N(s)/Phi(s): from 1 far below s = 0 down to 0."""
    # h + s cancels far on the left: there the asymptotic series of h, whose next term is below a rounding, is used. Beyond
    # s = 38 the density is 0 in floats.
    near = np.clip(margin, _SERIES, 38.0)
    h = _steepness(near)
    w = np.square(1.0 / np.minimum(margin, _SERIES))
    tail = 1.0 - w * (2.0 - w * (10.0 - w * (74.0 - w * (706.0 - w * 8162.0))))
    return np.where(margin < _SERIES, (1.0 + w * tail) * tail, h * (h + near))


@lru_cache(maxsize=256)
def _clip_point(clip: float) -> float:
    """Margin s at which the steepness is `clip`, by bisection; the steepness at -clip exceeds clip, at 40 it is 0."""
    return _scalar.crossing(_steepness, clip, -clip, 40.0)


@dataclass(frozen=True)
class ClippedProbit(ScalarLinkLoss):
    """phi(u, y) = -log Phi(y u), y in {-1, +1}, continued linearly where its slope exceeds c.

    The slope of the probit loss grows like |u| on the wrong side, so without clipping no record is bounded (Geumlek et
    al. 2017 take it as bounded by 1, which holds for canonical links only). Clipped: |phi'| <= c, phi'' < 1, so L = c
    r, G/power = 2 c r (approached for d >= 2) and M_l = r^2.
    """

    radius: float
    clip: float
    name = "clipped-probit"
    positive = ("radius", "clip")
    compiled = 8, ("clip",)
    probabilistic = True
    link = "probit"
    estimand = "the penalised probit fit with slopes clipped at a declared level that few rows reach"
    effect_deviation = 3.0  # a probit is about log odds/1.7
    spec_name = "probit"
    spec_keys = ("clip",)
    label_domain = SIGNS

    def value(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """-log Phi(y u), linear with slope c beyond the clipping point."""
        from scipy.special import log_ndtr

        scores, labels = _scalar.arrays(u, y)
        margin = labels * scores
        inside = np.maximum(margin, _clip_point(self.clip))
        value: FloatArray = self.clip * (inside - margin) - log_ndtr(inside)
        return value

    def derivative(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """-y min(c, N(y u)/Phi(y u)), N the standard normal density."""
        scores, labels = _scalar.arrays(u, y)
        return -labels * np.minimum(self.clip, _steepness(labels * scores))

    def curvature(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """The value h (h + s) with s = y u and h = N(s)/Phi(s), where h < c; else 0."""
        scores, labels = _scalar.arrays(u, y)
        margin = labels * scores
        bent = np.clip(_bend(margin), 0.0, self.largest_curvature())
        return np.where(margin > _clip_point(self.clip), bent, 0.0)

    def constants(self, dimension: int | None = None, domain_radius: float = math.inf) -> Constants:
        """L = c r, G/power = 2 c r, M_l = r^2, Delta = phi(-r R) - phi(r R)."""
        bound = _scalar.spread(self, self.clip, domain_radius, (-1.0, 1.0))
        return _scalar.constants_of_slope(self, slope=self.clip, curvature=1.0, bound=bound, convex=True)

    def predict(self, scores: FloatArray) -> FloatArray:
        """P(y = 1) = Phi(u)."""
        from scipy.special import ndtr

        return _scalar.two_classes(np.asarray(ndtr(scores)))

    @classmethod
    def from_spec(cls, radius: float, target: Target) -> ClippedProbit:
        """The slope is clipped at 3, unless the spec gives clip."""
        return cls(radius, target.given("clip", _CLIP))
