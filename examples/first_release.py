"""A first release: a share and a mean of 2,000 patients, published under one budget, saved, read back and refused.

The table is generated here, so that the example runs with nothing but the clone; a real one comes from
`sf.Dataset.from_table("patients.csv", schema=...)`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import sfumato as sf

N = 2_000


def generated_patients() -> dict[str, np.ndarray]:
    """Return a table that stands for private records."""
    generator = np.random.default_rng(7)
    return {"diabetic": generator.random(N) < 0.31, "stay": np.minimum(generator.exponential(6.0, N), 60.0)}


def main() -> None:
    """Publish two numbers, show the ledger, save and verify, and be refused."""
    # Public facts: what a record may be. Bounds are declared, never read from the data.
    rates = sf.Schema({"diabetic": sf.Boolean(missing=False)}, name="patients", unit="patient")
    stays = sf.Schema({"stay": sf.Number(0, 60)}, name="patients", unit="patient")
    table = generated_patients()

    with tempfile.TemporaryDirectory() as folder:
        ledger = sf.Ledger.open(Path(folder) / "budget.db")
        ledger.register("patients", epsilon=2.0, delta=1e-6, unit="patient")

        share = sf.plan(sf.families.BetaBernoulli(1, 1), N, epsilon=1.0, delta=1e-7, mechanism="diffused")
        print(share, end="\n\n")
        release = sf.publish(share, sf.Dataset.from_table(table, schema=rates), ledger, request_id="share of diabetics")
        print(release, end="\n\n")

        mean = sf.plan(
            sf.families.BoundedMean(0, 60), N, epsilon=1.0, delta=1e-7, mechanism="noisy-statistics", goal="estimate"
        )
        print(sf.publish(mean, sf.Dataset.from_table(table, schema=stays), ledger), end="\n\n")

        path = Path(folder) / "share.sfumato"
        release.save(path)
        print("verified:", sf.load(path).verify().promise, end="\n\n")
        print(ledger.spent("patients"), end="\n\n")

        try:
            sf.publish(mean, sf.Dataset.from_table(table, schema=stays), ledger)
            sf.publish(mean, sf.Dataset.from_table(table, schema=stays), ledger)
            sf.publish(mean, sf.Dataset.from_table(table, schema=stays), ledger)
        except sf.errors.LedgerError as error:
            print("refused:", error)


if __name__ == "__main__":
    main()
