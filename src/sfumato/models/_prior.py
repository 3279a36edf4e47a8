"""The interface of a prior, and checks that priors share."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError

FloatArray = NDArray[np.float64]
Vector = tuple[float, ...]


@runtime_checkable
class Prior(Protocol):
    """A log-concave density on a convex public set K; arrays of parameters have shape (..., d)."""

    @property
    def strong_convexity(self) -> float:
        """m_pi, rounded down."""

    @property
    def smoothness(self) -> float:
        """M_pi, rounded up."""

    @property
    def dimension(self) -> int | None:
        """The parameter's dimension; None if the prior fits any."""

    @property
    def domain_radius(self) -> float:
        """Largest |theta| of K, rounded up; `math.inf` if unbounded."""

    @property
    def convex_domain(self) -> bool:
        """Whether K is convex."""

    @property
    def truncated(self) -> bool:
        """Whether K is less than R^d."""

    @property
    def start(self) -> Vector | None:
        """A public point of K to start a chain from: the mean, moved into K. None means 0."""

    def scaled(self, factor: float) -> Prior:
        """Return the prior with its precision multiplied by `factor`; mean and domain stay."""

    def gradient(self, theta: ArrayLike) -> FloatArray:
        """Gradient of -log pi inside K."""

    def project(self, theta: ArrayLike) -> FloatArray:
        """Return the nearest point of K."""

    def to_json(self) -> dict[str, Any]:
        """Return {"prior": kind, ...parameters}."""


def numbers(name: str, value: Any) -> FloatArray:
    """Return an array of floats, or raise; strings and booleans are not numbers."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ArgumentError(f"{name} must be an array of numbers; got {value!r}.") from error
    if array.dtype.kind not in "iuf":
        raise ArgumentError(f"{name} must be made of numbers; got {value!r}.")
    return array.astype(np.float64)


def vector(name: str, value: Any) -> Vector:
    """Return a vector of finite numbers as a tuple, or raise."""
    array = numbers(name, value)
    if array.ndim != 1 or array.size == 0:
        raise ArgumentError(f"{name} must be a vector of numbers; got an array of shape {array.shape}.")
    return tuple(_validate.finite(f"{name}[{i}]", float(entry)) for i, entry in enumerate(array))


def common_dimension(what: str, *dimensions: int | None) -> int | None:
    """Return the one dimension that all agree on, None if none is known, or raise."""
    known = sorted({d for d in dimensions if d is not None})
    if len(known) > 1:
        raise ArgumentError(f"{what} must have one dimension; got {' and '.join(map(str, known))}.")
    return known[0] if known else None


def size(value: Vector | None) -> int | None:
    """Length of a vector; None for None."""
    return None if value is None else len(value)


def untruncated(prior: Any) -> Prior:
    """Return a prior on all of R^d, or raise: the projection onto an intersection of two sets is not offered."""
    if not isinstance(prior, Prior) or prior.truncated:
        raise ArgumentError(f"prior must be a Gaussian or Flat prior that is not truncated yet; got {prior!r}.")
    return prior
