"""The picture of an audit: the errors of an attack beside the trade-off that the plan claims for every test."""

from __future__ import annotations

from typing import Any

from sfumato.pictures import axes
from sfumato.pictures.description import Chart, Dots, Line, Mark
from sfumato.pictures.trade_off import GUESSING, MARKED, levels, rate


def of_audit(result: Any) -> Chart:
    """What `sf.audit` returned: the claim as a line, and points that bound both errors of the attack with its confidence."""
    pairs = tuple(result.claimed_trade_off(levels()))
    marks: list[Mark] = [Line(pairs, 0, "claim: no test is below")]
    claim = (
        f"Under the claim a test with 5 % false accusations misses at least {axes.below(100 * dict(pairs)[MARKED])} %"
    )
    attack = "nothing was sampled"
    if result.points:
        name = f"attack: {100 * result.level:g} % bounds, {result.runs:,} runs a side"
        marks.append(Dots(tuple((a, b) for a, b in result.points), 1, name))
        verdict = "refute" if result.broken else "do not refute"
        attack = (
            f"{len(result.points)} bounds on the errors of the attack, from {result.runs:,} runs a side, {verdict} it"
        )
    return Chart(
        "An attack on the plan, and what the plan claims",
        rate("false accusations (probability)"),
        rate("misses (probability)"),
        (*marks, GUESSING),
        f"{claim}; {attack}.",
        "upper right",
    )
