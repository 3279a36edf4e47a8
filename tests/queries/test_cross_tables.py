"""Questions to released cross tables, histograms and networks: estimates and intervals from their noisy counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.queries import plan_notes
from sfumato.queries.statistics.count_laws import Noisy, row_law, share_law

SCHEMA = sf.Schema(
    {
        "region": sf.Category(["north", "south", "west"], missing="north"),
        "smoker": sf.Boolean(missing=False),
        "age": sf.Number(0, 90, integer=True),
    },
    name="survey",
)
N = 3000


def rows():
    rng = np.random.default_rng(4)
    region = rng.choice(["north", "south", "west"], N, p=[0.6, 0.3, 0.1])
    smoker = rng.random(N) < np.where(region == "north", 0.2, 0.35)
    return {"region": region, "smoker": smoker, "age": np.clip(rng.normal(45, 18, N), 0, 90)}


def published(model, seed=2, **how):
    schema = SCHEMA.only(model.columns(SCHEMA))
    table = {name: cells for name, cells in rows().items() if name in schema.columns}
    data = sf.Dataset.from_table(table, schema=schema)
    price = {"epsilon": 1.0, "delta": 1e-6} | how
    return sf.publish(sf.plan(model, N, **price), data, randomness=sf.seeded(seed))


CROSS = published(sf.families.CrossTable.from_schema(SCHEMA, ["region", "smoker", "age"], {"age": [0, 30, 60, 90]}))
DECLARED = sf.families.CrossTable.from_schema(SCHEMA, ["region", "smoker"], alpha=2.0)
HISTOGRAM = published(sf.families.Histogram(0, 90, width=15, integer=True))
NETWORK_MODEL = sf.networks.BayesianNetwork.from_schema(
    SCHEMA, {"region": [], "smoker": ["region"], "age": ["smoker"]}, bins={"age": [0, 30, 60, 90]}
)
NETWORK = published(NETWORK_MODEL, mechanism="noisy-statistics")


def variance(release, model):
    return (release.plan["parameters"]["noise"] * model.sensitivity) ** 2


def test_a_cell_margin_and_row_are_read_from_sums_of_noisy_counts():
    totals = CROSS.draws.totals.reshape(3, 2, 3)
    each = variance(CROSS, sf.families.DirichletCategorical(["a", "b"]))
    cell = share_law(Noisy(totals[1, 0, 2], each), Noisy(totals.sum() - totals[1, 0, 2], 17 * each), N)
    shares = CROSS.cross_table()
    assert shares.interval(("south", False, "[60, 90]")) == pytest.approx(cell.share_ends(0.9))
    assert shares[("south", False, "[60, 90]")] == pytest.approx(cell.share_median())
    margin = share_law(Noisy(totals[1].sum(), 6 * each), Noisy(totals[[0, 2]].sum(), 12 * each), N)
    assert CROSS.marginal("region", interval=0.8).interval("south") == pytest.approx(margin.share_ends(0.8))
    own, rest = totals[1, 1].sum(), totals[1, 0].sum()
    row = row_law(Noisy(own, 3 * each), Noisy(rest, 3 * each), Noisy(totals[[0, 2]].sum(), 12 * each), N)
    given = CROSS.conditional("smoker", "region", interval=0.9)
    assert given.interval(("south", True)) == pytest.approx(row.share_ends(0.9))
    alone = CROSS.conditional("smoker", {"region": "south"}, interval=0.9)
    assert alone.interval(True) == given.interval(("south", True))
    assert alone.columns == ("smoker",)


def test_intervals_hold_the_shares_of_the_rows_mostly_and_margins_are_wider_than_cells():
    table = rows()
    view = CROSS.cross_table("region", "smoker", of="counts", level=0.99)
    for region in ("north", "south", "west"):
        for smoker in (False, True):
            low, high = view.interval((region, smoker))
            assert low <= int(((table["region"] == region) & (table["smoker"] == smoker)).sum()) <= high
    cell = np.subtract(*CROSS.cross_table(of="counts").interval(("west", True, "[60, 90]")))
    margin = np.subtract(*CROSS.cross_table("region", "smoker", of="counts").interval(("west", True)))
    assert margin < cell < 0


@pytest.mark.parametrize("of", ["shares", "counts", "row shares", "column shares"])
def test_it_prints_as_a_table_and_converts(of):
    view = CROSS.cross_table("region", "smoker", of=of)
    lines = str(view).splitlines()
    assert lines[0].split()[:3] == ["region", "smoker=False", "smoker=True"]
    assert lines[1].split()[0] == "north"
    assert ("all" in lines[0]) == (of != "row shares")
    assert any(line.startswith("all") for line in lines) == (of != "column shares")
    assert "90 % intervals include the privacy noise" in lines[-1]
    assert ("need not add up to their margin" in lines[-1]) == (of in ("shares", "counts"))
    frame = view.to_pandas()
    assert list(frame.columns) == [
        "region",
        "smoker",
        "records" if of == "counts" else "share",
        "lower",
        "upper",
        "state",
    ]
    assert len(frame) == 6
    assert (frame["lower"] <= frame["upper"]).all()
    if of == "row shares":
        totals = frame.groupby("region")["share"].sum()
        assert totals.to_numpy() == pytest.approx(1, abs=1e-12)


def test_shares_have_intervals_unless_there_are_no_noisy_counts():
    np.testing.assert_array_equal(CROSS.marginal("smoker").values, CROSS.marginal("smoker", interval=0.9).values)
    np.testing.assert_array_equal(
        CROSS.conditional("smoker", "region").values, CROSS.conditional("smoker", "region", interval=0.5).values
    )
    bare = replace(CROSS, draws=replace(CROSS.draws, totals=None))
    drawn = CROSS.mean().reshape(3, 2, 3)
    np.testing.assert_allclose(bare.marginal("smoker").values, drawn.sum(axis=(0, 2)))
    np.testing.assert_allclose(bare.marginal(["age", "region"]).values, drawn.sum(axis=1).T)
    together = drawn.sum(axis=2)
    np.testing.assert_allclose(
        bare.conditional("smoker", "region").values, together / together.sum(axis=1, keepdims=True)
    )
    with pytest.raises(ArgumentError, match="without intervals"):
        bare.marginal("smoker").interval(True)


def test_a_declared_prior_is_used_in_every_sum_of_its_cells():
    release = published(DECLARED)
    each, totals = variance(release, DECLARED), release.draws.totals.reshape(3, 2)
    law = share_law(Noisy(totals[0].sum(), 2 * each), Noisy(totals[1:].sum(), 4 * each), N, (4.0, 8.0))
    assert release.marginal("region", interval=0.9).interval("north") == pytest.approx(law.share_ends(0.9))
    row = row_law(
        Noisy(totals[0, 1], each), Noisy(totals[0, 0], each), Noisy(totals[1:].sum(), 4 * each), N, (2.0, 2.0)
    )
    given = release.conditional("smoker", "region", interval=0.9).interval(("north", True))
    assert given == pytest.approx(row.share_ends(0.9))


def test_a_cross_table_without_noisy_counts_has_intervals_of_its_cells_alone():
    release = published(DECLARED, mechanism="diffused")
    low, high = release.interval()
    assert (low < high).all()
    with pytest.raises(ArgumentError, match="noisy-statistics"):
        release.cross_table()
    assert release.marginal("region").values.sum() == pytest.approx(1)
    assert "need mechanism" in str(sf.plan(DECLARED, N, 1.0, 1e-6, mechanism="diffused"))


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: CROSS.cross_table("region"), "at least two columns"),
        (lambda: CROSS.cross_table("region", "wrong"), "has the columns region, smoker, age"),
        (lambda: CROSS.cross_table("region", "region"), "none twice"),
        (lambda: CROSS.cross_table(of="rows"), "of must be"),
        (lambda: CROSS.cross_table(level=1.5), "level"),
        (lambda: CROSS.conditional("age", "age"), "given to itself"),
        (lambda: CROSS.conditional("age", {"region": "east"}), "has the levels"),
        (HISTOGRAM.cross_table, "another model"),
        (CROSS.histogram, "another model"),
        (lambda: HISTOGRAM.histogram("rows"), "of must be"),
        (lambda: HISTOGRAM.histogram()["[0, 1)"], "has the levels"),
        (lambda: NETWORK.marginal("region", interval=1.0), "interval"),
        (lambda: NETWORK.marginal(["region", "age"], interval=0.9), "no single table counts region, age together"),
    ],
)
def test_wrong_questions_are_refused_in_a_sentence(ask, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        ask()


def test_a_histogram_gives_counts_a_mean_and_quantiles_that_are_said_to_be_approximate():
    ages = np.rint(rows()["age"])
    view = HISTOGRAM.histogram("counts", 0.99)
    for place, label in enumerate(HISTOGRAM.labels):
        low, high = view.interval(label)
        top = 15 * (place + 1) if place < 5 else 91
        assert low <= ((ages >= 15 * place) & (ages < top)).sum() <= high
    shares = HISTOGRAM.histogram()
    np.testing.assert_allclose(shares.bins.lower, HISTOGRAM.interval()[0])
    assert "Shares of all 3,000 records" in str(shares)
    assert list(shares.to_pandas().columns) == ["bin", "from", "to", "share", "lower", "upper", "state"]
    low, mean, high = shares.mean().value
    middles = np.minimum(ages // 15, 5) * 15 + np.where(ages >= 75, 7.5, 7.0)
    assert low < middles.mean() < high
    assert low < mean < high
    assert abs(ages.mean() - mean) < shares.mean().error
    assert "approximation by bins" in str(shares.mean())
    for q in (0.1, 0.5, 0.9):
        low, value, high = shares.quantile(q).value
        assert low <= np.quantile(ages, q) <= high
        assert low <= value <= high
        assert "approximation by bins" in str(shares.quantile(q))


def test_the_quantile_of_a_histogram_lies_between_its_edges_as_often_as_it_says():
    """The edge that holds the median of the law; a reader who takes the noise of one bin for that of a sum is too sure."""
    model, rng, noise, n = sf.families.Histogram(0, 1, 25), np.random.default_rng(1), 60.0, 2000
    from sfumato.queries.histograms import HistogramView
    from sfumato.queries.shares_by_level import Shares

    inside, one_bin, sets = 0, 0, 40
    for _ in range(sets):
        x = rng.beta(2, 3, n)
        totals = np.histogram(x, model.edges)[0] + noise * rng.standard_normal(25)
        view = HistogramView(model, n, Shares((), (), np.empty(0)), totals, noise**2)
        low, _, high = view.quantile(0.5).value
        inside += low <= 0.38572756813239 <= high  # the median of Beta(2, 3)
        sure = HistogramView(model, n, Shares((), (), np.empty(0)), totals, noise**2 / 12)
        low, _, high = sure.quantile(0.5).value
        one_bin += low <= 0.38572756813239 <= high
    # P(fewer than 29 of 40 at 0.9) = 3e-4.
    assert inside >= 29
    assert one_bin < 29


def test_the_share_below_an_edge_adds_up_the_noise_of_its_bins():
    totals, each = HISTOGRAM.draws.totals, variance(HISTOGRAM, sf.families.DirichletCategorical(["a", "b"]))
    law = share_law(Noisy(totals[:4].sum(), 4 * each), Noisy(totals[4:].sum(), 2 * each), N)
    assert HISTOGRAM.histogram()._below(4).share_ends(0.9) == pytest.approx(law.share_ends(0.9), abs=1e-9)


def test_a_histogram_without_noisy_counts_has_shares_alone():
    release = published(sf.families.Histogram(0, 90, 3, integer=True), mechanism="diffused")
    assert (release.histogram().bins.lower < release.histogram().bins.upper).all()
    for ask in (
        lambda: release.histogram("counts"),
        release.histogram().mean,
        lambda: release.histogram().quantile(0.5),
    ):
        with pytest.raises(ArgumentError, match="noisy-statistics"):
            ask()


# --- networks --------------------------------------------------------------------------------------------------------


def test_a_network_joins_all_tables_that_hold_the_columns():
    each, totals = variance(NETWORK, NETWORK_MODEL), NETWORK.draws.totals
    region, smoker = totals[:3], totals[3:9].reshape(3, 2)
    own = Noisy(region[1], each).joined(Noisy(smoker[1].sum(), 2 * each))
    others = Noisy(region[[0, 2]].sum(), 2 * each).joined(Noisy(smoker[[0, 2]].sum(), 4 * each))
    law = share_law(own, others, N)
    shares = NETWORK.marginal("region", interval=0.9)
    assert shares.interval("south") == pytest.approx(law.share_ends(0.9))
    assert shares["south"] == pytest.approx(law.share_median())
    low, high = NETWORK.interval()
    assert (low[1], high[1]) == pytest.approx(law.share_ends(0.9))
    single = share_law(Noisy(region[1], each), Noisy(region[[0, 2]].sum(), 2 * each), N).share_ends(0.9)
    assert high[1] - low[1] < single[1] - single[0]


def test_conditional_rows_of_a_network_are_those_of_its_interval():
    low, high = NETWORK.interval()
    rows_of = NETWORK.conditional("smoker", "region", interval=0.9)
    np.testing.assert_allclose(rows_of.lower.ravel(), low[3:9])
    np.testing.assert_allclose(rows_of.upper.ravel(), high[3:9])
    one = NETWORK.conditional("smoker", {"region": "west"}, interval=0.9)
    np.testing.assert_allclose(one.lower, low[7:9])
    reverse = NETWORK.conditional("region", "smoker", interval=0.9)
    assert reverse.values.sum(axis=-1) == pytest.approx(1, abs=0.01)
    table = rows()
    share = ((table["region"] == "west") & table["smoker"]).sum() / (table["region"] == "west").sum()
    assert one.interval(True)[0] < share < one.interval(True)[1]


def test_a_readers_prior_replaces_the_reference_prior_of_a_network():
    strong = sf.networks.BayesianNetwork.from_schema(
        SCHEMA, dict(NETWORK_MODEL.parents), bins={"age": [0, 30, 60, 90]}, alpha=5000.0
    )
    low, high = NETWORK.interval(prior=strong)
    assert low[3] < 0.56
    assert high[3] - low[3] < 0.05
    assert NETWORK.interval()[0][3] > 0.7


@pytest.mark.parametrize("more", [{}, {"floor": 0.05}])
def test_a_network_without_intervals_says_so_before_anything_is_paid(more):
    levels = {"region": ["north", "south", "west"], "smoker": [False, True]}
    model = sf.networks.BayesianNetwork({"region": [], "smoker": ["region"]}, levels, **more)
    plan = sf.plan(model, N, mechanism="exact")
    (line,) = [line for line in str(plan).splitlines() if line.startswith("intervals")]
    assert "floor" in line if more else "noisy-statistics" in line
    table = {name: cells for name, cells in rows().items() if name != "age"}
    data = sf.Dataset.from_table(table, schema=SCHEMA.only(["region", "smoker"]))
    release = sf.publish(plan, data, randomness=sf.seeded(1))
    for ask in (release.interval, lambda: release.marginal("region", interval=0.9)):
        with pytest.raises(ArgumentError, match="floor" if more else "noisy-statistics"):
            ask()
    assert release.marginal("region").values.sum() == pytest.approx(1)
    noisy = sf.plan(NETWORK_MODEL, N, 1.0, 1e-6, mechanism="noisy-statistics")
    assert not any(line.startswith("intervals  none") for line in str(noisy).splitlines())


def test_chains_have_intervals_of_their_transitions():
    states, rng = ["u", "v", "w"], np.random.default_rng(2)
    steps = np.array(states)[rng.choice(3, (800, 4), p=[0.5, 0.3, 0.2])]
    whole = sf.networks.MarkovChain(states, record="trajectory", length=4)
    single, released = sf.networks.MarkovChain(states), {}
    for model, width in ((whole, 4), (single, 2)):
        schema = sf.Schema({f"t{k}": sf.Category(states, missing=states[0]) for k in range(width)}, name="walks")
        data = sf.Dataset.from_table({f"t{k}": steps[:, k] for k in range(width)}, schema=schema)
        plan = sf.plan(model, 800, 2.0, 1e-6, mechanism="noisy-statistics")
        release = released[model.record] = sf.publish(plan, data, randomness=sf.seeded(1))
        low, high = release.interval(0.99)
        truth = np.tile([0.5, 0.3, 0.2], len(low) // 3)
        assert ((low < truth) & (truth < high)).all()
    assert release.conditional("t1", {"t0": "u"}, interval=0.99).interval("u")[0] < 0.5
    with pytest.raises(ArgumentError, match=r"release\.interval"):
        released["trajectory"].marginal("t0", interval=0.9)


def test_trajectories_that_end_leave_the_number_of_transitions_open():
    """With an end the transitions are fewer than n times the steps: the rows' sizes are read from their own counts alone."""
    model = sf.networks.MarkovChain(["u", "v"], record="trajectory", length=3, end="x")
    totals = np.array([60.0, 30.0, 10.0, 40.0, 20.0, 5.0, 15.0, 10.0, 4.0])
    from sfumato.queries.statistics.protocol import Numbers, Released
    from sfumato.queries.statistics.table import reader_of

    released = Released(100, Numbers(1.0, 1.0, 2.0 / model.sensitivity), np.empty((0, 9)), totals)
    low, high = reader_of(model)(model, model, released)(0.9, True)
    law = row_law(Noisy(40.0, 4.0), Noisy(25.0, 8.0), Noisy(0.0, np.inf), 200)
    assert (low[3], high[3]) == pytest.approx(law.share_ends(0.9))


