"""Rényi curves of the diffused and the concentrated Beta posterior, with the orders at which they become infinite."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

import sfumato as sf
from papers import drawing
from papers.geumlek2017._beta import ALPHA, BETA, SCALES, N, worst
from papers.reporting import REPRODUCED, Output

PLACE = "Figure 1"
TOP, LAST = 2.0, 30.0  # ends of the axes: the text gives none


def curve(r: float, s: float) -> sf.Guarantee:
    """The price of one draw of Beta(s alpha + r k, s beta + r (n - k))."""
    return sf.theorems.conjugate.beta_bernoulli(alpha=ALPHA, beta=BETA, n=N, power=r, strength=s)


def _line(axis, price: sf.Guarantee, end: float, name: str, style: dict) -> None:
    """A curve up to the end of the axis, or up to its asymptote, near which its points are dense."""
    last = min(end, LAST)
    places = last - (last - 1) * np.linspace(1, 0, 300) ** 4
    values = [price.renyi(order) for order in places]
    if end < LAST:
        # The last finite value may lie below the top: the rest of the rise is narrower than a pixel.
        values[-1] = 2 * TOP
        axis.axvline(end, color=style["color"], linestyle=":", linewidth=0.9)
    axis.plot(places, values, label=name, **style)


def run(out: Output) -> None:
    """Draw both panels, and check the asymptotes, the order of the curves and their heights."""
    drawn, axes = drawing.panels("(λ, ε)-RDP of one draw: prior η₀ = (6, 18), n = 100", 1, 2, sharey=True)
    orders = np.linspace(1.0, LAST, out.sized(150, 600))
    rows, heights, asymptotes, errors = [], {}, [], []
    for panel, (algorithm, name) in enumerate((("Algorithm 2 (diffused)", "r"), ("Algorithm 3 (concentrated)", "m"))):
        axis = axes[0, panel]
        for place, x in enumerate(SCALES):
            price = curve(x, 1.0) if name == "r" else curve(1.0, 1 / x)
            end = 1 + ALPHA / x
            values = np.array([price.renyi(order) for order in orders])
            heights[name, x] = values
            _line(axis, price, end, f"{name} = {x:g}", drawing.style(place))
            rows += [(algorithm, x, float(a), float(v)) for a, v in zip(orders, values, strict=True)]
            asymptotes.append(price.renyi(end) == math.inf and price.renyi(end - 1e-6) < math.inf)
            for order in (1 + 0.3 * (end - 1), 1 + 0.9 * (end - 1)):
                truth = worst(order, *((x, 1.0) if name == "r" else (1.0, 1 / x)))
                errors.append(abs(price.renyi(order) / truth - 1))
        axis.set_ylim(0, TOP)
        axis.set_xlim(1, LAST)
        drawing.label(
            axis, algorithm, "order λ of the Rényi divergence", "ε (Rényi divergence, nats)" if panel == 0 else ""
        )
        drawing.legend(axis, loc="upper right")
    out.figure(
        drawn,
        "Rényi divergence against its order for six powers r and six m, with vertical asymptotes at 1 + 6/r and 1 + 6/m.",
    )
    out.table(("algorithm", "r or m", "order", "epsilon"), rows)
    out.claim(
        PLACE, "the curves have vertical asymptotes", paper="at λ* = 1 + 6/r, 1 + 6/m (7 for direct sampling)",
        here="finite 1e-6 below and infinite at " + ", ".join(f"{1 + ALPHA / x:.4g}" for x in SCALES),
        verdict=REPRODUCED, shown=all(asymptotes),
    )  # fmt: skip
    steps = [(name, *pair) for name in "rm" for pair in pairwise(SCALES)]
    falls = all((heights[name, small] <= heights[name, large]).all() for name, small, large in steps)
    longer = all(1 + ALPHA / small > 1 + ALPHA / large for _, small, large in steps)
    out.claim(
        PLACE, "as r and m decrease, ε falls at each λ and becomes finite at larger λ", paper="stated of the plots",
        here=f"at each of {len(orders)} orders, for every two neighbouring values of r and of m", verdict=REPRODUCED,
        shown=falls and longer and all(asymptotes),
    )  # fmt: skip
    out.claim(
        PLACE, "heights of the curves", paper="plotted", verdict=REPRODUCED, shown=max(errors) < 1e-6,
        here=f"ε(2) = {curve(1, 1).renyi(2):.4f}, ε(4) = {curve(1, 1).renyi(4):.4f} at r = 1; within {max(errors):.0e} of "
        "quadrature",
    )  # fmt: skip
    slopes = [sf.Gaussian(0.3).renyi(order) / order for order in (1, 2, 10, 1e3)]
    out.claim(
        PLACE, "the Gaussian baseline achieves RDP along any line through the origin", paper="slope Δ²/σ² > 0, not plotted",
        here="ε/λ is the same at orders 1, 2, 10 and 1000", verdict=REPRODUCED, shown=max(slopes) - min(slopes) < 1e-12,
    )  # fmt: skip
