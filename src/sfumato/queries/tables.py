"""Marginals and conditionals of a released network: exact sums over its drawn tables.

Tables drawn under a strengthened prior or a tempered likelihood lie around shrunk frequencies. Prior, strength,
power and n are public, so with `debias` (the default) the prior's pull is undone, which costs nothing: it is post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato._validate import visible
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.models import families
from sfumato.models.networks._columns import words
from sfumato.models.networks._elimination import joint
from sfumato.models.networks._tables import Factor, Tables
from sfumato.models.networks.bayesian_network import BayesianNetwork
from sfumato.queries.convert import needed
from sfumato.schema import Schema

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of the combinations of some columns: `values` has one axis per column, `levels` name its entries."""

    columns: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]
    values: Array

    def __getitem__(self, combination: Any) -> float:
        """The share of one level, or of one combination of levels."""
        key = combination if isinstance(combination, tuple) else (combination,)
        if len(key) != len(self.columns):
            raise ArgumentError(f"name one level of each of {', '.join(self.columns)}; got {combination!r}.")
        pairs = zip(self.columns, self.levels, key, strict=True)
        return float(self.values[tuple(_place(column, levels, level) for column, levels, level in pairs)])

    def to_dict(self) -> dict[Any, float]:
        """Combination -> share; single levels where there is one column."""
        if len(self.columns) == 1:
            return dict(zip(self.levels[0], map(float, self.values), strict=True))
        return {
            tuple(levels[k] for levels, k in zip(self.levels, index, strict=True)): float(value)
            for index, value in np.ndenumerate(self.values)
        }

    def __str__(self) -> str:
        rows = [(*self.columns, "share")]
        for index, value in np.ndenumerate(self.values):
            rows.append((*(str(levels[k]) for levels, k in zip(self.levels, index, strict=True)), f"{value:.4f}"))
        rows = [tuple(map(visible, row)) for row in rows]
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


@dataclass(frozen=True, eq=False)
class Network:
    """A released network as its reader sees it: the law of each column given its parents, and the levels of each."""

    model: Tables
    schema: Schema
    factors: tuple[Factor, ...]
    levels: Mapping[str, tuple[Any, ...]]


def read(
    draws: Draws, plan: Mapping[str, Any], schema: Mapping[str, Any], debias: bool = True, draw: int | None = None
) -> Network:
    """The network of a release, its tables averaged over the draws, or those of one `draw` alone."""
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
    return Network(model, declared, tuple(model.factors(values, columns)), levels)


def _levels(model: Tables, schema: Schema, name: str) -> tuple[Any, ...]:
    """Levels of a column as the schema declares them; bins of a number in words."""
    column = schema.columns[name]
    if column.levels is not None or not isinstance(model, BayesianNetwork):
        return tuple(column.levels or ())
    return words(model, name)


def _place(column: str, levels: tuple[Any, ...], level: Any) -> int:
    if level not in levels:
        raise ArgumentError(f"column {column!r} has the levels {', '.join(map(repr, levels))}; got {level!r}.")
    return levels.index(level)


def marginal(network: Network, columns: str | Sequence[str]) -> Shares:
    """Joint shares of some columns."""
    wanted = _named(network, columns)
    return Shares(wanted, tuple(network.levels[name] for name in wanted), joint(network.factors, wanted))


def conditional(network: Network, column: str, given: str | Sequence[str] | Mapping[str, Any]) -> Shares:
    """Shares of a column given others: given levels, one share per level; given names, one row per combination of theirs.

    A combination that the tables make impossible has no conditional: its row is not a number.
    """
    (wanted,) = _named(network, column)
    names = _named(network, list(given) if isinstance(given, Mapping) else given)
    if wanted in names:
        raise ArgumentError(f"column {wanted!r} cannot be given to itself.")
    values = _given(network, wanted, names)
    if not isinstance(given, Mapping):
        axes = (*names, wanted)
        return Shares(axes, tuple(network.levels[name] for name in axes), values)
    place = tuple(_place(name, network.levels[name], given[name]) for name in names)
    return Shares((wanted,), (network.levels[wanted],), values[place])


def _given(network: Network, wanted: str, names: tuple[str, ...]) -> Array:
    """Shares of a column along the last axis; straight from its table where exactly its parents are given."""
    for factor in network.factors:
        if factor.column == wanted and set(factor.parents) == set(names):
            return np.transpose(factor.values, [*(factor.parents.index(name) for name in names), len(names)])
    together = joint(network.factors, (*names, wanted))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(together / together.sum(axis=-1, keepdims=True), dtype=np.float64)


def _named(network: Network, columns: str | Sequence[str]) -> tuple[str, ...]:
    wanted = (columns,) if isinstance(columns, str) else tuple(columns)
    if not wanted or len(set(wanted)) != len(wanted):
        raise ArgumentError(f"name at least one column, none twice; got {columns!r}.")
    for name in wanted:
        if name not in network.levels:
            raise ArgumentError(f"the network has the columns {', '.join(network.levels)}; got {name!r}.")
    return wanted


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
