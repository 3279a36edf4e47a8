"""Which fit an interval holds: default regressions of ten tables, and every kind of regression with weights and with persons.

    python benchmarks/estimands.py --out THIS.json           100 releases a cell (a quarter of an hour on two cores)
    python benchmarks/estimands.py --runs 10 --tables costs "linear, persons" --epsilons 1
    python benchmarks/estimands.py --page THIS.json BEFORE.json   writes docs/benchmarks/estimands.md from two runs

The records of a table are drawn anew with replacement for every release. "Privacy" intervals (90 %) should hold the plain
penalised fit of the rows of the release, and full intervals that of the whole table. In neither fit does a long row count for
less, and nothing is clipped that was not declared. Errors and half-widths are in standard errors: deviations of the plain fit
over the rows that were drawn. To measure another version of the package, put its src on PYTHONPATH.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sfumato as sf
from estimand_tables import KINDS, TABLES, WEIGHTS, Array, Columns, Table, persons
from sfumato.engines.opening import open_engine
from sfumato.queries import own_units

EPSILONS, FEWER, DELTA, LEVEL, RUNS = (0.3, 1.0, 3.0, 8.0, 20.0), (1.0, 8.0), 1e-6, 0.9, 100
ALL = TABLES | KINDS
# Levels with a smaller share of the rows are left out of the least coverage.
RARE = 0.03
# What is printed of a cell.
SHOWN = ("privacy", "full", "least", "rmse", "typical", "half", "half full")
BEFORE, PAGE = "44d0f36", Path(__file__).parents[1] / "docs" / "benchmarks" / "estimands.md"


@dataclass(frozen=True)
class Case:
    """A table that is ready: its schema and model, coded rows, the plain fit of the whole table and its standard errors.

    Record i has the rows from starts[i] to starts[i + 1], which count `counted` each. `view` turns coded coefficients into those of
    the columns; `common` marks those whose level is not rare.
    """

    schema: Any
    model: Any
    columns: Columns
    rows: Array
    labels: Array
    counted: Array
    starts: NDArray[np.int64]
    view: Any
    fit: Array
    errors: Array
    common: NDArray[np.bool_]


@cache
def case(name: str) -> Case:
    """The table of this name."""
    table, rng = ALL[name], np.random.default_rng(106)
    columns, facts = table.rows(), {}
    n = len(columns["y"])
    starts, counted = np.arange(n + 1), np.ones(n)
    if table.records == "persons":
        order, sizes = persons(rng, columns)
        columns = {key: cells[order] for key, cells in columns.items()}
        starts, counted = np.append(0, np.cumsum(sizes)), np.repeat(1 / sizes, sizes)
        facts["persons"] = sf.Persons("id", most=int(sizes.max()), count=len(sizes))
    elif table.records:
        weigh, upper = WEIGHTS[table.records]
        columns = {**columns, "weight": weigh(rng, columns)}
        counted = columns["weight"] / upper
        facts["weight"] = sf.Weight("weight", upper, fixed=True)
    # Rows are coded as those of a table without persons or weights.
    schema = sf.Schema(table.columns, target="y", name="table")
    model = table.model(schema)
    engine = open_engine(sf.Dataset.from_table(columns, schema=schema), model, ("gradients", "shapes"))
    pieces = [piece for part in engine.parts() for piece in part]
    rows = np.vstack([np.asarray(piece.rows, dtype=np.float64) for piece in pieces])
    rows = np.column_stack([rows, np.full(len(rows), float(model.intercept))])
    labels = np.concatenate([np.asarray(piece.labels, dtype=np.float64) for piece in pieces])
    view = own_units.view_of(model, schema, engine.labels)
    fit, inverse, slopes = plain_fit(table, model, rows, labels, counted)
    scores = np.add.reduceat(slopes, starts[:-1])
    spread = view.matrix @ inverse @ (scores.T @ scores) @ inverse @ view.matrix.T
    levels = [each.partition("=") for each in view.labels]
    shares = [np.mean(columns[name].astype(str) == level) if level else 1.0 for name, _, level in levels]
    return Case(
        sf.Schema(table.columns, target="y", name="table", **facts), model, columns, rows, labels, counted, starts, view, fit,
        np.sqrt(np.diag(spread)), np.array(shares) >= RARE,
    )  # fmt: skip


def plain_fit(
    table: Table, model: Any, rows: Array, labels: Array, counted: Array, start: Array | None = None
) -> tuple[Array, Array, Array]:
    """The penalised fit without weights for long rows, the inverse of its Hessian, and the rows' gradients, by Newton's steps."""
    loss = model.loss if table.clipped else replace(model.loss, clip=1e9)
    zero, answers, counts = np.zeros((1, rows.shape[1])), labels[:, None], counted[:, None]
    pull = model.prior.gradient(zero)[0]
    precision = model.prior.gradient(np.eye(rows.shape[1])) - pull

    def value(theta: Array) -> float:
        """The penalised loss."""
        return float(
            np.sum(counts * loss.value(rows @ theta[:, None], answers)) + theta @ (0.5 * precision @ theta + pull)
        )

    theta = np.linalg.solve(precision, -pull) if start is None else start
    for _ in range(200):
        scores = rows @ theta[:, None]
        slopes, bends = counts * loss.derivative(scores, answers), counts * loss.curvature(scores, answers)
        gradient = (rows.T @ slopes)[:, 0] + precision @ theta + pull
        hessian = rows.T @ (rows * bends) + precision
        step = np.linalg.solve(hessian, gradient)
        least, length = value(theta), 1.0
        while length > 1e-6 and value(theta - length * step) > least:
            length /= 2
        theta = theta - length * step
        if float(step @ gradient) < 1e-12 * abs(least):
            return theta, np.linalg.inv(hessian), rows * slopes
    raise SystemExit("the plain fit did not arrive")


@cache
def planned(name: str, epsilon: float) -> Any:
    """The default plan of an estimate."""
    this = case(name)
    facts = {key: fact for key in ("weight", "persons") if (fact := getattr(this.schema, key)) is not None}
    return sf.plan(this.model, len(this.starts) - 1, epsilon, DELTA, goal="estimate", **facts)


def one(task: tuple[str, float, int]) -> dict[str, Array]:
    """One release of a cell: which coefficients each interval holds, and errors and half-widths in standard errors."""
    name, epsilon, seed = task
    this = case(name)
    rng = np.random.default_rng([seed, int(1000 * epsilon)])
    records = rng.integers(len(this.starts) - 1, size=len(this.starts) - 1)
    sizes = np.diff(this.starts)[records]
    drawn = np.repeat(this.starts[records] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    fit, _, _ = plain_fit(ALL[name], this.model, this.rows[drawn], this.labels[drawn], this.counted[drawn], this.fit)
    table = {key: np.asarray(cells)[drawn] for key, cells in this.columns.items()}
    table |= {} if this.schema.persons is None else {"id": np.repeat(np.arange(len(sizes)), sizes)}
    data = sf.Dataset.from_table(table, schema=this.schema)
    release = sf.publish(planned(name, epsilon), data, randomness=sf.seeded(seed))
    found = {"error": (release.estimate() - this.view.of(fit)) / this.errors}
    for include, target in (("privacy", fit), ("privacy and sampling", this.fit)):
        lower, upper = release.interval(LEVEL, include=include)
        found[include] = (lower <= this.view.of(target)) & (this.view.of(target) <= upper)
        found[f"half {include}"] = (upper - lower) / 2 / this.errors
        found[f"away {include}"] = ((upper + lower) / 2 - this.view.of(target)) / this.errors
    return found


def cell(name: str, epsilon: float, runs: int, pool: ProcessPoolExecutor) -> dict[str, Any]:
    """The figures of a cell."""
    made = list(pool.map(one, [(name, epsilon, seed) for seed in range(runs)]))
    stacked = {key: np.array([each[key] for each in made]) for key in made[0]}
    this = case(name)
    held = stacked["privacy"].mean(axis=0)
    common = np.flatnonzero(this.common)
    least = common[held[common].argmin()]
    return {
        "table": name,
        "epsilon": epsilon,
        "runs": runs,
        "privacy": float(held.mean()),
        "full": float(stacked["privacy and sampling"].mean()),
        "least": float(held[least]),
        "who": this.view.labels[least],
        "rmse": float(np.sqrt(np.mean(stacked["error"] ** 2))),
        "typical": float(np.sqrt(np.median(np.mean(stacked["error"] ** 2, axis=0)))),
        "half": float(np.median(stacked["half privacy"])),
        "half full": float(np.median(stacked["half privacy and sampling"])),
    }


INTRO = """# Which fit the intervals of a regression hold

