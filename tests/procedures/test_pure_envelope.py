"""OPS beyond two dimensions at a pure target: the law of the release as it runs, point by point, and the plan."""

from __future__ import annotations

import dataclasses
import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from typer.testing import CliRunner

import sfumato as sf
from effort import sized
from goodness import LEVEL, chi_square_p
from pricing import carried_out
from sfumato.engines.opening import open_engine
from sfumato.errors import FormatError, SfumatoError
from sfumato.mechanisms.exponential import MOST_TRIALS
from sfumato.procedures import envelope
from sfumato.shells.cli import app
from sfumato.theorems.rejection import uniform_trials
from trial_models import ball, box, labelled, marginal, rows_of

SHARE = 2.0**-20
# Bits of the arithmetic on masses: those below e^-240 of the largest keep 2000 bits.
PRECISION = 2400


class Law:
    """What one run of the procedure asks of the sampler, turned into the exact law of a trial and of the release."""

    def __init__(self, model: sf.Gibbs, rows, labels, power: float, shape: envelope.Envelope, monkeypatch) -> None:
        tables, asked = [], []
        make = envelope.rejection.table

        def table(logs):
            tables.append(make(logs))
            return tables[-1]

        def watch(propose, exponent, trials, draws, otherwise, source, report):
            places = np.array(list(itertools.product(*map(range, shape.sizes))))
            with np.errstate(under="ignore"):
                asked.append((places, np.exp(-np.maximum(exponent(places), 0.0)), exponent(places), otherwise))
            return np.tile(otherwise, (draws, 1))

        with monkeypatch.context() as patch:
            patch.setattr(envelope.rejection, "table", table)
            patch.setattr(envelope.rejection, "first_kept", watch)
            patch.setattr(envelope, "envelope", lambda *_: shape)
            engine = open_engine(labelled(rows, labels), model, ("values",))
            carried_out(envelope, model, len(rows), 1, envelope.Parameters(power, 1), engine, sf.seeded(1))
        (places, chances, self.exponents, otherwise) = asked[0]
        sides = [[Fraction(b - a, 1 << 512) for a, b in itertools.pairwise([0, *each.ends])] for each in tables]
        proposed = [math.prod(side[j] for side, j in zip(sides, place, strict=True)) for place in places.tolist()]
        kept = [q * Fraction(chance) for q, chance in zip(proposed, chances.tolist(), strict=True)]
        with mp.workprec(PRECISION):
            self.kept = [mp.mpf(mass.numerator) / mass.denominator for mass in kept]
            self.success = mp.fsum(self.kept)
        self.otherwise = places.tolist().index(otherwise.tolist())

    def release(self, trials: int, share: float) -> list[mp.mpf]:
        """Masses of the places: the first kept of the trials, or the public point, mixed with a uniform place."""
        missed = (1 - self.success) ** trials
        law = [mass / self.success * (1 - missed) for mass in self.kept]
        law[self.otherwise] += missed
        return [(1 - share) * mass + share / len(law) for mass in law]


def coarse(model: sf.Gibbs, n: int, power: float, steps: int, gap: float) -> envelope.Envelope:
    """The envelope with a few points a side; the gap makes up for the mode's distance from its lattice point."""
    shape = envelope.envelope(model, n, power)
    widths = [a * b for a, b in zip(shape.spacing, shape.steps, strict=True)]
    return dataclasses.replace(
        shape, steps=(steps,) * len(widths), spacing=tuple(w / steps for w in widths), gap=shape.gap + gap
    )


RECORDS = ([1.0, 0.0, 0.0], [-0.6, 0.8, 0.0], [0.0, -0.6, 0.8])


def laws_of_all_data(model, power, shape, monkeypatch, records=RECORDS):
    """The law of every data set of two of the records, by the records."""
    return {
        chosen: Law(model, np.array([records[k] for k in chosen]), np.ones(2, int), power, shape, monkeypatch)
        for chosen in itertools.product(range(len(records)), repeat=2)
    }


def neighbours(laws):
    """Ordered pairs of data sets that differ in one record."""
    pairs = itertools.permutations(laws, 2)
    return [(a, b) for a, b in pairs if sum(x != y for x, y in zip(a, b, strict=True)) == 1]


