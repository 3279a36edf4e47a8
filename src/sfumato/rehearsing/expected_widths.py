"""Before paying: the half-width that the interval of every coefficient of a regression is expected to have.

The plan's own procedure is carried out on a public sketch of the rows whose sums stand for n rows, with seeded noise, and its
intervals are read as those of a release are. A few such runs are averaged. No private row is read, no ledger is charged, and
nothing that is computed here is a release.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.draws import Draws
from sfumato.engines.opening import open_engine
from sfumato.errors import ArgumentError
from sfumato.mechanisms import task_of
from sfumato.mechanisms.plan import Plan
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.protocol import LABELLED_ROW
from sfumato.models.priors import Ball, Box
from sfumato.procedures import path, shaped_path
from sfumato.progress import while_waiting
from sfumato.queries import own_units
from sfumato.queries.coefficients import NEARLY
from sfumato.queries.functionals import ends
from sfumato.queries.intervals import interval
from sfumato.queries.statistics.protocol import BOTH
from sfumato.randomness import seeded
from sfumato.rehearsing.expected_rows import MOST_ROWS, ExpectedRows
from sfumato.rehearsing.little_told import features_of, not_identified, reasons_of
from sfumato.rehearsing.scaled_engine import ScaledEngine
from sfumato.schema import Schema

Array = NDArray[np.float64]
# Coefficients that are printed: about a screen.
_SHOWN = 40
# Names of the reported numbers, and the matrix whose rows turn a parameter into them.
Functionals = tuple[Sequence[str], Array]
# First seed of the runs: any fixed public number, so that the same plan has the same expected widths.
_SEED = 20_260_103
# Fewest and most runs: more are made until the standard error of every mean is below this share of it. Widths depend on the
# noise that they are read from, and vary from release to release by 1 % to 100 %.
_FEWEST, _MOST, _ACCURATE = 16, 80, 0.06
# Runs times coefficients from which on fewer runs are made, at least a quarter: one of 500 coefficients takes three seconds.
_WORK = 800
# Of the single releases at the ends of a range, which leaves out so many beyond either end.
_BEYOND = 0.05
# A coefficient is also named when its mean width is above this share of the limit, or so many deviations of a single release
# below it: it is named beforehand though few runs reached the limit.
_MARGIN, _DEVIATIONS = 0.9, 3.0


@dataclass(frozen=True, eq=False)
class ExpectedWidths:
    """Expected half-widths of the intervals of a plan, in the order of the release's names.

    `prior_half_widths` are those of the prior's own intervals, `little` names the coefficients of which the release will tell
    little, `reasons` says why where it can be seen, and `assumptions` what was assumed about the rows. `warning` is a sentence for
    widths that rest on the schema alone. Without facts on which widths depend most (how the columns of a linear regression go
    together, the share of a label) they are a range, from `half_widths` to `wide_half_widths`, and `between` says of what; they may
    reach the prior's own.
    """

    names: tuple[str, ...]
    half_widths: Array
    prior_half_widths: Array
    little: tuple[str, ...]
    reasons: tuple[str, ...]
    assumptions: tuple[str, ...]
    level: float
    runs: int
    warning: str = ""
    wide_half_widths: Array | None = None
    between: str = ""

    def __getitem__(self, name: str) -> float:
        """The expected half-width of one coefficient, of a range the least."""
        if name not in self.names:
            raise ArgumentError(f"the coefficients are {', '.join(self.names)}; got {_validate.shown(name)}.")
        return float(self.half_widths[self.names.index(name)])

    def widest(self, name: str) -> float:
        """The expected half-width of one coefficient, of a range the largest but for the prior's own."""
        wide = self.wide_half_widths
        return max(self[name], 0.0 if wide is None else float(wide[self.names.index(name)]))

    def __str__(self) -> str:
        width = max(map(len, self.names[:_SHOWN]))
        runs = f"{self.runs} run{'s' * (self.runs > 1)}"
        lines = [f"expected half-widths of {100 * self.level:g} % intervals ({runs} on invented rows)"]
        for name, said in zip(self.names[:_SHOWN], self._said(), strict=False):
            mark = "  little will be told" if name in self.little else ""
            lines.append(f"  {name:<{width}}  {said}{mark}")
        if len(self.names) > _SHOWN:
            lines.append(f"  ... and {len(self.names) - _SHOWN} more")
        if self.little:
            because = f" ({'; '.join(self.reasons)})" if self.reasons else ""
            rest = f" and {len(self.little) - _SHOWN} more" if len(self.little) > _SHOWN else ""
            what = (
                f"any of the {len(self.names)}" if self.little == self.names else ", ".join(self.little[:_SHOWN]) + rest
            )
            lines.append(f"Little will be told of {what}{because}.")
        return "\n".join([*lines, *self.assumed_lines()])

    def _said(self) -> list[str]:
        """The half-widths as they are printed, of a range both ends and the prior's own."""
        if self.wide_half_widths is None:
            return [f"{half:>9.4g}" for half in self.half_widths]
        each = zip(self.names, self.prior_half_widths, strict=True)
        return [f"{self[name]:>9.4g} to {self.widest(name):<9.4g} (prior {own:.4g})" for name, own in each]

    def assumed_lines(self) -> list[str]:
        """What was assumed about the rows, a line for each assumption; first a warning where nothing was declared."""
        first = [self.warning] if self.warning else []
        if self.between:
            first.append(self.between)
        return [*first, "Assumed of the rows:", *(f"  {said}" for said in self.assumptions)]

    def to_json(self) -> dict[str, Any]:
        """The numbers by coefficient, and the sentences."""
        each = zip(self.names, self.half_widths.tolist(), strict=True)
        return {
            "level": self.level,
            "half_widths": dict(each),
            "wide_half_widths": self._by_name(self.wide_half_widths),
            "prior_half_widths": self._by_name(self.prior_half_widths),
            "little": list(self.little),
            "reasons": list(self.reasons),
            "assumptions": list(self.assumptions),
            "warning": self.warning or None,
        }

    def _by_name(self, values: Array | None) -> dict[str, float | None] | None:
        """Numbers by coefficient; None for one that is infinite."""
        finite = None if values is None else [float(value) if np.isfinite(value) else None for value in values]
        return None if finite is None else dict(zip(self.names, finite, strict=True))


