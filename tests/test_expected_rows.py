"""The rows that a plan is tried on: every assumption is said, and every declared fact holds in the sketch."""

from __future__ import annotations

import ast
import math
import tomllib

import numpy as np
import pytest

import sfumato as sf
from sfumato.dataset import rows_of
from sfumato.errors import ArgumentError
from sfumato.rehearsing.declared_effects import factors_of, own_scores
from sfumato.rehearsing.declared_laws import counts
from sfumato.rehearsing.expected_rows import MOST_ROWS, ExpectedRows
from sfumato.rehearsing.fact_examples import example_of, in_python, in_toml

LEVELS = ["north", "south", "east"]
FEATURES = {
    "age": sf.Number(18, 90),
    "owner": sf.Boolean(missing=False),
    "region": sf.Category(LEVELS, missing=LEVELS[0]),
}
YES = sf.Schema({**FEATURES, "y": sf.Boolean(missing=False)}, target="y")
SIZES = sf.Schema({"age": sf.Number(18, 90), "size": sf.Number(0, 10), "y": sf.Number(0, 60)}, target="y")
AMOUNT = sf.Schema({**FEATURES, "y": sf.Number(0, 60)}, target="y")
N = 4_000


def model(schema, loss=sf.losses.Logistic):
    radius = math.hypot(schema.design().radius, 0.5) * (1 + 1e-12)
    return sf.Gibbs(loss(radius), sf.priors.Gaussian(1 / 25), schema.design().dimension + 1, 0.5)


def huber(radius):
    return sf.losses.Huber(radius, 60.0, 0.0, 60.0)


def poisson(radius):
    return sf.losses.ClippedPoisson(radius, 30.0, 60.0)


def drawn(schema, rows=None, loss=sf.losses.Logistic, n=N, **options):
    """The columns of a sketch, as they are stored."""
    expected = ExpectedRows(schema, rows, **options)
    (block,) = rows_of(expected.data(expected.columns(model(schema, loss), n))).blocks()
    return {name: np.asarray(block[name]) for name in block}


def test_without_facts_every_assumption_is_said_and_holds():
    assert ExpectedRows(YES).assumptions == [
        "age: uniform between 18 and 90",
        "owner: yes or no, half and half",
        "region: 3 levels, equally likely",
        "the columns are independent of each other",
        "y: yes or no, half and half; no column has an effect on it",
    ]
    columns = drawn(YES)
    # A quantile of 4,000 stratified uniform numbers is off by less than one stratum.
    assert np.abs(np.quantile(columns["age"], [0.1, 0.5, 0.9]) - [25.2, 54, 82.8]).max() < 72 / N
    assert columns["owner"].sum() == columns["y"].sum() == N / 2
    assert set(np.bincount(columns["region"])) <= {1333, 1334}
    # Independent columns: a correlation of N pairs has deviation 1/sqrt(N).
    for name in ("owner", "region", "y"):
        assert abs(np.corrcoef(columns["age"], columns[name])[0, 1]) < 4.5 / math.sqrt(N)


@pytest.mark.parametrize(("mean", "sd"), [(45, 12), (20, 1.5), (85, 15)])
def test_a_declared_number_has_its_mean_and_deviation(mean, sd):
    age = drawn(YES, {"age": {"mean": mean, "sd": sd}})["age"]
    assert age.mean() == pytest.approx(mean, rel=1e-3)
    assert age.std() == pytest.approx(sd, rel=2e-2)
    assert age.min() >= 18
    assert age.max() <= 90
    assert (
        f"age: mean {mean:g}, sd {sd:g} (a Beta law between 18 and 90)"
        in ExpectedRows(YES, {"age": {"mean": mean, "sd": sd}}).assumptions
    )


def test_declared_shares_are_exact_and_a_rare_level_is_there():
    columns = drawn(YES, {"region": {"north": 0.7, "east": 1e-6}, "owner": 0.2})
    assert np.bincount(columns["region"]).tolist() == [2_799, 1_200, 1]
    assert columns["owner"].sum() == 800
    whole = sf.Schema({"children": sf.Number(0, 9, integer=True), "y": sf.Boolean(missing=False)}, target="y")
    assert set(drawn(whole)["children"]) == set(range(10))