def worst(laws, trials: int, share: float) -> tuple[float, float]:
    """Largest log ratio of a point's masses under two neighbours, and the largest range of the log ratios of one pair."""
    with mp.workprec(PRECISION):
        released = {chosen: law.release(trials, share) for chosen, law in laws.items()}
        ratios = {
            (a, b): mp.log(max(x / y for x, y in zip(released[a], released[b], strict=True) if x))
            for a, b in neighbours(laws)
        }
        return float(max(ratios.values())), float(max(ratios[a, b] + ratios[b, a] for a, b in ratios))


@pytest.mark.parametrize("model", [box(half=0.8, precision=2.0), ball(radius=2.0, precision=2.0)], ids=["box", "ball"])
def test_the_release_as_it_runs_is_pure_for_all_neighbours(model, monkeypatch):
    """27 to 125 points in three dimensions: every mass is an exact fraction of the tables and floats that were used."""
    power, steps = 0.6, sized(2, 4)
    shape = coarse(model, 2, power, steps, gap=3.0)
    laws = laws_of_all_data(model, power, shape, monkeypatch)
    assert min(law.exponents.min() for law in laws.values()) >= 0
    least = min(float(law.success) for law in laws.values())
    points = math.prod(shape.sizes)
    numbers = {"acceptance": least * (1 - 1e-12), "trial_error": shape.finest_error, "every_data_set": True}
    exact = envelope.exact_range(model, 2, 1, power)
    # The fewest trials that the theorem allows, and many more.
    few = next(
        k
        for k in itertools.count(1)
        if k * math.log1p(-least) + math.log(points / SHARE) < math.log(0.9 * math.tanh(0.3))
    )
    for trials in (few, 4 * few):
        price = uniform_trials(exact, share=SHARE, points=points, trials=trials, **numbers).curve.epsilon_value
        largest, spread = worst(laws, trials, SHARE)
        assert largest <= exact.curve.epsilon_value
        assert spread <= price
        assert spread >= 0.2 * exact.curve.epsilon_value  # the price is of the right size


@pytest.mark.planted
def test_a_point_that_one_table_leaves_out_is_pure_only_by_the_uniform_share(monkeypatch):
    """A steep envelope whose centre one record moves by a place: the far side is below e^-240 of one table and not the other.

    Without the uniform share its probability is 0 under one data set and not under its neighbour.
    """
    half, power = 1.0, 0.6
    prior = sf.priors.Gaussian(precision=240.0, mean=(-0.5, 0.0, 0.0))
    model = sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Box(prior, [-half] * 3, [half] * 3), 3)
    shape = coarse(model, 2, power, 2, gap=400.0)
    shape = dataclasses.replace(shape, curvature=130.0)
    records = ([1.0, 0.0, 0.0], [-1.0, 0.0, 0.0])
    laws = laws_of_all_data(model, power, shape, monkeypatch, records)
    assert min(law.exponents.min() for law in laws.values()) >= 0
    zeros = {chosen: [mass == 0 for mass in law.kept] for chosen, law in laws.items()}
    assert any(x and not y for a, b in neighbours(laws) for x, y in zip(zeros[a], zeros[b], strict=True))
    exact = envelope.exact_range(model, 2, 1, power)
    with pytest.raises(ZeroDivisionError):
        worst(laws, 1 << 700, 0.0)
    # A success is rare here, since the gap is large: so many trials stand for as many as it takes.
    assert worst(laws, 1 << 700, SHARE)[0] <= exact.curve.epsilon_value


