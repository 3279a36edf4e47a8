"""Geumlek's generalised linear models: a Gaussian prior, a canonical link, bounded features and responses.

-log p(y | w, x) = A(w.x) - y w.x + const, |x| <= c, y in [y_min, y_max], inverse link A' in [g_min, g_max]. Its
gradient (A'(w.x) - y) x has norm at most c B, B = max(|y_min - g_max|, |y_max - g_min|), and A is convex, so the
sharp theorem applies: with prior N(0, (n b)^-1 I) and the likelihood raised to the power rho, one draw is mu-GDP with

    mu = 2 c B rho / sqrt(n b),     hence Renyi(lambda) = lambda mu^2/2 = 2 c^2 B^2 rho^2 lambda/(n b) for every order.

Source: Geumlek, Song and Chaudhuri, "Renyi Differential Privacy Mechanisms for Posterior Sampling", NIPS 2017,
Theorems 16 and 17, Algorithms 4 and 5. The paper counts probit and complementary log-log among its examples; those
links are not canonical, their gradients are unbounded and the statement is false for them.
"""

from __future__ import annotations

import math

from sfumato.privacy.curves import Gaussian
from sfumato.privacy.gaussian_tail import UNIT
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems._common import DRAWS, NOT_NEGATIVE, POSITIVE, PRECISION_PER_RECORD, RECORDS
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem

PAPER = "Geumlek, Song and Chaudhuri 2017"


_MODEL = (
    Hypothesis("canonical", "canonical link", "g", "True",
               "Probit and complementary log-log gradients are unbounded: use the clipped losses with 'langevin'.",
               "model"),
    Hypothesis("radius", "bound on the features", "c", POSITIVE,
               "Declare a bound on the rows (data_norm); append the intercept before taking it.", "schema"),
    Hypothesis("bound", "bound on response minus mean", "B", NOT_NEGATIVE, "Take it from response_bound.",
               "schema and model"),
    RECORDS, PRECISION_PER_RECORD,
)  # fmt: skip


def response_bound(*, y_min: float, y_max: float, mean_min: float, mean_max: float) -> float:
    """Assumption 1: B = max(|y_min - g_max|, |y_max - g_min|), at least |y - A'| for every response and every mean.

    Logistic regression: y in {0, 1}, means in [0, 1], B = 1. Poisson regression has unbounded means and is refused.
    `y_min`, `y_max` bound the responses and `mean_min`, `mean_max` the inverse link A'; rounded up.
    Source: Geumlek et al. 2017, Assumption 1.
    """
    h = Hypotheses("canonical GLM (Assumption 1)", f"{PAPER}, Assumption 1")
    clip = "Declare finite bounds on the responses; responses outside are clipped to them."
    low = h.number(y_min, "smallest response", "y_min", "finite", clip, origin="schema")
    high = h.number(y_max, "largest response", "y_max", "finite", clip, origin="schema")
    h.holds(low <= high, "ordered responses", "y_min <= y_max", f"at most {high:.6g}", low, "Swap the bounds.")
    link = "Use a link with a bounded mean (logit), or clip the loss ('langevin' with a clipped Poisson loss)."
    g_low = h.number(mean_min, "smallest mean", "g_min", "finite", link, origin="model")
    g_high = h.number(mean_max, "largest mean", "g_max", "finite", link, origin="model")
    h.holds(g_low <= g_high, "ordered means", "g_min <= g_max", f"at most {g_high:.6g}", g_low, "Swap the bounds.")
    return max(abs(low - g_high), abs(high - g_low)) * (1 + 2 * UNIT)


theorem(
    "canonical_glm.posterior_draw", "canonical GLM with Gaussian prior",
    f"{PAPER}, Theorems 16 and 17, by Gopi, Lee and Liu 2022",
    *_MODEL,
    Hypothesis("power", "power", "rho", POSITIVE, "Choose a positive power."),
    DRAWS,
)  # fmt: skip


