"""The table of attacks that must notice planted faults: every procedure at its worst pair, cheap enough for hundreds of runs.

Enumeration and replay notice a wrong price of any size without a run; noise that is wrong in a sampler shows only in samples.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from audits import learnt_plans as learnt
from audits import shaped_plans as shaped
from audits import small_plans as plans
from audits.attacks import (
    ENUMERATED,
    REPLAYED,
    SAMPLED,
    Attack,
    Killer,
    Outcome,
    by_value,
    contrasted,
    enumerated,
    listed,
    part,
    replayed,
    sampled,
)
from audits.parts import replayed_after, replayed_parts
from sfumato.engines.opening import open_engine
from sfumato.mechanisms.plan import Plan
from sfumato.procedures import envelope, reference_chain


def _samples(name: str, procedure: str, attack: Attack, most: int, least: int = 250) -> Killer:
    return Killer(name, procedure, SAMPLED, attack, least, most)


def _lists(name: str, procedure: str, attack: Attack) -> Killer:
    return Killer(name, procedure, ENUMERATED, attack)


def _replays(name: str, procedure: str, attack: Attack) -> Killer:
    return Killer(name, procedure, REPLAYED, attack)


# --- laws that are drawn by trials, or by a chain that is assumed to have converged -----------------------------------


def _lattice_of_trials(plan: Plan, data: Any) -> np.ndarray:
    """Minus the potential at every point of the lattice of an envelope in one dimension."""
    engine = open_engine(data, plan.model, envelope.NEEDS)
    shape = envelope.envelope(plan.model, plan.n, plan.parameters.power)
    potential = envelope._Potential(plan.model, plan.n, plan.parameters.power, engine, shape)
    return -potential(potential.points(np.arange(shape.sizes[0])[:, None]))


def _points_of_chain(plan: Plan, data: Any) -> np.ndarray:
    """Minus the potential of a reference chain at 2,001 points of its line: 8 deviations on either side, or the whole domain."""
    engine = open_engine(data, plan.model, reference_chain.NEEDS)
    far = min(8 / math.sqrt(plan.model.prior.strong_convexity), plan.model.prior.domain_radius)
    value = reference_chain._value(plan.model, plan.n, plan.parameters.power, engine)
    return -np.array([value(np.array([each])) for each in np.linspace(-far, far, 2001)])


KILLERS: tuple[Killer, ...] = (
    # --- law
    _lists("rate, listed", "law", enumerated(partial(plans.draw, plans.RATE), plans.bits)),
    _lists("rate of three draws, listed", "law", enumerated(partial(plans.draw, plans.RATE, 0.5, 2.0, 3), plans.bits)),
    _lists("shares, listed", "law", enumerated(partial(plans.draw, plans.SHARES, 0.7, 1.5),
           lambda: plans.one(plans.COLOURS, "blue", "red", "green"))),
    _lists("events, listed", "law", enumerated(partial(plans.draw, plans.EVENTS, 0.8, 1.0),
           lambda: plans.one(plans.COUNTS, 0, 0, 8))),
    _lists("mean, listed", "law", enumerated(partial(plans.draw, plans.MEAN), lambda: plans.one(plans.NUMBERS, 3, 0, 6))),
    _lists("mean of eight draws, listed", "law", enumerated(partial(plans.draw, plans.MEAN, 1.0, 1.0, 8),
           lambda: plans.one(plans.NUMBERS, 3, 0, 6))),
    _lists("log odds, listed", "law", enumerated(partial(plans.draw, plans.LOGIT), plans.bits)),
    _samples("rate, sampled", "law", by_value(partial(plans.draw, plans.RATE, 1.0, 1.0, 4), plans.bits), 64_000),
    _samples("mean, sampled", "law", by_value(partial(plans.draw, plans.MEAN, 1.0, 1.0, 8),
             lambda: plans.one(plans.NUMBERS, 3, 0, 6)), 32_000),
    # --- noisy totals
    _lists("noisy vector mean, listed", "noisy-totals", enumerated(partial(plans.totals, plans.VECTOR_MEAN), plans.vectors)),
    _lists("noisy rate, listed", "noisy-totals", enumerated(partial(plans.totals, plans.RATE), plans.bits)),
    _lists("noisy shares, listed", "noisy-totals", enumerated(partial(plans.totals, plans.SHARES),
           lambda: plans.one(plans.COLOURS, "blue", "red", "green"))),
    _lists("noisy groups, listed", "noisy-totals", enumerated(partial(plans.totals, plans.GROUPED),
           lambda: plans.table(plans.GROUPS, {"g": "a", "x": 6.0}, {"g": "a", "x": 6.0}, {"g": "b", "x": 6.0}))),
    _samples("noisy rate, sampled", "noisy-totals", sampled(partial(plans.totals, plans.RATE), plans.bits, True), 32_000),
    _samples("noisy vector mean, sampled", "noisy-totals",
             sampled(partial(plans.totals, plans.VECTOR_MEAN), plans.vectors, True), 32_000),
    _replays("noisy vector mean, replayed", "noisy-totals",
             replayed(partial(plans.totals, plans.VECTOR_MEAN), lambda: (plans.vectors(),))),
    _replays("odd cells in a table, replayed", "noisy-totals", replayed(partial(plans.totals, plans.MEAN), plans.odd_cells)),
    _samples("two noisy totals beside each other, sampled", "noisy-totals",
             contrasted(partial(plans.totals, plans.VECTOR_MEAN), plans.vectors), 4_000),
    # --- noisy tables
    _lists("learnt table, listed", "noisy-tables", enumerated(learnt.all_pairs, learnt.every_cell)),
    _samples("learnt table, sampled", "noisy-tables", sampled(learnt.all_pairs, learnt.every_cell, True), 2_000),
    _replays("learnt table, replayed", "noisy-tables", replayed(learnt.all_pairs, lambda: (learnt.every_cell(),))),
    _replays("private bins, replayed", "noisy-tables", replayed(learnt.private_bins, learnt.across_bins)),
    _replays("chosen pairs, replayed", "noisy-tables", replayed(learnt.chosen_pairs, lambda: (learnt.every_cell(),))),
    _replays("choice of a pair, replayed", "noisy-tables", replayed(learnt.choice, learnt.one_up_one_down)),
    # --- last iterate
    _samples("chain, sampled", "last-iterate", by_value(plans.chain, plans.opposite), 32_000),
    _samples("chains, sampled", "last-iterate", by_value(partial(plans.chain, draws=4), plans.opposite), 4_000),
    _replays("chain, replayed", "last-iterate", replayed(plans.chain, lambda: (plans.opposite(),))),
    # --- path
    _samples("path, sampled", "path", sampled(plans.noisy_path, partial(plans.opposite, 2)), 64_000),
    _samples("paths, sampled", "path", sampled(partial(plans.noisy_path, draws=4), partial(plans.opposite, 2)), 16_000),
    _replays("path with an empty record, replayed", "path", replayed(plans.noisy_path, plans.empty_rows)),
    _replays("softmax path, replayed", "path", replayed(plans.softmax_path, plans.softmax_pair)),
    _replays("path, replayed", "path", replayed(plans.noisy_path, plans.odd_rows)),
    # --- lattice, envelope, kinks, reference chain
    _lists("lattice, listed", "lattice", enumerated(plans.lattice_draw, partial(plans.signs, 1))),
    _lists("four points of a lattice, listed", "lattice", enumerated(partial(plans.lattice_draw, 4), partial(plans.signs, 1))),
    _lists("trials, listed", "envelope", listed(plans.trials, partial(plans.signs, 1), _lattice_of_trials)),
    _samples("trials, sampled", "envelope", by_value(partial(plans.trials, flat=True), partial(plans.signs, 1, towards=0)),
             32_000),
    _replays("trials, replayed", "envelope", replayed(plans.trials, lambda: (plans.signs(1),))),
    _lists("kinks, listed", "kinked-grid", enumerated(plans.kinks, partial(plans.signs, 1, towards=0))),
    _lists("four draws with kinks, listed", "kinked-grid",
           enumerated(partial(plans.kinks, draws=4), partial(plans.signs, 1, towards=0))),
    _samples("kinks, sampled", "kinked-grid", by_value(plans.kinks, partial(plans.signs, 1, towards=0)), 64_000),
    _replays("kinks in a plane, replayed", "kinked-grid",
             replayed(partial(plans.kinks, 2), lambda: (plans.signs(2, towards=0),))),
    _lists("converged, listed", "reference-chain", listed(plans.converged, plans.opposite, _points_of_chain)),
    _lists("four converged draws, listed", "reference-chain",
           listed(partial(plans.converged, draws=4), plans.opposite, _points_of_chain)),
    _lists("converged on an interval, listed", "reference-chain",
           listed(partial(plans.converged, None), partial(plans.signs, 1), _points_of_chain)),
    _replays("converged, replayed", "reference-chain", replayed(plans.converged, lambda: (plans.opposite(),))),
    # --- shape first
    _replays("shaped path, replayed", "shaped-path", replayed_parts(shaped.shaped, shaped.shaped_pairs)),
    _replays("shaped path with scores, replayed", "shaped-path",
             replayed_parts(partial(shaped.shaped, True), shaped.shaped_pairs)),
    _replays("linear regression, replayed", "shaped-path", replayed_parts(shaped.linear, shaped.linear_pairs)),
    _replays("counts, replayed", "shaped-path", replayed_parts(shaped.counts, shaped.counts_pairs)),
    _replays("curvature of counts, replayed", "shaped-path", replayed_after(shaped.wide_counts, shaped.ones, shaped.most_bent)),
    _replays("shaped path on a line, replayed", "shaped-path", replayed_parts(shaped.line, shaped.line_pairs)),
    *(_samples(f"{name} of a shaped path, sampled", "shaped-path",
               part(shaped.shaped, lambda at=place: shaped.shaped_pairs()[at], name), most)
      for name, place, most in (("moments", 0, 16_000), ("path", 1, 16_000), ("curvature", 0, 16_000), ("scores", 2, 16_000))),
    _replays("whole shaped path, replayed", "shaped-path", replayed(partial(shaped.shaped, quiet=100.0), shaped.shaped_pairs)),
    _replays("whole shaped chain, replayed", "shaped-chain", replayed(shaped.mapped, shaped.shaped_pairs)),
    _replays("sixteen shaped chains, replayed", "shaped-chain", replayed(partial(shaped.mapped, draws=16), shaped.shaped_pairs)),
    _replays("parts of sixteen shaped chains, replayed", "shaped-chain",
             replayed_parts(partial(shaped.mapped, draws=16), shaped.shaped_pairs)),
    _replays("shaped chain, replayed", "shaped-chain", replayed_parts(shaped.mapped, shaped.shaped_pairs)),
)  # fmt: skip
BY_NAME = {killer.name: killer for killer in KILLERS}


def run(name: str, runs: int, false_alarm: float, seed: int = 1) -> Outcome:
    """One attack, with its name in the outcome."""
    from dataclasses import replace

    return replace(BY_NAME[name].attack(runs, false_alarm, seed), name=name)
