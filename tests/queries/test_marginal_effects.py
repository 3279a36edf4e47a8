"""Average marginal effects against finite differences of a fit without privacy on the same rows."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.queries import effects as effects_module
from sfumato.queries import functionals
from sfumato.queries.effects import marginal_effects
from sfumato.queries.inverse_links import mean_kind
from unit_tables import COLUMNS, REGIONS, SLOPES, raw, study, table

NEW = table(np.random.default_rng(31), 400)
NAMES = ("age", "income", "smoker", "region=south", "region=islands")


def changed(rows: dict[str, np.ndarray], name: str, value: object) -> dict[str, np.ndarray]:
    full = np.full(len(rows["age"]), value) if np.ndim(value) == 0 else value
    return {**rows, name: full}


def differences(mean, rows: dict[str, np.ndarray], step: float = 1e-3) -> np.ndarray:
    """Effects of a function from rows to means, column by column: the numbers by steps of `step` of their units."""

    def number(name: str) -> float:
        middle = np.clip(rows[name], COLUMNS[name].lower + step, COLUMNS[name].upper - step)
        high, low = (mean(changed(rows, name, middle + sign * step)) for sign in (1, -1))
        return float(np.mean(high - low)) / (2 * step)

    smoker = np.mean(mean(changed(rows, "smoker", True)) - mean(changed(rows, "smoker", False)))
    first = mean(changed(rows, "region", REGIONS[0]))
    levels = [np.mean(mean(changed(rows, "region", level)) - first) for level in REGIONS[1:]]
    return np.array([number("age"), number("income"), smoker, *levels])


def own_mean(made):
    """The mean by the release's own prediction, whose code the effects do not use."""
    if made.kind in ("poisson", "linear", "quantile"):
        return lambda rows: made.release.predict(public_rows=rows)
    return lambda rows: made.release.predict_proba(public_rows=rows)[:, 1]


@pytest.mark.parametrize("kind", ["logistic", "probit", "cloglog", "poisson", "linear"])
def test_effects_agree_with_a_fit_without_privacy_on_the_same_rows(kind):
    made = study(kind)
    given = marginal_effects(*made.documents, NEW)
    wanted = differences(made.fit(), NEW)
    assert given.names == NAMES
    assert ((given.lower <= wanted) & (wanted <= given.upper)).all()
    assert (np.sign(given.lower) == np.sign(SLOPES)).all(), "each is narrow enough to know the sign"
    assert (np.sign(given.upper) == np.sign(SLOPES)).all()
    assert not ((given.lower <= 1.3 * wanted) & (1.3 * wanted <= given.upper)).all()


@pytest.mark.parametrize("kind", ["logistic", "poisson", "linear", "quantile"])
def test_estimates_are_near_the_differences_of_the_release_s_own_predictions(kind):
    """Predictions use the average of the path, which is well within the intervals at this epsilon."""
    made = study(kind)
    given, used = marginal_effects(*made.documents, NEW), differences(own_mean(made), NEW)
    assert (np.abs(given.estimates - used) < 0.25 * (given.upper - given.lower)).all()
    narrow = marginal_effects(*made.documents, NEW, 1e-9)
    assert np.allclose(given.estimates, (narrow.lower + narrow.upper) / 2, rtol=1e-9)


def test_effects_of_a_logistic_regression_are_slopes_times_p_of_1_less_p():
    """Draw by draw: the derivative in a number is its coefficient per unit times the mean of p (1 - p)."""
    made = study("logistic")
    age = marginal_effects(*made.documents, NEW, 0.8)
    drawn = functionals.sample(*made.documents, size=1000)
    scaled = np.column_stack([(raw(NEW)[:, 0] - 20) / 60 - 0.5, raw(NEW)[:, 1] / 5 - 0.5, raw(NEW)[:, 2] - 0.5])
    levels = np.column_stack([NEW["region"] == level for level in REGIONS])
    chances = 1 / (1 + np.exp(-np.column_stack([scaled, levels, np.full(400, 0.5)]) @ drawn.T))
    wanted = np.quantile(drawn[:, 0] / 60 * (chances * (1 - chances)).mean(axis=0), [0.1, 0.9])
    assert np.allclose([age.lower[0], age.upper[0]], wanted, rtol=1e-5)


