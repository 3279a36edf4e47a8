"""Test error of Bayesian logistic regression against the Rényi price on Abalone, Adult and MNIST 3v8."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.drawing import GREY, label, panels, plain_numbers, style
from papers.geumlek2017 import _cells, _tables
from papers.geumlek2017._cells import EPSILONS, METHODS, ORDERS, Results
from papers.reporting import FALSE, NOT_STATED, REPRODUCED, Output

PLACE = "Figure 3"
NEEDS = tuple(name for names in _tables.FILES.values() for name in names)
# Training and test rows and features that the paper states.
SIZES = {"Abalone": (2784, 1393, 9), "Adult": (32561, 16281, 100), "MNIST 3v8": (7988, 3994, 784)}
QUANTITIES = ("test error", "test log-likelihood")
# The quick form computes all of Abalone, and of the larger tables one run at one order and three prices.
QUICK_ORDERS, QUICK_EPSILONS = (10.0,), EPSILONS[::4]
# A difference of this many standard errors is called one; with fewer runs than this, none is.
CLEAR, FEWEST = 2.0, 5

# One cell is measured more precisely: its order and epsilon, splits, and draws of each method for each.
PRECISE, SPLITS, DRAWS = (100.0, EPSILONS[2]), (2, 6), (100, 150)
# Names in the legend: what the paper does not draw says so.
SHOWN = {
    "OPS corrected": "OPS corrected (not in the paper)",
    "no privacy": "no privacy: one draw (not in the paper)",
    "Sfumato's default": "Sfumato's default (not in the paper)",
}


@dataclass(frozen=True)
class Panel:
    """The results of one table at one order: for every method an array (prices, runs, 2), and the prices."""

    table: str
    order: float
    epsilons: tuple[float, ...]
    results: dict[str, Any]

    def difference(self, method: str, other: str, quantity: int = 0) -> tuple[Any, Any]:
        """Mean over the runs of method - other at every price, and its standard error (0 with one run)."""
        gaps = self.results[method][:, :, quantity] - self.results[other][:, :, quantity]
        return gaps.mean(axis=1), gaps.std(axis=1, ddof=min(1, gaps.shape[1] - 1)) / np.sqrt(gaps.shape[1])


def run(out: Output) -> None:
    """Fill the cells, draw both figures, and count the cells in which each claim holds."""
    shown = list(computed(out))
    rows = [
        (p.table, p.order, eps, method, len(r), *r.mean(axis=0), *(r.std(axis=0, ddof=min(1, len(r) - 1)) / len(r) ** 0.5))
        for p in shown for method in METHODS for eps, r in zip(p.epsilons, p.results[method], strict=True)
    ]  # fmt: skip
    header = ("table", "lambda", "epsilon", "method", "runs", *QUANTITIES, "error of error", "error of log-likelihood")
    out.table(header, rows)
    for place, quantity in enumerate(QUANTITIES):
        part = "" if place == 0 else "log_likelihood"
        alt = f"Mean {quantity} with its standard error against epsilon: rows are lambda = 1, 10, 100, columns the tables."
        out.figure(drawn(shown, place, out), alt, part)
    claims(out, shown)


def computed(out: Output) -> Iterator[Panel]:
    """The panels row by row; cells that an earlier run left in the folder `cells` are not computed again."""
    for name, sizes in SIZES.items():
        reduced = out.quick and name != "Abalone"
        orders, epsilons = (QUICK_ORDERS, QUICK_EPSILONS) if reduced else (ORDERS, EPSILONS)
        runs, table = 1 if reduced else out.runs, _tables.load(name)
        cells = {(m, o, e): _cells.cell(m, sizes[0], o, e) for m in METHODS for o in orders for e in epsilons}
        results = Results(out.folder / "cells" / f"{name.replace(' ', '_')}.jsonl")
        if results.known:
            print(
                f"  {name}: {len(results.known):,} earlier results are used; delete {results.path} to compute them again"
            )
        for number in range(runs):
            parts = _tables.split(table, number)
            if (len(parts[0][0]), len(parts[1][0]), parts[0][0].shape[1]) != sizes:
                raise ValueError(f"{name} has other sizes than the paper's {sizes}")
            _cells.fill(results, number, list(cells.values()), parts)
            out.progress(number + 1, runs, f"{name}, runs")
        for order in orders:
            of_method = {m: np.array([results.of(cells[m, order, e], runs) for e in epsilons]) for m in METHODS}
            yield Panel(name, order, epsilons, of_method)


def drawn(shown: list[Panel], quantity: int, out: Output) -> Any:
    """Three by three panels."""
    runs = f"{out.runs} runs" + (", Adult and MNIST in part" if out.quick else "")
    figure, axes = panels(
        f"Geumlek et al., Figure 3: {QUANTITIES[quantity]} ({runs})", 3, 3, size=(13, 10.5), sharex=True
    )
    for row, order in enumerate(ORDERS):
        for column, name in enumerate(SIZES):
            axis = axes[row, column]
            axis.set_xscale("log")
            plain_numbers(axis.xaxis)
            label(axis, f"{name}, lambda = {order:g}", "epsilon (Rényi)" if row == 2 else "", QUANTITIES[quantity])
            mine = [panel for panel in shown if (panel.table, panel.order) == (name, order)]
            for panel in mine:
                _lines(axis, panel, quantity)
            if not mine:
                axis.text(0.5, 0.5, "not in the quick form", transform=axis.transAxes, ha="center", color=GREY)
    handles, names = axes[1, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=9)
    return figure


def _lines(axis: Any, panel: Panel, quantity: int) -> None:
    for place, method in enumerate(METHODS):
        values = panel.results[method][:, :, quantity]
        error = values.std(axis=1, ddof=min(1, values.shape[1] - 1)) / np.sqrt(values.shape[1])
        look = {"color": GREY, "linestyle": ":", "linewidth": 1.5} if method == "no privacy" else style(place)
        if method == "OPS corrected":
            look["linestyle"] = (0, (3, 1, 1, 1, 1, 1))
        axis.errorbar(panel.epsilons, values.mean(axis=1), error, label=SHOWN.get(method, method), capsize=2, **look)


def claims(out: Output, shown: list[Panel]) -> None:
    """What the text says of the figure, counted over its cells."""
    stated = "; ".join(f"{name} {a:,} + {b:,} rows, {d} features" for name, (a, b, d) in SIZES.items())
    out.claim(
        "5.2", "Sizes and dimensions of the three tables.", paper=stated,
        here="the same: '?' is a level, one level of each category is dropped, ceil(n/3) rows are held out",
        verdict=REPRODUCED, shown={panel.table for panel in shown} == set(SIZES),
    )  # fmt: skip
    for ops, verdict, paper in (
        ("OPS as printed", REPRODUCED, "at all privacy levels and across all data sets"),
        ("OPS corrected", NOT_STATED, "OPS is run at its printed price, ball c/beta and 4 c^2 rho/beta"),
    ):
        gaps = [panel.difference(each, ops) for panel in shown for each in METHODS[:2]]
        below, total, clear = _counted(gaps, out)
        mean = float(np.concatenate([gap for gap, _ in gaps]).mean())
        out.claim(
            "5.2", f"Algorithms 4 and 5 have a lower test error than {ops}.", paper=paper,
            here=f"lower in {below} of {total} cells, by {-mean:.3f} on average; clearly higher in {clear}",
            verdict=verdict, shown=mean < 0 and (clear == 0 if verdict == REPRODUCED else True),
            why="" if verdict == REPRODUCED else "With the smallest ball that holds every mode (16.7 sqrt(rho), not 1,000) and a "
            "price of 2 rho c R, the same epsilon buys up to 2,000 times the power: OPS then beats both at a high order and price "
            "(Abalone, lambda = 100), where its pure guarantee is the stronger one too.",
        )  # fmt: skip
    error = [panel.difference("Algorithm 5", "Algorithm 4") for panel in shown]
    below, total, _ = _counted(_apart(error), out)
    fourth, fifth, deviation = precise(out)
    above = sorted({panel.table for panel, (gap, _) in zip(shown, error, strict=True) if (gap > 0).any()})
    out.claim(
        "5.2", "Algorithm 5 always achieves better utility than Algorithm 4 (test error).", paper="always",
        here=f"lower in {below} of the {total} cells in which their mean errors differ, higher in {total - below} "
        f"({', '.join(above)}). One of these measured with {out.sized(*DRAWS)} draws for each of {out.sized(*SPLITS)} splits of "
        f"Abalone, lambda = {PRECISE[0]:g}, epsilon = {PRECISE[1]:.3g}: Algorithm 5 {fifth:.4f}, Algorithm 4 {fourth:.4f}, a "
        f"difference of {(fifth - fourth) / deviation:.1f} standard errors",
        verdict=FALSE, shown=fifth - fourth > out.sized(0, 3) * deviation,
        why="A weaker likelihood (5) leaves the prior's spread, a stronger prior (4) shrinks the draw but keeps its direction, "
        "and the error of a sign depends on the direction alone: on Abalone, at a low price, 4 has the lower mean error.",
    )  # fmt: skip
    likelihood = [panel.difference("Algorithm 4", "Algorithm 5", 1) for panel in shown]
    below, total, clear = _counted(_apart(likelihood), out)
    out.claim(
        "5.2", "The same for the test log-likelihood.", paper="in an appendix that the text at hand lacks",
        here=f"Algorithm 5 higher in {below} of {total} cells; clearly lower in {clear}",
        verdict=NOT_STATED, shown=below > 0.9 * total,
    )  # fmt: skip
    best = [panel.difference("Sfumato's default", each) for panel in shown for each in METHODS[:2]]
    below, total, clear = _counted(best, out)
    out.claim(
        "beyond the paper", "Sfumato's default regression at the same Rényi price.", paper="not in the paper",
        here=f"lower test error than Algorithms 4 and 5 in {below} of {total} cells; clearly higher in {clear}",
        verdict=NOT_STATED, shown=below > 0.5 * total,
        why="It is priced as mu = sqrt(2 epsilon/lambda), so its Rényi divergence is epsilon at lambda and proportional to the "
        "order elsewhere, as for Algorithms 4 and 5; no sampler is assumed to have converged. It is an estimate with a wide prior; "
        "the line without privacy is one draw under the paper's prior N(0, 1000/n), so a private estimate can lie below it.",
    )  # fmt: skip


def precise(out: Output) -> tuple[float, float, float]:
    """Mean test errors of Algorithms 4 and 5 in one cell of Abalone by many draws, and the standard error of their difference."""
    table, means, variance = _tables.load("Abalone"), np.zeros(2), 0.0
    splits, draws = out.sized(*SPLITS), out.sized(*DRAWS)
    cells = [_cells.cell(method, SIZES["Abalone"][0], *PRECISE) for method in METHODS[:2] for _ in range(draws)]
    for number in range(splits):
        drawn = _cells.draw_all(*_tables.split(table, number), cells, [number, draws])
        errors = np.array(drawn)[:, 0].reshape(2, draws)
        means += errors.mean(axis=1) / splits
        variance += errors.var(axis=1, ddof=1).sum() / draws / splits**2
        out.progress(number + 1, splits, "Algorithms 4 and 5 in one cell of Abalone, splits")
    return float(means[0]), float(means[1]), float(np.sqrt(variance))


def _apart(gaps: list[Any]) -> list[Any]:
    """The cells in which the two are not the same draw."""
    return [(gap[gap != 0], error[gap != 0]) for gap, error in gaps]


def _counted(gaps: list[Any], out: Output) -> tuple[int, int, int]:
    """Cells below 0, cells in all, and cells above 0 by two standard errors or more."""
    gap, error = (np.concatenate(each) for each in zip(*gaps, strict=True))
    clear = (gap > CLEAR * error) & (gap > 0) & (out.runs >= FEWEST)
    return int((gap < 0).sum()), len(gap), int(clear.sum())
