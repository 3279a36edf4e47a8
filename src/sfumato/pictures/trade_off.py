"""The picture of a trade-off: the least rate of misses of any test for one record, against its rate of false accusations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sfumato.pictures import axes
from sfumato.pictures.description import Axis, Chart, Dots, Line, Mark
from sfumato.pictures.promises import Promise, change
from sfumato.queries import attacker

# The usual level of a test; a picture of one promise marks its rate of misses there.
MARKED = 0.05
# Whoever guesses without looking misses as often as he does not accuse.
GUESSING = Line(((0.0, 1.0), (1.0, 0.0)), None, "blind guessing")


def levels() -> list[float]:
    """Levels from 0 to 1, dense at both ends, where a curve can be steep."""
    edge, inner = np.geomspace(1e-6, 0.02, 40), np.linspace(0.02, 0.98, 97)
    return sorted({0.0, 1.0, MARKED, *edge.tolist(), *(1 - edge).tolist(), *inner.tolist()})


def rate(name: str) -> Axis:
    """An axis of probabilities."""
    return axes.linear(name, 0.0, 1.0)


def drawn(shown: Sequence[Promise], distance: float | None = None) -> Chart:
    """The trade-offs of promises, and of blind guessing; of a single promise also its misses at the usual level."""
    marks: list[Mark] = []
    said = []
    for place, promise in enumerate(shown):
        pairs = attacker.trade_off(promise.guarantee, levels())
        marks.append(Line(tuple(pairs), place, promise.name))
        miss = dict(pairs)[MARKED]
        said.append(f"{promise.name}: at 5 % false accusations at least {math.floor(100 * miss)} % misses")
        if len(shown) == 1:
            name = f"at 5 % at least {math.floor(100 * miss)} % misses"
            marks.append(Dots(((MARKED, miss),), None, name, hollow=True))
    # The upper right half is empty: no test there is worth making.
    return Chart(
        f"What a test can tell: {change(shown[0].guarantee, distance)}",
        rate("false accusations (probability)"),
        rate("misses, at least (probability)"),
        (*marks, GUESSING),
        f"{'; '.join(said)}. Blind guessing misses 95 % there.",
        "upper right",
    )
