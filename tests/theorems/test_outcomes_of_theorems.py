"""Every theorem, at one set of arguments and with each of them changed in turn: what it claims or refuses is on record."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest
from test_docstrings import FUNCTIONS

from outcomes import Record, varied
from sfumato.privacy.curves import BoundedRange, Gaussian, Pure
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems import sharp

CLAIM = Guarantee(Gaussian(0.4), "replace-one", "a theorem", "a source")
PURE = Guarantee(Pure(0.7), "replace-one", "a theorem", "a source", draws=3)
ONCE = Guarantee(Pure(0.7), "replace-one", "a theorem", "a source")
RANGE = Guarantee(BoundedRange(0.7), "replace-one", "a theorem", "a source")
TABLE = [[-1.0, -0.2, -2.5], [-0.4, -1.7, -0.1], [-3.0, -0.9, -0.6]]
PRIOR = [0.2, 0.5, 0.3]
RHO = [[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]
# What an argument of this name is given where its function says nothing else (below). Numbers are awkward on purpose: a
# rounding that is left out moves their last digit.
NAMES: dict[str, Any] = {
    "absent": True, "acceptance": 0.3, "adaptive": True, "adjacency": "replace-one", "alpha": 1.7, "argmin_error": 0.13,
    "ball": 1.9, "bend": 1.3, "beta": 2.3, "bound": 1.3, "candidates": 7, "canonical": True, "cardinalities": [2, 3, 2],
    "categories": 4, "cells": [1.3, 0.7, 2.9], "centred": True, "chains": 3, "choices": 5, "common": 0.3, "concentration": 2.7,
    "constants": [0.3, 1.9, 0.7, 2.2], "convex": True, "convex_domain": True, "curvature": 0.27, "curvatures": [0.3, 1.7],
    "delta": 1e-3, "deviation": 0.21, "difference": 1.3, "difference_factor": 1.7, "dimension": 4, "distance": "|x - y|",
    "distances": RHO, "divergence": 0.37, "draws": 3, "empirical_risk": 0.11, "epsilon": 0.83, "every_data_set": True,
    "every_ordered_pair": True, "failure": 0.03, "first_cell": 0.7, "fixed": True, "fixed_beforehand": True,
    "float_error": 1.1e-9, "floor": 0.03, "full_batch": True, "gap": 0.07, "guarantee": CLAIM, "half_diagonal": 0.19,
    "headroom": 1.7e-3, "hoeffding": 0.19, "hull": True, "id_column": "id", "independent": True, "information": 0.7,
    "intercept": True, "jeffreys": 0.13, "label_radius": 0.9, "level": 0.07, "levels": 3, "lipschitz": 0.31, "log_error": 1.3e-7,
    "log_likelihood": TABLE, "log_odds": 1.3, "log_prior": [-1.1, -0.7, -1.9], "log_ratio": 0.23, "log_sobolev": 1.9,
    "loss": 0.3, "loss_range": 1.7, "lower": 0.3, "mass": 0.7, "mean": 0.4, "mean_max": 0.9, "mean_min": 0.1, "mean_norm": 0.6,
    "minimum": None, "momentum": 0.0, "most": 3, "moves": 4, "mu": 0.6, "n": 170, "next_cell": 1.3, "noise": 0.13,
    "noises": [3.1, 2.7], "offset": 0.19, "one_cell": True, "order": 2.7, "own_rows": True, "parameters": 2,
    "parents": [[], [0], [0, 1]], "parts": [CLAIM, CLAIM], "people": 170, "points": 31, "power": 0.37, "precision": 0.9,
    "precision_norm": 0.8, "precision_per_record": 0.11, "precisions": [0.9, 2.3], "priced": CLAIM, "priced_before_it_runs": True,
    "prior": PRIOR, "prior_restricted": True, "public_map": True, "public_point": True, "public_reference": True,
    "public_roster": True, "public_schedule": True, "public_start": True, "public_weights": True, "queries": 7, "query_set": 9,
    "radius": 1.1, "rate": 0.7, "ratio": 1.3, "regularisation": 0.9, "responses": 5, "rho": 0.7, "risk": 0.13, "rows": "averaged",
    "sensitivity": 1.9, "separation": 0.31, "shape": 1.9, "shape_per_record": 0.5, "share": 1e-3, "slope": 0.9,
    "slope_bound": 1.3, "smallest_cells": [1.3, 0.7, 2.1], "smoothness": 2.9, "spacing": 0.03, "spacings": [0.03, 0.05],
    "squared_moves": [2, 4], "states": 2, "step": 0.13, "steps": 7, "strength": 1.3, "strong_convexity": 0.7, "tail": 0.03,
    "total_variation": 1e-3, "trace": 5.3, "trial_error": 1e-9, "trials": 3, "unit": "row", "upper": 2.9, "weight": 1.0,
    "weights_of_rows_alone": True, "well_specified": True, "y_max": 1.3, "y_min": -0.7, "zero": True, "form": "pure",
}  # fmt: skip


def potential(eta):
    return 0.5 * (eta[0] * eta[0] + 3 * eta[1] * eta[1])


# function -> what it is given instead; a list of several makes several cases
OWN: dict[str, dict[str, Any] | list[dict[str, Any]]] = {
    "conjugate.exponential_family_renyi": {"log_partition": potential, "eta_p": [0.3, 0.2], "eta_q": [0.1, -0.4]},
    "conjugate.dirichlet": [{}, {"cells": [9.0, 7.0, 8.0], "power": 1.0, "log_error": 0.0}],
    "conjugate.beta_bernoulli": [{"trials": 1}, {"trials": 3, "log_error": 0.0}],
    "curvature.noisy_curvature": [{}, {"float_error": 0.0, "headroom": 0.0}],
    "distinguish.best_success_under": [
        {"promise": Gaussian(0.6), "prior": 0.5}, {"promise": PURE, "prior": 0.3}, {"promise": CLAIM, "prior": 0.9},
    ],
    "distinguish.empirical_error": {"cells": 3}, "distinguish.partition_error": {"cells": 3, "draws": 40},
    "distinguish.necessary_distance_uniform": {"cells": 3, "delta": 1e-5},
    "distinguish.necessary_distance_stochastic": {"cells": 3, "delta": 1e-5},
    "exponential.lipschitz_composition": {"distance": 3},
    "exponential.bounded_loss_sensitivity": {"lower": -0.7},
    "exponential.dp_distance": [{"p": [0.2, 0.5, 0.3], "q": [0.3, 0.3, 0.4]}, {"p": [0.0, 1.0], "q": [0.0, 1.0]}],
    "exponential.scalar_link_difference": [
        {"loss": lambda u: 0.7 * u * u + 0.1 * u, "minimum": None}, {"loss": lambda u: abs(u - 0.3), "minimum": 0.0},
    ],
    "exponential.scalar_link_map_radius": [
        {"slope": lambda u: math.tanh(u) + 0.3, "cells": 64}, {"slope": lambda u: -1.0, "cells": 16},
    ],
    "exponential.logistic_map_radius": [{}, {"power": 40.0, "radius": 3.0}],
    "finite_family.posterior_draws": [{"form": form, "n": 4} for form in ("best", "pure", "bounded range")],
    "finite_family.finite_metric": {"distances": RHO},
    "finite_step.at_least_exact": {
        "chain": CLAIM, "exact": sharp.gibbs_draw(difference=1.0, strong_convexity=4.0, convex=True, convex_domain=True),
    },
    "inexact.langevin_schedule": {"total_variation": 0.13},
    "log_sobolev.corollary_8_workshop": {}, "metric_finite.bernoulli_grid": {"step": 0.25},
    "metric_finite.smooth_prior": {"prior": None, "constants": [0.3, 1.9, 0.7]},
    "metric_finite.smooth_mass": {"constants": [0.3, 1.9, 0.7], "lipschitz": 0.7},
    "metric_finite.best_concentration": [
        {"constants": [0.3, 1.9, 0.7], "offset": None}, {"constants": [0.3, 1.9, 0.7], "offset": 0.5, "weight": 0.6},
    ],
    "metric_finite.necessary_condition": [{"lipschitz": 0.31}, {"lipschitz": 3.1}],
    "networks.worst_split": {"cell": 0.7, "orders": np.array([1.5, 3.0, 9.0]), "moves": 3},
    "networks.one_cell": [
        {"cell": 1.7, "shifts": np.array([0.2, 0.5]), "orders": np.array([1.5, 3.0]), "upward": up} for up in (True, False)
    ],
    "networks.truncated_draws": [{}, {"adjacency": "replace-entry"}],
    "metric_examples.network_draws": [{}, {"adjacency": "replace-entry"}],
    "networks.table_draws": [{}, {"adjacency": "replace-entry"}],
    "pac_bayes.hinge_hoeffding": {"power": 0.01, "n": 1700}, "path.whole_path": [{"step": 0.13}, {"step": [0.1, 0.2, 0.15], "steps": 3}],
    "persons.one_cell": {"cell": 1.7, "shifts": np.array([0.2]), "orders": np.array([3.0]), "upward": True},
    "rejection.ball_acceptance": {"radius": 2.1, "distance": 0.3}, "rejection.traced_acceptance": {"radius": 2.1, "distance": 0.3, "common": 1.3},
    "rejection.box_acceptance": {"steps": [40, 60]},
    "rejection.uniform_share": [
        {"total_variation": gamma, "guarantee": exact} for gamma in (1e-6, 3e-5) for exact in (ONCE, RANGE)
    ],
    "rejection.uniform_trials": [
        {"trials": trials, "guarantee": exact} for trials, exact in ((70, ONCE), (40, RANGE), (2000, ONCE))
    ],
    "rejection.bounded_trials": [{}, {"acceptance": 1.0, "trial_error": 0.0}], "rejection.variation_paid": {"ratio": 0.3}, "rejection.trials_needed": {},
    "sampling_error.response_loss": [{}, {"adaptive": False}],
    "sampling_error.draws_needed": [{}, {"adaptive": False, "query_set": None}],
    "sampling_error.restricted_prior_release": {"mass": 0.9},
    "tables.noisy_tables": [{}, {"squared_moves": None}, {"noises": [1e200, 3e200]}],
    "tables.learnt_table": {"parts": [CLAIM, Guarantee(Pure(0.2), "replace-one", "b", "c")]},
    "truncated.log_mean_exp_shift": [
        {"first": 1.3, "second": 4.1, "power": 0.7, "half_width": 3.0}, {"first": 1.3, "second": 0.4, "power": 0.7, "half_width": 3.0},
    ],
    "truncated.beta": [{}, {"form": "bounded range"}, {"alpha": 0.2, "n": 3, "power": 2.0}],
    "truncated.gamma": [{"bound": 0.7}, {"form": "bounded range", "log_error": 0.0}, {"n": 3, "strength": 0.2}],
    "asymptotics.variance_given_data": [{}, {"information": [[2.0, 0.3], [0.3, 1.0]]}],
    "asymptotics.variance_over_data": [{}, {"information": [[2.0, 0.3], [0.3, 1.0]]}],
    "weighted.difference_factor": [{"zero_slope": 0.5}, {"zero_slope": 0.5, "dimension": 1}],
    "location.gaussian_location": [{}, {"log_error": 0.0}], "location.logit_draw": [{}, {"log_error": 0.0}],
    "finite_step.last_iterate": [{}, {"float_error": 0.0, "momentum": 0.0, "step": 0.3}],
    "metric_examples.normal_family": [{"mean_norm": 0.0}, {"centred": False, "bound": 0.7}],
    "metric_examples.trimmed_laplace": {"mean": 1.0, "n": 3},
    "log_sobolev.logistic_power": [{}, {"intercept": False}],
    "log_sobolev.gaussian_mean_exact_power": [{}, {"precision": 0.0}],
}  # fmt: skip
# Further values of an argument, wherever a theorem takes it.
MORE: dict[str, list[Any]] = {
    "floor": [0.25, 0.5, 0.6], "step": [0.6896551724137931, 0.7, 2.0], "trials": [2], "adjacency": ["replace-entry", "add-remove"],
    "momentum": [0.5], "noises": [[1e-200, 3.0]], "level": [0.5], "delta": [0.5, 1e-9], "order": [1.5, math.inf], "power": [2.0], "share": [0.5],
}  # fmt: skip


def cases() -> dict[str, tuple[Any, dict[str, Any]]]:
    listed = {}
    for name, function in FUNCTIONS.items():
        own = OWN.get(name, {})
        for place, each in enumerate(own if isinstance(own, list) else [own]):
            taken = inspect.signature(function).parameters
            given = {**{p: NAMES[p] for p in taken if p in NAMES}, **each}
            listed[name if place == 0 else f"{name} {place}"] = (function, given)
    return listed


def made(case: tuple[Any, dict[str, Any]]) -> Any:
    function, given = case
    return varied(function, given, MORE)


CLAIMS = Record("theorems", cases(), made)
RECORDS = [CLAIMS]


@pytest.mark.planted
@pytest.mark.parametrize("name", CLAIMS.cases)
def test_a_theorem_claims_and_refuses_what_is_recorded(name):
    assert CLAIMS.differences(name) == []


def test_every_theorem_is_recorded_and_claims_something():
    assert {name.partition(" ")[0] for name in CLAIMS.kept()} == set(FUNCTIONS)
    refusing = {"log_sobolev.corollary_8_workshop", "log_sobolev.theorem_10"}
    assert {name for name, kept in CLAIMS.kept().items() if isinstance(kept["values"][""], str)} == refusing
