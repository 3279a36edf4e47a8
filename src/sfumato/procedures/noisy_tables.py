"""Noisy tables of pairs of columns, and a mixture fitted to them: the release of a learnt table, under one price.

1. Private bins, if any: noisy trees of counts over public cells; edges follow from them.
2. Where pairs are chosen: noisy tables of all single columns, and of the target's pairs; then in each round a mixture is fitted
   to what was released so far, pairs are drawn by the misfit of their counts to it, and counted with noise.
   Otherwise the tables of all pairs, with noise.
3. A mixture is fitted to all noisy tables. That is post-processing, and `check` computes it again.

Every noise, power and number of choices is fixed in the plan, so that the prices compose as mu^2 = sum mu_i^2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.draws import Draws
from sfumato.engines.protocol import Array, TotalsEngine
from sfumato.errors import ArgumentError, FormatError
from sfumato.mixtures.fitting import FOLDS, fitted
from sfumato.mixtures.made_up import expected_error
from sfumato.mixtures.noisy_pairs import NoisyTable, assembled
from sfumato.models.families.family import Family
from sfumato.models.networks.learned import LearnedNetwork
from sfumato.privacy.gaussian_tail import log_upper_tail
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import choosing_pairs, protocol
from sfumato.procedures import learnt_parts as parts
from sfumato.procedures.learnt_parts import Learnt, Part
from sfumato.procedures.noisy_totals import spacing
from sfumato.procedures.outlook import Cost, Expected
from sfumato.procedures.protocol import Task
from sfumato.randomness import Randomness
from sfumato.samplers import support
from sfumato.samplers.finite import LOG_ERROR
from sfumato.samplers.langevin import Report, silent
from sfumato.samplers.normal import rounded_normals
from sfumato.theorems import tables as claims

NAME = "noisy-tables"
NEEDS = ("totals",)
KEEPS: tuple[str, ...] = ()
# Shares of mu^2: for the trees behind private bins; where pairs are chosen, for single columns and for the choices. The tables of
# pairs get the rest, since they decide the error.
_BINS, _SINGLES, _CHOICES = 0.1, 0.1, 0.1
# The number of the rules by which edges, mixture and shares follow from noisy tables; other rules get another number.
RULE = 1
# Prices of a choice beyond which a larger power changes nothing, and the least power.
_STEEPEST, _FLATTEST = 16.0, 1e-12
# A mixture that is computed again may have pairs of levels whose shares differ by this: matrix products are rounded otherwise on
# other machines, and a descent of some hundred steps enlarges the difference. Shares that were moved by 1e-13 gave 1e-11.
_CLOSE = 1e-6


@dataclass(frozen=True)
class Parameters(protocol.Parameters):
    """1/mu of the tables of pairs; of the trees behind private bins; of single columns; and the power of a choice."""

    noise: float
    bins_noise: float | None = None
    single_noise: float | None = None
    choice: float | None = None
    rule: int = RULE
    positive: ClassVar[tuple[str, ...]] = ("noise", "bins_noise", "single_noise", "choice", "rule")


def refuses(model: Family) -> str | None:
    """Serve tables whose dependences are learnt."""
    return None if isinstance(model, LearnedNetwork) else "it releases tables of sf.networks.learn(...)"


def at_noise(model: LearnedNetwork, noise: float) -> Parameters:
    """The numbers of a release that costs about mu = 1/noise."""
    bins = _BINS if model.quantiles else 0.0
    rest = 1.0 - bins
    if not model.chosen:
        return Parameters(noise / math.sqrt(rest), noise / math.sqrt(bins) if bins else None)
    singles, choices = rest * _SINGLES, rest * _CHOICES
    return Parameters(
        noise / math.sqrt(rest - singles - choices),
        noise / math.sqrt(bins) if bins else None,
        noise / math.sqrt(singles),
        _power(math.sqrt(choices / model.chosen) / noise),
    )


def _power(mu: float) -> float:
    """The power of a choice that costs at most mu: 2 power = log(Phi(mu/2)/Phi(-mu/2)), and a little less for its errors."""
    above = log_upper_tail(min(mu, _STEEPEST) / 2)
    odds = math.log1p(-math.exp(above)) - above
    return max(0.5 * odds * (1 - 1e-9) - 2 * LOG_ERROR, _FLATTEST)


def refuses_averages(model: LearnedNetwork, most: int) -> str | None:
    """Serve averages of a person's rows: tables move by at most as much as by one row, and misfits in L1 too."""
    return None


