"""What a plan is asked for reaches the mechanism unchanged, and what is beyond the limits is refused; tables likewise."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import pytest

import sfumato as sf
from sfumato import comparing, mechanisms, planning
from sfumato.calibrate import Target
from sfumato.errors import ArgumentError, CalibrationError
from sfumato.mechanisms.protocol import Request
from sfumato.models.networks import BayesianNetwork
from sfumato.privacy.curves import Gaussian
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import chains

RATE = sf.families.BetaBernoulli(2.0, 3.0)
MODEL = sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(5.0), 4)


@pytest.fixture
def asked(monkeypatch):
    """What the mechanisms are asked for; they are not run."""
    calls = []

    @dataclass(frozen=True)
    class Nothing:
        guarantee: Guarantee

        def to_json(self):
            return {}

    def record(name, request):
        calls.append((name, request))
        return Nothing(Guarantee(Gaussian(0.3), "replace-one", "a theorem", "a source"))

    monkeypatch.setattr(planning, "plan_with", record)
    return calls


def test_every_option_reaches_the_mechanism(asked):
    options = {"mechanism": "langevin-path", "draws": 3, "goal": "estimate", "steps": 7, "trust": "assumes converged"}
    sf.plan(MODEL, 50, 0.5, 1e-7, keep=["transcript"], **options)
    wanted = Request(MODEL, 50, Target(0.5, 1e-7), 3, "estimate", ("transcript",), 7, "assumes converged")
    assert asked == [("langevin-path", wanted)]
    sf.plan(MODEL, 50, target=Gaussian(0.3))
    assert asked[-1][1].target.curve == Gaussian(0.3)


def test_only_exact_may_be_asked_without_any_price(asked):
    sf.plan(RATE, 10, mechanism="exact")
    assert asked[-1][1].target is None
    sf.plan(RATE, 10, target=Gaussian(1.0), mechanism="exact")
    assert asked[-1][1].target.curve == Gaussian(1.0)
    for options in ({"delta": 1e-6}, {"epsilon": 1.0}):
        with pytest.raises(ArgumentError, match="must be given"):
            sf.plan(RATE, 10, mechanism="exact", **options)
    with pytest.raises(ArgumentError, match="must be given"):
        sf.plan(RATE, 10)
    assert len(asked) == 2


def test_a_kept_transcript_counts_every_step(asked):
    draws = planning.MOST_NUMBERS // 4
    sf.plan(MODEL, 50, 1.0, 1e-6, draws=draws)
    sf.plan(MODEL, 50, 1.0, 1e-6, draws=draws, steps=2)
    sf.plan(MODEL, 50, 1.0, 1e-6, draws=draws // 2, steps=2, keep=["transcript"])
    for options in ({"draws": draws + 1}, {"draws": draws // 2 + 1, "steps": 2, "keep": ["transcript"]}):
        with pytest.raises(ArgumentError, match="make more than"):
            sf.plan(MODEL, 50, 1.0, 1e-6, **options)
    assert len(asked) == 3


def test_tables_of_a_network_are_all_counted(asked):
    """One table of three shares for a, three of two for its child b: 9 numbers a draw."""
    model = BayesianNetwork({"a": [], "b": ["a"]}, {"a": 3, "b": 2})
    size = 9
    most = planning.MOST_NUMBERS // size
    sf.plan(model, 50, 1.0, 1e-6, draws=most)
    with pytest.raises(ArgumentError, match="make more than"):
        sf.plan(model, 50, 1.0, 1e-6, draws=most + 1)


@pytest.mark.parametrize("trust", ["assumed", "", "PROVED"])
def test_a_plan_rests_on_nothing_unheard_of(asked, trust):
    with pytest.raises(ArgumentError, match="trust must be"):
        sf.plan(MODEL, 50, 1.0, 1e-6, trust=trust)
    assert not asked


def test_a_price_list_asks_for_what_it_was_asked_for(asked):
    found = sf.price_list(MODEL, 50, (e for e in (0.5, 2.0)), 1e-7, mechanism="langevin", draws=3, goal="estimate")
    wanted = [Request(MODEL, 50, Target(epsilon, 1e-7), 3, "estimate") for epsilon in (0.5, 2.0)]
    assert asked == [("langevin", request) for request in wanted]
    assert (found.epsilons, found.delta, found.reasons) == ((0.5, 2.0), 1e-7, ("", ""))


def test_a_price_list_has_an_end(asked):
    found = sf.price_list(MODEL, 50, [1.0] * planning.MOST_PRICES, 1e-6)
    assert len(found) == len(asked) == planning.MOST_PRICES
    with pytest.raises(ArgumentError, match="at most 100"):
        sf.price_list(MODEL, 50, itertools.count(1.0), 1e-6)
    with pytest.raises(ArgumentError, match="epsilons"):
        sf.price_list(MODEL, 50, [1.0, -1.0], 1e-6)
    with pytest.raises(ArgumentError, match="delta"):
        sf.price_list(MODEL, 50, [], 2.0)


def test_a_price_list_passes_over_what_cannot_be_met_and_nothing_else():
    def at(epsilon):
        if epsilon < 1:
            raise CalibrationError("too little")
        if epsilon > 5:
            raise ArgumentError("not an epsilon for this model")
        return epsilon

    found = planning.priced(at, [0.5, 2.0, 0.1], 1e-6)
    assert found.plans == (None, 2.0, None)
    assert found.reasons == ("too little", "", "too little")
    with pytest.raises(ArgumentError, match="not an epsilon"):
        planning.priced(at, [2.0, 9.0], 1e-6)


def test_the_columns_of_a_price_list_are_what_their_heads_say():
    found = sf.price_list(RATE, 200, [0.5], 1e-6, mechanism="diffused")
    head, row = (line.split() for line in str(found).splitlines()[1:])
    assert row[:2] == ["0.5", "diffused"]
    assert head[:4] == ["epsilon", "mechanism", "power", "mu"]
    (plan,) = found
    assert float(row[2]) == pytest.approx(plan["power"], rel=1e-3)


def test_a_divergence_curve_compares_the_law_that_is_released(monkeypatch):
    seen = []
    mean = sf.families.NormalMean(1.0, -4.0, 4.0)
    monkeypatch.setattr(mechanisms, "divergence", lambda *numbers: seen.append(numbers) or 0.25)
    for mechanism in ("diffused", "concentrated", "noisy-statistics"):
        curve = planning.divergence_curve(mean, 200, [1.0], 1e-6, mechanism=mechanism)
        plan = sf.plan(mean, 200, 1.0, 1e-6, mechanism=mechanism)
        numbers = dict(plan.parameters)
        assert curve == [(1.0, 0.25)]
        model, n, power, strength, noise = seen[-1]
        assert (model, n) == (mean, 200)
        assert (power, strength) == (numbers.get("power", 1.0), numbers.get("strength", 1.0))
        assert noise == numbers.get("noise", 0.0) * mean.sensitivity
    assert seen[0][2] < 1 < seen[1][3]
    assert seen[2][4] > 0


def test_a_plan_for_a_width_searches_what_was_left_open(asked, monkeypatch):
    """Without epsilon the prices in the range, without draws their number; with both or neither there is no question."""
    monkeypatch.setattr(planning, "cheapest", lambda at, *rest: (at(0.5, 3), rest))
    monkeypatch.setattr(planning, "fewest_draws", lambda at, *rest: (at(0.7, 8), rest))
    _, rest = sf.plan_for_width(RATE, 50, 0.2, 0.8, delta=1e-7, draws=3, mechanism="diffused", epsilons=(0.1, 2.0))
    assert rest == (0.2, 0.8, 1e-7, 3, (0.1, 2.0))
    _, rest = sf.plan_for_width(RATE, 50, 0.2, 0.8, epsilon=0.7, delta=1e-7, draws=None, mechanism="diffused")
    assert rest == (0.2, 0.8, 1e-7, 0.7)
    assert asked == [
        ("diffused", Request(RATE, 50, Target(*point), draws)) for *point, draws in ((0.5, 1e-7, 3), (0.7, 1e-7, 8))
    ]
    for options in ({"epsilon": 1.0, "draws": 2}, {"draws": None}):
        with pytest.raises(ArgumentError, match="draws=None"):
            sf.plan_for_width(RATE, 50, 0.2, **options)
    for options in ({"width": 0.0}, {"level": 1.0}, {"epsilons": (0.0, 1.0)}, {"draws": 0}):
        with pytest.raises(ArgumentError, match=f"{next(iter(options))} must"):
            sf.plan_for_width(RATE, 50, **{"width": 0.2, **options})


# --- the table of theorems --------------------------------------------------------------------------------------------


def test_a_power_through_renyi_orders_is_admitted_and_the_largest():
    """Of mu-GDP with mu = power, whose curve is mu^2 a/2 at order a."""
    delta = 1e-6
    epsilon = lambda power: comparing.minimise_over_orders(
        lambda a: comparing.renyi_to_epsilon(a, power**2 * a / 2, delta)
    )
    for wanted in (0.1, 1.0, 8.0):
        found = comparing._largest_by_renyi(Gaussian, Target(wanted, delta), 1e6)
        assert epsilon(found) <= wanted < epsilon(found * (1 + 1e-8))
        # No worse than by the textbook's conversion, mu^2/2 + mu sqrt(2 ln(1/delta)), and no better than the exact price.
        assert found**2 / 2 + found * math.sqrt(2 * math.log(1 / delta)) >= wanted * (1 - 1e-9)
        assert Gaussian(found).delta(wanted) <= delta
    with pytest.raises(CalibrationError, match="no power"):
        comparing._largest_by_renyi(lambda power: Gaussian(10.0), Target(0.1, delta), 1e6)


def test_every_power_of_the_table_meets_its_target_and_none_above_does():
    n, epsilon, delta = 400, 2.0, 1e-6
    table = sf.compare(MODEL, n, epsilon, delta, steps=[3])
    sharp = table["sharp theorem"].power
    price = lambda power: chains.sharp_price(MODEL, n, power, 1).delta(epsilon)
    assert price(sharp) <= delta < price(sharp * (1 + 1e-6))
    assert (table.n, table.epsilon, table.delta) == (n, epsilon, delta)


def test_powers_above_one_are_in_the_table():
    """A strong prior and few records: the posterior itself costs less than is allowed."""
    model = sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(1e4), 4)
    table = sf.compare(model, 10, 1.0, 1e-6, steps=[3])
    assert all(table[name].power > 10 for name in ("Renyi curve", "sharp theorem", "finite-step, 3 steps"))


@pytest.mark.parametrize(("model", "reference"), [(MODEL, "sharp theorem"), (RATE, "exact profile")])
def test_powers_are_shown_relative_to_the_best_theorem(model, reference):
    table = sf.compare(model, 100, 1.0, 1e-6, steps=[3])
    lines = {row.name: line for row, line in zip(table.rows, str(table).splitlines()[2:], strict=True)}
    best = table[reference].power
    assert f"{best:.4g}" in lines[reference]
    assert lines[reference].split(f"{best:.4g}")[1].split()[0] == "1.000"
    other = table["Renyi curve"].power
    assert lines["Renyi curve"].split(f"{other:.4g}")[1].split()[0] == f"{other / best:.3f}"
    assert "(epsilon, delta) = (1, 1e-06), n = 100" in str(table)


def test_the_table_refuses_what_it_has_no_theorems_for():
    truncated = sf.families.BetaBernoulli(2.0, 3.0, floor=0.1)
    with pytest.raises(ArgumentError, match="not truncated"):
        sf.compare(truncated, 100, 1.0, 1e-6)
    with pytest.raises(ArgumentError, match="steps"):
        sf.compare(MODEL, 100, 1.0, 1e-6, steps=[0])
    with pytest.raises(ArgumentError, match="n must"):
        sf.compare(MODEL, 0, 1.0, 1e-6)
    with pytest.raises(ArgumentError, match="delta must"):
        sf.compare(MODEL, 100, 1.0, 1.0)
