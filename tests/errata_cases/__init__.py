"""The errata of the three papers as code: CASES, one entry for each row of docs/errata.md."""

from . import dimitrakakis, dimitrakakis_examples, geumlek, minami, minami_supplement
from .case import FALSE, LABELS, LOOSE, NOTATION, PROOF, Bound, Case, problems

CASES: tuple[Case, ...] = (
    *minami.CASES,
    *minami_supplement.CASES,
    *geumlek.CASES,
    *dimitrakakis.CASES,
    *dimitrakakis_examples.CASES,
)

__all__ = ["CASES", "FALSE", "LABELS", "LOOSE", "NOTATION", "PROOF", "Bound", "Case", "problems"]
