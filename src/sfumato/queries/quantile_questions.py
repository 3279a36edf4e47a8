"""The question that a release of `families.Quantiles` answers beside its summary: any other quantile, at no further cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato import _validate
from sfumato._quadrature import Array
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.models.clipping import date_of
from sfumato.models.families.quantiles import Quantiles, level_name
from sfumato.models.reading import model_from_json
from sfumato.queries.intervals import includes_sampling
from sfumato.queries.statistics.protocol import BOTH, Released, numbers_of
from sfumato.queries.statistics.quantiles import interval_ends
from sfumato.schema import Date, Schema


@dataclass(frozen=True, eq=False)
class ColumnQuantiles:
    """Estimates and intervals of quantiles of a column; prints as a table. Each interval holds by itself, not all together."""

    levels: tuple[float, ...]
    estimates: Array
    intervals: Array
    level: float
    date: Date | None = None

    def __str__(self) -> str:
        from sfumato.queries.coefficients import aligned

        head = ["", "estimate", f"{100 * self.level:g} % interval"]
        shown: Callable[[float], str] = self.date.shown if self.date is not None else "{:.6g}".format
        ends = [f"{shown(low)} to {shown(high)}" for low, high in self.intervals.T]
        rows = zip(map(level_name, self.levels), self.estimates, ends, strict=True)
        return "\n".join(aligned([head, *([name, shown(value), end] for name, value, end in rows)]))


class QuantileQuestions:
    """Questions of a release to its noisy counts of cells."""

    draws: Draws
    plan: Mapping[str, Any]
    schema: Mapping[str, Any]

    def column_quantiles(
        self, levels: float | Sequence[float], level: float = 0.9, include: str = BOTH
    ) -> ColumnQuantiles:
        """Quantiles of the column at any `levels`, with intervals, from the released noisy counts; it costs nothing.

        `level` is how often an interval holds the quantile; `include="privacy"` is for the quantile of the rows themselves. For
        releases of `sf.families.Quantiles`. (`quantile` gives quantiles of the released draws.)
        """
        model: Any = model_from_json(self.plan["model"])
        if not isinstance(model, Quantiles) or self.draws.totals is None:
            raise ArgumentError(
                "column_quantiles is for a release of sf.families.Quantiles; this one is of another model."
            )
        share, sampling = _validate.between("level", level, 0.0, 1.0), includes_sampling(self.plan, include)
        asked = Quantiles([levels] if isinstance(levels, float | int) else levels, model.lower, model.upper, 2).levels
        n = int(self.plan["n"])
        released = Released(n, numbers_of(self.plan), self.draws.pooled(), self.draws.totals)
        date = date_of(model, Schema.from_json(self.schema["document"]))
        estimates = np.array(model.quantiles_at(asked, self.draws.totals, n))
        return ColumnQuantiles(asked, estimates, interval_ends(model, asked, released, share, sampling), share, date)
