"""Peak memory of reading a Parquet file into a Dataset, as a multiple of the float64 matrix. Aim: below 1.5.

    python benchmarks/memory.py [rows] [columns] [rows per row group]

The file is written in chunks into a temporary directory; a new process imports the library, notes its resident memory,
reads the file, and reports how far its resident memory ever rose above that. Linux only: the peak is the kernel's VmHWM.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHUNK = 65_536

# Everything the reader will need is imported before the baseline is taken.
CHILD = """
import json, re, sys, time
import narwhals.dependencies, numpy, pyarrow.compute, pyarrow.parquet
import sfumato.dataset
from sfumato.schema import Number, Schema

def kilobytes(field):
    return int(re.search(field + r":\\s+(\\d+) kB", open("/proc/self/status").read()).group(1))

schema = Schema({f"x{i}": Number(-1, 1) for i in range(int(sys.argv[2]))})
before = kilobytes("VmRSS")
start = time.perf_counter()
data = sfumato.dataset.Dataset.from_table(sys.argv[1], schema=schema)
seconds = time.perf_counter() - start
print(json.dumps({"n": data.n, "baseline": before * 1024, "peak": kilobytes("VmHWM") * 1024, "seconds": seconds}))
"""


def write_parquet(path: Path, rows: int, columns: int, group: int) -> None:
    """Write incompressible uniform numbers, one chunk at a time, `group` rows to a row group."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(0)
    names = [f"x{i}" for i in range(columns)]
    schema = pa.schema([(name, pa.float64()) for name in names])
    with pq.ParquetWriter(path, schema, compression="snappy") as writer:
        for start in range(0, rows, group):
            count = min(group, rows - start)
            parts = [
                pa.table({name: generator.uniform(-1.2, 1.2, min(CHUNK, count - at)) for name in names})
                for at in range(0, count, CHUNK)
            ]
            writer.write_table(pa.concat_tables(parts), row_group_size=group)


def measure(rows: int, columns: int, group: int) -> dict[str, float]:
    """Write a file and read it: the rise of resident memory, the size of the matrix and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        # Written by another process too, so that this one stays small.
        call = f"import memory, pathlib; memory.write_parquet(pathlib.Path({str(path)!r}), {rows}, {columns}, {group})"
        subprocess.run([sys.executable, "-c", call], check=True, cwd=Path(__file__).parent)
        return measure_reading(path, rows, columns)


def measure_reading(path: Path, rows: int, columns: int) -> dict[str, float]:
    """Read a file that `write_parquet` wrote, in a new process, and return the same numbers."""
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), str(columns)], check=True, capture_output=True, text=True
    )
    found = json.loads(child.stdout)
    matrix = rows * columns * 8
    rise = found["peak"] - found["baseline"]
    return {**found, "matrix": matrix, "rise": rise, "ratio": rise / matrix}


def main() -> None:
    """Print the ratio for the file's usual row groups, and for a file that is one row group."""
    rows, columns, *rest = [int(word) for word in sys.argv[1:]] or [1_000_000, 100]
    for group in rest or [CHUNK * 2, rows]:
        start = time.perf_counter()
        found = measure(rows, columns, group)
        print(
            f"{rows:,} x {columns} from Parquet, {group:,} rows a group: rise {found['rise'] / 1e6:,.0f} MB over "
            f"{found['baseline'] / 1e6:,.0f} MB, matrix {found['matrix'] / 1e6:,.0f} MB, ratio {found['ratio']:.3f} "
            f"(aim < 1.5); read in {found['seconds']:.1f} s of {time.perf_counter() - start:.1f} s"
        )


if __name__ == "__main__":
    main()
