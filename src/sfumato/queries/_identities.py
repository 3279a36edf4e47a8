"""A key for caches: objects compared by identity, so that what is computed from a release serves several questions."""

from __future__ import annotations

from typing import Any


class Identities:
    """The same key for the same objects. It holds them, so that no other object takes over the address of one of them."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.parts)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identities) and tuple(map(id, self.parts)) == tuple(map(id, other.parts))
