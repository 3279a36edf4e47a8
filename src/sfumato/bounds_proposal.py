"""`sf.private_quantile` and `sf.private_bounds`: bounds of a column by private releases, where none are known.

A data set's bounds are fixed when it is made, from public knowledge. Without any, start wide and pay for better ones:

    wide = sf.Schema({"income": sf.Number(-1e12, 1e12, missing=0)}, name="survey")
    data = sf.Dataset.from_table(path, schema=wide)
    print(sf.plan_bounds(wide, data.n, epsilon=0.2))      # the price and what it buys; nothing is spent
    proposed = sf.private_bounds(data, epsilon=0.2, ledger=ledger)
    data = sf.Dataset.from_table(path, schema=proposed.schema)

Every bound is a quantile by the exponential mechanism: a release of its own, charged to the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from sfumato.bounds_plan import LEVELS, BoundsPlan, bound_grid, outside_in_words, plan_bounds
from sfumato.dataset import Dataset
from sfumato.errors import ArgumentError
from sfumato.models.families.quantile import Quantile
from sfumato.planning import plan
from sfumato.publishing import publish
from sfumato.release import Release
from sfumato.schema import Date, Number, Schema
from sfumato.schema.documents import toml_key, toml_value
from sfumato.wording import first_line

if TYPE_CHECKING:
    from sfumato.ledger import Ledger
    from sfumato.ledger.account import Account
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
    grid: Sequence[float] | None = None,
    delta: float = 0.0,
    allow_weak: bool = False,
    ledger: Ledger | None = None,
    name: str | None = None,
    request_id: str | None = None,
    randomness: Randomness | None = None,
) -> PrivateQuantile:
    """Release the quantile at `level` of a Number column by the exponential mechanism on the public `grid`.

    Without a grid the column's declared bounds give one (`Quantile.of`), and records are rounded to its nearest candidate.
    The price is pure (`epsilon`, 0) unless a delta is given; `allow_weak` is that of `sf.plan`. Ledger, name, request_id and
    randomness are those of `sf.publish`, which does the work: spend, draw, seal. `release.plan["expected"]` bounds the rank error
    beforehand: 9 times in 10 it is at most (2/epsilon) ln(10 m) records for m candidates, beyond that of the best candidate.
    """
    _dataset(data)
    if not isinstance(column, str):
        raise ArgumentError(f"column must be the name of a Number column; got {column!r}.")
    model = Quantile.of(data.schema, level, column) if grid is None else Quantile(level, grid, column)
    model.columns(data.schema)
    persons = data.schema.persons
    planned = plan(model, data.n, epsilon, delta, mechanism="exponential", persons=persons, allow_weak=allow_weak)
    release = publish(planned, data, ledger, name, request_id, randomness)
    return PrivateQuantile(float(release.draws.values[0, 0]), release)


@dataclass(frozen=True, eq=False)
class PrivateBounds:
    """The proposed bounds by column, the schema that has them, and the releases that carry the price."""

    plan: BoundsPlan
    bounds: Mapping[str, tuple[float, float]]
    releases: tuple[Release, ...]
    notes: tuple[str, ...] = ()

    @property
    def schema(self) -> Schema:
        """The schema with the proposed bounds in place of the declared ones."""
        return self.applied_to(self.plan.schema)

    def applied_to(self, schema: Schema) -> Schema:
        """A schema of these and other columns with the proposed bounds; the target and the other facts stay."""
        document = schema.to_json()
        columns = {name: dict(facts) for name, facts in document["columns"].items()}
        for name, (low, high) in self.bounds.items():
            column = schema.columns[name]
            ends = {"lower": low, "upper": high, "missing": _missing(column, low, high)}
            columns[name].update({key: _fact(column, value) for key, value in ends.items()})
        return Schema.from_json({**document, "columns": columns})

    def lines(self) -> list[str]:
        """The lines to paste into a schema file."""
        facts = self.schema.to_json()["columns"]
        return [
            line
            for name in self.bounds
            for line in (
                f"[columns.{toml_key(name)}]",
                *(f"{key} = {toml_value(facts[name][key])}" for key in ("lower", "upper", "missing")),
            )
        ]

    def __str__(self) -> str:
        said = [
            f"{name}: values are clipped to [{self._shown(name, low)}, {self._shown(name, high)}]: one beyond counts as the "
            f"bound. {outside_in_words(self.plan.outside(name), self.plan.levels)}"
            for name, (low, high) in self.bounds.items()
        ]
        for name in self.bounds:
            declared: Any = self.plan.schema.columns[name]
            after = _missing(declared, *self.bounds[name])
            if declared.missing != after:
                said.append(
                    f"{name}: an empty cell counts as {self._shown(name, after)}; it counted as "
                    f"{self._shown(name, declared.missing)}, which is outside."
                )
        head = dict.fromkeys(line for release in self.releases if (line := first_line(release)))
        return "\n".join([*head, *said, *self.notes, "", "Write into the schema:", *self.lines()])

    def _shown(self, name: str, value: float) -> str:
        column = self.plan.schema.columns[name]
        return column.shown(value) if isinstance(column, Date) else f"{value:,.12g}"


def private_bounds(
    data: Dataset,
    columns: str | Sequence[str] | None = None,
    epsilon: float = 0.2,
    *,
    levels: tuple[float, float] = LEVELS,
    ledger: Ledger | None = None,
    name: str | None = None,
    request_id: str | None = None,
    randomness: Randomness | None = None,
) -> PrivateBounds:
    """Release private quantiles of Number columns and propose them as bounds; the price is that of `plan_bounds`.

    With a ledger all of it must fit before anything is charged, and the same call again costs nothing. Bounds that coincide
    (a column with one value) are widened to the next candidates; bounds in the wrong order are exchanged, with a note.
    """
    _dataset(data)
    planned = plan_bounds(data.schema, data.n, columns, epsilon, levels=levels, request_id=request_id)
    if ledger is not None:
        after_charges(
            planned, ledger, data.schema.name if name is None else name
        )  # refuses what does not fit as a whole
    # Repeated requests first: one that was used for another plan or schema is refused before anything new is charged.
    account, listed = data.schema.name if name is None else name, planned.requests
    new = [ledger is None or ledger.status(account, each.request) == "unknown" for each in listed]
    releases: dict[int, Release] = {}
    for place in sorted(range(len(listed)), key=lambda place: new[place]):
        each = listed[place]
        releases[place] = publish(
            each.plan, data, ledger, name, each.request if ledger is not None else None, randomness
        )
    return proposed(planned, [releases[place] for place in range(len(listed))])


def proposed(planned: BoundsPlan, releases: Sequence[Release]) -> PrivateBounds:
    """The bounds that released quantiles give: post-processing of the releases, in the order of the plan's requests."""
    values = [float(release.draws.values[0, 0]) for release in releases]
    bounds: dict[str, tuple[float, float]] = {}
    notes: list[str] = []
    for name, low, high in zip(planned.columns, values[::2], values[1::2], strict=True):
        if low > high:
            notes.append(
                f"note: the two quantiles of {name} came out in the wrong order and were exchanged: there are too few records "
                "for this epsilon."
            )
        bounds[name] = _apart(min(low, high), max(low, high), bound_grid(planned.schema.columns[name]))
    return PrivateBounds(planned, bounds, tuple(releases), tuple(notes))


