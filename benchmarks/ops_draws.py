"""`python benchmarks/ops_draws.py [seconds]`: trials, lattice and CPU seconds of one exact OPS draw at a pure target, as a table.

Logistic regression with rows of norm 1 (c = 1) and prior N(0, (n b)^-1 I), b = 1e-3, as in Geumlek et al. 2017, 5.2. The ball
has 1.2 times the smallest radius R that holds the mode of every data set at the power that epsilon buys, eps/(2 c R); the
power itself is the one that the plan finds. Cells that would take longer than `seconds` (600) are planned and not drawn.
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np

import sfumato as sf
from sfumato.errors import MechanismRefused
from sfumato.procedures import envelope
from sfumato.theorems.exponential import logistic_map_radius

PRECISION, ROOM = 1e-3, 1.2
DIMENSIONS, EPSILONS, RECORDS = (3, 4, 5, 6, 8), (0.1, 1.0, math.e), (1_000, 10_000)
# Nanoseconds of a record in a trial, for the guess whether a cell would take too long.
GUESS = 40e-9


def ball_of(epsilon: float) -> float:
    """The radius R = ROOM * (radius of the mode at power eps/(2R)), by iteration; a larger R has a smaller mode."""
    radius = 1.0
    for _ in range(200):
        power = epsilon / (2 * radius)
        mode = logistic_map_radius(power=min(power, 1.0), radius=1.0, precision_per_record=PRECISION)
        radius = math.sqrt(radius * ROOM * mode)
    return radius


def data_of(n: int, d: int) -> sf.Dataset:
    """Rows on the sphere, with labels that follow the first coordinate."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    labels = np.where(rng.random(n) < 1 / (1 + np.exp(-4 * rows[:, 0])), 1, -1)
    schema = sf.Schema.vector(d, data_norm=1.0, target=sf.Category([-1, 1], missing=-1))
    return sf.Dataset.from_arrays(rows / (1 + 1e-12), labels, schema=schema)


def cell(n: int, d: int, epsilon: float, seconds: float) -> str:
    """One row of the table."""
    radius = ball_of(epsilon)
    prior = sf.priors.Ball(sf.priors.Gaussian(precision=n * PRECISION), radius=radius)
    model = sf.Gibbs(sf.losses.Logistic(radius=1.0), prior, d)
    start = f"| {d} | {n:,} | {epsilon:.3g} | {radius:.3g} |"
    try:
        plan = sf.plan(model, n, epsilon, 0.0, mechanism="exponential")
    except MechanismRefused as refusal:
        return f"{start} refused: {refusal} |"
    shape = envelope.envelope(model, n, plan["power"])
    digits = math.log10(math.prod(shape.sizes))
    chances = f"{shape.best_acceptance:.2g} | {shape.acceptance:.2g}"
    shown = f"{start} {plan['power']:.3g} | 10^{digits:.0f} | {chances} | {plan['trials']:,} |"
    if plan["trials"] * n * GUESS > seconds:
        return f"{shown} not drawn |"
    data = data_of(n, d)
    began = time.process_time()
    sf.publish(plan, data)
    return f"{shown} {time.process_time() - began:.2g} |"


def main() -> None:
    """Print the table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    print(
        "| d | n | epsilon | R | power | points | success of a trial | by eigenvalues alone | trials | CPU seconds a draw |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for n in RECORDS:
        for epsilon in EPSILONS:
            for d in DIMENSIONS:
                print(cell(n, d, epsilon, seconds), flush=True)


if __name__ == "__main__":
    main()
