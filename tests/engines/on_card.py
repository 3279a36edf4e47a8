"""Run the battery of engines on this machine's card, and print one line a case: python tests/engines/on_card.py."""

from __future__ import annotations

import sys
from pathlib import Path

import card_cases

from sfumato.cuda.card import open_card
from sfumato.errors import ArgumentError


def main() -> int:
    """Every case of `card_cases`, with more rows than the suite has."""
    try:
        card, wrong = open_card(), 0
    except ArgumentError as error:
        sys.exit(str(error))
    for name, case in card_cases.cases(70_000).items():
        found = list(card_cases.measured(case, card))
        most = max(found, key=lambda each: each[1])
        wrong += most[1] > 2
        print(
            f"{'ok   ' if most[1] <= 2 else 'WRONG'} {name}: {len(found)} sums, farthest {most[0]}, {most[1]:.2g} of the bound"
        )
    print(f"{wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main() > 0)
