"""An audit from one release of an expensive fit: as many records as possible are chosen by coins, which the release betrays.

The records at risk lie along different coordinates, so that each can be guessed apart from the others: rows at plus or minus the
largest norm along one feature, or one of two levels of a category that no other record at risk has. `guesses` states what right
guesses prove; here data are made up, published once, and scored.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.auditing.claims import Claim
from sfumato.auditing.error_rates import Array
from sfumato.auditing.guesses import Guesses, best_number, guessed
from sfumato.auditing.person_pairs import with_persons
from sfumato.auditing.records import MATRIX, dataset_of
from sfumato.auditing.schemas import public_schema
from sfumato.dataset import Dataset
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.mechanisms.plan import Plan
from sfumato.models.families import DirichletCategorical
from sfumato.models.families._vectors import Vectors
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.labels import LabelInterval
from sfumato.models.losses.protocol import LABELLED_ROW, ScalarLinkLoss
from sfumato.privacy.guarantee import Guarantee
from sfumato.publishing import publish
from sfumato.randomness import Randomness
from sfumato.schema import Category, Number, Schema

Coins = NDArray[np.int64]
_NAME = "audit"


@dataclass(frozen=True)
class Canaries:
    """Records that are chosen by coins: how many, the data set that the coins give, and a score of each coin from a release.

    A score is positive where the coin is guessed to be +1; its size says how certain that is.
    """

    records: int
    dataset: Callable[[Coins], Dataset]
    scores: Callable[[Draws], Array]


@dataclass(frozen=True)
class OneRun:
    """The guesses from one release, the claim, and the confidence of the bounds."""

    guesses: Guesses
    guarantee: Guarantee
    level: float

    @property
    def mu(self) -> float:
        """Lower confidence bound on mu."""
        return self.guesses.mu(self.level)

    def epsilon(self, delta: float) -> float:
        """Lower confidence bound on epsilon at this delta."""
        return self.guesses.epsilon(delta, self.level)

    @property
    def most(self) -> float:
        """The largest mu that this number of records and guesses can prove: the bound if every guess were right."""
        return Guesses(self.guesses.records, self.guesses.guesses, self.guesses.guesses).mu(self.level)

    @property
    def broken(self) -> bool:
        """Whether the guesses contradict the plan's guarantee; false at a true one with probability `level` or more."""
        return self.guesses.contradict(Claim.of(self.guarantee), self.level)


def one_run(
    plan: Plan, *, guesses: int | None = None, level: float = 0.95, seed: int = 0, randomness: Randomness | None = None
) -> OneRun:
    """Publish the plan once on made-up records chosen by coins, guess the coins, and state what the guesses prove.

    `guesses` is fixed before the run: by default the number that would prove most if the claim were reached. `seed` gives the
    coins; `randomness` is that of the release, private unless a seeded one is given. Plans of regressions with one score a row,
    of vector means and of a Dirichlet with four levels or more are served. Persons have one row each.
    """
    made = canaries(plan)
    number = best_number(made.records, _gaussian_size(plan.guarantee), level) if guesses is None else guesses
    coins = 2 * np.random.default_rng(seed).integers(0, 2, made.records) - 1
    release = publish(plan, made.dataset(coins), randomness=randomness)
    return OneRun(guessed(made.scores(release.draws), coins, number), plan.guarantee, level)


def _gaussian_size(guarantee: Guarantee) -> float:
    """The mu of the Gaussian claim with the same delta at epsilon 0, at most 8."""
    from scipy.special import ndtri

    return float(min(8.0, 2 * ndtri(0.5 + 0.5 * guarantee.delta(0.0))))


def canaries(plan: Plan) -> Canaries:
    """The records at risk for a plan's model."""
    model: Any = plan.model
    if isinstance(model, DirichletCategorical) and len(model.levels) >= 4:
        return _levels(model, plan)
    if isinstance(model, Vectors):
        return _vectors(model, plan)
    if isinstance(model, Gibbs) and model.dimension is not None and model.terms is None:
        loss = model.loss
        if isinstance(loss, ScalarLinkLoss) and loss.record == LABELLED_ROW:
            return _regression(model, loss, plan, model.dimension)
    raise ArgumentError(
        "an audit from one run makes records for regressions with one score a row and a stated dimension, for vector means and for "
        f"DirichletCategorical with four levels or more; the plan is for {model!r}."
    )


