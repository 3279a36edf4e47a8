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
from sfumato.theorems._hypotheses import Hypotheses

SOURCE = "Bok, Su and Altschuler 2024 (shifted interpolation)"


def contraction_factor(step: float, strong_convexity: float, steps: int) -> float:
    """(1 - c^t)/(1 + c^t) (1 + c)/(1 - c) with c = 1 - h m, as tanh(t x/2)/tanh(x/2), x = -log c; t when m = 0."""
    contraction = step * strong_convexity
    if contraction == 0:
        return float(steps)
    if contraction >= 1:
        return 1.0
    x = -math.log1p(-contraction)
    return math.tanh(0.5 * steps * x) / math.tanh(0.5 * x)


def _check_run(h: Hypotheses, convex: bool, public_start: bool, full_batch: bool, momentum: float) -> None:
    """Check what is declared about the loss and the run, before any number."""
    h.flag(
        convex,
        "convexity of every loss",
        "convex",
        "True",
        "Use a convex loss (never a per-record clipped softmax), or price the whole path with 'langevin-path'.",
        origin="loss",
    )
    h.flag(public_start, "public start", "theta_0", "True", "Start at the prior mean or another public point.")
    h.flag(
        full_batch, "full batch", "batch", "True", "Use every record at every step; subsampling needs another theorem."
    )
    h.holds(
        momentum == 0,
        "no momentum",
        "momentum",
        "0",
        momentum,
        "Drop the momentum, or use 'langevin-path', which covers it.",
    )


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
    """
    h = Hypotheses("finite-step theorem (last iterate)", SOURCE)
    _check_run(h, convex, public_start, full_batch, momentum)
    m = h.number(
        strong_convexity,
        "strong convexity of the potential",
        "m",
        "finite and 0 or greater",
        "A negative curvature is not convex; use 'langevin-path'.",
        origin="prior and loss",
    )
    big_m = h.number(
        smoothness,
        "smoothness of the potential",
        "M",
        "finite and greater than 0",
        "Use a smooth loss (a smoothed hinge or quantile, declared label bounds for Poisson).",
        origin="prior and loss",
    )
    h.holds(
        m <= big_m,
        "smoothness at least strong convexity",
        "m <= M",
        f"at most M = {big_m:.6g}",
        m,
        "Check the constants.",
    )
    g = h.number(
        difference,
        "gradient difference of neighbours",
        "G",
        "finite and 0 or greater",
        "Declare a bound on the rows (data_norm, radius) or use a clipped loss.",
        origin="loss",
    )
    eta = h.number(step, "step size", "h", "finite and greater than 0", "Choose a positive step.")
    limit = 2.0 / (m + big_m)
    h.holds(
        eta <= limit,
        "contracting step",
        "h <= 2/(m+M)",
        f"at most {limit:.9g}",
        eta,
        "Take a smaller step: above 2/(m+M) the price grows without limit.",
    )
    t = h.count(steps, "number of steps", "t", 1, "Take at least one step.")
    k = h.count(chains, "number of chains", "chains", 1, "Run at least one chain.")
    s = h.count(states, "states kept of each chain", "k", 1, "Keep at least one state.")
    e = h.float_error(float_error)
    mu = (eta * g + 2 * e) / math.sqrt(2 * eta) * math.sqrt(contraction_factor(eta, m, t) * k * s)
    return h.guarantee(Gaussian(mu * (1 + 16 * UNIT)), adjacency, unit, draws=k * s)
