"""A regression by command line: planned with its expected widths, released, and read in the columns' own units."""

from __future__ import annotations

import csv
import dataclasses
import json
import re
import tomllib

import numpy as np
import pytest

import sfumato as sf
from command_line import typed
from sfumato.shells.printing import emit
from sfumato.shells.spec import Spec

SCHEMA = """
sfumato = "schema"
version = 1
name = "clinic"
unit = "patient"
[columns.age]
type = "number"
lower = 18
upper = 90
[columns.smoker]
type = "boolean"
missing = false
[columns.region]
type = "category"
levels = ["north", "south", "west"]
missing = "north"
reference = "south"
[columns.ill]
type = "boolean"
missing = false
"""
SPEC = """
[data]
file = "rows.csv"
schema = "schema.toml"
[model]
regression = "logistic"
target = "ill"
features = ["age", "smoker", "region", "age^2"]
prior = { sd = 3, age = { per_unit = 0.1 } }
[price]
epsilon = 4
delta = 1e-6
[expect]
ill = 0.3
region = { north = 0.5, south = 0.3 }
effects = { age = 0.02, "region=west" = -0.4, "smoker:age" = 0.001 }
"""


@pytest.fixture
def sfumato(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    return lambda *words: typed(monkeypatch, capsys, *words)


@pytest.fixture
def clinic(tmp_path):
    rng, n = np.random.default_rng(4), 4_000
    age, smoker, region = rng.uniform(18, 90, n), rng.random(n) < 0.4, rng.choice(["north", "south", "west"], n)
    scores = 0.02 * (age - 60) + 0.5 * smoker - 0.4 * (region == "west") - 0.6
    ill = rng.random(n) < 1 / (1 + np.exp(-scores))
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "smoker", "region", "ill"])
        writer.writerows(zip(age.round(2), smoker, region, ill, strict=True))
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "spec.toml").write_text(SPEC)
    (tmp_path / "new.csv").write_text("age,smoker,region\n30,yes,north\n70,no,west\n")
    return tmp_path


