"""Updating a public prior: last year's published survey makes this year's release cheaper.

Public records go into the prior, where they cost nothing. The tables are generated here.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import sfumato as sf

N = 800
SCHEMA = sf.Schema({"vaccinated": sf.Boolean(missing=False)}, name="clinic", unit="patient")


def main() -> None:
    """Price a posterior draw under a flat and under an informed prior, and publish the second."""
    generator = np.random.default_rng(17)
    published = {"vaccinated": generator.random(600) < 0.66}  # last year's, open to all
    private = sf.Dataset.from_table({"vaccinated": generator.random(N) < 0.71}, schema=SCHEMA)

    flat = sf.families.BetaBernoulli(1, 1)
    informed = flat.with_public(published, schema=SCHEMA)
    print("prior                                  price of one draw of the posterior itself, at delta = 1e-6")
    for model in (flat, informed):
        price = sf.plan(model, N, mechanism="exact").guarantee
        print(f"{model!r:<38} epsilon {price.epsilon(1e-6):.2f}")

    print("\nprior                                  power that (0.5, 1e-6) allows")
    for model in (flat, informed):
        plan = sf.plan(model, N, epsilon=0.5, delta=1e-6, mechanism="diffused")
        print(f"{model!r:<38} {dict(plan.parameters)['power']:.3f}: {plan.expected}")

    # In a folder that is deleted afterwards; a ledger of your own stays where it is.
    with tempfile.TemporaryDirectory() as folder, sf.Ledger.open(Path(folder) / "budget.db") as ledger:
        ledger.register("clinic", epsilon=2.0, delta=1e-6, unit="patient")
        low, high = sf.publish(plan, private, ledger).interval(0.9)
    print(f"\npublished under the informed prior: {low:.3f} to {high:.3f} (90 %)")
    print("this year's records were made with 0.71; last year's with 0.66")


if __name__ == "__main__":
    main()
