"""What a plan says before anything is paid: a release that would refuse intervals says so in its plan."""

from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.models.losses import LOSSES

SCHEMA = sf.Schema({"age": sf.Number(18, 90), "ill": sf.Boolean(missing=False)}, target="ill", name="clinic")
LEVELS = sf.Schema(
    {"age": sf.Number(18, 90), "ill": sf.Category(["a", "b", "c"], missing="a")}, target="ill", name="clinic"
)

KINDS = [(kind, sf.Number(0, 9)) for kind in ("linear", "poisson", "quantile")]
KINDS += [(kind, sf.Boolean(missing=False)) for kind in ("logistic", "probit", "cloglog", "svm")]
KINDS += [("multinomial", sf.Category(["a", "b", "c"], missing="a"))]


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
def test_a_regression_with_intervals_says_which_fit_they_are_for(choices):
    plan = sf.plan(sf.regression("logistic", SCHEMA), 500, 1.0, 1e-6, goal="estimate", **choices)
    assert line_of(plan) == f"intervals  for {plan.model.loss.estimand}"


PAGE = Path(__file__).parents[2] / "docs" / "regression_intervals.md"


@pytest.mark.parametrize("kind", LOSSES.values())
def test_every_loss_and_the_page_say_which_fit_its_intervals_are_for(kind):
    """In the class itself: the sentence of a base class is another loss's."""
    assert "estimand" in vars(kind)
    sentence = kind.estimand
    each = [sentence] if isinstance(sentence, str) else [kind(1.0, 1.0).estimand, kind(1.0, 1.0, -1.0, 1.0).estimand]
    text = " ".join(PAGE.read_text().split())
    assert all(said in text for said in each)


@pytest.mark.parametrize(("kind", "target"), KINDS)
def test_a_summary_says_it_too(kind, target):
    schema = sf.Schema({"age": sf.Number(18, 90), "y": target}, target="y")
    plan = sf.plan(sf.regression(kind, schema), 500, 1.0, 1e-6, goal="estimate")
    table = {"age": np.arange(500) % 70 + 18, "y": np.array(target.levels or [0, 1, 4])[np.arange(500) % 2]}
    release = sf.publish(plan, sf.Dataset.from_table(table, schema=schema), randomness=sf.seeded(1))
    notes = release.summary().notes
    if kind == "multinomial":
        assert any(note.startswith("No interval: ") for note in notes)
    else:
        assert f"Intervals are for {plan.model.loss.estimand}." in notes


@pytest.mark.parametrize("goal", ["draws", "estimate"])
def test_a_multinomial_regression_is_not_advised_to_plan_what_has_no_intervals_either(goal):
    plan = sf.plan(sf.regression("multinomial", LEVELS), 500, 1.0, 1e-6, goal=goal)
    assert line_of(plan).startswith("intervals  none. Intervals from a transcript are for convex, smooth losses")
