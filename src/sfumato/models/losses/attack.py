"""The attack on a loss: a search for a point, or two records, that contradict one of the numbers it declares.

Prices follow from declared numbers alone, so every loss that is put into a model is attacked, whatever its class; only the
unchanged classes of this package are not, which the tests attack. For a loss of one score each property becomes a measure
over (u, y) that is positive exactly where the property fails by more than rounding can explain. It is evaluated on a grid
(linear near 0 and near the label, geometric out to `search_radius`, random between) and then followed uphill from the worst
points by shrinking grids. Constants in a dimension are attacked by pairs of records (`pairs`). Every call tries the same points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from sfumato.errors import LossRejected
from sfumato.models.losses import pairs
from sfumato.models.losses.labels import LabelInterval
from sfumato.models.losses.protocol import FloatArray, Loss, ScalarLinkLoss

# A score returns, at (u, y), by how much the property is broken, the number that breaks it, and the number allowed.
Finding = tuple[FloatArray, FloatArray, FloatArray]
Score = Callable[[FloatArray, FloatArray], Finding]

_GAPS = (1e-6, 1e-4, 1e-2, 1e-1)  # widths of difference quotients, relative to max(1, |u|)
# A slope that attains its bound may be computed above it, by a few roundings. Engines clip computed slopes to the bound.
_ATTAINED = 16 * 2.0**-53
_SLOPE_ERROR = 1e-12  # rounding error allowed in a difference of slopes, relative to their bound
_VALUE_ERROR = 1e-12  # rounding error allowed in a value, relative to 1 + |value|
# Points from which the search climbs, refinements of each, and points of a refined axis; a refinement is 8 times finer, so
# that seven end at 0.05 / 8^6, two parts in ten million.
_STARTS, _ROUNDS, _FINE = 4, 7, 33


# Classes of this package and what their names resolved to when it was imported; and the attacks that found nothing.
_SHIPPED: dict[type[Loss], dict[str, Any]] = {}
_PASSED: set[tuple[Any, ...]] = set()


def ship(*kinds: type[Loss]) -> None:
    """Note classes whose numbers are proved, and attacked by the tests, as they are now."""
    for kind in kinds:
        members = {name: getattr(kind, name) for name in dir(kind) if not name.startswith("__")}
        # Class methods are other objects every time.
        _SHIPPED[kind] = {name: member for name, member in members.items() if getattr(kind, name) is member}


def shipped(loss: Loss) -> bool:
    """Whether a loss is of a class of this package, of which nothing was changed; one that extends it is not."""
    kind, own = type(loss), vars(loss)
    return kind in _SHIPPED and all(
        getattr(kind, name, None) is member and not (callable(member) and name in own)
        for name, member in _SHIPPED[kind].items()
    )


def attack(loss: Loss, dimension: int | None, domain_radius: float) -> None:
    """Raise `LossRejected` with the witness if a number that a loss declares, for such a model, fails where it is tried."""
    if shipped(loss):
        return
    try:
        # Two attacks are the same if class, attributes, numbers and slopes are.
        slopes = loss.slope_at(
            np.linspace(-9, 9, 60 * loss.outputs).reshape(60, -1), np.full(60, pairs.labels_of(loss)[0])
        )
        constants = loss.constants(), loss.constants(dimension, domain_radius)
        key = type(loss), frozenset(vars(loss).items()), constants, dimension, domain_radius, slopes.tobytes()
        if key in _PASSED:
            return
    except Exception:  # attributes without a hash, or a function that fails, which the attack then says
        key = None
    if isinstance(loss, ScalarLinkLoss):
        attack_link(loss)
    pairs.attack(loss, dimension, domain_radius)
    _PASSED.update(() if key is None else (key,))


def attack_link(loss: ScalarLinkLoss) -> None:
    """The same for the numbers of a link: slope, slope at 0, convexity, curvature, and that the slope is the value's."""
    with np.errstate(all="ignore"):
        u, y = _points(loss)
        _finite(loss, u, y)
        remedy = "Declare a larger derivative_bound, or clip the derivative."
        _reject(loss, u, y, partial(_slope_score, loss), "bound on the derivative", "|phi'(u, y)|", remedy)
        if loss.zero_slope() < loss.largest_slope():
            remedy, zero = "Declare a larger bound on the derivative at 0, or none.", partial(_zero_score, loss)
            _reject(loss, 0 * u[:, :1], y[:, :1], zero, "bound on the derivative at 0", "|phi'(0, y)|", remedy)
        if loss.constants().convex:
            # Before the other properties: between points, a monotone derivative is bounded by its values at them.
            remedy = "Change the loss so that phi' never falls, or declare convex=False and price the whole path."
            for gap in _GAPS:
                score = partial(_monotone_score, loss, gap)
                _reject(loss, u, y, score, "convexity", "phi'(u + h, y) - phi'(u, y)", remedy)
        for gap in _GAPS[1:]:
            score, remedy = partial(_agreement_score, loss, gap), "Give the derivative of the value that is given."
            _reject(loss, u, y, score, "derivative of the value", "phi'(u, y)", remedy)
        if math.isfinite(loss.largest_curvature()):
            remedy = "Declare a larger curvature_bound, or None for a loss with a kink."
            for gap in _GAPS:
                score = partial(_curvature_score, loss, gap)
                _reject(loss, u, y, score, "bound on the curvature", "quotient of phi'", remedy)
            _kinks(loss, u, y, loss.largest_curvature())


