"""What the papers print wrongly: `python tools/errata.py` writes docs/errata.md from tests/errata_cases.

Each row's last column is computed when the page is written; tests/test_errata.py compares the page with this output.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from errata_cases import CASES, LABELS, Case  # noqa: E402 (needs the path above)

PAGE = ROOT / "docs" / "errata.md"
PAPERS = {
    "M": "Minami, Arai, Sato, Nakagawa 2016 (NIPS text, supplement, workshop)",
    "G": "Geumlek, Song, Chaudhuri 2017",
    "D": "Dimitrakakis, Nelson, Zhang, Mitrokotsa, Rubinstein 2017",
}
HEAD = """# What the papers print wrongly

Each row is computed: `tests/errata_cases` holds a function for each, `python tools/errata.py` writes this page from them, and
`tests/test_errata.py` checks that the computation supports the label, and no other label. Labels:

- **false**: the statement fails at a setting that its hypotheses allow, and holds with the correction.
- **loose but valid**: the statement holds; its constant is larger than it needs to be, by a twentieth or more.
- **notation**: a slip of the pen, or of the text at hand; what is meant is clear and right.
- **proof**: a step of the printed proof fails; the statement holds by another proof.

The texts are extractions of the published files. Where an extraction may be at fault, the row says so. Most of what the papers
state is right; [The three papers as code](papers.md) has every statement. Theorems that hold and that this library improves are
no errata. `tests/papers/test_labels_agree.py` checks that a statement has the same label there and here.
"""
TAIL = """## No errata

- D Lemma 5 lifts Assumption 2 from one record to n. It keeps c and L₀, as it says; it does not claim that C is kept, and C grows
  with n (`tests/theorems/test_metric_finite.py::test_lemma_5_keeps_the_lipschitz_constant_but_not_c`).
- M Theorem 7, (6): right, with constants that the sharp theorem improves. Its proof assumes smooth losses; Lemma 20 covers the
  others (`tests/theorems/test_log_sobolev.py::test_lemma_20_a_mollified_hinge_keeps_convexity_and_slope`).
- Libraries, not papers: an accountant that ignores a count, a calibrator that lands on either side
  (`tests/test_calibrate.py::test_the_check_sees_a_calibrator_that_lands_on_either_side`).

Words: [glossary](glossary.md).
"""


def page(cases: Sequence[Case] = CASES) -> str:
    """The whole page."""
    count = Counter(case.label for case in cases)
    total = f"{len(cases)} rows: " + ", ".join(f"{count[label]} {label}" for label in LABELS) + ".\n"
    parts = [HEAD, total]
    for letter, paper in PAPERS.items():
        chosen = [case for case in cases if case.paper == letter]
        parts += [f"## {letter}: {paper}\n", table(chosen), "Deeper tests:\n", tests(chosen)]
    return "\n".join([*parts, TAIL])


def table(cases: Sequence[Case]) -> str:
    """Rows of one paper, in the paper's order."""
    lines = ["| where | label | printed | true | computed |", "|---|---|---|---|---|"]
    for case in cases:
        cells = (case.where, f"**{case.label}**", case.printed, case.true, case.evidence.shows)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def tests(cases: Sequence[Case]) -> str:
    """For each deeper test, the rows that it belongs to."""
    rows: dict[str, list[str]] = {}
    for case in cases:
        if case.test:
            rows.setdefault(case.test, []).append(case.where)
    return "\n".join(f"- {', '.join(dict.fromkeys(where))}: `{test}`" for test, where in rows.items()) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}: {len(CASES)} rows")
