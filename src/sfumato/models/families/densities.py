"""Log densities of one record given a drawn parameter, family by family: what a held-out likelihood is made of.

`log_density(model, theta, records)` broadcasts: theta is shaped (..., d), d numbers of a draw, records (...), vectors
(..., k). A record is a bit, a count, a number, a vector, or the position of its level. Densities of unclipped records are
meant: clipping to the declared bounds protects the private ones and is no part of the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato.errors import ArgumentError
from sfumato.models.families._rate import Rate
from sfumato.models.families.beta_bernoulli import BetaBernoulli
from sfumato.models.families.beta_binomial import BetaBinomial
from sfumato.models.families.dirichlet_categorical import DirichletCategorical
from sfumato.models.families.exponential_rate import ExponentialRate
from sfumato.models.families.family import Array, Family
from sfumato.models.families.finite import Finite
from sfumato.models.families.gamma_poisson import GammaPoisson
from sfumato.models.families.gaussian_mean import GaussianMean
from sfumato.models.families.histogram import Histogram
from sfumato.models.families.laplace_scale import LaplaceScale
from sfumato.models.families.logit_normal import LogitNormal
from sfumato.models.families.multivariate_normal import MultivariateNormal
from sfumato.models.families.normal_mean import NormalMean
from sfumato.models.families.normal_precision import NormalPrecision

_LOG_2PI = math.log(2 * math.pi)


def log_density(model: Family, theta: Array, records: Array) -> Array:
    """Log density of records under drawn parameters; a model that has no likelihood is refused."""
    density = DENSITIES.get(type(model))
    if density is None:
        able = ", ".join(family.name for family in DENSITIES)
        raise ArgumentError(
            f"a held-out likelihood needs a model of single records with a likelihood ({able}); {model.name} has none here."
        )
    return np.asarray(density(model, theta, records), dtype=np.float64)


def _rate(model: Rate, theta: Array, records: Array) -> Array:
    """Binomial: log C(m, x) + x log theta + (m - x) log(1 - theta)."""
    from scipy.special import gammaln, xlog1py, xlogy

    rate, m = theta[..., 0], model.trials
    choose = gammaln(m + 1) - gammaln(records + 1) - gammaln(m - records + 1) if m > 1 else 0.0
    return np.asarray(choose + xlogy(records, rate) + xlog1py(m - records, -rate))


def _categorical(model: DirichletCategorical, theta: Array, records: Array) -> Array:
    places = np.asarray(records, dtype=np.int64)
    shape = np.broadcast_shapes(theta.shape[:-1], places.shape)
    shares = np.broadcast_to(theta, (*shape, theta.shape[-1]))
    chosen = np.take_along_axis(shares, np.broadcast_to(places, shape)[..., None], axis=-1)[..., 0]
    with np.errstate(divide="ignore"):  # a share of 0 makes its level impossible
        return np.asarray(np.log(chosen))


def _binned(model: Histogram, theta: Array, records: Array) -> Array:
    """The log share of each record's bin: a probability of bins, not a density of values."""
    return _categorical(model, theta, model.codes(records).astype(np.float64))


def _poisson(model: GammaPoisson, theta: Array, records: Array) -> Array:
    """Poisson: x log theta - theta - log x!."""
    from scipy.special import gammaln, xlogy

    rate = theta[..., 0]
    return np.asarray(xlogy(records, rate) - rate - gammaln(records + 1))


def _exponential(model: ExponentialRate, theta: Array, records: Array) -> Array:
    return np.asarray(np.log(theta[..., 0]) - theta[..., 0] * records)


def _laplace(model: LaplaceScale, theta: Array, records: Array) -> Array:
    return np.asarray(np.log(theta[..., 0] / 2) - theta[..., 0] * np.abs(records - model.centre))


def _precision(model: NormalPrecision, theta: Array, records: Array) -> Array:
    precision = theta[..., 0]
    return np.asarray(0.5 * (np.log(precision) - _LOG_2PI) - 0.5 * precision * (records - model.centre) ** 2)


def _normal(model: NormalMean, theta: Array, records: Array) -> Array:
    return np.asarray(
        -0.5 * (_LOG_2PI + math.log(model.variance)) - (records - theta[..., 0]) ** 2 / (2 * model.variance)
    )


def _logit(model: LogitNormal, theta: Array, records: Array) -> Array:
    """Bernoulli in log odds: x t - log(1 + e^t)."""
    return np.asarray(records * theta[..., 0] - np.logaddexp(0.0, theta[..., 0]))


def _unit_vectors(model: GaussianMean, theta: Array, records: Array) -> Array:
    return np.asarray(-0.5 * ((records - theta) ** 2).sum(axis=-1) - 0.5 * model.dimension * _LOG_2PI)


def _vectors(model: MultivariateNormal, theta: Array, records: Array) -> Array:
    known = np.array(model.known_precision)
    away = records - theta
    volume = float(np.linalg.slogdet(known)[1])
    return np.asarray(0.5 * (volume - model.size * _LOG_2PI) - 0.5 * ((away @ known) * away).sum(axis=-1))


def _finite(model: Finite, theta: Array, records: Array) -> Array:
    """The row of the user's table whose point was drawn."""
    points = np.array(model.grid)
    rows = np.abs(theta[..., None, :] - points).max(axis=-1).argmin(axis=-1)
    table = np.array([[-math.inf if cell is None else cell for cell in row] for row in model.log_likelihood])
    return np.asarray(table[rows, np.asarray(records, dtype=np.int64)])


# A family with a likelihood of single records is one more line.
DENSITIES: dict[type[Family], Callable[[Any, Array, Array], Array]] = {
    BetaBernoulli: _rate,
    BetaBinomial: _rate,
    DirichletCategorical: _categorical,
    Histogram: _binned,
    GammaPoisson: _poisson,
    ExponentialRate: _exponential,
    LaplaceScale: _laplace,
    NormalPrecision: _precision,
    NormalMean: _normal,
    LogitNormal: _logit,
    GaussianMean: _unit_vectors,
    MultivariateNormal: _vectors,
    Finite: _finite,
}
