"""Posterior draws and answers from them, end to end: measured loss against the number of draws, beside the bounds."""

from __future__ import annotations

import math

import numpy as np

import sfumato as sf
from papers import drawing
from papers.dimitrakakis2017._clinic import KEPT, LEVEL, RATES, STEP, posterior, table
from papers.reporting import REPRODUCED, TIGHTER, Output
from sfumato.theorems import sampling_error

PLACE = "Algorithms 1 and 2, Lemma 11, Theorem 17(a)"
RECORDS, FAILURE = 40, 0.05
# The query: which of 1,001 rates is closest to the true one?
RESPONSES = [k / 1000 for k in range(1001)]


def closeness(draws: np.ndarray, responses: list[float]) -> np.ndarray:
    """Utility 1 - (theta - r)^2."""
    return 1 - (draws[:, None] - np.asarray(responses)) ** 2


def run(out: Output) -> None:
    """Measure the loss for N from 1 to 10,000 under the prior and under its restriction to Theta_L."""
    counts = out.sized((1, 10, 100, 1000), (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000))
    repeats = out.sized(40, 100)
    rng = np.random.default_rng(17)
    ones = rng.binomial(RECORDS, rng.choice(RATES, size=(len(counts), repeats)))  # data that the prior expects
    rows: list[tuple] = []
    agree: list[bool] = []
    for place, count in enumerate(counts):
        losses = {}
        for which, (name, model) in enumerate(_models().items()):
            plan = sf.plan(model, RECORDS, mechanism="exact", draws=count)
            worst = []
            for k in range(repeats):
                count_of_ones = int(ones[place, k])
                stream = sf.seeded(2 * (1000 * place + k) + which)
                release = sf.publish(plan, table(count_of_ones, RECORDS), randomness=stream)  # Algorithm 1
                answer = release.respond(closeness, RESPONSES, failure=FAILURE)  # Algorithm 2
                ideal = closeness(RATES, RESPONSES).T @ posterior(count_of_ones, RECORDS)
                worst.append(float(ideal.max() - ideal[answer.place]))
                utilities = closeness(np.asarray(release.draws.values).ravel(), RESPONSES).sum(axis=0)
                agree.append(bool(utilities[answer.place] >= utilities.max() - 1e-9))
            losses[name] = worst
            out.progress(place + 1, len(counts), "numbers of draws")
        both = sampling_error.restricted_prior_release(
            lipschitz=LEVEL, mass=float(KEPT.mean()), prior_restricted=True, distance="Hamming", draws=count,
            responses=len(RESPONSES), queries=1, delta=FAILURE,
        )  # fmt: skip
        measured = [
            float(value) for each in losses.values() for value in (np.mean(each), np.quantile(each, 1 - FAILURE))
        ]
        printed = 2 * math.sqrt(math.log(2 / FAILURE) / (2 * count))
        prices = both.guarantee.curve.epsilon_value, float(plan.guarantee.epsilon(0.0))
        rows.append((count, *measured, printed, float(answer.loss), both.mean_loss, *prices))
    out.table(["N", "mean loss", "95 % quantile", "mean loss, restricted", "95 % quantile, restricted", "Lemma 11 printed",
               "Lemma 11 with its union", "Theorem 17(b)", "2 N L", "pure price here, restricted"], rows)  # fmt: skip
    _draw(out, rows)
    out.claim(
        "Algorithms 1, 2", "N posterior draws, then the response of largest summed utility", paper="BAPS, PSAQR",
        here=f"sf.plan, sf.publish, release.respond: {len(agree)} releases, each answer the maximum over its own draws",
        verdict=REPRODUCED, shown=all(agree),
    )  # fmt: skip
    out.claim(
        "Lemma 11, order in N", "the loss is of order sqrt(ln(1/delta)/N) for one query and 1,001 responses",
        paper=f"{rows[-1][5]:.4f} at N = {rows[-1][0]}",
        here=f"95 % quantile {rows[-1][2]:.2g}; with the union bound {rows[-1][6]:.4f}", verdict=REPRODUCED,
        shown=all(row[2] <= min(row[5], row[6]) for row in rows),
        why="For this utility the loss is the squared error of a mean, which falls as 1/N.",
    )  # fmt: skip
    one = rows[0]
    out.claim(
        "Theorem 17(a), Claim 1", "N draws under the restricted prior are 2NL-private", paper=f"{one[8]:.4f} at N = 1",
        here=f"{one[9]:.4f}: the exact supremum over all data sets of {RECORDS} records", verdict=TIGHTER,
        shown=all(row[9] <= row[8] * (1 + 1e-9) for row in rows) and one[9] < one[8],
        why="For more draws the whole curve of N bounded ranges is kept, which is cheaper at any positive delta.",
    )  # fmt: skip


def _models() -> dict[str, sf.families.Finite]:
    return {
        "prior": sf.families.Finite.bernoulli(STEP),
        "restricted": sf.families.Finite.bernoulli(STEP, lipschitz=LEVEL),
    }


def _draw(out: Output, rows: list[tuple]) -> None:
    figure, axes = drawing.panels("Loss of answers from N posterior draws", size=(7.4, 4.9))
    axis = axes[0, 0]
    n = [row[0] for row in rows]
    names = {2: "measured, 95 % quantile", 3: "measured mean, prior restricted", 5: "Lemma 11 as printed",
             6: "Lemma 11 with its union bound", 7: "Theorem 17(b), on average over x"}  # fmt: skip
    for place, (column, name) in enumerate(names.items()):
        axis.plot(n, [row[column] for row in rows], marker=".", label=name, **drawing.style(place))
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_ylim(2e-7, 30)
    drawing.plain_numbers(axis.xaxis)
    drawing.plain_numbers(axis.yaxis)
    drawing.label(
        axis,
        f"{RECORDS} records, {len(RESPONSES):,} responses, δ = {FAILURE}",
        "number of draws N",
        "loss of expected utility",
    )
    drawing.legend(axis, loc="lower left")
    out.figure(
        figure, "Measured loss of answers against the number of draws, beside Lemma 11 and Theorem 17(b), on log axes."
    )
