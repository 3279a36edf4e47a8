"""Every model: what it reads and refuses, its sensitivity, laws and expectations, from public numbers, are on record."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("auditing", "procedures")]
import audit_cases as known

import sfumato as sf
from outcomes import Record, outcome, varied
from sfumato.models import (
    _precision,
    _prior,
    _rounding,
    clipping,
    prior_spread,
    regression,
    row_products,
    weighted,
    whose_rows,
)
from sfumato.models.families import (
    _bins,
    _cells,
    _count_tree,
    _eigenbasis,
    _fixed_point,
    _gamma,
    densities,
)
from sfumato.models.losses.labels import LabelInterval, LabelSet
from sfumato.models.reading import model_from_json
from sfumato.schema.structure import BLOCK_ROWS

N = 40
F, P = sf.families, sf.priors
FAMILIES = {name: pair for table in (known.OPEN, known.BOUNDED, known.NOISY) for name, pair in table.items()} | {
    "quantile": known.QUANTILE
}
PEOPLE = sf.Persons("who", most=3, count=20)
# Schemas that models are shown: their own, others', and some that are a little off.
SCHEMAS = {
    "bits": known.BITS, "colours": known.COLOURS, "counts": known.COUNTS, "numbers": known.NUMBERS, "vectors": known.VECTORS,
    "lines": known.LINES, "steps": known.STEPS, "groups": known.by_group(known.BITS), "wide": sf.Schema({"x": sf.Number(-9, 60)}),
    "narrow": sf.Schema({"x": sf.Number(1, 2)}), "wide counts": sf.Schema({"x": sf.Number(-1, 90, integer=True)}),
    "other levels": sf.Schema({"x": sf.Category(["red", "green", "grey"], missing="red")}), "fewer levels": sf.Schema({"x": sf.Category(["red", "green"], missing="red")}),
    "two numbers": sf.Schema({"x": sf.Number(0, 6), "z": sf.Number(0, 6)}), "long vectors": sf.Schema.vector(2, data_norm=2.5),
    "three numbers": sf.Schema.vector(3, data_norm=1.0), "other groups": sf.Schema({"g": sf.Category(["a", "c"], missing="a"), "x": sf.Boolean(missing=False)}),
    "dates": sf.Schema({"x": sf.Date("2020-01-01", "2020-03-01")}),
}  # fmt: skip


def totals_of(model: Any, schema: sf.Schema) -> Any:
    """Totals of invented rows, as whole numbers."""
    from test_outcomes_of_releases import rows

    from sfumato.dataset import rows_of

    data = rows(schema, N)
    columns = model.columns(schema)
    tallies = [model.tally(block, columns) for block in rows_of(data).blocks(columns, BLOCK_ROWS)]
    return np.sum(tallies, axis=0)


def of_family(case: tuple[Any, sf.Schema]) -> dict[str, Any]:
    """What a family says of itself, of schemas, and of totals."""
    model, schema = case
    rng = np.random.default_rng(3)
    counted = outcome(totals_of, model, schema)
    made = {
        "document": outcome(model.to_json), "read back": outcome(lambda: model_from_json(model.to_json()) == model), "text": repr(model),
        "columns": {name: outcome(model.columns, each) for name, each in SCHEMAS.items()}, "tally": counted,
        "facts": [outcome(lambda n=name: getattr(model, n)) for name in (
            "bounded", "priced", "releases_totals", "drawn", "labels", "draw_shape", "units", "sensitivity", "spans", "reach", "presence", "conjugate", "goal", "size")],
        "claim": [outcome(lambda n=n: (model.claim(n).facts, str(model.claim(n).theorem)[:60])) for n in (1, N)], "strongest": outcome(model.strongest, N),
        "clipping": [outcome(clipping.clipping_of, model), outcome(clipping.clipping_of, model, schema), outcome(clipping.missing_of, model, schema)],
        "persons": [outcome(whose_rows.whose_rows, model, PEOPLE.terms, schema), outcome(whose_rows.without_rows, PEOPLE.terms, "person", schema)],
        "weighted": outcome(lambda: _weighted(weighted.weighted_form(model))), "expectation": outcome(model.expectation, N, 0.7),
        "expected estimate": [outcome(model.estimate_error, N, 0.7), outcome(model.estimate_expectation, N, 0.7), outcome(model.widest, N)],
    }  # fmt: skip
    if isinstance(counted, str):
        return made
    whole = totals_of(model, schema)
    exact = [int(count) * unit for count, unit in zip(whole, model.units, strict=True)]
    floats = np.array([float(each) for each in exact])
    for power, strength in ((1.0, 1.0), (0.4, 2.5)):
        made[f"at {power:g}"] = {
            "natural": outcome(model.natural, floats[None], N, power, strength), "law": outcome(model.law, exact, N, power, strength),
            "public law": outcome(model.public_law, N, power, strength), "sketch": outcome(lambda p=power, s=strength: model.sketch(np.random.default_rng(4), model.natural(floats[None], N, p, s))),
        }  # fmt: skip
    noisy = floats + np.array([[0.0], [2.5], [-40.0], [90.0]]) * rng.standard_normal((4, floats.size))
    made["feasible"] = outcome(model.feasible, noisy, N)
    made["estimate"] = outcome(model.estimate, exact, N)
    made["simulated"] = outcome(lambda: model.simulate(np.random.default_rng(5), 3, N))
    made["divergence"] = outcome(
        lambda: model.divergence(model.natural(floats[None], N), model.natural(floats[None], N, 0.4, 2.5))
    )
    made["distance"] = outcome(
        lambda: model.distance(*(model.simulate(np.random.default_rng(k), 3, N)[0] for k in (6, 7)))
    )
    made["updated"] = outcome(lambda: model.updated(exact, N).to_json())
    truth = outcome(lambda: model.simulate(np.random.default_rng(5), 3, N)[0])
    if not isinstance(truth, str):
        theta = model.simulate(np.random.default_rng(5), 3, N)[0]
        made["density"] = [
            outcome(densities.log_density, model, theta, np.full(3, float(record))) for record in (0, 1, 2)
        ]
    return made


def _weighted(model: Any) -> Any:
    return [
        repr(model),
        model.sensitivity,
        model.units,
        model.labels,
        model.feasible(np.full((1, len(model.units)), 3.3), N),
        model.presence,
        model.to_json(),
    ]


def of_document(model: Any) -> dict[str, Any]:
    """What is read from a model's document with one field changed."""
    document = model.to_json()
    more = {"family": ["Beta"], "loss": [{"loss": "none"}], "prior": [{"prior": "none"}, {"prior": "flat"}]}
    return varied(lambda **given: model_from_json(given).to_json(), document, more)


