"""Spend, then draw, then seal: the whole path, what it refuses, and what a crash costs."""

from __future__ import annotations

import copy
import dataclasses
import functools
import hashlib
import json
import operator
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from effort import sized
from goodness import LEVEL, uniform_p
from sfumato.draws import Draws
from sfumato.errors import ArgumentError, FormatError, LedgerError, LedgerFull, PublishError
from sfumato.procedures import law
from sfumato.randomness import Randomness

N = 400
SCHEMA = sf.Schema(
    {"sick": sf.Boolean(missing=False), "age": sf.Number(0, 100)}, target="sick", name="survey", unit="patient"
)


def survey(ones: int = 120, seed: int = 1) -> sf.Dataset:
    order = np.random.default_rng(seed).permutation(N)
    bits = (np.arange(N) < ones)[order]
    return sf.Dataset.from_table({"sick": bits, "age": np.linspace(0, 100, N)[order]}, schema=SCHEMA)


@pytest.fixture
def ledger(tmp_path):
    opened = sf.Ledger.open(tmp_path / "budget.db")
    opened.register("survey", epsilon=3.0, delta=1e-6, unit="patient")
    return opened


def charges(ledger: sf.Ledger) -> list:
    return [entry for entry in ledger.history("survey") if entry.kind == "charge"]


SHARE = sf.families.BetaBernoulli(6, 12)
AGES = sf.families.BoundedMean(0, 100)
REGRESSION = sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(5.0))
PLANS = {
    "exact": lambda: sf.plan(SHARE, N, mechanism="exact", draws=3),
    "diffused": lambda: sf.plan(SHARE, N, 1.0, 1e-8, mechanism="diffused"),
    "concentrated": lambda: sf.plan(SHARE, N, 1.0, 1e-8, mechanism="concentrated"),
    "noisy-statistics of a share": lambda: sf.plan(SHARE, N, 1.0, 1e-8, mechanism="noisy-statistics"),
    "noisy-statistics of a mean": lambda: sf.plan(AGES, N, 1.0, 1e-8, mechanism="noisy-statistics", goal="estimate"),
}
# Searched once; plans are frozen. "noisy" is a Gaussian price, which a ledger charges without a search of its own.
PLANS = {name: functools.cache(make) for name, make in PLANS.items()}
NOISY = PLANS["noisy-statistics of a share"]


@pytest.mark.parametrize("name", list(PLANS))
def test_the_whole_path(name, tmp_path):
    plan = PLANS[name]()
    data = survey() if plan.model == SHARE else ages()
    release = sf.publish(plan, data)
    assert release.private
    assert release.plan_digest == plan.digest
    assert release.draws.shape == (1, plan.draws)
    assert release.guarantee.unit == data.schema.unit
    assert release.guarantee.curve == plan.guarantee.curve
    path = tmp_path / "x.sfumato"
    release.save(path)
    again = sf.load(path).verify()
    np.testing.assert_array_equal(again.draws.values, release.draws.values)
    assert again.guarantee == release.guarantee
    assert sf.Schema.from_json(json.loads(again.schema["document"])) == data.schema
    assert again.to_bytes() == release.to_bytes()
    text = str(again)
    assert "patient" in text
    assert "promise" in text
    assert again.quantile(0.5).shape == again.mean().shape


def ages(values=None) -> sf.Dataset:
    schema = sf.Schema({"age": sf.Number(0, 100)}, name="survey", unit="patient")
    return sf.Dataset.from_table({"age": np.linspace(0, 100, N) if values is None else values}, schema=schema)


def test_releases_differ_and_seeded_ones_repeat_and_say_so():
    plan = PLANS["diffused"]()
    drawn = {float(sf.publish(plan, survey()).mean().item()) for _ in range(4)}
    assert len(drawn) > 2
    first, second = (sf.publish(plan, survey(), randomness=sf.seeded(4)) for _ in range(2))
    assert first.to_bytes() == second.to_bytes()
    assert not first.private
    assert "NOT PRIVATE" in str(first)
    assert first.guarantee.trust == "not private"


