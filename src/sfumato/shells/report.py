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
from sfumato.errors import ArgumentError, SfumatoError
from sfumato.models.model import LOSSES
from sfumato.privacy.plain_reasons import phrase
from sfumato.shells import report_audit, report_cross, report_network, report_regression, svg
from sfumato.shells.ledger_places import open_existing
from sfumato.shells.report_tables import paragraph, table
from sfumato.wording import clipping_in_words, columns_read, expected_in_words, missing_in_words, number_writer

# No script, no request, no frame, no form: only the page's own style.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
# The level of `Release.interval` by default.
_LEVEL = 0.9
# Rows that still fit a page; the file holds the others.
_MOST_LABELS = 40
# Fonts of every system, light and dark colours; wide tables scroll, long names break.
_STYLE = """
:root { --paper:#fbfaf7; --ink:#22252b; --soft:#5d636e; --line:#dcd8ce; --accent:#7a4b26; --box:#f1ede4; }
@media (prefers-color-scheme: dark) {
  :root { --paper:#17191d; --ink:#e6e3dc; --soft:#a2a7b0; --line:#3a3e46; --accent:#d9a066; --box:#21242a; }
}
* { box-sizing: border-box; }
body { margin:0; background:var(--paper); color:var(--ink); font:17px/1.55 Georgia, "Times New Roman", serif; }
main { max-width:44rem; margin:0 auto; padding:2rem 1rem 4rem; }
h1 { font-size:1.7rem; line-height:1.2; margin:.2rem 0 .4rem; overflow-wrap:anywhere; }
h2 { font-size:1.15rem; margin:2.2rem 0 .5rem; border-bottom:1px solid var(--line); padding-bottom:.2rem; }
p, li { overflow-wrap:anywhere; } td, th { overflow-wrap:break-word; }
.lead { color:var(--soft); margin:0; }
.promise { background:var(--box); border-left:4px solid var(--accent); padding:.8rem 1rem; margin:1.2rem 0; }
.warning { border-left-color:#b3261e; font-weight:bold; }
.wide { overflow-x:auto; }
table { border-collapse:collapse; width:100%; font-size:.92rem; font-variant-numeric:tabular-nums; }
th, td { text-align:left; padding:.3rem .8rem .3rem 0; border-bottom:1px solid var(--line); vertical-align:top; }
td.number, th.number { text-align:right; white-space:nowrap; }
svg { display:block; width:100%; max-width:34rem; height:auto; margin:.6rem 0; font:12px system-ui, sans-serif; fill:var(--ink); }
svg text { paint-order:stroke; stroke:var(--paper); stroke-width:3px; }
svg .grid { stroke:var(--line); } svg .zero { stroke:var(--soft); stroke-dasharray:3 3; }
svg .curve { stroke:var(--accent); stroke-width:2.2; fill:none; } svg .mark { fill:var(--accent); }
svg .attack { fill:var(--ink); stroke:var(--paper); }
code, pre { font:.85rem/1.5 ui-monospace, Menlo, Consolas, monospace; }
pre { background:var(--box); padding:.8rem; white-space:pre-wrap; overflow-wrap:anywhere; }
footer { margin-top:3rem; color:var(--soft); font-size:.85rem; }
"""


def write_report(
    release: Any,
    path: str | Path,
    ledger: str | None = None,
    test: str | Path | None = None,
    witness: Path | None = None,
    audit: Path | None = None,
) -> None:
    """Verify the release and write its page; a release that does not verify is refused and nothing is written.

    `ledger` (with its `witness`, where that was moved) adds the state of a budget, `test` the accuracy on a file of PUBLIC
    rows with their target, `audit` the attacks that `sfumato audit -o` wrote down.
    """
    release.verify()
    Path(path).write_text(page(release, ledger, test, witness, audit), encoding="utf-8")


def page(
    release: Any,
    ledger: str | None = None,
    test: str | Path | None = None,
    witness: Path | None = None,
    audit: Path | None = None,
) -> str:
    """The page as text."""
    title = f"{release.schema['name']}: {_what(release)}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="lead">{escape(_lead(release))}</p>',
        _promise(release),
        _section("What came out", _results(release) + paragraph("Missing values", missing_in_words(release))),
        _section("What it protects, and how far", _protection(release)),
        _section("Why this holds", _theorem(release)),
        _section("How it was attacked", "" if audit is None else report_audit.section(release, audit)),
        _section("How accurate it is", _accuracy(release, test)),
        _section("What is left of the budget", _budget(release, ledger, witness)),
        _section("A paragraph for a methods section", f"<p>{escape(methods(release))}</p>"),
        _section("How to cite", f"<p>{escape(_citation(release))}</p>"),
    ]
    body = "\n".join(part for part in parts if part)
    sources = "the release alone" if audit is None else f"the release and the audit in {audit.name}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><main>\n{body}\n"
        f"<footer>Made by Sfumato {__version__} from {escape(sources)}: no record was read. "
        f"Plan {escape(release.plan_digest[:16])}."
        "</footer></main></body></html>\n"
    )


