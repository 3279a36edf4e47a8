"""The uniform Lipschitz constant of a Bernoulli grid: printed ln(1/Delta), and what it is."""

from __future__ import annotations

import itertools
import math

import numpy as np

from papers import drawing
from papers.dimitrakakis2017._brute_force import bits
from papers.reporting import FALSE, REPRODUCED, TIGHTER, Output
from sfumato.theorems import metric_finite

PLACE = "Examples 1 and 2, section 2.2"
STEPS = np.unique(np.concatenate([np.linspace(0.02, 0.5, 481), [1 / k for k in range(2, 51)]]))


def run(out: Output) -> None:
    """Compare the printed constant with the largest |log theta/(1 - theta)| of each grid."""
    true = np.array([_largest(step) for step in STEPS])
    printed = np.log(1 / STEPS)
    whole = np.abs(np.round(1 / STEPS) - 1 / STEPS) < 1e-9
    out.table(
        ["Delta", "1/Delta whole", "printed ln(1/Delta)", "true L without 0 and 1"],
        zip(STEPS.tolist(), whole.tolist(), printed.tolist(), true.tolist(), strict=True),
    )
    _draw(out, true, printed, whole)
    out.claim(
        "Section 2.2, Example 1", "a grid with Delta-sized intervals satisfies Assumption 1 with L = ln 1/Delta (1/Delta whole)",
        paper="ln 1/Delta", here=f"ln((1-Delta)/Delta); at 0.2 {_largest(0.2):.4f} for {math.log(5):.4f}", verdict=TIGHTER,
        shown=bool((true < printed)[whole].all()) and np.allclose(true[whole], np.log((1 - STEPS) / STEPS)[whole], atol=1e-9),
        why="A Lipschitz constant compares two probabilities: (1-Delta)/Delta and not 1/Delta. It needs 0 and 1 left out.",
    )  # fmt: skip
    worst = int(np.argmax(np.where(whole, -np.inf, true - printed)))
    out.claim(
        "Section 2.2, Example 1", "the same where 1/Delta is not whole", paper="ln 1/Delta",
        here=f"at Delta = 0.3 L is {_largest(0.3):.4f} for {math.log(1 / 0.3):.4f}; at {STEPS[worst]:.3f} {true[worst]:.2f} for "
             f"{printed[worst]:.2f}",
        verdict=FALSE, shown=_largest(0.3) > math.log(1 / 0.3) + 0.9 and true[worst] > printed[worst],
        why="The last parameter is nearer to 1 than Delta: 0.9 at Delta = 0.3 has ln 9.",
    )  # fmt: skip
    posterior = bits(np.array([0.2, 0.4, 0.6, 0.8, 1.0]), 1).posteriors()
    out.claim(
        "Example 1", "the parameters are theta_k = Delta k with k <= 1/Delta", paper="L = ln 5 at Delta = 0.2",
        here=f"k = 5 is theta = 1, of posterior mass {posterior[4, 0]:g} after 0, {posterior[4, 1]:.3f} after 1: no L exists",
        verdict=FALSE, shown=posterior[4, 0] == 0 and posterior[4, 1] > 0,
        why="The section says so itself of the parameter 0; 0 and 1 must be left out of the example too.",
    )  # fmt: skip
    shrinking = [_largest(1 / k) for k in (10, 100, 1000)]
    out.claim(
        "Section 2.2", "Assumption 1 fails in the limit Delta -> 0", paper="no L in the limit",
        here="L = " + ", ".join(f"{value:.2f}" for value in shrinking) + " at Delta = 0.1, 0.01, 0.001", verdict=REPRODUCED,
        shown=all(b - a > 2.2 for a, b in itertools.pairwise(shrinking)),
        why="It grows as ln 1/Delta, by ln 10 = 2.30 a decade.",
    )  # fmt: skip


def _largest(step: float) -> float:
    """From the definition, for one bit."""
    theta = metric_finite.bernoulli_grid(step=step)
    theta = theta[theta < 1 - 1e-12]
    return float(np.abs(np.log(theta / (1 - theta))).max())


def _draw(out: Output, true: np.ndarray, printed: np.ndarray, whole: np.ndarray) -> None:
    figure, axes = drawing.panels("Uniform Lipschitz constant of the Bernoulli grid", size=(7.2, 4.4))
    axis = axes[0, 0]
    axis.plot(STEPS, printed, label="printed: ln(1/Δ)", **drawing.style(0))
    axis.plot(
        STEPS, true, label="true, θ = 0 and 1 left out", **{**drawing.style(1), "linewidth": 1.0, "linestyle": "-"}
    )
    axis.plot(
        STEPS[whole],
        true[whole],
        "o",
        markersize=4,
        color=drawing.COLOURS[2],
        label="true where 1/Δ is whole: ln((1−Δ)/Δ)",
    )
    drawing.label(axis, "", "width Δ of the grid", "L (nats per bit changed)")
    axis.set_ylim(0, 8)
    drawing.legend(axis)
    out.figure(figure, "Printed and true Lipschitz constant of the Bernoulli grid against its width.")