def expected_widths(
    plan: Plan,
    schema: Schema,
    rows: object = None,
    level: float = 0.9,
    runs: int | None = None,
    functionals: Functionals | None = None,
    whole: bool = False,
    most: int | None = None,
) -> ExpectedWidths:
    """The expected half-widths of a regression's intervals, from the plan, the schema and public facts about the rows.

    `rows` are an `ExpectedRows`, or the facts or public rows that make one; None for its defaults. A plan whose release will have
    no intervals is refused as the release would. Without `runs` there are as many as make the means accurate, 16 to 80, and never
    more than `most`. `functionals` are the names and the matrix of the numbers to report, by default the coefficients in the
    columns' own units. With `whole` all n rows are invented, instead of a sketch of at most 16,384 whose sums stand for them.
    """
    model = _checked(plan, schema)
    share, count = _validate.between("level", level, 0.0, 1.0), None if runs is None else _validate.whole("runs", runs)
    _refuse_without_intervals(plan, schema)
    assumed = ExpectedRows.of(schema, rows)
    size = plan.n if whole else min(plan.n, MOST_ROWS)
    ends = assumed.ends(model)
    narrow = assumed if ends is None else ends[0]
    sketch = narrow.columns(model, size)
    limit = None if most is None else _validate.whole("most", most)
    labels, names, matrix, each = _runs(plan, model, schema, narrow, sketch, (share, count, limit), functionals)
    halves, own, wide = np.mean(each, axis=0), prior_half_widths(model, matrix, share), None
    if ends is not None:
        other = _runs(plan, model, schema, ends[1], ends[1].columns(model, size), (share, count, limit), functionals)[3]
        halves, wide = np.quantile(each, _BEYOND, axis=0), np.quantile(other, 1 - _BEYOND, axis=0)
    features = features_of(schema, sketch, model)
    marked = _little(np.array(each), NEARLY * own) | not_identified(features, matrix)
    little = tuple(name for name, mark in zip(names, marked, strict=True) if mark)
    reasons = reasons_of(schema, sketch, features, labels, little, len(names))
    said = tuple(narrow.assumed(model))
    return ExpectedWidths(
        tuple(names),
        halves,
        own,
        little,
        reasons,
        said,
        share,
        len(each),
        assumed.warning,
        wide,
        ends[2] if ends else "",
    )


