"""What the procedures that learn the shape of the rows first share: the model they serve, the moments, the map, the start.

The moments of the rows are released with noise; map, weights, start and clipping level follow from them and from public
numbers. Where labels have declared bounds and the loss is that of a linear regression, the label is one more column of the
moments: their ridge solution is the start of the path, and the residual deviation that they imply sets the clipping level.
The label of a regression of counts with an intercept is such a column too: its moment with the constant is the mean count, from
which start, clipping level and steps follow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.engines.protocol import UNIT_ROUNDOFF, Array, LabelScale, ShapedEngine, gradient_error
from sfumato.grids.line import spacing
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.protocol import LABELLED_ROW, Loss, ScalarLinkLoss
from sfumato.privacy.guarantee import Guarantee
from sfumato.samplers.langevin import Recursion
from sfumato.samplers.support import multiples
from sfumato.shapes import symmetric
from sfumato.shapes.clip_level import CELLS, EDGES, count_level, residual_level
from sfumato.shapes.schedule import map_rule
from sfumato.shapes.whitening import MapRule, Shape, edge, largest_norm, shape_of
from sfumato.theorems.curvature import noisy_shares
from sfumato.theorems.moments import noisy_moments

# Most coefficients: the moments are d(d+1)/2 numbers, and the map needs their eigenvectors.
WIDEST = 2000
# The label's column of the moments has this share of the longest row's norm: the noise of the other columns grows by half of
# what an equal share would cost.
_LABEL_SHARE = 0.7
# The least residual deviation over the declared half-range of the labels.
_NARROWEST = 0.01
# Deviations of its noise that are added to the estimated residual variance. A whole one makes label bounds that are ten times
# too wide cost five times the width at 6,000 rows; none leaves the floor alone where the variance is estimated as 0.
_CAUTION = 0.3
# Least mean count as a share of the declared bound: a bound that is wider by more says little about the counts.
_RAREST = 1e-3
# The curvature by which the steps of counts of mean m are chosen, over m: their mean curvature is m, that along the coefficients
# m (1 + t^2) for scores of deviation t.
_COUNT_CURVATURE = 2.0
# What the mean of weighted curvatures is not below, over m: weights are about .4, and m may be ten times too large where its
# noise exceeds the mean itself.
_COUNT_FLATTEST = 0.04


def refuses(model: Gibbs) -> str | None:
    """Serve convex smooth losses of one score with labelled rows, in a stated dimension of at most `WIDEST`."""
    loss, constants = model.loss, model.constants
    if not isinstance(loss, ScalarLinkLoss) or loss.record != LABELLED_ROW:
        return f"the shape of the rows is learnt only for losses with one score per labelled row, and {loss.name} is not one"
    if not constants.convex or not constants.smooth or not math.isfinite(loss.largest_curvature()):
        return f"the curvature of a {loss.name} loss is not bounded, or the loss is not convex"
    if not math.isfinite(loss.largest_slope()):
        return "the per-record gradients are unbounded; use a clipped loss"
    if model.dimension is None or model.dimension > WIDEST:
        given = "an unstated number" if model.dimension is None else f"{model.dimension:,}"
        return f"the shape of the rows is learnt for at most {WIDEST:,} coefficients, stated beforehand; the model has {given}"
    return None


def label_column(model: Gibbs) -> LabelScale | None:
    """How the label enters the moments; None where it does not."""
    ends, most = model.loss.squared_labels, model.loss.counted_labels
    if ends is None and most is not None and model.intercept:
        return LabelScale(0.0, most, _LABEL_SHARE * model.loss.radius / most)
    if ends is None:
        return None
    # The middle of the bounds is a constant, which only an intercept can take back.
    centre = (ends[0] + ends[1]) / 2 if model.intercept else 0.0
    half = max(ends[1] - centre, centre - ends[0])
    return LabelScale(centre, half, _LABEL_SHARE * model.loss.radius / half)


def label_radius(label: LabelScale | None) -> float:
    """Bound on the label's column of the moments, rounded up; 0 without one."""
    return 0.0 if label is None else label.scale * label.half * (1 + 1e-12)


def largest_moment(loss: Loss, label: LabelScale | None) -> float:
    """R^2 = r^2 + l^2: the largest norm of a record's term of the moments."""
    return loss.radius**2 + label_radius(label) ** 2


def moments_price(model: Gibbs, n: int, noise: float, label: LabelScale | None) -> Guarantee:
    """Price of the noisy moments, the roundings of their sum included."""
    joint = largest_moment(model.loss, label)
    size = joint + 12 * noise * math.sqrt(symmetric.length((model.dimension or 1) + 1) + 100)
    return noisy_moments(
        radius=model.loss.radius,
        label_radius=label_radius(label),
        n=n,
        noise=noise,
        public_weights=True,  # what `ShapedEngine.moments` does
        float_error=gradient_error(n, joint) / n + 16 * UNIT_ROUNDOFF * size,
    )


