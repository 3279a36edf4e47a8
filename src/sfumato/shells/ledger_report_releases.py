"""The releases of a ledger's report: each sealed one is loaded, verified and shown with its largest estimates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.pictures.description import Row, Rows
from sfumato.pictures.of_release import pictures
from sfumato.pictures.svg import figure
from sfumato.release import Release
from sfumato.shells import ledger_report_html as html
from sfumato.shells import report
from sfumato.shells.ledger_report_checks import DAMAGED, Check, attempt, is_release, of_sealed
from sfumato.shells.ledger_report_state import Charge
from sfumato.shells.printing import redacted
from sfumato.wording import counting_in_words, notice, record_in_words

# The level of `Release.interval` by default.
_LEVEL = 0.9
# Estimates shown of one release; its own report has all of them.
MOST_ROWS = 12
# Releases shown with their estimates, the newest; 30 pages' worth would not be read.
MOST_SHOWN = 30


@dataclass(frozen=True)
class Sealed:
    """What a page shows of one sealed release: a title in words, its number of records, its checks and its contents as HTML.

    `record` says what one record is, where it is a person with all of their rows.
    """

    charge: Charge
    title: str
    n: int | None
    checks: tuple[Check, ...]
    contents: str
    record: str = ""


def looked_at(ledger: Any, name: str, charge: Charge, shown: bool) -> Sealed:
    """Load and verify the release of a sealed charge. The contents of one that fails are not shown."""
    request = charge.entry.request_id
    subject = f"request {request!r} of {name!r}"
    try:
        data = ledger.sealed(name, request)
    except SfumatoError as error:
        return _failed(charge, Check(subject, "its sealed bytes are unchanged", redacted(str(error))))
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
    record = f" (one for each {record_in_words(release)})" if release.guarantee.id_column else ""
    return Sealed(charge, title_of(release), release.plan["n"], checks, contents(release) if shown else "", record)


def _failed(charge: Charge, check: Check) -> Sealed:
    return Sealed(charge, "a release that FAILED its verification", None, (check,), "")


def title_of(release: Release) -> str:
    """The model in a few words."""
    return report._what(release)


def contents(release: Release) -> str:
    """The warning of a seeded release, its picture, the sentence on attackers and the promise."""
    warned = notice(release)
    first = html.alarm(warned) if warned else ""
    attacked = "" if warned else html.paragraph(release.attacker().sentence)
    whose = "".join(html.paragraph(f"{said[:1].upper()}{said[1:]}") for _, said in counting_in_words(release))
    return f"{first}{_picture(release)}{whose}{attacked}{html.paragraph(release.promise)}"


def _picture(release: Release) -> str:
    """The picture that shows the result; of many rows the largest estimates, and how to see the others."""
    try:
        picture = pictures(release, _LEVEL)[0]
    except SfumatoError as error:
        return html.paragraph(f"No picture: {error}")
    except DAMAGED:
        # What Python says of a record that cannot be drawn helps no reader of the page.
        return html.paragraph("No picture can be drawn of this release; its own report may say more.")
    if not isinstance(picture, Rows) or len(picture.rows) <= MOST_ROWS:
        return figure(picture)
    return figure(replace(picture, rows=largest(picture.rows))) + left_out(len(picture.rows) - MOST_ROWS)


def largest(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows with the largest estimates, in their order."""
    places = sorted(range(len(rows)), key=lambda k: -abs(rows[k].middle))[:MOST_ROWS]
    return tuple(rows[k] for k in sorted(places))


def left_out(count: int) -> str:
    """How to see the estimates that are not shown."""
    return (
        f"<p>The {MOST_ROWS} largest are shown; {count:,} more are in the release's own report "
        "(<code>sfumato report FILE -o page.html</code>).</p>"
    )
