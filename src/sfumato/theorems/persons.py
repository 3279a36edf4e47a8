"""Persons with several rows: what a theorem about one replaced record says about one replaced person.

A person's rows x_1..x_c become one contribution, a function of that person's rows alone. Neighbours are "replace-person": the
roster of N persons is public and the rows of one person are replaced by any others under the same id.

- One row a person ("first", "reduce"): the contribution is that of one row that a record could be. Every theorem about N records
  holds as it stands.
- Averages: the contribution is (1/c) sum_j t(x_j), a point of the convex hull of the contributions t(x) of single rows. A bound on
  a convex function of a pair of contributions (the seminorm of their difference, a Lipschitz constant of the difference of two
  averaged losses, the range of a difference of log likelihoods) is attained at a pair of single rows, and averages of losses keep
  Lipschitz constants, smoothness, convexity and strong convexity. So what is proved from such bounds holds with N for n.

A person who has no rows counts as one public row: zero never joins the hull. Proof: docs/proofs/persons.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import lcm

import numpy as np

from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.neighbours import REPLACE_ONE, REPLACE_PERSON
from sfumato.privacy.renyi import Renyi
from sfumato.privacy.statements import joined
from sfumato.theorems._common import COUNT, LOG_ERROR, POSITIVE, RECORDS, TEMPERING
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem
from sfumato.theorems.networks import one_cell

SOURCE = "docs/proofs/persons.md"
# Most rows of a person for which draws of a rate are priced: lcm(1..24) times a billion persons stays within 64 bits.
MOST_DRAWN = 24
# Orders of a Renyi curve that are listed where they are covered, and shares of the way from 1 to the largest that is.
_ORDERS = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 96.0, 128.0, 256.0, 512.0, 1024.0)
_SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)

_ROSTER = Hypothesis("public-roster", "public roster of persons", "N", "True",
                     "Declare count or roster; N is never the number of ids in the table.", "declared")  # fmt: skip
_OWN_ROWS = Hypothesis("own-rows", "a contribution of the person's own rows", "g(x_1..x_c)", "True",
                       "Let no other person's rows, and no count of rows, enter a person's contribution.", "declared")  # fmt: skip

_NEIGHBOURS = Hypothesis("neighbours", "neighbours of the price", "D, D'", "replace-one",
                         "Single cells of persons with several rows are not protected: use replace-one.")  # fmt: skip

theorem(
    "persons.one_row", "a person with all of their rows, as one row", SOURCE,
    _ROSTER, _OWN_ROWS, RECORDS, _NEIGHBOURS,
)  # fmt: skip


def one_row(
    priced: Guarantee,
    *,
    people: int,
    public_roster: bool,
    own_rows: bool,
    id_column: str,
    rows: str,
    unit: str = "person",
) -> Guarantee:
    """A guarantee about one replaced record of `people`, for persons whose rows were reduced to one by a function of their own.

    `priced` is the guarantee for as many records with one row each. Replacing the rows of one person replaces one record.
    `id_column` and `rows` say whose rows they are and what they are called. Whoever reads the table declares `public_roster` (N is
    declared, not counted) and `own_rows` (a person's row follows from that person's rows alone).
    Source: docs/proofs/persons.md.
    """
    h = Hypotheses("persons.one_row")
    h.flags(public_roster=public_roster, own_rows=own_rows)
    h.count(people, "records")
    return _for_persons(h, priced, id_column, rows, unit)


theorem(
    "persons.averages", "a person with all of their rows, averaged", SOURCE,
    _ROSTER, _OWN_ROWS, RECORDS,
    Hypothesis("most", "most rows of a person that are averaged", "c", COUNT, "Declare most."),
    Hypothesis("hull", "a price that covers averages of rows", "conv", "True",
               "Use noisy statistics, a regression by its path, or rule first or reduce.", "procedure"),
    Hypothesis("absent", "persons without rows count as a public row", "x_0", "True",
               "Give a person without rows one public row.", "declared"),
    _NEIGHBOURS,
)  # fmt: skip


def averages(
    priced: Guarantee,
    *,
    people: int,
    most: int,
    hull: bool,
    absent: bool,
    public_roster: bool,
    own_rows: bool,
    id_column: str,
    rows: str,
    unit: str = "person",
) -> Guarantee:
    """A guarantee about one replaced record of `people`, for persons whose contributions are averages over at most `most` rows.

    Whoever prices a release declares `hull`: `priced` follows from bounds that the convex hull of single rows' contributions
    keeps (or it was computed for averages). `absent` declares that a person without rows counts as one public row; otherwise 0
    would join the hull. `public_roster`, `own_rows`, `id_column` and `rows` as for `one_row`.
    Source: docs/proofs/persons.md.
    """
    h = Hypotheses("persons.averages")
    h.flags(public_roster=public_roster, own_rows=own_rows)
    h.count(people, "records")
    h.count(most, "most")
    h.flags(hull=hull, absent=absent)
    return _for_persons(h, priced, id_column, rows, unit)


def _for_persons(h: Hypotheses, priced: Guarantee, id_column: str, rows: str, unit: str) -> Guarantee:
    """The same curve for other neighbours; the hypotheses of both theorems travel with it."""
    h.holds(priced.adjacency == REPLACE_ONE, "neighbours", given=priced.adjacency)
    h.inherit(priced)
    name, source, assumptions = h.stated()
    return replace(
        priced,
        adjacency=REPLACE_PERSON,
        unit=unit,
        theorem=joined(priced.theorem, name),
        source=joined(priced.source, source),
        assumptions=assumptions,
        id_column=id_column,
        rows=rows,
    )


theorem(
    "persons.weighted_records", "records with survey weights", SOURCE,
    Hypothesis("fixed", "weights that follow from a record's own row and the public design", "w(x)", "True",
               "Use design weights, from before any calibration on these rows.", "declared"),
    Hypothesis("zero", "a price that covers every multiple from 0 to 1 of a contribution", "v t(x)", "True",
               "Use noisy statistics or a regression by its path.", "procedure"),
    _NEIGHBOURS,
)  # fmt: skip


def weighted_records(priced: Guarantee, *, fixed: bool, zero: bool) -> Guarantee:
    """A guarantee about one replaced record, for records whose contributions are multiplied by weights v in [0, 1].

    `fixed` declares that a weight is a function of its own row and of public numbers: a replaced record then changes one
    contribution. Whoever prices a release declares `zero`: `priced` follows from bounds that the convex hull of 0 and of the
    contributions keeps. The sum of the weights is a private total.
    Source: docs/proofs/persons.md, point 6.
    """
    h = Hypotheses("persons.weighted_records")
    h.flags(fixed=fixed, zero=zero)
    h.holds(priced.adjacency == REPLACE_ONE, "neighbours", given=priced.adjacency)
    h.inherit(priced)
    name, source, assumptions = h.stated()
    theorems, sources = joined(priced.theorem, name), joined(priced.source, source)
    return replace(priced, theorem=theorems, source=sources, assumptions=assumptions)


theorem(
    "persons.spread_draws", "Renyi price of draws for persons spread over several cells", SOURCE,
    Hypothesis("nodes", "number of tables", "K", "at least 1", "Name the tables."),
    Hypothesis("cell", "smallest prior cell of a table", "x_k", POSITIVE, "Use a proper prior.", "prior"),
    *TEMPERING, LOG_ERROR,
)  # fmt: skip


def spread_draws(
    *,
    smallest_cells: Sequence[float],
    power: float = 1.0,
    strength: float = 1.0,
    draws: int = 1,
    log_error: float = 0.0,
    unit: str = "row",
) -> Guarantee:
    """Draws of Dirichlet tables when the weight r of one person leaves some cells and enters others, in any split.

    With g_a(t) the Renyi divergence of one Gamma cell of prior x that is moved by t, a person's move costs at most the sum of
    g_a over the cells. g_a is convex on [0, r] and 0 at 0 for orders a with r sqrt(a) <= x, so that no split costs more than one
    cell out and one in: Renyi(a) <= sum_k {D_a(Gamma(x_k + r) || Gamma(x_k)) + D_a(Gamma(x_k) || Gamma(x_k + r))}, for
    a < 1 + x/r and a <= (x/r)^2; nothing is promised where r >= x. No profile is claimed: a spread-out person can cost more
    than one row does.
    `smallest_cells` are the smallest prior cells x_k of the tables, `power` r, `strength` s.
    """
    h = Hypotheses("persons.spread_draws")
    h.holds(len(smallest_cells) >= 1, "nodes", given=len(smallest_cells))
    cells = [h.number(cell, "cell") for cell in smallest_cells]
    r, s, k = h.tempering(power, strength, draws)
    off = h.number(log_error, "log-error")
    room = s * min(cells) / r
    # Rounded down: an order that is not covered must not be listed. Where r >= x none is, and nothing is promised.
    largest = min(1 + room, room * room) * (1 - 1e-12)
    if not largest > 1:
        return h.guarantee(Renyi([2.0], [math.inf]), unit=unit, draws=k)
    orders = np.array(sorted({1 + (largest - 1) * share for share in _SHARES} | {a for a in _ORDERS if a < largest}))
    parts = np.zeros(len(orders))
    for cell, times in Counter(cells).items():
        for upward in (True, False):
            parts += times * one_cell(s * cell, np.array([r]), orders, upward)[0]
    values = k * (parts + len(cells) * off * (2 * orders - 1) / (orders - 1)) * (1 + 1e-14)
    return h.guarantee(Renyi(orders.tolist(), values.tolist()), unit=unit, draws=k)


def common_denominator(most: int) -> int:
    """W = lcm(1..most): every average of at most `most` whole numbers is a whole number of parts 1/W.

    `most` is the most rows of a person that are averaged. W is 27,720 for 12 rows and 5.4e9 for 24, so that W times a billion
    persons fits into 64 bits up to there.
    Source: docs/proofs/persons.md.
    """
    return lcm(*range(1, most + 1))
