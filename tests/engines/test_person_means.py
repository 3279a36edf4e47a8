"""The mean of a person's values: within bounds whatever they are, and no matter of how many rows others have."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

import sfumato as sf
from sfumato.dataset import rows_of
from sfumato.engines.design import feature_blocks
from sfumato.engines.opening import open_engine


@pytest.mark.planted
def test_a_mean_of_large_values_neither_overflows_nor_warns():
    """40 values whose sum is no float; a warning would reveal that somebody has such values."""
    top = 1e307
    schema = sf.Schema({"x": sf.Number(0, top)}, persons=sf.Persons("who", most=40, count=2))
    data = sf.Dataset.from_table({"who": [1] * 40 + [2], "x": [top] * 40 + [0.0]}, schema=schema)
    model = sf.families.BoundedMean(0, top)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        totals = open_engine(data, model, ("totals",)).totals(model.tally)
    one = sf.Dataset.from_table({"who": [1, 2], "x": [top, 0.0]}, schema=schema)
    assert totals == open_engine(one, model, ("totals",)).totals(model.tally)


@pytest.mark.planted
def test_sparse_rows_of_others_are_the_same_bits_when_somebody_has_two():
    rng = np.random.default_rng(5)
    people, width = 40, 30
    rows = csr_array(np.where(rng.random((people, width)) < 0.3, rng.normal(size=(people, width)), 0.0))
    schema = sf.Schema.vector(width, data_norm=1.0, persons=sf.Persons("who", most=3, count=people))
    model = sf.Gibbs(sf.losses.GaussianMean(1.0), sf.priors.Gaussian(1.0), width)
    once = sf.Dataset.from_arrays(rows, schema=schema, groups=list(range(people)))
    twice = sf.Dataset.from_arrays(
        csr_array(np.vstack([rows.toarray(), rows.toarray()[:1]])), schema=schema, groups=[*range(people), 0]
    )
    (first,), (second,) = (list(feature_blocks(data, model)) for data in (once, twice))
    (block,) = rows_of(twice).blocks(None, None, masks=False)
    one, other = (each.rows[block.counts == 1] for each in (first, second))
    assert one.shape == (people - 1, width)
    assert one.data.tobytes() == other.data.tobytes()
    assert one.indices.tolist() == other.indices.tolist()
