"""What may be put on one privacy picture: guarantees, plans and releases, by name, all about the same neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sfumato.errors import ArgumentError
from sfumato.mechanisms.plan import Plan
from sfumato.plots._drawing import MOST, number
from sfumato.privacy.curves import BoundedRange, Gaussian, Pure
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.metric import Metric
from sfumato.release import Release


@dataclass(frozen=True)
class Promise:
    """One guarantee with its name in the picture and, where a plan says so, the (epsilon, delta) that was asked for."""

    name: str
    guarantee: Guarantee
    asked: tuple[float, float] | None = None


def promises(given: Any, distance: float | None) -> list[Promise]:
    """Read one or several guarantees, plans or releases (a list, or a mapping from names), or raise."""
    found = [_read(item, name, distance) for name, item in named(given)]
    changes = {(promise.guarantee.adjacency, promise.guarantee.unit) for promise in found}
    if len(changes) > 1:
        said = ", ".join(f"{adjacency} of one {unit}" for adjacency, unit in sorted(changes))
        raise ArgumentError(f"promises on one picture must be about the same neighbours; got {said}. Draw one each.")
    names = [promise.name for promise in found]
    alike = [names[:k].count(name) for k, name in enumerate(names)]
    return [
        replace(p, name=f"{p.name} ({k + 1})" if names.count(p.name) > 1 else p.name)
        for p, k in zip(found, alike, strict=True)
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
        raise ArgumentError(f"a picture tells 1 to {MOST} lines apart; got {len(items)}. Choose the ones to compare.")
    return items


def change(guarantee: Guarantee, distance: float | None) -> str:
    """What differs between the two data sets that cannot be told apart."""
    if distance is not None:
        return f"data sets at distance {number(distance)}"
    if guarantee.adjacency == "replace-entry":
        return f"one entry of a {guarantee.unit} replaced"
    return f"one {guarantee.unit} replaced"


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
    kept = _ordinary(promised, distance)
    said = name if name is not None else _in_words(item)
    return Promise(said + _warning(kept), kept, _asked(item))


def _ordinary(guarantee: Guarantee, distance: float | None) -> Guarantee:
    """The guarantee for neighbours, or for data sets at most `distance` apart where it is one under a distance."""
    if not isinstance(guarantee.curve, Metric):
        if distance is not None:
            raise ArgumentError(
                "distance is for metric guarantees; this one protects against any change of one record."
            )
        return guarantee
    if distance is None:
        raise ArgumentError(
            f"a metric guarantee needs distance=, how far apart the data sets are by {guarantee.curve.distance}."
        )
    return replace(guarantee, curve=guarantee.curve.within(distance), adjacency="replace-one")


def _in_words(item: Guarantee | Plan | Release) -> str:
    if isinstance(item, Plan):
        return f"{item.mechanism}, {item.draws} draw{'s' * (item.draws > 1)}"
    if isinstance(item, Release):
        return f"{item.schema['name']}: {item.plan['mechanism']}"
    curve = item.curve
    if isinstance(curve, Gaussian):
        return f"Gaussian, mu = {number(curve.mu)}"
    if isinstance(curve, Pure):
        return f"pure, epsilon = {number(curve.epsilon_value)}"
    if isinstance(curve, BoundedRange):
        return f"bounded range, epsilon = {number(curve.epsilon_value)}"
    return item.theorem


def _warning(guarantee: Guarantee) -> str:
    """What a reader must not miss: that nothing is promised, or that it rests on an assumption."""
    if guarantee.vacuous:
        return " (vacuous)"
    return "" if guarantee.trust == "proved" else f" ({guarantee.trust})"


def _asked(item: Guarantee | Plan | Release) -> tuple[float, float] | None:
    """Epsilon and delta of the target, where both are there and can stand on a logarithmic axis."""
    if isinstance(item, Guarantee):
        return None
    if isinstance(item, Plan):
        epsilon, delta = (None, None) if item.target is None else (item.target.epsilon, item.target.delta)
    else:
        target = item.plan["target"] or {}
        epsilon, delta = target.get("epsilon"), target.get("delta")
    return (float(epsilon), float(delta)) if epsilon and delta else None