@pytest.mark.planted
def test_draws_follow_the_planned_posterior():
    plan = sf.plan(SHARE, N, mechanism="exact", draws=4000)
    rates = sf.publish(plan, survey(ones=120), randomness=sf.seeded(1)).draws.values.ravel()
    assert uniform_p(stats.beta.cdf(rates, 126, 292)) > LEVEL
    assert uniform_p(stats.beta.cdf(rates, 126 * 0.7, 292 * 0.7)) < LEVEL
    assert uniform_p(stats.beta.cdf(rates, 125 + 12, 293 - 12)) < LEVEL


@pytest.mark.planted
def test_a_noisy_mean_is_the_mean_with_the_planned_noise():
    plan = PLANS["noisy-statistics of a mean"]()
    stream = sf.seeded(2)
    values = np.array([sf.publish(plan, ages(), randomness=stream.spawn()).mean().item() for _ in range(1500)])
    deviation = 100 * plan["noise"] / N
    assert uniform_p(stats.norm.cdf((values - 50.0) / deviation)) > LEVEL
    assert uniform_p(stats.norm.cdf((values - 50.0) / (0.8 * deviation))) < LEVEL
    assert plan.expected.value == pytest.approx(deviation)


@pytest.mark.planted
def test_the_order_of_rows_changes_nothing():
    """Sums of whole numbers: permuted rows, other blocks, the same bytes under the same seed."""
    values = np.random.default_rng(3).uniform(0, 100, N)
    plan = PLANS["noisy-statistics of a mean"]()
    releases = [
        sf.publish(plan, ages(np.random.default_rng(k).permutation(values)), randomness=sf.seeded(1)) for k in range(5)
    ]
    assert len({release.to_bytes() for release in releases}) == 1
    wild = np.concatenate([[2.0**53], np.ones(1000)])
    sums = {functools.reduce(operator.add, np.random.default_rng(k).permutation(wild).tolist()) for k in range(40)}
    assert len(sums) > 1, "the planted fault: float sums depend on the order"


def test_low_bits_of_a_release_tell_nothing():
    """Every released rate is one of the public grid, every released mean a multiple of the plan's spacing."""
    from sfumato.grids.rates import RateGrid
    from sfumato.procedures.noisy_totals import spacing

    plan = PLANS["diffused"]()
    public = set(RateGrid(0.0, plan.model.law([0], N, plan["power"]).grid).middles)
    for ones in (0, N):
        assert float(sf.publish(plan, survey(ones)).mean().item()) in public
    mean = PLANS["noisy-statistics of a mean"]()
    grid = 100 * float(spacing(mean["noise"])) / N
    value = sf.publish(mean, ages()).mean().item()
    assert value / grid == pytest.approx(round(value / grid), abs=1e-6)


