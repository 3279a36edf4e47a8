"""`sf.regression`: priors mean the same in every unit, and wrong arguments are refused with what to write."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.models.reading import model_from_json
from sfumato.schema.design import Design
from sfumato.schema.units import units_of

COLUMNS = {
    "age": sf.Number(18, 90),
    "smoker": sf.Boolean(missing=False),
    "region": sf.Category(["north", "south", "west"], missing="north"),
}
SCHEMA = sf.Schema({**COLUMNS, "ill": sf.Boolean(missing=False)}, target="ill")
LINEAR = sf.Schema({**COLUMNS, "pay": sf.Number(10, 50)}, target="pay")


def prior_deviation(model: sf.Gibbs, schema: sf.Schema, weights: dict[str, float]) -> float:
    """Prior deviation of a weighted sum of own-unit coefficients."""
    row = units_of(Design.of(schema, model.terms), model.intercept).weights(weights)
    return float(np.sqrt((row**2 / np.asarray(model.prior.precision)) @ np.ones(len(row))))


def test_one_prior_deviation_is_that_of_every_column_from_end_to_end():
    model = sf.regression("logistic", SCHEMA, prior=2.0)
    for weights in ({"age": 72.0}, {"smoker": 1.0}, {"region=south": 1.0}, {"region=south": 1.0, "region=west": -1.0}):
        assert prior_deviation(model, SCHEMA, weights) == pytest.approx(2.0)
    middle = {"intercept": 1.0, "age": 54.0, "smoker": 0.5, "region=south": 1 / 3, "region=west": 1 / 3}
    assert prior_deviation(model, SCHEMA, middle) == pytest.approx(2.0)


@pytest.mark.parametrize(("kind", "usual"), [("logistic", 5.0), ("probit", 3.0), ("cloglog", 5.0), ("svm", 5.0)])
def test_the_default_deviation_is_stated_by_the_loss(kind, usual):
    assert prior_deviation(sf.regression(kind, SCHEMA), SCHEMA, {"age": 72.0}) == pytest.approx(usual)


@pytest.mark.parametrize("kind", ["linear", "quantile"])
def test_scores_in_the_units_of_the_target_have_its_range_and_its_middle(kind):
    model = sf.regression(kind, LINEAR)
    assert prior_deviation(model, LINEAR, {"age": 72.0}) == pytest.approx(100.0)
    assert model.prior.mean[-1] * model.intercept == pytest.approx(30.0)
    assert not any(model.prior.mean[:-1])


def test_other_units_of_a_column_give_the_same_model():
    months = sf.Schema({**COLUMNS, "age": sf.Number(18 * 12, 90 * 12), "ill": sf.Boolean(missing=False)}, target="ill")
    assert sf.regression("logistic", months) == sf.regression("logistic", SCHEMA)


def test_deviations_can_be_declared_by_term_and_per_unit():
    prior = {"sd": 2, "age": {"per_unit": 0.05}, "region": 1.0, "intercept": 10, "age^2": 0.3}
    model = sf.regression("logistic", SCHEMA, ["age", "region", "smoker", "age^2"], prior=prior)
    deviations = np.asarray(model.prior.precision) ** -0.5
    assert np.allclose(deviations, [3.6, 1, 1, 2, 0.3, 10 / model.intercept])


def test_classes_share_the_prior():
    schema = sf.Schema({**COLUMNS, "kind": sf.Category(["a", "b", "c"], missing="a")}, target="kind")
    model = sf.regression("multinomial", schema, prior={"sd": 2, "region": 1})
    assert model.dimension == 15
    assert np.allclose(np.asarray(model.prior.precision).reshape(3, 5)[1:], np.asarray(model.prior.precision)[:5])


def test_a_prior_of_the_coded_features_is_taken_as_it_is():
    prior = sf.priors.Ball(sf.priors.Gaussian(1.0), radius=3.0)
    assert sf.regression("logistic", SCHEMA, prior=prior).prior is prior


def test_a_model_with_terms_reads_back_equal_and_one_without_has_no_such_key():
    model = sf.regression("poisson", LINEAR, ["age*region"], clip=9.0)
    assert model_from_json(model.to_json()) == model
    assert model.to_json()["terms"] == ["age", "region", "age:region"]
    assert model.strengthened(2.0).terms == model.terms
    assert "terms" not in sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(1.0)).to_json()


def test_unused_columns_need_not_be_there_and_are_not_read():
    model = sf.regression("logistic", SCHEMA, ["age"])
    assert model.columns(SCHEMA) == ("age", "ill")
    rows = {"age": np.linspace(20, 80, 50), "ill": np.arange(50) % 2 == 0}
    plan = sf.plan(model, 50, 1.0, 1e-3, goal="estimate")
    part = SCHEMA.only(["age", "ill"], "ill")
    release = sf.publish(plan, sf.Dataset.from_table(rows, schema=part), randomness=sf.seeded(1))
    assert release.predict(public_rows={"age": [20.0, 30.0]}).shape == (2,)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"kind": "logit"}, "kind must be one of"),
        ({"prior": -1}, "prior must be greater than 0; got -1"),
        (
            {"prior": "wide"},
            "prior must be a deviation such as 2.0, a table such as .*, or one of sf.priors; got 'wide'",
        ),
        ({"prior": {"sd": -1}}, "prior of sd must be greater than 0; got -1"),
        ({"features": "age"}, "features must be a list of texts such as .*; got the text 'age'"),
        ({"prior": {"agee": 2}}, "prior has the keys sd, intercept and the terms age"),
        ({"prior": {"smoker": {"per_unit": 1}}}, "for a number"),
        ({"prior": {"age": {"unit": 1}}}, "per_unit = 0.05"),
        ({"clip": 3.0}, "takes no further number"),
        ({"features": []}, "features must name at least one term"),
        ({"features": ["age", "age^\u00b2"]}, "the power in .* must be a whole number"),
        ({"schema": "clinic.toml"}, "schema must be a sf.Schema; got str"),
        ({"kind": "poisson"}, "needs a Number as its target"),
        ({"kind": "multinomial"}, "three levels or more"),
    ],
)
def test_wrong_arguments_are_refused_with_what_to_write(arguments, said):
    with pytest.raises(sf.errors.ArgumentError, match=said):
        sf.regression(**{"kind": "logistic", "schema": SCHEMA, **arguments})


@pytest.mark.parametrize("kind", ["logistic", "probit", "svm"])
def test_kinds_of_two_classes_say_what_numbers_and_more_classes_need(kind):
    for target, said in (
        (sf.Number(0, 9), "declares a number. For numbers there are linear, poisson and quantile regressions."),
        (
            sf.Category(["a", "b", "c"], missing="a"),
            "declares 3. For more classes there is the multinomial regression.",
        ),
    ):
        schema = sf.Schema({"age": sf.Number(0, 1), "y": target}, target="y")
        with pytest.raises(sf.errors.ArgumentError) as refusal:
            sf.regression(kind, schema)
        assert str(refusal.value) == f"{kind} needs a target with 2 classes; 'y' {said}"


def test_levels_powers_and_products_need_an_intercept():
    for features in (["region"], ["age", "age^2"], ["age*smoker"]):
        model = sf.regression("logistic", SCHEMA, features, intercept=False)
        with pytest.raises(sf.errors.ArgumentError, match="needs an intercept"):
            model.columns(SCHEMA)
    sf.regression("logistic", SCHEMA, ["age", "smoker"], intercept=False).columns(SCHEMA)


def test_schemas_without_a_target_or_columns_are_refused():
    with pytest.raises(sf.errors.ArgumentError, match="declare target"):
        sf.regression("logistic", sf.Schema({"age": sf.Number(0, 1)}))
    with pytest.raises(sf.errors.ArgumentError, match="for tables with named columns"):
        sf.regression("logistic", sf.Schema.vector(2, data_norm=1.0))


@pytest.mark.parametrize(
    ("columns", "features", "name"),
    [
        (
            {"a": sf.Category(["q", "b=c"], missing="q"), "a=b": sf.Category(["r", "c"], missing="r")},
            ["a", "a=b"],
            "a=b=c",
        ),
        ({"intercept": sf.Number(0, 1)}, ["intercept"], "intercept"),
        (
            {
                "a": sf.Category(["b", "c:d"], missing="b"),
                "c": sf.Number(0, 1),
                "d": sf.Number(0, 1),
                "a=c:d": sf.Number(0, 1),
            },
            None,
            "a=c:d",
        ),
    ],
    ids=["levels", "intercept", "product"],
)
def test_coefficients_that_would_be_called_alike_are_refused(columns, features, name):
    schema = sf.Schema({**columns, "y": sf.Boolean(missing=False)}, target="y")
    with pytest.raises(sf.errors.ArgumentError, match=f"two coefficients would be called '{name}': rename a column"):
        sf.regression("logistic", schema, features)


def test_a_schema_without_target_is_refused_with_how_to_choose_one():
    schema = sf.Schema({"age": sf.Number(0, 99), "ill": sf.Boolean(missing=False)})
    model = sf.regression("logistic", schema.with_target("ill"))
    assert model.terms == ("age",)
    for refused in (lambda: sf.regression("logistic", schema), lambda: model.columns(schema)):
        with pytest.raises(
            sf.errors.ArgumentError, match=r"needs labels: declare target=.* or choose a column by schema\.with_target"
        ):
            refused()


@pytest.mark.parametrize(("wide", "times"), [(0.09, "100"), (0.004, "1,000"), (2e-5, "100,000")])
def test_a_linear_regression_in_units_that_are_too_large_is_refused_before_anything_is_paid(wide, times):
    """Below a range of 0.1 the prior outweighs the records; at 0.001 every interval would be nan, after the charge."""
    columns = {"x": sf.Number(0, 1), "y": sf.Number(2, 2 + wide)}
    with pytest.raises(sf.errors.ArgumentError, match=f"target .y. are only .* multiplied by {times}\\."):
        sf.regression("linear", sf.Schema(columns, target="y"), ["x"])
    columns["y"] = sf.Number(2, 2.11)
    assert sf.regression("linear", sf.Schema(columns, target="y"), ["x"]).dimension == 2
