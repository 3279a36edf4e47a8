"""What a notebook shows of a plan, a price list, a release, a guarantee and a ledger: HTML without script or request.

Nothing is read but the object itself. Texts of a release may have been chosen by the author of its file, which need not have
been verified: every text is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sfumato.comparing import Comparison
from sfumato.errors import SfumatoError
from sfumato.ledger import Ledger, Spent
from sfumato.ledger.account import shown
from sfumato.ledger.currency import BY_NAME
from sfumato.ledger.units import UNITS
from sfumato.mechanisms.plan import Plan
from sfumato.pictures import of_release, svg
from sfumato.pictures._fragment import bar, card, folded, said, soft, table, text, title
from sfumato.pictures.axes import given, number
from sfumato.pictures.description import Picture, Rows
from sfumato.pictures.results import of_family
from sfumato.planning import PriceList
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.metric import Metric
from sfumato.privacy.weakness import NOTE as WEAK
from sfumato.queries.one_number import OF_DRAWS
from sfumato.queries.own_units import regression_of
from sfumato.release import Release
from sfumato.wording import NO_LEDGER, columns_read, counting_in_words

# Rows of a table and of a picture that still fit beside code.
_MOST = 12
# The level of `Release.interval` by default.
_LEVEL = 0.9
# Most coefficients whose estimate is computed: a cell must not wait for it (as for the description of a release).
_QUICKLY = 300
# Deltas at which epsilon is listed, those of `Guarantee.table`.
_DELTAS = (1e-3, 1e-5, 1e-6, 1e-9)


def fragment(thing: Any) -> str:
    """The object as HTML."""
    shows: dict[type, Callable[[Any], str]] = {
        Release: _release,
        Plan: _plan,
        PriceList: _price_list,
        Comparison: _comparison,
        Guarantee: _guarantee,
        Ledger: _ledger,
        Spent: _spent,
    }
    return card(next(show for kind, show in shows.items() if isinstance(thing, kind))(thing))


def _release(release: Release) -> str:
    about = ", ".join(columns_read(release))
    head = title(f"{release.schema['name']}: {about}" if about else str(release.schema["name"]))
    head += said(NO_LEDGER) if release.receipt is None else ""
    promise = release.promise if release.private else f"NOT PRIVATE. {release.promise}"
    whose = "".join(soft(f"{heading}: {sentence}") for heading, sentence in counting_in_words(release))
    return (
        head
        + said(promise, not release.private or release.guarantee.weak)
        + _picture(release)
        + whose
        + _estimates(release)
    )


def _picture(release: Release) -> str:
    """The main picture, cut to its first rows; none where the release has too many numbers or no picture can be made."""
    if len(release.labels) > _QUICKLY:
        return ""
    try:
        picture: Picture = of_release.pictures(release, _LEVEL)[0]
    except SfumatoError:
        return ""
    if isinstance(picture, Rows) and len(picture.rows) > _MOST:
        cut = f"{picture.title}: the first {_MOST} of {len(picture.rows)}"
        picture = replace(picture, title=cut, rows=picture.rows[:_MOST])
    return svg.figure(picture)


def _estimates(release: Release) -> str:
    """The first rows in the order and with the digits of the picture; none of very many coefficients."""
    hidden = len(release.labels) - _MOST
    more = soft(f"… and {hidden} more: release.labels, release.estimate(), release.interval()." if hidden > 0 else "")
    if regression_of(release.plan) is not None:
        return _coefficients(release) + more if len(release.labels) <= _QUICKLY else more
    results = of_family(release, _LEVEL)
    shown_rows = results.rows[:_MOST]
    names = [f"{row.group}: {row.label}" if row.group else row.label for row in shown_rows]
    middles = [results.middle(row) for row in shown_rows]
    if not results.has_intervals:
        return _without_intervals(names, middles, results.reason) + more
    cells = list(zip(names, middles, map(results.ends, shown_rows), strict=True))
    words = soft(results.meaning) if results.meaning else ""
    return table("Estimates", [results.of, results.name, results.interval_name], cells, (1, 2)) + words + more


def _coefficients(release: Release) -> str:
    """The first coefficients in the columns' own units, each with the digits of its standard error."""
    coefficients = release.coefficients(_LEVEL)
    head, *rows = coefficients.rows()
    place = head.index("coef")
    names, middles = [row[0] for row in rows[:_MOST]], [row[place] for row in rows[:_MOST]]
    if coefficients.intervals is None:
        return _without_intervals(names, middles, coefficients.reason)
    # The standard error stands between the coefficient and the ends of its interval.
    ends = [f"{row[place + 2]} to {row[place + 3]}" for row in rows[:_MOST]]
    cells = list(zip(names, middles, ends, strict=True))
    return table("Estimates", ["coefficient", "estimate", f"{100 * _LEVEL:g} % interval"], cells, (1, 2))


