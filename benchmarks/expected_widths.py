"""Half-widths that are said before paying against those obtained: twelve generated designs, one line each.

    python benchmarks/expected_widths.py            60 real releases a design
    python benchmarks/expected_widths.py 200        another number

A line has the smallest and the largest ratio of obtained to expected half-widths over the coefficients, and how many coefficients
were named before as those of which little will be told, how many a release named later, and how many of these were missed.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from width_designs import DESIGNS

# Widths of one release vary by up to a half: the mean of 60 is known to about 7 %.
RELEASES = 60


def main(releases: int) -> None:
    """Print a line for every design as soon as it is done."""
    print("design                                     rows  epsilon  obtained/expected  before  later  missed")
    for design in DESIGNS:
        expected = design.expected()
        halves, little = design.obtained(releases)
        ratios = halves.mean(axis=0) / expected.half_widths
        missed = little - set(expected.little)
        print(
            f"{f'{design.kind}: {design.name}':<40} {design.n:>6,}  {design.epsilon:>7g}  "
            f"{ratios.min():>8.2f} to {ratios.max():<5.2f}  {len(expected.little):>6}  {len(little):>5}  {len(missed):>6}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RELEASES)
