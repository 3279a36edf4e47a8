"""Rows as they are expected to be, from public facts alone: a sketch on which a plan is tried before anything is spent.

The facts are the schema and one of: nothing more (every default is said), declared means, shares and effects, or public rows
like the private ones. The same facts give the same sketch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.dataset import Dataset
from sfumato.errors import ArgumentError
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.labels import LabelSet
from sfumato.rehearsing.declared_effects import checked_effects, own_scores
from sfumato.rehearsing.declared_laws import Law, law_of, together
from sfumato.rehearsing.expected_labels import label_sentence, labels_of
from sfumato.rehearsing.parameter_errors import on_sphere
from sfumato.schema import Category, Column, Number, Schema
from sfumato.schema.counts import Tally
from sfumato.schema.missing_cells import without_masks
from sfumato.schema.reading import open_source

# Any fixed public number: the same facts then give the same sketch.
_SEED = 20_260_102
# Rows of a sketch: a level with one percent of the rows has 164 of them, and a pass over 25 columns takes a few milliseconds.
MOST_ROWS = 16_384
_EFFECTS, _CORRELATION = "effects", "correlation"
# The wide end of a linear regression's range: columns of this correlation, numbers that nobody described with a deviation of a
# fifteenth of their bounds, levels 1 % of the rows. Its narrow end: a target with a thirtieth of its bounds about the model. With
# these the releases of all tables of benchmarks/linear_widths.py lie within the range 9 times in 10.
_RELATED, _NARROW, _RARE, _CLOSE = 0.97, 1 / 15, 0.01, 1 / 30
# The wide end of a classification: the share of the rarer label.
_FEW = 0.02
# What a range of widths covers.
_OF_COLUMNS = (
    "Each range is of single releases, 9 in 10: from columns independent of each other and a target predicted closely, "
    "to strongly related columns (correlation 0.97) and a skewed target. What is undeclared differs too: numbers fill their bounds "
    "or have a fifteenth of them as deviation, levels are equally likely or 1 % of the rows. Declare correlation, or give public "
    "rows, for one number."
)
_OF_LABELS = (
    "Each range is of single releases, 9 in 10: from labels of half of the rows to labels of 2 % of them. Declare the share of the "
    "target for one number."
)
Columns = dict[str, Any]
# Printed with widths that rest on the schema alone.
_NOTHING_DECLARED = (
    "Nothing was declared of the rows: rare levels and labels make intervals much wider; declare their shares in [expect] of a "
    "spec file, or as rows=."
)


class ExpectedRows:
    """What is assumed about the rows of a schema; `assumptions` says it in sentences, and `columns` draws rows of that kind.

    rows: a mapping of declared facts (a number {"mean": 45, "sd": 12}, a yes or no or a label of two classes its share, a
        category {"north": 0.6}, "effects": {"age": 0.03, "age:owner": 0.01} in the columns' own units, and the "correlation" of
        each two columns), or public rows: a table as `Dataset.from_table` reads it, or for a vector schema a matrix or a pair
        (matrix, labels). None: the defaults.
    label: the facts of the target, where public rows come without it.
    """

    def __init__(self, schema: Schema, rows: object = None, *, label: object = None) -> None:
        """Check the facts, or read the public rows."""
        if not isinstance(schema, Schema):
            raise ArgumentError(f"schema must be a sf.Schema; got {type(schema).__name__}.")
        if isinstance(rows, Dataset):
            raise ArgumentError(
                "rows must be public, and a Dataset holds private ones. Declare means and shares, or give a public table."
            )
        self.schema = schema
        self._public: Columns | None = None
        self._laws: dict[str, Law] = {}
        self._effects: dict[str, float] = {}
        self._correlation: float | None = None
        self._facts: dict[str, object] = {}
        self._label, self._skewed = label, False
        self._said_nothing = label is None and (rows is None or (isinstance(rows, Mapping) and not rows))
        if rows is None or _is_facts(rows):
            self._declare(dict(rows or {}))  # type: ignore[call-overload]
        else:
            self._public = _read(schema, rows)
        if schema.target is not None:
            label_sentence(schema, self._label, self._effects)  # refuses impossible facts before anything is drawn

    @classmethod
    def of(cls, schema: Schema, rows: object = None) -> ExpectedRows:
        """The expected rows themselves if `rows` are some, else those of these facts."""
        if not isinstance(rows, ExpectedRows):
            return cls(schema, rows)
        if rows.schema.digest != schema.digest:
            raise ArgumentError(f"rows were declared for schema {rows.schema.name!r}; the schema here is another one.")
        return rows

    def _declare(self, facts: dict[str, object]) -> None:
        schema = self.schema
        if _EFFECTS in facts and _EFFECTS not in schema.columns:
            self._effects = checked_effects(schema, facts.pop(_EFFECTS))
        if _CORRELATION in facts and _CORRELATION not in schema.columns:
            self._correlation = _validate.finite("rows: correlation", facts.pop(_CORRELATION))
            if not 0 <= self._correlation < 1:
                raise ArgumentError(f"rows: correlation must be at least 0 and below 1; got {self._correlation:g}.")
        if schema.target is not None:
            self._label = facts.pop(schema.target, self._label)
        for name in facts:
            if name not in schema.features:
                known = [*schema.features, *([schema.target] if schema.target else []), _EFFECTS, _CORRELATION]
                raise ArgumentError(f"rows: facts are declared of {', '.join(known)}; got {_validate.shown(name)}.")
        self._facts = facts
        self._laws = {name: law_of(name, schema.columns[name], facts.get(name)) for name in schema.features}

    @property
    def together_known(self) -> bool:
        """Whether it is known how the columns go together: from public rows, or a declared correlation."""
        return self._public is not None or self._correlation is not None

    def ends(self, model: Gibbs) -> tuple[ExpectedRows, ExpectedRows, str] | None:
        """Rows of the narrow and of the wide end of the range of widths, with what lies between them; None for one number.

        A linear regression has a range where nobody said how its columns go together, one of two classes where nobody declared the
        share of a label.
        """
        target = str(self.schema.target)
        narrow, wide = copy(self), copy(self)
        if model.loss.squared_labels is not None and not self.together_known:
            column = self.schema.columns[target]
            if self._label is None and isinstance(column, Number):
                middle, width = (column.lower + column.upper) / 2, column.upper - column.lower
                narrow._label = {"mean": middle, "sd": _CLOSE * width}
            wide._correlation, wide._skewed = _RELATED, True
            columns = self.schema.columns
            wide._laws = {
                name: law_of(name, columns[name], self._facts.get(name), _NARROW, _RARE) for name in self._laws
            }
            return narrow, wide, _OF_COLUMNS
        classes = model.loss.label_domain if model.loss.outputs == 1 else None
        if isinstance(classes, LabelSet) and self._label is None and target not in (self._public or {}):
            wide._label = _FEW
            return narrow, wide, _OF_LABELS
        return None

    @property
    def warning(self) -> str:
        """A sentence for the reader where no fact was declared and no public row given, else ""."""
        return _NOTHING_DECLARED if self._said_nothing else ""

    @property
    def assumptions(self) -> list[str]:
        """One sentence for every column."""
        return self.assumed()

    def assumed(self, model: Gibbs | None = None) -> list[str]:
        """The assumptions, with the law of the labels under this model."""
        schema, public = self.schema, self._public
        target = schema.target
        label = [] if target is None else [label_sentence(schema, self._label, self._effects, model)]
        each = [] if schema.persons is None else [f"one row for each {schema.unit}"]
        each += (
            [] if schema.weight is None else ["the largest weight for every record; with others intervals are wider"]
        )
        if public is not None:
            used = target is not None and target in public
            said = f"as in {_length(public):,} public rows, {'labels included' if used else 'without labels'}"
            return [said, *([] if used else label), *each]
        between = " at the narrow end" if model is not None and self.ends(model) is not None else ""
        pairs = f"the columns are independent of each other{between}"
        if self._correlation is not None:
            pairs = f"each two columns have correlation {self._correlation:g}"
        if schema.dimension is not None:
            law = "uniform on the sphere" if self._correlation is None else "on the sphere"
            rest = [] if self._correlation is None else [pairs]
            return [f"rows {law} of radius {schema.data_norm:g}", *rest, *label, *each]
        return [
            *(law.sentence for law in self._laws.values()),
            *([pairs] if len(self._laws) > 1 else []),
            *label,
            *each,
        ]

    def columns(self, model: Gibbs, m: int) -> Columns:
        """Invented rows of this kind, m of them, in stored form, with labels of the model; they are public, and always the same."""
        rng = np.random.default_rng(_SEED)
        schema, target = self.schema, self.schema.target
        columns = self._features(m, rng)
        if target is not None and target not in columns:
            scores = own_scores(schema, columns, self._effects, m)
            columns[target] = labels_of(model, schema, self._label, scores, rng, self._skewed)
        return columns

    def data(self, columns: Columns) -> Dataset:
        """Rows in stored form as a data set, from which engines compute sums; each is a record of its own."""
        schema, target = self.schema.of_public_rows(), self.schema.target
        cells = {name: _cells(column, columns[name]) for name, column in schema.columns.items()}
        if schema.dimension is None:
            return Dataset.from_table(cells, schema=schema)
        return Dataset.from_arrays(columns["matrix"], None if target is None else cells[target], schema=schema)

    def _features(self, m: int, rng: np.random.Generator) -> Columns:
        """Rows in stored form, m of them: drawn by the laws, or public rows repeated equally often, the rest at random."""
        if self._public is not None:
            k = _length(self._public)
            places = np.concatenate([np.tile(np.arange(k), m // k), rng.permutation(k)[: m % k]])
            return {name: values[places] for name, values in self._public.items()}
        if self.schema.dimension is not None:
            d, radius, share = self.schema.dimension, float(self.schema.data_norm or 1.0), self._correlation
            rows = on_sphere(m, d, radius, rng)
            if share:
                rows = math.sqrt(d * (1 - share)) * rows / radius + math.sqrt(share) * rng.normal(size=(m, 1))
                rows *= radius * (1 - 1e-12) / np.linalg.norm(rows, axis=1, keepdims=True)
            return {"matrix": rows}
        drawn = {name: law.draw(m, rng) for name, law in self._laws.items()}
        return together(drawn, self._correlation, rng) if self._correlation and drawn else drawn


def _is_facts(rows: object) -> bool:
    """Whether this is a mapping of facts; one with columns of cells is a table."""
    return isinstance(rows, Mapping) and all(
        isinstance(fact, Mapping | int | float | np.integer | np.floating) for fact in rows.values()
    )


def _length(columns: Columns) -> int:
    return int(next(iter(columns.values())).shape[0])


def _read(schema: Schema, rows: object) -> Columns:
    """Public rows in stored form, with the target where they have it."""
    matrix, labels = rows if isinstance(rows, tuple) and len(rows) == 2 else (rows, None)
    try:
        parts = _parts(schema, matrix, labels)
    except ArgumentError as error:
        if schema.target is None or labels is not None:
            raise
        try:
            parts = _parts(schema.without_target(), matrix, None)
        except ArgumentError:
            raise error from None
    if not parts:
        raise ArgumentError("rows: the public table has no rows. Declare means and shares instead.")
    return {name: _joined(arrays) for name, arrays in parts.items()}


def _parts(schema: Schema, rows: object, labels: object) -> dict[str, list[Any]]:
    """The arrays of every column, chunk by chunk, read by the rules by which a data set is."""
    parts: dict[str, list[Any]] = {}
    for chunk in open_source(rows, labels, schema, Tally()):
        for name, array in without_masks(chunk).items():
            if array.shape[0]:
                parts.setdefault(name, []).append(array)
    return parts


def _joined(parts: list[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    from scipy.sparse import vstack

    return vstack(parts, format="csr")


def _cells(column: Column, values: NDArray[Any]) -> Any:
    """Stored values as cells that the schema reads back to them."""
    if not isinstance(column, Category):
        return np.asarray(values, dtype=np.float64)
    levels = np.array(column.levels, dtype=object)
    return levels[np.asarray(values, dtype=np.intp)].tolist()
