"""Moments, weighted gradients, curvature and scores against brute force over neighbours, and measured mu of running mechanisms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from shape_oracle import LOSSES, directions, largest_shift, terms, weight, weighted_rows

import sfumato as sf
from mu_audit import agrees
from sfumato.theorems import curvature, moments, weighted

MAPPED = {"public_map": True, "weights_of_rows_alone": True}
RUN = {"public_start": True, "public_schedule": True, "full_batch": True, **MAPPED}
AT = {"public_point": True, **MAPPED}
N, NOISE = 7, 0.3  # of every claim below


def claimed_shift(kind: str, loss, bend: float, **more) -> float:
    """The Delta for which this kind is priced: mu sigma n."""
    constants = loss.constants()
    common = {"n": N, "noise": NOISE, **more}
    slope = {"slope": constants.lipschitz, **common}
    claim = {
        "path": lambda: weighted.weighted_path(steps=1, **RUN, **slope),
        "curvature": lambda: curvature.noisy_curvature(
            curvature=constants.smoothness, bend=bend, convex=True, **AT, **common
        ),
        "score scale": lambda: curvature.score_scale(**AT, **slope),
        "score matrix": lambda: curvature.score_matrix(**AT, **slope),
    }[kind]()
    return claim.curve.mu * NOISE * N


@pytest.mark.parametrize("bend", [1.0, 3.0])
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("kind", ["path", "curvature", "score scale", "score matrix"])
def test_no_neighbours_are_farther_apart_than_the_claim_and_some_are_as_far(kind, name, bend):
    loss, labels, steep = LOSSES[name]
    for d in (1, 2, 3):
        claim = claimed_shift(kind, loss, bend)
        largest = largest_shift(kind, loss, labels, steep, d, bend)
        assert largest <= claim * (1 + 1e-12), d
        # In one dimension no two matrices are orthogonal, and rows on the wrong side are not opposite.
        if d > 1 or kind == "score scale" or (kind == "path" and name == "huber"):
            assert largest >= 0.99 * claim, d


@pytest.mark.parametrize("kind", ["path", "curvature", "score scale", "score matrix"])
def test_rows_that_come_out_longer_than_their_weights_know_are_charged(kind):
    loss, labels, steep = LOSSES["huber"]
    claim = claimed_shift(kind, loss, 3.0, headroom=0.1)
    assert 0.99 * claim <= largest_shift(kind, loss, labels, steep, 2, 3.0, 0.1) <= claim * (1 + 1e-12)


def rows_within_bounds(d: int, label: float) -> np.ndarray:
    """Rows of norm at most 2 with a label of this size appended, orthogonal pairs among them where d >= 2."""
    u = directions(d, np.random.default_rng(5))
    if d > 1:
        turn = -((label / 2.0) ** 2)  # x.x' = -q^2 for labels of the same sign
        u = np.vstack([u, np.eye(d)[0] * turn + np.eye(d)[1] * math.sqrt(1 - turn * turn)])
    rows = np.vstack([np.hstack([2.0 * u, np.full((len(u), 1), sign * label)]) for sign in (-1, 0, 1)])
    return np.vstack([rows, 0.5 * rows, 0.0 * rows[:1]])


@pytest.mark.parametrize("label", [0.0, 1.3, 2.0])
def test_moments_move_by_root_two_times_the_joint_radius_squared(label):
    claim = moments.noisy_moments(radius=2.0, label_radius=label, n=N, noise=NOISE, public_weights=True).curve.mu
    for d in (1, 2, 3):
        within = rows_within_bounds(d, label)
        beyond = 50.0 * directions(d + 1 if label else d, np.random.default_rng(6))
        for rows in (within, beyond):
            added = weighted_rows(rows, math.hypot(2.0, label))
            largest = cdist(added, added).max() / N / NOISE
            assert largest <= claim * (1 + 1e-14)
            if d > 1:
                assert largest >= 0.99 * claim


@pytest.mark.planted
def test_the_radius_of_the_row_alone_is_too_small_for_a_row_with_its_label():
    """Orthogonal joint rows within their bounds, at r = l: the price without the label is half of the true one."""
    rows = np.array([[2.0, 2.0], [2.0, -2.0]])
    shift = np.linalg.norm(np.diff(weighted_rows(rows, math.sqrt(8)), axis=0)) / N / NOISE
    claims = [
        moments.noisy_moments(radius=2.0, label_radius=label, n=N, noise=NOISE, public_weights=True).curve.mu
        for label in (2.0, 0.0)
    ]
    assert shift == pytest.approx(claims[0], rel=1e-14)
    assert shift == pytest.approx(2 * claims[1], rel=1e-14)


# --- shares of records in cells ---------------------------------------------------------------------------------------------


def contributions(cells: int, parts: int) -> np.ndarray:
    """All vectors of multiples of 1/parts, not negative, with a sum of at most 1: rows, weights, averages, and nobody."""
    counts = np.array(np.meshgrid(*[range(parts + 1)] * cells)).reshape(cells, -1).T
    return counts[counts.sum(axis=1) <= parts] / parts


@pytest.mark.planted
@pytest.mark.parametrize(("cells", "parts"), [(2, 12), (3, 6), (5, 3), (10, 1)])
def test_no_two_contributions_to_the_shares_are_farther_apart_than_the_claim_and_some_are_as_far(cells, parts):
    """Exact squares, in units of 1/parts^2: at most 2, which two records in different cells attain, and nobody else does."""
    claim = curvature.noisy_shares(n=N, noise=NOISE, public_point=True).curve.mu * NOISE * N
    whole = np.rint(contributions(cells, parts) * parts).astype(int)
    squares = ((whole[:, None] - whole[None]) ** 2).sum(axis=-1)
    assert squares.max() == 2 * parts**2
    ends = whole[np.unique(np.argwhere(squares == squares.max()))]
    assert (ends.max(axis=1) == parts).all(), "only whole records are as far apart"
    assert math.sqrt(2) <= claim <= math.sqrt(2) * (1 + 1e-15)


@pytest.mark.planted
def test_what_would_break_the_price_of_shares():
    """Each condition left out once: a record in two cells, entries below 0, weights above 1, edges from the rows, rounding."""
    claim = curvature.noisy_shares(n=N, noise=NOISE, public_point=True).curve.mu * NOISE * N
    doubled = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])  # cells that overlap
    signed = np.array([[1.0, -0.5], [-0.5, 1.0]])  # with absolute values that sum to 1.5
    heavy = np.array([[1.1, 0.0], [0.0, 1.1]])
    for wrong in (doubled, signed, heavy):
        assert np.linalg.norm(wrong[0] - wrong[1]) > 1.05 * claim
    # Edges in deviations of the rows themselves: one record moves all the others from one cell to the next.
    residuals = np.append(np.full(N - 1, 0.9), 1.0)
    neighbour = np.append(residuals[:-1], 100.0)
    shares = [np.histogram(each / each.std(), [-np.inf, 1, np.inf])[0] / N for each in (residuals, neighbour)]
    assert np.linalg.norm(shares[0] - shares[1]) > 3 * claim / N
    # Means that are e off, each its own way, are sqrt2/n + 2 e apart.
    e = 0.01
    charged = curvature.noisy_shares(n=N, noise=NOISE, public_point=True, float_error=e).curve.mu * NOISE
    assert charged == pytest.approx(claim / N + 2 * e, rel=1e-14)


def test_the_likelihood_ratio_of_noisy_shares_is_that_of_the_claim():
    """Two data sets that differ in the cell of one record: the ratio is normal, as for a Gaussian mechanism of this mu."""
    rng, runs = np.random.default_rng(11), 4000
    shares = [np.bincount([0, 1, 1, 2, 5, 9, other], minlength=10) / N for other in (3, 8)]
    told = [each + NOISE * rng.normal(size=(runs, 10)) for each in shares]
    ratios = [(((each - shares[1]) ** 2).sum(1) - ((each - shares[0]) ** 2).sum(1)) / (2 * NOISE**2) for each in told]
    claim = curvature.noisy_shares(n=N, noise=NOISE, public_point=True).curve.mu
    assert agrees(claim, *ratios)
    assert not agrees(claim / math.sqrt(2), *ratios)


# --- the logistic loss in one dimension ---------------------------------------------------------------------------------------


def width_on_a_line(bend: float) -> float:
    """max over theta of the range of v phi' t, over rows t of every length and both labels."""
    lengths = np.concatenate([np.linspace(0, 1, 2001), np.geomspace(1, 1e6, 2001), [bend if bend < math.inf else 1.0]])
    t = np.concatenate([-lengths, lengths])
    v = weight(np.abs(t), bend)
    thetas = np.concatenate([np.geomspace(1e-4, 20, 400), [4.0316]])
    gradients = ((v * t) * sf.losses.Logistic(1.0).derivative(t * theta, np.ones(len(t))) for theta in thetas)
    return max(float(np.ptp(each)) for each in gradients)