def shares_price(n: int, noise: float) -> Guarantee:
    """Price of the noisy shares of residuals, the roundings of their sum included."""
    error = gradient_error(n, 1.0) / n + 16 * UNIT_ROUNDOFF * (1 + 12 * noise * math.sqrt(CELLS + 100))
    return noisy_shares(n=n, noise=noise, float_error=error, public_point=True)


def gradient_mean_error(model: Gibbs, n: int, moments_noise: float, noise: float, rule: MapRule) -> float:
    """Rounding error of a noisy mean gradient, in units of the slope: it is summed in the rows' coordinates and mapped by B
    afterwards, whose norm is bounded by the noise of the moments alone.
    """
    d, radius = int(model.dimension or 1), model.loss.radius
    norm = largest_norm(moments_noise, d, rule)
    mapped = norm * (gradient_error(n, radius) / n + 4 * math.sqrt(d) * (d + 4) * UNIT_ROUNDOFF * radius)
    return mapped + 16 * UNIT_ROUNDOFF * (1 + 12 * noise * math.sqrt(d + 100))


def matrix_mean_error(model: Gibbs, n: int, largest: float, noise: float) -> float:
    """Rounding error of a noisy mean matrix whose terms are summed in mapped coordinates, with norm at most `largest`."""
    size = largest + 12 * noise * math.sqrt(symmetric.length(int(model.dimension or 1)) + 100)
    return gradient_error(n, largest) / n + 16 * UNIT_ROUNDOFF * size


def noisy(values: Array, noise: float, source: Any) -> Array:
    """`values` with independent normal noise, rounded to the public grid of this noise."""
    grid = float(spacing(noise))
    return np.asarray(np.rint((values + noise * source.normal(values.shape)) / grid) * grid)


def possible(values: Array, length: int, noise: float, largest: float) -> bool:
    """Whether these are `length` numbers on the grid of this noise, in reach of a vector of norm `largest` and its noise.

    The norm of k normals exceeds sqrt(k) + 12 with probability below exp(-72).
    """
    if values.shape != (length,) or not np.isfinite(values).all():
        return False
    reach = largest + noise * (math.sqrt(length) + 12)
    return math.hypot(*values.tolist()) <= reach * (1 + 1e-9) and multiples(values, float(spacing(noise)))


def publish_moments(model: Gibbs, engine: ShapedEngine, noise: float, label: LabelScale | None, source: Any) -> Array:
    """The noisy mean moments of the rows, in the coordinates of `shapes.symmetric`."""
    # Rounded down, so that the weights of the engine never allow more than is paid for.
    radius = math.hypot(model.loss.radius, label_radius(label)) * (1 - 1e-15)
    return noisy(symmetric.packed(engine.moments(radius, label) / engine.n), noise, source)


def tail_means(recursion: Recursion, transcript: Array) -> tuple[Array, Array]:
    """Means over the tail of the parameters theta_t at which gradients were taken, and of these gradients."""
    visited: list[Array] = []

    def published(theta: Array, done: int) -> Array:
        visited.append(theta[0])
        return np.asarray(transcript[:, done - 1])

    recursion.run(published)
    tail = recursion.tail
    return np.mean(visited[-tail:], axis=0), transcript[0, -tail:].mean(axis=0)


def resolvable(model: Gibbs, noise: float) -> bool:
    """Whether moments with this noise can tell any direction: the largest moment is at most the radius squared."""
    return edge(noise, model.dimension or 1) < model.loss.radius**2


@dataclass(frozen=True, eq=False)
class Learnt:
    """What follows from published moments: the map, the start of the path in the user's coordinates, the loss, and the steps.

    `curvature` is the curvature of the loss by which the steps are chosen, at most its largest one; `least` is a number below
    the mean curvature of the rows, where the loss has one of its own; `deviation` is that of residuals around the start of a
    linear regression, and `excess` the mean of what clipping takes from residuals. `share` is the mean of survey weights over the
    largest one.
    """

    shape: Shape
    start: Array
    loss: Loss
    curvature: float
    least: float | None = None
    deviation: float | None = None
    excess: float = 0.0
    share: float = 1.0

    def shares(self, engine: ShapedEngine) -> Array:
        """The shares of records whose residual around the start lies in each cell, in deviations."""
        return engine.residual_shares(self.start, EDGES * float(self.deviation or 0.0)) / engine.n

    def clipped(self, shares: Array, noise: float, x: float) -> Learnt:
        """The same with residuals clipped where their noisy shares say, within the clip that the model declares."""
        unit, widest = float(self.deviation or 0.0), self.loss.reclipped(math.inf).largest_slope()
        radius = math.sqrt(self.share) * self.shape.rule.radius
        level, excess = residual_level(shares, noise, x * self.share, radius, widest / unit)
        return replace(self, loss=self.loss.reclipped(level * unit), excess=excess * unit)


