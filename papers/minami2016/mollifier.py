"""Why the hinge loss is allowed: smoothing keeps convexity, slope and the tail bound (Lemma 20)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from papers import drawing
from papers.minami2016 import _exact
from papers.reporting import NOTATION, REPRODUCED, Output
from sfumato.theorems import log_sobolev

PLACE = "supplement D.1, Lemma 20, (D.2) to (D.7)"
WIDTHS = (0.8, 0.4, 0.2, 0.1, 0.05)
GRID = np.linspace(-4, 6, 2001)
# Midpoints of 2,000 cells of [-1, 1]: the bump and all its derivatives vanish at the ends, so this rule is accurate.
NODES = (np.arange(2000) + 0.5) / 1000 - 1
WEIGHTS = np.full(2000, 1 / 1000)


def bump(x: Any) -> Any:
    """(D.2) without its constant."""
    return np.where(np.abs(x) < 1, np.exp(-1 / np.clip(1 - np.asarray(x) ** 2, 1e-12, None)), 0.0)


SHARES = WEIGHTS * bump(NODES) / np.sum(WEIGHTS * bump(NODES))


def smoothed(f: Any, width: float, grid: Any = GRID) -> Any:
    """(D.3): the convolution of f with the bump of this width."""
    return f(np.asarray(grid)[:, None] - width * NODES) @ SHARES


def hinge(u: Any) -> Any:
    """max(0, 1 - u)."""
    return np.maximum(0.0, 1.0 - u)


def strong(u: Any) -> Any:
    """A hinge with curvature 3 added."""
    return hinge(u) + 1.5 * u**2


def run(out: Output) -> None:
    """Smooth the hinge at five widths, then the posteriors of two neighbours."""
    step = GRID[1] - GRID[0]
    rows = []
    for width in WIDTHS:
        soft, bent = smoothed(hinge, width), smoothed(strong, width)
        second = np.diff(soft, 2) / step**2
        rows.append((width, float(second.min()), float(np.diff(bent, 2).min() / step**2), float(second.max()),
                     float(np.abs(np.diff(soft)).max() / step), float(np.abs(soft - hinge(GRID)).max())))  # fmt: skip
    out.table(("width a", "least curvature", "least curvature, m = 3", "largest curvature", "slope", "distance"), rows)
    ramp = smoothed(lambda u: np.clip(1 - u, 0, 1), 0.1)
    out.claim("Lemma 20", "Φ_a keeps convexity and m-strong convexity", paper="least curvature at least 0, and m = 3",
              here=f"{min(r[1] for r in rows):.0e} and {min(r[2] for r in rows):.6f}", verdict=REPRODUCED,
              shown=min(r[1] for r in rows) > -1e-8 and min(r[2] for r in rows) > 3 - 1e-6
              and np.diff(ramp, 2).min() < -1e-6,
              why="The same check sees that a ramp, which is not convex, stays not convex.")  # fmt: skip
    out.claim("Lemma 20", "Φ_a(f) is smooth", paper="C^∞", here="largest curvature times a: "
              + ", ".join(f"{r[3] * r[0]:.3f}" for r in rows) + " (the height of the bump)", verdict=REPRODUCED,
              shown=all(abs(r[3] * r[0] / (bump(0.0) / np.sum(WEIGHTS * bump(NODES))) - 1) < 0.02 for r in rows)
              )  # fmt: skip
    out.claim("supplement D.1", "Φ_a(f) converges to f, and keeps its Lipschitz constant", paper="tends to 0; 1",
              here="distance " + ", ".join(f"{r[5]:.4f}" for r in rows) + f"; slope at most {max(r[4] for r in rows):.6f}",
              verdict=REPRODUCED,
              shown=all(abs(r[5] / r[0] - rows[0][5] / rows[0][0]) < 0.01 for r in rows)
              and max(r[4] for r in rows) <= 1 + 1e-9)  # fmt: skip
    curves = _tails(out)
    _slips(out)
    _draw(out, curves)


def _tails(out: Output) -> list[Any]:
    power, m = 0.5, 1.5
    theta = np.linspace(-10, 10, 4001)
    k = log_sobolev.kl_bound(power=power, lipschitz=1.0, strong_convexity=m, convex=True)
    eps = np.linspace(1.05 * k, 2.5, 40)
    bound = np.array([log_sobolev.tail_bound(power=power, lipschitz=1.0, strong_convexity=m, epsilon=float(e), convex=True)
                      .delta(float(e)) for e in eps])  # fmt: skip
    curves, normalisers = [], []
    for width in (*WIDTHS, 0.0):
        losses = [smoothed(lambda u, y=y: hinge(y * u), width, theta) if width else hinge(y * theta) for y in (1, -1)]
        potentials = [power * loss + 0.5 * m * theta**2 for loss in losses]
        p, q = _exact.laws(*potentials)
        seen = (p > 1e-250) & (q > 1e-250)
        ratio = np.where(seen, np.log(np.where(seen, p, 1)) - np.log(np.where(seen, q, 1)), 0.0)
        normalisers.append(float(np.exp(-potentials[0]).sum() * (theta[1] - theta[0])))
        curves.append((width, eps, np.array([float(p[ratio >= e].sum()) for e in eps]), bound))
    gaps = [abs(z - normalisers[-1]) for z in normalisers[:-1]]
    out.claim("(D.5)", "the normaliser converges as a tends to 0", paper="tends to 0",
              here="gaps " + ", ".join(f"{g:.1e}" for g in gaps), verdict=REPRODUCED,
              shown=all(b < 0.5 * a for a, b in pairwise(gaps)))  # fmt: skip
    worst = max(float((tail / b).max()) for _, _, tail, b in curves)
    out.claim("(D.7), Theorem 7 for the hinge", "the tail bound holds at every a, and for the hinge itself",
              paper="at most 1 (times the bound)", here=f"largest share {worst:.3f} at a = 0.8 to 0.05 and 0",
              verdict=REPRODUCED, shown=0 < worst <= 1)  # fmt: skip
    return curves


def _slips(out: Output) -> None:
    width, x = 0.4, np.array([0.8])
    right = float(smoothed(hinge, width, x)[0])
    # As printed the weight does not depend on the variable of integration, here over [-width, width].
    printed = float(bump(x / width)[0] / (width * np.sum(WEIGHTS * bump(NODES))) * np.sum(
        width * WEIGHTS * hinge(x - width * NODES)))  # fmt: skip
    out.claim("(D.3)", "second form of the convolution: φ(x/a) f(x - y)", paper=f"{printed:.4f} at x = 0.8, a = 0.4",
              here=f"{right:.4f} with φ(y/a)", verdict=NOTATION, shown=abs(printed - right) > 0.05,
              why="The argument must be y/a; the proof of Lemma 20 uses it, and there drops the -z in f(λx + (1 - λ)y - "
              "z). May be a fault of the text at hand.")  # fmt: skip
    theta, beta = np.linspace(-8, 8, 4001), 0.5
    once, twice = _exact.laws(*(b * smoothed(hinge, width, theta) + 0.5 * theta**2 for b in (beta, beta**2)))
    gap = 0.5 * float(np.abs(once - twice).sum())
    out.claim("before (D.6)", "U_a = βΦ_a(L) - log π with L = β Σ l", paper="the potential of (D.4)",
              here=f"a law at a distance of {gap:.3f} in total variation from (D.4), one hinge, β = 0.5", verdict=NOTATION,
              shown=gap > 0.01, why="β is already in L; (D.4) has it once.")  # fmt: skip


def _draw(out: Output, curves: list[Any]) -> None:
    figure, axes = drawing.panels("Lemma 20: the hinge loss, smoothed", 1, 2)
    left, right = axes[0]
    seen = np.linspace(-0.5, 2.5, 400)
    left.plot(seen, hinge(seen), color="black", label="hinge")
    for place, width in enumerate((0.8, 0.4, 0.2)):
        left.plot(seen, smoothed(hinge, width, seen), label=f"a = {width:g}", **drawing.style(place))
    drawing.label(left, "loss", "margin", "loss")
    drawing.legend(left)
    eps, bound = curves[0][1], curves[0][3]
    for place, (width, _, tail, _) in enumerate((curves[0], curves[2], curves[-1])):
        name = f"a = {width:g}" if width else "hinge"
        right.semilogy(eps, np.maximum(tail, 1e-8), label=name, **drawing.style(place + 1))
    right.semilogy(eps, bound, label="bound (6)", **drawing.style(0))
    drawing.label(right, "tail of the log ratio, β = 0.5, m_π = 1.5", "ε", "probability")
    drawing.legend(right)
    out.figure(figure, "The hinge and its smoothed forms; tails of the log ratio below the bound (6).")
