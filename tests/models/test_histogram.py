"""Histograms of a number: public bins, one count a record, the price of any histogram, and every wrong form refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.models.families import from_json
from sfumato.schema import Schema

H = sf.families.Histogram


@pytest.mark.parametrize(
    ("given", "edges", "labels"),
    [
        ({"bins": [0, 18, 65, 120]}, (0, 18, 65, 120), ("[0, 18)", "[18, 65)", "[65, 120]")),
        ({"bins": 4}, (0, 30, 60, 90, 120), ("[0, 30)", "[30, 60)", "[60, 90)", "[90, 120]")),
        ({"edges": [0, 0.5, 120]}, (0, 0.5, 120), ("[0, 0.5)", "[0.5, 120]")),
        ({"width": 50}, (0, 50, 100, 120), ("[0, 50)", "[50, 100)", "[100, 120]")),
    ],
)
def test_bins_are_what_was_written(given, edges, labels):
    model = H(0, 120, **given)
    assert model.edges == edges
    assert model.labels == labels
    assert from_json(model.to_json()) == model


def test_a_width_is_aligned_to_its_multiples_and_cut_at_the_bounds():
    assert H(18, 42, width=10).edges == (18, 20, 30, 40, 42)
    # The third multiple of 0.1 in floats is 0.30000000000000004: a cell that says 0.3 belongs to the bin that begins there.
    model = H(0, 1, width=0.1)
    assert model.edges[3] == 0.3
    assert model.codes([0.3]).tolist() == [3]
    assert len(H(0, 1, 3).labels[0]) < 16


def test_whole_numbers_have_whole_edges_and_single_values_are_named_by_themselves():
    assert H(1, 5, 5, integer=True).labels == ("1", "2", "3", "4", "5")
    assert H(0, 120, 10, integer=True).edges == (0, 12, 24, 36, 48, 60, 72, 84, 96, 108, 120)
    # Nearly equally many values in each bin.
    sizes = np.bincount(H(0, 30, 7, integer=True).codes(np.arange(31)))
    assert sizes.sum() == 31
    assert sizes.max() - sizes.min() <= 1
    assert H(3, 8, integer=True).cells == 6


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"bins": "ten"}, "a whole number such as 10"),
        ({"bins": 2.5}, "a whole number such as 10"),
        ({"bins": True}, "a whole number such as 10"),
        ({"bins": []}, "a whole number such as 10"),
        ({"bins": -3}, "at least 2"),
        ({"bins": 1001}, "at most 1,000"),
        ({"bins": [0, 65, 18, 120]}, "rising edges"),
        ({"bins": [0, 18, 18, 120]}, "rising edges"),
        ({"bins": [0, 120]}, "rising edges"),
        ({"bins": [0, "x", 120]}, "real number"),
        ({"bins": [0, 18, 65]}, "end at the upper bound 120"),
        ({"bins": [-5, 18, 120]}, "begin at the lower bound 0"),
        ({"bins": [0, 18, 130]}, "end at the upper bound 120"),
        ({"bins": [0, float("nan"), 120]}, "NaN"),
        ({"width": 0.01}, "12,000 bins; at most 1,000"),
        ({"width": 200}, "smaller width"),
        ({"width": -1}, "greater than 0"),
        ({"width": "5"}, "such as width = 5"),
        ({"bins": 5, "width": 5}, "one of bins, width and edges"),
        ({"bins": 200, "integer": True}, "at most bins = 121"),
        ({"width": 0.5, "integer": True}, "whole width"),
        ({"bins": [0, 0.5, 120], "integer": True}, "whole edges"),
        ({"bins": 4, "alpha": [1.0]}, "one per level"),
        ({"bins": 4, "alpha": "x"}, "alpha must be a number"),
    ],
)
def test_every_wrong_form_is_refused_in_a_sentence(arguments, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        H(0, 120, **arguments)


@pytest.mark.parametrize(
    ("bounds", "sentence"),
    [((120, 0), "greater than lower"), ((None, 5), "needs lower and upper"), ((0, 1e400), "finite")],
)
def test_bounds_are_needed_and_in_order(bounds, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        H(*bounds)


def counts(model, values, schema=None):
    """The histogram of a table through the data set, as a release counts it."""
    from sfumato.engines.codes import CodesEngine

    schema = schema or Schema({"x": sf.Number(model.edges[0], model.edges[-1])})
    data = sf.Dataset.from_table({"x": values}, schema=schema)
    return CodesEngine(data, model.columns(schema)).totals(model.tally)


def test_every_record_is_counted_once_on_edges_too():
    model = H(0, 10, [0, 2, 5, 10])
    values = [0, 1.99, 2, 2.0000001, 4.9, 5, 9, 10, 11, -3]
    assert counts(model, values) == [3, 3, 4]
    for edge in model.edges:
        assert sum(counts(model, [edge])) == 1


def test_no_two_records_move_the_counts_by_more_than_is_charged():
    model = H(0, 10, [0, 2, 5, 10])
    values = [-1, 0, 1.5, 2, 3, 5, 7, 10, 12]
    others = [0, 2, 5, 7.5]
    largest = max(
        np.linalg.norm(np.array(counts(model, [*others, a])) - counts(model, [*others, b]))
        for a, b in itertools.product(values, values)
    )
    assert largest <= model.sensitivity
    assert largest == pytest.approx(model.sensitivity, rel=1e-12)


def test_bins_do_not_depend_on_the_rows():
    model, rng = H(0, 100, 5), np.random.default_rng(0)
    narrow, wide = (counts(model, rng.uniform(0, top, 50)) for top in (19, 100))
    assert narrow == [50, 0, 0, 0, 0]
    assert min(wide) > 0


def test_it_is_priced_as_a_histogram_of_a_category():
    price = {"n": 500, "epsilon": 1.0, "delta": 1e-6}
    for mechanism in ("noisy-statistics", "diffused", "concentrated"):
        own, plain = (
            sf.plan(model, mechanism=mechanism, **price)
            for model in (H(0, 1, 4, alpha=2.0), sf.families.DirichletCategorical(list("abcd"), 2.0))
        )
        assert dict(own.parameters) == dict(plain.parameters)
        assert own.guarantee == plain.guarantee


def test_a_column_that_does_not_fit_is_refused():
    model = H(0, 10, [0, 0.2, 0.6, 10])
    with pytest.raises(ArgumentError, match="bounds of column 'x'"):
        model.columns(Schema({"x": sf.Number(0, 11)}))
    with pytest.raises(ArgumentError, match="holds no whole number"):
        model.columns(Schema({"x": sf.Number(0, 10, integer=True)}))
    with pytest.raises(ArgumentError, match="not declared as one"):
        H(0, 10, integer=True).columns(Schema({"x": sf.Number(0, 10)}))
    assert H(0, 10, [0, 5, 10]).columns(Schema({"x": sf.Number(0, 10, integer=True)})) == ("x",)


def test_a_prior_that_was_left_out_stays_out_of_the_document():
    assert H(0, 1).to_json()["alpha"] is None
    assert from_json(H(0, 1).to_json()).reference
    assert not from_json(H(0, 1, alpha=0.5).to_json()).reference
    assert H(0, 1) != H(0, 1, alpha=0.5)


def test_held_out_records_have_the_share_of_their_bin():
    schema = Schema({"x": sf.Number(0, 4)})
    model = H(0, 4, [0, 1, 4], alpha=1.0)
    data = sf.Dataset.from_table({"x": np.linspace(0, 4, 200)}, schema=schema)
    release = sf.publish(sf.plan(model, 200, mechanism="exact"), data, randomness=sf.seeded(1))
    held_out = release.log_likelihood(public_rows={"x": [0.5, 1.0, 3.0]})
    first, second = release.mean()
    assert held_out.mean == pytest.approx(np.log(first) + 2 * np.log(second))


def test_bins_of_dates_are_named_by_dates():
    column = sf.Date("2020-01-01", "2023-12-31")
    schema = sf.Schema({"day": column}, name="days")
    plan = sf.plan(sf.families.Histogram(column.lower, column.upper, bins=2, integer=True), 50, 1.0, 1e-6)
    data = sf.Dataset.from_table({"day": ["2021-05-06"] * 50}, schema=schema)
    release = sf.publish(plan, data, randomness=sf.seeded(1))
    assert release.summary().labels == ("[2020-01-01, 2021-12-31)", "[2021-12-31, 2023-12-31]")
    assert release.histogram().bins.levels == (release.summary().labels,)