def test_a_walk_from_the_expected_widths_to_predictions(sfumato, clinic, monkeypatch):
    code, out, _ = sfumato("plan", "spec.toml")
    assert code == 0
    assert "expected half-widths of 90 % intervals" in out
    assert "  region: north 50 %, south 30 %, west 20 %" in out
    assert "effects on it: age 0.02, region=west -0.4, smoker:age 0.001" in out
    assert "noise added to the mean gradient" not in out
    expected = json.loads(sfumato("plan", "spec.toml", "--json")[1])["expected_widths"]["half_widths"]
    assert list(expected) == ["intercept", "age", "smoker", "region=north", "region=west", "age^2"]
    rehearsed = json.loads(sfumato("rehearse", "spec.toml", "--runs", "2", "--json")[1])["half_widths"]
    assert all(abs(rehearsed[name] / expected[name] - 1) < 0.25 for name in expected)
    assert sfumato("release", "spec.toml", "-o", "ill.sfumato")[0] == 0
    release = sf.load(clinic / "ill.sfumato").verify()

    code, out, _ = sfumato("query", "summary", "ill.sfumato")
    assert code == 0
    assert out.startswith(
        "charged to no ledger: nothing counts what else is released about the same records\n"
        "Logistic regression of ill\nrecords  4,000 (unit: patient)\nlink     log odds of ill = yes\n"
    )
    assert "Levels are compared: region with south." in out
    table = json.loads(sfumato("query", "coefficients", "ill.sfumato", "--json")[1])
    assert table["age"]["coef"] == pytest.approx(release.estimate()[1])
    assert table["age"]["odds ratio upper"] == pytest.approx(np.exp(release.interval()[1, 1]))
    assert table["intercept"]["odds ratio"] is None
    swapped = json.loads(sfumato("query", "coefficients", "ill.sfumato", "--reference", "region=west", "--json")[1])
    assert swapped["region=south"]["coef"] == pytest.approx(-table["region=west"]["coef"])
    assert "region[1]" in sfumato("query", "coefficients", "ill.sfumato", "--scaled")[1]
    made = json.loads(sfumato("query", "contrast", "ill.sfumato", "region=north=1", "region=west=-1", "--json")[1])
    assert made["estimate"] == pytest.approx(table["region=north"]["coef"] - table["region=west"]["coef"])
    assert made["ratios"][0] == pytest.approx(np.exp(made["estimate"]))
    assert "odds ratio" in sfumato("query", "contrast", "ill.sfumato", "age=10")[1]

    assert (
        sfumato("query", "predict", "ill.sfumato", "--public-rows", "new.csv", "--interval", "mean", "-o", "out.csv")[0]
        == 0
    )
    with (clinic / "out.csv").open() as file:
        head, *rows = list(csv.reader(file))
    assert head == ["probability", "lower", "upper"]
    shares = release.predict_proba(public_rows=clinic / "new.csv")[:, 1]
    middles = [float(row[0]) for row in rows]
    assert middles == pytest.approx(release.predict_interval(public_rows=clinic / "new.csv").estimate)
    # Predictions come from the average of the path, the middles of intervals from the posterior.
    assert middles == pytest.approx(shares, abs=0.03)
    assert all(float(low) < float(middle) < float(high) for middle, low, high in rows)
    assert sfumato("query", "predict", "ill.sfumato", "--public-rows", "new.csv", "--proba")[1].split()[:2] == [
        "False",
        "True",
    ]
    assert len(sfumato("query", "predict", "ill.sfumato", "--public-rows", "new.csv")[1].split()) == 3
    effects = json.loads(sfumato("query", "effects", "ill.sfumato", "--public-rows", "new.csv", "--json")[1])
    assert list(effects["effects"]) == ["age", "smoker", "region=north", "region=west"]
    assert "averaged over 2 rows" in sfumato("query", "effects", "ill.sfumato", "--public-rows", "new.csv")[1]
    code, out, _ = sfumato("query", "interval", "ill.sfumato")
    assert [line.split()[0] for line in out.splitlines()[1:7]] == list(release.labels)
    monkeypatch.setattr(sf.Release, "prior_dominated", lambda *given: "Little is known of age.")
    assert sfumato("query", "interval", "ill.sfumato")[1] == f"{out}\nLittle is known of age.\n"
    assert "Little is known" not in sfumato("query", "interval", "ill.sfumato", "--json")[1]


def test_a_price_list_has_the_width_of_each_coefficient(sfumato, clinic):
    code, out, _ = sfumato("price-list", "spec.toml", "--epsilons", "1,4")
    lines = [line.split() for line in out.splitlines()]
    assert code == 0
    assert lines[1] == ["epsilon", "1", "4"]
    assert lines[3][0] == "age"
    assert all(float(cheap) > float(dear) for _, cheap, dear in lines[2:8])
    assert "*" not in out
    assert "Assumed of the rows:\n  age: uniform between 18 and 90\n" in out
    planned = json.loads(sfumato("plan", "spec.toml", "--json")[1])["expected_widths"]
    assert [dear for _, _, dear in lines[2:8]] == [f"{half:.3g}" for half in planned["half_widths"].values()]


