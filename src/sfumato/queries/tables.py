"""Marginals and conditionals of a released network: exact sums over its drawn tables.

Tables drawn under a strengthened prior or a tempered likelihood lie around shrunk frequencies. Prior, strength,
power and n are public, so with `debias` (the default) the prior's pull is undone, which costs nothing: it is post-processing.
Where the release holds noisy counts, the tables are also raked to the shares of single columns that all counts give together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.models import families
from sfumato.models.families._bins import labels_in
from sfumato.models.networks._columns import words
from sfumato.models.networks._elimination import joint
from sfumato.models.networks._tables import Factor, Tables
from sfumato.models.networks.bayesian_network import BayesianNetwork
from sfumato.queries.convert import needed
from sfumato.queries.raking import raked
from sfumato.queries.shares_by_level import Shares, adding_up, named_columns, place_of
from sfumato.queries.statistics import cell_counts, network_tables
from sfumato.queries.statistics.cell_counts import Counted
from sfumato.queries.statistics.protocol import numbers_of
from sfumato.schema import Schema

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Network:
    """A released network as its reader sees it: the law of each column given its parents, and the levels of each."""

    model: Tables
    schema: Schema
    factors: tuple[Factor, ...]
    levels: Mapping[str, tuple[Any, ...]]
    n: int = 0
    # Noisy counts of each table, or the reason why there are none.
    counted: tuple[Counted, ...] | str = network_tables.NO_COUNTS


def read(
    draws: Draws, plan: Mapping[str, Any], schema: Mapping[str, Any], debias: bool = True, draw: int | None = None
) -> Network:
    """The network of a release, its tables averaged over the draws, or those of one `draw` alone.

    Where there are noisy counts the tables are raked, but not those of one draw, nor without `debias`.
    """
    model = families.from_json(plan["model"]) if "family" in plan["model"] else None
    if not isinstance(model, Tables):
        raise ArgumentError("only a release of sf.networks has tables to ask; this one is of another model.")
    declared = Schema.from_json(schema["document"])
    columns = model.columns(declared)
    pooled = draws.pooled()
    if draw is not None and not (isinstance(draw, int) and 0 <= draw < len(pooled)):
        raise ArgumentError(f"draw must be one of the release's {len(pooled)} draws, counted from 0; got {draw!r}.")
    values = np.array(pooled.mean(axis=0) if draw is None else pooled[draw])
    if debias:
        numbers = plan["parameters"]
        freed = model.unshrunk(values, plan["n"], numbers.get("power", 1.0), numbers.get("strength", 1.0))
        values = values if freed is None else freed
    levels = {name: _levels(model, declared, name) for name in columns}
    factors = tuple(model.factors(values, columns))
    counted, n = _counted(model, columns, draws, plan), int(plan["n"])
    if debias and draw is None and isinstance(model, BayesianNetwork) and not isinstance(counted, str):
        factors = raked(factors, counted, n)
    return Network(model, declared, factors, levels, n, counted)


def _counted(
    model: Tables, columns: tuple[str, ...], draws: Draws, plan: Mapping[str, Any]
) -> tuple[Counted, ...] | str:
    """The noisy counts of each table by the names of its columns, or the reason why there are none."""
    reason = network_tables.unreadable(model, draws.totals is not None)
    if reason is not None or draws.totals is None:
        return str(reason)
    tables = network_tables.counted_tables(model, draws.totals, numbers_of(plan).noise * model.sensitivity)
    if isinstance(model, BayesianNetwork):
        return tables
    if len(tables) > 1:
        return (
            "no interval: the steps of a trajectory share one table, which counts no column by itself; release.interval() has "
            "the intervals of the first state and of the transitions."
        )
    return (replace(tables[0], columns=columns),)


def _levels(model: Tables, schema: Schema, name: str) -> tuple[Any, ...]:
    """Levels of a column as the schema declares them; bins of a number in words."""
    column = schema.columns[name]
    if column.levels is not None or not isinstance(model, BayesianNetwork):
        return tuple(column.levels or ())
    return labels_in(column, words(model, name), dict(model.bins).get(name))


def marginal(network: Network, columns: str | Sequence[str], interval: float | None = None) -> Shares:
    """Joint shares of some columns; with `interval`, a level such as 0.9, from the noisy counts, with intervals."""
    wanted = named_columns("network", network.levels, columns)
    levels = tuple(network.levels[name] for name in wanted)
    if interval is None:
        return Shares(wanted, levels, joint(network.factors, wanted))
    return _with_intervals(network, wanted, levels, (), interval)


def conditional(
    network: Network,
    column: str,
    given: str | Sequence[str] | Mapping[str, Any],
    interval: float | None = None,
) -> Shares:
    """Shares of a column given others: given levels, one share per level; given names, one row per combination of theirs.

    A combination that the tables make impossible has no conditional: its row is not a number. With `interval`, a level such as
    0.9, the shares are estimated from the noisy counts and have intervals.
    """
    (wanted,) = named_columns("network", network.levels, column)
    names = named_columns("network", network.levels, list(given) if isinstance(given, Mapping) else given)
    if wanted in names:
        raise ArgumentError(f"column {wanted!r} cannot be given to itself.")
    axes = (*names, wanted)
    levels = tuple(network.levels[name] for name in axes)
    place: tuple[int, ...] = ()
    if isinstance(given, Mapping):
        place = tuple(place_of(name, network.levels[name], given[name]) for name in names)
    if interval is None:
        shares = Shares(axes, levels, _given(network, wanted, names))
    else:
        shares = _with_intervals(network, axes, levels, names, interval, place)
    return shares if not place else shares.at(place)


def _with_intervals(
    network: Network,
    axes: tuple[str, ...],
    levels: tuple[tuple[Any, ...], ...],
    given: tuple[str, ...],
    interval: float,
    place: tuple[int, ...] = (),
) -> Shares:
    """Estimates and intervals of all shares, or of those at one `place` of the first axes, the others not computed."""
    level = _validate.between("interval", interval, 0.0, 1.0)
    if isinstance(network.counted, str):
        raise ArgumentError(network.counted)
    cell_counts.holding(network.counted, axes)
    shape = tuple(len(each) for each in levels)
    ends = np.full((3, *shape), np.nan)
    for index in np.ndindex(*shape):
        if index[: len(place)] == place:
            fixed = dict(zip(axes, index, strict=True))
            row = {name: fixed.pop(name) for name in given}
            law = network_tables.law_of(network.counted, network.n, fixed, row)
            ends[(slice(None), *index)] = (*law.share_ends(level), law.share_median())
    if given:
        ends[2] = adding_up(ends[2], ends[0], ends[1], tuple(k for k, name in enumerate(axes) if name not in given))
    return Shares(axes, levels, ends[2], ends[0], ends[1], level)


def _given(network: Network, wanted: str, names: tuple[str, ...]) -> Array:
    """Shares of a column along the last axis; straight from its table where exactly its parents are given."""
    for factor in network.factors:
        if factor.column == wanted and set(factor.parents) == set(names):
            return np.transpose(factor.values, [*(factor.parents.index(name) for name in names), len(names)])
    together = joint(network.factors, (*names, wanted))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(together / together.sum(axis=-1, keepdims=True), dtype=np.float64)


def to_pgmpy(network: Network) -> Any:
    """The network as pgmpy's, with its tables."""
    models, discrete = (needed(f"pgmpy.{part}", "to_pgmpy") for part in ("models", "factors.discrete"))
    if any(parent not in {f.column for f in network.factors} for f in network.factors for parent in f.parents):
        raise ArgumentError("a chain of single transitions has no law of its first state, so it is no pgmpy network.")
    # The class was renamed in pgmpy 1.0.
    kind = getattr(models, "DiscreteBayesianNetwork", None) or models.BayesianNetwork
    model = kind([(parent, factor.column) for factor in network.factors for parent in factor.parents])
    model.add_nodes_from([factor.column for factor in network.factors])
    for factor in network.factors:
        size = factor.values.shape[-1]
        names = {name: list(network.levels[name]) for name in (factor.column, *factor.parents)}
        model.add_cpds(
            discrete.TabularCPD(
                factor.column,
                size,
                factor.values.reshape(-1, size).T.tolist(),
                evidence=list(factor.parents) or None,
                evidence_card=list(factor.values.shape[:-1]) or None,
                state_names=names,
            )
        )
    return model
