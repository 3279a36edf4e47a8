"""What right guesses of coins prove: m records of one data set are chosen by fair coins, and one release is asked for them.

Setting. Every coin S_i, +1 or -1, chooses one of two public values of record i; all else is fixed. One release is made, and from
it r of the coins are guessed: any function of the release and of public numbers, with r fixed before. W guesses are right.
Two bounds on the probability of W >= v hold if the release has the claimed privacy towards each replaced record.

1. (epsilon, delta)-DP, with q = e^eps/(1 + e^eps) and B a sum of r coins of probability q:

       P(W >= v) <= P(B >= v) + delta min(m/(1 + e^eps), 2 m max over i of P(v - i <= B < v)/i).

   Proof of the first. Reveal the coins one after the other, given the release y. If coin i is guessed, it is right with a
   probability p_i(y, s_<i), so right guesses number at most B + F, where F counts uniform numbers that fall between q and p_i.
   The expected excess of P(S_i = s | y, s_<i) over q is half of the integral of (P - e^eps Q)_+ /(1 + e^eps), for the laws P, Q
   of the release with S_i = s and -s given s_<i; so it is at most delta/(2 + 2 e^eps) for each s, and P(F >= 1) <= E F <=
   m delta/(1 + e^eps). The second is Theorem 5.2 of Steinke, Nasr and Jagielski 2023 (arXiv 2305.08846).

2. A claim with the trade-off f (symmetric, convex; Gaussian: f(a) = Phi(-Phi^-1(a) - mu)). Let p_k = P(W = k) and, for c <= r,

       A_c = sum over k >= c of (k/m) p_k,     H_c = sum over k >= c of ((r - k)/m) p_k.

   A_c is the probability, for a record i chosen at random, that its guess is right and at least c - 1 others are. With S_i
   flipped and the release unchanged that guess is wrong and the others stay: probability H_(c-1). The two data sets are
   neighbours, so H_(c-1) >= f(1 - A_c), with convexity for the average over i and the coins. From P(W >= v) >= tau follow
   lower bounds a_c <= A_c, from c = v down to 0 (`least_mass`): if a_0 + h_0 > r/m they contradict A_0 + H_0 = r/m, and so
   P(W >= v) < tau. This is the recursion of Mahloujifar, Melis and Chaudhuri 2024 (arXiv 2410.22235).

A claim is rejected where the bound is below 1 - level; a lower bound on mu or epsilon is the largest that is rejected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.auditing.claims import Claim
from sfumato.auditing.error_rates import Array
from sfumato.errors import ArgumentError

# Largest mu and epsilon that are looked for, and how closely; the rejected end of the last interval is returned.
_LARGEST, _CLOSE = 64.0, 1e-6
# Thresholds that are tried for the number of guesses: the bound changes by less than 2 % from one to the next.
_THRESHOLDS = 24


@dataclass(frozen=True)
class Guesses:
    """How many of `records` coins were guessed, and how many guesses were right."""

    records: int
    guesses: int
    right: int

    def __post_init__(self) -> None:
        if not 0 <= self.right <= self.guesses <= self.records or self.records < 1:
            raise ArgumentError(f"right guesses are among the guesses, and these among the records; got {self}.")

    def probability(self, epsilon: float, delta: float) -> float:
        """Upper bound on the probability of as many right guesses under (epsilon, delta)-DP: bound 1 of this module."""
        from scipy.special import bdtr, bdtrc, expit

        eps, slack = _validate.non_negative("epsilon", epsilon), _validate.probability("delta", delta)
        r, v, m = self.guesses, self.right, self.records
        if v == 0:
            return 1.0
        q = float(expit(eps))
        reached, fewer = float(bdtrc(v - 1, r, q)), bdtr(np.arange(v), r, q)
        # P(v - i <= B < v)/i for i = 1, ..., v.
        gaps = fewer[-1] - np.concatenate([fewer[:-1][::-1], [0.0]])
        together = 2 * m * float((gaps / np.arange(1, v + 1)).max())
        return min(1.0, reached + slack * min(m * float(expit(-eps)), together))

    def contradict(self, claim: Claim, level: float = 0.95) -> bool:
        """Whether as many right guesses have a probability below 1 - level under the claim: bound 2 of this module."""
        return self._contradict(lambda false: float(claim.least_missed(np.array([false]))[0]), level)

    def _contradict(self, least_missed: Callable[[float], float], level: float) -> bool:
        rate = 1 - _validate.probability("level", level)
        return self.right > 0 and least_mass(self, least_missed, rate) > self.guesses / self.records * (1 + 1e-12)

    def mu(self, level: float = 0.95) -> float:
        """Lower bound on mu: the largest Gaussian claim that is contradicted; 0 where none is."""
        from scipy.special import ndtr, ndtri

        return _largest(lambda mu: self._contradict(lambda false: float(ndtr(-ndtri(false) - mu)), level))

    def epsilon(self, delta: float, level: float = 0.95) -> float:
        """Lower bound on epsilon at this delta, by bound 1 or by bound 2 for the trade-off of (epsilon, delta)-DP."""

        def rejected(epsilon: float) -> bool:
            if self.probability(epsilon, delta) < 1 - level:
                return True
            most = math.exp(epsilon)
            return self._contradict(lambda false: max(0.0, 1 - delta - most * false, (1 - delta - false) / most), level)

        return _largest(rejected)


def _largest(rejected: Callable[[float], bool]) -> float:
    """The largest number that is rejected, to a millionth, if smaller ones are rejected too; 0 where 0 is not."""
    if not rejected(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while rejected(high):
        low, high = high, 2 * high
        if low >= _LARGEST:
            return low
    while high - low > _CLOSE:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return low


def least_mass(guesses: Guesses, least_missed: Callable[[float], float], rate: float) -> float:
    """The least a_0 + h_0 that P(W >= v) = rate allows: A_0 + H_0 is r/m, so more than that is impossible.

    Start with all of the rate at W = v: a_v = rate v/m, h_v = rate (r - v)/m. From c to c - 1: h is raised to f(1 - a_c) if it is
    smaller; the mass at c - 1 that this takes adds (c - 1)/(r - c + 1) times as much to a. Any law of W with this P(W >= v) has
    A_c >= a_c and A_c - k_c H_c >= a_c - k_c h_c for k_c = c/(r - c). For c = v both hold since terms k >= v only add to them. A
    step keeps the second, because A - k_(c-1) H is the same before and after it, k_(c-1) < k_c, and A_c >= a_c; it keeps the
    first, because H_(c-1) >= f(1 - A_c) >= f(1 - a_c). Where h was raised last, H >= h too, so A_0 + H_0 >= a_0 + h_0.
    """
    r, v, m = guesses.guesses, guesses.right, guesses.records
    a, h = rate * v / m, rate * (r - v) / m
    for c in range(v, 0, -1):
        raised = least_missed(1 - a)
        if raised <= h:
            break  # a no longer changes, so h will not either
        a, h = min(1.0, a + (c - 1) / (r - c + 1) * (raised - h)), raised
    return a + h


def guessed(scores: Array, coins: NDArray[np.int64], guesses: int) -> Guesses:
    """Guess the coins with the largest scores in size, each by the sign of its score; `guesses` must not depend on the run."""
    if scores.shape != coins.shape or not 1 <= guesses <= len(coins):
        raise ArgumentError(f"give one score a coin and 1 to {len(coins)} guesses; got {scores.shape} and {guesses}.")
    chosen = np.argsort(-np.abs(scores), kind="stable")[:guesses]
    return Guesses(len(coins), guesses, int((np.sign(scores[chosen]) == coins[chosen]).sum()))


def best_number(records: int, mu: float, level: float) -> int:
    """How many coins to guess if the score of a coin S is normal about S mu/2: the number with the largest bound expected.

    Of |scores| above a threshold t a share Phi(mu/2 - t)/(Phi(mu/2 - t) + Phi(-mu/2 - t)) has the right sign.
    """
    from scipy.special import ndtr

    best, number = -1.0, records
    # Thresholds from "guess all" to the few largest scores.
    for threshold in np.linspace(0.0, 0.5 * mu + 3.0, _THRESHOLDS):
        right, wrong = float(ndtr(0.5 * mu - threshold)), float(ndtr(-0.5 * mu - threshold))
        guesses = int(records * (right + wrong))
        if guesses < 1:
            break
        bound = Guesses(records, guesses, int(guesses * right / (right + wrong))).mu(level)
        if bound > best:
            best, number = bound, guesses
    return number
