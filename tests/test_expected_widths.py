"""What is said before paying is what is obtained: expected half-widths against those of real seeded releases."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import sfumato as sf
from effort import LONG, sized
from sfumato.engines.opening import open_engine
from sfumato.engines.protocol import LabelScale
from sfumato.errors import ArgumentError, CalibrationError
from sfumato.rehearsing import width_of_plans
from sfumato.rehearsing.expected_rows import ExpectedRows
from sfumato.rehearsing.expected_widths import _SEED, _enough, expected_widths, prior_half_widths
from sfumato.rehearsing.scaled_engine import ScaledEngine
from width_designs import DELTA, DESIGNS, LEVEL, Design

# Expected and obtained half-widths may differ by a quarter.
ROOM = 0.25
FEW = Design("few rows", "logistic", 1_000, 2.0, 2, 1)
PLAIN = Design(
    "plain path", "logistic", 20_000, 1.0, 2, options={"mechanism": "langevin-path", "keep": ("transcript",)}
)
SAME_NOISE = sized(
    [DESIGNS[1], DESIGNS[11], PLAIN], [DESIGNS[1], DESIGNS[3], DESIGNS[8], DESIGNS[10], DESIGNS[11], PLAIN]
)


def name(design):
    return f"{design.kind}: {design.name}"


@pytest.mark.parametrize("design", SAME_NOISE, ids=name)
def test_with_the_same_noise_the_widths_are_those_of_real_releases(design):
    """Releases on rows of their own with the noise of the runs: what differs is the sketch against the rows, not chance."""
    runs = sized(3, 10)
    expected = design.expected(runs)
    obtained, little = design.obtained(runs, _SEED)
    assert obtained.mean(axis=0) == pytest.approx(expected.half_widths, rel=ROOM)
    assert little <= set(expected.little)
    assert expected.names[:2] == ("intercept", "number0")


@pytest.mark.parametrize("design", DESIGNS if LONG else DESIGNS[:1], ids=name)
def test_with_noise_of_their_own_releases_have_the_expected_widths(design):
    """All twelve designs in the long form. The widths of a release vary by up to half, so that 60 are averaged there."""
    expected = design.expected()
    obtained, little = design.obtained(sized(6, 60))
    assert obtained.mean(axis=0) == pytest.approx(expected.half_widths, rel=ROOM)
    assert little <= set(expected.little)


def test_the_rows_of_a_sketch_stand_for_n():
    """Sums over each row ten times are those over the rows once, scaled."""
    design = FEW
    expected = ExpectedRows(design.schema, design.facts)
    table = expected.columns(design.model, 200)
    data = expected.data(table)
    tenfold = sf.Dataset.from_table({key: np.repeat(cells, 10) for key, cells in table.items()}, schema=design.schema)
    whole = open_engine(tenfold, design.model, ("gradients", "shapes"))
    scaled = ScaledEngine(open_engine(data, design.model, ("gradients", "shapes")), 2_000)
    theta = np.array([[0.3, -0.2, 0.5, 1.0]])
    assert (scaled.n, scaled.labels, scaled.dimension) == (whole.n, whole.labels, whole.dimension)
    assert scaled.gradient(theta) == pytest.approx(whole.gradient(theta))
    label = LabelScale(0.0, 1.0, 0.5)
    assert scaled.moments(0.7, label) == pytest.approx(whole.moments(0.7, label))
    edges = np.array([-0.5, 0.0, 0.5])
    near = np.full(scaled.dimension, 0.1)
    assert scaled.residual_shares(near, edges) == pytest.approx(whole.residual_shares(near, edges))
    inner, outer = (engine.weighed(np.diag([1.0, 2.0, 3.0, 4.0]), 3.0) for engine in (scaled, whole))
    assert inner.gradient(theta) == pytest.approx(outer.gradient(theta))
    for scores in (False, True):
        for mine, full in zip(inner.second_sums(theta[0], scores), outer.second_sums(theta[0], scores), strict=True):
            assert (mine is None and full is None) or mine == pytest.approx(full)


def test_more_runs_are_made_where_widths_vary():
    """Of 16 runs with deviation 20 % the standard error is 5 %, of 30 % it is 7.5 %: 6 % is wanted, and 80 runs are the most."""
    turns = np.tile([1.0, -1.0], 40)[:, None]
    assert not _enough(list(1 + 0.2 * turns[:15]), None)
    assert _enough(list(1 + 0.2 * turns[:16]), None)
    assert not _enough(list(1 + 0.3 * turns[:16]), None)
    assert _enough(list(1 + 0.9 * turns), None)
    assert [_enough(list(turns[:count]), 2) for count in (0, 1, 2)] == [False, False, True]
    wide = np.ones((1, 500))
    assert [_enough(list(wide + 0.9 * turns[:count]), None) for count in (3, 4, 20)] == [False, False, True]
    assert FEW.expected(2).runs == 2
    assert expected_widths(FEW.plan, FEW.schema, most=3).runs == 3
    assert np.array_equal(FEW.expected(2).half_widths, FEW.expected(2).half_widths)


def test_runs_have_noise_of_their_own_and_are_averaged(monkeypatch):
    both, first = FEW.expected(2).half_widths, FEW.expected(1).half_widths
    monkeypatch.setattr(sys.modules[expected_widths.__module__], "_SEED", _SEED + 1)
    second = FEW.expected(1).half_widths
    assert not np.allclose(first, second, rtol=1e-3)
    assert both == pytest.approx((first + second) / 2)


def test_half_widths_do_not_depend_on_private_rows_and_shrink_with_the_price():
    cheap, dear = (
        expected_widths(sf.plan(FEW.model, 5_000, epsilon, DELTA, goal="estimate"), FEW.schema, runs=3)
        for epsilon in (0.5, 5.0)
    )
    assert (dear.half_widths < cheap.half_widths).all()
    assert dear["number0"] == dear.half_widths[1]
    with pytest.raises(ArgumentError, match="the coefficients are intercept, number0"):
        dear["height"]


# --- of what little will be told --------------------------------------------------------------------------------------


def test_levels_beside_an_intercept_are_told_apart():
    expected = Design("levels", "logistic", 20_000, 1.0, 2, 1, (0.5, 0.3, 0.2)).expected(3)
    assert expected.little == ()
    assert expected.reasons == ()


def test_in_the_older_coding_levels_that_add_up_to_the_intercept_are_named_with_the_reason():
    design = Design("levels", "logistic", 20_000, 1.0, 2, 1, (0.5, 0.3, 0.2))
    schema, facts = design.schema, design.facts
    radius = sf.losses.radius_with_intercept(schema.design().radius, 0.5)
    model = sf.Gibbs(sf.losses.Logistic(radius), sf.priors.Gaussian(1 / 25), 7, 0.5)
    plan = sf.plan(model, 20_000, 1.0, DELTA, goal="estimate")
    coded = (model.released(schema)[0], np.eye(7))
    expected = expected_widths(plan, schema, facts, runs=3, functionals=coded)
    assert expected.little == ("region=r0", "region=r1", "region=r2", "intercept / 0.5")
    assert expected_widths(plan, schema, facts, runs=3).little == ()


def test_a_rare_level_is_named_with_its_share():
    rare = Design("very rare", "logistic", 20_000, 0.3, 2, 0, (0.7, 0.299, 0.001))
    expected = rare.expected(3)
    assert expected.little == ("region=r2",)
    assert expected.reasons == ("region=r2 is rare: 0.098 % of the rows",)
    assert "region=r2   " in str(expected)


def test_a_rare_reference_level_and_a_rare_yes_are_named():
    schema = sf.Schema(
        {
            "region": sf.Category(["r0", "r1", "r2"], reference="r2", missing="r0"),
            "ill": sf.Boolean(missing=False),
            "y": sf.Boolean(missing=False),
        },
        target="y",
    )
    plan = sf.plan(sf.regression("logistic", schema), 5_000, 0.3, DELTA, goal="estimate")
    facts = {"region": {"r0": 0.5, "r2": 0.002}, "ill": 0.001}
    expected = expected_widths(plan, schema, facts, runs=3)
    assert {"region=r0", "region=r1", "ill"} <= set(expected.little)
    assert "ill is yes for 0.1 % of the rows only" in expected.reasons
    assert (
        "region=r2 is rare, 0.2 % of the rows, and the others are compared with it: choose another reference"
        in expected.reasons
    )


def test_columns_that_go_together_are_named():
    pair = Design("pair", "logistic", 2_000, 0.5, 3, pair=0.999)
    expected = pair.expected(4)
    assert {"number0", "number1"} <= set(expected.little)
    assert "number0 and number1 go together, correlation 1.00" in expected.reasons
    assert not any("number2" in reason for reason in expected.reasons)


def test_too_many_coefficients_are_said():
    many = Design("many", "logistic", 1_000, 0.3, 12, 8)
    expected = many.expected(3)
    assert len(expected.little) > 10
    assert expected.reasons[-1] == "too many coefficients for this price: ask for fewer or pay more"


def test_what_is_printed_has_every_coefficient_the_marks_and_the_assumptions():
    expected = Design("very rare", "logistic", 20_000, 0.3, 2, 0, (0.7, 0.299, 0.001)).expected(2)
    lines = str(expected).splitlines()
    assert lines[0] == "expected half-widths of 90 % intervals (2 runs on invented rows)"
    for line, coefficient, half in zip(lines[1:], expected.names, expected.half_widths, strict=False):
        assert line.split()[: len(coefficient.split())] == coefficient.split()
        assert f" {half:.4g}" in line
        assert line.endswith("little will be told") == (coefficient in expected.little)
    sentence = lines[1 + len(expected.names)]
    assert sentence.startswith("Little will be told of region=r2 (region=r2 is rare: ")
    assert expected.to_json()["half_widths"]["region=r2"] == expected["region=r2"]
    assert lines[-len(expected.assumptions) :] == [f"  {said}" for said in expected.assumptions]


@pytest.mark.parametrize("rows", [None, {}])
def test_where_nothing_was_declared_the_reader_is_told_before_the_assumptions(rows):
    expected = expected_widths(FEW.plan, FEW.schema, rows, runs=1)
    lines = str(expected).splitlines()
    place = lines.index("Assumed of the rows:")
    assert lines[place - 2] == expected.warning == expected.to_json()["warning"]
    assert lines[place - 1] == expected.between
    assert expected.warning.startswith(
        "Nothing was declared of the rows: rare levels and labels make intervals much wider"
    )
    assert "[expect]" in expected.warning
    assert "rows=" in expected.warning


def test_declared_facts_and_public_rows_have_no_such_warning():
    for rows in ({"boolean0": 0.4}, FEW.table(np.random.default_rng(1), 50)):
        expected = expected_widths(FEW.plan, FEW.schema, rows, runs=1)
        assert expected.warning == ""
        assert "Nothing was declared" not in str(expected)


def test_limits_come_from_the_prior():
    identity = np.eye(4)
    assert prior_half_widths(FEW.model, identity, 0.9)[:3] == pytest.approx(5 * 1.6448536)
    assert prior_half_widths(FEW.model, identity, 0.9)[3] * FEW.model.intercept == pytest.approx(5 * 1.6448536)
    ball = FEW.model.with_prior(sf.priors.Ball(sf.priors.Gaussian(1 / 25), radius=3.0))
    assert prior_half_widths(ball, 2 * identity, 0.9) == pytest.approx(6.0)
    box = FEW.model.with_prior(sf.priors.Box(sf.priors.Flat(), lower=[-1.0] * 4, upper=[3.0] * 4))
    assert prior_half_widths(box, identity, 0.9) == pytest.approx(2.0)


# --- plans without intervals ------------------------------------------------------------------------------------------


def refusal_of_a_release(plan, data):
    with pytest.raises(ArgumentError) as error:
        sf.publish(plan, data, randomness=sf.seeded(1)).interval(LEVEL)
    return str(error.value)


def test_a_plan_without_intervals_is_refused_as_its_release_would_be():
    data = sf.Dataset.from_table(FEW.table(np.random.default_rng(1), 1_000), schema=FEW.schema)
    options = ({"goal": "draws"}, {"goal": "estimate", "mechanism": "langevin-path"})
    for plan in (sf.plan(FEW.model, 1_000, 2.0, DELTA, **each) for each in options):
        with pytest.raises(ArgumentError) as error:
            expected_widths(plan, FEW.schema)
        assert str(error.value) == refusal_of_a_release(plan, data)


def test_softmax_and_families_are_refused():
    rows = {"x": [1.0, 2.0, 3.0] * 100, "y": ["a", "b", "c"] * 100}
    schema = sf.Schema({"x": sf.Number(0, 4), "y": sf.Category(["a", "b", "c"], missing="a")}, target="y")
    model = sf.Gibbs(sf.losses.Softmax(0.5, classes=3), sf.priors.Gaussian(1 / 25), 3)
    plan = sf.plan(model, 300, 2.0, DELTA, goal="estimate", mechanism="langevin-path", keep=("transcript",))
    with pytest.raises(ArgumentError) as error:
        expected_widths(plan, schema)
    assert str(error.value) == refusal_of_a_release(plan, sf.Dataset.from_table(rows, schema=schema))
    with pytest.raises(ArgumentError, match=r"use sf\.plan_for_width"):
        expected_widths(sf.plan(sf.families.BetaBernoulli(1, 1), 100, 1.0, DELTA), schema)


def test_other_arguments_are_refused_too():
    with pytest.raises(ArgumentError, match="plan must come from"):
        expected_widths("plan", FEW.schema)
    with pytest.raises(ArgumentError, match="there is no column 'number1'; the columns are number0"):
        expected_widths(FEW.plan, DESIGNS[0].schema.only(["number0", "y"], "y"))
    with pytest.raises(ArgumentError, match="a column for every released coordinate"):
        expected_widths(FEW.plan, FEW.schema, runs=1, functionals=(["a"], np.ones((1, 5))))
    for options in ({"runs": 0}, {"level": 1.0}):
        with pytest.raises(ArgumentError, match=f"{next(iter(options))} must"):
            expected_widths(FEW.plan, FEW.schema, **options)


# --- the cheapest price -----------------------------------------------------------------------------------------------


@pytest.fixture
def one_run(monkeypatch):
    """A search with one run a price."""
    monkeypatch.setattr(width_of_plans, "_RUNS", 1)


def test_the_price_of_a_width_is_the_smallest_that_buys_it(one_run):
    facts = {"schema": FEW.schema, "rows": FEW.facts, "coefficient": "number0"}
    answer = sf.plan_for_width(FEW.model, 4_000, 0.015, epsilons=(0.5, 1.2), **facts)
    assert answer.plan.goal == "estimate"
    assert 0.0135 < answer.width <= 0.015
    assert answer.plan.guarantee.epsilon(1e-6) <= answer.epsilon
    expected = expected_widths(answer.plan, FEW.schema, FEW.facts, runs=1)
    assert answer.width == 2 * expected["number0"]
    cheaper = sf.plan(FEW.model, 4_000, 0.9 * answer.epsilon, 1e-6, goal="estimate")
    assert 2 * expected_widths(cheaper, FEW.schema, FEW.facts, runs=1)["number0"] > 0.015
    assert "of number0 on the expected rows" in str(answer)


def test_without_a_name_the_widest_is_meant(one_run):
    answer = sf.plan_for_width(FEW.model, 4_000, 2.0, epsilons=(1.0, 1.1), schema=FEW.schema)
    widest = expected_widths(answer.plan, FEW.schema, runs=1).widest("boolean0")
    assert answer.width == 2 * widest
    assert "of the widest coefficient" in str(answer)


def test_what_cannot_be_searched_is_refused(one_run):
    with pytest.raises(ArgumentError, match="give schema="):
        sf.plan_for_width(FEW.model, 4_000, 1.0)
    with pytest.raises(ArgumentError, match="coefficient must be one of intercept, number0"):
        sf.plan_for_width(FEW.model, 4_000, 1.0, schema=FEW.schema, coefficient="height")
    with pytest.raises(ArgumentError, match="one estimate"):
        sf.plan_for_width(FEW.model, 4_000, 1.0, schema=FEW.schema, epsilon=1.0, draws=None)
    with pytest.raises(ArgumentError, match="are for regressions"):
        sf.plan_for_width(sf.families.BetaBernoulli(1, 1), 4_000, 1.0, schema=FEW.schema)


@pytest.mark.parametrize(
    ("high", "price"),
    [(20.0, "a higher price hardly does"), (1.5, "so may a higher price: raise the upper end of epsilons")],
)
def test_a_width_that_no_price_reaches_is_refused_with_what_would_narrow_it(one_run, high, price):
    with pytest.raises(CalibrationError) as refusal:
        sf.plan_for_width(FEW.model, 4_000, 1e-4, schema=FEW.schema, epsilons=(0.01, high))
    plan = sf.plan(FEW.model, 4_000, high, 1e-6, goal="estimate")
    width = 2 * expected_widths(plan, FEW.schema, runs=1).widest("boolean0")
    assert str(refusal.value).startswith(
        f"at epsilon {high:g} the expected width of boolean0 is still {width:.4g}, above 0.0001."
    )
    assert "a less rare level or another reference" in str(refusal.value)
    assert price in str(refusal.value)
    assert "a declared share of the target (2 % are taken where none is)" in str(refusal.value)
    assert "sampling error" not in str(refusal.value)
