"""The results of a network in the report: the shares of every column, then every column given its parents, with intervals."""

from __future__ import annotations

import math
import shlex
from html import escape
from typing import Any

from sfumato.models.networks.bayesian_network import BayesianNetwork
from sfumato.models.reading import model_from_json
from sfumato.queries.statistics.network_tables import unreadable
from sfumato.shells.html_page import table


def is_shown(release: Any) -> bool:
    """Whether a release is of a Bayesian network with noisy counts, from which intervals are computed."""
    model = model_from_json(release.plan["model"])
    return isinstance(model, BayesianNetwork) and unreadable(model, release.draws.totals is not None) is None


def results(release: Any, level: float, most: int) -> str:
    """A table for each column, and one for each column with parents; of more lines than `most` the way to ask for them."""
    model: Any = model_from_json(release.plan["model"])
    parts = ["<h3>Shares of all records</h3>"]
    parts += [_shares(release.marginal(name, interval=level), most) for name in model.sizes]
    for name, above in model.above.items():
        if not above:
            continue
        parts.append(f"<h3>{escape(name)} given {escape(', '.join(above))}</h3>")
        if math.prod(model.sizes[each] for each in (name, *above)) > most:
            given = " ".join(f"--given {shlex.quote(each)}" for each in above)
            asked = f"sfumato query conditional FILE {shlex.quote(name)} {given} --interval {level:g}"
            parts.append(f"<p>More lines than fit here; they are printed by {escape(asked)}.</p>")
        else:
            parts.append(_shares(release.conditional(name, list(above), interval=level), most))
    parts.append(
        "<p>Intervals include the privacy noise and the sampling of the records. Columns that no table counts together have "
        "shares, computed through other columns, and no intervals.</p>"
    )
    return "".join(parts)


def _shares(shares: Any, most: int) -> str:
    """Shares with their intervals, a line for each combination of levels."""
    head, *rows = shares.grid()
    more = f"<p>… and {len(rows) - most} more in the file.</p>" if len(rows) > most else ""
    return table(head, rows[:most]) + more
