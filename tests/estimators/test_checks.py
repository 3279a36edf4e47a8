"""scikit-learn's own checks, on every estimator as a user would declare it."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import warnings
from unittest import SkipTest

import pytest
from estimator_cases import CLASSIFIERS, DECLARED, ESTIMATORS, name
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import sfumato as sf
from effort import sized

LABELS_NEVER_RAISE = {
    "check_supervised_y_no_nan": "an error on a NaN label would tell of a record; it counts as the declared missing label",
}
CLASSES_ARE_DECLARED = {
    "check_classifiers_classes": "classes_ is the declared list, never read from y",
    "check_classifiers_regression_target": "an error on an undeclared label would tell of a record; it counts as the first",
}


def expected_to_fail(estimator) -> dict[str, str]:
    is_classifier = any(isinstance(estimator, type(other)) for other in CLASSIFIERS)
    return {**LABELS_NEVER_RAISE, **(CLASSES_ARE_DECLARED if is_classifier else {})}


def name_of(check) -> str:
    return getattr(check, "func", check).__name__


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_to_fail, xfail_strict=True)
def test_scikit_learn_checks(estimator, check):
    if name_of(check) == "check_array_api_input":  # needs a switch that must be set before scipy is imported
        # The quick form keeps one of these cases, so it asks for that estimator alone.
        assert name(estimator) in passed_with_array_api(sized((name(estimator),), tuple(map(name, ESTIMATORS))))
        return
    check(estimator)


ARRAY_API = """
import sys, warnings
from estimator_cases import ESTIMATORS, name
from sklearn.utils.estimator_checks import estimator_checks_generator

warnings.simplefilter("ignore")
for declared in (each for each in ESTIMATORS if name(each) in sys.argv[1:]):
    for estimator, check in estimator_checks_generator(declared):
        if getattr(check, "func", check).__name__ == "check_array_api_input":
            check(estimator)
            print(name(estimator))
"""


@functools.cache
def passed_with_array_api(names: tuple[str, ...]) -> list[str]:
    env = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", ARRAY_API, *names], env=env, capture_output=True, text=True, check=True)
    return run.stdout.split()


VARIANTS = [
    (
        sf.PrivateLogisticRegression(**DECLARED, classes=[0, 1], missing_class=0, rows="normalise"),
        set(CLASSES_ARE_DECLARED),
    ),
    (
        sf.PrivateLogisticRegression(**DECLARED, classes=[0, 1], missing_class=0, fit_intercept=False),
        set(CLASSES_ARE_DECLARED),
    ),
    (sf.PrivateLinearRegression(**DECLARED, bounds_y=(-3, 3), rows="normalise"), set()),
    # These two fit one instance to data of two labels and of more: what is declared is four classes.
    (
        sf.PrivateLogisticRegression(**DECLARED, classes=[0, 1, 2, 3], missing_class=0),
        {*CLASSES_ARE_DECLARED, "check_classifiers_train", "check_decision_proba_consistency"},
    ),
]


@pytest.mark.parametrize(
    ("estimator", "fails"), sized(VARIANTS[2:], VARIANTS), ids=lambda value: getattr(value, "rows", "")
)
def test_other_declarations_pass_the_same_checks(estimator, fails):
    failed = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checks = list(estimator_checks_generator(estimator))
        assert len(checks) > 45
        for made, check in checks[:: sized(3, 1)]:
            try:
                check(made)
            except SkipTest:
                continue
            except Exception:  # what a check raises, its own assertion or an error of the estimator, is a failure
                failed.add(name_of(check))
    assert failed <= {*fails, *LABELS_NEVER_RAISE}


def test_the_checks_can_fail():
    """The battery is not passed by an estimator that keeps its declarations from the data."""

    class Peeking(sf.PrivateLogisticRegression):
        def fit(self, X, y):
            self.classes = sorted(set(y.tolist()))
            self.missing_class = self.classes[0]
            return super().fit(X, y)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checks = {name_of(check): (made, check) for made, check in estimator_checks_generator(Peeking(**DECLARED))}
        estimator, check = checks["check_dont_overwrite_parameters"]
        with pytest.raises(AssertionError, match="classes, missing_class changed"):
            check(estimator)