@pytest.mark.parametrize(("bend", "least"), [(1.0, 1.05), (1.5, 1.06), (8.0, 1.06), (math.inf, 1.49)])
def test_the_logistic_difference_on_a_line_is_that_of_its_numbers(bend, least):
    """Every bend above 1 refutes 1.05163, the difference of rows that are not weighted."""
    claim = weighted.difference_factor(slope=1.0, zero_slope=0.5, convex=True, dimension=1)
    assert claim == 1.5
    assert least <= width_on_a_line(bend) <= claim


def test_gradients_of_the_weighted_loss_have_its_constants():
    lengths = np.geomspace(1e-3, 1e5, 4001)
    for bend in (1.0, 2.5, math.inf):
        lipschitz, smooth = weighted.weighted_constants(slope=1.7, curvature=0.3, bend=bend)
        v = weight(np.append(lengths, min(bend, 1e9)), bend)
        t = np.append(lengths, min(bend, 1e9))
        assert 0.99 * lipschitz <= (1.7 * v * t).max() <= lipschitz * (1 + 1e-15)
        assert (0.3 * v * t * t).max() <= smooth * (1 + 1e-15)
        assert (0.3 * v * t * t).max() >= (0.99 * smooth if bend < math.inf else 0.29 * 1e5)


# --- measured mu ----------------------------------------------------------------------------------------------------------------


