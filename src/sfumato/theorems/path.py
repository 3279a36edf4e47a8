"""Path composition: every noisy gradient of a Langevin run may be published.

    theta <- theta - h_k grad U(theta) + sqrt(2 h_k) xi

reveals at most grad U(theta) + sqrt(2/h_k) xi at a public theta: a Gaussian mechanism of sensitivity G. T steps cost

    mu = G sqrt(sum_k h_k/2),      equal steps: sqrt(T) G sqrt(h/2).

Only |grad U_D - grad U_D'| <= G is used, at every theta the chain can visit: no convexity, no smoothness, no
convergence. Every iterate, momentum with a public coefficient, averages and projections are functions of the noisy
gradients and cost nothing more. Where the loss is convex and only the last iterate leaves, `finite_step` is never
worse.

Source: adaptive composition of Gaussian mechanisms (Dong, Roth and Su 2022).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sfumato.privacy.curves import Gaussian
from sfumato.privacy.gaussian_tail import UNIT
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems._common import COUNT, DIFFERENCE, FLOAT_ERROR, NOT_NEGATIVE, POSITIVE, RUN
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem

# Below this a step's square, or that of its gradient, may vanish in a float, and with it the price.
_TINY = 1e-140
SOURCE = "Dong, Roth and Su 2022, composition of Gaussian mechanisms"


_SIZES = (
    Hypothesis("step", "step size", "h", POSITIVE, "Choose a positive step."),
    Hypothesis("sizes", "one step size per step", "h_1..h_T", "{} sizes",
               "List one size for each step, or pass a single number."),
    Hypothesis("step-list", "step size", "h_k", POSITIVE, "Choose positive steps."),
)  # fmt: skip


theorem(
    "path.whole_path", "path composition (every iterate)", SOURCE,
    Hypothesis("public-schedule", "public step sizes and momentum", "h, momentum", "True",
               "Fix both before the data is seen; do not adapt them to losses or gradients.", "declared"),
    *RUN,
    Hypothesis("momentum", "momentum coefficient", "momentum", NOT_NEGATIVE, "Choose 0 or more."),
    DIFFERENCE,
    Hypothesis("steps", "number of steps", "T", COUNT, "Take at least one step."),
    *_SIZES,
    Hypothesis("chains", "number of chains", "chains", COUNT, "Run at least one chain."),
    *FLOAT_ERROR,
    Hypothesis("step-squares", "steps whose squares are floats", "h", f"greater than {_TINY:g}", "Rescale them."),
)  # fmt: skip


def whole_path(
    *,
    difference: float,
    step: float | Sequence[float],
    steps: int,
    public_start: bool,
    public_schedule: bool,
    full_batch: bool,
    chains: int = 1,
    momentum: float = 0.0,
    float_error: float = 0.0,
    adjacency: str = "replace-one",
    unit: str = "row",
) -> Guarantee:
    """Price of all `steps` noisy gradients of `chains` independent chains, and of everything computed from them.

    `difference` is G. `step` is one step size, or one for each of the `steps`. Whoever runs the chains declares that
    they start at a public point, that sizes and momentum are fixed before the data is seen, and that every step uses
    every record. `float_error` is a bound e on the rounding error of one step (in norm); it replaces h G by h G +
    2 e.
    """
    h = Hypotheses("path.whole_path")
    h.flags(public_start=public_start, public_schedule=public_schedule, full_batch=full_batch)
    h.number(momentum, "momentum")
    g = h.number(difference, "difference")
    count = h.count(steps, "steps")
    sizes = _step_sizes(h, step, count)
    k = h.count(chains, "chains")
    e = h.float_error(float_error)
    smallest = min(size for size, _ in sizes)
    h.holds(smallest > _TINY, "step-squares", given=smallest)
    squares = math.fsum(times * (size * g + 2 * e) ** 2 / (2 * size) for size, times in sizes)
    return h.guarantee(Gaussian(math.sqrt(k * squares) * (1 + 16 * UNIT)), adjacency, unit, draws=k)


def _step_sizes(h: Hypotheses, step: float | Sequence[float], steps: int) -> list[tuple[float, int]]:
    """Check the step sizes and return each with the number of times it is taken."""
    if not isinstance(step, Sequence):
        return [(h.number(step, "step"), steps)]
    h.holds(len(step) == steps, "sizes", given=f"{len(step)} sizes", bound=f"{steps}")
    bad = [size for size in step if not 0 < size < math.inf]
    shown = bad[0] if bad else f"{min(step):.6g} to {max(step):.6g}"
    h.holds(not bad, "step-list", given=shown)
    return [(float(size), 1) for size in step]
