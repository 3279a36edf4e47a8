"""Numbers and warnings of pictures and tables are those of the release."""

from __future__ import annotations

import re

import numpy as np
import pytest

import sfumato as sf
from sfumato.pictures import of_network, privacy_curve
from sfumato.pictures.description import Dots
from sfumato.pictures.dot_plots import dates
from sfumato.pictures.of_release import pictures
from sfumato.pictures.promises import Promise
from sfumato.shells import report_regression

N = 1_000


def _fit(**options):
    rng = np.random.default_rng(7)
    schema = sf.Schema({"age": sf.Number(0, 10), "pay": sf.Number(0, 100)}, target="pay", name="s")
    age = rng.uniform(0, 10, N)
    data = sf.Dataset.from_table({"age": age, "pay": 5 * age + rng.uniform(0, 10, N)}, schema=schema)
    return sf.publish(sf.plan(sf.regression("linear", schema, ["age"]), N, 4.0, 1e-6, goal="estimate"), data, **options)


def test_dates_stand_at_their_own_days():
    column = sf.Date("2020-01-01", "2021-12-31")
    ticks = dates("day", column.lower, column.upper, column).ticks
    assert len(ticks) == 4
    assert all(text == column.shown(value) for value, text in ticks)


def test_the_table_of_a_regression_has_the_ends_of_the_intervals():
    release = _fit()
    table = release.coefficients(0.9)
    low, high = table.intervals[:, table.labels.index("age")]
    shown = re.search(
        r">age</th><td[^>]*>[\d.]+ <span[^>]*>\(([\d.]+) to ([\d.]+)\)", report_regression.results(release, 0.9, 40)
    )
    # Half a unit of the second decimal of the table.
    assert [float(end) for end in shown.groups()] == pytest.approx([low, high], abs=0.006)


def test_pictures_of_seeded_regressions_and_networks_carry_the_warning():
    assert pictures(_fit(randomness=sf.seeded(1)))[0].title.startswith("NOT PRIVATE")
    columns = {"a": sf.Boolean(missing=False), "b": sf.Boolean(missing=False)}
    schema = sf.Schema(columns, name="s")
    data = sf.Dataset.from_table({"a": [True, False] * 500, "b": [True, True] * 500}, schema=schema)
    model = sf.networks.BayesianNetwork.from_schema(schema, {"a": [], "b": ["a"]})
    release = sf.publish(sf.plan(model, N, 2.0, 1e-6, mechanism="noisy-statistics"), data, randomness=sf.seeded(1))
    assert all(picture.title.startswith("NOT PRIVATE") for picture in [*pictures(release), of_network.shares(release)])


def test_asked_points_of_a_privacy_curve_are_in_one_order():
    """The same points in any order make the same picture, in which epsilons rise."""
    asked = [(0.5 + 0.25 * k, 10.0 ** -(k % 5 + 2)) for k in range(8)]
    shown = [
        Promise(f"plan {k}", sf.plan(sf.families.BetaBernoulli(), 100, 1.0, 1e-6).guarantee, at)
        for k, at in enumerate(asked)
    ]
    for order in (shown, shown[::-1], [*shown[1::2], *shown[::2]]):
        (dots,) = (mark for mark in privacy_curve.drawn(order, 5.0, 1e-9).marks if isinstance(mark, Dots))
        assert list(dots.points) == asked
