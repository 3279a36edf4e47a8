"""The quick form of the suite leaves out repetitions only: what it thins exists, keeps a case, and runs whole in the long form."""

from __future__ import annotations

import ast
from pathlib import Path

import plant
import pytest

from effort import LONG, LONG_ONLY, THINNED

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", list(THINNED))
def test_what_is_thinned_is_a_parametrised_test(name):
    file, _, function = name.partition("::")
    nodes = {node.name: node for node in ast.parse((ROOT / file).read_text()).body if isinstance(node, ast.FunctionDef)}
    # Tests of ledgers have one case for each kind of database, which a fixture opens.
    assert "parametrize" in "".join(map(ast.dump, nodes[function].decorator_list)) or file.startswith("tests/ledger/")


@pytest.mark.parametrize("name", sorted(LONG_ONLY))
def test_what_is_left_out_exists_and_no_planted_fault_is_listed_for_it(name):
    file, _, function = name.partition("::")
    assert function in {
        node.name for node in ast.parse((ROOT / file).read_text()).body if isinstance(node, ast.FunctionDef)
    }
    assert name not in {fault.test.partition("[")[0] for fault in plant.read_faults()}


def test_the_long_form_has_what_the_quick_one_leaves_out(request):
    collected = {item.nodeid.partition("[")[0] for item in request.session.items}
    files = {name.partition("::")[0] for name in collected}
    if len(files) > 100:  # the whole suite was asked for
        assert (set(collected) & LONG_ONLY == LONG_ONLY) == LONG


def test_every_thinned_test_keeps_a_case(request):
    collected = {item.nodeid.partition("[")[0] for item in request.session.items}
    files = {name.partition("::")[0] for name in collected}
    assert {name for name in THINNED if name.partition("::")[0] in files} <= collected
