"""The public tables of the benchmarks: features scaled by documented bounds to [-1/2, 1/2], a constant 1/2, rows of norm 1.

They are looked for in $SFUMATO_DATA, then in ../shared/data, compressed with gzip or as their source gives them:
adult.data and adult.test (UCI Adult), abalone.data (UCI Abalone), mnist_3v8.npz (`images` and `labels` of MNIST's threes and
eights). Nothing is downloaded. Numeric bounds and levels are those of the code books: adult.names, abalone.names.
Two tables are generated from a fixed seed: a survey with rare levels and rare labels, and a linear regression.
"""

from __future__ import annotations

import gzip
import math
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
HERE = Path(__file__).resolve().parent


# Where the tables come from, for whoever has not got them.
HOW_TO_GET = (
    "Set SFUMATO_DATA to a folder that holds them, as they are or compressed with gzip: "
    "adult.data and adult.test from https://archive.ics.uci.edu/dataset/2/adult, "
    "abalone.data from https://archive.ics.uci.edu/dataset/1/abalone, and mnist_3v8.npz with `images` (rows x 784, 0 to 255) and "
    "`labels` (3 or 8) of MNIST's training set, http://yann.lecun.com/exdb/mnist/."
)


def candidates(name: str) -> list[Path]:
    """Where a file of this name, as it is or compressed, may be."""
    places = [Path(os.environ["SFUMATO_DATA"])] if "SFUMATO_DATA" in os.environ else []
    return [
        place / each for place in (*places, HERE.parent.parent / "shared" / "data") for each in (name, f"{name}.gz")
    ]


def is_there(name: str) -> bool:
    """Whether the file of this name is on this machine."""
    return any(each.exists() for each in candidates(name))


def find(name: str) -> Path:
    """The file of this name, as it is or compressed."""
    for candidate in candidates(name):
        if candidate.exists():
            return candidate
    raise SystemExit(f"{name} was not found. {HOW_TO_GET}")


def lines(name: str) -> Iterator[list[str]]:
    """Cells of every line with more than one."""
    path = find(name)
    stored = path.read_bytes()
    for line in (gzip.decompress(stored) if path.suffix == ".gz" else stored).decode().splitlines():
        cells = [cell.strip() for cell in line.rstrip().rstrip(".").split(",")]
        if len(cells) > 1:
            yield cells


def unit_rows(features: Array) -> Array:
    """Append the constant and bring every row to norm 1."""
    rows = np.column_stack([features, np.full(len(features), 0.5)])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def scaled(values: Array, lower: float, upper: float) -> Array:
    """Numbers between public bounds, in [-1/2, 1/2]."""
    return np.clip((values - lower) / (upper - lower) - 0.5, -0.5, 0.5)[:, None]


def indicators(values: NDArray[np.str_], levels: list[str]) -> Array:
    """One column for every level: 1/2 where it is the row's own."""
    return np.stack([(values == level) - 0.5 for level in levels], axis=1)


def adult_features(dropped: int = 0) -> tuple[Array, Array]:
    """UCI Adult, both files (48,842 rows): does a person earn above 50,000? The first `dropped` levels have no column."""
    rows = [cells for name in ("adult.data", "adult.test") for cells in lines(name) if len(cells) == 15]
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    bounds = {0: (0, 100), 2: (0, 1.5e6), 4: (0, 16), 10: (0, 99_999), 11: (0, 5_000), 12: (0, 100)}
    parts = [
        scaled(columns[j].astype(float), *bounds[j])
        if j in bounds
        else indicators(columns[j], sorted(set(columns[j]))[dropped:])
        for j in range(14)
    ]
    return np.hstack(parts), np.where(columns[14] == ">50K", 1.0, -1.0)


def adult() -> tuple[Array, Array]:
    """UCI Adult with a column for every level, and the constant."""
    features, labels = adult_features()
    return unit_rows(features), labels


def abalone_features(dropped: int = 0) -> tuple[Array, Array]:
    """UCI Abalone (4,177 rows): has a shell ten rings or more? The first `dropped` levels of the sex have no column."""
    columns = [np.array(column) for column in zip(*lines("abalone.data"), strict=True)]
    lower, upper = (0.075, 0.055, 0, 0.002, 0.001, 0.001, 0.002), (0.815, 0.65, 1.13, 2.826, 1.488, 0.76, 1.005)
    parts = [scaled(columns[j + 1].astype(float), lower[j], upper[j]) for j in range(7)]
    sexes = indicators(columns[0], ["M", "F", "I"][dropped:])
    return np.hstack([sexes, *parts]), np.where(columns[8].astype(int) >= 10, 1.0, -1.0)


