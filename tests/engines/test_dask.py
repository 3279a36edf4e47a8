"""Rows on a cluster: the same bits on any number of workers, with TLS, and after workers were killed; and what is refused."""

from __future__ import annotations

import gc
import pickle
import threading
import time
from types import SimpleNamespace

import dask
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from dask_cluster import cluster, kill_one
from effort import sized
from sfumato.dataset import rows_of
from sfumato.dataset import workers as cluster_workers
from sfumato.dataset.on_dask import ReadPartition, _digested, _records, _spills, recipes_of
from sfumato.dataset.partitions import Partitions
from sfumato.dataset.workers import checked_addresses, known_workers, may_still_read
from sfumato.engines.cluster import added_in_pairs
from sfumato.engines.opening import open_engine
from sfumato.engines.protocol import PART_ROWS, most_additions
from sfumato.engines.threads import additions
from sfumato.errors import ArgumentError, PublishError
from sfumato.schema.as_read import identity_of

N, PARTS = 6_000, 5
COLUMNS = {"x": sf.Number(-2, 2), "z": sf.Number(-2, 2), "y": sf.Boolean(missing=False)}
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
    there, answers, listed, refused = held._workers, held._answers, [], []

    def with_a_dead_one():
        listed.append(1)
        return [*there(), "tcp://127.0.0.1:1"] if len(listed) == 1 else there()

    def lost_once(asked, *given):
        found = answers(asked, *given)
        if not refused:
            refused.append([place for place, each in enumerate(asked) if len(each.numbers) == 3])
            found[refused[0][0]] = None
        return found

    monkeypatch.setattr(held, "_workers", with_a_dead_one)
    monkeypatch.setattr(held, "_answers", lost_once)
    assert held.facts(_records) == [10, 20, 30, 40, 50]
    assert (len(refused), len(listed)) == (1, 2)


@pytest.mark.planted
def test_a_call_that_failed_leaves_no_partition_out_of_the_next(client, tmp_path, monkeypatch):
    held = data_cluster(small(tmp_path, client))
    lost = min(held._actors)
    with monkeypatch.context() as broken:
        broken.setattr(held, "_answers", lambda asked, *given: [None] * len(asked))
        broken.setattr(held, "_workers", fails)
        with pytest.raises(PublishError, match="no worker here"):
            held.facts(_records)
    assert lost not in held._actors
    assert held.facts(_records) == [10, 20, 30, 40, 50]


def fails(*given):
    raise PublishError("no worker here.")


def quotes(*given):
    return float("Mrs Smith")


def is_late(*given):
    raise TimeoutError


class Odd(Exception):
    """An error that cannot be unpickled."""

    def __init__(self, one, two):
        super().__init__(one)

    @staticmethod
    def raised(*given):
        raise Odd("Mrs Smith", 2)


class Elsewhere:
    """Something that only this process can load."""

    def __call__(self, data):
        """Never called."""

    def __reduce__(self):
        return only_here, ()


def only_here():
    import only_here as absent

    return absent


lock = threading.Lock()


@pytest.mark.planted
def test_rows_that_are_read_anew_and_are_not_the_same_are_refused(client, tmp_path):
    held = data_cluster(small(tmp_path, client))
    lost = held._actors.pop(min(held._actors))
    path = tmp_path / f"{lost.numbers[0]}.parquet"
    pq.write_table(pq.read_table(path).set_column(0, "x", [[1.0] * (10 * lost.numbers[0] + 10)]), path)
    with pytest.raises(PublishError, match="not the same"):
        held.facts(_records)


@pytest.mark.parametrize(
    ("one", "other", "facts"),
    [
        ({"x": [5.0, 1.0]}, {"x": [None, 1.0]}, {}),
        ({"w": [1.0, 1.0]}, {"w": [1.0, 2.0]}, {"weight": sf.Weight("w", upper=2.0, fixed=True)}),
        ({"who": [0, 0, 1]}, {"who": [0, 1, 1]}, {"persons": sf.Persons("who", most=2, count=2)}),
    ],
    ids=["missing", "weights", "counts"],
)
def test_rows_that_differ_in_more_than_their_columns_have_other_digests(one, other, facts):
    schema = sf.Schema({"x": sf.Number(0, 10, missing=5.0)}, **facts)
    tables = ({"x": [1.0] * len(next(iter(each.values()))), **each} for each in (one, other))
    assert len({_digested(rows_of(sf.Dataset.from_table(each, schema=schema))._blocks) for each in tables}) == 2


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


