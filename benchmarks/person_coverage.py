"""How often 90 % intervals about persons with several rows hold the truth, however alike the rows of one person are.

    python benchmarks/person_coverage.py               # 1,000 data sets a case
    python benchmarks/person_coverage.py --sets 200

Two rows of one person are correlated by the intraclass correlation. A row takes over its person's own value with probability
sqrt(correlation) and otherwise has one of its own, both from the same law, so that the truth is known. Every data set is made,
gathered by person and published anew. "rows as records" reads the same rows as so many independent records, which is wrong.
Nothing is private here.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import sfumato as sf

LEVEL, DELTA = 0.9, 1e-6
CORRELATIONS = (0.0, 0.05, 0.3, 0.7, 0.9)
# Persons and epsilon: where the persons' own spread is larger than the noise, and where it is not.
SIZES = ((300, 3.0), (2_000, 0.5))
# Most rows that are averaged; some persons have more.
MOST = 8
WARDS, SHARES = ("surgery", "medicine", "children"), (0.5, 0.3, 0.2)
RATES, MEAN = (0.1, 0.25, 0.4), 2 / 7


@dataclass(frozen=True)
class Case:
    """A model, its columns, the law of one row's cells, and the true values in the order of the release's labels."""

    model: Any
    columns: dict[str, Any]
    draw: Callable[[np.random.Generator, int], dict[str, np.ndarray]]
    truth: tuple[float, ...]
    mechanism: str = "auto"


def _rates(rng: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    ward = rng.choice(len(WARDS), size, p=SHARES)
    return {"ward": np.array(WARDS)[ward], "again": rng.random(size) < np.array(RATES)[ward]}


_BIT, _WARD = {"again": sf.Boolean(missing=False)}, {"ward": sf.Category(list(WARDS), missing=WARDS[0])}
_STAY = {"stay": sf.Number(0, 1)}
# The first six have intervals by N; of "mean" the spread between persons is released.
CASES = {
    "rate, drawn": Case(
        sf.families.BetaBernoulli(1, 1), _BIT, lambda rng, size: {"again": rng.random(size) < 0.2}, (0.2,), "diffused"
    ),
    "rate": Case(
        sf.families.BetaBernoulli(1, 1),
        _BIT,
        lambda rng, size: {"again": rng.random(size) < 0.2},
        (0.2,),
        "noisy-statistics",
    ),
    "shares": Case(
        sf.families.DirichletCategorical(WARDS, 1.0),
        _WARD,
        lambda rng, size: {"ward": rng.choice(WARDS, size, p=SHARES)},
        SHARES,
    ),
    "rates by group": Case(
        sf.grouped(sf.families.BetaBernoulli(1, 1), "ward", WARDS), {**_WARD, **_BIT}, _rates, RATES
    ),
    "events": Case(
        sf.families.GammaPoisson(1.0, 1.0, 20),
        {"calls": sf.Number(0, 20, integer=True)},
        lambda rng, size: {"calls": rng.poisson(1.5, size)},
        (1.5,),
    ),
    "normal mean": Case(
        sf.families.NormalMean(1.0, -6, 6),
        {"score": sf.Number(-6, 6)},
        lambda rng, size: {"score": 0.5 + rng.standard_normal(size)},
        (0.5,),
    ),
    "mean": Case(sf.families.BoundedMean(0, 1), _STAY, lambda rng, size: {"stay": rng.beta(2, 5, size)}, (MEAN,)),
    "means by group": Case(
        sf.grouped(sf.families.BoundedMean(0, 1), "ward", WARDS),
        {**_WARD, **_STAY},
        lambda rng, size: {"ward": rng.choice(WARDS, size, p=SHARES), "stay": rng.beta(2, 5, size)},
        (MEAN,) * len(WARDS),
    ),
}


def visits(case: Case, rng: np.random.Generator, people: int, correlation: float) -> dict[str, np.ndarray]:
    """A table in no order: 1 to 10 rows a person, two rows of one person correlated as stated."""
    who = rng.permutation(np.repeat(np.arange(people), rng.integers(1, MOST + 3, people)))
    persons, rows = case.draw(rng, people), case.draw(rng, len(who))
    same = rng.random(len(who)) < math.sqrt(correlation)
    return {"who": who, **{name: np.where(same, persons[name][who], rows[name]) for name in rows}}


def held(
    case: Case, people: int, epsilon: float, correlation: float, sets: int, by_row: bool = False
) -> tuple[np.ndarray, float]:
    """Share of data sets whose interval holds each true value, and the mean half-width of the first.

    `by_row`: the rows are taken for records, as if nobody had two.
    """
    rng = np.random.default_rng([people, round(100 * correlation)])
    persons = None if by_row else sf.Persons("who", most=MOST, count=people)
    schema = sf.Schema(case.columns, persons=persons)
    asked: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA, "mechanism": case.mechanism, "persons": persons}
    plan = sf.plan(case.model, people, **asked)
    inside, widths = [], []
    for run in range(sets):
        table = visits(case, rng, people, correlation)
        if by_row:
            plan = sf.plan(case.model, len(table["who"]), **asked)
        release = sf.publish(plan, sf.Dataset.from_table(table, schema=schema), randomness=sf.seeded(run))
        lower, upper = np.asarray(release.interval(LEVEL)).reshape(2, -1)
        inside.append((lower <= case.truth) & (np.asarray(case.truth) <= upper))
        widths.append(0.5 * (upper - lower)[0])
    return np.mean(inside, axis=0), float(np.mean(widths))


def main() -> None:
    """Print a table a case: the coverage (the lowest of several values) by correlation, and the half-width at .3."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=1_000, help="data sets behind each share")
    parser.add_argument("--case", choices=list(CASES), help="one model only")
    chosen = parser.parse_args()
    print(f"| model | persons | epsilon | {' | '.join(f'{each:g}' for each in CORRELATIONS)} | half-width at .3 |")
    print("|" + "---|" * (len(CORRELATIONS) + 4))
    for name in [chosen.case] if chosen.case else CASES:
        for people, epsilon in SIZES:
            print_line(name, people, epsilon, chosen.sets)
    if chosen.case not in (None, "rate"):
        return
    print("\nRows as records, the wrong way (rate, 300 persons, epsilon 3):")
    for correlation in CORRELATIONS:
        shares, _ = held(CASES["rate"], *SIZES[0], correlation, chosen.sets, by_row=True)
        print(f"correlation {correlation:g}: {shares.min():.3f}", flush=True)
    print(f"\nThe standard error of a coverage of .9 is {math.sqrt(0.09 / chosen.sets):.4f}.")


def print_line(name: str, people: int, epsilon: float, sets: int) -> None:
    """One line of the table."""
    cells = {each: held(CASES[name], people, epsilon, each, sets) for each in CORRELATIONS}
    shares = " | ".join(f"{share.min():.3f}".lstrip("0") for share, _ in cells.values())
    print(f"| {name} | {people:,} | {epsilon:g} | {shares} | {cells[0.3][1]:.3g} |", flush=True)


if __name__ == "__main__":
    main()