How often 90 % intervals of default regressions (`sf.plan(..., goal="estimate")`) hold the fit that they are for ([which fit
that is, and for whom](../regression_intervals.md#which-fit-an-interval-holds)), as printed by

    python benchmarks/estimands.py

which takes a quarter of an hour on two cores; `make coverage` runs it and writes this page. For every release the records
of a table are drawn anew with replacement. **Privacy** is how often `include="privacy"` held the plain penalised fit of the
drawn rows: whoever asks what the noise has changed needs that. **Full** is how often `include="privacy and sampling"` held
the plain fit of the whole table, which stands for the population that the records are a sample of. Both are means over the
coefficients. **Least** is the lowest privacy coverage of a coefficient whose level is not rarer than {rare:g} %, and which
one it is. Errors of `release.estimate()` (**rmse**, against the plain fit of the drawn rows) and **half**, the median
half-width of privacy intervals, are in standard errors: deviations of the plain fit over the rows that were drawn. delta is
1e-6.
"""
TEN = """
## Ten tables

{runs} releases a row. Six tables are generated (their laws are in `benchmarks/estimand_tables.py`), Adult, Bank, Magic and
Wine are those of UCI. "Before" is commit {before}, whose map and clip did not follow from the price. Privacy coverage is
{enough:.2f} or more in {now} of {cells} rows, and was in {was} of {cells}.

| table | epsilon | privacy | full | least | rmse | half | before: privacy | full | least | rmse | half |
|---|---|---|---|---|---|---|---|---|---|---|---|
"""
OTHERS = """
## Kinds of regressions, survey weights and persons

{runs} releases a cell of 20,000 generated rows with seven coefficients, whose score depends on the logarithm of an income
while the model is linear in it. The fit is that of the loss that the plan names. Rows count by their weight over the largest
one: equal ones (3 where 6 is the largest), ones drawn from a gamma law, ones that grow with age from 1 to 10, and ones that
were raked to the margins of a population (.6 to 3). Persons have 1 to 4 rows with labels alike, and their average counts.
"quantile" is that of .7, "svm" has the smoothed hinge loss, and "huber" is a linear regression whose target has no declared
bounds, clipped at 1.5. A multinomial regression has no intervals.

| regression | records | epsilon 1: privacy | full | least | half | epsilon 8: privacy | full | least | half |
|---|---|---|---|---|---|---|---|---|---|
"""
FEW = "\n**These are figures of a trial with fewer releases than stated in `make coverage`.**\n"
ENOUGH = 0.85


def page(cells: list[dict[str, Any]], before: list[dict[str, Any]]) -> str:
    """The page from the cells of this version and those of the ten tables before."""
    old = {(each["table"], each["epsilon"]): each for each in before}
    ten = [each for each in cells if each["table"] in TABLES and (each["table"], each["epsilon"]) in old]
    others = {(each["table"], each["epsilon"]): each for each in cells if each["table"] in KINDS}
    pairs = [(each, old[each["table"], each["epsilon"]]) for each in ten]
    now, was = (sum(each[k]["privacy"] >= ENOUGH for each in pairs) for k in (0, 1))
    runs, fewer = (min((each["runs"] for each in some), default=0) for some in (ten, others.values()))

    def figures(each: dict[str, Any], *keys: str) -> list[str]:
        return [f"{each[key]:.2f}" + (f" ({each['who']})" if key == "least" else "") for key in keys]

    def line(*entries: str) -> str:
        return f"| {' | '.join(entries)} |\n"

    keys = ("privacy", "full", "least", "rmse", "half")
    text = INTRO.format(rare=100 * RARE) + ("" if runs >= RUNS else FEW)
    text += TEN.format(runs=runs, before=BEFORE, enough=ENOUGH, now=now, was=was, cells=len(pairs))
    for each, then in pairs:
        text += line(each["table"], f"{each['epsilon']:g}", *figures(each, *keys), *figures(then, *keys))
    text += OTHERS.format(runs=fewer)
    for name in KINDS:
        both = [others[name, epsilon] for epsilon in FEWER if (name, epsilon) in others]
        if both:
            text += line(
                *name.split(", "),
                *(entry for each in both for entry in figures(each, "privacy", "full", "least", "half")),
            )
    return text


def main() -> None:
    """Print a line a cell and write all of them, or write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=RUNS, help="releases a cell; of kinds a quarter as many")
    parser.add_argument("--tables", nargs="*", default=["tables", "kinds"], help="names, or a group: tables, kinds")
    parser.add_argument("--epsilons", nargs="*", type=float)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--page", type=Path, nargs="+", metavar="RUN", help="runs of this version, then that of before")
    given = parser.parse_args()
    if given.page:
        *now, before = (json.loads(path.read_text()) for path in given.page)
        PAGE.write_text(page([each for some in now for each in some], before))
        return
    done: list[dict[str, Any]] = []
    groups: dict[str, list[str]] = {"tables": list(TABLES), "kinds": list(KINDS)}
    with ProcessPoolExecutor(given.processes) as pool:
        for name in [name for group in given.tables for name in groups.get(group, [group])]:
            runs = given.runs if name in TABLES else max(1, given.runs // 4)
            for epsilon in given.epsilons or (EPSILONS if name in TABLES else FEWER):
                made = cell(name, epsilon, runs, pool)
                done.append(made)
                shown = (f"{key} {made[key]:.2f}" for key in SHOWN)
                print(f"{name:<25} {epsilon:>4g}", *shown, f"({made['who']})", flush=True)
                if given.out:
                    given.out.write_text("[\n" + ",\n".join(map(json.dumps, done)) + "\n]\n")


if __name__ == "__main__":
    main()
