"""Finite families by brute force: every parameter, every data set, every event; nothing from the library is used."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Family(NamedTuple):
    """p[theta, x], prior[theta] and the pseudo-metric rho[x, y] of a finite family."""

    p: np.ndarray
    prior: np.ndarray
    rho: np.ndarray

    @property
    def lipschitz(self) -> np.ndarray:
        """l(theta) from its definition."""
        log_p = np.log(self.p)
        return np.array(
            [
                max(
                    abs(row[x] - row[y]) / self.rho[x, y]
                    for x in range(len(row))
                    for y in range(len(row))
                    if self.rho[x, y] > 0
                )
                for row in log_p
            ]
        )

    @property
    def ratio(self) -> float:
        """C = max p_theta(x)/phi(x)."""
        return float(np.max(self.p / (self.prior @ self.p)))

    def posteriors(self, power: float = 1.0) -> np.ndarray:
        """posterior[theta, x], the likelihood raised to the power."""
        weights = self.prior[:, None] * self.p**power
        return weights / weights.sum(axis=0)

    def pairs(self):
        """Ordered pairs of data sets at positive distance."""
        size = len(self.rho)
        return [(x, y) for x in range(size) for y in range(size) if self.rho[x, y] > 0]


def random_family(rng: np.random.Generator) -> Family:
    """Two to six parameters, two to four data sets, a random metric; skewed priors and rare data sets are common."""
    parameters, sets = int(rng.integers(2, 7)), int(rng.integers(2, 5))
    p = rng.dirichlet(np.full(sets, rng.choice([0.3, 1.0, 4.0])), size=parameters) + 1e-9
    p /= p.sum(axis=1, keepdims=True)
    prior = rng.dirichlet(np.full(parameters, rng.choice([0.3, 1.0, 4.0]))) + 1e-9
    rho = np.exp(rng.normal(size=(sets, sets)))
    rho = rho + rho.T
    np.fill_diagonal(rho, 0)
    for z in range(sets):  # shortest paths, so that the triangle inequality holds
        rho = np.minimum(rho, rho[:, z][:, None] + rho[z, :][None, :])
    return Family(p, prior / prior.sum(), rho)


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """Largest P(B) - exp(eps) Q(B) over events."""
    return float(np.sum(np.maximum(p - np.exp(min(epsilon, 700.0)) * q, 0)))


def total_variation(p: np.ndarray, q: np.ndarray) -> float:
    """Half the L1 distance."""
    return float(np.sum(np.abs(p - q)) / 2)


def kl(p: np.ndarray, q: np.ndarray) -> float:
    """KL(P || Q) of positive laws."""
    return float(np.sum(p * np.log(p / q)))


def renyi(p: np.ndarray, q: np.ndarray, order: float) -> float:
    """Renyi divergence of positive laws, in logarithms."""
    terms = order * np.log(p) + (1 - order) * np.log(q)
    top = terms.max()
    return float((top + np.log(np.sum(np.exp(terms - top)))) / (order - 1))


def independent(p: np.ndarray, draws: int) -> np.ndarray:
    """Law of `draws` independent draws, every outcome listed."""
    law = p
    for _ in range(draws - 1):
        law = np.kron(law, p)
    return law


def smallest_concentration(lipschitz: np.ndarray, prior: np.ndarray, offset: float) -> float:
    """Largest c with prior{l > t} <= exp(-c (t - offset)) for all t >= offset: the tail is constant between jumps."""
    best = np.inf
    for value in lipschitz[lipschitz > offset]:
        tail = float(prior[lipschitz >= value].sum())
        best = min(best, -np.log(tail) / (value - offset))
    return float(best)
