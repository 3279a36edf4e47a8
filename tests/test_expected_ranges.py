"""Half-widths are a range where nobody said how the columns of a linear regression go together, or how common a label is."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import CalibrationError
from sfumato.rehearsing import width_of_plans
from sfumato.rehearsing.expected_widths import expected_widths
from width_designs import Design

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import linear_widths

LOGISTIC = Design("few rows", "logistic", 1_000, 2.0, 2, 1)
LINEAR = Design("linear", "linear", 20_000, 1.0, 3)


def test_the_width_of_a_linear_regression_is_a_range_unless_it_is_said_how_columns_go_together():
    target = {"y": {"mean": 0.0, "sd": 1.5}}
    known = expected_widths(LINEAR.plan, LINEAR.schema, {"correlation": 0.0, **target}, runs=4)
    unknown = expected_widths(LINEAR.plan, LINEAR.schema, {"number0": {"mean": 50, "sd": 20}, **target}, runs=4)
    assert known.wide_half_widths is None
    assert known.widest("number1") == known["number1"]
    # Of four releases the narrow end is nearly the least, the known width their mean.
    assert 0.8 * known["number1"] < unknown["number1"] < known["number1"]
    assert unknown.widest("number1") > 3 * unknown["number1"]
    assert (unknown.wide_half_widths < unknown.prior_half_widths).all()
    assert unknown.widest("number1") == unknown.wide_half_widths[2]
    line = str(unknown).splitlines()[3].split()
    ends = [f"{unknown['number1']:.4g}", "to", f"{unknown.widest('number1'):.4g}"]
    assert line == ["number1", *ends, "(prior", f"{unknown.prior_half_widths[2]:.4g})"]
    document = unknown.to_json()
    assert document["wide_half_widths"]["number1"] == unknown.widest("number1")
    assert document["prior_half_widths"]["number1"] == unknown.prior_half_widths[2]
    assert "from columns independent of each other" in str(unknown)
    assert "the columns are independent of each other at the narrow end" in str(unknown)
    assert known.to_json()["wide_half_widths"] is None
    assert "range" not in str(known)
    assert "each two columns have correlation 0" in str(known)


def test_with_a_declared_correlation_or_public_rows_it_is_one_number():
    declared = expected_widths(LINEAR.plan, LINEAR.schema, {"correlation": 0.9}, runs=2)
    independent = expected_widths(LINEAR.plan, LINEAR.schema, {"correlation": 0.0}, runs=2)
    assert declared.wide_half_widths is None
    assert (declared.half_widths[1:] > 1.5 * independent.half_widths[1:]).all()
    assert (
        expected_widths(LINEAR.plan, LINEAR.schema, LINEAR.table(np.random.default_rng(1), 50), runs=1).wide_half_widths
        is None
    )


def test_a_logistic_regression_has_a_range_unless_the_share_of_its_label_is_declared():
    """A prevalence of 7 % made single widths 4 to 16 times too narrow: a release of it lies within the range."""
    unknown = expected_widths(LOGISTIC.plan, LOGISTIC.schema, runs=8)
    declared = expected_widths(LOGISTIC.plan, LOGISTIC.schema, {"y": 0.5}, runs=8)
    assert declared.wide_half_widths is None
    assert (unknown.half_widths < declared.half_widths).all()
    assert "from labels of half of the rows to labels of 2 %" in str(unknown)
    rng = np.random.default_rng(8)
    table = LOGISTIC.table(rng, 1_000) | {"y": rng.random(1_000) < 0.07}
    release = sf.publish(LOGISTIC.plan, sf.Dataset.from_table(table, schema=LOGISTIC.schema), randomness=sf.seeded(1))
    lower, upper = release.interval()
    wide = np.array([unknown.widest(name) for name in unknown.names])
    assert (unknown.half_widths < (upper - lower) / 2).all()
    assert ((upper - lower) / 2 < 1.1 * wide).all()


# The four tables in which most could go wrong: skewed, with many zeros, with long tails, and with related columns.
@pytest.mark.parametrize("name", ["costs, half of them 0", "normal", "Student errors", "exponential errors"])
def test_nine_in_ten_releases_of_tables_lie_within_the_range(name):
    narrow, wide, halves = linear_widths.within(name, 1.0, 5)
    assert ((halves >= narrow) & (halves <= wide)).mean() >= 0.9


def test_real_releases_lie_within_the_range():
    """Columns of correlation .7 and a fifth of their bounds: wider than unrelated ones, narrower than the strongly related."""
    rng = np.random.default_rng(5)
    common, own = rng.normal(size=(20_000, 1)), rng.normal(size=(20_000, 3))
    numbers = np.clip(54 + 14.4 * (0.7**0.5 * common + 0.3**0.5 * own), 18, 90)
    table = {f"number{j}": numbers[:, j] for j in range(3)} | {"y": np.clip(1.5 * rng.normal(size=20_000), -10, 10)}
    release = sf.publish(LINEAR.plan, sf.Dataset.from_table(table, schema=LINEAR.schema), randomness=sf.seeded(1))
    lower, upper = release.interval()
    facts = {"y": {"mean": 0.0, "sd": 1.5}}
    expected = expected_widths(LINEAR.plan, LINEAR.schema, facts, runs=4)
    for name in ("number0", "number1", "number2"):
        half = (upper - lower)[release.labels.index(name)] / 2
        assert expected[name] < half < expected.widest(name)


def test_a_search_takes_the_wide_end_of_a_range(monkeypatch):
    monkeypatch.setattr(width_of_plans, "_RUNS", 1)
    facts = {"schema": LINEAR.schema, "coefficient": "number0", "epsilons": (0.9, 1.1)}
    plan = sf.plan(LINEAR.model, 20_000, 1.0, 1e-6, goal="estimate")
    wide = 2 * expected_widths(plan, LINEAR.schema, runs=1).wide_half_widths[1]
    assert sf.plan_for_width(LINEAR.model, 20_000, wide, **facts).width == pytest.approx(wide, rel=0.1)
    with pytest.raises(CalibrationError, match="for a linear regression a declared correlation"):
        sf.plan_for_width(LINEAR.model, 20_000, wide / 3, **facts)