def abalone() -> tuple[Array, Array]:
    """UCI Abalone with a column for every level, and the constant."""
    features, labels = abalone_features()
    return unit_rows(features), labels


def mnist_features() -> tuple[Array, Array]:
    """MNIST's threes and eights (11,982 rows)."""
    with np.load(find("mnist_3v8.npz")) as stored:
        return stored["images"] / 255.0 - 0.5, np.where(stored["labels"] == 3, 1.0, -1.0)


def mnist() -> tuple[Array, Array]:
    """MNIST's threes and eights with the constant."""
    features, labels = mnist_features()
    return unit_rows(features), labels


# Bounds of the survey's numbers: age, hours, years, visits. Levels of its categories, and the ratio of the shares of neighbours.
SURVEY_BOUNDS = ((18, 90), (0, 100), (0, 60), (0, 40))
SURVEY_LEVELS = ((3, 0.5), (4, 0.4), (12, 0.66))


def survey_columns(rate: float = 0.05) -> tuple[list[Array], list[NDArray[np.int64]], Array]:
    """A made-up survey of 67,500 rows: 4 numbers, the levels of 3 categories, and labels 1 (a share of `rate`) and -1.

    The rarest of the 12 levels has 0.4 % of the rows. Two of the numbers are correlated.
    """
    draws, n = np.random.default_rng(15), 67_500
    age, hours = draws.uniform(18, 90, n), np.clip(draws.gamma(4, 9, n), 0, 100)
    years = np.clip((age - 18) * draws.beta(2, 2, n), 0, 60)
    numbers = [age, hours, years, np.minimum(draws.geometric(0.15, n), 40).astype(float)]
    columns = [scaled(each, *ends)[:, 0] for each, ends in zip(numbers, SURVEY_BOUNDS, strict=True)]
    logits = sum(weight * column for weight, column in zip((1.5, 1.0, -1.2, 2.0), columns, strict=True))
    levels = []
    for count, ratio in SURVEY_LEVELS:
        shares = ratio ** np.arange(count)
        levels.append(draws.choice(count, size=n, p=shares / shares.sum()))
        logits = logits + draws.normal(scale=0.7, size=count)[levels[-1]]
    # The shift makes this share of the labels 1.
    lower, upper = -20.0, 20.0
    while upper - lower > 1e-6:
        shift = (lower + upper) / 2
        lower, upper = (lower, shift) if (1 / (1 + np.exp(-logits - shift))).mean() > rate else (shift, upper)
    return numbers, levels, np.where(draws.random(n) < 1 / (1 + np.exp(-logits - lower)), 1.0, -1.0)


def survey() -> tuple[Array, Array]:
    """The survey (45,000 rows to fit) with a column for every level, rows of norm 1."""
    numbers, levels, labels = survey_columns()
    parts = [scaled(each, *ends) for each, ends in zip(numbers, SURVEY_BOUNDS, strict=True)]
    for each, (count, _) in zip(levels, SURVEY_LEVELS, strict=True):
        parts.append(indicators(each.astype(str), [str(level) for level in range(count)]))
    return unit_rows(np.hstack(parts)), labels


def linear() -> tuple[Array, Array]:
    """A made-up linear regression (9,000 rows, 6,000 to fit), 12 correlated columns and a constant, R^2 about 0.3.

    Neighbouring columns have correlation 0.8. Columns are cut at three deviations, which are their bounds; a row of cells in
    [-1/2, 1/2] is divided by its largest norm, so that no row is shortened. Labels lie in [-1/2, 1/2]: bounds of -1 and 1 are
    twice as wide as they are.
    """
    draws, n, d = np.random.default_rng(16), 9_000, 12
    columns = np.empty((n, d))
    columns[:, 0] = draws.normal(size=n)
    for j in range(1, d):
        columns[:, j] = 0.8 * columns[:, j - 1] + 0.6 * draws.normal(size=n)
    signal = columns @ draws.normal(size=d)
    labels = math.sqrt(0.3) * signal / signal.std() + math.sqrt(0.7) * draws.normal(size=n)
    rows = np.column_stack([np.clip(columns / 6, -0.5, 0.5), np.full(n, 0.5)]) / (math.sqrt(d + 1) / 2)
    # Their mean is 0.3 deviations, so that the constant has something to say.
    return rows, np.clip((labels + 0.3) / 6, -0.5, 0.5)


def digits() -> tuple[Array, Array]:
    """The 1,797 small digits that come with scikit-learn, ten classes."""
    from sklearn.datasets import load_digits

    features, labels = load_digits(return_X_y=True)
    return unit_rows(features / 16 - 0.5), labels


def split(n: int, held_out: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to fit and rows held out, the same for everyone who is compared."""
    order = np.random.default_rng(seed).permutation(n)
    return order[held_out:], order[:held_out]
