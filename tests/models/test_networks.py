"""Networks: what they count, what a draw is, what it costs against brute force over all data sets, and what is refused."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import stats
from scipy.special import betainc, betaincinv

import sfumato as sf
from effort import sized
from goodness import LEVEL, uniform_p
from pricing import family_price
from sfumato import procedures
from sfumato.engines.codes import CodesEngine
from sfumato.errors import ArgumentError, ChargeRefused, FormatError
from sfumato.grids.rates import RateGrid
from sfumato.models import families
from sfumato.models.networks import BayesianNetwork, MarkovChain
from sfumato.samplers import beta_grid
from sfumato.theorems import conjugate

SCHEMA = sf.Schema(
    {
        "a": sf.Category(["x", "y", "z"], missing="x"),
        "b": sf.Boolean(missing=False),
        "age": sf.Number(0, 80, integer=True),
    },
    name="s",
)
PARENTS = {"b": ["a"], "age": ["a", "b"]}


def network(**options) -> BayesianNetwork:
    return BayesianNetwork.from_schema(SCHEMA, PARENTS, bins={"age": [0, 20, 40, 80]}, **options)


def rows(n: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    bits = rng.random(n) < np.array([0.1, 0.5, 0.9])[a]
    return {
        "a": np.array(["x", "y", "z"])[a],
        "b": bits,
        "age": np.clip(20 * a + 15 * bits + rng.integers(0, 30, n), 0, 80),
    }


# --- structure -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: BayesianNetwork({"a": ["b"], "b": ["a"]}, {"a": 2, "b": 2}), "cycle"),
        (lambda: BayesianNetwork({"a": ["a"]}, {"a": 2}), "cycle"),
        (lambda: BayesianNetwork({"a": ["q"]}, {"a": 2}), "'q'"),
        (lambda: BayesianNetwork({"q": []}, {"a": 2}), "'q'"),
        (lambda: BayesianNetwork({"b": ["a", "a"]}, {"a": 2, "b": 2}), "twice"),
        (lambda: BayesianNetwork({}, {"a": 1}), "at least 2"),
        (lambda: BayesianNetwork({}, {"a": ["x", "x"]}), "different"),
        (lambda: BayesianNetwork({}, {}), "at least one"),
        (lambda: BayesianNetwork({"a": list("bcdefg")}, dict.fromkeys("abcdefg", 10)), "fewer parents"),
        (lambda: BayesianNetwork({}, {"a": 2}, alpha=0.0), "greater than 0"),
        (lambda: BayesianNetwork({}, {"a": 2, "b": 2}, alpha={"a": 1.0}), "every node"),
        (lambda: BayesianNetwork({}, {"a": 2}, alpha={"a": [1.0, 1.0, 1.0]}), "one per cell"),
        (lambda: BayesianNetwork({}, {"a": 4}, floor=0.25), "below 1/4"),
        (lambda: BayesianNetwork({}, {"a": 2}, adjacency="add-remove"), "adjacency"),
        (lambda: BayesianNetwork({}, {"a": 2}, bins={"a": [0, 1, 2, 3]}), "3 bins"),
        (lambda: BayesianNetwork({}, {"a": 2}, bins={"a": [0, 2, 1]}), "rising"),
        (lambda: BayesianNetwork.from_schema(SCHEMA, {"b": ["q"]}), "does not have"),
        (lambda: BayesianNetwork.from_schema(SCHEMA, {"age": []}), "bins"),
        (lambda: BayesianNetwork.from_schema(SCHEMA, {"a": []}, bins={"a": 3}), "only Number"),
        (lambda: MarkovChain(3, record="trajectory"), "length"),
        (lambda: MarkovChain(3, length=4), "belong to"),
        (lambda: MarkovChain(["x", "y"], record="trajectory", length=3, end="x"), "of its own"),
        (lambda: MarkovChain(3, names=["t0"]), "2 different"),
    ],
)
def test_bad_structures_are_refused(make, said):
    with pytest.raises(ArgumentError, match=said):
        make()


def test_a_schema_that_is_not_the_networks_is_refused():
    assert network().columns(SCHEMA) == ("a", "b", "age")
    for columns in (
        {"a": sf.Category(["x", "z", "y"], missing="x"), "b": sf.Boolean(missing=False), "age": sf.Number(0, 80)},
        {
            "a": sf.Category(["x", "y", "z"], missing="x"),
            "b": sf.Category(["no", "yes"], missing="no"),
            "age": sf.Number(0, 80),
        },
        {"a": sf.Category(["x", "y", "z"], missing="x"), "b": sf.Boolean(missing=False), "age": sf.Number(0, 90)},
        {
            "a": sf.Category(["x", "y", "z"], missing="x"),
            "b": sf.Boolean(missing=False),
            "age": sf.Category(["1", "2", "3"], missing="1"),
        },
        {"a": sf.Category(["x", "y", "z"], missing="x"), "b": sf.Boolean(missing=False)},
    ):
        with pytest.raises(ArgumentError):
            network().columns(sf.Schema(columns))
    counted = BayesianNetwork({}, {"a": 3, "b": 2})
    assert counted.columns(SCHEMA) == ("a", "b")
    with pytest.raises(ArgumentError):
        BayesianNetwork({}, {"a": 4}).columns(SCHEMA)


MODELS = [
    network(),
    network(alpha="balanced"),
    network(floor=0.02, adjacency="replace-entry"),
    network(alpha={"a": 1.0, "b": [0.5, 1, 2, 3, 4, 5], "age": 0.3}),
    BayesianNetwork({"b": "a"}, {"b": 2, "a": [False, True]}),
    MarkovChain(["x", "y"]),
    MarkovChain(3, alpha=0.5, record="trajectory", length=5, end="stop", names=list("pqrst")),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_models_survive_a_document_whatever_the_order_of_its_keys(model):
    text = json.dumps(model.to_json(), sort_keys=True)
    again = families.from_json(json.loads(text))
    assert again == model
    assert hash(again) == hash(model)
    assert (again.labels, again.tables, again.order if hasattr(again, "order") else 0) == (
        model.labels, model.tables, model.order if hasattr(model, "order") else 0
    )  # fmt: skip
    with pytest.raises(FormatError):
        families.from_json({**model.to_json(), "surplus": 1})


def test_counts_are_those_of_a_plain_loop_and_one_record_moves_them_within_reach():
    model, table = network(), rows(300)
    data = sf.Dataset.from_table(table, schema=SCHEMA)
    found = CodesEngine(data, model.columns(SCHEMA)).totals(model.tally)
    want: dict[str, int] = dict.fromkeys(model.labels, 0)
    words = ["[0, 20)", "[20, 40)", "[40, 80]"]
    for a, b, age in zip(table["a"], table["b"], table["age"], strict=True):
        want[f"a={a}"] += 1
        want[f"b={b} | a={a}"] += 1
        want[f"age={words[0 if age < 20 else 1 if age < 40 else 2]} | a={a}, b={b}"] += 1
    assert dict(zip(model.labels, found, strict=True)) == want
    block = {"a": np.arange(3).repeat(6), "b": np.tile([0, 1], 9), "age": np.tile([0.0, 25.0, 80.0], 6)}
    each = [model.tally({k: v[i : i + 1] for k, v in block.items()}, ("a", "b", "age")) for i in range(18)]
    moved = [np.linalg.norm(x - y) for x, y in itertools.combinations(each, 2)]
    assert math.isclose(max(moved), model.sensitivity, rel_tol=1e-12)
    assert max(moved) <= model.sensitivity


def test_noisy_counts_become_possible_ones():
    model = network()
    rng = np.random.default_rng(1)
    noisy = rng.normal(5, 30, (50, len(model.labels)))
    found = model.feasible(noisy, 200)
    assert (found >= 0).all()
    for table in model.tables:
        assert np.allclose(table.of(found).sum(axis=(-1, -2)), 200)
    chain = MarkovChain(2, record="trajectory", length=4, end="e")
    found = chain.feasible(rng.normal(5, 30, (50, len(chain.labels))), 20)
    assert (found >= 0).all()
    assert (chain.tables[1].of(found).sum(axis=(-1, -2)) <= 60 * (1 + 1e-12)).all()


# --- prices against brute force --------------------------------------------------------------------------------------

EDGES = 160


def discretised(first: tuple[float, float], second: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Masses of a partition of [0, 1] under two Betas: a post-processing, so its delta is at most the true one."""
    levels = np.concatenate([np.logspace(-13, -2, EDGES // 4), np.linspace(0.012, 0.988, EDGES // 2)])
    levels = np.concatenate([levels, 1 - np.logspace(-13, -2, EDGES // 4)])
    cuts = np.unique(np.concatenate([betaincinv(*law, levels) for law in (first, second)]))
    return tuple(np.diff(np.concatenate([[0.0], betainc(*law, cuts), [1.0]])) for law in (first, second))


def hockey(factors: list[tuple[np.ndarray, np.ndarray]], eps: float) -> float:
    """Delta of a product of up to three pairs: the last by threshold, its ratio being monotone up to sorting."""
    p, q = np.ones(1), np.ones(1)
    for a, b in factors[:-1]:
        p, q = np.outer(p, a).ravel(), np.outer(q, b).ravel()
    a, b = factors[-1]
    order = np.argsort(-(a / np.maximum(b, 1e-300)))
    a, b = a[order], b[order]
    best = np.concatenate([[0.0], np.cumsum(a)]), np.concatenate([[0.0], np.cumsum(b)])
    ratios = (a / np.maximum(b, 1e-300))[::-1]
    need = math.exp(eps) * q / np.maximum(p, 1e-300)
    kept = len(a) - np.searchsorted(ratios, need, side="right")
    return float(np.maximum(p * best[0][kept] - math.exp(eps) * q * best[1][kept], 0).sum())


def two_node_pairs(levels: int, alpha: float, power: float, n: int):
    """The Beta pairs of every neighbouring pair of data sets of n records of a network a -> b, without repetition."""
    kinds = list(itertools.product(range(levels), repeat=2))
    seen = set()
    for rest in itertools.combinations_with_replacement(kinds, n - 1):
        first = np.full(levels, alpha)
        second = np.full((levels, levels), alpha)
        for x, y in rest:
            first[x] += power
            second[x, y] += power
        for old, new in itertools.permutations(kinds, 2):
            factors = []
            if old[0] != new[0]:
                i, j = first[old[0]], first[new[0]]
                factors.append(((i + power, j), (i, j + power)))
                for kind, law in ((old, 0), (new, 1)):
                    cell = second[kind]
                    others = second[kind[0]].sum() - cell
                    pair = ((cell + power, others), (cell, others))
                    factors.append(pair if law == 0 else pair[::-1])
            else:
                i, j = second[old], second[new]
                factors.append(((i + power, j), (i, j + power)))
            seen.add(tuple(sorted((tuple(np.round(p, 12)), tuple(np.round(q, 12))) for p, q in factors)))
    return seen


@pytest.mark.parametrize(
    ("levels", "n", "alpha", "power"),
    [(2, 1, 1.0, 0.3), (2, 4, 0.5, 0.2), (2, 3, 2.0, 1.0), (3, 2, 0.7, 0.5), (3, 3, 1.0, 0.1)],
)
def test_the_profile_is_never_below_brute_force_over_all_data_sets(levels, n, alpha, power):
    model = BayesianNetwork({"b": ["a"]}, {"a": levels, "b": levels}, alpha=alpha)
    claim = family_price(model, n, 1, power)
    one_node = conjugate.network(smallest_cells=[alpha], power=power)
    epsilons = [0.05, 0.3, 1.0]
    worst = dict.fromkeys(epsilons, 0.0)
    cache = {}
    for pair in two_node_pairs(levels, alpha, power, n):
        factors = [cache.setdefault(f, discretised(*f)) for f in pair]
        for eps in epsilons:
            worst[eps] = max(worst[eps], hockey(factors, eps))
    for eps in epsilons:
        assert worst[eps] <= claim.delta(eps)
    # The check has teeth: the price of one node alone is exceeded, and the claim is no vacuous bound.
    assert worst[0.3] > one_node.delta(0.3)
    assert worst[0.3] > 0.4 * claim.delta(0.3)


def lattice_logs(cells: np.ndarray, floor: float, steps: int) -> np.ndarray:
    """Log probabilities of the lattice of shares above the floor under these cells."""
    size = len(cells)
    points = [j for j in itertools.product(range(steps + 1), repeat=size) if sum(j) == steps]
    shares = floor + (1 - size * floor) * np.array(points) / steps
    logs = ((cells - 1) * np.log(shares)).sum(axis=1)
    return logs - np.logaddexp.reduce(logs)


@pytest.mark.parametrize("adjacency", ["replace-one", "replace-entry"])
@pytest.mark.parametrize(("levels", "n", "floor", "power"), [(2, 4, 0.05, 0.7), (2, 2, 0.2, 1.0), (3, 2, 0.02, 0.4)])
def test_the_pure_price_is_never_below_brute_force_over_all_data_sets(levels, n, floor, power, adjacency):
    steps = 6 if levels == 2 else 4
    model = BayesianNetwork({"b": ["a"]}, {"a": levels, "b": levels}, alpha=0.8, floor=floor, adjacency=adjacency)
    claim = family_price(model, n, 1, power)
    assert claim.adjacency == adjacency
    epsilon = claim.epsilon(0.0)
    kinds = list(itertools.product(range(levels), repeat=2))
    widest, highest = 0.0, 0.0
    for rest in itertools.combinations_with_replacement(kinds, n - 1):
        for old, new in itertools.permutations(kinds, 2):
            if adjacency == "replace-entry" and (old[0] != new[0]) + (old[1] != new[1]) > 1:
                continue
            ratio = np.zeros(1)
            tables = []
            for record in (old, new):
                first, second = np.full(levels, 0.8), np.full((levels, levels), 0.8)
                for x, y in (*rest, record):
                    first[x] += power
                    second[x, y] += power
                tables.append([first, *second])
            for one, other in zip(*tables, strict=True):
                gap = lattice_logs(one, floor, steps) - lattice_logs(other, floor, steps)
                ends = np.array([gap.min(), gap.max()])
                ratio = np.add.outer(ratio, ends).ravel()
            widest, highest = max(widest, float(np.ptp(ratio))), max(highest, float(ratio.max()))
    assert widest <= epsilon
    assert highest <= epsilon
    assert widest > 0.9 * epsilon
    if adjacency == "replace-one":
        one_node = family_price(BayesianNetwork({}, {"a": levels}, floor=floor), n, 1, power)
        assert widest > one_node.epsilon(0.0)


def test_one_entry_costs_less_than_a_record_and_a_ledger_keeps_them_apart(tmp_path):
    wide = {"root": [], **{f"c{k}": ["c0" if k else "root"] for k in range(4)}}
    sizes = dict.fromkeys(wide, 2)
    record = family_price(BayesianNetwork(wide, sizes), 50, 1, 0.1)
    entry = family_price(BayesianNetwork(wide, sizes, adjacency="replace-entry"), 50, 1, 0.1)
    assert entry.adjacency == "replace-entry"
    assert entry.delta(0.5) < record.delta(0.5)
    ledger = sf.Ledger.open(tmp_path / "budget.db")
    ledger.register("s", epsilon=50.0, delta=1e-6)
    data = sf.Dataset.from_table(rows(60), schema=SCHEMA)
    for floor in (None, 0.05):
        plan = sf.plan(network(floor=floor, adjacency="replace-entry"), 60, mechanism="exact")
        release = sf.publish(plan, data)
        assert release.verify().guarantee.adjacency == "replace-entry"
        with pytest.raises(ChargeRefused, match="replace-entry"):
            sf.publish(plan, data, ledger=ledger)
    plan = sf.plan(network(floor=0.05), 60, 1.0, 0.0)
    assert plan.mechanism == "exponential"
    sf.publish(plan, data, ledger=ledger).verify()


# --- draws -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "cells"),
    [
        *(
            (a, b, cells)
            for cells in (1 << 10, 1 << 13)
            for a, b in [(1.0, 1.0), (0.05, 30.0), (300.0, 1200.0), (0.7, 4000.0)]
        ),
        # The largest weights: a thousand million records and a prior.
        (0.3 * 245_360, 0.7 * 245_360, 1 << 10),
        (3e8, 7e8 + 2, 1 << 16),
        (5e3, 1e9 - 5e3 + 2, 1 << 16),
    ],
)
def test_masses_on_every_grid_keep_their_stated_error(a, b, cells):
    """The grid of a table is chosen by its public weight; so are the nodes and the error."""
    masses = beta_grid.beta_masses(a, b, beta_grid.nodes_for(a + b, cells), RateGrid(0.0, cells)).everywhere()
    mp.dps = 40
    x, y = mpf(a), mpf(b)
    shape = lambda t: -x * mp.log1p(mp.exp(-t)) - y * mp.log1p(mp.exp(t))
    top = shape(mp.log(x / y))
    edge = lambda j: 2 * mp.log(mp.tan(mp.pi / 2 * j / cells))
    centre = int(2 / math.pi * math.asin(math.sqrt(a / (a + b))) * cells)
    chosen = [
        c
        for c in {1, 2, 40, centre, centre + 1, centre - 2, centre + 5, centre + 60}
        if 0 < c < cells - 1 and masses[c] > masses.max() - 600
    ]
    assert len(chosen) >= 3
    errors = []
    for cell in chosen:
        cuts = [edge(cell) + (edge(cell + 1) - edge(cell)) * k / 8 for k in range(9)]
        errors.append(float(mp.log(mp.quad(lambda t: mp.exp(shape(t) - top), cuts)) - mpf(masses[cell])))
    assert max(errors) - min(errors) < beta_grid.mass_error(a + b, min(a, b), cells)


def test_the_grid_of_a_table_depends_on_public_numbers_alone_and_is_fine():
    model = network()
    empty = model.law([0] * len(model.labels), 500, 0.3, 2.0)
    full = model.law([7] * len(model.labels), 500, 0.3, 2.0)
    public = [(p.weight, p.smallest, p.grid) for p in empty.parts]
    assert public == [(p.weight, p.smallest, p.grid) for p in full.parts]
    for weight, _, grid in public:
        assert math.pi / 2 / grid <= 1 / (2 * math.sqrt(weight)) / 8


@pytest.mark.planted
def test_drawn_tables_follow_their_dirichlets():
    model, n = network(alpha=0.8), 120
    data = sf.Dataset.from_table(rows(n), schema=SCHEMA)
    release = sf.publish(sf.plan(model, n, mechanism="exact", draws=1500), data, randomness=sf.seeded(3))
    values = release.draws.pooled()
    totals = np.array(CodesEngine(data, model.columns(SCHEMA)).totals(model.tally), dtype=float)
    cells = model.natural(totals, n)
    law = model.law([int(t) for t in totals], n)
    rng = np.random.default_rng(1)
    part, wrong = 0, {0.7: [], 1.3: []}
    for table in model.tables:
        for row, drawn in zip(table.of(cells), np.moveaxis(table.of(values), -2, 0), strict=True):
            step = 0.5 * math.pi / law.parts[part].grid
            part += 1
            left = np.ones(len(drawn))
            assert np.allclose(drawn.sum(axis=-1), 1)
            for k in range(len(row) - 1):
                share = np.clip(drawn[:, k] / left, 0, 1)
                place = np.rint(np.arcsin(np.sqrt(share)) / step - 0.5)
                spread = np.sin((place + rng.random(len(drawn))) * step) ** 2
                first, rest = row[k], row[k + 1 :].sum()
                assert uniform_p(stats.beta.cdf(spread, first, rest)) > LEVEL
                for factor, seen in wrong.items():
                    seen.append(stats.beta.cdf(spread, factor * first, factor * rest))
                left = left - drawn[:, k]
    for seen in wrong.values():
        assert uniform_p(np.concatenate(seen)) < LEVEL


TARGET = sf.Renyi([4.0], [0.1])  # a target at one order is found without convolutions


def test_every_mechanism_plans_publishes_and_verifies():
    data = sf.Dataset.from_table(rows(400), schema=SCHEMA)
    for mechanism in ("diffused", "concentrated", "noisy-statistics", "auto"):
        release = sf.publish(sf.plan(network(), 400, target=TARGET, mechanism=mechanism), data)
        assert sf.Release.from_bytes(release.to_bytes()).verify().guarantee.curve.renyi(4.0) <= 0.1
    point = sf.plan(
        BayesianNetwork({"b": ["a"]}, {"a": 3, "b": 2}, alpha=30.0), 400, 1.0, 1e-6, mechanism="concentrated"
    )
    assert 0.999e-6 < sf.publish(point, data).verify().guarantee.delta(1.0) <= 1e-6
    pure = sf.publish(sf.plan(network(floor=0.02), 400, 1.0, 0.0), data).verify()
    assert pure.guarantee.epsilon(0.0) <= 1.0
    assert pure.draws.values.min() >= 0.02


def test_different_cells_are_priced_as_tightly_as_equal_ones():
    """The Gaussian of the same variance of loss is close to a strengthened network; Renyi would be far above."""
    model = network(alpha={"a": 400.0, "b": 200.0, "age": 200.0})
    price = family_price(model, 100, 1, 1.0)
    mu = math.sqrt(2 / 400 + 2 / 200 + 2 / 200)
    assert price.delta(0.5) < 1.05 * sf.Gaussian(mu).delta(0.5)
    assert price.delta(0.5) > 0.9 * sf.Gaussian(mu).delta(0.5)


def test_public_records_become_the_prior():
    table = rows(40)
    model = network().with_public(table, schema=SCHEMA)
    assert model.prior.sum() == network().prior.sum() + 40 * 3
    assert families.from_json(json.loads(json.dumps(model.to_json()))) == model


def test_balanced_priors_are_smaller_where_a_table_has_more_cells():
    model = network(alpha="balanced")
    sizes = [table.rows * table.size for table in model.tables]
    assert sorted(model.smallest_cells, reverse=True) == [
        x for _, x in sorted(zip(sizes, model.smallest_cells, strict=True))
    ]
    assert min(model.smallest_cells) == 1.0


# --- expectations ----------------------------------------------------------------------------------------------------


def invented_records(model: BayesianNetwork, tables: np.ndarray, n: int, rng) -> dict[str, np.ndarray]:
    """Records drawn one by one from given tables: independent of the library's own shortcut."""
    found: dict[str, np.ndarray] = {}
    by_name = {table.node: table.of(tables) for table in model.tables}
    for node in model.order:
        row = np.zeros(n, dtype=int)
        for parent in model.above[node]:
            row = row * model.sizes[parent] + found[parent]
        found[node] = np.array([int(np.searchsorted(np.cumsum(by_name[node][k])[:-1], rng.random())) for k in row])
    return found


FOREST = BayesianNetwork({"b": ["a"]}, {"a": 3, "b": [False, True]})
DIAMOND = BayesianNetwork({"c": ["a", "b"], "b": ["a"]}, {"a": 2, "b": 2, "c": 2})


@pytest.mark.parametrize(
    ("model", "mechanism"),
    [(DIAMOND, "diffused"),
     *sized([], [(BayesianNetwork({"b": ["a"]}, {"a": 3, "b": 2}, floor=0.05), "exponential"),
                 (FOREST, "concentrated"), (FOREST, "noisy-statistics")])],
)  # fmt: skip
def test_what_is_expected_is_what_simulated_releases_give(model, mechanism):
    n, rng = 100, np.random.default_rng(7)
    plan = sf.plan(model, n, target=TARGET, mechanism=mechanism)
    truths = model.sketch(rng, np.tile(model.prior, (200, 1)))
    columns = {
        name: sf.Boolean(missing=False) if size == 2 else sf.Category(list(range(size)), missing=0)
        for name, size in model.sizes.items()
    }
    schema = sf.Schema(columns)
    found = []
    for k, truth in enumerate(truths):
        data = sf.Dataset.from_table(invented_records(model, truth, n, rng), schema=schema)
        # What publish draws, without pricing the plan anew for every data set.
        drawn = (
            procedures.named(plan.procedure)
            .carry_out(plan.task, CodesEngine(data, model.columns(schema)), sf.seeded(k))
            .pooled()[0]
        )
        found.append(float(model.distance(drawn, truth)))
    assert abs(np.quantile(found, 0.9) / plan.expected.value - 1) < 0.15


def test_many_records_of_a_general_network_are_invented_with_the_right_shares():
    from sfumato.models.networks import _invented

    rng = np.random.default_rng(3)
    truth = DIAMOND.sketch(rng, np.tile(DIAMOND.prior, (4, 1)))
    few = np.stack([_invented._records(DIAMOND, rng, tables, 200_000, 200_000) for tables in truth])
    many = np.stack([_invented._records(DIAMOND, rng, tables, 200_000, 50_000) for tables in truth])
    assert np.abs(few - many).max() < 200_000 * 0.02
    for counts in (few, many):
        for table in DIAMOND.tables:
            assert (table.of(counts).sum(axis=(-1, -2)) == 200_000).all()
