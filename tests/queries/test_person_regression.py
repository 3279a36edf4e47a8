"""Intervals of regressions on persons with several rows: by the scores of persons, whatever their rows have in common."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit, ndtr

import sfumato as sf
from effort import sized

N, ROWS = 900, 12
COLUMNS = {"x": sf.Number(-3, 3), "z": sf.Number(-3, 3), "y": sf.Boolean(missing=False)}
PERSONS = sf.Persons("who", most=ROWS, count=N)
TRUTH = {"intercept": -0.4, "x": 0.8, "z": -0.5}
RUNS = sized(20, 1_000)


def visits(rng, alike: float, informative: bool) -> dict:
    """Rows whose marginal law is a logistic regression; the latent numbers behind a person's labels have this correlation.

    z is a person's own, x a row's. `informative`: how many rows a person has follows from z.
    """
    z = np.clip(rng.normal(size=N), -3, 3)
    counts = np.where(z > 0, 2, ROWS) if informative else np.full(N, ROWS)
    who = np.repeat(np.arange(N), counts)
    x = np.clip(rng.normal(size=len(who)), -3, 3)
    score = TRUTH["intercept"] + TRUTH["x"] * x + TRUTH["z"] * z[who]
    latent = math.sqrt(alike) * rng.normal(size=N)[who] + math.sqrt(1 - alike) * rng.normal(size=len(who))
    return {"who": who, "x": x, "z": z[who], "y": ndtr(latent) < expit(score)}


def covered(alike: float, informative: bool, persons: sf.Persons | None) -> np.ndarray:
    """Share of data sets whose 90 % intervals hold the true coefficients: intercept, x, z."""
    schema = sf.Schema(COLUMNS, target="y", persons=persons)
    model = sf.regression("logistic", schema, ["x", "z"])
    rng, held = np.random.default_rng(11), []
    size = N if persons is not None else N * ROWS
    plan = sf.plan(model, size, 3.0, 1e-6, goal="estimate", persons=persons)
    for run in range(RUNS):
        data = sf.Dataset.from_table(visits(rng, alike, informative), schema=schema)
        release = sf.publish(plan, data, randomness=sf.seeded(run))
        assert release.labels == tuple(TRUTH)
        lower, upper = release.interval()
        held.append([low <= truth <= high for low, truth, high in zip(lower, TRUTH.values(), upper, strict=True)])
    return np.mean(held, axis=0)


ROOM = 4 * math.sqrt(0.09 / RUNS)  # four standard errors of a coverage of .90


@pytest.mark.parametrize(
    ("alike", "informative"), sized([(0.9, False)], [(0.0, False), (0.3, True), (0.9, False), (0.9, True)])
)
def test_intervals_by_person_hold_the_coefficients(alike, informative):
    assert (covered(alike, informative, PERSONS) >= 0.9 - ROOM).all()


@pytest.mark.planted
def test_intervals_that_take_rows_for_independent_are_too_narrow():
    """The same rows as so many records: what persons share (the intercept, z) is held far less often than stated."""
    shares = covered(0.9, False, None)
    assert shares[0] < 0.9 - ROOM
    assert shares[2] < 0.9 - ROOM


def test_a_regression_on_persons_releases_the_matrix_of_their_scores():
    schema = sf.Schema(COLUMNS, target="y", persons=PERSONS)
    model = sf.regression("logistic", schema, ["x", "z"])
    plan = sf.plan(model, N, 1.0, 1e-6, goal="estimate", persons=PERSONS)
    assert plan.keep == ("scores",)
    single = sf.plan(model, N, 1.0, 1e-6, goal="estimate", persons=sf.Persons("who", most=1, count=N))
    assert single.keep == ()
