"""`python benchmarks/speed.py [--quick]`: what a pass over the rows costs, as ratios within one run, each with its aim.

Everything is compiled beforehand, into an empty cache, and the time of that is printed apart. The pieces of a comparison
take turns; before its turn a piece rests 30 ms, so that no library's threads still spin, and runs unmeasured. Ratios are
of medians. NumPy's products use as many BLAS threads as NumPy's own default, and one where that is said; the engines use
their own threads, one per core.

The last lines fit PrivateLogisticRegression to a table of Adult's shape in a new process: in $SFUMATO_DATA or ../shared/data
it looks for adult.data or adult.data.gz, and else it makes 32,561 rows of 105 features, mostly zeros and ones.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

WIDTH, CAP = 105, 1 << 30
Work = Callable[[], object]
Line = tuple[str, float, str, float]  # what, ratio, "<=" or ">=", aim


def caches() -> tuple[int, int, str]:
    """Sizes of the second and the last level of cache in bytes, and where they were read."""
    found: dict[int, int] = {}
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            found[int(level)] = int(size.rstrip("KM")) << (20 if size.endswith("M") else 10)
    if found:
        return found.get(2, found[max(found)]), found[max(found)], "/sys/devices/system/cpu/cpu0/cache"
    if "SC_LEVEL3_CACHE_SIZE" in getattr(os, "sysconf_names", {}) and os.sysconf("SC_LEVEL3_CACHE_SIZE") > 0:
        return os.sysconf("SC_LEVEL2_CACHE_SIZE"), os.sysconf("SC_LEVEL3_CACHE_SIZE"), "sysconf"
    return 1 << 20, 32 << 20, "nowhere: assumed"


def one_blas_thread() -> Any:
    """A context in which NumPy's products use one thread."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, user_api="blas")


def interleaved(works: dict[str, Work], rounds: int) -> dict[str, float]:
    """Median seconds of a call to each, taking turns; a name that ends in "one BLAS thread" is run with one.

    A turn is one call, or as many as fill two milliseconds, after one (two for what is short) that are not measured: longer
    turns would be interrupted by other processes more often.
    """
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            with one_blas_thread() if name.endswith("one BLAS thread") else contextlib.nullcontext():
                time.sleep(0.03)
                calls = 1
                for _ in range(2):
                    start = time.perf_counter()
                    work()
                    calls = max(1, int(2e-3 / (time.perf_counter() - start)))
                    if calls == 1:
                        break
                start = time.perf_counter()
                for _ in range(calls):
                    work()
                times[name].append((time.perf_counter() - start) / calls)
    return {name: statistics.median(found) for name, found in times.items()}


