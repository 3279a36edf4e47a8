"""The errata of the three papers as code: CASES, one entry for each row of docs/errata.md."""

from . import (
    dimitrakakis,
    dimitrakakis_examples,
    dimitrakakis_remarks,
    geumlek,
    minami,
    minami_details,
    minami_supplement,
)
from .case import FALSE, LABELS, LOOSE, NOTATION, PROOF, Bound, Case, problems

CASES: tuple[Case, ...] = (
    *minami.CASES,
    *minami_supplement.CASES,
    *minami_details.CASES,
    *geumlek.CASES,
    *dimitrakakis.CASES,
    *dimitrakakis_examples.CASES,
    *dimitrakakis_remarks.CASES,
)

__all__ = ["CASES", "FALSE", "LABELS", "LOOSE", "NOTATION", "PROOF", "Bound", "Case", "problems"]
