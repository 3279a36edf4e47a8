"""Networks: conditional shares and marginals from the noisy counts of their tables.

Each table counted all records with noise of its own, so any share of columns that one table holds has the law of
`count_laws`. Nothing is assumed beyond the counts: the network's arrows play no part in these intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sfumato._quadrature import Array
from sfumato.errors import ArgumentError
from sfumato.models.networks._tables import Tables
from sfumato.models.networks.bayesian_network import BayesianNetwork
from sfumato.queries.statistics import cell_counts
from sfumato.queries.statistics.cell_counts import Counted
from sfumato.queries.statistics.count_laws import ShareLaw
from sfumato.queries.statistics.protocol import REFERENCE, Ends, Released

# Most cells of which all intervals are computed at once: some 10 ms each.
MOST_CELLS = 4000
NO_COUNTS = (
    "no interval: the tables of this network are drawn without noisy counts, from which intervals are computed. For intervals "
    'plan it with mechanism = "noisy-statistics".'
)
_FLOOR = (
    "no interval: shares above a floor are not Beta given their counts. Leave floor out of the network for intervals."
)
# Names of the two axes of a chain's table of transitions.
_FROM, _TO = "from", "to"


def refusal(model: Tables) -> str | None:
    """A sentence for networks with a floor, and for those with too many cells for all intervals at once."""
    if model.lowest > 0:
        return _FLOOR
    if model.size > MOST_CELLS:
        return (
            f"the network has {model.size:,} cells, and all intervals are computed of at most {MOST_CELLS:,}: ask "
            "marginal(columns, interval=0.9) or conditional(column, given, interval=0.9) of the columns that you need."
        )
    return None


def unreadable(model: Tables, counted: bool) -> str | None:
    """Why no interval of this network can be read from a release, with noisy counts or without; None where it can."""
    if model.lowest > 0:
        return _FLOOR
    return None if counted else NO_COUNTS


def read(model: Tables, prior: Tables, released: Released) -> Ends:
    """Intervals of every conditional share of every table.

    The prior of a share is the reference prior; a reader's own prior gives its cells in the row.
    """
    if released.totals is None:
        raise ArgumentError(NO_COUNTS)
    own_prior = None if prior is model else prior
    laws = list(_laws(model, own_prior, released.n, released.totals, released.numbers.noise * model.sensitivity))
    return lambda level, sampling: (
        np.array([law.share_ends(level) if sampling else law.rows_ends(level) for law in laws]).T
    )


def counted_tables(model: Tables, totals: Array, deviation: float) -> tuple[Counted, ...]:
    """The noisy counts of each table; of a network one axis for each parent and one for the column."""
    parts = []
    for table in model.tables:
        cells = table.of(np.asarray(totals, dtype=np.float64))
        if isinstance(model, BayesianNetwork):
            above = model.above[table.node]
            shape = (*(model.sizes[name] for name in above), table.size)
            parts.append(Counted((*above, table.node), cells.reshape(shape), deviation**2))
        else:
            parts.append(Counted((_FROM, _TO), cells, deviation**2))
    return tuple(parts)


def _laws(model: Tables, prior: Tables | None, n: int, totals: Array, deviation: float) -> Iterator[ShareLaw]:
    """The law of every cell's share of its row, in the order of the totals."""
    tables = counted_tables(model, totals, deviation)
    for place, table in enumerate(model.tables):
        named = isinstance(model, BayesianNetwork)
        held, names = (tables, tables[place].columns) if named else ((tables[place],), (_FROM, _TO))
        cells = None if prior is None else table.of(prior.prior)
        for index in np.ndindex(*tables[place].counts.shape):
            levels = dict(zip(names, index, strict=True))
            own = {names[-1]: levels.pop(names[-1])}
            row = cells[_row(index, tables[place].counts.shape)] if cells is not None else None
            beta = REFERENCE if row is None else (float(row[index[-1]]), float(row.sum() - row[index[-1]]))
            yield law_of(held, n * table.per_record, own, levels if table.rows > 1 else {}, beta, table.filled)


def _row(index: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """The number of a row among the configurations of the parents."""
    return int(np.ravel_multi_index(index[:-1], shape[:-1])) if len(shape) > 1 else 0


def law_of(
    tables: tuple[Counted, ...],
    n: int,
    own: Mapping[str, int],
    given: Mapping[str, int],
    prior: tuple[float, float] = REFERENCE,
    filled: bool = True,
) -> ShareLaw:
    """The law of a share, of all records or given other columns."""
    if not given:
        return cell_counts.share(tables, n, own, prior)
    return cell_counts.conditional(tables, n, own, given, prior, filled)
