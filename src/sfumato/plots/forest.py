"""`sf.plots.intervals`: a forest plot of a release, the privacy noise included in every interval."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models.model import LOSSES
from sfumato.models.reading import FamilyOrGibbs, model_from_json
from sfumato.plots import _drawing
from sfumato.release import Release
from sfumato.schema import Schema

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Labels that fit one page, and characters that fit under the axis.
MOST, _LONGEST = 40, 50
_BOTH = "privacy and sampling"
# Inches of a row, and of the title and axis above and below the rows.
_ROW, _AROUND = 0.26, 1.3


def intervals(
    release: Any, level: float = 0.9, *, include: str = _BOTH, only: Sequence[str] | None = None, prior: Any = None
) -> Figure:
    """Draw `release.interval(level)` for every label, top to bottom, with the posterior median (`Release.estimate`).

    `include` and `prior` are those of `Release.interval`; `only` picks labels, in its order. Where `interval` raises because
    no intervals are known for the release, so does this.
    """
    if not isinstance(release, Release):
        raise ArgumentError(f"release must come from sf.publish(...) or sf.load(...); got {type(release).__name__}.")
    share = _validate.between("level", level, 0.0, 1.0)
    places = _places(release.labels, only)
    ends = np.asarray(release.interval(share, include, prior)).reshape(2, -1)[:, places]
    middle = np.asarray(release.estimate(include, prior)).reshape(-1)[places]
    rows = np.arange(len(places))
    head = f"{100 * share:g} % intervals ({include}): {release.schema['name']}"
    title = head if release.private else f"NOT PRIVATE: made with a seeded stream\n{head}"
    made, (axis,) = _drawing.figure(title, max(_drawing.HEIGHT, _ROW * len(rows) + _AROUND))
    colour = _drawing.COLOURS[0]
    axis.hlines(rows, ends[0], ends[1], color=colour, linewidth=2.2)
    axis.plot(middle, rows, "o", color=colour, markersize=6)
    if ends.min() < 0 < ends.max():
        axis.axvline(0, color=_drawing.GREY, linestyle=":", linewidth=1.5)
    axis.set_yticks(rows, [_drawing.shortened(release.labels[k]) for k in places])
    for text in axis.get_yticklabels():
        _drawing.plain(text)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.tick_params(axis="y", length=0)
    axis.locator_params(axis="x", nbins=6)
    _drawing.name_axes(axis, _measured(release), "")
    return made


def _places(labels: Sequence[str], only: Sequence[str] | None) -> list[int]:
    """Positions of the chosen labels in the release."""
    if isinstance(only, str):
        raise ArgumentError(f"only must be a list of labels; got the text {only!r}. Write only=[{only!r}].")
    chosen = list(labels) if only is None else list(only)
    unknown = [label for label in chosen if label not in labels]
    if unknown:
        raise ArgumentError(
            f"only names {unknown[0]!r}, which the release does not have; labels: {', '.join(labels[:20])}."
        )
    if not 1 <= len(chosen) <= MOST:
        raise ArgumentError(f"a forest plot shows 1 to {MOST} labels; got {len(chosen)}. Pick some: only=[...].")
    return [list(labels).index(label) for label in chosen]


def _measured(release: Release) -> str:
    """The name of the horizontal axis: the quantity and its columns."""
    model: FamilyOrGibbs = model_from_json(release.plan["model"])
    if model.summed == LOSSES:
        return "coefficient (features as the schema scales them)"
    columns = model.columns(Schema.from_json(json.loads(release.schema["document"])))
    quantity, by = str(model.quantity).removesuffix(" of a group of average size"), getattr(model, "by", None)
    what = ", ".join(column for column in columns if column != by) + (f" by {by}" if by else "")
    return _drawing.shortened(f"{quantity} ({what})", _LONGEST)
