"""Theorems and hypotheses by stable identifiers. Files and digests hold the identifiers; words are looked up in the code.

A module of `sfumato.theorems` declares each theorem beside its function, under the id "module.function". To reword a
theorem or a hypothesis, change its words and add the old ones to `former`: releases of file version 1 hold words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import product, starmap
from typing import Any

from sfumato.errors import ArgumentError, FormatError
from sfumato.privacy.codec import refuse_unknown

# Fields of a hypothesis in a document: in words, and since version 2 by its identifier.
WORDS = ("name", "symbol", "required", "value", "origin")
IDENTIFIED = ("id", "bound", "value", "origin")
_ID = re.compile(r"([a-z_]+)\.[a-z_]+")


@dataclass(frozen=True)
class Hypothesis:
    """A condition of a theorem: an id that is unique within the theorem, words, and the usual origin of its value.

    A "{}" in `required` stands for a number that depends on the case; `former` lists earlier (name, symbol, required).
    """

    id: str
    name: str
    symbol: str
    required: str
    remedy: str
    origin: str = "argument"
    former: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True)
class Theorem:
    """A theorem: its id, its name and source as printed, its hypotheses, and earlier (name, source) in `former`."""

    id: str
    name: str
    source: str
    hypotheses: tuple[Hypothesis, ...] = ()
    former: tuple[tuple[str, str], ...] = ()

    def hypothesis(self, id: str) -> Hypothesis | None:
        """The hypothesis with this id."""
        return next((each for each in self.hypotheses if each.id == id), None)


THEOREMS: dict[str, Theorem] = {}


def theorem(id: str, name: str, source: str, *hypotheses: Hypothesis, former: tuple[tuple[str, str], ...] = ()) -> None:
    """Declare a theorem; called once, when the module that holds it is imported."""
    THEOREMS[id] = Theorem(id, name, source, hypotheses, former)


def declared(id: str) -> Theorem | None:
    """The theorem with this id; its module, which the id names, is imported if it has not been."""
    shape = _ID.fullmatch(id)
    if id not in THEOREMS and shape and find_spec(f"sfumato.theorems.{shape[1]}"):
        import_module(f"sfumato.theorems.{shape[1]}")
    return THEOREMS.get(id)


@dataclass(frozen=True)
class Assumption:
    """One checked hypothesis: its words, its value, and the value's origin ("assumed": nothing can check it).

    `id` is "theorem/hypothesis" where the hypothesis is declared, and `bound` the number that its requirement depends on.
    """

    name: str
    symbol: str
    required: str
    value: str
    origin: str
    id: str = ""
    bound: str = ""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isinstance(value, str):
                raise ArgumentError(f"{name} of an assumption must be a text; got {value!r}.")

    def texts(self) -> set[tuple[str, str, str]]:
        """(name, symbol, required) in today's and in former words."""
        entry = _hypothesis(self.id)
        former = () if entry is None else entry.former
        return {(self.name, self.symbol, self.required), *((n, s, r.replace("{}", self.bound)) for n, s, r in former)}


def assumption(id: str, bound: str, value: str, origin: str) -> Assumption:
    """An assumption in today's words; an id that is not declared stands for itself."""
    entry = _hypothesis(id)
    if entry is None:
        return Assumption(id, "", "", value, origin, id, bound)
    return Assumption(entry.name, entry.symbol, entry.required.replace("{}", bound), value, origin, id, bound)


def assumption_from_json(document: Any, version: int) -> Assumption:
    """Read a hypothesis: its words, or since version 2 its identifier."""
    if version > 1 and isinstance(document, Mapping) and "id" in document:
        item = refuse_unknown(document, IDENTIFIED, "an assumption")
        texts = {key: value for key, value in item.items() if isinstance(value, str)}
        if len(texts) < len(item):
            raise FormatError("id, bound, value and origin of an assumption must be texts.")
        return assumption(**texts)
    return Assumption(**refuse_unknown(document, WORDS, "an assumption"))


def stated(theorem: Theorem, checked: Iterable[tuple[str, ...]]) -> tuple[str, str, tuple[Assumption, ...]]:
    """Name, source and assumptions of a guarantee; `checked` holds the fields of an `Assumption` each."""
    name, source = theorem.name, theorem.source
    if theorem.id:
        name, source = Words(name, theorem.id), Words(source, theorem.id)
    return name, source, tuple(starmap(Assumption, checked))


