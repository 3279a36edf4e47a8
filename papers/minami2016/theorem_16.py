"""The normal limit of the Gibbs posterior, summed over every data set: where it is centred, and its two variances."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import special, stats

from papers import drawing
from papers.minami2016 import _bernoulli
from papers.reporting import FALSE, NOT_STATED, NOTATION, REPRODUCED, Output
from sfumato.theorems import asymptotics

PLACE = "supplement C.1, Theorem 16, (C.2), (C.3)"
THETA = 0.5  # the true logit; the model is Example 17's
INFORMATION = float(special.expit(THETA) * special.expit(-THETA))
POWERS = (0.1, 0.2, 0.5, 1.0, 2.0)


def summary(n: int, power: float) -> dict[str, float]:
    """Averages over all data sets: distances from both normal laws, both variances, mass away from the truth."""
    ones, mass = _bernoulli.likely(n, THETA)
    grid, law = _bernoulli.posterior(ones, n, power)
    width = (grid[:, 1] - grid[:, 0])[:, None]
    spread = 1 / math.sqrt(n * power * INFORMATION)
    mle = special.logit(ones / n)[:, None]

    def distance(centre: Any) -> float:
        normal = stats.norm.pdf(grid, centre, spread) * width
        # What the normal law has outside the grid counts fully.
        return float(mass @ (0.5 * (np.abs(law - normal).sum(1) + np.abs(1 - normal.sum(1)))))

    mean = (law * grid).sum(1, keepdims=True)
    return {
        "from the normal at the estimate": distance(mle),
        "from the normal at the truth": distance(THETA),
        "variance given data": float(mass @ (law * (grid - mean) ** 2).sum(1)),
        "variance over data": float(mass @ (law * (grid - THETA) ** 2).sum(1)),
        "mass beyond 0.2": float(mass @ (law * (np.abs(grid - THETA) >= 0.2)).sum(1)),
        "mass beyond log(n)/sqrt(n)": float(mass @ (law * (np.abs(grid - THETA) >= math.log(n) / math.sqrt(n))).sum(1)),
    }


def run(out: Output) -> None:
    """Sum over data sets of growing size and hold the sums against Theorem 16."""
    sizes = out.sized((100, 400, 1600, 6400), (100, 400, 1600, 6400, 25_600))
    by_size = {n: summary(n, 1.0) for n in sizes}
    by_power = {power: summary(4000, power) for power in POWERS}
    names = list(by_size[100])
    out.table(("n", "power", *names), [(n, 1.0, *s.values()) for n, s in by_size.items()]
              + [(4000, p, *s.values()) for p, s in by_power.items()])  # fmt: skip
    first, last = by_size[100], by_size[sizes[-1]]
    out.claim("Theorem 16(1)", "the draw is consistent", paper="tends to 0",
              here=f"P(|θ - θ0| >= 0.2) falls from {first['mass beyond 0.2']:.2f} (n = 100) to "
              f"{last['mass beyond 0.2']:.1e} (n = {sizes[-1]})", verdict=REPRODUCED,
              shown=last["mass beyond 0.2"] < 0.01 * first["mass beyond 0.2"])  # fmt: skip
    far = [by_size[n]["mass beyond log(n)/sqrt(n)"] for n in sizes]
    out.claim("Theorem 16(2), (C.2)", "mass beyond M_n/sqrt(n) vanishes", paper="tends to 0",
              here="M_n = log n: " + ", ".join(f"{x:.2g}" for x in far), verdict=REPRODUCED,
              shown=all(b < a for a, b in pairwise(far)) and far[-1] < 0.1 * far[0])  # fmt: skip
    limit = 2 / math.pi * math.atan(0.5)
    at_truth, at_estimate = last["from the normal at the truth"], last["from the normal at the estimate"]
    out.claim("Theorem 16(3), (C.3)", "total variation from N(θ0, (nβI0)^-1) tends to 0", paper="0",
              here=f"{at_truth:.3f} at n = {sizes[-1]}, β = 1; its limit is {limit:.3f}", verdict=FALSE,
              shown=abs(at_truth - limit) < 0.01,
              why="The centre is the maximum-likelihood estimate, which moves with the data by as much as the posterior is "
              "wide: the mean distance tends to (2/π) arctan(sqrt(β)/2).")  # fmt: skip
    out.claim("Theorem 16(3), corrected", "total variation from N(MLE, (nβI0)^-1)", paper="centred at θ0 instead",
              here=f"{first['from the normal at the estimate']:.3f}, {at_estimate:.4f} at n = 100, {sizes[-1]}",
              verdict=NOT_STATED,
              shown=at_estimate < 0.02 and at_estimate < 0.2 * first["from the normal at the estimate"])  # fmt: skip
    _variances(out, by_power)
    _displays(out)
    _draw(out, by_size, by_power)


def _variances(out: Output, by_power: dict[float, dict[str, float]]) -> None:
    setting = {"n": 4000, "information": INFORMATION, "well_specified": True}
    errors = [s["variance given data"] / float(asymptotics.variance_given_data(power=p, **setting)) - 1
              for p, s in by_power.items()]  # fmt: skip
    errors += [s["variance over data"] / float(asymptotics.variance_over_data(power=p, **setting)) - 1
               for p, s in by_power.items()]  # fmt: skip
    out.claim("Theorem 16(3)", "covariance (nβI0)^-1", paper="(nβI0)^-1",
              here="given the data; over data and draw it is (1 + 1/β)/(n I0). Exact sums agree within "
              f"{max(map(abs, errors)):.1%}", verdict=REPRODUCED, shown=max(map(abs, errors)) < 0.02)  # fmt: skip


def _displays(out: Output) -> None:
    h = np.linspace(-2, 2, 41)[:, None]
    sizes, printed, corrected = (400, 25_600), [], []
    for n in sizes:
        ones, mass = _bernoulli.likely(n, THETA)
        moved = THETA + h / math.sqrt(n)
        ratio = ones * (moved - THETA) - n * (np.logaddexp(0, moved) - np.logaddexp(0, THETA))
        score = (ones - n * special.expit(THETA)) / math.sqrt(n)
        printed.append(float(mass @ np.abs(ratio - 0.5 * INFORMATION * h**2).max(0)))
        corrected.append(float(mass @ np.abs(ratio - h * score + 0.5 * INFORMATION * h**2).max(0)))
    out.claim("proof of Theorem 16", "local asymptotic normality: sum of log ratios less (β/2) h'I0 h tends to 0",
              paper="0", here=f"mean supremum {printed[0]:.2f}, {printed[1]:.2f} at n = 400, 25600; with the linear term "
              f"and the sign {corrected[0]:.3f}, {corrected[1]:.4f}", verdict=NOTATION,
              shown=printed[1] > 0.9 * printed[0] and corrected[1] < 0.2 * corrected[0],
              why="The display lost its linear term h'Δ and the sign of its square; the theorem it cites has both. May be "
              "a fault of the text at hand.")  # fmt: skip
    second = float(-special.expit(THETA) * special.expit(-THETA))
    step = 1e-4
    loss = np.logaddexp(0, THETA + step * np.array([-1, 0, 1])) - special.expit(THETA) * (
        THETA + step * np.array([-1, 0, 1])
    )
    bend = float(np.diff(loss, 2)[0] / step**2)
    out.claim("Theorem 16(iii)", "I0 = -E[∇²l]", paper=f"{second:.4f} for l = -log p",
              here=f"{bend:.4f} = +E[∇²l]", verdict=NOTATION, shown=abs(bend - INFORMATION) < 1e-5 and second < 0,
              why="The sign belongs to the log likelihood; an information is positive.")  # fmt: skip


def _draw(out: Output, by_size: dict[int, dict[str, float]], by_power: dict[float, dict[str, float]]) -> None:
    figure, axes = drawing.panels("Gibbs posterior of Bernoulli rows, θ0 = 0.5, every data set", 1, 2)
    left, right = axes[0]
    for place, name in enumerate(("from the normal at the truth", "from the normal at the estimate")):
        left.loglog(list(by_size), [s[name] for s in by_size.values()], marker="o", markersize=4,
                    label=name.replace("from the normal", "normal"), **drawing.style(place))  # fmt: skip
    left.axhline(2 / math.pi * math.atan(0.5), color=drawing.GREY, linestyle=":", label="limit 0.295")
    drawing.plain_numbers(left.xaxis)
    drawing.label(left, "mean total variation from a normal law, β = 1", "number of records n", "total variation")
    drawing.legend(left)
    powers = np.geomspace(0.08, 2.5, 50)
    right.loglog(powers, 1 / powers, label="1/β", **drawing.style(0))
    right.loglog(powers, 1 + 1 / powers, label="1 + 1/β", **drawing.style(1))
    scale = 4000 * INFORMATION
    for marker, name in (("o", "variance given data"), ("s", "variance over data")):
        right.plot(POWERS, [scale * s[name] for s in by_power.values()], marker, color="black", markersize=5,
                   fillstyle="none", label=f"exact {name}")  # fmt: skip
    drawing.plain_numbers(right.xaxis)
    drawing.plain_numbers(right.yaxis)
    drawing.label(right, "variance of a draw, n = 4000", "power β", "variance times n I0")
    drawing.legend(right)
    out.figure(figure, "Distance of the posterior from two normal laws as n grows; both variances against the power.")
