"""Passes over rows on a graphics card: their time beside a plain read, beside plain CuPy and JAX, and a whole fit.

python benchmarks/gpu.py passes              # one pass and eight chains, at 100, 1,000, 30, 300 and 10 columns
python benchmarks/gpu.py rivals              # the same gradient by plain CuPy and JAX, in float32
python benchmarks/gpu.py fit                 # a whole default fit, loading apart
python benchmarks/gpu.py equal               # 100 runs, the same bits
python benchmarks/gpu.py streamed            # the same rows through a card that is too small for them

It imports CuPy, NumPy and Sfumato; JAX where it is installed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.engines.gpu import GpuEngine

READ = r"""
extern "C" __global__ void read(const float4* __restrict__ rows, long long count, float* __restrict__ out) {
    float sum = 0.0f;
    const long long step = (long long)gridDim.x * blockDim.x;
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 7 * step < count; i += 8 * step) {
        float4 x[8];
        #pragma unroll
        for (int k = 0; k < 8; ++k) x[k] = rows[i + k * step];
        #pragma unroll
        for (int k = 0; k < 8; ++k) sum += x[k].x + x[k].y + x[k].z + x[k].w;
    }
    for (; i < count; i += step) sum += rows[i].x + rows[i].y + rows[i].z + rows[i].w;
    out[(long long)blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""


def seconds(work: Callable[[], Any], times: int = 20) -> float:
    """The median of some runs after two that are not counted, the card waited for."""
    import cupy

    taken = []
    for count in range(times + 2):
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        work()
        cupy.cuda.Device().synchronize()
        taken += [time.perf_counter() - start] if count > 1 else []
    return statistics.median(taken)


def plain_read(rows: Any) -> float:
    """Seconds of reading an array once and adding it up by thread."""
    import cupy

    kernel, out = cupy.RawKernel(READ, "read"), cupy.empty(132 * 8 * 256, cupy.float32)
    count = np.int64(rows.size // 4)
    return seconds(lambda: kernel((132 * 8,), (256,), (rows, count, out)))


def made(rows: int, columns: int) -> tuple[sf.Dataset, Any, Any, Any]:
    """Normal rows of norm about 1 on the card, labels, a logistic model; the data set, the model, and the raw arrays."""
    import cupy

    rng = cupy.random.default_rng(0)
    X, step = cupy.empty((rows, columns), cupy.float32), 1 << 22
    for start in range(0, rows, step):
        part = X[start : start + step]
        part[...] = rng.standard_normal(part.shape, dtype=cupy.float32) / np.float32(columns**0.5)
    truth = cupy.asarray(np.linspace(-3, 3, columns), dtype=cupy.float32)
    y = cupy.empty(rows, bool)
    for start in range(0, rows, step):
        part = X[start : start + step]
        y[start : start + step] = rng.random(len(part), dtype=cupy.float32) < 1 / (1 + cupy.exp(-(part @ truth)))
    schema = sf.Schema.vector(columns, data_norm=1.25, target=sf.Boolean(missing=False))
    data = sf.Dataset.from_arrays(X, y.get(), schema=schema, engine="gpu")
    model = sf.Gibbs(sf.losses.Logistic(1.5), sf.priors.Gaussian(0.05), columns + 1, 0.5)
    return data, model, X, y


def passes(sizes: list[tuple[int, int]]) -> None:
    """Print the time of a pass, its share of a plain read, and of eight chains."""
    import cupy

    for rows, columns in sizes:
        print(_one_size(rows, columns), flush=True)
        cupy.get_default_memory_pool().free_all_blocks()


def _one_size(rows: int, columns: int) -> str:
    data, model, X, _ = made(rows, columns)
    engine, one, eight = GpuEngine(data, model), np.zeros((1, columns + 1)), np.zeros((8, columns + 1))
    bare, taken = plain_read(X), seconds(lambda: engine.gradient(one))
    many = seconds(lambda: engine.gradient(eight), 5)
    return (
        f"{rows:,} rows of {columns} columns: {1e3 * taken:.2f} ms a pass, {4e-12 * rows * columns / taken:.2f} TB/s; a plain read "
        f"{1e3 * bare:.2f} ms, {100 * bare / taken:.0f} % of its speed; 8 chains {1e3 * many:.2f} ms, {many / taken:.2f} times one"
    )


def rivals(rows: int, columns: int) -> None:
    """Print the time of the same gradient in one float32 sum, by plain CuPy and by JAX."""
    import cupy

    _, _, X, y = made(rows, columns)
    sign, theta = cupy.where(y, 1.0, -1.0).astype(cupy.float32), cupy.zeros(X.shape[1], cupy.float32)
    taken = seconds(lambda: X.T @ (-sign / (1 + cupy.exp(sign * (X @ theta)))), 5)
    print(f"plain CuPy: {1e3 * taken:.1f} ms", flush=True)
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        import jax
    except ImportError:
        print("JAX is not installed")
        return
    there = (jax.dlpack.from_dlpack(X), jax.dlpack.from_dlpack(sign), jax.numpy.zeros(X.shape[1], jax.numpy.float32))
    step = jax.jit(lambda rows, labels, t: (-labels / (1 + jax.numpy.exp(labels * (rows @ t)))) @ rows)
    taken = seconds(lambda: step(*there).block_until_ready(), 5)
    print(f"plain JAX: {1e3 * taken:.1f} ms", flush=True)


def fit(rows: int, columns: int) -> None:
    """Print the time of loading, of the plan and of a default release."""
    start = time.perf_counter()
    data, model, X, y = made(rows, columns)
    print(f"made and loaded {rows:,} rows of {columns} columns in {time.perf_counter() - start:.1f} s")
    del X, y
    start = time.perf_counter()
    plan = sf.plan(model, data.n, 1.0, 1e-9, goal="estimate")
    print(f"planned in {time.perf_counter() - start:.2f} s: {plan.cost}")
    for what in ("first fit, kernels compiled", "second fit"):
        start = time.perf_counter()
        release = sf.publish(plan, data)
        taken = time.perf_counter() - start
        print(f"{what}: {taken:.2f} s, {1e3 * taken / plan.cost.passes:.1f} ms a pass", flush=True)
    found = np.asarray(release.mean())
    truth = np.linspace(-3, 3, columns)
    print(f"largest error of a coefficient {np.abs(found[1:] - truth).max():.2g}")


def equal(rows: int, columns: int, runs: int = 100) -> None:
    """Print how many runs of each kind of sum had the same bits."""
    data, model, _, _ = made(rows, columns)
    engine = GpuEngine(data, model)
    eight = np.random.default_rng(0).normal(size=(8, columns + 1))
    theta = eight[:1]
    weighed = engine.weighed(np.eye(columns + 1) * 2, 1.0)
    kinds = {
        "gradient": lambda: engine.gradient(theta).tobytes(),
        "gradients of eight chains": lambda: engine.gradient(eight).tobytes(),
        "weighted gradient": lambda: weighed.gradient(theta).tobytes(),
        "moments": lambda: engine.moments(1.5).tobytes(),
        "curvature and scores": lambda: b"".join(
            np.asarray(each).tobytes() for each in weighed.second_sums(theta[0], True)
        ),
    }
    for name, work in kinds.items():
        first = work()
        print(
            f"{columns} columns, {name}: {sum(work() == first for _ in range(runs))} of {runs} runs bit-equal",
            flush=True,
        )


def streamed(rows: int, columns: int) -> None:
    """Print the time of a pass over rows that do not fit on a card with a limit, and whether the bits are the same."""
    import cupy

    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns), dtype=np.float32) / np.float32(columns**0.5)
    y = rng.random(rows) < 0.5
    schema = sf.Schema.vector(columns, data_norm=1.25, target=sf.Boolean(missing=False))
    model = sf.Gibbs(sf.losses.Logistic(1.5), sf.priors.Gaussian(0.05), columns + 1, 0.5)
    data = sf.Dataset.from_arrays(X, y, schema=schema, engine="gpu")
    theta = np.random.default_rng(1).normal(size=(1, columns + 1))
    pool, found = cupy.get_default_memory_pool(), {}
    for limit in (0, 2 * rows * columns):
        pool.free_all_blocks()
        pool.set_limit(size=limit)
        engine = GpuEngine(data, model)
        chunks = len(engine._held._chunks)
        weighed = engine.weighed(np.eye(columns + 1) * 2, 1.0)
        found[limit] = [
            engine.gradient(theta),
            weighed.gradient(theta),
            engine.moments(1.5),
            *weighed.second_sums(theta[0], True),
        ]
        taken = seconds(lambda engine=engine: engine.gradient(theta), 5)
        print(
            f"limit {limit / 1e9:.2f} GB: {chunks} chunks, {1e3 * taken:.1f} ms a pass, {4e-9 * rows * columns / taken:.0f} GB/s; "
            f"most used {pool.used_bytes() / 1e9:.2f} GB",
            flush=True,
        )
        del engine, weighed
    pool.set_limit(size=0)
    same = all(np.array_equal(a, b) for a, b in zip(*found.values(), strict=True))
    print(f"the same bits: {same}")


def main() -> None:
    """Run one of the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("passes", "rivals", "fit", "equal", "streamed"))
    parser.add_argument("--rows", type=float, help="rows of the table at 100 columns")
    given = parser.parse_args()
    from sfumato.cuda.card import open_card
    from sfumato.errors import ArgumentError

    try:
        open_card()
    except ArgumentError as error:
        sys.exit(str(error))
    rows = int(given.rows or 1e8)
    if given.what == "passes":
        passes([(rows, 100), (rows // 10, 1_000), (rows * 10 // 3, 30), (rows // 3, 300), (rows * 6, 10)])
    elif given.what == "rivals":
        rivals(rows, 100)
    elif given.what == "fit":
        fit(rows, 100)
    elif given.what == "equal":
        equal(int(given.rows or 3e6), 100)
        equal(int(given.rows or 3e6) // 10, 1_000)
    else:
        streamed(int(given.rows or 8e6), 100)


if __name__ == "__main__":
    main()
