"""The reader's own prior: importance weights of the draws under it, relative to the prior of the release."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato import _validate
from sfumato._quadrature import Array
from sfumato.errors import ArgumentError
from sfumato.models import families
from sfumato.models.families._gamma_rate import GammaRate
from sfumato.models.families._rate import Rate
from sfumato.models.families.family import Family
from sfumato.models.gibbs import Gibbs
from sfumato.models.reading import model_from_json
from sfumato.queries._sample import Sample

LogDensity = Callable[[Array], Any]

# A share that was rounded to the edge of its grid counts as this, so that its logarithm is a number.
_EDGE = 1e-300


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of the draws, which sum to 1, and the effective sample size 1/(sum of their squares)."""

    values: Array
    effective: float


def weights(sample: Sample, prior: Any, against: LogDensity | None = None, log_ratio: float | None = None) -> Weights:
    """Self-normalised weights xi*(theta)/xi(theta).

    `prior` is the reader's log density (up to a constant) as a function of the draws, or a family or Gibbs model whose
    prior is used; `against` the log density of the release's prior, for models that have none here.
    """
    own = against if against is not None else _released(sample.plan)
    readers = prior if callable(prior) else log_prior(_untruncated(prior), 1.0)
    top = _numbers("prior", readers, sample, lowest=-np.inf)
    ratio = top - _numbers("the release's prior", own, sample, lowest=-np.finfo(np.float64).max)
    if not (ratio > -np.inf).any():
        raise ArgumentError("prior gives every draw of the release the density 0: no draw has a weight.")
    if log_ratio is not None:
        eta = _validate.non_negative("log_ratio", log_ratio)
        if not ratio.max() - ratio.min() <= 2 * eta * (1 + 1e-9) + 1e-9:
            raise ArgumentError(
                f"log_ratio says that |log prior/log prior of the release| is at most {eta:g}, and on the draws the two "
                f"differ over a range of {ratio.max() - ratio.min():.4g}, which is more than {2 * eta:g}. Declare a larger one."
            )
    raw = np.exp(ratio - ratio.max())
    values = raw / raw.sum()
    return Weights(values, float(1 / (values**2).sum()))


def _numbers(name: str, density: LogDensity, sample: Sample, lowest: float) -> Array:
    logs = np.asarray(density(sample.values), dtype=np.float64)
    if logs.shape != (sample.size,):
        raise ArgumentError(f"{name} must give one log density per draw, ({sample.size},); got {logs.shape}.")
    if np.isnan(logs).any() or (logs == np.inf).any() or (logs < lowest).any():
        raise ArgumentError(f"{name} must give log densities that are numbers below infinity at every draw.")
    return logs


def _released(plan: Mapping[str, Any]) -> LogDensity:
    """The prior that the draws were made with."""
    return log_prior(model_from_json(plan["model"]), float(plan["parameters"].get("strength", 1.0)))


def _untruncated(model: Family | Gibbs) -> Family | Gibbs:
    """Refuse a reader's truncated prior: its bounds are not part of the densities below."""
    if getattr(model, "bounded", False) or getattr(getattr(model, "prior", None), "truncated", False):
        raise ArgumentError(
            "prior is truncated: give it as a function of the draws that is -inf outside its range, or leave the bounds out."
        )
    return model


def log_prior(model: Family | Gibbs, strength: float) -> LogDensity:
    """Log density of a model's prior, up to a constant, made `strength` times as strong."""
    density = next((_DENSITIES[kind] for kind in type(model).__mro__ if kind in _DENSITIES), None)
    if density is None:
        raise ArgumentError(
            f"the prior density of {type(model).__name__} is not known here. Give prior= and against= as functions that map "
            "the draws to log densities: yours, and the release's."
        )
    return density(model, strength)


def _gibbs(model: Gibbs, strength: float) -> LogDensity:
    """-(theta - mean)' P (theta - mean)/2; a plan records a Gibbs model with its prior strengthened already.

    A truncation changes the density by a constant only, since all draws lie inside it.
    """
    gaussian: Any = getattr(model.prior, "prior", model.prior)

    def density(theta: Array) -> Array:
        deviation = theta if gaussian.mean is None else theta - np.array(gaussian.mean)
        return np.asarray(-0.5 * (deviation * gaussian.gradient(theta)).sum(axis=-1), dtype=np.float64)

    return density


def _normal(model: families.GaussianMean | families.NormalMean, strength: float) -> LogDensity:
    centre, precision = np.asarray(model.mean, dtype=np.float64), strength * model.precision
    return lambda theta: -precision / 2 * ((theta - centre) ** 2).reshape(len(theta), -1).sum(axis=1)


def _rate(model: Rate, strength: float) -> LogDensity:
    cells = strength * np.array([model.alpha, model.beta])
    return lambda theta: _dirichlet(np.stack([theta, 1 - theta], axis=-1), cells)


def _shares(model: families.DirichletCategorical, strength: float) -> LogDensity:
    return lambda theta: _dirichlet(theta, strength * np.array(model.alpha))


def _gamma(model: families.GammaPoisson | GammaRate, strength: float) -> LogDensity:
    shape, rate = strength * model.shape, strength * model.rate
    return lambda theta: (shape - 1) * np.log(np.maximum(theta, _EDGE)) - rate * theta


def _dirichlet(shares: Array, cells: Array) -> Array:
    return np.asarray(((cells - 1) * np.log(np.maximum(shares, _EDGE))).sum(axis=-1), dtype=np.float64)


# A subclass uses the line of its nearest base class.
_DENSITIES: dict[type, Callable[[Any, float], LogDensity]] = {
    Gibbs: _gibbs,
    families.GaussianMean: _normal,
    families.NormalMean: _normal,
    Rate: _rate,
    families.DirichletCategorical: _shares,
    families.GammaPoisson: _gamma,
    GammaRate: _gamma,
}
