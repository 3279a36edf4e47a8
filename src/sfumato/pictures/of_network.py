"""The pictures of a Bayesian network."""

from __future__ import annotations

from typing import Any

from sfumato.pictures.description import Picture
from sfumato.pictures.of_family import picture


def pictures(release: Any, level: float = 0.9) -> list[Picture]:
    """The tables as a dot plot."""
    return [picture(release, level)]
