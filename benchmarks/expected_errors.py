"""Squared errors that plans of draws expect against those of rehearsed releases: a line for each cell, the ratio last.

    python benchmarks/expected_errors.py            300 releases a cell (hours: the default chain of 20,000 rows takes 3,000 steps)
    python benchmarks/expected_errors.py 100        another number
    python benchmarks/expected_errors.py 300 quick  the cells of the test alone (a minute)

The true parameters of the releases follow the prior, each on rows and noise of its own. A ratio is the plan's number over the mean
of the releases, with two standard errors of that mean.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import sfumato as sf

DELTA = 1e-6
RELEASES = 300
LOSSES = {
    "logistic": sf.losses.Logistic(1.0),
    "linear": sf.losses.Huber(1.0, 1.0),
    "linear with bounds": sf.losses.Huber(1.0, 1.0, -1.0, 1.0),
    "poisson": sf.losses.ClippedPoisson(1.0, 3.0, 20.0),
    "probit": sf.losses.ClippedProbit(1.0, 3.0),
}
# Loss, coefficients, prior precision, rows, mechanism, steps (None: the plan's own).
Cell = tuple[str, int, float, int, str, int | None]


def cells(quick: bool) -> Iterator[Cell]:
    """The grid: logistic regressions with chains of 1, 5, 50 and default steps, then other losses and mechanisms."""
    for d in (3,) if quick else (3, 10):
        for n in (1_000,) if quick else (1_000, 2_000, 20_000):
            for precision in (1.0, 20.0):
                for steps in (1, 5, 50, None):
                    yield "logistic", d, precision, n, "langevin", steps
    for loss in () if quick else list(LOSSES)[1:]:
        for steps in (5, None):
            yield loss, 4, 5.0, 2_000, "langevin", steps
    for mechanism in ("exact", "concentrated") if quick else ("exact", "diffused", "concentrated", "shaped-langevin"):
        yield "logistic", 3, 1.0, 2_000, mechanism, None


def plan_of(cell: Cell) -> sf.Plan:
    """The plan of a cell at epsilon 1."""
    loss, d, precision, n, mechanism, steps = cell
    model = sf.Gibbs(LOSSES[loss], sf.priors.Gaussian(precision), d)
    return sf.plan(model, n, 1.0, DELTA, mechanism=mechanism, steps=steps)


def measured(cell: Cell, releases: int) -> tuple[sf.Plan, float, float]:
    """The plan, the ratio of its expected squared error to the mean of the releases, and the ratio's standard error."""
    plan = plan_of(cell)
    rehearsal = sf.rehearse(plan, releases)
    assert plan.law is not None
    ratio = plan.law.squared_error / rehearsal.squared_error
    return plan, ratio, ratio * rehearsal.squared_spread / rehearsal.squared_error


def main(releases: int, quick: bool) -> None:
    """Print a line for every cell as soon as it is done."""
    print("loss                 d  precision    rows  mechanism        steps  times the MLE's  expected/released")
    for cell in cells(quick):
        plan, ratio, spread = measured(cell, releases)
        loss, d, precision, n, mechanism, _ = cell
        print(
            f"{loss:<18} {d:>3}  {precision:>9g}  {n:>6,}  {mechanism:<15} {dict(plan.parameters).get('steps', '-'):>6}  "
            f"{plan.outlook.value:>15.3g}  {ratio:>8.2f} +- {2 * spread:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RELEASES, "quick" in sys.argv)