def test_workers_forget_what_another_worker_could_not_open(client, tmp_path):
    held = data_cluster(small(tmp_path, client))
    with pytest.raises(PublishError, match="no worker here"):
        held.open(fails_at_ten)
    held.open(_records)
    opened = client.run(opened_by, {actor.future.key for actor in held._actors.values()})
    assert list(opened.values()) == [1, 1]


def fails_at_ten(partition):
    return fails() if partition.records == 10 else partition.records


def opened_by(keys, dask_worker):
    return sum(len(dask_worker.state.actors[key]._opened) for key in keys & set(dask_worker.state.actors))


@pytest.mark.planted
@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize(
    ("wrong", "kind", "said"),
    [
        (fails, PublishError, "^no worker here.$"),
        (quotes, PublishError, "^a worker of the cluster failed with ValueError; the message is withheld"),
        (Odd.raised, PublishError, "^a worker of the cluster failed with Odd; the message is withheld"),
        (is_late, PublishError, "^a worker of the cluster failed with TimeoutError; the message is withheld"),
        (lambda data: lock, ArgumentError, "^the model cannot be sent to the workers"),
        (Elsewhere(), ArgumentError, "cannot load the model .ModuleNotFoundError: No module named 'only_here'"),
    ],
    ids=["refuses", "quotes a cell", "odd error", "time-out", "cannot be sent", "absent module"],
)
def test_no_error_of_an_opening_hangs_or_quotes_a_cell(lost, wrong, kind, said, client, tmp_path):
    """Also where a worker was lost before, and the opening is the first thing that its successor is asked."""
    held = data_cluster(small(tmp_path, client))
    if lost:
        held._actors.pop(min(held._actors))
    with pytest.raises(kind, match=said) as caught:
        held.open(wrong)
    assert "Mrs Smith" not in str(caught.value)
    assert not held._openings
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
@pytest.mark.parametrize("kind", ["table", "array", "Arrow table"])
def test_rows_in_the_task_graph_are_refused(kind, client):
    import dask.dataframe as dd

    cells = pd.DataFrame(table())
    frame = {
        "table": lambda: dd.from_pandas(cells, npartitions=2),
        "array": lambda: dd.from_array(cells.to_numpy(float), 3000, columns=list(cells)),
        "Arrow table": lambda: dd.from_map(pa.Table.to_pandas, [pa.table(table())], meta=cells[:0]),
    }[kind]()
    with pytest.raises(ArgumentError, match="in its task graph"):
        sf.Dataset.from_dask(frame, schema=SCHEMA, client=client)


def test_workers_are_given_whole_paths(tmp_path, monkeypatch):
    """A worker has a working folder of its own."""
    small_file = tmp_path / "0.parquet"
    pq.write_table(pa.table(table()), small_file)
    monkeypatch.chdir(tmp_path)
    for source in ("0.parquet", "*.parquet", ["0.parquet"]):
        assert [pickle.loads(recipe) for recipe in recipes_of(source, SCHEMA)] == [str(small_file)]


@pytest.mark.planted
@pytest.mark.parametrize("method", ["disk", "p2p", "tasks"])
def test_shuffles_through_files_are_refused_and_those_by_tasks_bring_persons_together(method, client, tmp_path):
    import dask.dataframe as dd

    frame = dd.read_parquet(visits(tmp_path, True), dtype_backend="numpy_nullable")
    frame = frame.shuffle(on="who", shuffle_method=method)
    if method == "tasks":
        assert sf.Dataset.from_dask(frame, schema=PERSONS, client=client).n == 50
        return
    with client.as_current(), pytest.raises(ArgumentError, match="on the disks of workers"):
        sf.Dataset.from_dask(frame, schema=PERSONS, client=client)


