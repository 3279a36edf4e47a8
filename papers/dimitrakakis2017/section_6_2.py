"""Tempering the likelihood and restricting the prior: two ways to the same price, and both together."""

from __future__ import annotations

import math

import numpy as np

import sfumato as sf
from papers import drawing
from papers.reporting import NOT_STATED, REPRODUCED, Output
from sfumato.theorems import finite_family

PLACE = "Section 6.2"
RATES = np.arange(1, 20) / 20
TABLE = np.log(np.stack([1 - RATES, RATES], axis=1))
RECORDS, EPSILON = 100, 1.0


def run(out: Output) -> None:
    """For each restriction of the prior the largest power at the price, and the error of a draw, exactly."""
    l = np.abs(TABLE[:, 1] - TABLE[:, 0])
    rows = []
    for level in np.unique(np.round(l[l > 1e-9], 9)):
        kept = l <= level + 1e-6
        power = _largest_power(kept)
        rows.append((float(level), power, _error(kept, power)))
    out.table(["L of the restricted prior", "largest power", "root mean squared error of a draw"], rows)
    _draw(out, rows)
    tempered = rows[-1]
    restricted = [row for row in rows if row[1] >= 1]
    best = min(rows, key=lambda row: row[2])
    alone = (
        f"{restricted[-1][2]:.4f} (L = {restricted[-1][0]:.2f})"
        if restricted
        else "impossible: even two rates cost more"
    )
    out.claim(
        "Section 6.2", "adjusting both the power and the prior may be advantageous", paper="a conjecture",
        here=f"error of a draw at epsilon = 1: power {tempered[2]:.4f}, prior {alone}, both {best[2]:.4f} (L = {best[0]:.2f})",
        verdict=NOT_STATED, shown=best[2] < min(tempered[2], restricted[-1][2]) and best[1] < 1,
        why="One draw, 100 bits, rates from the uniform prior on the grid of step 0.05; exact over all data sets.",
    )  # fmt: skip
    _same_law(out)


def _largest_power(kept: np.ndarray) -> float:
    """Largest power of at most 1 whose exact price is at most EPSILON, by bisection on its logarithm."""

    def price(power: float) -> float:
        promise = finite_family.posterior_draws(
            log_likelihood=TABLE[kept].tolist(), log_prior=[0.0] * int(kept.sum()), n=RECORDS, power=power
        )
        return float(promise.epsilon(0.0))

    if price(1.0) <= EPSILON:
        return 1.0
    low, high = 1e-3, 1.0
    for _ in range(30):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if price(middle) <= EPSILON else (low, middle)
    return low


def _error(kept: np.ndarray, power: float) -> float:
    """Root of E (theta - theta*)^2 for one draw theta, theta* from the whole uniform prior, all counts enumerated."""
    k = np.arange(RECORDS + 1)
    chance = np.array([math.comb(RECORDS, int(j)) for j in k]) * np.exp(
        TABLE[:, [1]] * k + TABLE[:, [0]] * (RECORDS - k)
    )
    logs = power * (TABLE[:, [1]] * k + TABLE[:, [0]] * (RECORDS - k))
    law = np.where(kept[:, None], np.exp(logs - logs[kept].max(axis=0)), 0.0)
    law /= law.sum(axis=0)
    squared = (RATES[:, None] - RATES) ** 2  # drawn, true
    return math.sqrt(float(np.einsum("dk,dt,tk->", law, squared, chance)) / len(RATES))


def _same_law(out: Output) -> None:
    draws, ones = 20_000, 30
    model = sf.families.Finite.bernoulli(0.05)
    # So many draws protect nobody: they show the law of one.
    price = {"target": sf.Pure(EPSILON * draws), "allow_weak": True}
    plan = sf.plan(model, RECORDS, mechanism="exponential", draws=draws, **price)
    schema = sf.Schema({"ill": sf.Boolean(missing=False)}, name="clinic", unit="patient")
    data = sf.Dataset.from_table({"ill": np.arange(RECORDS) < ones}, schema=schema)
    release = sf.publish(plan, data, randomness=sf.seeded(62))
    power = float(plan["power"])
    utility = TABLE[:, 1] * ones + TABLE[:, 0] * (RECORDS - ones)
    law = np.exp(power * (utility - utility.max()))
    law /= law.sum()
    drawn = np.array([np.mean(np.abs(np.asarray(release.draws.values).ravel() - rate) < 1e-6) for rate in RATES])
    # Five standard errors of each frequency, and one draw for the cells that are all but impossible.
    gap = float(np.max(np.abs(drawn - law) / (5 * np.sqrt(law * (1 - law) / draws) + 1 / draws)))
    out.claim(
        "Section 6.2", "with u = ln p_theta(x) and the prior as base measure the exponential mechanism is the tempered posterior",
        paper="the same form", here=f"power {power:.4f}: frequencies of {draws:,} draws within {gap:.2f} of five standard errors",
        verdict=REPRODUCED, shown=gap <= 1 and abs(drawn.sum() - 1) < 1e-9,
    )  # fmt: skip


def _draw(out: Output, rows: list[tuple[float, float, float]]) -> None:
    figure, axes = drawing.panels("One draw at ε = 1: restrict the prior, temper the likelihood", columns=2)
    for axis, column, name in (
        (axes[0, 0], 1, "largest power"),
        (axes[0, 1], 2, "root mean squared error of the rate"),
    ):
        axis.plot([row[0] for row in rows], [row[column] for row in rows], marker="o", **drawing.style(0))
        axis.set_ylim(0)
        drawing.label(axis, "", "L of the restricted prior (right end: not restricted)", name)
    out.figure(
        figure, "Largest power at epsilon 1 and error of one draw, against the Lipschitz bound of the restricted prior."
    )
