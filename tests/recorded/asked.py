# ruff: noqa: E501 - an expression stands in one line, as it is recorded
"""Public functions, methods and their refusals beyond the ways of reading one release: expressions by topic.

TOPICS names them; each is evaluated with `names()`. A topic that begins with "wrong" holds wrong arguments alone.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import sfumato as sf
from recorded import kinds, ways
from sfumato.pictures import audit, privacy_curve, trade_off
from sfumato.queries.batches import LinearUtility
from sfumato.rehearsing.declared_laws import counts
from sfumato.rehearsing.expected_rows import ExpectedRows
from sfumato.rehearsing.parameter_errors import parameter_errors
from sfumato.shells.report import methods

SURVEY = kinds.declared("region", "age", "smoker", "joined", "ill", target="ill")
COSTS = kinds.declared("region", "age", "cost", target="cost")
VISITS = kinds.declared("age", "visits", target="visits")
REGIONAL = kinds.declared("age", "smoker", "region", target="region")
NUMBERED = sf.Schema({"floor": sf.Category([1, 2, 3], missing=1), "x": sf.Number(0, 9)}, target="x", name="floors")
VECTORS = sf.Schema.vector(2, data_norm=1.0, target=sf.Category([-1, 1], missing=-1), name="vectors")


@cache
def planned(name: str, **options: Any) -> sf.Plan:
    """A plan of a regression or family."""
    terms = {"epsilon": 4.0, "delta": 1e-6, **options}
    if name == "rate":
        return sf.plan(sf.families.BetaBernoulli(2, 3), 100, **terms)
    if name == "events":
        return sf.plan(sf.families.GammaPoisson(60, 20, 8), 100, **terms)
    if name == "vectors":
        model = sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(5.0), 2)
        return sf.plan(model, 3_000, goal="estimate", **terms)
    schema = {"logistic": SURVEY, "linear": COSTS, "poisson": VISITS}[name]
    return sf.plan(sf.regression(name, schema), 3_000, goal="estimate", **terms)


def facts(schema: sf.Schema, rows: Any = None, **more: Any) -> ExpectedRows:
    return ExpectedRows(schema, rows, **more)


def drawn_rows(kind: str, schema: sf.Schema, rows: Any = None) -> list[str]:
    """Of twenty invented rows, each column's least, mean and largest value."""
    made = ExpectedRows(schema, rows).columns(planned(kind).model, 20)
    return [
        f"{name} {np.asarray(values, dtype=float).min():.5g} {np.asarray(values, dtype=float).mean():.5g} "
        f"{np.asarray(values, dtype=float).max():.5g} {float(np.asarray(values, dtype=float).ravel()[3]):.5g}"
        for name, values in made.items()
    ]


def names() -> dict[str, Any]:
    """What the expressions name."""
    return {
        "sf": sf, "np": np, "nan": float("nan"), "inf": float("inf"), "r": kinds.release, "rows": ways.public_rows,
        "near": ways.near, "LinearUtility": LinearUtility, "one": lambda draws: np.ones((len(draws), 1)),
        "facts": facts, "drawn_rows": drawn_rows, "planned": planned, "survey": SURVEY, "costs": COSTS, "visits": VISITS,
        "regional": REGIONAL, "floors": NUMBERED, "vectors": VECTORS, "counts": counts, "people": kinds.people(),
        "parameter_errors": parameter_errors, "methods": methods, "pictures": {"privacy": privacy_curve, "trade": trade_off, "audit": audit},
    }  # fmt: skip