@pytest.mark.parametrize("reader", ["csv", "table", "json", "delayed", "map", "beside"])
def test_data_frames_that_pandas_reads_from_text_are_refused(reader, tmp_path):
    """There one odd cell fails the reading of a partition, and a quotation mark or an empty line changes the number of rows."""
    import dask.dataframe as dd

    rows = pd.DataFrame({"x": [1.0, 2.0], "z": [0.5, 0.25], "y": [True, False]})
    for ending in ("csv", "json", "parquet"):
        more = {"csv": {"index": False}, "json": {"orient": "records", "lines": True}, "parquet": {}}[ending]
        getattr(rows, f"to_{ending}")(tmp_path / f"t.{ending}", **more)
    path = {ending: str(tmp_path / f"t.{ending}") for ending in ("csv", "json", "parquet")}
    typed = dd.read_parquet(path["parquet"])
    frame = {
        "csv": lambda: dd.read_csv(path["csv"], dtype="object"),
        "table": lambda: dd.read_table(path["csv"], sep=","),
        "json": lambda: dd.read_json(path["json"]),
        "delayed": lambda: dd.from_delayed([dask.delayed(pd.read_csv)(path["csv"])]),
        "map": lambda: dd.from_map(pd.read_csv, [path["csv"]]),
        "beside": lambda: typed.merge(dd.read_csv(path["csv"])[["x"]], on="x"),
    }[reader]()
    with pytest.raises(ArgumentError, match="read by pandas from text or a query"):
        recipes_of(frame, SCHEMA)
    assert len(recipes_of(typed, SCHEMA)) == 1


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of Dask's own reader, in pandas 3.1
def test_ids_whose_type_one_missing_id_changes_are_refused(tmp_path):
    """Of a partition with an empty id pandas makes floats: 2^53 and 2^53 + 1 are one person then."""
    import dask.dataframe as dd

    schema = sf.Schema(COLUMNS, target="y", persons=sf.Persons("who", most=4, count=5))
    people = []
    for last in (2**53 + 2, None):
        who = pa.array([2**53, 2**53 + 1, last], pa.int64())
        pq.write_table(pa.table({"x": [0.0] * 3, "z": [0.0] * 3, "y": [True] * 3, "who": who}), tmp_path / "t.parquet")
        with pytest.raises(ArgumentError, match=r"dtype_backend=\"numpy_nullable\""):
            recipes_of(dd.read_parquet(tmp_path / "t.parquet"), schema)
        exact = dd.read_parquet(tmp_path / "t.parquet", dtype_backend="numpy_nullable")
        [recipe] = recipes_of(exact, schema)
        people.append(len(ReadPartition(schema, identity_of(schema), None)(recipe).ids))
    assert people == [3, 2]


@pytest.mark.planted
def test_a_file_that_is_given_twice_is_refused(client, tmp_path):
    first, second = visits(tmp_path, False)
    (tmp_path / "link.parquet").symlink_to(first)
    with pytest.raises(ArgumentError, match="given twice"):
        sf.Dataset.from_dask([first, second, str(tmp_path / "link.parquet")], schema=SCHEMA, client=client)


@pytest.mark.planted
def test_a_paused_worker_is_given_nothing_to_read(tmp_path, monkeypatch):
    """Dask pauses a worker whose memory is nearly full: it begins no task, and answers calls."""
    with cluster(2) as client:
        data = small(tmp_path, client)
        held = data_cluster(data)
        first, second = sorted(client.scheduler_info()["workers"])
        client.run(pause, workers=[first])
        wait_until(lambda: known_workers(held._client)[first]["status"] == "paused")
        assert held.facts(_records) == [10, 20, 30, 40, 50]
        held._actors.pop(min(held._actors))
        assert held.facts(_records) == [10, 20, 30, 40, 50]
        client.run(pause, workers=[second])
        wait_until(lambda: known_workers(held._client)[second]["status"] == "paused")
        held._actors.pop(min(held._actors))
        monkeypatch.setattr(cluster_workers, "_WAIT", 0.5)
        with pytest.raises(PublishError, match="are paused, since their memory is nearly full"):
            held.facts(_records)


