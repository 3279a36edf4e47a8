"""Up to which order the posterior itself is Rényi private: λ* exists, and for Beta priors it is 1 + min(α₀, β₀)."""

from __future__ import annotations

import math

import numpy as np

import sfumato as sf
from papers import drawing
from papers.geumlek2017._beta import renyi, worst
from papers.reporting import REPRODUCED, Output

PLACE = "Theorem 12, Corollary 1"
PRIORS = ((0.5, 0.5), (1.0, 3.0), (6.0, 12.0), (20.0, 2.5))
RECORDS = 12


def price(prior: tuple[float, float], n: int = RECORDS) -> sf.Guarantee:
    """One draw of the posterior itself."""
    return sf.theorems.conjugate.beta_bernoulli(alpha=prior[0], beta=prior[1], n=n)


def run(out: Output) -> None:
    """Draw ε against the order for four priors; check where it ends against quadrature and every pair of data sets."""
    drawn, axes = drawing.panels(f"Direct sampling of a Beta posterior, n = {RECORDS}", size=(6.4, 4.4))
    rows, ends, errors, open_ends = [], [], [], []
    for place, prior in enumerate(PRIORS):
        star = 1 + min(prior)
        orders = star - (star - 1) * np.linspace(1, 1e-4, 120) ** 2
        values = [price(prior).renyi(order) for order in orders]
        axes[0, 0].plot(
            (orders - 1) / (star - 1),
            values,
            label=f"Beta({prior[0]:g}, {prior[1]:g}), λ* = {star:g}",
            **drawing.style(place),
        )
        rows += [(*prior, float(a), float(v)) for a, v in zip(orders, values, strict=True)]
        ends.append(price(prior).renyi(star) == math.inf and price(prior).renyi(star * (1 - 1e-9)) < math.inf)
        # Below λ* no pair of neighbouring data sets is worse; at λ* one pair has an integral that does not exist.
        below = 1 + 0.8 * min(prior)
        errors.append(abs(price(prior).renyi(below) / worst(below, n=RECORDS, a=prior[0], b=prior[1]) - 1))
        small = [(prior[0], prior[1] + RECORDS), (prior[0] + 1, prior[1] + RECORDS - 1)]
        large = [(prior[0] + RECORDS, prior[1]), (prior[0] + RECORDS - 1, prior[1] + 1)]
        open_ends.append(max(renyi(*small, star), renyi(*large, star)) == math.inf)
    axes[0, 0].set_ylim(0, 6)
    drawing.label(axes[0, 0], "", "(λ - 1)/(λ* - 1)", "ε (Rényi divergence, nats)")
    drawing.legend(axes[0, 0], loc="upper left")
    out.figure(drawn, "Rényi divergence of direct sampling against the order, relative to λ*, for four Beta priors.")
    out.table(("alpha_0", "beta_0", "order", "epsilon"), rows)
    out.claim(
        "Theorem 12", "there is λ* > 1 below which direct sampling is (λ, ε)-RDP", paper="λ* in (1, ∞]", verdict=REPRODUCED,
        here=f"ε finite below λ* = {', '.join(f'{1 + min(p):g}' for p in PRIORS)}; within {max(errors):.0e} of "
        "quadrature over pairs",
        shown=all(ends) and max(errors) < 1e-6,
    )  # fmt: skip
    out.claim(
        "Corollary 1", "Beta(α₀, β₀): (λ, ε)-RDP if and only if 1 < λ < 1 + min(α₀, β₀)", paper="iff", verdict=REPRODUCED,
        here="at λ* the integral of one pair of neighbours does not exist, for each of four priors; order 1 (KL) is finite too",
        shown=all(open_ends) and all(math.isfinite(price(prior).renyi(1)) for prior in PRIORS),
    )  # fmt: skip
    largest = [price((6.0, 12.0), n).renyi(8.0) for n in (1, 100, 10_000)]
    out.claim(
        "Corollary 1", "whatever n, some finite order has no ε, so (ε, 0)-DP fails", paper="for any η₀ and n > 0",
        verdict=REPRODUCED,
        here="order 8 of Beta(6, 12) is infinite for n = 1, 100, 10,000", shown=all(value == math.inf for value in largest),
    )  # fmt: skip
