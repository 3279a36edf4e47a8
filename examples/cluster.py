"""A regression on a cluster: two workers of this machine read four files and hold the rows; this process draws and publishes.

The same release comes out on one worker and on many. Beyond this machine a cluster must speak TLS: docs/scale.md.
Needs `pip install 'sfumato[dask]'`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import dask
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster

import sfumato as sf

N, FILES = 20_000, 4
# Workers must not write rows to their disks.
UNSPILLED = {"distributed.worker.memory.target": False, "distributed.worker.memory.spill": False}


def write_visits(folder: Path) -> None:
    """Write files that stand for private records."""
    generator = np.random.default_rng(11)
    age = generator.uniform(18, 90, N)
    table = pa.table({"age": age, "again": generator.random(N) < 1 / (1 + np.exp(3 - 0.04 * age))})
    for place in range(FILES):
        pq.write_table(table.slice(place * N // FILES, N // FILES), folder / f"visits-{place}.parquet")


def main() -> None:
    """Start two workers, plan, publish, and show the result."""
    schema = sf.Schema(
        {"age": sf.Number(18, 90), "again": sf.Boolean(missing=False)}, target="again", name="visits", unit="visit"
    )
    plan = sf.plan(sf.regression("logistic", schema, ["age"]), N, epsilon=1.0, delta=1e-6, goal="estimate")
    with (
        tempfile.TemporaryDirectory() as name,
        dask.config.set(UNSPILLED),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        write_visits(Path(name))
        data = sf.Dataset.from_dask(f"{name}/visits-*.parquet", schema=schema, client=client)
        print(data)
        print(f"{plan.cost}, on {len(client.scheduler_info()['workers'])} workers", end="\n\n")
        ledger = sf.Ledger.open(Path(name) / "budget.db")
        ledger.register("visits", epsilon=2.0, delta=1e-6, unit="visit")
        print(sf.publish(plan, data, ledger).summary())


if __name__ == "__main__":
    main()
