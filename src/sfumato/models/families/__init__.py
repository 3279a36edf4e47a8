"""Conjugate families and bounded statistics, one file each, and the table by which a stored model is read back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.errors import FormatError
from sfumato.models.families.beta_bernoulli import BetaBernoulli
from sfumato.models.families.beta_binomial import BetaBinomial
from sfumato.models.families.bounded_mean import BoundedMean
from sfumato.models.families.cross_table import CrossTable
from sfumato.models.families.dirichlet_categorical import DirichletCategorical
from sfumato.models.families.exponential_rate import ExponentialRate
from sfumato.models.families.finite import Finite
from sfumato.models.families.gamma_poisson import GammaPoisson
from sfumato.models.families.gaussian_mean import GaussianMean
from sfumato.models.families.histogram import Histogram
from sfumato.models.families.laplace_scale import LaplaceScale
from sfumato.models.families.logit_normal import LogitNormal
from sfumato.models.families.multivariate_normal import MultivariateNormal
from sfumato.models.families.normal_mean import NormalMean
from sfumato.models.families.normal_precision import NormalPrecision
from sfumato.models.families.quantile import Quantile
from sfumato.models.families.quantiles import Quantiles

__all__ = [
    "TABLE",
    "BetaBernoulli",
    "BetaBinomial",
    "BoundedMean",
    "CrossTable",
    "DirichletCategorical",
    "ExponentialRate",
    "Finite",
    "GammaPoisson",
    "GaussianMean",
    "Histogram",
    "LaplaceScale",
    "LogitNormal",
    "MultivariateNormal",
    "NormalMean",
    "NormalPrecision",
    "Quantile",
    "Quantiles",
    "from_json",
]

# Name in documents -> class; the order is that of the error for an unknown name.
TABLE: dict[str, Any] = {
    family.name: family
    for family in (
        BetaBernoulli,
        BetaBinomial,
        DirichletCategorical,
        Histogram,
        CrossTable,
        BoundedMean,
        Finite,
        Quantile,
        Quantiles,
        GammaPoisson,
        ExponentialRate,
        LaplaceScale,
        NormalPrecision,
        GaussianMean,
        LogitNormal,
        MultivariateNormal,
        NormalMean,
    )
}


def from_json(document: Mapping[str, Any]) -> Any:
    """Rebuild a family from its name and public numbers; unknown names and keys are refused."""
    name = document.get("family")
    if name == "Grouped":
        from sfumato.models.grouped import Grouped

        levels = tuple(document["levels"])
        return Grouped(from_json(document["model"]), document["by"], levels, document.get("weighted", False) is True)
    if name == "Weighted":
        from sfumato.models.weighted import Weighted

        return Weighted(from_json(document["model"]))
    from sfumato.models.networks import TABLE as NETWORKS  # they are built on families

    table = {**TABLE, **NETWORKS}
    if name not in table:
        raise FormatError(f"family must be one of {', '.join(table)}; got {name!r}.")
    try:
        return table[name](**{key: value for key, value in document.items() if key != "family"})
    except TypeError as error:
        raise FormatError(f"a {name} cannot be read: {error}") from error
