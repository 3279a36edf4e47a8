"""The section of a report on the attacks that the release's plan was put to."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from sfumato.auditing.result import Audit
from sfumato.errors import ArgumentError, FormatError
from sfumato.queries import attacker
from sfumato.shells import svg
from sfumato.shells.report_tables import table


def section(release: Any, path: Path) -> str:
    """Claim, attack, bound, power and a picture; an audit of another plan is refused."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, ValueError):
        raise FormatError(f"{path} is no audit: it is not JSON. sfumato audit -o writes one.") from None
    result = Audit.from_json(document if isinstance(document, dict) else {}, release.guarantee)
    if result.digest != release.plan_digest:
        raise ArgumentError(
            f"{path} is an audit of another plan ({result.digest[:16]}); this release followed {release.plan_digest[:16]}."
        )
    rows = [[name, text] for name, text in result.lines()]
    claim = attacker.trade_off(release.guarantee, [k / 100 for k in range(101)])
    chart = svg.trade_off_chart(
        claim,
        [point for point in result.points if sum(point) < 1],
        "wrong accusations",
        "records overlooked",
        "The attack (points) and the claim (line)",
    )
    text = (
        "<p>The plan was carried out many times on made-up data sets that differ in one record, and a test tried to tell them "
        "apart. Points are bounds on the two errors of that test; a point below the line would refute the claim. "
        "An attack can refute a promise but not prove it: the proof is the theorem above.</p>"
    )
    return text + chart + table(["", escape("")], rows, numbers=False)