class TestWithLedger:
    """What is charged, sealed, repeated and refused."""

    def test_charge_draw_seal(self, ledger):
        plan = PLANS["diffused"]()
        release = sf.publish(plan, survey(), ledger, request_id="r1")
        assert ledger.status("survey", "r1") == "sealed"
        assert ledger.sealed("survey", "r1") == release.to_bytes()
        assert release.receipt["request_id"] == "r1"
        assert "to survey, request r1" in str(release)
        assert len(charges(ledger)) == 1
        ledger.verify()

    def test_the_same_request_returns_the_sealed_release_and_charges_nothing(self, ledger):
        plan = NOISY()
        first = sf.publish(plan, survey(), ledger, request_id="r1")
        spent = ledger.spent("survey").units
        again = sf.publish(plan, survey(ones=7), ledger, request_id="r1")
        assert again.to_bytes() == first.to_bytes()
        assert ledger.spent("survey").units == spent
        assert (first.stored, again.stored) == (False, True)
        assert "the rows given now were not used" in str(again)
        assert "stored" not in str(first)

    def test_the_same_request_with_another_plan_is_refused(self, ledger):
        sf.publish(NOISY(), survey(), ledger, request_id="r1")
        other = sf.plan(SHARE, N, 0.5, 1e-8, mechanism="noisy-statistics")
        with pytest.raises(PublishError, match="another plan"):
            sf.publish(other, survey(), ledger, request_id="r1")

    def test_a_request_that_was_charged_but_not_sealed_is_finished_under_its_charge(self, ledger, monkeypatch):
        plan = NOISY()

        def dies(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(Randomness, "integers_below", dies)
        with pytest.raises(KeyboardInterrupt):
            sf.publish(plan, survey(), ledger, request_id="r1")
        monkeypatch.undo()
        assert ledger.status("survey", "r1") == "charged"
        other = sf.plan(SHARE, N, 0.5, 1e-8, mechanism="noisy-statistics")
        with pytest.raises(LedgerError, match="another guarantee"):
            sf.publish(other, survey(), ledger, request_id="r1")
        finished = sf.publish(plan, survey(), ledger, request_id="r1")
        assert ledger.sealed("survey", "r1") == finished.to_bytes()
        assert len(charges(ledger)) == 1

    def test_who_is_second_to_seal_returns_the_release_that_was_sealed_first(self, ledger, monkeypatch):
        plan, seal = NOISY(), sf.Ledger.seal_first
        quicker = []

        def late(self, name, request_id, data):
            """Another process seals its own draw first."""
            if not quicker:
                quicker.append(None)
                quicker[0] = sf.publish(plan, survey(), ledger, request_id=request_id)
            return seal(self, name, request_id, data)

        monkeypatch.setattr(sf.Ledger, "seal_first", late)
        mine = sf.publish(plan, survey(), ledger, request_id="r1")
        assert mine.to_bytes() == quicker[0].to_bytes() == ledger.sealed("survey", "r1")
        assert len(charges(ledger)) == 1

    def test_sealed_bytes_without_the_receipt_of_their_charge_are_refused(self, ledger):
        """Somebody with access to the database sealed a release that was paid for elsewhere, or not at all."""
        plan = NOISY()
        for request, receipt in (("r1", None), ("r2", sf.publish(plan, survey(), ledger, request_id="other").receipt)):
            forged = dataclasses.replace(sf.publish(plan, survey()), receipt=receipt).to_bytes()
            ledger.charge("survey", dataclasses.replace(plan.guarantee, unit="patient"), request, plan.digest)
            ledger.seal("survey", request, forged)
            with pytest.raises(PublishError, match="receipt of its charge"):
                sf.publish(plan, survey(), ledger, request_id=request)

    def test_only_sealed_bytes_leave(self, ledger, monkeypatch):
        """What cannot be sealed is not returned."""

        def full(*_):
            raise LedgerFull("no room")

        monkeypatch.setattr(sf.Ledger, "seal_first", full)
        with pytest.raises(LedgerFull):
            sf.publish(NOISY(), survey(), ledger, request_id="r1")
        assert ledger.status("survey", "r1") == "charged"

    def test_seeded_releases_are_refused_before_anything_is_charged(self, ledger):
        with pytest.raises(PublishError, match="seeded"):
            sf.publish(PLANS["diffused"](), survey(), ledger, randomness=sf.seeded(1))
        assert charges(ledger) == []

    def test_an_exhausted_ledger_refuses_and_shows_all_three_numbers(self, ledger):
        plan = sf.plan(SHARE, N, 2.5, 1e-8, mechanism=sized("noisy-statistics", "diffused"))
        sf.publish(plan, survey(), ledger)

        def spend_on() -> None:
            for _ in range(20):
                sf.publish(plan, survey(), ledger)

        with pytest.raises(LedgerError, match=r"Spent.*requested.*remaining"):
            spend_on()

    def test_what_is_left_can_be_planned_shared_and_spent(self, ledger):
        halves = sf.share(ledger.remaining("survey"), 2)
        first = sf.plan(SHARE, N, target=halves[0], mechanism=sized("diffused", "concentrated"))
        sf.publish(first, survey(), ledger)
        second = sf.plan(AGES, N, target=halves[1], mechanism="noisy-statistics", goal="estimate")
        sf.publish(second, ages(), ledger)
        assert ledger.spent("survey").units <= 10**18

    def test_the_registered_price_less_the_slack_fits_exactly_once(self, ledger):
        plan = sf.plan(AGES, N, 3.0, 1e-6 * (1 - 0.01), mechanism="noisy-statistics", goal="estimate")
        sf.publish(plan, ages(), ledger)
        with pytest.raises(LedgerError, match="does not fit"):
            sf.publish(plan, ages(), ledger)

    def test_a_unit_that_differs_from_the_registered_one_is_refused(self, ledger, tmp_path):
        other = sf.Schema({"sick": sf.Boolean(missing=False)}, name="survey", unit="visit")
        data = sf.Dataset.from_table({"sick": np.ones(N, dtype=bool)}, schema=other)
        with pytest.raises(LedgerError, match="visit"):
            sf.publish(PLANS["diffused"](), data, ledger)

    def test_what_holds_a_ledger_can_be_copied_pickled_and_cloned(self, ledger):
        from sklearn.base import BaseEstimator, clone

        class Holder(BaseEstimator):
            def __init__(self, ledger=None):
                self.ledger = ledger

        sf.publish(NOISY(), survey(), ledger)
        for twin in (
            copy.copy(ledger),
            copy.deepcopy(ledger),
            pickle.loads(pickle.dumps(ledger)),
            clone(Holder(ledger)).ledger,
        ):
            assert len(charges(twin)) == 1


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"plan": "plan"}, ArgumentError, "sf.plan"),
        ({"data": np.zeros(N)}, ArgumentError, "sf.Dataset"),
        ({"data": ages()}, ArgumentError, "Boolean column"),
        ({"request_id": "r"}, ArgumentError, "ledger"),
        (
            {"plan": sf.plan(sf.Gibbs(sf.losses.Logistic(0.4), sf.priors.Gaussian(5.0)), N, 1.0, 1e-6)},
            ArgumentError,
            "rows of norm at most 0.4",
        ),
        (
            {
                "plan": sf.plan(
                    sf.families.BoundedMean(0, 60), N, 1.0, 1e-6, mechanism="noisy-statistics", goal="estimate"
                ),
                "data": ages(),
            },
            ArgumentError,
            "must contain",
        ),
        ({"plan": sf.plan(SHARE, N + 1, 1.0, 1e-6, mechanism="diffused")}, PublishError, "records"),
    ],
)
def test_what_does_not_fit_is_refused(change, error, said):
    good = {"plan": PLANS["diffused"](), "data": survey()}
    with pytest.raises(error, match=said):
        sf.publish(**{**good, **change})


