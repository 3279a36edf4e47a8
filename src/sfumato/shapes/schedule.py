"""How far and in which steps a path in mapped coordinates goes: from public numbers and the published spectrum alone.

Losses are rescaled to slope 1 and curvature 1/4 (the logistic loss); a loss of largest curvature k multiplies steps by 1/(4k).
With the price of the path as n mu, m and c of the map (`shapes.whitening`) and d coefficients:

- N = 355 m d/(n mu)^2 predicts the variance that the noise gives a score once the path has converged;
- the travel, step size times steps over (1 - momentum), is A = gamma c n mu with gamma = .12/N, between .7 and 3. A direction
  of curvature lambda is worth moving along if lambda tau exceeds sqrt(8)/(n mu), where tau is c times the deviation of the
  score: the travel that passes such directions and stops before the others grows in proportion to c n mu. Where N is small the
  noise of a converged path costs little, so the path may go on; where N is large it has to stop early;
- no step is longer than c^2 m/(1.5 k): the mapped curvature is at most k/(c^2 m) up to noise, and momentum leaves room.

The curvature gets .12 of the price's mu^2 while its noise, of spectral norm sqrt(2d) times its deviation, can be kept below the
curvature of a usual direction; that fails where 8 d^1.5 exceeds n mu, and its share falls in proportion, to .03 at least: the
more coefficients, the less a curvature matrix can tell beside the path.

How far rows may be from the middle before they count for less (c, b and kappa of `shapes.whitening`) follows from x = n mu/sqrt(d)
of the whole price. Where long rows count for less the fit is not the plain fit of the same rows: it differs by at most the share
of the rows' squared length that is cut, which is below 1/c^2 of their kurtosis, while the noise is 2 c/x along a direction of
moment 1. So the bias stays a bounded multiple of the noise if c^3 grows like x. Up to c = 1 most rows are cut, and the noise
hardly depends on c.

The constants .12, .7 and 3 of the travel were chosen on UCI Adult, UCI Abalone and MNIST's threes and eights, epsilon .1 to 8.
"""

from __future__ import annotations

import math

from sfumato.shapes.whitening import MapRule

# Steps, momentum, and the share of steps whose average is taken: more steps than about 100 gain nothing, since the noise of
# each grows with their number.
STEPS, MOMENTUM, TAIL = 100, 0.8, 0.5
_SCORE_NOISE, _TRAVEL, _SHORTEST, _LONGEST, _STABLE = 355.0, 0.12, 0.7, 3.0, 1.5

# Share of mu^2 for the curvature, its floor, and the d^1.5/(n mu) from which on it falls.
_CURVATURE, _LEAST_CURVATURE, _HIDDEN = 0.12, 0.03, 8.0

# c = (x/1100)^.35 (docs/benchmarks/estimands.md); below, noise hides what is cut, and c falls faster, to .4 at least.
_LEAST_RADIUS, _RADIUS_AT, _FEW_POWER, _MANY_POWER = 0.4, 1100.0, 0.7, 0.35
# b: the signal of the curvature falls like 1/c^2, its noise is proportional to b.
_LEAST_BEND, _MOST_BEND, _BEND = 1.5, 3.0, 1.2
# kappa: .2 up to x = 1,500 and 1 from 5,700 on. A small one stretches directions of little moment until their long rows are cut
# (balances of Bank at epsilon 20); a large one adds noise to columns that go together (Wine at epsilon 3).
_LEAST_RIDGE, _MOST_RIDGE, _RIDGE_AT, _RIDGE_POWER = 0.2, 1.0, 1500.0, 1.2


def map_rule(x: float) -> MapRule:
    """c, b and kappa of the map for x = n mu/sqrt(d) of the whole price: public numbers, fixed beforehand."""
    power = _MANY_POWER if x > _RADIUS_AT else _FEW_POWER
    radius = max(_LEAST_RADIUS, (x / _RADIUS_AT) ** power)
    bend = min(_MOST_BEND, max(_LEAST_BEND, _BEND / radius))
    ridge = min(_MOST_RIDGE, max(_LEAST_RIDGE, _LEAST_RIDGE * (x / _RIDGE_AT) ** _RIDGE_POWER))
    return MapRule(radius, bend, ridge)


def curvature_share(spend: float, dimension: int) -> float:
    """Share of mu^2 that the curvature gets; `spend` is n mu of the whole price."""
    hidden = _HIDDEN * math.sqrt(dimension) * dimension / spend
    return max(_LEAST_CURVATURE, _CURVATURE / max(1.0, hidden))


def learning_rate(
    spend: float, size: float, dimension: int, scale: float, curvature: float, steps: int, momentum: float
) -> float:
    """The step size; `spend` is n mu of the path, `size` and `scale` are m and c of the map, `curvature` is k."""
    predicted = _SCORE_NOISE * size * dimension / spend**2
    gamma = min(max(_TRAVEL / predicted, _SHORTEST), _LONGEST)
    travel = gamma * scale * spend / (4 * curvature)
    return min(travel * (1 - momentum) / steps, scale**2 * size / (_STABLE * curvature))
