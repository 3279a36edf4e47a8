"""Page visits as a Markov chain: where readers go next, and invented visits that follow the same table.

One row is one whole visit of at most six pages, so that a visit is what is protected. The table is generated here.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import sfumato as sf

PAGES, LENGTH = ["home", "search", "article", "pay"], 6
MOVES = np.array(  # from each page: to home, search, article, pay, or away
    [[0.05, 0.45, 0.35, 0.0, 0.15], [0.1, 0.2, 0.5, 0.05, 0.15], [0.1, 0.2, 0.2, 0.15, 0.35], [0.1, 0, 0, 0, 0.9]]
)


def generated_visits(n: int) -> dict[str, list[str]]:
    """Return visits, one row each; "left" fills the columns after the last page."""
    generator = np.random.default_rng(16)
    words = [*PAGES, "left"]
    rows = []
    for _ in range(n):
        page, visit = int(generator.choice(4, p=[0.7, 0.2, 0.1, 0.0])), []
        while page < 4 and len(visit) < LENGTH:
            visit.append(words[page])
            page = int(generator.choice(5, p=MOVES[page]))
        rows.append(visit + ["left"] * (LENGTH - len(visit)))
    return {f"page{k + 1}": [row[k] for row in rows] for k in range(LENGTH)}


def main() -> None:
    """Publish the table of moves and draw visits from it."""
    columns = {f"page{k + 1}": sf.Category([*PAGES, "left"], missing=PAGES[0]) for k in range(LENGTH)}
    schema = sf.Schema(columns, name="visits", unit="visit")
    data = sf.Dataset.from_table(generated_visits(20_000), schema=schema)
    chain = sf.networks.MarkovChain(PAGES, record="trajectory", length=LENGTH, end="left")
    plan = sf.plan(chain, data.n, epsilon=1.0, delta=1e-6, mechanism="noisy-statistics")
    print(plan, end="\n\n")
    # In a folder that is deleted afterwards; a ledger of your own stays where it is.
    with tempfile.TemporaryDirectory() as folder, sf.Ledger.open(Path(folder) / "budget.db") as ledger:
        ledger.register("visits", epsilon=2.0, delta=1e-6, unit="visit")
        release = sf.publish(plan, data, ledger)
    for label, share in zip(release.draws.labels, release.estimate(), strict=True):
        if label.endswith("| article"):
            print(f"{label:<24} {share:.3f}")
    print(
        "made with", *(f"{word} {share:g}" for word, share in zip([*PAGES, "left"], MOVES[2], strict=True)), end="\n\n"
    )
    visits = release.synthesize(3)
    for k in range(3):
        pages = [str(visits[name][k]) for name in columns]
        print("invented visit:", " > ".join(page for page in pages if page != "left"))


if __name__ == "__main__":
    main()
