"""Private linear regression."""

from __future__ import annotations

from collections.abc import Callable

from sfumato.estimators._regressor import Labels, PrivateRegressor
from sfumato.models.losses import Huber, Loss

# Half the width of the bounds, which lets the clip grow up to the width; here in units of half that width.
_CLIP = 1.0


class PrivateLinearRegression(PrivateRegressor):
    """Least squares with clipped residuals, under (epsilon, delta)-differential privacy.

    A residual beyond a level that follows from released shares of residuals, at most the width of `bounds_y`, counts
    as that much; up to there the loss is the square.

    epsilon, delta: the price of the fit. delta has no default: choose it far below one in the number of records.
    data_norm: the largest Euclidean norm of a row; or
    bounds: (lower, upper), a tuple of numbers or arrays, or a list of one pair per feature; features are scaled to
        [-1/2, 1/2], and data_norm, if given too, is then the norm of the scaled row.
    bounds_y: (lower, upper) of the target. Labels outside are clipped; one that is no number counts as the middle.
    fit_intercept: whether there is a constant term. It is counted in the radius that the price rests on.
    rows: "clip" shortens rows longer than data_norm; "normalise" brings all rows, the constant included, to one norm.
    prior: a prior deviation: of the effect of a feature from its lower bound to its upper (without bounds, of the score of the
        longest row); or one of sf.priors in the model's own coordinates; or a public guess, `coef_` with `intercept_` last.
    persons: an sf.Persons where one person may have several rows; `fit` then takes their ids as `groups`, and the promise is to a
        person with all of their rows. Where rows are averaged the fit is `robust` too.
    unit: what a record is called in the promise and in the ledger, such as "patient"; by default "row", or "person" with persons.
    ledger, ledger_name, request_id: where the price is charged before anything is drawn.
    robust: whether the matrix of the scores is released too, for a tenth of the price: release_.interval(include="robust").
    allow_weak: whether an epsilon above 50 or a delta of 1/(10 n) or more is allowed; every form of the promise then states it.
    random_state: None for a private fit. A whole number makes a fit that can be repeated and is NOT PRIVATE.

    After `fit`: release_, plan_, guarantee_, coef_ (features,), intercept_, n_iter_, n_features_in_, feature_names_in_.
    coef_ is for predictions (the average of the noisy path); release_.summary() has estimates with intervals.
    """

    def _loss(self, labels: Labels) -> Callable[[float], Loss]:
        return lambda radius: Huber(radius=radius, clip=_CLIP, lower=labels.low, upper=labels.high)