def _hypothesis(id: str) -> Hypothesis | None:
    holder, _, own = id.partition("/")
    entry = declared(holder)
    return None if entry is None else entry.hypothesis(own)


class Words(str):
    """A text made from the words of declared theorems; files hold its `id` instead."""

    id: str

    def __new__(cls, text: str, id: str = "") -> Words:
        """Return the text with its id as an attribute."""
        made = super().__new__(cls, text)
        made.id = id
        return made


def id_of(text: str) -> str:
    """The id of a theorem or a source, which files hold; a text without an id is its own."""
    return getattr(text, "id", "") or str(text)


def in_words(id: str, part: str) -> str:
    """The "name" or "source" of the theorems with these ids, joined by semicolons; other texts stand for themselves."""
    entries = [(each, declared(each)) for each in id.split("; ")]
    text = unite(*(each if entry is None else getattr(entry, part) for each, entry in entries))
    return Words(text, id) if any(entry for _, entry in entries) else id


def joined(first: str, second: str) -> str:
    """Two theorems or two sources as one text, and their ids as one id; equal parts are named once."""
    id = unite(id_of(first), id_of(second))
    text = unite(first, second)
    return text if id == text else Words(text, id)


def unite(*texts: str) -> str:
    """The parts of texts that are joined by semicolons, each once."""
    return "; ".join(dict.fromkeys(part for text in texts for part in text.split("; ")))


def texts_of(theorem: str, source: str) -> Iterator[tuple[str, str]]:
    """Every pair of texts, today's and former ones, that has stood for this theorem and this source."""
    parts = [id_of(text).split("; ") for text in (theorem, source)]
    entries = [entry for each in dict.fromkeys(parts[0] + parts[1]) if (entry := declared(each))]
    for pairs in product(*([(e.name, e.source), *e.former] for e in entries)):
        words = dict(zip((e.id for e in entries), pairs, strict=True))
        name, origin = (unite(*(words[p][k] if p in words else p for p in parts[k])) for k in (0, 1))
        yield name, origin


def same_reasons(given: Any, price: Any) -> bool:
    """Whether two guarantees name the same theorem, source and hypotheses, with the same values from the same places.

    Identifiers are compared where both have them. Words, which old files hold in their place, must be words of the same
    theorem or hypothesis in `price`.
    """
    if isinstance(given.theorem, Words):
        titles = (id_of(given.theorem), id_of(given.source)) == (id_of(price.theorem), id_of(price.source))
    else:
        titles = (given.theorem, given.source) in texts_of(price.theorem, price.source)
    if all(each.id for each in given.assumptions):
        ordered = len(given.assumptions) == len(price.assumptions)
        return titles and ordered and all(map(_same, given.assumptions, price.assumptions))
    # Files in words list hypotheses of two theorems that were worded alike once.
    worded: list[set[tuple[str, ...]]] = []
    for each in price.assumptions:
        texts = {(*text, each.value, each.origin) for text in each.texts()}
        worded += [] if any(texts & known for known in worded) else [texts]
    counted = len(given.assumptions) in (len(worded), len(price.assumptions))
    there = all(any(_same(a, b) for b in price.assumptions) for a in given.assumptions)
    return titles and counted and there and all(any(_same(a, b) for a in given.assumptions) for b in price.assumptions)


def same_guarantee(given: Any, other: Any) -> bool:
    """Whether two guarantees promise the same to the same people for the same reasons, whatever their words."""
    numbers = ("curve", "change", "rows", "trust", "draws", "slack")
    return all(getattr(given, name) == getattr(other, name) for name in numbers) and same_reasons(given, other)


def _same(given: Assumption, priced: Assumption) -> bool:
    if given.id:
        named = (given.id, given.bound) == (priced.id, priced.bound)
    else:
        named = (given.name, given.symbol, given.required) in priced.texts()
    return named and given.origin == priced.origin and _same_value(given.value, priced.value)


def _same_value(given: str, priced: str) -> bool:
    """Equal texts, or numbers that agree in the five digits that are shown."""
    if given == priced:
        return True
    try:
        return math.isclose(float(given), float(priced), rel_tol=2e-5)
    except ValueError:
        return False
