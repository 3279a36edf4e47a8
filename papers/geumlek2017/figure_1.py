"""The order at which a Beta posterior's Rényi curve becomes infinite, for six powers and six strengths."""

from __future__ import annotations

from papers.reporting import Output

PLACE = "Figure 1"


def run(out: Output) -> None:
    """To be drawn."""
