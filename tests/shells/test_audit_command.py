"""`sfumato audit` and `sfumato report --audit`: what is printed, written and refused, and the status of a refuted claim."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import replace

import pytest

import sfumato as sf
from command_line import typed
from sfumato.shells import audit_command

SPEC = """\
[data]
file = "table.csv"
schema = "schema.toml"

[model]
family = "BetaBernoulli"
column = "cured"

[price]
epsilon = 6.0
delta = 1e-6
"""
CURED = sf.Schema({"cured": sf.Boolean(missing=False)}, name="clinic")
PLAN = sf.plan(sf.families.BetaBernoulli(), 30, 6.0, 1e-6, mechanism="noisy-statistics")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("\n".join(["cured", *["yes", "no", "yes"] * 10]) + "\n")
    CURED.save(tmp_path / "schema.toml")
    (tmp_path / "spec.toml").write_text(SPEC)
    return tmp_path


@pytest.fixture
def sfumato(monkeypatch, capsys):
    return lambda *words: typed(monkeypatch, capsys, *words)


def test_an_audit_prints_claim_bound_runs_power_and_verdict(folder, sfumato):
    code, out, err = sfumato("audit", "spec.toml", "--runs", 60)
    assert code == 0
    words = [line.split()[0] for line in out.splitlines()]
    assert words == ["claim", "attack", "runs", "shown", "exact", "replayed", "power", "verdict"]
    assert "60 on each of the two data sets, which are made up: no private row was read" in out
    assert "attacking a plan for 30 records" in err
    assert "60 releases" in err
    for phase in ("choosing pairs of data sets", "enumerating and replaying", "choosing a test", "counting its errors"):
        assert phase in err


def test_json_file_and_picture(folder, sfumato):
    code, out, err = sfumato("audit", "spec.toml", "--runs", 60, "--json", "-o", "a.json", "--plot", "a.svg", "--n", 31)
    assert (code, err.count("step")) == (0, 0)
    printed = json.loads(out)
    assert printed == json.loads((folder / "a.json").read_text())
    assert printed["attack"]["runs"] == 60
    assert not printed["broken"]
    assert "<svg" in (folder / "a.svg").read_text()
    assert printed["plan"] != json.loads(sfumato("audit", "spec.toml", "--runs", 20, "--json")[1])["plan"]


def test_a_refuted_claim_exits_with_status_5_and_still_writes(folder, sfumato, monkeypatch):
    """The price of noisy totals is made four times too small: the runs, the enumeration and the replay see it."""
    from sfumato.procedures import noisy_totals

    honest = noisy_totals.price

    def cheap(*arguments):
        price = honest(*arguments)
        return replace(price, curve=sf.Gaussian(price.curve.mu / 4))

    monkeypatch.setattr(noisy_totals, "price", cheap)
    code, out, _ = sfumato("audit", "spec.toml", "--runs", 200, "-o", "a.json")
    assert code == audit_command._BROKEN == 5
    assert "BROKEN: the claim is refuted by" in out
    assert json.loads((folder / "a.json").read_text())["broken"] is True


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["absent.toml"], "absent.toml"),
        (["spec.toml", "--runs", "19"], "runs must be"),
        (["spec.toml", "--runs", "many"], "--runs"),
        (["spec.toml", "-o", "spec.toml"], "is there already"),
        (["spec.toml", "-o", "nowhere/a.json"], "the folder nowhere does not exist"),
        (["spec.toml", "--plot", "a.txt"], "--plot must end in .png, .svg, .pdf"),
        (["broken.toml"], "broken.toml"),
    ],
)
def test_wrong_uses_are_one_line_and_status_2(folder, sfumato, words, said):
    (folder / "broken.toml").write_text(SPEC.replace("[price]", "[prize]"))
    code, out, err = sfumato("audit", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert len([line for line in err.splitlines() if not line.startswith("attacking")]) == 1


def test_without_matplotlib_a_picture_is_refused_before_anything_runs(folder, sfumato, monkeypatch):
    monkeypatch.setattr(audit_command, "find_spec", lambda name: None)
    code, _, err = sfumato("audit", "spec.toml", "--plot", "a.png")
    assert code == 2
    assert err.strip() == "sfumato: --plot needs matplotlib, which is not installed: pip install 'sfumato[plots]'."


def test_a_plan_without_data_needs_n(folder, sfumato):
    (folder / "table.csv").unlink()
    code, _, err = sfumato("audit", "spec.toml", "--runs", 20)
    assert code == 2
    assert "table.csv" in err
    assert sfumato("audit", "spec.toml", "--runs", 20, "--n", 30)[0] == 0


# --- the section of a report ------------------------------------------------------------------------------------------


@functools.cache
def audited():
    return sf.audit(PLAN, runs=60)


@pytest.fixture
def released(folder):
    """A saved release and the audit of its plan."""
    sf.publish(PLAN, sf.Dataset.from_table({"cured": [True, False] * 15}, schema=CURED)).save(folder / "r.sfumato")
    (folder / "audit.json").write_text(json.dumps(audited().to_json()))
    return folder


def test_a_report_shows_the_audit_of_its_plan(released, sfumato):
    code, _, err = sfumato("report", "r.sfumato", "-o", "page.html", "--audit", "audit.json")
    assert code == 0, err
    page = (released / "page.html").read_text()
    assert "How it was attacked" in page
    section = page[page.index("How it was attacked") :]
    document = json.loads((released / "audit.json").read_text())
    # Each point in both forms of the picture, and one in each form's legend.
    assert section.count('class="d1"') == 2 * (len(document["points"]) + 1)
    assert "60 on each of the two data sets" in section
    assert "sfumato audit SPEC --runs 60 --seed" in section
    assert "from the release and the audit in audit.json" in page
    assert "An attack can refute a claim and never prove it" in section
    sfumato("report", "r.sfumato", "-o", "without.html")
    assert "How it was attacked" not in (released / "without.html").read_text()
    assert "from the release alone" in (released / "without.html").read_text()


def test_markup_in_a_forged_audit_is_text(released, sfumato):
    document = json.loads((released / "audit.json").read_text())
    document["attack"]["pair"] = document["shown"]["replayed"] = "<script>alert(1)</script>"
    (released / "audit.json").write_text(json.dumps(document))
    assert sfumato("report", "r.sfumato", "-o", "page.html", "--audit", "audit.json")[0] == 0
    page = (released / "page.html").read_text()
    assert "<script" not in page
    assert len(re.findall("&lt;script&gt;", page)) == 2


def other_plan(document):
    document["plan"] = "0" * 64
    return json.dumps(document)


@pytest.mark.parametrize(
    ("forged", "said"),
    [
        (other_plan, "an audit of another plan"),
        (lambda document: "{", "not JSON"),
        (lambda document: "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "not JSON"),
        (lambda document: "[" * 100_000, "not JSON"),
        (lambda document: "[]", "lacks a field"),
        (lambda document: json.dumps({**document, "power": None}), "lacks a field"),
        (lambda document: json.dumps({**document, "points": [["a", "b"]]}), "lacks a field"),
        (lambda document: json.dumps({**document, "version": 99}), "no audit that this version reads"),
    ],
)
def test_another_plan_and_what_is_no_audit_are_refused(released, sfumato, forged, said):
    document = json.loads((released / "audit.json").read_text())
    (released / "audit.json").write_text(forged(document))
    code, _, err = sfumato("report", "r.sfumato", "-o", "page.html", "--audit", "audit.json")
    assert code == 2
    assert said in err
    assert len(err.splitlines()) == 1
    assert not (released / "page.html").exists()
