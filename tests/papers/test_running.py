"""The runner, the command and the page: faults are seen, data that are not there are named, the page shows what scripts print."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from benchmarks import tables
from papers import page, running
from papers.reporting import FALSE, REPRODUCED, Output
from sfumato.errors import ArgumentError
from sfumato.shells import papers_command
from sfumato.shells.cli import app

# Scripts without simulation, quick enough to be run here: their numbers must be those of the page.
EXACT = [
    "minami2016/example_17",
    "minami2016/supplement_b",
    "dimitrakakis2017/examples_1_2",
    "geumlek2017/achievable_5_2",
]


def script(verdict=REPRODUCED, shown=True, error=None):
    """A module with one claim."""

    def run(out):
        if error:
            raise error
        out.claim("Figure 9", "Two and two.", paper="4", here="4", verdict=verdict, shown=shown)

    return SimpleNamespace(__doc__="A title.\n", PLACE="Figure 9", run=run)


@pytest.mark.parametrize(
    ("made", "failures"),
    [(script(), 0), (script(shown=False), 1), (script(error=ValueError("broken")), 1), (script(verdict=FALSE), 0)],
)
def test_an_error_and_a_condition_that_does_not_hold_are_failures(monkeypatch, tmp_path, made, failures):
    monkeypatch.setattr(running, "chosen", lambda wanted: ["minami2016/made_up"])
    monkeypatch.setattr(running, "module", lambda name: made)
    assert running.run_all(folder=tmp_path) == failures


def test_another_verdict_than_the_page_is_a_failure(monkeypatch, tmp_path):
    monkeypatch.setattr(running, "chosen", lambda wanted: ["minami2016/made_up"])
    monkeypatch.setattr(running, "module", lambda name: script())
    monkeypatch.setattr(running, "KEPT", tmp_path)
    kept = tmp_path / "minami2016" / "made_up.json"
    kept.parent.mkdir()
    for verdict, failures in ((REPRODUCED, 0), (FALSE, 1)):
        kept.write_text(json.dumps({"claims": [{"place": "Figure 9", "verdict": verdict}]}))
        assert running.run_all(folder=tmp_path / "out") == failures


def test_a_verdict_has_one_of_six_names(tmp_path):
    with pytest.raises(ValueError, match="verdict must be one of"):
        Output(tmp_path, "x").claim("A", "B.", paper="1", here="2", verdict="mostly", shown=True)


def test_without_the_tables_the_rest_runs_and_says_how_to_get_them(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(tables, "candidates", lambda name: [])
    monkeypatch.setattr(running, "chosen", lambda wanted: ["geumlek2017/figure_3", "minami2016/figure_1"])
    assert running.run_all(quick=True, folder=tmp_path) == 0
    said = capsys.readouterr().out
    assert "not run: it needs abalone.data, adult.data, adult.test, mnist_3v8.npz" in said
    assert "archive.ics.uci.edu/dataset/1/abalone" in said
    assert "1 of 2 scripts without a fault, 1 not run for want of data" in said
    assert (tmp_path / "minami2016" / "figure_1.png").stat().st_size > 1000
    monkeypatch.setattr(running, "chosen", lambda wanted: ["geumlek2017/figure_3"])
    assert running.run_all(quick=True, folder=tmp_path) == 1


def test_the_command_lists_the_scripts_and_names_them_when_asked_for_another():
    listed = CliRunner().invoke(app, ["papers", "--list"]).output
    assert [line.split()[0] for line in listed.splitlines()] == running.names()
    with pytest.raises(
        ArgumentError, match=r"there is no script 'figur_3'. Did you mean .*geumlek2017/figure_3.*--list"
    ):
        CliRunner().invoke(app, ["papers", "figur_3"], catch_exceptions=False)


def test_installed_without_a_clone_the_command_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(papers_command, "CLONE", tmp_path)
    with pytest.raises(ArgumentError, match="in the source repository, not in the installed package"):
        CliRunner().invoke(app, ["papers"], catch_exceptions=False)


def test_the_page_is_what_its_results_say():
    assert page.PAGE.read_text(encoding="utf-8") == page.page()


@pytest.mark.parametrize("name", running.names())
def test_the_kept_results_are_those_of_a_full_run_and_hold(name):
    kept = page.report_of(name)
    assert not kept["quick"]
    assert kept["claims"]
    assert [claim["statement"] for claim in kept["claims"] if not claim["shown"]] == []
    assert kept["figures"] or kept["tables"]
    for file in [*kept["tables"], *(each["file"] for each in kept["figures"])]:
        assert (running.KEPT / name.split("/")[0] / file).is_file()


@pytest.mark.parametrize("name", EXACT)
def test_the_page_shows_the_numbers_that_a_script_prints(name, tmp_path):
    out = Output(tmp_path, "script", quick=True)
    running.module(name).run(out)
    assert [(claim.place, claim.here) for claim in out.claims] == [
        (c["place"], c["here"]) for c in page.report_of(name)["claims"]
    ]
