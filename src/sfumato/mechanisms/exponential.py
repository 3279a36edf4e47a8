"""The exponential mechanism (McSherry and Talwar; Minami Theorems 3 and 4; OPS): pure, for losses bounded on the domain.

The largest power is searched. For a family it tempers a truncated or finite posterior, priced at the exact supremum of the
log ratio. A Gibbs model on a ball or a box is drawn exactly on a public lattice: in one or two dimensions from all its
points, kinks or not; beyond, for smooth losses, by rejection with a public number of trials. Their chance of failing
is a total-variation slack where the target has a delta; else, or where that takes too many, one draw in a million is uniform on
the lattice, which makes the release pure. Models that neither serves are drawn only under trust="assumes converged".
"""

from __future__ import annotations

import math
from typing import Any

from sfumato.calibrate import Target, largest
from sfumato.errors import MechanismRefused
from sfumato.mechanisms.plan import Plan
from sfumato.mechanisms.protocol import Request
from sfumato.mechanisms.tempering import LOWEST_POWER
from sfumato.models.gibbs import Gibbs
from sfumato.models.model import TOTALS
from sfumato.models.reading import FamilyOrGibbs
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import envelope
from sfumato.procedures.protocol import PoweredProcedure
from sfumato.theorems import inexact, rejection

NAME = "exponential"
PROCEDURES = ("law", "lattice", "envelope")
MAY_ASSUME = True
STRENGTH = False
# The slack of all draws together, at most; and the largest share of the target's delta that it may take.
_SLACK, _SHARE = 1e-9, 0.01
# Of a pure release: the share of uniform draws, and r of theorems.rejection.uniform_share, which adds log(1 + 2r) to a range.
UNIFORM, _RATIO = 2.0**-20, 2.0**-30
# Trials of a draw beyond which it would take hours; those of a pure one, times records, at 35 ns each (benchmarks/ops_draws.py)
# for at most an hour. A proposal and its coin take as long as this many records.
MOST_TRIALS, MOST_WORK = 1_000_000, 100_000_000_000
_PROPOSAL = 100


def refuses(model: FamilyOrGibbs, goal: str, trust: str) -> str | None:
    """Serve models whose log likelihood varies by a bounded amount between records, at every parameter of the domain."""
    if goal != "draws":
        return "it releases draws; use goal='draws'"
    if model.summed == TOTALS:
        unbounded = model.drawn and model.priced and not model.bounded
        return "the log ratio of this posterior is unbounded; truncate it" if unbounded else None
    if math.isfinite(model.constants.bound):
        return None
    return "the loss is unbounded on this domain; truncate the prior: sf.priors.Ball(prior, radius=...)"


def plan(request: Request[Any], procedure: PoweredProcedure[Any, Any]) -> Plan:
    """Search the power, up to 1; a utility has no 1 to stop at."""
    target = request.needed_target(NAME)
    if procedure.NAME == envelope.NAME:
        return _plan_on_lattice(request, procedure, target)
    model = request.model
    price = request.price_of_power(procedure, model, None)
    power = largest(price, target, LOWEST_POWER, model.highest_power, "power")
    return request.planned(NAME, procedure, request.numbers_at(procedure, model, power, None))


def _plan_on_lattice(request: Request[Gibbs], procedure: Any, target: Target) -> Plan:
    """With a delta, trials with a slack; without one, or where those are too many, trials with a share of uniform draws."""
    if not target.delta:
        return _plan_pure(request, procedure, target)
    try:
        return _plan_by_trials(request, procedure, target)
    except MechanismRefused as refusal:
        try:
            return _plan_pure(request, procedure, target)
        except MechanismRefused:
            raise refusal from None