def _section(title: str, inner: str) -> str:
    return f"<h2>{escape(title)}</h2>\n{inner}" if inner else ""


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def _what(release: Any) -> str:
    """The model in a few words."""
    from sfumato.models.reading import FamilyOrGibbs, model_from_json

    model: FamilyOrGibbs = model_from_json(release.plan["model"])
    if model.summed == LOSSES:
        target = json.loads(release.schema["document"]).get("target")
        return f"{model.loss.regression_name} regression" + (f" of {target}" if target else "")
    if hasattr(model, "unshrunk"):
        return f"tables{_of(release)}"
    return model.quantity.removesuffix(" of a group of average size") + _of(release)


def _of(release: Any) -> str:
    """The columns that were read, as a phrase."""
    names = columns_read(release)
    if "by" in release.plan["model"] and len(names) > 1:
        return f" of {', '.join(names[1:])} by {names[0]}"
    return f" of {', '.join(names)}" if names else ""


def _lead(release: Any) -> str:
    count = release.draws.shape[0] * release.draws.shape[1]
    kind = "an estimate" if release.kind == "estimate" else f"{count} draw{'s' * (count > 1)} from a posterior"
    return f"A differentially private release: {kind}, from {release.plan['n']:,} records, one for each {release.schema['unit']}."


def _promise(release: Any) -> str:
    """The promise, or a red warning that there is none."""
    if not release.private:
        return f'<div class="promise warning">NOT PRIVATE. {escape(release.promise)}</div>'
    return f'<div class="promise"><p>{escape(release.attacker().sentence)}</p><p>{escape(release.promise)}</p></div>'


def intervals(release: Any, level: float) -> tuple[Any, Any, Any] | str:
    """Lower ends, estimates and upper ends, the privacy noise included, or the reason why there are none."""
    try:
        lower, upper = release.interval(level)
        return lower.ravel(), release.estimate().ravel(), upper.ravel()
    except SfumatoError as error:
        return str(error)


def _results(release: Any) -> str:
    from sfumato.queries.own_units import regression_of

    if regression_of(release.plan) is not None:
        return report_regression.results(release, _LEVEL, _MOST_LABELS)
    if report_cross.is_shown(release):
        return report_cross.results(release, _LEVEL, _MOST_LABELS)
    if report_network.is_shown(release):
        return report_network.results(release, _LEVEL, _MOST_LABELS)
    labels, hidden = release.labels[:_MOST_LABELS], len(release.labels) - _MOST_LABELS
    shown = number_writer(release)
    means = [shown(mean) for mean in release.mean().ravel()[:_MOST_LABELS]]
    more = f"<p>… and {hidden} more in the file.</p>" if hidden > 0 else ""
    clipped = paragraph("Clipping", clipping_in_words(release))
    ends = intervals(release, _LEVEL)
    if isinstance(ends, str):
        rows = [[label, mean] for label, mean in zip(labels, means, strict=True)]
        return table(["", "mean"], rows) + more + clipped + f"<p>No interval: {escape(ends)}</p>"
    name = f"{_percent(_LEVEL)} interval"
    lower, middle, upper = (each[:_MOST_LABELS] for each in ends)
    spans = [f"{shown(low)} to {shown(high)}" for low, high in zip(lower, upper, strict=True)]
    rows = [list(row) for row in zip(labels, map(shown, middle), spans, means, strict=True)]
    chart = svg.interval_chart(labels, lower, middle, upper, f"estimate and {name}", "Intervals")
    why = (
        "The intervals are for the population from which the records were drawn, with the privacy noise and the sampling of the "
        "records both counted. One draw is enough for an interval, because the law by which it was drawn is public."
    )
    head = ["", "estimate", name, "mean of the draws"]
    # The average of a path is not centred at the posterior: beside the estimate it would only confuse.
    if release.kind == "estimate":
        head, rows = head[:3], [row[:3] for row in rows]
    return chart + table(head, rows) + more + clipped + f"<p>{why}</p>"


def _target(release: Any) -> tuple[float, float] | None:
    """(epsilon, delta) of the plan's target, where it has both."""
    target = release.plan["target"] or {}
    return (target["epsilon"], target["delta"]) if target.get("epsilon") and target.get("delta") else None


