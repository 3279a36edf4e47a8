"""A release of an estimator says what is known of its X: which public steps coded it, or that it was taken as given."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from estimator_cases import ESTIMATORS, name, rows
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion
from sklearn.pipeline import make_pipeline as bare_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

import sfumato as sf
from sfumato.errors import FormatError
from sfumato.schema.vector_units import VectorUnits
from sfumato.shells.report import page

AS_GIVEN = "X as given; what was done to it before is not known"
X, Y = rows(30)
SCALER = sf.PublicScaler(bounds=(-1, 1))
ANY = sf.PrivateLogisticRegression(1.0, 1e-5, data_norm=2.0, classes=[0, 1], missing_class=0)
COLUMNS = ColumnTransformer(
    [("a", bare_pipeline(SCALER, PolynomialFeatures(2)), [0]), ("b", "drop", [1])],
    remainder=sf.PublicEncoder(levels=[0, 1], missing=0),
)  # fmt: skip
UNION = FeatureUnion([("same", "passthrough"), ("too", FunctionTransformer()), ("again", SCALER)])


def recorded(release) -> list[str]:
    """The field of the release's file."""
    return json.loads(release.schema["document"])["units"]["steps"]


def printed(release) -> list[str]:
    """What a reader of the release sees, in one line each: its description, summary, report and notebook page."""
    shown = (str(release), str(release.summary()), page(release), release._repr_html_())
    return [" ".join(text.split()) for text in shown]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_a_fit_says_that_x_was_taken_as_given(estimator):
    """scikit-learn's own pipeline: the estimator sees an array, and cannot notice that a scaler was fitted on the rows."""
    made = bare_pipeline(StandardScaler(), clone(estimator)).fit(X, Y)[-1].release_
    assert recorded(made) == []
    assert all(AS_GIVEN in text for text in printed(made))
    assert AS_GIVEN in " ".join(type(estimator).fit.__doc__.split())
    assert sf.Release.from_bytes(made.to_bytes()).schema == made.schema


CODED = {
    "scaler": ([SCALER], ["PublicScaler"]),
    "twice": (["passthrough", SCALER, bare_pipeline(PolynomialFeatures(2), SCALER)], ["PublicScaler", "PolynomialFeatures"]),
    "columns": ([COLUMNS], ["PublicScaler", "PolynomialFeatures", "PublicEncoder"]),
    "union": ([sf.PublicEncoder(levels=[0, 1], missing=0), UNION], ["PublicEncoder", "PublicScaler"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CODED)
def test_behind_our_own_pipeline_it_names_the_public_steps(case):
    steps, classes = CODED[case]
    pipe = sf.make_pipeline(*(each if isinstance(each, str) else clone(each) for each in steps), clone(ANY))
    first, second = pipe.fit(X, Y)[-1].release_, pipe.fit(X, Y)[-1].release_
    assert recorded(first) == classes
    assert first.schema == second.schema  # a fitted FeatureUnion holds other steps than it was given
    sentence = f"X as given was coded by {', '.join(classes)}, which learn nothing from rows."
    assert all(sentence in text and AS_GIVEN not in text for text in printed(first))
    assert first.verify() is first


def test_a_pipeline_of_no_step_that_reads_says_as_given_and_the_same_steps_in_a_bare_one_too():
    pipes = [
        sf.make_pipeline("passthrough", clone(ANY)),
        sf.make_pipeline(clone(ANY)),
        bare_pipeline(SCALER, clone(ANY)),
    ]
    for pipe in pipes:
        assert AS_GIVEN in str(pipe.fit(X, Y)[-1].release_)


def test_what_is_recorded_depends_on_no_row():
    odd = np.array(X, dtype=object)
    odd[3] = [None, "x", 1e308]
    for steps in ([], [SCALER], [COLUMNS]):
        made = [sf.make_pipeline(*map(clone, steps), clone(ANY)).fit(given, Y)[-1].release_ for given in (X, odd)]
        assert made[0].schema == made[1].schema
        assert made[0].plan_digest == made[1].plan_digest


def test_the_record_cannot_be_edited_and_holds_names_of_classes_alone():
    made = clone(ANY).fit(X, Y).release_
    edited = (
        made.schema["document"]
        .replace('"steps": []', '"steps": ["PublicScaler"]')
        .replace('"steps":[]', '"steps":["PublicScaler"]')
    )
    assert edited != made.schema["document"]
    with pytest.raises(FormatError, match="the schema of the release"):
        replace(made, schema={**made.schema, "document": edited}).verify()
    for wrong in (["<b>PublicScaler</b>"], [1], "PublicScaler", None, ["a b"]):
        with pytest.raises(FormatError, match="steps"):
            sf.Schema.from_json(
                {**sf.Schema.vector(1, 1.0).to_json(), "units": {**VectorUnits(["a"]).to_json(), "steps": wrong}}
            )
    unsaid = VectorUnits(["a"]).to_json()
    del unsaid["steps"]
    with pytest.raises(FormatError, match=r"must have the keys names, .*steps"):
        VectorUnits.from_json(unsaid)
