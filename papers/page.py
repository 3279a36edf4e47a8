"""Write docs/papers.md and the files beside it from the results of a full run: `python -m papers.page [build/papers]`.

Without a folder the page is written anew from the results in docs/papers, which are those of the last run that was kept.
"""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from papers import running
from papers.reporting import VERDICTS

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "papers.md"
CITED = {
    "minami2016": "Minami, Arai, Sato, Nakagawa 2016, *Differential privacy without sensitivity*",
    "dimitrakakis2017": "Dimitrakakis, Nelson, Zhang, Mitrokotsa, Rubinstein 2017, *Differential privacy for Bayesian inference "
    "through posterior sampling*",
    "geumlek2017": "Geumlek, Song, Chaudhuri 2017, *Rényi differential privacy mechanisms for posterior sampling*",
}
MEANING = {
    "reproduced": "the paper's number, curve or statement comes out of this code",
    "tighter": "the statement holds, and this code proves a better one",
    "false": "the statement fails somewhere that its hypotheses allow; the row says where",
    "loose but valid": "the statement holds with room to spare",
    "notation": "a slip of the pen, or of the text at hand; what is meant is clear and right",
    "not stated": "the paper gives no number to compare with",
}


def keep(results: Path) -> None:
    """Copy the results of a full run beside the page; a quick run is refused."""
    for name in running.names():
        stored = results / f"{name}.json"
        report = json.loads(stored.read_text(encoding="utf-8"))
        if report["quick"]:
            raise SystemExit(f"{stored} is from the quick form; run 'make papers' first")
        target = running.KEPT / name.split("/")[0]
        target.mkdir(parents=True, exist_ok=True)
        for file in [*report["tables"], *(each["file"] for each in report["figures"])]:
            shutil.copyfile(stored.parent / file, target / file)
        report.pop("seconds")  # differs from run to run
        text = json.dumps(report, indent=1, ensure_ascii=False) + "\n"
        (target / stored.name).write_text(text, encoding="utf-8")


def report_of(name: str) -> dict[str, Any]:
    """The kept results of a script."""
    return dict(json.loads((running.KEPT / f"{name}.json").read_text(encoding="utf-8")))


def statements(paper: str) -> list[dict[str, Any]]:
    """The rows of a paper's statements."""
    return list(tomllib.loads((running.ROOT / paper / "statements.toml").read_text(encoding="utf-8"))["statement"])


def page() -> str:
    """The text of docs/papers.md."""
    parts = [HEAD, _counts(), EXAMPLES]
    for paper in running.PAPERS:
        parts.append(f"## {CITED[paper]}\n")
        parts.append(_statements(paper))
        parts += [_script(name) for name in running.names() if name.startswith(f"{paper}/")]
    return "\n".join([*parts, "Words: [glossary](glossary.md).\n"])


def _counts() -> str:
    """How often each verdict occurs among the claims, by paper."""
    rows = [
        "| verdict | meaning | " + " | ".join(CITED[p].split(",")[0] for p in running.PAPERS) + " |",
        "|---|---|---|---|---|",
    ]
    counted = {
        paper: Counter(
            c["verdict"] for n in running.names() if n.startswith(f"{paper}/") for c in report_of(n)["claims"]
        )
        for paper in running.PAPERS
    }
    rows += [
        f"| {verdict} | {MEANING[verdict]} | "
        + " | ".join(str(counted[paper][verdict]) for paper in running.PAPERS)
        + " |"
        for verdict in VERDICTS
    ]
    return "\n".join(rows) + "\n"


def _statements(paper: str) -> str:
    rows = ["| statement | what it says | in the code | verdict |", "|---|---|---|---|"]
    for each in statements(paper):
        code = ", ".join(_place(name) for name in each["code"])
        shown = "".join(f" · [{script}](#{_anchor(paper, script)})" for script in each["scripts"])
        note = f" {each['note']}" if each.get("note") else ""
        rows.append(f"| {_cell(each['label'])} | {_cell(each['says'] + note)} | {code} | {each['verdict']}{shown} |")
    return "\n".join(rows) + "\n"


