"""What an audit would have seen: the smallest factor on the claim that its runs detect with a given probability.

A mechanism whose loss is `factor` times the claim has, at its worst pair and under the best test, the trade-off of the enlarged
claim. At a rate a of false accusations such a test misses with the smallest rate b of that trade-off. The audit detects it where
the Clopper-Pearson bounds of the two counts contradict the claim. The counts are binomial, so the probability is computed for a
set of rates a, and the best rate is taken: a lower bound, since an audit looks at several thresholds.
"""

from __future__ import annotations

import numpy as np

from sfumato.auditing.claims import Claim
from sfumato.auditing.error_rates import Array, upper_bound

# Rates of false accusations that are looked at, dense where the best one lies for mu from 0.1 to 6.
_RATES = np.concatenate([np.geomspace(1e-4, 0.05, 12), np.linspace(0.08, 0.5, 8)])
# Quantiles of a count at which the chance is added up; 100 leave an error below 0.01.
_QUANTILES = (np.arange(100) + 0.5) / 100
# Factors between which the answer is looked for, and how closely.
_LARGEST, _CLOSE = 64.0, 0.01


def detectable_factor(claim: Claim, runs: int, thresholds: int, level: float, probability: float = 0.95) -> float:
    """The smallest factor that is detected with this probability from `runs` runs a side; infinite above 64."""
    share = (1 - level) / (2 * thresholds)
    if chance_of_detection(claim, _LARGEST, runs, share) < probability:
        return float("inf")
    low, high = 1.0, _LARGEST
    while high / low > 1 + _CLOSE:
        middle = float(np.sqrt(low * high))
        if chance_of_detection(claim, middle, runs, share) >= probability:
            high = middle
        else:
            low = middle
    return high


def enough_runs(claim: Claim, factor: float, thresholds: int, level: float, probability: float = 0.95) -> int | None:
    """Runs a side, a power of 10 times 1, 2 or 5, that detect this factor with this probability; None above 1e9."""
    share = (1 - level) / (2 * thresholds)
    for runs in (digit * int(10.0**zeros) for zeros in range(2, 10) for digit in (1, 2, 5)):
        if chance_of_detection(claim, factor, runs, share) >= probability:
            return runs
    return None


def chance_of_detection(claim: Claim, factor: float, runs: int, share: float) -> float:
    """Probability that the best of the rates shows a mechanism of `factor` times the claim; `share` is the level of one bound."""
    missed = claim.enlarged(factor).least_missed(_RATES)
    return max(_chance(claim, a, b, runs, share) for a, b in zip(_RATES.tolist(), missed.tolist(), strict=True))


def _chance(claim: Claim, false: float, missed: float, runs: int, share: float) -> float:
    """Sum over the count of false accusations of the chance that so few are missed that the claim is contradicted."""
    from scipy.special import bdtr
    from scipy.stats import binom

    counts: Array = binom.ppf(_QUANTILES, runs, false)
    allowed = claim.least_missed(upper_bound(counts.astype(np.int64), runs, share))
    # The most misses whose upper bound is below what the claim allows: k is, if k or fewer have a chance below `share` there.
    most = binom.ppf(share, runs, allowed) - 1
    return float(np.where(most >= 0, bdtr(np.maximum(most, 0), runs, missed), 0.0).mean())
