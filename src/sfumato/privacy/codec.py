"""Curves from their JSON documents: a closed table of kinds, unknown kinds and keys refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from sfumato.errors import FormatError
from sfumato.privacy.compose import compose
from sfumato.privacy.curves import BoundedRange, Curve, Gaussian, Pure
from sfumato.privacy.metric import Metric
from sfumato.privacy.profiles import Profile
from sfumato.privacy.renyi import Renyi

_KEYS: dict[str, tuple[str, ...]] = {
    "gaussian": ("mu",),
    "pure": ("epsilon",),
    "bounded-range": ("epsilon",),
    "renyi": ("orders", "values"),
    "metric": ("epsilon", "delta", "distance"),
    "profile": ("name", "parameters"),
    "composed": ("parts",),
}
# Curves whose keys are the arguments of their class.
_PLAIN: dict[str, Callable[..., Curve]] = {
    "gaussian": Gaussian, "pure": Pure, "bounded-range": BoundedRange, "metric": Metric
}  # fmt: skip


def refuse_unknown(document: object, keys: tuple[str, ...], what: str) -> Mapping[str, Any]:
    """Return the document if it is a mapping with exactly `keys`, or raise FormatError naming the difference."""
    if not isinstance(document, Mapping):
        raise FormatError(f"{what} must be a JSON object; got {type(document).__name__}.")
    extra, missing = sorted(set(document) - set(keys)), sorted(set(keys) - set(document))
    if extra or missing:
        differences = [f"unknown {', '.join(map(repr, extra))}"] if extra else []
        differences += [f"missing {', '.join(map(repr, missing))}"] if missing else []
        raise FormatError(f"{what} must have exactly the keys {', '.join(keys)}; {'; '.join(differences)}.")
    return document


def curve_from_json(document: object) -> Curve:
    """Read any curve."""
    kind = document.get("curve") if isinstance(document, Mapping) else document
    if not isinstance(document, Mapping) or not isinstance(kind, str) or kind not in _KEYS:
        raise FormatError(f"curve must be one of {', '.join(sorted(_KEYS))}; got {kind!r}.")
    pure = ("epsilon",) if kind == "composed" and "epsilon" in document else ()
    fields = refuse_unknown(document, ("curve", *_KEYS[kind], *pure), f"a {kind} curve")
    try:
        curve = _build(kind, fields)
        if kind == "composed" and fields.get("epsilon") != curve.to_json().get("epsilon"):
            raise FormatError(
                "epsilon of a composed curve is the sum of its pure parts' alone; the document has another."
            )
    except (TypeError, ValueError) as error:
        raise FormatError(f"a {kind} curve cannot be read: {error}") from error
    return curve


def _build(kind: str, fields: Mapping[str, Any]) -> Curve:
    if kind in _PLAIN:
        return _PLAIN[kind](**{key: fields[key] for key in _KEYS[kind]})
    if kind == "renyi":
        listed = [_listed(fields[key], key) for key in ("orders", "values")]
        return Renyi(*([math.inf if v == "inf" else v for v in values] for values in listed))
    if kind == "profile":
        if not isinstance(fields["parameters"], Mapping):
            raise FormatError(f"parameters must be a JSON object; got {type(fields['parameters']).__name__}.")
        return Profile(fields["name"], fields["parameters"])
    parts = [
        refuse_unknown(part, ("count", "part"), "a part of a composed curve")
        for part in _listed(fields["parts"], "parts")
    ]
    return compose([(curve_from_json(part["part"]), part["count"]) for part in parts])


def _listed(value: object, key: str) -> list[Any]:
    if not isinstance(value, list):
        raise FormatError(f"{key} must be a JSON list; got {type(value).__name__}.")
    return value
