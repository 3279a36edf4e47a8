"""The pictures of a release: the one that shows its result first."""

from __future__ import annotations

from typing import Any

from sfumato.models.families.histogram import Histogram
from sfumato.models.networks.bayesian_network import BayesianNetwork
from sfumato.models.reading import model_from_json
from sfumato.pictures import dot_plots, of_cross, of_histogram, of_learned, of_network, of_regression
from sfumato.pictures.description import Picture
from sfumato.pictures.results import Results, of_family
from sfumato.queries.own_units import regression_of
from sfumato.wording import date_of_release


def pictures(release: Any, level: float = 0.9) -> list[Picture]:
    """Pictures of what was released, the main one first; intervals of this level where the release has them."""
    model = model_from_json(release.plan["model"])
    if regression_of(release.plan) is not None:
        return [of_regression.picture(release, level)]
    if of_cross.is_shown(release):
        return [of_cross.picture(release, level)]
    if of_learned.is_learned(release.plan):
        return of_learned.pictures(release, level)
    if isinstance(model, BayesianNetwork):
        return of_network.pictures(release, level)
    return [picture_of_family(release, of_family(release, level))]


def picture_of_family(release: Any, results: Results) -> Picture:
    """The picture of a family whose results are known: bars for a histogram, dots for all others."""
    if isinstance(model_from_json(release.plan["model"]), Histogram):
        return of_histogram.picture(release, results)
    return dot_plots.from_results(results, date_of_release(release), release.private)
