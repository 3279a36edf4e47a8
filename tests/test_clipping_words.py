"""The bounds stand beside every mean, with what clipping does: plan, price list, release, summary, questions and report."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from effort import sized
from sfumato.models.clipping import clipping_of
from sfumato.shells.report import methods, page
from tests.command_line import typed

N = 400
F = sf.families
SCHEMA = sf.Schema({"income": sf.Number(0, 200_000)}, name="survey")
GROUPED = sf.Schema({"group": sf.Category(["a", "b"], missing="a"), "income": sf.Number(0, 200_000)}, name="survey")
WORDS = "income is first clipped to [0, 200,000]: values beyond the bounds count as the bound."
MEANS = {
    "mean": (F.BoundedMean(0, 200_000), SCHEMA, "estimate", WORDS),
    "normal mean": (F.NormalMean(1e8, 0, 200_000), SCHEMA, "draws", WORDS),
    "means by group": (sf.grouped(F.BoundedMean(0, 200_000), "group", ["a", "b"]), GROUPED, "estimate", WORDS),
    "vector": (
        F.GaussianMean(2, 3.0, 1.0), sf.Schema.vector(2, data_norm=3.0), "draws",
        "shortened to a norm of 3: longer ones count as shortened.",
    ),
}  # fmt: skip


def released(name: str) -> tuple[sf.Plan, sf.Release]:
    model, schema, goal, _ = MEANS[name]
    plan = sf.plan(model, N, 1.0, 1e-6, goal=goal)
    rng = np.random.default_rng(1)
    if schema.dimension is not None:
        data = sf.Dataset.from_arrays(rng.normal(0, 1, (N, 2)), schema=schema)
    else:
        table = {"income": rng.lognormal(10, 1, N), "group": rng.choice(["a", "b"], N)}
        data = sf.Dataset.from_table({key: table[key] for key in schema.columns}, schema=schema)
    return plan, sf.publish(plan, data, randomness=sf.seeded(1))


@pytest.mark.parametrize("name", list(MEANS))
def test_bounds_stand_beside_every_mean(name, tmp_path, monkeypatch, capsys):
    model, _, goal, words = MEANS[name]
    plan, release = released(name)
    prices = sf.price_list(model, N, [0.5, 1.0], 1e-6, goal=goal)
    whose = {
        "clipped": "The mean is that of the clipped values.",
        "shortened": "The mean is that of the shortened records.",
    }
    tail = whose["shortened" if name == "vector" else "clipped"]
    for shown in (str(plan), str(prices)):
        assert words.removeprefix("income ") in shown
        assert tail in shown
    release.save(tmp_path / "mean.sfumato")
    asked = typed(monkeypatch, capsys, "query", "mean", tmp_path / "mean.sfumato")[1]
    for shown in (str(release), str(release.summary()), page(release), asked):
        assert words in shown
        assert tail in shown


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (F.GammaPoisson(2, 1, 20), "[0, 20]"),
        (F.ExponentialRate(2, 1, 60), "[0, 60]"),
        (F.NormalPrecision(2, 1, 10, 5), "[5, 15]"),
        (F.BetaBinomial(8), "[0, 8]"),
        (F.Quantiles([0.5], 0, 9), "[0, 9]"),
        (sf.grouped(F.GammaPoisson(2, 1, 20), "g", ["a", "b"]), "[0, 20]"),
    ],
)
def test_counts_and_durations_show_their_bounds_too(model, words):
    shown = clipping_of(model)
    assert words in shown
    assert "The mean" not in shown


@pytest.mark.parametrize(
    "model", [F.BetaBernoulli(1, 1), F.DirichletCategorical(["a", "b"], 1.0), F.Quantile(0.5, (0, 1))]
)
def test_models_that_clip_nothing_have_no_such_line(model):
    assert clipping_of(model) == ""
    assert "clipping" not in str(sf.plan(model, N, 1.0, 1e-6))


def test_a_release_shows_the_narrower_bounds_of_its_schema():
    schema = sf.Schema({"income": sf.Number(10, 50)})
    assert "value of income is first clipped to [10, 50]" in clipping_of(F.BoundedMean(0, 200_000), schema)
    assert "[0, 200,000]" in clipping_of(F.BoundedMean(0, 200_000))


def test_a_regression_lists_the_bounds_of_its_columns():
    columns = {f"x{k}": sf.Number(0, k + 1) for k in range(10)}
    schema = sf.Schema({**columns, "y": sf.Boolean(missing=False)}, target="y")
    shown = clipping_of(sf.regression("logistic", schema, list(columns)), schema)
    assert "x0 to [0, 1], x1 to [0, 2]" in shown
    assert "and 2 more columns" in shown


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ('family = "BoundedMean"\ncolumn = "income"', "clipping   each value of income is first clipped to [0, 9]:"),
        *sized(
            [],
            [
                (
                    'regression = "linear"\ntarget = "income"',
                    "clipping   values are first clipped, income to [0, 9], age to [1, 5]:",
                )
            ],
        ),
        ('family = "BetaBernoulli"\ncolumn = "smoker"', ""),
    ],
)
def test_a_planned_spec_names_the_columns_and_their_bounds(model, words, tmp_path, monkeypatch, capsys):
    columns = {"income": sf.Number(0, 9), "age": sf.Number(1, 5), "smoker": sf.Boolean(missing=False)}
    sf.Schema(columns, name="survey", data_norm=1.0).save(tmp_path / "schema.toml")
    price = "[price]\nepsilon = 1.0\ndelta = 1e-6\n"
    spec = tmp_path / "spec.toml"
    spec.write_text(f'[data]\nschema = "schema.toml"\nn = 500\n\n[model]\n{model}\n\n{price}')
    code, out, _ = typed(monkeypatch, capsys, "plan", spec)
    assert code == 0
    assert words in out
    assert words or "clipping" not in out


def test_nothing_calls_a_clipped_mean_the_truth():
    """Words that a user is shown: no source line prints them of a mean, and no expectation does."""
    plan, release = released("normal mean")
    shown = " ".join([str(plan), str(release), str(release.summary()), page(release)])
    assert not re.search(r"\btruth\b|true mean", shown)
    assert "half-width about the mean of the clipped records" in str(plan)
    source = (Path(sf.__file__).parent / "shells").glob("*.py")
    assert not [file.name for file in source if re.search(r'"[^"\n]*(the truth|true mean)', file.read_text())]


def test_a_histogram_counts_values_beyond_its_bounds_in_its_first_and_last_bin_and_says_so():
    histogram = F.Histogram(0, 200_000, bins=4)
    plan = sf.plan(histogram, N, 1.0, 1e-6)
    data = sf.Dataset.from_table({"income": [-5.0] * 100 + [1e9] * 300}, schema=SCHEMA)
    release = sf.publish(plan, data, randomness=sf.seeded(1))
    said = "values beyond the bounds count as the bound. The first and the last bin include them."
    for shown in (str(plan), str(release), str(release.summary()), page(release)):
        assert said in shown
    assert release.interval()[0, -1] > 0.5


def test_bounds_of_dates_are_shown_as_days_and_as_dates():
    schema = sf.Schema({"paid": sf.Date("2023-01-01", "2024-12-31")}, name="bills")
    said = clipping_of(F.BoundedMean(19358, 20088), schema)
    assert "clipped to [2023-01-01, 2024-12-31] (counted in days" in said


def test_the_methods_paragraph_of_a_report_names_the_bounds():
    assert methods(released("mean")[1]).endswith(
        "Each value of income is first clipped to [0, 200,000]: values beyond the bounds count as the bound. The mean is "
        "that of the clipped values."
    )
