"""Questions to a released network: exact sums, a synthetic table that follows them, and no way back to the rows."""

from __future__ import annotations

import itertools
import sys
import types

import numpy as np
import pytest

import sfumato as sf
from goodness import LEVEL, chi_square_p
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.models.networks import BayesianNetwork, MarkovChain, _unshrunk
from sfumato.queries import tables

SCHEMA = sf.Schema(
    {
        "other": sf.Number(0, 1),
        "c": sf.Category(["lo", "mid", "hi"], missing="lo"),
        "a": sf.Category(["x", "y", "z"], missing="x"),
        "b": sf.Boolean(missing=False),
        "age": sf.Number(0, 80, integer=True),
        "height": sf.Number(1.0, 2.0),
    },
    name="s",
)
PARENTS = {"b": ["a"], "c": ["b", "a"], "age": ["c"], "height": []}
BINS = {"age": [0, 20, 40, 80], "height": [1.0, 1.5, 2.0]}
MODEL = BayesianNetwork.from_schema(SCHEMA, PARENTS, bins=BINS, alpha=0.5)
N = 500


def rows(n: int = N) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, n)
    b = rng.random(n) < np.array([0.1, 0.5, 0.9])[a]
    c = np.clip(a + b - rng.integers(0, 2, n), 0, 2)
    return {
        "other": rng.random(n), "a": np.array(["x", "y", "z"])[a], "b": b, "c": np.array(["lo", "mid", "hi"])[c],
        "age": np.clip(25 * c + rng.integers(0, 30, n), 0, 80), "height": 1 + rng.random(n),
    }  # fmt: skip


DATA = sf.Dataset.from_table(rows(), schema=SCHEMA)
RELEASE = sf.publish(sf.plan(MODEL, N, mechanism="exact", draws=3), DATA, randomness=sf.seeded(1))


def enumerated(wanted: tuple[str, ...], draw: int) -> np.ndarray:
    """The joint law of some columns by summing over all combinations of all columns."""
    values = RELEASE.draws.pooled()[draw]
    by_name = {table.node: table.of(values) for table in MODEL.tables}
    found = np.zeros([MODEL.sizes[name] for name in wanted])
    for point in itertools.product(*(range(size) for size in MODEL.sizes.values())):
        at = dict(zip(MODEL.sizes, point, strict=True))
        chance = 1.0
        for node in MODEL.sizes:
            row = 0
            for parent in MODEL.above[node]:
                row = row * MODEL.sizes[parent] + at[parent]
            chance *= by_name[node][row, at[node]]
        found[tuple(at[name] for name in wanted)] += chance
    return found


@pytest.mark.parametrize("wanted", [("a",), ("age",), ("c", "a"), ("age", "b"), ("height", "age", "a")])
def test_marginals_are_those_of_full_enumeration(wanted):
    for draw in range(3):
        found = RELEASE.marginal(wanted, debias=False, draw=draw)
        assert found.columns == wanted
        assert np.allclose(found.values, enumerated(wanted, draw), rtol=1e-12)


def test_conditionals_are_quotients_of_marginals():
    joint = enumerated(("b", "age"), 0)
    for level, row in zip((False, True), joint, strict=True):
        found = RELEASE.conditional("age", {"b": level}, debias=False, draw=0)
        assert np.allclose(found.values, row / row.sum(), rtol=1e-12)
    turned = RELEASE.conditional("b", ["age"], debias=False, draw=0)
    assert turned.columns == ("age", "b")
    assert np.allclose(turned.values, (joint / joint.sum(axis=0)).T, rtol=1e-12)
    table = {t.node: t for t in MODEL.tables}["c"].of(RELEASE.draws.pooled()[0]).reshape(2, 3, 3)
    straight = RELEASE.conditional("c", {"a": "y", "b": True}, debias=False, draw=0)
    assert np.array_equal(straight.values, table[1, 1])
    assert straight["mid"] == table[1, 1, 1]


