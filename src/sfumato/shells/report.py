"""One self-contained HTML page about a release: no script, no network, no data. All its content follows from the release.

Names, labels and other texts of a release are chosen by the author of its file. The release is verified before a page is
written, every text is escaped, and the page's content security policy forbids scripts and requests.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from sfumato._version import __version__
from sfumato.errors import ArgumentError
from sfumato.ledger.account import shown_down
from sfumato.models.model import LOSSES
from sfumato.pictures.axes import given
from sfumato.pictures.results import quantity_of
from sfumato.privacy.weakness import NOTE as WEAK
from sfumato.procedures.plain_numbers import in_plain_words
from sfumato.shells import html_page, report_audit, report_learned, report_protection, report_quality, report_results
from sfumato.shells.html_page import section
from sfumato.shells.ledger_places import open_existing
from sfumato.wording import (
    NO_LEDGER,
    clipping_in_words,
    columns_read,
    counting_in_words,
    expected_in_words,
    record_in_words,
)

# The level of `Release.interval` by default.
_LEVEL = 0.9
# Columns that a title names one by one.
_NAMED = 8


def write_report(
    release: Any,
    path: str | Path,
    ledger: str | None = None,
    public_rows: str | Path | None = None,
    witness: Path | None = None,
    audit: Path | None = None,
) -> None:
    """Verify the release and write its page; a release that does not verify is refused and nothing is written.

    `ledger` (with its `witness`, where that was moved) adds the state of a budget, `public_rows` the accuracy on a file
    of them with their target, `audit` the attacks that `sfumato audit -o` wrote down.
    """
    release.verify()
    Path(path).write_text(page(release, ledger, public_rows, witness, audit), encoding="utf-8")


def page(
    release: Any,
    ledger: str | None = None,
    public_rows: str | Path | None = None,
    witness: Path | None = None,
    audit: Path | None = None,
) -> str:
    """The page as text."""
    title = f"{release.schema['name']}: {_what(release)}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<div class="promise"><p>{NO_LEDGER}.</p></div>' if release.receipt is None else "",
        f'<p class="lead">{escape(_lead(release))}</p>',
        _promise(release),
        section("What came out", report_results.results(release, _LEVEL)),
        section("How good a synthetic table is", report_quality.section(release, _LEVEL)),
        section("What it protects, and how far", report_protection.protection(release)),
        section("Why this holds", report_protection.theorem(release)),
        section("How it was attacked", "" if audit is None else report_audit.section(release, audit)),
        section("How accurate it is", _accuracy(release, public_rows)),
        section("What is left of the budget", _budget(release, ledger, witness)),
        section("A paragraph for a methods section", f"<p>{escape(methods(release))}</p>"),
        section("How to cite", f"<p>{escape(_citation(release))}</p>"),
    ]
    body = "\n".join(part for part in parts if part)
    sources = "the release alone" if audit is None else f"the release and the audit in {audit.name}"
    footer = f"from {escape(sources)}: no record was read. Plan {escape(release.plan_digest[:16])}."
    return html_page.page(title, body, footer)


def _what(release: Any) -> str:
    """The model in a few words."""
    from sfumato.models.families.histogram import Histogram
    from sfumato.models.networks.markov_chain import MarkovChain
    from sfumato.models.reading import FamilyOrGibbs, model_from_json

    model: FamilyOrGibbs = model_from_json(release.plan["model"])
    if model.summed == LOSSES:
        target = json.loads(release.schema["document"]).get("target")
        return f"{_kind(model.loss.regression_name)} regression" + (f" of {target}" if target else "")
    if isinstance(model, MarkovChain):
        return quantity_of(model, columns_read(release))
    if report_learned.is_shown(release):
        return f"learnt table{_of(release)}"
    if hasattr(model, "unshrunk"):
        return f"tables{_of(release)}"
    if isinstance(model, Histogram):
        return f"histogram{_of(release)}"
    return model.quantity.removesuffix(" of a group of average size") + _of(release)


def _kind(name: str) -> str:
    """The kind of a regression as it is written within a sentence: a name and an abbreviation keep their capitals."""
    return {"poisson": "Poisson", "svm": "SVM"}.get(name, name)


def _of(release: Any) -> str:
    """The columns that were read, as a phrase."""
    names = columns_read(release)
    if "by" in release.plan["model"] and len(names) > 1:
        return f" of {', '.join(names[1:])} by {names[0]}"
    if len(names) > _NAMED:
        return f" of {len(names)} columns"
    return f" of {', '.join(names)}" if names else ""


def _lead(release: Any) -> str:
    count = release.draws.shape[0] * release.draws.shape[1]
    kind = "an estimate" if release.kind == "estimate" else f"{count} draw{'s' * (count > 1)} from a posterior"
    return f"A differentially private release: {kind}, from {release.plan['n']:,} records, one for each {record_in_words(release)}."


def _promise(release: Any) -> str:
    """The promise, or a red warning that there is none."""
    if not release.private:
        return f'<div class="promise warning"><p>NOT PRIVATE. {escape(release.promise)}</p></div>'
    return f'<div class="promise"><p>{escape(release.attacker().sentence)}</p><p>{escape(release.promise)}</p></div>'


def _target(release: Any) -> tuple[float, float] | None:
    """(epsilon, delta) of the plan's target, where it has both."""
    target = release.plan["target"] or {}
    return None if target.get("epsilon") is None else (target["epsilon"], target["delta"])


