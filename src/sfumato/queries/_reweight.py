"""The reader's own prior: weights of the draws under it, and what the release's prior was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.queries._sample import Sample

Array = NDArray[np.float64]
LogDensity = Callable[[Array], Any]

# A share that was rounded to the edge of its grid counts as this, so that its logarithm is a number.
_EDGE = 1e-300


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of the draws, which sum to 1, and how many equally weighted draws they are worth."""

    values: Array
    effective: float


def weights(sample: Sample, prior: Any, against: LogDensity | None = None, log_ratio: float | None = None) -> Weights:
    """Self-normalised weights xi*(theta)/xi(theta).

    `prior` is the reader's log density (up to a constant) as a function of the draws, or a family or Gibbs model whose
    prior is meant; `against` the log density of the release's prior, where the model's own is not known here.
    """
    own = against if against is not None else _released(sample.plan)
    readers = prior if callable(prior) else log_prior(_whole(prior), 1.0)
    top = _numbers("prior", readers, sample, lowest=-np.inf)
    ratio = top - _numbers("the release's prior", own, sample, lowest=-np.finfo(np.float64).max)
    if not (ratio > -np.inf).any():
        raise ArgumentError("prior gives every draw of the release the density 0: nothing is left to answer from.")
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
    found = np.asarray(density(sample.values), dtype=np.float64)
    if found.shape != (sample.size,):
        raise ArgumentError(f"{name} must give one log density per draw, ({sample.size},); got {found.shape}.")
    if np.isnan(found).any() or (found == np.inf).any() or (found < lowest).any():
        raise ArgumentError(f"{name} must give log densities that are numbers below infinity at every draw.")
    return found


def _released(plan: Mapping[str, Any]) -> LogDensity:
    """The prior that the draws were made with; a Gibbs model is recorded with its prior strengthened already."""
    from sfumato.models.gibbs import Gibbs
    from sfumato.models.reading import model_from_json

    model = model_from_json(plan["model"])
    return log_prior(model, 1.0 if isinstance(model, Gibbs) else float(plan["parameters"].get("strength", 1.0)))


def _whole(model: Any) -> Any:
    """Refuse a reader's truncated prior: which draws it excludes is for a function to say."""
    if getattr(model, "bounded", False) or getattr(getattr(model, "prior", None), "truncated", False):
        raise ArgumentError(
            "prior is truncated: give it as a function of the draws that is -inf outside its range, or leave the bounds out."
        )
    return model


def log_prior(model: Any, strength: float) -> LogDensity:
    """Log density of a model's prior, up to a constant, made `strength` times as strong."""
    from sfumato.models.families import gamma_poisson, gaussian_mean, normal_mean
    from sfumato.models.families._gamma_rate import GammaRate
    from sfumato.models.families._rate import Rate
    from sfumato.models.families.dirichlet_categorical import DirichletCategorical
    from sfumato.models.gibbs import Gibbs

    if isinstance(model, Gibbs):
        return lambda theta: _gaussian(model.prior.scaled(strength), theta)
    if isinstance(model, gaussian_mean.GaussianMean | normal_mean.NormalMean):
        centre, precision = np.asarray(model.mean, dtype=np.float64), strength * model.precision
        return lambda theta: -precision / 2 * ((theta - centre) ** 2).reshape(len(theta), -1).sum(axis=1)
    if isinstance(model, Rate):
        return lambda theta: _cells(
            np.stack([theta, 1 - theta], axis=-1), strength * np.array([model.alpha, model.beta])
        )
    if isinstance(model, DirichletCategorical):
        return lambda theta: _cells(theta, strength * np.array(model.alpha))
    if isinstance(model, gamma_poisson.GammaPoisson | GammaRate):
        shape, rate = strength * model.shape, strength * model.rate
        return lambda theta: (shape - 1) * np.log(np.maximum(theta, _EDGE)) - rate * theta
    raise ArgumentError(
        f"the prior density of {type(model).__name__} is not known here. Give prior= and against= as functions that map the "
        "draws to log densities: yours, and the release's."
    )


def _cells(shares: Array, cells: Array) -> Array:
    return np.asarray(((cells - 1) * np.log(np.maximum(shares, _EDGE))).sum(axis=-1), dtype=np.float64)


def _gaussian(prior: Any, theta: Array) -> Array:
    """-(theta - mean)' P (theta - mean)/2; a truncation changes a constant, for draws lie inside it."""
    inner = getattr(prior, "prior", prior)
    mean = getattr(inner, "mean", None)
    deviation = theta if mean is None else theta - np.array(mean)
    return np.asarray(-0.5 * (deviation * inner.gradient(theta)).sum(axis=-1), dtype=np.float64)
