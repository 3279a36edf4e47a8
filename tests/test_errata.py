"""docs/errata.md: every row is computed, its label is the only one that fits, and the page is what the tool writes."""

from __future__ import annotations

import ast
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

import errata
from errata_cases import CASES, FALSE, LABELS, Case, problems
from errata_cases.case import Bound, rounds_to
from sfumato.privacy.gaussian_tail import gaussian_mu
from sfumato.theorems import conjugate, exponential, log_sobolev, metric_examples, sharp

ROOT = Path(__file__).parent.parent
NAMES = [f"{case.paper} {case.where}: {case.printed[:30]}" for case in CASES]
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", errata.PAGE.read_text(encoding="utf-8"))


def case_at(paper: str, where: str, part: str = "") -> Case:
    """The row of that place whose text holds `part`."""
    (one,) = [c for c in CASES if (c.paper, c.where) == (paper, where) and part in c.printed + c.true]
    return one


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_the_computation_supports_the_row(case):
    assert problems(case) == []


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_no_other_label_fits(case):
    for label in LABELS:
        if label != case.label:
            assert problems(replace(case, label=label))


def test_every_label_is_used_and_every_paper_has_rows():
    assert {case.label for case in CASES} == set(LABELS)
    assert {case.paper for case in CASES} == set(errata.PAPERS)
    assert len({(case.paper, case.where, case.printed) for case in CASES}) == len(CASES) > 55


def test_a_wrong_number_in_a_row_is_refused():
    """One test, for which rows state a number is known once they are computed."""
    stated = [(name, case, text) for name, case in zip(NAMES, CASES, strict=True) for text in case.evidence.stated]
    assert len(stated) > 20
    for name, case, text in stated:
        wrong = text[:-1] + str((int(text[-1]) + 3) % 10)
        changed = replace(case, true=case.true.replace(text, wrong))
        assert changed.true != case.true, name
        assert problems(changed), name
        shifted = replace(case.evidence, stated={**case.evidence.stated, text: float(wrong)})
        assert problems(replace(case, compute=lambda evidence=shifted: evidence)), name


def test_a_bound_that_holds_is_not_false_and_a_correction_that_fails_is_refused():
    row = case_at("M", "3.3", "r-Lipschitz")
    assert problems(row) == []
    held = Bound("", claimed=[2.0], actual=[1.0], corrected=[1.5])
    assert problems(replace(row, label=FALSE, compute=lambda: held)) == [
        "the printed bound holds in every setting computed"
    ]
    failed = Bound("", claimed=[1.0], actual=[2.0], corrected=[1.5])
    assert problems(replace(row, label=FALSE, compute=lambda: failed)) == ["the corrected bound is broken"]
    alone = Bound("", claimed=[1.0], actual=[2.0])
    assert len(problems(replace(row, label=FALSE, compute=lambda: alone))) == 1
    restricted = Bound("", claimed=[1.0], actual=[2.0], safe=[(1.0, 1.5)])
    assert problems(replace(row, label=FALSE, compute=lambda: restricted)) == [
        "the statement fails where it should hold"
    ]


@pytest.mark.parametrize(
    ("value", "text", "same"),
    [(8.0849, "8.08", True), (8.0851, "8.08", False), (1.24e-4, "1.2e-4", True), (1.26e-4, "1.2e-4", False),
     (70, "70", True), (71, "70", False)],
)  # fmt: skip
def test_a_number_agrees_with_its_text_to_the_last_digit(value, text, same):
    assert rounds_to(value, text) is same


def test_the_page_is_what_the_tool_writes():
    written = errata.PAGE.read_text(encoding="utf-8")
    assert written == errata.page(), "run `python tools/errata.py`"
    other = [replace(CASES[0], label=LABELS[1]), *CASES[1:]]
    assert errata.page(other) != written
    shown = replace(CASES[0].evidence, shows="steepest slope 1.13 at r = 0.5")
    assert errata.page([replace(CASES[0], compute=lambda: shown), *CASES[1:]]) != written


def test_cells_stay_short():
    for case in CASES:
        assert len(case.printed) <= 90, case.where
        assert len(case.true) <= 130, case.where
        assert len(case.evidence.shows) <= 160, case.where


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_named_test_exists():
    assert len(NAMED) > 35
    assert [f"{file}::{name}" for file, name in NAMED if name not in functions(ROOT / file)] == []


B = {"epsilon": 0.1, "delta": 1e-3, "radius": 1.0}
LIBRARY = [
    ("M", "Cor 8(ii)", "1.01", lambda: log_sobolev.corollary_8_limit(delta=1e-6)),
    ("M", "(B.7), its number", "1.64e-4", lambda: log_sobolev.gaussian_mechanism_power(**B, n=10**6) / 1e6),
    ("M", "(B.7), its number", "8.25e-4", lambda: log_sobolev.gaussian_mean_exact_power(**B, n=10**6) / 1e6),
    ("M", "Example 17", "0.0575", lambda: gaussian_mu(0.1, 1e-3)),
    ("G", "3.1, K ≥ 3", "1.0986", lambda: conjugate.dirichlet(cells=[2.0, 2.0, 2.0]).renyi(2.0)),
    ("G", "5.2, ball", "16.687",
     lambda: exponential.logistic_map_radius(power=1.0, radius=1.0, precision_per_record=1e-3)),
    ("D", "after Lemma 23", "4.71",
     lambda: metric_examples.normal_family(precision_norm=1.0, mean_norm=1.0, bound=1.0, dimension=2).diameter),
]  # fmt: skip


@pytest.mark.parametrize(("paper", "where", "text", "library"), LIBRARY, ids=[row[2] for row in LIBRARY])
def test_the_library_gives_the_corrected_number(paper, where, text, library):
    assert library() == pytest.approx(case_at(paper, where, text).evidence.stated[text], rel=1e-6)


def test_the_library_needs_as_many_records_as_the_row_says():
    n = round(case_at("M", "supplement B", "5600").evidence.stated["1212"])
    claim = lambda n: sharp.gaussian_mean(power=1.0, radius=1.0, n=n, precision=0.0).delta(0.1)
    assert claim(n) <= 1e-3 < claim(n - 1)
    power = lambda n: log_sobolev.gaussian_mean_power(**B, n=n)
    assert power(69) < 0.1 / 8 <= power(round(case_at("M", "supplement B", "15").evidence.stated["70"]))


def test_the_library_charges_what_the_rows_correct():
    rate = case_at("D", "Lemma 21").evidence.stated["3.382"]
    assert metric_examples.beta_bernoulli(alpha=rate, n=1).concentration == pytest.approx(1.0, rel=1e-6)
    bound = case_at("D", "Lemma 20").evidence
    assert isinstance(bound, Bound)
    assert bound.corrected is not None
    library = metric_examples.trimmed_laplace(rate=1.0, lower=0.1, upper=0.9, bound=0.1).ratio
    assert library == pytest.approx(bound.corrected[0], rel=1e-6)
    record = metric_examples.network_draws(parents=[[], [], []], cardinalities=[2, 2, 2], floor=0.1)
    assert record.curve.epsilon_value == pytest.approx(6 * math.log(9), rel=1e-9)