def test_a_price_list_marks_widths_of_which_little_will_be_told(sfumato, clinic):
    """A level of 0.3 % of 4,000 rows: twelve of them, too few at any of these prices."""
    (clinic / "spec.toml").write_text(
        SPEC.replace("north = 0.5, south = 0.3", "north = 0.6, south = 0.397").replace(', "age^2"', "")
    )
    code, out, _ = sfumato("price-list", "spec.toml", "--epsilons", "0.5,4")
    assert code == 0
    lines = out.splitlines()
    (rare,) = (line for line in lines if line.startswith("region=west"))
    (usual,) = (line for line in lines if line.startswith("region=north"))
    assert rare.count("*") == 2
    assert not usual.endswith("*")
    (sentence,) = (line for line in lines if line.startswith("* "))
    assert sentence.startswith("* Little will be told at this price (region=west is rare: 0.3 % of the rows")
    assert sentence.endswith(": the interval is not much narrower than the prior's own.")
    assert "  region: north 60 %, south 39.7 %, west 0.3 %" in lines
    (listed,) = json.loads(sfumato("price-list", "spec.toml", "--epsilons", "4", "--json")[1])
    assert f"{listed['half_widths']['region=west']:.3g}*" == rare.split()[-1]
    assert listed["little"] == ["region=west"]


def test_the_runs_of_a_price_list_are_shared_by_its_prices(monkeypatch, clinic):
    """At most 120 runs in all, 4 of each price at least, and fewer where there are hundreds of coefficients."""
    spec = Spec.load(clinic / "spec.toml")
    asked = []
    monkeypatch.setattr(Spec, "expected_widths", lambda self, plan, most: asked.append(most))
    for prices in (1, 4, 100):
        spec.narrowness(None, prices)
    wide = dataclasses.replace(spec, model=sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(1.0), 320))
    wide.narrowness(None, 2)
    assert asked == [120, 30, 4, 6]


def test_a_spec_without_facts_is_told_what_they_are_for(sfumato, clinic):
    (clinic / "spec.toml").write_text(SPEC[: SPEC.index("[expect]")].replace(', "age^2"', ""))
    code, out, _ = sfumato("plan", "spec.toml")
    assert code == 0
    assert out.count("Nothing was declared of the rows: ") == 1
    assert out.index("declare their shares in [expect] of a spec file") < out.index("Assumed of the rows:")


def test_public_rows_can_be_what_is_expected(sfumato, clinic):
    spec = SPEC[: SPEC.index("[expect]")] + '[expect]\nrows = "public.csv"\n'
    (clinic / "spec.toml").write_text(spec)
    (clinic / "public.csv").write_text(
        "age,smoker,region,ill\n" + "30,yes,north,no\n70,no,west,yes\n40,no,south,no\n" * 40
    )
    code, out, _ = sfumato("plan", "spec.toml")
    assert code == 0
    assert "as in 120 public rows, labels included" in out


