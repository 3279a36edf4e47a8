"""The battery of the card's engine: cases, and how far its sums are from NumPy's, in units of the bound that plans charge.

It imports NumPy, Sfumato and nothing else, so that it runs on a machine with a card (`on_card.py`) and, on the emulated one, in the
suite. Rows and parameters are multiples of powers of two with few digits: scores are exact in float32 in any order, so that what is
compared is the sum alone. Weights are rounded to float32 on the card: they are compared first, and then used for the expected sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.engines.gpu import GpuEngine
from sfumato.engines.opening import open_engine
from sfumato.engines.protocol import LabelScale, gradient_error, most_additions

LOSSES: dict[str, Callable[[float], Any]] = {
    "logistic": sf.losses.Logistic,
    "huber": lambda radius: sf.losses.Huber(radius, 0.75),
    "smoothed hinge": lambda radius: sf.losses.SmoothedHinge(radius, 0.5),
    "hinge": sf.losses.Hinge,
    "quantile": lambda radius: sf.losses.Quantile(radius, 0.25),
    "smoothed quantile": lambda radius: sf.losses.SmoothedQuantile(radius, 0.25, 0.5),
    "poisson": lambda radius: sf.losses.ClippedPoisson(radius, 2.0, 6.0),
    "cloglog": lambda radius: sf.losses.ClippedCloglog(radius, 1.5),
    "probit": lambda radius: sf.losses.ClippedProbit(radius, 2.0),
}
KINKED = ("hinge", "quantile")
NUMBERS = ("huber", "quantile", "smoothed quantile", "poisson")


@dataclass(frozen=True)
class Case:
    """Rows of a width, a loss, and what is odd about them."""

    rows: int
    width: int
    loss: str = "logistic"
    intercept: float = 0.5
    chains: int = 1
    weighted: bool = False
    seed: int = field(default=0)


def cases(rows: int = 2_600) -> dict[str, Case]:
    """One case for every way of cutting rows, every loss, and every odd size."""
    found = {f"{width} columns": Case(rows, width) for width in (1, 3, 4, 5, 9, 17, 30, 64, 100, 129, 300, 700, 1_030)}
    found |= {f"{name} loss": Case(rows, 7, name, seed=1) for name in LOSSES}
    found |= {f"{count} chains": Case(rows, 12, chains=count, seed=2) for count in (2, 3, 8, 13)}
    found |= {f"{count} rows": Case(count, 6, seed=3) for count in (0, 1, 2, 31, 33, 1_023, 1_024, 1_025, 4_096, 4_097)}
    # Several chains of a wide row are computed by a kernel of their own; with this loss in float64 throughout.
    found |= {
        f"{count} chains of {width} columns": Case(rows, width, "poisson", chains=count, weighted=width == 200, seed=4)
        for width, count in ((5, 8), (30, 8), (100, 4), (129, 8), (200, 3), (400, 8), (1_000, 8), (1_024, 2))
    }
    # More rows than one block of threads adds up.
    found |= {
        "20481 rows": Case(20_481, 6, seed=5),
        "16383 rows, 2 chains of 132 columns": Case(16_383, 132, "poisson", chains=2, seed=5),
        "8 logistic chains of 140 columns": Case(rows, 140, chains=8, seed=6),
    }
    found |= {"no intercept": Case(rows, 8, intercept=0.0), "weights": Case(rows, 8, weighted=True)}
    return found


def few_digits(rng: np.random.Generator, shape: tuple[int, ...], unit: float) -> np.ndarray:
    """Multiples of a unit in [-1, 1]."""
    return rng.integers(-round(1 / unit), round(1 / unit) + 1, shape) * unit


def data_of(case: Case) -> tuple[sf.Dataset, Any, np.ndarray]:
    """The rows in memory, the model, and points."""
    rng = np.random.default_rng(case.seed)
    X = few_digits(rng, (case.rows, case.width), 1 / 64)
    norm = math.sqrt(case.width) * 1.01
    numbers = case.loss in NUMBERS
    target = sf.Number(0, 6) if numbers else sf.Boolean(missing=False)
    y = rng.integers(0, 13, case.rows) / 2 if numbers else rng.random(case.rows) < 0.4
    weight = sf.Weight("w", 2.0, fixed=True) if case.weighted else None
    schema = sf.Schema.vector(case.width, data_norm=norm, target=target, weight=weight)
    shares = {"sample_weight": rng.uniform(0, 2, case.rows)} if case.weighted else {}
    data = sf.Dataset.from_arrays(X, y, schema=schema, **shares)
    loss = LOSSES[case.loss](math.hypot(norm, case.intercept) * (1 + 1e-9))
    d = case.width + bool(case.intercept)
    model = sf.Gibbs(loss, sf.priors.Gaussian(1.0), d, case.intercept)
    return data, model, few_digits(rng, (case.chains, d), 1 / 8)


def measured(case: Case, card: Any) -> Iterator[tuple[str, float]]:
    """Each kind of sum, and its distance from NumPy's in units of what plans charge; at most 2 is right: both are rounded."""
    data, model, theta = data_of(case)
    n, radius = data.n, model.loss.radius
    steepest = (
        model.loss.constants(model.dimension).lipschitz / radius if case.loss in KINKED else model.loss.largest_slope()
    )
    kinds = ("gradients",) if case.loss in KINKED else ("gradients", "shapes")
    plain, engine = open_engine(data, model, kinds, "reference"), GpuEngine(data, model, card)
    yield "additions", 2 * engine.additions / most_additions(n)
    # Shares are cut off to float32, which moves each by less than 2^-23 of itself.
    share = n * steepest * radius * 2.0**-23 if case.weighted else 0.0
    # Logistic slopes of several chains are float32: within two roundings of an exponential, a sum and a quotient.
    share += n * steepest * radius * 2.0**-22 if case.chains > 1 and case.loss == "logistic" else 0.0
    bound = max(gradient_error(n, steepest * radius) + share, 1e-300)
    for points in (theta, theta * 0.0):
        off = engine.gradient(points) - plain.gradient(points)
        yield "gradient", float(np.linalg.norm(off, axis=1).max()) / bound
    if len(kinds) == 1:
        return
    square = max(gradient_error(n, radius**2), 1e-300) + (n * radius**2 * 2.0**-22 if case.weighted else 0.0)
    yield "moments", float(np.linalg.norm(engine.moments(radius) - plain.moments(radius))) / square
    label = LabelScale(0.25, 3.0, 0.1)
    yield (
        "moments with labels",
        float(np.linalg.norm(engine.moments(radius, label) - plain.moments(radius, label))) / square,
    )
    # Residuals are multiples of 2^-18, so that both say on which side of an edge they lie; with whole shares the sums are exact.
    edges = np.array([-4.0, -0.75, 0.0, 0.5, 2.0])
    off = engine.residual_shares(theta[0], edges) - plain.residual_shares(theta[0], edges)
    cells = gradient_error(n, 1.0) + n * 2.0**-23 if case.weighted else 1e-300
    yield "shares of residuals", float(np.linalg.norm(off)) / cells
    d = model.dimension
    matrix = np.eye(d) * 0.75 + 0.125
    yield from _weighed(engine, plain, model, theta[:1], matrix)


