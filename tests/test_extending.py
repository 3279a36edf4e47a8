"""A loss, a family, a procedure, a column type and an engine from outside the package: each is one object and one or two
lines in a table, and goes through plan, publish, verify and interval, or is refused with a sentence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import sfumato as sf
from sfumato import procedures
from sfumato.dataset import rows_of
from sfumato.draws import Draws
from sfumato.engines.opening import ENGINES, Offer, open_engine
from sfumato.errors import ArgumentError, MechanismRefused, SfumatoError
from sfumato.mechanisms import exponential
from sfumato.models import families
from sfumato.models.constants import Constants
from sfumato.models.families.family import Claim, Family
from sfumato.models.laws import Finite
from sfumato.models.losses import LOSSES
from sfumato.procedures import law
from sfumato.procedures.outlook import QUANTITIES, Cost, Expected
from sfumato.procedures.protocol import Parameters, Task
from sfumato.samplers.finite import LOG_ERROR, draw_finite
from sfumato.schema.columns import COLUMNS
from sfumato.schema.encoding import Encoded
from sfumato.theorems.exponential import exponential_mechanism

N = 400
RATES = (0.2, 0.35, 0.5, 0.65, 0.8)
BITS = sf.Schema({"x": sf.Boolean(missing=False)}, name="bits")


def bits() -> sf.Dataset:
    return sf.Dataset.from_table({"x": np.arange(N) % 3 == 0}, schema=BITS)


def walked(plan: sf.Plan, data: sf.Dataset) -> sf.Release:
    """Publish, write, read back and verify."""
    release = sf.publish(plan, data)
    return sf.Release.from_bytes(release.to_bytes()).verify()


# --- a family, with a theorem of its own -----------------------------------------------------------------------------


def price_of_rates(*, power, strength, draws, log_error, largest_odds):
    """An exponential mechanism whose loss, minus a log likelihood, differs by at most the largest log odds."""
    assert strength == 1
    return exponential_mechanism(power=power, sensitivity=largest_odds + 2 * log_error / power, draws=draws)


@dataclass(frozen=True, repr=False)
class ListedRate(Family):
    """A rate among five public ones, uniform prior; each record is one bit."""

    name = "ListedRate"
    quantity = "rate"
    bounded = True
    strengthens = False

    def columns(self, schema):
        return (families._columns.only_column(schema, sf.Boolean, self.name),)

    def tally(self, block, columns):
        return np.array([np.count_nonzero(block[columns[0]])], dtype=np.int64)

    @property
    def sensitivity(self):
        return 1.0

    def feasible(self, totals, n):
        return np.clip(totals, 0.0, n)

    def claim(self, n):
        return Claim(price_of_rates, {"largest_odds": math.log(0.8 / 0.2)})

    def natural(self, totals, n, power=1.0, strength=1.0):
        ones = np.asarray(totals, dtype=float)[..., :1]
        rates = np.array(RATES)
        return power * (ones * np.log(rates) + (n - ones) * np.log(1 - rates))

    def law(self, totals, n, power=1.0, strength=1.0):
        logs = self.natural(np.array([float(totals[0])]), n, power)
        return Finite(tuple(round(value * 2**48) for value in logs), tuple((rate,) for rate in RATES))

    def simulate(self, rng, size, n):
        truth = rng.choice(RATES, size)
        return truth[:, None], rng.binomial(n, truth).astype(float)[:, None]

    def sketch(self, rng, natural):
        return np.array(RATES)[(natural + rng.gumbel(size=natural.shape)).argmax(axis=-1)][..., None]

    def divergence(self, first, second):
        p, q = (np.exp(x - x.max(axis=-1, keepdims=True)) for x in (first, second))
        p, q = (x / x.sum(axis=-1, keepdims=True) for x in (p, q))
        return (p * np.log(np.maximum(p, 1e-300) / np.maximum(q, 1e-300))).sum(axis=-1)


def test_a_family_from_outside_is_planned_published_verified_and_refused_an_interval(monkeypatch):
    monkeypatch.setitem(families.TABLE, ListedRate.name, ListedRate)
    plan = sf.plan(ListedRate(), N, 1.0, 0.0, mechanism="exponential")
    assert plan.procedure == "law"
    assert sf.plan(ListedRate(), N, 1.0, 1e-6).mechanism in ("exponential", "noisy-statistics")
    assert plan.guarantee.curve.epsilon(delta=0.0) <= 1.0 + 1e-12
    release = walked(plan, bits())
    assert release.mean() in RATES
    with pytest.raises(ArgumentError, match="no noise-aware interval is worked out for ListedRate"):
        release.interval()
    with pytest.raises(MechanismRefused, match="cannot be strengthened"):
        sf.plan(ListedRate(), N, 1.0, 1e-6, mechanism="concentrated")


# --- a procedure -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Numbers(Parameters):
    """The power, and how many of the listed rates may be drawn."""

    power: float
    points: int


class Unlisted(ListedRate):
    """The same family where no law is drawn: only a procedure of its own serves it."""

    name = "Unlisted"
    priced = False


def posterior(model, n: int, numbers: Numbers, totals) -> Finite:
    whole = model.law(totals, n, numbers.power)
    return Finite(whole.logs[: numbers.points], whole.points[: numbers.points])


def carry_out(task: Task, engine, randomness, report=None) -> Draws:
    totals = [Fraction(engine.totals(task.model.tally)[0])]
    drawn = draw_finite(posterior(task.model, task.n, task.parameters, totals), task.draws, randomness)
    return Draws(drawn.reshape(1, task.draws), task.model.labels)


SHORT_LIST = SimpleNamespace(
    NAME="short-list",
    NEEDS=("totals",),
    KEEPS=(),
    Parameters=Numbers,
    refuses=lambda model: None if isinstance(model, Unlisted) else "it draws from the short list of Unlisted alone",
    at=lambda model, n, draws, power, strength, steps=None: Numbers(power, 3),
    price=lambda model, n, draws, numbers: price_of_rates(
        power=numbers.power, strength=1, draws=draws, log_error=LOG_ERROR, largest_odds=math.log(4)
    ),
    expected=lambda model, n, numbers: Expected("listed", float(numbers.points), None, model.quantity),
    cost=lambda model, n, draws, numbers: Cost(1),
    carry_out=carry_out,
    check=lambda task, draws: draws.bare and set(draws.flat().ravel()) <= set(RATES[: task.parameters.points]),
)


@pytest.fixture
def short_list(monkeypatch):
    """The two lines of a procedure (its name, and the mechanism that chooses it), those of a family and of a quantity."""
    monkeypatch.setitem(procedures.TABLE, SHORT_LIST.NAME, SHORT_LIST)
    monkeypatch.setattr(exponential, "PROCEDURES", (*exponential.PROCEDURES, SHORT_LIST.NAME))
    monkeypatch.setitem(families.TABLE, Unlisted.name, Unlisted)
    monkeypatch.setitem(QUANTITIES, "listed", ("number of candidates for the {}", "", "stated"))


def test_a_procedure_from_outside_is_planned_published_verified_and_refused_an_interval(short_list):
    plan = sf.plan(Unlisted(), N, 1.0, 1e-6, mechanism="exponential", draws=4)
    assert plan.procedure == "short-list"
    assert "number of candidates for the rate 3" in str(plan)
    release = walked(plan, bits())
    assert set(release.draws.pooled()) <= set(RATES[:3])
    with pytest.raises(ArgumentError, match="no noise-aware interval"):
        release.interval()
    with pytest.raises(MechanismRefused, match="short list of Unlisted alone"):
        sf.plan(sf.families.BoundedMean(0, 1), N, 1.0, 1e-6, mechanism="exponential", goal="draws")


def test_what_a_procedure_from_outside_could_not_have_drawn_is_refused(short_list):
    """The planted fault: a draw that is not on the short list."""
    release = sf.publish(sf.plan(Unlisted(), N, 1.0, 1e-6, mechanism="exponential"), bits())
    forged = sf.Release(
        Draws(np.full((1, 1), 0.8), release.draws.labels), *(
            getattr(release, name) for name in ("kind", "plan", "plan_digest", "guarantee", "schema", "receipt")
        )
    )  # fmt: skip
    with pytest.raises(SfumatoError, match="public grid"):
        forged.verify()


# --- a loss ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SoftAbsolute(sf.losses.ScalarLinkLoss):
    """phi = sqrt(1 + (u - y)^2), labels in [-1, 1]: |phi'| < 1, phi'' <= 1."""

    radius: float
    name = "soft-absolute"
    label_domain = sf.losses.LabelInterval(-1.0, 1.0)

    def value(self, u, y):
        return np.hypot(1.0, np.subtract(u, y))

    def derivative(self, u, y):
        gap = np.subtract(u, y)
        return gap / np.hypot(1.0, gap)

    def constants(self, dimension=None, domain_radius=math.inf):
        r = self.radius
        return Constants(r, 2 * r, r * r, 0.0, 2 * r * domain_radius, convex=True, smooth=True)