def test_what_a_table_leaves_out_and_rounds_off_is_within_the_charge():
    """Total variation of one coordinate as it is picked from the law with every weight, the smallest ones by mpmath."""
    logs = -0.5 * 2.0 * (np.arange(-30, 31) * 0.7) ** 2  # down to e^-441
    assert logs.min() < envelope.rejection.SMALLEST < np.sort(logs)[-21]
    ends = [0, *envelope.rejection.table(logs).ends]
    with mp.workprec(PRECISION):
        shares = [(mp.mpf(b) - a) / mp.mpf(2) ** 512 for a, b in itertools.pairwise(ends)]
        floats = np.exp(np.maximum(logs, -600.0))
        cut = logs < envelope.rejection.SMALLEST
        meant = [
            mp.exp(log) if far else mp.mpf(w) for log, w, far in zip(logs.tolist(), floats.tolist(), cut, strict=True)
        ]
        total = mp.fsum(meant)
        distance = mp.fsum(abs(s - w / total) for s, w in zip(shares, meant, strict=True)) / 2
        lost = mp.fsum(w for w, far in zip(meant, cut, strict=True) if far) / total
    shape = dataclasses.replace(envelope.envelope(box(), 10, 0.3), steps=(len(logs) - 1,))
    assert lost / 2 <= distance <= shape.finest_error
    assert shape.finest_error <= 1e-102


@pytest.mark.parametrize("share", [2.0**-20, 0.25])
def test_draws_follow_the_posterior_and_their_share_of_the_uniform(share):
    """A quarter of uniform draws on the cube around the ball shows; those outside the ball become its centre."""
    n, power, draws, radius = 40, 0.3, 3_000, 3.0
    model = ball(radius=radius)
    rows, labels = rows_of(n, 0.0)
    engine = open_engine(labelled(rows, labels), model, ("values",))
    values = carried_out(envelope, model, n, draws, envelope.Parameters(power, 60, share), engine, sf.seeded(5))
    assert np.linalg.norm(values, axis=1).max() <= radius
    edges = np.linspace(-radius, radius, 13)
    observed = np.histogram(values[:, 0], edges)[0]
    # The first coordinate of a uniform point of the cube that is in the ball: discs of area pi (R^2 - x^2).
    discs = np.diff(math.pi * (radius**2 * edges - edges**3 / 3)) / (2 * radius) ** 3
    flat = discs.copy()
    centre = envelope.chains.public_start(model, 1, 3)[0, 0]
    flat[np.searchsorted(edges, centre + 1e-9) - 1] += 1 - discs.sum()
    for scale, part in ((1.0, share), (0.5, share), (1.0, 0.25 - share)):
        posterior = marginal(model, rows, labels, power * scale, edges)
        p = chi_square_p(observed, draws * ((1 - part) * posterior + part * flat))
        assert (p > LEVEL) == (scale == 1.0 and abs(part - share) < 1e-4), (scale, part)


@pytest.mark.planted
def test_uniform_draws_cover_the_whole_ball_whatever_the_data():
    """Of almost uniform draws every coordinate has the law of discs, though the mode lies to one side."""
    n, radius, draws = 40, 3.0, 4_000
    model = ball(radius=radius)
    rows, _ = rows_of(n, 3.0)
    engine = open_engine(labelled(rows, np.ones(n, int)), model, ("values",))
    values = carried_out(envelope, model, n, draws, envelope.Parameters(0.3, 1, 0.999), engine, sf.seeded(6))
    kept = values[np.linalg.norm(values, axis=1) > 0.02]  # less those at the centre, which stand for points outside
    edges = np.linspace(-radius, radius, 13)
    discs = np.diff(radius**2 * edges - edges**3 / 3)
    assert len(kept) > 0.4 * draws
    for column in kept.T:
        observed = np.histogram(column, edges)[0]
        assert chi_square_p(observed, len(kept) * discs / discs.sum()) > LEVEL
        below = np.where(edges[1:] <= 1.0, discs, 0.0)
        assert chi_square_p(observed, len(kept) * (0.999 * below / below.sum() + 0.001 / 12)) < LEVEL


