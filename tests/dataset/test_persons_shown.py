"""Whatever is printed of persons' rows shows neither a value nor how many rows there are."""

from __future__ import annotations

import re

import numpy as np
import pytest

import sfumato as sf
from sfumato.dataset import rows_of
from sfumato.engines.design import feature_blocks
from sfumato.engines.opening import open_engine
from sfumato.errors import ArgumentError

# Numbers of rows, of all and of one person, that nothing else in the table is.
ROWS, PEOPLE, MANY = 7919, 23, 617
VALUE = 0.123456


def dataset(rows: int = ROWS) -> sf.Dataset:
    """23 persons with one row each, but for the last, who has all others, more than count."""
    schema = sf.Schema.vector(2, data_norm=1.0, target=sf.Category([0, 1], missing=0), name="visits",
                              persons=sf.Persons("who", most=MANY, count=PEOPLE))  # fmt: skip
    who = [*range(PEOPLE - 1), *[PEOPLE - 1] * (rows - PEOPLE + 1)]
    return sf.Dataset.from_arrays(np.full((rows, 2), VALUE), [1] * rows, schema=schema, groups=who)


@pytest.mark.planted
def test_no_repr_shows_a_row_count_or_a_value():
    """Of the data set, its rows and blocks, every engine, and the parts and pieces that engines cut."""
    data = dataset()
    model = sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(1.0), 2)
    engines = [open_engine(data, model, ("gradients",), name) for name in ("dense", "reference", "values")]
    shown = [
        data,
        rows_of(data),
        *rows_of(data).blocks(),
        *engines,
        *(part for each in engines for part in each.parts()),
    ]
    shown += [*feature_blocks(data, model), engines[0].weighed(np.eye(2), 1.0), data.schema]
    kept = sum(int(block.counts.sum()) for block in rows_of(data).blocks())
    assert kept == PEOPLE - 1 + MANY
    for each in shown:
        for text in (repr(each), str(each)):
            numbers = set(re.findall(r"\d+", re.sub(r"0x[0-9a-f]+", "", text)))
            assert not numbers & {str(ROWS), str(kept)}, text
            assert "0.123" not in text


@pytest.mark.planted
@pytest.mark.parametrize("wrong", ["labels", "groups", "count", "two ids", "two labels", "three dimensions"])
def test_no_error_shows_a_row_count(wrong):
    schema = dataset(40).schema
    rows, labels, who = np.full((ROWS, 2), VALUE), [1] * ROWS, list(np.arange(ROWS) % PEOPLE)
    if wrong == "labels":
        labels.pop()
    if wrong == "groups":
        who.pop()
    if wrong == "count":
        who = list(range(ROWS))
    if wrong == "two ids":
        who = np.array(who)[:, None]
    if wrong == "two labels":
        labels = np.array(labels)[:, None]
    if wrong == "three dimensions":
        rows = rows[:, :, None]
    with pytest.raises(ArgumentError) as caught:
        sf.Dataset.from_arrays(rows, labels, schema=schema, groups=who)
    assert not {str(ROWS), f"{ROWS:,}", str(ROWS - 1), f"{ROWS - 1:,}"} & set(
        re.findall(r"\d[\d,]*\d", str(caught.value))
    )
