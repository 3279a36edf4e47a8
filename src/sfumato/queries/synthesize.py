"""A synthetic table from a released network: levels dealt column by column, parents first. Post-processing, any number of rows.

Levels are dealt systematically among the rows with the same parents, so that the counts of a column and its parents are the
tables' expectation up to one row. Independent draws would add the sampling error of as many rows to that of the release.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models.networks.bayesian_network import BayesianNetwork
from sfumato.queries.convert import needed
from sfumato.queries.systematic import systematic_codes
from sfumato.queries.tables import Network
from sfumato.schema import Date, Number

FORMS = ("mapping", "arrow", "pandas")
# Whole numbers below this are exact as floats, and are given as integers.
_WHOLE = 2.0**53


def synthesize(network: Network, rows: int, randomness: Any = None, to: str = "mapping") -> Any:
    """A table of `rows` records with the schema's names and levels, in random order.

    A number that was cut into bins is spread evenly over its bin. `randomness` is a seed or a NumPy generator: the tables are
    public, so privacy does not depend on it. `to`: "mapping" (name -> array), "arrow" or "pandas".
    """
    count = _validate.whole("rows", rows)
    _validate.one_of("to", to, FORMS)
    rng = np.random.default_rng(randomness)
    codes = sampled(network, count, rng)
    columns = {name: _values(network, name, codes[name], rng) for name in network.schema.columns if name in codes}
    if to == "mapping":
        return columns
    if to == "arrow":
        import pyarrow

        return pyarrow.table(columns)
    return needed("pandas", "to='pandas'").DataFrame(columns)


def sampled(network: Network, rows: int, rng: np.random.Generator) -> dict[str, NDArray[np.int64]]:
    """Positions of levels, column by column; rows are in random order, since each column is dealt in random order."""
    codes: dict[str, NDArray[np.int64]] = {}
    for factor in network.factors:
        place = np.zeros(rows, dtype=np.int64)
        for parent, size in zip(factor.parents, factor.values.shape[:-1], strict=True):
            if parent not in codes:
                raise ArgumentError(
                    f"the model has no law of column {parent!r}: a chain of single transitions does not say where it starts. "
                    "Use conditional(...), or a chain of trajectories."
                )
            place = place * size + codes[parent]
        laws = factor.values.reshape(-1, factor.values.shape[-1])
        codes[factor.column] = systematic_codes(place, laws, rng)
    return codes


def _values(network: Network, name: str, codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
    """Levels of the schema, or numbers within its bounds."""
    column = network.schema.columns[name]
    if not isinstance(column, Number):
        levels: Any = column.levels
        return np.array(levels, dtype=object if isinstance(levels[0], str) else None)[codes]
    edges = dict(network.model.bins)[name] if isinstance(network.model, BayesianNetwork) else ()
    return in_own_type(column, spread(column, np.array(edges, dtype=np.float64), codes, rng))


def in_own_type(column: Number, numbers: NDArray[Any]) -> NDArray[Any]:
    """Numbers of a column as its table holds them: whole numbers as integers, days as dates."""
    # Dates are written as the table writes them, so that the same schema reads the synthetic one.
    if isinstance(column, Date):
        return np.array([column.written(day) for day in numbers], dtype=object)
    exact = column.integer and max(abs(column.lower), abs(column.upper)) < _WHOLE
    return numbers.astype(np.int64) if exact else numbers


def spread(
    column: Number, edges: NDArray[np.float64], codes: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[Any]:
    """Numbers spread evenly over their bins, whole where the schema declares whole numbers."""
    low, high = np.clip(edges[:-1], column.lower, column.upper), np.clip(edges[1:], column.lower, column.upper)
    if not column.integer:
        return np.asarray(low[codes] + (high - low)[codes] * rng.random(len(codes)))
    first = np.ceil(low)
    # A bin ends before its upper edge, the last one at it.
    last = np.array([*(math.ceil(edge) - 1 for edge in high[:-1]), math.floor(high[-1])], dtype=np.float64)
    empty = last < first
    first[empty] = last[empty] = np.clip(np.rint(0.5 * (low + high)), column.lower, column.upper)[empty]
    whole = first[codes] + np.floor((last - first + 1)[codes] * rng.random(len(codes)))
    return np.asarray(whole.astype(np.int64) if max(abs(column.lower), abs(column.upper)) < _WHOLE else whole)