LINE = sf.Gibbs(SoftAbsolute(1.0), sf.priors.Gaussian(1.0), 2)


def line() -> sf.Dataset:
    rng = np.random.default_rng(1)
    rows = rng.uniform(-0.7, 0.7, (3_000, 2))
    schema = sf.Schema.vector(2, data_norm=1.0, target=sf.Number(-1, 1))
    return sf.Dataset.from_arrays(rows, np.tanh(rows @ [0.8, -0.3]), schema=schema)


def test_a_loss_from_outside_is_planned_published_verified_and_has_intervals(monkeypatch):
    monkeypatch.setitem(LOSSES, SoftAbsolute.name, SoftAbsolute)
    plan = sf.plan(LINE, 3_000, 4.0, 1e-6, goal="estimate", keep=("transcript",))
    low, high = walked(plan, line()).interval()
    assert (low < high).all()
    assert walked(sf.plan(LINE, 3_000, 4.0, 1e-6, steps=3), line()).draws.shape == (1, 1, 2)
    with pytest.raises(ArgumentError, match="loss must be"):
        sf.Gibbs(object(), sf.priors.Gaussian(1.0), 2)


# --- a column type ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Percent:
    """A share written as "40 %", stored as a number in [0, 1]; any other cell counts as 0."""

    missing: float = 0.0
    kind = "percent"
    needed, facts = (), ("missing",)
    levels = None
    largest_square = 1.0

    def to_json(self):
        return {"type": self.kind, "missing": self.missing}

    def encoded(self, cells):
        shares = np.array([float(c[:-1]) / 100 if isinstance(c, str) and c.endswith("%") else math.nan for c in cells])
        bad = ~((shares >= 0) & (shares <= 1))
        return Encoded(np.where(bad, self.missing, shares), bad, np.zeros(len(bad), dtype=bool))

    def features(self, name):
        return [f"{name} in percent"]

    def write_features(self, values, out):
        out[:, 0] = values


