"""Truths from the prior, their totals, and draws made by the real mechanism: what intervals are judged on."""

from __future__ import annotations

import copy

import numpy as np

import sfumato as sf
from sfumato import procedures
from sfumato.queries.statistics import durations, events, log_odds, normal_means, rates, shares
from sfumato.queries.statistics.posterior import parameter_posterior
from sfumato.queries.statistics.protocol import numbers_of

LEVELS = ("a", "b", "c", "d")
MODELS = {
    "Beta-Bernoulli": sf.families.BetaBernoulli(1, 1),
    "Dirichlet share": sf.families.DirichletCategorical(LEVELS, 1.0),
    "Gamma-Poisson": sf.families.GammaPoisson(2.0, 1.0, 20),
    "normal mean": sf.families.NormalMean(1.0, -4.0, 4.0),
}

# Families of one coordinate; all others here have a Gamma prior and sums of durations.
STATISTICS = {
    "BetaBernoulli": rates.rate_statistic,
    "BetaBinomial": rates.rate_statistic,
    "GammaPoisson": events.event_statistic,
    "NormalMean": normal_means.mean_statistic,
    "LogitNormal": log_odds.log_odds_statistic,
}


class Totals:
    """An engine that holds totals and nothing else: the mechanism cannot tell it from one that read rows."""

    def __init__(self, totals):
        self._totals = totals

    def totals(self, tally):
        return self._totals


def invented(model, rng, n):
    """A parameter from the prior and the whole-number totals of n clipped records."""
    kind = model.name
    if kind in ("BetaBernoulli", "BetaBinomial"):
        truth = rng.beta(model.alpha, model.beta)
        while not model.floor <= truth <= 1 - model.floor:
            truth = rng.beta(model.alpha, model.beta)
        return [truth], [int(rng.binomial(n * model.trials, truth))]
    if kind == "DirichletCategorical":
        truth = rng.dirichlet(model.alpha)
        return list(truth), [int(count) for count in rng.multinomial(n, truth)]
    if kind == "GammaPoisson":
        truth = rng.gamma(model.shape) / model.rate
        return [truth], [int(np.minimum(rng.poisson(truth, n), model.bound).sum())]
    if kind == "NormalMean":
        truth = model.mean + rng.standard_normal() / np.sqrt(model.precision)
        records = np.clip(truth + np.sqrt(model.variance) * rng.standard_normal(n), model.lower, model.upper)
        return [truth], [int(np.rint((records - model.lower) / (model.upper - model.lower) * 2.0**40).sum())]
    if kind == "LogitNormal":
        truth = model.centre + rng.standard_normal() / np.sqrt(model.precision)
        return [truth], [int(rng.binomial(n, 1 / (1 + np.exp(-truth))))]
    truth = rng.gamma(model.shape) / model.rate
    while model.lower is not None and not model.lower <= truth <= model.upper:
        truth = rng.gamma(model.shape) / model.rate
    scale = rng.exponential(1 / truth, n) if model.shape_per_record == 1 else rng.standard_normal(n) / np.sqrt(truth)
    shares = model.statistic(scale + getattr(model, "centre", 0.0))
    return [truth], [int(np.rint(shares * 2.0**40).sum())]


def draws_of(plan, totals, source):
    """The planned mechanism's own draws, shaped (draws, coordinates)."""
    found = procedures.named(plan.procedure).carry_out(plan.task, Totals(totals), source)
    return found.pooled().reshape(plan.draws, -1)


def belief(model, n, numbers, draws, level=0):
    """What one coordinate's draws say about its parameter, to a reader who gives the prior that the truths are from."""
    prior = copy.copy(model)  # the model itself would be no prior of the reader's
    if model.name == "DirichletCategorical":
        return parameter_posterior(shares.share_statistics(model, prior, n, numbers, draws, [level])[0])
    build = STATISTICS.get(model.name, durations.duration_statistic)
    return parameter_posterior(build(model, prior, n, numbers, draws[:, level]))


def naive(model, n, value):
    """Where the truth falls in the posterior that takes a mean of draws as the rows' own: a function of the truth."""
    from scipy import stats

    if model.name == "BetaBernoulli":
        count = round(value * n)
        return stats.beta(model.alpha + count, model.beta + n - count).cdf
    if model.name == "DirichletCategorical":
        count = round(value * n)
        return stats.beta(model.alpha[0] + count, sum(model.alpha[1:]) + n - count).cdf
    if model.name == "GammaPoisson":
        return stats.gamma(model.shape + value * n, scale=1 / (model.rate + n)).cdf
    return stats.norm(value, 1 / np.sqrt(model.precision + n / model.variance)).cdf


def places(model, n, epsilon, draws, runs, seed=1, mechanism="auto", wrong=None):
    """Where the truth falls in the noise-aware law and in the naive one, over data sets; both (runs,).

    `wrong` changes the numbers that the reader believes the plan to have.
    """
    plan = sf.plan(model, n=n, epsilon=epsilon, delta=1e-6, draws=draws, mechanism=mechanism)
    numbers = numbers_of(plan.to_json())
    numbers = numbers if wrong is None else wrong(numbers)
    rng, source = np.random.default_rng([seed, n, draws]), sf.seeded(seed)
    aware, plain = np.empty(runs), np.empty(runs)
    for run in range(runs):
        truth, totals = invented(model, rng, n)
        found = draws_of(plan, totals, source)
        level = run % len(truth)
        aware[run] = belief(model, n, numbers, found, level).below(truth[level])
        plain[run] = naive(model, n, float(found[:, level].mean()))(truth[level]) if model in MODELS.values() else 0.5
    return plan, aware, plain


def coverage(places, level=0.9):
    """Share of truths inside the equal-tailed interval."""
    tail = 0.5 * (1 - level)
    return float(np.mean((places >= tail) & (places <= 1 - tail)))
