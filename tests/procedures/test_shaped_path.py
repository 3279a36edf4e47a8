"""Regressions that learn the shape of the rows first: price, refusals, and what `verify` notices of an edited release."""

from __future__ import annotations

import copy
import hashlib
import json
import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm
from shape_replay import LOSSES, NORM, by_hand, model_of

import sfumato as sf
from sfumato import mechanisms, storage
from sfumato.engines.opening import open_engine
from sfumato.errors import ArgumentError, FormatError, MechanismRefused, SfumatoError
from sfumato.grids.line import spacing
from sfumato.mechanisms import shaped_path as mechanism
from sfumato.procedures import shape_first, shaped_path
from sfumato.procedures.protocol import Task
from sfumato.shapes import symmetric, whitening
from sfumato.shapes.clip_level import residual_level
from sfumato.shapes.schedule import map_rule

N, D, STEPS = 3000, 3, 20
SHARP = {"epsilon": 4.0, "delta": 1e-6, "goal": "estimate", "steps": STEPS}


def data(name: str = "logistic", width: int = D, n: int = N, seed: int = 1) -> sf.Dataset:
    """Rows of unequal width along each column, and labels that follow the first two."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-1, 1, (n, width)) * np.linspace(1.5, 0.5, width)
    score = 1.5 * rows[:, 0] - rows[:, min(1, width - 1)]
    if name == "huber":
        labels = np.clip(1 + score + 0.5 * rng.normal(size=n), -4, 6)
    elif name == "poisson":
        labels = np.minimum(rng.poisson(np.exp(0.5 * score)), 8)
    else:
        labels = rng.random(n) < 1 / (1 + np.exp(-score))
    schema = sf.Schema.vector(width, data_norm=NORM, target=LOSSES[name][2], name="survey")
    return sf.Dataset.from_arrays(rows, np.asarray(labels, dtype=float), schema=schema)


def planned(name: str = "logistic", intercept: float = 0.0, prior=None, **options) -> sf.Plan:
    model = model_of(name, D + (intercept > 0), intercept, prior)
    return sf.plan(model, N, **{**SHARP, **options})


@pytest.fixture(scope="module")
def released() -> sf.Release:
    """A linear regression with an intercept and the whole score matrix: every kind of array, and the label's column."""
    return sf.publish(planned("huber", 1.0, keep=("scores",)), data("huber"), randomness=sf.seeded(4))


# --- price and plan ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [(), ("scores",), ("transcript", "scores")])
@pytest.mark.parametrize("name", LOSSES)
def test_the_price_is_the_root_of_the_summed_squares(name, keep):
    """mu^2 = sum of (shift over noise)^2, each by hand; the plan leaves nothing of its target."""
    plan = planned(name, 1.0, keep=keep)
    label = 0.7 * plan.model.loss.radius if name in ("huber", "poisson") else 0.0
    hand = by_hand(plan.model, N, plan.parameters, label)
    mu = plan.guarantee.curve.mu
    assert hand["all"] < mu < hand["all"] * (1 + 1e-5)
    shares = {kind: (hand[kind] / mu) ** 2 for kind in hand}
    scores = 0.1 if "scores" in keep else 0.01
    # 8 d^1.5 is below n mu here, so that the curvature has its whole share.
    bent, told = 0.12, {"shares": mechanism._SHARES} if name == "huber" else {}
    path = 0.9 - bent - scores - sum(told.values())
    assert shares == pytest.approx(
        {"moments": 0.1, **told, "curvature": bent, "scores": scores, "path": path, "all": 1.0}, rel=1e-4
    )
    assert 3.999 < plan.guarantee.epsilon(1e-6) <= 4.0
    assert plan.mechanism == plan.procedure == "shaped-path"
    assert not plan.note


