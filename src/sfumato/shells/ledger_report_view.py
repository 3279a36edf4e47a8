"""All that a ledger's report shows, read in one go: budgets, releases, checks and the rows about the ledger itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.ledger.records import Entry
from sfumato.shells.ledger_report_checks import Check, of_file, of_ledger, seeded
from sfumato.shells.ledger_report_releases import MOST_SHOWN, Sealed, looked_at
from sfumato.shells.ledger_report_state import Budget, read, shown_place


@dataclass(frozen=True)
class View:
    """All that a page shows: the ledger's name, its budgets with their releases, the rows about itself, and the checks."""

    place: str
    budgets: tuple[tuple[Budget, tuple[Sealed, ...]], ...]
    events: tuple[Entry, ...]
    checks: tuple[Check, ...]
    not_private: tuple[str, ...]
    witness: str
    last: Entry | None

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if not check.passed)


def looked(ledger: Any, files: Sequence[Path] = (), name: str | None = None, public_key: Path | None = None) -> View:
    """Read the ledger, verify every sealed release, and compare the files with them."""
    place = shown_place(ledger.url)
    checks = of_ledger(ledger, place)
    names = ledger.names() if name is None else [ledger.spent(name).name]
    budgets = tuple(_budget(ledger, each) for each in names)
    for _, releases in budgets:
        checks += [check for each in releases for check in each.checks]
    checks += [check for file in files for check in of_file(file, ledger, public_key)]
    events = tuple(ledger.events())
    rows = [*events, *(row for each, _ in budgets for row in each.rows)]
    warned = tuple(file.name for file in files if seeded(file))
    newest = max(rows, key=lambda row: row.seq, default=None)
    return View(place, budgets, events, tuple(checks), warned, ledger.witness.name, newest)


def _budget(ledger: Any, name: str) -> tuple[Budget, tuple[Sealed, ...]]:
    """A budget and its releases, newest last; only the newest are shown with their estimates."""
    budget = read(ledger, name)
    sealed = [charge for charge in budget.charges if charge.sealed]
    first = len(sealed) - MOST_SHOWN
    return budget, tuple(looked_at(ledger, name, charge, k >= first) for k, charge in enumerate(sealed))
