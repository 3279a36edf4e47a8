"""Tables freed of the prior's pull: post-processing that a reader can do, for every number in it is public or released.

A row drawn from Dirichlet(s a + r c) lies around (s a + r c)/(s A + r m), A the sum of a and m that of the counts c. So

    theta + (theta - a/A) s A/(r m)

lies around c/m; it is brought back to shares of at least 0 that sum to 1 (nearest in Euclidean norm). The row's own size m
is not released, but n times the share of its parents' configuration, taken from the tables above, tells it well enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.models.families import _cells
from sfumato.models.families.family import Array
from sfumato.models.networks._elimination import TooLarge, joint

if TYPE_CHECKING:
    from sfumato.models.networks.bayesian_network import BayesianNetwork


def rows(shares: Array, prior: Array, met: Array, power: float, strength: float) -> Array:
    """Rows (k, size) of a table moved away from their prior, met about `met` (k,) times each."""
    weight = strength * prior.sum(axis=-1, keepdims=True)
    # A row that is hardly ever met says nothing: less than one record counts as one.
    pull = weight / (power * np.maximum(met, 1.0)[:, None])
    return _cells.nearest_counts(shares + (shares - strength * prior / weight) * pull, 1)


def network(model: BayesianNetwork, values: Array, n: int, power: float, strength: float) -> Array:
    """All tables of a network, from the roots down."""
    found = values.copy()
    position = {table.node: k for k, table in enumerate(model.tables)}
    for node in model.order:
        k = position[node]
        table = model.tables[k]
        # The tables above are already done, and how often a row is met depends on no others.
        try:
            share = joint(model.factors(found, ()), model.above[node]).ravel()
        except TooLarge:
            share = list(model.row_weights(found))[k]
        freed = rows(table.of(found), table.of(model.prior), n * share, power, strength)
        found[table.first : table.last] = freed.ravel()
    return found
