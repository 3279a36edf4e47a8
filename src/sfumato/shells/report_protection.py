"""How far a release protects and why: the privacy curve, the errors of an attacker, the theorem and its hypotheses."""

from __future__ import annotations

import math
from html import escape
from typing import Any

from sfumato.pictures import privacy_curve, svg
from sfumato.privacy.plain_reasons import phrase
from sfumato.shells.html_page import folded, table
from sfumato.wording import record_in_words


def protection(release: Any) -> str:
    """The privacy curve, and the errors of a test for one record."""
    rows = [[f"{100 * level:.0f} %", f"{_down(100 * miss):.1f} %"] for level, miss in release.attacker().trade_off]
    text = (
        f"<p>Two data sets that differ in one {escape(record_in_words(release))} give this release with nearly the same "
        "probabilities. The curve shows how nearly: at every epsilon the delta that is left.</p>"
    )
    second = (
        "<p>Somebody who wants to find out whether a given record was used, and accuses wrongly as often as the first column "
        "says, overlooks the record at least as often as the second.</p>"
    )
    said = table(["wrong accusations", "records overlooked, at least"], rows)
    return f"{text}{svg.figure(privacy_curve.of_release(release))}{second}{said}"


def _down(percent: float) -> float:
    """A percentage rounded down to one decimal: a lower bound is never shown larger than it is."""
    return math.floor(10 * percent) / 10


def theorem(release: Any) -> str:
    """The reason in plain words; the theorem's hypotheses are folded away for experts."""
    guarantee = release.guarantee
    rows = [[a.name, a.symbol, str(a.value), a.origin] for a in guarantee.assumptions]
    plain = phrase(guarantee.theorem)
    said = f"{plain[0].upper()}{plain[1:]}. " if plain else ""
    named = (
        f"Theorem: {escape(guarantee.theorem)}. Source: {escape(guarantee.source)}. Trust: {escape(guarantee.trust)}."
    )
    head = f"<p>{said}{named}</p>"
    if not rows:
        return head
    listed = table(["hypothesis", "symbol", "value", "from"], rows, numbers=False)
    return head + folded(f"For experts: the {len(rows)} hypotheses that were checked", listed)