def posterior_draw(
    *,
    radius: float,
    bound: float,
    n: int,
    precision_per_record: float,
    canonical: bool,
    power: float = 1.0,
    draws: int = 1,
    unit: str = "row",
) -> Guarantee:
    """Theorems 16 and 17: mu = 2 c B rho/sqrt(n b) for one draw, sqrt(draws) times that for independent draws.

    `radius` is c (take it after the intercept is appended), `bound` is B of `response_bound`, `precision_per_record`
    is b, `power` is rho. The paper states the Renyi curve lambda mu^2/2; the Gaussian curve implies it and more.
    `canonical` declares that the link is canonical, without which the gradients are unbounded.
    """
    h = Hypotheses("canonical_glm.posterior_draw")
    c, big_b, count, b = _model(h, radius, bound, n, precision_per_record, canonical)
    rho = h.number(power, "power")
    k = h.count(draws, "draws")
    mu = 2 * c * big_b * rho / math.sqrt(count * b) * math.sqrt(k)
    return h.guarantee(Gaussian(mu * (1 + 16 * UNIT)), unit=unit, draws=k)


theorem(
    "canonical_glm.concentrated_precision", "concentrated posterior (Algorithm 4)", f"{PAPER}, Algorithm 4", *_MODEL
)


def concentrated_precision(
    *, order: float, epsilon: float, radius: float, bound: float, n: int, precision_per_record: float, canonical: bool
) -> float:
    """Algorithm 4: the smallest b >= b_0 at which one draw has Renyi(order) <= epsilon, rounded up.

    b = max(2 c^2 B^2 lambda/(n eps), b_0), `precision_per_record` being b_0; the prior becomes N(0, (n b)^-1 I).
    `order` is lambda and `epsilon` the Renyi bound at it; `radius` c, `bound` B, `n` and `canonical` as for `posterior_draw`.
    Source: Geumlek et al. 2017, Algorithm 4.
    """
    h = Hypotheses("canonical_glm.concentrated_precision")
    c, big_b, count, b_0 = _model(h, radius, bound, n, precision_per_record, canonical)
    lam, eps = _target(h, order, epsilon)
    return max(2 * (c * big_b) * (c * big_b) * lam / (count * eps) * (1 + 96 * UNIT), b_0)


theorem("canonical_glm.diffused_power", "diffused posterior (Algorithm 5)", f"{PAPER}, Algorithm 5", *_MODEL)


def diffused_power(
    *, order: float, epsilon: float, radius: float, bound: float, n: int, precision_per_record: float, canonical: bool
) -> float:
    """Algorithm 5: the largest power rho <= 1 at which one draw has Renyi(order) <= epsilon, rounded down.

    rho = min(1, sqrt(eps n b/(2 c^2 B^2 lambda))). At every other order lambda~ the draw then has Renyi at most
    eps lambda~/lambda (the last line of Theorem 17 prints eps/lambda~, which falls with the order and is false).
    Arguments as for `concentrated_precision`. Source: Geumlek et al. 2017, Algorithm 5.
    """
    h = Hypotheses("canonical_glm.diffused_power")
    c, big_b, count, b = _model(h, radius, bound, n, precision_per_record, canonical)
    lam, eps = _target(h, order, epsilon)
    if big_b == 0:
        return 1.0
    return min(1.0, math.sqrt(eps * count * b / (2 * lam)) / (c * big_b) * (1 - 48 * UNIT))


def _model(
    h: Hypotheses, radius: float, bound: float, n: int, precision: float, canonical: bool
) -> tuple[float, float, int, float]:
    """Check the constants of the model, and return c, B, n and b."""
    h.flag(canonical, "canonical")
    c, big_b = h.numbers(radius=radius, bound=bound)
    return c, big_b, h.count(n, "records"), h.number(precision, "precision-per-record")


def _target(h: Hypotheses, order: float, epsilon: float) -> tuple[float, float]:
    lam = h.number(order, "Renyi order", "lambda", "finite", "Ask for an order of 1 or more.")
    h.holds(lam >= 1, "Renyi order of at least 1", "lambda", "at least 1", lam, "Ask for an order of 1 or more.")
    return lam, h.number(epsilon, "Renyi bound", "eps", "finite and greater than 0", "Ask for a positive bound.")
