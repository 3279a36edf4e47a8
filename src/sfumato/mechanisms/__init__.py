"""The mechanisms by name, and how "auto" chooses among those that are proved for a model and goal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, cast

from sfumato.calibrate import Target
from sfumato.draws import Draws
from sfumato.errors import ArgumentError, CalibrationError, FormatError, MechanismRefused
from sfumato.mechanisms import _converged, _family, langevin_path, noisy_statistics
from sfumato.mechanisms.plan import Plan
from sfumato.mechanisms.protocol import Mechanism
from sfumato.models.families.family import Family
from sfumato.models.gibbs import Gibbs
from sfumato.models.reading import model_from_json
from sfumato.privacy.guarantee import Guarantee

# In the order in which "auto" tries them for a Gibbs model; each name is one file.
TABLE = {
    "langevin": "sfumato.mechanisms.langevin",
    "exact": "sfumato.mechanisms.exact",
    "diffused": "sfumato.mechanisms.diffused",
    "concentrated": "sfumato.mechanisms.concentrated",
    "exponential": "sfumato.mechanisms.exponential",
    "langevin-path": "sfumato.mechanisms.langevin_path",
    "noisy-statistics": "sfumato.mechanisms.noisy_statistics",
}
# Mechanisms that are drawn at their exact price by an uncertified chain, where the plan is asked to trust that it converged.
REFERENCED = ("exact", "exponential")
# Numbers by which a plan is known to ask for sums of loss values, where the others ask for sums of gradients.
VALUED = ("points", "trials", _converged.LENGTH)
# What a plan may keep beside its draws, and the mechanisms that have it to give.
KEEPING = {"transcript": ("langevin-path",)}
# The numbers that a plan of each mechanism records: all that the draw depends on.
_TEMPERED = ("power", "strength")
PARAMETERS: dict[str, tuple[str, ...]] = {
    "exact": _TEMPERED,
    "diffused": _TEMPERED,
    "concentrated": _TEMPERED,
    "exponential": _TEMPERED,
    "noisy-statistics": ("noise",),
    "langevin": ("power", "step", "steps"),
    "langevin-path": ("power", "step", "steps", "learning_rate", "noise", "momentum", "tail"),
}
# The same for Gibbs models, where a chain or a grid carries the plan out: any one of these sets.
_CHAIN = ("power", "strength", "step", "steps")
_GRIDS = (("power", "strength", "points"), ("power", "strength", "points", "trials"))
_CHAINED: dict[str, tuple[tuple[str, ...], ...]] = {
    "exact": (_CHAIN, *_GRIDS, ("power", "strength", "warmup", _converged.LENGTH)),
    "diffused": (_CHAIN, *_GRIDS),
    "concentrated": (_CHAIN, *_GRIDS),
    "exponential": (("power", "points"), ("power", "trials"), ("power", "warmup", _converged.LENGTH)),
}


def named(name: str) -> Mechanism:
    """Return the mechanism of this name."""
    if name not in TABLE:
        raise ArgumentError(f"mechanism must be 'auto' or one of {', '.join(TABLE)}; got {name!r}.")
    return cast(Mechanism, import_module(TABLE[name]))


def reprice(document: Mapping[str, Any]) -> Guarantee:
    """Recompute the guarantee of a plan from its stored document alone: model, n, draws, mechanism and parameters."""
    model = model_from_json(document["model"])
    return priced_again(
        document["mechanism"], model, document["goal"], document["n"], document["draws"], document["parameters"]
    )


def priced_again(name: str, model: Any, goal: str, n: int, draws: int, parameters: Mapping[str, Any]) -> Guarantee:
    """Price of recorded numbers, if the mechanism serves the model at all and the numbers are those it plans with."""
    mechanism = named(name)
    trust = _converged.TRUST if _converged.LENGTH in parameters else "proved"
    reason = _refusal(name, model, goal, trust)
    if reason:
        raise MechanismRefused(f"mechanism {name!r} cannot serve {model} with goal {goal!r}: {reason}.")
    known = _known(name, model)
    if not any(set(parameters) == set(names) for names in known):  # a saved document has its keys in another order
        wanted = " or ".join(", ".join(names) for names in known)
        raise FormatError(f"mechanism {name!r} plans with {wanted}; the record has {', '.join(parameters)}.")
    for key, value in parameters.items():
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not number or value < 0 or (key == "strength" and value == 0):
            raise FormatError(f"{key} of a plan must be a finite number of 0 or more; the record has {value!r}.")
    try:
        return mechanism.reprice(model, n, draws, parameters)
    except (ArithmeticError, TypeError) as error:
        raise FormatError(f"the numbers of the plan cannot be priced: {error}.") from error


def _known(name: str, model: Any) -> tuple[tuple[str, ...], ...]:
    """The sets of numbers with which this mechanism may plan this model."""
    if not isinstance(model, Gibbs) or name not in _CHAINED:
        return (PARAMETERS[name],)
    wrong = set(_GRIDS) if model.constants.smooth else {_CHAIN}
    return tuple(names for names in _CHAINED[name] if names not in wrong)


def _refusal(name: str, model: Any, goal: str, trust: str) -> str | None:
    """Return why the mechanism cannot serve the model and goal, under the trust that is asked for."""
    if trust != _converged.TRUST:
        return named(name).refuses(model, goal)
    if name not in REFERENCED or not isinstance(model, Gibbs):
        return f"trust={trust!r} is for Gibbs models with mechanism={' or '.join(map(repr, REFERENCED))}"
    reason: str | None = import_module(TABLE[name]).refuses(model, goal, trust)
    return reason


def plan_with(name: str, model: Any, n: int, target: Target | None, draws: int, goal: str, **options: Any) -> Plan:
    """Plan with the named mechanism, or with the best proved one for "auto"; the price is checked once more."""
    if name == "auto":
        if options.get("trust", "proved") != "proved":
            raise MechanismRefused(f"'auto' takes proved mechanisms only; name one: {' or '.join(REFERENCED)}.")
        return _best(model, n, target, draws, goal, **options)
    mechanism = named(name)
    trust = options.get("trust", "proved")
    reason = _refusal(name, model, goal, trust) or _cannot_keep(name, options.get("keep", ()))
    if reason:
        raise MechanismRefused(f"mechanism {name!r} cannot serve {model} with goal {goal!r}: {reason}.")
    found = mechanism.plan(model, n, target, draws, **options)
    if target is not None and not target.admits(found.guarantee):
        raise CalibrationError(f"mechanism {name!r} planned {found.guarantee}, which exceeds the target {target}.")
    return found


def _cannot_keep(name: str, keep: Sequence[str]) -> str | None:
    """Return why this mechanism has nothing of that kind to release."""
    absent = [what for what in keep if name not in KEEPING.get(what, ())]
    if not absent:
        return None
    return (
        f"it has no {absent[0]} to keep; use {' or '.join(map(repr, KEEPING.get(absent[0], ())))} with goal='estimate'"
    )


def retold(document: Mapping[str, Any], model: Any, draws: Draws) -> bool:
    """Whether what a release keeps is what its plan says, and leads to its draws."""
    name, keep = document["mechanism"], tuple(document["keep"])
    noisy = name == noisy_statistics.NAME
    if not (noisy_statistics.tells(model, document["parameters"], draws) if noisy else draws.totals is None):
        return False
    if not keep:
        return draws.transcript is None
    if keep != ("transcript",) or name not in KEEPING["transcript"]:
        return False
    return langevin_path.retells(model, document["n"], document["parameters"], draws)


def _best(model: Any, n: int, target: Target | None, draws: int, goal: str, **options: Any) -> Plan:
    """For a family: the released law expected closest to the true posterior (KL). For Gibbs: the first proved one."""
    if _family.is_posterior(model):
        reason = _cannot_keep("exact", options.get("keep", ()))
        if reason:
            raise MechanismRefused(f"no mechanism serves {model} with goal {goal!r}: {reason}.")
        return _closest(model, n, target, draws, goal, **options)
    if isinstance(model, Family) and not model.drawn and goal == "draws":
        raise MechanismRefused(f"{model} has no posterior to draw from: it releases an estimate. Add goal='estimate'.")
    reasons: list[str] = []
    missed: list[CalibrationError] = []
    for name in TABLE:
        reason = named(name).refuses(model, goal) or _cannot_keep(name, options.get("keep", ()))
        if reason is None:
            try:
                return plan_with(name, model, n, target, draws, goal, **options)
            except CalibrationError as error:  # a later one may still meet it: a pure target, say
                missed.append(error)
                continue
            except MechanismRefused as error:
                reason = str(error).rstrip(".")
        reasons.append(f"{name}: {reason}")
    if missed:
        raise missed[0]
    raise MechanismRefused(f"no mechanism is proved for {model} with goal {goal!r}. " + "; ".join(reasons) + ".")


def _closest(model: Family, n: int, target: Target | None, draws: int, goal: str, **options: Any) -> Plan:
    if goal != "draws":
        raise MechanismRefused(f"{model} is released as draws; use goal='draws' and take the release's mean().")
    _family.refuse_pure(model, target)
    if target is None:
        return plan_with("exact", model, n, None, draws, goal, **options)
    if model.tells_totals and not target.pure:
        # The sizes of its groups are hidden, and only noisy totals tell a reader how many a draw speaks for.
        return plan_with(noisy_statistics.NAME, model, n, target, draws, goal, **options)
    found: list[tuple[float, Plan]] = []
    # Noisy totals are planned at once; what costs a search is only searched while it can still come closer.
    for name in ("exact", "noisy-statistics", "diffused", "concentrated", "exponential"):
        if named(name).refuses(model, goal):
            continue
        try:
            if found and draws > 1 and name != "exact" and _too_far(name, model, n, target, goal, found[0][0]):
                continue
            candidate = plan_with(name, model, n, target, draws, goal, **options)
        except (CalibrationError, MechanismRefused):
            continue
        gap = _gap(model, n, candidate)
        if gap == 0:
            return candidate
        found.append((gap, candidate))
    if not found:
        raise CalibrationError(
            f"no mechanism meets the target {target} for {model}. Ask for a larger epsilon or delta."
        )
    return min(found, key=lambda pair: pair[0])[1]


def _gap(model: Family, n: int, candidate: Plan) -> float:
    """Expected divergence of the true posterior from what a plan releases."""
    chosen = dict(candidate.parameters)
    noise = chosen.get("noise", 0.0) * model.sensitivity
    return _family.divergence(model, n, chosen.get("power", 1.0), chosen.get("strength", 1.0), noise)


def _too_far(name: str, model: Family, n: int, target: Target, goal: str, best: float) -> bool:
    """Whether even one draw, which may be sharper than each of several, would stay farther off than the best so far."""
    return _gap(model, n, plan_with(name, model, n, target, 1, goal)) > best
