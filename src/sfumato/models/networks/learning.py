"""`sf.networks.learn`: from a schema to the model of a learnt table. Every choice here is made from public facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models.families._public_grid import cell_edges, column_edges
from sfumato.models.networks import _columns, _impossible
from sfumato.models.networks.learned import LearnedNetwork
from sfumato.schema import Number, Schema

PAIRS = ("all", "select")
# Words for the automatic bins of numbers: of equal width between the declared bounds, or of about equally many records.
UNIFORM, QUANTILES = "uniform", "quantiles"
# Automatic bins. Ten hold a tenth of the records each, so that a cell of a pair holds a hundredth on average.
_BINS = 10
# Whole numbers with at most so many values are levels, one bin for each.
_FEW = 16
# Fine cells that are counted for private bins: four to the fourth, a tree of four levels.
_CELLS = 4**4
# Most columns of which all pairs are counted unless asked for. With 15 columns all pairs are better, with 30 both are as good at
# epsilon 1 (docs/synthetic.md); above, each pair would have less than 1/435 of the information.
_ALL = 30
# Pairs that are chosen, for each column, and in how many rounds. A connected table needs one a column; with three, fewer than the
# dependences there are were counted, and at epsilon 3 the error was a quarter larger than with six.
_CHOSEN, _ROUNDS = 6, 4


def learn(
    schema: Schema,
    bins: Mapping[str, Any] | str | None = None,
    pairs: str | None = None,
    target: str | None = None,
    missing: Sequence[str] | str = (),
    impossible: Sequence[Mapping[str, Any]] = (),
    leave_out: Sequence[Any] = (),
    chosen: int | None = None,
    rounds: int | None = None,
) -> LearnedNetwork:
    """The model of a synthetic table that needs no network drawn by hand.

    bins: for Number and Date columns the public edges, a number of equal bins, or "quantiles" ({"quantiles": 8} for a number of
        them), bins of about equally many records, which are estimated from noisy counts and charged; one word, "uniform" or
        "quantiles", for all columns that are not named. Left out: whole numbers of few values each by itself, others "quantiles".
    pairs: "all" pairs are counted, or some are chosen ("select"); by default all of up to 30 columns.
    target: a column that is counted with every other one, and whose tables get more of the information.
    missing: columns in which a missing cell is a level of its own, or "all"; in others it counts as the schema declares.
    impossible: rules known beforehand, two columns each: [{"age": "< 15", "marital": ["married", "widowed"]}].
    leave_out: a column that is left out, or a list of columns of which no two are counted together.
    chosen, rounds: with "select", how many pairs are chosen, and in how many rounds.
    """
    if not isinstance(schema, Schema):
        raise ArgumentError(f"schema must be an sf.Schema; got {type(schema).__name__}.")
    gone, apart = _left_out(schema, leave_out)
    names = [name for name in schema.columns if name not in gone]
    if target is not None and target not in names:
        raise ArgumentError(f"target must be one of the columns {', '.join(names)}; got {_validate.shown(target)}.")
    edges, cells = _binned(schema, names, bins, impossible)
    levels: dict[str, Any] = {}
    for name in names:
        own: Any = schema.columns[name].levels
        levels[name] = own if own is not None else (cells[name][1] if name in cells else len(edges[name]) - 1)
        if own is not None and len(own) < 2:
            raise ArgumentError(f"column {name!r} has one level: there is nothing to learn about it. Leave it out.")
    absent = _missing(names, missing)
    way = ("all" if len(names) <= _ALL else "select") if pairs is None else _validate.one_of("pairs", pairs, PAIRS)
    facts: dict[str, Any] = {
        "bins": tuple(edges.items()),
        "quantiles": tuple((name, fine) for name, (fine, _) in cells.items()),
        "missing": absent, "apart": apart, "target": target,
    }  # fmt: skip
    draft = LearnedNetwork(tuple(levels.items()), **facts)
    shown = {name: _values(schema, draft, name) for name in names}
    facts["impossible"] = _impossible.read_rules(impossible, schema.columns, shown, edges)
    if way == "all":
        if chosen is not None or rounds is not None:
            raise ArgumentError('chosen and rounds are for pairs="select".')
        return LearnedNetwork(tuple(levels.items()), **facts)
    most = len(draft.candidates) - (
        0 if target is None else sum(draft.names.index(target) in pair for pair in draft.candidates)
    )
    count = (
        min(_CHOSEN * len(names), most)
        if chosen is None
        else _validate.whole("chosen", chosen, 1, most, "there are no more")
    )
    if count >= most:
        return LearnedNetwork(tuple(levels.items()), **facts)
    turns = min(_ROUNDS, count) if rounds is None else _validate.whole("rounds", rounds, 1, count, "one for each pair")
    return LearnedNetwork(tuple(levels.items()), **facts, chosen=count, rounds=turns)


def _left_out(schema: Schema, given: Sequence[Any]) -> tuple[set[str], tuple[tuple[str, ...], ...]]:
    """Columns that are left out, and groups of which no two are counted together."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ArgumentError(
            f'leave_out must be a list of columns, or of groups such as [["zip", "county"]]; got {_validate.shown(given)}.'
        )
    gone = {each for each in given if isinstance(each, str)}
    groups = [each for each in given if not isinstance(each, str)]
    for group in groups:
        named = isinstance(group, Sequence) and all(isinstance(name, str) for name in group)
        if not named or len(set(group)) < 2:
            raise ArgumentError(f"a group of leave_out names at least two columns; got {_validate.shown(group)}.")
    for name in (*gone, *(name for group in groups for name in group)):
        if name not in schema.columns:
            raise ArgumentError(f"leave_out names {name!r}, which is not a column: {', '.join(schema.columns)}.")
    return gone, tuple(tuple(name for name in dict.fromkeys(group) if name not in gone) for group in groups)


