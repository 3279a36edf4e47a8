"""What the numbers of a vector were before they were scaled: their names and units, so that a release can be read in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato import _validate
from sfumato.errors import ArgumentError, FormatError
from sfumato.schema.texts import public_text

_KEYS = ("names", "centre", "span", "shift", "factor", "steps")


@dataclass(frozen=True)
class VectorUnits:
    """Number j of a row is (x_j - centre_j)/span_j of the feature `names[j]`; a score s means shift + factor s.

    The shift and factor are those of labels that were scaled before a fit. `steps` are the classes of the public steps that coded
    x from what was given; with none, x is what was given. All of it is public and follows from declarations.
    """

    names: tuple[str, ...]
    centre: tuple[float, ...]
    span: tuple[float, ...]
    shift: float = 0.0
    factor: float = 1.0
    steps: tuple[str, ...] = ()

    def __init__(
        self,
        names: Sequence[str],
        centre: Sequence[float] | None = None,
        span: Sequence[float] | None = None,
        shift: float = 0.0,
        factor: float = 1.0,
        steps: Sequence[str] = (),
    ) -> None:
        """Check names and numbers; without centre and span the features were not scaled."""
        texts = tuple(public_text("a name of a feature", name) for name in names)
        if len(set(texts)) < len(texts):
            raise ArgumentError(f"names of features must be distinct; got {texts!r}.")
        middles = (0.0,) * len(texts) if centre is None else tuple(_validate.finite("centre", each) for each in centre)
        spans = (1.0,) * len(texts) if span is None else tuple(_validate.positive("span", each) for each in span)
        if {len(middles), len(spans)} != {len(texts)}:
            raise ArgumentError(f"centre and span must have a number for each of the {len(texts)} names.")
        if not all(isinstance(step, str) and step.isidentifier() for step in steps):
            raise ArgumentError("steps must be the names of classes.")
        vars(self).update(names=texts, centre=middles, span=spans, steps=tuple(steps))
        vars(self).update(shift=_validate.finite("shift", shift), factor=_validate.positive("factor", factor))

    def to_json(self) -> dict[str, Any]:
        """Every fact by name."""
        return {
            "names": list(self.names),
            "centre": list(self.centre),
            "span": list(self.span),
            "shift": self.shift,
            "factor": self.factor,
            "steps": list(self.steps),
        }

    def given(self) -> str:
        """What is known of the rows before they were read, as a sentence."""
        if not self.steps:
            return "X as given; what was done to it before is not known."
        return f"X as given was coded by {', '.join(self.steps)}, which learn nothing from rows."

    @classmethod
    def from_json(cls, document: object) -> VectorUnits:
        """Read the facts; unknown or missing keys are refused."""
        if not isinstance(document, Mapping) or set(document) != set(_KEYS):
            raise FormatError(f"units of a schema must have the keys {', '.join(_KEYS)}.")
        lists = [document[key] for key in ("names", "centre", "span", "steps")]
        if not all(isinstance(each, list) for each in lists):
            raise FormatError("names, centre, span and steps of a schema's units must be lists.")
        return cls(**document)


def default_names(dimension: int) -> tuple[str, ...]:
    """Names of numbers that have none: x0, x1, ..."""
    return tuple(f"x{place}" for place in range(dimension))


def usable_names(names: Sequence[Any] | None, dimension: int) -> tuple[str, ...]:
    """The names of a table's columns, or the default ones where some are no texts that may be published or are repeated."""
    if names is None or len(names) != dimension or len(set(map(str, names))) < dimension:
        return default_names(dimension)
    try:
        return tuple(public_text("a name of a feature", name) for name in names)
    except ArgumentError:
        return default_names(dimension)
