"""Pairs of records at which the gradients, values and moments of a Gibbs model differ most.

The gradient of a record with row z (the intercept's feature included) and label y is phi'(z.theta, y) z, of norm at most slope
times radius. Two of them differ most where they point opposite ways:

- losses whose slope keeps its size wherever the chain goes (Huber, quantile with labels far away): opposite rows with one label,
  or with an intercept, which both rows share, one row with opposite labels;
- losses of a margin, whose slope is large only where theta is wrong (logistic, hinge, probit): the others pull theta along a second
  axis, and both rows lean against it, so that a long theta gets both wrong.

The others lie along the second axis or are 0: along the first axis the posterior has the curvature of its prior alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.auditing.records import MATRIX, Candidate, Record, ends, middle, plain
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.protocol import LABEL, ROW
from sfumato.models.priors import Box
from sfumato.schema import Schema

# Angles by which two opposite rows lean against the direction of the others: small ones suit a long parameter.
_LEANS = (0.1, 0.3, 0.6)
# Shares of the largest norm: rows that are weighted by their length in mapped coordinates say most at one of them.
_LENGTHS = (0.85, 0.7, 0.5, 0.35, 0.2, 0.1)


def worst_rows(model: Gibbs, schema: Schema, shaped: bool) -> list[Candidate]:
    """Candidates for the worst pair; `shaped` adds rows for moments and weights."""
    if model.loss.record == LABEL or schema.dimension is None:
        return _columns(model, schema)
    return _vectors(model, schema, shaped)


def _columns(model: Gibbs, schema: Schema) -> list[Candidate]:
    """Tables: features at one end or the other with every pair of extreme labels; the others in the middle or at an end."""
    base = plain(schema)
    low, high = dict(base), dict(base)
    for name in schema.features:
        low[name], high[name] = ends(schema.columns[name])
    pairs = []
    for one in (low, high):
        for two in (low, high):
            for first, second in _label_pairs(schema):
                a, b = _labelled(one, schema, first), _labelled(two, schema, second)
                if any(a[name] != b[name] for name in a):
                    pairs.append((a, b))
    return [
        Candidate("one record moves from one end of its columns to another", a, b, [(other, 1.0)])
        for a, b in pairs
        for other in (base, a)
    ]


def _vectors(model: Gibbs, schema: Schema, shaped: bool) -> list[Candidate]:
    """Opposite rows, opposite labels, orthogonal rows; the others are rows of 0 with all labels."""
    d, norm = schema.dimension or 1, schema.data_norm or 0.0
    first, last, diagonal = norm * np.eye(d)[0], norm * np.eye(d)[-1], norm * np.ones(d) / math.sqrt(d) * (1 - 1e-15)
    pairs: list[tuple[str, Any, Any, Any, Any]] = []
    for label, other in _label_pairs(schema):
        if label == other:
            pairs.append(("one row is replaced by its opposite", first, label, -first, label))
            if d > 1 and isinstance(model.prior, Box):
                pairs.append(
                    ("one row along the diagonal is replaced by its opposite", diagonal, label, -diagonal, label)
                )
        else:
            pairs.append(("one row gets the opposite label", first, label, first, other))
        if shaped and d > 1:
            pairs.append(("one row is replaced by an orthogonal one", first, label, last, other))
        if shaped:
            pairs.append(("one row is replaced by a row of 0", first, label, 0 * first, other))
    zero = plain(schema)
    others = [(_labelled(zero, schema, label), 1.0) for label in _extreme_labels(schema)]
    candidates = [
        Candidate(name, _labelled({**zero, MATRIX: x}, schema, a), _labelled({**zero, MATRIX: y}, schema, b), others)
        for name, x, a, y, b in pairs
    ]
    return candidates + (_leaning(schema, first, last) if d > 1 and model.loss.record != ROW else [])


def other_others(start: Candidate, schema: Schema) -> list[Candidate]:
    """The candidate with other records beside the two: rows of 0 or along an axis, with one label, the middle one or all."""
    if schema.dimension is None:
        return []
    norm, axes, zero = schema.data_norm or 0.0, np.eye(schema.dimension), plain(schema)
    rows = [0 * axes[0], norm * axes[0], -norm * axes[0], norm * axes[-1], 0.1 * norm * axes[-1]]
    labels = _extreme_labels(schema)
    sets = [[label] for label in labels] + ([labels] if len(labels) > 1 else [])
    if schema.target is not None:
        sets.append([middle(schema.columns[schema.target])])
    made = []
    for row in rows if len(axes) > 1 else rows[:3] + rows[4:]:
        for chosen in sets:
            others = [(_labelled({**zero, MATRIX: row}, schema, label), 1.0) for label in chosen]
            made.append(Candidate(start.name, start.first, start.second, others))
    return made


def other_lengths(start: Candidate, schema: Schema) -> list[Candidate]:
    """The candidate with both rows shortened, or one of them."""
    if schema.dimension is None:
        return []
    made = []
    for share in _LENGTHS:
        short, second = ({**record, MATRIX: share * record[MATRIX]} for record in (start.first, start.second))
        made.append(Candidate(start.name, short, second, start.others))
        made.append(Candidate(start.name, short, start.second, start.others))
        made.append(Candidate(start.name, start.first, second, start.others))
    return made


def _leaning(schema: Schema, first: Any, last: Any) -> list[Candidate]:
    """Two rows that a long parameter along the last axis gets wrong, one on each side of the first axis."""
    zero, candidates = plain(schema), []
    for lean in _LEANS:
        ahead, back = math.cos(lean) * first, math.sin(lean) * last
        for push in _extreme_labels(schema):
            others = [(_labelled({**zero, MATRIX: last}, schema, push), 1.0)]
            for label, other in _label_pairs(schema):
                # With the label of the others a row leans against them, with another one it leans their way: both are wrong.
                x = ahead + (-back if label == push else back)
                y = (-ahead if label == other else ahead) + (-back if other == push else back)
                a, b = _labelled({**zero, MATRIX: x}, schema, label), _labelled({**zero, MATRIX: y}, schema, other)
                candidates.append(
                    Candidate(
                        f"one row is replaced, old and new lean {lean:g} radians against the others", a, b, others
                    )
                )
    return candidates


def _extreme_labels(schema: Schema) -> list[Any]:
    """The ends of a target that is a number, else its first and last level; one None without a target."""
    if schema.target is None:
        return [None]
    column = schema.columns[schema.target]
    return list(dict.fromkeys(ends(column)))


def _label_pairs(schema: Schema) -> list[tuple[Any, Any]]:
    """Every label with itself, and the first with the last."""
    labels = _extreme_labels(schema)
    return [(label, label) for label in labels] + ([(labels[0], labels[-1])] if len(labels) > 1 else [])


def _labelled(record: Record, schema: Schema, label: Any) -> dict[str, Any]:
    return dict(record) if schema.target is None else {**record, schema.target: label}