def _weighed(engine: Any, plain: Any, model: Any, theta: np.ndarray, matrix: np.ndarray) -> Iterator[tuple[str, float]]:
    """Weights no larger than NumPy's and hardly smaller, and the sums that follow from them."""
    ours, theirs = engine.weighed(matrix, 1.0), plain.weighed(matrix, 1.0)
    found = ours._weights.get() if hasattr(ours._weights, "get") else ours._weights
    pieces = [piece for part in plain.parts() for piece in part]
    weights = np.concatenate([np.empty(0), *(theirs._weights(k, part)[0] for k, part in enumerate(plain.parts()))])
    shortfall = np.max((weights - found) / np.maximum(weights, 1e-300), initial=0.0)
    beyond = np.max((found - weights * (1 + 1e-12)) / np.maximum(weights, 1e-300), initial=0.0)
    yield "weights", float(shortfall / 2.0**-22)
    yield "weights above NumPy's", 0.0 if beyond <= 0 else math.inf
    rows = np.concatenate([np.empty((0, engine.dimension - bool(model.intercept))), *(piece.rows for piece in pieces)])
    labels = np.concatenate([np.empty(0), *(piece.labels for piece in pieces)])
    z = np.column_stack([rows, np.full(len(rows), model.intercept)]) if model.intercept else rows
    wide, n, loss = found.astype(np.float64), engine.n, model.loss
    scores = z @ theta[0]
    steep = wide * np.clip(loss.derivative(scores, labels), -loss.largest_slope(), loss.largest_slope())
    bound = max(gradient_error(n, loss.largest_slope() * loss.radius), 1e-300)
    yield "weighted gradient", float(np.linalg.norm(ours.gradient(theta)[0] - steep @ z)) / bound
    mapped = z @ matrix.T
    curved = wide * np.clip(loss.curvature(scores, labels), 0.0, loss.largest_curvature())
    curvature, spread, scale = ours.second_sums(theta[0], True)
    bound = max(gradient_error(n, loss.largest_curvature()), 1e-300)
    yield "curvature", float(np.linalg.norm(curvature - mapped.T @ (curved[:, None] * mapped))) / bound
    bound = max(gradient_error(n, loss.largest_slope() ** 2), 1e-300)
    yield "score matrix", float(np.linalg.norm(spread - mapped.T @ ((steep * steep)[:, None] * mapped))) / bound
    lengths = np.linalg.norm(mapped, axis=1)
    yield "score scale", abs(scale - float(np.sum(np.square(steep * lengths)))) / bound
    repeated = [ours.gradient(theta).tobytes() for _ in range(3)]
    yield "the same bits", 0.0 if len(set(repeated)) == 1 else math.inf
