"""Histograms, cross tables and networks from spec to report: what is printed, and every wrong form in one line."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from command_line import CLINIC as SCHEMA
from command_line import typed

PRICE = '[data]\nfile = "clinic.csv"\nschema = "clinic.toml"\n\n[price]\nepsilon = 2.0\ndelta = 1e-6\n'


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    """A folder with a small table and its schema."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    columns = rng.choice(list("abc"), 400), rng.integers(0, 61, 400), rng.random(400) < 0.7
    lines = ["ward,stay,cured", *(",".join(map(str, row)) for row in zip(*columns, strict=True))]
    (tmp_path / "clinic.csv").write_text("\n".join(lines))
    (tmp_path / "clinic.toml").write_text(SCHEMA)
    return tmp_path


@pytest.fixture
def sfumato(monkeypatch, capsys):
    return lambda *words: typed(monkeypatch, capsys, *words)


def spec(folder, model, price=""):
    (folder / "table.toml").write_text(f"{PRICE}{price}\n[model]\n{model}\n")


def released(clinic, sfumato, model, price=""):
    spec(clinic, model, price)
    assert sfumato("release", "table.toml", "-o", "table.sfumato")[0] == 0


def test_a_cross_table_is_printed_with_its_margins(clinic, sfumato):
    released(clinic, sfumato, 'cross = ["ward", "cured"]')
    for of in ("shares", "counts", "row shares", "column shares"):
        code, out, _ = sfumato("query", "cross-table", "table.sfumato", "--of", of)
        assert code == 0
        head = out.splitlines()[0].split()
        assert head[0] == "ward"
        assert head[1:3] == ["cured=False", "cured=True"]
        assert "90 % intervals include the privacy noise" in out
    code, out, _ = sfumato("query", "cross-table", "table.sfumato", "--of", "counts", "--json")
    document = json.loads(out)
    assert code == 0
    assert len(document["rows"]) == len(document["levels"][0]) * len(document["levels"][1])
    assert all(row["lower"] <= row["records"] <= row["upper"] for row in document["rows"] if not row["state"])
    code, out, _ = sfumato("query", "cross-table", "table.sfumato", "--of", "counts", "--csv")
    assert out.splitlines()[0] == "ward,cured,records,lower,upper,state"
    assert len(out.splitlines()) == 1 + len(document["rows"])
    code, out, _ = sfumato("query", "conditional", "table.sfumato", "cured", "--given", "ward", "--interval", "0.8")
    assert code == 0
    assert "80 % interval" in out
    code, _, err = sfumato("query", "cross-table", "table.sfumato", "--of", "rows")
    assert code == 2
    assert "of must be" in err


def test_levels_of_a_condition_are_written_as_texts(clinic, sfumato):
    released(clinic, sfumato, 'cross = ["ward", "cured"]')
    code, out, _ = sfumato("query", "conditional", "table.sfumato", "ward", "--given", "cured=True", "--json")
    assert code == 0
    assert json.loads(out)["columns"] == ["ward"]
    code, _, err = sfumato("query", "conditional", "table.sfumato", "ward", "--given", "cured=perhaps")
    assert code == 2
    assert "has the levels" in err
    code, _, err = sfumato("query", "conditional", "table.sfumato", "ward", "--given", "cured=True", "--given", "ward")
    assert code == 2
    assert "got both" in err


def test_a_histogram_is_printed_with_quantiles_that_are_approximate(clinic, sfumato):
    released(clinic, sfumato, 'family = "Histogram"\ncolumn = "stay"\nbins = 4')
    code, out, _ = sfumato("query", "histogram", "table.sfumato", "--of", "counts", "--quantile", "0.5")
    assert code == 0
    assert "Records in the data" in out
    assert "approximation by bins" in out
    document = json.loads(sfumato("query", "histogram", "table.sfumato", "--json")[1])
    assert [row["bin"] for row in document["rows"]] == document["levels"][0]
    assert len(document["rows"]) == 4
    assert sfumato("query", "top", "table.sfumato", "--k", "2")[0] == 0


def test_the_report_shows_a_cross_table_as_a_table(clinic, sfumato):
    released(clinic, sfumato, 'cross = ["ward", "cured"]')
    assert sfumato("report", "table.sfumato", "-o", "table.html")[0] == 0
    page = (clinic / "table.html").read_text()
    assert "<h3>Shares within each row</h3>" in page
    assert "cured across" in page
    assert ">yes</th>" in page
    assert "a margin is known less exactly than one cell" in page


