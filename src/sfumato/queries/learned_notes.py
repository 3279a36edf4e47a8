"""What a plan of a learnt table says before anything is paid: what is counted and how exactly, what each part is charged, rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import Any

from sfumato.models.networks._tables import size_of
from sfumato.models.networks.learned import LearnedNetwork
from sfumato.models.reading import FamilyOrGibbs
from sfumato.procedures.learnt_parts import pair_parts

# 90 % of a normal law lie within so many deviations: the usual level of an interval.
_HALF_WIDTH = 1.6448536269514722
# Columns, levels or rules that one line lists.
_LISTED = 8

Note = tuple[str, str]


def notes(model: FamilyOrGibbs, n: int, parameters: Any, mu: float | None) -> list[Note]:
    """Lines of a printed plan, each with its heading; none for other models. `mu` is the price of all parts together."""
    if not isinstance(model, LearnedNetwork):
        return []
    numbers = dict(parameters)
    lines = [("tables", _tables(model, n, float(numbers["noise"])))]
    if model.quantiles:
        lines.append(("bins", _bins(model)))
    if mu is not None and (charged := _charged(numbers, mu)):
        lines.append(("charged", charged))
    lines.append(("intervals", _intervals(model)))
    if model.missing:
        elsewhere = "" if len(model.missing) == len(model.names) else "; in other columns as the schema declares"
        lines.append(("missing", f"a level of its own in {_listed(model.missing)}{elsewhere}"))
    if model.impossible:
        lines.append(
            ("impossible", "; ".join(_rule(model, rule) for rule in model.impossible[:_LISTED]) + _more(model))
        )
    return lines


def _tables(model: LearnedNetwork, n: int, noise: float) -> str:
    """Which pairs are counted, in how many cells, and how exactly a cell of the table of median noise is known."""
    # The pairs that stand first are as good as those that will be chosen: all chosen ones have the same noise.
    parts = pair_parts(model, noise, model.open_pairs[: model.chosen])
    if model.chosen:
        cells = sorted(model.sizes[model.names[a]] * model.sizes[model.names[b]] for a, b in model.open_pairs)
        always = f", the {len(model.fixed_pairs)} pairs with {model.target}" if model.fixed_pairs else ""
        text = (
            f"{len(model.names)} single columns{always} and {model.chosen} of {len(model.open_pairs)} pairs, "
            f"which are chosen in {model.rounds} round{'s' * (model.rounds > 1)}"
        )
        typical, deviation = median_low(cells), parts[-1].deviation
    else:
        text = f"{len(parts)} pairs of {len(model.names)} columns, {sum(part.size for part in parts):,} cells"
        middle = median_low([part.deviation for part in parts])
        typical, deviation = next((part.size, middle) for part in parts if part.deviation == middle)
    half, average = _HALF_WIDTH * deviation, n / typical
    text += f"; in a typical table of {typical:,} cells the count of one is known to +/- {_count(half)} (90 %), "
    text += f"and {_count(average)} records are in one on average"
    if half > average:
        text += ". Little is known of single cells: take fewer bins or columns, or a larger epsilon"
    return text


def _bins(model: LearnedNetwork) -> str:
    counts = {name: size_of(dict(model.cardinalities)[name]) for name, _ in model.quantiles}
    listed = ", ".join(f"{name} ({count})" for name, count in list(counts.items())[:_LISTED])
    more = f" and {len(counts) - _LISTED} more columns" if len(counts) > _LISTED else ""
    return f"private, of about equally many records each, from noisy counts that are charged: {listed}{more}"


def _charged(numbers: Mapping[str, float | None], mu: float) -> str:
    """The shares of the price, which adds up in mu^2; nothing to say where all of it goes to the tables of pairs."""
    named = {"noise": "tables of pairs", "bins_noise": "private bins", "single_noise": "single columns"}
    shares = {words: (float(numbers[key] or 0) * mu) ** -2 for key, words in named.items() if numbers.get(key)}
    if numbers.get("choice"):
        shares["choices of pairs"] = max(0.0, 1 - sum(shares.values()))
    if len(shares) < 2:
        return ""
    return f"{', '.join(f'{words} {100 * share:.0f} %' for words, share in shares.items())} of mu^2"


def _intervals(model: LearnedNetwork) -> str:
    one = "for shares of one column"
    if model.chosen:
        sure = f", of two with {model.target} among them" if model.fixed_pairs else ""
        return f"{one}{sure} and of the pairs that are chosen; which ones, the release says. Others get shares alone"
    if model.apart:
        groups = "; ".join(_listed(group) for group in model.apart)
        return (
            f"{one} and of two, but for two of a group that are not counted together: {groups}. Others get shares alone"
        )
    return f"{one} and of two; of more columns a share has none"


def _rule(model: LearnedNetwork, rule: Any) -> str:
    """A rule in words: no record has these levels together."""
    return "no record has " + " and ".join(
        f"{name}={' or '.join(model.words(name)[place] for place in places[:_LISTED])}"
        f"{' or others' if len(places) > _LISTED else ''}"
        for name, places in rule
    )


def _more(model: LearnedNetwork) -> str:
    left = len(model.impossible) - _LISTED
    return f"; and {left} more rules" if left > 0 else ""


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _count(records: float) -> str:
    """A number of records, without digits that say nothing."""
    return f"{records:,.0f}" if records >= 10 else f"{records:.2g}"