@pytest.mark.parametrize("correlation", [0.3, 0.9])
def test_a_declared_correlation_is_that_of_each_two_columns_and_leaves_each_as_it_was(correlation):
    facts = {"age": {"mean": 45, "sd": 12}, "owner": 0.2}
    apart, together = drawn(YES, facts), drawn(YES, {**facts, "correlation": correlation})
    for name in ("age", "owner", "region"):
        assert np.array_equal(np.sort(together[name]), np.sort(apart[name]))
    schema = sf.Schema({"a": sf.Number(0, 1), "b": sf.Number(0, 9), "y": sf.Boolean(missing=False)}, target="y")
    pair = drawn(schema, {"a": {"mean": 0.5, "sd": 0.1}, "b": {"mean": 4, "sd": 1}, "correlation": correlation})
    assert np.corrcoef(pair["a"], pair["b"])[0, 1] == pytest.approx(correlation, abs=0.05)
    said = ExpectedRows(YES, {"correlation": correlation}).assumptions
    assert f"each two columns have correlation {correlation:g}" in said
    vector = drawn(
        sf.Schema.vector(3, data_norm=2.0, target=sf.Category([-1, 1], missing=-1)), {"correlation": correlation}
    )["matrix"]
    assert np.linalg.norm(vector, axis=1) == pytest.approx(2.0)
    assert np.linalg.eigvalsh(vector.T @ vector)[-1] > (1 + 0.5 * correlation) * 4 * N / 3


def test_the_ends_of_a_linear_range_keep_what_was_declared():
    model = sf.regression("linear", SIZES)
    narrow, wide, said = ExpectedRows(SIZES, {"age": {"mean": 30, "sd": 2}}).ends(model)
    columns, close = wide.columns(model, N), narrow.columns(model, N)
    assert columns["age"].std() == pytest.approx(2, rel=0.02)
    assert close["age"].std() == pytest.approx(2, rel=0.02)
    assert columns["size"].std() == pytest.approx(10 / 15, rel=0.02)
    assert columns["size"].mean() == pytest.approx(5, rel=0.01)
    assert np.corrcoef(columns["age"], columns["size"])[0, 1] == pytest.approx(0.97, abs=0.02)
    assert "correlation 0.97" in said
    target = SIZES.columns[SIZES.target]
    width = target.upper - target.lower
    assert close[SIZES.target].std() == pytest.approx(width / 30, rel=0.02)
    errors = (columns[SIZES.target] - columns[SIZES.target].mean()) / columns[SIZES.target].std()
    assert np.mean(errors**3) > 1  # exp of normals, cut at the bounds; normal errors have 0
    assert abs(np.mean((close[SIZES.target] - close[SIZES.target].mean()) ** 3)) < 0.05 * close[SIZES.target].std() ** 3
    assert not ExpectedRows(SIZES).together_known
    assert ExpectedRows(SIZES, {"correlation": 0}).ends(model) is None


def test_a_declared_deviation_of_the_target_is_kept_at_both_ends():
    target = SIZES.columns[SIZES.target]
    sd = (target.upper - target.lower) / 12
    middle = (target.upper + target.lower) / 2
    model = sf.regression("linear", SIZES)
    for end in ExpectedRows(SIZES, {SIZES.target: {"mean": middle, "sd": sd}}).ends(model)[:2]:
        assert end.columns(model, N)[SIZES.target].std() == pytest.approx(
            sd, rel=0.12
        )  # a long tail is cut at the bounds


def test_undeclared_labels_have_half_of_the_rows_and_two_in_a_hundred():
    model = sf.regression("logistic", YES)
    narrow, wide, said = ExpectedRows(YES).ends(model)
    assert narrow.columns(model, N)["y"].mean() == pytest.approx(0.5, abs=1 / N)
    assert wide.columns(model, N)["y"].mean() == pytest.approx(0.02, abs=1 / N)
    assert "2 %" in said
    assert ExpectedRows(YES, {"y": 0.07}).ends(model) is None