def test_months_instead_of_years_divide_the_effect_by_twelve():
    """The encoded rows are the same, and with the same stream the release is, so that only the unit differs."""
    made = study("logistic")
    columns = {**COLUMNS, "age": sf.Number(240, 960), "target": made.target}
    schema = sf.Schema(columns, target="target", name="survey", unit="person")
    rows = {**made.rows, "age": 12 * made.rows["age"]}
    data = sf.Dataset.from_table({**rows, "target": made.labels}, schema=schema)
    plan = sf.plan(made.model, made.n, made.epsilon, 1e-6, goal="estimate")
    release = sf.publish(plan, data, randomness=sf.seeded(5))
    years = marginal_effects(*made.documents, NEW)
    months = marginal_effects(release.draws, release.plan, release.schema, {**NEW, "age": 12 * NEW["age"]})
    ratios = years.estimates / months.estimates
    assert np.allclose(ratios, [12, 1, 1, 1, 1], rtol=1e-3)
    assert np.allclose(years.upper[0], 12 * months.upper[0], rtol=1e-2)


def test_rows_at_a_bound_have_the_derivative_of_one_side():
    made = study("logistic")
    for end in (20.0, 80.0):
        edge = changed(NEW, "age", end)
        inside = changed(NEW, "age", end + (0.01 if end == 20 else -0.01))
        pair = [marginal_effects(*made.documents, rows).estimates[0] for rows in (edge, inside)]
        assert np.isclose(*pair, rtol=2e-3)


def test_an_effect_is_right_where_rows_are_shortened():
    """Rows longer than data_norm are shortened, so that a feature enters all others: the coefficient is not the slope."""
    rng = np.random.default_rng(2)
    columns = {"age": sf.Number(0, 100), "height": sf.Number(100, 200), "ill": sf.Boolean(missing=False)}
    schema = sf.Schema(columns, target="ill", data_norm=0.3, name="short", unit="person")
    rows = {"age": rng.uniform(0, 100, 3_000), "height": rng.uniform(100, 200, 3_000)}
    ill = rng.random(3_000) < rows["age"] / 100
    model = sf.Gibbs(sf.losses.Logistic(0.3), sf.priors.Gaussian(0.01), 2)
    plan = sf.plan(model, 3_000, 20.0, 1e-6, goal="estimate")
    data = sf.Dataset.from_table({**rows, "ill": ill}, schema=schema)
    release = sf.publish(plan, data, randomness=sf.seeded(1))
    new = {"age": rng.uniform(5, 95, 200), "height": rng.uniform(105, 195, 200)}
    given = marginal_effects(release.draws, release.plan, release.schema, new)
    high, low = (
        release.predict_proba(public_rows={**new, "age": new["age"] + sign * 1e-2})[:, 1].mean() for sign in (1, -1)
    )
    assert abs(given.estimates[0] - (high - low) / 2e-2) < 0.25 * (given.upper[0] - given.lower[0])
    assert np.isclose(given.estimates[0], (high - low) / 2e-2, rtol=0.02)
    chances = release.predict_proba(public_rows=new)[:, 1]
    assert not np.isclose(given.estimates[0], release.estimate()[0] / 100 * (chances * (1 - chances)).mean(), rtol=0.05)


def test_rows_are_taken_in_blocks(monkeypatch):
    documents = study("poisson").documents
    whole = marginal_effects(*documents, NEW)
    monkeypatch.setattr(effects_module, "_BLOCK", 37 * 1001)
    parts = marginal_effects(*documents, NEW)
    assert np.allclose(
        [whole.estimates, whole.lower, whole.upper], [parts.estimates, parts.lower, parts.upper], rtol=1e-9
    )


def test_effects_print_as_an_aligned_table():
    lines = str(marginal_effects(*study("logistic").documents, NEW)).splitlines()
    assert lines[0] == (
        "Change in the probability of 'yes' for one more unit of a number, for yes against no, or against the reference level; "
        "averaged over 400 rows."
    )
    assert "90 % interval" in lines[1]
    assert [line.split()[0] for line in lines[2:]] == list(NAMES)
    assert len({len(line) for line in lines[1:]}) == 1
    counts = str(marginal_effects(*study("poisson").documents, {name: each[:1] for name, each in NEW.items()}))
    assert counts.startswith("Change in the mean of 'target' for one more unit")
    assert "averaged over 1 row." in counts