@pytest.mark.parametrize("name", ["rows.csv", "./rows.csv", "linked.csv", "absent.csv"])
def test_the_private_table_is_not_what_is_expected(name, sfumato, clinic):
    """By its own name, by another or by a link, also before the file is there: widths would follow from it without noise."""
    (clinic / "linked.csv").symlink_to(clinic / "rows.csv")
    spec = SPEC[: SPEC.index("[expect]")] + f'[expect]\nrows = "{name}"\n'
    if name == "absent.csv":
        spec = spec.replace("rows.csv", "absent.csv")
    (clinic / "spec.toml").write_text(spec)
    for command in ("plan", "rehearse", "price-list"):
        code, out, err = sfumato(command, "spec.toml", "--n", "4000")
        assert code == 2
        assert not out
        assert "rows in [expect] is the private table of [data]" in err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "ill = 0.3",
            "il = 0.3",
            "[expect] facts are declared of age, smoker, region, ill, effects, correlation; got 'il'",
        ),
        ("ill = 0.3", "ill = 1.3", "[expect]"),
        ("{ north = 0.5, south = 0.3 }", "{ north = 0.9, south = 0.3 }", "[expect]"),
        (
            '"region=west" = -0.4',
            '"region=south" = -0.4',
            "[expect] effects are of age, smoker, region=north, region=west",
        ),
        ("[expect]", '[expect]\nrows = "x.csv"', "[expect] takes rows"),
        (SPEC[SPEC.index("[expect]") :], '[expect]\nrows = "x.csv"', "[expect] there is no file 'x.csv'"),
        ("ill = 0.3", 'ill = "rare"', "[expect] ill must be a number or a table such as ill = 0.3; got 'rare'"),
        (
            "ill = 0.3",
            "ill = 0.3\nage = 45",
            "[expect] 'age' is a number; declare its mean and sd, such as { mean = 54, sd = 12 }. Got 45.",
        ),
        ("ill = 0.3", "ill = 0.3\nage = { mean = 45 }", "Got { mean = 45 }."),
        ("{ north = 0.5, south = 0.3 }", "0.5", "declare their shares, such as { north = 0.6 }. Got 0.5."),
        ("effects = { age = 0.02", "effects = 3 #", "declared by name, such as { age = 0.014 }. Got 3."),
        ('"age^2"]', '"age^2", "age:region:smoker"]', "needs"),
        ('"age", "smoker"', '"agee", "smoker"', "there is no column 'agee'; the columns are age, smoker, region"),
        ('"age", "smoker"', '"age", "log(age)"', "there is no column 'log(age)'"),
        (
            SPEC[SPEC.index('"ill"') : SPEC.index("[price]")],
            '"age"\nfeatures = ["smoker", "region"]\n',
            "spec.toml: logistic needs a target with 2 classes; 'age' declares a number. For numbers there are linear",
        ),
        ("prior = { sd = 3, age = { per_unit = 0.1 } }", "prior = -3", "prior must be greater than 0; got -3"),
        ("sd = 3", "sd = -3", "prior of sd must be"),
        ('features = ["age"', 'features = [5, "age"', "features must be a list of columns"),
        ('features = ["age"', 'features = "age" # ["age"', "features must be a list of columns"),
        ("sd = 3", "height = 3", "prior has the keys sd, intercept and the terms age, smoker, region, age^2"),
        ('"age^2"]', '"age^2"]\nintercept = false', "needs an intercept"),
    ],
)
def test_wrong_specs_are_refused_with_what_to_write(old, new, said, sfumato, clinic):
    (clinic / "spec.toml").write_text(SPEC.replace(old, new))
    code, _, err = sfumato("plan", "spec.toml")
    assert code == 2
    assert said in err


def test_a_regression_without_intervals_says_so_before_paying(sfumato, clinic):
    (clinic / "spec.toml").write_text(SPEC.replace("logistic", "multinomial").replace('"ill"', '"region"')
                                      .replace('"region", "age^2"', '"age^2"').split("[expect]")[0])  # fmt: skip
    code, out, _ = sfumato("plan", "spec.toml")
    assert code == 0
    assert "intervals  none: intervals from a transcript are for" in out
    assert "no_intervals" in json.loads(sfumato("plan", "spec.toml", "--json")[1])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("contrast", "r.sfumato", "age"), "a weight must be name=number"),
        (("contrast", "r.sfumato", "height=1"), "there is no coefficient 'height'; there are"),
        (("coefficients", "r.sfumato", "--reference", "region"), "--reference must be column=level"),
        (("summary", "r.sfumato", "--reference", "region=east"), "must be one of its levels north, south, west"),
        (("predict", "r.sfumato", "--public-rows", "new.csv", "--interval", "answer"), "here the answer is a class"),
        (("predict", "r.sfumato", "--public-rows", "new.csv", "--interval", "mean", "--proba"), "exclude each other"),
    ],
)
def test_wrong_questions_are_refused_in_a_line(words, said, sfumato, clinic):
    assert sfumato("release", "spec.toml", "-o", "r.sfumato")[0] == 0
    code, _, err = sfumato("query", *words)
    assert code == 2
    assert said in err


def test_numbers_that_json_lacks_are_null(capsys):
    """An odds ratio may exceed every float; the command answers nevertheless."""
    emit(True, {"ratio": float("inf"), "ends": (np.float64(1.5), float("nan")), "array": np.array([1.0, -np.inf])}, "")
    assert json.loads(capsys.readouterr().out) == {"ratio": None, "ends": [1.5, None], "array": [1.0, None]}


