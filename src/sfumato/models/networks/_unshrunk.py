"""Tables with the prior's shrinkage removed: post-processing, since it uses public and released numbers alone.

A row drawn from Dirichlet(s a + r c) lies around (s a + r c)/(s A + r m), A the sum of a and m that of the counts c. So

    theta + (theta - a/A) s A/(r m)

lies around c/m; it is projected to shares of at least 0 that sum to 1 (nearest in Euclidean norm). The row's own size m is
not released; it is estimated by n times the share of its parents' configuration under the tables of its ancestors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.models.families import _cells
from sfumato.models.families.family import Array
from sfumato.models.networks._elimination import TooLarge, joint

if TYPE_CHECKING:
    from sfumato.models.networks.bayesian_network import BayesianNetwork


def rows(shares: Array, prior: Array, sizes: Array, power: float, strength: float) -> Array:
    """Rows (k, levels) of a table moved away from their prior, where `sizes` (k,) records fall into each row."""
    weight = strength * prior.sum(axis=-1, keepdims=True)
    # A row with less than one expected record counts as one of a single record, which bounds the correction.
    pull = weight / (power * np.maximum(sizes, 1.0)[:, None])
    return _cells.nearest_counts(shares + (shares - strength * prior / weight) * pull, 1)


def network(model: BayesianNetwork, values: Array, n: int, power: float, strength: float) -> Array:
    """All tables of a network, from the roots down."""
    freed = values.copy()
    for node in model.order:
        table = model.table_of[node]
        # The tables of the ancestors are already corrected, and the share of a row depends on no others.
        try:
            share = joint(model.factors(freed, ()), model.above[node]).ravel()
        except TooLarge:
            share = list(model.row_weights(freed))[model.tables.index(table)]
        moved = rows(table.of(freed), table.of(model.prior), n * share, power, strength)
        freed[table.first : table.last] = moved.ravel()
    return freed
