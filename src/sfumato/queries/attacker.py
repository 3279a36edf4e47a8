"""Bounds on every attacker that follow from the guarantee alone.

The attacker knows every other record, the plan and the mechanism, and that the remaining record is one of two values, the
second with prior probability `prior`. Probabilities of success are rounded up, errors are rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.privacy.curves import Gaussian
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.metric import Metric
from sfumato.privacy.neighbours import REPLACE_ENTRY, REPLACE_ONE, REPLACE_PERSON
from sfumato.privacy.weakness import NOTE as WEAK
from sfumato.theorems import distinguish

# False-positive rates at which an attacker's power is shown: from a careful attacker to a coin flip.
LEVELS = (0.01, 0.05, 0.1, 0.25, 0.5)
# Lines that support the trade-off curve: any set of them gives a valid bound, more of them a sharper one.
_LINES = tuple(k / 8 for k in range(16)) + tuple(2.0 + k / 2 for k in range(17))
_DOWN = 1 - 1e-12


@dataclass(frozen=True)
class Attacker:
    """Bounds on every attacker of a release. `str` gives the sentence.

    success: largest probability of naming the right one of two values of a record; `unaided` is that without the release.
    trade_off: pairs (level, miss): a test that accuses wrongly with probability `level` misses at least with `miss`.
    error: where a separation was given, Le Cam's bound: the mean error of any estimate of the record, at the worse of the
    two values. comparing: under a metric guarantee, the distance from which on an attacker who compares empirical measures of
    the draws can begin to decide (Theorem 13: necessary, for this one method).
    """

    success: float
    unaided: float
    trade_off: tuple[tuple[float, float], ...]
    sentence: str
    error: float | None = None
    comparing: float | None = None

    def __str__(self) -> str:
        return _validate.visible(self.sentence)


def attacker(
    guarantee: Guarantee,
    *,
    prior: float = 0.5,
    levels: Iterable[float] = LEVELS,
    separation: float | None = None,
    distance: float | None = None,
    cells: int = 2,
    failure: float = 0.01,
) -> Attacker:
    """Bounds on every attacker under a guarantee.

    prior: probability, before the release, of either of the two values. separation: how far apart the two values are, for Le
    Cam's bound. distance: under a metric guarantee, how far apart the two data sets are; `cells` and `failure` are those of
    Theorem 13's attacker.
    """
    belief = _validate.between("prior", prior, 0.0, 1.0)
    comparing = _comparing(guarantee, cells, failure)
    ordinary = at_distance(guarantee, distance)
    broken = guarantee.trust == "not private"
    success = 1.0 if broken else distinguish.best_success_under(promise=ordinary, prior=belief)
    variation = 1.0 if broken else ordinary.delta(0.0)
    error = None
    if separation is not None:
        error = distinguish.minimax_error(separation=separation, total_variation=variation)
    pairs = tuple((float(a), 0.0) for a in levels) if broken else trade_off(ordinary, levels)
    unaided = max(belief, 1 - belief)
    sentence = _sentence(guarantee, distance, success, unaided)
    noted = f"{WEAK} {sentence}" if guarantee.weak and not broken else sentence
    return Attacker(success, unaided, pairs, noted, error, comparing)


def trade_off(guarantee: Guarantee, levels: Iterable[float] = LEVELS) -> tuple[tuple[float, float], ...]:
    """Pairs (level, miss): the smallest probability with which a test of this level misses, whatever it computes.

    For every eps, with d = delta(eps): beta >= 1 - d - e^eps alpha and beta >= e^-eps (1 - d - alpha), by the definition of
    (eps, d) for the test and for its complement. Any eps gives a valid line; mu-GDP gives its whole curve.
    """
    asked = [_validate.probability("level", level) for level in levels]
    if guarantee.slack == 0 and isinstance(guarantee.curve, Gaussian):
        mu = guarantee.curve.mu
        return tuple((alpha, distinguish.gaussian_trade_off(mu=mu, level=alpha)) for alpha in asked)
    kept = []
    for eps in _LINES:
        kept.append((eps, 1 - guarantee.delta(eps)))
        if kept[-1][1] == 1:  # delta is 0 from here on: steeper lines lie lower
            break
    return tuple((alpha, _least(kept, alpha)) for alpha in asked)


def _least(kept: list[tuple[float, float]], alpha: float) -> float:
    lines = (max(k - math.exp(eps) * alpha, math.exp(-eps) * (k - alpha)) for eps, k in kept)
    return float(max(0.0, max(lines) * _DOWN - 1e-15))


def at_distance(guarantee: Guarantee, distance: float | None) -> Guarantee:
    """The guarantee for two neighbours, or for two data sets at a distance."""
    if not isinstance(guarantee.curve, Metric):
        if distance is not None:
            raise ArgumentError(
                "distance is for metric guarantees; this one protects against any change of one record."
            )
        return guarantee
    if distance is None:
        raise ArgumentError(
            f"a metric guarantee needs distance=, how far apart the two data sets are by {guarantee.curve.distance}."
        )
    return replace(guarantee, curve=guarantee.curve.within(distance), adjacency=REPLACE_ONE)


def _comparing(guarantee: Guarantee, cells: int, failure: float) -> float | None:
    """Theorem 13's first display: N alike draws that cost (epsilon rho, 0) together have L = epsilon/(2N) each."""
    curve = guarantee.curve
    if not isinstance(curve, Metric) or curve.delta_value > 0 or curve.epsilon_value == 0 or guarantee.slack > 0:
        return None
    slope = curve.epsilon_value / (2 * guarantee.draws) * (1 + 1e-12)
    return distinguish.necessary_distance_uniform(lipschitz=slope, draws=guarantee.draws, cells=cells, delta=failure)


def _sentence(guarantee: Guarantee, distance: float | None, success: float, unaided: float) -> str:
    if guarantee.trust == "not private":
        return "NOT PRIVATE: made with a seeded stream; whoever knows the seed guesses right every time. It protects nobody."
    knows = f"knows every other {guarantee.unit} guesses this one"
    if guarantee.adjacency == REPLACE_ENTRY:
        knows = f"knows every other entry of every {guarantee.unit} guesses this one"
    if guarantee.adjacency == REPLACE_PERSON:
        knows = f"knows all {guarantee.rows} of every other {guarantee.unit} guesses those of this one"
    if distance is not None:
        knows = f"holds two data sets at distance {distance:g} for possible guesses which is"
    if success >= 1:
        return f"Nothing is promised: someone who {knows} right may be right every time."
    values = f"sets of {guarantee.rows}" if guarantee.adjacency == REPLACE_PERSON else "values"
    if_converged = " if the chain has converged" if guarantee.trust == "assumes converged" else ""
    return (
        f"Someone who {knows} right at most {percent_up(success)} of the time{if_converged}, between two {values}; "
        f"without the release it would be {percent_up(unaided)}."
    )


def percent_up(share: float) -> str:
    """A share in per cent, rounded up to a whole number, with decimals only where a smaller share would print as 100 %."""
    for digits in range(13):
        unit = 10.0**digits
        shown = math.ceil(share * 100 * unit * (1 - 1e-15)) / unit
        if shown < 100 or share >= 1:
            return f"{shown:.{digits}f} %"
    return "100 %"
