"""The cells of Figure 3: what is drawn for a method at a price, and the results of all runs in a file that can be resumed.

A result belongs to a posterior, not to a price: Algorithms 4 and 5 depend on epsilon/lambda alone and OPS on epsilon alone, and
all of them end in the posterior without privacy. Posteriors that agree in power, strength and radius share their draws.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from papers.geumlek2017 import _chains
from papers.geumlek2017._tables import Table

# The experiment of section 5.2.
ORDERS = (1.0, 10.0, 100.0)
EPSILONS = tuple(math.exp(k) for k in range(-5, 4))
PRECISION = 1e-3  # beta: the prior's precision is n beta
RADIUS = 1.0  # c, the norm of every row; B = 1 for binary labels
METHODS = ("Algorithm 4", "Algorithm 5", "OPS as printed", "OPS corrected", "no privacy", "Sfumato's default")


@dataclass(frozen=True)
class Cell:
    """A draw of the posterior with this power, prior precision a record and radius; or a default fit at this mu."""

    power: float = 1.0
    precision: float = PRECISION
    radius: float = math.inf
    mu: float | None = None

    @property
    def key(self) -> str:
        """The name of the cell in the file of results: equal cells have equal names."""
        if self.mu is not None:
            return f"default mu={self.mu:.6g}"
        return f"draw power={self.power:.6g} precision={self.precision:.6g} radius={self.radius:.6g}"


def cells_of(n: int) -> list[Cell]:
    """All cells of a table with n training rows, each once."""
    wanted = [cell(method, n, order, eps) for method in METHODS for order in ORDERS for eps in EPSILONS]
    return list({each.key: each for each in wanted}.values())


def cell(method: str, n: int, order: float, epsilon: float) -> Cell:
    """What the method draws at (order, epsilon)."""
    from scipy.optimize import brentq

    from sfumato.theorems import canonical_glm, exponential

    model = {"n": n, "radius": RADIUS, "bound": 1.0, "order": order, "epsilon": epsilon, "canonical": True}
    if method == "Algorithm 4":
        return Cell(precision=canonical_glm.concentrated_precision(precision_per_record=PRECISION, **model))
    if method == "Algorithm 5":
        return Cell(power=canonical_glm.diffused_power(precision_per_record=PRECISION, **model))
    if method == "OPS as printed":
        return Cell(power=min(1.0, epsilon * PRECISION / (4 * RADIUS**2)), radius=RADIUS / PRECISION)
    if method == "OPS corrected":

        def radius(power: float) -> float:
            return exponential.logistic_map_radius(power=power, radius=RADIUS, precision_per_record=PRECISION)

        power = brentq(lambda rho: 2 * rho * RADIUS * radius(rho) - epsilon, 1e-9, 10.0, xtol=1e-14)
        return Cell(power=min(power, 1.0), radius=radius(min(power, 1.0)))
    if method == "no privacy":
        return Cell()
    return Cell(mu=math.sqrt(2 * epsilon / order))


def scores(coefficients: Any, test: Table) -> tuple[float, float]:
    """Share of wrong signs and mean log-likelihood on the test rows."""
    margins = (test[0] @ coefficients) * test[1]
    return float(np.mean(margins <= 0)), -float(np.logaddexp(0, -margins).mean())


def posterior(training: Table, cells: list[Cell]) -> _chains.Posterior:
    """The posteriors of all cells on one training set, on a GPU where there is one."""
    xp = _chains.array_module()
    numbers = ([e.power for e in cells], [e.precision * len(training[0]) for e in cells], [e.radius for e in cells])
    wanted = _chains.Cells(*(xp.asarray(each) for each in numbers))
    return _chains.Posterior(xp.asarray(training[0]), xp.asarray(training[1]), wanted, xp)


def on_host(array: Any) -> Any:
    """The array as numpy's."""
    return array.get() if hasattr(array, "get") else array


def draw_all(training: Table, test: Table, cells: list[Cell], seed: list[int]) -> list[tuple[float, float]]:
    """Test error and log-likelihood of one draw of every cell; the chains of a training set run together."""
    target = posterior(training, cells)
    drawn, _ = _chains.hamiltonian(target, target.xp.random.default_rng(seed))
    return [scores(column, test) for column in on_host(target.coefficients(drawn)).T]


def default_fit(training: Table, test: Table, mu: float) -> tuple[float, float]:
    """Test error and log-likelihood of Sfumato's default regression at this mu: Rényi order * mu^2/2 at every order."""
    import sfumato as sf

    rows, labels = training
    n, d = rows.shape
    loss = sf.losses.Logistic(radius=RADIUS)
    # The prior of PrivateLogisticRegression: as much as a twenty-fifth of one record's largest curvature.
    model = sf.Gibbs(loss, sf.priors.Gaussian(loss.constants(d).smoothness / 25), d)
    schema = sf.Schema.vector(d, data_norm=RADIUS, target=sf.Category([-1, 1], missing=-1))
    plan = sf.plan(model, n, target=sf.Gaussian(mu), goal="estimate")
    release = sf.publish(plan, sf.Dataset.from_arrays(rows, labels.astype(int), schema=schema))
    return scores(release.mean(), test)


class Results:
    """Results of (run, cell) of one table, kept in a file to which a line is added for each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known: dict[tuple[int, str], tuple[float, float]] = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                run, key, error, likelihood = json.loads(line)
            except ValueError:
                continue  # the last line of a run that was stopped
            self.known[run, key] = (error, likelihood)

    def missing(self, run: int, cells: Iterable[Cell]) -> list[Cell]:
        """The cells of this run without a result, each once."""
        wanted = {each.key: each for each in cells}
        return [each for key, each in wanted.items() if (run, key) not in self.known]

    def add(self, run: int, cells: list[Cell], results: Iterable[tuple[float, float]]) -> None:
        """Keep these results."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        torn = self.path.exists() and not self.path.read_bytes().endswith(b"\n")
        with self.path.open("a") as file:
            file.write("\n" if torn else "")
            for each, (error, likelihood) in zip(cells, results, strict=True):
                self.known[run, each.key] = (error, likelihood)
                file.write(json.dumps([run, each.key, error, likelihood]) + "\n")

    def of(self, cell: Cell, runs: int) -> np.ndarray:
        """Test errors and log-likelihoods of this cell, shaped (runs, 2)."""
        return np.array([self.known[run, cell.key] for run in range(runs)])


def fill(results: Results, run: int, cells: list[Cell], parts: tuple[Table, Table]) -> None:
    """Compute what is missing of this run."""
    training, test = parts
    missing = results.missing(run, cells)
    draws = [each for each in missing if each.mu is None]
    if draws:
        results.add(run, draws, draw_all(training, test, draws, [run, len(training[0])]))
    for each in missing:
        if each.mu is not None:
            results.add(run, [each], [default_fit(training, test, each.mu)])
