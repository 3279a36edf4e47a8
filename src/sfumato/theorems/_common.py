"""Requirements and hypotheses that several theorems state in the same words."""

from __future__ import annotations

from sfumato.privacy.statements import Hypothesis

POSITIVE, NOT_NEGATIVE = "finite and greater than 0", "finite and 0 or greater"
COUNT = "a whole number of at least 1"

RECORDS = Hypothesis("records", "number of records", "n", COUNT, "State the public number of records.")
DRAWS = Hypothesis("draws", "number of draws", "N", COUNT, "Ask for at least one draw.")
LIKELIHOOD_POWER = Hypothesis(
    "power", "power of the likelihood", "r", POSITIVE, "Choose a positive power; 1 is the true posterior."
)
LOG_ERROR = Hypothesis("log-error", "error of a drawn log mass", "e", NOT_NEGATIVE, "Give a finite bound.")
TEMPERING = (
    LIKELIHOOD_POWER,
    Hypothesis(
        "strength", "strength of the prior", "1/m", POSITIVE, "Choose a positive strength; 1 is the true posterior."
    ),
    DRAWS,
)
FLOAT_ERROR = (
    Hypothesis("float-error", "rounding error of one step", "e", NOT_NEGATIVE, "Give a bound of 0 or more."),
    Hypothesis("float-noise", "noise inside the chain", "xi", "exact normals", "", "assumed"),
)
DIFFERENCE = Hypothesis(
    "difference",
    "gradient difference of neighbours",
    "G",
    NOT_NEGATIVE,
    "Declare a bound on the rows (data_norm, radius) or use a clipped loss.",
    "loss",
)
DISTANCE = Hypothesis(
    "distance", "distance between data sets", "rho", "a name such as '|x - y|'", "Say which one is meant."
)
RADIUS = Hypothesis("rho", "largest distance between neighbours", "rho", NOT_NEGATIVE, "Bound the rows.", "schema")