def _protection(release: Any) -> str:
    """The privacy curve, and the errors of a test for one record."""
    guarantee, target = release.guarantee, _target(release)
    # Twice the promised epsilon shows how the curve goes on; 3 where little is promised.
    top = max(3.0, 2.0 * (target[0] if target else 1.0))
    points = [(epsilon, float(guarantee.delta(epsilon))) for epsilon in (top * k / 60 for k in range(61))]
    # Below 1e-12 a delta protects against everything; the axis would only grow.
    kept = [point for point in points if point[1] > 1e-12]
    chart = svg.line_chart(kept, "epsilon", "delta", "The privacy curve: delta at every epsilon", target)
    rows = [[_percent(level), _percent(miss, 1)] for level, miss in release.attacker().trade_off]
    text = (
        f"<p>Two data sets that differ in one {escape(release.schema['unit'])} give this release with nearly the same "
        "probabilities. The curve shows how nearly: at every epsilon the delta that is left; the point is what was asked for.</p>"
    )
    second = (
        "<p>Somebody who wants to tell whether a given record was used, and accuses wrongly as often as the first column says, "
        "overlooks the record at least as often as the second.</p>"
    )
    return text + chart + second + table(["wrong accusations", "records overlooked, at least"], rows)


def _theorem(release: Any) -> str:
    guarantee = release.guarantee
    rows = [[a.name, a.symbol, str(a.value), a.origin] for a in guarantee.assumptions]
    plain = phrase(guarantee.theorem)
    said = f"{plain[0].upper()}{plain[1:]}. " if plain else ""
    named = (
        f"Theorem: {escape(guarantee.theorem)}. Source: {escape(guarantee.source)}. Trust: {escape(guarantee.trust)}."
    )
    head = f"<p>{said}{named}</p>"
    return head + (table(["hypothesis", "symbol", "value", "from"], rows, numbers=False) if rows else "")


def _accuracy(release: Any, test: str | Path | None) -> str:
    # What the noise of a path means for a regression is in its intervals.
    path = release.plan["mechanism"] in ("shaped-path", "langevin-path")
    inner = "" if path else f"<p>{escape(expected_in_words(release.plan))}.</p>"
    return inner if test is None else inner + f"<p>{escape(_obtained(release, test))}</p>"


def _obtained(release: Any, test: str | Path) -> str:
    """Share of right classes, or mean absolute error, on public rows."""
    import numpy as np

    from sfumato.schema import Schema
    from sfumato.schema.counts import Tally
    from sfumato.schema.reading import open_source

    schema = Schema.from_json(json.loads(release.schema["document"]))
    if schema.target is None:
        raise ArgumentError("a public test set is for regressions: this release predicts no column.")
    column = schema.columns[schema.target]
    truth = np.concatenate([block[schema.target] for block in open_source(test, None, schema, Tally())])
    guess = np.asarray(release.predict(test))
    if column.levels is None:
        return f"Obtained on {len(truth):,} public rows: mean absolute error {np.mean(np.abs(guess - truth)):.4g}."
    levels = np.array(column.levels, dtype=object)
    share = np.mean(guess.astype(object) == levels[truth.astype(int)])
    return f"Obtained on {len(truth):,} public rows: {share:.1%} predicted rightly."


def _budget(release: Any, ledger: str | None, witness: Path | None) -> str:
    receipt = release.receipt
    if receipt is None:
        charge = (
            "This release was charged to no ledger: nothing here says what else was released about the same records."
        )
    else:
        charge = f"Charged to {Path(str(receipt['ledger'])).name} under request {receipt['request_id']}, entry {receipt['seq']}."
    if ledger is None:
        return f"<p>{escape(charge)}</p>"
    with open_existing(ledger, witness) as book:
        name = release.schema["name"]
        state = str(book.spent(name)) if name in book.names() else f"{name!r} is not registered in this ledger."
    return f"<p>{escape(charge)}</p><pre>{escape(state)}</pre>"


def methods(release: Any) -> str:
    """A paragraph on the method, for a paper."""
    plan, guarantee, target = release.plan, release.guarantee, _target(release)
    shown = {key: value for key, value in plan["parameters"].items() if key not in ("grid", "totals")}
    numbers = ", ".join(f"{key} {value:.4g}" for key, value in shown.items())
    level = f"({target[0]:g}, {target[1]:g})-differential privacy" if target else str(guarantee.curve)
    clipping = clipping_in_words(release)
    clipped = f" {clipping[:1].upper()}{clipping[1:]}" if clipping else ""
    return (
        f"We released {_what(release)} of {plan['n']:,} records (unit: {release.schema['unit']}) with Sfumato {__version__}, "
        f"mechanism '{plan['mechanism']}' ({numbers}), under {level}; neighbouring data sets have one {release.schema['unit']} "
        f"replaced and the same number of records. The guarantee is {guarantee.trust} ({guarantee.theorem}; {guarantee.source})."
        f"{clipped}"
    )


def _citation(release: Any) -> str:
    return (
        f"{release.schema['name']}, differentially private release, plan {release.plan_digest[:16]}, made with Sfumato "
        f"{__version__}. Methods: Minami et al. (2016), Dimitrakakis et al. (2017), Geumlek et al. (2017), and the source "
        "named above."
    )