def _runs(
    plan: Plan,
    model: Gibbs,
    schema: Schema,
    assumed: ExpectedRows,
    sketch: dict[str, Any],
    accuracy: tuple[float, int | None, int | None],
    functionals: Functionals | None,
) -> tuple[tuple[str, ...], Sequence[str], Array, list[Array]]:
    """The plan carried out on a sketch: the released labels, names and matrix of what is reported, and its half-widths in each run.

    `accuracy` is the level, the number of runs where it is given, and the most runs.
    """
    share, count, limit = accuracy
    procedure, task = task_of(plan)
    engine = ScaledEngine(open_engine(assumed.data(sketch), model, procedure.NEEDS), plan.n)
    names, matrix = functionals or _own(model, schema, engine.labels)
    document, about = plan.to_json(), _about(schema)
    each: list[Array] = []
    with while_waiting("computing the expected widths", "run") as report:
        while not _enough(each, count) and len(each) != limit:
            report(len(each) + 1, count or 0)
            draws = procedure.carry_out(task, engine, seeded(_SEED + len(each)))
            lower, upper = ends(draws, document, about, matrix, share, BOTH)
            each.append((upper - lower) / 2)
    return engine.labels, names, matrix, each


def _enough(each: list[Array], count: int | None) -> bool:
    """Whether there are as many runs as were asked for or, where no number was, enough for accurate means."""
    if count is not None or not each:
        return len(each) == count
    fewest = min(_FEWEST, max(_FEWEST // 4, _WORK // len(each[0])))
    if len(each) < fewest:
        return False
    errors = np.std(each, axis=0, ddof=1) / np.sqrt(len(each))
    return len(each) >= _MOST * fewest // _FEWEST or bool((errors <= _ACCURATE * np.mean(each, axis=0)).all())


def _little(each: Array, limit: Array) -> NDArray[np.bool_]:
    """Of which coefficients a release may tell little: by the rule of a release in a run, or nearly so."""
    mean = each.mean(axis=0)
    reach = mean + _DEVIATIONS * each.std(axis=0)
    return np.asarray((each > limit).any(axis=0) | (mean > _MARGIN * limit) | (reach > limit))


def _checked(plan: object, schema: Schema) -> Gibbs:
    """The model of the plan, if it is a regression that fits the schema."""
    if not isinstance(plan, Plan):
        raise ArgumentError(f"plan must come from sf.plan(...); got {type(plan).__name__}.")
    if not isinstance(plan.model, Gibbs):
        raise ArgumentError(
            "expected_widths serves regressions (sf.Gibbs); of families use sf.plan_for_width, of a learnt table plan.expected."
        )
    if not isinstance(schema, Schema):
        raise ArgumentError(f"schema must be a sf.Schema; got {type(schema).__name__}.")
    plan.model.columns(schema)
    return plan.model


def _about(schema: Schema) -> dict[str, Any]:
    """The schema as a release records it."""
    return {"document": json.dumps(schema.to_json())}


def _refuse_without_intervals(plan: Plan, schema: Schema) -> None:
    """Raise the error that a release without intervals would raise; a path with a transcript is asked after it has run."""
    kept = plan.procedure == path.NAME and "transcript" in plan.keep
    if plan.procedure == shaped_path.NAME or kept:
        return
    labels, shape = plan.model.released(schema)
    interval(Draws(np.zeros((plan.draws, 1, *shape)), labels), plan.to_json(), schema=_about(schema))
    raise ArgumentError(f"releases of procedure {plan.procedure!r} have no intervals that could be expected.")


def _own(model: Gibbs, schema: Schema, labels: tuple[str, ...]) -> Functionals:
    """The coefficients as a release shows them."""
    if model.loss.record != LABELLED_ROW:
        return labels, np.eye(len(labels))
    shown = own_units.view_of(model, schema, labels)
    return shown.labels, shown.functionals


def prior_half_widths(model: Gibbs, matrix: Array, level: float) -> Array:
    """Half-widths of the prior's own intervals of `matrix` times the parameter; infinite where the prior has none."""
    from scipy.special import ndtri

    prior: Any = model.prior
    d = matrix.shape[1]
    precision = np.asarray(prior.gradient(np.eye(d)) - prior.gradient(np.zeros((d, d))))
    halves = np.full(len(matrix), np.inf)
    if np.linalg.matrix_rank(precision) == d:
        variance = np.einsum("ij,ji->i", matrix, np.linalg.solve(precision, matrix.T))
        halves = float(ndtri(0.5 + 0.5 * level)) * np.sqrt(variance)
    if isinstance(prior, Ball):
        halves = np.minimum(halves, prior.radius * np.linalg.norm(matrix, axis=1))
    if isinstance(prior, Box):
        sides = (np.asarray(prior.upper) - np.asarray(prior.lower)) / 2
        halves = np.minimum(halves, np.abs(matrix) @ np.broadcast_to(sides, (d,)))
    return np.asarray(halves)
