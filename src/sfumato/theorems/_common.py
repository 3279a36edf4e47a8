"""Requirements and hypotheses that several theorems state in the same words."""

from __future__ import annotations

from sfumato.privacy.statements import Hypothesis

# Requirements in words; numbers are checked by the rule of the same words in `_hypotheses`.
POSITIVE, NOT_NEGATIVE = "finite and greater than 0", "finite and 0 or greater"
COUNT = "a whole number of at least 1"
AT_LEAST_ONE, AT_LEAST_ONE_OR_INFINITE = "finite and at least 1", "at least 1 (infinity is allowed)"
ONE_TO_TWO = "from 1 to 2"

RECORDS = Hypothesis("records", "number of records", "n", COUNT, "State the public number of records.")
DRAWS = Hypothesis("draws", "number of draws", "N", COUNT, "Ask for at least one draw.")
TRIALS = Hypothesis("trials", "trials per record", "m", COUNT, "State the public number of trials.")
LIKELIHOOD_POWER = Hypothesis(
    "power", "power of the likelihood", "r", POSITIVE,
    "Choose a positive power; 1 is the true posterior.",
)  # fmt: skip
POWER = Hypothesis("power", "power", "beta", POSITIVE, "Choose a positive power.")
FAILURE = Hypothesis("", "failure probability", "delta", "in (0, 1)", "Choose a probability such as 0.05.")
# Cells, shape and rate of conjugate priors, and the bound on what a record adds to a Gamma's rate.
ALPHA = Hypothesis("alpha", "prior cell", "alpha", POSITIVE, "Use a proper prior: alpha > 0.", "prior")
BETA = Hypothesis("beta", "prior cell", "beta", POSITIVE, "Use a proper prior: beta > 0.", "prior")
SHAPE = Hypothesis("shape", "prior shape", "a", POSITIVE, "Use a proper prior: shape > 0.", "prior")
GAMMA = (
    SHAPE,
    Hypothesis("rate", "prior rate", "b", POSITIVE, "Use a proper prior: rate > 0.", "prior"),
    RECORDS,
    Hypothesis("bound", "bound on a record's statistic", "B", POSITIVE, "Declare it; records are clipped.", "schema"),
    Hypothesis("shape-per-record", "shape per record", "q", POSITIVE, "1 for exponential data, 1/2 for a precision."),
)
# Constants of Gibbs posteriors.
STRONG_CONVEXITY = Hypothesis(
    "strong-convexity", "strong convexity of the potential", "m", POSITIVE,
    "Give the prior a positive precision: sf.priors.Gaussian(precision=...).", "prior and loss",
)  # fmt: skip
PRECISION_PER_RECORD = Hypothesis(
    "precision-per-record", "prior precision per record", "b", POSITIVE,
    "Give the prior a positive precision: its covariance is I/(n b).", "prior",
)  # fmt: skip
# How a chain is run.
RUN = (
    Hypothesis("public-start", "public start", "theta_0", "True", "Start at the prior mean or another public point.",
               "declared"),
    Hypothesis("full-batch", "full batch", "batch", "True",
               "Use every record at every step; subsampling needs another theorem.", "declared"),
)  # fmt: skip
LOG_ERROR = Hypothesis("log-error", "error of a drawn log mass", "e", NOT_NEGATIVE, "Give a finite bound.")
TEMPERING = (
    LIKELIHOOD_POWER,
    Hypothesis("strength", "strength of the prior", "1/m", POSITIVE,
               "Choose a positive strength; 1 is the true posterior."),
    DRAWS,
)  # fmt: skip
FLOAT_ERROR = (
    Hypothesis("float-error", "rounding error of one step", "e", NOT_NEGATIVE, "Give a bound of 0 or more."),
    Hypothesis("float-noise", "noise inside the chain", "xi", "exact normals", "", "assumed"),
)  # fmt: skip
DIFFERENCE = Hypothesis(
    "difference", "gradient difference of neighbours", "G", NOT_NEGATIVE,
    "Declare a bound on the rows (data_norm, radius) or use a clipped loss.", "loss",
)  # fmt: skip
DISTANCE = Hypothesis(
    "distance", "distance between data sets", "rho", "a name such as '|x - y|'",
    "Say which one is meant.",
)  # fmt: skip
RADIUS = Hypothesis("rho", "largest distance between neighbours", "rho", NOT_NEGATIVE, "Bound the rows.", "schema")