@pytest.mark.parametrize("kind", ["linear", "quantile"])
def test_effects_of_a_column_by_itself_are_its_coefficient(kind):
    """The mean and the quantile are linear in the coefficients, so that estimates and intervals agree with the table's."""
    made = study(kind)
    given, table = marginal_effects(*made.documents, NEW, 0.8), made.release.coefficients(0.8)
    assert given.names == table.labels[1:]
    assert np.allclose(given.estimates, table.estimates[1:], rtol=1e-9)
    assert np.allclose([given.lower, given.upper], table.intervals[:, 1:], rtol=1e-9)
    shown = {"linear": "Change in the mean of 'target' for", "quantile": "Change in the 70 % quantile of 'target' for"}
    assert str(given).startswith(shown[kind])


def test_effects_of_a_column_with_a_power_and_a_product_are_averages_over_the_rows():
    """d/dx of b x + c x^2 + g x f is b + 2 c x + g f, averaged: a weighted sum of coefficients, with its own interval."""
    rng, n = np.random.default_rng(8), 3_000
    columns = {"years": sf.Number(0, 40), "female": sf.Boolean(missing=False), "wage": sf.Number(0, 100)}
    schema = sf.Schema(columns, target="wage", name="wages", unit="person")
    rows = {"years": rng.uniform(0, 40, n), "female": rng.random(n) < 0.5}
    mean = (
        20 + 2 * rows["years"] - 0.03 * rows["years"] ** 2 - 3 * rows["female"] - 0.2 * rows["years"] * rows["female"]
    )
    model = sf.regression("linear", schema, ["years", "female", "years^2", "years:female"])
    plan = sf.plan(model, n, 20.0, 1e-6, goal="estimate")
    data = sf.Dataset.from_table({**rows, "wage": mean + 5 * rng.normal(size=n)}, schema=schema)
    release = sf.publish(plan, data, randomness=sf.seeded(4))
    new = {"years": rng.uniform(1, 39, 50), "female": rng.random(50) < 0.3}
    given = release.marginal_effects(public_rows=new)
    slope = {"years": 1, "years^2": 2 * new["years"].mean(), "years:female": new["female"].mean()}
    wanted = [release.contrast(slope), release.contrast({"female": 1, "years:female": new["years"].mean()})]
    assert given.names == ("years", "female")
    assert np.allclose(given.estimates, [each.estimate for each in wanted], rtol=1e-6)
    assert np.allclose([given.lower, given.upper], [[getattr(each, end) for each in wanted] for end in ("lower", "upper")],
                       rtol=1e-6)  # fmt: skip
    assert not np.isclose(given.estimates[0], release.coefficients().estimates[1], rtol=0.2)


def test_effects_as_a_frame():
    given = marginal_effects(*study("logistic").documents, NEW)
    frame = given.to_pandas()
    assert list(frame.index) == list(NAMES)
    assert list(frame.columns) == ["effect", "lower", "upper"]
    assert np.array_equal(frame.to_numpy().T, [given.estimates, given.lower, given.upper])


@pytest.mark.parametrize(
    ("loss", "name"),
    [(sf.losses.SmoothedHinge(1.0, 0.5), "svm"), (sf.losses.Softmax(1.0, 2), "multinomial"),
     (sf.losses.Hinge(1.0), "hinge")],
)  # fmt: skip
def test_losses_without_an_inverse_link_are_refused_by_the_names_of_specs(loss, name):
    with pytest.raises(ArgumentError) as refusal:
        mean_kind(loss, "marginal effects")
    assert str(refusal.value) == (
        "marginal effects need a regression whose score stands for a probability (logistic, probit, cloglog), a rate (poisson), a "
        f"mean (linear) or a quantile (quantile); {name} is none of these. release.predict(public_rows=X) serves every regression."
    )


def test_vectors_and_no_rows_are_refused():
    with pytest.raises(ArgumentError, match="at least one row"):
        marginal_effects(*study("logistic").documents, {name: each[:0] for name, each in NEW.items()})
    schema = sf.Schema.vector(2, data_norm=1.0, target=sf.Boolean(missing=False), name="vectors")
    plan = sf.plan(sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(1.0), 2), 500, 5.0, 1e-4, goal="estimate")
    X = np.random.default_rng(1).normal(size=(500, 2))
    release = sf.publish(plan, sf.Dataset.from_arrays(X, X[:, 0] > 0, schema=schema), randomness=sf.seeded(1))
    with pytest.raises(ArgumentError, match="vectors without columns"):
        marginal_effects(release.draws, release.plan, release.schema, X)