def test_a_worker_that_was_paused_while_it_reads_may_still_end():
    """Its task was begun before: its partitions are not read once more elsewhere."""
    listed = {
        "free": {"status": "running"},
        "reading": {"status": "paused", "metrics": {"task_counts": {"executing": 1}}},
        "paused": {"status": "paused", "metrics": {"task_counts": {"memory": 1}}},
    }
    client = SimpleNamespace(status="running", scheduler_info=lambda n_workers: {"workers": listed})
    assert [each for each in (*listed, "gone") if may_still_read(client, each)] == ["free", "reading"]


def pause(dask_worker):
    from distributed.core import Status

    dask_worker.memory_manager.memory_pause_fraction = False  # so that nobody looks at its memory and lets it go on
    dask_worker.status = Status.paused


def wait_until(true) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.planted
def test_rows_leave_the_workers_with_their_data_set(client, tmp_path):
    data = small(tmp_path, client)
    keys = {held.future.key for held in data_cluster(data)._actors.values()}
    assert sum(client.run(held_by, keys).values()) == len(keys) == 2
    del data
    gc.collect()
    wait_until(lambda: not any(client.run(held_by, keys).values()))


def held_by(keys, dask_worker):
    return len(keys & set(dask_worker.state.actors))


def test_a_scheduler_that_is_gone_is_said(tmp_path):
    with cluster(1) as client:
        held = data_cluster(small(tmp_path, client))
        assert held.facts(_records) == [10, 20, 30, 40, 50]
        held._client.close()
        with pytest.raises(PublishError, match="the scheduler of the cluster is gone"):
            held.facts(_records)


@pytest.mark.planted
@pytest.mark.parametrize("address", [
    "tcp://10.0.0.5:8786", "tcp://example.org:8786", "ws://192.168.1.4:99", "tcp://localhost.example.org:8786",
    "tcp://127.0.0.1.example.org:8786",
])  # fmt: skip
def test_plain_connections_beyond_this_machine_are_refused(address):
    with pytest.raises(ArgumentError, match="TLS"):
        checked_addresses([address])
    with pytest.raises(ArgumentError, match="TLS"):
        sf.Dataset.from_dask(["x.parquet"], schema=SCHEMA, client=address)


@pytest.mark.parametrize("address", ["tls://127.0.0.1", "tcp://localhost", "tls://host:", "tls://"])
def test_an_address_without_a_port_is_refused(address):
    with pytest.raises(ArgumentError, match="ends with its port, such as"):
        checked_addresses([address])


def test_an_address_with_tls_asks_for_a_client_with_a_certificate():
    with pytest.raises(ArgumentError, match=r"security=Security\(...\)"):
        sf.Dataset.from_dask(["x.parquet"], schema=SCHEMA, client="tls://127.0.0.1:8786")


def test_tls_and_this_machine_are_admitted():
    checked_addresses(["tls://10.0.0.5:8786", "tcp://127.0.0.1:1", "tcp://[::1]:1", "inproc://x", "tcp://localhost:1"])


@pytest.mark.planted
def test_workers_that_spill_are_refused(paths):
    spilling = {"distributed.worker.memory.target": 0.6, "distributed.worker.memory.spill": 0.7}
    with cluster(1, **spilling) as client, pytest.raises(ArgumentError, match="Turn spilling off"):
        sf.Dataset.from_dask(paths, schema=SCHEMA, client=client)
    for target, spill in ((0.6, False), (False, 0.7), (False, False)):
        memory = SimpleNamespace(memory_target_fraction=target, memory_spill_fraction=spill)
        assert _spills(SimpleNamespace(memory_manager=memory)) == bool(target or spill)


PERSONS = sf.Schema(COLUMNS, target="y", persons=sf.Persons("who", most=4, count=50))


