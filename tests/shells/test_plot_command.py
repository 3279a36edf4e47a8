"""`sfumato plot`: a verified release as an SVG, PNG or PDF file, and what is refused."""

from __future__ import annotations

import sys
from xml.etree import ElementTree

import pytest

import sfumato as sf
from command_line import typed
from forging import forge, stored
from sfumato.pictures.of_release import pictures
from sfumato.pictures.svg import standalone

HEADS = {".png": b"\x89PNG", ".pdf": b"%PDF"}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rate.sfumato"
    path.write_bytes(stored("rate noisy"))
    return path


def test_an_svg_file_needs_no_matplotlib(file, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, out, err = typed(monkeypatch, capsys, "plot", file, "-o", tmp_path / "rate.svg", "--level", 0.5)
    assert (code, out) == (0, f"wrote {tmp_path / 'rate.svg'}\n"), err
    text = (tmp_path / "rate.svg").read_text()
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert text == standalone(pictures(sf.load(file), 0.5)[0])
    assert "50 % interval" in text


@pytest.mark.parametrize("ending", [".png", ".pdf", ".PNG"])
def test_other_files_are_drawn_with_matplotlib(ending, file, tmp_path, monkeypatch, capsys):
    output = tmp_path / f"rate{ending}"
    assert typed(monkeypatch, capsys, "plot", file, "-o", output)[0] == 0
    assert output.read_bytes().startswith(HEADS[ending.lower()])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-o", "rate.jpg"), "must end in .svg, .png or .pdf; got 'rate.jpg'"),
        (("-o", "rate"), "must end in .svg"),
        (("-o", "rate.svg", "--level", "1"), "--level must"),
        (("-o", "there.svg"), "add --force"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_line(words, said, file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.svg").write_text("mine")
    code, _, err = typed(monkeypatch, capsys, "plot", file, *words)
    assert code == 2
    assert said in err
    assert err.count("\n") == 1
    assert (tmp_path / "there.svg").read_text() == "mine"
    assert typed(monkeypatch, capsys, "plot", file, "-o", "there.svg", "--force")[0] == 0
    assert (tmp_path / "there.svg").read_text() != "mine"


def test_without_matplotlib_the_message_says_what_to_install(file, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, _, err = typed(monkeypatch, capsys, "plot", file, "-o", tmp_path / "rate.png")
    assert code == 2
    assert "pip install 'sfumato[plots]', or name a .svg file" in err
    assert not (tmp_path / "rate.png").exists()


@pytest.mark.parametrize("edits", [{"plan.target.epsilon": 0.01}, {"draws[0,0]": 0.123456789}], ids=["target", "draw"])
def test_a_forged_file_gets_no_picture(edits, tmp_path, monkeypatch, capsys):
    (tmp_path / "x.sfumato").write_bytes(forge("rate noisy", edits))
    code, _, err = typed(monkeypatch, capsys, "plot", tmp_path / "x.sfumato", "-o", tmp_path / "x.svg")
    assert code == 2
    assert "edited" in err
    assert not (tmp_path / "x.svg").exists()
