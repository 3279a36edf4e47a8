"""One self-contained HTML page about a ledger: every budget, every charge, every sealed release and every check.

All of it is read from the ledger, the release files named and public numbers: no record is read. Every text is escaped, the
page has no script and makes no request, and no password of a URL reaches it.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from sfumato.errors import ArgumentError, LedgerDamaged
from sfumato.ledger.account import Account, shown, shown_down
from sfumato.ledger.terms import Terms
from sfumato.ledger.url_and_witness import Location
from sfumato.pictures.axes import given
from sfumato.pictures.svg import figure
from sfumato.privacy.neighbours import protected, replaced
from sfumato.privacy.weakness import NOTE as WEAK
from sfumato.shells import html_page
from sfumato.shells import ledger_report_html as html
from sfumato.shells import ledger_report_left as left
from sfumato.shells.html_page import folded, section
from sfumato.shells.ledger_places import open_existing
from sfumato.shells.ledger_report_checks import Check
from sfumato.shells.ledger_report_releases import Sealed
from sfumato.shells.ledger_report_state import Budget, Charge, minute, shown_place
from sfumato.shells.ledger_report_timeline import bar, limits, timeline
from sfumato.shells.ledger_report_view import View, looked
from sfumato.shells.printing import redacted

# Rows of a table that are read without unfolding it.
MOST_ROWS = 60


def write(
    place: str,
    output: Path,
    files: Sequence[Path] = (),
    name: str | None = None,
    public_key: Path | None = None,
    witness: Path | None = None,
) -> tuple[Check, ...]:
    """Write the page and return the checks that failed; the page of a damaged ledger shows that alone."""
    if public_key is not None and not files:
        raise ArgumentError(
            "--public-key needs the signed files: a ledger seals releases without their signatures. Name the files too."
        )
    try:
        ledger = open_existing(place, witness)
    except LedgerDamaged as error:
        where = shown_place(Location.of(place, witness).url)
        check = Check(where, "chain of hashes and witness", redacted(str(error)))
        output.write_text(damaged(check), encoding="utf-8")
        return (check,)
    with ledger:
        view = looked(ledger, files, name, public_key)
    output.write_text(page(view), encoding="utf-8")
    return view.failed


# --- the page -------------------------------------------------------------------------------------------------------------


def page(view: View) -> str:
    """The page as text."""
    title = _title(view)
    body = [f"<h1>{escape(title)}</h1>", html.lead(_lead(view)), _verdict(view)]
    if not view.budgets:
        body.append(html.paragraph("No data set is registered yet, so nothing can be charged and nothing is promised."))
        body.append(html.code(f"sfumato ledger register {view.place} NAME --epsilon 2 --delta 1e-6 --unit person"))
    if len(view.budgets) > 1:
        body.append(_overview(view))
    for budget, releases in view.budgets:
        body += _sections(budget, releases, several=len(view.budgets) > 1)
    body.append(section("Verification", _verification(view)))
    body.append(folded("How the ledger counts, and how to verify it yourself", _explained(view)))
    return html_page.page(title, "\n".join(body), f"from the ledger {escape(view.place)}: no record was read.")


def _overview(view: View) -> str:
    """The promise of each of several data sets, and what is spent and left of it, in one table."""
    rows = []
    for budget, _ in view.budgets:
        terms = budget.account.terms
        weak = f"{WEAK} " if terms.allow_weak else ""
        promised = f"{weak}({given(terms.epsilon)}, {given(terms.delta)}) for every {_whom(terms)}"
        rows.append([budget.name, promised, shown(budget.spent), shown_down(budget.account.epsilon_left())])
    return html.table(
        ["data set", "promise (epsilon, delta)", "epsilon spent", "epsilon left"], rows, "The budgets of all data sets"
    )


def damaged(check: Check) -> str:
    """The page of a ledger that cannot be trusted: the failed check and nothing else."""
    title = "Privacy budget: the ledger FAILED its verification"
    said = "No budget, charge or release is shown, because none of them can be trusted."
    body = [f"<h1>{escape(title)}</h1>", html.alarm(f"FAILED: {check.reason}"), html.paragraph(said)]
    return html_page.page(title, "\n".join(body), f"from the ledger {escape(check.subject)}.")


def _title(view: View) -> str:
    if len(view.budgets) == 1:
        return f"Privacy budget of {view.budgets[0][0].name}"
    return f"Privacy budgets in {view.place}"


def _lead(view: View) -> str:
    charges = sum(len(budget.charges) for budget, _ in view.budgets)
    sets = len(view.budgets)
    return f"{sets} data set{'s' * (sets != 1)}, {charges:,} charge{'s' * (charges != 1)}, in the ledger {view.place}."


def _verdict(view: View) -> str:
    """One sentence on all checks, in red where one failed; and the files that protect nobody."""
    count, failed = len(view.checks), view.failed
    if failed:
        reasons = [f"{check.subject}: {check.reason}" for check in failed[:MOST_ROWS]]
        parts = [html.alarm(f"FAILED: {len(failed)} of {count} checks.", reasons)]
    else:
        parts = [html.paragraph(f"Verification: all {count} checks passed.")]
    parts += [
        html.alarm(f"NOT PRIVATE: {name} was made with a seeded stream, for tests only; it protects nobody.")
        for name in view.not_private
    ]
    return "".join(parts)


def _sections(budget: Budget, releases: Sequence[Sealed], several: bool) -> list[str]:
    """The sections of one data set."""
    made = {each.charge.number: each for each in releases}
    parts = {
        "What is promised and spent": _promised(budget),
        "Who asked what": _charges(budget, made),
        "All releases": "".join(map(_release, reversed(releases))),
        "What is left, and what it would buy": _left(budget, releases, made),
    }
    return [section(f"{budget.name}: {title.lower()}" if several else title, inner) for title, inner in parts.items()]


def promise(account: Account) -> str:
    """The whole promise of a data set in one sentence."""
    terms = account.terms
    who = replaced(terms.adjacency, terms.unit)
    known = "" if terms.id_column is None else f" Persons are known by the column {terms.id_column!r}."
    weak = f"{WEAK} " if terms.allow_weak else ""
    return (
        f"{weak}Everything that is ever charged to {account.name!r}, whoever asks and however each question follows from earlier "
        f"answers, is ({given(terms.epsilon)}, {given(terms.delta)})-differentially private together, for every {_whom(terms)} "
        f"(neighbours: {who}, n public).{known}"
    )


def _whom(terms: Terms) -> str:
    """Who is protected: the unit or, where persons may have several rows, a person with all of them."""
    return terms.unit if terms.id_column is None else protected(terms.adjacency, terms.unit)


def _promised(budget: Budget) -> str:
    account = budget.account
    terms, number = account.terms, len(budget.charges)
    spent = (
        f"Spent: epsilon {shown(budget.spent)} of {given(terms.epsilon)} at delta {given(terms.delta)}, in {number:,} "
        f"charge{'s' * (number != 1)}: {share(budget)} of the budget. "
        f"Left: epsilon {shown_down(account.epsilon_left())} at delta {given(terms.delta)}."
    )
    pictures = [_limit(what, part) for what, part in limits(account)]
    if budget.charges:
        pictures.append(figure(timeline(budget)))
    return html.boxed(promise(account)) + html.paragraph(spent) + "".join(pictures)


def _limit(what: str, spent: float) -> str:
    """A bar of one sum that the budget limits, and its two shares as text: spent is rounded up, left is rounded down."""
    text = f"Counted in {what}: {shown(100 * spent)} % spent, {shown_down(100 * (1 - spent))} % left."
    return bar(text, spent) + html.lead(text)


def share(budget: Budget) -> str:
    """The spent share of the budget, rounded up."""
    return f"{shown(100 * budget.share)} %"


def _charges(budget: Budget, made: dict[int, Sealed]) -> str:
    """Every charge in a table; the oldest of many are folded."""
    if not budget.charges:
        return html.paragraph("Nothing was charged yet.")
    delta = budget.account.terms.delta
    head = ["no., time (UTC)", "request and what was released", "epsilon", "total"]
    rows = [_row(charge, made) for charge in budget.charges]
    said = html.paragraph(
        f"Epsilon is the price of each charge alone, total that of all charges so far, both at delta {given(delta)}. Epsilons do "
        "not add up: the total is composed by the ledger. Both are rounded up. A charge under which nothing was sealed stands: its "
        "program stopped, or it was made by hand."
    )
    older, newer = rows[:-MOST_ROWS], rows[-MOST_ROWS:]
    earlier = folded(f"The {len(older):,} earlier charges", html.table(head, older)) if older else ""
    return said + html.table(head, newer) + earlier


def _row(charge: Charge, made: dict[int, Sealed]) -> list[str]:
    release = made.get(charge.number)
    what = "charged; nothing was sealed" if release is None else f"{release.title}; sealed"
    if release is not None and not all(check.passed for check in release.checks):
        what += "\nFAILED"
    when = f"{charge.number}\n{minute(charge.time)}"
    return [when, f"{charge.entry.request_id}\n{what}", shown(charge.alone), shown(charge.total)]


def _release(release: Sealed) -> str:
    """One release: its title, who asked, its contents and its checks."""
    charge = release.charge
    delta = charge.after.terms.delta
    records = f", {release.n:,} records{release.record}" if release.n is not None else ""
    lead = (
        f"{release.title}; charge {charge.number} of {minute(charge.time)} UTC{records}, epsilon {shown(charge.alone)} at delta "
        f"{given(delta)}."
    )
    passed = "; ".join(check.what for check in release.checks if check.passed)
    checks = html.paragraph(f"Verified: {passed}.") if passed else ""
    failed = "".join(
        html.alarm(f"FAILED: {check.what}: {check.reason}") for check in release.checks if not check.passed
    )
    head = f"<h3>{escape(charge.entry.request_id)}</h3>{html.lead(lead[:1].upper() + lead[1:])}"
    return f"{head}{failed}{release.contents}{checks}"


def _left(budget: Budget, releases: Sequence[Sealed], made: dict[int, Sealed]) -> str:
    account = budget.account
    known = [each.n for each in releases if each.n is not None]
    n = known[-1] if known else left.USUAL
    why = "as in the newest release" if known else "as an example"
    rest = shown_down(account.epsilon_left())
    said = html.paragraph(f"Left for everything to come: epsilon {rest} at delta {given(account.terms.delta)}.")
    examples = left.examples(account, n)
    again = [(charge, left.times_left(account, charge.price)) for charge in left.newest_plans(budget.charges)]
    if not examples and not any(times for _, times in again):
        return said + html.paragraph(
            "Nothing more fits: none of the examples of this page can be paid for with what is left."
        )
    if examples:
        rows = [[each.what, each.whole, each.part or "too little"] for each in examples]
        said += html.paragraph(
            f"One more release of {n:,} records ({why}) would have 90 % intervals of these half-widths, on average over data "
            "from a flat prior: with all that is left, or with a tenth of it."
        )
        said += html.table(["release", "all that is left", "a tenth of it"], rows)
    if again:
        rows = [[_named(charge, made), "not once" if times == 0 else f"{times:,}"] for charge, times in again]
        caption = "The same release again, each time with new noise and under a new request id, fits at most:"
        said += html.table(["release", "more times"], rows, caption)
    return said


def _named(charge: Charge, made: dict[int, Sealed]) -> str:
    release = made.get(charge.number)
    return f"{charge.entry.request_id}" + (f" ({release.title})" if release is not None else "")


def _verification(view: View) -> str:
    """The checks of each subject in one row, and every failed one in a row of its own."""
    rows: list[list[str]] = []
    subjects: dict[str, list[Check]] = {}
    for check in view.checks:
        subjects.setdefault(check.subject, []).append(check)
    for subject, own in subjects.items():
        rows += [[subject, check.what, f"FAILED: {check.reason}"] for check in own if not check.passed]
        passed = "; ".join(check.what for check in own if check.passed)
        rows += [[subject, passed, "passed"]] if passed else []
    head = ["of", "what was checked", "result"]
    first, rest = rows[:MOST_ROWS], rows[MOST_ROWS:]
    more = folded(f"{len(rest):,} more", html.table(head, rest)) if rest else ""
    return html.table(head, first) + more


def _explained(view: View) -> str:
    """The accounting, the last hash, and the commands that verify."""
    parts = [html.paragraph(_COUNTING)]
    for budget, _ in view.budgets:
        account = budget.account
        word = account.currency.word
        parts.append(
            html.paragraph(
                f"{account.name}: counted in {account.terms.currency}, {word} {shown(account.amount)} of {shown(account.cap)}; "
                f"{share(budget)} of the budget."
            )
        )
    if view.last is not None:
        parts.append(html.paragraph(f"Last entry: row {view.last.seq}, {view.last.time}, hash {view.last.hash}."))
    parts += [html.paragraph(str(event)) for event in view.events]
    parts.append(html.code(f"sfumato ledger verify {view.place}\nsfumato ledger show {view.place}"))
    return "".join(parts)


_COUNTING = (
    "A ledger admits a charge only while the sum of all charges, in its own currency, stays within the registered budget: in gdp "
    "the squares of mu add, in zcdp rho, in renyi the divergence at one order. Sums are of whole numbers, every charge rounded up. "
    "The promise is the whole budget, spent or not, because it must hold whatever is asked next."
)
