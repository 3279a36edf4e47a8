"""What privacy costs, in one picture: the interval of each region's rate from private releases, and the one without privacy.

`python tools/with_and_without_privacy.py` draws it to docs/images/with_and_without_privacy.svg, or to the path given. The table
is generated here, so the intervals without privacy may be shown; those of a real table may not.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.stats import beta

import sfumato as sf
from sfumato.pictures import axes, svg
from sfumato.pictures.description import Row, Rows

REGIONS = {"coast": (0.18, 6_000), "plain": (0.27, 2_500), "hills": (0.35, 1_000), "island": (0.22, 300)}
DRAWING = Path(__file__).parent.parent / "docs" / "images" / "with_and_without_privacy.svg"
EPSILONS, DELTA, LEVEL = (1.0, 0.2), 1e-6, 0.9


def main() -> None:
    """Publish the rates and draw each beside the interval that the same records give without privacy."""
    generator = np.random.default_rng(7)
    sizes = [size for _, size in REGIONS.values()]
    region = np.repeat(list(REGIONS), sizes)
    smoker = generator.random(len(region)) < np.repeat([rate for rate, _ in REGIONS.values()], sizes)

    schema = sf.Schema(
        {"region": sf.Category(list(REGIONS), missing="coast"), "smoker": sf.Boolean(missing=False)},
        name="survey",
        unit="person",
    )
    data = sf.Dataset.from_table({"region": region, "smoker": smoker}, schema=schema)
    rates = sf.grouped(sf.families.BetaBernoulli(1, 1), by="region", levels=list(REGIONS))
    releases = {epsilon: sf.publish(sf.plan(rates, data.n, epsilon, DELTA), data) for epsilon in EPSILONS}

    rows = []
    for k, (name, (_, size)) in enumerate(REGIONS.items()):
        yes = int(smoker[region == name].sum())
        bare = beta(1 + yes, 1 + size - yes)
        low, high = bare.interval(LEVEL)
        group, line = (
            f"{name}, {size:,} people",
            f"{name:<7} {size:>6,} people  without privacy {low:.3f} to {high:.3f}",
        )
        rows.append(Row("without privacy", bare.median(), low, high, group, faint=True))
        for epsilon, release in releases.items():
            lower, upper = (float(end[k]) for end in release.interval(LEVEL))
            rows.append(Row(f"private, epsilon {epsilon:g}", float(release.estimate()[k]), lower, upper, group))
            line += f"  epsilon {epsilon:g} {lower:.3f} to {upper:.3f}"
        print(line)
    ends = axes.around([end for row in rows for end in (row.lower or 0.0, row.upper or 0.0)])
    alt = (
        "For each of four regions three 90 % intervals of the rate of smokers: from the records as they are, and from private "
        "releases at epsilon 1 and 0.2. At epsilon 1 they are about as wide; at 0.2 the smallest region's is much wider."
    )
    picture = Rows(
        "What privacy costs: 90 % intervals of the rate of smokers",
        axes.linear("rate of smokers", *ends),
        tuple(rows),
        alt,
    )
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else DRAWING
    path.write_text(svg.standalone(picture), encoding="utf-8")
    print(f"wrote {path}")
    print(releases[EPSILONS[0]].promise)


if __name__ == "__main__":
    main()
