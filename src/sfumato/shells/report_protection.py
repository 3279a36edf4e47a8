"""How far a release protects and why: the privacy curve, the errors of an attacker, the theorem and its hypotheses."""

from __future__ import annotations

import math
from html import escape
from typing import Any

from sfumato.pictures import axes, svg
from sfumato.pictures.description import Chart, Dots, Line
from sfumato.privacy.plain_reasons import phrase
from sfumato.shells.html_page import folded, table

# Below this a delta protects against everything; the axis would only grow.
_LEAST_DELTA = 1e-12


def protection(release: Any, target: tuple[float, float] | None) -> str:
    """The privacy curve, and the errors of a test for one record."""
    rows = [[f"{100 * level:.0f} %", f"{100 * miss:.1f} %"] for level, miss in release.attacker().trade_off]
    text = (
        f"<p>Two data sets that differ in one {escape(release.schema['unit'])} give this release with nearly the same "
        "probabilities. The curve shows how nearly: at every epsilon the delta that is left.</p>"
    )
    second = (
        "<p>Somebody who wants to find out whether a given record was used, and accuses wrongly as often as the first column "
        "says, overlooks the record at least as often as the second.</p>"
    )
    drawn = curve(release, target)
    return (
        text
        + ("" if drawn is None else svg.figure(drawn))
        + second
        + table(["wrong accusations", "records overlooked, at least"], rows)
    )


def curve(release: Any, target: tuple[float, float] | None) -> Chart | None:
    """Delta at every epsilon; None where it is too small to be drawn."""
    guarantee = release.guarantee
    # Twice the promised epsilon shows how the curve goes on; 3 where little is promised.
    top = max(3.0, 2.0 * (target[0] if target else 1.0))
    points = [(epsilon, float(guarantee.delta(epsilon))) for epsilon in (top * k / 60 for k in range(61))]
    kept = tuple(point for point in points if point[1] > _LEAST_DELTA)
    if len(kept) < 2:
        return None
    least = min(delta for _, delta in kept)
    marks: list[Any] = [Line(kept, 0, "this release")]
    said = ""
    if target is not None and target[0] <= top and target[1] >= least:
        marks.append(Dots((target,), None, f"asked for: epsilon {target[0]:g}, delta {target[1]:g}", hollow=True))
        said = f" Asked for: epsilon {target[0]:g} at delta {target[1]:g}."
    across = axes.linear("epsilon (log ratio of probabilities)", 0.0, 1.05 * kept[-1][0], 6)
    up = axes.logarithmic("delta (probability)", 10.0 ** math.floor(math.log10(least)), 1.0, 7)
    ends = f"Delta falls from {kept[0][1]:.2g} at epsilon {kept[0][0]:g} to {kept[-1][1]:.2g} at epsilon {kept[-1][0]:.3g}."
    return Chart("The privacy curve", across, up, tuple(marks), f"Privacy curve. {ends}{said}")


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
