"""Draws of the tables of discrete networks: whole records or entries, tables above a floor, and whole trajectories.

A replaced trajectory moves up to m counts out of cells and m counts into others, in any split. The rows of a table are
normalised independent Gammas, so with x the smallest prior cell and r the power

    D_a <= max over splits of sum_i D_a(Gamma(x + r u_i) || Gamma(x)) + max over splits of sum_j D_a(Gamma(x) || Gamma(x + r v_j)),

sum u_i = sum v_j = m, each maximum found exactly by dynamic programming over m. (All m moves in one cell need not be the
worst split: for small x many cells touched once cost more.)

Source: Dimitrakakis et al. 2017, Lemma 24; Geumlek et al. 2017, section 3. Proofs: docs/proofs/networks.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sfumato.privacy.curves import BoundedRange
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.pair_losses import Array
from sfumato.privacy.pairs import RATIO_ERROR, log_gamma_ratio
from sfumato.privacy.renyi import Renyi
from sfumato.theorems import conjugate, metric_examples
from sfumato.theorems._common import COUNT, DRAWS, LOG_ERROR, POSITIVE, TEMPERING
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem

# Renyi orders at which trajectories are priced: a factor of 1.2 to 2 apart, where epsilon is converted for usual deltas.
_ORDERS = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 128.0, 256.0)
# Further orders, as shares of the way from 1 to where the divergence becomes infinite.
_SHARES = tuple(k / 64 for k in range(1, 63))


theorem(
    "networks.table_draws", "exact profile (Bayesian network)", conjugate.SOURCE,
    Hypothesis("parents", "parents of every node", "parents", "one list of node numbers per node", "List them."),
    Hypothesis("adjacency", "neighbours", "adjacency", "'replace-one' or 'replace-entry'", "Name one of the two."),
)  # fmt: skip


def table_draws(
    *,
    smallest_cells: Sequence[float],
    parents: Sequence[Sequence[int]],
    adjacency: str = "replace-one",
    power: float = 1.0,
    strength: float = 1.0,
    draws: int = 1,
    log_error: float = 0.0,
    unit: str = "row",
) -> Guarantee:
    """Draws of all Dirichlet tables of a network; a whole record is replaced, or one entry of it ("replace-entry").

    Dominated by the product of Beta(x + r, x) against Beta(x, x + r) over the tables that move a count, x the smallest prior
    cell of each. A record moves one in every table; the entry of node j one in its own table and in those of its children:
    with v the largest such number, the v smallest cells x dominate, for a larger cell is dominated by a smaller one.
    """
    h = Hypotheses("networks.table_draws")
    count = len(smallest_cells)
    known = len(parents) == count and all(0 <= int(j) < count for above in parents for j in above)
    h.holds(known, "parents", given=len(parents))
    named = adjacency in ("replace-one", "replace-entry")
    h.holds(named, "adjacency", given=adjacency)
    children = [sum(j in above for above in parents) for j in range(count)]
    moved = count if adjacency == "replace-one" else 1 + max(children, default=0)
    cells = sorted(map(float, smallest_cells))[:moved]
    whole = conjugate.network(  # checks the cells, the power, the strength and the error
        smallest_cells=cells, power=power, strength=strength, draws=draws, log_error=log_error, unit=unit
    )
    h.inherit(whole)
    return h.guarantee(whole.curve, adjacency, unit, draws=whole.draws)


theorem(
    "networks.truncated_draws", "network with bounded conditional probabilities",
    "Dimitrakakis et al. 2017, Lemma 24, corrected",
    DRAWS, LOG_ERROR,
)  # fmt: skip


def truncated_draws(
    *,
    parents: Sequence[Sequence[int]],
    cardinalities: Sequence[int],
    floor: float,
    adjacency: str = "replace-one",
    draws: int = 1,
    power: float = 1.0,
    log_error: float = 0.0,
    unit: str = "row",
) -> Guarantee:
    """Draws of all tables on a public set of tables whose conditional probabilities are all at least `floor`.

    Bounded range 2 r sum_k Lambda_k, Lambda_k = ln((1 - (c_k - 1) floor)/floor), per record (`replace-entry`: over a node
    and its children), whatever the prior on the set; masses off by a factor within exp(+-e) add 4 e to the range.
    `parents` and `cardinalities` as for `metric_examples.network_draws`. Source: Dimitrakakis et al. 2017, Lemma 24.
    """
    exact = metric_examples.network_draws(
        parents=parents, cardinalities=cardinalities, floor=floor, adjacency=adjacency, power=power, unit=unit
    )
    h = Hypotheses("networks.truncated_draws")
    h.inherit(exact)
    k = h.count(draws, "draws")
    off = h.number(log_error, "log-error")
    span = exact.curve.renyi(math.inf)
    return h.guarantee(k * BoundedRange(span + 4 * off), adjacency, unit, draws=k)


theorem(
    "networks.trajectory_draws", "Renyi curve (trajectories of a Markov chain)",
    "Geumlek et al. 2017, equation (5), worst split",
    Hypothesis("first-cell", "smallest prior cell of the first state", "x_0", POSITIVE, "Use a proper prior.", "prior"),
    Hypothesis("next-cell", "smallest prior cell of a transition", "x", POSITIVE, "Use a proper prior.", "prior"),
    Hypothesis("moves", "transitions of one trajectory", "m", COUNT, "Declare the largest length."),
    *TEMPERING, LOG_ERROR,
)  # fmt: skip


def trajectory_draws(
    *,
    first_cell: float,
    next_cell: float,
    moves: int,
    power: float = 1.0,
    strength: float = 1.0,
    draws: int = 1,
    log_error: float = 0.0,
    unit: str = "row",
) -> Guarantee:
    """Draws of a chain's first-state and transition tables when a whole trajectory of at most m transitions is replaced.

    Renyi(a) at every listed order: the first state moves one count out and one in (smallest cell x_0), the transitions up
    to m out and m in, in the worst split (smallest cell x). Finite for a < 1 + min(x_0/r, x/(m r)). A Renyi curve is claimed
    and no profile: which split is worst depends on the order.
    """
    h = Hypotheses("networks.trajectory_draws")
    start, cell = h.numbers(first_cell=first_cell, next_cell=next_cell)
    most = h.count(moves, "moves")
    r, s, k = h.tempering(power, strength, draws)
    off = h.number(log_error, "log-error")
    room = min(s * start / r, s * cell / (most * r))
    listed = {1 + room * share for share in _SHARES} | {a for a in _ORDERS if a < 1 + room}
    orders = np.array(sorted(a for a in listed if a > 1) or [2.0])
    parts = worst_split(s * start, r, 1, orders) + worst_split(s * cell, r, most, orders)
    values = k * (parts + off * (2 * orders - 1) / (orders - 1)) * (1 + 1e-14)
    return h.guarantee(Renyi(orders.tolist(), values.tolist()), unit=unit, draws=k)


def worst_split(cell: float, power: float, moves: int, orders: Array) -> Array:
    """Largest Renyi divergence of independent Gammas when `moves` shifts of `power` leave cells and as many enter others.

    Both parts separately, by f(m) = max over j of g(j) + f(m - j), g(j) the divergence of one cell moved j times.
    `cell` is the smallest prior cell, `orders` the Renyi orders a; one number for each.
    Source: docs/proofs/networks.md.
    """
    total = np.zeros(len(orders))
    for upward in (True, False):
        costs = one_cell(cell, power * np.arange(1.0, moves + 1), orders, upward)
        best = [np.zeros(len(orders))]
        for count in range(1, moves + 1):
            best.append(np.max([costs[j - 1] + best[count - j] for j in range(1, count + 1)], axis=0))
        total = total + best[-1]
    return total


def one_cell(cell: float, shifts: Array, orders: Array, upward: bool) -> Array:
    """D_a(Gamma(x + t) || Gamma(x)), or with the two exchanged, shaped (shifts, orders), rounded up.

    As in `sfumato.privacy.posterior_profiles.beta_renyi`: the order is moved up by a few roundings, for close to where the
    divergence becomes infinite one rounding moves it by much, and what the logarithms may have lost is added.
    `cell` is x, `shifts` are t, `orders` a; `upward` chooses the first of the two.
    """
    t, x = shifts[:, None], np.full((len(shifts), 1), cell)
    a = orders[None, :] + 8 * 2.0**-53 * (orders[None, :] + x / t)
    finite = upward | ((a - 1) * t < x * (1 - 2.0**-50))
    a = np.where(finite, a, 1 + 0.5 * x / t)  # a placeholder; the value is infinite
    rise = log_gamma_ratio(x, t)
    if upward:
        mixed, plain = log_gamma_ratio(x + t, (a - 1) * t) / (a - 1), -rise
    else:
        mixed, plain = log_gamma_ratio(x, -(a - 1) * t) / (a - 1), rise
    error = 2.0**-48 * (np.abs(mixed) + np.abs(plain) + 1.0 / (a - 1)) + RATIO_ERROR
    return np.where(finite, np.maximum(0.0, mixed + plain + error), np.inf)