TOPICS: dict[str, tuple[str, ...]] = {
    "expected rows": (
        "facts(survey).assumptions", "facts(survey).warning", "facts(survey, {'ill': 0.2}).warning",
        "facts(survey, {'ill': 0.2, 'age': {'mean': 40, 'sd': 10}, 'region': {'north': 0.5}, 'smoker': 0.3}).assumptions",
        "facts(survey, {'region': {'north': 0.5, 'east': 0.3, 'south & west': 0.2}, 'joined': {'mean': '2020-05-01', 'sd': 90}}).assumptions",
        "facts(survey, {'smoker': {True: 0.25}, 'ill': {False: 0.9}}).assumptions",
        "facts(survey, {'effects': {'age': 0.03, 'region=east': 1, 'age:smoker': 0.01, 'age^2': 0.001}}).assumptions",
        "facts(floors, {'floor': {'1': 0.5, 2: 0.25}, 'x': {'mean': 4}}).assumptions", "facts(floors).assumptions",
        "facts(costs, {'cost': {'mean': 30}}).assumed(planned('linear').model)",
        "facts(visits, {'visits': {'mean': 3}}).assumed(planned('poisson').model)",
        "facts(vectors, {'effects': {'x0': 2}}).assumptions", "facts(regional, {'region': {'north': 0.7}}).assumptions",
        "facts(survey, {name: people[name][:30] for name in ('region', 'age', 'smoker', 'joined', 'ill')}).assumptions",
        "facts(survey, {name: people[name][:30] for name in ('region', 'age', 'smoker', 'joined')}, label=0.25).assumptions",
        "drawn_rows('logistic', survey)", "drawn_rows('logistic', survey, {'ill': 0.2, 'age': {'mean': 40, 'sd': 10}, 'region': {'north': 0.9}})",
        "drawn_rows('logistic', survey, {'smoker': 0.001, 'effects': {'age': 0.3, 'region=east': 1, 'age:smoker': 0.1, 'age^2': 0.01}})",
        "drawn_rows('linear', costs, {'cost': {'mean': 30, 'sd': 2}, 'effects': {'age': 0.5}})",
        "drawn_rows('poisson', visits, {'visits': {'mean': 3}, 'effects': {'age': 0.02}})", "drawn_rows('poisson', visits)",
        "drawn_rows('vectors', vectors, {'effects': {'x0': 2, 'x1': -1}})",
        "drawn_rows('logistic', survey, {name: people[name][:30] for name in ('region', 'age', 'smoker', 'joined', 'ill')})",
        "drawn_rows('logistic', survey, {name: people[name][:7] for name in ('region', 'age', 'smoker', 'joined')})",
        "counts([0.5, 0.3, 0.2], 7)", "counts([0.999, 0.001], 4)", "counts([0.25, 0.25, 0.25, 0.25], 3)", "counts([0.34, 0.33, 0.33], 100)",
        "facts(survey).data(facts(survey).columns(planned('logistic').model, 8)).n",

    ),
    "wrong facts": (
        "facts('survey')", "facts(survey, sf.Dataset.from_table(people, schema=survey))", "facts(survey, {'weight': 3})",
        "facts(survey, {'age': 40})", "facts(survey, {'age': {'mean': 40}})", "facts(survey, {'age': {'mean': 10, 'sd': 3}})",
        "facts(survey, {'age': {'mean': 18, 'sd': 3}})", "facts(survey, {'age': {'mean': 90, 'sd': 3}})",
        "facts(survey, {'age': {'mean': 40, 'sd': 0}})", "facts(survey, {'age': {'mean': 40, 'sd': nan}})",
        "facts(survey, {'age': {'mean': 40, 'sd': 34}})", "facts(survey, {'age': {'mean': 40, 'sd': 3, 'min': 4}})",
        "facts(survey, {'joined': {'mean': '1999-01-01', 'sd': 9}})", "facts(survey, {'joined': {'mean': 'May', 'sd': 9}})",
        "facts(survey, {'smoker': 1.2})", "facts(survey, {'smoker': -0.1})", "facts(survey, {'smoker': nan})", "facts(survey, {'smoker': 'half'})",
        "facts(survey, {'smoker': {1: 0.5}})", "facts(survey, {'region': 0.3})", "facts(survey, {'region': {'west': 0.3}})",
        "facts(survey, {'region': {'north': 0.8, 'east': 0.4}})", "facts(survey, {'region': {'north': 0.5, 'east': 0.3, 'south & west': 0.1}})",
        "facts(survey, {'region': {'north': 1.5}})", "facts(floors, {'floor': {'4': 0.5}})",
        "facts(survey, {'effects': 3})", "facts(survey, {'effects': {'ill': 3}})", "facts(survey, {'effects': {'age': nan}})",
        "facts(survey, {'effects': {'age': 1, 'age:smoker': 1, 'smoker:age': 2}})", "facts(survey, {'effects': {'age:age': 1}})",
        "facts(survey, {'effects': {'region=north': 1}})", "facts(survey, {'effects': {3: 1}})", "facts(survey, {'effects': {'age^9': 1}})",
        "facts(vectors, {'effects': {'age': 1}})", "facts(costs, {'cost': {'mean': 30, 'sd': 50}})", "facts(costs, {'cost': 0.3})",
        "facts(survey, {'age': [40], 'smoker': [True]})", "facts(survey, [1, 2])",
        "sf.expected_widths(planned('rate'), survey)", "sf.expected_widths(3, survey)", "sf.expected_widths(planned('logistic'), 3)",
        "sf.expected_widths(planned('logistic'), costs)", "sf.expected_widths(planned('logistic'), survey, runs=0)",
        "sf.expected_widths(planned('logistic'), survey, level=1)", "sf.expected_widths(planned('logistic'), survey, facts(costs))",
        "sf.expected_widths(planned('logistic', mechanism='langevin-path'), survey)",
    ),
    "expected widths": (
        "sf.expected_widths(planned('logistic'), survey, runs=3)",
        "sf.expected_widths(planned('logistic'), survey, {'ill': 0.1, 'smoker': 0.001}, runs=2, level=0.5)",
        "sf.expected_widths(planned('logistic'), survey, {'ill': 0.1, 'smoker': 0.001}, runs=2)['age']",
        "sf.expected_widths(planned('logistic'), survey, runs=2)['nothing']",
        "sf.expected_widths(planned('linear'), costs, runs=2, whole=True).to_json()",
        "sf.expected_widths(planned('poisson', epsilon=12.0), visits, {'visits': {'mean': 2}}, runs=2)",
        "sf.expected_widths(planned('poisson', epsilon=0.4), visits, runs=2)",
        "sf.rehearse(planned('linear'), 2, schema=costs)",
        "sf.rehearse(planned('vectors'), 2)", "sf.rehearse(planned('vectors'), 2, seed=3)",
        "sf.rehearse(planned('vectors', mechanism='langevin-path', keep=('transcript',)), 2)", "sf.rehearse(planned('rate'), 2)",
        "sf.rehearse(planned('linear'), 2, dimension=0)", "sf.rehearse(planned('linear'), 0)", "sf.rehearse(planned('linear'), 2)",
        "sf.plan_for_width(sf.families.BetaBernoulli(), 2000, 0.05)", "sf.plan_for_width(sf.families.BetaBernoulli(), 2000, 0.001)",
        "sf.plan_for_width(sf.families.BoundedMean(0, 10), 2000, 0.5, 0.8, epsilons=(0.1, 5))",
        "sf.plan_for_width(sf.families.BetaBernoulli(), 2000, 0.1, epsilon=1.0, draws=None)",
        "sf.plan_for_width(sf.families.BetaBernoulli(), 2000, -1)", "sf.plan_for_width(sf.families.BetaBernoulli(), 2000, 0.1, coefficient='age')",
        "sf.plan_for_width(sf.regression('linear', costs), 9000, 4.0)", "sf.plan_for_width(sf.regression('linear', costs), 9000, 4.0, epsilon=1)",
    ),
    "simulations": (
        "sf.simulate(planned('rate'), [40, 60, 80], seed=1)", "sf.simulate(planned('rate'), [40, 60, 80], seed=1).draws",
        "sf.simulate(planned('rate', mechanism='noisy-statistics'), [[0], [60], [100]], seed=2).draws",
        "sf.simulate(planned('events'), [40, 60, 80], seed=1).draws",
        "sf.simulate(planned('rate'), [40, 60], seed=1).log_likelihood([1, 0, 1])",
        "sf.simulate(planned('rate'), [40, 60], seed=1).log_likelihood([[1, 0, 1], [0, 0, 0]])",
        "sf.simulate(planned('events'), [40, 60], seed=1).log_likelihood([3, 4])",
        "sf.posterior_divergence(planned('rate'), [40, 60])", "sf.posterior_divergence(planned('events'), [40, 60])",
        "sf.posterior_divergence(planned('rate', mechanism='noisy-statistics'), [0, 40, 60, 100])",
        "sf.posterior_divergence(planned('rate', mechanism='noisy-statistics', epsilon=0.3), [1, 40])",
        "sf.posterior_divergence(planned('events', mechanism='noisy-statistics'), [0, 40, 700])",
        "sf.simulate(3, [1], seed=1)", "sf.simulate(planned('vectors'), [1], seed=1)", "sf.simulate(planned('rate'), [101], seed=1)",
        "sf.simulate(planned('rate'), [-1], seed=1)", "sf.simulate(planned('rate'), [nan], seed=1)", "sf.simulate(planned('rate'), [], seed=1)",
        "sf.simulate(planned('rate'), [[1, 2]], seed=1)", "sf.simulate(planned('rate'), ['a'], seed=1)", "sf.simulate(planned('rate'), [1], seed=-1)",
        "sf.simulate(planned('rate'), [40, 60], seed=1).log_likelihood([2])", "sf.simulate(planned('rate'), [40, 60], seed=1).log_likelihood([0.5])",
        "sf.simulate(planned('rate'), [40, 60], seed=1).log_likelihood([])", "sf.simulate(planned('rate'), [40, 60], seed=1).log_likelihood([[1, 0]])",
        "sf.simulate(planned('rate'), [40, 60], seed=1).log_likelihood([[[1]]])", "sf.simulate(planned('events'), [40, 60], seed=1).log_likelihood([-1])",
        "sf.simulate(planned('events'), [40, 60], seed=1).log_likelihood(['x'])", "sf.posterior_divergence(planned('logistic'), [1])",
    ),
    "plots": (
        "sf.plots.intervals(r('shares'))", "sf.plots.intervals(r('logistic with scores'), 0.5, include='privacy')",
        "sf.plots.intervals(r('rates by region'), only=['theta[east]'])", "sf.plots.intervals(r('shares'), only=['green', 'red'])",
        "sf.plots.intervals(r('shares'), only=['blue', 'x'])", "sf.plots.intervals(r('shares'), only=[])", "sf.plots.intervals(3)",
        "sf.plots.over_time({'2023': r('rate noisy'), '2024': r('rate diffused')})", "sf.plots.over_time({'a': r('shares'), 'b': r('shares noisy')}, 0.5, 'green')",
        "sf.plots.over_time({'a': r('mean of dates'), 'b': r('mean of dates')})", "sf.plots.over_time({'a': r('shares')})",
        "sf.plots.over_time({})", "sf.plots.over_time({'a': r('shares'), 'b': r('rate noisy')}, label='green')", "sf.plots.over_time({'a': r('rate noisy'), 'b': r('mean of dates')})",
        "sf.plots.privacy_curve(r('rate noisy'))", "sf.plots.privacy_curve({'one': planned('rate'), 'two': r('shares')}, epsilon=2.0, delta=1e-6)",
        "sf.plots.privacy_curve(sf.Pure(1.0))", "sf.plots.privacy_curve(3)", "sf.plots.privacy_curve(r('rate noisy'), epsilon=-1)", "sf.plots.privacy_curve(r('rate noisy'), delta=2)",
        "sf.plots.renyi_curve(r('rate noisy'))", "sf.plots.renyi_curve(r('target renyi'), orders=(1.5, 8), epsilon=3.0)", "sf.plots.renyi_curve(planned('rate', mechanism='diffused'))",
        "sf.plots.renyi_curve(r('rate noisy'), orders=(0.5, 2))", "sf.plots.renyi_curve(r('rate noisy'), orders=(4, 2))", "sf.plots.renyi_curve('x')",
        "sf.plots.schedule(planned('vectors', mechanism='langevin-path'))", "sf.plots.schedule(planned('rate'))",
        "sf.plots.trade_off(r('rate noisy'))", "sf.plots.trade_off({'a': sf.Gaussian(1.0), 'b': sf.Pure(1.0)})", "sf.plots.trade_off(0)",
        "sf.plots.utility_curve(sf.price_list(sf.families.BetaBernoulli(), 200, (0.1, 1, 3), 1e-6))",
        "sf.plots.utility_curve({'few': sf.price_list(sf.families.BetaBernoulli(), 200, (0.1, 1), 1e-6), 'many': sf.price_list(sf.families.BetaBernoulli(), 900, (0.1, 1), 1e-6)})",
        "sf.plots.utility_curve(planned('rate'))", "sf.plots.theta_mass((0.25,), rates=(0.5,))", "sf.plots.theta_mass(())", "sf.plots.theta_mass((0.3,))",
        "r('shares').plot()", "r('logistic with scores').plot(0.5)", "r('network of a survey').plot()", "r('learned').plot()", "r('cross table').plot()",
        "r('histogram of dates').plot()", "r('shares').plot(2)",
    ),
    "cards": (
        "sf.price_list(sf.families.BetaBernoulli(), 200, (1e-5, 1, 3), 1e-6)._repr_html_()", "planned('logistic')._repr_html_()", "planned('rate')._repr_html_()",
        "sf.compare(sf.families.BetaBernoulli(), 200, 1.0, 1e-6)._repr_html_()", "sf.compare(planned('vectors').model, 200, 1.0, 1e-6)._repr_html_()",
        "r('rate noisy').guarantee._repr_html_()", "r('rate seeded').guarantee._repr_html_()", "r('shaped chain').guarantee._repr_html_()",
        "r('rate noisy').guarantee.table()", "planned('rate').guarantee",
    ),
    "wrong questions": (
        *(f"r('rate noisy').interval({each})" for each in ("0", "1", "nan", "-0.5", "'x'", "0.9, 'other'", "prior=3")),
        *(f"r('rate noisy').quantile({each})" for each in ("2", "-0.1", "nan", "'x'", "[]")),
        *(f"r('rate noisy').ask.{each}" for each in (
            "mean(bounds=(0.5, 0.4))", "mean(bounds=(0, 0.1))", "mean(bounds=(nan, 1))", "mean(lambda d: 1)", "mean(lambda d: d[:, 3])",
            "mean(lambda d: d * nan)", "mean(failure=0, bounds=(0, 1))", "mean(lambda d: d[:2])", "probability(lambda d: d)", "probability(lambda d: d[:1] > 0)",
            "quantile(1)", "quantile(nan)", "quantile(0.5, failure=1)", "best([[1]], ['a'])", "best([[1, 1], [1, 1]], ['a', 'b'])", "best([[nan, 1], [1, 1]], ['a', 'b'])",
            "best(near, [1])", "best(near, [1], (1, 0))", "best(near, [1], (0, inf))", "top(0)", "top(3)", "top(1.5)", "prediction(public_rows=[1])", "prediction([1])",
        )),
        *(f"r('rate noisy').respond({each})" for each in (
            "near, []", "near, (1, 0)", "near, (0, inf)", "near, (0, nan)", "lambda d, c: np.full((len(d), len(c)), 2.0), [1]", "lambda d, c: np.ones(3), [1]",
            "lambda d, c: np.full((len(d), len(c)), nan), [1]", "lambda d, c: np.full((len(d), len(c)), -0.1), [1]", "near, [1], queries=0", "near, [1], failure=0", "near, [1], queries=5, query_set=3", "near, [1], queries=2, query_set=8",
            "near, (0, 1), lipschitz=-1", "near, (0, 1)", "near, [0.1, 0.9], prior=3", "near, [0.1, 0.9], prior=sf.families.BetaBernoulli(1, 1)", "near, [0.1, 0.9], prior=sf.families.BetaBernoulli(12, 9), log_ratio=0.5",
            "near, [0.1, 0.9], prior=sf.families.BetaBernoulli(12, 9), log_ratio=-1", "near, (0, 1), lipschitz=0.5, queries=3",
        )),
        *(f"r('rate noisy').respond_all({each})" for each in (
            "near, [1]", "[near], []", "[], [1]", "lambda d, c, q: np.ones((len(q), len(d), len(c))), [1], []", "lambda d, c, q: np.ones((len(q), len(d), len(c))) * 0.5, [1, 2], [7, 8, 9]", "[near, near], [0.1, 0.6]",
            "LinearUtility(one, [[[2.0]]]), [1]", "LinearUtility(one, [[[0.5, 1.0]]]), [1]", "LinearUtility(lambda d: d[:, 0] if d.ndim > 1 else d, [[[0.5]]]), [1]", "LinearUtility(one, [[[-0.5], [0.5]]]), [1, 2]",
        )),
        *(f"r('rate noisy').attacker({each})" for each in ("0", "1", "nan", "0.3, levels=(2,)", "0.3, levels=(-1,)", "separation=-1", "distance=2", "cells=1", "failure=0", "0.9")),
        *(f"r('rate noisy').to_pandas({each})" for each in ("noise_aware=True, draws=0", "noise_aware=True, draws=2, seed=-1", "noise_aware=True, draws=2, seed=5", "scaled=True")),
        *(f"r('rate noisy').log_likelihood(public_rows={each})" for each in ("{}", "{'y': [1]}", "{'x': []}", "{'x': ['maybe']}", "{'x': [True, None]}", "3", "{'x': [True]}, target=[1]", "{'x': [True], 'other': [1]}")),
        "r('rate noisy').summary(2)", "r('rate noisy').summary(reference={'x': 1})", "r('rate noisy').synthesize(3)",
        "r('events').log_likelihood(public_rows={'x': [1, 2, 20]})", "r('mean').log_likelihood(public_rows={'x': [1.0, -2.0, None]})", "r('shares').log_likelihood(public_rows={'x': ['red', 'black']})",
        "r('shares').log_likelihood(public_rows={'x': ['red', 'blue']})", "r('vector mean').log_likelihood(public_rows=[[0.1, 0.2]])", "r('vector mean').log_likelihood(public_rows=[[3.0, 0.2]])", "r('vector mean').log_likelihood(public_rows=[[0.1]])",
        "r('rate diffused').respond(near, [0.1, 0.6], prior=sf.families.BetaBernoulli(14, 8))", "r('rate diffused').respond(near, [0.1, 0.6], prior=sf.families.BetaBernoulli(14, 8), log_ratio=0.4)",
        "r('rate diffused').respond_all([near], [0.1, 0.6], prior=sf.families.BetaBernoulli(14, 8), log_ratio=0.4)", "r('rate diffused').respond(near, [0.1], prior=lambda t: t, against=lambda t: t)",
        "r('rate diffused').ask.mean(lambda d: d * 2, 0.1, (0, 2))", "r('rate diffused').ask.quantile(0.999)", "r('shares').ask.mean(bounds=(0, 1))", "r('shares').ask.top(3)", "r('shares').ask.best([[0, 1], [1, 0], [1, 1]], ['a', 'b'], failure=0.2)",
    ),
    "wrong questions to regressions": (
        *(f"r('logistic').coefficients({each})" for each in ("0", "nan", "0.9, 'robust'", "0.9, 'x'", "reference={'age': 1}", "reference={'region': 'west'}", "reference={'nothing': 'x'}", "reference={'region': 'sum'}", "reference=3", "reference={'region': 'east'}, scaled=True", "reference={'region': 'east'}")),
        *(f"r('logistic').contrast({each})" for each in ("{}", "{'nothing': 1}", "{'age': nan}", "{'age': 'x'}", "{'region=north': 1}", "{'region=north': 1, 'region=east': -1}", "{'age': 0}", "3", "{'age': 10}, 0", "{'age': 10, 'smoker': 1}, 0.5", "{'age': 10}, 0.9, 'robust'")),
        *(f"r('logistic').predict(public_rows={each})" for each in ("{}", "{'age': [3]}", "{**rows(r('logistic')), 'region': ['west'] * 5}", "{**rows(r('logistic')), 'age': ['x'] * 5}", "{**rows(r('logistic')), 'age': [1]}", "3", "[[1, 2]]", "{name: each[:0] for name, each in rows(r('logistic')).items()}", "{**rows(r('logistic')), 'smoker': [None, True, True, False, 'no']}")),
        *(f"r('logistic').predict_interval(public_rows=rows(r('logistic')), {each})" for each in ("level=0", "of='x'", "include='x'", "level=0.5, include='privacy'")),
        "r('logistic').marginal_effects(public_rows=rows(r('logistic')), level=2)", "r('logistic').marginal_effects(public_rows={})", "r('logistic').marginal_effects(public_rows=rows(r('logistic')), level=0.5, include='privacy')",
        "r('logistic').rows_note(public_rows={**rows(r('logistic')), 'age': [1, 200, None, 40, 40], 'region': [None] * 5})",
        "r('logistic').log_likelihood(public_rows={name: each for name, each in rows(r('logistic')).items() if name != 'ill'})", "r('svm').log_likelihood(public_rows=rows(r('svm')))", "r('linear').log_likelihood(public_rows=rows(r('linear')))",
        "r('poisson').predict_interval(public_rows=rows(r('poisson')), level=0.5, of='answer')", "r('quantile regression').predict_interval(public_rows=rows(r('quantile regression')))", "r('linear').predict_proba(public_rows=rows(r('linear')))", "r('multinomial').predict_proba(public_rows=rows(r('multinomial')))", "r('multinomial').marginal_effects(public_rows=rows(r('multinomial')))",
        "r('multinomial').contrast({r('multinomial').labels[1]: 1})", "r('chain in a ball').predict(public_rows=[[0.5, 0.5]])", "r('chain in a ball').predict(public_rows=[[5, 5]])", "r('chain in a ball').predict(public_rows=[[nan, 0.5]])", "r('chain in a ball').predict(public_rows=[[0.5]])", "r('chain in a ball').log_likelihood(public_rows=[[0.5, 0.5]], target=[1])", "r('chain in a ball').log_likelihood(public_rows=[[0.5, 0.5]], target=[3])", "r('chain in a ball').log_likelihood(public_rows=[[0.5, 0.5]], target=[1, 0])", "r('chain in a ball').log_likelihood(public_rows=[[0.5, 0.5]])",
        *(f"r('logistic').{each}(rows(r('logistic')))" for each in ("predict", "predict_proba", "rows_note", "predict_interval", "marginal_effects", "log_likelihood")), "r('logistic').predict()",
        "r('logistic of terms').marginal_effects(public_rows=rows(r('logistic of terms')))", "r('logistic of terms').contrast({'age^2': 1})", "r('linear of dates').predict(public_rows=rows(r('linear of dates')))", "r('logistic with scores').interval(0.9, 'robust')", "r('logistic with scores').coefficients(0.9, 'robust')", "r('logistic with scores').predict_interval(public_rows=rows(r('logistic')), include='robust')",
        "r('visits logistic').predict(public_rows=rows(r('visits logistic')))", "r('logistic weighted').coefficients(0.5)", "r('linear').prior_dominated(r('linear').interval() * 50)",
    ),
    "wrong questions to tables": (
        *(f"r('network of a survey').{each}" for each in (
            "marginal([])", "marginal('nothing')", "marginal(['region', 'region'])", "marginal('region', interval=2)", "marginal('region', draw=5)", "marginal('region', draw=0)", "marginal('region', draw=-1)", "marginal('region', debias=False)", "marginal(3)",
            "conditional('region', 'region')", "conditional('region', [])", "conditional('region', 'nothing')", "conditional('region', {'smoker': 'maybe'})", "conditional('region', {'smoker': True}, interval=0.5)", "conditional('nothing', 'smoker')", "conditional('cheap', ['region', 'smoker'], interval=0.9)",
            "synthesize(0)", "synthesize(-1)", "synthesize(2, to='x')", "synthesize(2, 1, draw=9)", "synthesize(2, 1, debias=False)", "synthesize(4, 2, to='pandas')", "cross_table()", "histogram()", "group_sizes()",
        )),
        *(f"r('network drawn').{each}" for each in ("marginal('region', interval=0.9)", "marginal('region', draw=2)", "marginal(['smoker', 'ill'], draw=1)", "conditional('smoker', {'region': 'east'}, draw=1)")),
        *(f"r('learned with a rule').{each}" for each in ("marginal([])", "marginal('nothing')", "marginal(['region', 'income'], interval=0.9)", "marginal(['age', 'smoker'])", "marginal(['age', 'smoker', 'region'], interval=0.9)", "marginal('age', draw=0)", "conditional('smoker', 'age', interval=0.9)", "conditional('smoker', {'age': 3})", "conditional('income', 'income')", "synthesize(2, 1, to='pandas')", "synthesize(2.5)", "to_pgmpy()", "interval(0.5)", "marginal('income', interval=0.5)")),
        *(f"r('cross table').{each}" for each in ("cross_table(of='x')", "cross_table('nothing')", "cross_table('region', 'region')", "cross_table('region')", "cross_table('smoker', 'region', of='column shares')", "cross_table(level=1)", "marginal('smoker', interval=0.9)", "marginal('nothing')", "conditional('smoker', 'region', interval=0.9)", "conditional('smoker', {'region': 'x'})", "cross_table().to_pandas()", "synthesize(3)", "cross_table('smoker', of='row shares')", "ask.top(2)")),
        *(f"r('histogram').{each}" for each in ("histogram('x')", "histogram(level=0)", "histogram().quantile(2)", "histogram().quantile(0)", "histogram().quantile(0.999, 0.5)", "histogram().quantile(nan)", "histogram('counts', 0.99)", "histogram().to_pandas()", "ask.top(2)")),
        "r('histogram of dates').histogram().quantile(0.5)", "r('histogram of dates').histogram('counts')", "r('histogram of dates').summary()",
        *(f"r('quantiles').column_quantiles({each})" for each in ("[]", "2", "nan", "'x'", "[0.5, 0.2]", "0.5, 1", "0.5, 0.9, 'x'", "[0.9, 0.99], 0.5")),
        "r('quantiles of dates').column_quantiles([0.3, 0.6], 0.5)", *(f"r('rates by region').group_sizes({each})" for each in ("", "0.5", "2")), "r('means by region').group_sizes()", "r('visits').group_sizes()", "r('groups diffused').group_sizes()", "r('rates by region').interval(0.9, prior=sf.families.BetaBernoulli(2, 2))",
    ),
}  # fmt: skip
