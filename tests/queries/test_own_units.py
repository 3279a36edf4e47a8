"""Coefficients in the columns' own units: those of an ordinary fit, whatever the units, references and transformations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.queries import shaped_intervals
from sfumato.queries.coefficients import little_information
from unit_tables import COLUMNS, DELTA, EPSILON, PROBABILITIES, REGIONS, SCALES, N, Study, raw, study, table

NEW = table(np.random.default_rng(5), 200)
# Mean losses of a score, by kind, for fits that share no code with the package; classes are 0 and 1.
LOSSES = {
    "logistic": lambda u, y: np.logaddexp(0, u) - y * u,
    "probit": lambda u, y: -special.log_ndtr((2 * y - 1) * u),
    "cloglog": lambda u, y: np.where(y > 0, -np.log(-np.expm1(-np.exp(np.minimum(u, 6))) + 1e-300), np.exp(u)),
    "poisson": lambda u, y: np.exp(u) - y * u,
    "linear": lambda u, y: 0.5 * (u - y) ** 2,
    "quantile": lambda u, y: 0.5 * np.abs(u - y),
}
RATIOS = {"logistic": "odds ratio", "cloglog": "hazard ratio", "poisson": "rate ratio"}


def fitted(kind: str, columns: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Intercept and coefficients of an ordinary fit; columns are standardised for the solver alone."""
    y = (labels == "yes").astype(float) if labels.dtype.kind == "U" else labels.astype(float)
    middle, spread = columns.mean(axis=0), columns.std(axis=0)
    rows = np.column_stack([np.ones(len(columns)), (columns - middle) / spread])
    start = np.linalg.lstsq(rows, y, rcond=None)[0] if kind in ("linear", "quantile") else np.zeros(rows.shape[1])
    method = {"quantile": "Powell"}.get(kind, "BFGS")
    theta = optimize.minimize(lambda t: LOSSES[kind](rows @ t, y).mean(), start, method=method, tol=1e-8).x
    own = theta[1:] / spread
    return np.array([theta[0] - own @ middle, *own])


def released(kind: str, schema: sf.Schema, rows: dict, labels: np.ndarray, features=None, seed: int = 4) -> sf.Release:
    """A release of `sf.regression` with the default prior, at a very large epsilon."""
    plan = sf.plan(sf.regression(kind, schema, features), len(labels), EPSILON, DELTA, goal="estimate")
    data = sf.Dataset.from_table({**rows, "target": labels}, schema=schema)
    return sf.publish(plan, data, randomness=sf.seeded(seed))


@pytest.mark.parametrize("kind", list(LOSSES))
def test_coefficients_ratios_and_contrasts_are_those_of_an_ordinary_fit(kind):
    made = study(kind)
    release = released(kind, made.schema, made.rows, made.labels)
    table_ = release.coefficients()
    wanted = fitted(kind, raw(made.rows), made.labels)
    assert table_.labels == ("intercept", "age", "income", "smoker", "region=south", "region=islands")
    lower, upper = table_.intervals
    assert ((lower <= wanted) & (wanted <= upper)).all()
    # Narrow: an interval of another coefficient, or of coded features, does not hold it.
    assert ((lower <= release.estimate(scaled=True)) & (release.estimate(scaled=True) <= upper)).mean() < 0.5
    assert table_.ratio == RATIOS.get(kind)
    if table_.ratio:
        assert np.isnan(table_.ratios[0])
        assert np.allclose(table_.ratios[1:], np.exp(table_.estimates[1:]))
        assert ((table_.ratio_intervals[0] <= np.exp(wanted)) & (np.exp(wanted) <= table_.ratio_intervals[1]))[1:].all()
    scores = wanted[0] + raw(NEW) @ wanted[1:]
    means = {**PROBABILITIES, "poisson": np.exp}.get(kind, np.positive)(scores)
    predicted = release.predict_interval(public_rows=NEW)
    assert ((predicted.lower <= means) & (means <= predicted.upper)).all()
    contrast = release.contrast({"region=islands": 1, "region=south": -1, "age": 10, "region=north": 7})
    assert contrast.lower <= wanted[5] - wanted[4] + 10 * wanted[1] <= contrast.upper
    assert contrast.estimate == pytest.approx(table_.estimates @ [0, 10, 0, 0, -1, 1])


