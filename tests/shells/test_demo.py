"""The tour: every command that it prints can be typed, it stops at Ctrl-C, and it keeps out of folders in use."""

from __future__ import annotations

import shlex

import pytest

from sfumato.errors import ArgumentError
from sfumato.shells import cli, demo


@pytest.mark.parametrize(
    "command", [*demo._PUBLISH, *demo._ASK, *demo._REPORT, demo._LEDGER_REPORT, "ledger show budget.db"]
)
def test_every_command_of_the_tour_has_words_that_the_command_line_takes(command, capsys):
    # Arguments are parsed before the help is printed: an unknown command or option raises.
    cli.app([*shlex.split(command), "--help"], standalone_mode=False)
    assert "Usage" in capsys.readouterr().out


def test_a_command_with_an_unknown_option_is_seen():
    with pytest.raises(cli._WrongWords):
        cli.app(["plan", "smokers.toml", "--no-such-option", "--help"], standalone_mode=False)


def test_the_tour_stops_where_a_command_is_interrupted(monkeypatch):
    typed = []
    monkeypatch.setattr(cli, "app", lambda words, **_: typed.append(words) or 130)
    with pytest.raises(KeyboardInterrupt):
        demo._run("plan smokers.toml", "release smokers.toml -o smokers.sfumato")
    assert typed == [["plan", "smokers.toml"]]


def test_a_folder_in_use_is_left_alone(tmp_path):
    (tmp_path / "mine.csv").write_text("x\n1\n")
    with pytest.raises(ArgumentError, match="not empty"):
        demo.run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.csv"]


def test_the_tour_says_where_it_is_and_what_to_open(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "_tour", lambda: None)
    demo.run(tmp_path / "tour")
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith("A made-up survey of")
    assert first.endswith(str(tmp_path / "tour"))
    assert last.startswith(f"open {tmp_path / 'tour' / 'budget.html'}")


def test_the_tour_writes_its_table_its_schema_and_every_spec(tmp_path, monkeypatch):
    typed = []
    monkeypatch.setattr(demo, "_run", lambda *commands: typed.extend(commands))
    monkeypatch.chdir(tmp_path)
    demo._tour()
    specs = {word for command in typed for word in shlex.split(command) if word.endswith(".toml")}
    assert {path.name for path in tmp_path.iterdir()} == specs | {"survey.csv", "survey.schema.toml"}
    assert all(path.read_text() for path in tmp_path.iterdir())
