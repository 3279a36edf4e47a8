"""Memory of reading CSV: bounded by public numbers, whatever the number of columns or the length of a line."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from sfumato.dataset import Dataset
from sfumato.errors import ArgumentError
from sfumato.schema import Category, Number, Schema, first_line, read_csv

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
# The baseline is taken after a first read has imported everything.
CHILD = """
import json, re, sys
from pathlib import Path
from sfumato.dataset import Dataset, rows_of
from sfumato.schema import Number, Schema

def kilobytes(field):
    return int(re.search(field + r":\\s+(\\d+) kB", open("/proc/self/status").read()).group(1))

schema = Schema({"x7": Number(0, 99)})
small = Path(sys.argv[1]).with_name("small.csv")
small.write_text("x7\\n1\\n")
Dataset.from_table(small, schema=schema)
before = kilobytes("VmRSS")
data = Dataset.from_table(sys.argv[1], schema=schema)
rise = kilobytes("VmHWM") - before
print(json.dumps({"n": data.n, "sum": sum(float(b["x7"].sum()) for b in rows_of(data).blocks()), "megabytes": rise / 1024}))
"""


def measured(path) -> dict[str, float]:
    run = subprocess.run([sys.executable, "-c", CHILD, str(path)], check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


@linux
def test_columns_that_are_not_declared_take_no_memory(tmp_path):
    """300 rows of 20,000 columns: 6,000,000 cells, some 400 megabytes as texts."""
    with (tmp_path / "wide.csv").open("w") as file:
        file.write(",".join(f"x{place}" for place in range(20_000)) + "\n")
        line = ",".join(str(10 + place % 90) for place in range(20_000)) + "\n"
        for _ in range(300):
            file.write(line)
    found = measured(tmp_path / "wide.csv")
    assert (found["n"], found["sum"]) == (300, 300 * 17)
    assert found["megabytes"] < 40


@linux
def test_one_very_long_line_is_one_row_of_missing_cells(tmp_path):
    with (tmp_path / "long.csv").open("wb") as file:
        file.write(b"x7\n1\n")
        for _ in range(160):
            file.write(b"1" * (1 << 20))
        file.write(b"\n2\n")
    found = measured(tmp_path / "long.csv")
    assert (found["n"], found["sum"]) == (3, 1 + 49.5 + 2)
    assert found["megabytes"] < 60  # of 160; the line is let go of at 16


@linux
def test_many_long_cells_are_not_kept_until_their_chunk_is_full(tmp_path):
    """1,000 cells of 200 kilobytes that all spell 3; each is read when its line is."""
    with (tmp_path / "cells.csv").open("wb") as file:
        file.write(b"x7\n")
        for _ in range(1_000):
            file.write(b"3." + b"0" * 200_000 + b"\n")
    found = measured(tmp_path / "cells.csv")
    assert (found["n"], found["sum"]) == (1_000, 3_000)
    assert found["megabytes"] < 40


def read(folder, text: bytes, schema: Schema) -> dict[str, list]:
    from table_readers import content

    (folder / "t.csv").write_bytes(text)
    return {
        name: values.tolist() for name, values in content(Dataset.from_table(folder / "t.csv", schema=schema)).items()
    }


def test_a_header_of_a_hundred_thousand_names_is_read(tmp_path):
    names = ",".join(f"column {place}" for place in range(100_000)).encode()
    cells = ",".join(str(place % 10) for place in range(100_000)).encode()
    schema = Schema({"column 99999": Number(0, 9), "column 12": Number(0, 9)})
    text = names + b"\n" + cells + b"\n" + b'"' + cells[:1] + b'"' + cells[1:] + b"\n"
    assert read(tmp_path, text, schema) == {"column 99999": [9.0, 9.0], "column 12": [2.0, 2.0]}


def test_a_header_without_end_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(first_line, "_HEADER_BYTES", 1_000)
    with pytest.raises(ArgumentError, match="longer than 1000 bytes"):
        read(tmp_path, b"secret" * 1_000 + b"\n1\n", Schema({"x": Number(0, 9)}))


@pytest.mark.parametrize(
    "limits", [(1 << 24, 4_096), (40, 4_096), (1 << 24, 0)], ids=["usual", "short lines", "by cells"]
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_line_beyond_the_limit_moves_no_other(tmp_path, limits, end, monkeypatch):
    """Lines are also read cell by cell, as long ones are: with the same result."""
    monkeypatch.setattr(read_csv, "_LINE_BYTES", limits[0])
    monkeypatch.setattr(read_csv, "_LINE_HEADERS", 1)
    monkeypatch.setattr(read_csv, "_SHORT_LINE", limits[1])
    schema = Schema({"k": Category(["a", "b", "x" * 300], missing="b"), "x": Number(0, 9, missing=7)})
    lines = [
        b"k,note,x",
        b"a,n,1",
        b'"a","n, ""m""",2',
        b"a," + b"n" * 60 + b",3",
        b"a,\xff,4",
        b"a,n",
        b"",
        b"\xff,n,5",
    ]
    lines += [b" a ,n, 6 ", b"a,n,8", b'a,"n,8', b"a,n,1"]
    cut = limits[0] == 40
    assert read(tmp_path, end.join(lines), schema) == {
        "k": [0, 0, 1 if cut else 0, 0, 1, 1, 1, 0, 0, 1, 0],
        "x": [1.0, 2.0, 7.0 if cut else 3.0, 4.0, 7.0, 7.0, 5.0, 6.0, 8.0, 7.0, 1.0],
    }


