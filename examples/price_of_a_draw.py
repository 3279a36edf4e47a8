"""What does one draw from a posterior cost? A worked example, from public numbers alone: nothing here touches data.

A survey office holds 32,561 records with 100 features, each row scaled to norm 1, and wants to publish a logistic
regression; and the share of people with a condition among 2,000 patients.
"""

from __future__ import annotations

import sfumato as sf

DELTA = 1e-6


def section(title: str) -> None:
    """Print a heading."""
    print(f"\n=== {title} ===\n")


def main() -> None:
    """Print the plan, the papers side by side with what is true, and a price list, for both models."""
    # Rows have norm at most 1; the intercept is a feature too, so the loss sees norm sqrt(2).
    radius = sf.losses.radius_with_intercept(1.0)
    regression = sf.Gibbs(sf.losses.Logistic(radius), sf.priors.Gaussian(precision=32.6), dimension=101)

    section("A logistic regression: the plan for one draw at (1, 1e-6)")
    print(sf.plan(regression, n=32_561, epsilon=1.0, delta=DELTA))

    section("How sharp may the posterior be? The papers, and what is true")
    print(sf.compare(regression, n=32_561, epsilon=1.0, delta=DELTA, steps=[200, 1000, 5000]))

    section("What each epsilon buys")
    print(sf.price_list(regression, 32_561, [0.1, 0.3, 1.0, 3.0], DELTA))

    share = sf.families.BetaBernoulli(alpha=6, beta=12)
    section("A share among 2,000 patients: what the true posterior costs, and a plan for 10 draws at (1, 1e-6)")
    print(sf.plan(share, n=2_000, mechanism="exact"))
    print()
    print(sf.plan(share, n=2_000, epsilon=1.0, delta=DELTA, draws=10, mechanism="diffused"))
    print()
    print(sf.compare(share, n=2_000, epsilon=1.0, delta=DELTA))


if __name__ == "__main__":
    main()
