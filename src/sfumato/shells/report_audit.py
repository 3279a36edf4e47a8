"""The section of a report on the attacks that the release's plan was put to."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from sfumato.auditing.result import Audit
from sfumato.errors import ArgumentError, FormatError
from sfumato.pictures import svg
from sfumato.pictures.audit import of_audit
from sfumato.shells.html_page import table


def section(release: Any, path: Path) -> str:
    """Claim, attack, bound, power and a picture; an audit of another plan is refused."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise FormatError(f"{path} is no audit: it is not JSON. sfumato audit -o writes one.") from None
    result = Audit.from_json(document if isinstance(document, dict) else {}, release.guarantee)
    if result.digest != release.plan_digest:
        raise ArgumentError(
            f"{path} is an audit of another plan ({result.digest[:16]}); this release followed {release.plan_digest[:16]}."
        )
    chart = svg.figure(of_audit(result))
    sure = f"{100 * result.level:g} %"
    text = (
        "<p>The plan was carried out many times on made-up data sets that differ in one record, and a test tried to tell them "
        f"apart. Points are bounds on its two errors, with {escape(sure)} confidence; under the claim no test is below the line, "
        "and blind guessing is on the dashes. "
        "An attack can refute a claim and never prove it: the proof is the theorem named above.</p>"
        if result.points
        else "<p>Nothing was sampled: the plan was replayed on made-up data sets that differ in one record.</p>"
    )
    runs = f" --runs {result.runs}" if result.runs else ""
    text += (
        f"<p>These are the numbers of the file {escape(path.name)}; the same seed repeats them: "
        f"<code>sfumato audit SPEC{runs} --seed {result.seed}</code>.</p>"
    )
    return text + chart + table(["fact", "result"], [list(row) for row in result.lines()], numbers=False)
