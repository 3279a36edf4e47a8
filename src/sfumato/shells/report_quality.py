"""How good the synthetic tables of a learnt table are, in the report: errors from the release alone, and what they cannot show."""

from __future__ import annotations

from html import escape
from typing import Any

from sfumato.mixtures.fitting import FOLDS
from sfumato.pictures import of_learned
from sfumato.pictures.of_learned import Strength
from sfumato.queries import learned_tables
from sfumato.queries.table_quality import Fit, Quality, Way, quality
from sfumato.shells.html_page import folded, table

# Pairs that are named in a sentence.
_NAMED = 12
_WAYS = {1: "single columns", 2: "pairs that were counted", 3: "three columns"}
_EDGES = (
    (
        "It is a sample of a model, not of people.",
        "No row stands for a person. Never count rows of it as evidence about somebody, and never link it to other records.",
    ),
    (
        "What no pair of columns shows is invented.",
        "Three columns together, and pairs that were not counted, are the model's guess.",
    ),
    (
        "Rare combinations are mostly noise.",
        "A combination with fewer records than the noise of its cell may be absent, or appear though nobody has it.",
    ),
    (
        "Intervals come from the noisy tables.",
        "Ask the release (marginal, conditional, interval), which knows its own noise; the spread of synthetic rows does not.",
    ),
    (
        "Significance tests on synthetic rows are wrong.",
        "They ignore the privacy noise, and more rows can be drawn at will: any difference becomes significant.",
    ),
    (
        "Numbers are spread within their bins.",
        "Values beyond the declared bounds count in the first or last bin; what happens within a bin is not in the table.",
    ),
)


def section(release: Any, level: float) -> str:
    """The section; nothing for other releases."""
    if not learned_tables.is_learned(release.plan):
        return ""
    learned = learned_tables.read(release.draws, release.plan, release.schema)
    made = quality(learned)
    known = of_learned.strengths(learned)
    return _errors(made) + _triples(made) + _unmeasured(made, known) + _by_pair(made, known) + _sharp_edges()


def _errors(made: Quality) -> str:
    """Errors by the number of columns."""
    # The error of single columns is small beside the noise of its estimate, which may be off by a factor of two.
    rows = [
        [
            _WAYS[way.columns],
            _number(way.misfit),
            _number(way.noise),
            _number(way.error) if way.columns > 1 else "not estimated",
        ]
        for way in made.ways
    ]
    head = ["mean over", "gap to the noisy tables", "gap that noise alone makes", "estimated error"]
    pairs = made.ways[1]
    text = (
        "The numbers are total variations: half the sum of all differences of shares, 0 where two tables agree and 1 where they "
        "have nothing in common. They follow from the release; no record was read. The gap between the model and the noisy tables "
        "is mostly noise: "
        f"{_number(pairs.misfit)} for a pair on average, where noise alone makes {_number(pairs.noise)}. {_verdict(pairs)} "
        "The error is the gap between the model and the records' own shares. It is estimated by fitting again to two thirds of the "
        "information and comparing with the last third: rather too large than too small (in trials 1.0 to 1.4 times the error of "
        "pairs on average). The sampling of the records is not in it."
    )
    return table(head, rows, caption="How far the model is from what was counted") + f"<p>{escape(text)}</p>"


def _verdict(pairs: Way) -> str:
    """Whether the model misses something that the noisy tables show."""
    if pairs.misfit is None or pairs.noise is None:
        return ""
    # The misfit of a mixture that has the records' own shares is the noise's; one that is a fifth larger misses structure.
    if pairs.misfit > 1.2 * pairs.noise:
        return "The gap is larger than noise makes: the model misses some of what was counted."
    return "A gap no larger than that shows nothing that the model misses."


