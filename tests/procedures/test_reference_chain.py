"""trust="assumes converged": never implied, priced as exact draws, and said in every printed form."""

from __future__ import annotations

import dataclasses
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import sfumato as sf
from effort import sized
from pricing import lattice_price
from sfumato.errors import ArgumentError, ChargeRefused, FormatError, MechanismRefused, SfumatoError
from sfumato.procedures import reference_chain
from sfumato.theorems import sharp

D, N = 4, 60
BALL = sf.priors.Ball(sf.priors.Gaussian(1.0), radius=1.5)
LOGISTIC = sf.Gibbs(sf.losses.Logistic(1.0), BALL, D)
HINGE = sf.Gibbs(sf.losses.Hinge(1.0), BALL, D)
# The sampler of a loss with kinks is compiled sooner; samplers/test_reference.py runs both.
PUBLISHED = sized(HINGE, LOGISTIC)
WORDS = "assumes converged"
SIGNS = sf.Category([-1, 1], missing=-1)


def planned(model=LOGISTIC, mechanism="exponential", **options):
    return sf.plan(model, N, **{"epsilon": 1.0, "delta": 1e-6, "mechanism": mechanism, "trust": WORDS, **options})


def data_of() -> sf.Dataset:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(N, D))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    return sf.Dataset.from_arrays(rows, rng.choice([-1, 1], N), schema=sf.Schema.vector(D, data_norm=1.0, target=SIGNS))


@pytest.fixture(scope="module")
def data() -> sf.Dataset:
    return data_of()


def published(steps: int) -> bytes:
    """The bytes of a release; made in a process apart, for JAX keeps threads that a fork would not survive.

    No law is asked for here, and the price does not depend on the warm-up: the quick form makes it short.
    """
    reference_chain._WARMUP = sized(20, reference_chain._WARMUP)
    return sf.publish(planned(PUBLISHED, steps=steps), data_of()).to_bytes()


@pytest.mark.parametrize("model", [LOGISTIC, HINGE], ids=["smooth", "kinks"])
def test_the_price_is_that_of_exact_draws_under_the_words(model):
    plan = planned(model)
    assert plan.guarantee.curve == lattice_price(model, N, plan["power"], 1).curve
    assert (plan.guarantee.trust, plan.guarantee.slack) == (WORDS, 0.0)
    exact = planned(model, "exact", draws=3)
    found = sharp.gibbs_draw(
        difference=exact.model.difference(exact["power"]),
        strong_convexity=exact.model.strong_convexity(N, exact["power"]),
        convex=True,
        draws=3,
        convex_domain=True,
    )
    assert exact.guarantee.curve == found.curve
    assert exact.guarantee.trust == WORDS
    for shown in (str(plan), str(plan.guarantee), plan.guarantee.table(), str(exact)):
        assert WORDS in shown.lower()
    assert {"warmup", "length"} <= set(dict(plan.parameters))


def test_a_pure_target_can_be_met_under_the_words():
    assert planned(delta=0.0).guarantee.delta(1.0) == 0.0


def test_the_words_are_never_implied():
    with pytest.raises(MechanismRefused):
        sf.plan(HINGE, N, 1.0, 1e-6, mechanism="exponential")
    assert sf.plan(LOGISTIC, N, 1.0, 1e-6).guarantee.trust == "proved"


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"trust": "converged"}, ArgumentError, "trust must be"),
        ({"trust": "not private"}, ArgumentError, "trust must be"),
        ({"mechanism": "auto"}, MechanismRefused, "proved mechanisms only"),
        ({"mechanism": "langevin"}, MechanismRefused, "exact"),
        ({"model": sf.families.BetaBernoulli(1, 1)}, MechanismRefused, "Gibbs"),
        ({"model": sf.Gibbs(sf.losses.Logistic(1.0), BALL)}, MechanismRefused, "dimension"),
    ],
)
def test_any_other_use_of_the_words_is_refused(options, error, said):
    with pytest.raises(error, match=said):
        planned(**options)


def test_a_release_says_the_words_and_a_record_that_hides_them_is_refused(data, tmp_path):
    plan = planned(PUBLISHED, steps=20)
    hidden = dataclasses.replace(plan, guarantee=dataclasses.replace(plan.guarantee, trust="proved"))
    with pytest.raises(SfumatoError, match="not what its parameters cost"):
        sf.publish(hidden, data)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        release = sf.Release.from_bytes(pool.submit(published, 20).result())
    assert np.linalg.norm(release.draws.values) <= 1.5 * (1 + 1e-5)
    for shown in (str(release), repr(release), release.promise):
        assert WORDS in shown.lower()
    release.save(tmp_path / "x.sfumato")
    assert WORDS in str(sf.load(tmp_path / "x.sfumato").verify()).lower()
    quiet = dataclasses.replace(release, guarantee=dataclasses.replace(release.guarantee, trust="proved"))
    with pytest.raises(FormatError):
        quiet.verify()


def test_a_ledger_does_not_count_what_is_not_proved(data, tmp_path):
    ledger = sf.Ledger.open(tmp_path / "budget.db")
    ledger.register("data", epsilon=3.0, delta=1e-5, currency="gdp", slack=0.01)
    with pytest.raises(ChargeRefused, match="trust"):
        sf.publish(planned(), data, ledger=ledger, name="data")