def _regression(model: Gibbs, loss: ScalarLinkLoss, plan: Plan, dimension: int) -> Canaries:
    """Rows along features, with the label whose slope at score 0 is largest; with an intercept labels alternate.

    A record's gradient is its slope times its row: noisy gradients have it with the sign of the slope, coefficients with the
    opposite one. If all labels were equal, an intercept would soon fit them and all slopes would vanish. A score below a label
    has a negative slope, one above it a positive one.
    """
    domain, n = loss.label_domain, plan.n
    low, high = (
        (domain.lower, domain.upper) if isinstance(domain, LabelInterval) else (domain.values[0], domain.values[-1])
    )
    if not math.isfinite(high - low):
        raise ArgumentError("an audit from one run needs a loss with bounded labels, such as Huber(..., lower, upper).")
    steepest = max((low, high), key=lambda y: abs(float(loss.derivative(0.0, y))))
    labels = np.where(np.arange(n) % 2 == 0, low, high) if model.intercept else np.full(n, steepest)
    features = dimension - (model.intercept > 0)
    # Downwards, so that row and intercept together stay within the radius.
    norm = math.sqrt(max(0.0, loss.radius**2 - model.intercept**2)) * (1 - 1e-12)
    interval = isinstance(domain, LabelInterval)
    target = Number(low, high) if interval else Category([int(y) for y in (low, high)], missing=int(low))
    schema = with_persons(plan, Schema.vector(features, data_norm=norm, name=_NAME, target=target))
    slopes = np.where(labels == high, -1.0, 1.0)[: min(n, features)]

    def along(draws: Draws) -> Array:
        gradients = draws.transcript
        along_axes = -draws.flat().mean(axis=0) if gradients is None else gradients.mean(axis=(0, 1))
        return np.asarray(slopes * along_axes[: len(slopes)])

    given = labels if interval else labels.astype(np.int64)
    return Canaries(
        len(slopes),
        lambda coins: dataset_of(schema, {MATRIX: _rows(n, features, norm, coins), "target": given}),
        along,
    )


def _vectors(model: Vectors, plan: Plan) -> Canaries:
    """Rows along coordinates, and their mean."""
    size, norm, n = model.size, model.radius * (1 - 1e-12), plan.n
    schema = with_persons(plan, Schema.vector(size, data_norm=model.radius, name=_NAME))
    return Canaries(
        min(n, size),
        lambda coins: dataset_of(schema, {MATRIX: _rows(n, size, norm, coins)}),
        lambda draws: np.asarray(draws.flat().mean(axis=0)[: min(n, size)]),
    )


def _rows(n: int, features: int, norm: float, coins: Coins) -> Array:
    """Row i is plus or minus `norm` along feature i; rows that are not at risk are 0."""
    rows = np.zeros((n, features))
    rows[np.arange(len(coins)), np.arange(len(coins))] = norm * coins
    return rows


def _levels(model: DirichletCategorical, plan: Plan) -> Canaries:
    """Record i has level 2 i or 2 i + 1; the others are spread over the levels in pairs, so that they favour neither."""
    n = plan.n
    count = min(n, len(model.levels) // 2)
    schema = with_persons(plan, public_schema(model, n))
    columns = model.columns(schema)

    def dataset(coins: Coins) -> Dataset:
        places = np.concatenate([2 * np.arange(count) + (coins < 0), np.arange(n - count) % (2 * count)])
        records = [model.record_in(int(place), columns) for place in places]
        return dataset_of(schema, {name: [record[name] for record in records] for name in columns})

    def scores(draws: Draws) -> Array:
        logs = np.log(draws.flat()).mean(axis=0)[: 2 * count]
        return np.asarray(logs[::2] - logs[1::2])

    return Canaries(count, dataset, scores)
