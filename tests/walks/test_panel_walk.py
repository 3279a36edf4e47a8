"""A panel with dates, missing codes and labels, walked from its file to its releases as a new user would."""

import csv
import datetime

import numpy as np
import pytest

import sfumato as sf
from command_line import typed
from sfumato.errors import ArgumentError
from sfumato.queries import summary
from sfumato.shells.report import page

N = 600
FIRST = datetime.date(2021, 1, 1)
SCHEMA = """
sfumato = "schema"
version = 2
name = "panel"
unit = "person"

[table]
separator = "\\t"
missing_codes = [-9, -8]

[columns.interview]
type = "date"
lower = 2021-01-01
upper = 2022-12-31
format = "%d.%m.%Y"

[columns.trust]
type = "category"
levels = [1, 2, 3, 4, 5]
missing = 3
missing_codes = [99]

[columns.income]
type = "number"
lower = 0
upper = 100000
missing = 0
missing_codes = [9999999]

[columns.ill]
type = "boolean"
missing = false

[columns.region]
type = "category"
levels = [10, 20, 41]
missing = 10
reference = 20

[columns.born]
type = "number"
lower = 1930
upper = 2006
integer = true
"""
SPEC = """
[data]
file = "panel.csv"
schema = "panel.toml"

[model]
{model}

[price]
epsilon = 1.0
delta = 1e-7
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The table with its schema: tabs, German dates, codes for no answer, 1 and 2 for yes and no."""
    made = tmp_path_factory.mktemp("panel")
    rng = np.random.default_rng(5)
    names = ["id", "interview", "trust", "income", "ill", "region", "born", "comment"]
    with (made / "panel.csv").open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(names)
        for person in range(N):
            day = FIRST + datetime.timedelta(days=int(rng.integers(0, 729)))
            trust, income = rng.choice([1, 2, 3, 4, 5, -9, 99]), rng.choice([int(rng.lognormal(10, 0.5)), 9999999])
            region, born = rng.choice([10, 20, 41]), int(rng.integers(1930, 2007))
            ill = 1 if rng.random() < (2010 - born) / 120 else 2
            writer.writerow([person, day.strftime("%d.%m.%Y"), trust, income, ill, region, born, 'said "no"'])
    (made / "panel.toml").write_text(SCHEMA)
    return made


@pytest.fixture
def command(monkeypatch, capsys):
    """The command line: exit code, standard output and standard error."""
    return lambda *words: typed(monkeypatch, capsys, *words)


@pytest.fixture(scope="module")
def schema(folder):
    return sf.Schema.load(folder / "panel.toml")


def released(folder, schema, model, columns, **choices):
    """A release of a model of some columns, without a ledger."""
    plan = sf.plan(model, N, epsilon=3.0, delta=1e-6, **choices)
    return sf.publish(plan, sf.Dataset.from_table(folder / "panel.csv", schema=schema.only(columns)))


def test_every_cell_is_read_by_the_declared_rules(folder, schema):
    lines = str(schema.check(folder / "panel.csv", counts=True)).splitlines()
    counts = {line.split()[0]: line.split()[1:] for line in lines if line.split()[0] in schema.columns}
    assert counts["interview"] == ["0"] * 4
    assert sum(map(int, counts["trust"][:3])) > 0
    assert sum(map(int, counts["income"][:3])) > 0
    assert counts["born"] == ["0"] * 4


def test_bins_of_dates_are_given_and_shown_as_dates(folder, schema):
    days = {"interview": ["2021-01-01", datetime.date(2022, 1, 1), "2022-12-31"]}
    table = released(
        folder,
        schema,
        sf.families.CrossTable.from_schema(schema, ["region", "interview"], days),
        ["region", "interview"],
    )
    shares = table.marginal("interview", interval=0.9)
    assert shares.levels == (("[2021-01-01, 2022-01-01)", "[2022-01-01, 2022-12-31]"),)
    assert "interview=[2021-01-01, 2022-01-01)" in str(table.cross_table())
    with pytest.raises(ArgumentError, match=r"bins of column 'interview': Date: an edge of bins must be a date"):
        sf.families.CrossTable.from_schema(schema, ["region", "interview"], {"interview": ["01.01.2021", "2022-12-31"]})
    with pytest.raises(ArgumentError, match="column 'interview' is a Date: give its bins"):
        sf.families.CrossTable.from_schema(schema, ["region", "interview"])


def test_a_histogram_of_dates_speaks_in_dates(folder, schema):
    column = schema.columns["interview"]
    view = released(
        folder, schema, sf.families.Histogram(column.lower, column.upper, bins=4, integer=True), ["interview"]
    ).histogram()
    assert view.bins.levels[0][0] == "[2021-01-01, 2021-07-02)"
    assert view.bins.levels[0][-1].endswith(", 2022-12-31]")
    assert str(view.mean()).startswith("Mean about 202")
    assert " days, half the widest bin" in str(view.mean())
    assert " between the edges 202" in str(view.quantile(0.5))


def test_the_mean_of_years_is_shown_with_the_digits_of_its_interval(folder, schema):
    view = released(folder, schema, sf.families.Histogram(1930, 2006, width=10, integer=True), ["born"]).histogram()
    low, middle, high = view.mean().value
    assert f"Mean about {middle:.1f} (90 % interval {low:.1f} to {high:.1f})" in str(view.mean())