def visits(folder, split: bool, people: int = 40) -> list[str]:
    who = np.repeat(np.arange(people), 3)
    cells = {**{name: column[: len(who)] for name, column in table().items()}, "who": who}
    edge = 61 if split else 60
    for place, part in enumerate((slice(0, edge), slice(edge, None))):
        pq.write_table(pa.table({name: column[part] for name, column in cells.items()}), folder / f"{place}.parquet")
    return [str(folder / "0.parquet"), str(folder / "1.parquet")]


@pytest.mark.planted
def test_of_a_person_in_two_partitions_the_rows_in_the_first_count(tmp_path):
    """Nothing is raised, and all others count as before: a refusal would tell where one person's rows lie."""
    plan = sf.plan(
        sf.regression("logistic", PERSONS, ["x", "z"]), 50, 1.0, 1e-6, goal="estimate", persons=PERSONS.persons
    )
    with cluster(2) as client:

        def read(paths: list[str]) -> sf.Dataset:
            return sf.Dataset.from_dask(paths, schema=PERSONS, client=client)

        def released(data: sf.Dataset) -> bytes:
            return bits(sf.publish(plan, data, randomness=sf.seeded(3)))

        whole = released(read(visits(tmp_path, False)))
        paths = visits(tmp_path, True)
        split = read(paths)
        found = released(split)
        first, second = (pq.read_table(path) for path in paths)
        twice = set(first["who"].to_pylist()) & set(second["who"].to_pylist())
        assert len(twice) == 1
        # The worker that reads the second partition anew leaves the same rows out.
        for run in range(2):
            kill_one(client, run)
            client.wait_for_workers(1)
            assert released(split) == found
        # What should be read: the second partition without the rows of the person who is in the first.
        pq.write_table(second.filter(pa.array([who not in twice for who in second["who"].to_pylist()])), paths[1])
        assert split.n == 50
        assert released(read(paths)) == found != whole


@pytest.mark.parametrize("rule", [{"most": 4}, {"rule": "first"}])
def test_what_is_stated_of_additions_does_not_follow_from_who_has_rows(rule, client, tmp_path):
    """A release that was charged is refused by it: 8,142 persons with rows in one partition were too many, and 8,141 were not."""
    schema = sf.Schema(COLUMNS, target="y", persons=sf.Persons("who", count=40, **rule))
    stated = []
    for people in (40, 39, 20):
        data = sf.Dataset.from_dask(visits(tmp_path, False, people), schema=schema, client=client)
        stated.append(
            open_engine(data, sf.regression("logistic", schema, ["x", "z"]), ("gradients", "shapes")).additions
        )
    assert stated[0] == stated[1] == stated[2]
    # Two files, and the persons who are in none.
    alone = sf.Dataset.from_table(pa.table({**table(), "who": np.arange(N) % 40}), schema=schema)
    model = sf.regression("logistic", schema, ["x", "z"])
    assert stated[0] == open_engine(alone, model, ("gradients", "shapes")).additions + 2


@pytest.mark.parametrize("people", [1, 40, 8191, 8192, 8193, 64 * 8192 + 1, 10**7])
def test_no_number_of_persons_and_partitions_is_refused_for_its_additions(people):
    """The most that a partition states, with the additions over 16,000 of them."""
    for records in (256, 2048, PART_ROWS):
        within = additions(min(records, people), -(-people // records))
        assert within + (16_000 + 1).bit_length() <= most_additions(people)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 100])
def test_partitions_are_added_in_pairs(count):
    """As many roundings as are stated: each array is counted by how often it stands in a sum."""
    terms = [np.array([float(2**k % 97)]) for k in range(count)]
    assert added_in_pairs(terms, np.zeros(1))[0] == sum(float(each[0]) for each in terms)
    depth = [0] * count

    class Sum:
        def __init__(self, places):
            self.places = places

        def __add__(self, other):
            made = Sum(self.places + other.places)
            for place in made.places:
                depth[place] += 1
            return made

    assert added_in_pairs([Sum([place]) for place in range(count)], Sum([])).places == list(range(count))
    assert max(depth) <= count.bit_length()
    assert added_in_pairs([], np.zeros(1)).tolist() == [0.0]


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
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(Partitions({}, len))
