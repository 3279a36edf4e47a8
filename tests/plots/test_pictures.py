"""Pictures show the numbers that the library gives, with words and fonts that can be read, and refuse what has none."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from picture_checks import faults
from scipy.stats import norm

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.pictures import axes, look
from sfumato.pictures.privacy_curve import sampled
from sfumato.plots import _drawing
from sfumato.theorems import metric

LEVELS = ["north", "south", "east", "a name that is much too long for the margin of a figure", "$5 and $6", "_low"]
BETA = sf.families.BetaBernoulli(6, 12)
GIBBS = sf.Gibbs(sf.losses.Logistic(radius=1.0), sf.priors.Gaussian(precision=1.0), dimension=5)


def guarantee(curve, **more):
    return sf.Guarantee(curve, "replace-one", "a theorem", "a source", **more)


@pytest.fixture(scope="module")
def chain():
    return sf.plan(GIBBS, 2_000, 1.0, 1e-6, mechanism="langevin")


@pytest.fixture(scope="module")
def release():
    return _release(sf.families.DirichletCategorical(LEVELS), np.random.default_rng(1).choice(LEVELS, 1_000))


def _release(model, values, randomness=None):
    schema = sf.Schema(
        {"region": sf.Category(list(model.levels), missing=model.levels[0])}, name="survey", unit="person"
    )
    data = sf.Dataset.from_table({"region": values}, schema=schema)
    return sf.publish(sf.plan(model, data.n, 1.0, 1e-6, mechanism="diffused"), data, randomness=randomness)


@pytest.fixture(scope="module")
def prices():
    return sf.price_list(GIBBS, 2_000, [0.1, 0.3, 1.0, 3.0], 1e-6)


def lines(figure, axis=0):
    return [np.array(line.get_xydata()) for line in figure.axes[axis].get_lines()]


def legend(figure):
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


# --- every picture ----------------------------------------------------------------------------------------------------


def test_every_picture_can_be_read(chain, release, prices):
    path = sf.plan(GIBBS, 2_000, 1.0, 1e-6, mechanism="langevin-path", goal="estimate")
    many = sf.plan(GIBBS, 1_234_567, 0.05, 1e-9, mechanism="concentrated", draws=10)
    pictures = {
        "curve": sf.plots.privacy_curve(chain),
        "curves": sf.plots.privacy_curve(
            {"x" * 80: chain, "$a": guarantee(sf.Pure(8.0)), "_b": guarantee(sf.BoundedRange(0.1))}
        ),
        "renyi": sf.plots.renyi_curve({"chain": chain, "draw": sf.plan(BETA, 100, mechanism="exact")}, orders=(1, 12)),
        "trade-off": sf.plots.trade_off(
            [guarantee(sf.Gaussian(0.5)), guarantee(sf.Gaussian(0.5)), guarantee(sf.Pure(1.0))]
        ),
        "utility": sf.plots.utility_curve(prices),
        "intervals": sf.plots.intervals(release),
        "mass": sf.plots.theta_mass(),
        "fine mass": sf.plots.theta_mass([0.3, 0.1, 0.01], rates=[0.5]),
        "schedule": sf.plots.schedule(chain),
        "path": sf.plots.schedule(path),
        "long": sf.plots.schedule(many),
    }
    assert {name: found for name, figure in pictures.items() if (found := faults(figure))} == {}
    for name, figure in pictures.items():
        named = [axis for axis in figure.axes if axis.get_xlabel() and (axis.get_ylabel() or name == "intervals")]
        assert named, name
        assert figure.get_suptitle()


@pytest.mark.planted
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda figure: figure.axes[0].set_xlabel("x", fontsize=7), "small"),
        (lambda figure: figure.text(0.99, 0.5, "far too long to fit here", fontsize=10), "outside"),
        (lambda figure: figure.axes[0].set_xticks([0.5, 0.51], ["half", "more"]), "overlap"),
        (lambda figure: figure.set_size_inches(3, 4), "size"),
        (lambda figure: figure.axes[0].get_legend().get_texts()[0].set_text("w" * 46), "legend"),
    ],
)
def test_a_spoilt_picture_is_seen(chain, spoil, said):
    figure = sf.plots.trade_off(chain)
    assert faults(figure) == []
    spoil(figure)
    assert any(said in fault for fault in faults(figure))


def test_pictures_are_saved_at_six_by_four_inches_and_leave_no_state(chain, tmp_path):
    sf.plots.privacy_curve(chain).savefig(tmp_path / "curve.png", dpi=100)
    header = (tmp_path / "curve.png").read_bytes()[16:24]
    assert (int.from_bytes(header[:4]), int.from_bytes(header[4:])) == (600, 400)
    sf.plots.trade_off(chain).savefig(tmp_path / "trade.svg")
    assert (tmp_path / "trade.svg").stat().st_size > 1_000
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or pyplot.get_fignums() == []


def test_without_matplotlib_the_message_says_what_to_install(chain, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'sfumato\[plots\]'"):
        sf.plots.privacy_curve(chain)


def test_lines_are_told_apart_by_more_than_colour():
    styles = [_drawing.line_style(place) for place in range(look.MOST)]
    assert len({style["color"] for style in styles}) == len({str(style["linestyle"]) for style in styles}) == look.MOST


def test_log_ticks_are_round_few_and_inside():
    for low, high in [(0.1, 10.0), (1e-9, 1.0), (0.02, 0.7), (1e-300, 1.0), (0.9, 40.0)]:
        found = axes.log_ticks(low, high)
        assert 2 <= len(found) <= 8
        assert all(low * (1 - 1e-6) <= value <= high * (1 + 1e-6) for value in found)
        assert all(f"{value:.6e}"[0] in "1235" and f"{value:.6e}"[1:8] == ".000000" for value in found)


def test_numbers_are_written_as_one_would():
    shown = [axes.number(value) for value in (0.0, 0.05, 1e-6, 1.0, 1234.0, 2.5e7, 0.2367)]
    assert shown == ["0", "0.05", "1e-6", "1", "1,234", "2.5e7", "0.237"]


# --- privacy curves ---------------------------------------------------------------------------------------------------


@pytest.mark.planted
def test_the_privacy_curve_is_delta_of_the_guarantee(chain):
    figure = sf.plots.privacy_curve(chain)
    drawn, asked = lines(figure)
    assert all(y == max(chain.guarantee.delta(x), 1e-10) for x, y in drawn)
    assert asked.tolist() == [[1.0, 1e-6]]
    # The closed form of Gaussian privacy, worked out here.
    mu, inside = chain.guarantee.curve.mu, drawn[drawn[:, 1] > 1e-9]
    closed = norm.cdf(-inside[:, 0] / mu + mu / 2) - np.exp(inside[:, 0]) * norm.cdf(-inside[:, 0] / mu - mu / 2)
    np.testing.assert_allclose(inside[:, 1], closed, rtol=1e-6)
    wrong = guarantee(sf.Gaussian(0.9 * mu))
    assert not np.allclose(closed, [wrong.delta(x) for x in inside[:, 0]], rtol=1e-2)


def test_a_curve_that_ends_is_followed_to_the_axis():
    drawn = lines(sf.plots.privacy_curve([guarantee(sf.Pure(1.0)), guarantee(sf.Gaussian(0.5))]))[0]
    last = drawn[drawn[:, 1] > 1e-9][-1]
    after = drawn[drawn[:, 0] > last[0]][0]
    assert 1 - 2e-3 < last[0] <= 1.0 <= after[0] + 1e-9
    assert after[0] - last[0] < 2e-3
    assert after[1] < 1e-9


def test_points_are_dense_where_delta_falls():
    points = np.array(sampled(lambda e: math.exp(-40 * e), 1.0, 1e-9))
    visible = points[points[:, 1] > 1e-9]
    assert (np.diff(points[:, 0]) > 0).all()
    assert (visible[:-1, 1] / visible[1:, 1] <= 1.5 + 1e-9).all()
    assert points[-1, 0] == 1.0


def test_slack_is_in_the_curve_and_said():
    slack = guarantee(sf.Gaussian(0.3), trust="proved with slack", slack=1e-7)
    figure = sf.plots.privacy_curve(slack)
    assert all(y == slack.delta(x) for x, y in lines(figure)[0])
    assert min(y for _, y in lines(figure)[0]) > 2e-7
    assert legend(figure) == ["Gaussian, mu = 0.3 (proved with slack)"]


def test_curves_are_named_and_numbered(chain, release):
    assert legend(sf.plots.privacy_curve({"mine": chain, "pure": guarantee(sf.Pure(1.0))}))[:2] == ["mine", "pure"]
    assert legend(sf.plots.privacy_curve([chain, chain]))[:2] == ["langevin, 1 draw (1)", "langevin, 1 draw (2)"]
    assert legend(sf.plots.privacy_curve(release))[0] == "survey: diffused"
    assert sf.plots.privacy_curve(release).get_suptitle() == "Privacy curve: one person replaced"
    assumed = guarantee(sf.Gaussian(1.0), trust="assumes converged")
    assert legend(sf.plots.trade_off(assumed))[0].endswith("(assumes converged)")
    nothing = guarantee(sf.Profile("approximate", {"epsilon": 1.0, "delta": 1.0}))
    assert legend(sf.plots.privacy_curve(nothing))[0].endswith("(vacuous)")


def test_a_metric_guarantee_is_drawn_at_a_distance():
    found = metric.posterior_draws(lipschitz=0.1, distance="Hamming")
    with pytest.raises(ArgumentError, match="distance="):
        sf.plots.privacy_curve(found)
    figure = sf.plots.privacy_curve(found, distance=3.0)
    assert "distance 3" in figure.get_suptitle()
    assert all(y == max(found.curve.within(3.0).delta(x), 1e-10) for x, y in lines(figure)[0])
    with pytest.raises(ArgumentError, match="metric"):
        sf.plots.trade_off(guarantee(sf.Pure(1.0)), distance=1.0)


# --- trade-off --------------------------------------------------------------------------------------------------------


def test_the_trade_off_is_the_gaussian_one_and_lies_below_guessing(chain):
    drawn, point, diagonal = lines(sf.plots.trade_off(chain))
    mu = chain.guarantee.curve.mu
    inner = drawn[(drawn[:, 0] > 0) & (drawn[:, 0] < 1)]
    np.testing.assert_allclose(inner[:, 1], norm.cdf(norm.isf(inner[:, 0]) - mu), atol=1e-9)
    assert (drawn[:, 1] <= 1 - drawn[:, 0]).all()
    assert diagonal.tolist() == [[0, 1], [1, 0]]
    assert point[0, 0] == 0.05
    np.testing.assert_allclose(point[0, 1], norm.cdf(norm.isf(0.05) - mu), atol=1e-9)
    assert f"at least {math.floor(100 * point[0, 1])} %" in legend(sf.plots.trade_off(chain))[1]


def test_the_trade_off_of_pure_privacy_is_the_two_lines():
    drawn = lines(sf.plots.trade_off(guarantee(sf.Pure(1.0))))[0]
    level = drawn[:, 0]
    exact = np.maximum(0, np.maximum(1 - math.e * level, (1 - level) / math.e))
    np.testing.assert_allclose(drawn[:, 1], exact, atol=1e-9)
    assert (drawn[:, 1] <= exact + 1e-15).all()


# --- utility ----------------------------------------------------------------------------------------------------------


def test_utility_is_what_the_plans_expect(prices):
    drawn, bare = lines(sf.plots.utility_curve(prices))
    assert drawn.tolist() == [[e, plan.outlook.value] for e, plan in zip(prices.epsilons, prices, strict=True)]
    without = prices.plans[0].outlook.without_privacy
    np.testing.assert_allclose(bare[:, 1], without, rtol=1e-9)
    assert legend(sf.plots.utility_curve(prices)) == ["langevin", f"without privacy: {without:.3g}"]
    assert "maximum-likelihood" in sf.plots.utility_curve(prices).axes[0].get_ylabel()


def test_prices_that_no_plan_meets_are_marked(prices):
    holed = replace(prices, plans=(None, *prices.plans[1:]), reasons=("too low.", "", "", ""))
    drawn, _, missed = lines(sf.plots.utility_curve(holed))
    assert drawn[:, 0].tolist() == [0.3, 1.0, 3.0]
    assert missed[:, 0].tolist() == [0.1]
    assert "no plan at this price" in legend(sf.plots.utility_curve(holed))
    with pytest.raises(ArgumentError, match="too low"):
        sf.plots.utility_curve(replace(prices, plans=(None,) * 4, reasons=("too low.",) * 4))


def test_lists_are_compared_only_in_the_same_quantity(prices):
    more = sf.price_list(GIBBS, 9_000, [0.1, 1.0], 1e-6)
    found = sf.plots.utility_curve({"few": prices, "more": more})
    bare = sorted(each.plans[0].outlook.without_privacy for each in (prices, more))
    assert legend(found) == ["few", "more", *(f"without privacy: {value:.3g}" for value in bare)]
    assert faults(found) == []
    with pytest.raises(ArgumentError, match="different quantities"):
        sf.plots.utility_curve([prices, sf.price_list(GIBBS, 2_000, [1.0], 1e-6, goal="estimate")])


def test_a_level_of_zero_without_privacy_is_said_where_the_axis_cannot_show_it():
    mean = sf.price_list(sf.families.BoundedMean(0, 1), 2_000, [0.01, 0.1, 1.0, 10.0], 1e-6, goal="estimate")
    figure = sf.plots.utility_curve(mean)
    assert figure.axes[0].get_yscale() == "log"
    assert legend(figure)[1] == "without privacy: 0"
    assert faults(figure) == []


# --- intervals --------------------------------------------------------------------------------------------------------


def segments(figure):
    return np.array([path.vertices for path in figure.axes[0].collections[0].get_paths()])


@pytest.mark.parametrize(("level", "include"), [(0.9, "privacy and sampling"), (0.5, "privacy")])
def test_the_forest_shows_the_intervals_of_the_release(release, level, include):
    figure = sf.plots.intervals(release, level, include=include)
    drawn, ends = segments(figure), release.interval(level, include)
    assert drawn[:, 0, 0].tolist() == ends[0].tolist()
    assert drawn[:, 1, 0].tolist() == ends[1].tolist()
    assert drawn[:, 0, 1].tolist() == list(range(6))
    middle = lines(figure)[0][:, 0]
    assert ((ends[0] < middle) & (middle < ends[1])).all()
    assert not np.allclose(release.interval(0.8)[0], drawn[:, 0, 0])
    assert figure.get_suptitle() == f"{100 * level:g} % intervals ({include}): survey"
    assert figure.axes[0].get_xlabel() == "shares (region)"


def test_labels_are_shown_as_they_are_or_by_their_ends(release):
    shown = [text.get_text() for text in sf.plots.intervals(release).axes[0].get_yticklabels()]
    assert shown[:3] == LEVELS[:3]
    assert shown[3] == "a name that …n of a figure"
    assert shown[4:] == LEVELS[4:]
    chosen = sf.plots.intervals(release, only=["_low", "north"])
    assert [text.get_text() for text in chosen.axes[0].get_yticklabels()] == ["_low", "north"]
    assert segments(chosen)[1, 0, 0] == release.interval(0.9)[0, 0]


def test_groups_are_named_by_what_was_counted():
    schema = sf.Schema(
        {"region": sf.Category(["a", "b"], missing="a"), "ill": sf.Boolean(missing=False)}, name="survey", unit="person"
    )
    model = sf.grouped(sf.families.BetaBernoulli(1, 1), by="region", levels=["a", "b"])
    data = sf.Dataset.from_table({"region": ["a", "b"] * 50, "ill": [True, True, False, False] * 25}, schema=schema)
    figure = sf.plots.intervals(sf.publish(sf.plan(model, 100, 1.0, 1e-6, mechanism="diffused"), data))
    assert figure.axes[0].get_xlabel() == "rate (ill by region)"
    assert faults(figure) == []


def test_many_labels_make_a_taller_picture_and_too_many_are_refused():
    names = [f"level {k}" for k in range(41)]
    found = _release(sf.families.DirichletCategorical(names), np.repeat(names, 50), sf.seeded(1))
    picture = sf.plots.intervals(found, only=names[:40])
    assert faults(picture) == []
    assert picture.get_figheight() > 10
    with pytest.raises(ArgumentError, match="only="):
        sf.plots.intervals(found)
    assert picture.get_suptitle().startswith("NOT PRIVATE")


# --- the mass of smooth parameters ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_the_mass_of_smooth_parameters_is_that_of_figure_1(rate):
    figure = sf.plots.theta_mass([0.2, 0.05], rates=[rate])
    drawn = lines(figure)
    for place, parts in enumerate((5, 20)):
        theta = np.arange(1, parts) / parts
        constant = np.abs(np.log(theta / (1 - theta)))
        prior = np.exp(-rate * constant) / np.exp(-rate * constant).sum()
        mass, bound, mark = drawn[3 * place : 3 * place + 3]
        jumps = mass[1:-1]
        np.testing.assert_allclose(np.unique(np.round(jumps[:, 0], 9)), np.unique(np.round(constant, 9)), atol=1e-8)
        ends = np.append(np.unique(np.round(constant, 9)), mass[-1, 0])
        for between in (ends[:-1] + ends[1:]) / 2:
            shown = mass[np.searchsorted(mass[:, 0], between, side="right") - 1, 1]
            assert shown == pytest.approx(prior[constant <= between].sum(), rel=1e-12)
        np.testing.assert_allclose(mark[0], [math.log(parts - 1), 1.0], rtol=1e-12)
        # The bound never exceeds the mass, and touches it somewhere: a larger c would break it.
        level = np.linspace(constant.min(), constant.max() * 1.05, 20_001)
        held = np.array([prior[constant <= x].sum() for x in level])
        c = -np.log1p(-bound[-1, 1]) / (bound[-1, 0] - bound[0, 0])
        assert (held >= -np.expm1(-c * (level - constant.min())) - 1e-9).all()
        assert (held < -np.expm1(-1.02 * c * (level - constant.min()))).any()


def test_figure_1_has_two_panels_and_the_printed_constants():
    figure = sf.plots.theta_mass()
    assert [axis.get_title() for axis in figure.axes] == ["uniform prior", "prior ∝ exp(-l)"]
    found = []
    for axis in (0, 1):
        bound = lines(figure, axis)[1]
        found.append(-math.log1p(-bound[-1, 1]) / (bound[-1, 0] - math.log(1.5)))
    np.testing.assert_allclose(found, [0.707, 1.325], atol=1e-3)


# --- the schedule of a chain ------------------------------------------------------------------------------------------


def test_the_schedule_shows_both_accounts_and_ends_at_the_price(chain):
    figure = sf.plots.schedule(chain)
    path, last, exact, point = lines(figure)
    h, steps, power = chain["step"], chain["steps"], chain["power"]
    # One record changes the gradient of logistic regression by at most twice power (the radius is 1); m = 1 is the prior's.
    g = GIBBS.difference(power)
    assert g == pytest.approx(2 * power, rel=1e-6)
    np.testing.assert_allclose(path[:, 1], g * np.sqrt(h / 2 * path[:, 0]), rtol=1e-4)
    c = 1 - h
    series = (1 - c ** last[:, 0]) / (1 + c ** last[:, 0]) * (1 + c) / (1 - c)
    np.testing.assert_allclose(last[:, 1], g * np.sqrt(h / 2 * series), rtol=1e-4)
    np.testing.assert_allclose(exact[:, 1], g, rtol=1e-6)
    assert (last[:, 1] <= path[:, 1] + 1e-12).all()
    assert last[-1].tolist() == point[0].tolist() == [steps, chain.guarantee.curve.mu]
    assert figure.get_suptitle() == f"Schedule: {steps} steps, step {h:.3g}, momentum 0"


def test_a_path_plan_shows_its_momentum_its_tail_and_its_own_account():
    plan = sf.plan(GIBBS, 2_000, 1.0, 1e-6, mechanism="langevin-path", goal="estimate")
    figure = sf.plots.schedule(plan)
    path, point = lines(figure)
    assert path[-1].tolist() == point[0].tolist() == [plan["steps"], plan.guarantee.curve.mu]
    np.testing.assert_allclose(path[:, 1], path[-1, 1] * np.sqrt(path[:, 0] / path[-1, 0]), rtol=1e-12)
    assert f"momentum {plan['momentum']:.3g}" in figure.get_suptitle()
    assert f"averaged: the last {plan['tail']} steps" in legend(figure)


def test_a_chain_of_one_step_is_drawn():
    assert faults(sf.plots.schedule(sf.plan(GIBBS, 2_000, 1.0, 1e-6, mechanism="langevin", steps=1))) == []


# --- refusals ---------------------------------------------------------------------------------------------------------

FAMILY = sf.families.BetaBernoulli(1, 1)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: sf.plots.privacy_curve(3.0), "got float"),
        (lambda: sf.plots.renyi_curve(guarantee(sf.Gaussian(1.0)), orders=(0.5, 3)), "1 <= first < last"),
        (lambda: sf.plots.renyi_curve(guarantee(sf.Gaussian(1.0)), orders=(2, 3, 4)), "two numbers"),
        (lambda: sf.plots.renyi_curve(guarantee(sf.Renyi([2], [1.0])), orders=(3, 9)), "no finite Renyi divergence"),
        (lambda: sf.plots.privacy_curve("plan"), "got str"),
        (lambda: sf.plots.privacy_curve([]), "got 0"),
        (lambda: sf.plots.privacy_curve([guarantee(sf.Pure(1.0))] * 7), "got 7"),
        (lambda: sf.plots.privacy_curve(guarantee(sf.Pure(1.0)), epsilon=0.0), "epsilon"),
        (lambda: sf.plots.privacy_curve(guarantee(sf.Pure(1.0)), delta=0.0), "delta"),
        (lambda: sf.plots.privacy_curve(guarantee(sf.Pure(1.0), trust="not private")), "protects nobody"),
        (lambda: sf.plots.trade_off(guarantee(sf.Pure(1.0), trust="not private")), "protects nobody"),
        (
            lambda: sf.plots.trade_off([guarantee(sf.Pure(1.0)), guarantee(sf.Pure(1.0), unit="patient")]),
            "same neighbours",
        ),
        (lambda: sf.plots.utility_curve([1.0]), "price_list"),
        (lambda: sf.plots.intervals("file.sfumato"), r"sf\.load"),
        (lambda: sf.plots.schedule(sf.plan(FAMILY, 100, mechanism="exact")), "runs no Langevin chain"),
        (lambda: sf.plots.schedule({"steps": 3}), r"sf\.plan"),
        (lambda: sf.plots.theta_mass(0.2), "list of 1 to 3"),
        (lambda: sf.plots.theta_mass([]), "list of 1 to 3"),
        (lambda: sf.plots.theta_mass([0.5]), "strictly between"),
        (lambda: sf.plots.theta_mass(rates=[-1.0]), "rates"),
        (lambda: sf.plots.theta_mass(rates=[0.0, 1.0, 2.0]), "1 to 2"),
    ],
)
def test_what_has_no_picture_is_refused(call, said):
    with pytest.raises(ArgumentError, match=said):
        call()


def test_intervals_refuse_wrong_levels_labels_and_models(release):
    for level in (0.0, 1.0, "most"):
        with pytest.raises(ArgumentError, match="level"):
            sf.plots.intervals(release, level)
    with pytest.raises(ArgumentError, match="does not have"):
        sf.plots.intervals(release, only=["west"])
    with pytest.raises(ArgumentError, match="list of labels"):
        sf.plots.intervals(release, only="north")
    with pytest.raises(ArgumentError, match="include"):
        sf.plots.intervals(release, include="nothing")
