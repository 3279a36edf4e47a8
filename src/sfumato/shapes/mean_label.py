"""The mean of the labels as one more observation of a linear regression, from its released moments.

The path clips residuals, so that errors with a skewed law shift its intercept: by b, the same for every row where errors do not
depend on the row. The released moments hold the mean label and the mean row, both with noise and without clipping:

    mean label = mean row . theta + noise.

b is taken as normal with a deviation that follows from the mean excess of residuals beyond the clip (`shapes.clip_level`), and the
observation updates the posterior in closed form. Where errors are symmetric b is 0, and the observation agrees with the path.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.shapes.posterior import Posterior
from sfumato.shapes.published import Array


def observed(
    law: Posterior, start: Array, row: Array, label: float, variance: float, shift: float, constant: float
) -> Posterior:
    """The posterior given a mean row whose last entry is the intercept's, and the mean label with this variance.

    `shift` is the deviation of b. The law is relative to `start`.
    """
    shifted = law.covariance.copy()
    # A shift b of the score is one of b over the constant feature in the last coordinate.
    shifted[-1, -1] += (shift / constant) ** 2
    spread = shifted @ row
    gain = spread / (float(row @ spread) + variance)
    covariance = shifted - np.outer(gain, spread)
    mean, predictor = (each + gain * (label - float(row @ (start + each))) for each in (law.mean, law.predictor))
    return replace(law, mean=mean, predictor=predictor, covariance=0.5 * (covariance + covariance.T))