def test_shares_are_asked_by_level():
    found = RELEASE.marginal(["a", "b"])
    assert found[("x", True)] == found.values[0, 1]
    assert found.to_dict()[("x", True)] == found.values[0, 1]
    ages = RELEASE.marginal("age").to_dict()
    assert list(ages) == ["[0, 20)", "[20, 40)", "[40, 80]"]
    assert abs(sum(ages.values()) - 1) < 1e-12
    with pytest.raises(ArgumentError, match="levels"):
        found[("w", True)]


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: RELEASE.marginal("other"), "columns"),
        (lambda: RELEASE.marginal([]), "at least one"),
        (lambda: RELEASE.marginal(["a", "a"]), "none twice"),
        (lambda: RELEASE.conditional("a", {"a": "x"}), "itself"),
        (lambda: RELEASE.conditional("a", {"b": "x"}), "levels"),
        (lambda: RELEASE.marginal("a", draw=3), "3 draws"),
        (lambda: RELEASE.synthesize(0), "rows"),
        (lambda: RELEASE.synthesize(5, to="list"), "to must"),
    ],
)
def test_bad_questions_are_refused(ask, said):
    with pytest.raises(ArgumentError, match=said):
        ask()


def test_a_question_too_large_is_refused_and_not_begun():
    wide = BayesianNetwork({}, dict.fromkeys("abcdefghijklmnopqrstuvwx", 2))
    schema = sf.Schema(dict.fromkeys("abcdefghijklmnopqrstuvwx", sf.Boolean(missing=False)))
    network = tables.Network(
        wide, schema, tuple(wide.factors(np.full(48, 0.5), ())), dict.fromkeys(wide.sizes, (False, True))
    )
    assert np.allclose(tables.marginal(network, list("abc")).values, 0.125)
    with pytest.raises(ArgumentError, match="fewer columns"):
        tables.marginal(network, list(wide.sizes))


def test_another_model_has_no_tables():
    rate = sf.families.BetaBernoulli()
    bits = sf.Schema({"b": sf.Boolean(missing=False)})
    data = sf.Dataset.from_table({"b": [True, False]}, schema=bits)
    release = sf.publish(sf.plan(rate, 2, mechanism="exact"), data)
    with pytest.raises(ArgumentError, match=r"sf\.networks"):
        release.marginal("b")


# --- freed of the prior ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("power", "strength"), [(1.0, 40.0), (0.03, 1.0)])
def test_the_priors_pull_is_undone_exactly_where_there_is_no_noise(power, strength):
    """Tables that stand at the posterior's mean give back the data's shares, through parents that depend on each other."""
    from sfumato.engines.codes import CodesEngine

    totals = np.array(CodesEngine(DATA, MODEL.columns(SCHEMA)).totals(MODEL.tally), dtype=float)
    cells = MODEL.natural(totals, N, power, strength)
    means, shares = cells.copy(), totals.copy()
    for table in MODEL.tables:
        for values in (means, shares):
            block = table.of(values)
            total = block.sum(axis=-1, keepdims=True)
            values[table.first : table.last] = (block / np.where(total > 0, total, 1)).ravel()
    freed = MODEL.unshrunk(means, N, power, strength)
    for table in MODEL.tables:
        met = table.of(totals).sum(axis=-1) > 0
        assert met.any()
        assert np.allclose(table.of(freed)[met], table.of(shares)[met], atol=1e-9)
        assert np.allclose(table.of(freed).sum(axis=-1), 1)
    assert np.abs(means - shares).max() > 0.05


def test_a_row_of_less_than_one_record_is_moved_like_a_row_of_one():
    """The prior's pull grows as records vanish; it is undone as for one record, by hand: shares + (shares - prior) * 2 / 1."""
    shares, prior = np.array([[0.55, 0.45]] * 3), np.array([[1.0, 1.0]] * 3)
    moved = _unshrunk.rows(shares, prior, np.array([0.0, 0.3, 1.0]), 1.0, 1.0)
    assert np.allclose(moved, [[0.65, 0.35]] * 3, atol=1e-12)
    assert np.allclose(_unshrunk.rows(shares, prior, np.full(3, 4.0), 0.5, 1.0), [[0.6, 0.4]] * 3, atol=1e-12)
    # A prior with shares of 1/4 and 3/4, twice as strong: 8 cells against 40 records undo a fifth of the distance.
    uneven = _unshrunk.rows(shares, np.array([[1.0, 3.0]] * 3), np.full(3, 40.0), 1.0, 2.0)
    assert np.allclose(uneven, [[0.61, 0.39]] * 3, atol=1e-12)