@pytest.mark.parametrize("shares", [[1.0], [0.5, 0.5, 0.0], [1e-9] * 4 + [1 - 4e-9], [0.25] * 4])
@pytest.mark.parametrize("m", [1, 2, 7, 100])
def test_counts_add_up_and_no_share_is_lost(shares, m):
    given = counts(shares, m)
    assert given.sum() == m
    assert given.min() >= 0
    assert given[np.array(shares) == 0].sum() == 0
    if m > len(shares):
        assert given[np.array(shares) > 0].min() >= 1


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_labels_have_the_declared_share_and_follow_the_effects(share):
    effects = {"age": 0.05, "owner": -1.0, "region=south": 2.0}
    columns = drawn(YES, {"y": share, "effects": effects})
    assert abs(columns["y"].mean() - share) <= 1 / N
    scores = 0.05 * columns["age"] - 1.0 * columns["owner"] + 2.0 * (columns["region"] == 1)
    moves = np.linspace(-15, 15, 30_001)
    means = [(1 / (1 + np.exp(-scores - move))).mean() for move in moves]
    chances = 1 / (1 + np.exp(-scores - np.interp(share, means, moves)))
    # Upper half of the scores: the sum of N/2 labels is off by at most the square root of the sum of their variances.
    upper = scores > np.median(scores)
    deviation = math.sqrt((chances * (1 - chances))[upper].sum())
    assert abs(columns["y"][upper].sum() - chances[upper].sum()) < 4 * deviation
    assert chances[upper].sum() - share * upper.sum() > 6 * deviation


def test_powers_and_products_have_effects_in_any_order_of_factors():
    """Scores of hand-computed rows, and labels of the sketch that follow an effect which no column has alone."""
    columns = {"age": np.array([20.0, 50.0, 90.0]), "owner": np.array([0, 1, 1]), "region": np.array([1, 1, 2])}
    effects = {"age": 0.5, "age^2": 0.01, "owner:age": -0.1, "region=south:age^2": 0.001, "age:region=east:owner": 2.0}
    wanted = [10 + 4 + 0.4, 25 + 25 - 5 + 2.5, 45 + 81 - 9 + 180]
    assert own_scores(YES, columns, effects, 3) == pytest.approx(wanted)
    drawn_columns = drawn(AMOUNT, {"y": {"mean": 30, "sd": 2}, "effects": {"owner:region=east": 10.0}}, huber)
    both = (drawn_columns["owner"] == 1) & (drawn_columns["region"] == 2)
    gap = drawn_columns["y"][both].mean() - drawn_columns["y"][~both].mean()
    # A sixth of N rows have both: the mean of their labels has the larger deviation of the two.
    assert gap == pytest.approx(10.0, abs=4.5 * 2 / math.sqrt(both.sum()) * 1.1)


def test_names_with_colons_are_read_as_factors():
    schema = sf.Schema(
        {"a:b": sf.Number(0, 1), "c": sf.Category(["x", "y:z"], missing="x"), "y": sf.Boolean(missing=False)},
        target="y",
    )
    assert factors_of(schema, "c=y:z:a:b^3") == (("c", 1, 1), ("a:b", 3, None))
    assert ExpectedRows(schema, {"effects": {"a:b:c=y:z": 1.0}}).assumptions[-1].endswith("a:b:c=y:z 1")


def test_levels_that_are_whole_numbers_can_be_declared_as_texts():
    """A spec file has no other keys."""
    schema = sf.Schema({"ward": sf.Category([1, 2, 3], missing=1), "y": sf.Boolean(missing=False)}, target="y")
    assert ExpectedRows(schema, {"ward": {"1": 0.5, 2: 0.4}}).assumptions[0] == "ward: 1 50 %, 2 40 %, 3 10 %"


