"""`sf.simulate`: one draw of a plan's law for each of many data sets, given by their totals. A simulation, not a release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato import _validate
from sfumato._quadrature import Array
from sfumato.errors import ArgumentError
from sfumato.mechanisms.plan import Plan
from sfumato.models.families.densities import log_density
from sfumato.procedures import noisy_totals
from sfumato.simulating import laws


@dataclass(frozen=True, eq=False)
class Simulation:
    """One draw for each simulated data set, from a seeded stream: it protects nobody, and no ledger knows of it.

    `draws` is shaped (data sets,); `plan` is the plan whose law was drawn. It is no `Release`: it has no guarantee and cannot
    be saved or verified.
    """

    plan: Plan
    draws: Array
    seed: int

    def log_likelihood(self, records: Any) -> Array:
        """Return log p(held-out records | draw) for each data set: records (m,), or (data sets, m) where each has its own."""
        values = laws.read_records(self.plan.model, records)
        if values.ndim not in (1, 2) or (values.ndim == 2 and len(values) != len(self.draws)):
            raise ArgumentError(
                f"records must be shaped (m,), or ({len(self.draws)}, m) with a row for each data set; got {values.shape}."
            )
        return np.asarray(log_density(self.plan.model, self.draws[:, None, None], values).sum(axis=1))  # type: ignore[arg-type]

    def __str__(self) -> str:
        return (
            f"simulation: not private. {len(self.draws):,} draws of the law of a {self.plan.mechanism} plan for "
            f"{self.plan.model}, one for each of as many data sets of {self.plan.n:,} records, from seed {self.seed}."
        )

    __repr__ = __str__


def simulate(plan: Plan, totals: Any, *, seed: int) -> Simulation:
    """Draw the law of a plan's release once for each data set, given by its `totals`; NOT private, for studies alone.

    `totals` are what the records of each data set sum to: the number of ones, of events, the sum of the statistics. The law
    is that of `sf.publish` with the same plan: noise on the totals where the plan adds it, the tempered posterior, rounded to
    its public grid. Floats from a seeded generator stand for the exact sampler, so 10,000 data sets take milliseconds.
    Families with a Beta or an untrimmed Gamma posterior are served. Nothing is charged, and the result is no release.
    """
    planned = laws.check_plan(plan, "simulations")
    model: Any = planned.model
    if not laws.one_number(model):
        raise ArgumentError(
            f"simulations are for families with a Beta or an untrimmed Gamma posterior; got {model}. "
            "Use sf.publish(plan, data, randomness=sf.seeded(...)) for one data set at a time."
        )
    rows = laws.read_totals(model, totals, planned.n)
    rng = np.random.default_rng(_validate.whole("seed", seed, minimum=0))
    if deviation := laws.noise_deviation(planned):
        step = float(noisy_totals.spacing(deviation))
        noisy = np.rint((rows + deviation * rng.standard_normal(rows.shape)) / step) * step
        rows = model.feasible(noisy, planned.n)
    exact = model.sketch(rng, laws.natural(planned, rows))[..., 0]
    return Simulation(planned, _grid(planned).rounded(exact), seed)


def _grid(plan: Plan) -> Any:
    """The public grid of the released numbers."""
    numbers: dict[str, Any] = dict(plan.parameters)
    law = plan.model.public_law(  # type: ignore[union-attr]
        plan.n, numbers.get("power", 1.0), numbers.get("strength", 1.0), numbers.get("grid")
    )
    return getattr(law.geometry, "rates", law.geometry)