def learnt(
    model: Gibbs,
    moments: Array,
    noise: float,
    rule: MapRule,
    label: LabelScale | None,
    x: float = 0.0,
    weighted: bool = False,
) -> Learnt:
    """Map, start, loss and curvature, from the published moments and public numbers alone.

    `x` is n mu/sqrt(d) of the whole price; `weighted`: records have survey weights, whose mean share w the moments hold. To such
    records noise counts for 1/w as much, and c is that of x w; the mapped rows' mean square length is 1/c^2 without their weights.
    """
    d = int(model.dimension or 0)
    matrix = symmetric.unpacked(moments, d if label is None else d + 1)
    share = mean_share(model, matrix, noise) if weighted else 1.0
    if share < 1:
        # Not below the c of the plan, from which the bound on |B| follows.
        rule = replace(rule, radius=max(rule.radius, map_rule(x * share).radius / math.sqrt(share)))
    shape = shape_of(matrix[:d, :d], noise, rule, model.loss.radius)
    centre = np.zeros(d) if model.prior.start is None else np.array(model.prior.start)
    if label is None:
        most = model.loss.largest_curvature()
        least = None if model.loss.counted_labels is None else _RAREST * most
        return Learnt(shape, centre, model.loss, most, least, share=share)
    if model.loss.squared_labels is None:
        return _counts(model, shape, centre, matrix / share, label, x, share)
    return _linear(model, shape, matrix, label, share)


def mean_share(model: Gibbs, matrix: Array, noise: float) -> float:
    """The mean of the records' weights over the largest one, from the constant's own moment; 1 where noise hides it or its rest."""
    square, last = model.intercept**2, int(model.dimension or 0) - 1
    moment = float(matrix[last, last])
    return moment / square if 2 * noise < moment < square - 2 * noise else 1.0


def step_curvature(model: Gibbs, learnt: Learnt, n: int) -> float:
    """The k by which the steps of a path are chosen: where it is not the loss's largest, the prior may exceed it.

    In mapped coordinates the loss has a curvature of at most k/(c^2 m), and the prior of |P| |B|^2/n with c^2 m |B|^2 =
    1/(l + rho) for the least l; |P| is bounded by the largest sum of a row.
    """
    if not learnt.curvature < learnt.loss.largest_curvature():
        return learnt.curvature
    d, shape = len(learnt.start), learnt.shape
    precision = model.prior.gradient(np.eye(d)) - model.prior.gradient(np.zeros((d, d)))
    least = float(shape.shrunk.min()) + shape.rule.ridge * edge(shape.noise, d)
    return learnt.curvature + float(np.abs(precision).sum(axis=1).max()) / (n * least)


def _counts(
    model: Gibbs, shape: Shape, centre: Array, matrix: Array, label: LabelScale, x: float, share: float
) -> Learnt:
    """The path of counts: it starts at the log of their mean, with a clipping level and steps that fit mean and spread.

    `matrix` are the moments over `share`. The moment of the constant and the label is intercept * scale * mean count. One deviation
    of its noise is added: too small a mean would clip most counts and make the steps too long.
    """
    unit, d = model.intercept * label.scale, len(centre)
    noise = shape.noise / share
    mean = min(max(float(matrix[d - 1, d]) / unit, _RAREST * label.half) + noise / math.sqrt(2) / unit, label.half)
    start = centre.copy()
    start[-1] = math.log(mean) / model.intercept
    square, noise = (value / label.scale**2 for value in (float(matrix[d, d]), noise))
    level, excess = count_level(mean, square, noise, label.half, x * share, math.sqrt(share) * shape.rule.radius)
    loss = model.loss.reclipped(level)
    curvature = min(_COUNT_CURVATURE * mean, loss.largest_curvature())
    return Learnt(shape, model.prior.project(start), loss, curvature, _COUNT_FLATTEST * mean, None, excess, share)


def _linear(model: Gibbs, shape: Shape, matrix: Array, label: LabelScale, share: float) -> Learnt:
    """The ridge solution of joint moments, and the deviation of its residuals, whose squares have the mean weight `share`.

    Along a resolved direction of moment l the solution is shrunk by l^2/(l^2 + e^2): the noise of S_xy is about that of S_xx.
    """
    d = len(shape.values)
    cross, square = matrix[:d, d] / label.scale, matrix[d, d] / label.scale**2
    e = edge(shape.noise, d)
    factors = np.where(shape.resolved, shape.shrunk / (shape.shrunk**2 + e**2), 0.0)
    start = shape.vectors @ (factors * (shape.vectors.T @ cross))
    explained = 2 * start @ cross - (shape.vectors.T @ start) ** 2 @ shape.shrunk
    # A part of the noise of the label's own moment is added: too wide a clip costs noise, too narrow a one information.
    variance = max(square - float(explained), 0.0) + _CAUTION * shape.noise / label.scale**2
    if label.centre:
        start[-1] += label.centre / model.intercept
    deviation = max(math.sqrt(variance / share), _NARROWEST * label.half)
    most = model.loss.largest_curvature()
    return Learnt(shape, model.prior.project(start), model.loss, most, None, deviation, share=share)