def _triples(made: Quality) -> str:
    """What can be said about three columns."""
    if not made.triples:
        return ""
    way, whole = made.ways[2], "all" if made.whole_triples == made.triples else f"{made.whole_triples:,}"
    text = (
        f"No table of three columns was counted, so nothing here measures the error of {made.triples:,} sets of three. All three "
        f"pairs were counted in {whole} of them, and even then many tables of three columns have the same pairs. "
        f"{FOLDS} fits to parts of these counts, of which the model is the mean, differ from it by {_number(way.fits)} in the "
        f"shares of three columns, and by {_number(made.ways[1].fits)} in those of two. The counts leave at least that much open. "
        f"{made.rows:,} synthetic rows differ from the model by {_number(way.rows)} in three columns and by "
        f"{_number(made.ways[1].rows)} in two: fewer rows differ more."
    )
    compared = (
        f" The numbers for three are means over {made.compared} of the sets." if made.compared < made.triples else ""
    )
    return f"<h3>Three columns together</h3><p>{escape(text + compared)}</p>"


def _unmeasured(made: Quality, known: list[Strength]) -> str:
    """The pairs that were not counted: the strongest guesses first, and all of them by column, folded."""
    if not made.not_chosen and not made.left_out:
        return "<p>All pairs of columns were counted.</p>"
    guesses = {each.columns: each.synthetic for each in known if each.measured is None}
    parts = ["<h3>Pairs that were not counted</h3>"]
    for pairs, why in (
        (made.not_chosen, "were not among the pairs that were chosen"),
        (made.left_out, "were kept apart by the plan"),
    ):
        if pairs:
            ranked = sorted(pairs, key=lambda pair: -guesses[pair])
            named = "; ".join(f"{' and '.join(pair)} {guesses[pair]:.2f}" for pair in ranked[:_NAMED])
            most = f", of which the {_NAMED} strongest guesses are" if len(pairs) > _NAMED else ":"
            parts.append(f"<p>{escape(f'{len(pairs)} {why}{most} {named}.')}</p>")
            parts.append(folded(f"All {len(pairs)}, by column", _by_column(pairs) if len(pairs) > _NAMED else ""))
    parts.append(
        "<p>How these columns depend on each other in a synthetic table (Cramér's V, the numbers above) is the model's guess, from "
        "the columns that both were counted with. It may be far off. Do not draw conclusions from it.</p>"
    )
    return "".join(parts)


def _by_column(pairs: tuple[tuple[str, str], ...]) -> str:
    """Each pair once, under its first column."""
    others: dict[str, list[str]] = {}
    for first, second in pairs:
        others.setdefault(first, []).append(second)
    rows = [[first, ", ".join(second)] for first, second in others.items()]
    return table(["column", "not counted together with"], rows, numbers=False, caption="Pairs that were not counted")


def _by_pair(made: Quality, known: list[Strength]) -> str:
    """Every counted pair, the strongest first, folded."""
    fits = {frozenset(fit.columns): fit for fit in made.pairs}
    rows = []
    for each in of_learned.ranked(known):
        fit: Fit | None = fits.get(frozenset(each.columns))
        if fit is None or each.measured is None:
            continue
        counted = f"{each.measured:.2f}" if each.clear else "noise"
        numbers = (_number(fit.misfit), _number(fit.noise), _number(fit.error))
        rows.append([" and ".join(each.columns), counted, f"{each.synthetic:.2f}", *numbers])
    head = ["pair", "strength, counted", "strength, synthetic", "gap", "noise", "error"]
    made_table = table(head, rows, caption="Every pair that was counted: its dependence (Cramér's V) and its gaps")
    note = (
        "“noise” in place of a strength stands for a dependence that cannot be distinguished from noise. Levels with few records "
        "are pooled, for both strengths alike. Where the synthetic "
        "strength is much below the counted one, the model shows a dependence too weakly."
    )
    return folded(f"All {len(rows)} counted pairs", made_table + f"<p>{note}</p>")


def _sharp_edges() -> str:
    items = "".join(f"<li><strong>{escape(head)}</strong> {escape(text)}</li>" for head, text in _EDGES)
    return f"<h3>What a synthetic table is not</h3><ul>{items}</ul>"


def _number(value: float | None) -> str:
    """A total variation with two digits."""
    if value is None:
        return "not counted"
    return f"{value:.4f}" if value < 0.01 else f"{value:.3f}"
