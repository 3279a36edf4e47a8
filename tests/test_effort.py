"""The quick form of the suite leaves out repetitions only: what it thins exists, keeps a case, and runs whole in the long form."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from effort import THINNED

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", list(THINNED))
def test_what_is_thinned_is_a_parametrised_test(name):
    file, _, function = name.partition("::")
    nodes = {node.name: node for node in ast.parse((ROOT / file).read_text()).body if isinstance(node, ast.FunctionDef)}
    assert "parametrize" in "".join(ast.dump(mark) for mark in nodes[function].decorator_list)


def test_every_thinned_test_keeps_a_case(request):
    collected = {item.nodeid.partition("[")[0] for item in request.session.items}
    files = {name.partition("::")[0] for name in collected}
    assert {name for name in THINNED if name.partition("::")[0] in files} <= collected
