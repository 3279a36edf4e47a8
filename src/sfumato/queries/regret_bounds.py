"""Bounds on the regret of an answer from draws: over an interval of responses, and with reweighted draws.

No privacy claims. Both follow from Hoeffding's inequality as `theorems.sampling_error.response_loss` does; e denotes half of
its value, sqrt(ln(2 |R| T/failure)/(2 N)), the error of every mean that is compared. Proofs are in the docstrings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato import _validate
from sfumato.theorems import sampling_error

# Means that differ by less than this count as equal, so that rounding does not decide which response comes first.
TIE = 1e-12
# Factor by which bounds are rounded up: more than the rounding errors of their few operations.
_UP = 1 + 1e-12
# Nets of 1, 2, 4, ..., 2^59 cells are tried.
_FINEST_NET = 60


@dataclass(frozen=True)
class Terms:
    """The scope of a bound: T queries fixed in advance (`queries`), or chosen by earlier answers among `query_set`."""

    queries: int = 1
    failure: float = 0.05
    query_set: int | None = None

    def __post_init__(self) -> None:
        _validate.whole("queries", self.queries)
        _validate.between("failure", self.failure, 0.0, 1.0)
        if self.query_set is not None:
            _validate.whole("query_set", self.query_set, self.queries)

    def response_loss(self, draws: int, responses: int) -> float:
        """Lemma 11 with its union bound, and the tolerance of ties."""
        loss = sampling_error.response_loss(
            draws=draws,
            responses=responses,
            queries=self.queries,
            delta=self.failure,
            adaptive=self.query_set is not None,
            query_set=self.query_set,
        )
        return min(1.0, loss + TIE)


def interval_loss(*, terms: Terms, draws: int, lipschitz: float, width: float, spacing: float) -> float:
    """Loss of the answer when the responses are an interval of this width and every u_theta is lipschitz in r.

    2 e(m) + 2 lipschitz width/m + lipschitz spacing/2, at the best m = 1, 2, 4, ... : m cells have midpoints no further
    than width/(2m) from any response, and there both the mean over the draws and the expectation move by at most
    lipschitz width/(2m); so every response is misjudged by at most e(m) + lipschitz width/m. The answer is at least as
    good on the draws as every point of a scan with this spacing, so the best response on the draws gains at most
    lipschitz spacing/2 over it. m depends on public numbers alone, so it needs no further union bound.
    """
    slope = _validate.non_negative("lipschitz", lipschitz)
    unseen = slope * spacing / 2
    bounds = [terms.response_loss(draws, 2**k) + 2 * slope * width / 2**k + unseen for k in range(_FINEST_NET)]
    return float(min(1.0, min(bounds) * _UP))


def reweighted_loss(*, sampling: float, log_ratio: float) -> float:
    """Loss under the reader's prior xi*, |ln xi*/xi| <= eta, of the answer that maximises the REWEIGHTED mean utility.

    min(sampling + 4 tanh(eta/2), sampling e^(2 eta)) for `sampling` = 2 e, the loss without reweighting. First: posteriors
    under xi and xi*, and equally the plain and the weighted empirical measure, are at most tanh(eta/2) apart in total
    variation, so a weighted mean misjudges an expectation under xi* by at most e + 2 tanh(eta/2). Second: w (u - E* u) has
    mean 0 and a range of e^eta for weights between e^-eta and e^eta, so its mean is below e^eta e, and the weights' mean
    is above e^-eta. (For an interval of responses the parts of `sampling` that come from the net are not multiplied, which the
    factor covers.) Which is smaller is decided by public numbers. Corollary 16 (`preferred_prior_loss`) bounds another
    answer, the one that does not reweight.
    """
    eta = _validate.non_negative("log_ratio", log_ratio)
    by_weights = sampling * math.exp(2 * eta) if eta < 300 else math.inf
    return float(min(1.0, min(sampling + 4 * math.tanh(eta / 2), by_weights) * _UP))


def unweighted_loss(*, sampling: float, log_ratio: float) -> float:
    """Corollary 16: loss under the reader's prior of the answer that does NOT reweight, sampling + 2 tanh(eta/2)."""
    eta = _validate.non_negative("log_ratio", log_ratio)
    return min(1.0, sampling_error.regret(total_variation=min(1.0, math.tanh(eta / 2) * _UP)) + sampling)


def digits_up(value: float) -> str:
    """Three digits, rounded up: a bound is never printed smaller than it is."""
    shown = f"{value:.3g}"
    if float(shown) >= value or value == 0:
        return shown
    return f"{value + 0.5 * 10.0 ** (int(f'{value:e}'.split('e')[1]) - 2):.3g}"