@pytest.mark.parametrize("bounds", [(18, 90), (1e6, 1e6 + 1), (-3e-7, 1e-9), (0, 1e12), (-1e300, 1e300)])
def test_example_facts_can_be_declared(bounds):
    schema = sf.Schema({"x": sf.Number(*bounds), "y": sf.Number(*bounds)}, target="y")
    fact = example_of(schema.columns["x"])
    assert ExpectedRows(schema, {"x": fact, "y": fact}).assumptions[0].startswith("x: mean ")
    assert tomllib.loads(f"x = {in_toml(fact)}")["x"] == fact
    assert ast.literal_eval(in_python(fact)) == fact


def test_numbers_as_labels_have_their_mean_and_deviation_about_the_model():
    facts = {"y": {"mean": 25, "sd": 4}, "effects": {"age": 0.1}}
    columns = drawn(AMOUNT, facts, huber)
    assert columns["y"].mean() == pytest.approx(25, abs=4.5 * 4 / math.sqrt(N))
    slope, constant = np.polyfit(columns["age"], columns["y"], 1)
    assert slope == pytest.approx(0.1, abs=4.5 * 4 / math.sqrt(N) / columns["age"].std())
    assert (columns["y"] - slope * columns["age"] - constant).std() == pytest.approx(4, rel=0.02)
    default = drawn(AMOUNT, None, huber)["y"]
    assert default.mean() == pytest.approx(30, abs=0.1)
    assert default.std() == pytest.approx(10, rel=0.02)
    assert "y: mean 30, deviation 10 about the model; no column has an effect on it" in ExpectedRows(AMOUNT).assumptions


def test_counts_have_their_mean():
    rows = ExpectedRows(AMOUNT, {"y": {"mean": 3}, "effects": {"age": 0.02}})
    block = rows.columns(model(AMOUNT, poisson), N)
    # The mean of N counts of mean 3 about a log-linear model of deviation .42: at most 4.5 deviations off.
    assert np.asarray(block["y"]).mean() == pytest.approx(3, abs=4.5 * 2 / math.sqrt(N))
    assert rows.assumed(model(AMOUNT, poisson))[-1] == "y: mean 3, counts of a Poisson law; effects on it: age 0.02"


TABLE = {
    "age": [20.0, 30.0, 40.0],
    "owner": [True, False, True],
    "region": ["east", "north", "east"],
    "y": [True, True, False],
}


def test_public_rows_are_repeated_equally_with_their_labels():
    columns = drawn(YES, TABLE, n=300)
    rows = sorted(zip(columns["age"], columns["owner"], columns["region"], columns["y"], strict=True))
    assert rows == sorted([(20.0, 1, 2, 1), (30.0, 0, 0, 1), (40.0, 1, 2, 0)] * 100)
    assert ExpectedRows(YES, TABLE).assumptions == ["as in 3 public rows, labels included"]
    many = {name: cells * 10_000 for name, cells in TABLE.items()}
    assert len(drawn(YES, many, n=50)["age"]) == 50
    assert len(drawn(YES, many, n=MOST_ROWS)["age"]) == MOST_ROWS


def test_public_rows_without_labels_get_labels_of_the_model():
    unlabelled = {name: cells for name, cells in TABLE.items() if name != "y"}
    assert drawn(YES, unlabelled, n=300, label=0.1)["y"].sum() == 30
    said = ExpectedRows(YES, unlabelled, label=0.1).assumptions
    assert said[0] == "as in 3 public rows, without labels"
    assert said[1].startswith("y: no 90 %, yes 10 %")


def test_a_vector_has_rows_on_its_sphere_or_public_ones():
    schema = sf.Schema.vector(3, data_norm=2.0, target=sf.Category([-1, 1], missing=-1))
    matrix = drawn(schema)["matrix"]
    assert np.linalg.norm(matrix, axis=1) == pytest.approx(2.0)
    assert np.abs(matrix.mean(axis=0)).max() < 4.5 * 2 / math.sqrt(3 * N)
    public = np.arange(12.0).reshape(4, 3) / 10
    assert np.unique(drawn(schema, public)["matrix"], axis=0) == pytest.approx(public)
    labelled = drawn(schema, (public, [-1, -1, -1, 1]))
    assert np.bincount(labelled[schema.target]).tolist() == [3_000, 1_000]


