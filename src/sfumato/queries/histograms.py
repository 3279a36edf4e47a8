"""Questions to a released histogram of a number: shares and counts of its bins, and approximate means and quantiles.

The bins are all that was counted: where records lie inside a bin is unknown, so a mean or quantile is known up to the width
of a bin even without noise. Every sentence says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato import _validate
from sfumato._quadrature import Array
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.models import families
from sfumato.models.families._bins import labels_in
from sfumato.models.families.histogram import Histogram
from sfumato.queries.questions import Reply
from sfumato.queries.shares_by_level import Shares
from sfumato.queries.statistics import count_laws
from sfumato.queries.statistics.count_laws import Noisy, ShareLaw, share_law
from sfumato.queries.statistics.protocol import Released, numbers_of
from sfumato.queries.statistics.shares import prior_of_share, read
from sfumato.schema import Date, Schema

SHARES, COUNTS = "shares", "counts"
_NO_COUNTS = (
    "no interval: this histogram was drawn without noisy counts. Plan it with mechanism='noisy-statistics', its default, for "
    "counts, means and quantiles with intervals."
)


@dataclass(frozen=True, eq=False)
class HistogramView:
    """A histogram with intervals: the `bins` as shares or counts, and what follows from them approximately."""

    model: Histogram
    n: int
    bins: Shares
    totals: Array | None
    variance: float
    date: Date | None = None

    def __getitem__(self, bin_label: str) -> float:
        """The estimate of one bin, by its label such as "[18, 65)"."""
        return self.bins[bin_label]

    def interval(self, bin_label: str) -> tuple[float, float]:
        """Lower and upper end for one bin."""
        return self.bins.interval(bin_label)

    def to_pandas(self) -> Any:
        """One row per bin: its label, edges, estimate and interval."""
        frame = self.bins.to_pandas()
        frame.insert(1, "from", list(self.model.edges[:-1]))
        frame.insert(2, "to", list(self.model.edges[1:]))
        return frame

    def mean(self, level: float = 0.9) -> Reply:
        """The mean if every record lay in the middle of its bin, with an interval for that number; an approximation by bins."""
        from scipy.special import ndtri

        share, counts = _validate.between("level", level, 0.0, 1.0), self._counts()
        middles, width = self._middles(), np.diff(self.model.edges).max()
        centred = middles - middles.mean()  # the noise of the total, which n makes known, then drops out
        value = float(middles.mean() + centred @ counts / self.n)
        shares = np.maximum(counts, 0.0) / max(float(np.maximum(counts, 0.0).sum()), 1.0)
        sampling = float(shares @ (middles - shares @ middles) ** 2) / self.n
        half = float(ndtri(0.5 + 0.5 * share)) * np.sqrt(
            self.variance * float(centred @ centred) / self.n**2 + sampling
        )
        edges = self.model.edges[0], self.model.edges[-1]
        low, high = (float(np.clip(end, *edges)) for end in (value - half, value + half))
        shown = [self._shown(each, half) for each in (float(np.clip(value, *edges)), low, high)]
        sentence = (
            f"Mean about {shown[0]} ({100 * share:g} % interval {shown[1]} to {shown[2]}), if every record lay in the middle of "
            f"its bin: an approximation by bins, off by up to {width / 2:.4g}{' days' if self.date else ''}, half the widest bin, "
            "beyond that."
        )
        return Reply((low, float(np.clip(value, *edges)), high), sentence, float(width / 2))

    def quantile(self, q: float, level: float = 0.9) -> Reply:
        """The q-quantile by interpolation in its bin, and the edges between which it lies with this level.

        The share of records below an edge is a share of its own, whose noise adds up over the bins below. An edge is outside
        the interval if the interval of the share below it does not hold q.
        """
        at, share = _validate.between("q", q, 0.0, 1.0), _validate.between("level", level, 0.0, 1.0)
        edges = self.model.edges
        laws = [self._below(k) for k in range(1, len(edges) - 1)]
        ends = np.array([law.share_ends(share) for law in laws]).reshape(-1, 2)
        low = max((edges[k + 1] for k, (_, high) in enumerate(ends) if high < at), default=edges[0])
        high = min((edges[k + 1] for k, (low_end, _) in enumerate(ends) if low_end > at), default=edges[-1])
        heights = np.maximum.accumulate([0.0, *(law.share_median() for law in laws), 1.0])
        value = float(np.interp(at, heights, edges))
        sentence = (
            f"{at:g}-quantile about {self._shown(value, abs(value) / 100)}, interpolated in its bin; it lies between the edges "
            f"{self._shown(low)} and {self._shown(high)} with probability {share:g} (an approximation by bins: the bins' edges are "
            "all that was counted)."
        )
        return Reply((low, value, high), sentence)

    def _shown(self, value: float, error: float = 0.0) -> str:
        """A date; or a number, with two digits of its error where that is known."""
        if self.date is not None:
            return self.date.shown(value)
        if not error or abs(value) >= 1e12:
            return f"{value:.12g}"
        return f"{value:.{min(max(1 - math.floor(math.log10(error)), 0), 12)}f}"

    def _middles(self) -> Array:
        """The middle of each bin; of whole numbers the middle of the values that it holds, b - 1 the last of [a, b)."""
        ends = np.array(self.model.edges[1:])
        if self.model.integer:
            ends[:-1] -= 1
        return np.asarray(0.5 * (ends + self.model.edges[:-1]))

    def _below(self, bins: int) -> ShareLaw:
        """The law of the share of the records in the first bins."""
        counts = self._counts()
        own = Noisy(float(counts[:bins].sum()), bins * self.variance)
        others = Noisy(float(counts[bins:].sum()), (len(counts) - bins) * self.variance)
        return share_law(own, others, self.n, prior_of_share(self.model, range(bins)))

    def _counts(self) -> Array:
        if self.totals is None:
            raise ArgumentError(_NO_COUNTS)
        return self.totals

    @property
    def note(self) -> str:
        """What is shown and what the intervals include, as a sentence."""
        level = f"{100 * (self.bins.level or 0):g} % intervals"
        low, high = self.model.edges[0], self.model.edges[-1]
        ends = f"Values below {low:,.10g} are counted in the first bin, values above {high:,.10g} in the last."
        if self.bins.what == "share":
            noise = "the privacy noise and the sampling of the records"
            return f"Shares of all {self.n:,} records; {level} include {noise}.\n{ends}"
        return f"Records in the data, {self.n:,} in all; {level} include the privacy noise alone.\n{ends}"

    def __str__(self) -> str:
        return f"{self.bins}\n\n{self.note}"


def histogram(
    draws: Draws, plan: Mapping[str, Any], of: str = SHARES, level: float = 0.9, schema: Schema | None = None
) -> HistogramView:
    """The histogram of a release with intervals; another model is refused. With the schema, bins of dates are named by dates."""
    _validate.one_of("of", of, (SHARES, COUNTS))
    share = _validate.between("level", level, 0.0, 1.0)
    if plan["model"].get("family") != Histogram.name:
        raise ArgumentError(
            "only a release of sf.families.Histogram is a histogram; this one is of another model, whose summary() has its shares "
            "or estimates with intervals."
        )
    model: Histogram = families.from_json(plan["model"])
    numbers, n, totals = numbers_of(plan), int(plan["n"]), draws.totals
    variance = (numbers.noise * model.sensitivity) ** 2
    view = HistogramView(model, n, Shares((), (), np.empty(0)), totals, variance)
    if of == COUNTS:
        counts = view._counts()
        whole = float(counts.sum())
        ends = np.empty((3, len(counts)))
        for place, count in enumerate(counts.tolist()):
            others = Noisy(whole - count, (len(counts) - 1) * variance)
            law = share_law(Noisy(count, variance), others, n, prior_of_share(model, [place]))
            low, high = count_laws.count_ends(law, share)
            ends[:, place] = low, count_laws.count_median(law), high
    else:
        reader = read(model, model, Released(n, numbers, draws.flat(), totals))
        ends = np.stack([reader(share, True)[0], reader(0.01, True).mean(axis=0), reader(share, True)[1]])
    what = "records" if of == COUNTS else "share"
    column = None if schema is None else schema.columns[model.columns(schema)[0]]
    labels = labels_in(column, model.labels, model.edges)
    bins = Shares(("bin",), (labels,), ends[1], ends[0], ends[2], share, what, n if of == COUNTS else 1)
    return HistogramView(model, n, bins, totals, variance, column if isinstance(column, Date) else None)
