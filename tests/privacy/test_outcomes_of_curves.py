"""Every curve and its conversions: deltas, epsilons, Renyi divergences and refusals are on record."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from outcomes import Record, outcome, varied
from sfumato.privacy import (
    codec,
    compose,
    convert,
    cover,
    events,
    gamma_profiles,
    gaussian_tail,
    inflation,
    loss_distribution,
    pair_losses,
    pairs,
    posterior_profiles,
    sharing,
    statements,
)  # fmt: skip
from sfumato.privacy.curves import BoundedRange, Curve, Gaussian, Pure
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.metric import Metric
from sfumato.privacy.profiles import Profile
from sfumato.privacy.renyi import Renyi

EPSILONS = (-math.inf, -2.0, -0.3, 0.0, 0.1, 0.7, 1.3, 3.1, 9.0, 40.0, math.inf, math.nan)
DELTAS = (0.0, 1e-300, 1e-12, 1e-6, 0.01, 0.2, 0.6, 1.0, 1.5)
ORDERS = (0.5, 1.0, 1.0000001, 1.5, 2.0, 7.3, 80.0, 1e10, math.inf)


def profile(name: str, **parameters: Any) -> Profile:
    return Profile(name, parameters)


TABLED = Profile.from_function(lambda e: Gaussian(0.7).delta(e), [0.0, 0.4, 0.9, 1.7, 3.0])
CURVES: dict[str, Curve] = {
    "gaussian": Gaussian(0.37), "wide gaussian": Gaussian(7.1), "tiny gaussian": Gaussian(1e-9), "no gaussian": Gaussian(0.0),
    "pure": Pure(0.83), "wide pure": Pure(31.0), "tiny pure": Pure(1e-9), "range": BoundedRange(0.83),
    "wide range": BoundedRange(31.0), "tiny range": BoundedRange(1e-6), "renyi": Renyi([1.0, 1.5, 3.0, math.inf], [0.1, 0.2, 0.5, math.inf]),
    "renyi to infinity": Renyi([2.0, math.inf], [0.3, 1.1]), "one order": Renyi([2.7], [0.41]),
    "metric": Metric(0.4, 0.0, "|x - y|"), "metric with delta": Metric(0.4, 1e-3, "|x - y|"),
    "approximate": profile("approximate", epsilon=0.7, delta=1e-4), "approximate 0": profile("approximate", epsilon=0.7, delta=0.0),
    "revealing": profile("revealing-gaussian", mu=0.7, delta=1e-4), "revealing 0": profile("revealing-gaussian", mu=0.7, delta=0.0),
    "tabulated": TABLED, "table to 0": profile("tabulated", epsilons=(0.0, 1.0), deltas=(0.3, 0.0)),
    "beta pair": profile("beta-pair", a=1.7, b=2.9, power=0.3, draws=1),
    "beta pair with error": profile("beta-pair", a=1.7, b=2.9, power=0.3, draws=1, error=1e-6),
    "gamma shape": profile("gamma-shape", shape=3.1, shift=0.7, draws=1),
    "gamma rate": profile("gamma-rate", shape=3.1, rate=4.7, shift=0.7, draws=1, error=1e-6),
    "perturbed": profile("perturbed-gaussian", mu=0.37, draws=3, error=1e-6),
    "pure and range": Pure(0.4) + BoundedRange(0.3) * 2, "gaussian and pure": Gaussian(0.5) + Pure(0.2) * 3,
    "renyi and gaussian": Renyi([2.0, 4.0], [0.1, 0.3]) + Gaussian(0.3), "equal pures": Pure(0.2) * 7,
    "metrics": Metric(0.4, 1e-3, "|x - y|") * 3, "renyis": Renyi([2.0, 4.0], [0.1, 0.3]) * 3,
    "gaussians": Gaussian(0.3) * 3 + Gaussian(0.4),
}  # fmt: skip
SLOW = ("gamma shape", "gamma rate", "beta pair", "beta pair with error", "pure and range", "gaussian and pure")


def answers(name: str) -> dict[str, Any]:
    """What a curve says, and its parts."""
    curve = CURVES[name]
    deltas = DELTAS[3:5] if name in SLOW else DELTAS
    given = {
        "json": outcome(curve.to_json), "again": outcome(lambda: Curve.from_json(curve.to_json()) == curve),
        "delta": {str(e): outcome(curve.delta, e) for e in (EPSILONS[3:8] if name in SLOW else EPSILONS)},
        "epsilon": {str(d): outcome(curve.epsilon, d) for d in deltas},
        "renyi": {str(a): outcome(curve.renyi, a) for a in ORDERS},
        "floor, mu": [outcome(lambda: curve.floor), outcome(lambda: curve.mu), curve.composable_as_profile],
        "repr, text": [repr(curve), str(curve)], "event": outcome(lambda: str(events.to_dp_event(curve, 0.0))),
        "event with slack": outcome(lambda: str(events.to_dp_event(curve, 1e-7))),
        "shared": outcome(sharing.share, curve, 3), "times": [outcome(lambda k=k: curve * k) for k in (0, 1, 3, -1, True, 1.5)],
        "plus": [outcome(lambda other=other: curve + other) for other in (Pure(0.2), Gaussian(0.1), Metric(0.1, 0.0, "other"), 3)],
    }  # fmt: skip
    if name not in SLOW:
        given["deltas"] = outcome(curve.deltas, np.array([0.0, 0.3, 1.1, 2.7]))
        given["covering"] = [outcome(cover.covering_mu, curve, d) for d in (1e-3, 1e-6)]
    return given


def claim(curve: Curve, **more: Any) -> Guarantee:
    return Guarantee(curve, **{"adjacency": "replace-one", "theorem": "a theorem", "source": "a source", **more})


GUARANTEES = {
    "plain": claim(Gaussian(0.6)), "slack": claim(Gaussian(0.6), slack=1e-7, trust="proved with slack", draws=3),
    "pure with slack": claim(Pure(0.6), slack=1e-7, trust="proved with slack"), "much slack": claim(Pure(0.6), slack=0.6, trust="assumes converged"),
    "metric": claim(Metric(0.6, 0.0, "|x|"), adjacency="metric"), "vacuous metric": claim(Metric(0.6, 2.0, "|x|"), adjacency="metric"),
    "not private": claim(Pure(0.6), trust="not private"), "range": claim(BoundedRange(0.6), draws=10),
    "persons": claim(Pure(0.6), adjacency="replace-person", unit="person", id_column="id", rows="visits"),
    "renyi": claim(Renyi([2.0, 5.0], [0.1, 0.4])), "profile": claim(profile("approximate", epsilon=0.5, delta=1e-3)),
    "no privacy": claim(Pure(math.inf)) if outcome(Pure, math.inf) == "inf" else claim(Pure(800.0)),
}  # fmt: skip


def promised(name: str) -> dict[str, Any]:
    """What a guarantee says, and how it adds."""
    given = GUARANTEES[name]
    document = outcome(given.to_json)
    return {
        "json": document, "words": outcome(given.to_json, 1), "version": outcome(given.to_json, 3),
        "again": outcome(lambda: Guarantee.from_json(given.to_json()) == given),
        "delta": {str(e): outcome(given.delta, e) for e in EPSILONS}, "epsilon": {str(d): outcome(given.epsilon, d) for d in DELTAS},
        "renyi": {str(a): outcome(given.renyi, a) for a in ORDERS}, "vacuous": given.vacuous, "change": given.change,
        "sums": [outcome(lambda o=o: given + o) for o in (*GUARANTEES.values(), 3)],
        "times": [outcome(lambda k=k: given * k) for k in (0, 1, 4, -1, True, 0.5)],
        "at": [outcome(given.at, d) for d in (0.0, 1e-6, 2.0)], "text": [str(given), outcome(given.table), given.of_estimate(str(given))],
        "event": outcome(lambda: str(given.to_dp_event())),
        "without": {key: outcome(Guarantee.from_json, {k: v for k, v in given.to_json().items() if k != key}) for key in given.to_json()},
    }  # fmt: skip


def half(x: float) -> float:
    return max(0.0, 0.4 - x)


ONE, TWO = np.array([1.3, 0.2]), np.array([0.7, 2.9])
# name -> (function, what it is given, further values)
CALLS: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "renyi to epsilon": (convert.renyi_to_epsilon, {"order": 3.0, "value": 0.4, "delta": 1e-6}, {"order": [1.2, 900.0], "delta": [0.5, 1e-300], "value": [50.0, 1e-9]}),
    "renyi to delta": (convert.renyi_to_delta, {"order": 3.0, "value": 0.4, "epsilon": 1.3}, {"order": [1.2, 900.0], "epsilon": [0.0, 30.0], "value": [50.0, 1e-9]}),
    "over orders": (convert.minimise_over_orders, {"bound": lambda a: (a - 3.3) ** 2 + 0.1, "listed": [1.5, 2.0]}, {"listed": [[3.3]], "bound": [lambda a: 1 / a, lambda a: a, lambda a: math.inf]}),
    "covering mu": (cover.covering_mu_of, {"delta": lambda e: Gaussian(0.7).delta(e), "delta0": 1e-6}, {"delta": [lambda e: Pure(0.4).delta(e), lambda e: 1e-3, lambda e: 0.0], "delta0": [0.4, 1e-300]}),
    "shape renyi": (gamma_profiles.gamma_shape_renyi, {"shape": 3.1, "shift": 0.7, "order": 2.5}, {"order": [1.0, 1.00001, 4.0, 90.0], "shift": [1e-6, 40.0]}),
    "rate renyi": (gamma_profiles.gamma_rate_renyi, {"shape": 3.1, "rate": 4.7, "shift": 0.7, "order": 2.5}, {"order": [1.0, 1.00001, 7.0, 9.0], "rate": [1e-300], "shift": [1e-6, 40.0]}),
    "mills": (gaussian_tail.mills, {"x": 1.3}, {"x": [-7.0, -1.0, 0.3, 5.0, 37.0, 1e5]}),
    "upper tail": (gaussian_tail.log_upper_tail, {"x": 1.3}, {"x": [-40.0, -7.0, -1.0, 0.3, 5.0, 37.0, 1e5]}),
    "gaussian delta": (gaussian_tail.gaussian_delta, {"epsilon": 1.3, "mu": 0.7}, {"mu": [1e-9, 1e-3, 0.05, 5.0, 60.0], "epsilon": [1e-12, 9.0, 700.0, 9000.0]}),
    "gaussian epsilon": (gaussian_tail.gaussian_epsilon, {"delta": 1e-6, "mu": 0.7}, {"mu": [1e-9, 1e-3, 0.05, 5.0, 60.0], "delta": [0.4, 0.3, 1e-300, 5e-324]}),
    "gaussian mu": (gaussian_tail.gaussian_mu, {"epsilon": 1.3, "delta": 1e-6}, {"epsilon": [1e-9, 60.0, 1e4], "delta": [0.4, 0.999, 1e-300, 5e-324]}),
    "mu of variation": (gaussian_tail.mu_of_total_variation, {"log_odds": 0.7}, {"log_odds": [1e-300, 1e-9, 0.99, 1.01, 30.0, 800.0]}),
    "bisect": (gaussian_tail.bisect_down, {"holds": lambda x: x > 0.37, "lower": 0.0, "upper": 1.0, "relative": 1e-15}, {"relative": [1e-3], "holds": [lambda x: True, lambda x: False]}),
    "inflated": (inflation.inflated, {"delta": half, "error": 1e-3, "epsilon": 0.2}, {"epsilon": [0.0, 5e-4, 0.45], "error": [1.0, 800.0]}),
    "renyi extra": (inflation.renyi_extra, {"error": 1e-3, "order": 2.5, "divergence": 0.4}, {"order": [1.0, 1.5, math.inf], "divergence": [math.inf, 0.0]}),
    "two sided": (loss_distribution.two_sided, {"forward": ONE / 9, "backward": TWO / 9, "epsilons": np.array([-0.4, 0.7])}, {"epsilons": [np.array([0.0, 1.0])]}),
    "loss limit": (loss_distribution.loss_limit, {"delta": half, "floor": 0.0, "mass": 1e-9}, {"floor": [0.1], "delta": [lambda e: math.exp(-e), lambda e: 0.0]}),
    "loss limit of": (loss_distribution.loss_limit_of, {"deltas": lambda e: np.exp(-e), "mass": 1e-9}, {"deltas": [lambda e: np.exp(-200 * e), lambda e: 0 * e]}),
    "safe order": (pair_losses.safe_order, {"order": 2.5, "power": 0.7, "room": 1.1}, {"order": [1.0, 2.57, 2.5714285714285716, 2.6]}),
    "log gamma": (pairs.log_gamma, {"z": ONE}, {"z": [TWO, np.array([1e-9, 0.5, 9.9, 10.1, 1e6])]}),
    "stirling": (pairs.stirling_error, {"z": ONE * 9}, {"z": [np.array([0.3, 9.9, 10.1, 40.0, 1e6])]}),
    "gamma ratio": (pairs.log_gamma_ratio, {"x": ONE, "shift": TWO}, {"x": [ONE * 50], "shift": [TWO / 1e6, TWO * 40]}),
    "beta delta": (pairs.beta_delta, {"a": ONE, "b": TWO, "power": np.array([0.3, 1.0]), "epsilon": np.array([0.1, 0.4])}, {"epsilon": [np.zeros(2), np.array([3.0, 30.0])], "a": [ONE * 400]}),
    "shape delta": (pairs.gamma_shape_delta, {"shape": ONE, "shift": TWO, "epsilon": np.array([0.1, 0.4]), "upward": True}, {"epsilon": [np.zeros(2), np.array([3.0, 30.0])], "shape": [ONE * 400]}),
    "rate delta": (pairs.gamma_rate_delta, {"shape": ONE, "rate": TWO, "shift": ONE, "epsilon": np.array([0.1, 0.4]), "slower": True}, {"epsilon": [np.zeros(2), np.array([3.0, 30.0])], "shape": [ONE * 400]}),
    "beta renyi": (posterior_profiles.beta_renyi, {"a": 1.7, "b": 2.9, "power": 0.3, "order": 2.5}, {"order": [1.0, 1.00001, 6.6, 6.7, 9.0], "power": [1e-6, 2.0]}),
    "beta ends": (posterior_profiles.beta_endpoints, {"alpha": 1.7, "beta": 2.9, "n": 17, "power": 0.3, "trials": 3}, {}),
    "bernoulli delta": (posterior_profiles.beta_bernoulli_delta, {"alpha": 1.7, "beta": 2.9, "n": 40, "power": 0.3, "draws": 1, "epsilon": 0.2, "certified": True, "trials": 1}, {"trials": [3], "n": [2]}),
    "pair delta": (posterior_profiles.beta_pair_delta, {"a": 1.7, "b": 2.9, "power": 0.3, "draws": 2, "epsilon": 0.2, "dots": 200}, {}),
    "same number": (statements._same_value, {"given": "0.33333", "priced": "0.333333"}, {"given": ["0.3333", "x", "0.333333"]}),
    "share": (sharing.share, {"curve": Gaussian(1.0), "parts": 3}, {"curve": [TABLED, Pure(0.2)]}),
    "compose": (compose.compose, {"parts": [(Gaussian(0.3), 2), (Pure(0.0), 3), (Gaussian(0.4), 1)]}, {"parts": [
        [], [(Pure(0.3), 0)], [(BoundedRange(0.3), 5)], [(Pure(0.3), -1)], [(Pure(0.3), 1), (Metric(0.1, 0.0, "x"), 1)], [(Metric(0.1, 1e-3, "x"), 1), (Metric(0.3, 0.0, "x"), 2)],
        [(Metric(0.1, 1e-3, "x"), 1), (Metric(0.3, 0.0, "y"), 2)], [(Renyi([2.0], [0.1]), 2), (Renyi([2.0], [0.3]), 1)], [(Renyi([2.0], [0.1]), 2), (Renyi([3.0], [0.3]), 1)]]}),
    "read": (codec.curve_from_json, {"document": {"curve": "gaussian", "mu": 0.3}}, {"document": [
        {"curve": "gaussian"}, {"curve": "gaussian", "mu": 0.3, "x": 1}, {"curve": "gaussian", "mu": "a"}, {"curve": "other"}, [], "pure", {"curve": 3},
        {"curve": "renyi", "orders": [2.0, "inf"], "values": [0.1, "inf"]}, {"curve": "renyi", "orders": "2", "values": [0.1]}, {"curve": "renyi", "orders": [2.0], "values": 3},
        {"curve": "profile", "name": "approximate", "parameters": [1]}, {"curve": "profile", "name": "none", "parameters": {}},
        {"curve": "composed", "parts": [{"count": 2, "part": {"curve": "pure", "epsilon": 0.3}}]}, {"curve": "composed", "parts": [{"count": 2}]},
        (Pure(0.3) * 2).to_json(), {"curve": "composed", "parts": {}}]}),
    "within": (Metric(0.3, 1e-3, "x").within, {"rho": 1.7}, {"rho": [1e4]}),
    "tabled": (lambda epsilons, deltas: profile("tabulated", epsilons=epsilons, deltas=deltas), {"epsilons": (0.1, 0.7, 1.9), "deltas": (0.3, 0.1, 0.01)}, {
        "epsilons": [(0.1, 0.7), (0.1, 0.1, 1.9), (-0.1, 0.7, 1.9), (0.1, 0.7, math.inf)], "deltas": [(0.3, 0.31, 0.01), (0.3, 0.29, 0.01), (1.2, 0.1, 0.01), (0.3, 0.1, -0.1), 0.3]}),
    "renyi curve": (Renyi, {"orders": [1.0, 2.0, 3.0], "values": [0.1, 0.2, 0.4]}, {"orders": [[2.0, 2.0, 3.0], [0.5, 2.0, 3.0], 2.0], "values": [[0.1, 0.2], 0.3]}),
    "metric curve": (Metric, {"epsilon": 0.3, "delta": 1e-3, "distance": "x"}, {"distance": [" "]}),
    "gaussian curve": (Gaussian, {"mu": 0.3}, {}), "pure curve": (Pure, {"epsilon": 0.3}, {}), "range curve": (BoundedRange, {"epsilon": 0.3}, {}),
    **{f"profile {name}": (lambda name=CURVES[name].name, **given: Profile(name, given), dict(CURVES[name].parameters), {}) for name in (
        "approximate", "revealing", "beta pair with error", "gamma shape", "gamma rate", "perturbed")},
    "guarantee": (claim, {"curve": Gaussian(0.6), "adjacency": "replace-one", "theorem": "t", "source": "s", "unit": "row", "assumptions": (), "trust": "proved",
        "draws": 1, "slack": 0.0, "id_column": "", "rows": ""}, {"curve": [Metric(0.1, 0.0, "x")], "adjacency": ["metric", "replace-person"], "slack": [0.1, 1e-9], "trust": ["proved with slack"], "id_column": ["id"], "rows": ["visits"]}),
}  # fmt: skip


def called(name: str) -> Any:
    function, given, more = CALLS[name]
    return varied(function, given, more)


ASKED = Record("curves", {name: name for name in CURVES}, answers)
PROMISED = Record("guarantees", {name: name for name in GUARANTEES}, promised)
CALLED = Record("conversions", {name: name for name in CALLS}, called)
RECORDS = [ASKED, PROMISED, CALLED]


@pytest.mark.planted
@pytest.mark.parametrize("record", RECORDS, ids=[record.path.stem for record in RECORDS])
def test_answers_and_refusals_are_those_that_are_recorded(record):
    assert record.all_differences() == []
