"""Why an ordinal regression is refused: the statements of docs/regressions.md, "Ordered levels", against difference quotients."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ArgumentError, FormatError
from sfumato.shells.regression_template import regression_text
from sfumato.shells.spec import Spec

SCHEMA = sf.Schema(
    {"age": sf.Number(18, 90), "health": sf.Category(["bad", "fair", "good", "very good"], missing="bad")},
    target="health",
)
# Half the distance of a difference quotient; its error is of the order of the square.
STEP = 1e-5


def sigma(t):
    return 1 / (1 + np.exp(-np.asarray(t, dtype=float)))


def loss(u, low, high):
    """-log(sigma(high - u) - sigma(low - u)), of a record whose level lies between two cuts, as a plain difference."""
    return -np.log(sigma(high - u) - sigma(low - u))


@pytest.mark.planted
def test_the_kind_is_refused_wherever_it_can_be_asked_for(tmp_path):
    words = (
        'an ordinal regression is not offered: .* Use regression "logistic" on a yes-or-no column .* or "multinomial"'
    )
    with pytest.raises(ArgumentError, match=words):
        sf.regression("ordinal", SCHEMA, ["age"])
    with pytest.raises(ArgumentError, match=words):
        regression_text("ordinal", "health", ["age"], SCHEMA, {})
    SCHEMA.save(tmp_path / "health.toml")
    spec = tmp_path / "spec.toml"
    spec.write_text(
        '[data]\nschema = "health.toml"\nn = 1000\n'
        '[model]\nregression = "ordinal"\ntarget = "health"\nfeatures = ["age"]\n[price]\nepsilon = 1.0\ndelta = 1e-6\n'
    )
    with pytest.raises(FormatError, match=words):
        _ = Spec.load(spec).model


def test_with_known_cuts_the_slope_is_below_one_and_the_curvature_at_most_a_half():
    u, low, gap = np.meshgrid(np.linspace(-6, 6, 49), np.linspace(-2, 2, 9), [0.1, 0.5, 2.0, 9.0])
    high = low + gap
    a, b = sigma(high - u), sigma(low - u)
    slope = (loss(u + STEP, low, high) - loss(u - STEP, low, high)) / (2 * STEP)
    assert slope == pytest.approx(1 - a - b, abs=1e-6)
    assert np.abs(1 - a - b).max() < 1
    curvature = (
        (1 - sigma(high - u - STEP) - sigma(low - u - STEP)) - (1 - sigma(high - u + STEP) - sigma(low - u + STEP))
    ) / (2 * STEP)
    assert curvature == pytest.approx(a * (1 - a) + b * (1 - b), abs=1e-6)
    assert curvature.max() <= 0.5 + 1e-9


@pytest.mark.parametrize("gap", [1.0, 0.1, 0.01])
def test_the_gradient_in_a_cut_grows_as_two_cuts_come_together(gap):
    """Its supremum over the scores is 1/(1 - exp(-gap)), which no number bounds."""
    u = np.linspace(-5, 25, 301)
    upper = (loss(u, -gap, STEP * gap) - loss(u, -gap, -STEP * gap)) / (2 * STEP * gap)
    supremum = 1 / (1 - np.exp(-gap))
    assert np.abs(upper).max() <= supremum * (1 + 1e-4)
    assert np.abs(upper).max() >= supremum * (1 - 1e-4)


@pytest.mark.parametrize("levels", [3, 5, 9])
def test_a_sum_over_all_cuts_has_no_more_curvature_for_its_slope_than_one_cut(levels):
    """Slopes of up to K - 1 for a curvature of at most (K - 1)/4: the noise of one cut at the same price, or more."""
    rng = np.random.default_rng(levels)
    for _ in range(20):
        cuts = np.sort(rng.normal(0, 2, levels - 1))
        u = np.linspace(-60, 60, 241)[:, None]
        above = sigma(u - cuts)
        slopes = np.stack([np.where(np.arange(levels - 1) >= y, above, above - 1).sum(axis=1) for y in range(levels)])
        curvature = (above * (1 - above)).sum(axis=1)
        assert np.abs(slopes).max() <= levels - 1
        assert np.abs(slopes).max() >= (levels - 1) * (1 - 1e-9)
        assert (curvature / (levels - 1) <= (above * (1 - above)).max(axis=1) + 1e-15).all()
