"""Answers from released draws (Dimitrakakis et al. 2017, Algorithm 2): any number of questions, at no further cost.

    r = argmax over responses of the sum over the released draws of u_theta(q, r),      u in [0, 1].

A utility is a vectorised function of the draws (draw, ...) and the responses. It has no access to a row, so answers are
post-processing: nothing is charged for any number of questions, also where later ones depend on earlier answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from sfumato import _validate
from sfumato._quadrature import Array
from sfumato.errors import ArgumentError
from sfumato.queries._reweight import LogDensity, weights
from sfumato.queries._sample import Sample
from sfumato.queries.regret_bounds import TIE, Terms, digits_up, interval_loss, reweighted_loss, unweighted_loss
from sfumato.theorems.sampling_error import prior_change_divergence

Utility = Callable[[Array, Any], Any]

# Points of the public scan of an interval, before the best of them is refined.
SCAN = 1025
# A utility may pass 0 or 1 by this much: rounding of sums and products.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Answer:
    """A response and its mean `utility` over the draws, under the reader's prior if one was given.

    `loss` bounds, with probability 1 - `failure` over the draws, how much the best response would gain under the law that
    the draws came from; None where nothing is proved, with the reason in `covers`. `unweighted_loss` is Corollary 16's bound for a
    reader who keeps another prior but answers without reweighting.
    """

    response: Any
    utility: float
    place: int | None
    loss: float | None
    failure: float
    covers: str
    draws: int
    effective_draws: float
    unweighted_loss: float | None = None

    def __str__(self) -> str:
        many = f"{self.draws} draw{'s' * (self.draws != 1)}"
        if self.effective_draws < self.draws * (1 - 1e-9):
            many += f", worth {self.effective_draws:.1f} under this prior"
        return f"{self.response}: mean utility {self.utility:.4g} over {many}. {self.covers}"


def respond(
    sample: Sample,
    utility: Utility,
    candidates: Any,
    *,
    prior: Any = None,
    against: LogDensity | None = None,
    log_ratio: float | None = None,
    lipschitz: float | None = None,
    terms: Terms | None = None,
) -> Answer:
    """The response with the largest mean utility over the draws; ties go to the first.

    utility(draws, candidates) gives an array (draws, candidates) of numbers in [0, 1]. `candidates` is a list or array of
    responses, or a tuple (lower, upper) for every number between; there `lipschitz`, how fast any utility may change with the
    response, is what a bound needs. `prior` reweights the draws (see `_reweight.weights`), `log_ratio` bounds the
    logarithm of its ratio to the release's prior.
    """
    asked = Terms() if terms is None else terms
    held = None if prior is None else weights(sample, prior, against, log_ratio)
    share = None if held is None else held.values
    effective = float(sample.size) if held is None else held.effective
    scale: tuple[float, float] | None = None
    if _is_interval(candidates):
        scale = _ends(candidates)
        place, response, value = None, *_in_interval(sample, utility, scale, share, lipschitz)
        responses = 0
    else:
        place, value = _first_best(means(sample, utility, candidates, share))
        response, responses = candidates[place], len(candidates)
    loss, unweighted, covers = bounds(sample, responses, scale, lipschitz, prior is not None, log_ratio, asked)
    return Answer(response, value, place, loss, asked.failure, covers, sample.size, effective, unweighted)


def means(sample: Sample, utility: Utility, candidates: Any, share: Array | None = None) -> Array:
    """Mean utility of every candidate over the draws, which are equally weighted without `share`."""
    if len(candidates) == 0:
        raise ArgumentError("candidates must hold at least one response; got none.")
    utilities = checked(utility(sample.values, candidates), (sample.size, len(candidates)))
    # The sum of a column does not depend on the columns beside it, so ties stay ties.
    return np.asarray(utilities.mean(axis=0) if share is None else (utilities * share[:, None]).sum(axis=0))


def checked(values: Any, shape: tuple[int, ...]) -> Array:
    """Utilities, which must have this shape and lie in [0, 1]."""
    utilities = np.asarray(values, dtype=np.float64)
    if utilities.shape != shape:
        raise ArgumentError(f"utility must give an array shaped {shape}; got {utilities.shape}.")
    low, high = float(utilities.min()), float(utilities.max())
    if not (low >= -_ROUNDING and high <= 1 + _ROUNDING):
        raise ArgumentError(
            f"utilities must lie in [0, 1]; got numbers from {low:g} to {high:g}. Scale them by their public bounds."
        )
    return utilities


def _first_best(values: Array) -> tuple[int, float]:
    place = int(np.argmax(values >= values.max() - TIE))
    return place, float(values[place])


def _is_interval(candidates: Any) -> bool:
    return isinstance(candidates, tuple) and len(candidates) == 2 and all(isinstance(e, Real) for e in candidates)


def _ends(candidates: Any) -> tuple[float, float]:
    low, high = (_validate.finite(name, end) for name, end in zip(("lower", "upper"), candidates, strict=True))
    if not low < high:
        raise ArgumentError(
            f"candidates as a tuple mean every number from lower to upper; got {candidates!r}. For two responses give a list."
        )
    return low, high


def _in_interval(
    sample: Sample, utility: Utility, ends: tuple[float, float], share: Array | None, lipschitz: float | None
) -> tuple[float, float]:
    """The best point of a public scan, or a better one between its neighbours."""
    from scipy.optimize import minimize_scalar

    grid = np.linspace(*ends, SCAN)
    block = max(1, (1 << 22) // sample.size)
    parts = [means(sample, utility, grid[start : start + block], share) for start in range(0, SCAN, block)]
    values = np.concatenate(parts)
    if lipschitz is not None:
        _check_slope(sample, utility, grid, lipschitz)
    place, best = _first_best(values)
    near = (grid[max(0, place - 1)], grid[min(SCAN - 1, place + 1)])
    refined = minimize_scalar(
        lambda r: -float(means(sample, utility, np.array([r]), share)[0]),
        bounds=near,
        method="bounded",
        options={"xatol": 1e-10 * (ends[1] - ends[0])},
    )
    return (float(refined.x), float(-refined.fun)) if -refined.fun > best + TIE else (float(grid[place]), best)


def _check_slope(sample: Sample, utility: Utility, grid: Array, lipschitz: float) -> None:
    """Refuse a declared slope that some draw breaks between two points of the scan."""
    slope = _validate.non_negative("lipschitz", lipschitz)
    block = max(2, (1 << 22) // sample.size)
    for start in range(0, SCAN - 1, block - 1):
        part = grid[start : start + block]
        utilities = np.asarray(utility(sample.values, part), dtype=np.float64)
        steepest = float((np.abs(np.diff(utilities, axis=1)) / np.diff(part)).max())
        if not steepest <= slope * (1 + 1e-6) + 1e-9:
            raise ArgumentError(
                f"lipschitz says that no utility changes faster than {slope:g} with the response; one changes by "
                f"{steepest:.6g} per unit. Declare a larger one, or leave it out: then no bound is printed."
            )


def bounds(
    sample: Sample,
    responses: int,
    ends: tuple[float, float] | None,
    lipschitz: float | None,
    other_prior: bool,
    log_ratio: float | None,
    terms: Terms,
) -> tuple[float | None, float | None, str]:
    """The proved bound on the loss, Corollary 16's bound, and a sentence on what they cover."""
    if not sample.independent:
        return None, None, f"No bound: one holds for independent draws of a posterior, and these are of {sample.law}."
    if ends is not None and lipschitz is None:
        return None, None, "No bound: among all numbers of an interval none holds unless lipschitz= is declared."
    if other_prior and log_ratio is None:
        return (
            None,
            None,
            "No bound: under another prior none holds unless log_ratio= bounds its ratio to the release's.",
        )
    if ends is None:
        sampling = terms.response_loss(sample.size, responses)
    else:
        width = ends[1] - ends[0]
        slope = 0.0 if lipschitz is None else lipschitz
        spacing = width / (SCAN - 1) * (1 + 1e-9)
        sampling = interval_loss(terms=terms, draws=sample.size, lipschitz=slope, width=width, spacing=spacing)
    many = f"{terms.queries:,} quer{'y' if terms.queries == 1 else 'ies'} fixed in advance"
    if terms.query_set is not None:
        many = f"every query of a set of {terms.query_set:,}, chosen by earlier answers or not"
    loss, unweighted, under = sampling, None, sample.law
    if other_prior and log_ratio is not None:
        loss = reweighted_loss(sampling=sampling, log_ratio=log_ratio)
        unweighted = unweighted_loss(sampling=sampling, log_ratio=log_ratio)
        under += ", reweighted to this prior"
    nothing = " (which says nothing: ask for more draws)" if loss >= 1 else ""
    text = (
        f"With probability {1 - terms.failure:g}, for {many}, no response does better by more than {digits_up(loss)}{nothing} "
        f"under {under}."
    )
    if unweighted is not None and log_ratio is not None:
        apart = prior_change_divergence(log_ratio=log_ratio)
        text += (
            f" Without reweighting it would be {digits_up(unweighted)} (Corollary 16); the two posteriors are at most "
            f"{digits_up(apart)} apart in KL divergence (Lemma 15)."
        )
    return loss, unweighted, text
