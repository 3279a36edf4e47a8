"""Arguments and results of interval methods, and the noise that all families share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sfumato._quadrature import Array
from sfumato.draws import Draws

# What an interval includes: the true parameter varies by both, the posterior mean of the rows by privacy alone.
BOTH, PRIVACY = "privacy and sampling", "privacy"
# Both, for a regression whose model may be wrong: sampling as the released matrix of its scores has it.
ROBUST = "robust"
INCLUDED = (BOTH, PRIVACY, ROBUST)
# Each draw costs a sum over all values of the hidden statistic, so a file of millions would take hours. N draws locate the
# statistic within 1/sqrt(N) of their spread: more than these narrow an interval by 0.01 %.
MOST_DRAWS = 4096
# Intervals of a lower level locate the median: their ends are quantiles, never moved to a bound.
_NARROW = 0.5


class Numbers(NamedTuple):
    """Power of the likelihood, strength of the prior, noise multiplier and cells of the grid (None: the present number)."""

    power: float
    strength: float
    noise: float
    grid: int | None = None


@dataclass(frozen=True, eq=False)
class Released:
    """The released part of a data set of n records: draws (N, coordinates), and noisy totals where they were published.

    `record` holds the draws as released and the documents of plan and schema, from which regressions are read; `robust` asks
    for their sandwich intervals.
    """

    n: int
    numbers: Numbers
    draws: Array
    totals: Array | None = None
    record: tuple[Draws, Mapping[str, Any], Mapping[str, Any]] | None = None
    robust: bool = False

    @property
    def first(self) -> Array:
        """The first MOST_DRAWS draws: draws are exchangeable, and how many are taken depends on their public number alone."""
        return self.draws[:MOST_DRAWS]


# ends(level, sampling): lower and upper ends (2, coordinates) of equal-tailed intervals of the true parameter, or, without
# sampling, of the posterior mean that the rows would give without privacy. At level 0 both are the estimate, the median.
Ends: TypeAlias = Callable[[float, bool], Array]
# reader(model, prior, released): the ends; `prior` is a family of the model's kind that holds the reader's own prior numbers.
Reader: TypeAlias = Callable[[Any, Any, Released], Ends]


@dataclass(frozen=True)
class Method:
    """How a model's intervals are computed; `refusal(model)` is a sentence where there is none for this model."""

    read: Reader
    refusal: Callable[[Any], str | None] = lambda model: None


# Probabilities of what was released, or of more of it, if no record at all had the attribute, and likewise if every one had it.
Tails: TypeAlias = tuple[float, float]
# Of a prior that was declared: nothing is moved.
DECLARED: Tails = (0.0, 0.0)
# The reference prior of one share when it alone is of interest (Berger and Bernardo 1992, for the multinomial).
REFERENCE = (0.5, 0.5)


def moved(quantile: Callable[[float], float], level: float, tails: Tails) -> tuple[float, float]:
    """Ends of the interval of a share: quantiles, moved to 0 and 1 where these are not rejected at the level of one tail.

    The reference prior has no mass at 0: an equal-tailed interval would always miss a share far below one record (Brown, Cai
    and DasGupta 2001 modify Jeffreys' interval in the same way). Ends only move outwards, and those of narrow intervals not
    at all: these locate the posterior median, which therefore lies in every interval.
    """
    tail, (none, every) = 0.5 * (1 - level), tails if level >= _NARROW else DECLARED
    return (0.0 if none > tail else quantile(tail)), (1.0 if every > tail else quantile(1 - tail))


def noisy_tails(own: float, rest: float, deviations: tuple[float, float]) -> Tails:
    """Probabilities of normal noise as large as a noisy count of the own records, or of all others, if there were none."""
    none, every = (
        0.5 * math.erfc(count / (math.sqrt(2) * deviation))
        for count, deviation in zip((own, rest), deviations, strict=True)
    )
    return none, every


def numbers_of(plan: Mapping[str, Any]) -> Numbers:
    """The numbers of a plan's document; plans of version 1 record no grid."""
    numbers = plan["parameters"]
    power, strength, noise = numbers.get("power", 1.0), numbers.get("strength", 1.0), numbers.get("noise", 0.0)
    return Numbers(float(power), float(strength), float(noise), numbers.get("grid"))


def normal_noise(deviation: float) -> Callable[[Array, Array], Array]:
    """P(S + deviation Z <= x) for standard normal Z, before clipping."""
    from scipy.special import ndtr

    return lambda held, x: np.asarray(ndtr((x[None, :] - held[:, None]) / deviation), dtype=np.float64)
