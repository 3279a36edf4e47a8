"""The families of Lemmas 19 to 24 by quadrature and enumeration; every misprint of the paper fails its own check."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from finite_oracle import total_variation
from scipy import special

from sfumato.errors import AssumptionError
from sfumato.theorems import metric
from sfumato.theorems import metric_examples as examples

# --- Lemmas 19, 20 and 22: a trimmed exponential prior, by quadrature on a fine grid of parameters --------------------


class Trimmed:
    """One record under a trimmed prior: theta on a midpoint grid, records on a grid that holds the extremes."""

    def __init__(self, log_density, rate, lower, upper, records, cells=4000):
        edges = np.linspace(lower, upper, cells + 1)
        self.theta = (edges[1:] + edges[:-1]) / 2
        self.prior = np.exp(-rate * (self.theta - lower))
        self.prior /= self.prior.sum()
        self.records = records
        self.log_p = np.array([log_density(self.theta, x) for x in records])  # (record, theta)

    @property
    def ratio(self):
        """C of one record: the grid misses the end points by half a cell, so it can only be too small."""
        p = np.exp(self.log_p)
        return float(np.max(p / (p @ self.prior)[:, None]))

    def tail(self, lipschitz, level):
        """Prior mass of l > level."""
        return float(self.prior[lipschitz(self.theta) > level].sum())

    def posteriors(self):
        weights = np.exp(self.log_p - self.log_p.max(axis=1, keepdims=True)) * self.prior
        return weights / weights.sum(axis=1, keepdims=True)


def exponential(theta, x):
    return np.log(theta) - theta * x


def laplace(mu):
    return lambda theta, x: np.log(theta / 2) - theta * abs(x - mu)


def normal(mu):
    return lambda theta, x: 0.5 * np.log(theta / (2 * math.pi)) - theta * (x - mu) ** 2 / 2


CASES = []
for rate, lower, upper, bound in [
    (1.0, 0.5, 2.0, 1.0),
    (3.0, 0.1, 4.0, 2.0),
    (0.2, 1.0, 9.0, 0.3),
    (8.0, 0.05, 1.0, 1.0),
]:
    ends = {"rate": rate, "lower": lower, "upper": upper, "bound": bound}
    CASES.append((examples.trimmed_exponential(**ends), exponential, ends, np.linspace(0, bound, 41), lambda t: t))
    for mu in (0.0, -1.5):
        grid = np.linspace(-bound, bound, 41)
        half = max(1.0, abs(mu)) / 2
        CASES.append((examples.trimmed_laplace(**ends, mean=mu), laplace(mu), ends, grid, lambda t: t))
        CASES.append((examples.trimmed_precision(**ends, mean=mu), normal(mu), ends, grid, lambda t, a=half: a * t))

DISTANCES = {
    "|x - y|": lambda x, y: abs(x - y),
    "|x^2 - y^2| + 2|x - y|": lambda x, y: abs(x * x - y * y) + 2 * abs(x - y),
}


@pytest.mark.parametrize("case", range(len(CASES)))
def test_trimmed_families_satisfy_assumption_2_and_the_theorem(case):
    constants, log_density, ends, records, lipschitz = CASES[case]
    family = Trimmed(log_density, ends["rate"], ends["lower"], ends["upper"], records)
    assert family.ratio <= constants.ratio
    for level in np.linspace(constants.offset, constants.offset + 6 / constants.concentration, 50):
        claim = math.exp(-constants.concentration * (level - constants.offset))
        assert family.tail(lipschitz, level) <= claim * (1 + 1e-9) + family.prior.max()  # one cell of the grid
    rho = DISTANCES[constants.distance]
    posterior = family.posteriors()
    diameter = 0.0
    for a, b in itertools.combinations(range(0, 41, 5), 2):
        x, y = records[a], records[b]
        diameter = max(diameter, rho(x, y))
        gap = np.abs(family.log_p[a] - family.log_p[b])
        assert (gap <= lipschitz(family.theta) * rho(x, y) * (1 + 1e-12) + 1e-12).all()
        near = metric.stochastic_draws_within(**constants.assumption, rho=rho(x, y))
        assert total_variation(posterior[a], posterior[b]) <= near.delta(0.0)
    assert diameter <= constants.diameter


def test_the_rate_of_the_tail_cannot_be_doubled():
    family = Trimmed(exponential, 1.0, 0.5, 8.0, np.array([0.0, 1.0]))
    constants = examples.trimmed_exponential(rate=1.0, lower=0.5, upper=8.0, bound=1.0)
    level = constants.offset + 1.0
    assert family.tail(lambda t: t, level) > math.exp(-2 * constants.concentration * (level - constants.offset)) + 0.1


def test_several_records_multiply_the_logarithm_of_c():
    ends = {"rate": 1.0, "lower": 0.5, "upper": 2.0, "bound": 1.0}
    for make in (examples.trimmed_exponential, examples.trimmed_laplace, examples.trimmed_precision):
        one, many = make(**ends), make(**ends, n=7)
        assert many.log_ratio == pytest.approx(7 * one.log_ratio)
        assert many.assumption["concentration"] == one.assumption["concentration"]
        assert many.distance == f"sum over records of {one.distance}"
    # Two exponential records: C is the power 2 of the closed form or less, by quadrature.
    pairs = list(itertools.product(np.linspace(0, 1, 9), repeat=2))
    two = Trimmed(lambda t, x: 2 * np.log(t) - t * sum(x), 1.0, 0.5, 2.0, pairs)
    assert two.ratio <= examples.trimmed_exponential(**ends, n=2).ratio
    assert two.ratio > Trimmed(exponential, 1.0, 0.5, 2.0, np.linspace(0, 1, 9)).ratio  # and C does grow


@pytest.mark.planted
def test_lemma_20_as_printed_can_be_below_the_true_c():
    def printed(c1, c2, bound, mu):
        return max(
            c2 / (2 * min(1 / (2 * c2), math.exp((-bound - mu) / c1) / (2 * c1))),
            c2 / (2 * min(1 / (2 * c2), math.exp((mu - bound) / c1) / (2 * c1))),
        )

    family = Trimmed(laplace(0.0), 1.0, 0.1, 0.9, np.linspace(-0.1, 0.1, 41))
    assert printed(0.1, 0.9, 0.1, 0.0) < 1  # no ratio of a maximum to a mean is below 1
    assert family.ratio > printed(0.1, 0.9, 0.1, 0.0)
    assert family.ratio <= examples.trimmed_laplace(rate=1.0, lower=0.1, upper=0.9, bound=0.1).ratio


@pytest.mark.planted
def test_lemma_22_as_printed_is_below_the_true_c_twice_over():
    def minimum(c1, c2, squared):
        return min(math.sqrt(c2 / c1) * math.exp(c1 * squared / 2), math.exp(c2 * squared / 2))

    narrow = Trimmed(normal(0.0), 1.0, 1.0, 4.0, np.linspace(-0.01, 0.01, 41))
    assert narrow.ratio > minimum(1.0, 4.0, 0.01**2) + 0.2  # a minimum where a maximum belongs
    assert narrow.ratio <= examples.trimmed_precision(rate=1.0, lower=1.0, upper=4.0, bound=0.01).ratio
    wide = Trimmed(normal(0.0), 1.0, 0.1, 0.2, np.linspace(-10, 10, 41))
    assert (
        wide.ratio > max(math.sqrt(2) * math.exp(0.1 * 0.04 / 2), math.exp(0.2 * 0.04 / 2)) + 0.5
    )  # c2^2 for (B+|mu|)^2
    assert wide.ratio <= examples.trimmed_precision(rate=1.0, lower=0.1, upper=0.2, bound=10.0).ratio


def test_neighbours_of_lemma_22_are_a_square_root_of_three_apart_and_not_three():
    # On [0, 1] rho is at most 3, and the claim is under sqrt(rho).
    x = np.linspace(0, 1, 201)
    gaps = np.abs(x[:, None] ** 2 - x[None, :] ** 2) + 2 * np.abs(x[:, None] - x[None, :])
    assert gaps.max() == pytest.approx(3)
    constants = examples.trimmed_precision(rate=50.0, lower=1e-3, upper=0.01, bound=1.0)
    claim = metric.stochastic_draws(**constants.assumption, distance=constants.distance).curve
    assert claim.within(math.sqrt(3)).delta(0.0) == pytest.approx(math.sqrt(3) * claim.delta_value, rel=1e-9)


@pytest.mark.parametrize("bound", [0.2, 0.999, 1.0, 1.7, 6.0])
def test_diameter_on_an_interval(bound):
    x = np.linspace(-bound, bound, 801)
    gaps = np.abs(x[:, None] ** 2 - x[None, :] ** 2) + 2 * np.abs(x[:, None] - x[None, :])
    found = examples.trimmed_precision(rate=1.0, lower=0.5, upper=1.0, bound=bound).diameter
    assert gaps.max() <= found
    assert gaps.max() >= found * (1 - 1e-4)


# --- Lemma 21 -------------------------------------------------------------------------------------------------------


def beta_pieces(alpha, n):
    """For every count k: maximal likelihood over marginal likelihood of one sequence with k ones, in logarithms."""
    k = np.arange(n + 1)
    return special.xlogy(k, k / n) + special.xlogy(n - k, 1 - k / n) - special.betaln(alpha + k, alpha + n - k)


@pytest.mark.planted
@pytest.mark.parametrize("alpha", [1.0, 1.5, 3.39, 8.11, 40.0])
def test_beta_constants(alpha):
    for n in (1, 2, 7, 100, 1000):
        constants = examples.beta_bernoulli(alpha=alpha, n=n)
        true = float(np.max(beta_pieces(alpha, n)) + special.betaln(alpha, alpha))
        assert true <= constants.log_ratio <= true + 1e-8
    level = np.geomspace(1e-4, 30, 400)
    tail = 2 * special.betainc(alpha, alpha, special.expit(-level))
    level, log_tail = level[tail > 1e-290], np.log(tail[tail > 1e-290])
    assert (log_tail <= -constants.concentration * level * (1 - 1e-9)).all()
    assert not (log_tail <= -1.01 * constants.concentration * level).all()  # the rate at 0 is the constant


def test_lemma_21_as_printed_is_astronomically_loose():
    alpha, n = 2.0, 100
    printed = special.betaln(alpha, alpha) - special.betaln((n + 2 * alpha - 1) / 2, (n + 2 * alpha + 1) / 2)
    assert printed - examples.beta_bernoulli(alpha=alpha, n=n).log_ratio > 25 * math.log(10)
    # c > 1, which Theorem 7 asks for, begins at alpha = 3.39, and c >= 1.582 at 8.11.
    assert (
        examples.beta_bernoulli(alpha=3.38, n=1).concentration
        < 1
        < examples.beta_bernoulli(alpha=3.40, n=1).concentration
    )
    assert examples.beta_bernoulli(alpha=8.10, n=1).concentration < 1 / (1 - math.exp(-1))
    assert examples.beta_bernoulli(alpha=8.12, n=1).concentration > 1 / (1 - math.exp(-1))


@pytest.mark.parametrize(("alpha", "n"), [(2.0, 3), (20.0, 10), (200.0, 30)])
def test_beta_posteriors_obey_the_theorem(alpha, n):
    constants = examples.beta_bernoulli(alpha=alpha, n=n)
    near = metric.stochastic_draws_within(**constants.assumption, rho=1.0).delta(0.0)
    theta = np.linspace(0.5 / 40000, 1 - 0.5 / 40000, 40000)
    laws = [special.xlogy(alpha + k - 1, theta) + special.xlog1py(alpha + n - k - 1, -theta) for k in range(n + 1)]
    laws = [np.exp(law - law.max()) / np.exp(law - law.max()).sum() for law in laws]
    assert max(total_variation(p, q) for p, q in itertools.pairwise(laws)) <= near


def test_a_strong_beta_prior_is_not_vacuous():
    constants = examples.beta_bernoulli(alpha=2000.0, n=20)
    claim = metric.stochastic_draws_within(**constants.assumption, rho=constants.diameter)
    assert claim.delta(0.0) < 0.3
    printed = math.sqrt(constants.ratio / 2 * (1 + 2 * math.log(20) + 1 / constants.concentration))
    assert printed > 1  # Theorem 8(2) with the constants of Lemma 21 says nothing here


# --- Lemma 23 -------------------------------------------------------------------------------------------------------


def normal_distance(x, y):
    return np.linalg.norm(np.outer(x, x) - np.outer(y, y)) + 2 * np.linalg.norm(x - y)


@pytest.mark.parametrize(("radius", "dimension"), [(1.0, 1), (1.0, 2), (1.0, 3), (0.3, 2), (3.0, 2), (2.0, 1)])
def test_diameter_on_a_ball(radius, dimension):
    family = examples.normal_family(precision_norm=1.0, mean_norm=1.0, bound=radius, dimension=dimension)
    rng = np.random.default_rng(7)
    best = 0.0
    for _ in range(6000):
        x, y = rng.normal(size=(2, dimension))
        x *= radius / np.linalg.norm(x)
        y *= radius * rng.choice([1.0, rng.random()]) / np.linalg.norm(y)
        best = max(best, normal_distance(x, y))
    if dimension == 1:
        best = max(best, *(normal_distance(np.array([radius]), np.array([-y])) for y in np.linspace(0, radius, 101)))
    assert best <= family.diameter
    assert best >= family.diameter * (1 - 0.01)


@pytest.mark.planted
def test_unit_ball_is_4_71_and_not_3():
    family = examples.normal_family(precision_norm=1.0, mean_norm=1.0, bound=1.0, dimension=2)
    assert family.diameter == pytest.approx(4.7096, abs=1e-4)
    angle = np.linspace(0, math.pi, 100001)
    assert family.diameter == pytest.approx(np.max(math.sqrt(2) * np.sin(angle) + 4 * np.sin(angle / 2)), rel=1e-9)
    # A posterior that costs more than the printed 3 eps: mean -1 or +1 (the latter rare), precision 1, data +1 and -1.
    one = examples.normal_family(precision_norm=1.0, mean_norm=1.0, bound=1.0, dimension=1)
    epsilon = metric.posterior_draws(**one.assumption, distance=one.distance).curve.epsilon_value
    means, prior = np.array([-1.0, 1.0]), np.array([1 - 1e-4, 1e-4])
    posterior = [prior * np.exp(-((x - means) ** 2) / 2) for x in (1.0, -1.0)]
    log_ratio = np.log(posterior[0] / posterior[0].sum()) - np.log(posterior[1] / posterior[1].sum())
    assert log_ratio.max() > 3 * epsilon
    assert log_ratio.max() <= one.diameter * epsilon


def test_normal_family_is_lipschitz():
    rng = np.random.default_rng(8)
    tightest = 0.0
    for _ in range(2000):
        d = int(rng.integers(1, 4))
        root = rng.normal(size=(d, d))
        precision, mean = root @ root.T, rng.normal(size=d)
        family = examples.normal_family(
            precision_norm=float(np.linalg.norm(precision)),
            mean_norm=float(np.linalg.norm(mean)),
            bound=9.0,
            dimension=d,
        )
        x, y = rng.normal(size=(2, d))
        gap = abs((x - mean) @ precision @ (x - mean) - (y - mean) @ precision @ (y - mean)) / 2
        assert gap <= family.lipschitz * normal_distance(x, y) * (1 + 1e-9)
        tightest = max(tightest, gap / (family.lipschitz * normal_distance(x, y)))
    assert tightest > 0.9
    centred = examples.normal_family(precision_norm=2.0, mean_norm=0.0, bound=1.0, dimension=3, centred=True)
    assert centred.diameter == pytest.approx(math.sqrt(2))
    assert centred.lipschitz == pytest.approx(1.0)


# --- Lemma 24 -------------------------------------------------------------------------------------------------------


def extreme_tables(sizes, parents, floor):
    """Every choice of tables whose rows sit at a corner: one value large, all others at the floor."""
    rows = []
    for k, size in enumerate(sizes):
        for above in itertools.product(*(range(sizes[j]) for j in parents[k])):
            rows.append((k, above, size))
    for corners in itertools.product(*(range(size) for _, _, size in rows)):
        table = {}
        for (k, above, size), corner in zip(rows, corners, strict=True):
            table[k, above] = [1 - (size - 1) * floor if value == corner else floor for value in range(size)]
        yield table


def log_likelihood(table, record, parents):
    return sum(math.log(table[k, tuple(record[j] for j in parents[k])][v]) for k, v in enumerate(record))


NETWORKS = [
    ([2, 2], [[], [0]], 0.1),
    ([2, 2, 2], [[], [], []], 0.2),
    ([2, 2, 2], [[], [0], [0]], 0.05),
    ([3, 2], [[], [0]], 0.2),
    ([3, 3], [[], []], 0.15),
]


@pytest.mark.parametrize(("sizes", "parents", "floor"), NETWORKS)
@pytest.mark.parametrize("power", [1.0, 0.5])
def test_network_ranges_are_exact(sizes, parents, floor, power):
    tables = list(extreme_tables(sizes, parents, floor))
    records = list(itertools.product(*(range(size) for size in sizes)))
    logs = np.array([[log_likelihood(table, record, parents) for record in records] for table in tables])
    widest = {"replace-one": 0.0, "replace-entry": 0.0}
    under = examples.discrete_network(parents=parents, cardinalities=sizes, floor=floor)
    weight = [1 + sum(j in above for above in parents) for j in range(len(sizes))]
    for a, b in itertools.permutations(range(len(records)), 2):
        difference = logs[:, a] - logs[:, b]
        width = power * (difference.max() - difference.min())
        differing = [j for j in range(len(sizes)) if records[a][j] != records[b][j]]
        widest["replace-one"] = max(widest["replace-one"], width)
        if len(differing) == 1:
            widest["replace-entry"] = max(widest["replace-entry"], width)
        rho = sum(weight[j] for j in differing)
        assert np.abs(difference).max() <= under.lipschitz * rho * (1 + 1e-12)
        assert rho <= under.diameter
    for adjacency, width in widest.items():
        promise = examples.network_draws(
            parents=parents, cardinalities=sizes, floor=floor, adjacency=adjacency, power=power
        )
        assert promise.adjacency == adjacency
        assert width <= promise.curve.epsilon_value
        assert width == pytest.approx(promise.curve.epsilon_value, rel=1e-9)


@pytest.mark.planted
def test_lemma_24_for_one_entry_does_not_cover_a_record():
    sizes, parents, floor = [2, 2, 2], [[], [], []], 0.1
    printed = 2 * 1 * math.log(1 / floor)  # max v = 1: no edges
    tables = list(extreme_tables(sizes, parents, floor))
    logs = np.array([[log_likelihood(table, r, parents) for r in ((0, 0, 0), (1, 1, 1))] for table in tables])
    posterior = np.exp(logs) / np.exp(logs).sum(axis=0)  # uniform prior on the eight corners
    ratio = np.log(posterior[:, 0] / posterior[:, 1]).max()
    assert ratio > printed + 1.9
    record = examples.network_draws(parents=parents, cardinalities=sizes, floor=floor)
    entry = examples.network_draws(parents=parents, cardinalities=sizes, floor=floor, adjacency="replace-entry")
    assert ratio <= record.curve.epsilon_value
    assert ratio > entry.curve.epsilon_value
    assert record.curve.epsilon_value == pytest.approx(6 * math.log(9), rel=1e-9)
    assert entry.curve.epsilon_value == pytest.approx(2 * math.log(9), rel=1e-9)
    assert entry.curve.epsilon_value < printed


def test_markov_chain_entry_costs_two_tables():
    chain = examples.network_draws(
        parents=[[], [0], [1], [2]], cardinalities=[3] * 4, floor=0.1, adjacency="replace-entry", draws=2
    )
    assert chain.renyi(math.inf) == pytest.approx(2 * 4 * math.log(0.8 / 0.1), rel=1e-9)
    assert chain.renyi(math.inf) < 2 * 4 * math.log(1 / 0.1)  # the paper's 4 ln 1/eps, twice


def test_uniform_tables_are_free():
    promise = examples.network_draws(parents=[[], [0]], cardinalities=[2, 2], floor=0.5)
    assert promise.epsilon(0.0) < 1e-12


# --- Lemma 5 and hypotheses -----------------------------------------------------------------------------------------


def test_lifting_keeps_the_constant_and_names_the_sum():
    uniform = examples.UniformLipschitz(0.5, "|x - y|", 1.0).lifted()
    assert (uniform.lipschitz, uniform.distance, uniform.diameter) == (0.5, "sum over records of |x - y|", 1.0)
    one = examples.trimmed_exponential(rate=1.0, lower=0.5, upper=2.0, bound=1.0)
    many = one.lifted(log_ratio=5 * one.log_ratio)
    assert many == examples.trimmed_exponential(rate=1.0, lower=0.5, upper=2.0, bound=1.0, n=5)
    with pytest.raises(TypeError, match="log_ratio"):
        one.lifted()


def test_ratio_beyond_the_largest_float_is_infinite():
    huge = examples.trimmed_exponential(rate=1.0, lower=0.5, upper=2.0, bound=1.0, n=10_000)
    assert huge.ratio == math.inf
    assert metric.stochastic_renyi_within(**huge.assumption, rho=1e-4).renyi(2.0) < math.inf


ENDS = {"rate": 1.0, "lower": 0.5, "upper": 2.0, "bound": 1.0}
NORMAL = {"precision_norm": 1.0, "mean_norm": 1.0, "bound": 1.0, "dimension": 2}
NETWORK = {"parents": [[], [0]], "cardinalities": [2, 2], "floor": 0.1}


@pytest.mark.parametrize(
    ("function", "arguments", "change", "name"),
    [
        (examples.trimmed_exponential, ENDS, {"rate": 0.0}, "rate of the prior"),
        (examples.trimmed_exponential, ENDS, {"lower": 0.0}, "lower end of the trimmed prior"),
        (examples.trimmed_exponential, ENDS, {"upper": math.inf}, "upper end of the trimmed prior"),
        (examples.trimmed_laplace, ENDS, {"lower": 2.0}, "order of the trimmed ends"),
        (examples.trimmed_laplace, ENDS, {"mean": math.nan}, "known centre"),
        (examples.trimmed_precision, ENDS, {"bound": math.inf}, "bound on the data"),
        (examples.trimmed_precision, ENDS, {"mean": math.inf}, "known mean"),
        (examples.trimmed_precision, ENDS, {"n": 0}, "number of records"),
        (examples.beta_bernoulli, {"alpha": 2.0, "n": 5}, {"alpha": 0.9}, "shape of the prior at least 1"),
        (examples.beta_bernoulli, {"alpha": 2.0, "n": 5}, {"alpha": math.nan}, "shape of the prior"),
        (examples.beta_bernoulli, {"alpha": 2.0, "n": 5}, {"n": 0}, "number of records"),
        (examples.normal_family, NORMAL, {"precision_norm": math.inf}, "Frobenius norm of the precision"),
        (examples.normal_family, NORMAL, {"mean_norm": -1.0}, "norm of the mean"),
        (examples.normal_family, NORMAL, {"bound": math.inf}, "bound on the rows"),
        (examples.normal_family, NORMAL, {"dimension": 0}, "dimension"),
        (examples.normal_family, NORMAL, {"centred": True}, "mean of a centred family"),
        (examples.network_draws, NETWORK, {"cardinalities": [2, 1]}, "values of a node"),
        (examples.network_draws, NETWORK, {"parents": [[]]}, "parents of every node"),
        (examples.network_draws, NETWORK, {"parents": [[], [2]]}, "parents of every node"),
        (examples.network_draws, NETWORK, {"parents": [[1], [0]]}, "no cycle"),
        (examples.network_draws, NETWORK, {"floor": 0.0}, "smallest conditional probability"),
        (examples.network_draws, NETWORK, {"floor": 0.6}, "floor that the tables can meet"),
        (examples.network_draws, NETWORK, {"power": 0.0}, "power"),
        (examples.network_draws, NETWORK, {"draws": 0}, "number of draws"),
        (examples.network_draws, NETWORK, {"adjacency": "metric"}, "neighbours"),
        (examples.discrete_network, NETWORK, {"parents": [[0], []]}, "no cycle"),
    ],
)
def test_each_hypothesis_is_checked_by_name(function, arguments, change, name):
    with pytest.raises(AssumptionError, match=name):
        function(**(arguments | change))
