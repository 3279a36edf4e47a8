"""What the plan of a regression says before anything is paid: which fit its intervals will be for, or that there will be none."""

from __future__ import annotations

from collections.abc import Collection

from sfumato.errors import ArgumentError
from sfumato.models.gibbs import Gibbs
from sfumato.models.reading import FamilyOrGibbs
from sfumato.queries.statistics.table import reader_of

# Procedures whose releases hold what intervals are computed from: the second one if it keeps its transcript.
_SHAPED, _PATH = "shaped-path", "path"


def notes(model: FamilyOrGibbs, procedure: str, keep: Collection[str]) -> list[tuple[str, str]]:
    """Lines of a printed plan, each with its heading; none for other models."""
    if not isinstance(model, Gibbs):
        return []
    try:
        reader_of(model)
    except ArgumentError as error:
        # The sentence with which the release would refuse.
        sentence = str(error)
        return [("intervals", f"none. {sentence[:1].upper()}{sentence[1:]}")]
    if procedure == _SHAPED or (procedure == _PATH and "transcript" in keep):
        return [("intervals", f"for {model.loss.estimand}")]
    advice = "keep=('transcript',)" if procedure == _PATH else "goal='estimate'"
    return [("intervals", f"none, neither of coefficients nor of predictions. They need {advice}, at the same price")]
