"""The expected accuracy of a plan, and its cost.

Files hold the id of the expected quantity and its numbers; the words are looked up in QUANTITIES when they are printed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# What plans of draws of a Gibbs posterior record. They print the law of a draw (`chain_law`) instead where there is one.
OF_A_DRAW = "variance-factor"
# id -> (quantity, unit, how it is computed); {} stands for the model's own word for what is drawn.
QUANTITIES = {
    "half-width": ("half-width about the {} that holds 90 % of draws", "", "averaged over the prior"),
    "estimate-noise": ("standard deviation of the noise in the {}", "", "from the noise"),
    OF_A_DRAW: (
        "variance of one draw",
        "times that of the MLE",
        "large-sample limit of an exact draw; the law of this one needs a smooth loss and the model's dimension",
    ),
    "squared-error": (
        "squared error of one draw",
        "times that of the maximum-likelihood estimate",
        "made-up rows of any direction, true parameters from the prior; approximate",
    ),
    "gradient-noise": ("noise added to the mean gradient at every step", "standard deviation", "exact"),
    "mapped-gradient-noise": (
        "noise added to the mean gradient at every step, in the coordinates in which the rows are round,",
        "times the largest slope",
        "exact",
    ),
    "pair-error": (
        "mean total variation of the shares of two columns",
        "",
        "a made-up table of these columns; yours may be easier or harder",
    ),
    "rank-half-width": (
        "half-width of a 90 % interval of the quantile nearest the middle, in ranks:",
        "records",
        "noise and sampling; up to one cell is added on each side",
    ),
    "rank-error": (
        "9 times in 10 the rank is off by at most this much more than the best candidate's:",
        "records",
        "a bound for any data; no interval goes with it: the family Quantiles has intervals",
    ),
}


@dataclass(frozen=True)
class Expected:
    """Expected accuracy, from public numbers alone; `without_privacy` is the same quantity without noise or tempering."""

    id: str
    value: float
    without_privacy: float | None = None
    subject: str = ""

    @property
    def quantity(self) -> str:
        """What the value is, in words."""
        subject = self.subject
        if self.id == "half-width":
            # A mean is that of records clipped to their bounds, which need not be that of the records as they are.
            subject = f"mean of the clipped records{subject[4:]}" if subject.startswith("mean") else f"true {subject}"
        return QUANTITIES[self.id][0].format(subject)

    @property
    def unit(self) -> str:
        """The unit of the value, in words."""
        return QUANTITIES[self.id][1]

    @property
    def how(self) -> str:
        """How the value is computed."""
        return QUANTITIES[self.id][2]

    def to_json(self) -> dict[str, Any]:
        """Id and numbers; no words."""
        return {"id": self.id, "value": self.value, "without_privacy": self.without_privacy}

    def __str__(self) -> str:
        # An error that privacy alone makes is 0 without it, which says nothing.
        bare = f"; without privacy {self.without_privacy:.4g}" if self.without_privacy else ""
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.quantity} {self.value:.4g}{unit}{bare} ({self.how})"


@dataclass(frozen=True)
class Cost:
    """The work of a plan: how many times every record is read, and in how many chains."""

    passes: int
    chains: int = 1

    def to_json(self) -> dict[str, int]:
        """The numbers by name."""
        return {"passes": self.passes, "chains": self.chains}

    def __str__(self) -> str:
        chains = "" if self.chains == 1 else f" for {self.chains} chains at once"
        return f"{self.passes:,} pass{'es' if self.passes > 1 else ''} over the records{chains}"