def _accuracy(release: Any, public_rows: str | Path | None) -> str:
    # What the noise of a path means for a regression is in its intervals.
    path = release.plan["mechanism"] in ("shaped-path", "langevin-path")
    inner = "" if path else f"<p>{escape(expected_in_words(release.plan))}.</p>"
    return inner if public_rows is None else inner + f"<p>{escape(_obtained(release, public_rows))}</p>"


def _obtained(release: Any, public_rows: str | Path) -> str:
    """Share of right classes, or mean absolute error, on public rows."""
    import numpy as np

    from sfumato.schema import Schema
    from sfumato.schema.counts import Tally
    from sfumato.schema.reading import open_source

    schema = Schema.from_json(json.loads(release.schema["document"]))
    if schema.target is None:
        raise ArgumentError("a public test set is for regressions: this release predicts no column.")
    column = schema.columns[schema.target]
    truth = np.concatenate([block[schema.target] for block in open_source(public_rows, None, schema, Tally())])
    guess = np.asarray(release.predict(public_rows=public_rows))
    if column.levels is None:
        return f"Obtained on {len(truth):,} public rows: mean absolute error {np.mean(np.abs(guess - truth)):.4g}."
    levels = np.array(column.levels, dtype=object)
    share = np.mean(guess.astype(object) == levels[truth.astype(int)])
    return f"Obtained on {len(truth):,} public rows: {share:.1%} predicted rightly."


def _budget(release: Any, ledger: str | None, witness: Path | None) -> str:
    receipt = release.receipt
    if receipt is None:
        charge = f"This release was {NO_LEDGER}."
    else:
        charge = f"Charged to “{receipt['ledger']}” under request “{receipt['request_id']}”, entry {receipt['seq']}."
    if ledger is None:
        return f"<p>{escape(charge)}</p>"
    with open_existing(ledger, witness) as book:
        name = str(release.schema["name"] if receipt is None else receipt["ledger"])
        state = _state(book, name) if name in book.names() else f"{name!r} is not registered in this ledger."
    return f"<p>{escape(charge)}</p><pre>{escape(state)}</pre>"


def _state(book: Any, name: str) -> str:
    """What is spent of a budget and what is left, each as an epsilon at the registered delta."""
    spent = book.spent(name)
    left = shown_down(spent.account.epsilon_left())
    return f"{spent}\nLeft: epsilon {left} at delta {spent.delta:g} for everything to come."


def methods(release: Any) -> str:
    """A paragraph on the method, for a paper."""
    plan, guarantee, target = release.plan, release.guarantee, _target(release)
    how = in_plain_words(str(plan.get("procedure", "")), plan["parameters"])
    level = f"({given(target[0])}, {given(target[1])})-differential privacy" if target else str(guarantee.curve)
    weak = f" {WEAK}" if guarantee.weak else ""
    notes = [note for note in (clipping_in_words(release), *(said for _, said in counting_in_words(release))) if note]
    said = "".join(f" {note[:1].upper()}{note[1:]}" for note in notes)
    same = "public roster" if guarantee.id_column else "number of records"
    numbers = release.numbers(_LEVEL)
    estimates = (
        f"Estimates are posterior medians given what was released; {100 * _LEVEL:g} % intervals include the noise added for "
        "privacy and the sampling of the records."
        if numbers.ends is not None
        else "The numbers are means of draws that were made for privacy; no intervals are given."
    )
    return (
        f"We estimated the {_what(release)} from {plan['n']:,} records, one for each {release.schema['unit']}, under {level}: two "
        f"data sets with the same {same} that differ in one {record_in_words(release)} are protected from being told apart. "
        f"Computed with Sfumato {__version__} ({plan['mechanism']}{f': {how}' if how else ''}). {estimates} The guarantee is "
        f"{guarantee.trust} ({guarantee.theorem}; {guarantee.source}).{weak}{said}"
    )


def _citation(release: Any) -> str:
    return (
        f"{release.schema['name']}, differentially private release, plan {release.plan_digest[:16]}, made with Sfumato "
        f"{__version__}. Methods: Minami et al. (2016), Dimitrakakis et al. (2017), Geumlek et al. (2017), and the source "
        "named above."
    )
