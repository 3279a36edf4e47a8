"""Conjugate families and bounded statistics, one file each, and the table by which a stored model is read back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.errors import FormatError
from sfumato.models.families.beta_bernoulli import BetaBernoulli
from sfumato.models.families.beta_binomial import BetaBinomial
from sfumato.models.families.bounded_mean import BoundedMean
from sfumato.models.families.dirichlet_categorical import DirichletCategorical

__all__ = ["TABLE", "BetaBernoulli", "BetaBinomial", "BoundedMean", "DirichletCategorical", "from_json"]

TABLE: dict[str, Any] = {
    family.name: family for family in (BetaBernoulli, BetaBinomial, DirichletCategorical, BoundedMean)
}


def from_json(document: Mapping[str, Any]) -> Any:
    """Rebuild a family from its name and public numbers; unknown names and keys are refused."""
    name = document.get("family")
    if name == "Grouped":
        from sfumato.models.grouped import Grouped

        return Grouped(from_json(document["model"]), document["by"], tuple(document["levels"]))
    if name not in TABLE:
        raise FormatError(f"family must be one of {', '.join(TABLE)}; got {name!r}.")
    try:
        return TABLE[name](**{key: value for key, value in document.items() if key != "family"})
    except TypeError as error:
        raise FormatError(f"a {name} cannot be read: {error}") from error
