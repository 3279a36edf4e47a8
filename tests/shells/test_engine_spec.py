"""[engine] of a spec: where rows are while they are summed, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato import progress
from sfumato.cuda import card as cards
from sfumato.errors import ArgumentError, FormatError
from sfumato.progress import remaining
from sfumato.shells.cli import app
from sfumato.shells.spec import Spec

SPEC = """
[data]
file = "t.parquet"
schema = "s.toml"

[model]
family = "BetaBernoulli"
column = "y"

[price]
epsilon = 1.0
delta = 1e-6
"""


@pytest.fixture
def folder(tmp_path):
    pq.write_table(pa.table({"y": np.arange(300) % 3 == 0}), tmp_path / "t.parquet")
    (tmp_path / "s.toml").write_text(sf.Schema({"y": sf.Boolean(missing=False)}, name="survey").to_toml())
    return tmp_path


def spec(folder: Path, engine: str) -> Spec:
    (folder / "spec.toml").write_text(SPEC + engine)
    return Spec.load(folder / "spec.toml")


@pytest.mark.parametrize(
    ("engine", "where"),
    [("", "memory"), ('[engine]\nrows = "streamed"', "streamed"), ("[engine]\nmemory = 10", "streamed")],
)
def test_a_spec_says_where_rows_are(folder, engine, where):
    data = spec(folder, engine).dataset()
    assert (data.engine, data.n) == (where, 300)


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        ("", "engine     memory: the file is read once, and passes go over the rows in memory"),
        ('[engine]\nrows = "streamed"', "engine     streamed: t.parquet is read on every pass"),
        ('[engine]\nrows = "gpu"', "engine     gpu: a regression's rows are brought to the card once"),
        ('[engine]\ndask = "tls://host:8786"', "engine     dask: the workers of tls://host:8786 read and sum the rows"),
    ],
)
def test_a_plan_says_where_rows_will_be(folder, engine, said):
    spec(folder, engine)
    shown = CliRunner().invoke(app, ["plan", str(folder / "spec.toml"), "--n", "300"])
    assert shown.exit_code == 0
    assert said in shown.output


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        ('[engine]\nrows = "cloud"', "spec.toml: rows in .engine. must be one of 'auto', 'memory', 'streamed', 'gpu'"),
        ('[engine]\nmemory = "8 GB"', "spec.toml: memory in .engine. must be a whole number of bytes"),
        ("[engine]\nmemory = 0", "spec.toml: memory in .engine. must be a whole number of bytes"),
        ("[engine]\nrows = 3", "rows in .engine. must be a text"),
        ('[engine]\nplace = "x"', "place"),
        ('[engine]\ndask = "tcp://10.0.0.1:8786"', "TLS"),
        ('[engine]\ndask = "127.0.0.1:8786"', "begins with tls://"),
        ('[engine]\ndask = "tls://127.0.0.1:8786"', "needs ca, cert and key"),
        ('[engine]\ndask = "tls://127.0.0.1:8786"\nca = "no.pem"', "there is no file"),
        ('[engine]\ndask = "tls://10.0.0.1:8786"\nrows = "streamed"', "takes dask, or rows and memory"),
        ('[engine]\ncert = "c.pem"', "belong to dask"),
    ],
)
def test_a_wrong_engine_is_refused_in_one_line(folder, engine, said):
    with pytest.raises((ArgumentError, FormatError), match=said) as caught:
        spec(folder, engine).dataset()
    assert "\n" not in str(caught.value)


def test_a_plan_for_a_card_counts_the_records_without_one(folder, monkeypatch):
    monkeypatch.setattr(cards, "open_card", lambda: pytest.fail("a plan needs no card"))
    assert spec(folder, '[engine]\nrows = "gpu"').records() == 300


def test_what_is_left_of_a_run_is_said_from_its_pace():
    assert remaining(0, 100, 0.0) == ""
    assert remaining(1, 101, 0.5) == ", about 50 s left"
    assert remaining(50, 100, 600.0) == ", about 10 min left"
    assert remaining(99, 100, 50.0) == ""


def test_the_pace_of_a_run_is_that_of_its_steps(monkeypatch):
    """What came before the first step, such as compiling or a pass for the moments, is not counted again for every step."""
    now = iter([100.0, 100.5, 101.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    pace = progress.Pace()
    assert [pace.left(done, 101) for done in (1, 2, 3)] == ["", ", about 50 s left", ", about 49 s left"]