def _missing(names: Sequence[str], given: Sequence[str] | str) -> tuple[str, ...]:
    if given == "all":
        return tuple(names)
    listed = not isinstance(given, str) and isinstance(given, Sequence)
    if not listed or any(name not in names for name in given):
        raise ArgumentError(f'missing must be "all" or a list of columns of the table; got {_validate.shown(given)}.')
    return tuple(name for name in names if name in given)


def _values(schema: Schema, model: LearnedNetwork, name: str) -> tuple[Any, ...]:
    """What a rule may name: the levels of a column, or its bins in words, and the word for missing."""
    own = schema.columns[name].levels
    words = model.words(name)
    return words if own is None else (*own, *words[len(own) :])


def _binned(
    schema: Schema, names: Sequence[str], bins: Mapping[str, Any] | str | None, impossible: Any
) -> tuple[dict[str, tuple[float, ...]], dict[str, tuple[tuple[float, ...], int]]]:
    """Public edges of columns, and of those with private bins their fine cells and number of bins."""
    word = bins if isinstance(bins, str) else None
    if word is not None:
        _validate.one_of("bins", word, (UNIFORM, QUANTILES))
    if not (bins is None or isinstance(bins, str | Mapping)):
        raise ArgumentError(
            f'bins must be "uniform", "quantiles", or a mapping of columns such as {{"age": 10}}; got {_validate.shown(bins)}.'
        )
    given = {} if bins is None or isinstance(bins, str) else dict(bins)
    for name in given:
        if name not in names or not isinstance(schema.columns[name], Number):
            raise ArgumentError(f"bins[{name!r}]: only Number and Date columns of the table are cut into bins.")
    edges: dict[str, tuple[float, ...]] = {}
    cells: dict[str, tuple[tuple[float, ...], int]] = {}
    for name in names:
        column = schema.columns[name]
        if not isinstance(column, Number):
            continue
        said = given.get(name, word)
        if said is None:
            said = UNIFORM if _values_of(column) <= _FEW else QUANTILES
        count = said.get(QUANTILES) if isinstance(said, Mapping) and set(said) == {QUANTILES} else _BINS
        if said == QUANTILES or isinstance(said, Mapping):
            cells[name] = _private(name, column, said, count)
        else:
            edges |= _public(schema, name, column, said, impossible)
    return edges, cells


def _private(name: str, column: Number, said: Any, count: Any) -> tuple[tuple[float, ...], int]:
    if said != QUANTILES and (not isinstance(said, Mapping) or set(said) != {QUANTILES}):
        raise ArgumentError(
            f"bins[{name!r}] must be edges, a number of equal bins, or {{quantiles = 8}}; got {_validate.shown(said)}."
        )
    fine = column_edges(column, _CELLS) or cell_edges(column.lower, column.upper, column.integer, _CELLS)
    most = len(fine) - 1
    if most < 2:
        raise ArgumentError(f"column {name!r} has too few values for bins. Declare wider bounds, or leave it out.")
    return fine, min(_validate.whole(f"bins[{name!r}]", count, 2, _CELLS, "so many cells are counted for them"), most)


def _public(schema: Schema, name: str, column: Number, said: Any, impossible: Any) -> dict[str, tuple[float, ...]]:
    """Edges from public facts; bins that are made here also end where a rule compares."""
    if said == UNIFORM and _values_of(column) <= _FEW:
        said = int(_values_of(column))
    own = _BINS if said == UNIFORM else said
    if hasattr(own, "__index__") and column.integer and own == _values_of(column):
        return {name: tuple(column.lower + k for k in range(int(own) + 1))}
    if isinstance(own, (list, tuple)) or not hasattr(own, "__index__"):
        return _columns.edges_of(schema, {name: own}, {name})
    made = set(_columns.edges_of(schema, {name: own}, {name})[name])
    rules = impossible if isinstance(impossible, (list, tuple)) else ()
    for rule in rules:
        at = _impossible.edge_of(column, rule[name]) if isinstance(rule, Mapping) and name in rule else None
        if at is not None and min(made) < at < max(made):
            made.add(at)
    return {name: tuple(sorted(made))}


def _values_of(column: Number) -> float:
    """How many values a column of whole numbers can have; infinitely many otherwise."""
    return column.upper - column.lower + 1 if column.integer else float("inf")
