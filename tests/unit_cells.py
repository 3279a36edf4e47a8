"""Six regressions of tables with known coefficients, for the coverage of contrasts and predictions in own units.

Every run draws coefficients anew: the effect of each column from one end to the other is normal with deviation 1 (the prior's is
5), or a tenth of the target's range for a linear regression. Rows are drawn here by numpy, apart from the package.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import sfumato as sf

DELTA, LEVEL = 1e-6, 0.9
REGIONS = ("north", "south", "east", "west")
COLUMNS = {
    "age": sf.Number(18, 90),
    "income": sf.Number(0, 100),
    "smoker": sf.Boolean(missing=False),
    "region": sf.Category(REGIONS, reference="south", missing=REGIONS[0]),
}
TARGETS = {"logistic": sf.Boolean(missing=False), "linear": sf.Number(0, 100), "poisson": sf.Number(0, 60)}
# Deviation of a linear label about its mean.
NOISE = 6.0
# Rows of which the mean and one answer are predicted in each run.
ROWS = 5


@dataclass(frozen=True)
class Cell:
    """A kind of regression on these features, with a share of yes or a mean at the middle of all columns."""

    name: str
    kind: str
    features: tuple[str, ...]
    n: int
    epsilon: float
    middle: float

    @cached_property
    def schema(self) -> sf.Schema:
        used = {name for name in COLUMNS if any(name in feature for feature in self.features)}
        columns = {name: column for name, column in COLUMNS.items() if name in used}
        return sf.Schema({**columns, "y": TARGETS[self.kind]}, target="y", name="cell", unit="person")

    @cached_property
    def plan(self) -> sf.Plan:
        return sf.plan(
            sf.regression(self.kind, self.schema, self.features), self.n, self.epsilon, DELTA, goal="estimate"
        )

    def rows(self, rng: np.random.Generator, n: int) -> dict[str, Any]:
        """Cells of n rows."""
        cells = {
            "age": 18 + 72 * rng.beta(2, 3, n),
            "income": 100 * rng.beta(1.5, 5, n),
            "smoker": rng.random(n) < 0.25,
            "region": rng.choice(REGIONS, n, p=[0.4, 0.3, 0.2, 0.1]),
        }
        return {name: values for name, values in cells.items() if name in self.schema.columns}

    def truth(self, rng: np.random.Generator) -> dict[str, float]:
        """Own-unit coefficients but for the intercept, of every feature."""
        size = 10.0 if self.kind == "linear" else 1.0
        pieces = {
            "age": {"age": 1 / 72},
            "income": {"income": 1 / 100},
            "smoker": {"smoker": 1.0},
            "region": {f"region={level}": 1.0 for level in REGIONS if level != "south"},
        }
        truth = {}
        for feature in self.features:
            unit = {"": 1.0}
            for part in feature.split(":"):
                name, _, power = part.partition("^")
                unit = {
                    ":".join(filter(None, (left, f"{right}^{power}" if power else right))): a * b ** int(power or 1)
                    for left, a in unit.items()
                    for right, b in pieces[name].items()
                }
            truth |= {name: size * scale * float(rng.normal()) for name, scale in unit.items()}
        return truth

    def scores(self, truth: dict[str, float], cells: dict[str, Any]) -> np.ndarray:
        """The sum of the terms of every row, without the intercept."""
        n = len(next(iter(cells.values())))
        total = np.zeros(n)
        for name, value in truth.items():
            product = np.full(n, value)
            for part in name.split(":"):
                column, mark, level = part.partition("=")
                base, _, power = part.partition("^")
                product = product * (
                    (cells[column] == level) if mark else np.asarray(cells[base], float) ** int(power or 1)
                )
            total += product
        return total

    def run(self, seed: int) -> dict[str, list[bool]]:
        """Whether contrasts, means and answers lie in their intervals, in one release."""
        rng = np.random.default_rng([seed, self.n, len(self.features)])
        truth, cells = self.truth(rng), self.rows(rng, self.n)
        scores = self.scores(truth, cells)
        intercept = self.middle - float(scores.mean())
        answers = self.answers(scores + intercept, rng)
        data = sf.Dataset.from_table({**cells, "y": answers}, schema=self.schema)
        release = sf.publish(self.plan, data, randomness=sf.seeded(seed))
        new = self.rows(rng, ROWS)
        means = self.means(self.scores(truth, new) + intercept)
        made = release.predict_interval(public_rows=new, level=LEVEL)
        held = {
            "contrasts": [self.held(release, truth, weights) for weights in self.contrasts(truth)],
            "means": ((made.lower <= means) & (means <= made.upper)).tolist(),
            "naive": (np.abs(made.estimate - means) <= self.naive(release, made)).tolist(),
        }
        if self.kind != "logistic":
            single = self.answers(self.scores(truth, new) + intercept, rng)
            made = release.predict_interval(public_rows=new, level=LEVEL, of="answer")
            held["answers"] = ((made.lower <= single) & (single <= made.upper)).tolist()
        return held

    def contrasts(self, truth: dict[str, float]) -> list[dict[str, float]]:
        """Two levels that are no reference, a level against the reference, ten units, and a sum of unlike coefficients."""
        names = list(truth)
        listed = [{"age": 10.0}, {names[0]: 5.0, names[-1]: 1.0}]
        if "region=west" in truth:
            listed += [{"region=west": 1.0, "region=east": -1.0}, {"region=north": 1.0, "region=south": -1.0}]
        return listed

    def held(self, release: sf.Release, truth: dict[str, float], weights: dict[str, float]) -> bool:
        """Whether a contrast's interval holds its true value."""
        made = release.contrast(weights, LEVEL)
        return made.lower <= sum(weight * truth.get(name, 0.0) for name, weight in weights.items()) <= made.upper

    def naive(self, release: sf.Release, made: Any) -> np.ndarray:
        """A third of the half-width: an interval that leaves out most of the noise."""
        return (made.upper - made.lower) / 6

    def means(self, scores: np.ndarray) -> np.ndarray:
        """Means of the target at these scores."""
        return {
            "logistic": lambda: 1 / (1 + np.exp(-scores)),
            "linear": lambda: scores,
            "poisson": lambda: np.exp(scores),
        }[self.kind]()

    def answers(self, scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Labels from the model."""
        if self.kind == "logistic":
            return rng.random(len(scores)) < self.means(scores)
        if self.kind == "poisson":
            return np.minimum(rng.poisson(np.exp(scores)), 60).astype(float)
        return np.clip(scores + NOISE * rng.normal(size=len(scores)), 0, 100)


CELLS = [
    Cell("logistic, four columns", "logistic", ("age", "income", "smoker", "region"), 10_000, 1.0, 0.0),
    Cell("logistic, power and product", "logistic", ("age", "smoker", "age^2", "age:smoker"), 20_000, 3.0, -0.5),
    Cell("logistic, 5 % yes", "logistic", ("age", "smoker", "region"), 20_000, 1.0, -3.0),
    Cell("linear, four columns", "linear", ("age", "income", "smoker", "region"), 5_000, 1.0, 50.0),
    Cell("linear, product with levels", "linear", ("age", "region", "age:region"), 20_000, 0.5, 50.0),
    Cell("poisson, four columns", "poisson", ("age", "income", "smoker", "region"), 20_000, 2.0, 0.7),
]
