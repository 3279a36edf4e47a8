"""Twelve generated designs: rows with known laws, what a user would declare of them, and real seeded releases.

Rows are drawn here with numpy's own generators, apart from the laws of the package; facts are what somebody would declare who
knows the laws. Correlated columns cannot be declared, so that design comes with public rows of the same law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.rehearsing.expected_widths import ExpectedWidths, expected_widths

DELTA, LEVEL = 1e-6, 0.9
# Bounds of a linear label and deviation of its noise; largest count of a Poisson label, and the clip of its slope.
HALF, NOISE = 10.0, 1.5
COUNTS, CLIP = 30.0, 15.0
LOWER, UPPER = 18.0, 90.0


@dataclass(frozen=True)
class Design:
    """A regression of `numbers` numbers, `booleans` booleans and a category with these shares, on n rows at a price.

    `label` is the share of a class or the mean of a number; `pair` is the correlation of the first two numbers.
    """

    name: str
    kind: str
    n: int
    epsilon: float
    numbers: int = 2
    booleans: int = 0
    shares: tuple[float, ...] = ()
    label: float = 0.4
    pair: float = 0.0
    options: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def schema(self) -> sf.Schema:
        columns: dict[str, Any] = {f"number{i}": sf.Number(LOWER, UPPER) for i in range(self.numbers)}
        columns |= {f"boolean{i}": sf.Boolean(missing=False) for i in range(self.booleans)}
        if self.shares:
            columns["region"] = sf.Category([f"r{i}" for i in range(len(self.shares))], missing="r0")
        targets = {
            "logistic": sf.Boolean(missing=False),
            "linear": sf.Number(-HALF, HALF),
            "poisson": sf.Number(0, COUNTS),
        }
        return sf.Schema({**columns, "y": targets[self.kind]}, target="y")

    @cached_property
    def model(self) -> sf.Gibbs:
        return sf.regression(self.kind, self.schema, **({"clip": CLIP} if self.kind == "poisson" else {}))

    @cached_property
    def plan(self) -> sf.Plan:
        return sf.plan(self.model, self.n, self.epsilon, DELTA, goal="estimate", **self.options)

    @property
    def effects(self) -> dict[str, float]:
        """Own-unit effects: of three numbers, of booleans, and of the second level."""
        slopes = {f"number{i}": (0.02, -0.01, 0.0)[i % 3] for i in range(min(self.numbers, 6))}
        yes = {f"boolean{i}": (0.4, -0.3)[i % 2] for i in range(min(self.booleans, 4))}
        return {**slopes, **yes, **({"region=r1": 0.5} if self.shares else {})}

    def table(self, rng: np.random.Generator, n: int) -> dict[str, Any]:
        """n rows of this law, labels included."""
        columns: dict[str, Any] = {}
        normals = rng.normal(size=(n, self.numbers))
        if self.pair:
            normals[:, 1] = self.pair * normals[:, 0] + math.sqrt(1 - self.pair**2) * normals[:, 1]
        for i in range(self.numbers):
            own = _beta(rng, n) if not self.pair else np.clip(45 + 12 * normals[:, i], LOWER, UPPER)
            columns[f"number{i}"] = own
        for i in range(self.booleans):
            columns[f"boolean{i}"] = rng.random(n) < 0.3
        scores = sum(self.effects[key] * values for key, values in columns.items() if key in self.effects)
        if self.shares:
            codes = rng.choice(len(self.shares), size=n, p=self.shares)
            columns["region"] = [f"r{code}" for code in codes]
            scores = scores + 0.5 * (codes == 1)
        columns["y"] = self._labels(np.asarray(scores, dtype=np.float64), rng)
        return columns

    def _labels(self, scores: Any, rng: np.random.Generator) -> Any:
        """Labels at these scores, moved so that the mean is the declared one: found by a search of its own."""
        if self.kind == "linear":
            return scores - scores.mean() + self.label + NOISE * rng.normal(size=len(scores))
        if self.kind == "poisson":
            return rng.poisson(np.exp(scores) * self.label / np.exp(scores).mean())
        moves = np.linspace(-15, 15, 3001)
        means = [(1 / (1 + np.exp(-scores[:4000] - move))).mean() for move in moves]
        move = float(np.interp(self.label, means, moves))
        return rng.random(len(scores)) < 1 / (1 + np.exp(-scores - move))

    @property
    def facts(self) -> Any:
        """What is declared; for correlated columns public rows of the same law."""
        if self.pair:
            return self.table(np.random.default_rng(7), 5_000)
        facts: dict[str, Any] = {f"number{i}": {"mean": 45, "sd": 12} for i in range(self.numbers)}
        facts |= {f"boolean{i}": 0.3 for i in range(self.booleans)}
        if self.shares:
            facts["region"] = {f"r{i}": share for i, share in enumerate(self.shares)}
        labels = {"logistic": self.label, "linear": {"mean": self.label, "sd": NOISE}, "poisson": {"mean": self.label}}
        return {**facts, "y": labels[self.kind], "effects": self.effects}

    def expected(self, runs: int | None = None) -> ExpectedWidths:
        """What is said before paying."""
        return expected_widths(self.plan, self.schema, self.facts, LEVEL, runs)

    def obtained(self, releases: int, first: int = 0) -> tuple[Any, set[str]]:
        """Half-widths (release, coefficient) of real seeded releases, each on rows of its own, and the names of which any of
        them says that it tells little.
        """
        halves, little = [], set()
        for seed in range(first, first + releases):
            data = sf.Dataset.from_table(self.table(np.random.default_rng([11, seed]), self.n), schema=self.schema)
            release = sf.publish(self.plan, data, randomness=sf.seeded(seed))
            table = release.coefficients(LEVEL)
            halves.append((table.intervals[1] - table.intervals[0]) / 2)
            little |= set(table.little)
        return np.array(halves), little


def _beta(rng: np.random.Generator, n: int) -> Any:
    """A Beta law of mean 45 and deviation 12 between the bounds, by its two shape numbers."""
    mean, variance = (45 - LOWER) / (UPPER - LOWER), (12 / (UPPER - LOWER)) ** 2
    size = mean * (1 - mean) / variance - 1
    return LOWER + (UPPER - LOWER) * rng.beta(mean * size, (1 - mean) * size, n)


RARE = (0.7, 0.29, 0.01)
DESIGNS = [
    Design("3 numbers, few rows", "logistic", 2_000, 1.0, 3),
    Design("label share 5 %", "logistic", 10_000, 2.0, 3, 1, label=0.05),
    Design("rare level", "logistic", 20_000, 1.0, 2, 1, RARE),
    Design("correlated pair, public rows", "logistic", 20_000, 1.0, 4, pair=0.97),
    Design("many rows, low price", "logistic", 50_000, 0.5, 5, 1),
    Design("12 columns", "logistic", 20_000, 1.0, 6, 6),
    Design("25 columns", "logistic", 50_000, 3.0, 15, 10),
    Design("3 numbers, few rows", "linear", 2_000, 3.0, 3, label=1.0),
    Design("rare level, 10 columns", "linear", 20_000, 1.0, 4, 3, RARE, label=-2.0),
    Design("25 columns", "linear", 50_000, 0.5, 15, 10, label=0.0),
    Design("4 columns", "poisson", 5_000, 2.0, 2, 2, label=3.0),
    Design("rare level", "poisson", 30_000, 1.0, 4, 1, RARE, label=1.5),
]
