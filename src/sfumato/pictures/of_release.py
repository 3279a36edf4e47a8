"""The pictures of a release: the one that shows its result first."""

from __future__ import annotations

from typing import Any

from sfumato.models.families.histogram import Histogram
from sfumato.models.networks.bayesian_network import BayesianNetwork
from sfumato.models.reading import model_from_json
from sfumato.pictures import of_cross, of_family, of_histogram, of_network, of_regression
from sfumato.pictures.description import Picture
from sfumato.queries.own_units import regression_of


def pictures(release: Any, level: float = 0.9) -> list[Picture]:
    """Pictures of what was released, the main one first; intervals of this level where the release has them."""
    model = model_from_json(release.plan["model"])
    if regression_of(release.plan) is not None:
        return [of_regression.picture(release, level)]
    if of_cross.is_shown(release):
        return [of_cross.picture(release, level)]
    if isinstance(model, Histogram):
        return [of_histogram.picture(release, level)]
    if isinstance(model, BayesianNetwork):
        return of_network.pictures(release, level)
    return [of_family.picture(release, level)]
