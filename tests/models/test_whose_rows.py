"""What plans, releases and their summaries say where one person may have several rows."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.models.clipping import missing_of
from sfumato.models.whose_rows import whose_rows
from sfumato.pictures.notebook import fragment
from sfumato.shells.ledger_report_releases import contents
from sfumato.shells.report import methods, page
from sfumato.wording import persons_in_words

N = 40
LEVELS = ["a", "b", "c"]
COLUMNS = {
    "stay": sf.Number(0, 60, missing=40),
    "icu": sf.Boolean(missing=False),
    "ward": sf.Category(LEVELS, missing="b"),
}
AVERAGE = sf.Persons("patient", most=12, count=N, rows="visits")
FIRST = sf.Persons("patient", rule="first", count=N, rows="visits")
STEPS = {"stay": "sum", "icu": "any", "ward": "last"}
REDUCE = sf.Persons("patient", rule="reduce", count=N, rows="visits", reduce=STEPS)
ALIKE = (
    "each patient counts once: their visits share the weight of one record, so that what is estimated weighs every patient alike, "
    "not all visits alike."
)
LIMIT = "At most 12 visits of one patient count: more do not cost more noise, and are left out by a random sample."


def schema_of(persons: sf.Persons | None = AVERAGE, **options) -> sf.Schema:
    return sf.Schema(COLUMNS, name="hospital", unit="patient", persons=persons, **options)


def table() -> dict:
    """Visits of the first 30 patients."""
    who = np.arange(120) % 30
    return {"patient": who, "stay": who * 1.0, "icu": who % 2 == 0, "ward": np.array(LEVELS)[who % 3]}


def released(model, schema=None, **options):
    given = schema_of() if schema is None else schema
    plan = sf.plan(model, N, 1.0, 1e-6, persons=given.persons, **options)
    return sf.publish(plan, sf.Dataset.from_table(table(), schema=given))


MEANS = "the mean over the records of each patient's own mean over their visits, not the mean over all visits."
SHARES = "the mean over the records of each patient's own shares among their visits, not the shares among all visits."


@pytest.mark.planted
@pytest.mark.parametrize(
    ("model", "said"),
    [
        (sf.families.BoundedMean(0, 60), f"each patient counts once: what is estimated is {MEANS} {LIMIT}"),
        (sf.families.BetaBernoulli(), f"each patient counts once: what is estimated is {MEANS} {LIMIT}"),
        (sf.families.DirichletCategorical(LEVELS), f"each patient counts once: what is estimated is {SHARES} {LIMIT}"),
        (sf.families.Histogram(0, 60, bins=3), f"each patient counts once: what is estimated is {SHARES} {LIMIT}"),
        # Of groups, quantiles and regressions the result is no mean of the patients' own ones.
        (sf.grouped(sf.families.BetaBernoulli(), "ward", LEVELS), f"{ALIKE} {LIMIT}"),
        (sf.families.Quantiles([0.5], 0, 60), f"{ALIKE} {LIMIT}"),
        (sf.regression("logistic", schema_of().with_target("icu")), f"{ALIKE} {LIMIT}"),
        (
            sf.networks.BayesianNetwork({"icu": ["ward"], "ward": []}, {"icu": (False, True), "ward": LEVELS}),
            f"{ALIKE} A synthetic row is like one of the visits of some patient; no two of them belong together. {LIMIT}",
        ),
    ],
)
def test_averages_say_what_is_estimated_and_what_is_left_out(model, said):
    assert whose_rows(model, AVERAGE.terms, schema_of()) == said


@pytest.mark.planted
def test_every_rule_says_what_counts():
    model = sf.families.BoundedMean(0, 60)
    assert whose_rows(model, FIRST.terms, schema_of(FIRST)) == (
        "each patient counts once, with the first of their visits in the table. What is estimated is about the first of every "
        "patient's visits, not about all visits."
    )
    # Of the columns that the model reads alone.
    assert whose_rows(model, REDUCE.terms, schema_of(REDUCE)) == (
        "each patient counts once, with one row that their visits become by the declared rules (stay by sum). What is estimated is "
        "about these rows, not about all visits."
    )
    one = sf.Persons("patient", most=1, count=N, rows="visits")
    assert whose_rows(model, one.terms, schema_of(one)) == (
        "each patient counts once, with one of their visits, taken at random."
    )
    many = sf.Persons("patient", rule="reduce", count=N, reduce={f"x{k}": "mean" for k in range(10)})
    wide = sf.Schema({f"x{k}": sf.Number(0, 1) for k in range(10)}, persons=many, target="x9")
    said = whose_rows(sf.regression("linear", wide), many.terms, wide)
    assert "x7 by mean and 2 more columns)" in said
    assert "x8" not in said


@pytest.mark.planted
def test_missing_values_include_the_persons_without_rows():
    """With the values that the schema declares, and 0 where nothing is summed or counted."""
    stay, whom = sf.families.BoundedMean(0, 60), "Every patient without visits counts as one row"
    assert missing_of(stay, schema_of()) == (
        f"empty, unreadable or undeclared cells: stay as 40. {whom} whose cells are all missing."
    )
    assert missing_of(stay, schema_of(REDUCE)).endswith(f"{whom} whose cells are all missing, but for stay as 0.")
    above = sf.Schema({"stay": sf.Number(3, 60)}, unit="patient", persons=REDUCE.of_columns(["stay"]))
    assert missing_of(sf.families.BoundedMean(3, 60), above).endswith("but for stay as 3.")
    regression = sf.regression("logistic", schema_of(REDUCE).with_target("icu"))
    assert "stay as 40, icu as no, ward as b. Every" in missing_of(regression, schema_of(REDUCE).with_target("icu"))
    assert missing_of(stay, schema_of(None)) == "empty, unreadable or undeclared cells: stay as 40."


def test_a_person_without_rows_is_a_row_of_zeros_of_a_vector_and_weighs_nothing_with_weights():
    vectors = sf.Schema.vector(3, data_norm=1.0, unit="patient", persons=AVERAGE)
    assert missing_of(sf.families.MultivariateNormal(np.eye(3), radius=1.0, precision=1.0), vectors) == (
        "every patient without visits counts as one row of zeros."
    )
    weight = sf.Weight("weight", upper=9, fixed=True)
    weighed = sf.Schema({"icu": sf.Boolean(missing=False)}, unit="patient", persons=AVERAGE, weight=weight)
    assert missing_of(sf.families.BetaBernoulli(), weighed).endswith("Every patient without visits has weight 0.")


@pytest.mark.planted
def test_the_declared_value_is_the_one_that_a_person_without_rows_gets():
    """The sentence and the reader agree: nobody has rows, so the exact mean is the value that is printed."""
    for persons, value in ((AVERAGE, 40.0), (REDUCE, 0.0), (FIRST, 40.0)):
        schema = schema_of(persons)
        empty = {name: [] for name in ("patient", *COLUMNS)}
        data = sf.Dataset.from_table(empty, schema=schema)
        plan = sf.plan(sf.families.BoundedMean(0, 60), N, 50.0, 1e-6, persons=persons)
        mean = sf.publish(plan, data, randomness=sf.seeded(1)).mean().item()
        assert abs(mean - value) < 5
        said = missing_of(sf.families.BoundedMean(0, 60), schema)
        assert ("but for stay as 0." in said) == (value == 0.0)


# --- where they are said -----------------------------------------------------------------------------------------------


@pytest.mark.planted
def test_a_plan_says_it_without_a_schema():
    lines = dict(sf.plan(sf.families.BoundedMean(0, 60), N, 1.0, 1e-6, persons=AVERAGE).lines())
    assert lines["records"] == (
        "40 (public): a record is one person with all of their visits; how many visits there are is private"
    )
    assert lines["persons"].startswith(
        "each person counts once: what is estimated is the mean over the records of each"
    )
    assert lines["persons"].endswith("Every person without visits counts as one row whose cells are all missing.")
    plain = sf.plan(sf.families.BoundedMean(0, 60), N, 1.0, 1e-6)
    assert "persons" not in dict(plain.lines())
    assert dict(plain.lines())["records"] == "40 (public)"


@pytest.mark.planted
def test_a_release_its_summary_its_card_and_its_report_say_it():
    release = released(sf.families.BoundedMean(0, 60))
    said = persons_in_words(release)
    assert said == f"each patient counts once: what is estimated is {MEANS} {LIMIT}"
    text = str(release)
    assert "about    hospital, column stay: 40 of unit 'patient', each with all of their visits (by patient)\n" in text
    assert f"\npersons  {said}\n" in text
    assert "Every patient without visits counts as one row whose cells are all missing." in text
    assert f"\nPersons: {said}\n" in str(release.summary())
    escaped = said.replace("'", "&#x27;")
    assert f"Persons: {escaped}" in fragment(release)
    html = page(release)
    assert f'<p class="beside">Persons: {escaped}</p>' in html
    assert "from 40 records, one for each patient with all of their visits." in html
    assert "Two data sets that differ in one patient with all of their visits give" in html
    assert (
        "two data sets with the same public roster that differ in one patient with all of their visits are"
        in methods(release)
    )
    assert methods(release).endswith(LIMIT)
    assert f"E{escaped[1:]}" in contents(release)


@pytest.mark.planted
def test_the_summary_and_the_report_of_a_regression_say_it_once():
    schema = schema_of().with_target("icu")
    release = released(sf.regression("logistic", schema, ["stay"]), schema, goal="estimate")
    text = str(release.summary())
    assert "records  40 (unit: patient with all of their visits)" in text
    assert f"\nE{ALIKE[1:]} {LIMIT}\n" in text
    assert page(release).count("share the weight of one record") == 2  # under the results, and for a methods section


def test_without_persons_nothing_is_said():
    plain = sf.Schema({"stay": sf.Number(0, 60)}, name="hospital", unit="patient")
    plan = sf.plan(sf.families.BoundedMean(0, 60), 120, 1.0, 1e-6)
    release = sf.publish(plan, sf.Dataset.from_table(table(), schema=plain))
    for text in (str(release), str(release.summary()), page(release), fragment(release), methods(release)):
        assert "counts once" not in text
        assert "all of their" not in text
    assert "120 of unit 'patient'\n" in str(release)
    assert "two data sets with the same number of records that differ in one patient are" in methods(release)


@pytest.mark.planted
def test_with_weights_of_rows_neither_each_person_once_nor_their_own_mean_is_claimed():
    weight = sf.Weight("w", upper=2.0, fixed=True)
    plan = sf.plan(sf.families.BetaBernoulli(1, 1), N, 1.0, 1e-6, persons=AVERAGE, weight=weight)
    said = str(plan)
    assert "each of a person's visits counts by its weight, divided by how many of their visits count" in said
    assert "Every person without visits has weight 0." in said
    assert "counts once" not in said
    assert "own mean" not in said
