"""Every law on its public grid: masses, stated errors, seeded draws, cells and what is no point are on record."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from outcomes import Record, outcome, varied
from sfumato import draws as kept
from sfumato import randomness
from sfumato.grids import lattice, line, points, positive, rates, size_of, sticks
from sfumato.grids import size as sizes
from sfumato.models import laws
from sfumato.samplers import (
    beta_grid,
    bits,
    finite,
    gamma_grid,
    grid,
    langevin,
    logit_grid,
    normal,
    rejection,
    simplex_lattice,
    support,
)  # fmt: skip
from sfumato.samplers.laws import draw, log_error

D, G, L = laws.Dirichlet, laws.Gamma, laws.LogitNormal
LAWS: dict[str, Any] = {
    "rate": D((3.7, 9.1), 30.0, 0.7, single=True, grid=64), "rare rate": D((1e-3, 9.1), 30.0, 1e-4, single=True, grid=64),
    "sharp rate": D((4e5, 9e5), 2e6, 0.7, single=True, grid=1024), "rate above a floor": D((3.7, 0.2), 30.0, 0.1, 0.2, True, 64),
    "rate beyond its floor": D((1e3, 0.2), 3e3, 0.1, 0.2, True, 64), "two shares": D((3.7, 9.1), 30.0, 0.7, grid=64),
    "shares": D((0.9, 3.1, 2.2, 0.05), 30.0, 0.01, grid=64), "rate as planned": D((3.7, 9.1), 30.0, 0.7, single=True),
    "counts": G(3.7, 9.1, 0.0, 4.0, "root", grid=64), "counts near 0": G(1e-3, 9.1, 0.0, 4.0, "root", grid=64),
    "durations": G(3.7, 9.1, 1e-3, 40.0, "log", grid=256), "closed durations": G(3.7, 9.1, 0.5, 3.0, "log", True, 40.0, 64),
    "durations beyond": G(30.0, 400.0, 0.5, 3.0, "log", True, 400.0, 256), "durations before": G(30.0, 0.1, 0.5, 3.0, "log", True, 400.0, 256),
    "coarse": G(3e7, 9.1, 1e-3, 40.0, "log", grid=64), "unbounded": G(3.7, 9.1, 0.1, 3.0, "log", True, grid=64),
    "root from above 0": G(3.7, 9.1, 0.1, 4.0, "root", grid=64), "closed at 0": G(3.7, 9.1, 0.0, 4.0, "root", True, 10.0, grid=64),
    "finite": laws.Finite((-(1 << 47), 0, 1 << 48, -(900 << 48)), ((0.0, 1.0), (0.5, 0.2), (1.0, 1.0), (2.0, 2.0))),
    "normal": laws.Normal((Fraction(1, 3), Fraction(-7, 2)), (0.3, 2.0), (Fraction(1, 1 << 22), Fraction(1, 1 << 19))),
    "normal in a basis": laws.Normal((Fraction(1, 3), Fraction(-7, 2)), (0.3, 2.0), (Fraction(1, 1 << 22), Fraction(1, 1 << 19)), ((0.6, -0.8), (0.8, 0.6))),
    "log odds": L(3.7, 9.1, 12.8, 0.5, 0.3, -9.0, 9.0, 256), "rare log odds": L(0.0, 40.0, 40.0, 0.01, 1.0, -40.0, 20.0, 1024),
    "sharp log odds": L(3e7, 1e7, 4e7, 0.5, 0.3, -9.0, 9.0, 65536), "log odds far": L(3.7, 9.1, 12.8, 1e-9, 30.0, -9.0, 9.0, 256),
    "lattice": laws.Lattice((0.9, 3.1, 7.2), 30.0, 0.05, 40), "sharp lattice": laws.Lattice((90.0, 900.0, 5000.0), 9000.0, 1e-3, 300),
    "product": laws.Product((D((3.7, 9.1), 30.0, 0.7, single=True, grid=64), G(3.7, 9.1, 0.0, 4.0, "root", grid=64), laws.Lattice((0.9, 3.1), 30.0, 0.05, 40)), 2),
    "whole product": laws.Product((D((3.7, 9.1), 30.0, 0.7, single=True, grid=64),) * 2),
}  # fmt: skip
MASSES = {
    laws.Dirichlet: lambda law: beta_grid.beta_masses(law.cells[0], law.cells[1], beta_grid.nodes_for(law.weight, law.grid), law.geometry.rates),
    laws.Gamma: lambda law: gamma_grid.gamma_masses(law, gamma_grid.nodes_for(law)), laws.LogitNormal: logit_grid.masses,
    laws.Finite: finite.log_weights,
}  # fmt: skip


def drawn(name: str) -> dict[str, Any]:
    """Masses, error and draws of a law, and which values are its own."""
    law = LAWS[name]
    geometry = law.geometry
    values = outcome(draw, law, 7, sf.seeded(3))
    given = {"error": outcome(log_error, law), "size": outcome(size_of, law), "draws": values, "resized": [
        outcome(lambda k=k: laws.resized(law, k)) for k in (None, geometry.size, 1024, 1000)]}  # fmt: skip
    if type(law) in MASSES:
        masses = outcome(lambda: MASSES[type(law)](law))
        given |= {"masses": masses, "weights": outcome(lambda: _weights(MASSES[type(law)](law)))}
    for part in ("width", "length", "reference", "middles", "log_edges", "logit_edges", "edges", "coordinates"):
        inner = getattr(geometry, "rates", geometry)
        if hasattr(type(inner), part):
            given[part] = outcome(lambda p=part: getattr(inner, p))
    if isinstance(values, str):
        return given
    array = draw(law, 7, sf.seeded(3))
    low, high = float(np.min(array)), float(np.max(array))
    moved = {
        "itself": array, "a little": array * (1 + 4e-13), "more": array * (1 + 1e-7), "negative": -array, "none": np.full_like(array, np.nan),
        "first": np.where(np.arange(array.size).reshape(array.shape) == 0, array * 1.01, array), "shifted": array + 1e-7, "wider": np.hstack([array, array]),
        "last": np.where(np.arange(array.size).reshape(array.shape) == array.size - 1, array * 0.99, array), "infinite": array + np.inf,
        "beyond": array + 10 * (high - low + 1), "narrower": array[:, :-1], "ends": np.zeros_like(array), "reversed": array[:, ::-1], "below": array - 1e-9,
    }  # fmt: skip
    if isinstance(geometry, positive.PositiveGrid):
        ends = (geometry.lower, geometry.upper)
        moved |= {
            f"{end:g} and {k:g}": np.full_like(array, end * (1 + k))
            for end in ends
            for k in (-5e-12, -5e-13, 5e-13, 5e-12)
        }
    given["held"] = {
        what: [outcome(check, law, at) for check in (support.on_grid, support.in_support)] for what, at in moved.items()
    }
    for part in ("ends", "rounded"):
        if hasattr(geometry, part):
            given[part] = outcome(
                getattr(geometry, part), array if isinstance(geometry, sticks.StickGrid) else array.ravel()
            )
    return given


def _weights(masses: grid.Masses) -> Any:
    weights = grid.integer_weights(masses)
    places = [0, weights.total - 1, weights.total // 2, *(weights.total * k // 97 for k in range(1, 97))]
    return {
        "total": weights.total,
        "cells": [weights.cell_at(place) for place in places],
        "everywhere": masses.everywhere(),
    }


class Counted:
    """Fair bits from a stream, which counts what is asked for."""

    def __init__(self, seed: int) -> None:
        self.stream, self.asked = sf.seeded(seed), 0

    def bits(self, count: int) -> int:
        self.asked += count
        return self.stream.bits(count)

    def integers_below(self, bound: int) -> int:
        return self.stream.integers_below(bound)


def normals(seed: int, mean: Any, deviation: Any, spacing: Any) -> Any:
    source = Counted(seed)
    values = [normal.rounded_normal(bits.BufferedBits(source), mean, deviation, spacing) for _ in range(5)]
    return values, source.asked


def lazy(seed: int) -> Any:
    source = Counted(seed)
    made = [normal.LazyNormal(source) for _ in range(40)]
    return [(each.negative, each.whole, each.interval(40)) for each in made], source.asked


def uniforms(seed: int) -> Any:
    source = Counted(seed)
    one, other = bits.LazyUniform(source), bits.LazyUniform(source)
    return one.to(7), one.below(other), other.below(one), one.to(70), bits.BufferedBits(source).bits(70), source.asked


class Prior:
    """Half of |theta|^2, in a box."""

    start: Any = (0.1, -0.2)

    def gradient(self, theta: Any) -> Any:
        return theta

    def project(self, theta: Any) -> Any:
        return np.clip(theta, -0.7, 0.4)


RUN = {"learning_rate": 0.3, "momentum": 0.4, "steps": 9, "tail": 4}


def path(keep: bool, start: Any = (0.1, -0.2), noise: float = 0.3, **numbers: Any) -> Any:
    prior = Prior()
    prior.start = start
    recursion = langevin.Recursion.of(prior, 7, 2, 2, {**RUN, **numbers})
    reports: list[Any] = []
    made = langevin.noisy_path(
        lambda t: np.tanh(t - 1), recursion, noise, sf.seeded(3), keep, lambda *at: reports.append(at)
    )
    return made, reports, None if made.transcript is None else recursion.retrace(made.transcript)


def chain(step: float, steps: int) -> Any:
    reports: list[Any] = []
    start = np.array([[0.1, 0.2], [0.3, -0.4]])
    last = langevin.last_iterate(
        np.tanh, Prior().project, start, step, steps, sf.seeded(3), lambda *at: reports.append(at)
    )
    return last, reports


def trials(trials: int, draws: int, height: float) -> Any:
    source, reports = sf.seeded(5), []
    propose = lambda count: rejection.words(source, 2 * count).reshape(count, 2).astype(np.int64) % 9
    made = rejection.first_kept(
        propose,
        lambda places: height - 0.3 * places.sum(axis=1),
        trials,
        draws,
        np.array([-1, -1]),
        source,
        lambda *at: reports.append(at),
    )
    return made, reports


def thrown(share: float, chances: Any) -> Any:
    source = sf.seeded(9)
    return rejection.coins(np.array(chances), source), rejection.mixed(np.full((40, 2), 9), share, (3, 5), source)


def tabled(logs: Any, count: int) -> Any:
    table = rejection.table(np.array(logs))
    return table, rejection.places(table, count, sf.seeded(2))


def streams(seed: int, bound: int) -> Any:
    stream = sf.seeded(seed)
    child = stream.spawn()
    return (
        [stream.bits(k) for k in (1, 7, 8, 64, 65)],
        stream.integers_below(bound),
        stream.normal((2, 2)),
        child.bits(40),
        stream.spawn().bits(40),
        repr(stream),
        stream.private,
    )


def keys(value: Any) -> Any:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            randomness.os,
            "urandom",
            lambda size: value if not isinstance(value, str) else (_ for _ in ()).throw(OSError(value)),
        )
        return randomness._system_key()


def released(values: Any, labels: Any, transcript: Any, totals: Any, published: Any) -> Any:
    made = kept.Draws(values, labels, transcript, totals, published)
    frozen = [array.flags.writeable for array in (made.values, made.transcript, made.totals) if array is not None]
    return made, made.shape, made.bare, made.pooled(), made.flat(), made.mean(), made.quantile([0.2, 0.9]), frozen


def quantiles(q: Any) -> Any:
    return kept.Draws(np.arange(6.0).reshape(1, 6), ("x",)).quantile(q)


def steep(d: Any) -> Any:
    return -np.abs(d) * 3.0 - 0.5 * d * d


SHAPES = np.linspace(0.01, 5.0, 9)
CALLS: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "normals": (normals, {"seed": 3, "mean": Fraction(1, 3), "deviation": 0.7, "spacing": 2.0**-20}, {"mean": [1.5], "deviation": [0], "spacing": [Fraction(1, 3)]}),
    "lazy": (lazy, {"seed": 3}, {}), "uniforms": (uniforms, {"seed": 3}, {}), "path": (path, {"keep": True, "start": (0.1, -0.2), "noise": 0.3, **RUN}, {"start": [None]}),
    "chain": (chain, {"step": 0.3, "steps": 6}, {}), "trials": (trials, {"trials": 5, "draws": 7, "height": 4.0}, {"height": [math.inf]}),
    "coins": (thrown, {"share": 0.3, "chances": [0.5, 0.25, 1.0, 0.0, 0.9, 0.1, 2.0**-64]}, {"share": [2.0**-70]}),
    "streams": (streams, {"seed": 3, "bound": 97}, {"bound": [1 << 70, 128, 129]}),
    "keys": (keys, {"value": bytes(range(32))}, {"value": [bytes(32), bytes(range(31)), bytes(range(33)), b"", "gone"]}),
    "draws": (released, {"values": np.arange(8.0).reshape(2, 2, 2), "labels": ("a", "b"), "transcript": np.zeros((2, 3, 2)), "totals": np.ones(3), "published": {"x": np.ones((2, 2))}},
        {"values": [np.arange(4.0), np.arange(4.0).reshape(2, 2), np.arange(12.0).reshape(2, 2, 3)], "labels": [("a",), ()],
         "transcript": [np.zeros((2, 3)), np.zeros((1, 3, 2)), np.zeros((2, 3, 3))], "published": [{}]}),
    "quantiles": (quantiles, {"q": 0.3}, {"q": [[], [0.2, 1.0], [0.2, 1.1], [-0.1]]}),
    "masses": (lambda mode, edges, nodes, closed: grid.log_masses(steep, mode, np.array(edges), nodes, closed),
        {"mode": 0.3, "edges": [-2.0, -0.5, 0.4, 0.5, 9.0, 30.0, 90.0], "nodes": 8, "closed": False}, {"mode": [-5.0, 95.0, 0.45], "edges": [[0.5, 1.0], [-900.0, -800.0, 700.0]]}),
    "gaussian grid": (langevin.gradient_grid, {"noise": 0.3}, {}), "ending grid": (langevin.ending_grid, {"step": 0.3}, {}), "spacing": (line.spacing, {"deviation": 0.3}, {"deviation": [0.5, 0.25, 1e9]}),
    "bounded": (langevin.bounded, {"theta": np.array([np.nan, np.inf, -np.inf, 1e101, 3.0])}, {}),
    "beta error": (beta_grid.mass_error, {"weight": 30.0, "smallest": 0.7, "cells": 64}, {"weight": [rates.WEIGHT_OF_A_CELL * 4096 * k for k in (0.01, 0.011, 1.0, 1.004, 1.006)], "smallest": [1e-6, 9e-7]}),
    "beta nodes": (beta_grid.nodes_for, {"weight": 30.0, "cells": 64}, {"weight": [rates.WEIGHT_OF_A_CELL * 4096 * k for k in (0.01, 0.011)]}),
    "cells": (rates.cells_for, {"weight": 30.0}, {"weight": [1e3, 1e5, 1e9]}),
    "table": (tabled, {"logs": [-1.1, 0.0, -3.0, -300.0], "count": 30}, {"logs": [[0.0, -241.0], [-0.2, 0.0]]}),
    "table cells": (rates.cells_for_tables, {"weight": 30.0}, {"weight": [1e3, 1e5, 1e9]}),
    "lattice steps": (lattice.steps_for, {"weight": 30.0}, {"weight": [6.5e4, 1e5, 1e9]}),
    "power of two": (sizes.power_of_two, {"least": 30.0, "smallest": 4, "largest": 1024}, {"least": [32.0, 33.0, 1.0, 2.0]}),
    "among": (points.among, {"values": np.array([0.1, 0.5]), "points": np.array([0.1, 0.3, 0.5])}, {"values": [np.array([0.1 * (1 + k)]) for k in (1e-12, 5e-12, 1e-8)] + [np.array([0.0]), np.array([0.6]), np.array([0.2])]}),
    "multiples": (line.multiples, {"values": np.array([0.5, 1.0]), "step": 0.25}, {"step": [1.0, np.array([0.5, 1.0])]}),
    "bends": (logit_grid.shape, {"law": LAWS["rare log odds"], "mode": -0.7, "d": np.array([-3.0, 0.2, 40.0])}, {"mode": [0.7, 0.0], "d": [np.array([-40.0, 1.0]), np.array([30.0])]}),
    "beta bends": (beta_grid._shape, {"a": 1.3, "b": 0.4, "first": 0.7, "second": 0.3, "d": np.array([-3.0, 0.2, 40.0])}, {"first": [0.2]}),
    "quadrature": (gamma_grid._quadrature_error, {"nodes": 16, "half": np.array([0.01, 0.3]), "slope": np.array([3.0, 9.0]), "curvature": np.array([5.0, 90.0])}, {}),
    "blocks": (gamma_grid._blocks, {"grid": LAWS["counts"].geometry, "public": 36.0}, {"grid": [LAWS["durations"].geometry]}),
    "lattice error": (lambda cells, weight, floor, steps: simplex_lattice.log_error(laws.Lattice(tuple(cells), weight, floor, steps)), {"cells": [0.9, 3.1, 7.2], "weight": 30.0, "floor": 0.05, "steps": 40}, {"floor": [1.0]}),
    "lattice places": (lambda steps: simplex_lattice.places_for(laws.Lattice((0.9, 3.1), 30.0, 0.05, steps)), {"steps": 40}, {}),
    "whole weights": (simplex_lattice.whole_weights, {"logs": np.array([-3.1, 0.2, -400.0]), "shift": 700}, {}),
    "inverted": (lambda logs, shift: [simplex_lattice._inverted(np.array(logs), shift, sf.seeded(seed)) for seed in range(9)], {"logs": [-1.1, 0.2, -1500.0], "shift": 2300}, {"logs": [[-1600.0, 0.0]]}),
    "fallen": (simplex_lattice._fallen, {"weights": [(3, 5), (4, 2), (9, 1)], "place": 6}, {"place": [4, 5, 7, 8, 99]}),
}  # fmt: skip


def called(name: str) -> Any:
    function, given, more = CALLS[name]
    return varied(function, given, more)


DRAWN = Record("laws", {name: name for name in LAWS}, drawn)
CALLED = Record("samplers", {name: name for name in CALLS}, called)
RECORDS = [DRAWN, CALLED]


@pytest.mark.planted
@pytest.mark.parametrize("record", RECORDS, ids=[record.path.stem for record in RECORDS])
def test_masses_draws_and_points_are_those_that_are_recorded(record):
    assert record.all_differences() == []
