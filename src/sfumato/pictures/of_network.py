"""The pictures of a Bayesian network."""

from __future__ import annotations

from typing import Any

from sfumato.pictures.description import Picture
from sfumato.pictures.dot_plots import from_results
from sfumato.pictures.results import of_family


def pictures(release: Any, level: float = 0.9) -> list[Picture]:
    """The tables as a dot plot."""
    return [from_results(of_family(release, level), None, release.private)]
