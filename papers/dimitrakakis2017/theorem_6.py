"""What 2L-privacy of a posterior requires, and which distances between data sets can be used at all."""

from __future__ import annotations

import numpy as np

from papers import drawing
from papers.dimitrakakis2017 import _brute_force as brute
from papers.reporting import NOTATION, REPRODUCED, Output
from sfumato.theorems import metric_finite

PLACE = "Theorem 6, section 2.2.2"


def run(out: Output) -> None:
    """Compare, for random families, the L that Theorem 6 refutes with the true one and with Assumption 1's."""
    rows, weak = [], 0
    for family in brute.random_families(out.sized(150, 600), 6):
        logs, posterior, phi = np.log(family.p), np.log(family.posteriors()), np.log(family.marginal)
        pairs = [(x, y, family.rho[x, y]) for x, y in family.pairs()]
        # The largest L that some pair refutes by Theorem 6, the L that is needed, and Assumption 1's.
        refuted = max(0.0, *(min((logs[:, x] - logs[:, y]).max(), phi[y] - phi[x]) / rho for x, y, rho in pairs))
        needed = max((posterior[:, x] - posterior[:, y]).max() / (2 * rho) for x, y, rho in pairs)
        marginal = max((phi[y] - phi[x]) / rho for x, y, rho in pairs)
        weak += marginal < 0.9 * needed
        rows.append((refuted, needed, float(family.constants.max()), _agrees(family, refuted)))
    out.table(["largest L refuted by Theorem 6", "L that is needed", "L of Assumption 1", "library agrees"], rows)
    low, true, high = (np.array([row[k] for row in rows]) for k in range(3))
    _draw(out, low, true, high)
    out.claim(
        "Theorem 6", "2L-privacy requires, for each pair, one of the two inequalities (6)", paper="necessary",
        here=f"{len(rows)} random families: the L refuted is at most {np.max(low / true):.3f} of the L needed",
        verdict=REPRODUCED, shown=bool((low <= true * (1 + 1e-9)).all()) and all(row[3] for row in rows),
    )  # fmt: skip
    out.claim(
        "Theorem 6, proof", "its last words: the posterior is not L-differentially private", paper="L",
        here=f"the two sum to more than 2L: the log ratio is at least {np.min(true[low > 0] / low[low > 0]):.3f} times 2L rho",
        verdict=NOTATION, shown=bool((true > low).all()), why="2L is meant, as in the statement.",
    )  # fmt: skip
    out.claim(
        "Section 2.2.1", "the second inequality alone is too weak to imply privacy", paper="too weak",
        here=f"in {weak} of {len(rows)} families it holds for an L that the posterior breaks by 10 % or more", verdict=REPRODUCED,
        shown=weak > 0,
    )  # fmt: skip
    out.claim(
        "Section 2.2.1", "the first inequality is also sufficient", paper="sufficient",
        here=f"Assumption 1's L is at least {np.min(high / true):.3f} times the L needed", verdict=REPRODUCED,
        shown=bool((high >= true * (1 - 1e-9)).all()),
    )  # fmt: skip
    _sufficiency(out)


def _agrees(family: brute.Family, refuted: float) -> bool:
    """Whether the library reports a pair just below the refuted L and none just above."""
    given = {"log_likelihood": np.log(family.p), "prior": family.prior, "distances": family.rho}
    below, above = (
        metric_finite.necessary_condition(**given, lipschitz=max(0.0, refuted * k)) for k in (1 - 1e-5, 1 + 1e-5)
    )
    return not above and (bool(below) or refuted < 1e-6)


def _sufficiency(out: Output) -> None:
    rho = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])  # it cannot distinguish the first two data sets
    blind, proportional = np.array([[0.2, 0.4, 0.4], [0.4, 0.2, 0.4]]), np.array([[0.2, 0.4, 0.4], [0.3, 0.6, 0.1]])
    half = np.array([0.5, 0.5])
    gaps = [brute.variation(*brute.Family(p, half, rho).posteriors().T[:2]) for p in (blind, proportional)]
    pairs = [metric_finite.insufficient_pairs(log_likelihood=np.log(p), distances=rho, prior=prior)
             for p in (blind, proportional) for prior in (None, half)]  # fmt: skip
    out.claim(
        "Section 2.2.2", "a distance of statistics needs a sufficient statistic, Definition 2 only a Bayes-sufficient one",
        paper="the second is slightly weaker",
        here=f"data sets at distance 0: posteriors {gaps[0]:.3f} apart in one family; 0 in another, whose likelihoods differ",
        verdict=REPRODUCED, shown=gaps[0] > 0.3 and gaps[1] < 1e-12 and [len(p) for p in pairs] == [1, 1, 1, 0],
    )  # fmt: skip


def _draw(out: Output, low: np.ndarray, true: np.ndarray, high: np.ndarray) -> None:
    figure, axes = drawing.panels("Theorem 6 on random finite families", size=(6.4, 4.6))
    axis = axes[0, 0]
    axis.plot(
        true,
        np.maximum(low, 2e-3),
        ".",
        markersize=4,
        color=drawing.COLOURS[0],
        label="refuted by Theorem 6 (none: drawn at 0.002)",
    )
    axis.plot(true, high, "x", markersize=4, color=drawing.COLOURS[1], label="Assumption 1 (sufficient)")
    axis.plot([true.min(), true.max()], [true.min(), true.max()], color=drawing.GREY, linewidth=1.0, label="needed")
    axis.set_xscale("log")
    axis.set_yscale("log")
    drawing.plain_numbers(axis.xaxis)
    drawing.plain_numbers(axis.yaxis)
    drawing.label(axis, "", "L that is needed (half the largest log ratio per distance)", "L")
    drawing.legend(axis)
    out.figure(
        figure, "For each random family the L refuted by Theorem 6 and the L of Assumption 1 against the L needed."
    )
