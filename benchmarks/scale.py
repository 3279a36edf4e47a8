"""Passes over rows that do not fit into memory, or that are on a cluster: their time, their memory, and what a cluster adds.

python benchmarks/scale.py streamed     # a pass over a file beside decoding its columns once
python benchmarks/scale.py dask         # what a pass costs beside the slowest worker's own work
python benchmarks/scale.py totals       # rates by 500 groups of 1e9 records (--records), and the peak memory
python benchmarks/scale.py linear       # seconds of a pass from 1e5 to 1e9 row-passes, and a plot
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf
from sfumato.dataset import rows_of
from sfumato.engines.dense import part_rows
from sfumato.engines.opening import open_engine
from sfumato.engines.passes import run_of

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
COLUMNS = 20
# Row groups that are written one after the other; every one is the same, which a reader does not know.
GROUP = 1 << 18
# Rows of the largest table of 'linear'.
_LARGEST = 10_000_000


def schema_of(columns: int) -> sf.Schema:
    """Numbers in [-4, 4] and a yes or no."""
    return sf.Schema(
        {**{f"x{k}": sf.Number(-4, 4) for k in range(columns)}, "y": sf.Boolean(missing=False)}, target="y"
    )


def written(path: Path, rows: int, columns: int = COLUMNS) -> None:
    """A Parquet file of normal numbers."""
    rng = np.random.default_rng(0)
    part = {f"x{k}": rng.normal(size=min(GROUP, rows)) for k in range(columns)} | {
        "y": rng.random(min(GROUP, rows)) < 0.5
    }
    table = pa.table(part)
    with pq.ParquetWriter(path, table.schema) as writer:
        for start in range(0, rows, GROUP):
            writer.write_table(table.slice(0, min(GROUP, rows - start)))


def seconds(work: Callable[[], Any], times: int = 3) -> float:
    """The median of some runs; of several, one before them is not counted."""
    if times > 1:
        work()
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def streamed(folder: Path, rows: int) -> None:
    """Print the time of each kind of pass beside that of decoding the columns once."""
    written(folder / "t.parquet", rows)
    schema = schema_of(COLUMNS)
    model = sf.regression("logistic", schema, [f"x{k}" for k in range(COLUMNS)])
    data = sf.Dataset.from_table(folder / "t.parquet", schema=schema, engine="streamed")
    engine = open_engine(data, model, ("gradients", "shapes"))
    run = run_of(part_rows(engine.dimension), engine.dimension)
    decoding = seconds(lambda: sum(block.rows for block in rows_of(data).blocks(None, run, masks=False)))
    print(f"{rows:,} rows of {COLUMNS} columns: decoding takes {decoding:.2f} s")
    theta = np.zeros((1, engine.dimension))
    weighed = engine.weighed(np.eye(engine.dimension), 1.0)
    passes = {
        "gradient": lambda: engine.gradient(theta),
        "weighted gradient": lambda: weighed.gradient(theta),
        "moments": lambda: engine.moments(1.0),
        "curvature and scores": lambda: weighed.second_sums(theta[0], True),
    }
    for name, work in passes.items():
        print(f"{name}: {seconds(work) / decoding:.2f} times that")
    plan = sf.plan(model, data.n, 1.0, 1e-8, goal="estimate")
    start = time.perf_counter()
    sf.publish(plan, data)
    taken = time.perf_counter() - start
    print(
        f"a default fit, {plan.cost.passes} passes: {taken:.1f} s, {taken / plan.cost.passes / decoding:.2f} times that a pass"
    )


def dask(folder: Path, rows: int, passes: int = 200) -> None:
    """Print what a pass costs beside the slowest worker's own work, on 1, 2 and 4 workers, with and without TLS."""
    from dask_cluster import cluster

    for part in range(8):
        written(folder / f"part-{part}.parquet", rows // 8, 5)
    schema = schema_of(5)
    model = sf.regression("logistic", schema, [f"x{k}" for k in range(5)])
    for workers in (1, 2, 4):
        for tls in (False, True):
            with cluster(workers, folder if tls else None) as client:
                data = sf.Dataset.from_dask(str(folder / "part-*.parquet"), schema=schema, client=client)
                engine = open_engine(data, model, ("gradients",))
                theta, beside = np.zeros((1, engine.dimension)), []
                for _ in range(passes):
                    start = time.perf_counter()
                    engine.gradient(theta)
                    beside.append(time.perf_counter() - start - engine.seconds)
            print(
                f"{workers} workers{', TLS' if tls else ''}: {1e3 * statistics.median(beside):.1f} ms beside the work",
                flush=True,
            )


def totals(folder: Path, records: int) -> None:
    """Print the time and the peak memory of rates by 500 groups."""
    levels = [f"g{k}" for k in range(500)]
    rng, path = np.random.default_rng(0), folder / "groups.parquet"
    kind = pa.schema([("g", pa.dictionary(pa.int16(), pa.string())), ("yes", pa.bool_())])
    step = 10_000_000
    start = time.perf_counter()
    with pq.ParquetWriter(path, kind) as writer:
        for first in range(0, records, step):
            size = min(step, records - first)
            codes = pa.array(rng.integers(0, 500, size, dtype=np.int16))
            groups = pa.DictionaryArray.from_arrays(codes, pa.array(levels))
            writer.write_table(
                pa.table({"g": groups, "yes": pa.array(rng.random(size, dtype=np.float32) < 0.3)}, kind), 1 << 20
            )
    print(
        f"wrote {records:,} records, {path.stat().st_size / 1e9:.2f} GB, in {time.perf_counter() - start:.0f} s",
        flush=True,
    )
    script = f"""
import resource, time
import sfumato as sf
schema = sf.Schema({{"g": sf.Category([f"g{{k}}" for k in range(500)]), "yes": sf.Boolean(missing=False)}})
data = sf.Dataset.from_table({str(path)!r}, schema=schema, engine="streamed")
model = sf.grouped(sf.families.BetaBernoulli(1, 1), "g", list(schema.columns["g"].levels))
plan = sf.plan(model, data.n, 1.0, 1e-10)
start = time.perf_counter()
release = sf.publish(plan, data)
print(f"published in {{time.perf_counter() - start:.0f}} s; peak memory of the process "
      f"{{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f}} GB; first rate {{float(release.mean().ravel()[0]):.4f}}")
"""
    # A process of its own: its peak is that of the release alone.
    subprocess.run([sys.executable, "-c", script], check=True)


def linear(folder: Path, most: int, picture: str | None) -> None:
    """Print the seconds of gradient passes, from 1e5 row-passes on, and draw them."""
    schema = schema_of(5)
    model = sf.regression("logistic", schema, [f"x{k}" for k in range(5)])
    points: dict[str, list[tuple[float, float]]] = {"memory": [], "streamed": [], "dask": []}
    from dask_cluster import cluster

    with cluster(2) as client:
        for rows in (100_000, 1_000_000, _LARGEST):
            for part in range(8):
                written(folder / f"part-{part}.parquet", rows // 8, 5)
            written(folder / "t.parquet", rows, 5)
            for where in points:
                if where == "dask":
                    data = sf.Dataset.from_dask(str(folder / "part-*.parquet"), schema=schema, client=client)
                else:
                    data = sf.Dataset.from_table(folder / "t.parquet", schema=schema, engine=where)
                points[where] += timed(open_engine(data, model, ("gradients",)), rows, most, where)
    for where, found in points.items():
        sizes, times = np.array(sorted(found)).T
        slope = np.polyfit(np.log(sizes[sizes >= 1e7]), np.log(times[sizes >= 1e7]), 1)[0]
        print(f"{where}: slope {slope:.2f} on log-log axes from 1e7 on")
    if picture is not None:
        draw(points, picture)


def timed(engine: Any, rows: int, most: int, where: str) -> list[tuple[float, float]]:
    """The seconds of passes, by row-passes: of one, and over the largest table of 1, 10 and 100."""
    theta, found = np.zeros((1, engine.dimension)), []
    engine.gradient(theta)
    # Many row-passes are those of a large table: passes over a small one cost what starts them.
    for passes in (1, 10, 100) if rows >= _LARGEST else (1,):
        if rows * passes <= most:
            taken = seconds(lambda: [engine.gradient(theta) for _ in range(passes)], 5 if passes == 1 else 1)
            found.append((float(rows * passes), taken))
            print(f"{where}: {rows * passes:.0e} row-passes, {found[-1][1]:.3g} s", flush=True)
    return found


def draw(points: dict[str, list[tuple[float, float]]], picture: str) -> None:
    """A log-log plot of seconds against row-passes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6))
    axes = figure.subplots()
    for where, found in points.items():
        axes.loglog(*np.array(sorted(found)).T, "o-", label=where)
    axes.set_xlabel("records times passes")
    axes.set_ylabel("seconds")
    axes.legend()
    figure.savefig(picture, bbox_inches="tight")


def main() -> None:
    """Run one of the measurements in a temporary folder."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("streamed", "dask", "totals", "linear"))
    parser.add_argument("--records", type=float, help="records of the table, or most row-passes")
    parser.add_argument("--picture", help="where the plot of 'linear' goes")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.what == "streamed":
            streamed(folder, int(given.records or 2_000_000))
        elif given.what == "dask":
            dask(folder, int(given.records or 400_000))
        elif given.what == "totals":
            totals(folder, int(given.records or 1e9))
        else:
            linear(folder, int(given.records or 1e9), given.picture)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB", file=sys.stderr)


if __name__ == "__main__":
    main()
