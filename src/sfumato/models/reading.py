"""A stored model, read back: families by their table, Gibbs models by their loss and prior."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from sfumato.errors import FormatError
from sfumato.models import families, priors
from sfumato.models.families.family import Family
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses import LOSSES

# Every model that a plan may be made for; `summed` distinguishes the two kinds.
FamilyOrGibbs: TypeAlias = Family | Gibbs


def model_from_json(document: Mapping[str, Any]) -> Any:
    """Rebuild a model from its document; unknown names and keys are refused."""
    if "family" in document:
        return families.from_json(document)
    try:
        return Gibbs(
            _loss(document["loss"]),
            _prior(document["prior"]),
            document["dimension"],
            document.get("intercept", 0.0),
            document.get("terms"),
        )
    except (KeyError, TypeError) as error:
        raise FormatError(f"a Gibbs model cannot be read: {error!r}") from error


def _loss(document: Mapping[str, Any]) -> Any:
    name = document["loss"]
    if name not in LOSSES:
        raise FormatError(f"loss must be one of {', '.join(LOSSES)}; got {name!r}: functions cannot be read back.")
    return LOSSES[name](**{key: value for key, value in document.items() if key != "loss"})


def _prior(document: Mapping[str, Any]) -> priors.Prior:
    kind = document["prior"]
    if kind == "gaussian":
        return priors.Gaussian(document["precision"], document["mean"])
    if kind == "flat":
        return priors.Flat()
    if kind == "ball":
        return priors.Ball(_prior(document["of"]), document["radius"], document["centre"])
    if kind == "box":
        return priors.Box(_prior(document["of"]), document["lower"], document["upper"])
    raise FormatError(f"prior must be gaussian, flat, ball or box; got {kind!r}.")
