"""Priors: Gaussian or flat, on all of R^d or truncated to a public ball or box.

    pi(theta) proportional to exp(-(theta - mean)' P (theta - mean)/2) on a convex public set K.

A prior enters the theorems through m_pi and M_pi, the smallest and largest curvature of -log pi, and through K.
Truncation to a convex set changes neither: the indicator of K is convex. `mean`, P and K are public: a good public prior
improves the result at no cost in privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sfumato import _validate
from sfumato.models._precision import Precision, read_precision
from sfumato.models._prior import FloatArray, Prior, Vector, common_dimension, size, vector
from sfumato.models._truncation import Ball, Box

__all__ = ["Ball", "Box", "Flat", "Gaussian", "Prior"]


@dataclass(frozen=True)
class Gaussian:
    """N(mean, P^-1): -log pi = (theta - mean)' P (theta - mean)/2 + a constant.

    `precision` is a positive number (that multiple of the identity), a vector (the diagonal) or a symmetric positive
    definite matrix; `mean` a vector, or None for 0. m_pi and M_pi are the smallest and largest eigenvalue of P, rounded
    down and up; for a matrix by more than the rounding error of the eigenvalues.
    """

    precision: Precision
    mean: Vector | None = None
    convex_domain: ClassVar[bool] = True
    truncated: ClassVar[bool] = False
    domain_radius: ClassVar[float] = math.inf

    def __init__(self, precision: Precision | ArrayLike, mean: ArrayLike | None = None) -> None:
        """Check both and keep them as numbers and tuples."""
        values, lowest, highest = read_precision(precision)
        centre = None if mean is None else vector("mean", mean)
        common_dimension("precision and mean", len(values) if isinstance(values, tuple) else None, size(centre))
        for name, part in (("precision", values), ("mean", centre), ("_lowest", lowest), ("_highest", highest)):
            object.__setattr__(self, name, part)

    @property
    def strong_convexity(self) -> float:
        """Smallest eigenvalue of P, rounded down."""
        return float(self.__dict__["_lowest"])

    @property
    def smoothness(self) -> float:
        """Largest eigenvalue of P, rounded up."""
        return float(self.__dict__["_highest"])

    @property
    def dimension(self) -> int | None:
        """Length of the precision or of the mean; None if both fit any dimension."""
        return len(self.precision) if isinstance(self.precision, tuple) else size(self.mean)

    @property
    def start(self) -> Vector | None:
        """The mean."""
        return self.mean

    def scaled(self, factor: float) -> Gaussian:
        """N(mean, (factor P)^-1)."""
        return Gaussian(np.asarray(self.precision) * _validate.positive("factor", factor), self.mean)

    def gradient(self, theta: ArrayLike) -> FloatArray:
        """P (theta - mean)."""
        deviation = np.asarray(theta, dtype=np.float64) - (0.0 if self.mean is None else np.array(self.mean))
        precision = np.asarray(self.precision)
        return np.asarray(deviation @ precision if precision.ndim == 2 else deviation * precision)

    def project(self, theta: ArrayLike) -> FloatArray:
        """Return theta: the domain is everything."""
        return np.asarray(theta, dtype=np.float64)

    def to_json(self) -> dict[str, Any]:
        """{"prior": "gaussian", "precision": ..., "mean": ...}."""
        mean = None if self.mean is None else list(self.mean)
        return {"prior": "gaussian", "precision": np.asarray(self.precision).tolist(), "mean": mean}

    def __str__(self) -> str:
        if isinstance(self.precision, float):
            shown = f"{self.precision:g}"
        else:
            shown = f"{self.strong_convexity:.4g} to {self.smoothness:.4g}"
        return f"Gaussian(precision {shown}{'' if self.mean is None else ', public mean'})"


@dataclass(frozen=True)
class Flat:
    """The improper constant density: m_pi = M_pi = 0.

    A model accepts it only on a bounded domain (`Ball`, `Box`) or with a strongly convex loss: otherwise the posterior is
    improper.
    """

    convex_domain: ClassVar[bool] = True
    truncated: ClassVar[bool] = False
    domain_radius: ClassVar[float] = math.inf
    strong_convexity: ClassVar[float] = 0.0
    smoothness: ClassVar[float] = 0.0
    dimension: ClassVar[int | None] = None
    start: ClassVar[Vector | None] = None

    def scaled(self, factor: float) -> Flat:
        """Return itself: any multiple of 0 is 0."""
        _validate.positive("factor", factor)
        return self

    def gradient(self, theta: ArrayLike) -> FloatArray:
        """0."""
        return np.zeros_like(np.asarray(theta, dtype=np.float64))

    def project(self, theta: ArrayLike) -> FloatArray:
        """Return theta: the domain is everything."""
        return np.asarray(theta, dtype=np.float64)

    def to_json(self) -> dict[str, Any]:
        """{"prior": "flat"}."""
        return {"prior": "flat"}

    def __str__(self) -> str:
        return "Flat"
