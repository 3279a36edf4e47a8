"""What a released regression says about its clip, and why its intervals may cover less than they say.

All of it follows from published numbers: the noisy shares of residuals, the clip that follows from them, and x = n mu/sqrt(d).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sfumato.draws import Draws
from sfumato.models.gibbs import Gibbs
from sfumato.procedures import shaped_path, task_of
from sfumato.procedures.protocol import Task
from sfumato.queries import shaped_intervals
from sfumato.schema import Schema
from sfumato.shapes.clip_level import clipped_share, skewness

# Above this expected squared error of a score a loss with a likelihood is far from quadratic over the posterior: simulated 90 %
# intervals cover .87 instead of .89 and more. Beyond the second number nobody measured coverage.
_FAR, _VERY_FAR = 2.0, 10.0
# Up to this x the shares of residuals are too noisy to tell a skewed law from a normal one: strong skewness is seen from about a
# third of it on, but not the length of the tail.
_FEW = 1500.0
# Up to this x a linear regression with skewed residuals may cover less than .85 in tables of docs/benchmarks/estimands.md.
_CUT = 3000.0
# Up to this x, times the mean weight over the largest, a loss without a likelihood covers less than .85 in cells of that page.
_BENT = 6000.0


@dataclass(frozen=True)
class Clipped:
    """Which residuals of a linear regression were clipped, in the target's units.

    Residuals beyond `level` were clipped: a `share` of the records, known to +- `share_doubt` (90 %); `mean` is how far the fit at
    a row may be off because of it.
    """

    level: float
    share: float
    share_doubt: float
    mean: float

    def to_json(self) -> dict[str, float]:
        """The numbers by name."""
        return asdict(self)

    def sentence(self, target: str) -> str:
        """The numbers in words."""
        most, seen = self.share + self.share_doubt, self.share > self.share_doubt
        share = f"About {_percent(self.share)} (at most {_percent(most)})" if seen else f"At most {_percent(most)}"
        return (
            f"{share} of the residuals were clipped, those beyond {self.level:,.4g}: a predicted mean of {target} may be off by "
            f"about {self.mean:,.3g} because of it, which intervals include."
        )


def clipped_of(draws: Draws, plan: Mapping[str, Any], schema: Schema) -> Clipped | None:
    """What the release of a linear regression tells of its clip; None for other releases."""
    task = task_of(plan)[1] if shaped_intervals.is_shaped(plan) else None
    if task is None or task.parameters.shares_noise is None:
        return None
    learnt, shares = shaped_path.learnt_from(task, draws.published), draws.published["shares"]
    noise, slope = float(task.parameters.shares_noise or 0.0), learnt.loss.largest_slope()
    share, doubt = clipped_share(shares, noise, slope / float(learnt.deviation or 1.0))
    factor = 1.0 if schema.units is None else schema.units.factor
    return Clipped(factor * slope, share, doubt, factor * learnt.excess)


def cautions(draws: Draws, plan: Mapping[str, Any], target: str) -> list[str]:
    """Sentences on why intervals may cover less than they say; most releases have none."""
    if not shaped_intervals.is_shaped(plan):
        return []
    task: Task[Gibbs, shaped_path.Parameters] = task_of(plan)[1]
    loss = task.model.loss
    if loss.squared_labels is not None:
        said = _skewed(task, draws, target)
    else:
        said = _far(draws, plan) if loss.probabilistic or loss.counted_labels is not None else _bent(task, draws)
    return [said] if said else []


def _bent(task: Task[Gibbs, shaped_path.Parameters], draws: Draws) -> str:
    """A sentence where long rows of a loss without a likelihood are cut by more than the noise hides."""
    share = shaped_path.learnt_from(task, draws.published).share
    x, times = task.parameters.resolution * share, " times the mean weight" if share < 1 else ""
    if x >= _BENT:
        return ""
    return (
        f"Rows far from the middle count for less at this price (n mu/sqrt(d){times} is {x:,.0f}, below {_BENT:,.0f}): where the "
        "score is not a straight line in a column, the interval of its coefficient may miss the plain fit."
    )


def _far(draws: Draws, plan: Mapping[str, Any]) -> str:
    """A sentence where q is large: the loss is then far from quadratic."""
    q = shaped_intervals.diagnostic(draws, plan)
    if q <= _FAR:
        return ""
    return (
        f"The noise moves the score of a row by about {q**0.5:.1f} (diagnostic q = {q:.2g}): the loss is not quadratic over "
        f"such distances, and intervals may cover {'a little' if q <= _VERY_FAR else 'much'} less than they say."
    )


def _skewed(task: Task[Gibbs, shaped_path.Parameters], draws: Draws, target: str) -> str:
    """A sentence where residuals are skewed and noise does not allow a wide clip, or where noise hides whether they are."""
    x = task.parameters.resolution
    skew = skewness(draws.published["shares"], float(task.parameters.shares_noise or 0.0))
    if skew and x < _CUT:
        return (
            f"Residuals of {target} look skewed, and at this price the effect of the clipped share is not fully known: intervals "
            "may cover less than they say. A larger epsilon or more records allow a wider clip."
        )
    if x < _FEW:
        return (
            f"{task.n:,} records are few for {task.model.dimension} coefficients at this price (n mu/sqrt(d) is {x:,.0f}, below "
            f"{_FEW:,.0f}): noise hides how long the tails of the residuals are, and where {target} is skewed intervals may cover "
            "less than they say."
        )
    return ""


def _percent(share: float) -> str:
    return f"{100 * min(share, 1.0):.3g} %"