def of_loss(name: str) -> dict[str, Any]:
    """Constants, values, slopes and labels of a loss."""
    loss = known.LOSSES[name][0](1.3) if name != "log odds" else sf.losses.LogitBernoulli()
    scores = np.array([-800.0, -38.0, -36.0, -3.3, -1.0, -0.2, 0.0, 0.2, 0.5, 1.0, 3.3, 40.0, 800.0])[:, None]
    if loss.outputs > 1:
        scores = np.hstack([scores, 0.3 * scores[::-1], np.ones_like(scores)])
    domain = getattr(loss, "label_domain", None)
    labels = (
        list(domain.values)
        if isinstance(domain, LabelSet)
        else [-1e3, 0.0, 0.3, 1.0, 7.0]
        if isinstance(domain, LabelInterval)
        else [0.0]
    )
    document = loss.to_json()
    rng = np.random.default_rng(2)
    points = rng.standard_normal((2, 3 * loss.outputs if loss.outputs > 1 else 3))
    with np.errstate(all="ignore"):
        return {
            "document": varied(lambda **given: type(loss)(**given).to_json(), {k: v for k, v in document.items() if k != "loss"}),
            "constants": [outcome(loss.constants, d, r) for d in (None, 1, 2, 5) for r in (np.inf, 0.7, 40.0)],
            "largest": [outcome(loss.largest_slope), outcome(loss.largest_curvature)], "limits": [outcome(loss.label_limit, s) for s in (0.0, 3.0, 90.0)],
            "values": {str(y): outcome(loss.value_at, scores, y) for y in labels}, "slopes": {str(y): outcome(loss.slope_at, scores, y) for y in labels},
            "curvatures": {str(y): outcome(lambda y=y: loss.curvature(scores[:, 0], y)) for y in labels} if hasattr(loss, "curvature") else None,
            "domain": outcome(lambda: [getattr(domain, k) for k in ("values", "lower", "upper") if hasattr(domain, k)]),
            "labels": [outcome(loss.simulate, scores[3:11], np.random.default_rng(1)), outcome(loss.label_shares, scores[3:11], np.array(labels))],
            "predicted": outcome(loss.predict, scores), "modes": [outcome(loss.mode_bound, 0.7, 40, p) for p in (1e-3, 3.0)], "reclipped": outcome(lambda: loss.reclipped(0.2).to_json()),
            "moments": [outcome(lambda: loss.squared_labels), outcome(lambda: loss.counted_labels)],
            "rows": [outcome(lambda: loss.gradient_sum(ROWS, points)), outcome(lambda: loss.row_values(ROWS, points, False)), outcome(lambda: loss.row_values(ROWS, points, True))] if name == "gaussian mean" else None,
        }  # fmt: skip