def _plan_by_trials(request: Request[Gibbs], procedure: Any, target: Target) -> Plan:
    """The largest power at which the range and a slack of at most a hundredth of delta are admitted, and its trials."""
    model, n, draws = request.model, request.n, request.draws
    slack = min(_SLACK, _SHARE * (target.delta or 0.0) / (1 + math.exp(min(target.epsilon or 0.0, 700.0)))) / draws
    # Two thirds for the trials that all fail; the rest covers what a trial errs.
    failure = slack * 2 / 3

    def with_slack(power: float) -> Guarantee:
        exact = envelope.exact_range(model, n, draws, power)
        return rejection.bounded_trials(exact, acceptance=1.0, trials=1, trial_error=slack, every_data_set=True)

    power = largest(with_slack, target, LOWEST_POWER, model.highest_power, "power")
    trials = _trials(model, n, power, failure)
    return request.planned(NAME, procedure, envelope.Parameters(power, trials))


def _plan_pure(request: Request[Gibbs], procedure: Any, target: Target) -> Plan:
    """The largest power that the target admits with a share of uniform draws, and the trials whose failing that share covers."""
    model, n, draws = request.model, request.n, request.draws

    def with_share(power: float) -> Guarantee:
        """The price of all draws at this power: it depends on r alone, so a lattice of one point stands for every lattice."""
        exact = envelope.exact_range(model, n, 1, power)
        gamma = rejection.variation_paid(share=UNIFORM, points=1, ratio=_RATIO)
        return draws * rejection.uniform_share(
            exact, share=UNIFORM, points=1, total_variation=gamma, every_data_set=True
        )

    power = largest(with_share, target, LOWEST_POWER, model.highest_power, "power")
    shape = envelope.envelope(model, n, power)
    points = math.prod(shape.sizes)
    gamma = rejection.variation_paid(share=UNIFORM, points=points, ratio=_RATIO)
    most = max(MOST_TRIALS, MOST_WORK // (n + _PROPOSAL))
    count = _count(shape.best_acceptance, gamma * 2 / 3)
    digits = math.log10(points)
    if min(count, most) * shape.finest_error > gamma / 3:
        # A third of r eta = 2^-50 is 10^-15.5.
        raise MechanismRefused(
            f"a pure draw in {model.dimension} dimensions, on a lattice of 10^{digits:.0f} points, needs trials that err by less "
            f"than 10^-{digits + 15.5:.0f}, all together; each errs by up to {shape.finest_error:.2g}. Use fewer columns, a "
            "smaller domain, a stronger prior, or a delta above 0."
        )
    if count > most:
        raise MechanismRefused(
            f"a pure draw in {model.dimension} dimensions would take {count:.3g} trials at power {power:.3g} (success of a "
            f"trial on the worst data set {shape.best_acceptance:.2g}, a lattice of 10^{digits:.0f} points), more than "
            f"{most:,} for {n:,} records. Use a stronger prior, a ball of larger radius than the mode's, or "
            "trust='assumes converged'."
        )
    return request.planned(NAME, procedure, envelope.Parameters(power, int(count), UNIFORM))


def _count(chance: float, failure: float) -> float:
    """Trials that leave this probability of failure if each succeeds with this chance; infinite where either is 0."""
    return rejection.trials_needed(acceptance=chance, failure=failure) if chance > 0 and failure > 0 else math.inf


def _trials(model: Gibbs, n: int, power: float, failure: float) -> int:
    """How many trials leave this probability of failure on every data set, or refuse with what it would take."""
    count = _count(envelope.envelope(model, n, power).acceptance, failure)
    if count <= MOST_TRIALS:
        return int(count)
    m, big_m, d = model.strong_convexity(n, power), model.smoothness(n, power), model.dimension or 2
    chain = inexact.langevin_schedule(
        strong_convexity=m, smoothness=big_m, dimension=d, total_variation=min(failure, 0.49)
    )
    raise MechanismRefused(
        f"an exact draw in {d} dimensions would take {count:.3g} trials at power {power:.3g} (M/m = {big_m / m:.3g}), more "
        f"than {MOST_TRIALS:,}, and a certified chain (Proposition 13) {float(chain.steps):.3g} steps, for a slack of "
        f"{failure:.2g}. Use a stronger prior, mechanism='langevin', or trust='assumes converged'."
    )
