"""The report of a ledger in a real browser, on a wide screen and a phone, light and dark, and in print."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta

import numpy as np

import sfumato as sf
from pages import looking
from sfumato.ledger import book
from sfumato.privacy.guarantee import Guarantee
from sfumato.shells import ledger_report

START = datetime(2026, 1, 5, 9, tzinfo=UTC)


def crowded(folder, monkeypatch):
    """A ledger of two data sets: a dozen charges over weeks, two releases, one of many rows, and long names."""
    hours = iter(range(10_000))

    def now() -> str:
        return (START + timedelta(hours=41 * next(hours))).isoformat(timespec="microseconds")

    # Charges read the clock in one module, seals in the other.
    for module in (book, sys.modules[sf.Ledger.__module__]):
        monkeypatch.setattr(module, "now", now)
    levels = [f"ward {k} of a hospital with a rather long name" for k in range(20)]
    data = {"ward": np.array(levels)[np.arange(3000) % 20], "ill": np.arange(3000) % 3 == 0}
    schema = sf.Schema(
        {"ward": sf.Category(levels, missing=levels[0]), "ill": sf.Boolean(missing=False)},
        name="clinic visits",
        unit="person",
    )
    table = sf.Dataset.from_table(data, schema=schema)
    paid = Guarantee(sf.Gaussian(0.05), "replace-one", "Gaussian mechanism", "a test", unit="person")
    with sf.Ledger.open(folder / "budget.db") as ledger:
        ledger.register("clinic visits", 3.0, 1e-6, unit="person")
        ledger.register("a data set that nobody has asked about so far", 1.0, 1e-6, unit="employee")
        for k in range(12):
            ledger.charge("clinic visits", paid, f"request {k} of an office whose name is long enough to be broken")
        for model, request in (
            (sf.families.DirichletCategorical(levels), "wards"),
            (sf.families.BetaBernoulli(alpha=1, beta=1), "ill"),
        ):
            plan = sf.plan(model, 3000, 0.5, 1e-7, mechanism="noisy-statistics")
            sf.publish(plan, table, ledger, request_id=request)
    return folder / "budget.db"


def test_a_page_has_no_faults(tmp_path, monkeypatch):
    place = crowded(tmp_path, monkeypatch)
    (tmp_path / "edited.sfumato").write_bytes(b"sfumato file 1\nand nothing else")
    failed = ledger_report.write(str(place), tmp_path / "page.html", [tmp_path / "edited.sfumato"])
    assert [check.subject for check in failed] == ["edited.sfumato"]
    with looking.started() as browser:
        assert looking.everywhere(tmp_path / "page.html", browser, looking.SIZES) == []