def test_powers_and_products_are_those_of_an_ordinary_fit_on_the_same_columns():
    made = Study("logistic", seed=3)
    rows, age = made.rows, made.rows["age"]
    scores = made.scores(rows) - 0.0008 * (age - 50) ** 2 + 0.02 * rows["smoker"] * (age - 50)
    labels = np.where(np.random.default_rng(8).random(N) < 1 / (1 + np.exp(-scores)), "yes", "no")
    release = released("logistic", made.schema, rows, labels, ["age*smoker", "age^2", "income", "region"])
    columns = np.column_stack([raw(rows), age * rows["smoker"], age**2])
    wanted = dict(zip(("intercept", "age", "income", "smoker", "region=south", "region=islands", "age:smoker", "age^2"),
                      fitted("logistic", columns, labels), strict=True))  # fmt: skip
    table_ = release.coefficients()
    assert set(table_.labels) == set(wanted)
    truth = np.array([wanted[label] for label in table_.labels])
    assert ((table_.intervals[0] <= truth) & (truth <= table_.intervals[1])).all()


def swapped(column: str, value: sf.schema.columns.Column) -> sf.Schema:
    """The table's schema with one column declared otherwise."""
    return sf.Schema(
        {**COLUMNS, column: value, "target": sf.Category(["no", "yes"], missing="no")}, target="target", name="survey"
    )


def test_months_instead_of_years_give_the_same_predictions_and_a_twelfth_of_the_coefficient():
    made = study("logistic")
    years = released("logistic", swapped("age", COLUMNS["age"]), made.rows, made.labels)
    months = released(
        "logistic", swapped("age", sf.Number(240, 960)), {**made.rows, "age": made.rows["age"] * 12}, made.labels
    )
    later = {**NEW, "age": NEW["age"] * 12}
    assert np.allclose(months.predict_proba(public_rows=later), years.predict_proba(public_rows=NEW), atol=1e-9)
    by_month, by_year = months.coefficients(), years.coefficients()
    assert np.allclose(by_month.intervals[:, 1] * 12, by_year.intervals[:, 1], rtol=1e-6)
    assert np.allclose(np.delete(by_month.estimates, 1), np.delete(by_year.estimates, 1), rtol=1e-6)
    assert np.allclose(
        months.predict_interval(public_rows=later).lower, years.predict_interval(public_rows=NEW).lower, atol=1e-9
    )


def test_another_reference_level_changes_what_is_compared_and_nothing_else():
    made = study("logistic")
    first = released("logistic", swapped("region", COLUMNS["region"]), made.rows, made.labels)
    south = sf.Category(REGIONS, reference="south", missing=REGIONS[0])
    other = released("logistic", swapped("region", south), made.rows, made.labels)
    assert np.array_equal(first.draws.values, other.draws.values)
    assert np.array_equal(first.predict_proba(public_rows=NEW), other.predict_proba(public_rows=NEW))
    assert other.labels == ("intercept", "age", "income", "smoker", "region=north", "region=islands")
    same = first.coefficients(reference={"region": "south"})
    assert same.labels == other.labels
    assert np.allclose(same.intervals, other.coefficients().intervals)
    against = {"region=islands": 1, "region=south": -1}
    assert np.allclose(first.contrast(against).estimate, other.coefficients().estimates[5])
    assert str(first.contrast(against)).split(":")[1] == str(other.contrast(against)).split(":")[1]
    means = first.coefficients(reference={"region": "sum-to-zero"})
    assert sum(means.estimates[4:]) == pytest.approx(0, abs=1e-12)
    assert len(means.labels) == 7


def test_a_shifted_number_changes_the_intercept_alone():
    made = study("linear")
    plain = released("linear", made.schema, made.rows, made.labels)
    schema = sf.Schema({**COLUMNS, "age": sf.Number(-30, 30), "target": made.target}, target="target", name="survey")
    centred = released("linear", schema, {**made.rows, "age": made.rows["age"] - 50}, made.labels)
    assert np.allclose(centred.estimate()[1:], plain.estimate()[1:], rtol=1e-6)
    assert centred.estimate()[0] == pytest.approx(plain.contrast({"intercept": 1, "age": 50}).estimate)