def _script(name: str) -> str:
    """A script's figure and claims."""
    paper, script = name.split("/")
    report = report_of(name)
    lines = [f'### <a id="{_anchor(paper, script)}"></a>{report["place"]}: {report["title"].rstrip(".")}\n']
    runs = f" with RUNS={report['runs']}" if report["runs"] != running.RUNS and "figure_3" in script else ""
    files = ", ".join(f"[{table}](papers/{paper}/{table})" for table in report["tables"])
    lines.append(f"`sfumato papers {name}`{runs}; the numbers: {files}.\n")
    lines += [f"![{each['alt']}](papers/{paper}/{each['file']})\n" for each in report["figures"]]
    lines += ["| where | statement | paper | here | verdict |", "|---|---|---|---|---|"]
    for claim in report["claims"]:
        here = claim["here"] + (f". {claim['why']}" if claim["why"] else "")
        cells = (claim["place"], claim["statement"], claim["paper"], here)
        lines.append("| " + " | ".join(_cell(each) for each in cells) + f" | **{claim['verdict']}** |")
    return "\n".join(lines) + "\n"


def _anchor(paper: str, script: str) -> str:
    return f"{paper}-{script}".replace("_", "-")


def _place(name: str) -> str:
    """A name of the code, linked to its proof note where it has one."""
    if name.startswith("docs/"):
        return f"[{Path(name).stem}]({name.removeprefix('docs/')})"
    parts = name.split(".")
    note = f"proofs/{parts[2]}.md" if parts[:2] == ["sfumato", "theorems"] and len(parts) > 2 else ""
    shown = f"`{name.removeprefix('sfumato.')}`"
    return f"[{shown}]({note})" if note and (DOCS / note).exists() else shown


def _cell(text: str) -> str:
    """The text as the cell of a table: bars and angle brackets are no markup, stars no emphasis."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


HEAD = """# The three papers as code

Sfumato began as three papers. Every statement of theirs has a row here with its place in the code, and every figure, table and
number that they print is computed by a script of the folder `papers`: `make papers` runs them all (an hour on two cores),
`make papers-quick` with little simulation (minutes), `sfumato papers NAME` one of them. A script prints lines
"paper / here / verdict"; it fails where the condition that a verdict rests on does not hold, and where a verdict differs from
this page's. What is printed wrongly has a row of its own [with a test that computes it](errata.md). This page is written by
`python -m papers.page build/papers`. Some scripts need Adult, Abalone or MNIST; without them they say how to get them. Figure 3
keeps the results of every run and cell in build/papers/geumlek2017/cells, so that a run that was stopped goes on where it was;
delete that folder to compute them again.

How to read the tables: the column *paper* has what is printed, evaluated at the numbers of the row where the paper gives a formula.
A verdict in a table of statements is that of the whole statement, with exceptions in its text; claims take it part by part. A step
of a proof that fails is *false* here and *proof* among the errata; a statement about experiments on data (Figure 3) has no erratum.

The claims by verdict:
"""
EXAMPLES = """How much each theorem allows for the same model and price is one call. Minami's logistic regression, rows of norm 1:

```python
import sfumato as sf

model = sf.Gibbs(sf.losses.Logistic(radius=1.0), sf.priors.Gaussian(precision=10.0), dimension=20)
print(sf.compare(model, n=10_000, epsilon=1.0, delta=1e-6))
```

A theorem is called with its own numbers, and says which hypotheses it checked:

```python
from sfumato.theorems import log_sobolev, sharp

promise = sharp.gibbs_draw(difference=2.0, strong_convexity=32.0, convex=True, convex_domain=True)
print(promise)
for assumption in promise.assumptions:
    print(" ", assumption.name, assumption.symbol, assumption.required, assumption.value)
```

Outside its hypotheses it claims nothing. Corollary 8 as printed is for every epsilon, and is false for large ones:

```python
try:
    log_sobolev.corollary_8(epsilon=20.0, delta=1e-6, lipschitz=1.0, strong_convexity=10.0, convex=True)
except sf.errors.AssumptionError as error:
    print(error)
```
"""

if __name__ == "__main__":
    if len(sys.argv) > 1:
        keep(Path(sys.argv[1]))
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
