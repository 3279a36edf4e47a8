"""Answers from draws: Algorithm 2 as written, bounds that hold, priors of the reader, and no way back to the data."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from effort import sized
from goodness import LEVEL
from sfumato.errors import ArgumentError
from sfumato.queries import _reweight, batches, regret_bounds
from sfumato.queries._sample import Sample, law_in_words, read
from sfumato.queries.regret_bounds import Terms
from sfumato.queries.respond import SCAN, respond
from sfumato.theorems import sampling_error

PLAN = {"model": sf.families.BetaBernoulli(2, 3).to_json(), "parameters": {"strength": 1.0}, "mechanism": "exact"}
SCHEMA = sf.Schema({"x": sf.Boolean(missing=False)}, name="s")
ROWS = np.arange(100) < 30


def sample(values: np.ndarray, independent: bool = True) -> Sample:
    labels = tuple(map(str, range(int(np.prod(values.shape[1:], dtype=int)))))
    return Sample(values, labels, "the posterior", independent, PLAN)


def release(draws: int, model=None, mechanism: str = "exact", **target: float) -> sf.Release:
    data = sf.Dataset.from_table({"x": ROWS}, schema=SCHEMA)
    plan = sf.plan(model or sf.families.BetaBernoulli(2, 3), 100, mechanism=mechanism, draws=draws, **target)
    return sf.publish(plan, data, randomness=sf.seeded(7))


# --- Algorithm 2 -------------------------------------------------------------------------------------------------------


@pytest.mark.planted
def test_answers_are_those_of_algorithm_2_written_out_for_200_random_utilities():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        count, responses = rng.integers(1, 30), rng.integers(1, 8)
        draws = rng.normal(size=(count, 2))
        table = rng.random((responses, 2))

        def one(theta, r, table=table):
            return 0.5 + 0.5 * math.sin(3 * theta[0] * table[r, 0] + 5 * theta[1] * table[r, 1] + r)

        best, most = None, -math.inf
        for r in range(responses):
            total = sum(one(theta, r) for theta in draws)
            if total > most + 1e-9:
                best, most = r, total
        utility = lambda d, c, t=table: (
            0.5 + 0.5 * np.sin(3 * np.outer(d[:, 0], t[c, 0]) + 5 * np.outer(d[:, 1], t[c, 1]) + c)
        )
        found = respond(sample(draws), utility, np.arange(responses))
        assert (found.response, found.place) == (best, best)
        assert found.utility == pytest.approx(most / count, rel=1e-12)
        worst = respond(sample(draws), lambda d, c, u=utility: 1 - u(d, c), np.arange(responses))
        assert responses == 1 or worst.place != best  # the same check sees an argmin


def test_ties_go_to_the_first_whatever_stands_beside_them():
    draws = np.random.default_rng(0).random(101)
    column = np.random.default_rng(1).random(101)
    for before in range(9):
        utility = lambda d, c, b=before: np.column_stack([column * (1 - 1e-3)] * b + [column] * 3 + [column / 2] * 4)
        assert respond(sample(draws), utility, list(range(before + 7))).place == before
        table = [utility] * 3
        assert list(batches.respond_all(sample(draws), table, list(range(before + 7))).places) == [before] * 3


def test_the_best_number_of_an_interval_is_the_mean_or_the_median():
    draws = np.random.default_rng(3).beta(3, 8, 301)
    by_square = respond(sample(draws), lambda d, r: 1 - (d[:, None] - r) ** 2, (0.0, 1.0))
    assert by_square.response == pytest.approx(draws.mean(), abs=1e-6)
    by_size = respond(sample(draws), lambda d, r: 1 - np.abs(d[:, None] - r), (0, 1))
    assert by_size.response == pytest.approx(np.median(draws), abs=1e-6)
    assert by_square.place is None
    assert by_square.loss is None
    assert "lipschitz=" in str(by_square)
    edge = respond(sample(draws), lambda d, r: np.tile(r, (len(d), 1)), (0.0, 1.0), lipschitz=1.0)
    assert edge.response == 1.0
    flat = respond(sample(draws), lambda d, r: np.full((len(d), len(r)), 0.5), (0.0, 1.0))
    assert flat.response == 0.0


def test_two_responses_in_a_list_are_two_responses():
    utility = lambda d, c: np.tile(np.abs(np.asarray(c, dtype=float) - 0.7), (len(d), 1))
    assert respond(sample(np.zeros(3)), utility, [0, 1]).response == 0
    assert respond(sample(np.zeros(3)), utility, np.array([0, 1])).place == 0
    assert respond(sample(np.zeros(3)), utility, (np.int64(0), np.int64(1))).place is None


@pytest.mark.parametrize(
    ("utility", "candidates", "said"),
    [
        (lambda d, c: np.full((len(d), 2), 1.1), [0, 1], "lie in"),
        (lambda d, c: np.full((len(d), 2), -0.1), [0, 1], "lie in"),
        (lambda d, c: np.full((len(d), 2), np.nan), [0, 1], "lie in"),
        (lambda d, c: np.full((2, len(d)), 0.5), [0, 1], "shaped"),
        (lambda d, c: np.full((len(d), 0), 0.5), [], "at least one"),
        (lambda d, c: np.full((len(d), len(c)), 0.5), (1.0, 0.0), "For two responses give a list"),
        (lambda d, c: np.full((len(d), len(c)), 0.5), (0.0, math.inf), "finite"),
    ],
)
def test_what_is_no_utility_is_refused(utility, candidates, said):
    with pytest.raises(ArgumentError, match=said):
        respond(sample(np.zeros(5)), utility, candidates)


# --- bounds ------------------------------------------------------------------------------------------------------------


def coin_losses(runs: int, draws: int, coins: int, gap: float) -> np.ndarray:
    """Loss of the answer where one response is sure to give 1/2 + gap and the others are fair coins."""
    rng = np.random.default_rng(5)
    utility = lambda d, c: np.column_stack([np.full(len(d), 0.5 + gap), d])
    losses = np.empty(runs)
    for run in range(runs):
        flips = rng.integers(0, 2, (draws, coins)).astype(float)
        found = respond(sample(flips), utility, range(coins + 1))
        losses[run] = 0.0 if found.place == 0 else gap
    return losses


@pytest.mark.planted
def test_the_regret_stays_below_the_bound_in_the_promised_share_of_2000_runs():
    draws, coins, failure, gap = 20, 300, 0.2, 0.3
    losses = coin_losses(2000, draws, coins, gap)
    said = respond(
        sample(np.zeros((draws, coins))), lambda d, c: np.full((draws, coins + 1), 0.5), range(coins + 1),
        terms=Terms(1, failure),
    )  # fmt: skip
    assert said.loss == pytest.approx(2 * math.sqrt(math.log(2 * (coins + 1) / failure) / (2 * draws)), rel=1e-9)
    good = np.count_nonzero(losses <= said.loss)
    assert good >= 2000 * (1 - failure)
    # As printed, without the union bound, the lemma fails in far more than the promised share of these runs.
    printed = math.sqrt(math.log(2 / failure) / (2 * draws))
    bad = np.count_nonzero(losses > printed)
    assert stats.binomtest(bad, 2000, failure, alternative="greater").pvalue < LEVEL


def test_the_regret_of_real_draws_stays_below_the_bound():
    """Beta posteriors with thresholds for responses: expected utilities in closed form."""
    failure, draws = 0.2, 200
    law = stats.beta(32, 73)
    cuts = np.linspace(0.05, 0.95, 181)
    expected = law.cdf(cuts) * (1 - cuts)
    values = release(draws * 200).draws.pooled().reshape(200, draws)
    utility = lambda d, c: (d[:, None] < c) * (1 - c)
    found = [respond(sample(row), utility, cuts, terms=Terms(1, failure)) for row in values]
    losses = np.array([expected.max() - expected[answer.place] for answer in found])
    assert np.count_nonzero(losses <= found[0].loss) >= 200 * (1 - failure)
    assert losses.max() > 0  # answers do err


@pytest.mark.planted
def test_the_bound_of_an_interval_is_the_best_net_and_a_broken_slope_is_seen():
    draws = np.random.default_rng(2).random(10_000)
    utility = lambda d, r: 1 - np.abs(d[:, None] - r)
    found = respond(sample(draws), utility, (0.0, 1.0), lipschitz=1.0, terms=Terms(3, 0.1))
    nets = [
        2 * math.sqrt(math.log(2 * m * 3 / 0.1) / (2 * 10_000)) + 2 / m + 0.5 / (SCAN - 1) for m in 2 ** np.arange(40)
    ]
    assert found.loss == pytest.approx(min(nets), rel=1e-6)
    assert found.loss >= min(nets)
    assert "no response does better by more than" in found.covers
    with pytest.raises(ArgumentError, match="per unit"):
        respond(sample(draws), utility, (0.0, 1.0), lipschitz=0.99)


def test_more_queries_or_adaptive_ones_cost_a_logarithm():
    utility = lambda d, c: np.full((len(d), 2), 0.5)
    bound = lambda **t: respond(sample(np.zeros(4000)), utility, [0, 1], terms=Terms(**t)).loss
    exact = lambda count: 2 * math.sqrt(math.log(2 * 2 * count / 0.05) / 8000)
    assert bound() == pytest.approx(exact(1), rel=1e-9)
    assert bound(queries=50) == pytest.approx(exact(50), rel=1e-9)
    assert bound(queries=50, query_set=10**6) == pytest.approx(exact(10**6), rel=1e-9)
    with pytest.raises(ArgumentError, match="query_set"):
        Terms(50, 0.05, 10)


def test_an_estimate_has_no_bound_and_says_so():
    found = respond(sample(np.zeros(4), independent=False), lambda d, c: np.full((4, 1), 0.5), ["a"])
    assert found.loss is None
    assert "No bound" in str(found)


# --- the reader's prior ------------------------------------------------------------------------------------------------


@pytest.mark.planted
@pytest.mark.parametrize("mechanism", ["exact", "concentrated", "diffused"])
def test_reweighted_draws_have_the_mean_of_the_readers_posterior(mechanism):
    target = {} if mechanism == "exact" else {"epsilon": 2.0, "delta": 1e-6}
    made = release(1, mechanism=mechanism, **target)
    power, strength = made.plan["parameters"]["power"], made.plan["parameters"]["strength"]
    cells = np.array([strength * 2 + power * 30, strength * 3 + power * 70])
    values = np.random.default_rng(4).beta(*cells, size=4000)
    held = Sample(values, ("theta",), "", True, made.plan)
    found = _reweight.weights(held, sf.families.BetaBernoulli(2 * strength + 3, 3 * strength))
    wanted = stats.beta(cells[0] + 3, cells[1])
    mean = float(held.values @ found.values)
    error = math.sqrt(wanted.var() / found.effective)
    assert 2 * stats.norm.sf(abs(mean - wanted.mean()) / error) > LEVEL
    assert 2 * stats.norm.sf(abs(values.mean() - wanted.mean()) / error) < LEVEL  # unweighted draws are rejected
    assert 1 < found.effective < 4000
    assert found.values.sum() == pytest.approx(1)


def test_the_real_draws_of_a_release_can_be_reweighted_and_say_what_they_are_worth():
    made = release(2000)
    squares = lambda d, r: 1 - (d[:, None] - r) ** 2
    plain = made.respond(squares, (0.0, 1.0))
    own = made.respond(squares, (0.0, 1.0), prior=lambda d: 10 * np.log(d))
    readers = made.respond(squares, (0.0, 1.0), prior=sf.families.BetaBernoulli(11, 1))
    assert own.response == pytest.approx(readers.response, abs=1e-6)
    assert own.response == pytest.approx((11 + 30) / (12 + 100), abs=0.01)
    assert plain.response == pytest.approx(32 / 105, abs=0.01)
    assert "worth" in str(own)
    assert "worth" not in str(plain)
    listed = made.respond(squares, np.linspace(0, 1, 5), prior=lambda d: 10 * np.log(d))
    assert listed.loss is own.loss is None
    assert "log_ratio=" in listed.covers


def test_a_gibbs_prior_is_taken_as_recorded_and_not_strengthened_twice():
    model = sf.Gibbs(sf.losses.LogitBernoulli(), sf.priors.Gaussian(precision=2.0))
    plan = sf.plan(model, 1000, 1.0, 1e-6, mechanism="concentrated")
    assert dict(plan.parameters)["strength"] > 1
    document = json.loads(json.dumps(plan.to_json()))
    values = np.linspace(-1, 1, 5)[:, None]
    held = Sample(values, ("t",), "", True, document)
    precision = document["model"]["prior"]["precision"]
    same = _reweight.weights(held, lambda d: -precision / 2 * d[:, 0] ** 2)
    assert np.allclose(same.values, 0.2)


PRIORS = [
    (sf.families.DirichletCategorical(["a", "b", "c"], [1.0, 2.0, 3.0]), lambda d: stats.dirichlet([2, 4, 6]).logpdf(d.T)),
    (sf.families.GammaPoisson(2.0, 3.0, 9), lambda d: stats.gamma(4, scale=1 / 6).logpdf(d)),
    (sf.families.ExponentialRate(2.0, 3.0, 9.0), lambda d: stats.gamma(4, scale=1 / 6).logpdf(d)),
    (sf.families.BetaBernoulli(2, 0.5), lambda d: stats.beta(4, 1).logpdf(d)),
    (sf.families.NormalMean(1.0, -1.0, 1.0, 0.2, 4.0), lambda d: stats.norm(0.2, 1 / math.sqrt(8)).logpdf(d)),
    (sf.families.GaussianMean(3, 1.0, 4.0), lambda d: stats.norm(0, 1 / math.sqrt(8)).logpdf(d).sum(axis=1)),
]  # fmt: skip


@pytest.mark.planted
@pytest.mark.parametrize(("model", "oracle"), PRIORS, ids=lambda v: getattr(v, "name", ""))
def test_log_priors_are_scipys_up_to_a_constant(model, oracle):
    shares = np.random.default_rng(0).dirichlet([1, 1, 1], 6)
    theta = shares if len(model.labels) == 3 else shares[:, 0]
    gap = _reweight.log_prior(model, 2.0)(theta) - oracle(theta)
    assert np.ptp(gap) < 1e-9
    wrong = _reweight.log_prior(model, 1.0)(theta) - oracle(theta)
    assert np.ptp(wrong) > 1e-3


def test_priors_that_cannot_serve_are_refused():
    values = np.array([0.2, 0.4])
    held = Sample(values, ("theta",), "", True, PLAN)
    with pytest.raises(ArgumentError, match="density 0"):
        _reweight.weights(held, lambda d: np.full(2, -np.inf))
    with pytest.raises(ArgumentError, match="one log density per draw"):
        _reweight.weights(held, lambda d: 0.0)
    with pytest.raises(ArgumentError, match="numbers below infinity"):
        _reweight.weights(held, lambda d: np.array([0.0, np.nan]))
    with pytest.raises(ArgumentError, match="truncated"):
        _reweight.weights(held, sf.families.BetaBernoulli(2, 3, floor=0.1))
    with pytest.raises(ArgumentError, match="against="):
        _reweight.weights(held, sf.families.LogitNormal(1.0))
    with pytest.raises(ArgumentError, match="Declare a larger one"):
        _reweight.weights(held, lambda d: 10 * np.log(d), log_ratio=0.5)


def test_bounds_under_another_prior_are_corollary_16_and_the_reweighted_one():
    draws = np.random.default_rng(0).beta(32, 73, 5000)
    held = Sample(draws, ("theta",), "the posterior", True, PLAN)
    utility = lambda d, c: np.column_stack([d, 1 - d])
    tilt = lambda d: stats.beta(2, 3).logpdf(d) + 0.05 * np.sign(d - 0.3)
    found = respond(held, utility, ["yes", "no"], prior=tilt, log_ratio=0.05)
    same = sampling_error.preferred_prior_loss(log_ratio=0.05, draws=5000, responses=2, queries=1, delta=0.05)
    assert found.unweighted_loss == pytest.approx(same, rel=1e-9)
    sampling = Terms().response_loss(5000, 2)
    assert found.loss == pytest.approx(min(sampling + 4 * math.tanh(0.025), sampling * math.exp(0.1)), rel=1e-9)
    assert "reweighted to this prior" in found.covers
    assert "Corollary 16" in found.covers
    plain = respond(held, utility, ["yes", "no"])
    assert "Corollary 16" not in plain.covers


def failing_chance(draws: int, p: float, eta: float, sure: float, bound: float) -> float:
    """Chance that the reweighted answer loses more than `bound`: theta in {0, 1}, responses theta itself and a sure thing."""
    heavy = math.exp(2 * eta)
    truth = p * heavy / (1 - p + p * heavy)
    chance = 0.0
    for ones in range(draws + 1):
        mean = ones * heavy / (draws - ones + ones * heavy)
        loss = max(0.0, sure - truth) if mean >= sure else max(0.0, truth - sure)
        chance += stats.binom.pmf(ones, draws, p) if loss > bound else 0.0
    return chance


@pytest.mark.planted
@pytest.mark.parametrize("failure", [0.1, 0.5, 0.9])
def test_the_reweighted_bound_holds_by_enumeration_and_the_unweighted_error_alone_does_not(failure):
    broken = 0
    for draws in (1, 10, 40):
        sampling = Terms(1, failure).response_loss(draws, 2)
        for p in (0.001, 0.005, 0.05, 0.5):
            for eta in (0.0, 0.1, 0.5, 3.0):
                bound = regret_bounds.reweighted_loss(sampling=sampling, log_ratio=eta)
                for sure in (0.1, 0.3, 0.6, 0.9):
                    assert failing_chance(draws, p, eta, sure, bound) <= failure
                    broken += failing_chance(draws, p, eta, sure, sampling) > failure
    assert failure < 0.9 or broken > 0


# --- many questions ----------------------------------------------------------------------------------------------------


def test_batches_answer_as_single_questions_do():
    rng = np.random.default_rng(1)
    draws, cuts, prices = rng.beta(2, 5, 300), rng.random(2000), np.linspace(0, 1, 7)
    made = sample(draws)
    utility = lambda d, c, q: np.clip(1 - np.abs(d[None, :, None] * q[:, None, None] - c), 0, 1)
    found = batches.respond_all(made, utility, prices, questions=cuts)
    assert len(found) == 2000
    for k in range(0, 2000, 97):
        one = respond(made, lambda d, c, q=cuts[k]: utility(d, c, np.array([q]))[0], prices)
        assert (one.place, one.response) == (found.places[k], found.responses[k])
        assert one.utility == pytest.approx(found.utilities[k], rel=1e-12)
    assert found.loss == pytest.approx(2 * math.sqrt(math.log(2 * 7 * 2000 / 0.05) / 600), rel=1e-9)
    assert "2,000 queries" in str(found)
    adaptive = batches.respond_all(made, utility, prices, questions=cuts, terms=Terms(1, 0.05, 10**6))
    assert adaptive.loss == pytest.approx(2 * math.sqrt(math.log(2 * 7 * 10**6 / 0.05) / 600), rel=1e-9)
    few = batches.respond_all(made, utility, prices, questions=cuts, terms=Terms(1, 0.05, 5))
    assert few.loss == found.loss  # a set of five questions cannot have held 2,000
    listed = batches.respond_all(made, [lambda d, c, q=q: utility(d, c, np.array([q]))[0] for q in cuts[:50]], prices)
    assert (listed.places == found.places[:50]).all()


def test_linear_utilities_answer_as_written_out_and_are_checked_at_every_draw():
    rng = np.random.default_rng(2)
    made = sample(rng.dirichlet([1, 2, 3], 50))
    table = rng.random((400, 4, 3))
    found = batches.respond_all(made, batches.LinearUtility(lambda d: d, table), list("abcd"))
    wanted = np.einsum("nf,qrf->qr", made.values, table) / 50
    assert (found.places == wanted.argmax(axis=1)).all()
    assert found.responses[0] == "abcd"[wanted[0].argmax()]
    assert np.allclose(found.utilities, wanted.max(axis=1))
    table[399, 3, 0] = 40.0
    with pytest.raises(ArgumentError, match="lie in"):
        batches.respond_all(made, batches.LinearUtility(lambda d: d, table), list("abcd"))
    with pytest.raises(ArgumentError, match="table must be shaped"):
        batches.respond_all(made, batches.LinearUtility(lambda d: d, table[:, :2]), list("abcd"))
    with pytest.raises(ArgumentError, match="questions"):
        batches.respond_all(made, lambda d, c, q: 0, list("abcd"))


def test_a_batch_is_reweighted_like_a_single_question():
    made = release(200)
    prior = sf.families.BetaBernoulli(9, 2)
    cuts = np.linspace(0.1, 0.9, 9)
    utility = lambda d, c, q: np.stack([(d[:, None] < x) * 1.0 * np.array([1.0, 0.6]) for x in q])
    found = made.respond_all(utility, ["low", "high"], cuts, prior=prior)
    one = made.respond(lambda d, c: utility(d, c, cuts[2:3])[0], ["low", "high"], prior=prior)
    assert one.utility == pytest.approx(found.utilities[2], rel=1e-9)
    assert one.effective_draws == found.effective_draws < 200


# --- what an answer cannot do ------------------------------------------------------------------------------------------

CODE = """
import os, sys
import numpy as np
import sfumato as sf

