"""Who earns more than the median: a private classifier, judged on public people only.

A score on the private rows would be an unprotected release. Here the test rows are generated apart and stand for a public
sample. The table is generated here.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import sfumato as sf

N = 12_000
LOWER, UPPER = [17, 0, 0], [90, 20, 80]  # age, years of schooling, hours a week: from the questionnaire


def generated_people(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (age, schooling, hours) and whether the income is above the median."""
    generator = np.random.default_rng(seed)
    rows = np.column_stack(
        [generator.uniform(17, 90, n), generator.normal(11, 3, n).clip(0, 20), generator.normal(36, 12, n).clip(0, 80)]
    )
    score = 0.03 * (rows[:, 0] - 45) + 0.35 * (rows[:, 1] - 11) + 0.05 * (rows[:, 2] - 36)
    return rows, (score + generator.logistic(size=n) > 0).astype(int)


def main() -> None:
    """Work in a folder that is deleted afterwards; a ledger of your own stays where it is."""
    with tempfile.TemporaryDirectory() as folder, sf.Ledger.open(Path(folder) / "budget.db") as ledger:
        ledger.register("people", epsilon=4.0, delta=1e-6)
        fitted(ledger)


def fitted(ledger: sf.Ledger) -> None:
    """Fit at three prices and say what each gets right among public people."""
    rows, rich = generated_people(13, N)
    public_rows, public_rich = generated_people(14, 4_000)
    print(f"always the larger class: {max(public_rich.mean(), 1 - public_rich.mean()):.3f} right\n")
    for epsilon in (0.1, 0.5, 2.0):
        price = {"epsilon": epsilon, "delta": 1e-6, "ledger": ledger, "ledger_name": "people"}
        model = sf.PrivateLogisticRegression(**price, bounds=(LOWER, UPPER), classes=[0, 1], missing_class=0)
        model.fit(rows, rich)
        right = (model.predict(public_rows) == public_rich).mean()
        print(
            f"epsilon {epsilon:<4} {right:.3f} right; per year, year of schooling and hour {np.round(model.coef_[0], 3)}"
        )
    print("\nmade with 0.03, 0.35 and 0.05")
    print(model.release_.promise)
    print(model.release_.attacker())


if __name__ == "__main__":
    main()