def test_the_likelihood_ratio_of_a_path_is_that_of_the_claim():
    """Saturated residuals of opposite rows: at every step of every chain the means are 2 s/n apart, whatever theta is."""
    steps, chains, runs, slope = 5, 3, 2000, 1.7
    rng = np.random.default_rng(3)
    loss, b = sf.losses.Huber(1.0, clip=slope), np.diag([0.5, 2.0])
    others, labels = rng.normal(size=(N - 1, 2)), rng.normal(size=N - 1)
    v = weight(np.linalg.norm(others @ b, axis=1), 1.0)[:, None] * others @ b
    # The replaced record: a long row whose label is far off, so that phi' = c everywhere; mapped, the row has length 1.
    own = [terms("path", loss, sign * np.array([[8.0, 0.0]]), [-1e9], np.zeros(2), b, math.inf)[0] for sign in (1, -1)]
    ratios = []
    for world in (0, 1):
        theta, speed, ratio = np.zeros((runs, chains, 2)), 0.0, np.zeros(runs)
        for _ in range(steps):
            common = loss.derivative(theta @ others.T, labels) @ v
            means = [(common + each) / N for each in own]
            noisy = means[world] + NOISE * rng.normal(size=theta.shape)
            speed = 0.6 * speed - 0.5 * noisy
            theta = theta + speed @ b
            ratio += (((noisy - means[1]) ** 2).sum((1, 2)) - ((noisy - means[0]) ** 2).sum((1, 2))) / (2 * NOISE**2)
        ratios.append(ratio)
    claim = weighted.weighted_path(slope=slope, n=N, noise=NOISE, steps=steps, chains=chains, **RUN).curve.mu
    assert agrees(claim, *ratios)
    assert not agrees(claim / 2, *ratios)
    assert claim == pytest.approx(math.sqrt(15) * 2 * slope / N / NOISE, rel=1e-14)