# --- a first spec file --------------------------------------------------------------------------------------------------


def test_a_first_spec_of_a_regression_can_be_planned_and_its_examples_declared(sfumato, clinic):
    words = ("spec", "--data", "rows.csv", "--schema", "schema.toml", "--regression", "logistic", "--target", "ill")
    code, out, _ = sfumato(*words, "-o", "first.toml")
    assert code == 0
    assert "next: sfumato plan first.toml" in out
    text = (clinic / "first.toml").read_text()
    made = tomllib.loads(text)
    assert made["model"] == {"regression": "logistic", "target": "ill", "features": ["age", "smoker", "region"]}
    assert made["data"] == {"file": "rows.csv", "schema": "schema.toml"}
    assert made["ledger"] == {"file": "budget.db", "name": "clinic"}
    assert Spec.load(clinic / "first.toml").schema.target == "ill"
    declared = re.sub(r"(?m)^# (ill|age|smoker|region|effects) =", r"\1 =", text)
    assert tomllib.loads(declared)["expect"] == {
        "ill": 0.3, "age": {"mean": 54, "sd": 12}, "smoker": 0.3, "region": {"north": 0.6}, "effects": {"age": 0.014}
    }  # fmt: skip
    (clinic / "first.toml").write_text(declared)
    code, out, _ = sfumato("plan", "first.toml")
    assert code == 0
    assert "ill: no 70 %, yes 30 %; effects on it: age 0.014" in out


def test_a_first_spec_has_the_features_that_were_asked_for_also_before_there_is_a_schema(sfumato, clinic):
    words = ("spec", "--regression", "logistic", "--target", "ill", "--features")
    out = sfumato(*words, "age, age^2", "--schema", "schema.toml")[1]
    assert tomllib.loads(out)["model"]["features"] == ["age", "age^2"]
    assert "# age = {" in out
    assert "# region" not in out
    made = tomllib.loads(sfumato(*words, "height,weight", "--schema", "later.toml")[1])
    assert made["model"] == {"regression": "logistic", "target": "ill", "features": ["height", "weight"]}
    assert (made["data"]["schema"], made["ledger"]["name"], made["expect"]) == ("later.toml", "data", {})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--target", "ill"), "--target and --features are of a regression: add --regression"),
        (("--regression", "logistc", "--target", "ill"), "--regression must be one of logistic, "),
        (("--regression", "logistic"), "needs --target"),
        (("--regression", "logistic", "--target", "il"), "target must be one of the columns age, smoker, region, ill"),
        (("--regression", "logistic", "--target", "age"), "classes; 'age' declares a number"),
        (("--regression", "logistic", "--target", "ill", "--features", "agee"), "the columns are age, smoker, region"),
        (("--regression", "logistic", "--target", "ill", "--schema", "no.toml"), "there is no schema 'no.toml'"),
    ],
)
def test_a_first_spec_that_could_not_be_planned_is_not_written(words, said, sfumato, clinic):
    code, out, err = sfumato("spec", "--schema", "schema.toml", *words)
    assert code == 2
    assert not out
    assert said in err


def test_replaced_cells_of_public_rows_are_told_and_wrong_ones_refused(sfumato, clinic):
    assert sfumato("release", "spec.toml", "-o", "r.sfumato")[0] == 0
    (clinic / "odd.csv").write_text("age,smoker,region\n10,yes,north\n95,no,\n")
    note = "sfumato: 2 cells of age lie outside 18 to 90 and were clipped; 1 empty cell of region counts as 'north'\n"
    for words in (("predict",), ("predict", "--proba"), ("predict", "--interval", "mean"), ("effects",)):
        code, out, err = sfumato("query", words[0], "r.sfumato", "--public-rows", "odd.csv", *words[1:])
        assert (code, err) == (0, note)
        assert "clipped" not in out
        assert sfumato("query", words[0], "r.sfumato", "--public-rows", "new.csv", *words[1:])[2] == ""
    (clinic / "odd.csv").write_text("age,smoker,region\n10,yes,north\n30,no,nort\n30,no,suth\n")
    for command in ("predict", "effects"):
        code, out, err = sfumato("query", command, "r.sfumato", "--public-rows", "odd.csv")
        assert (code, out) == (2, "")
        assert (
            "row 2 (counted from 1), column 'region': 'nort' is none of the levels 'north', 'south', 'west'. 1 more"
            in err
        )


