"""A table with semicolons, decimal commas, heavy tails and rare levels: from its code book to the report, by commands alone."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

import sfumato as sf
from command_line import typed
from sfumato.errors import LedgerExhausted
from sfumato.rehearsing import expected_widths

N = 600
REGIONS = ("Nord", "Süd", "Österreich")
GOODS = ("Büro", "Möbel", "Köhlerei", "Orgelbau")
BOOK = """\
Variable;Description;Type;Min;Max;Values;Missing values;Format
Kunde;Name of the customer;text;;;;;
Betrag netto;Amount in euros, refunds negative;number;;;;;
Alter;Age in years;integer;18;99;;k.A.;
Warengruppe;Goods;category;;;Büro|Möbel|Köhlerei|Orgelbau;;
Region;Region;category;;;Nord|Süd|Österreich;;
bezahlt;Paid;category;;;nein|ja;k.A.;
Datum;Date;date;01.01.2023;31.12.2024;;;DD.MM.YYYY
"""
# The whole budget, and the price of one question.
BUDGET, PRICE = 20, 1.5
MODELS = {
    "ages": 'family = "Histogram"\ncolumn = "Alter"\nbins = 4',
    "amounts": 'family = "Quantiles"\ncolumn = "Betrag netto"\nlevels = [0.5, 0.9]',
    "mean": 'family = "BoundedMean"\ncolumn = "Betrag netto"',
    "means": 'family = "BoundedMean"\ncolumn = "Betrag netto"\nby = "Region"',
    "rates": 'family = "DirichletCategorical"\ncolumn = "bezahlt"\nby = "Warengruppe"',
    "cross": 'cross = ["Region", "bezahlt"]',
    "network": '[model.network]\nRegion = []\nbezahlt = ["Region"]\nWarengruppe = ["Region"]',
    "logistic": 'regression = "logistic"\ntarget = "bezahlt"\nfeatures = ["Alter", "Region"]',
}


def german(number):
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


@pytest.fixture(autouse=True)
def two_runs(monkeypatch):
    """Two runs behind every expected width; widths are tested elsewhere."""
    module = sys.modules[expected_widths.__module__]
    monkeypatch.setattr(module, "_FEWEST", 2)
    monkeypatch.setattr(module, "_MOST", 2)


@pytest.fixture
def office(tmp_path, monkeypatch):
    """The folder with the table and its code book, both as Windows writes them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(19)
    lines = ['"Kunde";"Betrag netto";Alter;Warengruppe;Region;"bezahlt";Datum']
    for place in range(N):
        amount = rng.lognormal(4, 2.5) * rng.choice([1, -0.3], p=[0.95, 0.05])
        cells = [
            f'"Müller; {place}"',
            german(amount) if rng.random() > 0.02 else "",
            rng.choice([str(rng.integers(18, 95)), "k.A."], p=[0.97, 0.03]),
            GOODS[2 + place] if place < 2 else GOODS[rng.integers(2)],
            rng.choice(REGIONS, p=[0.5, 0.4, 0.1]),
            rng.choice(["ja", "nein", "k.A."], p=[0.3, 0.68, 0.02]),
            f"{rng.integers(1, 29):02}.{rng.integers(1, 13):02}.{rng.integers(2023, 2025)}",
        ]
        lines.append(";".join(cells))
    (tmp_path / "invoices.csv").write_text("\n".join(lines) + "\n", encoding="cp1252")
    (tmp_path / "book.csv").write_text(BOOK, encoding="cp1252")
    return tmp_path


@pytest.fixture
def done(monkeypatch, capsys):
    """What a command prints; it must succeed."""

    def run(*words):
        code, out, err = typed(monkeypatch, capsys, *words)
        assert code == 0, err
        return out

    return run


@pytest.fixture
def refused(monkeypatch, capsys):
    """The one line with which a command is refused."""

    def run(*words):
        code, _, err = typed(monkeypatch, capsys, *words)
        assert code in (2, 3)
        (line,) = err.strip().splitlines()
        assert "fault of Sfumato" not in line
        return line

    return run