GAUSSIANS = {
    "number": P.Gaussian(2.5), "with a mean": P.Gaussian(2.5, [0.3, -1.1]), "diagonal": P.Gaussian([2.5, 0.7]), "matrix": P.Gaussian([[2.5, 0.3], [0.3, 0.7]], [0.3, -1.1]),
    "ball": P.Ball(P.Gaussian(2.5), 0.8), "ball elsewhere": P.Ball(P.Gaussian([2.5, 0.7]), 0.8, [0.5, 0.1]), "box": P.Box(P.Gaussian(2.5), [-0.5, -0.2], [0.3, 0.9]),
    "flat ball": P.Ball(P.Flat(), 0.8), "flat": P.Flat(),
}  # fmt: skip


def of_prior(name: str) -> dict[str, Any]:
    """Constants, gradient and projection of a prior."""
    prior = GAUSSIANS[name]
    theta = np.array([[0.1, 0.2], [3.0, -4.0], [-1e200, 1e200]])
    facts = ("strong_convexity", "smoothness", "dimension", "domain_radius", "convex_domain", "truncated", "start")
    document = prior.to_json()
    return {
        "facts": [outcome(lambda f=f: getattr(prior, f)) for f in facts], "scaled": [outcome(lambda f=f: prior.scaled(f).to_json()) for f in (0.5, 3.0, 0.0, -1.0)],
        "gradient": outcome(prior.gradient, theta), "project": outcome(prior.project, theta), "text": str(prior), "untruncated": outcome(lambda: repr(_prior.untruncated(prior))),
        "document": varied(lambda **given: model_from_json({"loss": {"loss": "logistic", "radius": 1.0}, "prior": given, "dimension": None}).to_json(), document),
        "spread": outcome(prior_spread.prior_spread, prior, np.array([[1.0, 0.5], [0.2, 2.0]])),
        "model": [outcome(lambda d=d: [(m := sf.Gibbs(sf.losses.Logistic(1.3), prior, d)).difference(0.7), m.strong_convexity(40, 0.7), m.smoothness(40, 0.7), m.strengthened(3.0).to_json()]) for d in (None, 2, 3)],
    }  # fmt: skip


