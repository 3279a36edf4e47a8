"""Priors restricted to a public ball or box: wrappers that keep the curvature and bound the domain."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models._prior import FloatArray, Prior, Vector, common_dimension, size, untruncated, vector
from sfumato.models._rounding import norm_up, up


@dataclass(frozen=True)
class _Truncated:
    """A prior restricted to a convex set, which changes neither its gradient nor its curvature inside the set."""

    prior: Prior
    convex_domain: ClassVar[bool] = True
    truncated: ClassVar[bool] = True

    @property
    def strong_convexity(self) -> float:
        """The wrapped prior's."""
        return self.prior.strong_convexity

    @property
    def smoothness(self) -> float:
        """The wrapped prior's."""
        return self.prior.smoothness

    def gradient(self, theta: ArrayLike) -> FloatArray:
        """The wrapped prior's."""
        return self.prior.gradient(theta)


@dataclass(frozen=True)
class Ball(_Truncated):
    """`prior` restricted to |theta - centre| <= radius (centre None: 0).

    m_pi and M_pi are the wrapped prior's; every |theta| is at most |centre| + radius.
    """

    radius: float
    centre: Vector | None = None

    def __post_init__(self) -> None:
        """Check the wrapped prior, the radius and the dimensions."""
        untruncated(self.prior)
        object.__setattr__(self, "radius", _validate.positive("radius", self.radius))
        if self.centre is not None:
            object.__setattr__(self, "centre", vector("centre", self.centre))
        common_dimension("prior and centre", self.prior.dimension, size(self.centre))

    @property
    def dimension(self) -> int | None:
        """The wrapped prior's, or that of the centre."""
        return common_dimension("prior and centre", self.prior.dimension, size(self.centre))

    @property
    def domain_radius(self) -> float:
        """|centre| + radius, rounded up."""
        return up(Fraction(norm_up(*(self.centre or (0.0,)))) + Fraction(self.radius))

    @property
    def start(self) -> Vector | None:
        """The wrapped prior's start moved into the ball."""
        if self.prior.start is None and self.centre is None:
            return None
        begin = self.prior.start or (0.0,) * len(self.centre or ())
        return tuple(float(entry) for entry in self.project(begin))

    def scaled(self, factor: float) -> Ball:
        """Return the same ball around the scaled prior."""
        return Ball(self.prior.scaled(factor), self.radius, self.centre)

    def project(self, theta: ArrayLike) -> FloatArray:
        """Return the nearest point of the ball."""
        centre = 0.0 if self.centre is None else np.array(self.centre)
        offset = np.asarray(theta, dtype=np.float64) - centre
        # Divide by the largest entry first: squares of 1e200 would overflow.
        largest = np.maximum(np.max(np.abs(offset), axis=-1, keepdims=True), self.radius)
        length = largest * np.linalg.norm(offset / largest, axis=-1, keepdims=True)
        return np.asarray(centre + offset * (self.radius / np.maximum(length, self.radius)))

    def to_json(self) -> dict[str, Any]:
        """{"prior": "ball", "of": ..., "radius": ..., "centre": ...}."""
        centre = None if self.centre is None else list(self.centre)
        return {"prior": "ball", "of": self.prior.to_json(), "radius": self.radius, "centre": centre}

    def __str__(self) -> str:
        where = "" if self.centre is None else " around a public centre"
        return f"{self.prior} on a ball of radius {self.radius:g}{where}"


@dataclass(frozen=True)
class Box(_Truncated):
    """`prior` restricted to lower <= theta <= upper, entry by entry; numbers or vectors, all finite.

    m_pi and M_pi are the wrapped prior's. The largest |theta| depends on the dimension, so it must be known from a
    vector: lower, upper, or the wrapped prior's mean or precision.
    """

    lower: Vector
    upper: Vector

    def __init__(self, prior: Prior, lower: float | ArrayLike, upper: float | ArrayLike) -> None:
        """Check the wrapped prior and bring the bounds to its dimension."""
        bounds = {
            name: _validate.finite(name, bound) if np.ndim(bound) == 0 else vector(name, bound)
            for name, bound in (("lower", lower), ("upper", upper))
        }
        sizes = [len(bound) for bound in bounds.values() if isinstance(bound, tuple)]
        dimension = common_dimension("prior, lower and upper", untruncated(prior).dimension, *sizes)
        if dimension is None:
            raise ArgumentError("lower or upper must be a vector, or the prior have a dimension; got neither.")
        for name, bound in bounds.items():
            object.__setattr__(self, name, bound if isinstance(bound, tuple) else (bound,) * dimension)
        object.__setattr__(self, "prior", prior)
        for i, (low, high) in enumerate(zip(self.lower, self.upper, strict=True)):
            if not low < high:
                raise ArgumentError(f"lower must be below upper in every entry; got {low!r} and {high!r} at {i}.")

    @property
    def dimension(self) -> int:
        """Number of sides."""
        return len(self.lower)

    @property
    def domain_radius(self) -> float:
        """Norm of the corner that is farthest from 0, rounded up."""
        return norm_up(*(max(abs(low), abs(high)) for low, high in zip(self.lower, self.upper, strict=True)))

    @property
    def start(self) -> Vector:
        """The wrapped prior's start moved into the box."""
        return tuple(float(entry) for entry in self.project(self.prior.start or (0.0,) * self.dimension))

    def scaled(self, factor: float) -> Box:
        """Return the same box around the scaled prior."""
        return Box(self.prior.scaled(factor), self.lower, self.upper)

    def project(self, theta: ArrayLike) -> FloatArray:
        """Clip every entry to its side."""
        return np.clip(np.asarray(theta, dtype=np.float64), np.array(self.lower), np.array(self.upper))

    def to_json(self) -> dict[str, Any]:
        """{"prior": "box", "of": ..., "lower": [...], "upper": [...]}."""
        return {"prior": "box", "of": self.prior.to_json(), "lower": list(self.lower), "upper": list(self.upper)}

    def __str__(self) -> str:
        return f"{self.prior} on a box in {self.dimension} dimensions"
