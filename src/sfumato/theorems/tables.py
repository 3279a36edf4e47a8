"""Tables of counts with noise of their own, tables that are chosen for their misfit, and all of it under one price.

A record adds 1 to one cell of each table, so replacing it takes 1 from a cell and gives 1 to another, or changes nothing: the
table moves by at most sqrt(2) in Euclidean norm and by at most 2 in the sum of absolute values.

Noise: tables with independent N(0, sigma_j^2) noise on every cell are mu-Gaussian private with mu^2 = sum_j Delta_j^2/sigma_j^2,
since in units of their own noise the tables move by Delta_j/sigma_j each, together by the root of the sum of squares.

Choice: the misfit of table j is |counts_j - reference_j|_1 less a public number, for a reference that is public or was released
before. It moves by at most 2, so a table drawn with probability proportional to exp(power misfit) has bounded range 4 power, and
that is mu-Gaussian private with Phi(-mu/2) = 1/(1 + exp(2 power)).

Source: Dong, Roth and Su 2022; McSherry and Talwar 2007; Cesar and Rogers 2021. Proofs: docs/proofs/tables.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from sfumato.errors import ArgumentError, CompositionError
from sfumato.privacy.compose import compose
from sfumato.privacy.curves import BoundedRange, Gaussian
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems._common import COUNT, LOG_ERROR, POSITIVE, POWER
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem

# Misfit of one table moves by at most this when a record is replaced.
MISFIT = 2.0
_UP = 1 + 1e-15
# Squares of mu between which floats hold them to the last digits: a smaller one is raised to the first, a larger one is refused.
_LEAST_SQUARE, _MOST_SQUARE = 1e-300, 1e300
_ONE_CELL = Hypothesis(
    "one-cell",
    "one cell of each table for every record",
    "x_i",
    "True",
    "Count every record once in each table.",
    "declared",
)

theorem(
    "tables.noisy_tables", "tables of counts, each with its own noise", "Dong, Roth and Su 2022, Theorem 2.7",
    _ONE_CELL,
    Hypothesis("tables", "number of tables", "J", COUNT, "Count at least one table."),
    Hypothesis("noise", "smallest noise of a table", "sigma", POSITIVE, "Add positive noise to every table."),
)  # fmt: skip

theorem(
    "tables.chosen_tables", "tables chosen for their misfit", "McSherry and Talwar 2007; Cesar and Rogers 2021",
    _ONE_CELL,
    Hypothesis("public-reference", "a reference that is public or was released before", "q", "True",
               "Compare the counts with a model that was fitted to noisy tables alone.", "declared"),
    POWER, LOG_ERROR,
    Hypothesis("choices", "number of choices", "k", COUNT, "Choose at least one table."),
)  # fmt: skip

theorem(
    "tables.learnt_table", "noisy tables, choices and bins together", "Dong, Roth and Su 2022, composition (adaptive)",
    Hypothesis("fixed-beforehand", "prices of all parts that are fixed beforehand", "mu_i", "True",
               "Fix noise, powers and the number of choices before the first part.", "declared"),
    Hypothesis("parts", "number of parts", "parts", COUNT, "Release at least one part."),
)  # fmt: skip


def noisy_tables(
    *, noises: Sequence[float], one_cell: bool, squared_moves: Sequence[int] | None = None, unit: str = "row"
) -> Guarantee:
    """Tables with noise N(0, sigma_j^2) on every cell are mu-Gaussian private, mu^2 = sum_j Delta_j^2/sigma_j^2.

    `noises` are the sigma_j. `squared_moves` are the Delta_j^2, by default 2 for each: one count falls by 1 and one rises by 1; a
    tree of h levels of counts has 2 h. Whoever counts declares `one_cell`.
    Source: Dong, Roth and Su 2022, Theorem 2.7; docs/proofs/tables.md.
    """
    h = Hypotheses("tables.noisy_tables")
    h.flag(one_cell, "one-cell")
    h.count(len(noises), "tables")
    h.number(min(noises) if all(map(math.isfinite, noises)) else math.nan, "noise")
    moves = [2] * len(noises) if squared_moves is None else list(squared_moves)
    if any(not isinstance(move, int) or move < 1 for move in moves):
        raise ArgumentError(f"squared_moves must be whole numbers of at least 1; got {moves!r}.")
    total = sum(Fraction(move) / Fraction(noise) ** 2 for move, noise in zip(moves, noises, strict=True))
    root = math.sqrt(max(total, _LEAST_SQUARE)) if total <= _MOST_SQUARE else math.inf
    return h.guarantee(Gaussian(root * _UP * _UP), unit=unit)


def chosen_tables(
    *, power: float, choices: int, public_reference: bool, one_cell: bool, log_error: float = 0.0, unit: str = "row"
) -> Guarantee:
    """Each of `choices` draws of a table costs mu with Phi(-mu/2) = 1/(1 + exp(2 power + 2 e)); together sqrt(choices) mu.

    `power` multiplies the misfit; `log_error` is e, how far the log of a drawn table's probability may be from the exact one.
    Earlier choices may be left out of later ones, and references may follow from earlier releases: `public_reference` declares
    that nothing else of the records enters them.
    Source: McSherry and Talwar 2007; Cesar and Rogers 2021; docs/proofs/tables.md.
    """
    h = Hypotheses("tables.chosen_tables")
    h.flags(one_cell=one_cell, public_reference=public_reference)
    beta, off = h.number(power, "power"), h.number(log_error, "log-error")
    count = h.count(choices, "choices")
    once = BoundedRange((2 * beta * MISFIT + 4 * off) * (1 + 1e-14))
    return h.guarantee(Gaussian(math.sqrt(count) * once.mu * _UP * _UP), unit=unit)


def learnt_table(parts: Sequence[Guarantee], *, fixed_beforehand: bool) -> Guarantee:
    """Parts that are mu_i-Gaussian private whatever came before, their mu_i fixed beforehand: mu = sqrt(sum_i mu_i^2).

    `parts` are guarantees about the same neighbours, without slack. Whoever carries them out declares `fixed_beforehand`: which
    parts there are, and the price of each, does not depend on what earlier ones released.
    Source: Dong, Roth and Su 2022, composition of Gaussian mechanisms (adaptive); docs/proofs/tables.md.
    """
    h = Hypotheses("tables.learnt_table")
    h.flag(fixed_beforehand, "fixed-beforehand")
    h.count(len(parts), "parts")
    if len({(part.adjacency, part.unit) for part in parts}) > 1 or any(part.slack for part in parts):
        raise CompositionError("the parts of a learnt table must be about the same neighbours, and without slack.")
    h.inherit(*parts)
    return h.guarantee(compose((part.curve, 1) for part in parts), parts[0].adjacency, parts[0].unit)