def test_the_same_facts_give_the_same_rows():
    first, second = drawn(YES, {"y": 0.3}), drawn(YES, {"y": 0.3})
    assert all(np.array_equal(first[name], second[name]) for name in first)


REFUSED = {
    "an unknown column": ({"income": 0.5}, "age, owner, region, y, effects, correlation"),
    "a number without sd": ({"age": {"mean": 40}}, '{"mean": 54, "sd": 12}. Got {\'mean\': 40}.'),
    "a number as a share": ({"age": 0.5}, '"mean": 54'),
    "a mean outside": ({"age": {"mean": 95, "sd": 1}}, "between its bounds 18 and 90"),
    "a deviation too large": ({"age": {"mean": 45, "sd": 40}}, "allows sd below 34.86"),
    "a share above 1": ({"owner": 5}, "0.05 for 5 %"),
    "shares above 1": ({"region": {"north": 0.7, "south": 0.4}}, "they add up to 1.1"),
    "shares below 1": ({"region": {"north": 0.7, "south": 0.1, "east": 0.1}}, "they add up to 0.9"),
    "an unknown level": ({"region": {"west": 0.7}}, "'north', 'south', 'east'"),
    "one share of three levels": ({"region": 0.7}, '{"north": 0.6}'),
    "the effect of the first level": ({"effects": {"region=north": 1.0}}, "column=level"),
    "effects that are none": ({"effects": 3}, 'effects must be declared by name, such as {"age": 0.014}. Got 3.'),
    "the effect of a level in a product": ({"effects": {"age:region=north": 1.0}}, "column=level"),
    "a power of a yes or no": (
        {"effects": {"owner^2": 1.0}},
        "age, owner, region=south, region=east, of powers such as age^2, of products such as age:owner; got 'owner^2'",
    ),
    "a power too high": ({"effects": {"age^6": 1.0}}, "of powers such as age^2"),
    "a column twice": ({"effects": {"age:age^2": 1.0}}, "has a column twice"),
    "two levels of a column": ({"effects": {"region=south:region=east": 1.0}}, "has a column twice"),
    "an effect by two names": ({"effects": {"age:owner": 1.0, "owner:age": 2.0}}, "the same effect; declare it once"),
    "a correlation of 1": ({"correlation": 1.0}, "correlation must be at least 0 and below 1; got 1."),
    "a negative correlation": ({"correlation": -0.2}, "correlation must be at least 0 and below 1; got -0.2."),
    "a label above 1": ({"y": 1.5}, "between 0 and 1"),
}


@pytest.mark.parametrize(("facts", "said"), REFUSED.values(), ids=REFUSED)
def test_impossible_facts_are_refused_with_what_to_write(facts, said):
    with pytest.raises(ArgumentError) as refusal:
        ExpectedRows(YES, facts)
    assert said in str(refusal.value)


def test_a_number_label_and_other_rows_are_checked_too():
    with pytest.raises(ArgumentError, match="below half the width"):
        ExpectedRows(AMOUNT, {"y": {"mean": 30, "sd": 31}})
    with pytest.raises(ArgumentError, match="a Dataset holds private ones"):
        ExpectedRows(YES, sf.Dataset.from_table(TABLE, schema=YES))
    with pytest.raises(ArgumentError, match="lacks column 'age'"):
        ExpectedRows(YES, {"owner": [True], "region": ["east"], "y": [True]})
    with pytest.raises(ArgumentError, match="declared for schema"):
        ExpectedRows.of(AMOUNT, ExpectedRows(YES))
    with pytest.raises(ArgumentError, match=r"must be a sf\.Schema"):
        ExpectedRows("table.csv")
