"""`python benchmarks/planning.py [--quick] [--only WORD] [-o FILE]`: how long plans, price lists and searches of a width take.

Every family and regression with every mechanism that serves it, 1, 10 and 100 draws, and 200 to 5,000,000 records, on one core
and in one process; each call is measured once. With -o the seconds and the digest of every plan are kept as JSON, and
`--against FILE` prints which digests differ from those of an earlier run: a faster search must find the same plan.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf
from sfumato import mechanisms
from sfumato.errors import SfumatoError
from sfumato.mechanisms.protocol import PROVED
from sfumato.queries.interval_widths import expected_width

EPSILON, DELTA = 1.0, 1e-6
RECORDS, DRAWS = (200, 50_000, 5_000_000), (1, 10, 100)
EPSILONS = (0.1, 0.3, 1.0, 3.0)
# A call that takes longer is given up: ten times what a user should ever wait for.
GIVEN_UP = 100
RATES = [0.2, 0.5, 0.8]
Case = tuple[str, Callable[[], Any]]


def families() -> dict[str, Any]:
    """Name -> a model as a user would write it."""
    f, groups = sf.families, [f"g{k}" for k in range(100)]
    return {
        "rate": f.BetaBernoulli(1, 1),
        "rate, own prior": f.BetaBernoulli(6, 12),
        "rate above a floor": f.BetaBernoulli(2, 3, 0.1),
        "rate of 6 trials": f.BetaBinomial(2, 3, 6),
        "3 shares": f.DirichletCategorical(["a", "b", "c"], 1.0),
        "50 shares": f.DirichletCategorical(list(range(50)), 1.0),
        "counts": f.GammaPoisson(2.0, 0.5, 20),
        "durations": f.ExponentialRate(2.0, 4.0, 10.0),
        "durations, bounds": f.ExponentialRate(2.0, 1.0, 4.0, lower=0.5, upper=3.0),
        "scale": f.LaplaceScale(1.0, 0.5, 3.0, 8.0, centre=3.0),
        "precision": f.NormalPrecision(2.0, 2.0, 0.0, 3.0),
        "precision, bounds": f.NormalPrecision(2.0, 1.0, 0.0, 4.0, lower=0.5, upper=3.0),
        "normal mean": f.NormalMean(10.0, 0, 100, mean=50.0, precision=0.01),
        "log odds": f.LogitNormal(1.0),
        "vector mean": f.GaussianMean(5, 1.0, 1.0),
        "correlated mean": f.MultivariateNormal([[2.0, 0.5], [0.5, 1.0]], 2.0, 1.0),
        "bounded mean": f.BoundedMean(0, 100),
        "finite family": f.Finite(np.log([[1 - p, p] for p in RATES]).tolist(), RATES, levels=["no", "yes"]),
        "quantile": f.Quantile(0.5, np.linspace(0, 100, 1001).tolist()),
        "rate of 2 groups": sf.grouped(f.BetaBernoulli(1, 1), "g", groups[:2]),
        "rate of 100 groups": sf.grouped(f.BetaBernoulli(1, 1), "g", groups),
        "normal mean of 2 groups": sf.grouped(f.NormalMean(10.0, 0, 100, mean=50.0, precision=0.01), "g", groups[:2]),
        "bounded mean of 100 groups": sf.grouped(f.BoundedMean(0, 100), "g", groups),
        "network of 8": network(8),
        "network of 30": network(30),
        "network of 30, pure": network(30, floor=0.01),
        "network of 8, entries": network(8, adjacency="replace-entry"),
        "Markov chain": sf.networks.MarkovChain(["u", "v", "w"]),
    }  # fmt: skip


def network(columns: int, **options: Any) -> Any:
    """Each column has up to two parents among those before it, and three or four levels."""
    parents = {f"c{k}": [f"c{j}" for j in (k - 1, k - 3) if j >= 0] for k in range(columns)}
    return sf.networks.BayesianNetwork(parents, {name: 3 + k % 2 for k, name in enumerate(parents)}, **options)


def regressions() -> dict[str, Any]:
    """Name -> a regression; the rows have norm 1 and a constant feature."""
    radius, losses = math.sqrt(2.0), sf.losses
    prior = sf.priors.Gaussian(1.0)
    made = {f"logistic, {d} coefficients": sf.Gibbs(losses.Logistic(radius), prior, d) for d in (5, 20, 100)}
    strong = sf.priors.Gaussian(32.6)
    return {
        **made,
        "logistic, 20, strong prior": sf.Gibbs(losses.Logistic(radius), strong, 20),
        "linear, 20 coefficients": sf.Gibbs(losses.Huber(radius, 1.0, -1.0, 1.0), prior, 20),
        "Poisson, 5 coefficients": sf.Gibbs(losses.ClippedPoisson(radius, 3.0, 8.0), prior, 5),
        "multinomial, 15": sf.Gibbs(losses.Softmax(radius, 3), prior, 15),
        "quantile, 5 coefficients": sf.Gibbs(losses.SmoothedQuantile(radius, 0.5, 0.1), prior, 5),
        "svm, 5 coefficients": sf.Gibbs(losses.Hinge(radius), prior, 5),
        "hinge, 1 coefficient": sf.Gibbs(losses.Hinge(1.0), prior, 1),
        "hinge, 2 coefficients": sf.Gibbs(losses.Hinge(1.0), prior, 2),
        "logistic on a ball, 2": sf.Gibbs(losses.Logistic(1.0), sf.priors.Ball(prior, 5.0), 2),
        "logistic on a ball, 5": sf.Gibbs(losses.Logistic(1.0), sf.priors.Ball(sf.priors.Gaussian(5.0), 1.0), 5),
        "mean of rows": sf.Gibbs(losses.GaussianMean(1.0), prior, 2),
    }


def plans(quick: bool) -> Iterator[Case]:
    """A plan of each model by each mechanism that serves it, and by "auto"."""
    for name, model in {**families(), **regressions()}.items():
        for mechanism in ("auto", *mechanisms.TABLE):
            for goal in ("draws", "estimate"):
                if mechanism == "auto" and goal == "estimate" and model.conjugate and model.goal == "draws":
                    continue
                if mechanism != "auto" and isinstance(mechanisms.serving(mechanism, model, goal, PROVED), str):
                    continue
                for n in RECORDS[1:2] if quick else RECORDS:
                    for draws in (10,) if quick else DRAWS:
                        if goal == "estimate" and draws > 1:
                            continue
                        options = {"mechanism": mechanism, "draws": draws, "goal": goal}
                        label = f"{name} | {mechanism} | {goal} {draws} | n {n}"
                        # A family's own numbers at full power have no target that they could meet.
                        pay = {} if mechanism == "exact" and model.conjugate else {"epsilon": EPSILON, "delta": DELTA}
                        yield label, lambda m=model, k=n, p=pay, o=options: sf.plan(m, k, **p, **o)


def lists(quick: bool) -> Iterator[Case]:
    """Price lists of each model under "auto"."""
    for name, model in {**families(), **regressions()}.items():
        goal = model.goal if model.summed == "totals" else "estimate"
        for n in RECORDS[1:2] if quick else RECORDS:
            for draws in (1,) if goal == "estimate" else (1, 10):
                label = f"{name} | price list | {goal} {draws} | n {n}"
                yield label, lambda m=model, k=n, d=draws, g=goal: sf.price_list(m, k, EPSILONS, DELTA, draws=d, goal=g)


def widths(quick: bool) -> Iterator[Case]:
    """Searches for the epsilon, and for the number of draws, that give the width to be expected at epsilon 1."""
    for name, model in families().items():
        for n in RECORDS[1:2] if quick else RECORDS:
            for draws in (1,) if model.goal == "estimate" else (1, 10):
                try:
                    with_one = sf.plan(model, n, EPSILON, DELTA, draws=draws, goal=model.goal)
                    wanted = 1.0001 * expected_width(with_one, 0.9)
                except SfumatoError:
                    continue
                label = f"{name} | plan_for_width | draws {draws} | n {n}"
                yield label, lambda m=model, k=n, d=draws, w=wanted: sf.plan_for_width(m, k, w, delta=DELTA, draws=d)
            label = f"{name} | plan_for_width | how many draws | n {n}"
            few = {"epsilon": 2 * EPSILON, "draws": None, "delta": DELTA}
            yield label, lambda m=model, k=n, w=0.8 * wanted, o=few: sf.plan_for_width(m, k, w, **o)
    for d in (5, 20, 100):
        schema = sf.Schema(
            {**{f"x{k}": sf.Number(0, 1) for k in range(d - 1)}, "y": sf.Boolean(missing=False)}, target="y"
        )
        model = sf.regression(schema, "y", "logistic")
        for n in RECORDS[1:2] if quick else RECORDS:
            wanted = 2.0 * float(
                np.max(sf.expected_widths(sf.plan(model, n, 1.0, 1e-6, goal="estimate"), schema).half_widths)
            )
            label = f"logistic, {d} coefficients | plan_for_width | n {n}"
            yield label, lambda m=model, k=n, w=wanted, s=schema: sf.plan_for_width(m, k, w, schema=s)
            label = f"logistic, {d} coefficients | expected_widths | n {n}"
            made = sf.plan(model, n, EPSILON, DELTA, goal="estimate")
            yield label, lambda p=made, s=schema: sf.expected_widths(p, s)


def digests(made: Any) -> list[str]:
    """The digests of what was planned, by which two runs are compared."""
    if hasattr(made, "plans"):
        return ["none" if each is None else each.digest for each in made.plans]
    if hasattr(made, "half_widths"):
        return [repr(each) for each in made.half_widths.tolist()]
    return [getattr(made, "plan", made).digest]


def measured(work: Callable[[], Any]) -> tuple[float, list[str]]:
    """Seconds of processor time and the digests, or the kind of error."""

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, GIVEN_UP)
    start = time.process_time()
    try:
        made = work()
        return time.process_time() - start, digests(made)
    except SfumatoError as error:
        return time.process_time() - start, [type(error).__name__]
    except TimeoutError:
        return time.process_time() - start, ["given up"]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


KINDS = {"plans": plans, "lists": lists, "widths": widths}


def main() -> None:
    """Time the cases and print the slowest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="50,000 records and ten draws only")
    parser.add_argument("--kind", choices=KINDS, action="append", help="only this kind; may be repeated")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--slowest", type=int, default=40, help="how many are printed")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    kept: dict[str, Any] = {}
    for kind in given.kind or KINDS:
        for label, work in KINDS[kind](given.quick):
            if given.only not in label:
                continue
            seconds, marks = measured(work)
            kept[label] = {"seconds": round(seconds, 4), "digests": marks}
            if seconds > 1:
                print(f"{seconds:8.2f} s  {label}  {marks[0][:24]}", file=sys.stderr, flush=True)
            if given.output is not None:
                given.output.write_text(json.dumps(kept, indent=1) + "\n")
    for label, each in sorted(kept.items(), key=lambda pair: -pair[1]["seconds"])[: given.slowest]:
        print(f"{each['seconds']:8.2f} s  {label}")
    total = sum(each["seconds"] for each in kept.values())
    print(f"{len(kept)} calls, {total:.0f} s in all, {sum(each['seconds'] > 10 for each in kept.values())} above 10 s")
    if given.against is not None:
        earlier = json.loads(given.against.read_text())
        for label in kept:
            if label in earlier and earlier[label]["digests"] != kept[label]["digests"]:
                print(f"differs: {label}")


if __name__ == "__main__":
    main()
