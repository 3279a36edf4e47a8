"""Dimitrakakis et al. 2017: what is said after Lemmas 23 and 24, and in section 6."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy import special

from .case import FALSE, Bound, Case, Evidence

EXAMPLES = "tests/theorems/test_metric_examples.py::"


def lemma_23() -> Evidence:
    angle = np.linspace(0, math.pi, 100_001)
    x, y = np.array([1.0, 0.0]), np.stack([np.cos(angle), np.sin(angle)])
    outer = np.sqrt(np.maximum(2 - 2 * (x @ y) ** 2, 0))  # |xx' - yy'|_F of unit vectors
    diameter = float(np.max(outer + 2 * np.linalg.norm(x[:, None] - y, axis=0)))
    # One dimension, precision 1, means -1 and (rare) +1, data +1 or -1: L = 1/2, so epsilon = 2L = 1.
    means, prior = np.array([-1.0, 1.0]), np.array([1 - 1e-4, 1e-4])
    logs = [np.log(prior * np.exp(-((v - means) ** 2) / 2)) for v in (1.0, -1.0)]
    cost = float(np.max((logs[0] - special.logsumexp(logs[0])) - (logs[1] - special.logsumexp(logs[1]))))
    unit = np.linspace(0, 1, 101)
    on_interval = float(np.max(np.abs(unit[:, None] ** 2 - unit**2) + 2 * np.abs(unit[:, None] - unit)))
    shows = f"a posterior on data ±1 costs {cost:.2f} ε; on [0, 1] in one dimension {on_interval:.3g} ε is right"
    return Bound(shows, {"4.71": diameter}, claimed=[3.0, 3.0], actual=[cost, diameter], safe=[(3.0, on_interval)])


def lemma_24() -> Evidence:
    """Three unconnected binary nodes, floor 1/10, uniform prior on the eight corner tables; a whole record changes."""
    floor = 0.1
    tables = np.array(list(itertools.product([floor, 1 - floor], repeat=3)))  # probability of a one, for each node
    cost = lambda x, y: float(np.max(np.abs(_log_posterior(tables, x) - _log_posterior(tables, y))))
    printed, right = 2 * math.log(1 / floor), 6 * math.log((1 - floor) / floor)
    record, entry = cost((1, 1, 1), (0, 0, 0)), cost((1, 1, 1), (0, 1, 1))
    shows = f"3 nodes, ε = 0.1: a record costs {record:.2f}, printed {printed:.2f}, corrected {right:.2f}; one entry {entry:.2f}"
    return Bound(shows, claimed=[printed], actual=[record], corrected=[right], safe=[(printed, entry)])


def section_6() -> Evidence:
    """rho = v'delta between all pairs of records of three bits: unconnected, a chain, a fork."""
    records = list(itertools.product((0, 1), repeat=3))
    actual, right, leaves = [], [], []
    for parents in (((), (), ()), ((), (0,), (1,)), ((), (0,), (0,))):
        v = [1 + sum(k in above for above in parents) for k in range(3)]
        far = [sum(w for w, a, b in zip(v, x, y, strict=True) if a != b) for x, y in itertools.permutations(records, 2)]
        actual.append(float(max(far)))
        right.append(float(sum(v)))
        leaves.append((1.0, float(min(far))))  # an entry that no other node depends on
    shows = (
        f"three bits: a replaced record is up to {actual[0]:.0f} away without edges, {actual[1]:.0f} away in a chain"
    )
    return Bound(shows, claimed=[1.0] * 3, actual=actual, corrected=right, safe=leaves)


def _log_posterior(tables: np.ndarray, record: tuple[int, ...]) -> np.ndarray:
    logs = np.log(np.where(np.array(record) == 1, tables, 1 - tables)).sum(axis=1)
    return logs - special.logsumexp(logs)


CASES = (
    Case("D", "after Lemma 23", FALSE, "this implies (3ε, 0) classically for bounded data",
         "4.71 ε on the unit ball; the lemma itself is right", lemma_23,
         EXAMPLES + "test_unit_ball_is_4_71_and_not_3"),
    Case("D", "after Lemma 24", FALSE, "2‖v‖∞ ln 1/ε classically, where a record changes",
         "that is for one entry, and follows from the lemma, which is right; a record: 2 Σ ln((1−(c_k−1)ε)/ε)",
         lemma_24, EXAMPLES + "test_lemma_24_for_one_entry_does_not_cover_a_record"),
    Case("D", "6, neighbourhoods", FALSE, "for networks ρ = 1 is exactly one record changing",
         "a record is up to Σ v_k away, an entry v_k",
         section_6),
)  # fmt: skip
