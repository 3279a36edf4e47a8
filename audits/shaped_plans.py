"""Small plans of the procedures that learn the shape of the rows first, and their worst pairs; parts have a mu of 3 each."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

import sfumato as sf
from audits.attacks import Pairs, planned
from audits.small_plans import FAR, labelled, rows_of
from sfumato.auditing.pairs import Neighbours
from sfumato.mechanisms.plan import Plan
from sfumato.procedures import shaped_chain, shaped_path

# Records, and the norm of a longest row.
MANY, LONG = 21, 2.0


def _shaped(model: sf.Gibbs, steps: int = 3, whole: bool = False, n: int = MANY, quiet: float = 1.0) -> Plan:
    """All parts with mu = 3 each: their noises are written down from the bounds of THEORY 6, not from the theorems.

    `quiet` multiplies the noise of path and scores: then moments and curvature are the whole price.
    """
    loss, third = model.loss, 1 / (3 * n)
    ends = loss.squared_labels
    column = 0.7 * loss.radius if ends is not None or (loss.counted_labels and model.intercept) else 0.0
    numbers = shaped_path.Parameters(
        moments_noise=math.sqrt(2) * (loss.radius**2 + column**2) * third,
        noise=quiet * 2 * math.sqrt(steps) * third,
        curvature_noise=math.sqrt(2) * 3.0 * loss.largest_curvature() * third,  # a small x, hence a bend of 3
        steps=steps,
        tail=1,
        momentum=0.5,
        score_noise=None if whole else quiet * third,
        score_matrix_noise=math.sqrt(2) * third if whole else None,
        resolution=10.0,
        shares_noise=None if ends is None else quiet * math.sqrt(2) * third,
    )
    return planned("shaped-path", model, n, numbers, keep=("transcript", "scores") if whole else ("transcript",))


def shaped(whole: bool = False, quiet: float = 1.0) -> Plan:
    """A regression with a Huber loss whose labels are not in the moments."""
    return _shaped(sf.Gibbs(sf.losses.Huber(LONG, 2.0), sf.priors.Gaussian(0.5), 2), whole=whole, quiet=quiet)


def _cross(first: Any, label: float, target: Any, others: float = 1.0, n: int = MANY) -> sf.Dataset:
    """One record before rows along the two axes."""
    rows = np.zeros((n - 1, 2))
    for place in range(n - 1):
        rows[place, place % 2] = others if place % 4 < 2 else -others
    return rows_of(labelled(2, LONG, target), np.vstack([first, rows]), [label, *[0.0] * (n - 1)])


def shaped_pairs() -> Pairs:
    """Longest rows at right angles (moments, curvature); saturated opposite rows of mapped length 2 (path, scores).

    Rows along the axes of length 1 have a mapped length of about 2.5, so those of length .8 have 2 and those of length 2 have 5.
    """
    target = sf.Number(-FAR, FAR)
    made = partial(_cross, target=target)
    return (
        Neighbours("longest rows at right angles", made([LONG, 0.0], 0.0), made([0.0, LONG], 0.0)),
        Neighbours("opposite saturated rows", made([0.8, 0.0], FAR), made([-0.8, 0.0], FAR)),
        Neighbours("a saturated row and none", made([0.8, 0.0], FAR), made([0.0, 0.0], FAR)),
        Neighbours("saturated rows at right angles", made([0.8, 0.0], FAR), made([0.0, 0.8], FAR)),
        Neighbours("a longest row and none", made([LONG, 0.0], FAR), made([0.0, 0.0], FAR)),
        Neighbours("longest saturated rows at right angles", made([LONG, 0.0], FAR), made([0.0, LONG], FAR)),
    )


def linear() -> Plan:
    """A linear regression, whose label is a column of the moments."""
    loss = sf.losses.Huber(LONG, 2.0, -1.0, 1.0)
    return _shaped(sf.Gibbs(loss, sf.priors.Gaussian(0.5), 2))


def linear_pairs() -> Pairs:
    """Joint rows (x, .7 r y/Y) at right angles: x.x' = (.7 r)^2 with opposite labels."""
    share = 0.49
    away = [LONG * share, LONG * math.sqrt(1 - share**2)]
    made = partial(_cross, target=sf.Number(-1.0, 1.0))
    return (
        Neighbours("joint rows at right angles", made([LONG, 0.0], 1.0), made(away, -1.0)),
        Neighbours("a longest row and none", made([LONG, 0.0], 1.0), made([0.0, 0.0], 0.0)),
    )


