"""What the numbers of a plan mean, in a few words before the numbers themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Procedure -> what it does; {steps}, {counts} and {noise} are filled in.
_DOES = {
    "law": "{counts}",
    "lattice": "{counts}",
    "envelope": "{counts}",
    "kinked-grid": "{counts}",
    "reference-chain": "{counts}",
    "last-iterate": "{steps} noisy steps, {counts}",
    "path": "{steps} noisy steps, all paid for",
    "shaped-path": "{steps} noisy steps in coordinates that were learnt first",
    "shaped-chain": "{steps} noisy steps in coordinates that were learnt first",
    "noisy-tables": "noisy tables of pairs of columns, and a mixture fitted to them",
    "noisy-totals": "normal noise of {noise} times what one record can change",
}


def in_plain_words(procedure: str, parameters: Mapping[str, Any]) -> str:
    """A phrase such as "each record counts as 0.16 of one"; "" for a procedure or numbers that are not known."""
    power, strength = parameters.get("power", 1.0), parameters.get("strength") or 1.0
    try:
        counts = "each record counts in full" if power == 1 else f"each record counts as {power:.2g} of one"
        if strength != 1:
            counts += f", the prior {strength:.3g} times"
        noise = f"{parameters.get('noise', 0.0):.3g}"
        return _DOES.get(procedure, "").format(steps=parameters.get("steps"), counts=counts, noise=noise)
    except (TypeError, ValueError):  # the record of a file that somebody edited
        return ""


def made_by(mechanism: str, procedure: str, parameters: Mapping[str, Any], numbers: str) -> str:
    """The mechanism, what its numbers mean, and the numbers themselves in brackets."""
    plain = in_plain_words(procedure, parameters)
    return f"{mechanism}: {plain} ({numbers})" if plain else f"{mechanism} ({numbers})"