def _missing(column: Any, low: float, high: float) -> float:
    """What an empty cell counts as: as declared, moved to the nearer bound; the middle where the declared one was the middle."""
    usual: float = Number(column.lower, column.upper, integer=column.integer).missing
    if column.missing == usual and not low <= usual <= high:
        return Number(low, high, integer=column.integer).missing
    return float(min(max(column.missing, low), high))


def _fact(column: Any, value: float) -> Any:
    """A bound as the documents of schemas write it: that of a Date as a date."""
    return column.shown(value) if isinstance(column, Date) else value


def _apart(low: float, high: float, grid: tuple[float, ...]) -> tuple[float, float]:
    """The two bounds; where they coincide, the candidates next to them on both sides."""
    if low < high:
        return low, high
    place = grid.index(low)
    return grid[max(place - 1, 0)], grid[min(place + 1, len(grid) - 1)]


def after_charges(planned: BoundsPlan, ledger: Ledger, name: str) -> tuple[Account, Account]:
    """The account now, and as it would be with all bounds charged; LedgerExhausted where they do not fit together.

    Nothing is charged. Requests that were charged before are free.
    """
    before = account = ledger._account(name)
    for each in planned.requests:
        if ledger.status(name, each.request) == "unknown":
            guarantee = replace(each.plan.guarantee, unit=planned.schema.unit)
            account = account.plus(account.price(guarantee))
    return before, account


def _dataset(data: object) -> None:
    if not isinstance(data, Dataset):
        raise ArgumentError(f"data must be an sf.Dataset; got {type(data).__name__}. Use sf.Dataset.from_table(...).")
    if data.schema.weight is not None:
        raise ArgumentError(
            "a bound or a drawn quantile is one of all records alike: read the table for it under schema.without_weight()."
        )
