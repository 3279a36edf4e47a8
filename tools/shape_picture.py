"""`python tools/shape_picture.py`: intervals of one regression from the plain and the shape-first path, side by side.

Writes docs/images/shape_first.png. The rows are generated: 45,000, with four numbers and categories of 3, 4 and 12 levels, and
10 % of the labels are 1. Seeded, so that the picture is the same every time.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import sfumato as sf

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
EPSILON, DELTA, LEVEL, NORMAL = 1.0, 1e-6, 0.9, 1.6448536269514722
SERIES = (("plain path", "#c1666b"), ("shape first", "#2e86ab"), ("without privacy", "#444444"))


def intervals() -> tuple[list[str], list[np.ndarray]]:
    """Names of the coefficients, and (middle, half-width) of each for every series, in units of the scaled features."""
    from survey_widths import design

    rows, labels, (lower, upper) = design(0.1)
    scaled = (rows - (lower + upper) / 2) / (upper - lower)
    d = scaled.shape[1] + 1
    norm = np.nextafter(np.sqrt(d - 1) / 2, np.inf)
    schema = sf.Schema.vector(d - 1, data_norm=norm, target=sf.Category([0, 1], missing=0), name="survey")
    radius = sf.losses.radius_with_intercept(norm, 1.0)
    model = sf.Gibbs(sf.losses.Logistic(radius), sf.priors.Gaussian(0.1), d, intercept=1.0)
    data = sf.Dataset.from_arrays(scaled, labels, schema=schema)
    found = []
    for mechanism, keep in (("langevin-path", ("transcript",)), ("shaped-path", ())):
        plan = sf.plan(model, len(rows), EPSILON, DELTA, mechanism=mechanism, goal="estimate", keep=keep)
        low, high = sf.publish(plan, data, randomness=sf.seeded(1)).interval(LEVEL)
        found.append(np.stack([(low + high) / 2, (high - low) / 2]))
    full, theta = np.column_stack([scaled, np.ones(len(rows))]), np.zeros(d)
    for _ in range(50):  # Newton's method on the rows
        shares = 1 / (1 + np.exp(-full @ theta))
        hessian = full.T @ (full * (shares * (1 - shares))[:, None]) + 0.1 * np.eye(d)
        theta += np.linalg.solve(hessian, full.T @ (labels - shares) - 0.1 * theta)
    found.append(np.stack([theta, NORMAL * np.sqrt(np.diag(np.linalg.inv(hessian)))]))
    names = ["age", "hours", "years", "visits"]
    names += [f"{letter}{level}" for letter, count in (("a", 3), ("b", 4), ("c", 12)) for level in range(1, count)]
    return names, [each[:, :-1] for each in found]


def main() -> None:
    """Draw and save."""
    names, found = intervals()
    figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
    places = np.arange(len(names))
    for shift, (name, colour), (middle, half) in zip((-0.25, 0.0, 0.25), SERIES, found, strict=True):
        axes.errorbar(places + shift, middle, half, fmt="o", ms=3, lw=1.6, color=colour, label=name)
        print(f"{name}: median half-width {np.median(half):.3f}")
    axes.axhline(0, lw=0.6, color="#999999")
    axes.set_xticks(places, names, rotation=60)
    axes.set_ylabel("coefficient of the scaled feature")
    axes.set_title(f"90 % intervals, epsilon {EPSILON:g}, delta {DELTA:g}, 45,000 generated rows")
    axes.margins(y=0.12)
    axes.legend(frameon=False, ncols=3, loc="upper center")
    figure.savefig(ROOT / "docs" / "images" / "shape_first.png", dpi=110)


if __name__ == "__main__":
    main()
