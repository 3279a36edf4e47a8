"""Rows on a cluster: the same bits on any number of workers, with TLS, and after workers were killed; and what is refused."""

from __future__ import annotations

import threading
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from dask_cluster import cluster, kill_one
from effort import sized
from sfumato.dataset.cluster import Partitions, checked_addresses
from sfumato.dataset.on_dask import _records
from sfumato.errors import ArgumentError, PublishError

N, PARTS = 6_000, 5
COLUMNS = {"x": sf.Number(-2, 2), "z": sf.Number(-2, 2), "y": sf.Boolean()}
SCHEMA = sf.Schema(COLUMNS, target="y", name="survey")
MODEL = sf.regression("logistic", SCHEMA, ["x", "z"])
SETUPS = sized([(2, True), (4, False)], [(2, False), (4, False), (1, True), (2, True), (4, True)])


def table(seed: int = 0) -> dict:
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=N), rng.normal(size=N)
    return {"x": x, "z": z, "y": rng.random(N) < 1 / (1 + np.exp(-x))}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    made = pa.table(table())
    for place in range(PARTS):
        pq.write_table(made.slice(place * N // PARTS, N // PARTS), folder / f"part-{place}.parquet")
    return str(folder / "part-*.parquet")


def bits(release: sf.Release) -> bytes:
    return release.draws.values.tobytes()


@pytest.fixture(scope="module")
def plan():
    return sf.plan(MODEL, N, 1.0, 1e-6, goal="estimate")


@pytest.fixture(scope="module")
def expected(paths, plan):
    with cluster(1) as client:
        data = sf.Dataset.from_dask(paths, schema=SCHEMA, client=client)
        assert data.n == N
        assert "engine='dask'" in repr(data)
        return bits(sf.publish(plan, data, randomness=sf.seeded(3)))


@pytest.mark.planted
@pytest.mark.parametrize(("workers", "tls"), SETUPS)
def test_a_release_has_the_same_bits_on_any_number_of_workers(workers, tls, paths, plan, expected, tmp_path):
    with cluster(workers, tmp_path if tls else None) as client:
        assert client.scheduler.address.startswith("tls://" if tls else "tcp://127.0.0.1")
        data = sf.Dataset.from_dask(paths, schema=SCHEMA, client=client)
        assert bits(sf.publish(plan, data, randomness=sf.seeded(3))) == expected


@pytest.mark.planted
@pytest.mark.parametrize("place", range(sized(1, 7)))
def test_a_killed_worker_is_replaced_and_the_release_has_the_same_bits(place, paths, plan, expected):
    """Three kills, each at a random moment of a publication, on two workers; on seven clusters in the long form."""
    rng, struck = np.random.default_rng(place), 0
    with cluster(2) as client:
        data = sf.Dataset.from_dask(paths, schema=SCHEMA, client=client)
        for _ in range(2):  # the first compiles and imports on the workers; kills are timed by the second
            start = time.monotonic()
            assert bits(sf.publish(plan, data, randomness=sf.seeded(3))) == expected
            took = time.monotonic() - start
        for run in range(3):
            client.wait_for_workers(1)
            before = {held.worker for held in data_cluster(data)._actors.values()}
            timer = threading.Timer(rng.uniform(0.05, 0.7) * took, kill_one, (client, run))
            timer.start()
            assert bits(sf.publish(plan, data, randomness=sf.seeded(3))) == expected
            timer.join()
            struck += before != {held.worker for held in data_cluster(data)._actors.values()}
    assert struck >= 1  # a kill after the last step is seen by the next publication


def data_cluster(data: sf.Dataset):
    from sfumato.dataset import rows_of

    return rows_of(data)._blocks.cluster


@pytest.fixture(scope="module")
def client():
    with cluster(2) as made:
        yield made


@pytest.mark.planted
def test_results_come_in_the_order_of_the_partitions_whoever_holds_them(client, tmp_path):
    held = data_cluster(small(tmp_path, client))
    assert len(held._actors) == 2
    assert held.facts(_records) == [10, 20, 30, 40, 50]


def small(folder, client, sizes=(10, 20, 30, 40, 50)) -> sf.Dataset:
    """A data set of one partition for each of `sizes`, in files of `folder`."""
    made = pa.table(table())
    for place, size in enumerate(sizes):
        pq.write_table(made.slice(0, size), folder / f"{place}.parquet")
    return sf.Dataset.from_dask(str(folder / "*.parquet"), schema=SCHEMA, client=client)


@pytest.mark.planted
def test_no_partition_is_left_out_when_its_readers_are_lost_too(client, tmp_path, monkeypatch):
    """A worker is lost during a call, and the scheduler still lists a dead one: its share is read in a second round."""
    held = data_cluster(small(tmp_path, client))
    there, called, listed, refused = held._workers, held._called, [], []

    def with_a_dead_one():
        listed.append(1)
        return [*there(), "tcp://127.0.0.1:1"] if len(listed) == 1 else there()

    def lost_once(name, call):
        if not refused and len(held._actors[name].numbers) == 3:
            refused.append(name)
            return None
        return called(name, call)

    monkeypatch.setattr(held, "_workers", with_a_dead_one)
    monkeypatch.setattr(held, "_called", lost_once)
    assert held.facts(_records) == [10, 20, 30, 40, 50]
    assert (len(refused), len(listed)) == (1, 2)


@pytest.mark.planted
def test_a_call_that_failed_leaves_no_partition_out_of_the_next(client, tmp_path, monkeypatch):
    held = data_cluster(small(tmp_path, client))
    lost = min(held._actors)
    with monkeypatch.context() as broken:
        broken.setattr(held, "_called", lambda name, call: None)
        broken.setattr(held, "_workers", fails)
        with pytest.raises(PublishError, match="no worker here"):
            held.facts(_records)
    assert lost not in held._actors
    assert held.facts(_records) == [10, 20, 30, 40, 50]


def fails(*given):
    raise PublishError("no worker here.")


@pytest.mark.planted
def test_rows_that_are_read_anew_and_are_not_the_same_are_refused(client, tmp_path):
    held = data_cluster(small(tmp_path, client))
    lost = held._actors.pop(min(held._actors))
    path = tmp_path / f"{lost.numbers[0]}.parquet"
    pq.write_table(pq.read_table(path).set_column(0, "x", [[1.0] * (10 * lost.numbers[0] + 10)]), path)
    with pytest.raises(PublishError, match="not the same"):
        held.facts(_records)


@pytest.mark.planted
def test_workers_forget_what_is_no_longer_needed(client, tmp_path):
    data = small(tmp_path, client)
    held = data_cluster(data)
    fit = sf.plan(MODEL, data.n, 1.0, 1e-6, goal="estimate")
    for _ in range(3):
        sf.publish(fit, data)
    keys = {actor.future.key for actor in held._actors.values()}
    opened = client.run(opened_by, keys)
    assert all(1 <= count <= 2 for count in opened.values())
    assert not held._openings


def opened_by(keys, dask_worker):
    return sum(len(dask_worker.state.actors[key]._opened) for key in keys & set(dask_worker.state.actors))


def test_what_cannot_be_opened_is_not_opened_again_elsewhere(client, tmp_path):
    held = data_cluster(small(tmp_path, client))
    with pytest.raises(PublishError, match="no worker here"):
        held.open(fails)
    held._actors.pop(min(held._actors))
    assert held.facts(_records) == [10, 20, 30, 40, 50]


def test_a_dask_data_frame_of_files_is_read_by_the_workers(client, paths, plan):
    import dask.dataframe as dd

    frame = dd.read_parquet(paths)
    data = sf.Dataset.from_dask(frame, schema=SCHEMA, client=client)
    assert data.n == N
    model = sf.families.BoundedMean(-2, 2)
    mean = sf.publish(
        sf.plan(model, N, 8.0, 1e-6), sf.Dataset.from_dask(frame, schema=SCHEMA.only(["x"]), client=client)
    )
    assert abs(float(mean.mean()) - np.clip(table()["x"], -2, 2).mean()) < 0.05


@pytest.mark.planted
def test_rows_in_the_task_graph_are_refused(client):
    import dask.dataframe as dd

    frame = dd.from_pandas(pd.DataFrame(table()), npartitions=2)
    with pytest.raises(ArgumentError, match="in its task graph"):
        sf.Dataset.from_dask(frame, schema=SCHEMA, client=client)


@pytest.mark.planted
@pytest.mark.parametrize("address", ["tcp://10.0.0.5:8786", "tcp://example.org:8786", "ws://192.168.1.4:99"])
def test_plain_connections_beyond_this_machine_are_refused(address):
    with pytest.raises(ArgumentError, match="TLS"):
        checked_addresses([address])
    with pytest.raises(ArgumentError, match="TLS"):
        sf.Dataset.from_dask(["x.parquet"], schema=SCHEMA, client=address)


def test_tls_and_this_machine_are_admitted():
    checked_addresses(["tls://10.0.0.5:8786", "tcp://127.0.0.1:1", "tcp://[::1]:1", "inproc://x", "tcp://localhost:1"])


@pytest.mark.planted
def test_workers_that_spill_are_refused(paths):
    spilling = {"distributed.worker.memory.target": 0.6, "distributed.worker.memory.spill": 0.7}
    with cluster(1, **spilling) as client, pytest.raises(ArgumentError, match="Turn spilling off"):
        sf.Dataset.from_dask(paths, schema=SCHEMA, client=client)


PERSONS = sf.Schema(COLUMNS, target="y", persons=sf.Persons("who", most=4, count=50))


def visits(folder, split: bool, people: int = 40) -> list[str]:
    who = np.repeat(np.arange(people), 3)
    cells = {**{name: column[: len(who)] for name, column in table().items()}, "who": who}
    edge = 61 if split else 60
    for place, part in enumerate((slice(0, edge), slice(edge, None))):
        pq.write_table(pa.table({name: column[part] for name, column in cells.items()}), folder / f"{place}.parquet")
    return [str(folder / "0.parquet"), str(folder / "1.parquet")]


@pytest.mark.planted
def test_a_person_in_two_partitions_is_refused(client, tmp_path):
    assert sf.Dataset.from_dask(visits(tmp_path, False), schema=PERSONS, client=client).n == 50
    with pytest.raises(ArgumentError, match="in several partitions"):
        sf.Dataset.from_dask(visits(tmp_path, True), schema=PERSONS, client=client)


@pytest.mark.planted
def test_more_persons_than_declared_are_refused_and_a_roster_decides_who_counts(client, tmp_path):
    paths = visits(tmp_path, False, 60)
    with pytest.raises(ArgumentError, match="more persons than"):
        sf.Dataset.from_dask(paths, schema=PERSONS, client=client)
    assert sf.Dataset.from_dask(paths, schema=PERSONS, client=client, roster=list(range(10, 60))).n == 50


def test_a_missing_column_is_refused_by_its_name_and_no_cell_is_shown(client, paths):
    schema = sf.Schema({**COLUMNS, "age": sf.Number(0, 100)}, target="y")
    with pytest.raises(ArgumentError, match="lacks column 'age'"):
        sf.Dataset.from_dask(paths, schema=schema, client=client)


def test_partitions_are_not_pickled():
    import pickle

    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(Partitions({}, len))
