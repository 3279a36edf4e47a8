"""A discrete network and a Markov chain drawn and released: what they cost, printed and as it holds."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy import special

import sfumato as sf
from papers import drawing
from papers.dimitrakakis2017._networks import log_likelihood, tables_at_corners, worst_posterior
from papers.reporting import FALSE, NOT_STATED, TIGHTER, Output
from sfumato.theorems import metric_examples, networks

PLACE = "Lemma 24, Markov chain"
FLOOR, LENGTH, PEOPLE = 0.1, 6, 2000
PARENTS = {"age": [], "smoker": ["age"], "ill": ["age"], "cough": ["smoker"]}
PLACES = {"age": (0.5, 1.0), "smoker": (0.15, 0.5), "ill": (0.85, 0.5), "cough": (0.15, 0.0)}
WEATHER = ["sun", "cloud", "rain"]
MOVES = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.4, 0.5]])


def run(out: Output) -> None:
    """Release the network with a floor and the chain without one, then compare prices by length of the trajectory."""
    _network(out)
    counted, drawn, error = _chain(out)
    _draw(out, counted, drawn)
    _prices(out, error)
    _rejection(out)


def _network(out: Output) -> None:
    yes = [False, True]
    model = sf.networks.BayesianNetwork(PARENTS, dict.fromkeys(PARENTS, yes), floor=FLOOR)
    plan = sf.plan(model, PEOPLE, mechanism="exact")
    rng = np.random.default_rng(24)
    age = rng.random(PEOPLE) < 0.4
    smoker, ill = rng.random(PEOPLE) < 0.15 + 0.3 * age, rng.random(PEOPLE) < 0.12 + 0.5 * age
    table = {"age": age, "smoker": smoker, "ill": ill, "cough": rng.random(PEOPLE) < 0.2 + 0.6 * smoker}
    schema = sf.Schema({name: sf.Boolean(missing=False) for name in table}, name="health", unit="person")
    release = sf.publish(plan, sf.Dataset.from_table(table, schema=schema), randomness=sf.seeded(24))
    cells = np.asarray(release.draws.values).ravel()
    out.table(["cell", "drawn probability"], list(zip(model.labels, cells.tolist(), strict=True)), part="network")
    names = list(PARENTS)
    above = [tuple(names.index(name) for name in PARENTS[node]) for node in names]
    logs = np.array([[log_likelihood(each, record, above) for record in ((0, 0, 0, 0), (0, 0, 0, 1), (1, 1, 1, 1))]
                     for each in tables_at_corners([2] * 4, above, FLOOR)])  # fmt: skip
    true = max(worst_posterior(logs[:, 0] - logs[:, k]) for k in (1, 2))
    printed = 2 * max(_weights().values()) * math.log(1 / FLOOR)
    out.claim(
        "After Lemma 24", "the drawn network is 2 |v|_inf ln(1/eps)-private for a replaced record",
        paper=f"{printed:.3f} (eps = {FLOOR})",
        here=f"a record costs {true:.3f}; the plan of this release says {plan.guarantee.epsilon(0.0):.3f}",
        verdict=FALSE, shown=printed < true <= plan.guarantee.epsilon(0.0) and float(cells.min()) >= FLOOR - 1e-9,
        why="Four nodes: 8 ln((1-eps)/eps); the printed formula counts the tables that one entry of the record touches.",
    )  # fmt: skip


def _weights() -> dict[str, int]:
    """One plus the number of children of each node: v of Lemma 24."""
    return {node: 1 + sum(node in above for above in PARENTS.values()) for node in PARENTS}


def _chain(out: Output) -> tuple[np.ndarray, np.ndarray, float]:
    """Transitions of the data, of one draw at (1, 1e-6), and the mean total variation of ten draws from the data."""
    rng = np.random.default_rng(6)
    days = np.zeros((PEOPLE, LENGTH), dtype=int)
    for t in range(1, LENGTH):
        days[:, t] = (rng.random(PEOPLE)[:, None] > MOVES[days[:, t - 1]].cumsum(axis=1)).sum(axis=1)
    schema = sf.Schema(
        {f"day {t + 1}": sf.Category(WEATHER, missing=WEATHER[0]) for t in range(LENGTH)},
        name="weather",
        unit="trajectory",
    )
    table = {f"day {t + 1}": np.array(WEATHER)[days[:, t]] for t in range(LENGTH)}
    model = sf.networks.MarkovChain(WEATHER, record="trajectory", length=LENGTH)
    plan = sf.plan(model, PEOPLE, 1.0, 1e-6, mechanism="diffused")
    data = sf.Dataset.from_table(table, schema=schema)
    draws = [
        np.asarray(sf.publish(plan, data, randomness=sf.seeded(k)).draws.values).ravel()[3:].reshape(3, 3)
        for k in range(10)
    ]
    counted = np.zeros((3, 3))
    np.add.at(counted, (days[:, :-1].ravel(), days[:, 1:].ravel()), 1)
    counted /= counted.sum(axis=1, keepdims=True)
    return counted, draws[0], float(np.mean([np.abs(each - counted).sum(axis=1).mean() / 2 for each in draws]))


def _prices(out: Output, error: float) -> None:
    span = math.log((1 - 2 * FLOOR) / FLOOR)
    rows = []
    for length in range(2, 11):
        steps = [[], *([t] for t in range(length - 1))]
        given = {"parents": steps, "cardinalities": [3] * length, "floor": FLOOR}
        entry, whole = (
            metric_examples.network_draws(**given, adjacency=kind).epsilon(0.0)
            for kind in ("replace-entry", "replace-one")
        )
        tempered = networks.trajectory_draws(first_cell=1.0, next_cell=1.0, moves=length - 1, power=0.02).epsilon(1e-6)
        rows.append((length, 4 * math.log(1 / FLOOR), entry, whole, tempered))
    out.table(
        [
            "states in a trajectory",
            "printed 4 ln 1/eps",
            "one state",
            "whole trajectory",
            "no floor, power 0.02, delta 1e-6",
        ],
        rows,
    )
    figure, axes = drawing.panels("Price of one draw of a Markov chain with three states", size=(7.0, 4.4))
    names = ("printed: 4 ln(1/ε), ε = 0.1", "one state replaced, ε = 0.1", "whole trajectory replaced, ε = 0.1",
             "whole trajectory, no floor, power 0.02, δ = 1e-6")  # fmt: skip
    for place, name in enumerate(names):
        axes[0, 0].plot(
            [row[0] for row in rows], [row[place + 1] for row in rows], marker=".", label=name, **drawing.style(place)
        )
    drawing.label(axes[0, 0], "", "states in a trajectory", "price (nats)")
    drawing.legend(axes[0, 0])
    out.figure(figure, "Price of one draw of a Markov chain against the length of a trajectory.", part="prices")
    one, path = _true_chain()
    entry, whole = 4 * math.log((1 - FLOOR) / FLOOR), 8 * math.log((1 - FLOOR) / FLOOR)
    out.claim(
        "Section 5, Markov chain", "a prior of Dirichlet rows truncated at eps gives a 4 ln(1/eps)-private mechanism",
        paper=f"{4 * math.log(1 / FLOOR):.3f} (eps = {FLOOR})",
        here=f"two states, one of four replaced: true {one:.3f}, proved {entry:.3f}", verdict=TIGHTER,
        shown=one <= entry * (1 + 1e-9) < 4 * math.log(1 / FLOOR),
    )  # fmt: skip
    out.claim(
        "Section 5, Markov chain", "what a whole trajectory costs", paper="neighbours differ in one state",
        here=f"two states, all four replaced: true {path:.3f}, proved {whole:.3f}; three states, six: {rows[4][3]:.2f}",
        verdict=NOT_STATED, shown=4 * math.log(1 / FLOOR) < path <= whole * (1 + 1e-9) and abs(rows[4][3] - 12 * span) < 1e-6,
        why="Every state of the trajectory moves a count, so 4 ln(1/eps) is not enough where a record is a trajectory.",
    )  # fmt: skip
    out.claim(
        "Section 5, Markov chain", "tables without a floor, their likelihood tempered", paper="truncation only",
        here=f"(1, 1e-6) for whole trajectories of six states, {PEOPLE:,} of them: rows off by {error:.3f} (total variation)",
        verdict=NOT_STATED, shown=error < 0.2,
        why="The worst pair of tempered Dirichlet rows has a finite Renyi curve, so that no floor is needed.",
    )  # fmt: skip


def _true_chain() -> tuple[float, float]:
    """Four states of a two-state chain, every table on a grid: the cost of one replaced state, and of all four."""
    grid = np.append(np.linspace(FLOOR, 1 - FLOOR, 9), [0.5])
    first, stay, leave = (axis.ravel() for axis in np.meshgrid(grid, grid, grid))
    start, moves = np.log([1 - first, first]), np.log([[stay, 1 - stay], [leave, 1 - leave]])
    logs = {
        x: start[x[0]] + sum(moves[a][b] for a, b in itertools.pairwise(x)) for x in itertools.product((0, 1), repeat=4)
    }
    cost = {"one": 0.0, "all": 0.0}
    for x, y in itertools.permutations(logs, 2):
        price = worst_posterior(logs[x] - logs[y])
        cost["all"] = max(cost["all"], price)
        if sum(a != b for a, b in zip(x, y, strict=True)) == 1:
            cost["one"] = max(cost["one"], price)
    return cost["one"], cost["all"]


def _rejection(out: Output) -> None:
    rare, n = 0.02, 500  # a cell far below the floor, and the records that fall into its row
    a, b = 1 + rare * n, 1 + (1 - rare) * n
    accepted = float(special.betainc(a, b, 1 - FLOOR) - special.betainc(a, b, FLOOR))
    out.claim(
        "Section 6", "the truncated posterior can be drawn by rejection", paper="resample until it is within",
        here=f"a row of {n} records with a cell of {rare}, floor {FLOOR}: one draw in {1 / accepted:.1e} is accepted",
        verdict=NOT_STATED, shown=0 < accepted < 1e-6,
        why="The number of tries depends on the data too; this library draws the truncated law directly.",
    )  # fmt: skip


def _draw(out: Output, counted: np.ndarray, drawn: np.ndarray) -> None:
    figure, axes = drawing.panels("A network as in Lemma 24, and a Markov chain, released", columns=3, size=(11.5, 4.0))
    axis = axes[0, 0]
    for node, above in PARENTS.items():
        for name in above:
            arrow = {"arrowstyle": "-|>", "shrinkA": 20, "shrinkB": 20, "color": drawing.GREY, "linewidth": 1.4}
            axis.annotate("", PLACES[node], xytext=PLACES[name], arrowprops=arrow)
    for node, place in PLACES.items():
        box = {"boxstyle": "round,pad=0.4", "facecolor": "white", "edgecolor": drawing.COLOURS[0]}
        axis.text(*place, f"{node}\nv = {_weights()[node]}", ha="center", va="center", fontsize=9, bbox=box)
    axis.set_xlim(-0.2, 1.2)
    axis.set_ylim(-0.25, 1.25)
    axis.axis("off")
    axis.set_title("the network; v: one plus the children", fontsize=10)
    for axis, values, title in (
        (axes[0, 1], counted, "transitions in the data"),
        (axes[0, 2], drawn, "one draw, (ε, δ) = (1, 1e-6)"),
    ):
        axis.grid(visible=False)
        axis.imshow(values, cmap="Blues", vmin=0, vmax=1)
        for i, j in itertools.product(range(3), repeat=2):
            axis.text(
                j, i, f"{values[i, j]:.3f}", ha="center", va="center", color="white" if values[i, j] > 0.5 else "black"
            )
        axis.set_xticks(range(3), WEATHER)
        axis.set_yticks(range(3), WEATHER)
        drawing.label(axis, title, "next day", "day")
    out.figure(
        figure, "Graph of the network, and the transition matrix of a Markov chain in the data and in one private draw."
    )