def test_tables_are_saved_and_printed_with_names(sfumato, clinic):
    assert sfumato("release", "spec.toml", "-o", "r.sfumato")[0] == 0
    release = sf.load(clinic / "r.sfumato")
    named = json.loads(
        sfumato("query", "predict", "r.sfumato", "--public-rows", "new.csv", "--interval", "mean", "--json")[1]
    )
    given = release.predict_interval(public_rows=clinic / "new.csv")
    assert [list(row) for row in named] == [["probability", "lower", "upper"]] * 2
    assert [row["upper"] for row in named] == pytest.approx(given.upper.tolist())
    assert len(json.loads(sfumato("query", "predict", "r.sfumato", "--public-rows", "new.csv", "--json")[1])) == 2

    assert sfumato("query", "coefficients", "r.sfumato", "-o", "coef.csv")[:2] == (0, "wrote 6 rows to coef.csv\n")
    with (clinic / "coef.csv").open() as file:
        rows = list(csv.DictReader(file))
    table = release.coefficients()
    assert [row["coefficient"] for row in rows] == list(release.labels)
    assert [float(row["std err"]) for row in rows] == pytest.approx(table.deviations.tolist())
    assert rows[0]["odds ratio"] == ""
    assert float(rows[1]["odds ratio upper"]) == pytest.approx(table.ratio_intervals[1, 1])
    assert sfumato("query", "effects", "r.sfumato", "--public-rows", "new.csv", "-o", "effects.csv")[0] == 0
    with (clinic / "effects.csv").open() as file:
        rows = list(csv.DictReader(file))
    effects = release.marginal_effects(public_rows=clinic / "new.csv")
    assert [row["column"] for row in rows] == list(effects.names)
    assert [float(row["lower"]) for row in rows] == pytest.approx(effects.lower.tolist())


def test_the_help_of_intervals_names_robust_ones(sfumato):
    assert '"robust"' in " ".join(sfumato("query", "interval", "--help")[1].split())


def test_a_report_names_the_kind_the_columns_it_does_not_draw_and_what_intervals_include(sfumato, clinic):
    spec = SPEC.replace("logistic", "linear").replace('"ill"', '"age"').split("prior")[0].replace('"age", ', "")
    spec = spec.replace('"region", "age^2"', '"region", "smoker:region"') + "[price]\nepsilon = 4\ndelta = 1e-6\n"
    (clinic / "spec.toml").write_text(spec)
    code, out, err = sfumato("release", "spec.toml", "-o", "age.sfumato")
    assert code == 0, err
    assert "linear regression (" in out + str(sf.load(clinic / "age.sfumato"))
    assert sfumato("report", "age.sfumato", "-o", "age.html")[0] == 0
    page = (clinic / "age.html").read_text()
    assert "clinic: linear regression of age" in page
    assert "smoker and region enter through powers or products" in page
    assert "Intervals include the privacy noise and the sampling of the records." in page
    assert "Standard errors" not in page
    (clinic / "spec.toml").write_text(SPEC)
    assert sfumato("release", "spec.toml", "-o", "ill.sfumato")[0] == 0
    assert sfumato("report", "ill.sfumato", "-o", "ill.html")[0] == 0
    page = (clinic / "ill.html").read_text()
    assert "age enters through powers or products, so that its effect depends on where it starts" in page
    assert "Standard errors and intervals include" in str(sf.load(clinic / "ill.sfumato").summary())