def price(model: LearnedNetwork, n: int, draws: int, parameters: Parameters) -> Guarantee:
    """The price of all counts and choices together."""
    if draws != 1:
        raise ArgumentError(
            "a learnt table is released once and has no draws: leave draws out. Rows are drawn from it freely."
        )
    needed = {"bins_noise": bool(model.quantiles), "single_noise": bool(model.chosen), "choice": bool(model.chosen)}
    if any((getattr(parameters, name) is not None) != there for name, there in needed.items()):
        raise FormatError("the numbers of a learnt table contradict its model: the record was edited.")
    if parameters.rule != RULE:
        raise FormatError(
            f"this plan follows rule {parameters.rule} of learnt tables; this Sfumato has rule {RULE}. Update it."
        )
    # Which pairs are chosen does not change the noise of a table, nor its price.
    counted = parts.parts_of(model, parameters, model.open_pairs[: model.chosen])
    priced = [
        claims.noisy_tables(
            noises=[part.deviation for part in counted],
            squared_moves=[part.squared_move for part in counted],
            one_cell=True,  # what `LearnedNetwork.tally` does
        )
    ]
    if model.chosen:
        priced.append(
            claims.chosen_tables(
                power=float(parameters.choice or 0.0),
                choices=model.chosen,
                log_error=LOG_ERROR,
                one_cell=True,
                public_reference=True,  # what `carry_out` does: references are fitted to noisy tables
            )
        )
    return claims.learnt_table(priced, fixed_beforehand=True)


def expected(model: LearnedNetwork, n: int, parameters: Parameters) -> Expected:
    """The mean error of pairs of columns, from a made-up table of the same columns."""
    singles = parts.single_parts(model, parameters.single_noise or 0.0)
    counted = parts.pair_parts(model, parameters.noise, model.open_pairs[: model.chosen])
    noises = tuple((part.columns, part.deviation) for part in (*singles, *counted))
    sizes = tuple(model.sizes.values())
    return Expected("pair-error", expected_error(sizes, n, noises, model.chosen), None, model.quantity)


def cost(model: LearnedNetwork, n: int, draws: int, parameters: Parameters) -> Cost:
    """One pass for all tables, and one before it for private bins."""
    return Cost(2 if model.quantiles else 1)


# --- what is done with the rows --------------------------------------------------------------------------------------


def carry_out(
    task: Task[LearnedNetwork, Parameters], engine: TotalsEngine, randomness: Randomness, report: Report = silent
) -> Draws:
    """Count, choose, add noise; then fit."""
    model = task.model
    rounds = model.rounds if model.chosen else 0

    def counted_from(before: int) -> Report:
        """Rounds of choices and fits are counted on as steps of one run."""
        return lambda done, _: report(before + done, rounds + FOLDS)

    totals, counted, chosen = noisy_counts(task, engine, randomness, counted_from(0))
    pairs = assembled(tuple(model.sizes.values()), task.n, counted.tables, counted.model.empty_cells)
    mixture = fitted(pairs, report=counted_from(rounds))
    published = {parts.WEIGHTS: mixture.weights, parts.LAWS: mixture.laws}
    if model.chosen:
        published[parts.CHOSEN] = np.array(chosen, dtype=np.float64)
    return Draws(pairs.start()[None, None, :], model.labels, None, totals, published)


def noisy_counts(
    task: Task[LearnedNetwork, Parameters], engine: TotalsEngine, randomness: Randomness, report: Report = silent
) -> tuple[Array, _Counting, list[int]]:
    """All that is seen of the rows: noisy counts in the order of the totals, the tables among them, and the chosen pairs."""
    model, n, numbers = task.model, task.n, task.parameters
    trees = _noisy_trees(model, engine, numbers, randomness)
    open_model = model
    if model.quantiles:
        by_name = {name: each for (name, _), each in zip(model.quantiles, trees, strict=True)}
        open_model = model.resolved(parts.edges_from(model, by_name, n))
    exact = exact_tables(open_model, engine)
    counted = _Counting(open_model, numbers, exact, randomness)
    counted.count([*parts.single_parts(model, numbers.single_noise or 0.0), *_fixed(open_model, numbers)])
    chosen = choosing_pairs.choose(open_model, n, counted, float(numbers.choice or 0.0), randomness, report)
    return np.concatenate([*trees, *(table.counts.ravel() for table in counted.tables)]), counted, chosen


def _noisy(counts: Sequence[int | Fraction], deviation: float, randomness: Randomness) -> Array:
    """Exact counts with exact rounded normal noise of one deviation."""
    noisy = rounded_normals(randomness, list(map(Fraction, counts)), Fraction(deviation), spacing(deviation))
    return np.array(noisy, dtype=np.float64)


