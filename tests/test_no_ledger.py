"""What was charged to no ledger says so in the first line of everything that is printed of it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from typer.testing import CliRunner

import sfumato as sf
from command_line import note_check
from sfumato.shells.cli import app
from sfumato.shells.report import page
from sfumato.wording import NO_LEDGER

N = 100
SCHEMA = sf.Schema({"x": sf.Number(0, 10), "ill": sf.Boolean(missing=False)}, name="s", unit="person", target="ill")
TABLE = {"x": np.arange(N) % 10, "ill": [True, False] * (N // 2)}
PLANS = {
    "rate": lambda: sf.plan(sf.families.BetaBernoulli(1, 1), N, 1.0, 1e-6, mechanism="noisy-statistics"),
    "regression": lambda: sf.plan(
        sf.regression("logistic", SCHEMA), N, 1.0, 1e-6, goal="estimate", keep=("transcript",)
    ),
}


def first(text: str) -> str:
    return text.split("\n")[0]


@pytest.mark.parametrize("kind", PLANS)
def test_the_first_line_says_whether_a_ledger_was_charged(kind, tmp_path):
    data = sf.Dataset.from_table(TABLE, schema=SCHEMA)
    with sf.Ledger.open(tmp_path / "b.db") as ledger:
        ledger.register("s", 3.0, 1e-6, unit="person")
        paid = sf.publish(PLANS[kind](), data, ledger, request_id="one")
    free = sf.publish(PLANS[kind](), data)
    for release in (free, paid):
        path = tmp_path / f"{release.receipt is None}.sfumato"
        release.save(path)
        again = sf.load(path)
        shown = CliRunner().invoke(app, ["show", str(path)]).output
        asked = CliRunner().invoke(app, ["query", "summary", str(path)]).output
        card = re.sub("<style>.*?</style>|<[^>]*>", "\n", again._repr_html_(), flags=re.DOTALL).split()
        report = page(again).partition("</h1>")[2].lstrip()
        forms = [first(str(again)), first(str(again.summary())), first(shown), first(asked)]
        forms += [" ".join(card[:20]), report[:150]]
        assert [NO_LEDGER in form for form in forms] == [release is free] * 6
    assert NO_LEDGER.startswith("charged to no ledger")
    seeded = sf.publish(PLANS[kind](), data, randomness=sf.seeded(1))
    for form in (str(seeded), str(seeded.summary())):
        assert first(form).startswith("NOT PRIVATE")
        assert first(form).endswith(NO_LEDGER)


def test_a_fit_without_a_ledger_says_so(tmp_path):
    X, y = np.linspace(-1, 1, N)[:, None], np.arange(N) % 2
    options = {"delta": 1e-6, "data_norm": 1.0, "classes": [0, 1], "missing_class": 0}
    free = sf.PrivateLogisticRegression(**options)
    assert NO_LEDGER not in repr(free)
    free.fit(X, y)
    with sf.Ledger.open(tmp_path / "b.db") as ledger:
        ledger.register("s", 3.0, 1e-6)
        paid = sf.PrivateLogisticRegression(**options, ledger=ledger, ledger_name="s").fit(X, y)
    for model in (free, paid):
        forms = [repr(model), first(str(model.release_)), first(str(model.release_.summary()))]
        assert [NO_LEDGER in form for form in forms] == [model is free] * 3
    assert "NOT PRIVATE" in repr(sf.PrivateLogisticRegression(**options, random_state=0).fit(X, y))


def test_bounds_without_a_ledger_say_so(tmp_path):
    data = sf.Dataset.from_table(TABLE, schema=SCHEMA)
    assert first(str(sf.private_bounds(data, "x", 2.0))) == NO_LEDGER
    with sf.Ledger.open(tmp_path / "b.db") as ledger:
        ledger.register("s", 9.0, 1e-6, unit="person")
        assert NO_LEDGER not in str(sf.private_bounds(data, "x", 2.0, ledger=ledger))


def test_the_command_release_says_so(tmp_path):
    SCHEMA.save(tmp_path / "s.toml")
    (tmp_path / "t.csv").write_text("x,ill\n" + "1,yes\n2,no\n" * (N // 2))
    spec = '[data]\nfile = "t.csv"\nschema = "s.toml"\n[model]\nfamily = "BetaBernoulli"\ncolumn = "ill"\n'
    (tmp_path / "r.toml").write_text(spec + "[price]\nepsilon = 1.0\ndelta = 1e-6\n")
    note_check(tmp_path / "r.toml")
    answer = CliRunner().invoke(app, ["release", str(tmp_path / "r.toml"), "-o", str(tmp_path / "r.sfumato")])
    assert answer.exit_code == 0, answer.output
    assert first(answer.stdout) == NO_LEDGER
