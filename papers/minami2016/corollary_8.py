"""Powers allowed by Corollary 8, by the tail bound (6) and by the sharp theorem, and where the corollary is false."""

from __future__ import annotations

import math

import numpy as np

from papers import drawing
from papers.minami2016 import _exact
from papers.reporting import FALSE, REPRODUCED, TIGHTER, Output
from sfumato.theorems import log_sobolev, sharp

PLACE = "Corollary 8"
UNIT = {"lipschitz": 1.0, "strong_convexity": 1.0, "convex": True}
# Where Corollary 8(ii) is false, by delta: to be checked below.
DELTAS = (0.1, 1e-3, 1e-5, 1e-6, 1e-10)


def follows_until(delta: float) -> float:
    """The largest epsilon at which (7) follows from (6): 2(1 + 2l - sqrt(2l(1 + 2l))), l = log(1/delta)."""
    return _exact.crossing(lambda eps: _exact.printed_power(eps, delta) - by_theorem_7(eps, delta), 0.5, 3.0)


def by_theorem_7(epsilon: float, delta: float) -> float:
    """(6) solved for the power, L = m = 1."""
    return log_sobolev.largest_power_tail_bound(epsilon=epsilon, delta=delta, **UNIT)


def excess(epsilon: float, delta: float) -> float:
    """Exact delta at the printed power, less the delta claimed: linear losses and a Gaussian prior."""
    return _exact.normal_delta(epsilon, 2 * _exact.printed_power(epsilon, delta)) - delta


def false_from(delta: float) -> float:
    """The epsilon from which linear losses break (7)."""
    return _exact.crossing(lambda eps: excess(eps, delta), 2.0, 30.0)


def workshop_excess(epsilon: float) -> float:
    """The same for Corollary 8(i): beta = sqrt(m eps/(2 L^2)) has mu = sqrt(2 eps) and claims exp(-(1 + eps)/4)."""
    return _exact.normal_delta(epsilon, math.sqrt(2 * epsilon)) - math.exp(-(1 + epsilon) / 4)


def run(out: Output) -> None:
    """Compare the powers over epsilon and delta, and check every number."""
    _printed(out)
    _sharp(out)
    _workshop(out)
    rows = []
    for delta in DELTAS:
        for eps in np.geomspace(0.01, 30, 36):
            mu = _exact.normal_mu(float(eps), delta)
            printed = float(_exact.printed_power(eps, delta))
            true = _exact.normal_delta(float(eps), 2 * printed)
            rows.append((delta, float(eps), printed, by_theorem_7(float(eps), delta), mu / 2, true, true > delta))
    header = ("delta", "epsilon", "Corollary 8(ii)", "Theorem 7", "sharp", "true delta of 8(ii)", "8(ii) false")
    out.table(header, rows)
    _draw(out, rows)


def _printed(out: Output) -> None:
    starts = [false_from(delta) for delta in DELTAS]
    limits = [follows_until(delta) for delta in DELTAS]
    closed = [log_sobolev.corollary_8_limit(delta=delta) for delta in DELTAS]
    out.claim(
        "Corollary 8(ii)",
        "the power (7) satisfies (ε, δ) for every ε > 0",
        paper="every ε",
        here="false from ε = " + ", ".join(f"{e:.2f}" for e in starts) + " at δ = 0.1, 1e-3, 1e-5, 1e-6, 1e-10",
        verdict=FALSE,
        shown=all(excess(1.001 * e, d) > 0 >= excess(0.999 * e, d) for e, d in zip(starts, DELTAS, strict=True)),
        why="Linear losses with a Gaussian prior have mu = 2 beta L/sqrt(m); their exact delta, in 50 digits, exceeds δ.",
    )
    true = _exact.normal_delta(20.0, 2 * float(_exact.printed_power(20.0, 1e-6)))
    out.claim(
        "Corollary 8(ii)",
        "at ε = 20, δ = 1e-6",
        paper="δ = 1e-6",
        here=f"δ = {true:.2g}",
        verdict=FALSE,
        shown=true > 1e-6,
    )
    out.claim(
        "Corollary 8(ii)",
        "it follows from Theorem 7 by elementary steps",
        paper="every ε",
        here="up to ε = " + ", ".join(f"{e:.3f}" for e in limits) + " at the same δ",
        verdict=FALSE,
        shown=max(limits) < 2
        and all(abs(a - b) < 1e-7 for a, b in zip(limits, closed, strict=True))
        and all(
            float(_exact.printed_power(1.01 * e, d)) > by_theorem_7(1.01 * e, d)
            for e, d in zip(limits, DELTAS, strict=True)
        ),
        why="(6) gives beta = sqrt(m eta/2)/L; (7) is below it up to ε = 2(1 + 2l - sqrt(2l(1 + 2l))), l = log(1/δ).",
    )
    root = [float(_exact.printed_power(0.5, 1e-5, 1.0, m)) for m in (1.0, 4.0, 100.0)]
    out.claim(
        "section 3.1",
        "the bound on the power grows in proportion to sqrt(m_π)",
        paper="sqrt(m_π)",
        here=f"m_π = 1, 4, 100: {root[0]:.4f}, {root[1]:.4f}, {root[2]:.4f}",
        verdict=REPRODUCED,
        shown=all(
            abs(log_sobolev.corollary_8(epsilon=0.5, delta=1e-5, **(UNIT | {"strong_convexity": m})) - r) < 1e-12 * r
            for m, r in zip((1.0, 4.0, 100.0), root, strict=True)
        )
        and abs(root[1] / root[0] - 2) < 1e-12,
    )


