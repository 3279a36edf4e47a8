"""House prices by size and age: a private linear regression, coefficients in euros, with intervals.

Sale prices belong to people. Bounds come from what the land registry publishes, not from the rows. The table is generated
here.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import sfumato as sf

N = 8_000
SCHEMA = sf.Schema(
    {
        "square_metres": sf.Number(20, 260),
        "age": sf.Number(0, 120),
        "garden": sf.Boolean(missing=False),
        "price": sf.Number(0, 900_000),
    },
    target="price",
    name="sales",
    unit="sale",
)


def generated_sales() -> dict[str, np.ndarray]:
    """Return a table that stands for private records, one row per sale."""
    generator = np.random.default_rng(15)
    size, age, garden = generator.gamma(8, 14, N).clip(20, 260), generator.uniform(0, 120, N), generator.random(N) < 0.4
    price = 60_000 + 2_600 * size - 700 * age + 35_000 * garden + generator.normal(0, 40_000, N)
    return {"square_metres": size, "age": age, "garden": garden, "price": price.clip(0)}


def main() -> None:
    """Work in a folder that is deleted afterwards; a ledger of your own stays where it is."""
    with tempfile.TemporaryDirectory() as folder, sf.Ledger.open(Path(folder) / "budget.db") as ledger:
        ledger.register("sales", epsilon=2.0, delta=1e-6, unit="sale")
        published(ledger)


def published(ledger: sf.Ledger) -> None:
    """Fit by the estimator, which keeps coefficients in your units, and predict public houses."""
    table = generated_sales()
    rows = np.column_stack([table["square_metres"], table["age"], table["garden"]])
    model = sf.PrivateLinearRegression(
        epsilon=1.0,
        delta=1e-6,
        bounds=([20, 0, 0], [260, 120, 1]),
        bounds_y=(0, 900_000),
        unit="sale",
        ledger=ledger,
        ledger_name="sales",
    ).fit(rows, table["price"])
    for name, value, made in zip(
        ["square metre", "year of age", "garden"], model.coef_, [2_600, -700, 35_000], strict=True
    ):
        print(f"a {name:<12} is worth {value:>9,.0f} euros   (made with {made:,})")
    houses = np.array([[60.0, 80.0, 0.0], [150.0, 10.0, 1.0]])
    made = 60_000 + houses @ [2_600, -700, 35_000]
    for predicted, true in zip(model.predict(houses), made, strict=True):
        print(f"a public house: predicted {predicted:>9,.0f}, made with {true:,.0f}")
    print(model.release_.promise)

    # The mean price by itself is a family: no regression, nothing assumed of the spread, and an interval.
    mean = sf.plan(sf.families.BoundedMean(0, 900_000), N, epsilon=0.3, delta=1e-6, goal="estimate")
    prices = sf.Dataset.from_table({"price": table["price"]}, schema=SCHEMA.only(["price"], "price"))
    low, high = sf.publish(mean, prices, ledger, "sales").interval(0.9)
    print(f"\nthe mean price is between {low:,.0f} and {high:,.0f} euros (90 %)")


if __name__ == "__main__":
    main()
