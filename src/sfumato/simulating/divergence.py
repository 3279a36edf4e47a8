"""`sf.posterior_divergence`: the KL divergence of the true posterior from the law of what a plan releases.

Where the release is a draw of a tempered or strengthened posterior, both are members of one family and the divergence has a
closed form. Where noise is added to the totals, the release has the mixture law

    A(theta) = sum over noisy totals z of P(z | totals) p(theta | z moved to where n records can have it),

with an atom at each end of the possible totals, and E_P[log P - log A] is integrated numerically.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato._quadrature import Array, gauss_legendre
from sfumato.errors import ArgumentError
from sfumato.mechanisms.plan import Plan
from sfumato.models.families._rate import Rate
from sfumato.models.networks._tables import Tables
from sfumato.simulating import laws

# Noise beyond this many standard deviations has a probability below 1e-33 and is left out.
_FAR = 12.0
# Nodes of one panel of totals and of the integral over the parameter; doubling either moves no divergence tested by 1e-9.
_PANEL, _NODES = 8, 400
# Panels of totals, and log densities held at a time (16 MB).
_MOST_PANELS, _BLOCK = 4096, 1 << 21
# The true posterior is integrated between its quantiles of this level and 1 minus it.
_TAIL = 1e-14


def posterior_divergence(plan: Plan, totals: Any) -> Array:
    """KL(true posterior || law of the release), one number for each data set given by its `totals`. NOT private.

    The true posterior is that of the plan's model at power 1 and strength 1. Grid rounding, a fraction of the posterior's
    width, is left out. The result is computed from totals of records without any noise: use public or simulated
    totals, and do not publish it for private data.

    `totals` are what the family sums: ones, events, counts of cells or durations; the vectors of GaussianMean and
    MultivariateNormal; x - lower for NormalMean, |x - centre| for LaplaceScale, (x - centre)^2/2 for NormalPrecision. Groups
    are added up. Posteriors that are drawn exactly have closed forms, but for truncated ones and LogitNormal, which are
    integrated (LogitNormal to about 1e-4 of the divergence); truncated networks are refused. From noisy statistics the
    mixture is integrated for Beta posteriors without a floor and Gamma posteriors without bounds.
    Source: Geumlek et al. 2017, section 5.1 (KL(P || A)).
    """
    planned = laws.check_plan(plan, "divergences from the true posterior")
    model: Any = planned.model
    rows = laws.read_totals(model, totals, planned.n)
    true = model.natural(rows, planned.n)
    deviation = laws.noise_deviation(planned)
    if deviation == 0:
        if isinstance(model, Tables) and model.bounded:
            raise ArgumentError(
                f"the divergence of truncated tables is not computed: give a network without a floor; got {model}."
            )
        # A grouped model has one posterior for each group: rows of the same data set are next to each other.
        gaps = np.asarray(model.divergence(true, laws.natural(planned, rows)), dtype=np.float64)
        return np.asarray(gaps.reshape(len(rows), -1).sum(axis=1))
    if not laws.one_number(model) or model.bounded:
        raise ArgumentError(
            f"the divergence from draws of noisy statistics is integrated for untruncated Beta and Gamma posteriors; got {model}."
        )
    return np.array([_from_mixture(planned, float(row[0]), deviation) for row in rows])


def _from_mixture(plan: Plan, total: float, deviation: float) -> float:
    """E_P[log P - log A] for one total."""
    model: Any = plan.model
    points, weights = _parameters(model, model.natural(np.array([total]), plan.n))
    places, shares = _noisy(model, plan.n, total, deviation)
    naturals = model.natural(places[:, None], plan.n)
    true = _log_densities(model, model.natural(np.array([[total]]), plan.n), points)[0]
    mixed = np.full(len(points), -np.inf)
    size = max(1, _BLOCK // len(points))
    with np.errstate(divide="ignore"):
        for start in range(0, len(places), size):
            part = _log_densities(model, naturals[start : start + size], points)
            part += np.log(shares[start : start + size])[:, None]
            mixed = np.logaddexp(mixed, np.logaddexp.reduce(part, axis=0))
    mass = np.exp(true) * weights
    return max(0.0, float((mass * (true - mixed)).sum() / mass.sum()))


def _noisy(model: Any, n: int, total: float, deviation: float) -> tuple[Array, Array]:
    """Feasible totals after the noise and their probabilities: quadrature between the ends, and an atom at each."""
    from scipy.special import ndtr

    low, high = (float(model.feasible(np.array([x]), n)[0]) for x in (-math.inf, math.inf))
    left, right = max(low, total - _FAR * deviation), min(high, total + _FAR * deviation)
    # The posterior moves on the scale of the root of the total's range; panels are as narrow as that, or as the noise.
    width = min(deviation, 0.5 * math.sqrt((high - low) * model.sensitivity))
    panels = min(_MOST_PANELS, max(1, math.ceil((right - left) / width)))
    nodes, weights = gauss_legendre(_PANEL)
    half = 0.5 * (right - left) / panels
    places = (left + half * (2 * np.arange(panels) + 1))[:, None] + half * nodes
    heights = np.exp(-0.5 * ((places - total) / deviation) ** 2) / (deviation * math.sqrt(2 * math.pi))
    ends = [float(ndtr((low - total) / deviation)), float(ndtr((total - high) / deviation))]
    inside = (heights * half * weights).ravel()
    return np.concatenate([places.ravel(), [low, high]]), np.concatenate([inside, ends])


def _parameters(model: Any, natural: Array) -> tuple[Array, Array]:
    """Points and weights of an integral over the parameter, in log odds (Beta) or logarithms (Gamma)."""
    from scipy import stats

    first, second = (float(x) for x in natural)
    nodes, weights = gauss_legendre(_NODES)
    if isinstance(model, Rate):
        ends = stats.beta.ppf(_TAIL, [first, second], [second, first])
        low, high = (float(np.log(end) - np.log1p(-end)) for end in ends)
        high = -high
    else:
        low, high = math.log(stats.gamma.ppf(_TAIL, first) / second), math.log(stats.gamma.isf(_TAIL, first) / second)
    return 0.5 * (low + high) + 0.5 * (high - low) * nodes, 0.5 * (high - low) * weights


def _log_densities(model: Any, naturals: Array, points: Array) -> Array:
    """Log densities (laws, points) with respect to the log odds or the logarithm of the parameter."""
    from scipy.special import betaln, gammaln

    first, second = naturals[:, :1], naturals[:, 1:]
    if isinstance(model, Rate):
        return np.asarray(-first * np.logaddexp(0, -points) - second * np.logaddexp(0, points) - betaln(first, second))
    return np.asarray(first * (points + np.log(second)) - second * np.exp(points) - gammaln(first))
