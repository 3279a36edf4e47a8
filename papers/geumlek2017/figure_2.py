"""What privacy costs a Beta posterior: KL from the true posterior, and held-out log-likelihood over 10,000 runs."""

from __future__ import annotations

import numpy as np

from papers import drawing
from papers.geumlek2017._figure_2_claims import claims_on_divergences, claims_on_likelihoods
from papers.geumlek2017._methods import METHODS, ORDERS, PRINTED, RUNS, Experiment, kl
from papers.reporting import Output

PLACE = "Figure 2"
# Lower end of the logarithmic axis of divergences.
LEAST = 1e-4
# Title of a panel, and the name of its vertical axis.
ROWS = (("ab", "KL(P || A)", "KL divergence (nats)"), ("cd", "log p(X_H | θ)", "log-likelihood (nats)"))


def run(out: Output) -> None:
    """Draw the four panels, then check what the text says of them."""
    grid = np.geomspace(1e-3, 1e2, out.sized(16, 51))
    experiment = Experiment(out.sized(2_000, RUNS))
    divergences, likelihoods = {}, {}
    for number, (order, method) in enumerate((order, method) for order in ORDERS for method in METHODS):
        out.progress(number, len(ORDERS) * len(METHODS), "methods and orders")
        divergences[method, order] = [kl(method, order, epsilon) for epsilon in grid]
        likelihoods[method, order] = [experiment.at(method, order, epsilon) for epsilon in grid]
    out.figure(
        _drawn(grid, divergences, likelihoods, experiment.true_posterior()),
        "KL divergence from the true posterior, and held-out log-likelihood with one standard deviation, against epsilon, "
        "for orders 2 and 15.",
    )
    rows = [
        (order, method, float(epsilon), divergences[method, order][i], *likelihoods[method, order][i])
        for method, order in divergences
        for i, epsilon in enumerate(grid)
    ]
    out.table(("order", "method", "epsilon", "KL(P||A)", "mean log-likelihood", "standard deviation"), rows)
    claims_on_divergences(out, grid, divergences)
    claims_on_likelihoods(out, experiment)


def _drawn(grid, divergences, likelihoods, posterior):
    drawn, axes = drawing.panels("Beta–Bernoulli: prior η₀ = (6, 18), n = 100", 2, 2, size=(10.5, 8.0))
    for column, order in enumerate(ORDERS):
        for place, method in enumerate(METHODS):
            style = drawing.style(place)
            # A divergence of 0 is drawn below the axis.
            axes[0, column].plot(grid, np.maximum(divergences[method, order], LEAST / 10), label=method, **style)
            mean, spread = np.array(likelihoods[method, order]).T
            axes[1, column].plot(grid, mean, label=method, **style)
            if method != PRINTED:  # its band nearly covers that of the right noise
                axes[1, column].fill_between(grid, mean - spread, mean + spread, color=style["color"], alpha=0.12, lw=0)
        axes[1, column].axhline(posterior[0], label="true posterior", color=drawing.GREY, lw=1.2)
        axes[0, column].set_yscale("log")
        axes[0, column].set_ylim(LEAST, 100)
        drawing.plain_numbers(axes[0, column].yaxis)
        axes[1, column].set_ylim(-140, -55)
        for row, (letters, what, y) in enumerate(ROWS):
            axes[row, column].set_xscale("log")
            drawing.plain_numbers(axes[row, column].xaxis)
            drawing.label(axes[row, column], f"({letters[column]}) {what}, λ = {order}", "ε at order λ", y)
            drawing.legend(axes[row, column], loc="upper right" if row == 0 else "lower right")
    return drawn