def schema_of(office, done):
    """The drafted schema, filled in as a user does who knows no bounds of the amounts."""
    done("schema", "draft", "book.csv", "-o", "draft.toml")
    text = (office / "draft.toml").read_text()
    text = re.sub(r"\[columns\.Kunde\].*?\n\n", "", text, flags=re.DOTALL)
    text = text.replace('lower = "REQUIRED"', "lower = -1e9").replace('upper = "REQUIRED"', "upper = 1e9")
    text = re.sub(r'levels = \[("\w+")(.*)\nmissing = "REQUIRED"', r"levels = [\1\2\nmissing = \1", text)
    text = text.replace('name = "data"', 'name = "invoices"').replace('unit = "row"', 'unit = "customer"')
    for fact in ("separator", "encoding", "decimal", "thousands"):
        text = text.replace(f"# {fact} =", f"{fact} =")
    (office / "invoices.toml").write_text(text.replace("\r", ""))


def spec(office, name, model, schema="bounded.toml", request=None, epsilon=PRICE):
    named = 'mechanism = "noisy-statistics"\n' if name == "network" else ""  # planned in less time than "auto"
    (office / f"{name}.toml").write_text(
        f'[data]\nfile = "invoices.csv"\nschema = "{schema}"\n\n[price]\nepsilon = {epsilon}\ndelta = 1e-7\n{named}\n'
        f'[ledger]\nfile = "budget.db"\nname = "invoices"\nrequest = "{request or name}"\n\n[model]\n{model}\n'
    )


def with_bounds(office, done):
    """The schema with private bounds of the amounts, paid from a new ledger."""
    schema_of(office, done)
    done("ledger", "create", "budget.db")
    done("ledger", "register", "budget.db", "invoices", "--epsilon", BUDGET, "--delta", "1e-6", "--unit", "customer")
    spec(office, "wide", MODELS["mean"], "invoices.toml")
    assert "Nothing was spent" in done("bounds", "wide.toml", "--epsilon", 2, "--levels", "0.05,0.95")
    done("bounds", "wide.toml", "--epsilon", 2, "--levels", "0.05,0.95", "--yes", "-o", "bounded.toml")


def test_the_walk_from_the_code_book_to_the_report(office, done, refused):
    with_bounds(office, done)
    done("schema", "check", "bounded.toml", "invoices.csv")
    for name, model in MODELS.items():
        spec(office, name, model)
        planned = done("plan", f"{name}.toml")
        assert re.search(r"ledger     of 'invoices' epsilon [\d.]+ is left .* would be left after this charge", planned)
        done("release", f"{name}.toml", "-o", f"{name}.sfumato")
        assert "90 %" in done("query", "summary", f"{name}.sfumato") or name == "logistic"
        assert "verified" in done("show", f"{name}.sfumato", "--verify", "--ledger", "budget.db")
        done("report", f"{name}.sfumato", "-o", f"{name}.html", "--ledger", "budget.db")
        assert (office / f"{name}.html").read_text().startswith("<!doctype html>")
    assert "are counted in the first bin" in done("query", "histogram", "ages.sfumato")
    assert "25 % quantile" in done("query", "quantile", "amounts.sfumato", "--at", 0.25)
    assert "clipped to [" in done("query", "interval", "mean.sfumato")
    assert "Groups of fewer than about" in done("plan", "rates.toml")
    shown = done("query", "summary", "rates.sfumato").splitlines()
    assert sum("Köhlerei" in line for line in shown) == 2  # one interval for each level
    assert "90 % intervals" in done("query", "cross-table", "cross.sfumato", "--of", "row shares")
    assert "Region with Süd" in done("query", "summary", "logistic.sfumato", "--reference", "Region=Süd")
    # What a question refuses was said by the plan.
    assert "no interval" in refused("query", "marginal", "network.sfumato", "bezahlt", "Warengruppe", "--interval", 0.9)
    assert "Other combinations get shares without intervals" in done("plan", "network.toml")
    assert done("query", "synthesize", "network.sfumato", "--rows", 5).count("\n") == 6
    assert "all as they were written" in done("ledger", "verify", "budget.db")


