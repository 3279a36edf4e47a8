"""Plans whose numbers were edited after planning: another price for the same draws is refused, before anything is charged."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest

import release_cases as cases
import sfumato as sf
from forging import stored
from sfumato.draws import Draws
from sfumato.errors import FormatError, SfumatoError
from sfumato.procedures import last_iterate, lattice, law, noisy_totals

ROWS = cases.rows(cases.labelled(2))
BITS = cases.rows(cases.BITS)
DIFFUSED = sf.plan(cases.logistic(2), cases.N, 1.0, 1e-6, mechanism="diffused")
NOISY = sf.plan(cases.RATE, cases.N, 1.0, 1e-6, mechanism="noisy-statistics")


def with_plan(release: sf.Release, **changes) -> sf.Release:
    """The release with fields of its plan replaced, and the digest made anew."""
    plan = {**release.plan, **changes}
    text = json.dumps(plan, sort_keys=True, separators=(",", ":"))
    return replace(release, plan=plan, plan_digest=hashlib.sha256(text.encode()).hexdigest())


def test_a_chain_that_stands_for_an_exact_draw_is_priced_as_one():
    """Without its strength the same chain would be charged as itself alone, mu 0.20 and not 0.24."""
    bare = replace(DIFFUSED.parameters, strength=None)
    cheaper = last_iterate.price(DIFFUSED.model, cases.N, 1, bare)
    assert cheaper.curve.mu < 0.9 * DIFFUSED.guarantee.curve.mu
    with pytest.raises(FormatError, match="record a strength"):
        sf.publish(replace(DIFFUSED, parameters=bare, guarantee=cheaper), ROWS)
    release = sf.publish(DIFFUSED, ROWS)
    numbers = {key: value for key, value in release.plan["parameters"].items() if key != "strength"}
    with pytest.raises(FormatError, match="record a strength"):
        with_plan(release, parameters=numbers).verify()
    with pytest.raises(FormatError, match="record a strength"):
        with_plan(release, mechanism="langevin").verify()


def test_the_numbers_that_are_drawn_are_those_that_were_priced():
    """The planted fault: numbers that call themselves others."""
    tiny = sf.plan(cases.RATE, cases.N, 0.01, 1e-6, mechanism="diffused")

    class Liar(law.Parameters):
        def to_json(self):
            return tiny.parameters.to_json()

    with pytest.raises(FormatError, match="not those of procedure"):
        sf.publish(replace(tiny, parameters=Liar(1.0, 1.0, 4096)), BITS)


@pytest.mark.parametrize("grid", [2, 512, 12345, 1 << 17, 1 << 20])
def test_a_grid_whose_error_was_not_measured_is_refused_before_the_charge(grid, tmp_path):
    plans = [
        replace(NOISY, parameters=noisy_totals.Parameters(NOISY["noise"], grid)),
        sf.plan(cases.RATE, cases.N, mechanism="exact"),
    ]
    plans[1] = replace(plans[1], parameters=replace(plans[1].parameters, grid=grid))
    with sf.Ledger.open(tmp_path / "budget.db") as ledger:
        ledger.register("bits", 100.0, 1e-2, unit="person", allow_weak=True)
        for plan in plans:
            with pytest.raises(FormatError, match="grid"):
                sf.publish(plan, BITS, ledger)
        assert ledger.spent("bits").charges == 0


def test_log_odds_are_not_read_on_a_coarser_grid():
    model = sf.families.LogitNormal(1.0)
    assert model.public_law(10**6).grid == 1 << 16
    with pytest.raises(FormatError, match="grid"):
        model.public_law(10**6, 1.0, 1.0, 1 << 12)


def test_a_grid_is_recorded_only_where_it_is_used():
    mean = sf.plan(sf.families.BoundedMean(0, 6), cases.N, 1.0, 1e-6, goal="estimate")
    with pytest.raises(FormatError, match="grid"):
        noisy_totals.price(mean.model, cases.N, 1, noisy_totals.Parameters(mean["noise"], 4096))


@pytest.mark.parametrize("points", [0, lattice.MOST_POINTS + 1])
def test_a_lattice_without_points_or_beyond_all_floats_is_refused(points):
    with pytest.raises(FormatError, match="points a side"):
        lattice.price(cases.logistic(2, cases.ball()), cases.N, 1, lattice.Parameters(0.1, points))


def test_a_plan_of_the_first_version_is_not_accepted_in_a_newer_file():
    old = sf.Release.from_bytes(stored("rate noisy"))
    assert old.verify() is old
    with pytest.raises(FormatError, match="version"):
        replace(old, written_promise=None).verify()


def test_every_average_follows_from_its_own_transcript():
    """Two chains written as two draws of one chain would leave the second without its gradients."""
    plan = sf.plan(cases.logistic(2), cases.N, 1.0, 1e-6, goal="estimate", steps=20, keep=("transcript",), draws=2)
    release = sf.publish(plan, ROWS).verify()
    values, transcript = release.draws.values, release.draws.transcript
    invented = np.stack([values[0, 0], values[0, 0] + 0.5])[None]
    with pytest.raises(SfumatoError):
        replace(release, draws=Draws(invented, release.draws.labels, transcript[:1])).verify()
    repeated = with_plan(release, keep=["transcript"] * 3)
    with pytest.raises(SfumatoError):
        repeated.verify()


SHAPED = {
    "shaped-path": {"moments_noise": 0.5, "noise": 0.5, "curvature_noise": 0.5, "score_noise": 0.5, "steps": 2},
    "shaped-langevin": {"moments_noise": 0.5, "chain_mu": 2.0},
}


@pytest.mark.parametrize("mechanism", SHAPED)
def test_a_shaped_plan_with_another_number_is_not_carried_out(mechanism):
    """Less noise, more steps or a larger mu: the price that was planned is not what these numbers cost."""
    goal = "estimate" if mechanism == "shaped-path" else "draws"
    plan = sf.plan(cases.logistic(2), cases.N, 1.0, 1e-6, mechanism=mechanism, goal=goal)
    for name, factor in SHAPED[mechanism].items():
        numbers = replace(plan.parameters, **{name: type(plan[name])(plan[name] * factor)})
        with pytest.raises(SfumatoError, match="changed after planning"):
            sf.publish(replace(plan, parameters=numbers), ROWS)
