"""The pages for users run as printed: their Python, the commands of the first page with what they print, the spec files."""

from __future__ import annotations

import re
from pathlib import Path
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

from sfumato.models.losses import LOSSES
from sfumato.shells.cli import app
from sfumato.shells.spec import Spec

DOCS = Path(__file__).parent.parent / "docs"
# What each page must print when its blocks are run from top to bottom; an empty list is for a page without Python.
SAID: dict[str, list[str]] = {
    "api.md": [],
    "architecture.md": [],
    "audit.md": [],
    "bounds.md": ["Dataset('survey', n=400, unit='person'"],
    "diffprivlib.md": ["mean age", "median age", "even at age"],
    "epsilon.md": ["epsilon 0.1  0.506", "epsilon 8    0.779", "standard deviation of the noise in the mean 3.63"],
    "errata.md": [],
    "estimators.md": [
        "differential privacy",
        "data_norm=1.0,",
        "true 0.3",
        "same side: True",
        "one person with all of their visits replaced",
        "records 1000 robust ends",
        "log loss of a fold with its own persons",
        "NOT PRIVATE",
    ],
    "extending.md": ["must be at most 1; got 10001", "exponential -", "Pure 1.099", "probability of the truth (p)"],
    "families.md": [
        "region=north",
        "Records in the data, 3,000 in all",
        "approximation by bins",
        "6 cells of 500 records on average",
        "Shares within each row",
        "costs epsilon",
        "Write into the schema",
        "quantile",
        "smoker",
        "simulation: not private",
        "held out: -7",
    ],
    "files.md": ["verified", "signed with another key", "the plan does not match its digest"],
    "gallery.md": [],  # its blocks are parts of the scripts that test_gallery.py runs
    "glossary.md": [],
    "index.md": ["target     (epsilon, delta) = (0.5, 1e-07)", "guesses this one right at most 53 %", "in 2 charges"],
    "intervals.md": ["90 % interval", "One draw suffices", "the rows' own rate", "expected width"],
    "ledger.md": ["request 'smokers-2026' charged mu 0.2306", "spent epsilon 0.9721 of 3", "the charge does not fit"],
    "mechanisms.md": [
        "50 records, epsilon 0.1: diffused",
        "epsilon 1: exact",
        "no posterior to draw from",
        "0.09224  1.000",
        "shaped-path: 100 noisy steps in coordinates that were learnt first (moments_noise",
        "trials; BoundedRange(epsilon=",
        "slack 0.0",
        "mu is at least 0.723 (86 % of the claim)",
        "would have seen 1.49 times the claim with 95 % probability",
        "verdict    not refuted",
    ],
    "papers.md": ["sharp theorem", "Corollary 8(ii)", "must be"],
    "pipelines.md": [
        "Logistic regression of target",
        "region=west",
        "columns: numbers__age, numbers__hours, numbers__age^2",
        "2 faults:",
        "learns the mean and deviation of every column",
        "from the scaler's mean and the others",
        "16 times (3 candidates in 5 folds and 1 for the best)",
    ],
    "plots.md": [
        "inches: [6. 4.]",
        "order 1: 0.02",
        "times that of the maximum-likelihood estimate",
        "intervals (privacy and sampling)",
        "Shares of region, with 90 % intervals",
        '<div class="sfumato"> False',
        "128 steps, momentum",
    ],
    "queries.md": [
        "guesses this one right at most",
        "noisy totals",
        "10,000 answers",
        "worth",
        "log_ratio=",
        "misses",
        "500 held-out records",
        "quarter  rents  share   90 % interval",
    ],
    "regression_intervals.md": [
        "robust half-widths",
        "plain path half-widths",
        "shape first half-widths",
        "little information on",
    ],
    "regressions.md": [
        "expected half-widths of 90 % intervals",
        "region: north 50 %, south 30 %, west 20 %",
        "of age on the expected rows",
        "Logistic regression of ill",
        "Levels are compared: region with south.",
        "1 region=north -1 region=west",
        "odds ratio",
        "probability 0.",
        "averaged over 2 rows",
        "one cut, the whole price: 1 age: 0.0",
        "above level 2: 1 age: 0.0",
    ],
    "report.md": [],
    "rows.md": ["3 rows, 0 of the wrong length"],
    "scale.md": ["engine='streamed'", "passes over the records", "Logistic regression of y"],
    "sharp_edges.md": [],
    "tables.md": [
        "einkommen           1           0",
        "5 declared, 2 of them without visits",
        "# 1 = male, 2 = female, 9 = refused",
    ],
    "threats.md": [],
    "spec.md": [],
    "synthetic.md": ["10 pairs of 5 columns", "no record has age=[0, 18)", "18 to 29  False", "marital"],
    "support.md": [],
    "updates.md": ["whole 2.25, a quarter of it", "four quarters 2.25", "February: ", "in 2 charges"],
}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)


