"""Uniform random numbers of unlimited precision, whose binary digits are drawn when a comparison needs them.

A number U in (0, 1) is held as numerator/2^precision <= U <= (numerator + 1)/2^precision. Comparing two of them draws 32 more
digits of each until they differ, which ends with probability 1. No digit is ever rounded, so the result is exact.
"""

from __future__ import annotations

import struct
from typing import Protocol


class Bits(Protocol):
    """A source of fair bits."""

    def bits(self, count: int) -> int:
        """Return an integer of `count` independent fair bits."""


# Digits drawn at a time: two numbers agree in all 32 of them with probability 2^-32.
CHUNK = 32
# Words fetched from the source at a time; a block of 4 kB makes the cost of a call negligible.
_WORDS = 1024


class BufferedBits:
    """Fair bits in words of 32, fetched many at a time; each word is used once."""

    __slots__ = ("source", "words")

    def __init__(self, source: Bits) -> None:
        """Fetch nothing yet."""
        self.source = source
        self.words: list[int] = []

    def bits(self, count: int) -> int:
        """Return an integer of `count` fair bits."""
        if count > CHUNK:
            return (self.bits(count - CHUNK) << CHUNK) | self.bits(CHUNK)
        if not self.words:
            block = self.source.bits(CHUNK * _WORDS)
            self.words = list(struct.unpack(f"<{_WORDS}I", block.to_bytes(4 * _WORDS, "little")))
        return self.words.pop() >> (CHUNK - count)


class LazyUniform:
    """A uniform number in (0, 1), of which the first `precision` binary digits are drawn: `numerator`."""

    __slots__ = ("numerator", "precision", "source")

    def __init__(self, source: Bits) -> None:
        """Draw nothing yet."""
        self.source = source
        self.numerator = 0
        self.precision = 0

    def extend(self) -> None:
        """Draw some more digits."""
        self.numerator = (self.numerator << CHUNK) | self.source.bits(CHUNK)
        self.precision += CHUNK

    def to(self, precision: int) -> int:
        """Return the first `precision` digits as an integer, drawing those that are missing."""
        while self.precision < precision:
            self.extend()
        return self.numerator >> (self.precision - precision)

    def below(self, other: LazyUniform) -> bool:
        """Whether this number is smaller; two distinct numbers differ at some digit, so it ends with probability 1."""
        precision = CHUNK
        while True:
            mine, theirs = self.to(precision), other.to(precision)
            if mine != theirs:
                return mine < theirs
            precision += CHUNK
