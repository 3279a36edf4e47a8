"""The mechanisms that Figure 2 compares, at one Rényi price each: plans, KL from the true posterior, simulated likelihoods."""

from __future__ import annotations

import numpy as np

import sfumato as sf
from papers.geumlek2017._beta import MODEL, ONES, N

ORDERS = (2, 15)
# How often the experiment of panels (c) and (d) is run.
RUNS = 10_000
ALGORITHM_2, ALGORITHM_3, GAUSSIAN, PRINTED = (
    "Algorithm 2",
    "Algorithm 3",
    "Gaussian, right noise",
    "Gaussian, printed noise",
)
# Mechanism, and the share of epsilon that it is planned for: the printed noise, variance λΔ²/ε, is right for half of ε.
METHODS = {
    ALGORITHM_2: ("diffused", 1.0),
    ALGORITHM_3: ("concentrated", 1.0),
    GAUSSIAN: ("noisy-statistics", 1.0),
    PRINTED: ("noisy-statistics", 0.5),
}


def planned(method: str, order: float, epsilon: float) -> sf.Plan:
    """The plan of a method for (order, epsilon)-RDP; the library searches r, m and σ."""
    mechanism, share = METHODS[method]
    # The paper's axis goes on to prices that protect nobody.
    return sf.plan(MODEL, N, target=sf.Renyi([order], [share * epsilon]), mechanism=mechanism, allow_weak=True)


def kl(method: str, order: float, epsilon: float) -> float:
    """KL(P || A), P the true posterior of 38 ones among 100."""
    return float(sf.posterior_divergence(planned(method, order, epsilon), [ONES])[0])


class Experiment:
    """Panels (c) and (d): X and X_H of 100 Bernoulli(1/2) trials each, one draw θ for each X, log p(X_H | θ)."""

    def __init__(self, runs: int) -> None:
        rng = np.random.default_rng(17)
        self.runs, self.ones = runs, rng.binomial(N, 0.5, runs)
        self.held_out = rng.integers(0, 2, (runs, N))

    def measured(self, plan: sf.Plan) -> tuple[float, float]:
        """Mean and standard deviation over the runs."""
        values = sf.simulate(plan, self.ones, seed=self.runs).log_likelihood(self.held_out)
        return float(values.mean()), float(values.std())

    def at(self, method: str, order: float, epsilon: float) -> tuple[float, float]:
        """The same for a method at a price."""
        return self.measured(planned(method, order, epsilon))

    def true_posterior(self) -> tuple[float, float]:
        """The same without privacy."""
        return self.measured(sf.plan(MODEL, N, mechanism="exact"))
