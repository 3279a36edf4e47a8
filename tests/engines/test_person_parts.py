"""Parts of persons: cut between persons, in pieces so short that no engine adds a term more often than prices assume."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.engines import reference, sparse
from sfumato.engines.dense import part_rows
from sfumato.engines.opening import open_engine
from sfumato.engines.parts import part_additions, piece_rows, ranges
from sfumato.engines.protocol import PART_ROWS, most_additions
from sfumato.engines.threads import additions
from sfumato.schema.persons import MOST_ROWS

MOST = (2, 3, 4, 5, 8, 12, 24, 60, 127, 300, 511, 777, MOST_ROWS)
# Records of a part: those of dense rows of every width, and of the other engines.
RECORDS = sorted({part_rows(d) for d in range(1, 3000, 7)} | {sparse._PART, reference._ROWS})


@pytest.mark.planted
@pytest.mark.parametrize("most", MOST)
def test_no_engine_adds_a_term_more_often_than_prices_assume(most):
    """For every number of persons and every length of parts; an engine that did would be refused after its price was charged."""
    for records in RECORDS:
        within = part_additions(records, most)
        assert within <= PART_ROWS
        for people in (1, 100, 9_000, 10**5, 3 * 10**5, 10**6, 10**7, 10**9):
            assert additions(within, -(-people // records)) <= most_additions(people)


@pytest.mark.parametrize("most", MOST)
def test_pieces_hold_whole_persons_and_are_no_longer_than_stated(most):
    """Whoever has how many rows: all the most, all one, any number, or the most and one in turn."""
    rng = np.random.default_rng(most)
    for records in (256, 2048, PART_ROWS):
        people = 2 * records + 17
        kinds = [np.full(people, most), np.ones(people, dtype=np.int64), rng.integers(1, most + 1, people),
                 np.where(np.arange(people) % 2, most, 1)]  # fmt: skip
        for counts in kinds:
            edges = {0, *np.cumsum(counts).tolist()}
            parts = list(ranges(int(counts.sum()), counts, records, most))
            assert len(parts) == 3
            pieces = [piece for part in parts for piece in part]
            assert [first for first, _ in pieces] == [0, *(last for _, last in pieces[:-1])]
            assert {end for piece in pieces for end in piece} <= edges
            assert pieces[-1][1] == counts.sum()
            for part in parts:
                longest = max(last - first for first, last in part)
                assert longest <= piece_rows(records, most)
                assert longest + len(part) <= part_additions(records, most)


def test_a_hundred_thousand_persons_are_served_by_every_engine():
    """Without rows but one: an engine states what its parts could add up, whoever has rows."""
    people = 100_000
    for most in (2, 5):
        persons = sf.Persons("who", most=most, count=people)
        schema = sf.Schema.vector(2, data_norm=1.0, target=sf.Category([0, 1], missing=0), persons=persons)
        data = sf.Dataset.from_arrays(np.full((1, 2), 0.5), [1], schema=schema, groups=[7])
        model = sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Ball(sf.priors.Gaussian(1.0), 1.0), 2)
        for name in ("dense", "reference", "values"):
            assert open_engine(data, model, ("gradients",), name).additions <= most_additions(people)