@pytest.mark.parametrize("model", [box(precision=20.0), ball(precision=20.0)], ids=["box", "ball"])
@pytest.mark.parametrize(
    "target",
    [{"epsilon": 1.0, "delta": 0.0}, {"target": sf.Pure(1.0)}, {"target": sf.BoundedRange(1.0)}],
    ids=["a point", "pure", "range"],
)
def test_a_pure_target_is_met_with_no_delta_and_no_slack(model, target):
    plan = sf.plan(model, 500, **target, mechanism="exponential")
    assert set(dict(plan.parameters)) == {"power", "trials", "uniform"}
    assert plan.guarantee.slack == 0
    assert plan.guarantee.trust == "proved"
    assert plan.guarantee.delta(1.0) == 0
    assert plan.guarantee.epsilon(0.0) == pytest.approx(1.0, rel=1e-7)
    assert "Pure 1-differential privacy" in str(plan)
    # The power is that of the exact mechanism, to a relative 1e-7.
    assert envelope.exact_range(model, 500, 1, plan["power"] * (1 + 1e-7)).epsilon(0.0) > 1
    fewer = envelope.Parameters(plan["power"], plan["trials"] - plan["trials"] // 4, plan["uniform"])
    assert envelope.price(model, 500, 1, fewer).epsilon(0.0) > 1 + 1e-7


def test_draws_add_up_and_a_curve_is_met_too():
    three = sf.plan(ball(precision=20.0), 500, 0.9, 0.0, mechanism="exponential", draws=3)
    one = sf.plan(ball(precision=20.0), 500, 0.3, 0.0, mechanism="exponential")
    assert three["power"] == pytest.approx(one["power"], rel=1e-6)
    assert three.guarantee.epsilon(0.0) <= 0.9
    assert three.guarantee.epsilon(0.0) == pytest.approx(0.9, rel=1e-6)
    assert three.guarantee.draws == 3
    curve = sf.plan(ball(precision=20.0), 500, target=sf.Gaussian(0.5), mechanism="exponential")
    assert curve.guarantee.curve.mu <= 0.5


def test_a_pure_release_verifies_and_edited_numbers_do_not(tmp_path):
    model = ball(precision=20.0)
    rows, labels = rows_of(50, 0.0)
    plan = sf.plan(model, 50, 1.0, 0.0, mechanism="exponential", draws=2)
    release = sf.publish(plan, labelled(rows, labels))
    release.save(tmp_path / "draw.sfumato")
    read = sf.load(tmp_path / "draw.sfumato")
    assert read.verify().draws.shape == (1, 2, 3)
    assert read.guarantee.epsilon(0.0) <= 1
    shown = CliRunner().invoke(app, ["show", "--verify", str(tmp_path / "draw.sfumato")])
    assert shown.exit_code == 0
    assert "verified" in shown.output
    numbers = plan.parameters
    for forged in (
        dataclasses.replace(numbers, trials=numbers.trials // 2),
        dataclasses.replace(numbers, uniform=numbers.uniform / 2),
        dataclasses.replace(numbers, uniform=None),
    ):
        with pytest.raises(SfumatoError):
            sf.publish(dataclasses.replace(plan, parameters=forged), labelled(rows, labels))
    with pytest.raises(FormatError, match="uniform of a plan must be a finite number greater than 0"):
        envelope.Parameters.from_json({"power": 0.1, "trials": 3, "uniform": 0.0})


def test_where_a_slack_takes_too_many_trials_a_pure_draw_serves_a_target_with_a_delta():
    """Eight dimensions, a prior 22 times weaker than the data: seven million trials by eigenvalues, 70,000 by the trace."""
    model = ball(radius=5.85, precision=1.0, d=8)
    plan = sf.plan(model, 1000, 1.0, 1e-6, mechanism="exponential")
    shape = envelope.envelope(model, 1000, plan["power"])
    assert 21 / shape.acceptance > MOST_TRIALS
    assert plan["trials"] < MOST_TRIALS / 10
    assert plan.guarantee.slack == 0
    assert plan.guarantee.delta(1.0) <= 1e-6
    assert "uniform" in dict(plan.parameters)


def test_a_plan_with_a_delta_is_as_it_was():
    """Neither its numbers nor its digest know of uniform draws."""
    plan = sf.plan(ball(precision=20.0), 1000, 1.0, 1e-6, mechanism="exponential")
    assert set(plan.to_json()["parameters"]) == {"power", "trials"}
    assert plan.digest == "d7041ff2fcaf662e789eb4af0f583a90a326c09bd7283952972303afca5425d4"
