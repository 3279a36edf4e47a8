"""The command line: schema files are drafted and checked, errors are one line, and help is light."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "sfumato", *arguments], capture_output=True, text=True, check=False)


def test_a_file_with_semicolons_is_drafted_checked_and_refused_in_sentences(tmp_path):
    data, schema = tmp_path / "data.csv", tmp_path / "data.toml"
    data.write_bytes("größe;x\n1,5;-9\n1,6;2\n".encode("cp1252"))
    refused = run("schema", "draft", str(data), "--header")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "--encoding cp1252" in refused.stderr
    drafted = run("schema", "draft", str(data), "--header", "--encoding", "cp1252", "-o", str(schema))
    assert drafted.returncode == 0, drafted.stderr
    text = schema.read_text(encoding="utf-8").replace('type = "REQUIRED"', 'type = "number"\nlower = 0\nupper = 9')
    schema.write_text(
        text.replace("# decimal", "decimal").replace("# missing_codes", "missing_codes"), encoding="utf-8"
    )
    counted = run("schema", "check", str(schema), str(data), "--counts")
    assert [line.split() for line in counted.stdout.splitlines()[-2:]] == [["größe", *"0000"], ["x", *"1000"]]
    schema.write_text(text.replace('separator = ";"', 'separator = ","'), encoding="utf-8")
    wrong = run("schema", "check", str(schema), str(data))
    assert wrong.returncode == 2
    assert 'Write separator = ";" under [table]' in wrong.stderr


def test_draft_fill_in_check(tmp_path):
    dictionary = tmp_path / "dictionary.csv"
    dictionary.write_text("name,type,lower,upper,levels\nage,number,0,,\nsex,category,,,f|m\nsick,boolean,,,\n")
    schema = tmp_path / "survey.toml"
    assert run("schema", "draft", str(dictionary), "-o", str(schema)).returncode == 0
    assert "REQUIRED" in schema.read_text()
    data = tmp_path / "survey.csv"
    data.write_text("age,sex,sick\n30,f,1\n200,x,0\nabc,m,1\n")
    refused = run("schema", "check", str(schema), str(data))
    assert refused.returncode == 2
    assert "age" in refused.stderr
    assert "Traceback" not in refused.stderr
    text = schema.read_text().replace('missing = "REQUIRED"', 'missing = "own level"')
    schema.write_text(text.replace('"REQUIRED"', "100"))
    again = run("schema", "draft", str(dictionary), "-o", str(schema))
    assert again.returncode == 2
    assert "--force" in again.stderr
    assert "REQUIRED" not in schema.read_text(), "a filled-in schema must survive a second draft"
    assert run("schema", "check", str(schema), str(data)).returncode == 0
    counted = run("schema", "check", str(schema), str(data), "--counts")
    assert counted.returncode == 0
    assert "curator alone" in counted.stderr
    for secret in ("200", "abc"):
        assert secret not in counted.stdout + counted.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("schema", "check", "nowhere.toml", "nowhere.csv"), "nowhere.toml"),
        (("schema", "draft", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_errors_are_one_line(arguments, said):
    done = run(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_help_is_light_and_shows_an_example():
    code = "import sys, json; from sfumato.shells import cli; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert {"numpy", "scipy", "pyarrow", "pandas"} & set(loaded) == set()
    assert "Example:" in run("schema", "draft", "--help").stdout
    assert run("version").stdout.strip()
