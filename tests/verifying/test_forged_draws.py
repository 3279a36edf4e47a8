"""Draws, transcripts and totals that the plan could not have released: not finite, off their grid, outside their domain."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from forging import TRIED, forged, parts
from release_cases import ball, labelled, logistic, made
from sfumato.errors import FormatError

# --- draws -------------------------------------------------------------------------------------------------------------

# Every way of drawing; paths that keep no transcript are averages of floats, on no grid. The average of a shaped path is computed
# again.
DRAWN = [name for name in TRIED if name != "path"]
# Their grid follows from a noisy size that is not released: only the support is known.
SUPPORT_ONLY = ("durations by group", "bounded means by group")


@pytest.mark.parametrize("value", [np.nan, np.inf], ids=str)
@pytest.mark.parametrize("name", ["rate noisy", "chain", "path", "means by group", "shares", "lattice in a plane"])
def test_draws_that_are_not_finite_are_refused(name, value):
    first = "draws[0,0]" if parts(name)[1]["draws"].ndim == 2 else "draws[0,0,0]"
    with pytest.raises(FormatError, match="finite"):
        forged(name, {first: value}).verify()


def test_draws_of_another_shape_are_refused():
    """The same numbers under the same labels, as a column: their mean would have another shape."""
    release = forged("shares noisy", {})
    columns = dataclasses.replace(release.draws, values=release.draws.values[..., None])
    with pytest.raises(FormatError, match="shape of the release"):
        dataclasses.replace(release, draws=columns).verify()


@pytest.mark.parametrize("name", [name for name in DRAWN if name not in SUPPORT_ONLY])
def test_a_draw_off_its_grid_is_refused(name):
    """The first coordinate is moved by a thousandth of itself and a low digit more: no public grid holds it."""
    _, arrays = parts(name)
    moved = arrays["draws"].copy()
    moved.reshape(-1)[0] = moved.reshape(-1)[0] * (1 + 1.00000123e-3) + 1.2345e-13
    with pytest.raises(FormatError, match=r"draws|transcript"):
        forged(name, {"draws": moved}).verify()


# Values on the grid of the law, as far as it goes, but outside what the model allows.
OUTSIDE = {
    "a negative duration": ("durations by group", -1.0),
    "a mean beyond its bounds": ("bounded means by group", 7.0),
    "a point beyond the ball": ("chain in a ball", [0.0625, 0.0]),
    "a point beyond the box": ("chain in a box", [0.0625, 0.0]),
    "a place beyond the lattice": ("lattice by trials", 1.25),
    "a place beyond the interval": ("kinks on a line", 10**6),
    "a converged chain beyond the ball": ("converged in a ball", 2.0),
    "a shaped path beyond the ball": ("shaped path in a ball", [0.04, 0.04]),
    "a mapped chain beyond its ball": ("shaped chain", 2.0**40),
    "a rate above 1": ("rate noisy", 1.5),
    "a mean that no records have": ("mean", 2.0**60),
    "a mean that no floats around it tell apart": ("mean", 1e300),
    "a vector that no records have": ("vector mean", -(2.0**60)),
    "a vector that no records have, in a basis": ("correlated mean", [1e9, 1e9]),
    "a group that no records have": ("means by group", 2.0**60),
    "a point that is no candidate": ("quantile", 3.0),
}


@pytest.mark.parametrize("what", list(OUTSIDE))
def test_a_draw_outside_its_support_is_refused(what):
    name, value = OUTSIDE[what]
    draws = parts(name)[1]["draws"].copy()
    values = np.atleast_1d(value)
    draws.reshape(-1)[: len(values)] = values
    if name == "bounded means by group":
        draws[...] = draws[:, :1]
    with pytest.raises(FormatError, match="draws"):
        forged(name, {"draws": draws}).verify()


def test_an_average_outside_the_domain_is_refused():
    """A path without its transcript has no grid, but it cannot leave the ball that it was projected to."""
    release = made(logistic(2, ball(0.05)), labelled(2), mechanism="langevin-path", goal="estimate", steps=20)
    assert release.verify()
    outside = dataclasses.replace(release.draws, values=np.array([[[0.04, 0.04]]]))
    with pytest.raises(FormatError, match="draws"):
        dataclasses.replace(release, draws=outside).verify()


def test_shares_that_do_not_sum_to_one_are_refused():
    draws = parts("shares noisy")[1]["draws"] * 0.5
    with pytest.raises(FormatError, match="draws"):
        forged("shares noisy", {"draws": draws}).verify()


def test_estimates_from_one_total_are_all_the_same():
    with pytest.raises(FormatError, match="draws"):
        forged("bounded mean", {"draws[0,1]": lambda value: value + 0.5}).verify()


@pytest.mark.parametrize(
    ("name", "array"), [("groups", "totals"), ("path with transcript", "transcript")], ids=["totals", "transcript"]
)
@pytest.mark.parametrize("change", [lambda v: v + 1e-13, lambda v: np.nan], ids=["low digit", "nan"])
def test_totals_and_transcripts_off_their_grid_are_refused(name, array, change):
    first = "[0]" if array == "totals" else "[0,0,0]"
    with pytest.raises(FormatError, match="with what is kept"):
        forged(name, {array + first: change}).verify()