def blocks(page: str, *languages: str) -> list[tuple[str, str]]:
    return [found for found in BLOCK.findall((DOCS / page).read_text()) if found[0] in languages]


def survey_files() -> None:
    """What the page about bounds reads: an invented survey, and its data dictionary."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        "age": [k % 90 for k in range(400)],
        "income": [100.0 * k for k in range(400)],
        "sex": ["f", "m"] * 200,
        "smoker": [k % 3 == 0 for k in range(400)],
    }
    pq.write_table(pa.table(columns), "survey.parquet")
    Path("dictionary.csv").write_text("name,type,lower,upper\nage,integer,0,110\nincome,number,0,\n")


def shell(line: str) -> str:
    """Run one `sfumato ...` line in this process; what it printed."""
    words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', line)]
    assert words[0] == "sfumato"
    ran = CliRunner().invoke(app, words[1:])
    assert ran.exit_code == 0, (line, ran.output, ran.exception)
    return ran.output


def masked(text: str) -> str:
    """A printed line without what differs from run to run: numbers, folders, digests and the widths of columns."""
    text = re.sub(r"digest.*", "digest", re.sub(r"\S*/budget", "budget", text))
    return re.sub(r"\s+", " ", re.sub(r"-?\d[\d,.]*(e-?\d+)?", "#", text)).strip()


def unseen(shown: str, printed: str) -> list[str]:
    """Lines that a page shows and the command did not print."""
    real = {masked(line) for line in printed.splitlines()}
    return [line for line in shown.splitlines() if line.strip() and masked(line) not in real]


def test_every_page_has_an_entry():
    assert {path.name for path in DOCS.glob("*.md")} == set(SAID)


# The first page is followed below, that of the ledger in ledger/test_ledger_notes.py.
@pytest.mark.parametrize("page", sorted(set(SAID) - {"index.md", "ledger.md"}))
def test_a_page_runs_as_printed(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    survey_files()
    code = blocks(page, "python")
    assert bool(code) == bool(SAID[page])
    names: dict[str, object] = {}
    with patch.dict(LOSSES):  # a loss that a page adds to the table is there for that page alone
        for _, block in code:
            exec(compile(block, page, "exec"), names)
    printed = capsys.readouterr().out
    assert [word for word in SAID[page] if word not in printed] == []


def test_the_first_page_can_be_followed_and_prints_what_it_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for language, block in blocks("index.md", "python", "console", "toml"):
        if language == "python":
            exec(compile(block, "index.md", "exec"), names)
        elif language == "toml":  # what the reader writes into the file that the command before has made
            Path("commuters.toml" if block.startswith("sfumato") else "helmets.toml").write_text(block)
        else:
            for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                line, _, shown = command.partition("\n")
                assert unseen(shown, shell(line)) == [], line
    printed = capsys.readouterr().out
    assert [word for word in SAID["index.md"] if word not in printed] == []


@pytest.mark.planted
def test_a_line_that_a_command_does_not_print_is_seen():
    assert unseen("theta  0.5  0.6", "theta   0.41  0.7\n") == []
    assert unseen("theta  0.5  0.6\nphi  0.5", "theta   0.41  0.7\n") == ["phi  0.5"]
    assert unseen("promise  (1, 1e-06)-privacy", "promise  (1, 1e-06)-piracy") != []


def test_every_spec_on_its_page_is_read(tmp_path):
    (tmp_path / "commuters.toml").write_text(blocks("index.md", "toml")[0][1])
    whole, *models = [text for _, text in blocks("spec.md", "toml")]
    head, _, rest = whole.partition("[model]")
    tail = rest[rest.index("[price]") :]
    kinds = set()
    for number, text in enumerate([whole, *(f"{head}{model}\n{tail}" for model in models)]):
        path = tmp_path / f"spec{number}.toml"
        path.write_text(text)
        kinds.add(type(Spec.load(path).model).__name__)
    assert kinds == {
        "BetaBernoulli", "BoundedMean", "DirichletCategorical", "GammaPoisson", "Quantile", "Quantiles", "Grouped", "Gibbs",
        "BayesianNetwork", "Histogram", "CrossTable", "LearnedNetwork",
    }  # fmt: skip
