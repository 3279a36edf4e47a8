"""Questions to a released network, as methods of a release: shares of its columns, and synthetic tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.draws import Draws


class NetworkQuestions:
    """The part of `Release` that reads the tables of a network."""

    draws: Draws
    plan: Mapping[str, Any]
    schema: Mapping[str, Any]

    def synthesize(
        self, rows: int, randomness: Any = None, *, to: str = "mapping", debias: bool = True, draw: int | None = None
    ) -> Any:
        """A synthetic table of a released network: the schema's names and levels, any number of rows, at no further cost."""
        from sfumato.queries import synthesize

        return synthesize.synthesize(self._tables(debias, draw), rows, randomness, to)

    def marginal(self, columns: Any, *, debias: bool = True, draw: int | None = None) -> Any:
        """Joint shares of some columns of a released network."""
        from sfumato.queries import tables

        return tables.marginal(self._tables(debias, draw), columns)

    def conditional(self, column: str, given: Any, *, debias: bool = True, draw: int | None = None) -> Any:
        """Shares of a column of a released network given others: a mapping to levels, or names."""
        from sfumato.queries import tables

        return tables.conditional(self._tables(debias, draw), column, given)

    def to_pgmpy(self, *, debias: bool = True, draw: int | None = None) -> Any:
        """A released network as a pgmpy model, where pgmpy is installed."""
        from sfumato.queries import tables

        return tables.to_pgmpy(self._tables(debias, draw))

    def _tables(self, debias: bool, draw: int | None) -> Any:
        """The tables of a released network."""
        from sfumato.queries import tables

        return tables.read(self.draws, self.plan, self.schema, debias, draw)
