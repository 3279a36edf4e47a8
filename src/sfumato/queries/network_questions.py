"""Questions to a released network, cross table or histogram, as methods of a release: shares of columns, synthetic tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sfumato.draws import Draws
from sfumato.errors import ArgumentError

# Level of the intervals that are shown unless another one is asked for.
_LEVEL = 0.9


def _counted(of_level: Callable[[float | None], Any], level: float | None, may: bool) -> Any:
    """Shares with intervals; without them where none was asked for and there is none."""
    if level is not None or not may:
        return of_level(level)
    try:
        return of_level(_LEVEL)
    except ArgumentError:  # no noisy counts of these columns together, or a wrong question, which is refused again
        return of_level(None)


class NetworkQuestions:
    """The part of `Release` that reads tables: of a network, a cross table or a histogram."""

    draws: Draws
    plan: Mapping[str, Any]
    schema: Mapping[str, Any]

    def synthesize(
        self, rows: int, randomness: Any = None, *, to: str = "mapping", debias: bool = True, draw: int | None = None
    ) -> Any:
        """A synthetic table of a released network: the schema's names and levels, any number of rows, at no further cost."""
        from sfumato.queries import learned_rows, learned_tables, synthesize

        if learned_tables.is_learned(self.plan):
            return learned_rows.synthesize(self._learned(draw), rows, randomness, to)
        return synthesize.synthesize(self._tables(debias, draw), rows, randomness, to)

    def marginal(
        self, columns: Any, *, interval: float | None = None, debias: bool = True, draw: int | None = None
    ) -> Any:
        """Joint shares of some columns of a released network or cross table.

        They are estimated from the noisy counts, with intervals of the level `interval`, 0.9 by default, that include the privacy
        noise and the sampling of the records. Columns that were not counted together have the shares of the released tables, and no
        interval; so has one `draw` of several, and tables as they were drawn, without `debias`.
        """
        from sfumato.queries import cross_tables, learned_tables, tables

        def of_level(level: float | None) -> Any:
            if cross_tables.is_cross(self.plan):
                return cross_tables.marginal(self._crossed(), columns, level)
            if learned_tables.is_learned(self.plan):
                return learned_tables.marginal(self._learned(draw), columns, level)
            return tables.marginal(self._tables(debias, draw), columns, level)

        return _counted(of_level, interval, debias and draw is None)

    def conditional(
        self, column: str, given: Any, *, interval: float | None = None, debias: bool = True, draw: int | None = None
    ) -> Any:
        """Shares of a column of a released network or cross table given others: a mapping to levels, or names.

        With intervals as `marginal` has them; the shares of a row add up to 1.
        """
        from sfumato.queries import cross_tables, learned_tables, tables

        def of_level(level: float | None) -> Any:
            if cross_tables.is_cross(self.plan):
                return cross_tables.conditional(self._crossed(), column, given, level)
            if learned_tables.is_learned(self.plan):
                return learned_tables.conditional(self._learned(draw), column, given, level)
            return tables.conditional(self._tables(debias, draw), column, given, level)

        return _counted(of_level, interval, debias and draw is None)

    def cross_table(self, *columns: str, of: str = "shares", level: float = 0.9) -> Any:
        """The released cross table with intervals and margins, or the table of some of its columns, in this order.

        `of` is "shares" of all records, "counts" of records in the data, "row shares" (the last column given the others) or
        "column shares" (the others given the last column). It prints as a table; `to_pandas()` has one row per cell.
        """
        from sfumato.queries import cross_tables

        return cross_tables.cross_table(self._crossed(), columns, of, level)

    def histogram(self, of: str = "shares", level: float = 0.9) -> Any:
        """The released histogram of a number: the "shares" or "counts" of its bins with intervals, and approximate quantiles."""
        from sfumato.queries import histograms
        from sfumato.schema import Schema

        return histograms.histogram(self.draws, self.plan, of, level, Schema.from_json(self.schema["document"]))

    def to_pgmpy(self, *, debias: bool = True, draw: int | None = None) -> Any:
        """A released network as a pgmpy model, where pgmpy is installed."""
        from sfumato.queries import learned_tables, tables

        if learned_tables.is_learned(self.plan):
            raise ArgumentError(
                "a learnt table is a mixture, for which pgmpy has no form; ask marginal, conditional and synthesize."
            )
        return tables.to_pgmpy(self._tables(debias, draw))

    def _crossed(self) -> Any:
        """The cross table of a release."""
        from sfumato.queries import cross_tables
        from sfumato.schema import Schema

        return cross_tables.read(self.draws, self.plan, Schema.from_json(self.schema["document"]))

    def group_sizes(self, level: float = 0.9) -> Any:
        """How many records each group of a release by group holds, with intervals of this level; from its noisy counts."""
        from sfumato.queries.group_sizes import group_sizes

        return group_sizes(self.draws, self.plan, level)

    def _learned(self, draw: int | None) -> Any:
        """The learnt table of a release, which has one estimate and no draws to choose from."""
        from sfumato.queries import learned_tables

        if draw is not None:
            raise ArgumentError("a learnt table is one estimate: leave draw out.")
        return learned_tables.read(self.draws, self.plan, self.schema)

    def _tables(self, debias: bool, draw: int | None) -> Any:
        """The tables of a released network."""
        from sfumato.queries import tables

        return tables.read(self.draws, self.plan, self.schema, debias, draw)
