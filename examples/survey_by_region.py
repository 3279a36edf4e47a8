"""Rates by region: what more groups cost (nothing), and what a small group gets.

A replaced record leaves one region and enters another, however many regions there are. The table is generated here.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import sfumato as sf

REGIONS = {"coast": (0.18, 1_500), "plain": (0.27, 1_000), "hills": (0.35, 400), "island": (0.12, 300)}


def generated_survey() -> dict[str, np.ndarray]:
    """Return a table that stands for private records, one row per person."""
    generator = np.random.default_rng(12)
    sizes = [size for _, size in REGIONS.values()]
    region = np.repeat(list(REGIONS), sizes)
    rate = np.repeat([rate for rate, _ in REGIONS.values()], sizes)
    return {"region": region, "smoker": generator.random(len(region)) < rate}


def main() -> None:
    """Publish one rate for each region, with intervals that include the privacy noise."""
    schema = sf.Schema(
        {"region": sf.Category(list(REGIONS), missing="coast"), "smoker": sf.Boolean(missing=False)},
        target="smoker",
        name="survey",
        unit="person",
    )
    data = sf.Dataset.from_table(generated_survey(), schema=schema)

    rates = sf.grouped(sf.families.BetaBernoulli(1, 1), by="region", levels=list(REGIONS))
    # Intervals by group are known for tempered posteriors, so the mechanism is named.
    plan = sf.plan(rates, data.n, epsilon=1.0, delta=1e-6, mechanism="diffused")
    print(plan.guarantee, end="\n\n")
    # In a folder that is deleted afterwards; a ledger of your own stays where it is.
    with tempfile.TemporaryDirectory() as folder, sf.Ledger.open(Path(folder) / "budget.db") as ledger:
        ledger.register("survey", epsilon=2.0, delta=1e-6, unit="person")
        release = sf.publish(plan, data, ledger)
    lower, upper = release.interval(0.9)
    print("region    90 % interval     made with   people (private: the release does not say)")
    for k, (region, (rate, size)) in enumerate(REGIONS.items()):
        print(f"{region:<8}  {lower[k]:.3f} to {upper[k]:.3f}    {rate:.2f}        {size:,}")

    print(
        "(every division of the people among the regions is held equally likely: the smaller a region, the less to rely on)"
    )

    one = sf.plan(sf.families.BetaBernoulli(1, 1), data.n, epsilon=1.0, delta=1e-6, mechanism="diffused")
    powers = [dict(each.parameters)["power"] for each in (plan, one)]
    print(f"\npower of the likelihood: {powers[0]:.4f} for four regions, {powers[1]:.4f} for one rate of all")
    print(release.attacker())


if __name__ == "__main__":
    main()
