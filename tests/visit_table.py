"""A made-up table of visits for tests of commands: 4,717 rows, which are private, of 900 patients, who are public.

Rows come in no order, some without an id or of strangers; ids are written 7 and 7.0, numbers with a comma. Patients who come often
stay long, so that the mean patient and the mean visit differ.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np

from command_line import typed

N, ROWS, WITHOUT_ID, OFF_ROSTER, PRESENT, MOST = 900, 4717, 13, 27, 860, 12
COLUMNS = """\
[columns.stay]
type = "number"
lower = 0
upper = 60
missing = 0

[columns.icu]
type = "boolean"
missing = false

[columns.ward]
type = "category"
levels = ["north", "south", "the wards of the old building"]
missing = "north"
"""
SCHEMA = f"""\
sfumato = "schema"
version = 3
name = "visits"
unit = "patient"

[table]
separator = ";"
decimal = ","

[persons]
id = "patient_id"
rule = "average"
most = {MOST}
roster = "ids.csv"
rows = "visits"

{COLUMNS}"""
OF_ROWS = re.sub(r"\[persons\].*?\n\n", "", SCHEMA, flags=re.DOTALL)
SPEC = """\
[data]
file = "visits.csv"
schema = "visits.toml"

[model]
family = "BoundedMean"
column = "stay"

[price]
epsilon = 1.0
delta = 1e-6
"""
LEDGER = '\n[ledger]\nfile = "budget.db"\nname = "visits"\n'


def _stays() -> list[np.ndarray]:
    """The stays of every patient who has visits."""
    rng = np.random.default_rng(11)
    often = rng.random(PRESENT) < 0.3
    counts = np.where(often, 10, 2)
    rest = ROWS - WITHOUT_ID - OFF_ROSTER - int(counts.sum())
    counts += np.bincount(rng.choice(np.flatnonzero(often), rest), minlength=PRESENT)
    return [np.round(rng.uniform(30, 50, count) if count >= 10 else rng.uniform(2, 12, count), 1) for count in counts]


STAYS = _stays()
# A patient without visits counts as the declared value of a missing stay, 0.
MEAN_PATIENT = float(sum(own.mean() for own in STAYS) / N)
MEAN_VISIT = float(np.concatenate(STAYS).mean())
# Patients of whom not all visits count, and visits that do not.
ABOVE, BEYOND = (sum(each) for each in zip(*((len(own) > MOST, max(0, len(own) - MOST)) for own in STAYS), strict=True))
# Numbers of rows that nothing may show: all, those with an id, those of patients, and those that count.
PRIVATE = {ROWS, ROWS - WITHOUT_ID, ROWS - WITHOUT_ID - OFF_ROSTER, ROWS - WITHOUT_ID - OFF_ROSTER - BEYOND}


def write_table(folder: Path) -> None:
    """Write the table, its roster, its schema, and a spec with a ledger."""
    rng = np.random.default_rng(12)
    rows = [
        [f"{who}.0" if rng.random() < 0.4 else str(who), f"{stay:.1f}".replace(".", ","), *_others(rng)]
        for who, own in enumerate(STAYS) for stay in own
    ]  # fmt: skip
    rows += [["", "60,0", *_others(rng)] for _ in range(WITHOUT_ID)]
    rows += [[f"stranger {k}", "60,0", *_others(rng)] for k in range(OFF_ROSTER)]
    rng.shuffle(rows)
    with (folder / "visits.csv").open("w", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["patient_id", "stay", "icu", "ward"])
        writer.writerows(rows)
    (folder / "ids.csv").write_text("patient_id\n" + "".join(f"{who}\n" for who in range(N)))
    (folder / "visits.toml").write_text(SCHEMA)
    (folder / "stay.toml").write_text(SPEC + LEDGER)


def _others(rng: np.random.Generator) -> list[str]:
    return [str(rng.choice(["yes", "no"])), str(rng.choice(["north", "south"]))]


def shows(text: str) -> set[int]:
    """The private numbers that stand in a text by themselves, 4717 or 4,717: not within a digest or a longer number."""
    return {
        number for number in PRIVATE for shown in (str(number), f"{number:,}")
        if re.search(rf"(?<![\w.,-]){shown}(?!\w|[.,]\d)", text)
    }  # fmt: skip


def command(monkeypatch, capsys):
    """The command line; whatever is printed must show no private number, but for the counts that are for the curator."""

    def run(*words, code: int = 0) -> str:
        left, out, err = typed(monkeypatch, capsys, *words)
        assert left == code, (words, out, err)
        if words[:2] != ("schema", "check"):
            assert shows(out + err) == set(), words
        return out if code == 0 else err

    return run


def register(sfumato) -> str:
    """A ledger with a budget for the patients; what registering printed."""
    sfumato("ledger", "create", "budget.db")
    options = ("--epsilon", 10, "--delta", "1e-6", "--unit", "patient", "--persons", "patient_id")
    return sfumato("ledger", "register", "budget.db", "visits", *options)