def edited(release, **changes):
    return dataclasses.replace(release, **changes)


def test_a_record_that_does_not_add_up_is_refused():
    """Checksums can be made anew by whoever edits a file; the guarantee is recomputed and gives the edit away."""
    release = sf.publish(PLANS["diffused"](), survey())
    cheaper = dataclasses.replace(release.guarantee, curve=sf.Gaussian(0.01))
    with pytest.raises(FormatError, match="not what the plan costs"):
        edited(release, guarantee=cheaper).verify()
    plan = json.loads(json.dumps(release.plan))
    plan["parameters"]["power"] = 0.9
    with pytest.raises(FormatError, match="digest"):
        edited(release, plan=plan).verify()
    with pytest.raises(FormatError, match="number of draws"):
        edited(release, draws=Draws(np.full((1, 50), 0.3), ("theta",))).verify()
    wider = {**release.schema, "document": release.schema["document"].replace("patient", "visit")}
    with pytest.raises(FormatError, match="schema"):
        edited(release, schema=wider).verify()
    with pytest.raises(FormatError, match="kind"):
        edited(release, kind="estimate").verify()
    with pytest.raises(FormatError, match="unit"):
        edited(release, guarantee=dataclasses.replace(release.guarantee, unit="visit")).verify()
    for damage in ({"model": 3}, {"parameters": {}}, {"guarantee": {"sfumato": "guarantee"}}):
        broken = {**release.plan, **damage}
        text = json.dumps(broken, sort_keys=True, separators=(",", ":"))
        with pytest.raises(FormatError):
            edited(release, plan=broken, plan_digest=hashlib.sha256(text.encode()).hexdigest()).verify()


