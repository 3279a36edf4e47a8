"""Bernoulli rows with a logit-normal prior: the power, the variance, and what the sharp theorem allows."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from papers import drawing
from papers.minami2016 import _bernoulli, _exact
from papers.reporting import FALSE, LOOSE, REPRODUCED, Output
from sfumato.theorems import asymptotics, log_sobolev, sharp

PLACE = "supplement C.1, Example 17"
EPSILON, DELTA = 0.1, 1e-3


def run(out: Output) -> None:
    """Check the model, the power and the variance of Example 17."""
    _model(out)
    power = _powers(out)
    _variance(out, power)
    rows = []
    for eps in np.geomspace(0.03, 1.0, 16):
        printed, best = float(_exact.printed_power(eps, DELTA)), _exact.normal_mu(float(eps), DELTA)
        rows.append((float(eps), printed, best, 1 / printed, 1 / best))
    out.table(("epsilon", "power by Corollary 8", "sharp power", "variance by Corollary 8", "variance, sharp"), rows)
    _draw(out, rows, power)


def _model(out: Output) -> None:
    theta = np.linspace(-30, 30, 6001)
    p = np.linspace(1e-4, 1 - 1e-4, 9999)
    slopes, bends, in_p = [], [], []
    for x in (0, 1):
        loss = -x * theta + np.logaddexp(0, theta)
        slopes.append(float(np.abs(np.diff(loss)).max() / (theta[1] - theta[0])))
        bends.append(float(np.diff(loss, 2).min()))
        in_p.append(float(np.diff(-x * np.log(p) - (1 - x) * np.log1p(-p), 2).min()))
    out.claim("Example 17", "in logit form the loss is 1-Lipschitz and convex", paper="1",
              here=f"largest slope {max(slopes):.6f}, smallest second difference {min(bends):.1e}", verdict=REPRODUCED,
              shown=0.999 < max(slopes) <= 1 + 1e-9 and min(bends) >= -1e-12)  # fmt: skip
    steep = [float((np.log(2 * q) - np.log(q)) / q) for q in (1e-4, 1e-8)]  # mean slope of -log between q and 2q
    out.claim("Example 17", "p -> -log p(x | p) is not Lipschitz", paper="unbounded slope",
              here=f"mean slope {steep[0]:.1e} and {steep[1]:.1e} between q and 2q, q = 1e-4 and 1e-8", verdict=REPRODUCED,
              shown=steep[1] > 9000 * steep[0] > 1000)  # fmt: skip
    out.claim("Example 17", "p -> -log p(x | p) is not convex", paper="not convex",
              here=f"convex: smallest second difference {min(in_p):.1e} > 0", verdict=FALSE, shown=min(in_p) > 0,
              why="-log p and -log(1 - p) have second derivatives 1/p² and 1/(1 - p)². Only the Lipschitz bound is "
              "missing, so the example stands.")  # fmt: skip
    pairs = np.random.default_rng(17).normal(0, 2, (50, 2))
    laws = special.expit(pairs)
    tv = [0.5 * (abs(a - b) + abs((1 - a) - (1 - b))) for a, b in laws]
    out.claim("Example 17, footnote", "total variation of two Bernoulli laws is |σ(θ1) - σ(θ2)|", paper="equal",
              here="equal in 50 random pairs", verdict=REPRODUCED,
              shown=bool(np.allclose(tv, np.abs(laws[:, 0] - laws[:, 1]), atol=1e-15)))  # fmt: skip


def _powers(out: Output) -> float:
    printed = log_sobolev.corollary_8(epsilon=EPSILON, delta=DELTA, lipschitz=1.0, strong_convexity=1.0, convex=True)
    formula = EPSILON / 2 / math.sqrt(1 + 2 * math.log(1 / DELTA))
    power = _exact.normal_mu(EPSILON, DELTA)  # the difference of the two losses is theta: G = power, m = 1
    at_printed = max(_bernoulli.pair_delta(n, 0.012, EPSILON) for n in (1, 10, 40))
    at_sharp = max(_bernoulli.pair_delta(n, power, EPSILON) for n in (1, 10, 40))
    claim = sharp.gibbs_draw(difference=power, strong_convexity=1.0, convex=True, convex_domain=True).delta(EPSILON)
    out.claim("Example 17", "(0.1, 0.001) at v = 1 holds with β = 0.012", paper="0.012",
              here=f"{printed:.5f} by the formula (cut, not rounded), {power:.4f} by the sharp theorem", verdict=LOOSE,
              shown=math.floor(formula * 1000) == 12 and abs(printed / formula - 1) < 1e-9 and at_printed <= DELTA
              and at_sharp <= DELTA and abs(claim / DELTA - 1) < 1e-9 and abs(power - 0.0575) < 5e-5,
              why=f"The losses of 0 and 1 differ by θ itself: 1-Lipschitz, where Corollary 8 charges 2. By quadrature δ is "
              f"{at_printed:.1e} at 0.012 and {at_sharp:.2e} at {power:.4f}.")  # fmt: skip
    return power


def _variance(out: Output, power: float) -> None:
    n, theta = 10**6, 0.4
    ones = round(n * special.expit(theta))
    errors = []
    for beta in (0.012, power, 1.0):
        grid, law = (each[0] for each in _bernoulli.posterior(ones, n, beta))
        variance = float(law @ (grid - law @ grid) ** 2)
        information = special.expit(theta) * special.expit(-theta)
        errors.append(n * variance * beta * information - 1)
    out.claim("Example 17", "asymptotic variance [βσ(θ0)(1 - σ(θ0))]^-1", paper="1 (as the unit)",
              here=f"n times the exact variance at n = 10^6 is within {max(map(abs, errors)):.1e} of it, relatively",
              verdict=REPRODUCED, shown=max(map(abs, errors)) < 1e-3)  # fmt: skip
    here = asymptotics.inflation(power=power)
    out.claim("Example 17", "at least 83 times bigger than the Bayesian case", paper="83",
              here=f"{1 / 0.012:.1f} at 0.012, {here:.1f} at the sharp power", verdict=LOOSE,
              shown=math.floor(asymptotics.inflation(power=0.012)) == 83 and _exact.rounds_to(here, "17.4"),
              why="The factor is 1/β. Over data and draw together it is (1 + 1/β)/2 of the Bayesian draw's.")  # fmt: skip


def _draw(out: Output, rows: list[tuple[float, ...]], power: float) -> None:
    figure, axes = drawing.panels("Example 17: Bernoulli rows, logit-normal prior, v = 1, δ = 0.001", 1, 2)
    left, right = axes[0]
    for place, name in enumerate(("Corollary 8", "sharp theorem")):
        left.loglog([r[0] for r in rows], [r[3 + place] for r in rows], label=name, **drawing.style(place))
    left.plot([EPSILON], [1 / 0.012], "x", color="black", label="printed: 83 at ε = 0.1")
    drawing.plain_numbers(left.xaxis)
    drawing.plain_numbers(left.yaxis)
    drawing.label(left, "variance of a draw given the data", "ε", "multiple of the Bayesian variance")
    drawing.legend(left)
    for place, beta in enumerate((0.012, power, 1.0)):
        grid, law = (each[0] for each in _bernoulli.posterior(120, 200, beta))
        right.plot(special.expit(grid), law / np.gradient(special.expit(grid)), label=f"β = {beta:.3g}",
                   **drawing.style(place))  # fmt: skip
    drawing.label(right, "posteriors of 120 ones among 200 rows", "probability p", "density")
    drawing.legend(right)
    out.figure(figure, "Variance against epsilon for the printed and the sharp power; three posteriors.")
