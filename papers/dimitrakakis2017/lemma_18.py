"""Le Cam's lower bound on the error of any estimate of the data, beside the exact minimax error."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import linprog

from papers import drawing
from papers.dimitrakakis2017 import _brute_force as brute
from papers.reporting import REPRODUCED, Output
from sfumato.theorems import distinguish

PLACE = "Lemma 18"
# Data sets of six bits, of which the number of ones is sufficient; three parameters keep the law of five draws small.
RATES, RECORDS = np.array([0.2, 0.5, 0.8]), 6


def run(out: Output) -> None:
    """Both sides of the lemma for N draws: a linear program over all randomised estimators, and one over mixtures."""
    ones = np.arange(RECORDS + 1)
    p = RATES[:, None] ** ones * (1 - RATES[:, None]) ** (RECORDS - ones)
    family = brute.Family(p, np.full(3, 1 / 3), np.abs(ones[:, None] - ones).astype(float))
    rows = []
    for draws in out.sized((1, 2, 3), (1, 2, 3, 4, 5)):
        laws = np.array([brute.draws_of(law, draws) for law in family.posteriors().T])
        pairs, hulls = 0.0, 0.0
        for x, y in itertools.combinations(range(len(laws)), 2):
            apart = brute.variation(laws[x], laws[y])
            pairs = max(pairs, distinguish.minimax_error(separation=family.rho[x, y], total_variation=apart))
        for low, high in itertools.combinations(range(RECORDS + 1), 2):
            first, second = np.flatnonzero(ones <= low), np.flatnonzero(ones >= high)
            hulls = max(
                hulls, float(family.rho[np.ix_(first, second)].min()) / 2 * _affinity(laws[first], laws[second])
            )
        rows.append((draws, pairs, hulls, _minimax(laws, family.rho)))
        out.progress(draws, 5, "draws")
    out.table(["N", "Le Cam, two data sets", "Le Cam, mixtures of data sets", "exact minimax error"], rows)
    figure, axes = drawing.panels("Error of any estimate of the number of ones", size=(6.4, 4.2))
    for place, name in enumerate(("Lemma 18, two data sets", "Lemma 18, mixtures", "exact minimax error")):
        axes[0, 0].plot(
            [row[0] for row in rows], [row[place + 1] for row in rows], marker="o", label=name, **drawing.style(place)
        )
    axes[0, 0].set_xticks([row[0] for row in rows])
    axes[0, 0].set_ylim(0, 1.3)
    drawing.label(
        axes[0, 0],
        "six bits, θ in {0.2, 0.5, 0.8}, uniform prior",
        "number of draws N",
        "expected distance, worst data set",
    )
    drawing.legend(axes[0, 0], loc="lower left")
    out.figure(
        figure,
        "Le Cam's lower bounds and the exact minimax error of estimating how many of six bits are ones.",
    )
    out.claim(
        "Lemma 18", "every estimator errs by at least delta |xi_1 ^ xi_2| at some x, for sets 2 delta apart", paper="a lower bound",
        here="; ".join(f"N = {row[0]}: {max(row[1:3]):.3f} for an exact {row[3]:.3f}" for row in rows), verdict=REPRODUCED,
        shown=all(row[1] - 1e-6 <= row[2] <= row[3] for row in rows),  # 1e-6: the tolerance of the linear programs
        why="The exact error is a linear program over all randomised estimators, the affinity one over both convex hulls.",
    )  # fmt: skip
    same = np.full((2, 2), 0.5)  # equal posteriors at distance 1: nothing can be learned
    error = _minimax(same, 1 - np.eye(2))
    out.claim(
        "Lemma 18", "the half is needed: rho(S1, S2) >= 2 delta", paper="2 delta",
        here=f"two data sets with equal posteriors, 1 apart: exact {error:.3f}, the lemma 0.500", verdict=REPRODUCED,
        shown=abs(error - distinguish.minimax_error(separation=1.0, total_variation=0.0)) < 1e-9,
    )  # fmt: skip


def _minimax(laws: np.ndarray, rho: np.ndarray) -> float:
    """Smallest t with sum_o law[x, o] sum_s w[o, s] rho[s, x] <= t for every x; w[o] is the guess after outcome o."""
    sets, outcomes = laws.shape
    cost = np.append(np.zeros(outcomes * sets), 1.0)
    upper = np.column_stack([np.array([np.outer(laws[x], rho[x]).ravel() for x in range(sets)]), -np.ones(sets)])
    sums = np.column_stack([np.kron(np.eye(outcomes), np.ones(sets)), np.zeros(outcomes)])
    return float(linprog(cost, A_ub=upper, b_ub=np.zeros(sets), A_eq=sums, b_eq=np.ones(outcomes)).fun)


def _affinity(first: np.ndarray, second: np.ndarray) -> float:
    """Largest sum of min(xi_1, xi_2) over mixtures of the two lists of laws."""
    a, b, outcomes = len(first), len(second), first.shape[1]
    cost = np.concatenate([np.zeros(a + b), -np.ones(outcomes)])
    below = [np.column_stack([-first.T, np.zeros((outcomes, b)), np.eye(outcomes)]),
             np.column_stack([np.zeros((outcomes, a)), -second.T, np.eye(outcomes)])]  # fmt: skip
    sums = np.zeros((2, a + b + outcomes))
    sums[0, :a], sums[1, a : a + b] = 1.0, 1.0
    solved = linprog(cost, A_ub=np.concatenate(below), b_ub=np.zeros(2 * outcomes), A_eq=sums, b_eq=np.ones(2))
    return float(-solved.fun)