def table(rows: int, width: int, density: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of norm below 1, a share `density` of the entries not 0, and labels -1 and 1."""
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((rows, width))
    if density < 1:
        matrix *= rng.random((rows, width)) < density
    matrix /= 1.001 * np.linalg.norm(matrix, axis=1, keepdims=True) + 1e-12
    return matrix, 2 * rng.integers(0, 2, rows) - 1


def engine(matrix: Any, labels: np.ndarray, classes: int = 2) -> Any:
    """The engine that a logistic (softmax) model of these rows is served by."""
    import sfumato as sf
    from sfumato.engines.opening import open_engine

    target = sf.Category([-1, 1] if classes == 2 else list(range(classes)), missing=-1 if classes == 2 else 0)
    width = matrix.shape[1]
    data = sf.Dataset.from_arrays(matrix, labels, schema=sf.Schema.vector(width, data_norm=1.0, target=target))
    loss = sf.losses.Logistic(1.0) if classes == 2 else sf.losses.Softmax(1.0, classes=classes)
    return open_engine(
        data, sf.Gibbs(loss, sf.priors.Gaussian(1.0), width * (1 if classes == 2 else classes)), ("gradients",)
    )


def points(chains: int, width: int) -> np.ndarray:
    """Parameters of some chains."""
    return np.random.default_rng(2).standard_normal((chains, width))


def two_pass(matrix: np.ndarray, labels: np.ndarray, theta: np.ndarray) -> Work:
    """The gradient as NumPy has it: scores, slopes, and the product with the rows."""
    signs = labels.astype(np.float64)
    return lambda: (-signs / (1.0 + np.exp(signs * (matrix @ theta)))) @ matrix


def compiled_read() -> Callable[[np.ndarray], float]:
    """A sum in one thread, free to keep many partial sums."""
    import numba

    @numba.njit(fastmath=True)
    def read(flat: np.ndarray) -> float:
        total = 0.0
        for place in range(flat.size):
            total += flat[place]
        return total

    return read  # type: ignore[no-any-return]


def compile_all() -> list[tuple[str, float]]:
    """Seconds that the first call to each kernel takes."""
    from scipy.sparse import csr_array

    matrix, labels = table(64, 8)
    found = []
    for kind, held in (("dense", engine(matrix, labels)), ("sparse", engine(csr_array(matrix), labels))):
        for chains in (1, 8):
            start = time.perf_counter()
            held.gradient(points(chains, 8))
            found.append(
                (f"{kind} kernel, {'one chain' if chains == 1 else 'many chains'}", time.perf_counter() - start)
            )
    return found


def dense_lines(size: int, place: str, rounds: int, outside: bool) -> list[Line]:
    """The fused pass on a matrix of so many bytes against one read, against NumPy, and for eight chains."""
    rows = size // (8 * WIDTH)
    matrix, labels = table(rows, WIDTH)
    held, alone, flat = engine(matrix, labels), engine(matrix, labels), matrix.reshape(-1)
    alone._threads = 1
    one, eight, read = points(1, WIDTH), points(8, WIDTH), compiled_read()
    works: dict[str, Work] = {
        "fused": lambda: held.gradient(one),
        "fused, one thread": lambda: alone.gradient(one),
        "eight": lambda: held.gradient(eight),
        "compiled sum": lambda: read(flat),
        "NumPy sum": flat.sum,
        "NumPy": two_pass(matrix, labels, one[0]),
        "NumPy, one BLAS thread": two_pass(matrix, labels, one[0]),
    }
    seconds = interleaved(works, rounds)
    print(f"\n{rows:,} x {WIDTH}, {place}:", ", ".join(f"{k} {v * 1e3:.3g} ms" for k, v in seconds.items()))
    fused, reading = seconds["fused"], min(seconds["compiled sum"], seconds["NumPy sum"])
    aim = 0.75 if outside else 1.2
    lines: list[Line] = [
        (f"fused / two-pass NumPy, {place}", fused / seconds["NumPy"], "<=", aim),
        (f"fused / two-pass NumPy, one BLAS thread, {place}", fused / seconds["NumPy, one BLAS thread"], "<=", aim),
        (f"8 chains / 1 chain, {place}", seconds["eight"] / fused, "<=", 4.5),
    ]
    return [(f"fused / one read, {place}", fused / reading, "<=", 2.0), *lines] if outside else lines


def sparse_lines(rows: int, rounds: int) -> list[Line]:
    """CSR against dense rows of 1,000 features, logistic loss, one chain."""
    from scipy.sparse import csr_array

    lines: list[Line] = []
    for density, aim in ((0.13, 1.0), (0.014, 4.0)):
        matrix, labels = table(rows, 1000, density)
        dense, sparse, theta = engine(matrix, labels), engine(csr_array(matrix), labels), points(1, 1000)
        works: dict[str, Work] = {"dense": lambda: dense.gradient(theta), "CSR": lambda: sparse.gradient(theta)}
        seconds = interleaved(works, rounds)
        print(f"\n{rows:,} x 1,000, {density:.1%}:", ", ".join(f"{k} {v * 1e3:.3g} ms" for k, v in seconds.items()))
        lines.append((f"dense / CSR, {density:.1%} of the entries", seconds["dense"] / seconds["CSR"], ">=", aim))
    return lines


def softmax_seconds(rows: int, rounds: int) -> dict[str, float]:
    """Seconds per row of a softmax gradient, 64 features and 10 classes: no kernel knows it, NumPy's products run it."""
    matrix, _ = table(rows, 64)
    held, theta = engine(matrix, np.arange(rows) % 10, classes=10), points(1, 640)
    names = ("\nsoftmax, 10 classes, 64 features", "with one BLAS thread")
    seconds = interleaved({name: lambda: held.gradient(theta) for name in names}, rounds)
    return {name: seconds[name] / rows for name in names}


def fit_in_new_process(rows: str, small: bool) -> dict[str, float]:
    """Seconds and peak memory of one default fit, from benchmarks/speed_fit.py."""
    script = Path(__file__).with_name("speed_fit.py")
    run = subprocess.run(
        [sys.executable, str(script), rows, "3000" if small else "32561"], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(run.stdout)
    return found


def report(lines: list[Line], quick: bool) -> None:
    """Print the table."""
    if quick:
        print("\nsmall sizes: the ratios show that it runs and are not judged")
    print("\nwhat | measured | aim | met\n---|---|---|---")
    for what, ratio, sign, aim in lines:
        met = ratio <= aim if sign == "<=" else ratio >= aim
        print(f"{what} | {ratio:.2f} | {sign} {aim:g} | {'-' if quick else 'yes' if met else 'NO'}")


def main() -> None:
    """Compile, measure, and print one line per aim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="small sizes and few rounds: whether it runs, not how fast"
    )
    quick = parser.parse_args().quick
    second, last, source = caches()
    size = min(4 * last, CAP) if not quick else 8 << 20
    print(
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}; caches {second >> 10:,} KiB and {last >> 10:,} KiB ({source})"
    )
    print(
        "matrix of 4 times the last cache" + (f" would pass {CAP >> 20} MiB, which is taken" if 4 * last > CAP else "")
    )
    with tempfile.TemporaryDirectory() as folder:
        # Read when numba is imported, which no line above has done.
        os.environ["NUMBA_CACHE_DIR"] = folder
        for what, seconds in compile_all():
            print(f"compiled beforehand: {what}, {seconds:.2f} s")
        rounds = 3 if quick else 15
        lines = dense_lines(size, "small (--quick)" if quick else "4 x last cache", rounds, outside=True)
        lines += dense_lines(second // 2, "half the second cache", rounds, outside=False)
        if not quick:
            lines += dense_lines(last // 2, "half the last cache", rounds, outside=False)
        lines += sparse_lines(2_000 if quick else size // 8000, rounds)
        each = softmax_seconds(2_000 if quick else 20_000, rounds)
        print(", ".join(f"{name} {value * 1e9:.0f} ns a row" for name, value in each.items()))
        for rows in ("clip",) if quick else ("clip", "normalise"):
            fit = fit_in_new_process(rows, quick)
            shape = f"{fit['rows']:,} x {fit['columns']}"
            print(f'fit at epsilon 1, {shape}, rows="{rows}": {fit["seconds"]:.2f} s, the first {fit["first"]:.2f} s')
            lines.append((f'peak memory of a fit / matrix, rows="{rows}"', fit["rise"] / fit["matrix"], "<=", 1.3))
        report(lines, quick)
    print(f"\nload at the end {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