def test_the_ledger_refuses_and_the_plan_says_so_before(office, done, refused):
    with_bounds(office, done)
    spec(office, "mean", MODELS["mean"])
    done("release", "mean.toml", "-o", "mean.sfumato")
    assert "comes back and costs nothing more" in done("plan", "mean.toml")
    spec(office, "again", MODELS["cross"], request="mean")
    assert "'mean' was already used for another plan" in done("plan", "again.toml")
    assert "already used" in refused("release", "again.toml", "-o", "again.sfumato")
    spec(office, "dear", MODELS["cross"], epsilon=2 * BUDGET)
    assert "the charge does not fit" in done("plan", "dear.toml")
    assert "the charge does not fit" in refused("release", "dear.toml", "-o", "dear.sfumato")
    assert "is there already" in refused("release", "mean.toml", "-o", "mean.sfumato")


def test_wrong_uses_are_refused_in_one_line(office, done, refused):
    schema_of(office, done)
    plain = (office / "invoices.toml").read_text()
    (office / "commas.toml").write_text(re.sub("(?m)^(separator|decimal|thousands) = ", r"# \1 = ", plain))
    assert 'Write separator = ";"' in refused("schema", "check", "commas.toml", "invoices.csv")
    (office / "turned.toml").write_text(plain.replace("lower = 18.0\nupper = 99.0", "lower = 99.0\nupper = 18.0"))
    assert "'Alter'" in refused("schema", "check", "turned.toml", "invoices.csv")
    wrong = {
        'family = "Histogram"\ncolumn = "Alter"\nbins = "ten"': "bins must be a whole number",
        'family = "DirichletCategorical"\ncolumn = "bezahlt"\nby = "Alter"': "'Alter' is a Number",
        'family = "BetaBernoulli"\ncolumn = "bezahlt"': 'a category. For a category write family = "DirichletCategorical"',
        'family = "BetaBernoulli"\ncolumn = "bezahlt"\nby = "Region"': 'write family = "DirichletCategorical"',
        'family = "BetaBernoulli"\ncolumn = "Alter"': '"BoundedMean" or family = "Quantiles" or family = "Histogram"',
    }
    for model, said in wrong.items():
        spec(office, "wrong", model, "invoices.toml")
        assert said in refused("plan", "wrong.toml")
    assert "Did you mean 'bezahlt'?" in refused("spec", "--schema", "invoices.toml", "--column", "bezalt")
    for column, family in (("Betrag netto", "BoundedMean"), ("Region", "DirichletCategorical")):
        assert f'family = "{family}"' in done("spec", "--schema", "invoices.toml", "--column", column)


def test_the_same_in_python(office, done):
    with_bounds(office, done)
    schema = sf.Schema.load("bounded.toml")
    ledger = sf.Ledger.open("budget.db")
    ledger.register("invoices", epsilon=BUDGET, delta=1e-6, unit="customer")
    rates = schema.only(["Region", "bezahlt"]).with_target("bezahlt")
    data = sf.Dataset.from_table("invoices.csv", schema=rates)
    shares = sf.families.DirichletCategorical(schema.columns["bezahlt"].levels)
    plan = sf.plan(sf.grouped(shares, "Region", REGIONS), data.n, PRICE, 1e-7)
    assert "groups     3 of 200 records on average" in str(plan)
    release = sf.publish(plan, data, ledger, request_id="rates in Python")
    low, high = release.interval(0.9)
    assert low.shape == (3, 2)
    assert (low < high).all()
    dear = sf.plan(sf.grouped(shares, "Region", REGIONS), data.n, 2 * BUDGET, 1e-7)
    with pytest.raises(LedgerExhausted, match="the charge does not fit"):
        sf.publish(dear, data, ledger, request_id="dear")
