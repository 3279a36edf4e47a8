"""Finite families by brute force: every parameter, every data set, every event. Nothing of the library is used."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Family(NamedTuple):
    """p[theta, x], prior[theta] and the pseudo-metric rho[x, y]."""

    p: Array
    prior: Array
    rho: Array

    @property
    def constants(self) -> Array:
        """l(theta), from equation (2)."""
        return np.array([max(abs(np.log(row[x] / row[y])) / self.rho[x, y] for x, y in self.pairs()) for row in self.p])

    @property
    def marginal(self) -> Array:
        """phi(x)."""
        return self.prior @ self.p

    @property
    def ratio(self) -> float:
        """C of equation (9)."""
        return float(np.max(self.p / self.marginal))

    def posteriors(self, power: float = 1.0) -> Array:
        """posterior[theta, x], the likelihood raised to `power`."""
        weights = self.prior[:, None] * self.p**power
        return np.asarray(weights / weights.sum(axis=0))

    def pairs(self) -> list[tuple[int, int]]:
        """Ordered pairs of data sets at a positive distance."""
        return [(x, y) for x, y in itertools.permutations(range(len(self.rho)), 2) if self.rho[x, y] > 0]

    def restricted(self, kept: NDArray[np.bool_]) -> Family:
        """The prior set to 0 outside `kept`."""
        return Family(self.p[kept], self.prior[kept] / self.prior[kept].sum(), self.rho)


def bits(theta: Array, n: int, prior: Array | None = None) -> Family:
    """Every sequence of n bits under the Hamming distance; the prior is uniform unless it is given."""
    sets = np.array(list(itertools.product([0, 1], repeat=n)))
    ones = sets.sum(axis=1)
    p = theta[:, None] ** ones * (1 - theta[:, None]) ** (n - ones)
    rho = np.abs(sets[:, None] - sets[None]).sum(axis=2).astype(float)
    return Family(p, np.full(len(theta), 1 / len(theta)) if prior is None else prior, rho)


def random_families(count: int, seed: int) -> Iterator[Family]:
    """Two to six parameters, two to four data sets, a random metric; skewed priors and rare data sets are common."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        parameters, sets = int(rng.integers(2, 7)), int(rng.integers(2, 5))
        p = rng.dirichlet(np.full(sets, rng.choice([0.3, 1.0, 4.0])), size=parameters) + 1e-9
        prior = rng.dirichlet(np.full(parameters, rng.choice([0.3, 1.0, 4.0]))) + 1e-9
        rho = np.exp(rng.normal(size=(sets, sets)))
        rho = rho + rho.T
        np.fill_diagonal(rho, 0)
        for z in range(sets):  # shortest paths, so that the triangle inequality holds
            rho = np.minimum(rho, rho[:, z][:, None] + rho[z][None])
        yield Family(p / p.sum(axis=1, keepdims=True), prior / prior.sum(), rho)


def kl(p: Array, q: Array) -> float:
    """KL(P || Q) of positive laws."""
    return float(np.sum(p * np.log(p / q)))


def variation(p: Array, q: Array) -> float:
    """Total variation: half the L1 distance."""
    return float(np.abs(p - q).sum() / 2)


def hockey_stick(p: Array, q: Array, epsilon: float) -> float:
    """Largest P(B) - exp(epsilon) Q(B) over all events B."""
    return float(np.maximum(p - np.exp(epsilon) * q, 0).sum())


def draws_of(p: Array, count: int) -> Array:
    """Law of `count` independent draws, every outcome listed."""
    law = p
    for _ in range(count - 1):
        law = np.kron(law, p)
    return law


def largest_concentration(constants: Array, prior: Array, offset: float) -> float:
    """Largest c with prior{l > t} <= exp(-c (t - offset)) for t >= offset; the tail is constant between jumps."""
    above = constants[constants > offset]
    return min((-np.log(prior[constants >= value].sum()) / (value - offset) for value in above), default=np.inf)
