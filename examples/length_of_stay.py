"""Hospital stays: how long, and how often people come back, from one table under one budget.

Durations are modelled as exponential, admissions a year as Poisson. Bounds come from the hospital's own rules, not from rows.
The table is generated here.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import sfumato as sf

N, MEAN_STAY, ADMISSIONS = 4_000, 5.5, 1.4


def generated_stays() -> dict[str, np.ndarray]:
    """Return a table that stands for private records, one row per patient."""
    generator = np.random.default_rng(11)
    return {"days": generator.exponential(MEAN_STAY, N), "admissions": generator.poisson(ADMISSIONS, N)}


def main() -> None:
    """Publish both rates and read them back with intervals."""
    table = generated_stays()
    # After 40 days a patient is moved to another house; more than 12 admissions a year are recorded as 12.
    days = sf.Schema({"days": sf.Number(0, 40)}, name="stays", unit="patient")
    admissions = sf.Schema({"admissions": sf.Number(0, 12, integer=True)}, name="stays", unit="patient")

    with tempfile.TemporaryDirectory() as folder:
        ledger = sf.Ledger.open(Path(folder) / "budget.db")
        ledger.register("stays", epsilon=2.0, delta=1e-6, unit="patient")

        # Two earlier patients of ten days in all: a weak prior about a stay of five days.
        stay = sf.plan(sf.families.ExponentialRate(shape=2, rate=10, bound=40), N, epsilon=0.8, delta=1e-7)
        print(stay, end="\n\n")
        release = sf.publish(stay, sf.Dataset.from_table(table, schema=days), ledger, request_id="length of stay")
        low, high = release.interval(0.9)
        print(
            f"a stay lasts {1 / high:.2f} to {1 / low:.2f} days on average (90 %); the table was made with {MEAN_STAY}"
        )

        often = sf.plan(sf.families.GammaPoisson(shape=2, rate=1, bound=12), N, epsilon=0.8, delta=1e-7)
        release = sf.publish(often, sf.Dataset.from_table(table, schema=admissions), ledger, request_id="admissions")
        low, high = release.interval(0.9)
        print(f"a patient has {low:.2f} to {high:.2f} admissions a year (90 %); the table was made with {ADMISSIONS}\n")
        print(release.attacker())
        print(ledger.spent("stays"))


if __name__ == "__main__":
    main()
