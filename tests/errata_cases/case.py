"""One erratum as code: what is printed, what is true, its label, and the computation that the label rests on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache

import numpy as np

FALSE = "false"  # the statement fails at a setting that its hypotheses allow
LOOSE = "loose but valid"  # the statement holds, and a better constant is proved
NOTATION = "notation"  # a slip of the pen or of the text at hand: what is meant is clear and right
PROOF = "proof"  # a step of the printed proof fails; the statement holds by another proof
LABELS = (FALSE, LOOSE, NOTATION, PROOF)

# Sums and quadratures here are accurate to about 1e-9; a bound counts as broken only by a thousand times that.
_ROUNDING = 1e-9
_BROKEN = 1e-6
# Two readings of a formula are different if they differ by more than a hundredth.
_DIFFERENT = 0.01
# A valid bound is called loose from a twentieth on.
_LOOSE_BY = 1.05
_DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?:e-?\d+)?")


@dataclass(frozen=True)
class Evidence:
    """What every computation gives: a sentence for the page, and the numbers of the row with their computed values.

    `stated` maps a number as the row writes it ("8.08") to its computed value; the two must agree to the last digit.
    """

    shows: str
    stated: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Bound(Evidence):
    """A bound: the paper says actual[i] <= claimed[i] in every setting i.

    `corrected` is the bound that replaces it. `safe` holds pairs (claimed, actual) of settings to which the statement
    must be restricted: there it holds.
    """

    claimed: Sequence[float] = ()
    actual: Sequence[float] = ()
    corrected: Sequence[float] | None = None
    safe: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True)
class Reading(Evidence):
    """A formula: its value as printed, as it is meant, and the same quantity computed in another way."""

    printed: Sequence[float] = ()
    meant: Sequence[float] = ()
    truth: Sequence[float] = ()
    tolerance: float = 1e-6


@dataclass(frozen=True)
class Gap(Evidence):
    """A proof: step_actual <= step_claimed is a step that fails; actual <= claimed is the statement, which holds."""

    step_claimed: Sequence[float] = ()
    step_actual: Sequence[float] = ()
    claimed: Sequence[float] = ()
    actual: Sequence[float] = ()


@dataclass(frozen=True)
class Case:
    """A row of docs/errata.md. `paper` is M, G or D; `test` names a deeper test, or is empty."""

    paper: str
    where: str
    label: str
    printed: str
    true: str
    compute: Callable[[], Evidence]
    test: str = ""

    @property
    def evidence(self) -> Evidence:
        """The computation, done once in a process."""
        return _computed(self.compute)


@cache
def _computed(compute: Callable[[], Evidence]) -> Evidence:
    return compute()


def problems(case: Case) -> list[str]:
    """Why the computed evidence does not support the row; empty if it does."""
    checks = {FALSE: _false, LOOSE: _loose, NOTATION: _notation, PROOF: _proof}
    return [*checks[case.label](case.evidence), *_misstated(case)]


def _holds(actual: Sequence[float], bound: Sequence[float]) -> bool:
    """actual <= bound in every setting, up to rounding; at least one setting."""
    a, b = np.asarray(actual, float), np.asarray(bound, float)
    return a.size > 0 and bool(np.all(a <= b + _ROUNDING * (1 + np.abs(b))))


def _broken(actual: Sequence[float], bound: Sequence[float]) -> bool:
    """actual > bound in some setting, by more than rounding."""
    a, b = np.asarray(actual, float), np.asarray(bound, float)
    return bool(np.any(a > b * (1 + _BROKEN) + 1e-12))


def _false(evidence: Evidence) -> list[str]:
    if not isinstance(evidence, Bound):
        return ["a false statement needs a bound that is broken"]
    wrong = []
    if not _broken(evidence.actual, evidence.claimed):
        wrong.append("the printed bound holds in every setting computed")
    if evidence.corrected is None and not evidence.safe:
        wrong.append("neither a corrected bound nor a setting in which the statement holds is computed")
    return wrong + _corrections(evidence)


def _loose(evidence: Evidence) -> list[str]:
    if not isinstance(evidence, Bound) or evidence.corrected is None:
        return ["a loose statement needs a bound and a better one"]
    wrong = []
    if not _holds(evidence.actual, evidence.claimed):
        wrong.append("the printed bound is broken")
    if np.min(np.asarray(evidence.claimed) / np.asarray(evidence.corrected)) < _LOOSE_BY:
        wrong.append("the corrected bound is no better")
    return wrong + _corrections(evidence)


def _corrections(evidence: Bound) -> list[str]:
    wrong = []
    if evidence.corrected is not None and not _holds(evidence.actual, evidence.corrected):
        wrong.append("the corrected bound is broken")
    if any(not _holds([actual], [claimed]) for claimed, actual in evidence.safe):
        wrong.append("the statement fails where it should hold")
    return wrong


def _notation(evidence: Evidence) -> list[str]:
    if not isinstance(evidence, Reading):
        return ["a slip of notation needs a formula as printed and as meant"]
    printed, meant, truth = (np.asarray(x, float) for x in (evidence.printed, evidence.meant, evidence.truth))
    wrong = []
    if not (meant.size and np.allclose(meant, truth, rtol=evidence.tolerance, atol=0)):
        wrong.append("the formula as meant is not the computed quantity")
    if not np.all(np.abs(printed - truth) > _DIFFERENT * np.abs(truth)):
        wrong.append("the formula as printed is the computed quantity")
    return wrong


def _proof(evidence: Evidence) -> list[str]:
    if not isinstance(evidence, Gap):
        return ["a fault of a proof needs a step that fails and a statement that holds"]
    wrong = []
    if not _broken(evidence.step_actual, evidence.step_claimed):
        wrong.append("the step holds in every setting computed")
    if not _holds(evidence.actual, evidence.claimed):
        wrong.append("the statement fails")
    return wrong


def _misstated(case: Case) -> list[str]:
    """Numbers of the row that are not what is computed, and decimals of its truth that nothing computes."""
    stated = case.evidence.stated
    wrong = [f"{text} is stated, {value:.8g} computed" for text, value in stated.items() if not rounds_to(value, text)]
    wrong += [f"{text} is computed and not in the row" for text in stated if text not in case.printed + case.true]
    return wrong + [
        f"{text} is in the row and not computed" for text in _DECIMAL.findall(case.true) if text not in stated
    ]


def rounds_to(value: float, text: str) -> bool:
    """Whether a value agrees with a number as written, to half a unit of its last digit."""
    exponent = Decimal(text).as_tuple().exponent
    return abs(value - float(text)) <= 0.5000001 * 10.0 ** float(exponent)
