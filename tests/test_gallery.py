"""Every script of the gallery runs, says what it promises and draws; the page shows the same scripts and their pictures.

The long form runs all of them, each in a process of its own; the quick one runs two.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from xml.etree import ElementTree

import pytest

from effort import LONG

ROOT = Path(__file__).parent.parent
SCRIPTS, PAGE, PICTURES = ROOT / "gallery", ROOT / "docs" / "gallery.md", ROOT / "docs" / "images" / "gallery"
PROMISE = "differential privacy. It holds for every"
# What each script prints beside its promise, and words that stand in its picture.
SAID = {
    "rates_by_region": (["region   records  90 % interval", "of 2 at delta 1e-06 in 1 charge"], ["capital", "islands"]),
    "histogram": (["[90, 95]", "0.5-quantile about", "Mean about"], ["age in years", "20", "80"]),
    "mean_with_bounds": (["values are clipped to [", "type=lone parent", "in 3 charges"], ["lone parent", "income in euros"]),
    "lengths_of_stay": (["50 % quantile", "99 % quantile", "guesses this one right"], ["50 %", "95 %", "stay in days"]),
    "regression": (["odds ratio", "10 age:", "1 region=south -1 region=west"], ["smoker", "bmi", "odds ratio"]),
    "count_model": (["rate ratio", "expected visits a year"], ["chronic", "rate ratio"]),
    "network": (["bus    share   90 % interval", "village  True"], ["quarter", "rents", "bus"]),
    "synthetic_table": (["21 pairs of 7 columns", "smoker  ill    share   90 % interval", "missing "], ["marital", "income"]),
    "visits": (["one patient with all of their visits replaced", "ward=no visit", "(persons by patient)"], ["surgery", "no visit"]),
    "markov_chain": (["after the basket", "of visits reach the page"], ["basket", "pay", "left"]),
    "public_prior": (["price list at delta = 1e-06", "theta", "of 1 at delta 1e-05"], ["flat prior", "epsilon"]),
    "monthly_updates": (["from January to December", "12 requests, from 'unemployed, Jan'"], ["Jan", "Dec", "unemployed"]),
}  # fmt: skip

# Runs each script in a folder that bears its name, and prints as one document what each of them printed.
IN_TURN = """
import contextlib, io, json, os, runpy, sys
from pathlib import Path
printed = {}
for path in map(Path, sys.argv[1:]):
    Path(path.stem).mkdir()
    with contextlib.chdir(path.stem), contextlib.redirect_stdout(io.StringIO()) as out:
        sys.argv = [str(path), "--picture", "picture.svg"]
        runpy.run_path(str(path), run_name="__main__")
    printed[path.stem] = out.getvalue()
print(json.dumps(printed))
"""


def ran(folder: Path, *scripts: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "error"}
    command = [sys.executable, "-c", IN_TURN, *map(str, scripts)]
    return subprocess.run(
        command, check=False, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


def words(path: Path) -> str:
    """The texts of an SVG file; those drawn as outlines are in the comments that matplotlib puts before them."""
    tree = ElementTree.parse(path, ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True)))
    return "\n".join("".join(each.itertext()) for each in tree.iter() if each.text or len(each))


def picture_faults(path: Path, expected: list[str]) -> list[str]:
    """What is wrong with a picture: it is missing, no SVG file, or words that it must show are not in it."""
    if not path.is_file():
        return [f"{path.name} is missing"]
    try:
        text = words(path)
    except ElementTree.ParseError as error:
        return [f"{path.name} is not well-formed: {error}"]
    return [f"{path.name} does not show {word!r}" for word in expected if word not in text]


def page_blocks(text: str) -> dict[str, list[str]]:
    """For every command of the page, the parts of the script that stand before it and after the command before."""
    shown: dict[str, list[str]] = {}
    waiting: list[str] = []
    for block, name in re.findall(r"^```py\n(.*?)^```$|^`python gallery/(\w+)\.py`$", text, re.DOTALL | re.MULTILINE):
        if name:
            shown[name], waiting = waiting, []
        else:
            waiting.append(block)
    return shown


def page_faults(text: str, name: str) -> list[str]:
    """What is wrong with a script's part of the page: no picture, no code, or code that is not the script's."""
    script, said = (SCRIPTS / f"{name}.py").read_text(), []
    if not re.search(rf"!\[[^\]]{{20,}}\]\(images/gallery/{name}\.svg\)", text):
        said.append("the picture is not on the page with a text that describes it")
    shown = page_blocks(text).get(name, [])
    if not shown:
        said.append("no code and command on the page")
    return said + [f"not in the script: {part}" for part in shown if textwrap.indent(part, "    ") not in script]


def test_there_are_twelve_scripts_and_the_page_has_their_commands():
    assert len(SAID) == 12
    assert {path.stem for path in SCRIPTS.glob("*.py")} == set(SAID) == set(page_blocks(PAGE.read_text()))


# The quick form runs two, rates with the sizes of their groups and a graph; `make shown`, a step of CI, runs all twelve.
QUICK = ["rates_by_region", "network"]


@pytest.mark.parametrize(
    "names", [[name] for name in SAID] if LONG else [QUICK], ids=lambda names: names[0] if LONG else str(len(names))
)
def test_a_script_runs_promises_and_draws(names, tmp_path):
    done = ran(tmp_path, *(SCRIPTS / f"{name}.py" for name in names))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    printed = json.loads(done.stdout)
    for name in names:
        lines, expected = SAID[name]
        assert [line for line in [PROMISE, *lines] if line not in printed[name]] == [], name
        assert picture_faults(tmp_path / name / "picture.svg", expected) == []


@pytest.mark.parametrize("name", SAID)
def test_the_page_shows_the_script_and_its_picture(name):
    assert page_faults(PAGE.read_text(), name) == []
    assert picture_faults(PICTURES / f"{name}.svg", SAID[name][1]) == []


@pytest.mark.planted
def test_a_missing_a_broken_and_a_blank_picture_are_seen(tmp_path):
    path = tmp_path / "a.svg"
    assert picture_faults(path, ["age"]) == ["a.svg is missing"]
    path.write_text("<svg><g></svg>")
    assert "not well-formed" in picture_faults(path, ["age"])[0]
    path.write_text('<svg xmlns="http://www.w3.org/2000/svg"><path d="M 0 0"/></svg>')
    assert picture_faults(path, ["age"]) == ["a.svg does not show 'age'"]
    path.write_text('<svg xmlns="http://www.w3.org/2000/svg"><!-- age --><text>years</text></svg>')
    assert picture_faults(path, ["age", "years"]) == []


@pytest.mark.planted
def test_a_script_that_fails_or_draws_nothing_is_seen(tmp_path):
    broken, blank = tmp_path / "broken.py", tmp_path / "blank.py"
    broken.write_text("import warnings\nwarnings.warn('odd')\n")
    blank.write_text("print('no picture')\n")
    assert ran(tmp_path, broken).returncode != 0
    assert ran(tmp_path, blank).returncode == 0
    assert picture_faults(tmp_path / "blank" / "picture.svg", []) == ["picture.svg is missing"]


@pytest.mark.planted
def test_a_page_that_differs_from_its_script_is_seen():
    text = PAGE.read_text()
    assert page_faults(text.replace("data.n, epsilon=0.5", "data.n, epsilon=0.6"), "histogram") != []
    assert page_faults(text.replace("images/gallery/histogram", "images/other"), "histogram") != []
    assert page_faults(text.replace("`python gallery/histogram.py`", ""), "histogram") != []
