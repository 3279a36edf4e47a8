"""A seeded release says that it is not private wherever it shows itself; a private one never says so."""

from __future__ import annotations

import json

import pytest

import sfumato as sf
from command_line import typed
from release_cases import BITS, LINES, NETWORK, RATE, made
from sfumato.shells import report

POINTS = sf.Schema({"x": sf.Number(0, 6), "y": sf.Boolean(missing=False)}, target="y", name="points")


def releases(kind: str, seeded: bool) -> sf.Release:
    """A seeded release and its private twin."""
    randomness = sf.seeded(1) if seeded else None
    if kind == "rate":
        return made(RATE, BITS, mechanism="noisy-statistics", randomness=randomness)
    if kind == "fit":
        model = sf.Gibbs(sf.losses.Logistic(POINTS.design().radius), sf.priors.Gaussian(5.0), 1)
        return made(model, POINTS, mechanism="langevin", randomness=randomness)
    network = sf.networks.BayesianNetwork.from_schema(LINES, NETWORK)
    return made(network, LINES, mechanism="noisy-statistics", randomness=randomness)


def closer(draws, candidates):
    return 1 - abs(draws[:, None] - candidates)


# What is shown -> (kind of release, how it is shown as text).
SHOWN = {
    "str": ("rate", str),
    "repr": ("rate", repr),
    "summary": ("rate", lambda release: str(release.summary())),
    "report": ("rate", report.page),
    "methods": ("rate", report.methods),
    "attacker": ("rate", lambda release: str(release.attacker())),
    "answer": ("rate", lambda release: str(release.respond(closer, [0.2, 0.8]))),
    "question": ("rate", lambda release: str(release.ask.mean())),
    "pandas": ("rate", lambda release: json.dumps(release.to_pandas(noise_aware=False).attrs)),
    "arviz": ("rate", lambda release: str(release.to_arviz(noise_aware=False)["posterior"].attrs)),
    "picture": ("rate", lambda release: sf.plots.intervals(release).get_suptitle()),
}
COMMANDS = {
    "show": ("rate", ["show", "x.sfumato"]),
    "show --json": ("rate", ["show", "x.sfumato", "--json"]),
    "show --csv": ("rate", ["show", "x.sfumato", "--csv"]),
    "show --verify": ("rate", ["show", "x.sfumato", "--verify"]),
    "query mean": ("rate", ["query", "mean", "x.sfumato"]),
    "query mean --json": ("rate", ["query", "mean", "x.sfumato", "--json"]),
    "query interval": ("rate", ["query", "interval", "x.sfumato"]),
    "query attacker": ("rate", ["query", "attacker", "x.sfumato"]),
    "query attacker --json": ("rate", ["query", "attacker", "x.sfumato", "--json"]),
    "query predict": ("fit", ["query", "predict", "x.sfumato", "--public-rows", "rows.csv"]),
    "query predict --proba": ("fit", ["query", "predict", "x.sfumato", "--public-rows", "rows.csv", "--proba"]),
    "query marginal": ("network", ["query", "marginal", "x.sfumato", "a"]),
    "query synthesize": ("network", ["query", "synthesize", "x.sfumato", "--rows", "5"]),
}


@pytest.mark.parametrize("seeded", [True, False], ids=["seeded", "private"])
@pytest.mark.parametrize("shown", list(SHOWN))
def test_every_view_of_a_seeded_release_says_not_private(shown, seeded):
    kind, view = SHOWN[shown]
    assert ("not private" in view(releases(kind, seeded)).lower()) == seeded


@pytest.mark.parametrize("seeded", [True, False], ids=["seeded", "private"])
@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_on_a_seeded_release_says_not_private(command, seeded, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    kind, words = COMMANDS[command]
    releases(kind, seeded).save("x.sfumato")
    (tmp_path / "rows.csv").write_text("x\n1\n5\n")
    code, out, err = typed(monkeypatch, capsys, *words)
    assert code == 0, err
    assert ("not private" in (out + err).lower()) == seeded
    if words[0] == "show":
        assert ("not private" in out.lower()) == seeded, "what is piped into a file says it too"


def test_a_csv_of_a_seeded_release_begins_with_a_comment(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    releases("network", True).save("x.sfumato")
    assert typed(monkeypatch, capsys, "query", "synthesize", "x.sfumato", "-o", "made.csv", "--rows", "5")[0] == 0
    first, second, *_ = (tmp_path / "made.csv").read_text().splitlines()
    assert first.startswith("# NOT PRIVATE")
    assert second == "a,b"


def test_a_privacy_picture_of_a_seeded_release_is_refused():
    with pytest.raises(sf.errors.ArgumentError, match="seeded"):
        sf.plots.privacy_curve(releases("rate", True))