def test_several_classes_are_compared_with_the_first():
    rng = np.random.default_rng(2)
    labels = rng.choice(["a", "b", "c"], 2_000)
    schema = sf.Schema(
        {**COLUMNS, "target": sf.Category(["a", "b", "c"], missing="a")}, target="target", name="classes"
    )
    release = released("multinomial", schema, table(rng, 2_000), labels)
    table_ = release.coefficients()
    assert table_.labels[:2] == ("target=b: intercept", "target=b: age")
    assert len(table_.labels) == 12
    assert table_.intervals is None
    assert "transcript" in table_.reason or "one score" in table_.reason
    shares = release.predict_proba(public_rows=NEW)
    rows = np.column_stack([np.ones(200), raw(NEW)])
    scores = rows @ table_.estimates.reshape(2, 6).T
    assert np.allclose(np.log(shares[:, 1:] / shares[:, :1]), scores, atol=1e-9)
    assert np.isnan(table_.ratios[[0, 6]]).all()


def test_several_classes_agree_with_an_ordinary_fit():
    """They have no intervals: half a sampling deviation of the ordinary fit is allowed. Other units would be many off."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(3)
    rows, n = table(rng, 5_000), 5_000
    columns = np.column_stack([np.ones(n), raw(rows) / SCALES])
    truth = np.array([[0.0] * 6, [-1.0, 0.5, 0.2, 0.5, 0.3, -0.3], [0.5, -0.3, -0.2, -0.4, 0.0, 0.4]])
    shares = special.softmax(columns @ truth.T, axis=1)
    codes = (shares.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    schema = sf.Schema(
        {**COLUMNS, "target": sf.Category(["a", "b", "c"], missing="a")}, target="target", name="classes"
    )
    release = released("multinomial", schema, rows, np.array(["a", "b", "c"])[codes])
    made = LogisticRegression(C=np.inf, max_iter=3000, tol=1e-6).fit(columns[:, 1:], codes)
    both = np.column_stack([made.intercept_, made.coef_ / SCALES])
    own = np.column_stack([np.ones(n), raw(rows)])
    chances = made.predict_proba(columns[:, 1:])[:, 1:]
    weights = np.einsum("ij,jk->ijk", chances, np.eye(2)) - np.einsum("ij,ik->ijk", chances, chances)
    information = np.einsum("ijk,ia,ib->jakb", weights, own, own, optimize=True).reshape(12, 12)
    deviations = np.sqrt(np.diag(np.linalg.inv(information)))
    off = (release.coefficients().estimates - (both[1:] - both[0]).ravel()) / deviations
    assert np.abs(off).max() < 0.5


def test_every_way_of_reading_has_the_same_names_and_units():
    release = released("logistic", study("logistic").schema, study("logistic").rows, study("logistic").labels)
    assert release.labels == tuple(release.to_pandas().columns) == tuple(release.coefficients().to_pandas().index)
    assert np.allclose(release.to_pandas().to_numpy()[0], release.mean())
    assert list(release.to_pandas(scaled=True).columns) == list(release.draws.labels)
    assert np.array_equal(release.mean(scaled=True), release.draws.mean())
    assert np.allclose(release.summary().estimates, release.estimate())
    assert np.allclose(release.summary().intervals, release.interval())
    posterior = release.to_arviz()["posterior"]
    assert list(posterior["coordinate"].values) == list(release.labels)
    said = str(release)
    assert "intercept -" in said
    assert "/ 0." not in said


def test_the_summary_prints_like_that_of_a_statistics_package():
    made = study("logistic")
    release = released(
        "logistic",
        swapped("region", sf.Category(REGIONS, reference="south", missing=REGIONS[0])),
        made.rows,
        made.labels,
    )
    warned, *lines = str(release.summary()).splitlines()
    assert warned.startswith("NOT PRIVATE: made with a seeded stream")
    assert lines[0] == "Logistic regression of target"
    assert lines[1].startswith("records  20,000")
    assert lines[2] == "link     log odds of target = yes"
    head = next(line for line in lines if "coef" in line)
    assert head.split() == ["coef", "std", "err", "[0.05", "0.95]", "odds", "ratio", "[0.05", "0.95]"]
    assert "Levels are compared: region with south." in lines
    assert "Standard errors and intervals include the privacy noise and the sampling of the records." in lines
    assert len({len(line) for line in lines if set(line) in ({"="}, {"-"})}) == 1


def test_a_release_with_little_information_says_so_of_own_coefficients():
    rng = np.random.default_rng(0)
    schema, rows = study("logistic").schema, table(rng, 300)
    plan = sf.plan(sf.regression("logistic", schema, prior=0.5), 300, 0.3, 1e-4, goal="estimate")
    labels = rng.choice(["no", "yes"], 300)
    release = sf.publish(
        plan, sf.Dataset.from_table({**rows, "target": labels}, schema=schema), randomness=sf.seeded(1)
    )
    table_ = release.coefficients()
    assert "age" in table_.little
    assert "age *" in str(release.summary())
    assert table_.sentence in str(table_)
    assert release.prior_dominated(release.interval()).startswith("This release has little information on")


def test_the_sentence_on_little_information_is_short():
    assert little_information(["a", "b"], 3).startswith("This release has little information on a, b:")
    assert "all 3 coefficients" in little_information(["a", "b", "c"], 3)
    assert "and 292 more" in little_information([f"x{i}" for i in range(300)], 301)
    assert little_information([], 3) == ""


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda r: r.contrast({"region=east": 1}), "there is no coefficient 'region=east'"),
        (lambda r: r.contrast({}), "a table of names and weights"),
        (lambda r: r.contrast({"age": "ten"}), "the weight of 'age' must be"),
        (lambda r: r.contrast({"age": None}), "the weight of 'age' must be"),
        (lambda r: r.contrast({"age": float("nan")}), "the weight of 'age' must be"),
        (lambda r: r.contrast({"age": float("inf")}), "the weight of 'age' must be"),
        (lambda r: r.coefficients(reference={"region": "east"}), "must be one of its levels"),
        (lambda r: r.coefficients(reference={"age": "x"}), "no category of the schema"),
        (lambda r: r.coefficients(reference="region"), "reference must be a table"),
        (lambda r: r.coefficients(include="everything"), "include must be"),
        (lambda r: r.coefficients(scaled=True, reference={"region": "south"}), "in own units"),
        (lambda r: r.interval(prior=sf.families.BetaBernoulli()), "prior is for families"),
    ],
)
def test_wrong_questions_are_refused(ask, said):
    made = study("logistic")
    with pytest.raises(sf.errors.ArgumentError, match=said):
        ask(released("logistic", made.schema, made.rows, made.labels))


def test_other_models_have_no_coefficients():
    plan = sf.plan(sf.families.BetaBernoulli(), 20, 1.0, 1e-6)
    data = sf.Dataset.from_table({"x": np.arange(20) < 5}, schema=sf.Schema({"x": sf.Boolean(missing=False)}))
    release = sf.publish(plan, data, randomness=sf.seeded(1))
    for ask in (release.coefficients, lambda: release.contrast({"x": 1})):
        with pytest.raises(sf.errors.ArgumentError, match="of a regression; this release is of another model"):
            ask()
    assert release.labels == release.draws.labels
    with pytest.raises(sf.errors.ArgumentError, match="reference is for"):
        release.view(reference={"x": 1})


def test_a_coefficient_of_which_little_is_known_is_drawn_towards_the_prior():
    """A level that 20 of 4,000 rows have, with the same labels as others: the path runs far along it, the prior bounds it."""
    rng, n = np.random.default_rng(6), 4_000
    schema = sf.Schema(
        {"ward": sf.Category(["a", "b", "rare"], missing="a"), "ill": sf.Boolean(missing=False)},
        target="ill",
        name="wards",
    )
    codes = np.where(np.arange(n) < 20, 2, np.arange(n) % 2)
    cells = {"ward": np.array(["a", "b", "rare"])[codes], "ill": rng.random(n) < 0.3}
    plan = sf.plan(sf.regression("logistic", schema), n, 0.5, 1e-6, goal="estimate")
    estimated, walked = [], []
    for seed in range(6):
        release = sf.publish(plan, sf.Dataset.from_table(cells, schema=schema), randomness=sf.seeded(seed))
        table_ = release.coefficients()
        own, path = release.view(), shaped_intervals.predictor(release.draws, release.plan)
        assert table_.little == ("ward=rare",)
        estimated.append(table_.estimates[2])
        walked.append((own.functionals @ path + own.shift)[2])
    assert np.square(estimated).mean() < 0.5 * np.square(walked).mean()


def test_a_ratio_beyond_all_floats_is_infinite():
    """A column from 0 to 0.001 has a coefficient of thousands per unit."""
    rng, n = np.random.default_rng(3), 2_000
    x = rng.uniform(0, 1e-3, n)
    labels = rng.random(n) < 1 / (1 + np.exp(2 - 4000 * x))
    schema = sf.Schema({"x": sf.Number(0, 1e-3), "y": sf.Boolean(missing=False)}, target="y")
    plan = sf.plan(sf.regression("logistic", schema), n, 3.0, 1e-6, goal="estimate")
    release = sf.publish(plan, sf.Dataset.from_table({"x": x, "y": labels}, schema=schema))
    assert np.isinf(release.coefficients().ratios[1])
    assert release.contrast({"x": 1}).ratios == (np.inf, np.inf, np.inf)
    assert np.isfinite(release.contrast({"x": 1e-3}).ratios).all()


def test_products_in_contrasts_are_named_in_any_order():
    rng, n = np.random.default_rng(3), 2_000
    columns = {"years": sf.Number(0, 40), "female": sf.Boolean(missing=False),
               "region": sf.Category(["south", "north: a", "west"], missing="south"),
               "wage": sf.Number(0, 100)}  # fmt: skip
    schema = sf.Schema(columns, target="wage", name="wages", unit="person")
    rows = {"years": rng.uniform(0, 40, n), "female": rng.random(n) < 0.5,
            "region": rng.choice(columns["region"].levels, n), "wage": rng.uniform(0, 100, n)}  # fmt: skip
    model = sf.regression("linear", schema, ["years*female", "years^2", "years^2:female", "years*region"])
    plan = sf.plan(model, n, 20.0, 1e-6, goal="estimate")
    release = sf.publish(plan, sf.Dataset.from_table(rows, schema=schema), randomness=sf.seeded(4))
    for name, other in (
        ("years:female", "female:years"),
        ("years^2:female", "female : years^2"),
        ("years:region=north: a", "region=north: a:years"),
    ):
        assert name in release.labels
        assert release.contrast({other: 2.0}).estimate == release.contrast({name: 2.0}).estimate
    pair = release.contrast({"region=west:years": 1, "region=south:years": -1})
    assert pair.estimate == release.contrast({"years:region=west": 1}).estimate
    with pytest.raises(ArgumentError, match="there is no coefficient 'female:female'"):
        release.contrast({"female:female": 1})
    with pytest.raises(ArgumentError, match=r"^region=south is the reference level: its coefficient is 0"):
        release.contrast({"region=south": 1})
    with pytest.raises(ArgumentError, match=r"^years:region=south is a product with the reference level: its"):
        release.contrast({"region=south:years": 1})


def test_the_intervals_of_a_table_of_coefficients_are_those_of_the_release():
    """In the units of the columns, with the middle of the target's bounds added to the intercept."""
    rng = np.random.default_rng(6)
    X = rng.uniform(-1, 1, (400, 2))
    model = sf.PrivateLinearRegression(4.0, 1e-6, bounds=(-1.0, 1.0), bounds_y=(100.0, 120.0), random_state=2)
    release = model.fit(X, 110 + X @ [3.0, -2.0] + rng.normal(size=400)).release_
    table = release.coefficients()
    assert np.allclose(np.asarray(table.intervals).ravel(), np.asarray(release.interval(table.level)).ravel())
    assert (np.asarray(table.intervals)[0].ravel() < np.asarray(table.estimates).ravel()).all()
    assert (np.asarray(table.estimates).ravel() < np.asarray(table.intervals)[1].ravel()).all()
