"""`synthetic_release.py TABLE METHOD EPSILON DELTA SEED OUT`: one synthetic table by Sfumato, in a process of its own.

METHOD is "learn" (`sf.networks.learn`), "learn, target" (with the column that classifiers predict) or
"hand tree" (the tree of adult_network.py). The synthetic rows go to OUT as codes; a
line of JSON with CPU seconds (model, plan, release and rows; neither the import nor the reading of the table) and the peak
memory of the process is printed, as peer_dpmm.py does. Noise comes from the operating system: SEED draws the rows only.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

import adult_network
import sfumato as sf
from process_costs import cpu_seconds, peak_memory
from synthetic_tables import TABLES, Table


def model_of(table: Table, method: str) -> Any:
    """The model that a method publishes."""
    if method == "hand tree":
        return sf.networks.BayesianNetwork.from_schema(table.schema, adult_network.PARENTS, table.bins)
    return sf.networks.learn(table.schema, bins=table.bins, target=table.target if "target" in method else None)


def main() -> None:
    """Publish one release and write its rows."""
    name, method, epsilon, delta, seed, out = sys.argv[1:]
    table = TABLES[name]()
    data = sf.Dataset.from_table(table.fit, schema=table.schema)
    start = cpu_seconds()
    plan = sf.plan(model_of(table, method), data.n, float(epsilon), float(delta))
    rows = sf.publish(plan, data).synthesize(data.n, int(seed))
    seconds = cpu_seconds() - start
    np.savez(out, codes=table.codes(rows))
    print(json.dumps({"seconds": seconds, "memory": peak_memory()}), flush=True)


if __name__ == "__main__":
    main()
