"""What a learnt table says about its own quality, against the records that it was made from and against plain arithmetic."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from sfumato.mixtures.fitting import FOLDS
from sfumato.queries import table_quality
from sfumato.queries.table_quality import Quality, parts_of, quality
from tests.effort import sized
from tests.learnt_cases import N, all_pairs, table, true_shares


@cache
def judged(name: str = "all") -> Quality:
    return quality(table(name))


def gap(first: np.ndarray, second: np.ndarray) -> float:
    return 0.5 * float(np.abs(first - second).sum())


def test_misfit_and_noise_are_those_of_each_noisy_table() -> None:
    own = table()
    made = judged()
    assert [fit.columns for fit in made.pairs] == all_pairs()
    for fit, noisy in zip(made.pairs, own.learnt.tables, strict=True):
        assert fit.misfit == pytest.approx(gap(own.joint(fit.columns), noisy.counts / N), rel=1e-12)
        assert fit.cells == noisy.counts.size
        # The mean of |Z| by simulation: 4 standard errors of a million draws.
        draws = np.abs(np.random.default_rng(3).standard_normal(1_000_000))
        expected = 0.5 * fit.cells * noisy.deviation / N * draws.mean()
        assert abs(fit.noise / expected - 1) < 4 * draws.std() / draws.mean() / 1000
    assert made.ways[1].misfit == pytest.approx(np.mean([fit.misfit for fit in made.pairs]))
    assert made.ways[2].misfit is made.ways[2].error is None


def test_one_way_noise_is_that_of_all_tables_pooled() -> None:
    """Releases with other noise: the spread of a pooled share is the deviation that is stated."""
    own = table()
    shares, variances = table_quality._margins(own.learnt.pairs)
    sizes = list(own.model.sizes.values())
    place = list(own.model.names).index("sex")
    first = sum(sizes[:place])
    weights, summed = [], []
    for noisy in own.learnt.tables:
        if place in noisy.columns:
            axis = 1 - noisy.columns.index(place)
            weights.append(1 / (noisy.counts.shape[axis] * (noisy.deviation / N) ** 2))
            summed.append(noisy.counts.sum(axis=axis) / N)
    np.testing.assert_allclose(shares[first : first + 2], np.average(summed, axis=0, weights=weights), rtol=1e-12)
    np.testing.assert_allclose(variances[first : first + 2], 1 / sum(weights), rtol=1e-12)


def test_the_mixture_is_the_mean_of_its_parts() -> None:
    mixture = table().learnt.mixture
    parts = parts_of(mixture)
    assert len(parts) == FOLDS
    np.testing.assert_allclose(np.mean([part.pairs() for part in parts], axis=0), mixture.pairs(), atol=1e-15)
    assert all(part.weights.sum() == pytest.approx(1) for part in parts)


def errors(seed: int, epsilon: float) -> tuple[float, float, float, float]:
    """Means over all pairs: the true error, its estimate, the misfit, and the noise."""
    own = table("all", seed, epsilon)
    _, cells = table_quality._errors(own.learnt.mixture, own.learnt.pairs)
    fits = [table_quality._pair(own, noisy, cells) for noisy in own.learnt.tables]
    true = [gap(own.joint(fit.columns), true_shares(fit.columns)) for fit in fits]
    estimate, misfit, noise = (np.mean([getattr(fit, name) for fit in fits]) for name in ("error", "misfit", "noise"))
    return float(np.mean(true)), float(estimate), float(misfit), float(noise)


@pytest.mark.parametrize("epsilon", sized([1.0], [0.3, 1.0, 5.0]))
def test_the_estimated_error_is_near_the_error_itself_and_rather_too_large(epsilon: float) -> None:
    """The estimate is that of fits with 3/2 of the noise's variance, whose error is 1 to sqrt(3/2) times as large, and
    sqrt(2/pi) of a root mean square is at most 1.15 times the mean of absolute errors where those of a group differ by factors
    of up to three. The ratio of one release has a standard deviation of 0.12 (measured on 48): three of the mean of all.
    """
    found = np.array([errors(seed, epsilon) for seed in range(1, sized(4, 33))])
    true, estimate, misfit, noise = found.mean(axis=0)
    slack = 3 * 0.12 / np.sqrt(len(found))
    assert 1 - slack < estimate / true < 1.15 * np.sqrt(1.5) + slack
    # The misfit less the noise in squares is negative: a mixture that follows the noise seems to have no error at all.
    assert misfit < noise


def test_a_mixture_that_misses_dependences_has_a_larger_misfit_than_noise() -> None:
    own = table()
    mixture = own.learnt.mixture
    flat = replace(mixture, laws=np.broadcast_to(mixture.singles(), mixture.laws.shape))
    without = replace(own, learnt=replace(own.learnt, mixture=flat))
    nothing = np.zeros((len(flat.singles()),) * 2)
    for noisy in own.learnt.tables:
        fit, missed = (table_quality._pair(each, noisy, nothing) for each in (own, without))
        columns = tuple(own.model.names[column] for column in noisy.columns)
        truth = gap(np.outer(true_shares(columns[:1]), true_shares(columns[1:])), true_shares(columns))
        assert fit.misfit < 1.2 * fit.noise
        # The triangle inequality: what is missed is in the misfit, up to the noise (twice its mean is never exceeded here).
        assert missed.misfit > truth - 2 * fit.noise
        assert missed.noise == fit.noise


def test_pairs_that_were_not_counted_are_named_with_the_reason() -> None:
    own = table("chosen")
    made = judged("chosen")
    counted = {frozenset(fit.columns) for fit in made.pairs}
    assert len(counted) == 3
    assert made.left_out == (("sex", "region"),)
    assert {frozenset(pair) for pair in made.not_chosen} == {
        frozenset(pair) for pair in all_pairs() if frozenset(pair) not in counted and set(pair) != {"sex", "region"}
    }
    triples = list(combinations(own.model.names, 3))
    whole = [t for t in triples if all(frozenset(pair) in counted for pair in combinations(t, 2))]
    assert (made.triples, made.whole_triples) == (len(triples), len(whole))
    assert len(made.columns) == 5


def test_fits_and_rows_are_compared_in_one_two_and_three_columns() -> None:
    made = judged()
    one, two, three = made.ways
    assert 0 < one.fits < two.fits < three.fits
    assert one.rows < two.rows < three.rows
    # Independent rows would differ by sqrt(2/pi)/2 sum sqrt(p/rows) in pairs; balanced ones differ by far less.
    own = table()
    shares = np.concatenate([own.joint(pair).ravel() for pair in all_pairs()])
    independent = 0.5 * np.sqrt(2 / np.pi) * np.sqrt(shares / made.rows).sum() / len(all_pairs())
    assert two.rows < 0.5 * independent
    assert made.compared == made.triples == 10


def test_an_impossible_combination_has_no_part_in_any_gap() -> None:
    own = table("rule")
    fit = next(fit for fit in judged("rule").pairs if fit.columns == ("age", "ill"))
    noisy = next(each for each in own.counted if each.columns == ("age", "ill"))
    differences = np.abs(own.joint(("age", "ill")) - noisy.counts / N)
    assert fit.cells == noisy.counts.size - 1
    assert fit.misfit == pytest.approx(0.5 * (differences.sum() - differences[0, 1]), rel=1e-12)