def line() -> Plan:
    """A logistic regression on a line, whose prior mean of 2 is the start of its one step."""
    return _shaped(sf.Gibbs(sf.losses.Logistic(LONG), sf.priors.Gaussian(0.5, mean=[2.0]), 1), 1)


def line_pairs() -> Pairs:
    """Gradients on a line that differ by 1.227 slopes: a row of mapped length 3 with a wrong label, one of 1 on the other side."""
    schema = labelled(1, LONG, sf.Category([0, 1], missing=0))
    others = [[1.0 if place % 2 else -1.0] for place in range(MANY - 1)]
    data = [rows_of(schema, [row, *others], [label, *[1] * (MANY - 1)]) for row, label in (([1.2], 0), ([0.4], 1))]
    return (Neighbours("a long and a short row on a line", *data),)


def counts() -> Plan:
    """A regression of counts with an intercept, whose mean count is in the moments."""
    loss = sf.losses.ClippedPoisson(math.hypot(LONG, 1.0), 3.0, 8.0)
    return _shaped(sf.Gibbs(loss, sf.priors.Gaussian(0.5), 3, 1.0))


def counts_pairs() -> Pairs:
    """Joint rows (x, 1, .7 r y/Y) as far apart as rows of this length can be with the largest count on both sides."""
    made = partial(_cross, target=sf.Number(0, 8))
    return (Neighbours("opposite rows with the largest count", made([LONG, 0.0], 8.0), made([-LONG, 0.0], 8.0)),)


def wide_counts() -> Plan:
    """A regression of counts whose declared clipping level is much wider than the one that their mean of 1 leads to."""
    loss = sf.losses.ClippedPoisson(math.hypot(LONG, 1.0), 24.0, 8.0)
    return _shaped(sf.Gibbs(loss, sf.priors.Gaussian(0.5), 3, 1.0), 6)


def ones() -> sf.Dataset:
    """Rows along the axes with counts of 1, and a first row of 0."""
    rows = [[0.0, 0.0], *([1.0, 0.0] if place % 2 else [0.0, -1.0] for place in range(MANY - 1))]
    return rows_of(labelled(2, LONG, sf.Number(0, 8)), rows, [1.0] * MANY)


def most_bent(plan: Plan, draws: Any) -> sf.Dataset | None:
    """`ones` with a first record at which the loss of the path has its largest curvature; None if no such row is short enough.

    It has the largest count y, and a score of log(y + clip) at the released average, just inside the clipping level.
    """
    theta, clip = draws.values[0, 0], shaped_path.learnt_from(plan.task, draws.published).loss.clip
    along = theta[:2] / np.linalg.norm(theta[:2])
    needed = (math.log(8.0 + clip * (1 - 1e-9)) - theta[2]) / float(np.linalg.norm(theta[:2]))
    if abs(needed) > LONG * 0.999:
        return None
    row = needed * along + math.sqrt(LONG**2 * 0.999 - needed**2) * np.array([-along[1], along[0]])
    data = ones()
    rows = [row.tolist(), *([1.0, 0.0] if place % 2 else [0.0, -1.0] for place in range(data.n - 1))]
    return rows_of(labelled(2, LONG, sf.Number(0, 8)), rows, [8.0, *[1.0] * (data.n - 1)])


def mapped(steps: int = 4, draws: int = 1) -> Plan:
    """A chain in mapped coordinates: moments of mu = 3, a chain of 0.5, so that its power is below 1."""
    model = sf.Gibbs(sf.losses.Huber(LONG, 2.0), sf.priors.Gaussian(0.5), 2)
    noise = math.sqrt(2) * LONG**2 / (MANY * 3)
    return planned("shaped-chain", model, MANY, shaped_chain.Parameters(noise, 0.5, steps), draws)
