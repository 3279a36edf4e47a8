"""`sf.private_quantile`: bounds of a column by a private release, where none are publicly known.

A data set's bounds are fixed when it is made, from public knowledge. Without any, start wide and pay for better ones:

    wide = sf.Schema({"income": sf.Number(0, 1e12, missing=0)}, name="survey")
    data = sf.Dataset.from_table(path, schema=wide)
    grid = sf.families.Quantile.geometric_grid(1, 1e12)
    low, _ = sf.private_quantile(data, "income", 0.01, epsilon=0.1, grid=grid, ledger=ledger)
    high, _ = sf.private_quantile(data, "income", 0.99, epsilon=0.1, grid=grid, ledger=ledger)
    schema = sf.Schema({"income": sf.Number(low, high)}, name="survey")

and make the data set again with the new schema. Both quantiles are releases: the ledger is charged for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from sfumato.dataset import Dataset
from sfumato.errors import ArgumentError
from sfumato.models.families.quantile import Quantile
from sfumato.planning import plan
from sfumato.publishing import publish
from sfumato.release import Release

if TYPE_CHECKING:
    from sfumato.ledger import Ledger
    from sfumato.randomness import Randomness


class PrivateQuantile(NamedTuple):
    """The released value, one of the candidates, and the release that carries its price."""

    value: float
    release: Release


def private_quantile(
    data: Dataset,
    column: str,
    level: float,
    epsilon: float,
    *,
    grid: Sequence[float],
    delta: float = 0.0,
    ledger: Ledger | None = None,
    name: str | None = None,
    request_id: str | None = None,
    randomness: Randomness | None = None,
) -> PrivateQuantile:
    """Release the quantile at `level` of a Number column by the exponential mechanism on the public `grid`.

    The price is pure (`epsilon`, 0) unless a delta is given; ledger, name, request_id and randomness are those of
    `sf.publish`, which does the work: spend, draw, seal. `release.plan["expected"]` bounds the rank error beforehand: 9
    times in 10 it is at most (2/epsilon) ln(10 m) records for m candidates, beyond that of the best candidate.
    """
    if not isinstance(data, Dataset):
        raise ArgumentError(f"data must be an sf.Dataset; got {type(data).__name__}. Use sf.Dataset.from_table(...).")
    if not isinstance(column, str):
        raise ArgumentError(f"column must be the name of a Number column; got {column!r}.")
    model = Quantile(level, grid, column)
    model.columns(data.schema)
    planned = plan(model, data.n, epsilon, delta, mechanism="exponential")
    release = publish(planned, data, ledger, name, request_id, randomness)
    return PrivateQuantile(float(release.draws.values[0, 0]), release)