release = sf.load(sys.argv[1])
def utility(draws, candidates, questions):
    return np.clip(1 - np.abs(draws[None, :, None] - candidates) * questions[:, None, None], 0, 1)

prices = np.linspace(0, 1, 3)
release.respond_all(utility, prices, np.ones(3))  # modules are loaded by the first question
seen = []
def hook(event, arguments):
    if event in ("open", "sqlite3.connect", "socket.connect", "os.listdir", "subprocess.Popen"):
        seen.append((event, str(arguments[0])))
sys.addaudithook(hook)
asked, questions = 0, np.linspace(0, 1, 20_000)
for _ in range(int(sys.argv[2])):
    found = release.respond_all(utility, prices, questions, query_set=10**9)
    asked += len(found)
    questions = np.abs(np.sin(questions + 3 * found.utilities + found.places))  # the next ones hang on these answers
print(asked, len(seen), seen[:1])
open(sys.argv[1], "rb").close()
print(len(seen))
"""


@pytest.mark.planted
def test_a_million_adaptive_queries_open_no_file_and_leave_the_ledger_as_it_was(tmp_path):
    table = tmp_path / "people.csv"
    table.write_text("x\n" + "\n".join("true" if one else "false" for one in ROWS) + "\n")
    ledger = sf.Ledger.open(str(tmp_path / "budget.db"))
    ledger.register("s", epsilon=3.0, delta=1e-6)
    data = sf.Dataset.from_table(table, schema=SCHEMA)
    plan = sf.plan(sf.families.BetaBernoulli(2, 3), 100, 1.0, 1e-6, mechanism="noisy-statistics", draws=10)
    sf.publish(plan, data, ledger=ledger, name="s", request_id="r1").save(tmp_path / "x.sfumato")
    before = ledger.spent("s"), len(list(ledger.history("s")))
    table.unlink()
    del data
    rounds = sized(10, 50)  # of 20,000 questions each
    printed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CODE), str(tmp_path / "x.sfumato"), str(rounds)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    first, last = printed.splitlines()
    asked, opened, which = first.split(maxsplit=2)
    assert (int(asked), int(opened)) == (20_000 * rounds, 0), which
    assert int(last) == 1  # the same watch sees one opened file
    assert (ledger.spent("s"), len(list(ledger.history("s")))) == before


@pytest.mark.parametrize("value", [0.0, 0.1234, 0.12, 0.99951, 1.0, 3.14159e-7, 0.0009999, 123.4])
def test_bounds_are_printed_rounded_up(value):
    shown = float(regret_bounds.digits_up(value))
    assert value <= shown <= value * 1.011


def test_laws_are_named_by_how_the_draws_were_made():
    trust = {"guarantee": {"trust": "proved"}}
    assert (
        law_in_words({"mechanism": "exact", "parameters": {"power": 1.0, "strength": 1.0}, **trust}, "draws")
        == "the posterior"
    )
    tempered = {"mechanism": "diffused", "parameters": {"power": 0.25, "strength": 1.0}, **trust}
    assert "power 0.25" in law_in_words(tempered, "draws")
    assert "3 times" in law_in_words({"mechanism": "concentrated", "parameters": {"strength": 3.0}, **trust}, "draws")
    assert "noisy totals" in law_in_words({"mechanism": "noisy-statistics", "parameters": {}, **trust}, "draws")
    assert "last step" in law_in_words(
        {"mechanism": "langevin", "parameters": {"steps": 9, "power": 0.5}, **trust}, "draws"
    )
    assert "estimate" in law_in_words({"mechanism": "langevin-path", "parameters": {}, **trust}, "estimate")
    assumed = {**tempered, "guarantee": {"trust": "assumes converged"}}
    assert "if its chain has converged" in law_in_words(assumed, "draws")
    made = release(3)
    assert read(made.draws, made.plan, "draws").independent
    assert not read(made.draws, made.plan, "estimate").independent
    assert not read(made.draws, {**made.plan, **assumed}, "draws").independent
