"""A Markov chain: which page of a made-up web shop follows which.

One row is a whole visit of at most eight pages, so a visit is what is protected. Look at the row of each page: its shares
add up to 1, and "left" is the end of a visit.
"""

from __future__ import annotations

import argparse
import csv

import numpy as np

import sfumato as sf

PAGES, LENGTH = ["home", "search", "article", "basket", "pay"], 8
FIRST = [0.6, 0.25, 0.15, 0.0, 0.0]
MOVES = {  # from each page to home, search, article, basket, pay, or away; only serves to make up a table
    "home": [0.05, 0.40, 0.30, 0.05, 0.00, 0.20],
    "search": [0.05, 0.25, 0.50, 0.00, 0.00, 0.20],
    "article": [0.05, 0.20, 0.20, 0.25, 0.00, 0.30],
    "basket": [0.05, 0.10, 0.15, 0.00, 0.50, 0.20],
    "pay": [0.10, 0.00, 0.00, 0.00, 0.00, 0.90],
}


def write_table(path: str, n: int) -> None:
    """Write n made-up visits; "left" fills the columns after the last page."""
    rng = np.random.default_rng(8)
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow([f"page{k + 1}" for k in range(LENGTH)])
        for _ in range(n):
            visit = [str(rng.choice(PAGES, p=FIRST))]
            while len(visit) < LENGTH:
                last = visit[-1]
                visit.append("left" if last == "left" else str(rng.choice([*PAGES, "left"], p=MOVES[last])))
            rows.writerow(visit)


def main(picture: str) -> None:
    """Publish the table of moves, ask two questions, and draw it."""
    write_table("visits.csv", 4_000)
    columns = {f"page{k + 1}": sf.Category([*PAGES, "left"], missing=PAGES[0]) for k in range(LENGTH)}
    schema = sf.Schema(columns, name="shop", unit="visit")
    data = sf.Dataset.from_table("visits.csv", schema=schema)
    ledger = sf.Ledger.open("budget.db")
    ledger.register("shop", epsilon=2.0, delta=1e-6, unit="visit")

    chain = sf.networks.MarkovChain(PAGES, record="trajectory", length=LENGTH, end="left")
    plan = sf.plan(chain, data.n, epsilon=1.0, delta=1e-7, mechanism="noisy-statistics")
    print(plan, end="\n\n")
    release = sf.publish(plan, data, ledger, request_id="moves between pages")
    print(release.promise, end="\n\n")
    moves = dict(zip(release.labels, release.estimate(), strict=True))
    print(f"after the basket {moves['next=pay | basket']:.0%} pay and {moves['next=left | basket']:.0%} leave")
    invented = release.synthesize(1_000)  # made-up visits that follow the released chain
    paid = np.any([np.asarray(column) == "pay" for column in invented.values()], axis=0)
    print(f"about {paid.mean():.0%} of visits reach the page where they pay\n")
    print(ledger.spent("shop"))
    release.save("markov_chain.sfumato")
    release.plot().savefig(picture)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--picture", default="markov_chain.svg", help="where the picture goes: .svg or .png")
    main(options.parse_args().picture)