def test_the_priors_pull_on_a_chain_is_undone():
    chain = MarkovChain(2, record="trajectory", length=6, end=9, alpha=1.0)
    truth = np.array([0.5, 0.3, 0.2, 0.7, 0.2, 0.1, 0.1, 0.6, 0.3])
    n, strength = 1000, 100.0
    counts = truth.copy()
    counts[:3] *= n
    counts[3:] *= np.repeat(n * chain._visits(truth), 3)
    cells = chain.natural(counts, n, 1.0, strength)
    shrunk = np.concatenate([table.of(cells / 1).ravel() / table.of(cells).sum(-1).repeat(3) for table in chain.tables])
    assert np.abs(shrunk - truth).max() > 0.05
    assert np.allclose(chain.unshrunk(shrunk, n, 1.0, strength), truth, atol=1e-3)


def test_freed_tables_are_closer_to_the_data_at_a_strong_prior():
    plan = sf.plan(MODEL, N, target=sf.Renyi([4.0], [0.5]), mechanism="concentrated")
    release = sf.publish(plan, DATA, randomness=sf.seeded(4))
    table = rows()
    truth = np.array([(table["a"] == level).mean() for level in "xyz"])
    gaps = [np.abs(release.conditional("b", {"a": "x"}, debias=d).values - [0.9, 0.1]).sum() for d in (True, False)]
    assert gaps[0] < gaps[1]
    assert np.abs(release.marginal("a").values - truth).sum() < 0.3


def test_truncated_tables_are_left_as_they_were_drawn():
    model = BayesianNetwork.from_schema(SCHEMA, PARENTS, bins=BINS, floor=0.05)
    release = sf.publish(sf.plan(model, N, 3.0, 0.0), DATA)
    assert np.array_equal(release.marginal("a").values, release.marginal("a", debias=False).values)
    assert release.conditional("c", ["a", "b"]).values.min() >= 0.05


# --- synthetic tables ------------------------------------------------------------------------------------------------


@pytest.mark.planted
def test_a_synthetic_table_follows_the_models_marginals():
    size = 20_000
    table = RELEASE.synthesize(size, 3)
    assert list(table) == ["c", "a", "b", "age", "height"]
    assert set(table["a"]) <= {"x", "y", "z"}
    assert table["b"].dtype == bool
    assert (table["age"] == np.floor(table["age"])).all()
    assert table["age"].min() >= 0
    assert table["age"].max() <= 80
    assert ((table["height"] >= 1) & (table["height"] <= 2)).all()
    assert len(np.unique(table["height"])) > 0.99 * size
    codes = {
        "a": np.array(["xyz".index(v) for v in table["a"]]),
        "b": table["b"].astype(int),
        "age": np.searchsorted([20, 40], table["age"], side="right"),
    }
    for first, second in (("a", "b"), ("a", "age"), ("b", "age")):
        want = RELEASE.marginal([first, second]).values
        counts = np.bincount(codes[first] * want.shape[1] + codes[second], minlength=want.size)
        assert chi_square_p(counts, size * want.ravel()) > LEVEL
        assert chi_square_p(counts, size * (0.9 * want + 0.1 / want.size).ravel()) < LEVEL


def test_a_synthetic_table_can_be_read_back_as_data_of_the_schema():
    for form in ("mapping", "arrow", "pandas"):
        table = RELEASE.synthesize(200, 1, to=form)
        schema = sf.Schema({name: column for name, column in SCHEMA.columns.items() if name != "other"})
        assert sf.Dataset.from_table(table, schema=schema).n == 200
    again = RELEASE.synthesize(200, 1)
    assert np.array_equal(again["age"], RELEASE.synthesize(200, 1)["age"])
    assert not np.array_equal(again["age"], RELEASE.synthesize(200)["age"])


def test_a_release_answers_after_it_was_saved(tmp_path):
    RELEASE.save(tmp_path / "x.sfumato")
    loaded = sf.load(tmp_path / "x.sfumato")
    assert np.array_equal(loaded.marginal("age").values, RELEASE.marginal("age").values)
    assert np.array_equal(loaded.synthesize(50, 2)["c"], RELEASE.synthesize(50, 2)["c"])


