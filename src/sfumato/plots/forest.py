"""`sf.plots.intervals`: a forest plot of a release, the privacy noise included in every interval."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models.model import LOSSES
from sfumato.models.reading import FamilyOrGibbs, model_from_json
from sfumato.pictures import axes
from sfumato.pictures.description import Row, Rows
from sfumato.plots import _drawing, _render
from sfumato.release import Release
from sfumato.schema import Schema

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Labels that fit one page, and characters that fit under the axis.
MOST, _LONGEST = 40, 50
_BOTH = "privacy and sampling"
# Estimates that the words for readers who do not see the picture give.
_SAID = 5


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
    return _render.figure(_picture(release, share, include, _places(release.labels, only), prior))


def _picture(release: Release, level: float, include: str, places: list[int], prior: Any) -> Rows:
    """A row for each label: its median and its interval."""
    numbers = release.numbers(level, include, prior)
    if numbers.ends is None:
        raise ArgumentError(numbers.reason)
    ends = numbers.ends[:, places]
    rows = tuple(
        Row(release.labels[k], float(numbers.estimates[k]), float(low), float(high), faint=bool(said), dot=not said)
        for k, low, high, said in zip(places, *ends, (numbers.states[k] for k in places), strict=True)
    )
    head = f"{100 * level:g} % intervals ({include}): {release.schema['name']}"
    title = head if release.private else f"NOT PRIVATE: made with a seeded stream\n{head}"
    shown = [f"{row.label} {axes.number(row.middle)}" for row in rows[:_SAID]]
    more = f" and {len(rows) - _SAID} more" if len(rows) > _SAID else ""
    alt = f"Estimates with {100 * level:g} % intervals: {', '.join(shown)}{more}."
    x = axes.linear(_measured(release), *axes.around(ends.ravel().tolist()), 6)
    return Rows(title, x, rows, alt, reference=0.0)


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
