"""The numbers of a release as they are shown first: each an estimate with its interval, or what is known where there is none.

An estimate is the posterior median that its interval belongs to (`Release.estimate`). No number stands for a quantity of which
the release tells no number: the noisy size of its group cannot be told from 0; its interval takes most of what is possible; or
its interval or estimate lies at a bound, so that only the other end says something. `state` names these, in that order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato import _validate
from sfumato._quadrature import Array
from sfumato.errors import ArgumentError
from sfumato.models.grouped import Grouped
from sfumato.models.reading import model_from_json
from sfumato.queries import coefficients, group_sizes, own_units
from sfumato.queries.at_the_edge import AT_LEAST, AT_MOST, EMPTY, NOT_KNOWN, WIDE, in_words, state
from sfumato.queries.intervals import includes_sampling
from sfumato.queries.statistics.protocol import BOTH, numbers_of

# The level of an interval at which a size, a noisy one, is told from 0.
_TOLD = 1.6448536269514722
# The name of a mean of draws where no interval is worked out.
OF_DRAWS = "mean of the draws"


@dataclass(frozen=True, eq=False)
class Numbers:
    """Estimates with the ends (2, k) of their intervals and their states, "" where the estimate stands.

    Where no interval is worked out `ends` is None, with the `reason`, and the estimates are means of the draws.
    """

    labels: tuple[str, ...]
    estimates: Array
    ends: Array | None
    states: tuple[str, ...]
    level: float
    reason: str = ""

    @property
    def name(self) -> str:
        """What the estimates are."""
        return OF_DRAWS if self.ends is None else "estimate"

    def columns(self) -> dict[str, list[Any]]:
        """The columns of a table, by name; None for an estimate that is not shown."""
        middles = [None if state else float(value) for value, state in zip(self.estimates, self.states, strict=True)]
        if self.ends is None:
            return {self.name: middles}
        return {
            self.name: middles,
            "lower": self.ends[0].tolist(),
            "upper": self.ends[1].tolist(),
            "state": [*self.states],
        }

    def by_label(self) -> dict[str, dict[str, Any]]:
        """Label -> the columns of its row."""
        columns = self.columns()
        return {label: {name: each[k] for name, each in columns.items()} for k, label in enumerate(self.labels)}

    def document(self) -> dict[str, Any]:
        """As `--json` prints them: the level of the intervals, or why there are none, and a row for each label."""
        head: dict[str, Any] = {"no_interval": self.reason} if self.ends is None else {"level": self.level}
        return {**head, "estimates": self.by_label()}

    def with_rest(self) -> Numbers:
        """A rate as two shares, that of the rest first."""
        if self.ends is None:
            return self
        swapped = {AT_MOST: AT_LEAST, AT_LEAST: AT_MOST}
        rest = np.concatenate([1 - self.ends[::-1], self.ends], axis=1)
        states = (swapped.get(self.states[0], self.states[0]), *self.states)
        return replace(
            self,
            labels=("False", "True"),
            estimates=np.append(1 - self.estimates, self.estimates),
            ends=rest,
            states=states,
        )

    def texts(self, shown: Callable[[float], str]) -> list[tuple[str, str]]:
        """The estimate of each label in words, and its interval, "" where there is none."""
        if self.ends is None:
            return [(shown(value), "") for value in self.estimates]
        return [
            (in_words(value, low, high, state, shown), f"{shown(low)} to {shown(high)}")
            for value, low, high, state in zip(self.estimates, *self.ends, self.states, strict=True)
        ]


def read(release: Any, level: float = 0.9, include: str = BOTH, prior: Any = None) -> Numbers:
    """The numbers of a release, of a regression in the columns' own units.

    A model for which no interval is worked out has means of draws; with the reader's own prior it is refused.
    """
    _validate.between("level", level, 0.0, 1.0)  # a wrong level is an error of the question, no reason for no interval
    includes_sampling(release.plan, include)
    labels = tuple(release.labels)
    try:
        ends = release.interval(level, include, prior).reshape(2, -1)
        estimates = release.estimate(include, prior).ravel()
    except ArgumentError as error:
        if prior is not None:
            raise
        return Numbers(labels, release.mean().ravel(), None, ("",) * len(labels), level, str(error))
    return Numbers(labels, estimates, ends, states(release, estimates, ends, level), level)


def states(release: Any, estimates: Array, ends: Array, level: float) -> tuple[str, ...]:
    """What is said in place of each estimate; "" where it stands."""
    model: Any = model_from_json(release.plan["model"])
    if own_units.regression_of(release.plan) is not None:
        view = release.view()
        unknown = coefficients.prior_dominated(release.plan, view.labels, view.functionals, ends, level, WIDE)
        return tuple(NOT_KNOWN if label in unknown else "" for label in view.labels)
    said = [
        state(x, low, high, model.possible, model.proportion) for x, low, high in zip(estimates, *ends, strict=True)
    ]
    empty = _empty(release, model)
    each = len(said) // len(empty) if len(empty) else 1
    return tuple(EMPTY if len(empty) and empty[k // each] else text for k, text in enumerate(said))


def _empty(release: Any, model: Any) -> Array:
    """Which groups cannot be told from empty ones by their noisy sizes; none where no sizes are released."""
    if not isinstance(model, Grouped) or release.draws.totals is None:
        return np.empty(0, dtype=bool)
    rows = release.draws.totals.reshape(len(model.levels), -1)
    noise = group_sizes.size_noise(model, numbers_of(release.plan).noise)
    return np.asarray(group_sizes.noisy_sizes(model, rows, int(release.plan["n"])) < _TOLD * noise)
