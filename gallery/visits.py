"""Visits of patients: one patient may have many, and is protected with all of them.

Each patient counts once, whether they came once or ten times, so the rate is that of the mean patient. Beware of taking it for the
rate of the mean visit: here whoever comes often is readmitted more often.
"""

from __future__ import annotations

import argparse
import csv

import numpy as np

import sfumato as sf

WARDS = ["surgery", "medicine", "children", "maternity"]
PATIENTS = 6_000


def write_tables(visits: str, roster: str) -> None:
    """Write a made-up year of visits in no order, and the list of all patients; nobody in it exists."""
    rng = np.random.default_rng(12)
    frail = rng.beta(1.5, 6.0, PATIENTS)
    counts = rng.poisson(0.6 + 9 * frail)
    patient = np.repeat(np.arange(PATIENTS), counts)
    ward = rng.choice(WARDS, len(patient), p=[0.35, 0.4, 0.15, 0.1])
    back = rng.random(len(patient)) < np.clip(1.5 * frail[patient] + 0.1 * (ward == "surgery"), 0, 1)
    stay = np.minimum(rng.gamma(1.5, 2 + 8 * frail[patient]), 60)
    order = rng.permutation(len(patient))
    for path, names, columns in (
        (visits, ["patient", "ward", "stay", "readmitted"], (patient, ward, stay.round(1), back.astype(int))),
        (roster, ["patient"], (np.arange(PATIENTS),)),
    ):
        with open(path, "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(names)
            rows.writerows(zip(*(each[order] if path == visits else each for each in columns), strict=True))


def main(picture: str) -> None:
    """Publish rates by ward and the mean stay, each for one patient with all of their visits, and draw the rates."""
    write_tables("visits.csv", "patients.csv")
    persons = sf.Persons("patient", most=12, roster="patients.csv", rows="visits")
    columns = {
        "ward": sf.Category([*WARDS, "no visit"], missing="no visit"),  # what patients without a visit count as
        "stay": sf.Number(0, 60, missing=0),
        "readmitted": sf.Boolean(missing=False),
    }
    schema = sf.Schema(columns, name="hospital", unit="patient", persons=persons)
    data = sf.Dataset.from_table("visits.csv", schema=schema)  # unsorted: rows are gathered by patient
    ledger = sf.Ledger.open("budget.db")
    ledger.register("hospital", epsilon=3.0, delta=1e-6, unit="patient", id_column="patient")

    rates = sf.grouped(sf.families.BetaBernoulli(1, 1), by="ward", levels=columns["ward"].levels)
    plan = sf.plan(rates, data.n, epsilon=1.0, delta=1e-7, persons=persons)
    print(plan, end="\n\n")
    release = sf.publish(plan, data, ledger, request_id="readmissions by ward")
    print(release.summary(), end="\n\n")
    print(release.attacker(), end="\n\n")
    stay = sf.plan(sf.families.BoundedMean(0, 60), data.n, epsilon=0.5, delta=1e-7, persons=persons)
    print(sf.publish(stay, data, ledger, request_id="mean stay").summary(), end="\n\n")
    print(ledger.spent("hospital"))
    release.save("visits.sfumato")
    release.plot().savefig(picture)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--picture", default="visits.svg", help="where the picture goes: .svg or .png")
    main(options.parse_args().picture)
