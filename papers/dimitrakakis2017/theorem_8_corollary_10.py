"""Privacy of one and of N posterior draws: exact log ratios and total variations beside the claims."""

from __future__ import annotations

import math

import numpy as np

from papers import drawing
from papers.dimitrakakis2017 import _brute_force as brute
from papers.reporting import NOTATION, REPRODUCED, TIGHTER, Output
from sfumato.theorems import metric, metric_finite

PLACE = "Theorem 8, Corollary 10"
DRAWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)


def run(out: Output) -> None:
    """Random families for Theorem 8; N draws of a two-point posterior, exactly, for Corollary 10."""
    _theorem_8(out)
    _corollary_10(out)


def _theorem_8(out: Output) -> None:
    pure = additive = ours = 0.0
    for family in brute.random_families(out.sized(120, 600), 8):
        posterior, l = family.posteriors(), family.constants
        start = float(np.sort(l)[len(l) // 3])
        c = brute.largest_concentration(l, family.prior, start)
        if not math.isfinite(c):
            continue
        for x, y in family.pairs():
            rho, gap = family.rho[x, y], brute.variation(posterior[:, x], posterior[:, y])
            pure = max(pure, float(np.log(posterior[:, x] / posterior[:, y]).max()) / (2 * l.max() * rho))
            additive = max(additive, gap / math.sqrt(family.ratio / 2 * (1 + 2 * start + 1 / c) * rho))
            near = metric.stochastic_draws_within(
                concentration=c, offset=start, log_ratio=math.log(family.ratio), rho=rho
            )
            ours = max(ours, gap / near.delta(0.0))
    rare = brute.Family(
        np.array([[0.8, 0.2], [0.2, 0.8]]), np.array([1 - 1e-9, 1e-9]), np.array([[0.0, 1.0], [1.0, 0.0]])
    )
    ratio = float(np.log(rare.posteriors()[1] / rare.posteriors()[1, ::-1]).max())
    out.claim(
        "Theorem 8(1)", "the posterior is (2L, 0)-private under rho", paper="2 L rho",
        here=f"random families: at most {pure:.3f} of it; two opposite parameters, one rare: {ratio:.4f} for {2 * math.log(4):.4f}",
        verdict=REPRODUCED, shown=pure <= 1 + 1e-9 and 0.999 < ratio / (2 * math.log(4)) <= 1, why="The constant 2 is attained.",
    )  # fmt: skip
    out.claim(
        "Theorem 8(2)", "total variation is at most sqrt(C (1 + 2 L0 + 1/c) rho/2)", paper="the square root",
        here=f"random families: at most {additive:.3f} of it, and {ours:.3f} of the bound here", verdict=TIGHTER,
        shown=additive < ours <= 1 + 1e-9, why="Nearly linear in rho where rho is small: docs/proofs/metric.md.",
    )  # fmt: skip
    _last_line(out)


def _last_line(out: Output) -> None:
    """Two opposite parameters with L rho = 4 at rho = 0.001: the line as printed would be false, the theorem is not."""
    rho, c = 1e-3, 1e6  # no parameter is above L0, so that c may be as large as one likes
    coin = np.array([1, math.exp(4.0)]) / (1 + math.exp(4.0))
    family = brute.Family(np.array([coin, coin[::-1]]), np.array([0.5, 0.5]), rho * (1 - np.eye(2)))
    start, gap = float(family.constants.max()), brute.variation(*family.posteriors().T)
    line, theorem = (
        math.sqrt(family.ratio / 2 * factor * rho) for factor in (1 + 2 * start / c, 1 + 2 * start + 1 / c)
    )
    out.claim(
        "Theorem 8(2), proof", "its last line has 1 + 2 L0 c^-1 where the theorem has 1 + 2 L0 + c^-1",
        paper=f"{line:.3f} (L0 = 4000, rho = 0.001)", here=f"total variation {gap:.3f}; the theorem says {theorem:.3f}",
        verdict=NOTATION, shown=line < gap <= theorem, why="A plus sign is missing; it may be a fault of the text at hand.",
    )  # fmt: skip


def _corollary_10(out: Output) -> None:
    """N draws from two opposite posteriors of a bit: the number of ones is sufficient, so everything is exact."""
    odds = 0.25
    rate = 1 / (1 + math.exp(-odds))
    family = brute.Family(
        np.array([[rate, 1 - rate], [1 - rate, rate]]), np.array([0.5, 0.5]), np.array([[0.0, 1.0], [1.0, 0.0]])
    )
    p, q = family.posteriors().T
    l = family.constants
    c, start = metric_finite.best_concentration(constants=l, prior=family.prior, offset=float(l.max()))
    given = {"concentration": c, "offset": start, "log_ratio": math.log(family.ratio)}
    rows = []
    for n in DRAWS:
        k = np.arange(n + 1)
        ways = np.array([math.comb(n, int(j)) for j in k], dtype=float)
        laws = [ways * law[0] ** k * law[1] ** (n - k) for law in (p, q)]
        log_ratio = float(np.log(laws[0] / laws[1]).max())
        one = math.sqrt(family.ratio / 2 * (1 + 2 * start))  # 1/c is 0: no parameter is above L0
        rows.append((n, log_ratio, 2 * n * float(l.max()), brute.variation(*laws), min(1.0, n * one),
                     metric.stochastic_draws_within(**given, rho=1.0, draws=n).delta(0.0)))  # fmt: skip
    out.table(
        ["N", "exact log ratio", "2 N L", "exact total variation", "N times Theorem 8(2), at most 1", "here"], rows
    )
    figure, axes = drawing.panels("N draws from two posteriors", columns=2)
    n = [row[0] for row in rows]
    for axis, series in ((axes[0, 0], (("exact", 1), ("Corollary 10(1): 2NL", 2))),
                         (axes[0, 1], (("exact", 3), ("Corollary 10(2), N times", 4), ("here: grows as √N", 5)))):  # fmt: skip
        for place, (name, column) in enumerate(series):
            axis.plot(n, [row[column] for row in rows], label=name, marker=".", **drawing.style(place))
        axis.set_xscale("log")
        drawing.plain_numbers(axis.xaxis)
        drawing.legend(axis, loc="upper left" if axis is axes[0, 0] else "lower right")
    drawing.label(axes[0, 0], "largest log ratio", "number of draws N", "nats")
    drawing.label(axes[0, 1], "total variation", "number of draws N", "probability")
    out.figure(figure, "Log ratio and total variation of N draws from two posteriors beside Corollary 10.")
    out.claim(
        "Corollary 10(1)", "N draws are (2NL, 0)-private", paper="2 N L",
        here=f"at most {max(row[1] / row[2] for row in rows):.3f} of it for N up to 64; this family costs N L exactly",
        verdict=REPRODUCED, shown=all(row[1] <= row[2] * (1 + 1e-9) for row in rows),
    )  # fmt: skip
    covered = all(row[3] <= row[5] for row in rows)
    bounds = [(row[0], row[5]) for row in rows if row[5] < 0.9]
    growth = bounds[-1][1] / bounds[0][1] / math.sqrt(bounds[-1][0] / bounds[0][0])
    out.claim(
        "Corollary 10(2)", "N draws are (0, O(N sqrt(C (L0 + 1/c))))-private under sqrt(rho)", paper="N times that of one draw",
        here=f"sqrt(N) times suffices: at N = {bounds[-1][0]} the bound is {growth:.2f} of that, and covers the truth",
        verdict=TIGHTER, shown=covered and growth < 1.05, why="KL adds over draws; Pinsker's inequality is applied to the sum.",
    )  # fmt: skip
