"""`release.plot()` and the curve of a release: the pictures of the report, with the release's own numbers."""

from __future__ import annotations

import math

import pytest
from picture_checks import faults

import sfumato as sf
from forging import stored
from sfumato.errors import ArgumentError
from sfumato.pictures import audit, privacy_curve, trade_off
from sfumato.pictures.description import Chart, Dots, Line
from sfumato.pictures.of_release import pictures
from sfumato.pictures.promises import promises
from sfumato.pictures.svg import standalone


@pytest.mark.parametrize("name", ["rate noisy", "means by group", "shaped path", "quantiles", "network", "rate seeded"])
def test_a_release_draws_its_main_picture(name):
    release = sf.Release.from_bytes(stored(name))
    figure = release.plot(0.8)
    assert figure.get_suptitle().replace("\n", " ")[:40] == pictures(release, 0.8)[0].title[:40]
    assert faults(figure) == []


def test_the_intervals_of_the_picture_have_the_level_that_was_asked_for():
    release = sf.Release.from_bytes(stored("rate noisy"))
    for level in (0.5, 0.9):
        (path,) = release.plot(level).axes[0].collections[0].get_paths()
        assert path.vertices[:, 0].tolist() == pytest.approx(release.interval(level).ravel().tolist())
    with pytest.raises(ArgumentError, match="level"):
        release.plot(1.0)


# --- descriptions without matplotlib ----------------------------------------------------------------------------------


def of(chart: Chart, kind: type) -> list:
    return [mark for mark in chart.marks if isinstance(mark, kind)]


def test_the_curve_of_a_release_has_the_slack_of_its_sampler():
    release = sf.Release.from_bytes(stored("lattice by trials"))
    slack = release.guarantee.slack
    chart = privacy_curve.of_release(release)
    (line,) = of(chart, Line)
    assert len(line.points) >= 61
    assert all(delta == release.guarantee.delta(epsilon) for epsilon, delta in line.points)
    assert all(delta >= (1 + math.exp(epsilon)) * slack for epsilon, delta in line.points)
    assert release.guarantee.curve.delta(line.points[-1][0]) == 0, "the curve alone would have ended before"
    assert (chart.x.low, chart.x.high) == (0.0, 3.0), "the slack keeps the curve above the floor"
    assert chart.y.low <= min(delta for _, delta in line.points)


@pytest.mark.parametrize(
    ("name", "asked", "right"),
    [("rate noisy", (1.0, 1e-6), 3.0), ("shaped path of counts", (6.0, 1e-6), 12.0), ("target gaussian", None, 3.0)],
)
def test_the_point_that_was_asked_for_is_hollow(name, asked, right):
    chart = privacy_curve.of_release(sf.Release.from_bytes(stored(name)))
    points = [point for mark in of(chart, Dots) if mark.hollow for point in mark.points]
    assert points == ([] if asked is None else [asked])
    # The axis may end before, where the curve has fallen below all deltas that are shown; what was asked for stays inside.
    assert (asked or (0.0, 0.0))[0] < chart.x.high <= right
    assert 1e-12 <= chart.y.low < 1 == chart.y.high
    assert ("Asked for: epsilon" in chart.alt) == (asked is not None)
    assert standalone(chart).startswith("<svg")


def test_the_curve_of_a_seeded_release_is_not_called_private():
    assert privacy_curve.of_release(sf.Release.from_bytes(stored("rate seeded"))).title.startswith("NOT PRIVATE")


def test_words_stand_for_the_pictures():
    promise = sf.Guarantee(sf.Pure(1.0), "replace-one", "a theorem", "a source")
    chart = trade_off.drawn(promises(promise, None))
    assert f"at least {math.floor(100 * (1 - 0.05 * math.e))} % misses" in chart.alt
    plan = sf.plan(sf.families.BetaBernoulli(), 20, 4.0, 1e-5, mechanism="noisy-statistics")
    assert "from 400 runs a side" in audit.of_audit(sf.audit(plan, runs=400)).alt
