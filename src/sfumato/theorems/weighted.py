"""Weighted losses in mapped coordinates: every noisy gradient of a path, and the price of a whole shape-first regression.

A record with row z and label y has the loss v(z) phi(z.theta, y) with |phi'| <= s and 0 <= phi'' <= k, in the coordinates
theta = B theta~ with a public map B, so that its row is Bz. With the weights

    v(z) = min(1, 1/|Bz|, b/|Bz|^2),    b >= 1 the bend,

|v phi' Bz| <= s and |v phi'' Bz (Bz)'| <= b k. b = 1 is min(1, |Bz|^-2); b infinite is min(1, 1/|Bz|), whose curvature has no
bound. B, the weights, the clip and the noise of a later part may depend on what earlier parts released; its mu may not.

Source: adaptive composition of Gaussian mechanisms (Dong, Roth and Su 2022). Proof: docs/proofs/weighted.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from sfumato.errors import CompositionError
from sfumato.models._rounding import product_up, up
from sfumato.privacy.compose import compose
from sfumato.privacy.curves import Gaussian
from sfumato.privacy.guarantee import TRUST, Guarantee
from sfumato.theorems import path
from sfumato.theorems._common import (
    AT_LEAST_ONE_OR_INFINITE,
    COUNT,
    FLOAT_ERROR,
    NOT_NEGATIVE,
    ONE_TO_TWO,
    POSITIVE,
    RECORDS,
    RUN,
)  # fmt: skip
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem
from sfumato.theorems._noisy_mean import CURVATURE, MAPPED_ROWS, NOISE, SLOPE, check_mapped_rows, check_noisy_mean

_BEND = Hypothesis("bend", "bend of the weights", "b", AT_LEAST_ONE_OR_INFINITE,
                   "1 for min(1, |Bz|^-2), infinity for min(1, 1/|Bz|).")  # fmt: skip

_ZERO_SLOPE = Hypothesis("zero-slope", "bound on the slope at score 0", "|phi'(0, y)|", NOT_NEGATIVE,
                         "Use the bound at all scores where no smaller one is known.", "loss")  # fmt: skip

theorem(
    "weighted.weighted_path", "path of a weighted loss (every iterate)", path.SOURCE,
    Hypothesis("public-schedule", "public step sizes and momentum", "eta, momentum", "True",
               "Fix both from public numbers and earlier releases; do not adapt them to losses or gradients.", "declared"),
    *RUN, *MAPPED_ROWS,
    Hypothesis("momentum", "momentum coefficient", "momentum", NOT_NEGATIVE, "Choose 0 or more."),
    SLOPE,
    Hypothesis("difference-factor", "difference of two gradients over the slope", "G/s", ONE_TO_TWO,
               "Use 2; less only in one dimension (difference_factor).", "loss"),
    Hypothesis("steps", "number of steps", "T", COUNT, "Take at least one step."),
    Hypothesis("chains", "number of chains", "chains", COUNT, "Run at least one chain."),
    RECORDS, NOISE, *FLOAT_ERROR,
)  # fmt: skip


def weighted_path(
    *,
    slope: float,
    n: int,
    noise: float,
    steps: int,
    public_map: bool,
    weights_of_rows_alone: bool,
    public_start: bool,
    public_schedule: bool,
    full_batch: bool,
    difference_factor: float = 2.0,
    chains: int = 1,
    float_error: float = 0.0,
    headroom: float = 0.0,
    momentum: float = 0.0,
    adjacency: str = "replace-one",
    unit: str = "row",
) -> Guarantee:
    """Price of all noisy gradients (1/n) sum v phi' Bz + sigma xi of `steps` steps, and of everything computed from them.

    mu = sqrt(T chains) (f s (1 + headroom)/n + 2 e)/sigma, where |phi'| <= s (`slope`), |v Bz| <= 1 + headroom as computed,
    and |g - g'| <= f s for the exact gradients of two records at one theta. f (`difference_factor`) is 2 for every loss and
    weights; less only as `difference_factor` gives. `noise` is sigma, `float_error` a bound e on the rounding
    error of one mean gradient in norm. The weights of a record depend on its own row and the public map alone. Map,
    start, steps and momentum depend on public numbers and earlier releases alone; every step uses every record.
    Source: Dong, Roth and Su 2022; docs/proofs/weighted.md.
    """
    h = Hypotheses("weighted.weighted_path")
    h.flags(public_start=public_start, public_schedule=public_schedule, full_batch=full_batch)
    longest = check_mapped_rows(h, public_map, weights_of_rows_alone, headroom)
    h.number(momentum, "momentum")
    s, factor = map(Fraction, h.numbers(slope=slope, difference_factor=difference_factor))
    count, k = h.counts(steps=steps, chains=chains)
    mu = check_noisy_mean(h, factor * s * longest, n, noise, float_error, _root_up(count * k))
    return h.guarantee(Gaussian(mu), adjacency, unit, draws=k)


def _root_up(count: int) -> float:
    """Square root of a whole number, rounded up."""
    root = math.sqrt(count)
    return root if Fraction(root) ** 2 >= count else math.nextafter(root, math.inf)


def weighted_constants(*, slope: float, curvature: float, bend: float) -> tuple[float, float]:
    """(Lipschitz constant, smoothness) = (s, b k) of v(z) phi(z.theta, y) in mapped coordinates, rounded up.

    v = min(1, 1/|Bz|, b/|Bz|^2) with b >= 1: |v phi' Bz| <= s and |v phi'' Bz (Bz)'| = v |Bz|^2 phi'' <= b k, because
    min(t^2, t, b) <= b for every length t. `slope` is s, `curvature` k, `bend` b; with b infinite, v = min(1, 1/|Bz|), the
    smoothness is infinite: the norm reaches k |Bz|.
    Source: docs/proofs/weighted.md.
    """
    h = Hypotheses("constants of a weighted loss", "docs/proofs/weighted.md")
    s, k, b = h.number(slope, SLOPE), h.number(curvature, CURVATURE), h.number(bend, _BEND)
    return s, product_up(b, k)


def difference_factor(*, slope: float, zero_slope: float, convex: bool, dimension: int) -> float:
    """The factor f: two gradients of a weighted loss at one theta differ by at most f times its slope, rounded up.

    |phi'| <= s (`slope`) at every score and |phi'(0, y)| <= h (`zero_slope`) for every label. f = min(2, 1 + h/s) where phi is
    `convex` in the score and the `dimension` of the rows is 1 (the constant feature counts), whatever the weights as long as
    |v Bz| <= 1: at t > 0 scores have the sign of their row, so that v phi' Bz lies in [-h, s]; at t < 0 in [-s, h]. f = 2
    otherwise: nearly opposite rows of a long theta.
    Source: docs/proofs/weighted.md.
    """
    h = Hypotheses("gradients of a weighted loss", "docs/proofs/weighted.md")
    s, zero = h.number(slope, SLOPE), h.number(zero_slope, _ZERO_SLOPE)
    if h.count(dimension, "dimension of the rows", "d", remedy="Count the constant feature.") > 1 or not convex:
        return 2.0
    return min(2.0, up(1 + Fraction(zero) / Fraction(s)))


theorem(
    "weighted.shape_first", "shape first: adaptive composition of Gaussian mechanisms", path.SOURCE,
    Hypothesis("fixed-beforehand", "prices fixed beforehand", "mu_1..mu_m", "True",
               "Fix the mu of every part before any part is released; map, weights, clip and noise may adapt.", "declared"),
    Hypothesis("parts", "number of parts", "m", COUNT, "Give at least one guarantee."),
    Hypothesis("gaussian-parts", "parts that are Gaussian mechanisms", "mu_i", "Gaussian curves without slack",
               "Compose other curves with +."),
)  # fmt: skip


def shape_first(parts: Sequence[Guarantee], *, fixed_beforehand: bool) -> Guarantee:
    """Moments, path, curvature and score scale together: mu = sqrt(sum_i mu_i^2), rounded up.

    Each of the `parts` is mu_i-GDP whatever earlier parts released, with mu_i fixed before the first (`fixed_beforehand`);
    its map, weights, clip and noise may depend on earlier releases. The guarantee carries the hypotheses of all parts,
    and as many draws as the part with most.
    Source: Dong, Roth and Su 2022, composition of Gaussian mechanisms (adaptive).
    """
    h = Hypotheses("weighted.shape_first")
    h.flag(fixed_beforehand, "fixed-beforehand")
    h.count(len(parts), "parts")
    others = [part.theorem for part in parts if not isinstance(part.curve, Gaussian) or part.slack > 0]
    h.holds(not others, "gaussian-parts", given="; ".join(others) or f"{len(parts)} Gaussian curves")
    if len({(part.adjacency, part.unit) for part in parts}) > 1:
        named = sorted({f"{part.adjacency} of one {part.unit}" for part in parts})
        raise CompositionError(f"guarantees compose only for the same neighbours: got {' and '.join(named)}.")
    h.inherit(*parts)
    h.checked = list(dict.fromkeys(h.checked))  # parts of one kind state the same hypotheses
    trust = TRUST[max(TRUST.index(part.trust) for part in parts)]
    curve = compose((part.curve, 1) for part in parts)
    return h.guarantee(curve, parts[0].adjacency, parts[0].unit, trust, max(part.draws for part in parts))


theorem(
    "weighted.budgeted_chain", "last iterate of a weighted loss, within a mu fixed beforehand", "Bok, Su and Altschuler 2024",
    Hypothesis("priced-before-it-runs", "a power whose price was checked before the chain starts", "mu_t <= mu", "True",
               "Choose the power from public numbers and earlier releases so that the finite-step theorem gives at most mu.",
               "declared"),
    *RUN, *MAPPED_ROWS,
    Hypothesis("convex", "convexity of every loss", "convex", "True", "Use a convex loss.", "loss"),
    Hypothesis("mu", "price of all chains", "mu", POSITIVE, "Give a positive mu."),
    Hypothesis("chains", "number of chains", "chains", COUNT, "Run at least one chain."),
    FLOAT_ERROR[1],
)  # fmt: skip


def budgeted_chain(
    *,
    mu: float,
    convex: bool,
    priced_before_it_runs: bool,
    public_map: bool,
    weights_of_rows_alone: bool,
    public_start: bool,
    full_batch: bool,
    chains: int = 1,
    headroom: float = 0.0,
    adjacency: str = "replace-one",
    unit: str = "row",
) -> Guarantee:
    """Price of the last iterates of `chains` chains in mapped coordinates whose power was chosen to cost at most `mu`.

    After the map is public the potential has G = 2 s power, m = lambda_min(BPB) and M = n power b k + lambda_max(BPB), and the
    finite-step theorem (`finite_step.last_iterate`) prices the chains at mu_t(power). Whoever runs them declares that the
    power was chosen from public numbers and earlier releases with mu_t(power) <= mu before the first step: given what was
    released before, the chains are mu-Gaussian private, so they compose with the release of the moments.
    Source: Bok, Su and Altschuler 2024; docs/proofs/weighted.md.
    """
    h = Hypotheses("weighted.budgeted_chain")
    h.flags(
        priced_before_it_runs=priced_before_it_runs, public_start=public_start, full_batch=full_batch, convex=convex
    )
    check_mapped_rows(h, public_map, weights_of_rows_alone, headroom)
    price, k = h.number(mu, "mu"), h.count(chains, "chains")
    h.holds(True, "float-noise", given="float64 normals (53 bits)")
    return h.guarantee(Gaussian(price), adjacency, unit, draws=k)
