"""The mechanisms by name, and how "auto" chooses among those that are proved for a model and goal."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib import import_module
from typing import Any, cast

from sfumato import procedures
from sfumato.calibrate import Target
from sfumato.errors import ArgumentError, CalibrationError, FormatError, MechanismRefused, PublishError
from sfumato.mechanisms.plan import Plan
from sfumato.mechanisms.protocol import CONVERGED, PROVED, Mechanism, Request
from sfumato.mechanisms.tempering import refuse_pure, stays_farther
from sfumato.models.families.family import Family
from sfumato.models.model import LOSSES, Model
from sfumato.models.networks.learned import LearnedNetwork
from sfumato.models.reading import FamilyOrGibbs
from sfumato.privacy import weakness
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures.expectations import divergence
from sfumato.procedures.protocol import Procedure, Task
from sfumato.schema.persons import PersonTerms
from sfumato.schema.weight import Weight

# In the order in which "auto" tries them for a Gibbs model; each name is one file, or a module from outside.
TABLE: dict[str, Any] = {
    "langevin": "sfumato.mechanisms.langevin",
    "exact": "sfumato.mechanisms.exact",
    "diffused": "sfumato.mechanisms.diffused",
    "concentrated": "sfumato.mechanisms.concentrated",
    "exponential": "sfumato.mechanisms.exponential",
    "shaped-langevin": "sfumato.mechanisms.shaped_langevin",
    "shaped-path": "sfumato.mechanisms.shaped_path",
    "langevin-path": "sfumato.mechanisms.langevin_path",
    "noisy-statistics": "sfumato.mechanisms.noisy_statistics",
}
_REFERENCE = "reference-chain"
# What a tempering mechanism searches for a family.
_SEARCHED = {"diffused": "power", "concentrated": "strength"}
# Searches for the mu of a target end within 1e-10 of it, on any machine.
_SAME = 1e-8
# Most coefficients for which a plain path that "auto" chose keeps its gradients: a few megabytes.
_KEPT = 1000


def named(name: str) -> Mechanism:
    """Return the mechanism of this name."""
    if name not in TABLE:
        raise ArgumentError(f"mechanism must be 'auto' or one of {', '.join(TABLE)}; got {name!r}.")
    entry = TABLE[name]
    return cast(Mechanism, import_module(entry) if isinstance(entry, str) else entry)


def serving(
    name: str,
    model: FamilyOrGibbs,
    goal: str,
    trust: str,
    keep: tuple[str, ...] = (),
    persons: PersonTerms | None = None,
    weight: Weight | None = None,
) -> Procedure[Any, Any] | str:
    """The procedure that draws this model for this mechanism, or the reason why none does."""
    mechanism = named(name)
    candidates = mechanism.PROCEDURES
    if trust == CONVERGED:
        if not mechanism.MAY_ASSUME or procedures.refusal(procedures.named(_REFERENCE), model):
            able = " or ".join(repr(each) for each in TABLE if named(each).MAY_ASSUME)
            return f"trust={trust!r} is for Gibbs models of a stated dimension with mechanism={able}"
        candidates = (_REFERENCE,)
    reason = mechanism.refuses(model, goal, trust)
    if reason is not None and goal == model.goal == "estimate":
        # The model has no other goal: that it has no posterior says more than "use goal='draws'".
        offers = [procedures.offered(each, model, keep, persons, weight) for each in candidates]
        reason = next((said for procedure, said in offers if said and procedures.fits(procedure, model)), reason)
    for each in candidates if reason is None else ():
        procedure, refused = procedures.offered(each, model, keep, persons, weight)
        if refused is None:
            return procedure
        # Report the reason of the last procedure that takes models of this kind: the earlier ones are special cases.
        reason = refused if reason is None or procedures.fits(procedure, model) else reason
    return reason or ""


def task_of(plan: Plan) -> tuple[Procedure[Any, Any], Task[Any, Any]]:
    """Procedure and task of a plan, after its guarantee was compared with the price of its own numbers, computed anew."""
    task, said = plan.task, plan.guarantee
    check_implied(plan.mechanism, task, plan.target)
    procedure, price = repriced(plan.mechanism, plan.procedure, plan.goal, task)
    terms = (said.curve, said.slack, said.draws, said.adjacency, said.id_column, said.rows, said.trust)
    again = (price.curve, price.slack, price.draws, price.adjacency, price.id_column, price.rows, price.trust)
    if again != terms or said.weak != weakness.needed(plan.target, price, plan.n):
        raise PublishError(
            "the plan's guarantee is not what its parameters cost: it was changed after planning. Plan again."
        )
    return procedure, task


def check_implied(mechanism: str, task: Task[Any, Any], target: Target | None) -> None:
    """Refuse numbers of a plan that are not those that follow from its model, n and target."""
    implied = getattr(named(mechanism), "implied", None)
    if implied is None or target is None:
        return
    for name, value in implied(task.model, task.n, target).items():
        written = getattr(task.parameters, name, math.nan)
        if not math.isclose(written, value, rel_tol=_SAME):
            raise FormatError(
                f"{name} of the plan is {written!r}; from its n and target follows {value!r}: it was changed after planning."
            )


def repriced(mechanism: str, procedure: str, goal: str, task: Task[Any, Any]) -> tuple[Procedure[Any, Any], Guarantee]:
    """The procedure of a recorded task, if the mechanism would draw its model by this one, and its price computed anew."""
    trust = CONVERGED if procedure == _REFERENCE else PROVED
    chosen = serving(mechanism, task.model, goal, trust, task.keep, task.persons, task.weight)
    if isinstance(chosen, str):
        raise MechanismRefused(_refused(mechanism, task.model, goal, chosen))
    if procedure != chosen.NAME:
        raise FormatError(f"mechanism {mechanism!r} draws this model by {chosen.NAME!r}; the record has {procedure!r}.")
    if type(task.parameters) is not chosen.Parameters or len(set(task.keep)) != len(task.keep):
        raise FormatError(f"the numbers of the plan are not those of procedure {procedure!r}.")
    try:
        numbers = chosen.Parameters.from_json(task.parameters.to_json())
        if task.model.summed == LOSSES and (getattr(numbers, "strength", None) is None) == named(mechanism).STRENGTH:
            raise FormatError(f"plans of {mechanism!r} record a strength exactly if they stand for exact draws.")
        averaged = None if task.persons is None else task.persons.most
        if getattr(numbers, "most", averaged) != averaged:
            raise FormatError("the plan's numbers and its persons disagree on how many rows of a person are averaged.")
        price = chosen.price(task.model, task.n, task.draws, numbers)
        if task.persons is None and task.weight is None:
            return chosen, price
        return chosen, procedures.for_contributions(price, task.persons, task.weight, task.n)
    except (ArithmeticError, TypeError) as error:
        raise FormatError(f"the numbers of the plan cannot be priced: {error}.") from error


def _refused(name: str, model: Model, goal: str, reason: str) -> str:
    return f"mechanism {name!r} cannot serve {model} with goal {goal!r}: {reason}."


def plan_with(name: str, request: Request[Any]) -> Plan:
    """Plan with the named mechanism, or with the best proved one for "auto"; the price is checked once more."""
    if name == "auto":
        if request.trust != PROVED:
            able = " or ".join(each for each in TABLE if named(each).MAY_ASSUME)
            raise MechanismRefused(f"'auto' takes proved mechanisms only; name one: {able}.")
        return _best(request)
    procedure = serving(name, request.model, request.goal, request.trust, request.keep, request.persons, request.weight)
    if isinstance(procedure, str):
        raise MechanismRefused(_refused(name, request.model, request.goal, procedure))
    plan = named(name).plan(request, procedure)
    if request.target is not None and not request.target.admits(plan.guarantee):
        raise CalibrationError(
            f"mechanism {name!r} planned {plan.guarantee}, which exceeds the target {request.target}."
        )
    return plan


def _best(request: Request[Any]) -> Plan:
    """For a family: the released law expected closest to the true posterior (KL). For Gibbs: the first proved one."""
    model, goal = request.model, request.goal
    if model.conjugate:
        return _closest(request)
    if model.goal == "estimate" and goal == "draws":
        raise MechanismRefused(f"{model} has no posterior to draw from: it releases an estimate. Add goal='estimate'.")
    if isinstance(model, LearnedNetwork):  # one mechanism, whose own reason says more than a list of those of all
        return plan_with("noisy-statistics", request)
    reasons: dict[str, str] = {}
    missed: list[CalibrationError] = []
    for name in TABLE:
        reason = serving(name, model, goal, PROVED, request.keep, request.persons, request.weight)
        if not isinstance(reason, str):
            try:
                if name != "langevin-path" or "shaped-path" not in reasons:
                    return plan_with(name, request)
                # Its gradients are part of the price, and intervals are read from them where there are few coefficients.
                few = 0 < (model.size or 0) <= _KEPT
                plan = plan_with(name, replace(request, keep=request.keep or ("transcript",) if few else request.keep))
                return replace(plan, note=f"the plain path, because {reasons['shaped-path']}")
            except CalibrationError as error:  # a later one may still meet it: a pure target, say
                missed.append(error)
                continue
            except MechanismRefused as error:
                reason = str(error).rstrip(".")
        reasons[name] = reason
    if missed:
        raise missed[0]
    raise MechanismRefused(f"no mechanism is proved for {model} with goal {goal!r}. {_listed(reasons)}.")


def _listed(reasons: dict[str, str]) -> str:
    return "; ".join(f"{name}: {reason}" for name, reason in reasons.items())


def _closest(request: Request[Family]) -> Plan:
    """The plan of least expected divergence among all mechanisms that serve a family and meet the target."""
    model, target, goal = request.model, request.target, request.goal
    if request.keep:
        reason = procedures.unkept(procedures.named("law"), request.keep)
        raise MechanismRefused(f"no mechanism serves {model} with goal {goal!r}: {reason}.")
    if goal == "estimate" and getattr(model, "model", model).shows_spread:
        # Its draws are made from noisy totals, which tell a reader how far records spread: its intervals are those of an estimate.
        return plan_with("noisy-statistics", replace(request, goal="draws"))
    if goal != "draws":
        raise MechanismRefused(f"{model} is released as draws; use goal='draws' and take the release's mean().")
    refuse_pure(model, target)
    if target is None:
        return plan_with("exact", request)
    if model.releases_totals and not target.pure:
        # The sizes of its groups are private, and only noisy totals tell a reader how many records a draw stands for.
        return plan_with("noisy-statistics", request)
    candidates: list[tuple[float, Plan]] = []
    # Noisy totals need no search; a mechanism that is searched is skipped where it cannot come closer.
    for name in ("exact", "noisy-statistics", "diffused", "concentrated", "exponential"):
        if isinstance(serving(name, model, goal, PROVED, (), request.persons, request.weight), str):
            continue
        try:
            if candidates and _too_far(name, request, target, min(gap for gap, _ in candidates)):
                continue
            plan = plan_with(name, request)
        except (CalibrationError, MechanismRefused):
            continue
        gap = divergence_of(model, plan)
        if gap == 0:
            return plan
        candidates.append((gap, plan))
    if not candidates:
        raise CalibrationError(
            f"no mechanism meets the target {target} for {model}. Ask for a larger epsilon or delta."
        )
    return min(candidates, key=lambda pair: pair[0])[1]


def divergence_of(model: Family, plan: Plan) -> float:
    """Expected divergence of the true posterior from what a family's plan releases."""
    numbers = dict(plan.parameters)
    noise = numbers.get("noise", 0.0) * model.sensitivity
    return divergence(model, plan.n, numbers.get("power", 1.0), numbers.get("strength", 1.0), noise)


def _too_far(name: str, request: Request[Family], target: Target, best: float) -> bool:
    """Whether a mechanism would stay farther off than the best so far, by less work than its search.

    Of a mechanism without a rule of its own: whether even one draw, which may be sharper than each of several, would.
    """
    what = _SEARCHED.get(name)
    if what is not None:
        return stays_farther(request.model, request.n, request.draws, target, what, best, request.most)
    if name != "exponential" or request.draws == 1:
        return False
    return divergence_of(request.model, plan_with(name, replace(request, draws=1))) > best