def test_whole_numbers_stay_in_bins_that_hold_few_of_them():
    schema = sf.Schema({"k": sf.Number(0, 10, integer=True)})
    model = BayesianNetwork.from_schema(schema, {"k": []}, bins={"k": [0, 0.5, 0.7, 4, 10]})
    data = sf.Dataset.from_table({"k": np.arange(11)}, schema=schema)
    release = sf.publish(sf.plan(model, 11, mechanism="exact"), data, randomness=sf.seeded(6))
    table = release.synthesize(5000, 5, debias=False)["k"]
    assert set(table) <= set(range(11))
    assert {0, 1, 4, 10} <= set(table)


# --- chains ----------------------------------------------------------------------------------------------------------


def chain_release(chain: MarkovChain, count: int) -> sf.Release:
    schema = sf.Schema({f"t{k}": sf.Category(["x", "y", "end"], missing="end") for k in range(count)})
    rng = np.random.default_rng(2)
    steps = {f"t{k}": np.array(["x", "y", "end"])[rng.integers(0, 3, 400)] for k in range(count)}
    data = sf.Dataset.from_table(steps, schema=schema)
    return sf.publish(sf.plan(chain, 400, mechanism="exact"), data, randomness=sf.seeded(8))


def test_synthetic_trajectories_end_once_and_follow_the_tables():
    release = chain_release(MarkovChain(["x", "y"], record="trajectory", length=4, end="end"), 4)
    table = release.synthesize(10_000, 1)
    for here, there in (("t0", "t1"), ("t1", "t2"), ("t2", "t3")):
        assert (table[there][table[here] == "end"] == "end").all()
    counts = np.array([(table["t3"] == level).sum() for level in ("x", "y", "end")])
    assert chi_square_p(counts, 10_000 * release.marginal("t3").values) > LEVEL
    assert release.conditional("t2", {"t1": "end"})["end"] == 1.0


def test_single_transitions_answer_conditionals_and_nothing_that_needs_a_first_state():
    release = chain_release(MarkovChain(["x", "y", "end"]), 2)
    row = release.conditional("t1", {"t0": "x"})
    assert np.array_equal(row.values, release.draws.pooled()[0][:3])
    for ask in (lambda: release.synthesize(5), lambda: release.marginal("t1")):
        with pytest.raises(ArgumentError, match="no law of column 't0'"):
            ask()


# --- pgmpy -----------------------------------------------------------------------------------------------------------


def test_without_pgmpy_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pgmpy.models", None)
    with pytest.raises(ImportError, match="pip install pgmpy"):
        RELEASE.to_pgmpy()


@pytest.mark.parametrize("kind", ["DiscreteBayesianNetwork", "BayesianNetwork"])
def test_with_pgmpy_it_hands_over_the_tables(monkeypatch, kind):
    """A stand-in with the two classes that are used, under their names before and since version 1.0."""

    class Graph:
        def __init__(self, edges):
            self.edges, self.nodes, self.cpds = edges, [], []

        def add_nodes_from(self, nodes):
            self.nodes += nodes

        def add_cpds(self, *cpds):
            self.cpds += cpds

    def cpd(variable, variable_card, values, evidence=None, evidence_card=None, state_names=None):
        assert np.shape(values) == (variable_card, int(np.prod(evidence_card or [1])))
        assert np.allclose(np.sum(values, axis=0), 1)
        return variable, np.array(values), evidence, evidence_card, state_names

    models, discrete = types.ModuleType("pgmpy.models"), types.ModuleType("pgmpy.factors.discrete")
    setattr(models, kind, Graph)
    discrete.TabularCPD = cpd
    for name, module in (("pgmpy.models", models), ("pgmpy.factors.discrete", discrete)):
        monkeypatch.setitem(sys.modules, name, module)
    found = RELEASE.to_pgmpy()
    assert sorted(found.edges) == [("a", "b"), ("a", "c"), ("b", "c"), ("c", "age")]
    assert sorted(found.nodes) == sorted(MODEL.sizes)
    held = {entry[0]: entry for entry in found.cpds}
    want = RELEASE.conditional("c", ["b", "a"]).values
    assert held["c"][2:] == (["b", "a"], [2, 3], {"c": ["lo", "mid", "hi"], "b": [False, True], "a": ["x", "y", "z"]})
    assert np.allclose(held["c"][1][:, 1 * 3 + 2], want[1, 2])


def test_draws_of_another_shape_are_not_read():
    broken = Draws(np.zeros((1, 1, 3)), ("p", "q", "r"))
    with pytest.raises((ArgumentError, ValueError, IndexError)):
        tables.read(broken, RELEASE.plan, RELEASE.schema)
