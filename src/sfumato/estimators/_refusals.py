"""Reasons for which a step of a pipeline is refused, and what to use instead. Only words: `_steps` decides."""

from __future__ import annotations

from typing import Any

_SCALE = "Use sf.PublicScaler(schema), which takes the declared bounds"
_LEVELS = "Use sf.PublicEncoder(schema), which takes the declared levels"
_EMPTY = (
    "Leave it out: sf.PublicScaler and sf.PublicEncoder put the declared missing value of its column for an empty cell"
)
_CHOOSE = "Choose the columns by what is known without the rows, for example with a ColumnTransformer"
_DIRECTIONS = "Leave it out: a private regression learns the shape of the rows within its price"

# Class of a step -> (what it reads from the rows, what to use instead). Subclasses share the words.
_LEARNS = {
    "StandardScaler": ("the mean and deviation of every column", _SCALE),
    "MinMaxScaler": ("the least and largest value of every column", _SCALE),
    "MaxAbsScaler": ("the largest value of every column", _SCALE),
    "RobustScaler": ("quantiles of every column", _SCALE),
    "QuantileTransformer": ("quantiles of every column", _SCALE),
    "PowerTransformer": ("an exponent for every column", _SCALE),
    "OrdinalEncoder": ("the levels of every column", _LEVELS),
    "LabelBinarizer": ("the list of labels", _LEVELS),
    "LabelEncoder": ("the list of labels", _LEVELS),
    "MultiLabelBinarizer": ("the list of labels", _LEVELS),
    "TargetEncoder": ("the mean label of every level", _LEVELS),
    "KBinsDiscretizer": ("the edges of its bins", "Declare the bins as levels of a category and use sf.PublicEncoder"),
    "SplineTransformer": ("its knots", "Use PolynomialFeatures after sf.PublicScaler, or powers in sf.regression"),
    "CountVectorizer": ("its vocabulary", _LEVELS),
    "TfidfVectorizer": ("its vocabulary", _LEVELS),
    "SimpleImputer": ("a mean, median or most frequent value of every column", _EMPTY),
    "KNNImputer": ("all rows, which it keeps", _EMPTY),
    "IterativeImputer": ("a regression of each column on the others", _EMPTY),
    "MissingIndicator": ("which columns have empty cells", _EMPTY),
    "SelectKBest": ("a score of every column", _CHOOSE),
    "SelectPercentile": ("a score of every column", _CHOOSE),
    "GenericUnivariateSelect": ("a score of every column", _CHOOSE),
    "SelectFromModel": ("a model that is fitted without noise", _CHOOSE),
    "VarianceThreshold": ("the variance of every column", _CHOOSE),
    "RFE": ("a model that is fitted without noise", _CHOOSE),
    "RFECV": ("models that are fitted without noise", _CHOOSE),
    "SequentialFeatureSelector": ("models that are fitted without noise", _CHOOSE),
    "PCA": ("the directions in which the rows vary", _DIRECTIONS),
    "IncrementalPCA": ("the directions in which the rows vary", _DIRECTIONS),
    "KernelPCA": ("the directions in which the rows vary", _DIRECTIONS),
    "TruncatedSVD": ("the directions in which the rows vary", _DIRECTIONS),
    "FastICA": ("the directions in which the rows vary", _DIRECTIONS),
    "FactorAnalysis": ("the directions in which the rows vary", _DIRECTIONS),
    "NMF": ("the directions in which the rows vary", _DIRECTIONS),
    "PLSRegression": ("the directions in which the rows vary with the labels", _DIRECTIONS),
}


def why(step: Any, accepted: str) -> str:
    """The sentence for a step that is not accepted."""
    for base in type(step).__mro__:
        if base.__name__ in _LEARNS:
            what, instead = _LEARNS[base.__name__]
            return f"it learns {what} from the rows, without noise and without a charge. {instead}."
    if any(base.__name__ == "FunctionTransformer" for base in type(step).__mro__):
        return (
            "a function may read all rows at once (X - X.mean()), and nothing can show that it does not. Compute the new column "
            "before the pipeline, from one row at a time, and declare its bounds."
        )
    return f"it is not among the steps that are known to learn nothing from the rows: {accepted}."


def search(step: Any) -> str | None:
    """The sentence for a search over parameters, with the number of releases where it can be counted; None for other steps."""
    if not hasattr(step, "estimator") or not hasattr(step, "scoring") or not hasattr(step, "cv"):
        return None
    return (
        f"{type(step).__name__} fits the private estimator{_fits(step)}: each fit is a release that is charged, and the choice "
        "among them is made by scores that are computed from the rows without noise. Choose the parameters on public or "
        "invented rows, with random_state set, and fit once."
    )


def _fits(step: Any) -> str:
    """How often a grid search fits, in words: candidates times folds, and once more for the best."""
    from sklearn.model_selection import ParameterGrid  # type: ignore[import-untyped]

    try:
        candidates = len(ParameterGrid(step.param_grid))
    except Exception:  # a search without a grid, or a grid that scikit-learn refuses later
        return " once for every candidate and fold"
    folds = 5 if step.cv is None else step.cv  # scikit-learn's own default
    if isinstance(folds, bool) or not isinstance(folds, int):
        return f" once for each of {candidates} candidates and every fold"
    again = 1 if getattr(step, "refit", False) else 0
    last = " and 1 for the best" if again else ""
    return f" {candidates * folds + again} times ({candidates} candidates in {folds} folds{last})"
