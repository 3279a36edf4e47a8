"""The releases of a ledger's report: each sealed one is loaded, verified and shown with its largest estimates."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.queries.own_units import regression_of
from sfumato.release import Release
from sfumato.shells import report
from sfumato.shells.ledger_report_checks import DAMAGED, Check, attempt, is_release, of_sealed
from sfumato.shells.ledger_report_state import Charge
from sfumato.shells.report_regression import _narrow as narrow
from sfumato.shells.report_tables import table
from sfumato.wording import notice, number_writer, shown_labels

# The level of `Release.interval` by default.
_LEVEL = 0.9
# Estimates shown of one release; its own report has all of them.
MOST_ROWS = 12
# Releases shown with their estimates, the newest; 30 pages' worth would not be read.
MOST_SHOWN = 30


@dataclass(frozen=True)
class Sealed:
    """What a page shows of one sealed release: a title in words, its number of records, its checks and its contents as HTML."""

    charge: Charge
    title: str
    n: int | None
    checks: tuple[Check, ...]
    contents: str


def looked_at(ledger: Any, name: str, charge: Charge, shown: bool) -> Sealed:
    """Load and verify the release of a sealed charge. The contents of one that fails are not shown."""
    request = charge.entry.request_id
    subject = f"request {request!r}"
    try:
        data = ledger.sealed(name, request)
    except SfumatoError as error:
        return _failed(charge, Check(subject, "its sealed bytes are unchanged", str(error)))
    if not is_release(data):
        said = f"<p>Under this request {len(data):,} bytes are sealed that are no release of Sfumato; they are not shown.</p>"
        return Sealed(charge, "other bytes", None, (), said)
    readable = attempt(subject, "what is sealed can be read as a release", lambda: Release.from_bytes(data))
    if not readable.passed:
        return _failed(charge, readable)
    release = Release.from_bytes(data)
    checks = tuple(of_sealed(release, charge.receipt, subject))
    if not checks[0].passed:
        return Sealed(charge, "a release that FAILED its verification", None, checks, "")
    return Sealed(charge, title_of(release), release.plan["n"], checks, contents(release) if shown else "")


def _failed(charge: Charge, check: Check) -> Sealed:
    return Sealed(charge, "a release that FAILED its verification", None, (check,), "")


def title_of(release: Release) -> str:
    """The model in a few words."""
    return report._what(release)


def contents(release: Release) -> str:
    """The warning of a seeded release, the largest estimates and the promise."""
    warned = notice(release)
    head = f'<div class="promise warning">{escape(warned)}</div>' if warned else ""
    said = "" if warned else f"<p>{escape(release.attacker().sentence)}</p>"
    return f"{head}{_estimates(release)}{said}<p>{escape(release.promise)}</p>"


def _estimates(release: Release) -> str:
    """The estimates with their intervals; of many, the largest."""
    if regression_of(release.plan) is not None:
        return _coefficients(release)
    try:
        lower, upper = (each.ravel() for each in release.interval(_LEVEL))
        middle = release.estimate().ravel()
    except (SfumatoError, *DAMAGED):
        lower = upper = None
        middle = release.mean().ravel()
    write, labels = number_writer(release), shown_labels(release)
    order = sorted(range(len(middle)), key=lambda k: -abs(middle[k]))[:MOST_ROWS]
    kept = sorted(order)
    if lower is None or upper is None:
        rows, head = [[labels[k], write(middle[k])] for k in kept], ["", "mean"]
    else:
        rows = [[labels[k], write(middle[k]), f"{write(lower[k])} to {write(upper[k])}"] for k in kept]
        head = ["", "estimate", f"{100 * _LEVEL:g} % interval"]
    return table(head, rows) + left_out(len(middle) - len(kept))


def _coefficients(release: Release) -> str:
    """The coefficients of a regression in the columns' own units; of many, the largest."""
    summary = release.summary(_LEVEL)
    head, *rows = summary.coefficients.rows()
    names, texts = narrow(head, rows, None, _LEVEL)[0]
    kept = sorted(sorted(range(len(texts)), key=lambda k: -abs(float(texts[k][1])))[:MOST_ROWS])
    said = f"<p>Coefficients of the {escape(dict(summary.facts)['link'])}.</p>"
    return said + table(names, [texts[k] for k in kept]) + left_out(len(texts) - len(kept))


def left_out(count: int) -> str:
    """How to see the estimates that are not shown."""
    if count <= 0:
        return ""
    return (
        f"<p>The {MOST_ROWS} largest are shown; {count:,} more are in the release's own report "
        "(<code>sfumato report FILE -o page.html</code>).</p>"
    )