def test_a_column_type_from_outside_is_declared_read_encoded_and_published(monkeypatch):
    monkeypatch.setitem(COLUMNS, Percent.kind, Percent)
    schema = sf.Schema({"discount": Percent(), "bought": sf.Boolean(missing=False)}, target="bought", name="shop")
    assert sf.Schema.from_json(schema.to_json()) == schema
    table = {"discount": ["40 %", "x", "120 %", "0 %"] * 100, "bought": [True, False, True, False] * 100}
    data = sf.Dataset.from_table(table, schema=schema)
    (block,) = rows_of(data).blocks()
    assert block["discount"][:4].tolist() == [0.4, 0.0, 0.0, 0.0]
    model = sf.Gibbs(sf.losses.Logistic(schema.design().radius), sf.priors.Gaussian(1.0), 1)
    assert walked(sf.plan(model, N, 4.0, 1e-6), data).draws.labels == ("discount in percent",)
    with pytest.raises(ArgumentError, match="Number"):
        sf.families.BoundedMean(0, 1).columns(schema)


# --- an engine -------------------------------------------------------------------------------------------------------


class SlowTotals:
    """Totals one record at a time."""

    def __init__(self, dataset, model) -> None:
        self.rows, self.columns, self.n, self.additions = (
            rows_of(dataset),
            model.columns(dataset.schema),
            dataset.n,
            0.0,
        )

    def totals(self, tally):
        names = self.columns
        each = [
            tally({name: block[name][k : k + 1] for name in names}, names)
            for block in self.rows.blocks()
            for k in range(block.rows)
        ]
        return np.sum(each, axis=0).tolist()


def test_an_engine_from_outside_serves_a_release_with_intervals(monkeypatch):
    opened = []

    def slow(dataset, model):
        opened.append(SlowTotals(dataset, model))
        return opened[-1]

    offer = Offer("slow", frozenset({"totals"}), slow, lambda kind, model: kind == "table")
    monkeypatch.setattr("sfumato.engines.opening.ENGINES", [offer, *ENGINES])
    model = sf.families.BetaBernoulli(1, 1)
    release = walked(sf.plan(model, N, 2.0, 1e-6, mechanism="diffused"), bits())
    assert len(opened) == 1
    low, high = release.interval(level=0.9999)  # missed by one release in ten thousand
    assert low < 1 / 3 < high
    with pytest.raises(ArgumentError, match="no engine named 'slow' answers gradients"):
        open_engine(line(), LINE, ("gradients",), "slow")


def test_a_law_is_drawn_by_the_procedure_of_the_house():
    """The toy family above is served by the same procedure as every other."""
    assert law.refuses(ListedRate()) is None
    assert law.refuses(Unlisted()) is not None