def _without_intervals(names: list[str], middles: list[str], reason: str) -> str:
    """Means of the draws, and why there are no intervals."""
    rows = list(zip(names, middles, strict=True))
    return table("Means", ["quantity", OF_DRAWS], rows, (1,)) + soft(
        f"No interval: {reason.removeprefix('no interval: ')}"
    )


def _plan(plan: Plan) -> str:
    rows = plan.lines()
    price = dict(rows)["price"]
    others = [row for row in rows if row[0] != "price"]
    return (
        title(f"Plan: {plan.mechanism}")
        + said(price, plan.guarantee.vacuous or plan.guarantee.weak)
        + table("Plan", ["part", "as planned"], others, facts=True)
    )


def _price_list(prices: PriceList) -> str:
    head, *rows = prices.cells()
    return title(f"Price list at delta {given(prices.delta)}") + table("Price list", head, rows, (2, 3))


def _comparison(comparison: Comparison) -> str:
    head, *rows = comparison.cells()
    about = (
        f"Largest power at epsilon {given(comparison.epsilon)}, delta {given(comparison.delta)}, n = {comparison.n:,}"
    )
    return title(about) + soft(str(comparison.model)) + table("Theorems", [*head[:4], "note"], rows, (1, 2))


def _guarantee(guarantee: Guarantee) -> str:
    private = guarantee.trust != "not private"
    sentence = (
        str(guarantee) if private else f"NOT PRIVATE: made with a seeded stream. Its plan would promise: {guarantee}"
    )
    facts = [("theorem", guarantee.theorem), ("source", guarantee.source), ("trust", guarantee.trust)]
    hypotheses = [(a.name, a.symbol, str(a.required), str(a.value), a.origin) for a in guarantee.assumptions]
    inner = table("Theorem", ["part", "of the proof"], facts, facts=True)
    if hypotheses:
        head = ["hypothesis", "symbol", "required", "value", "from"]
        inner += table("Hypotheses", head, list(dict.fromkeys(hypotheses)))
    why = folded("Why it holds", inner)
    return (
        title("Guarantee")
        + said(sentence, not private or guarantee.vacuous or guarantee.weak)
        + _epsilons(guarantee)
        + why
    )


def _epsilons(guarantee: Guarantee) -> str:
    """Epsilon at some deltas; nothing for guarantees under a distance, or where scipy and dp-accounting are absent."""
    if isinstance(guarantee.curve, Metric) or guarantee.vacuous:
        return ""
    try:
        epsilons = [guarantee.epsilon(delta) for delta in _DELTAS]
    except ImportError:
        return ""
    pure = guarantee.renyi(math.inf)
    rows = [("0", shown(pure))] if pure < math.inf else []
    rows += [
        # Rounded up: a price is never printed too small.
        (number(delta), shown(epsilon) if math.isfinite(epsilon) else "none")
        for delta, epsilon in zip(_DELTAS, epsilons, strict=True)
    ]
    return table("Epsilon at some deltas", ["delta", "epsilon"], rows, (1,))


def _ledger(ledger: Ledger) -> str:
    parts = [title(repr(ledger))]
    for name in ledger.names():
        parts += [_budget(ledger.spent(name)), _charges(ledger, name)]
    return "".join(parts) if len(parts) > 1 else parts[0] + soft("Nothing is registered.")


def _spent(spent: Spent) -> str:
    return _budget(spent) + soft(str(spent))


def _budget(spent: Spent) -> str:
    """The spent share of one budget as a bar, and in words."""
    terms, share = spent.account.terms, spent.units / UNITS
    used = f"spent epsilon {shown(spent.epsilon)} of {given(terms.epsilon)} at delta {given(terms.delta)}"
    words = f"{used}: {shown(100 * share)} % of the budget, in {spent.charges} charge{'s' * (spent.charges != 1)}"
    weak = said(WEAK, True) if terms.allow_weak else ""
    return f"{weak}<p><strong>{text(spent.name)}</strong>: {text(words)}</p>" + bar(share, f"{spent.name}: {words}")


def _charges(ledger: Ledger, name: str) -> str:
    """The newest charges, oldest of them first."""
    receipts = [entry.receipt for entry in ledger.history(name) if entry.receipt is not None]
    rows = [
        (
            r.request_id,
            r.time[:16].replace("T", " "),
            f"{BY_NAME[r.currency].word} {shown(r.amount)}",
            f"{shown(100 * r.units / UNITS)} %",
        )
        for r in receipts[-_MOST:]
    ]
    if not rows:
        return ""
    hidden = len(receipts) - len(rows)
    older = soft(f"… and {hidden} earlier: ledger.history({name!r})." if hidden else "")
    return table(f"Charges to {name}", ["request", "time (UTC)", "price", "share"], rows, (1, 2, 3)) + older