@pytest.mark.parametrize(
    "change",
    [
        {"draws": 1000},
        {"parameters": law.Parameters(5.0, 1.0)},
        {"guarantee": sf.Guarantee(sf.Gaussian(1e-6), "replace-one", "t", "s")},
    ],
)
def test_a_plan_changed_after_planning_is_refused_before_anything_is_charged(ledger, change):
    plan = dataclasses.replace(PLANS["diffused"](), **change)
    with pytest.raises(PublishError, match="changed after planning"):
        sf.publish(plan, survey(), ledger)
    assert charges(ledger) == []


def test_randomness_is_ours_or_none():
    class Constant:
        private = True

        def integers_below(self, bound):
            return 0

    with pytest.raises(ArgumentError, match="seeded"):
        sf.publish(PLANS["diffused"](), survey(), randomness=Constant())


def test_a_subclass_that_claims_to_be_private_is_refused():
    class Lying(Randomness):
        private = True

        def integers_below(self, bound):
            return 0

    with pytest.raises(ArgumentError, match="seeded"):
        sf.publish(PLANS["diffused"](), survey(), randomness=Lying())


def test_the_same_request_under_another_schema_is_refused(ledger):
    plan = NOISY()
    sf.publish(plan, survey(), ledger, request_id="r1")
    other = sf.Schema({"sick": sf.Boolean(missing=True)}, name="survey", unit="patient")
    data = sf.Dataset.from_table({"sick": np.arange(N) < 5}, schema=other)
    with pytest.raises(PublishError, match="schema"):
        sf.publish(plan, data, ledger, request_id="r1")


def test_load_needs_numpy_alone(tmp_path):
    """Load, print, mean, quantile and guarantee without scipy, dp_accounting, pyarrow or any other dependency."""
    release = sf.publish(PLANS["exact"](), survey())
    path = tmp_path / "x.sfumato"
    release.save(path)
    code = """
import sys
class Only:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"scipy", "dp_accounting", "pyarrow", "narwhals", "numba", "sklearn", "randomgen", "typer"}:
            raise ImportError(name)
sys.meta_path.insert(0, Only())
import sfumato as sf
release = sf.load(sys.argv[1])
print(release); print(release.mean(), release.quantile([0.1, 0.9]), release.guarantee.curve, release.guarantee.trust)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "promise  Differential privacy at the price that its plan states; exact numbers need scipy" in done.stdout


@pytest.mark.skipif(not os.environ.get("SFUMATO_LONG"), reason="builds and installs a wheel: make test-long runs it")
def test_a_wheel_with_numpy_alone_reads_a_release(tmp_path):
    """The wheel installed with --no-deps beside numpy, in an environment of its own."""
    release = sf.publish(sf.plan(SHARE, N, 1.0, 1e-8, mechanism="diffused"), survey())
    release.save(tmp_path / "x.sfumato")
    run = lambda *words: subprocess.run(words, check=True, capture_output=True, text=True, cwd=tmp_path)
    run(sys.executable, "-m", "venv", "lean")
    python = str(tmp_path / "lean" / "bin" / "python")
    run(python, "-m", "pip", "install", "--quiet", "numpy")
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", str(Path(__file__).parent.parent))
    code = "import sfumato as sf; r = sf.load('x.sfumato'); print(r, r.mean(), r.quantile(0.5), r.guarantee)"
    done = run(python, "-c", code)
    assert "promise" in done.stdout


def test_no_file_of_the_package_reads_the_rows_but_the_engines():
    source = Path(sf.__file__).parent
    users = {
        str(p.relative_to(source)) for p in source.rglob("*.py")
        if "rows_of" in p.read_text() and p.parent.name != "dataset"
    }  # fmt: skip
    assert all(user.startswith("engines/") for user in users)
    assert users


def test_a_subclass_of_randomness_is_refused(ledger):
    """It could say that it is private and return what its author chose; nothing is charged for it."""

    class Lying(Randomness):
        def bits(self, count: int) -> int:
            return 0

        def normal(self, shape):
            return np.zeros(shape)

    lying = Lying()
    assert lying.private
    for book in (None, ledger):
        with pytest.raises(ArgumentError, match=r"sf\.seeded"):
            sf.publish(PLANS["diffused"](), survey(), ledger=book, randomness=lying)
    assert charges(ledger) == []
