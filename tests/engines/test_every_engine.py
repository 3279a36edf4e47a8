"""One battery for every engine: the same records in memory, as CSR rows, from a file, and on a cluster give the same sums.

Sums of whole numbers are equal; float sums are no further from the reference than the bound that prices charge.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array

import sfumato as sf
from dask_cluster import cluster
from effort import sized
from sfumato.dataset import rows_of
from sfumato.engines.opening import open_engine
from sfumato.engines.protocol import gradient_error, most_additions
from sfumato.schema.design import Design

LEVELS = ("a", "b", "c")
COLUMNS = {
    "x": sf.Number(-2, 2),
    "z": sf.Number(0, 10),
    "level": sf.Category(list(LEVELS), missing=LEVELS[0], alias={"gamma": "c"}, fold_case=True),
    "y": sf.Boolean(missing=False),
}
PLACES = ("memory", "reference", "sparse", "streamed", "dask")
# Two parts of a dense engine, and more than one block of a file.
ROWS = sized(9_000, 70_000)


@dataclass(frozen=True)
class Case:
    """Records, how they count, and where the sums are computed."""

    rows: int
    seed: int = 0
    persons: sf.Persons | None = None
    weight: sf.Weight | None = None
    hostile: bool = False
    options: dict = field(default_factory=dict)

    @property
    def schema(self) -> sf.Schema:
        return sf.Schema(COLUMNS, target="y", persons=self.persons, weight=self.weight)

    def cells(self) -> dict:
        """The columns; hostile cells are beyond all bounds, missing or no numbers."""
        rng = np.random.default_rng(self.seed)
        x, z = rng.normal(size=self.rows), rng.gamma(2.0, 1.5, self.rows)
        if self.hostile:
            odd = [np.nan, np.inf, -np.inf, 1e308, -0.0, 5e-324]
            x[:: max(1, self.rows // 40)] = np.resize(odd, len(x[:: max(1, self.rows // 40)]))
            z[1 :: max(1, self.rows // 30)] = np.resize(odd, len(z[1 :: max(1, self.rows // 30)]))
        made = {
            "x": x,
            "z": z,
            "level": rng.choice([*LEVELS, "B", "Gamma", "nobody"], self.rows),
            "y": rng.random(self.rows) < 0.4,
        }
        if self.persons is not None:
            # In the order of the persons, so that partitions can be cut between them.
            made["who"] = np.sort(rng.integers(0, max(1, self.rows // 3), self.rows))
        if self.weight is not None:
            made["w"] = rng.uniform(0, 3, self.rows)
        return made


PERSONS = sf.Persons("who", most=5, count=ROWS // 3 + 40)
CASES = {
    "rows": Case(ROWS),
    "hostile cells": Case(3_000, 1, hostile=True),
    "one row": Case(1, 2),
    "no row": Case(0, 3),
    "persons": Case(ROWS, 4, PERSONS),
    "weights": Case(3_000, 5, weight=sf.Weight("w", 2.0, fixed=True)),
    "persons with weights": Case(ROWS, 6, PERSONS, sf.Weight("w", 2.0, fixed=True)),
}


@pytest.fixture(scope="module")
def client():
    with cluster(2) as made:
        yield made


def written(case: Case, folder, parts: int = 1) -> list[str]:
    """The table as Parquet files, cut between persons."""
    cells = case.cells()
    edges = [len(cells["y"]) * k // parts for k in range(parts + 1)]
    if case.persons is not None:
        edges = [0, *(int(np.searchsorted(cells["who"], cells["who"][edge])) for edge in edges[1:-1]), edges[-1]]
    paths = []
    for place, (first, last) in enumerate(pairwise(edges)):
        paths.append(str(folder / f"part-{place}.parquet"))
        pq.write_table(
            pa.table({name: column[first:last] for name, column in cells.items()}), paths[-1], row_group_size=1_000
        )
    return paths


def opened(place: str, name: str, folder, client, needs, model) -> object:
    """The engine of a case in one place."""
    case = CASES[name]
    if place == "dask":
        return open_engine(
            sf.Dataset.from_dask(written(case, folder, 3), schema=case.schema, client=client), model, needs
        )
    (path,) = written(case, folder)
    where = "streamed" if place == "streamed" else "memory"
    data = sf.Dataset.from_table(path, schema=case.schema, engine=where)
    assert data.engine == where
    if place == "sparse":
        return open_engine(
            coded(data, case), sf.Gibbs(model.loss, sf.priors.Gaussian(1.0), model.dimension, model.intercept), needs
        )
    return open_engine(data, model, needs, "reference" if place == "reference" else None)


def coded(data: sf.Dataset, case: Case) -> sf.Dataset:
    """The features of a table as CSR rows."""
    design = Design.of(case.schema, ["x", "z", "level"])
    blocks = list(rows_of(data).blocks())
    width = design.dimension
    matrix = np.concatenate([np.empty((0, width)), *(design.encode(block) for block in blocks)])
    labels = np.concatenate([np.empty(0), *(block["y"] for block in blocks)]) > 0
    schema = sf.Schema.vector(width, data_norm=design.radius, target=sf.Boolean(missing=False))
    return sf.Dataset.from_arrays(csr_array(matrix), labels, schema=schema)


def served(place: str, name: str) -> bool:
    """CSR rows are given as matrices: the battery has them for records of one row and weight 1."""
    return place != "sparse" or (CASES[name].persons is None and CASES[name].weight is None)


REGRESSION = [(place, name) for name in CASES for place in PLACES if place != "reference" and served(place, name)]


@pytest.mark.planted
@pytest.mark.parametrize(("place", "name"), REGRESSION)
def test_float_sums_are_those_of_the_reference_within_what_is_charged(place, name, tmp_path, client):
    case = CASES[name]
    model = sf.regression("logistic", case.schema, ["x", "z", "level"])
    needs = ("gradients", "shapes")
    engines = [opened(each, name, tmp_path, client, needs, model) for each in ("reference", place)]
    d, radius = engines[0].dimension, model.loss.radius
    theta = np.random.default_rng(9).normal(size=(3, d))
    n = engines[0].n
    assert [engine.n for engine in engines] == [n, n]
    matrix = np.eye(d) * 0.7 + 0.05
    for chains in (theta[:1], theta):
        assert apart(*(engine.gradient(chains) for engine in engines)) <= 2 * gradient_error(n, radius) * len(chains)
    assert apart(*(engine.moments(radius) for engine in engines)) <= 2 * gradient_error(n, radius**2)
    # Rows and labels lie on both sides of every edge, and none of them at one.
    edges = np.array([-1.3, -0.1, 0.4, 1.7])
    cells = [engine.residual_shares(theta[0], edges) for engine in engines]
    assert apart(*cells) <= 2 * gradient_error(n, 1.0)
    assert n < 10 or (cells[0] > 0).sum() > 1
    weighed = [engine.weighed(matrix, 1.0) for engine in engines]
    stretched = np.linalg.norm(np.linalg.inv(matrix))  # v |Bz| is at most 1, and v phi' z is summed
    assert apart(*(each.gradient(theta) for each in weighed)) <= 6 * gradient_error(n, 1.0) * stretched
    sums = [each.second_sums(theta[0], True) for each in weighed]
    for one, other in zip(*sums, strict=True):
        assert apart(one, other) <= 4 * gradient_error(n, 1.0)


def apart(one, other) -> float:
    return float(np.linalg.norm(np.asarray(one) - np.asarray(other)))


FAMILIES = {
    "rate by level": sf.grouped(sf.families.BetaBernoulli(1, 1), "level", LEVELS),
    "mean": sf.families.BoundedMean(-2, 2),
}


@pytest.mark.planted
@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].weight is None])
@pytest.mark.parametrize("place", ["streamed", "dask"])
def test_totals_are_equal(place, name, tmp_path, client):
    case, schema = CASES[name], CASES[name].schema
    if place == "dask":
        data = sf.Dataset.from_dask(written(case, tmp_path, 3), schema=schema, client=client)
    else:
        data = sf.Dataset.from_table(written(case, tmp_path)[0], schema=schema, engine="streamed")
    held = sf.Dataset.from_table(case.cells(), schema=schema)
    columns = {"rate by level": ("level", "y"), "mean": ("x",)}
    for family, model in FAMILIES.items():
        named = _Columns(model, columns[family])
        one, other = (open_engine(each, named, ("totals",)).totals(model.tally) for each in (held, data))
        assert list(map(Fraction, one)) == list(map(Fraction, other))


class _Columns:
    """A family that reads these columns of a larger table."""

    def __init__(self, model, columns):
        self._model, self._columns = model, columns

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._model, name)

    def columns(self, schema):
        return self._columns


@pytest.mark.planted
@pytest.mark.parametrize("name", ["rows", "hostile cells"])
def test_streamed_sums_have_the_same_bits_as_sums_in_memory(name, tmp_path, client):
    case = CASES[name]
    model = sf.regression("logistic", case.schema, ["x", "z", "level"])
    one, other = (
        opened(place, name, tmp_path, client, ("gradients", "shapes"), model) for place in ("memory", "streamed")
    )
    theta = np.random.default_rng(4).normal(size=(2, one.dimension))
    assert one.gradient(theta).tobytes() == other.gradient(theta).tobytes()
    assert one.moments(1.0).tobytes() == other.moments(1.0).tobytes()
    edges = np.array([-0.5, 0.5])
    assert one.residual_shares(theta[0], edges).tobytes() == other.residual_shares(theta[0], edges).tobytes()
    first, second = (engine.weighed(np.eye(one.dimension), 1.0) for engine in (one, other))
    assert first.gradient(theta).tobytes() == second.gradient(theta).tobytes()


@pytest.mark.planted
def test_a_cluster_states_the_additions_over_its_partitions(tmp_path, client):
    case = CASES["rows"]
    model = sf.regression("logistic", case.schema, ["x", "z", "level"])
    held = opened("memory", "rows", tmp_path, client, ("gradients",), model)
    spread = opened("dask", "rows", tmp_path, client, ("gradients",), model)
    third = sf.Dataset.from_table(str(tmp_path / "part-0.parquet"), schema=case.schema)
    one = open_engine(third, model, ("gradients",))
    assert spread.additions == one.additions + 2  # of three partitions, added in pairs
    assert held.additions <= most_additions(held.n)
    assert spread.additions <= most_additions(spread.n)