def test_a_network_without_intervals_is_said_so_by_its_plan(clinic, sfumato):
    spec(clinic, 'network = { ward = [], cured = ["ward"] }\nfloor = 0.01', 'mechanism = "noisy-statistics"\n')
    code, out, _ = sfumato("plan", "table.toml")
    assert code == 0
    assert "\nintervals  none." in out
    spec(clinic, 'network = { ward = [], cured = ["ward"] }', 'mechanism = "noisy-statistics"\n')
    assert "\nintervals" not in sfumato("plan", "table.toml")[1]
    released(clinic, sfumato, 'network = { ward = [], cured = ["ward"] }', 'mechanism = "noisy-statistics"\n')
    code, out, _ = sfumato("query", "marginal", "table.sfumato", "ward", "--interval", "0.9")
    assert code == 0
    assert "90 % interval" in out


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ('family = "Histogram"\ncolumn = "stay"\nbins = "ten"', "a whole number such as 10"),
        ('family = "Histogram"\ncolumn = "stay"\nbins = [9, 5]', "rising edges"),
        ('family = "Histogram"\ncolumn = "stay"\nwidth = 0', "greater than 0"),
        ('family = "Histogram"\ncolumn = "stay"\nwidth = 1e-9', "a whole width"),
        ('family = "Histogram"\ncolumn = "ward"', "is of a Number; 'ward' is a Category"),
        ('family = "Histogram"\ncolumn = "cured"', "is of a Number; 'cured' is a Boolean"),
        ('family = "DirichletCategorical"\ncolumn = "stay"\nbins = 8', 'write family = "Histogram"'),
        ('family = "CrossTable"', "without family"),
        ('cross = "ward"', "a list of columns"),
        ('cross = ["ward"]', "at least two columns"),
        ('cross = ["ward", "stay"]', "'stay' is a Number: give its bins"),
        ('cross = ["ward", "stay"]\nbins = 5', "must be a table"),
        ('cross = ["ward", "stay"]\nbins = { stay = "x" }', "bins of column 'stay'"),
        ('cross = ["ward", "nobody"]', "has the columns"),
        ('cross = ["ward", "cured"]\nby = "ward"', "keys bins, alpha"),
        ('cross = ["ward", "cured"]\nfamily = "Histogram"', "exactly one of"),
    ],
)
def test_every_wrong_form_is_one_line_that_names_the_file(clinic, sfumato, model, sentence):
    spec(clinic, model)
    code, _, err = sfumato("plan", "table.toml")
    assert code == 2
    assert sentence in err
    assert "table.toml" in err
    assert len(err.strip().splitlines()) == 1


def test_the_report_of_a_network_has_a_table_for_every_column_and_says_how_to_ask_for_long_ones(clinic, sfumato):
    released(clinic, sfumato, 'bins = { stay = 20 }\n\n[model.network]\nward = []\nstay = ["ward"]\ncured = ["ward"]')
    assert sfumato("report", "table.sfumato", "-o", "table.html")[0] == 0
    text = (clinic / "table.html").read_text()
    for column in ("ward", "stay", "cured"):
        head = f'<th scope="col">{column}</th><th scope="col" class="number">share</th>'
        assert f'{head}<th scope="col" class="number">90 % interval</th>' in text
    assert "<summary>cured, given ward</summary>" in text
    assert '<th scope="row">c</th>' in text
    assert "sfumato query conditional FILE stay --given ward --interval 0.9" in text  # 60 lines
    code, out, _ = sfumato("query", "conditional", "table.sfumato", "stay", "--given", "ward", "--interval", "0.9")
    assert code == 0
    assert len(out.split("\n\n")[0].splitlines()) == 61


def test_whole_numbers_of_a_synthetic_table_are_written_as_whole_numbers(clinic, sfumato):
    released(clinic, sfumato, "bins = { stay = 3 }\n\n[model.network]\nstay = []")
    lines = sfumato("query", "synthesize", "table.sfumato", "--rows", "20")[1].split()
    assert all(line.isdecimal() and int(line) <= 60 for line in lines[1:])
    assert len(lines) == 21


def test_bins_of_a_network_that_are_no_number_are_shown(clinic, sfumato):
    spec(clinic, 'bins = { stay = "ten" }\n\n[model.network]\nstay = []')
    code, _, err = sfumato("plan", "table.toml")
    assert (code, "such as bins = { age = 10 }; got 'ten'." in err) == (2, True)


def test_the_quantile_of_a_histogram_is_that_of_the_column(clinic, sfumato):
    released(clinic, sfumato, 'family = "Histogram"\ncolumn = "stay"\nbins = 6')
    code, out, _ = sfumato("query", "quantile", "table.sfumato", "--at", "0.5")
    assert code == 0
    assert re.match(r"0\.5-quantile about \d", out)
    code, out, _ = sfumato("query", "quantile", "table.sfumato", "--at", "0.5", "--json")
    low, middle, high = json.loads(out)["value"]
    assert low <= middle <= high


def test_the_largest_categories_have_the_estimates_of_all_commands(clinic, sfumato):
    released(clinic, sfumato, 'family = "DirichletCategorical"\ncolumn = "ward"')
    shown = sfumato("query", "top", "table.sfumato", "--k", "2")[1]
    rows = json.loads(sfumato("query", "mean", "table.sfumato", "--json")[1])
    first, second = sorted(rows, key=lambda name: -rows[name]["estimate"])[:2]
    assert shown.startswith(f"{first} {rows[first]['estimate']:.4g} (")
    assert f", {second} {rows[second]['estimate']:.4g} (" in shown
