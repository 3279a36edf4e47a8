"""The input of privacy pictures: guarantees, plans and releases, by name, all about the same neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sfumato.errors import ArgumentError
from sfumato.mechanisms.plan import Plan
from sfumato.pictures.axes import above, number
from sfumato.pictures.look import MOST
from sfumato.privacy.curves import BoundedRange, Gaussian, Pure
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.neighbours import replaced
from sfumato.queries.attacker import at_distance
from sfumato.release import Release

# The name of the axis of epsilon, the same in every picture.
EPSILON = "epsilon (log ratio of probabilities, nats)"


@dataclass(frozen=True)
class Promise:
    """One guarantee with its name in the picture and the (epsilon, delta) of its plan's target, if any."""

    name: str
    guarantee: Guarantee
    asked: tuple[float, float] | None = None


def promises(given: Any, distance: float | None) -> list[Promise]:
    """Read one or several guarantees, plans or releases (a list, or a mapping from names), or raise."""
    read = [_read(item, name, distance) for name, item in named(given)]
    changes = {promise.guarantee.change for promise in read}
    if len(changes) > 1:
        mixed = ", ".join(f"{adjacency} of one {unit}" for adjacency, unit, _ in sorted(changes))
        raise ArgumentError(f"promises on one picture must be about the same neighbours; got {mixed}. Draw one each.")
    names = [promise.name for promise in read]
    # Equal names are numbered.
    return [
        replace(promise, name=f"{promise.name} ({names[: k + 1].count(promise.name)})")
        if names.count(promise.name) > 1
        else promise
        for k, promise in enumerate(read)
    ]


def named(given: Any) -> list[tuple[str | None, Any]]:
    """Items with their names, None where none was given."""
    if isinstance(given, Mapping):
        items: list[tuple[str | None, Any]] = [(str(name), item) for name, item in given.items()]
    elif isinstance(given, Sequence) and not isinstance(given, str | bytes):
        items = [(None, item) for item in given]
    else:
        items = [(None, given)]
    if not 1 <= len(items) <= MOST:
        raise ArgumentError(f"a picture has 1 to {MOST} lines; got {len(items)}. Choose the ones to compare.")
    return items


def change(guarantee: Guarantee, distance: float | None) -> str:
    """The difference between the two data sets that the guarantee makes hard to distinguish."""
    if distance is not None:
        return f"data sets at distance {number(distance)}"
    return replaced(guarantee.adjacency, guarantee.unit, guarantee.rows)


def _read(item: Any, name: str | None, distance: float | None) -> Promise:
    if not isinstance(item, Guarantee | Plan | Release):
        raise ArgumentError(
            f"a privacy picture is drawn from guarantees, plans or releases; got {type(item).__name__}. "
            "Give one, a list of them, or a mapping from names to them."
        )
    promised = item if isinstance(item, Guarantee) else item.guarantee
    if promised.trust == "not private":
        raise ArgumentError(
            "made with a seeded stream, this protects nobody and has no privacy curve. Draw its plan instead."
        )
    kept = at_distance(promised, distance)
    return Promise((_default_name(item) if name is None else name) + _warning(kept), kept, asked_of(item))


def _default_name(item: Guarantee | Plan | Release) -> str:
    if isinstance(item, Plan):
        return f"{item.mechanism}, {item.draws} draw{'s' * (item.draws > 1)}"
    if isinstance(item, Release):
        return f"{item.schema['name']}: {item.plan['mechanism']}"
    curve = item.curve
    if isinstance(curve, Gaussian):
        return f"Gaussian, mu = {above(curve.mu)}"
    if isinstance(curve, Pure):
        return f"pure, epsilon = {above(curve.epsilon_value)}"
    if isinstance(curve, BoundedRange):
        return f"bounded range, epsilon = {above(curve.epsilon_value)}"
    return item.theorem


def _warning(guarantee: Guarantee) -> str:
    """A suffix for guarantees that are vacuous, weak or rest on an assumption."""
    if guarantee.vacuous:
        return " (vacuous)"
    said = ["weak"] * guarantee.weak + [guarantee.trust] * (guarantee.trust != "proved")
    return f" ({', '.join(said)})" if said else ""


def asked_of(item: Guarantee | Plan | Release) -> tuple[float, float] | None:
    """Epsilon and delta of the target, where it has both and they are positive, as a logarithmic axis needs."""
    if isinstance(item, Guarantee):
        return None
    if isinstance(item, Plan):
        epsilon, delta = (None, None) if item.target is None else (item.target.epsilon, item.target.delta)
    else:
        target = item.plan["target"] or {}
        epsilon, delta = target.get("epsilon"), target.get("delta")
    return (float(epsilon), float(delta)) if epsilon and delta else None
