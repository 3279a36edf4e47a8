"""A public table with columns of every type, regressions on it at a very large epsilon, and fits of the same rows.

The fits are scikit-learn's, without a penalty, on columns in their own units: they share no code with the package.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache

import numpy as np
from scipy import optimize, stats

import sfumato as sf

N, EPSILON, DELTA, MOST = 20_000, 45.0, 1e-6, 30.0
REGIONS = ("north", "south", "islands")
COLUMNS = {
    "age": sf.Number(20, 80),
    "income": sf.Number(0, 5),
    "smoker": sf.Boolean(missing=False),
    "region": sf.Category(REGIONS, missing=REGIONS[0]),
}
# Coefficients in the columns' own units: per year, per unit of income, yes against no, each level against the first.
SLOPES = np.array([0.03, -0.4, 0.6, 0.5, -0.3])
# Columns are brought to similar sizes for the solvers of the fits; means do not depend on it.
SCALES = np.array([20.0, 1.0, 1.0, 1.0, 1.0])
LOWEST, HIGHEST = -10.0, 14.0
# The probability of "yes" at a score, for the regressions of classes.
PROBABILITIES = {
    "logistic": lambda u: 1 / (1 + np.exp(-u)),
    "probit": stats.norm.cdf,
    "cloglog": lambda u: -np.expm1(-np.exp(u)),
}


def table(rng: np.random.Generator, n: int = N) -> dict[str, np.ndarray]:
    """Rows without a target."""
    return {
        "age": rng.uniform(20, 80, n),
        "income": rng.beta(2, 3, n) * 5,
        "smoker": rng.random(n) < 0.3,
        "region": rng.choice(REGIONS, n, p=[0.5, 0.3, 0.2]),
    }


def raw(rows: dict[str, np.ndarray]) -> np.ndarray:
    """Age, income, smoker and indicators of all regions but the first, in their own units."""
    levels = [rows["region"] == level for level in REGIONS[1:]]
    return np.column_stack([rows["age"], rows["income"], rows["smoker"], *levels]).astype(float)


class Study:
    """One kind of regression: labels, a release of them at a very large epsilon, and scikit-learn's fit of the same rows."""

    def __init__(self, kind: str, seed: int = 1, epsilon: float = EPSILON, n: int = N, noise: float = 1.5) -> None:
        self.kind, self.epsilon, self.n, self.noise = kind, epsilon, n, noise
        self.rng = np.random.default_rng(seed)
        self.rows = table(self.rng, n)
        self.labels = self.answers(self.rows, self.rng)
        self.schema = sf.Schema({**COLUMNS, "target": self.target}, target="target", name="survey", unit="person")

    @property
    def target(self):
        """The declared target."""
        if self.kind == "poisson":
            return sf.Number(0, MOST)
        return sf.Category(["no", "yes"], missing="no") if self.kind in PROBABILITIES else sf.Number(LOWEST, HIGHEST)

    def scores(self, rows: dict[str, np.ndarray]) -> np.ndarray:
        """The true scores."""
        return raw(rows) @ SLOPES - {"linear": 0.0, "quantile": 0.0, "poisson": 0.6}.get(self.kind, 1.0)

    def answers(self, rows: dict[str, np.ndarray], rng: np.random.Generator) -> np.ndarray:
        """Fresh labels from the model."""
        scores = self.scores(rows)
        if self.kind in ("linear", "quantile"):
            return np.clip(scores + self.noise * rng.normal(size=len(scores)), LOWEST, HIGHEST)
        if self.kind == "poisson":
            return np.minimum(rng.poisson(np.exp(scores)), MOST).astype(float)
        return np.where(rng.random(len(scores)) < PROBABILITIES[self.kind](scores), "yes", "no")

    @cached_property
    def model(self) -> sf.Gibbs:
        """The model, with a wide prior."""
        radius = sf.losses.radius_with_intercept(self.schema.design().radius, 0.5)
        losses = {
            "linear": lambda: sf.losses.Huber(radius, (HIGHEST - LOWEST) / 2, LOWEST, HIGHEST),
            "poisson": lambda: sf.losses.ClippedPoisson(radius, MOST, MOST),
            "logistic": lambda: sf.losses.Logistic(radius),
            "probit": lambda: sf.losses.ClippedProbit(radius, 4.0),
            "cloglog": lambda: sf.losses.ClippedCloglog(radius, 4.0),
            "quantile": lambda: sf.losses.SmoothedQuantile(radius, 0.7, 1.0),
        }
        return sf.Gibbs(losses[self.kind](), sf.priors.Gaussian(0.01), 7, 0.5)

    @cached_property
    def release(self) -> sf.Release:
        """The default release of an estimate."""
        plan = sf.plan(self.model, self.n, self.epsilon, DELTA, goal="estimate")
        data = sf.Dataset.from_table({**self.rows, "target": self.labels}, schema=self.schema)
        return sf.publish(plan, data, randomness=sf.seeded(5))

    @property
    def documents(self):
        """What the queries read."""
        return self.release.draws, self.release.plan, self.release.schema

    def fit(self):
        """The fit without a penalty, scikit-learn's or, for probit and cloglog, by its likelihood: rows to means."""
        from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor

        if self.kind in ("probit", "cloglog"):
            return self._likeliest()
        kinds = {
            "linear": LinearRegression,
            "poisson": lambda: PoissonRegressor(alpha=0, max_iter=2000, tol=1e-8),
            "logistic": lambda: LogisticRegression(C=math.inf, max_iter=2000, tol=1e-8),
        }
        made = kinds[self.kind]().fit(raw(self.rows) / SCALES, self.labels)
        if self.kind == "logistic":
            return lambda rows: made.predict_proba(raw(rows) / SCALES)[:, 1]
        return lambda rows: made.predict(raw(rows) / SCALES)

    def _likeliest(self):
        """The means at the largest likelihood, by scipy's BFGS."""
        share, yes = PROBABILITIES[self.kind], self.labels == "yes"
        full = np.column_stack([raw(self.rows) / SCALES, np.ones(self.n)])

        def cost(theta: np.ndarray) -> float:
            chances = np.clip(share(full @ theta), 1e-12, 1 - 1e-12)
            return -float(np.log(np.where(yes, chances, 1 - chances)).mean())

        theta = optimize.minimize(cost, np.zeros(6), method="BFGS", options={"gtol": 1e-6}).x
        return lambda rows: share(np.column_stack([raw(rows) / SCALES, np.ones(len(rows["age"]))]) @ theta)


@lru_cache
def study(kind: str, **options: float) -> Study:
    """One study of each kind for all tests."""
    return Study(kind, **options)
