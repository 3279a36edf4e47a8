"""Readings of a shape-first regression: posteriors, curvatures, filters and maps of fixed numbers are on record."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from path_oracle import logistic_fit, published

from outcomes import Record, outcome, varied
from sfumato.shapes import (
    arrival,
    clip_level,
    curvature,
    filter,
    mean_label,
    residuals,
    saturation,
    schedule,
    symmetric,
    unseen,
    whitening,
)
from sfumato.shapes.posterior import posterior
from sfumato.shapes.published import Published

ROBUST = np.array([[0.02, 0.005, 0.0], [0.005, 0.03, -0.004], [0.0, -0.004, 0.01]])
TURN = np.linalg.qr(np.random.default_rng(4).standard_normal((3, 3)))[0]


@cache
def cases() -> dict[str, Published]:
    """Published numbers: a quadratic loss, noisy fits, a path that stopped early, columns that nearly agree."""
    rng = np.random.default_rng(11)
    noisy = {"n": 300, "d": 4, "noise": 0.12, "moments_noise": 0.05, "curvature_noise": 0.03}
    fits = [
        logistic_fit(rng, **{**noisy, **more})[0]
        for more in ({}, {"n": 1000, "noise": 0.02}, {"moments_noise": 0.3, "curvature_noise": 0.2})
    ]
    turned = {
        "matrix": TURN @ np.diag([2.0, 1.2, 0.9]) @ TURN.T,
        "vectors": TURN,
        "curvature": TURN @ np.diag([0.05, 0.06, 0.1]) @ TURN.T,
    }
    return {
        "quadratic": published(), "noisy": fits[0], "exact": fits[1], "vague": fits[2], "turned": published(**turned, score_matrix=ROBUST, score_noise=0.01, curvature_noise=0.02, moments_noise=0.03),
        "short": published(steps=3, tail=1, rate=0.2, noise=1e-4, gradient=np.array([-0.2, 0.3, -0.25]), precision=1e-6 * np.eye(3)),
        "unresolved": published(resolved=np.array([False, False, True]), moments_noise=0.08, own=np.array([0.1, 0.1, 0.4])),
        "alike": published(values=np.array([1e-3, 0.2, 0.4]), vectors=np.array([[0.6, 0.5, 0.62], [-0.62, 0.49, 0.61], [0.0, -0.7, 0.7]]), moments_noise=0.01, curvature_noise=0.01),
        "spiked": published(curvature=np.diag([0.04, 0.9, 0.06]), curvature_noise=0.02, moments_noise=0.02, score_matrix=ROBUST, score_noise=0.001),
        "steep": published(average=np.array([3.0, -4.0, 2.0]), gradient=np.array([0.2, 0.3, -0.4]), curvature_noise=0.01, moments_noise=0.02, noise=0.3),
        "flat": published(curvature=np.zeros((3, 3)), curvature_noise=0.05, moments_noise=0.02, score_scale=-0.01), "least": published(least_curvature=0.1, curvature_noise=0.01, moments_noise=0.01),
    }  # fmt: skip


def read(name: str) -> dict[str, Any]:
    """What is read from published numbers, and from the same with one of them changed."""
    given = cases()[name]
    fields = {
        key: outcome(lambda k=key, f=factor: posterior(replace(given, **{k: getattr(given, k) * f}), "model"))
        for key, factor in (("noise", 3.0), ("moments_noise", 20.0), ("curvature_noise", 20.0), ("score_scale", 2.0), ("average", 0.2), ("gradient", 5.0), ("rate", 0.3),
                            ("momentum", 0.5), ("precision", 30.0), ("centre", -2.0), ("n", 3), ("largest_curvature", 0.3))
    }  # fmt: skip
    return {
        "posterior": {sampling: outcome(posterior, given, sampling) for sampling in ("none", "model", "robust", "other")}, "curvature": outcome(curvature.estimate, given),
        "cleaned": outcome(curvature.cleaned, given), "pairs": outcome(curvature.pairs, given), "changed": fields, "unseen": outcome(unseen.unseen, given, given.average, np.eye(len(given.average)) * 0.3),
        "curved": outcome(unseen.curved, given, np.eye(len(given.average))[0]), "residuals": [outcome(residuals.residual_variance, given, clip, bend) for clip, bend in ((1.0, 1.0), (0.3, 2.0), (40.0, np.inf))],
    }  # fmt: skip


A, B, C = (
    np.array([0.1, 0.5, 2.0]),
    np.array([0.3, 0.2, 0.9]),
    np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 3.0]]),
)
PATH = {"rate": 0.4, "momentum": 0.6, "steps": 9, "tail": 4}
RULE = whitening.MapRule(1.3, 2.0, 0.3)
MAP = {"noise": 0.1, "rule": RULE, "longest": 1.7}
SHARES = np.array([0.0, 0.001, 0.01, 0.12, 0.45, 0.2, 0.12, 0.07, 0.02, 0.009])
SPEND = {"spend": 400.0, "size": 2.0, "dimension": 5, "scale": 1.3, "curvature": 0.25, "steps": 100, "momentum": 0.8}
LAW = posterior(published(), "model")
CALLS: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "missing": (arrival.missing, {"mean": A, "average": B, "explained": A, "known": np.ones(3)}, {"known": [np.zeros(3)], "average": [A, 9 * B, A + 1.1 * np.sqrt(A)]}),
    "known": (arrival.known_share, {"variance": A, "precision": 0.2 * B}, {}), "short": (arrival.short_share, {"reached": np.array([0.1, 0.85, 0.99])}, {}),
    "widened": (arrival.widened, {"mean": A, "average": B, "covariance": C, "weight": B}, {}), "noise": (curvature.noisy_variance, {"size": 3, "deviation": 0.3}, {}),
    "combined": (curvature.combine, {"guess": A, "doubt": B, "seen": 2 * B, "noise": A}, {"noise": [np.zeros(3)], "doubt": [np.zeros(3)]}), "rotated": (curvature.rotated, {"variance": C**2, "vectors": TURN}, {}),
    "positive": (curvature.positive, {"mean": np.array([-40.0, -0.5, 0.0, 0.5, 40.0]), "deviation": np.ones(5)}, {"deviation": [np.zeros(5), np.full(5, 2.0)]}),
    "dip": (curvature._dip, {"quotient": 0.7, "deviation": 0.2}, {"deviation": [1e-9, 1e-3], "quotient": [9.0, -9.0, 1e3, -1e3]}),
    "spikes": (curvature._spikes, {"misfit": C, "noise": 0.3}, {}), "rescaled": (curvature._rescaled, {"doubt": C**2, "misfit": C, "noise": np.full((3, 3), 0.2)}, {"doubt": [np.zeros((3, 3))]}),
    "responses": (filter.responses, {"curvature": A, **PATH}, {"tail": [9]}), "divided": (filter.divided, {"points": A, "values": A**2, "slopes": 2 * A}, {"points": [np.array([0.1, 0.1 + 1e-9, 2.0])]}),
    "label": (mean_label.observed, {"law": LAW, "start": A, "row": B, "label": 0.7, "variance": 0.01, "shift": 0.3, "constant": 0.5}, {"shift": [0.0]}),
    "kept": (residuals._kept, {"ratio": 0.7}, {}), "clipped": (residuals._clipped_square, {"ratio": 0.7}, {}), "deviation": (residuals._deviation, {"square": 0.2, "clip": 1.3}, {}), "lengths": (residuals._squared_lengths, {"mean": 0.7}, {}),
    "force": (lambda along, across, wander, place, extra: (s := saturation.Saturation(along, across, wander), s.bend, s.force(place, extra)), {"along": 0.2, "across": 0.3, "wander": 0.1, "place": 0.9, "extra": 0.2}, {}),
    "straightened": (lambda along, across, wander, u, mean, spread: saturation.straightened(saturation.Saturation(along, across, wander), u, B, mean, spread), {"along": 0.2, "across": 0.3, "wander": 0.1, "u": A, "mean": 0.8 * B, "spread": 0.1}, {"mean": [A]}),
    "share": (schedule.curvature_share, {"spend": 400.0, "dimension": 5}, {"dimension": [40, 400], "spend": [1.0]}), "rate": (schedule.learning_rate, SPEND, {"spend": [3.0, 40.0, 1e4], "size": [0.01, 90.0]}),
    "rule": (schedule.map_rule, {"x": 400.0}, {"x": [10.0, 999.0, 4e3, 1e6]}),
    "level": (clip_level.residual_level, {"shares": SHARES, "noise": 0.002, "x": 2e3, "radius": 1.3, "most": 20.0}, {"shares": [SHARES[::-1], 0.4 * SHARES], "noise": [0.1], "x": [50.0, 2e4], "most": [2.0]}),
    "count level": (clip_level.count_level, {"mean": 3.0, "square": 30.0, "noise": 0.5, "most": 60.0, "x": 2e3, "radius": 1.3}, {"square": [11.0], "noise": [40.0], "x": [50.0, 2e4], "most": [8.0]}),
    "skewness": (clip_level.skewness, {"shares": SHARES, "noise": 0.002}, {"shares": [SHARES[::-1], np.append(SHARES[:5], SHARES[4::-1])], "noise": [0.1]}),
    "beyond": (clip_level.clipped_share, {"shares": SHARES, "noise": 0.002, "level": 1.7}, {"level": [0.5, 3.0, 30.0], "noise": [0.1], "shares": [0.4 * SHARES]}),
    "length": (symmetric.length, {"dimension": 5}, {}), "packed": (symmetric.packed, {"matrix": C}, {}), "unpacked": (symmetric.unpacked, {"coordinates": np.arange(6.0), "dimension": 3}, {}),
    "edge": (whitening.edge, {"noise": 0.3, "dimension": 5}, {}), "norm": (whitening.largest_norm, {"noise": 0.3, "dimension": 5, "rule": RULE}, {}),
    "shape": (whitening.shape_of, {"moments": C, **MAP}, {"moments": [0.01 * C, -C, 100 * C], "noise": [0.9], "longest": [0.5]}),
}  # fmt: skip


def called(name: str) -> Any:
    function, given, more = CALLS[name]
    return varied(function, given, more)


# Eigenvectors may turn in their last digits on another machine.
READ = Record("shapes_read", {name: name for name in cases()}, read, 1e-9)
CALLED = Record("shapes", {name: name for name in CALLS}, called, 1e-12)
RECORDS = [READ, CALLED]


@pytest.mark.planted
@pytest.mark.parametrize("record", RECORDS, ids=[record.path.stem for record in RECORDS])
def test_what_is_read_is_what_is_recorded(record):
    assert record.all_differences() == []
