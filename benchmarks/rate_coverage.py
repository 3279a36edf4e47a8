"""How often 90 % intervals of rates hold fixed truths, alone and by group, by quadrature; and the error of the estimate.

    python benchmarks/rate_coverage.py            # coverage
    python benchmarks/rate_coverage.py --errors   # root mean square errors of the estimate and of the mean of one draw

A rate alone is `BetaBernoulli()` with the plan that `sf.plan` chooses at delta 1e-6; the rates by group are those of one table
whose hidden group sizes are the numbers of records that are listed. Nothing is simulated for the coverage: an end of an interval
rises with what is released (a draw, a noisy count), so the interval holds the truth where the release lies between two points, and
the coverage is a sum over counts of probabilities of what lies between. Of a group two noisy counts are released: that is
done for several values of the second. "prior" is the average over truths that are uniform between 0 and 1, the prior of the plan.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import stats
from scipy.optimize import brentq

import sfumato as sf
from sfumato.models.families import _cells
from sfumato.queries.statistics.protocol import Numbers, Released, numbers_of
from sfumato.queries.statistics.table import reader_of

LEVEL, DELTA, FAR = 0.9, 1e-6, 5.0
SIZES, EPSILONS, TRUTHS = (20, 60, 100, 270, 1000, 5000), (0.1, 0.3, 1.0), (0.01, 0.02, 0.05, 0.2, 0.5)
RATE = sf.families.BetaBernoulli()
NOTHING = np.empty((0, 0))
# Nodes of truths from the prior, of the noise of a group's other records, and of its quadrature.
_PRIOR, _REST, _NOISE = 6, 7, 61
# A point is located to this part of the range in which it is looked for, of ten or more deviations.
_CLOSE = 3e-4
# Ends of the interval that a release would have: what is released, as one number, to (low, high).
Ends = Callable[[float], np.ndarray]


def held_between(ends: Ends, truth: float, low: float, high: float) -> tuple[float, float]:
    """The releases between `low` and `high` whose intervals hold the truth: both ends rise with what is released."""
    points = []
    for end in (1, 0):
        at = partial(lambda y, end: float(ends(y)[end]) - truth, end=end)
        if at(low) > 0 or at(high) <= 0:
            points.append(-math.inf if at(low) > 0 else math.inf)
        else:
            points.append(brentq(at, low, high, xtol=_CLOSE * (high - low)))
    return points[0], points[1]


def counts(n: int, truth: float) -> tuple[np.ndarray, np.ndarray]:
    """The counts that n records have with a probability above 1e-12, and their probabilities."""
    k = np.arange(n + 1)
    masses = stats.binom.pmf(k, n, truth)
    return k[masses > 1e-12], masses[masses > 1e-12]


def planned(n: int, epsilon: float, model: object = RATE, mechanism: str = "auto") -> Numbers:
    """The numbers of the plan at this price."""
    return numbers_of(sf.plan(model, n, epsilon, DELTA, mechanism=mechanism).to_json())


def alone(n: int, numbers: Numbers, truth: float, level: float = LEVEL) -> float:
    """The probability that the interval of a rate among n records holds the truth."""
    read, (k, masses) = reader_of(RATE), counts(n, truth)

    def ends(value: float) -> np.ndarray:
        seen = (np.array([[value]]), None) if numbers.noise == 0 else (NOTHING, np.array([value]))
        return read(RATE, RATE, Released(n, numbers, *seen))(level, True)[:, 0]

    if numbers.noise == 0:
        first, last = held_between(ends, truth, 1e-7, 1 - 1e-7)
        a, b = numbers.strength + numbers.power * k, numbers.strength + numbers.power * (n - k)
        below = [stats.beta.cdf(np.clip(end, 0, 1), a, b) for end in (first, last)]
    else:
        room = FAR * numbers.noise + FAR * math.sqrt(n * truth)
        first, last = held_between(ends, truth, n * truth - room, n * truth + room)
        below = [stats.norm.cdf((end - k) / numbers.noise) for end in (first, last)]
    return float(masses @ (below[1] - below[0]))


def in_group(size: int, n: int, groups: int, numbers: Numbers, truth: float, level: float = LEVEL) -> float:
    """The probability that the interval of a group of `size` records holds the truth, from its two noisy counts."""
    model = sf.grouped(RATE, "g", list(range(groups)))
    read, (k, masses), noise = reader_of(model), counts(size, truth), numbers.noise * model.sensitivity
    room, mean = FAR * noise + FAR * math.sqrt(size * truth), size * truth
    rests = size - mean + room * np.linspace(-1, 1, _REST)

    def ends(rest: float, own: float) -> np.ndarray:
        return read(model, model, Released(n, numbers, NOTHING, np.array([own, rest])))(level, True)[:, 0]

    between = np.array([held_between(partial(ends, rest), truth, mean - room, mean + room) for rest in rests])
    between = np.clip(between, mean - 2 * room, mean + 2 * room)
    z, inside = stats.norm.ppf((np.arange(_NOISE) + 0.5) / _NOISE), 0.0
    for count, mass in zip(k, masses, strict=True):
        at = size - count + noise * z
        first, last = (stats.norm.cdf((np.interp(at, rests, side) - count) / noise) for side in between.T)
        inside += mass * float((last - first).mean())
    return inside


def from_prior(held: Callable[[float], float]) -> float:
    """The average over truths that are uniform between 0 and 1."""
    places, weights = np.polynomial.legendre.leggauss(_PRIOR)
    return float(0.5 * weights @ [held(0.5 + 0.5 * place) for place in places])


def coverage() -> None:
    """Print one line for each size and price."""
    n, groups = sum(SIZES), len(SIZES)
    model = sf.grouped(RATE, "g", list(range(groups)))
    head = " | ".join(f"{truth:g}" for truth in TRUTHS)
    for title in ("alone", "by group"):
        print(f"\n{title}\n\n| records | epsilon | mechanism | {head} | prior |\n|{'---|' * (len(TRUTHS) + 4)}")
        for size in SIZES:
            for epsilon in EPSILONS:
                numbers = planned(size, epsilon) if title == "alone" else planned(n, epsilon, model)
                held = partial(*((alone, size) if title == "alone" else (in_group, size, n, groups)), numbers)
                shares = " | ".join(f"{held(truth):.3f}".lstrip("0") for truth in TRUTHS)
                kind = "noisy-statistics" if numbers.noise else "diffused"
                average = f"{from_prior(held):.3f}".lstrip("0")
                print(f"| {size:,} | {epsilon:g} | {kind} | {shares} | {average} |", flush=True)


def estimate_of(model: object, n: int, numbers: Numbers, draws: np.ndarray, totals: np.ndarray | None) -> np.ndarray:
    """The number shown first."""
    return reader_of(model)(model, model, Released(n, numbers, draws, totals))(0.0, True)[0]


def errors(sets: int) -> None:
    """Print the root mean square errors of the estimate and of the mean of one draw, from the same releases."""
    n, groups = sum(SIZES), len(SIZES)
    model = sf.grouped(RATE, "g", list(range(groups)))
    head = " | ".join(f"{where}, {truth:g}" for where in ("alone", "group") for truth in TRUTHS)
    print(f"| records | epsilon | {head} |")
    print("|" + "---|" * (2 + 2 * len(TRUTHS)))
    for epsilon in EPSILONS:
        numbers, rows = planned(n, epsilon, model), {size: [] for size in SIZES}
        for truth in TRUTHS:
            for size in SIZES:
                rows[size].append(alone_errors(size, planned(size, epsilon), truth, sets))
        for truth in TRUTHS:
            rng = np.random.default_rng([groups, int(1000 * truth), int(10 * epsilon)])
            gaps = []
            for _ in range(sets):
                ones = rng.binomial(SIZES, truth)
                exact = np.column_stack([ones, np.array(SIZES) - ones]).ravel().astype(float)
                totals = exact + numbers.noise * model.sensitivity * rng.standard_normal(2 * groups)
                a, b = _cells.nearest_counts(totals, n).reshape(-1, 2).T
                gaps.append((estimate_of(model, n, numbers, NOTHING, totals) - truth, rng.beta(1 + a, 1 + b) - truth))
            both = np.sqrt(np.mean(np.square(gaps), axis=0))
            for place, size in enumerate(SIZES):
                rows[size].append(tuple(both[:, place]))
        for size in SIZES:
            cells = (f"{own:.3f} ({drawn:.3f})".replace("0.", ".") for own, drawn in rows[size])
            print(f"| {size:,} | {epsilon:g} | {' | '.join(cells)} |", flush=True)


def alone_errors(n: int, numbers: Numbers, truth: float, sets: int) -> tuple[float, float]:
    """Root mean square errors of the estimate and of one draw, of a rate alone; the estimate is read at 25 points."""
    rng = np.random.default_rng([n, int(1000 * truth), int(1000 * numbers.noise)])
    k = rng.binomial(n, truth, sets * 20)
    if numbers.noise == 0:
        seen = drawn = rng.beta(numbers.strength + numbers.power * k, numbers.strength + numbers.power * (n - k))
        at = np.sin(np.linspace(1e-3, 0.5 * math.pi - 1e-3, 25)) ** 2
        read = [estimate_of(RATE, n, numbers, np.array([[value]]), None)[0] for value in at]
    else:
        seen = k + numbers.noise * rng.standard_normal(len(k))
        own = np.clip(seen, 0, n)
        drawn = rng.beta(1 + own, 1 + n - own)
        at = np.linspace(seen.min(), seen.max(), 25)
        read = [estimate_of(RATE, n, numbers, NOTHING, np.array([value]))[0] for value in at]
    gaps = np.interp(seen, at, read) - truth, drawn - truth
    return float(np.sqrt(np.mean(gaps[0] ** 2))), float(np.sqrt(np.mean(gaps[1] ** 2)))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--errors", action="store_true", help="errors of the estimate instead of coverage")
    parser.add_argument("--sets", type=int, default=300, help="data sets behind an error")
    given = parser.parse_args()
    if given.errors:
        errors(given.sets)
    else:
        coverage()


if __name__ == "__main__":
    main()