def test_the_label_is_a_column_of_its_declared_size():
    """Joint radius: the row's with .7 of it for a label at its bound; the middle is taken off only where an intercept is."""
    for intercept, centre, half in ((1.0, 1.0, 5.0), (0.0, 0.0, 6.0)):
        model = model_of("huber", 3, intercept)
        label = shape_first.label_column(model)
        assert (label.centre, label.half) == (centre, half)
        assert np.abs(label.column(np.array([-4.0, 6.0, 1e300]))).max() <= shape_first.label_radius(label)
        assert shape_first.label_radius(label) == pytest.approx(0.7 * model.loss.radius, rel=1e-11)
        with_label, without = (shape_first.moments_price(model, N, 0.01, each).curve.mu for each in (label, None))
        assert with_label == pytest.approx(1.49 * without, rel=1e-6)
    assert shape_first.label_column(model_of("logistic", 3)) is None
    assert shape_first.label_column(sf.Gibbs(sf.losses.Huber(1.0, 1.0), sf.priors.Gaussian(1.0), 3)) is None


GAUSSIAN = sf.priors.Gaussian(1.0)
REFUSED = {
    "softmax": (sf.Gibbs(sf.losses.Softmax(1.0, 3), GAUSSIAN, 6), {}, "one score per labelled row"),
    "kinked": (sf.Gibbs(sf.losses.Hinge(1.0), GAUSSIAN, 3), {}, "curvature of a hinge loss is not bounded"),
    "too wide": (model_of("logistic", 2001), {}, "at most 2,000 coefficients.*2,001"),
    "no dimension": (sf.Gibbs(sf.losses.Logistic(1.0), GAUSSIAN), {}, "an unstated number"),
    "draws": (model_of("logistic", 3), {"draws": 2}, "one estimate from one path; got draws=2"),
    "goal": (model_of("logistic", 3), {"goal": "draws"}, "releases an estimate"),
    "hidden": (model_of("logistic", 200), {"epsilon": 0.1}, "3,000 records at this price tell no direction of 200"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_it_does_not_serve_is_refused_with_the_reason(what):
    model, options, reason = REFUSED[what]
    with pytest.raises(MechanismRefused, match=reason):
        sf.plan(model, N, **{**SHARP, "mechanism": "shaped-path", **options})


def test_auto_says_why_it_took_the_plain_path():
    plain = sf.plan(model_of("logistic", 200), N, **{**SHARP, "epsilon": 0.1})
    assert plain.mechanism == "langevin-path"
    assert "tell no direction" in plain.note
    assert "tell no direction" in str(plain)
    assert plain.digest == sf.plan(model_of("logistic", 200), N, **{**SHARP, "epsilon": 0.1}).digest
    assert "note" not in plain.to_json()


@pytest.mark.parametrize(
    "edit",
    [
        {"tail": 0},
        {"tail": STEPS + 1},
        {"momentum": 1.0},
        {"score_noise": None},
        {"score_matrix_noise": 0.1},
        {"shares_noise": 0.1},
    ],
)
def test_numbers_that_contradict_each_other_have_no_price(edit):
    plan = planned()
    with pytest.raises(FormatError, match="contradict"):
        shaped_path.price(plan.model, N, 1, replace(plan.parameters, **edit))
    with pytest.raises(FormatError, match="contradict"):
        shaped_path.price(plan.model, N, 2, plan.parameters)


def test_a_linear_regression_without_the_price_of_its_shares_is_refused():
    plan = planned("huber", 1.0)
    with pytest.raises(FormatError, match="contradict"):
        shaped_path.price(plan.model, N, 1, replace(plan.parameters, shares_noise=None))


# --- what follows from the target -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOSSES)
def test_the_resolution_is_that_of_the_target(name):
    """X = n mu/sqrt(d) with the mu that the target leaves for one number, whatever the rows and the roundings of the plan."""
    for options in ({}, {"epsilon": 0.5}, {"steps": 7}, {"keep": ("scores",)}):
        plan = planned(name, 1.0, **options)
        point = {**SHARP, **options}
        mu = brentq(lambda mu: delta_of(mu, point["epsilon"]) - point["delta"], 1e-3, 10.0, xtol=1e-14)
        assert plan["resolution"] == pytest.approx(N * mu / math.sqrt(D + 1), rel=1e-8)
    curve = planned(name, 1.0, epsilon=None, delta=None, target=sf.Gaussian(0.7))
    assert curve["resolution"] == pytest.approx(N * 0.7 / 2, rel=1e-8)


def delta_of(mu: float, epsilon: float) -> float:
    """Delta of a Gaussian mechanism, by its closed form."""
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


@pytest.mark.planted
@pytest.mark.parametrize("factor", [0.5, 1 + 1e-6, 3.0])
def test_a_radius_that_does_not_follow_from_the_target_is_neither_published_nor_verified(factor, monkeypatch):
    """Chosen on rows, it could not be told from a public one: its price allows it, and all that follows from it agrees."""
    plan = planned("huber", 1.0)
    x = plan["resolution"] * factor
    # A trifle more noise: another map has other roundings, and the target must admit their price.
    noises = {name: value * (1 + 1e-5) for name, value in plan.parameters if name.endswith("noise")}
    noises["curvature_noise"] *= map_rule(x).bend / map_rule(plan["resolution"]).bend
    numbers = replace(plan.parameters, resolution=x, **noises)
    chosen = replace(plan, parameters=numbers, guarantee=shaped_path.price(plan.model, N, 1, numbers))
    assert plan.target.admits(chosen.guarantee)
    with pytest.raises(FormatError, match="resolution of the plan is"):
        sf.publish(chosen, data("huber"), randomness=sf.seeded(4))
    with monkeypatch.context() as careless:
        careless.setattr(mechanisms, "check_implied", lambda *_: None)
        release = sf.publish(chosen, data("huber"), randomness=sf.seeded(4))
    with pytest.raises(FormatError, match="resolution of the plan is"):
        release.verify()
    assert sf.publish(plan, data("huber"), randomness=sf.seeded(4)).verify()


@pytest.mark.planted
@pytest.mark.parametrize("epsilon", [4.01, 4.5, 8.0])
def test_a_target_beyond_what_the_plan_costs_is_refused(released, epsilon):
    """A larger target would allow another radius at the same price."""
    with pytest.raises(FormatError, match="resolution of the plan is"):
        retargeted(released, epsilon).verify()
    plan, wider = planned("huber", 1.0), planned("huber", 1.0, epsilon=epsilon)
    numbers = replace(plan.parameters, resolution=wider["resolution"])
    price = shaped_path.price(plan.model, N, 1, numbers)
    chosen = replace(plan, target=wider.target, parameters=numbers, guarantee=price)
    release = sf.publish(chosen, data("huber"), randomness=sf.seeded(4))
    with pytest.raises(FormatError, match="larger than what its noise was made for"):
        release.verify()


def test_the_map_has_the_numbers_that_follow_from_the_plan(released):
    task = planned("huber", 1.0, keep=("scores",)).task
    learnt = shaped_path.learnt_from(task, released.draws.published)
    rule = map_rule(task.parameters.resolution)
    assert learnt.shape.rule == rule == task.parameters.rule
    twin = whitening.shape_of(
        symmetric.unpacked(released.draws.published["moments"], D + 2)[:-1, :-1],
        task.parameters.moments_noise,
        rule,
        task.model.loss.radius,
    )
    assert (learnt.shape.matrix == twin.matrix).all()


# --- shares of residuals ---------------------------------------------------------------------------------------------------------


def test_the_clip_follows_from_the_published_moments_and_shares(released):
    """By hand: the published shares, their noise, x and the radius give the level in deviations of residuals around the start."""
    task = planned("huber", 1.0, keep=("scores",)).task
    numbers, told = task.parameters, released.draws.published
    around = shaped_path.learnt_from(task, {"moments": told["moments"]})
    assert around.loss is task.model.loss
    most = task.model.loss.clip / around.deviation
    level, excess = residual_level(told["shares"], numbers.shares_noise, numbers.resolution, numbers.rule.radius, most)
    assert level <= most
    learnt = shaped_path.learnt_from(task, released.draws.published)
    assert learnt.loss.clip == level * around.deviation
    assert learnt.excess == excess * around.deviation
    assert (learnt.start == around.start).all()


def test_the_shares_that_are_published_are_those_of_residuals_and_their_noise():
    """Ten counts over n by hand; over 200 releases the noise has the deviation of the plan, in every cell."""
    plan, held = planned("huber", 1.0, steps=2), data("huber")
    engine = open_engine(held, plan.model, shaped_path.NEEDS)
    first = {"moments": shape_first.publish_moments(plan.model, engine, plan["moments_noise"],
                                                    shape_first.label_column(plan.model), sf.seeded(1))}  # fmt: skip
    around = shaped_path.learnt_from(plan.task, first)
    pieces = [piece for part in engine.parts() for piece in part]
    rows, labels = np.vstack([piece.rows for piece in pieces]), np.concatenate([piece.labels for piece in pieces])
    residuals = (labels - rows @ around.start[:-1] - around.start[-1]) / around.deviation
    edges = [-math.inf, -8, -4, -2, -1, 0, 1, 2, 4, 8, math.inf]
    by_hand = [float(((low < residuals) & (residuals <= high)).mean()) for low, high in pairwise(edges)]
    assert around.shares(engine) == pytest.approx(by_hand, abs=1e-12)
    told = [shaped_path.carry_out(plan.task, engine, sf.seeded(seed)).published for seed in range(200)]
    # The start and the deviation follow from the moments of each release.
    arounds = [shaped_path.learnt_from(plan.task, {"moments": each["moments"]}) for each in told]
    pairs = zip(told, arounds, strict=True)
    noise = np.array([each["shares"] - own.shares(engine) for each, own in pairs]) / plan["shares_noise"]
    assert abs(noise.mean()) < 5 / math.sqrt(noise.size)
    assert noise.std(axis=0) == pytest.approx(np.ones(10), abs=0.25)
    assert noise.std() == pytest.approx(1.0, abs=0.07)


@pytest.mark.planted
def test_a_clip_from_shares_without_noise_is_caught_by_verify(monkeypatch):
    """The published shares do not lead to the estimate of a release whose clip came from bare ones."""
    raw: list[np.ndarray] = []
    shares, level = shape_first.Learnt.shares, shape_first.residual_level

    def kept(learnt, engine):
        raw[:] = [shares(learnt, engine)]
        return raw[0]

    plan, rng = planned("huber", 1.0), np.random.default_rng(2)
    rows = rng.uniform(-1, 1, (N, D))
    labels = rows @ [1.0, -0.5, 0.0] + 0.2 * rng.exponential(size=N)
    schema = sf.Schema.vector(D, data_norm=NORM, target=LOSSES["huber"][2])
    held = sf.Dataset.from_arrays(rows, labels, schema=schema)
    with monkeypatch.context() as planted:
        planted.setattr(shape_first.Learnt, "shares", kept)
        planted.setattr(shape_first, "residual_level", lambda _, *public: level(raw[0], *public))
        release = sf.publish(plan, held, randomness=sf.seeded(3))
    with pytest.raises(FormatError, match="draws"):
        release.verify()
    assert sf.publish(plan, held, randomness=sf.seeded(3)).verify()


# --- release, file, verification ----------------------------------------------------------------------------------------------

PRIORS = {
    "gaussian": sf.priors.Gaussian(0.5),
    "public mean": sf.priors.Gaussian(2.0, mean=[1.0, -0.5, 0.2]),
    "matrix": sf.priors.Gaussian([[2.0, 0.5, 0.0], [0.5, 2.0, 0.1], [0.0, 0.1, 1.0]]),
    "ball": sf.priors.Ball(sf.priors.Gaussian(0.5), radius=0.6),
    "box": sf.priors.Box(sf.priors.Gaussian(0.5), [-0.4] * D, [0.7] * D),
    "flat in a ball": sf.priors.Ball(sf.priors.Flat(), radius=4.0),
}


@pytest.mark.parametrize("prior", PRIORS)
def test_a_release_is_verified_saved_and_read_back(prior, tmp_path):
    plan = planned(prior=PRIORS[prior])
    release = sf.publish(plan, data(), randomness=sf.seeded(3)).verify()
    assert list(release.draws.published) == ["moments", "curvature", "scores"]
    release.save(tmp_path / "x.sfumato")
    again = sf.load(tmp_path / "x.sfumato").verify()
    assert again.to_bytes() == release.to_bytes()
    assert again.guarantee.curve == plan.guarantee.curve
    repeated = sf.publish(plan, data(), randomness=sf.seeded(3))
    assert repeated.to_bytes() == release.to_bytes()
    assert sf.publish(plan, data(), randomness=sf.seeded(5)).to_bytes() != release.to_bytes()
    estimate = release.draws.values[0, 0]
    assert plan.model.prior.project(estimate) == pytest.approx(estimate, abs=1e-12)
    if prior in ("ball", "box"):
        assert abs(estimate[0]) < 0.75, "the coefficient without bounds is 1.5"


@pytest.mark.parametrize("name", ["huber", "poisson", "smoothed hinge"])
def test_other_losses_are_released_with_an_intercept(name):
    release = sf.publish(planned(name, 1.0), data(name), randomness=sf.seeded(6)).verify()
    assert release.draws.shape == (1, 1, D + 1)
    assert release.mean(scaled=True)[0] > 0 > release.mean(scaled=True)[1]
    assert release.draws.labels[-1] == "intercept"
    if name == "huber":
        assert release.mean(scaled=True) == pytest.approx([1.5, -1.0, 0.0, 1.0], abs=0.25)


def test_robust_intervals_need_the_score_matrix(released):
    robust, model = (released.interval(0.9, include=include) for include in ("robust", "privacy and sampling"))
    assert robust.shape == model.shape == (2, D + 1)
    assert (robust[0] < robust[1]).all()
    ratio = (robust[1] - robust[0]) / (model[1] - model[0])
    assert ((ratio > 0.5) & (ratio < 2)).all(), "the model is right, so both are about as wide"
    bare = sf.publish(planned("huber", 1.0), data("huber"), randomness=sf.seeded(4))
    with pytest.raises(ArgumentError, match=r'keep=\("scores",\)'):
        bare.interval(include="robust")


@pytest.mark.parametrize("include", ["privacy", "privacy and sampling"])
def test_an_interval_in_a_ball_is_cut_at_the_range_of_each_coordinate_alone(include):
    """The free optimum (1.5, -1, 0) lies beyond the ball: the interval of the last coordinate is as if there were none.

    Projected onto the ball as points, both ends would shrink with the first coordinate: by more than half here.
    """
    centre = np.array([0.2, 0.1, 0.0])
    inside, free = (
        sf.publish(planned(prior=prior), data(), randomness=sf.seeded(3))
        for prior in (sf.priors.Ball(sf.priors.Gaussian(0.5), 0.6, centre), sf.priors.Gaussian(0.5))
    )
    (lower, upper), wide = (each.interval(0.9, include=include) for each in (inside, free))
    assert (lower >= centre - 0.6).all()
    assert (upper <= centre + 0.6).all()
    assert upper[0] == 0.8, "the normal law lies beyond the range of the first coordinate"
    assert (upper - lower > 0.02).all(), "no interval is the edge alone"
    assert np.linalg.norm(inside.estimate(include) - centre) == pytest.approx(0.6)
    assert upper[2] - lower[2] > 0.8 * (wide[1] - wide[0])[2]


def edited(release: sf.Release, arrays=None, numbers=None, keep=None) -> sf.Release:
    """The release read from a file in which arrays (None: left out) and numbers of the plan were replaced."""
    documents, held = storage.unpack(release.to_bytes())
    document = copy.deepcopy(documents["release"])
    held = {name: array for name, array in {**held, **(arrays or {})}.items() if array is not None}
    for name, value in (numbers or {}).items():
        document["plan"]["parameters"][name] = value
        if value is None:
            del document["plan"]["parameters"][name]
    if keep is not None:
        document["plan"]["keep"] = list(keep)
    text = json.dumps(document["plan"], sort_keys=True, separators=(",", ":"))
    document["plan_digest"] = hashlib.sha256(text.encode()).hexdigest()
    return sf.Release.from_bytes(storage.pack({"release": document}, held))


def retargeted(release: sf.Release, epsilon: float) -> sf.Release:
    """The release read from a file in which the target of the plan was replaced."""
    documents, held = storage.unpack(release.to_bytes())
    document = copy.deepcopy(documents["release"])
    document["plan"]["target"]["epsilon"] = epsilon
    text = json.dumps(document["plan"], sort_keys=True, separators=(",", ":"))
    document["plan_digest"] = hashlib.sha256(text.encode()).hexdigest()
    return sf.Release.from_bytes(storage.pack({"release": document}, held))


def moved(release: sf.Release, name: str, by: float) -> dict[str, np.ndarray]:
    """The array with one number moved by so many steps of its grid."""
    noise = {
        "moments": "moments_noise", "shares": "shares_noise", "curvature": "curvature_noise",
        "scores": "score_matrix_noise", "transcript": "noise",
    }[name]  # fmt: skip
    array = storage.unpack(release.to_bytes())[1][name].copy()
    array.reshape(-1)[1] += by * float(spacing(release.plan["parameters"][noise]))
    return {name: array}


def test_an_edited_file_with_nothing_edited_is_verified(released):
    assert edited(released).verify().to_bytes() == released.to_bytes()


@pytest.mark.parametrize("name", ["moments", "shares", "curvature", "scores", "transcript"])
def test_a_published_number_off_its_grid_is_refused(released, name):
    with pytest.raises(FormatError, match="draws"):
        edited(released, moved(released, name, 0.25)).verify()
    with pytest.raises(FormatError):
        edited(released, moved(released, name, math.nan)).verify()


@pytest.mark.parametrize("name", ["moments", "transcript"])
def test_published_numbers_that_lead_elsewhere_are_refused(released, name):
    """On their grid, moved by two deviations of their noise: map, path and posterior end at another estimate."""
    with pytest.raises(FormatError, match="draws"):
        edited(released, moved(released, name, 2.0**21)).verify()


@pytest.mark.parametrize("size", [2.0**7, 2.0**330, 2.0**660])
@pytest.mark.parametrize("name", ["moments", "shares", "curvature", "scores", "transcript"])
def test_numbers_beyond_the_reach_of_rows_and_noise_are_refused(released, name, size):
    """On their grid, without a warning: rows give curvatures of at most b k, scores of at most 1, gradients of norm 1."""
    array = storage.unpack(released.to_bytes())[1][name].copy()
    array.reshape(-1)[-1] = -size
    with pytest.raises(FormatError, match="draws"):
        edited(released, {name: array}).verify()


@pytest.mark.parametrize(("length", "largest"), [(1, 1.0), (55, 7.0)])
def test_noise_does_not_put_honest_numbers_out_of_reach(length, largest):
    rng = np.random.default_rng(3)
    for noise in (1e-6, 0.1, 30.0):
        for _ in range(200):
            vector = rng.normal(size=length)
            told = shape_first.noisy(
                largest * vector / np.linalg.norm(vector), noise, sf.seeded(int(rng.integers(10**6)))
            )
            assert shape_first.possible(told, length, noise, largest)
        grid = float(spacing(noise))
        beyond = np.rint((largest + noise * (math.sqrt(length) + 12)) / grid) * grid + grid
        assert not shape_first.possible(
            np.append(np.zeros(length - 1), beyond * 1.00001 // grid * grid), length, noise, largest
        )


def arrays_of(release: sf.Release) -> dict[str, np.ndarray]:
    return storage.unpack(release.to_bytes())[1]


def test_every_array_must_be_there_and_have_its_size(released):
    whole = arrays_of(released)
    for name in ("moments", "shares", "curvature", "scores", "transcript"):
        with pytest.raises(SfumatoError):
            edited(released, {name: None}).verify()
    for name in ("moments", "shares", "curvature", "scores"):
        for wrong in (whole[name][:-1], np.append(whole[name], 0.0)):
            with pytest.raises(FormatError, match="draws"):
                edited(released, {name: wrong}).verify()
    with pytest.raises(SfumatoError):
        edited(released, {"transcript": whole["transcript"][:, :-1]}).verify()
    with pytest.raises(SfumatoError):
        edited(released, {"totals": np.zeros(3)}).verify()
    with pytest.raises(FormatError, match="no release"):
        edited(released, {"rows": np.zeros(3)})


def test_another_estimate_is_refused(released):
    """The average of the path follows from the published numbers but for rounding."""
    values = arrays_of(released)["draws"]
    for place in range(D + 1):
        moved = values.copy()
        moved[0, 0, place] += 1e-5 * np.abs(values).max()
        with pytest.raises(FormatError, match="draws"):
            edited(released, {"draws": moved}).verify()


NUMBERS = {
    "less noise of the moments": lambda p: {"moments_noise": p["moments_noise"] / 2},
    "more noise of the moments": lambda p: {"moments_noise": p["moments_noise"] * 2},
    "noise": lambda p: {"noise": p["noise"] * 2},
    "noise of the shares": lambda p: {"shares_noise": p["shares_noise"] * 2},
    "no noise of the shares": lambda p: {"shares_noise": None},
    "resolution": lambda p: {"resolution": p["resolution"] * (1 + 1e-6)},
    "rule": lambda p: {"rule": 2},
    "noise of the curvature": lambda p: {"curvature_noise": p["curvature_noise"] * 2},
    "noise of the scores": lambda p: {"score_matrix_noise": p["score_matrix_noise"] * 2},
    "kind of scores": lambda p: {"score_matrix_noise": None, "score_noise": p["score_matrix_noise"] / math.sqrt(2)},
    "steps": lambda p: {"steps": p["steps"] - 1},
    "tail": lambda p: {"tail": 1},
    "momentum": lambda p: {"momentum": 0.1},
}


@pytest.mark.parametrize("what", NUMBERS)
def test_edited_numbers_of_the_plan_are_refused(released, what):
    with pytest.raises(SfumatoError):
        edited(released, numbers=NUMBERS[what](released.plan["parameters"])).verify()


def test_what_is_kept_and_what_is_published_agree(released):
    with pytest.raises(FormatError, match="draws"):
        edited(released, keep=()).verify()
    bare = sf.publish(planned(), data(), randomness=sf.seeded(3)).verify()
    with pytest.raises(FormatError, match="draws"):
        edited(bare, keep=("scores",)).verify()
    assert edited(bare, keep=("transcript",)).verify(), "every path is published, so that keeping it changes nothing"


def test_a_map_from_the_rows_themselves_is_caught_by_verify(monkeypatch):
    """Threat 23: the published moments do not lead to the estimate of a release whose map came from bare moments."""
    plan = planned(epsilon=1.0)
    publish, learnt = shape_first.publish_moments, shape_first.learnt
    raw: list[np.ndarray] = []

    def publish_and_keep(model, engine, noise, label, source):
        raw[:] = [symmetric.packed(engine.moments(model.loss.radius, label) / engine.n)]
        return publish(model, engine, noise, label, source)

    with monkeypatch.context() as planted:
        planted.setattr(shape_first, "publish_moments", publish_and_keep)
        planted.setattr(shape_first, "learnt", lambda model, _, *public: learnt(model, raw[0], *public))
        release = sf.publish(plan, data(), randomness=sf.seeded(3))
    with pytest.raises(FormatError, match="draws"):
        release.verify()
    assert sf.publish(plan, data(), randomness=sf.seeded(3)).verify()


def test_the_start_of_a_linear_regression_is_the_ridge_solution_of_the_published_moments(released):
    """Near least squares at this noise; the deviation is that of residuals, with some of the noise."""
    plan = planned("huber", 1.0, keep=("scores",))
    found = shaped_path.learnt_from(plan.task, {"moments": released.draws.published["moments"]})
    assert found.start == pytest.approx([1.5, -1.0, 0.0, 1.0], abs=0.3)
    assert 0.5 <= found.deviation < 0.95
    assert plan.model.loss.clip == found.loss.clip == 2.0


# Radius .5 and ridge .2.
RULE = whitening.MapRule(0.5, 3.0, 0.2)


# --- the map -------------------------------------------------------------------------------------------------------------------


def test_along_a_noisy_eigenvector_the_rows_have_the_moment_that_the_law_says():
    """A spike of twice the edge among 400 coefficients: w is 25 % too large, and sqrt(w^2 - e^2) is right.

    q'Sq = s cos^2 with cos^2 = 1 - (e/2s)^2 up to O(d^-1/2) relative deviations: 5 % is more than three of them over 3 trials.
    """
    rng, d, noise = np.random.default_rng(2), 400, 0.01
    edge = whitening.edge(noise, d)
    ratios = []
    for _ in range(3):
        direction = rng.normal(size=d)
        direction /= np.linalg.norm(direction)
        spike = edge * np.outer(direction, direction)
        noisy = spike + symmetric.unpacked(noise * rng.normal(size=symmetric.length(d)), d)
        shape = whitening.shape_of(noisy, noise, RULE, 10.0)
        assert shape.resolved.sum() >= 1
        q = shape.vectors[:, -1]
        ratios.append((shape.own[-1] / (q @ spike @ q), shape.shrunk[-1] / edge, shape.values[-1] / (q @ spike @ q)))
    own, shrunk, noisy = np.mean(ratios, axis=0)
    assert own == pytest.approx(1.0, abs=0.1)
    assert shrunk == pytest.approx(1.0, abs=0.1)
    assert noisy > 1.4, "the planted variant: the noisy eigenvalue itself"


def test_the_trace_of_noisy_moments_is_at_most_the_squared_radius():
    """Noise that exceeds all moments is not taken for rows: m is what the declared radius allows."""
    d, noise = 3, 0.1
    rho = 0.2 * whitening.edge(noise, d)
    hidden = whitening.shape_of(0.2 * np.eye(d), noise, RULE, 0.3)
    assert not hidden.resolved.any()
    assert hidden.size == pytest.approx(max(1.0, 0.3**2 / rho))
    assert hidden.own == pytest.approx([0.03] * 3)
    open_ = whitening.shape_of(0.2 * np.eye(d), noise, RULE, 10.0)
    assert open_.size == pytest.approx((0.6 + noise * math.sqrt(3)) / rho)


def test_mapped_rows_have_the_length_that_the_weights_expect():
    """B S B has a trace of 1/c^2 where all directions are resolved; the map is symmetric and has an inverse.

    A noisy trace that exceeds the resolved moments by one deviation would add a sqrt(d)/rho = 1/(kappa sqrt 2) to m = d.
    """
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(500, 4)) * [2.0, 1.0, 0.3, 0.1]
    moments = rows.T @ rows / 500
    shape = whitening.shape_of(moments, 1e-9, RULE, 100.0)
    assert shape.resolved.all()
    assert np.trace(shape.matrix @ moments @ shape.matrix) == pytest.approx(4, rel=1e-3)
    assert (shape.matrix == shape.matrix.T).all()
    assert shape.matrix @ shape.inverse == pytest.approx(np.eye(4), abs=1e-9)


def test_a_task_without_labels_of_its_own_starts_at_the_prior_mean():
    plan = planned(prior=PRIORS["public mean"])
    moments = np.zeros(symmetric.length(D))
    found = shaped_path.learnt_from(plan.task, {"moments": moments})
    assert found.start.tolist() == [1.0, -0.5, 0.2]
    assert isinstance(plan.task, Task)


def test_one_coefficient_spends_its_whole_price():
    """Two gradients of one coefficient differ by 1.5 slopes and not 2, so that less noise meets the target."""
    plan = sf.plan(model_of("logistic", 1), 5_000, 1.0, 1e-6, goal="estimate")
    assert plan.mechanism == "shaped-path"
    assert 0.9999 < plan.guarantee.epsilon(1e-6) <= 1.0
