"""The picture of an audit: the claim as a line, bounds on the attack's errors as points, and words that can be read."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from picture_checks import faults

import sfumato as sf
from sfumato.errors import ArgumentError

PLAN = sf.plan(sf.families.BetaBernoulli(), 20, 4.0, 1e-5, mechanism="noisy-statistics")
POINTS = ((0.02, 0.9), (0.3, 0.4), (0.9, 0.05))


def made_up(curve=None):
    """An audit whose points are chosen, of a claim with this curve."""
    from sfumato.auditing.audit import judged

    guarantee = PLAN.guarantee if curve is None else sf.Guarantee(curve, "replace-one", "a theorem", "a source")
    return replace(judged(replace(PLAN, guarantee=guarantee), None), points=POINTS, runs=1234)


def drawn(figure):
    (axis,) = figure.axes
    return [np.array(line.get_xydata()) for line in axis.get_lines()], [
        text.get_text() for text in axis.get_legend().get_texts()
    ]


@pytest.mark.parametrize("curve", [None, sf.Pure(1.3), sf.BoundedRange(2.0)])
def test_a_picture_of_an_audit_can_be_read(curve):
    figure = sf.plots.audit(made_up(curve))
    assert faults(figure) == []
    lines, names = drawn(figure)
    assert len(lines) == len(names) == 3
    assert "1,234 runs" in names[1]
    assert lines[1].tolist() == [list(point) for point in POINTS]
    assert lines[2].tolist() == [[0, 1], [1, 0]]
    assert (np.diff(lines[0][:, 1]) <= 1e-9).all()


def test_the_line_is_the_claim_with_its_kink():
    """Pure epsilon: 1 - e^eps a up to the kink at 1/(1 + e^eps), then (1 - a)/e^eps."""
    line = drawn(made_up(sf.Pure(1.3)).plot())[0][0]
    expected = [max(0.0, 1 - math.exp(1.3) * a, (1 - a) * math.exp(-1.3)) for a in line[:, 0]]
    assert line[:, 1] == pytest.approx(expected, abs=1e-6)


def test_an_audit_without_runs_has_no_points_and_other_things_are_refused():
    lines, names = drawn(sf.plots.audit(replace(made_up(), points=(), runs=0)))
    assert (len(lines), names) == (2, ["claim: no test is below", "blind guessing"])
    with pytest.raises(ArgumentError, match=r"sf\.audit; got Plan"):
        sf.plots.audit(PLAN)