def test_a_network_gives_back_dates_codes_and_whole_years(folder, schema):
    parents = {"region": [], "interview": ["region"], "born": ["region"], "ill": ["born"]}
    network = sf.networks.BayesianNetwork.from_schema(schema, parents, bins={"interview": 4, "born": 6})
    edges = [edge for _, each in network.bins for edge in each]
    assert all(edge == round(edge) for edge in edges)
    release = released(folder, schema, network, list(parents), mechanism="noisy-statistics")
    assert release.marginal("interview", interval=0.9).levels[0][0].startswith("[2021-01-01, 2021-0")
    rows = release.synthesize(50, randomness=1)
    assert rows["born"].dtype == np.int64
    assert rows["born"].min() >= 1930
    assert rows["born"].max() <= 2006
    assert set(rows["region"]) <= {10, 20, 41}
    for text in rows["interview"]:
        assert FIRST <= datetime.datetime.strptime(text, "%d.%m.%Y").date() <= datetime.date(2022, 12, 31)


@pytest.mark.parametrize("bins", [5, "five", {"born": 0}, {"born": "five"}, {"born": 2.5}])
def test_wrong_bins_of_a_network_are_refused_in_a_sentence(schema, bins):
    with pytest.raises(ArgumentError, match=r"bins.* must be"):
        sf.networks.BayesianNetwork.from_schema(schema, {"born": [], "ill": ["born"]}, bins=bins)


@pytest.mark.parametrize("bins", [5, "five", {"born": 0}, {"born": "five"}, {"born": 2.5}])
def test_wrong_bins_of_a_cross_table_are_refused_in_a_sentence(schema, bins):
    with pytest.raises(ArgumentError, match=r"bins.* must be"):
        sf.families.CrossTable.from_schema(schema, ["born", "ill"], bins)


def test_releases_say_what_missing_cells_count_as_and_write_years_and_dates_as_such(folder, schema):
    columns = ["interview", "born", "region", "ill"]
    model = sf.regression("logistic", schema.only(columns).with_target("ill"))
    plan = sf.plan(model, N, epsilon=3.0, delta=1e-6, goal="estimate")
    data = sf.Dataset.from_table(folder / "panel.csv", schema=schema.only(columns).with_target("ill"))
    release = sf.publish(plan, data)
    text = str(release)
    assert "undeclared cells: interview as 2021-12-31, ill as no, region as 10, born as 1968." in text
    assert "interview to [2021-01-01, 2022-12-31] (counted in days since 1970-01-01: 18628 to 19357)" in text
    assert "born to [1930, 2006]" in str(release.summary())
    assert "Missing values: empty, unreadable or undeclared cells: interview as" in page(release)
    assert "interview, 2021-01-01 to 2022-12-31" in page(release)
    trust = released(folder, schema, sf.families.DirichletCategorical([1, 2, 3, 4, 5]), ["trust"])
    assert "undeclared cells: trust as 3." in str(trust)


@pytest.mark.parametrize(
    ("model", "lines"),
    [
        (
            'family = "BoundedMean"\ncolumn = "interview"',
            [
                "missing    empty, unreadable or undeclared cells: interview as 2021-12-31.",
            ],
        ),
        (
            'family = "Histogram"\ncolumn = "interview"\nbins = [2021-01-01, 2021-07-01, 2022-12-31]',
            ["bins       2 bins of 300 records on average"],
        ),
        (
            'regression = "logistic"\ntarget = "ill"\nfeatures = ["born"]',
            ["missing    empty, unreadable or undeclared cells: "],
        ),
    ],
)
def test_plans_on_the_command_line_say_what_the_schema_declares(folder, command, model, lines):
    (folder / "spec.toml").write_text(SPEC.format(model=model))
    code, out, _ = command("plan", str(folder / "spec.toml"))
    assert code == 0
    for line in lines:
        assert f"\n{line}" in out


def test_a_histogram_of_levels_names_the_family_for_them(folder, command):
    (folder / "wrong.toml").write_text(SPEC.format(model='family = "Histogram"\ncolumn = "trust"\nbins = 5'))
    code, _, said = command("plan", str(folder / "wrong.toml"))
    assert code == 2
    assert 'Write family = "DirichletCategorical" for the shares of its levels.' in said


def test_quantiles_and_means_of_a_date_are_shown_as_dates(folder, schema):
    column = schema.columns["interview"]
    for model in (
        sf.families.Quantiles.of(schema.only(["interview"]), [0.5]),
        sf.families.BoundedMean(column.lower, column.upper),
    ):
        release = released(folder, schema, model, ["interview"], goal="estimate")
        low, high = np.ravel(release.interval(0.9))
        assert f"{column.shown(low)} to {column.shown(high)}" in str(release.summary())
        assert f"{column.shown(low)} to {column.shown(high)}" in page(release)
    quantiles = released(
        folder, schema, sf.families.Quantiles.of(schema.only(["interview"]), [0.5]), ["interview"], goal="estimate"
    )
    assert " to 2022-" in str(quantiles.column_quantiles([0.9]))


def test_large_numbers_are_printed_in_full():
    assert summary.shown(103_696.3) == "103696"
    assert summary.shown(0.0123456) == "0.012346"
    assert summary.shown(1e15) == "1e+15"