def _points(loss: ScalarLinkLoss) -> tuple[FloatArray, FloatArray]:
    """The grid: two arrays of shape (labels, points)."""
    # A fixed seed: every call tries the same points.
    rng = np.random.Generator(np.random.PCG64(20240229))
    far_out, labels = loss.search_radius, pairs.labels_of(loss)
    far = np.geomspace(1e-6, far_out, 400)
    # About 60,000 points near 0 in all, shared out among the labels.
    near = np.linspace(-30.0, 30.0, int(np.clip(60_000 // labels.size, 1_201, 6_001)))
    wide = rng.uniform(-far_out, far_out, 400)
    scattered = rng.choice([-1.0, 1.0], 600) * np.exp(rng.uniform(np.log(1e-3), np.log(far_out), 600))
    about_zero = np.concatenate([near, far, -far, wide, scattered])
    about_label = np.concatenate([np.linspace(-6.0, 6.0, 481), far[::4], -far[::4]])
    everywhere = np.broadcast_to(about_zero, (labels.size, about_zero.size))
    u = np.clip(np.concatenate([everywhere, labels[:, None] + about_label], axis=1), -far_out, far_out)
    return u, np.broadcast_to(labels[:, None], u.shape)


def _finite(loss: ScalarLinkLoss, u: FloatArray, y: FloatArray) -> None:
    for symbol, function, at in (
        ("phi(u, y)", loss.value, loss.value_at),
        ("phi'(u, y)", loss.derivative, loss.slope_at),
    ):
        try:
            answer = function(u, y)
        except Exception as error:
            raise _rejected(loss, "function of arrays", symbol, "a function of two arrays", repr(error), "") from error
        if answer.shape != u.shape:
            required = "an array of the shape of its arguments"
            raise _rejected(loss, "function of arrays", symbol, required, f"shape {answer.shape} for {u.shape}", "")
        bad = np.flatnonzero(~np.isfinite(answer))
        if bad.size:
            i = bad[0]
            given = f"{answer.flat[i]} at u = {float(u.flat[i])!r}, y = {float(y.flat[i])!r}"
            remedy = "Use a form that does not overflow (np.logaddexp)."
            raise _rejected(loss, "finiteness", symbol, "finite", given, remedy)
        if not np.array_equal(answer, at(u[..., None], y).reshape(u.shape)):
            required = "the same at every call, by value_at and slope_at too"
            raise _rejected(loss, "purity", symbol, required, "two answers", "Remove the state.")


def _broken(score: FloatArray) -> FloatArray:
    """Count a NaN, which may occur between the points of the grid, as an infinite violation."""
    return np.where(np.isnan(score), np.inf, score)


def _slope_score(loss: ScalarLinkLoss, u: FloatArray, y: FloatArray) -> Finding:
    """|phi'| - bound, which computed slopes keep but for their rounding."""
    steep, most = np.abs(loss.derivative(u, y)), loss.largest_slope()
    return _broken(steep - most * (1 + _ATTAINED)), steep, np.full(u.shape, most)


def _zero_score(loss: ScalarLinkLoss, u: FloatArray, y: FloatArray) -> Finding:
    """|phi'(0, y)| - bound, whatever u is."""
    steep, most = np.abs(loss.derivative(0 * u, y)), loss.zero_slope()
    return _broken(steep - most * (1 + _ATTAINED)), steep, np.full(u.shape, most)


def _rise(loss: ScalarLinkLoss, u: FloatArray, y: FloatArray, gap: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """phi'(u + h) - phi'(u), h as the floats have it, and the rounding error of the difference."""
    right = u + gap * np.maximum(1.0, np.abs(u))
    # The argument itself is rounded (u - y inside a loss), which a steep derivative turns into error.
    steep = loss.largest_curvature() if loss.constants().smooth else 0.0
    error = _SLOPE_ERROR * loss.largest_slope() + 8 * 2.0**-53 * steep * (np.abs(right) + np.abs(y))
    return loss.derivative(right, y) - loss.derivative(u, y), right - u, error


def _monotone_score(loss: ScalarLinkLoss, gap: float, u: FloatArray, y: FloatArray) -> Finding:
    """How far phi' falls over a gap."""
    rise, _, error = _rise(loss, u, y, gap)
    return _broken(-rise - error), rise, np.zeros(u.shape)


def _curvature_score(loss: ScalarLinkLoss, gap: float, u: FloatArray, y: FloatArray) -> Finding:
    """Difference quotient of phi' above the declared curvature; both signs count where convexity is not declared."""
    rise, width, error = _rise(loss, u, y, gap)
    quotient = (rise if loss.constants().convex else np.abs(rise)) / width
    allowed = np.full(u.shape, loss.largest_curvature())
    return _broken(quotient - allowed - error / width), quotient, allowed


def _agreement_score(loss: ScalarLinkLoss, gap: float, u: FloatArray, y: FloatArray) -> Finding:
    """The mean slope of phi over a gap against phi' there: for convex phi it lies between phi' at the two ends.

    Where convexity is not declared it must lie in the range of five values of phi', widened by that range.
    """
    right = u + gap * np.maximum(1.0, np.abs(u))
    values = loss.value(u, y), loss.value(right, y)
    mean = (values[1] - values[0]) / (right - u)
    slopes = np.stack([loss.derivative(u + part * (right - u), y) for part in (0.0, 0.25, 0.5, 0.75, 1.0)])
    low, high = slopes.min(axis=0), slopes.max(axis=0)
    slack = 0.0 if loss.constants().convex else high - low
    error = _VALUE_ERROR * (1.0 + np.abs(values[0]) + np.abs(values[1])) / (right - u)
    error += _SLOPE_ERROR * loss.largest_slope()
    return _broken(np.maximum(low - mean, mean - high) - slack - error), slopes[2], mean


def _reject(
    loss: ScalarLinkLoss, u: FloatArray, y: FloatArray, score: Score, hypothesis: str, symbol: str, remedy: str
) -> None:
    """Search the score from the grid uphill; raise at the largest positive point."""
    worst: tuple[float, ...] = (0.0,)
    for parts in _search(loss, u, y, score):
        i = int(np.argmax(parts[0]))
        if parts[0].flat[i] > worst[0]:
            worst = tuple(float(part.flat[i]) for part in parts)
    if len(worst) > 1:
        _, value, limit, witness, label = worst
        relation = {"derivative of the value": "the slope of phi,", "convexity": "at least"}.get(hypothesis, "at most")
        given = f"{value:.9g} at u = {witness!r}, y = {label!r}"
        raise _rejected(loss, hypothesis, symbol, f"{relation} {limit:.9g}", given, remedy)


def _search(loss: ScalarLinkLoss, u: FloatArray, y: FloatArray, score: Score) -> Iterator[tuple[FloatArray, ...]]:
    """Yield (violation, value, allowed, u, y) on the grid, then on ever finer grids around its worst points."""
    coarse = score(u, y)
    yield *coarse, u, y
    interval = loss.label_domain if isinstance(loss.label_domain, LabelInterval) else None
    for start in np.argsort(coarse[0].ravel())[::-1][:_STARTS]:
        centre, label = u.flat[start], y.flat[start]
        wide, tall = 0.05 * max(1.0, abs(centre)), 0.0
        if interval is not None:
            tall = (interval.upper - interval.lower) / 16 if interval.bounded else max(1.0, abs(label)) / 8
        for _ in range(_ROUNDS):
            columns = np.clip(np.linspace(centre - wide, centre + wide, _FINE), -loss.search_radius, loss.search_radius)
            rows = np.array([label])
            if interval is not None:
                rows = np.clip(np.linspace(label - tall, label + tall, _FINE), interval.lower, interval.upper)
            at_u, at_y = np.meshgrid(columns, rows)
            finer = score(at_u, at_y)
            yield *finer, at_u, at_y
            best = int(np.argmax(finer[0]))
            centre, label, wide, tall = at_u.flat[best], at_y.flat[best], wide / 8, tall / 8


def _kinks(loss: ScalarLinkLoss, u: FloatArray, y: FloatArray, limit: float) -> None:
    """Follow the steepest intervals of phi' down to widths of 1e-9: a kink's quotient grows without end."""
    rise, width, _ = _rise(loss, u, y, _GAPS[-1])
    for start in np.argsort((np.abs(rise) / width).ravel())[::-1][: 4 * _STARTS]:
        left, label = u.flat[start], y.flat[start]
        right = left + width.flat[start]
        while right - left > 1e-9 * max(1.0, abs(left)):
            cuts = np.linspace(left, right, _FINE)
            slopes = loss.derivative(cuts, np.full(cuts.shape, label))
            quotients = np.abs(np.diff(slopes)) / np.diff(cuts)
            i = int(np.argmax(quotients))
            error = _SLOPE_ERROR * loss.largest_slope() + 8 * 2.0**-53 * limit * (abs(right) + abs(label))
            if quotients[i] - error / (cuts[i + 1] - cuts[i]) > limit:
                given = f"{quotients[i]:.9g} at u = {float(cuts[i])!r}, y = {float(label)!r}"
                remedy = "Declare a larger curvature_bound, or None for a loss with a kink."
                required = f"at most {limit:.9g}"
                raise _rejected(loss, "bound on the curvature", "quotient of phi'", required, given, remedy)
            left, right = cuts[i], cuts[i + 1]


def _rejected(
    loss: ScalarLinkLoss, hypothesis: str, symbol: str, required: str, given: str, remedy: str
) -> LossRejected:
    return LossRejected(pairs.named(loss), hypothesis, symbol, required, given, remedy)
