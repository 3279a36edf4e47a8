"""Record and replay: what meets randomness in a run on one data set, and on a neighbouring one after the same outputs.

`compare` says, part by part, how far two such runs (`replay_record`) lie apart beside what is declared, what all parts together
spend beside the price, and where the control flow of the two differs: calls of the engine, shapes, deviations, bits asked for.
The arguments of calls follow from what was published before and must agree to the last bit: a map that is computed from raw
moments shows there. Only procedures that look at points which they do not release (a mode) may ask for other points.

A replay needs no luck: it sees a wrong bound at every pair of data sets that comes close to it, and a dependence on the data at
every pair that shows it. It sees the numbers that meet noise, not the noise: that is what a sampling audit is for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.auditing import learnt_tables
from sfumato.auditing.pairs import Neighbours
from sfumato.auditing.replay_declared import Declared, declared, mapped_chain
from sfumato.auditing.replay_engine import first_difference, same
from sfumato.auditing.replay_noise import Array, Part
from sfumato.auditing.replay_record import ENDED, Record, recorded
from sfumato.auditing.replay_samplers import fields_of
from sfumato.draws import Draws
from sfumato.engines.opening import open_engine
from sfumato.mechanisms.plan import Plan
from sfumato.procedures import named
from sfumato.procedures.protocol import Procedure, Task

# Room for the roundings of a computed difference, relative to what is declared.
ROOM = 1e-9
# Log weights below this are raised to a floor, which no price needs (`samplers.grid`).
_FLOOR = -680.0
# Two points are compared that are so many places apart in their list.
_APART = (1, 7, 61, 401)
# Procedures that look at points which they do not release: a mode, or the states of a chain.
_HIDDEN_POINTS = ("envelope", "reference-chain")


@dataclass(frozen=True)
class Compared:
    """One part: how far the two data sets lie apart, and the most that is declared; both in the same unit."""

    name: str
    shift: float
    allowed: float

    @property
    def ratio(self) -> float:
        """Shift over what is declared: above 1 the declaration is broken. What is no number is infinite."""
        if math.isnan(self.shift):
            return math.inf
        return self.shift / self.allowed if self.allowed else (math.inf if self.shift else 0.0)


@dataclass(frozen=True)
class Replayed:
    """Two data sets under the same outputs.

    `spent` is the mu of all parts together beside the `price`, both 0 where the parts are no normals. `differences` says in
    words where the control flow differed, and is empty where it did not.
    """

    parts: tuple[Compared, ...]
    spent: float
    price: float
    differences: tuple[str, ...]

    @property
    def worst(self) -> Compared:
        """The part that comes nearest to what is declared, or exceeds it most."""
        return max(self.parts, key=lambda part: part.ratio, default=Compared("nothing", 0.0, 0.0))

    @property
    def holds(self) -> bool:
        """Whether no part exceeds its declaration, all together not the price, and the control flow is the same."""
        within = self.worst.ratio <= 1 and self.spent <= self.price * (1 + ROOM)
        return within and not self.differences

    @property
    def ended(self) -> bool:
        """Whether one of the two runs ended with an error."""
        return any(ENDED in each for each in self.differences)

    def __str__(self) -> str:
        worst = f"{self.worst.name} apart by {self.worst.shift:.6g} (declared: at most {self.worst.allowed:.6g})"
        total = f"; all parts together mu {self.spent:.6g} (price: {self.price:.6g})" if self.price else ""
        return worst + total + "".join(f"; {each}" for each in self.differences)


def replay(plan: Plan, pair: Neighbours, seed: int, engine: str | None = None, size: float = 1.0) -> Replayed:
    """Run a plan on both data sets with the same outputs, and compare; `engine` names one that is not the first choice.

    `size` multiplies the noise of the outputs, which may be any: 0 publishes bare numbers, 100 hides them.
    """
    procedure, task = named(plan.procedure), plan.task
    first, second = (open_engine(each, plan.model, procedure.NEEDS, engine) for each in (pair.first, pair.second))
    one = recorded(procedure, task, first, seed, size=size)
    return compare(procedure, task, one, recorded(procedure, task, second, seed, one))


@dataclass(frozen=True, eq=False)
class Promise:
    """What a plan declares of a run after certain outputs: its parts, the mu of all of them, and how much of a step is forgotten.

    `price` is 0 where what meets randomness is no normal. `forgotten` is h m of a chain of which only the last state leaves, and
    `steps` their number, 0 for other procedures.
    """

    procedure: Procedure[Any, Any]
    task: Task[Any, Any]
    listed: list[Declared]
    price: float
    forgotten: float = 0.0
    steps: int = 0

    @classmethod
    def of(cls, procedure: Procedure[Any, Any], task: Task[Any, Any], draws: Draws) -> Promise:
        """The promise of a task; `draws` is what was released, from whose published moments a map may follow."""
        name, model, numbers = procedure.NAME, task.model, task.parameters
        listed = declared(name, task, draws)
        if name not in ("noisy-totals", "noisy-tables", "path", "shaped-path", "shaped-chain", "last-iterate"):
            return cls(procedure, task, listed, 0.0)
        price = float(procedure.price(model, task.n, task.draws, numbers).curve.mu or 0.0)
        if name == "last-iterate":
            return cls(
                procedure,
                task,
                listed,
                price,
                numbers.step * model.strong_convexity(task.n, numbers.power),
                numbers.steps,
            )
        if name == "shaped-chain":
            chain, power = mapped_chain(task, draws)
            return cls(procedure, task, listed, price, chain.step(power) * chain.curvatures[0], numbers.steps)
        return cls(procedure, task, listed, price)

    def compare(self, one: Record, other: Record) -> Replayed:
        """Two runs with the same outputs: each part beside what is declared, all beside the price, and the control flow."""
        differences = control_flow(self.procedure.NAME, self.listed, one, other)
        with np.errstate(all="ignore"):  # a fault may make numbers of any size
            parts = _compared(self.listed, one, other, self.task)
            spent = 0.0 if differences or not self.price else self._spent(one, other)
        return Replayed(parts, spent, 0.0 if differences else self.price, tuple(differences))

    def _spent(self, one: Record, other: Record) -> float:
        """Mu of all parts: the root of the squares where every part is published.

        A chain of which only the last state leaves spends what the finite-step theorem gives for the largest step that is
        seen, in the place of h G.
        """
        pairs = zip(one.parts, other.parts, strict=True)
        shifts = [_mu_of(a, b) for a, b in pairs if a.noise or a.kind == "weights"]
        if not self.steps:
            return math.hypot(*shifts)
        c = 1 - self.forgotten
        left = c**self.steps
        factor = (1 - left) * (1 + c) / ((1 + left) * (1 - c)) if c < 1 else self.steps
        published, steps = shifts[: -self.steps], shifts[-self.steps :]
        return math.hypot(*published, max(steps) * math.sqrt(factor))


def _mu_of(a: Part, b: Part) -> float:
    """Mu of one part: of noisy numbers their distance in deviations, of a choice by weights that of its range."""
    moved = a.values - b.values
    if a.kind == "weights":
        return learnt_tables.mu_of_range(float(moved.max() - moved.min()))
    return float(np.linalg.norm(moved)) / a.noise


def compare(procedure: Procedure[Any, Any], task: Task[Any, Any], one: Record, other: Record) -> Replayed:
    """Two runs with the same outputs, beside what the task declares."""
    draws = one.draws if one.draws is not None else other.draws
    if draws is None:
        return Replayed((), 0.0, 0.0, tuple(_troubles(one, other)))
    return Promise.of(procedure, task, draws).compare(one, other)


def _troubles(one: Record, other: Record) -> list[str]:
    return [f"{side}: {run.trouble}" for side, run in (("one run", one), ("the other", other)) if run.trouble]


def control_flow(name: str, listed: list[Declared], one: Record, other: Record) -> list[str]:
    """What differs between two runs beside the numbers, and between them and the plan."""
    words = _troubles(one, other)
    calls = first_difference(one.calls, other.calls, name not in _HIDDEN_POINTS)
    if calls is not None:
        words.append(calls)
    for side in (one, other):
        if [part.kind for part in side.parts] != [each.kind for each in listed]:
            words.append(f"{len(side.parts)} parts met randomness and the plan has {len(listed)}, or of other kinds")
        elif not all(map(_planned_noise, side.parts, listed)):
            words.append("the deviation of a noise is not the plan's")
        if side.reused:
            words.append("one set of normals was added to two sets of numbers")
        if side.lowest < 0:
            words.append("an acceptance has a probability above 1")
    pairs = list(zip(one.parts, other.parts, strict=False))
    if any(a.values.shape != b.values.shape or not same(a.facts, b.facts) or a.noise != b.noise for a, b in pairs):
        words.append("shapes, deviations or other public numbers of a part differ")
    if one.asked != other.asked:
        words.append("other numbers of random bits were asked for")
    if one.reports != other.reports:
        words.append("progress is reported otherwise")
    if not same(_released(one.draws), _released(other.draws)):
        words.append("what is released differs after the same outputs")
    return list(dict.fromkeys(words))


def _released(draws: Draws | None) -> tuple[Any, ...]:
    """Everything that leaves, in a fixed order."""
    if draws is None:
        return ()
    kept = tuple(draws.published[name] for name in sorted(draws.published))
    return (draws.values, draws.labels, draws.transcript, draws.totals, tuple(sorted(draws.published)), *kept)


def _planned_noise(part: Part, each: Declared) -> bool:
    """Whether the deviation is that of the plan, where the plan fixes one."""
    return not each.noise or math.isclose(part.noise, each.noise, rel_tol=1e-12)


def _compared(listed: list[Declared], one: Record, other: Record, task: Task[Any, Any]) -> tuple[Compared, ...]:
    compared = []
    for each, a, b in zip(listed, one.parts, other.parts, strict=False):
        if a.values.shape != b.values.shape:
            continue
        if each.compared == "law":
            compared += _law_of_totals(task, one, other)
        else:
            allowed = each.allowed * (1 + ROOM) + (0.0 if each.compared == "slope" else each.room)
            compared.append(Compared(each.name, _shift(each, a, b), allowed))
    if any(each.name == "choice of a pair" for each in listed) or getattr(task.model, "quantiles", None):
        follows = [each for run in (one, other) for each in learnt_tables.follows(task, run)]
        compared += [Compared(name, math.inf if differs else 0.0, 0.0) for name, differs in follows]
    return tuple(compared)


def _shift(each: Declared, a: Part, b: Part) -> float:
    """How far two data sets lie apart in one part, in the way that is declared for it."""
    if each.compared == "same":
        return 0.0 if same(a.values, b.values) else math.inf
    if each.compared == "norm":
        moved = a.values - b.values
        return float(np.linalg.norm(moved.reshape(-1, each.width or moved.size), axis=1).max())
    seen = np.isfinite(a.values) & np.isfinite(b.values)
    if each.kind == "weights":
        seen &= (a.values - a.values.max() > _FLOOR) & (b.values - b.values.max() > _FLOOR)
    moved = a.values[seen] - b.values[seen]
    if each.compared == "point":
        return float(np.abs(moved).max())
    if each.compared == "range":
        return float(moved.max() - moved.min())
    return _steepest(moved, np.asarray(a.points)[seen], each)


def _steepest(moved: Array, points: Array, each: Declared) -> float:
    """Largest difference between two points over their distance, beyond the room for roundings."""
    steepest = 0.0
    for step in _APART:
        apart = np.linalg.norm(points[step:] - points[:-step], axis=1) + each.spread
        rise = np.maximum(np.abs(moved[step:] - moved[:-step]) - each.room, 0.0)
        steepest = max(steepest, float((rise[apart > 0] / apart[apart > 0]).max(initial=0.0)))
    return steepest


def _law_of_totals(task: Task[Any, Any], one: Record, other: Record) -> list[Compared]:
    """Totals beside the model's sensitivity; and the law that is drawn beside that of the totals and the plan's numbers."""
    model, numbers, compared = task.model, task.parameters, []
    totals = [[t * u for t, u in zip(run.calls[0].result, model.units, strict=True)] for run in (one, other)]
    moved = math.sqrt(sum(float(a - b) ** 2 for a, b in zip(*totals, strict=True)))
    compared.append(Compared("totals", moved, model.sensitivity * (1 + ROOM)))
    for run, sums in zip((one, other), totals, strict=True):
        private = fields_of(model.law(sums, task.n, numbers.power, numbers.strength))[0]
        differs = not np.array_equal(private, run.parts[0].values)
        compared.append(Compared("law of the totals", math.inf if differs else 0.0, 0.0))
    return compared
