"""Random differential privacy of a posterior: the claimed price, the true one, and the restricted prior that repairs it."""

from __future__ import annotations

import numpy as np

from papers import drawing
from papers.dimitrakakis2017 import _brute_force as brute
from papers.reporting import FALSE, REPRODUCED, Output
from sfumato.theorems import metric, metric_finite

PLACE = "Corollary 9"
STEP = 0.05


def run(out: Output) -> None:
    """One bit, the grid of step 0.05: for each L the claim, the posterior's cost, and that under the restricted prior."""
    theta = metric_finite.bernoulli_grid(step=STEP)
    l = np.abs(np.log(theta / (1 - theta)))
    # Steep enough for c > 1, which the corollary asks for.
    prior = np.exp(-2.5 * l) / np.exp(-2.5 * l).sum()
    family = brute.bits(theta, 1, prior)
    c = brute.largest_concentration(l, prior, float(l.min()))
    true = _cost(family)
    rows = []
    for level in np.unique(np.round(l[l > 1e-9], 12)):
        kept = l <= level + 1e-9
        promise = metric.restricted_prior_draws(lipschitz=float(level), prior_restricted=True, distance="Hamming")
        claimed = 1 - np.exp(-c * (level - l.min()))
        rows.append(
            (
                float(level),
                float(claimed),
                2 * float(level),
                true,
                _cost(family.restricted(kept)),
                promise.curve.epsilon_value,
            )
        )
    out.table(
        ["L", "claimed probability", "claimed 2L", "true cost", "true cost, prior restricted", "restricted claim"], rows
    )
    _draw(out, rows, c)
    broken = [row for row in rows if row[2] < row[3]]
    out.claim(
        "Corollary 9", f"with prior probability 1 - exp(-c (L - L0)) the posterior is (2L, 0)-private (here c = {c:.2f})",
        paper=f"probability {broken[-1][1]:.2f} at L = {broken[-1][0]:.3f}: 2L = {broken[-1][2]:.3f}",
        here=f"the log ratio of the posteriors is {true:.3f}: the event has probability 0", verdict=FALSE,
        shown=c > 1 and broken[-1][1] > 0.5 and true > broken[-1][2] + 0.1,
        why="The event is a statement about the whole posterior and does not depend on theta: its probability is 0 or 1.",
    )  # fmt: skip
    out.claim(
        "Corollary 9, repaired", "with the prior restricted to Theta_L the posterior is (2L, 0)-private", paper="Theorem 17(a)",
        here=f"true cost at most {max(row[4] / row[5] for row in rows):.3f} of 2L at every L", verdict=REPRODUCED,
        shown=all(row[4] <= row[5] for row in rows),
        why="A draw until one falls in Theta_L has the same law; both are public and cost nothing more.",
    )  # fmt: skip


def _cost(family: brute.Family) -> float:
    """Largest log ratio of the two posteriors, in both directions."""
    return float(np.abs(np.log(family.posteriors()[:, 0] / family.posteriors()[:, 1])).max())


def _draw(out: Output, rows: list[tuple[float, ...]], c: float) -> None:
    figure, axes = drawing.panels("Corollary 9 on the Bernoulli grid", columns=2)
    level = [row[0] for row in rows]
    names = ("claimed: 2L", "true, prior as it is", "true, prior restricted to Θ_L")
    for place, (name, column) in enumerate(zip(names, (2, 3, 4), strict=True)):
        axes[0, 0].plot(level, [row[column] for row in rows], marker=".", label=name, **drawing.style(place))
    axes[0, 1].plot(level, [row[1] for row in rows], marker=".", label="claimed", **drawing.style(0))
    axes[0, 1].step(
        [level[0], rows[0][3] / 2, level[-1]], [0, 1, 1], where="post", label="true: 0 or 1", **drawing.style(1)
    )
    drawing.label(
        axes[0, 0],
        f"one bit, Δ = {STEP}, prior ∝ exp(−2.5ℓ), c = {c:.2f}",
        "L (nats per bit changed)",
        "largest log ratio (nats)",
    )
    drawing.label(axes[0, 1], "probability of being (2L, 0)-private", "L (nats per bit changed)", "probability")
    for axis in axes.flat:
        drawing.legend(axis)
    out.figure(
        figure,
        "Claimed and true cost of a posterior draw against L, and the claimed and true probability of the claim.",
    )
