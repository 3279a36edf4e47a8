"""The guarantee: a curve together with whom it protects, why it holds and how far it may be trusted."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from sfumato import _validate
from sfumato._shown import Shown
from sfumato.errors import ArgumentError, CompositionError, FormatError
from sfumato.privacy import sentences
from sfumato.privacy.codec import curve_from_json, refuse_unknown
from sfumato.privacy.curves import Curve
from sfumato.privacy.gaussian_tail import bisect_down
from sfumato.privacy.metric import Metric
from sfumato.privacy.neighbours import ADJACENCIES as ADJACENCIES
from sfumato.privacy.neighbours import REPLACE_PERSON
from sfumato.privacy.statements import IDENTIFIED, WORDS, assumption_from_json, id_of, in_words, joined
from sfumato.privacy.statements import Assumption as Assumption

# From the strongest to the weakest; a composition is as trustworthy as its weakest part.
TRUST = ("proved", "proved with slack", "assumes converged", "not private")
# 1: theorems and hypotheses in words; 2: by their identifiers.
VERSIONS = (1, 2)
# Fields that a document has only where they say something: of persons with several rows, and of weak promises.
_OPTIONAL: dict[str, Any] = {"id_column": "", "rows": "", "weak": False}


@dataclass(frozen=True)
class Guarantee(Shown):
    """What a release promises to each person in the data.

    delta(eps) = curve.delta(eps) + (1 + exp(eps)) slack, where `slack` is the summed total-variation error of an inexact
    sampler (0 unless the trust is "proved with slack"): neither GDP nor Renyi survives it, so it is kept apart. Where the
    neighbours are "replace-person", `id_column` names the column that says whose row it is, and `rows` what the rows are called.
    `weak` marks a promise that was asked for although it protects next to nobody (`privacy.weakness`).
    """

    curve: Curve
    adjacency: str
    theorem: str
    source: str
    unit: str = "row"
    assumptions: tuple[Assumption, ...] = ()
    trust: str = "proved"
    draws: int = 1
    slack: float = 0.0
    id_column: str = ""
    rows: str = ""
    weak: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.curve, Curve):
            raise ArgumentError(f"curve must be a privacy curve such as sf.Gaussian(mu=1.0); got {self.curve!r}.")
        for name in ("theorem", "source", "unit", "id_column", "rows"):
            if not isinstance(getattr(self, name), str):
                raise ArgumentError(f"{name} must be a text; got {getattr(self, name)!r}.")
        _validate.one_of("adjacency", self.adjacency, ADJACENCIES)
        _validate.one_of("trust", self.trust, TRUST)
        _validate.whole("draws", self.draws)
        _validate.probability("slack", self.slack)
        if not isinstance(self.weak, bool):
            raise ArgumentError(f"weak must be True or False; got {self.weak!r}.")
        if (self.adjacency == "metric") != isinstance(self.curve, Metric):
            raise ArgumentError(
                f"adjacency must be 'metric' exactly when the curve is a Metric; got {self.adjacency!r} with {self.curve!r}."
            )
        if (self.adjacency == REPLACE_PERSON) != bool(self.id_column) or bool(self.rows) != bool(self.id_column):
            raise ArgumentError(
                "id_column and rows must be named exactly when the adjacency is 'replace-person': whose rows they are, and how "
                f"they are called; got {self.adjacency!r}, {self.id_column!r} and {self.rows!r}."
            )
        if self.slack > 0 and self.trust == "proved":
            raise ArgumentError("trust must be at most 'proved with slack' when slack is positive; got 'proved'.")

    def delta(self, epsilon: float) -> float:
        """Delta at `epsilon`, the sampler's slack included."""
        value = self.curve.delta(epsilon)
        if self.slack == 0:
            return value
        return 1.0 if epsilon > 700 else min(1.0, (value + (1 + math.exp(epsilon)) * self.slack) * (1 + 1e-15))

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon at `delta`, the sampler's slack included; infinite where the slack leaves none."""
        if self.slack == 0:
            return self.curve.epsilon(delta)
        start = self.curve.epsilon(delta)
        if self.delta(start) <= delta:
            return start
        # The sum is convex in exp(eps), so what fits is one interval: find its bottom, then walk back to its left end.
        bottom = self._cheapest(start)
        if not self.delta(bottom) <= delta:
            return math.inf
        return bisect_down(lambda eps: self.delta(eps) <= delta, start, bottom)

    def _cheapest(self, start: float) -> float:
        """The epsilon above `start` at which delta, slack included, is smallest."""
        low, high = start, max(start, min(700.0, -math.log(self.slack)))
        for _ in range(100):
            left, right = low + (high - low) / 3, high - (high - low) / 3
            low, high = (low, right) if self.delta(left) <= self.delta(right) else (left, high)
        return high

    def renyi(self, order: float) -> float:
        """Renyi divergence of this order; infinite under total-variation slack."""
        return self.curve.renyi(order) if self.slack == 0 else math.inf

    @property
    def vacuous(self) -> bool:
        """True where nothing is promised: delta is 1 at every epsilon up to 100."""
        if self.slack == 0:
            return self.delta(100.0) >= 1
        return self.delta(min(100.0, self._cheapest(0.0))) >= 1  # with slack delta rises again

    def __add__(self, other: object) -> Guarantee:
        if not isinstance(other, Guarantee):
            return NotImplemented
        if self.change != other.change:
            raise CompositionError(
                f"guarantees compose only for the same neighbours: got {self.adjacency} of one {self.unit} and "
                f"{other.adjacency} of one {other.unit}{_by_ids(self, other)}. State both for the same change before adding them."
            )
        return replace(
            self,
            curve=self.curve + other.curve,
            theorem=joined(self.theorem, other.theorem),
            source=joined(self.source, other.source),
            assumptions=tuple(dict.fromkeys(self.assumptions + other.assumptions)),
            trust=TRUST[max(TRUST.index(self.trust), TRUST.index(other.trust))],
            draws=self.draws + other.draws,
            slack=min(1.0, self.slack + other.slack),
            weak=self.weak or other.weak,
        )

    def __mul__(self, count: object) -> Guarantee:
        if isinstance(count, bool) or not hasattr(count, "__index__"):
            return NotImplemented
        times = _validate.whole("the number of releases", count)
        return replace(self, curve=times * self.curve, draws=times * self.draws, slack=min(1.0, times * self.slack))

    __rmul__ = __mul__

    @property
    def change(self) -> tuple[str, str, str]:
        """What differs between neighbours: the adjacency, the unit, and the id column of persons."""
        return self.adjacency, self.unit, self.id_column

    @staticmethod
    def of_estimate(sentence: str) -> str:
        """The sentence of a guarantee as it is said of an estimate, which is no draw."""
        return sentence.replace(sentences.ONE, "covers the estimate")

    def at(self, delta: float) -> str:
        """Return the plain sentence with epsilon read off at this delta."""
        return sentences.at(self, delta)

    def __str__(self) -> str:
        return sentences.whole(self)

    def table(self) -> str:
        """Return the guarantee and every checked hypothesis as an aligned text table."""
        return sentences.table(self)

    def to_dp_event(self) -> Any:
        """Return the dp_accounting event of the same curve; raises ArgumentError where that library has none."""
        from sfumato.privacy.events import to_dp_event

        return to_dp_event(self.curve, self.slack)

    def to_json(self, version: int = 2) -> dict[str, Any]:
        """Return a document that `from_json` reads back to an equal guarantee; version 1 holds words instead of identifiers."""
        named = str if version == 1 else id_of
        return {
            "sfumato": "guarantee",
            "version": version,
            **{
                f.name: getattr(self, f.name)
                for f in fields(self)
                if f.name not in ("curve", "assumptions", *_OPTIONAL)
            },
            **{name: getattr(self, name) for name, usual in _OPTIONAL.items() if getattr(self, name) != usual},
            "theorem": named(self.theorem),
            "source": named(self.source),
            "curve": self.curve.to_json(),
            "assumptions": [
                {key: getattr(a, key) for key in (IDENTIFIED if a.id and version > 1 else WORDS)}
                for a in self.assumptions
            ],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any] | str) -> Guarantee:
        """Read a guarantee of version 1 or 2; another version or an unknown key is refused."""
        try:
            loaded = json.loads(document) if isinstance(document, str) else document
        except json.JSONDecodeError as error:
            raise FormatError(f"a guarantee must be JSON: {error}") from error
        names = tuple(f.name for f in fields(cls) if f.name not in _OPTIONAL)
        if isinstance(loaded, Mapping):
            names += tuple(name for name, usual in _OPTIONAL.items() if loaded.get(name, usual) != usual)
        checked = refuse_unknown(loaded, ("sfumato", "version", *names), "a guarantee")
        version = checked["version"]
        if checked["sfumato"] != "guarantee" or type(version) is not int or version not in VERSIONS:
            raise FormatError(
                f"a guarantee must say version {VERSIONS[-1]} or an earlier one; got {version!r}. Update Sfumato."
            )
        if not isinstance(checked["assumptions"], (list, tuple)):
            raise FormatError(f"assumptions must be a JSON list; got {type(checked['assumptions']).__name__}.")
        values = {name: checked[name] for name in names}
        values["curve"] = curve_from_json(checked["curve"])
        try:
            values["assumptions"] = tuple(assumption_from_json(item, version) for item in checked["assumptions"])
            read = cls(**values)
        except ArgumentError as error:
            raise FormatError(f"a guarantee cannot be read: {error}") from error
        if version == 1:
            return read
        return replace(read, theorem=in_words(read.theorem, "name"), source=in_words(read.source, "source"))


def _by_ids(one: Guarantee, other: Guarantee) -> str:
    """How the id columns differ, where both are about persons."""
    return f" (persons by {one.id_column!r} and by {other.id_column!r})" if one.id_column and other.id_column else ""