TABLE = sf.Schema(
    {
        "age": sf.Number(18, 90, integer=True),
        "sex": sf.Category(["f", "m"], missing="f"),
        "income": sf.Number(0, 80_000),
        "ill": sf.Boolean(missing=False),
        "cost": sf.Number(0, 80),
        "region": sf.Category(["n", "s", "w"], missing="n"),
    },
    target="ill",
)


def regressed(kind: str, target: str, features: Any, intercept: bool, prior: Any, numbers: Any) -> Any:
    model = sf.regression(kind, TABLE.with_target(target), features, intercept=intercept, prior=prior, **numbers)
    return (
        model.to_json(),
        regression.coordinates(model, TABLE.with_target(target)),
        clipping.clipping_of(model, TABLE.with_target(target)),
        clipping.missing_of(model, TABLE.with_target(target)),
    )


G = {"features": None, "intercept": True, "prior": None, "numbers": {}}
PRIORS = [
    2.0,
    {"sd": 2.0, "age": 0.5, "income": {"per_unit": 1e-3}, "intercept": 9.0},
    {"nobody": 1.0},
    {"sex": {"per_unit": 1.0}},
    "wide",
    {"age": {"per": 1.0}},
    {"age": -1.0},
    P.Gaussian(3.0),
]
FEATURES = [["age"], ["age", "age^2", "age:sex"], [], "age", ["nobody"], ["ill"], ["age*sex"]]
MORE = {
    "prior": PRIORS,
    "features": FEATURES,
    "numbers": [{"quantile": 0.9}, {"clip": 20.0}, {"strange": 1.0}],
    "target": ["cost", "region", "sex", "age"],
    "kind": ["ordinal", 3],
}
MATRIX = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 3.0]])
ROWS = np.random.default_rng(8).standard_normal((5, 3))
CALLS: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    **{f"regression {kind}": (regressed, {"kind": kind, "target": target, **G}, MORE) for kind, target in (
        ("logistic", "ill"), ("linear", "cost"), ("poisson", "age"), ("multinomial", "region"), ("quantile", "cost"), ("svm", "ill"), ("probit", "ill"), ("cloglog", "ill"))},
    "precision": (_precision.read_precision, {"precision": MATRIX}, {"precision": [2.0, [1.0, 3.0], [1.0, 0.0], [[1.0, 2.0]], [[1.0, 2.0], [3.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]], [[[1.0]]], [], [[np.nan, 0.0], [0.0, 1.0]]]}),
    "up": (_rounding.up, {"exact": Fraction(1, 3)}, {"exact": [Fraction(1, 2), Fraction(-1, 3), Fraction(10**400), Fraction(0)]}),
    "down": (_rounding.down, {"exact": Fraction(1, 3)}, {"exact": [Fraction(1, 2), Fraction(-1, 3), Fraction(0)]}),
    "product": (lambda a, b, c: _rounding.product_up(a, b, c), {"a": 0.1, "b": 0.7, "c": 3.3}, {}),
    "line": (_rounding.line_up, {"count": 7, "slope": 0.1, "power": 0.7, "offset": 0.3}, {}), "line down": (_rounding.line_down, {"count": 7, "slope": 0.1, "power": 0.7, "offset": 0.3}, {}),
    "norm": (lambda a, b: _rounding.norm_up(a, b), {"a": 0.1, "b": 0.7}, {"a": [1e-300, 1e300]}), "inverse": (_rounding.inverse_up, {"value": 0.7}, {}),
    "edges": (_bins.read_edges, {"lower": 0.0, "upper": 6.0, "bins": None, "width": None, "edges": None, "whole": False}, {
        "bins": [1, 2, 4, 8, True, [0, 1, 6], [0, 6], [1, 2, 6], [0, 2, 5], [0, 3, 2, 6], "x", 10**6], "width": [2.5, 6.0, 7.0, 1e-9, True, "1", 0, 2], "edges": [[0, 0.5, 6], [0, 1, 6]], "whole": [True], "lower": [6.0, 0.5, -1e308], "upper": [1e308, 5.5]}),
    "whole edges": (_bins.read_edges, {"lower": 0.0, "upper": 6.0, "bins": 3, "width": None, "edges": None, "whole": True}, {"bins": [7, 8, [0, 3, 6, 6], [0, 2.5, 6], [0, 3, 6]]}),
    "whole widths": (_bins.read_edges, {"lower": 0.0, "upper": 6.0, "bins": None, "width": 2, "edges": None, "whole": True}, {"width": [1, 1.5]}),
    "bin labels": (_bins.labels_of, {"edges": (0.0, 1.0, 2.5, 6.0), "whole": False}, {"edges": [(0.0, 1.0, 3.0, 6.0, 6.0), (0.1, 0.1000001, 0.2)], "whole": [True]}),
    "bin codes": (_bins.codes_of, {"values": np.array([0.0, 1.0, 2.4, 2.5, 6.0]), "edges": (0.0, 1.0, 2.5, 6.0)}, {}),
    "strong cells": (_cells.strongest_cells, {"prior": 1.3, "data": 40.0}, {}), "cells apart": (_cells.divergence, {"first": np.array([[1.3, 2.0]]), "second": np.array([[3.0, 0.7]])}, {}),
    "nearest counts": (_cells.nearest_counts, {"totals": np.array([[3.0, -1.0, 2.0], [30.0, 30.0, 1.0]]), "n": 10}, {}),
    "radices": (_count_tree.radices_for, {"cells": 16}, {"cells": [6, 64, 7, 97]}), "tree": (_count_tree.tree_counts, {"leaves": np.arange(6), "radices": (2, 3)}, {}),
    "tree size": (_count_tree.tree_size, {"radices": (2, 3)}, {}), "tree moved": (_count_tree.sensitivity_of, {"radices": (2, 3)}, {}),
    "tree sums": (lambda totals, radices, n: _count_tree.cumulative_counts(np.array(totals), radices, n), {"totals": [3.0, 5.0, 1.0, 2.0, -1.0, 2.0, 3.0, 9.0], "radices": (2, 3), "n": 9}, {}),
    "tree deviations": (_count_tree.edge_variances, {"radices": (2, 3)}, {"radices": [(2, 2, 2)]}), "basis": (lambda matrix: _eigenbasis.eigenbasis(tuple(map(tuple, matrix))), {"matrix": MATRIX.tolist()}, {}),
    "norm of basis": (_eigenbasis.norm_bound, {"turned": MATRIX}, {}),
    "steps": (_fixed_point.steps_between, {"values": np.array([-1.0, 0.0, 0.3, 0.7, 9.0]), "lower": 0.0, "upper": 1.0}, {}), "whole": (_fixed_point.whole_total, {"values": np.array([-1.0, 0.4, 0.6, 9.0]), "bound": 4}, {}), "whole bound": (_fixed_point.whole_bound, {"name": "bound", "value": 4}, {}),
    "gamma range": (_gamma.log_range, {"shape": 3.1, "smallest_rate": 0.7, "largest_rate": 40.0}, {"shape": [1e-3, 900.0]}), "gamma shape": (_gamma.checked_shape, {"value": 3.1}, {"value": [1e-7, 1e-6]}),
    "gamma quantiles": (_gamma.quantiles, {"levels": np.array([0.1, 0.5, 0.99]), "shape": 3.1, "rate": 0.7}, {"shape": [1e-3]}),
    "gammas apart": (_gamma.divergence, {"first": np.array([[3.1, 0.7]]), "second": np.array([[2.0, 1.7]])}, {}),
    "products": (row_products.row_products, {"rows": ROWS, "points": ROWS[:2], "steady": False}, {}),
    "a record": (whose_rows.a_record, {"terms": PEOPLE.terms, "unit": "person"}, {"terms": [sf.Persons("who", rule="first", count=20).terms]}),
    "weight": (whose_rows.by_weight, {"weight": sf.Weight("w", 2.0, fixed=True)}, {"weight": [sf.Weight("w", 3.0, fixed=True)]}),
    "prior numbers": (_prior.vector, {"name": "mean", "value": [0.1, 0.2]}, {"value": [[], [[1.0]], [np.inf]]}),
    "dimensions": (lambda a, b: _prior.common_dimension("x", a, b), {"a": 2, "b": 2}, {"a": [None]}),
    **{f"family {name}": (getattr(F, name), given, more) for name, given, more in (
        ("BetaBernoulli", {"alpha": 1.5, "beta": 2.5, "floor": 0.0}, {"floor": [0.1, 0.5, 0.6]}), ("BetaBinomial", {"trials": 4, "alpha": 1.5, "beta": 2.5, "floor": 0.0}, {"floor": [0.1, 0.5]}),
        ("DirichletCategorical", {"levels": ["a", "b", "c"], "alpha": 2.0}, {"levels": [["a"], ["a", "a"], []], "alpha": [[1.0, 2.0], [1.0, 2.0, 3.0], [1.0, 0.0, 3.0]]}),
        ("GammaPoisson", {"shape": 2.0, "rate": 0.5, "bound": 20}, {"bound": [1.5, 1e9]}), ("ExponentialRate", {"shape": 2.0, "rate": 1.0, "bound": 4.0, "lower": None, "upper": None}, {"lower": [0.5], "upper": [3.0]}),
        ("LaplaceScale", {"rate": 1.0, "lower": 0.5, "upper": 3.0, "bound": 8.0, "centre": 1.0}, {"lower": [3.0]}), ("NormalPrecision", {"shape": 2.0, "rate": 1.0, "centre": 0.5, "bound": 4.0, "lower": None, "upper": None}, {}),
        ("NormalMean", {"variance": 4.0, "lower": 0.0, "upper": 20.0, "mean": 10.0, "precision": 0.25}, {"lower": [20.0]}), ("GaussianMean", {"dimension": 3, "radius": 8.0, "precision": 1.0}, {}),
        ("MultivariateNormal", {"known_precision": [[2.0, 0.5], [0.5, 1.0]], "radius": 8.0, "precision": 1.0, "mean": [0.1, 0.2], "public": 0.0}, {}), ("LogitNormal", {"precision": 1.0, "centre": 0.3}, {"precision": [1e-9, 1e12], "centre": [21.0]}),
        ("BoundedMean", {"lower": 0.0, "upper": 6.0}, {"lower": [6.0]}), ("Quantile", {"level": 0.5, "grid": [0, 1, 2, 4, 6]}, {"level": [1.0], "grid": [[1], [2, 1], [1, 1]]}),
        ("Quantiles", {"levels": [0.25, 0.5], "lower": 0.0, "upper": 6.0, "cells": 16}, {"levels": [[], [0.5, 0.25], [0.0], [1.0], 0.5], "cells": [1, 2, 3, 10**7]}),
    )},
}  # fmt: skip


def called(name: str) -> Any:
    function, given, more = CALLS[name]
    return varied(function, given, more)


GIBBS = {name: known.gibbs(name, 2, where)[0] for name in known.LOSSES for where in (known.GAUSSIAN,)}
LISTED = {
    "families": Record("families", FAMILIES, of_family, 1e-11),
    "documents": Record("model_documents", {**{name: model for name, (model, _) in FAMILIES.items()}, **GIBBS}, of_document),
    "losses": Record("losses", {name: name for name in [*known.LOSSES, "log odds"]}, of_loss),
    "priors": Record("priors", {name: name for name in GAUSSIANS}, of_prior), "calls": Record("models", {name: name for name in CALLS}, called),
}  # fmt: skip
RECORDS = list(LISTED.values())


@pytest.mark.planted
@pytest.mark.parametrize("record", LISTED)
def test_what_a_model_says_is_what_is_recorded(record):
    assert LISTED[record].all_differences() == []
