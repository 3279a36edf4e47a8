"""What a plan says before anything is paid: a release that would refuse intervals says so in its plan."""

import numpy as np
import pytest

import sfumato as sf

SCHEMA = sf.Schema({"age": sf.Number(18, 90), "ill": sf.Boolean()}, target="ill", name="clinic")
LEVELS = sf.Schema({"age": sf.Number(18, 90), "ill": sf.Category(["a", "b", "c"])}, target="ill", name="clinic")


def line_of(plan):
    """The line about intervals of a printed plan, "" if there is none."""
    return next((line for line in str(plan).split("\n") if line.startswith("intervals ")), "")


@pytest.mark.parametrize(
    ("choices", "advice"),
    [
        ({}, "They need goal='estimate', at the same price"),
        ({"goal": "estimate", "mechanism": "langevin-path"}, "They need keep=('transcript',), at the same price"),
    ],
)
def test_a_regression_whose_release_has_no_intervals_says_so_before_it_is_paid_for(choices, advice):
    plan = sf.plan(sf.regression("logistic", SCHEMA), 500, 1.0, 1e-6, **choices)
    assert line_of(plan).endswith(advice)
    data = sf.Dataset.from_table({"age": np.arange(500) % 70 + 18, "ill": np.arange(500) % 3 == 0}, schema=SCHEMA)
    release = sf.publish(plan, data)
    with pytest.raises(sf.errors.ArgumentError, match="interval"):
        release.interval()


@pytest.mark.parametrize("choices", [{}, {"mechanism": "langevin-path", "keep": ("transcript",)}])
def test_a_regression_with_intervals_has_no_such_line(choices):
    plan = sf.plan(sf.regression("logistic", SCHEMA), 500, 1.0, 1e-6, goal="estimate", **choices)
    assert line_of(plan) == ""


@pytest.mark.parametrize("goal", ["draws", "estimate"])
def test_a_multinomial_regression_is_not_advised_to_plan_what_has_no_intervals_either(goal):
    plan = sf.plan(sf.regression("multinomial", LEVELS), 500, 1.0, 1e-6, goal=goal)
    assert line_of(plan).startswith("intervals  none. Intervals from a transcript are for convex, smooth losses")
