"""The exponential mechanism (McSherry and Talwar; Minami Theorems 3 and 4; OPS): pure, for losses bounded on the domain.

For a family it is the tempered draw of a truncated or finite posterior, priced at the exact supremum of the log ratio. A
Gibbs model on a ball or a box is drawn exactly on a public lattice: in one or two dimensions from all its points, kinks or
not; beyond, for smooth losses, by rejection with a public number of trials, whose chance of failing is a total-variation
slack. Where that is out of reach it is drawn only under the words trust="assumes converged".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sfumato.calibrate import Target, largest
from sfumato.draws import Draws
from sfumato.errors import MechanismRefused
from sfumato.mechanisms import _converged, _envelope, _family, _gibbs, _lattice
from sfumato.mechanisms.plan import Cost, Plan
from sfumato.models.families.family import Family
from sfumato.models.gibbs import Gibbs
from sfumato.privacy.guarantee import Guarantee
from sfumato.samplers.langevin import Report, silent
from sfumato.theorems import exponential, rejection

NAME = "exponential"
# The slack of all draws together, at most; and the largest share of the target's delta that it may take.
_SLACK, _SHARE = 1e-9, 0.01


def refuses(model: Any, goal: str, trust: str = "proved") -> str | None:
    """Serve models whose log likelihood varies by a bounded amount between records, at every parameter of the domain."""
    if goal != "draws":
        return "it releases draws; use goal='draws'"
    if isinstance(model, Family):
        if model.drawn and not model.priced:
            return _family.unpriced(model)
        return None if model.drawn and model.bounded else "the log ratio of this posterior is unbounded; truncate it"
    reason = _gibbs.not_gibbs(model) or unbounded(model)
    if reason or trust == _converged.TRUST:
        return reason
    if model.dimension is None or model.dimension <= 2:
        return _lattice.refuses(model)
    return _envelope.refuses(model)


def unbounded(model: Gibbs) -> str | None:
    """Return why the theorem says nothing about a Gibbs model, or None."""
    if math.isfinite(model.constants.bound):
        return None
    return "the loss is unbounded on this domain; truncate the prior: sf.priors.Ball(prior, radius=...)"


def price(model: Any, n: int, power: float, draws: int, strength: float = 1.0) -> Guarantee:
    """2 power Delta bounded range, times the draws; of a family the exact supremum."""
    if isinstance(model, Family):
        return _family.price(model, n, draws, power, strength)
    return exponential.exponential_mechanism(power=power, sensitivity=_lattice.sensitivity(model, power), draws=draws)


def price_by_trials(model: Gibbs, n: int, power: float, draws: int, trials: int) -> Guarantee:
    """The same range with the errors of an exponent, and the slack of that many trials a draw."""
    shape = _envelope.envelope(model, n, power)
    delta = model.constants.bound + 2 * shape.log_error / power
    exact = exponential.exponential_mechanism(power=power, sensitivity=delta * (1 + 1e-14), draws=draws)
    return rejection.bounded_trials(
        exact, acceptance=shape.acceptance, trials=trials, trial_error=shape.trial_error, every_data_set=True
    )


def plan(model: Any, n: int, target: Target | None, draws: int, **options: Any) -> Plan:
    """Find the largest power in (0, 1] whose price the target admits; a utility has no 1 to stop at."""
    limit = _gibbs.needs_target(target, NAME)
    if isinstance(model, Gibbs) and options.get("trust") == _converged.TRUST:
        return _converged.plan(NAME, model, n, draws, limit, price, options)
    if isinstance(model, Gibbs) and (model.dimension or 1) > 2:
        return _plan_by_trials(model, n, draws, limit, options)
    family = isinstance(model, Family)
    highest = model.highest_power if family else _gibbs.HIGHEST_POWER
    power = largest(lambda p: price(model, n, p, draws), limit, _gibbs.LOWEST_POWER, highest, "power")
    second = ("strength", 1.0) if family else ("points", _lattice.axis_points(model.dimension, n))
    return Plan(
        NAME,
        model,
        n,
        draws,
        "draws",
        tuple(options.get("keep", ())),
        (("power", power), second),
        price(model, n, power, draws),
        _family.expected(model, n, power, 1.0) if family else _gibbs.expected_of_power(power),
        Cost(1),
        limit,
    )


def _plan_by_trials(model: Gibbs, n: int, draws: int, limit: Target, options: Any) -> Plan:
    """The largest power at which the range and a slack of at most a hundredth of delta are admitted, and its trials."""
    if limit.curve is not None or not limit.delta:
        raise MechanismRefused(
            f"mechanism {NAME!r} in {model.dimension} dimensions has a total-variation slack, which the target {limit} does "
            "not admit: give epsilon and a delta above 0, or trust='assumes converged'."
        )
    slack = min(_SLACK, _SHARE * limit.delta / (1 + math.exp(min(limit.epsilon or 0.0, 700.0)))) / draws
    # Two thirds for the trials that all fail; the rest covers what a trial errs.
    failure = slack * 2 / 3

    def ranged(power: float) -> Guarantee:
        delta = model.constants.bound + 2 * _envelope.log_error(model, n, power) / power
        exact = exponential.exponential_mechanism(power=power, sensitivity=delta * (1 + 1e-14), draws=draws)
        return rejection.bounded_trials(exact, acceptance=1.0, trials=1, trial_error=slack, every_data_set=True)

    power = largest(ranged, limit, _gibbs.LOWEST_POWER, _gibbs.HIGHEST_POWER, "power")
    count = _envelope.trials(model, n, power, failure)
    return Plan(
        NAME,
        model,
        n,
        draws,
        "draws",
        tuple(options.get("keep", ())),
        (("power", power), ("trials", count)),
        price_by_trials(model, n, power, draws, count),
        _gibbs.expected_of_power(power),
        Cost(count * draws + _envelope.envelope(model, n, power).descent),
        limit,
    )


def draw(plan: Plan, engine: Any, randomness: Any, report: Report = silent) -> Draws:
    """Draw a family's tempered posterior, or a point of a Gibbs model's lattice."""
    if isinstance(plan.model, Family):
        return _family.draw_planned(plan, engine, randomness)
    names, power = dict(plan.parameters), float(plan["power"])
    if _converged.LENGTH in names:
        return _converged.draw(plan, engine, randomness)
    if "trials" in names:
        trials = int(plan["trials"])
        found = _envelope.draw(plan.model, plan.n, power, trials, plan.draws, engine, randomness, report)
    else:
        found = _lattice.draw(plan.model, plan.n, power, int(plan["points"]), plan.draws, engine, randomness)
    return Draws(found[None], engine.labels)


def reprice(model: Any, n: int, draws: int, parameters: Mapping[str, Any]) -> Guarantee:
    """Price again from the recorded numbers."""
    if isinstance(model, Gibbs):
        if _converged.LENGTH in parameters:
            return _converged.marked(price(model, n, parameters["power"], draws))
        by_trials = "trials" in parameters
        reason = _envelope.refuses(model) if by_trials else _lattice.refuses(model)
        if reason:
            raise MechanismRefused(f"mechanism {NAME!r} cannot serve {model} with these numbers: {reason}.")
        if by_trials:
            return price_by_trials(model, n, parameters["power"], draws, int(parameters["trials"]))
    return price(model, n, parameters["power"], draws, parameters.get("strength", 1.0))