def _sharp(out: Output) -> None:
    targets = [(0.1, 1e-3), (0.1, 1e-5), (1.0, 1e-5), (1.0, 1e-6)]
    powers = [_exact.normal_mu(*target) / 2 for target in targets]
    ratios = [power / float(_exact.printed_power(*target)) for power, target in zip(powers, targets, strict=True)]
    claims = [
        sharp.gibbs_draw(difference=2 * power, strong_convexity=1.0, convex=True, convex_domain=True).delta(eps)
        for power, (eps, _) in zip(powers, targets, strict=True)
    ]
    out.claim(
        "Corollary 8(ii)",
        "the power it allows, where it holds",
        paper="1 (as the unit)",
        here="sharp theorem: " + ", ".join(f"{ratio:.2f}" for ratio in ratios)
        + " times as much at (0.1, 1e-3), (0.1, 1e-5), (1, 1e-5), (1, 1e-6)",
        verdict=TIGHTER,
        shown=all(r > 1 for r in ratios)
        and all(abs(c / d - 1) < 1e-9 for c, (_, d) in zip(claims, targets, strict=True)),
        why="mu = 2 beta L/sqrt(m_π) for every convex L-Lipschitz loss (Gopi, Lee and Liu 2022).",
    )  # fmt: skip


def _workshop(out: Output) -> None:
    start = _exact.crossing(workshop_excess, 0.1, 5.0)
    true = _exact.normal_delta(5.0, math.sqrt(10.0))
    out.claim(
        "Corollary 8(i), workshop",
        "(ε, exp(-(1 + ε)/4)) at beta = sqrt(m_π ε/(2 L²)) for every ε",
        paper="every ε; at ε = 5: δ = 0.223",
        here=f"false from ε = {start:.2f}; at ε = 5: δ = {true:.3f}",
        verdict=FALSE,
        shown=workshop_excess(1.001 * start) > 0 > workshop_excess(0.999 * start) and true > math.exp(-1.5),
        why="At this power 2L²beta²/m_π = ε, where Theorem 7 bounds nothing; linear losses have mu = sqrt(2ε).",
    )


def _draw(out: Output, rows: list[tuple[float, ...]]) -> None:
    figure, axes = drawing.panels("Corollary 8: powers, and where it is false", 1, 3, size=(13.2, 4.4))
    left, middle, right = axes[0]
    chosen = [row for row in rows if row[0] == 1e-5]
    eps = [row[1] for row in chosen]
    for place, name in enumerate(("Corollary 8(ii), (7)", "Theorem 7, bound (6)", "sharp theorem")):
        left.semilogx(eps, [row[2 + place] / row[2] for row in chosen], label=name, **drawing.style(place))
    start = false_from(1e-5)
    left.axvline(start, color=drawing.GREY, linewidth=1, linestyle=":")
    left.text(start * 1.15, 1.25, f"(7) false from ε = {start:.2f}", fontsize=8, rotation=90, ha="left")
    drawing.plain_numbers(left.xaxis)
    drawing.label(left, "largest power at δ = 1e-5", "ε", "power as a multiple of (7)")
    drawing.legend(left, loc="upper right", bbox_to_anchor=(0.86, 1.0))
    deltas = np.geomspace(1e-10, 0.1, 28)
    false = [false_from(float(d)) for d in deltas]
    limits = [log_sobolev.corollary_8_limit(delta=float(d)) for d in deltas]
    middle.fill_betweenx(deltas, false, 30, color=drawing.COLOURS[1], alpha=0.25, label="false")
    middle.fill_betweenx(deltas, limits, false, color=drawing.COLOURS[3], alpha=0.2, label="true, not by Theorem 7")
    middle.fill_betweenx(deltas, 0.1, limits, color=drawing.COLOURS[2], alpha=0.2, label="follows from Theorem 7")
    middle.plot(false, deltas, color=drawing.COLOURS[1])
    middle.plot(limits, deltas, color=drawing.COLOURS[2])
    middle.set_xscale("log")
    middle.set_yscale("log")
    middle.set_xlim(0.1, 30)
    drawing.plain_numbers(middle.xaxis)
    drawing.label(middle, "Corollary 8(ii) for linear losses", "ε", "δ")
    drawing.legend(middle, loc="lower left")
    x = np.linspace(0.2, 8, 100)
    right.plot(x, np.exp(-(1 + x) / 4), label="claimed: exp(-(1 + ε)/4)", **drawing.style(0))
    right.plot(x, _exact.normal_deltas(x, np.sqrt(2 * x)), label="true, linear losses", **drawing.style(1))
    drawing.label(right, "Corollary 8(i), workshop version", "ε", "δ")
    right.set_ylim(0, 1)
    drawing.legend(right)
    out.figure(figure, "Powers of Corollary 8, Theorem 7 and the sharp theorem; the region where Corollary 8 is false.")
