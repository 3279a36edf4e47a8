"""Regressions with truths from the prior, for the coverage of their intervals: cells over kind, size, design and price.

Features lie in [-1/2, 1/2]; the intercept's feature is 1/2. An ill-conditioned design has a level that 2 % of the rows have and
two columns with correlation .95. Coefficients are drawn from the prior, deviation 1; labels from the model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import sfumato as sf

DELTA = 1e-6
LEVEL = 0.9
# Declared bounds of a linear regression's labels, about twice their range at 20 coefficients; deviation of their noise.
HALF, NOISE = 10.0, 1.0
# Declared bound of the counts of a Poisson regression with 5 coefficients and with more. Truths under which the mean count of a
# row exceeds half of it are drawn again: a bound that cuts a hundredth of the counts moves the optimum by several deviations.
COUNTS, MORE_COUNTS = 40.0, 200.0


@dataclass(frozen=True)
class Cell:
    """A kind of regression on n rows of d columns, the intercept's included, at a price."""

    kind: str
    d: int
    ill: bool
    epsilon: float
    n: int

    def __str__(self) -> str:
        design = "ill-conditioned" if self.ill else "plain"
        return f"{self.kind}, {self.d} coefficients, {design}, epsilon {self.epsilon:g}, n {self.n:,}"

    @property
    def counts(self) -> float:
        """Declared bound of the labels of a Poisson regression; the clip is half of it."""
        return COUNTS if self.d <= 5 else MORE_COUNTS

    @cached_property
    def model(self) -> sf.Gibbs:
        """The model, whose prior has deviation 1."""
        radius = math.nextafter(math.sqrt(self.d) / 2, math.inf)
        losses = {
            "logistic": lambda: sf.losses.Logistic(radius),
            "linear": lambda: sf.losses.Huber(radius, HALF, -HALF, HALF),
            "poisson": lambda: sf.losses.ClippedPoisson(radius, self.counts / 2, self.counts),
        }
        return sf.Gibbs(losses[self.kind](), sf.priors.Gaussian(1.0), self.d, 0.5)

    @cached_property
    def schema(self) -> sf.Schema:
        """Vectors of d - 1 features and a label."""
        targets = {
            "logistic": sf.Category([-1, 1], missing=-1),
            "linear": sf.Number(-HALF, HALF),
            "poisson": sf.Number(0, self.counts),
        }
        return sf.Schema.vector(self.d - 1, data_norm=math.sqrt(self.d - 1) / 2, target=targets[self.kind], name="cell")

    @cached_property
    def plan(self) -> sf.Plan:
        """The default plan of an estimate."""
        return sf.plan(self.model, self.n, self.epsilon, DELTA, goal="estimate", keep=self.keep)

    keep = ()

    def rows(self, rng: np.random.Generator) -> np.ndarray:
        """Features without the intercept's."""
        features = rng.random((self.n, self.d - 1)) - 0.5
        if self.ill:
            features[:, 0] = (rng.random(self.n) < 0.02) - 0.5
            pair = rng.normal(size=(self.n, 2))
            pair[:, 1] = 0.95 * pair[:, 0] + math.sqrt(1 - 0.95**2) * pair[:, 1]
            features[:, 1:3] = np.clip(0.2 * pair, -0.5, 0.5)
        return features

    def labels(self, scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Labels from the model."""
        if self.kind == "logistic":
            return np.where(rng.random(self.n) < 1 / (1 + np.exp(-scores)), 1, -1)
        if self.kind == "poisson":
            return np.minimum(rng.poisson(np.exp(scores)), self.counts).astype(float)
        return scores + NOISE * rng.normal(size=self.n)

    def run(self, seed: int) -> tuple[np.ndarray, sf.Release]:
        """The true coefficients and a release; the stream is seeded, so that a run can be repeated."""
        rng = np.random.default_rng([seed, self.n, self.d, int(self.epsilon * 10), self.ill])
        truth = rng.normal(size=self.d)
        features = self.rows(rng)
        scores = features @ truth[:-1] + 0.5 * truth[-1]
        while self.kind == "poisson" and np.exp(scores.max()) > self.counts / 2:
            truth = rng.normal(size=self.d)
            scores = features @ truth[:-1] + 0.5 * truth[-1]
        labels = self.labels(scores, rng)
        data = sf.Dataset.from_arrays(features, labels, schema=self.schema)
        return truth, sf.publish(self.plan, data, randomness=sf.seeded(seed))


CELLS = [
    Cell(kind, *rest)
    for kind in ("logistic", "linear")
    for rest in (
        (5, False, 0.3, 5_000),
        (5, False, 1.0, 2_000),
        (5, True, 1.0, 10_000),
        (5, True, 3.0, 2_000),
        (20, False, 0.3, 20_000),
        (20, True, 0.3, 20_000),
        (20, False, 1.0, 2_000),
        (20, True, 1.0, 20_000),
        (20, True, 3.0, 20_000),
        (60, False, 1.0, 20_000),
        (60, True, 1.0, 50_000),
        (60, True, 3.0, 20_000),
    )
]
# Counts, at prices from small to large: without the mean count among the moments their paths would not arrive.
POISSON = [
    Cell("poisson", 5, False, 1.0, 10_000),
    Cell("poisson", 5, False, 30.0, 50_000),
    Cell("poisson", 20, False, 3.0, 20_000),
    Cell("poisson", 20, False, 30.0, 50_000),
    Cell("poisson", 20, True, 3.0, 50_000),
]


def covered(truth: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Which coefficients lie in their intervals."""
    return (ends[0] <= truth) & (truth <= ends[1])