def test_long_cells_count_as_they_would_if_they_were_short(tmp_path):
    """A level, a number or a word behind many spaces is that level, number or word; a long level is itself."""
    schema = Schema(
        {
            "k": Category(["a", "b", "x" * 300], missing="b"),
            "n": Category([4, 5], missing=4),
            "x": Number(0, 9, missing=7),
        }
    )
    pad = b" " * 5_000
    text = b"k,n,x\n" + pad + b"a" + pad + b"," + pad + b"5," + b"0" * 5_000 + b"8\n"
    text += (
        b"x" * 300 + pad + b",5" + b"0" * 5_000 + b",1" + b"1" * 5_000 + b"\n" + b"x" * 5_000 + b",5,x" + pad + b"\n"
    )
    assert read(tmp_path, text, schema) == {"k": [0, 2, 1], "n": [1, 0, 1], "x": [8.0, 7.0, 7.0]}


def test_a_name_that_is_no_utf_8_matters_only_where_a_declared_one_is_absent(tmp_path):
    schema = Schema({"x": Number(0, 9)})
    assert read(tmp_path, b"gr\xf6\xdfe,x\n1,2\n", schema) == {"x": [2.0]}
    with pytest.raises(ArgumentError, match="not text in the encoding utf-8"):
        read(tmp_path, b"\xff\xfex,y\n1,2\n", schema)
    with pytest.raises(ArgumentError, match="in UTF-16"):
        read(tmp_path, "x,y\n1,2\n".encode("utf-16"), schema)


def test_bytes_that_are_no_utf_8_make_one_cell_missing(tmp_path):
    """Only where the column is declared, and not as the replacement character, which may be a level."""
    schema = Schema({"k": Category(["\ufffd", "b"], missing="b"), "x": Number(0, 9, missing=7)})
    text = b"k,note,x\n\xff,n,1\n\xef\xbf\xbd,\xff\xfe,2\n\xef\xbf\xbd,n,\xff3\n"
    assert read(tmp_path, text, schema) == {"k": [1, 0, 0], "x": [1.0, 2.0, 7.0]}


def test_columns_of_an_arrow_file_that_are_not_declared_are_not_unpacked(tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.feather

    from sfumato.schema import read_arrow

    table = pa.table({f"x{place}": [float(place % 10)] * 3 for place in range(50)})
    pa.feather.write_feather(table, tmp_path / "wide.feather")
    with pa.ipc.new_stream(tmp_path / "wide.arrow", table.schema) as writer:
        writer.write_table(table)
    seen, batches = [], read_arrow._batches

    def spy(source, names, rows):
        listed = list(source)
        seen.extend(batch.schema.names for batch in listed)
        return batches(listed, names, rows)

    monkeypatch.setattr(read_arrow, "_batches", spy)
    from table_readers import content

    for name in ("wide.feather", "wide.arrow"):
        schema = Schema({"x47": Number(0, 9), "x3": Number(0, 9)})
        found = content(Dataset.from_table(tmp_path / name, schema=schema))
        assert {key: values.tolist() for key, values in found.items()} == {"x47": [7.0] * 3, "x3": [3.0] * 3}
    assert [sorted(names) for names in seen] == [["x3", "x47"]] * 2
