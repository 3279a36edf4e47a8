"""The finite-step theorem: the Langevin chain priced as it is run, converged or not.

    theta <- project_K(theta - h grad U(theta) + sqrt(2h) xi),     public start, full batch,

with every U_D m-strongly convex and M-smooth, |grad U_D - grad U_D'| <= G, 0 < h <= 2/(m + M) and c = 1 - h m.
Releasing ONLY the last of t iterates is mu_t-GDP with

    mu_t = G sqrt(h/2) sqrt( (1 - c^t)/(1 + c^t) (1 + c)/(1 - c) ),       m = 0: mu_t = G sqrt(h/2) sqrt(t).

So mu_t <= G/sqrt(m) for every t: the unconverged chain costs no more than an exact draw. Above 2/(m+M) the contraction
is lost and mu_t grows without limit: refused. Without convexity the statement is false (a double well costs 15 times
the formula), so convexity is declared by the loss and checked here.

Source: Bok, Su and Altschuler, "Shifted Interpolation for Differential Privacy", ICML 2024.
"""

from __future__ import annotations

import math

from sfumato.privacy.curves import Gaussian
from sfumato.privacy.gaussian_tail import UNIT
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems import sharp
from sfumato.theorems._common import COUNT, DIFFERENCE, FLOAT_ERROR, NOT_NEGATIVE, POSITIVE, RUN
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem

SOURCE = "Bok, Su and Altschuler 2024 (shifted interpolation)"


_RUN = (
    Hypothesis("convex", "convexity of every loss", "convex", "True",
               "Use a convex loss (never a per-record clipped softmax), or price the whole path with 'langevin-path'.",
               "loss"),
    *RUN,
    Hypothesis("momentum", "no momentum", "momentum", "0",
               "Drop the momentum, or use 'langevin-path', which covers it."),
)  # fmt: skip


def contraction_factor(step: float, strong_convexity: float, steps: int) -> float:
    """(1 - c^t)/(1 + c^t) (1 + c)/(1 - c) with c = 1 - h m, as tanh(t x/2)/tanh(x/2), x = -log c; t when m = 0.

    `step` is h, `strong_convexity` m, `steps` t. The factor multiplies G^2 h/2 in mu_t^2: it is at most t and at most
    (2 - h m)/(h m), so the price stops growing with t. The hyperbolic form loses no digits where h m is small.
    Source: Bok, Su and Altschuler 2024.
    """
    contraction = step * strong_convexity
    if contraction == 0:
        return float(steps)
    if contraction >= 1:
        return 1.0
    x = -math.log1p(-contraction)
    return math.tanh(0.5 * steps * x) / math.tanh(0.5 * x)


def _check_run(h: Hypotheses, convex: bool, public_start: bool, full_batch: bool, momentum: float) -> None:
    """Check what is declared about the loss and the run, before any number."""
    h.flags(convex=convex, public_start=public_start, full_batch=full_batch)
    h.holds(momentum == 0, "momentum", given=momentum)


theorem(
    "finite_step.last_iterate", "finite-step theorem (last iterate)", SOURCE,
    *_RUN,
    Hypothesis("strong-convexity", "strong convexity of the potential", "m", NOT_NEGATIVE,
               "A negative curvature is not convex; use 'langevin-path'.", "prior and loss"),
    Hypothesis("smoothness", "smoothness of the potential", "M", POSITIVE,
               "Use a smooth loss (a smoothed hinge or quantile, declared label bounds for Poisson).",
               "prior and loss"),
    Hypothesis("smoothness-order", "smoothness at least strong convexity", "m <= M", "at most M = {}",
               "Check the constants."),
    DIFFERENCE,
    Hypothesis("step", "step size", "h", POSITIVE, "Choose a positive step."),
    Hypothesis("contracting-step", "contracting step", "h <= 2/(m+M)", "at most {}",
               "Take a smaller step: above 2/(m+M) the price grows without limit."),
    Hypothesis("steps", "number of steps", "t", COUNT, "Take at least one step."),
    Hypothesis("chains", "number of chains", "chains", COUNT, "Run at least one chain."),
    Hypothesis("states", "states kept of each chain", "k", COUNT, "Keep at least one state."),
    *FLOAT_ERROR,
)  # fmt: skip


def last_iterate(
    *,
    difference: float,
    strong_convexity: float,
    smoothness: float,
    step: float,
    steps: int,
    convex: bool,
    public_start: bool,
    full_batch: bool,
    momentum: float,
    chains: int = 1,
    states: int = 1,
    float_error: float = 0.0,
    adjacency: str = "replace-one",
    unit: str = "row",
) -> Guarantee:
    """Price of the last iterate of `chains` independent chains, or of `states` states of one chain, `steps` apart.

    `convex` is declared by the loss; `public_start`, `full_batch` and `momentum` (which must be 0) by whoever runs the
    chain. `float_error` is a bound e on the rounding error of one step (in norm); it replaces h G by h G + 2 e.
    `difference` is G, `strong_convexity` m, `smoothness` M, `step` h, `steps` t; mu_t as above, times sqrt(chains states).
    Source: Bok, Su and Altschuler 2024.
    """
    h = Hypotheses("finite_step.last_iterate")
    _check_run(h, convex, public_start, full_batch, momentum)
    m, big_m = h.numbers(strong_convexity=strong_convexity, smoothness=smoothness)
    h.holds(m <= big_m, "smoothness-order", given=m, bound=f"{big_m:.6g}")
    g, eta = h.numbers(difference=difference, step=step)
    limit = 2.0 / (m + big_m)
    h.holds(eta <= limit, "contracting-step", given=eta, bound=f"{limit:.9g}")
    t, k, s = h.counts(steps=steps, chains=chains, states=states)
    e = h.float_error(float_error)
    mu = (eta * g + 2 * e) / math.sqrt(2 * eta) * math.sqrt(contraction_factor(eta, m, t) * k * s)
    return h.guarantee(Gaussian(mu * (1 + 16 * UNIT)), adjacency, unit, draws=k * s)


theorem(
    "finite_step.at_least_exact", "finite-step theorem (last iterate), not below the sharp theorem",
    f"{SOURCE}; {sharp.SOURCE}",
)  # fmt: skip


def at_least_exact(chain: Guarantee, exact: Guarantee) -> Guarantee:
    """The larger of two prices: `chain` of `last_iterate`, `exact` of `sharp.gibbs_draw` for the law that it approaches.

    The chain's own price holds for what is released. Its iterates stand for exact draws, so the price of those is taken
    where it is larger, as for a short chain. The guarantee carries the hypotheses of both theorems.
    Source: Bok, Su and Altschuler 2024; Gopi, Lee and Liu 2022, Theorem 4.
    """
    h = Hypotheses("finite_step.at_least_exact")
    h.inherit(chain, exact)
    dearer = max(exact, chain, key=lambda each: each.curve.mu or 0.0)
    return h.guarantee(dearer.curve, chain.adjacency, chain.unit, draws=chain.draws)
