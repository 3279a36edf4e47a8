"""Shape-first claims: rounding, hypotheses, what must be declared, and the composition of the parts."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np
import pytest
from mpmath import mp, mpf

import sfumato as sf
from mu_audit import agrees
from sfumato.errors import AssumptionError, CompositionError
from sfumato.privacy.compose import compose
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems import curvature, finite_step, moments, weighted

MAPPED = {"public_map": True, "weights_of_rows_alone": True}
AT = {"public_point": True, **MAPPED}
MEAN = {"n": 50, "noise": 0.1}
# Each theorem with numbers that it accepts, and what a caller must declare.
CALLS = {
    "moments": (moments.noisy_moments, {"radius": 2.0, "label_radius": 0.5, **MEAN}, {"public_weights": True}),
    "path": (
        weighted.weighted_path, {"slope": 1.5, "steps": 12, "chains": 2, "momentum": 0.6, "difference_factor": 2.0, **MEAN},
        {"public_start": True, "public_schedule": True, "full_batch": True, **MAPPED},
    ),
    "curvature": (curvature.noisy_curvature, {"curvature": 0.25, "bend": 2.0, **MEAN}, {"convex": True, **AT}),
    "score scale": (curvature.score_scale, {"slope": 1.5, **MEAN}, AT),
    "score matrix": (curvature.score_matrix, {"slope": 1.5, **MEAN}, AT),
    "shares": (curvature.noisy_shares, MEAN, {"public_point": True}),
}  # fmt: skip
# Their terms have no weights that a map stretches.
WITHOUT_HEADROOM = ("moments", "shares")


def claim(name: str, **more) -> Guarantee:
    function, numbers, declared = CALLS[name]
    return function(**(numbers | declared | more))


def formula(name: str, x: dict[str, float]) -> mpf:
    """The price with 50 digits."""
    v = {key: mpf(value) for key, value in x.items()}
    n, sigma, e, h = v["n"], v["noise"], v["float_error"], 1 + v.get("headroom", mpf(0))
    root = mp.sqrt(2)
    shift = {
        "moments": lambda: root * (v["radius"] ** 2 + v["label_radius"] ** 2),
        "path": lambda: v["difference_factor"] * v["slope"] * h,
        "curvature": lambda: root * v["bend"] * v["curvature"] * h**2,
        "score scale": lambda: v["slope"] ** 2 * h**2,
        "score matrix": lambda: root * v["slope"] ** 2 * h**2,
        "shares": lambda: root,
    }[name]()
    return mp.sqrt(v.get("steps", 1) * v.get("chains", 1)) * (shift / n + 2 * e) / sigma


@pytest.mark.parametrize("name", CALLS)
def test_a_price_is_never_below_its_formula_and_hardly_above(name):
    rng = np.random.default_rng(13)
    with mp.workdps(50):
        for _ in range(100):
            x = {key: float(10 ** rng.uniform(-3, 3)) for key in CALLS[name][1]} | {"n": int(10 ** rng.uniform(0, 6))}
            x |= {"float_error": float(rng.choice([0.0, 1e-12, 1e-3]))}
            x |= {} if name in WITHOUT_HEADROOM else {"headroom": float(rng.choice([0.0, 1e-9, 0.3]))}
            x |= {key: int(rng.integers(1, 500)) for key in ("steps", "chains") if key in x}
            x |= {"bend": 1 + x["bend"]} if "bend" in x else {}
            x |= {"difference_factor": float(rng.uniform(1, 2))} if name == "path" else {}
            priced, exact = claim(name, **x).curve.mu, formula(name, x)
            assert exact <= priced <= exact * (1 + mpf(1e-14)), x


def test_prices_of_tiny_numbers_do_not_vanish():
    """Squares that underflow are still charged."""
    tiny = moments.noisy_moments(radius=1e-170, n=1, noise=1e-300, public_weights=True).curve.mu
    assert tiny == pytest.approx(math.sqrt(2) * 1e-40, rel=1e-12)
    assert claim("score scale", slope=1e-170, n=1, noise=1e-300).curve.mu == pytest.approx(1e-40, rel=1e-12)


@pytest.mark.parametrize("name", CALLS)
def test_what_is_declared_must_be_said_and_be_true(name):
    function, numbers, declared = CALLS[name]
    for flag in declared:
        for wrong in (False, 1, "yes", None):
            with pytest.raises(AssumptionError):
                claim(name, **{flag: wrong})
        with pytest.raises(TypeError, match=f"missing 1 required .*argument: '{flag}'"):
            function(**numbers, **{key: value for key, value in declared.items() if key != flag})


@pytest.mark.parametrize("name", CALLS)
def test_a_number_that_is_none_is_refused(name):
    optional = {"float_error", *({"headroom"} if name not in WITHOUT_HEADROOM else ())}
    for key in {*CALLS[name][1], *optional}:
        for wrong in (math.nan, math.inf, -1.0, True, "1", None):
            with pytest.raises(AssumptionError):
                claim(name, **{key: wrong})
    for key in {*CALLS[name][1]} - {"label_radius", "momentum"}:
        with pytest.raises(AssumptionError):
            claim(name, **{key: 0})


@pytest.mark.parametrize(
    ("name", "change", "hypothesis"),
    [
        ("path", {"difference_factor": 0.999}, "difference of two gradients over the slope"),
        ("path", {"difference_factor": 2.001}, "difference of two gradients over the slope"),
        ("path", {"steps": 1.5}, "number of steps"),
        ("curvature", {"bend": 0.999}, "bend of the weights"),
        ("curvature", {"bend": math.inf}, "the curvature of a record is unbounded"),
        ("curvature", {"convex": False}, "convexity of every loss"),
        ("moments", {"label_radius": -0.1}, "radius of the scaled label"),
        ("score scale", {"headroom": -1e-9}, "relative excess of a computed weight"),
        ("path", {"public_map": False}, "public map"),
        ("shares", {"public_point": False}, "public point"),
        ("shares", {"noise": 0.0}, "noise on every coordinate"),
        ("shares", {"n": 0}, "number of records"),
        ("shares", {"float_error": -1e-9}, "rounding error of the mean"),
    ],
)
def test_each_hypothesis_is_named(name, change, hypothesis):
    with pytest.raises(AssumptionError, match=hypothesis):
        claim(name, **change)


def test_constants_of_a_weighted_loss():
    assert weighted.weighted_constants(slope=1.5, curvature=0.25, bend=1.0) == (1.5, 0.25)
    assert weighted.weighted_constants(slope=1.5, curvature=0.25, bend=math.inf) == (1.5, math.inf)
    smooth = weighted.weighted_constants(slope=1.5, curvature=0.1, bend=3.0)[1]
    assert mpf("0.1") * 3 <= smooth <= 0.3 * (1 + 1e-15)
    for wrong in ({"bend": 0.9}, {"bend": math.nan}, {"bend": True}, {"slope": math.inf}, {"curvature": math.inf}):
        with pytest.raises(AssumptionError):
            weighted.weighted_constants(**({"slope": 1.5, "curvature": 0.25, "bend": 1.0} | wrong))


LINE = {"slope": 1.0, "zero_slope": 0.5, "convex": True, "dimension": 1}


def test_the_factor_is_two_but_on_a_line_for_a_convex_loss_with_a_smaller_slope_at_zero():
    for same in ({"dimension": 2}, {"dimension": 7}, {"convex": False}, {"zero_slope": 1.0}, {"zero_slope": 9.0}):
        assert weighted.difference_factor(**(LINE | same)) == 2.0
    assert weighted.difference_factor(**(LINE | {"zero_slope": 0.0})) == 1.0
    third = weighted.difference_factor(**(LINE | {"slope": 3.0, "zero_slope": 1.0}))
    assert 0 <= Fraction(third) - Fraction(4, 3) < Fraction(1, 2**51)  # rounded up
    for wrong in (
        {"slope": 0.0},
        {"slope": math.inf},
        {"zero_slope": -0.1},
        {"zero_slope": math.nan},
        {"dimension": 0},
        {"dimension": True},
    ):
        with pytest.raises(AssumptionError):
            weighted.difference_factor(**(LINE | wrong))


# --- composition ----------------------------------------------------------------------------------------------------------------


def parts() -> list[Guarantee]:
    chain = finite_step.last_iterate(
        difference=0.1, strong_convexity=1.0, smoothness=4.0, step=0.1, steps=30, convex=True, public_start=True,
        full_batch=True, momentum=0.0, chains=4,
    )  # fmt: skip
    return [claim("moments", float_error=1e-9), *map(claim, ("shares", "path", "curvature", "score scale")), chain]


def test_prices_compose_as_gaussian_mechanisms():
    whole = weighted.shape_first(parts(), fixed_beforehand=True)
    squares = sum(mpf(part.curve.mu) ** 2 for part in parts())
    assert mp.sqrt(squares) <= whole.curve.mu <= mp.sqrt(squares) * (1 + mpf(1e-14))
    assert whole.curve == compose((part.curve, 1) for part in parts())
    assert whole.curve.mu == pytest.approx(reduce(add, parts()).curve.mu, rel=1e-14)
    assert isinstance(whole.curve, sf.Gaussian)
    alone = claim("path")
    assert weighted.shape_first([alone], fixed_beforehand=True).curve == alone.curve


def test_the_whole_carries_the_hypotheses_of_its_parts():
    whole = weighted.shape_first([*parts(), *parts()], fixed_beforehand=True)
    own = ["prices fixed beforehand", "number of parts", "parts that are Gaussian mechanisms"]
    assert [each.name for each in whole.assumptions[:3]] == own
    assert list(whole.assumptions[3:]) == list(dict.fromkeys(each for part in parts() for each in part.assumptions))
    assert "float64 normals (53 bits)" in [each.value for each in whole.assumptions if each.origin == "assumed"]
    assert (whole.adjacency, whole.unit, whole.trust, whole.draws) == ("replace-one", "row", "proved", 4)
    assert "adaptive composition" in whole.theorem
    assert Guarantee.from_json(json.dumps(whole.to_json())) == whole


def test_what_does_not_compose_is_refused():
    for wrong in (False, 1, None):
        with pytest.raises(AssumptionError, match="prices fixed beforehand"):
            weighted.shape_first(parts(), fixed_beforehand=wrong)
    with pytest.raises(AssumptionError, match="number of parts"):
        weighted.shape_first([], fixed_beforehand=True)
    pure = replace(parts()[0], curve=sf.Pure(1.0))
    slack = replace(parts()[0], slack=1e-9, trust="proved with slack")
    for other in (pure, slack):
        with pytest.raises(AssumptionError, match="parts that are Gaussian mechanisms"):
            weighted.shape_first([*parts(), other], fixed_beforehand=True)
    with pytest.raises(CompositionError, match="replace-one of one person and replace-one of one row"):
        weighted.shape_first([parts()[0], claim("path", unit="person")], fixed_beforehand=True)
    weaker = replace(parts()[1], trust="assumes converged")
    assert weighted.shape_first([parts()[0], weaker], fixed_beforehand=True).trust == "assumes converged"


def likelihood_ratios(second_mu, runs: int = 4000) -> list[np.ndarray]:
    """log P/Q of two noisy numbers in both worlds; the second shift is a function of the first output, its mu as given."""
    rng = np.random.default_rng(7)
    ratios = []
    for world in (0.0, 1.0):
        first = 0.8 * world + rng.normal(size=runs)
        mu = second_mu(first)
        shift = np.exp(first)  # sensitivity of the second part, known once the first is out
        noise = shift / mu
        second = world * shift + noise * rng.normal(size=runs)
        ratios.append(0.8 * first - 0.32 + mu * second / noise - mu * mu / 2)
    return [ratios[1], ratios[0]]


def test_noise_that_adapts_to_an_earlier_release_at_a_fixed_mu_composes():
    """The log likelihood ratio is then normal, as for one Gaussian mechanism of the composed mu."""
    fixed = [sf.Gaussian(0.8), sf.Gaussian(0.6)]
    mu = weighted.shape_first([replace(parts()[0], curve=curve) for curve in fixed], fixed_beforehand=True).curve.mu
    assert mu == pytest.approx(1.0, rel=1e-14)
    assert agrees(mu, *likelihood_ratios(lambda first: np.full_like(first, 0.6)))
    assert not agrees(0.8, *likelihood_ratios(lambda first: np.full_like(first, 0.6)))


@pytest.mark.planted
def test_a_mu_that_is_chosen_after_the_first_release_costs_more_than_its_mean_square():
    """mu_2^2 = .36 on average under one world, spent where the first output already points to the other."""

    def greedy(first: np.ndarray) -> np.ndarray:
        return np.where(first > 1.0, 1.5, 1e-6)  # P(first > 1) = .159 without the record: .159 1.5^2 = .357

    with_record, _ = likelihood_ratios(greedy, runs=400_000)
    delta = np.maximum(0.0, 1 - np.exp(2.0 - with_record)).mean()  # E_P (1 - e^(eps - loss))_+ at eps = 2
    assert delta > 1.5 * sf.Gaussian(1.0).delta(2.0)