def test_the_plan_sets_a_cells_noise_beside_its_size():
    few = plan_notes.notes(DECLARED, 3000, "noisy-totals", 4.0)
    assert few[0][0] == "cells"
    assert "500 records on average" in few[0][1]
    assert "fewer" not in few[0][1]
    small = plan_notes.notes(DECLARED, 30, "noisy-totals", 4.0)
    assert "more than an average cell holds" in small[0][1]
    assert plan_notes.notes(sf.families.BetaBernoulli(1, 1), 30, "noisy-totals", 4.0) == []


def test_a_release_whose_counts_were_lost_is_refused():
    bare = Draws(CROSS.draws.values, CROSS.draws.labels)
    from sfumato.queries import cross_tables

    crossed = cross_tables.read(bare, CROSS.plan)
    with pytest.raises(ArgumentError, match="without noisy counts"):
        cross_tables.cross_table(crossed, ())


def test_a_group_below_the_size_that_the_plan_calls_too_small_has_an_interval_like_the_priors_own():
    """The prior alone has a 90 % interval of width 0.9; a group ten times as large has one of a quarter of it."""
    levels = ("large", "small")
    rates = sf.grouped(sf.families.BetaBernoulli(1, 1), "g", levels)
    schema = sf.Schema(
        {"g": sf.Category(levels, missing=levels[0]), "x": sf.Boolean(missing=False)}, target="x", name="groups"
    )
    table = {"g": ["large"] * 4000 + ["small"] * 8, "x": [True, False] * 2004}
    plan = sf.plan(rates, 4008, 0.2, 1e-7)
    assert "Groups of fewer than about" in str(plan)
    release = sf.publish(plan, sf.Dataset.from_table(table, schema=schema), randomness=sf.seeded(2))
    large, small = np.diff(release.interval(0.9), axis=0)[0]
    assert large < 0.1
    assert small > 0.5


def test_a_plan_of_a_network_names_the_columns_that_have_joint_intervals():
    levels = dict.fromkeys("xyz", ("a", "b"))
    chain = sf.networks.BayesianNetwork({"x": [], "y": ["x"], "z": ["y"]}, levels)
    ((head, text),) = plan_notes.notes(chain, 400, "noisy-totals", 4.0)
    assert head == "intervals"
    assert text == (
        "for columns that one table counts together: x, y; y, z. Other combinations get shares without intervals"
    )
    whole = sf.networks.BayesianNetwork({"x": [], "y": ["x"], "z": ["x", "y"]}, levels)
    assert plan_notes.notes(whole, 400, "noisy-totals", 4.0) == []
