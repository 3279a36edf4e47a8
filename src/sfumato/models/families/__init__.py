"""Conjugate families and bounded statistics, one file each, and the table by which a stored model is read back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.errors import FormatError
from sfumato.models.families.beta_bernoulli import BetaBernoulli
from sfumato.models.families.bounded_mean import BoundedMean

__all__ = ["TABLE", "BetaBernoulli", "BoundedMean", "from_json"]

TABLE: dict[str, Any] = {"BetaBernoulli": BetaBernoulli, "BoundedMean": BoundedMean}


def from_json(document: Mapping[str, Any]) -> Any:
    """Rebuild a family from its name and public numbers; unknown names and keys are refused."""
    name = document.get("family")
    if name not in TABLE:
        raise FormatError(f"family must be one of {', '.join(TABLE)}; got {name!r}.")
    try:
        return TABLE[name](**{key: value for key, value in document.items() if key != "family"})
    except TypeError as error:
        raise FormatError(f"a {name} cannot be read: {error}") from error
