"""What is kept beside the draws: whether anything is decides which releases `verify` accepts as bare draws."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.draws import Draws
from sfumato.errors import ArgumentError

VALUES = np.zeros((1, 2, 1))
KEPT = {
    "transcript": np.zeros((1, 5, 1)),
    "totals": np.zeros(3),
    "published": {"moments": np.zeros(4)},
}


def test_draws_alone_are_bare():
    assert Draws(VALUES, ("a",)).bare


@pytest.mark.parametrize("what", list(KEPT))
def test_draws_with_anything_beside_them_are_not_bare(what):
    assert not Draws(VALUES, ("a",), **{what: KEPT[what]}).bare


@pytest.mark.parametrize(
    ("transcript", "said"),
    [
        ((1, 5), "chain, step, coordinate"),
        ((2, 5, 1), "chain, step, coordinate"),
        ((1, 5, 2), "chain, step, coordinate"),
    ],
)
def test_a_transcript_has_the_chains_and_coordinates_of_the_values(transcript, said):
    with pytest.raises(ArgumentError, match=said):
        Draws(VALUES, ("a",), transcript=np.zeros(transcript))