def test_noise_of_half_the_variance_off_the_diagonal_is_what_is_priced():
    """mu^2 = sum of squared shifts over variances: sigma^2 on the diagonal, sigma^2/2 off it. More noise would be cheaper."""
    rows = 2.0 * np.array([[1.0, 1.0], [1.0, -1.0]]) / math.sqrt(2)
    shift = (np.outer(rows[0], rows[0]) - np.outer(rows[1], rows[1])) / N
    claim = moments.noisy_moments(radius=2.0, n=N, noise=NOISE, public_weights=True).curve.mu
    exact = {
        off: math.sqrt((np.diag(shift) ** 2).sum() / NOISE**2 + shift[0, 1] ** 2 / (off * NOISE**2))
        for off in (0.5, 1.0)
    }
    assert exact[0.5] == pytest.approx(claim, rel=1e-14)
    assert exact[1.0] < 0.8 * claim


@pytest.mark.parametrize("kind", ["path", "curvature", "score scale", "score matrix", "moments"])
def test_two_rounding_errors_in_opposite_directions_are_charged(kind):
    """Means that are e off, each its own way, are Delta/n + 2 e apart."""
    e = 1e-2
    loss, _, _ = LOSSES["huber"]
    if kind == "moments":
        exact, charged = (
            moments.noisy_moments(radius=2.0, n=N, noise=NOISE, float_error=off, public_weights=True).curve.mu
            for off in (0.0, e)
        )
    else:
        exact, charged = (claimed_shift(kind, loss, 1.0, float_error=off) / NOISE / N for off in (0.0, e))
    mean, other = exact * NOISE, 0.0
    assert charged == pytest.approx(((mean + e) - (other - e)) / NOISE, rel=1e-13)


# --- what would break the price -------------------------------------------------------------------------------------------------


def shift_of_gradients(maps) -> float:
    """Distance of the weighted mean gradients of two neighbours, each under its own map, times n over the slope."""
    rows = np.column_stack([np.random.default_rng(2).normal(size=40), np.full(40, 0.05)])
    neighbour = np.vstack([rows[:-1], [[0.0, 3.0]]])
    loss, labels = sf.losses.Huber(1.0, clip=1.0), np.full(40, -1e9)
    sums = [terms("path", loss, z, labels, np.zeros(2), maps(z), 1.0).sum(axis=0) for z in (rows, neighbour)]
    return float(np.linalg.norm(sums[0] - sums[1]))


@pytest.mark.planted
def test_a_map_from_the_rows_themselves_breaks_the_price():
    def half_white(rows: np.ndarray) -> np.ndarray:
        values, vectors = np.linalg.eigh(rows.T @ rows / len(rows))
        return 0.5 * vectors / np.sqrt(values) @ vectors.T

    assert shift_of_gradients(lambda rows: np.diag([0.5, 10.0])) <= 2.0
    assert shift_of_gradients(half_white) > 10.0  # the map moves every record's gradient


def test_lengths_between_the_corners_are_tried():
    """The brute force itself: it sees a claim without the bend, and one without the root."""
    loss, labels, steep = LOSSES["logistic"]
    largest = largest_shift("curvature", loss, labels, steep, 2, 3.0)
    for wrong in (1.0, math.sqrt(2), 3.0):
        assert largest > 1.3 * 0.25 * wrong
