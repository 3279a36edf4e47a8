"""The terms of a registration: the promise (epsilon, delta), the neighbours it is about, and the currency.

The registered delta covers everything. A part is set aside for charges that reveal with a small probability (`slack` times
delta, currency "gdp" only) and a part for inexact samplers ((1 + e^epsilon) times `tv`); the currency uses the rest.
"""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.ledger.units import float_below
from sfumato.privacy import weakness
from sfumato.privacy.neighbours import REPLACE_ENTRY, REPLACE_ONE, REPLACE_PERSON, replaced

# The keys of `currency.BY_NAME`, and the neighbours that a ledger can count.
CURRENCIES = ("gdp", "zcdp", "renyi")
ADJACENCIES = (REPLACE_ONE, REPLACE_ENTRY, REPLACE_PERSON)
# Words in Unicode's names of characters that are printable by category and yet drawn as a blank, as nothing or as a stand-in.
_BLANK = re.compile(r"\b(BLANK|FILLER|NULL|(SUB)?JOINER|INHERENT|INVISIBLE|REPLACEMENT|SELECTOR|SPACE)\b")
# A charge without a mu of its own takes one of this many equal parts of the reveal probability.
PARTS = 64


@dataclass(frozen=True)
class Terms:
    """The terms of one registration; fixed for ever.

    `id_column` says by which column persons are known, where a person may have several rows ("replace-person"). `allow_weak` is
    recorded where the promise is one that is refused without it (`privacy.weakness`).
    """

    epsilon: float
    delta: float
    currency: str = "gdp"
    slack: float = 0.01
    order: float | None = None
    adjacency: str = "replace-one"
    unit: str = "row"
    tv: float = 0.0
    id_column: str | None = None
    allow_weak: bool = False

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "epsilon", _validate.positive("epsilon", self.epsilon))
        set_(self, "delta", _validate.between("delta", self.delta, 0.0, 1.0))
        weak = weakness.of_point(self.epsilon, self.delta, None)
        set_(self, "allow_weak", weakness.allowed(weak, self.allow_weak))
        _validate.one_of("currency", self.currency, CURRENCIES)
        _validate.one_of("adjacency", self.adjacency, ADJACENCIES)
        label("unit", self.unit)
        if self.id_column is not None and self.adjacency == REPLACE_ONE:
            set_(self, "adjacency", REPLACE_PERSON)
        if (self.adjacency == REPLACE_PERSON) != (self.id_column is not None):
            raise ArgumentError(
                "id_column must be given exactly when the adjacency is 'replace-person': the column that says whose row it is; "
                f"got {self.id_column!r} with adjacency {self.adjacency!r}."
            )
        if self.id_column is not None:
            # A column may be called by any printable text; that it is the guarantee's is compared letter by letter.
            label("id_column", re.sub(" +", " ", str(self.id_column)))
        slack = _validate.non_negative("slack", self.slack)
        if slack >= 1:
            raise ArgumentError(f"slack must be less than 1: it is the share of delta set aside; got {slack!r}.")
        # Only the gdp currency has charges that reveal, so elsewhere nothing is set aside.
        set_(self, "slack", slack if self.currency == "gdp" else 0.0)
        set_(self, "tv", _validate.probability("tv", self.tv))
        if (self.order is None) == (self.currency == "renyi"):
            raise ArgumentError(
                f"order must be given exactly when currency is 'renyi' (one order, fixed for ever); "
                f"got order={self.order!r} with currency {self.currency!r}."
            )
        if self.order == 1:
            # At this order a free release costs less than epsilon/2 of the promise: -log(delta)/(order - 1) = epsilon/2.
            usable = math.ceil(1 + 2 * math.log(1 / self.delta) / self.epsilon)
            raise ArgumentError(
                "order must be greater than 1 in a ledger: a KL divergence (order 1) implies no epsilon at a small delta, "
                f"so no cap at order 1 keeps the promise (epsilon, delta). Register order {usable}, say; plans made for a target "
                "at order 1 are charged there like all others."
            )
        if self.order is not None:
            set_(self, "order", _validate.between("order", self.order, 1.0, math.inf))

    @cached_property
    def reveal(self) -> Fraction:
        """The probability set aside for charges that may reveal: slack times delta, exactly."""
        return Fraction(self.slack) * Fraction(self.delta)

    @cached_property
    def allotment(self) -> float:
        """The part of `reveal` that one charge takes by default."""
        return float_below(self.reveal / PARTS)

    def core(self, tv: float, epsilon: float) -> Fraction:
        """Delta less the cost of a total-variation distance `tv` at this epsilon: delta - (1 + e^epsilon) tv, rounded down."""
        if tv == 0:
            return Fraction(self.delta)
        if epsilon > 700:  # e^710 overflows a float64
            return Fraction(-1)
        power = math.exp(epsilon)
        above = Fraction(math.nextafter(math.nextafter(power, math.inf), math.inf))
        return Fraction(self.delta) - (1 + above) * Fraction(tv)

    def to_json(self) -> dict[str, Any]:
        """Return the plain document of these terms."""
        document = {f.name: getattr(self, f.name) for f in fields(self)}
        # Registrations without persons are written as they always were: the ledger's chain holds their bytes.
        left_out = [name for name in ("id_column", "allow_weak") if not document[name]]
        return {name: value for name, value in document.items() if name not in left_out}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Terms:
        """Read the terms back."""
        return cls(**document)

    def __str__(self) -> str:
        order = f" at order {self.order:g}" if self.order is not None else ""
        tv = f", total-variation allowance {self.tv:g}" if self.tv else ""
        who = replaced(self.adjacency, self.unit)
        by = f" (persons by {self.id_column})" if self.id_column is not None else ""
        weak = f"{weakness.NOTE} " if self.allow_weak else ""
        return (
            f"{weak}({self.epsilon:g}, {self.delta:g}) in {self.currency}{order}{tv}; neighbours: {who}{by}, n public"
        )


def label(what: str, value: object) -> str:
    """Return a visible text of 1 to 200 characters, trimmed and in Unicode's compatibility form (NFKC), or raise.

    Names that look alike would give the same people two budgets. So spellings that Unicode calls equivalent are one name
    (full-width letters, ligatures), and what can only be seen in some names or programs is refused: characters that are not
    printable, blanks other than single spaces, fillers, joiners, and marks without a letter. Letters of different alphabets
    that look alike remain different names.
    """
    text = unicodedata.normalize("NFKC", value).strip() if isinstance(value, str) else ""
    marked = any(
        before == " " and unicodedata.category(each)[0] == "M" for before, each in itertools.pairwise(f" {text}")
    )
    blank = any(each != " " and _BLANK.search(unicodedata.name(each, "")) for each in text)
    if not text or not text.isprintable() or len(text) > 200 or "  " in text or marked or blank:
        raise ArgumentError(
            f"{what} must be a printable text of 1 to 200 characters without invisible ones, double spaces and marks that stand "
            f"alone; got {str(value)[:200]!a}."
        )
    return text