def _noisy_trees(
    model: LearnedNetwork, engine: TotalsEngine, numbers: Parameters, randomness: Randomness
) -> list[Array]:
    if not model.quantiles:
        return []
    exact, trees, first = engine.totals(model.tally_cells), list[Array](), 0
    for part in parts.tree_parts(model, float(numbers.bins_noise or 0.0)):
        trees.append(_noisy(exact[first : first + part.size], part.deviation, randomness))
        first += part.size
    return trees


def exact_tables(model: LearnedNetwork, engine: TotalsEngine) -> dict[tuple[int, ...], Sequence[int | Fraction]]:
    """The exact counts of every table that may be counted: private until noise is added. Averages of persons are fractions."""
    totals = engine.totals(model.tally)
    return {table.columns: totals[table.first : table.last] for table in model.counted}


def _fixed(model: LearnedNetwork, numbers: Parameters) -> list[Part]:
    return parts.pair_parts(model, numbers.noise, ())


@dataclass
class _Counting:
    """The noisy tables so far, and the exact counts from which more are made."""

    model: LearnedNetwork
    numbers: Parameters
    exact: Mapping[tuple[int, ...], Sequence[int | Fraction]]
    randomness: Randomness
    tables: tuple[NoisyTable, ...] = ()

    def count(self, wanted: Sequence[Part]) -> None:
        """Release these tables."""
        made = [
            NoisyTable(
                part.columns,
                _noisy(self.exact[part.columns], part.deviation, self.randomness).reshape(part.shape),
                part.deviation,
            )
            for part in wanted
        ]
        self.tables = (*self.tables, *made)

    def part_of(self, pair: tuple[int, int]) -> Part:
        """The table of an open pair, should it be chosen."""
        return parts.pair_parts(self.model, self.numbers.noise, (pair,))[-1]


# --- verification ----------------------------------------------------------------------------------------------------


def check(task: Task[LearnedNetwork, Parameters], draws: Draws) -> bool:
    """Whether the tables lie on their grids, the chosen pairs are possible, and shares and mixture follow from the tables."""
    model, published = task.model, draws.published
    names = {parts.WEIGHTS, parts.LAWS, *([parts.CHOSEN] if model.chosen else [])}
    if draws.transcript is not None or draws.totals is None or set(published) != names:
        return False
    if not all(np.isfinite(each).all() for each in (draws.totals, *published.values())):
        return False
    if not _possible_choice(model, published) or not _on_grids(task, draws.totals, published):
        return False
    learnt = parts.read_learnt(model, task.n, task.parameters, draws.totals, published)
    return _same_fit(learnt, draws.values[0, 0])


def _possible_choice(model: LearnedNetwork, published: Mapping[str, Array]) -> bool:
    places = published.get(parts.CHOSEN, np.empty(0))
    inside = ((places >= 0) & (places < len(model.open_pairs)) & (places == np.floor(places))).all()
    return bool(inside) and len(places) == model.chosen == len(set(places.tolist()))


def _on_grids(task: Task[LearnedNetwork, Parameters], totals: Array, published: Mapping[str, Array]) -> bool:
    first = 0
    for part in parts.parts_of(task.model, task.parameters, parts.chosen_pairs(task.model, published)):
        cells = totals[first : first + part.size]
        if len(cells) != part.size or not support.multiples(cells, float(spacing(part.deviation))):
            return False
        first += part.size
    return first == len(totals)


def _same_fit(learnt: Learnt, shares: Array) -> bool:
    """Whether the shares and the mixture are what the tables lead to."""
    pairs, own = learnt.pairs, learnt.mixture
    if not np.allclose(shares, pairs.start(), 1e-9, 1e-12) or len(own.weights) != len(own.laws):
        return False
    again = fitted(pairs)
    if own.laws.shape != again.laws.shape or own.laws.min() < 0 or own.weights.min() < 0:
        return False
    same = np.abs(own.pairs() - again.pairs()).max() <= _CLOSE
    return bool(same and np.abs(own.singles() - again.singles()).max() <= _CLOSE)


def published_as(draws: Draws, task: Task[LearnedNetwork, Parameters]) -> Learnt:
    """A release, read back."""
    if draws.totals is None:
        raise FormatError("a learnt table is released with its noisy tables; this release has none.")
    return parts.read_learnt(task.model, task.n, task.parameters, draws.totals, draws.published)
