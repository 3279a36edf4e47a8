"""An office's folder: a table of invented persons, its schema, specs of every model; and the commands that are typed in it."""

from __future__ import annotations

import csv
from pathlib import Path

from recorded import kinds

# The [model] and [price] of every spec; the file names are those of `write`.
MODELS = {
    "rate": 'family = "BetaBernoulli"\ncolumn = "smoker"',
    "rates": 'family = "BetaBernoulli"\ncolumn = "ill"\nby = "region"',
    "shares": 'family = "DirichletCategorical"\ncolumn = "region"\nalpha = 2.0',
    "mean": 'family = "BoundedMean"\ncolumn = "income"',
    "days": 'family = "BoundedMean"\ncolumn = "joined"',
    "quantiles": 'family = "Quantiles"\ncolumn = "income"\nlevels = [0.25, 0.5]',
    "quantile": 'family = "Quantile"\ncolumn = "age"\nlevel = 0.5',
    "counts": 'family = "GammaPoisson"\ncolumn = "visits"\nshape = 2.0\nrate = 0.5',
    "histogram": 'family = "Histogram"\ncolumn = "age"\nbins = [18, 30, 50, 90]',
    "cross": 'cross = ["region", "smoker", "age"]\nbins = { age = 3 }',
    "network": "alpha = 1.0\n[model.network]\nregion = []\nsmoker = ['region']\nill = ['smoker']",
    "learned": 'network = "learn"\ntarget = "ill"\nbins = { age = [18, 30, 50, 90] }\nmissing = ["income"]\n'
    'leave_out = [["region", "income"]]\nimpossible = [{ age = "< 30", ill = true }]',
    "logistic": 'regression = "logistic"\ntarget = "ill"\nfeatures = ["age", "smoker", "region"]\n'
    "prior = { sd = 2, age = { per_unit = 0.05 } }",
    "linear": 'regression = "linear"\ntarget = "cost"\nfeatures = ["age", "smoker", "joined", "age:smoker"]',
    "poisson": 'regression = "poisson"\ntarget = "visits"\nfeatures = ["age"]\nclip = 10',
    "multinomial": 'regression = "multinomial"\ntarget = "region"\nfeatures = ["age"]',
}
EXPECT = {
    "logistic": "[expect]\nill = 0.4\nage = { mean = 50, sd = 15 }\nregion = { north = 0.5, east = 0.3 }\n"
    'effects = { age = 0.03, smoker = 0.8, "age:smoker" = 0.01 }\n',
    "linear": "[expect]\ncost = { mean = 20, sd = 8 }\njoined = { mean = 2020-06-01, sd = 200 }\n",
    "poisson": '[expect]\nrows = "public.csv"\n',
}
PRICES = {
    "mean": "epsilon = 1.0\ndelta = 1e-6\ngoal = 'estimate'", "days": "epsilon = 1.0\ndelta = 1e-6\ndraws = 2",
    "logistic": "epsilon = 3.0\ndelta = 1e-6\nrobust = true", "linear": "epsilon = 2.0\ndelta = 1e-6",
    "poisson": "epsilon = 8.0\ndelta = 1e-6", "multinomial": "epsilon = 8.0\ndelta = 1e-6",
    "network": "epsilon = 2.0\ndelta = 1e-6\nmechanism = 'noisy-statistics'\ndraws = 3",
}  # fmt: skip
SPEC = """\
[data]
file = "survey.csv"
schema = "{schema}.toml"

[model]
{model}

[price]
{price}

{expect}[ledger]
file = "budget.db"
name = "{name}"
"""
COLUMNS = ("region", "age", "smoker", "joined", "income", "ill", "visits", "cost")
BOOK = """\
Variable,Description,Type,Min,Max,Values,Missing values,Format
age,Age in years,integer,0,99,,n.a.,
region,Region,category,,,north|east|west,,
joined,Day of joining,date,01.01.2020,31.12.2024,,,DD.MM.YYYY
ill,Ill,category,,,no|yes,,
note,Remarks,text,,,,,
income,Income,number,,90000,,,
"""
REDCAP = """\
"Variable / Field Name","Field Type","Field Label","Choices, Calculations, OR Slider Labels",\
"Text Validation Type OR Show Slider Number","Text Validation Min","Text Validation Max"
sex,radio,Sex,"1, female | 2, male",,,
weight,text,Weight,,number,2,250
seen,text,Seen,,date_dmy,2020-01-01,
pain,yesno,Pain,,,,
"""


def _table(path: Path, rows: dict[str, list], names: tuple[str, ...] | None = None) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names or rows)
        writer.writerows(zip(*(rows[name] for name in names or rows), strict=True))


def write(folder: Path) -> None:
    """The files of the office."""
    rows = kinds.people()
    _table(folder / "survey.csv", rows)
    _table(folder / "held_out.csv", {name: each[::2] for name, each in rows.items()})
    _table(folder / "public.csv", {name: rows[name][:40] for name in ("age", "visits")})
    kinds.declared(*COLUMNS).save(folder / "survey.toml")
    kinds.declared(*COLUMNS, weight=kinds.WEIGHT).save(folder / "weighted.toml")
    for name, model in MODELS.items():
        facts = {
            "schema": "survey",
            "model": model,
            "price": PRICES.get(name, "epsilon = 1.0\ndelta = 1e-6"),
            "name": "survey",
        }
        (folder / f"{name}.toml").write_text(SPEC.format(**facts, expect=EXPECT.get(name, "")))
        facts |= {"schema": "weighted", "name": "weighted"}
        if name in ("rate", "mean", "linear"):
            (folder / f"weighted-{name}.toml").write_text(SPEC.format(**facts, expect=""))
    schema, visits = kinds.visits("region", "stay", "passed", target="passed")
    schema.save(folder / "schools.toml")
    _table(folder / "visits.csv", visits)
    for name, model in (
        ("stay", 'family = "BoundedMean"\ncolumn = "stay"\nby = "region"'),
        ("passed", 'regression = "logistic"\ntarget = "passed"\nfeatures = ["stay"]'),
    ):
        text = SPEC.format(
            schema="schools", model=model, price="epsilon = 4.0\ndelta = 1e-6", expect="", name="schools"
        )
        (folder / f"{name}.toml").write_text(text.replace("survey.csv", "visits.csv"))
    (folder / "book.csv").write_text(BOOK)
    (folder / "redcap.csv").write_text(REDCAP)


SPECS = (*MODELS, "weighted-rate", "weighted-mean", "weighted-linear", "stay", "passed")
REGRESSIONS = ("logistic", "linear", "poisson", "passed", "weighted-linear")
LEDGER = (
    "ledger create budget.db",
    "ledger register budget.db survey --epsilon 20 --delta 1e-5 --unit person",
    "ledger register budget.db schools --epsilon 9 --delta 1e-5 --unit pupil --persons pupil",
)


def _priced(spec: str) -> list[str]:
    """Commands that plan a spec several times."""
    epsilons = "1,4" if spec in REGRESSIONS else "0.0001,0.5,4"
    return [
        f"plan {spec}.toml --n 90000",
        f"price-list {spec}.toml --epsilons {epsilons} --n 3000",
        f"compare {spec}.toml --n 500",
    ]


RELEASES = (
    "release rate.toml -o rate.sfumato --request first",
    "release mean.toml -o mean.sfumato",
    "release logistic.toml -o logistic.sfumato",
    "release stay.toml -o stay.sfumato",
)
# What is typed in one folder, one after another: a test for each.
SESSIONS: dict[str, tuple[str, ...]] = {
    **{
        f"plan {spec}": (
            f"plan {spec}.toml",
            *(_priced(spec) if spec != "multinomial" else []),
            *([f"rehearse {spec}.toml --runs 2 --n 400"] if spec in REGRESSIONS else []),
        )
        for spec in SPECS
    },
    "plans as JSON": (
        "plan rate.toml --json",
        "plan logistic.toml --json",
        "plan weighted-mean.toml --n 50 --json",
        "price-list logistic.toml --epsilons 2 --n 3000 --json",
        "compare rates.toml --json",
        "rehearse linear.toml --runs 2 --n 400 --json",
        "rehearse rate.toml",
    ),
    "schemas": (
        "schema draft book.csv",
        "schema draft redcap.csv -o out.toml",
        "schema draft survey.csv --header",
        "schema draft visits.csv --header --persons pupil --rows tests",
        "schema check survey.toml survey.csv --no-counts",
        "schema check survey.toml survey.csv",
        "schema check schools.toml visits.csv",
        "schema check survey.toml visits.csv",
        "schema draft nowhere.csv",
        "schema draft survey.csv",
        "schema check survey.csv survey.toml",
    ),
    "specs": (
        "spec",
        "spec --schema survey.toml --column smoker",
        "spec --schema survey.toml --column region --name other",
        "spec --schema survey.toml --column income -o out.toml",
        "spec --schema survey.toml --column nothing",
        "spec --schema survey.toml --regression logistic --target ill",
        "spec --schema survey.toml --regression linear --target cost --features age,region",
        "spec --schema survey.toml --regression ordinal --target cost",
        "spec --regression poisson --target visits --features age",
        "spec --schema survey.toml --synthetic --target ill",
        "spec --synthetic",
        "spec --synthetic --regression logistic",
        "spec --target ill",
        "spec --regression logistic",
        "spec --schema schools.toml --column stay",
        "spec --schema weighted.toml --regression logistic --target ill",
    ),
    "a budget": (
        *LEDGER,
        "ledger register budget.db survey --epsilon 20 --delta 1e-5 --unit person",
        "ledger register budget.db survey --epsilon 30 --delta 1e-5 --unit person",
        "ledger show budget.db --json",
        *RELEASES,
        "release rate.toml -o rate.sfumato",
        "release rate.toml -o again.sfumato --request first",
        "release shares.toml -o shares.sfumato --request first",
        "release counts.toml -o counts.sfumato --json",
        "plan mean.toml",
        "plan rate.toml",
        "ledger show budget.db",
        "ledger show budget.db schools",
        "ledger show budget.db schools --json",
        "ledger show budget.db nobody",
        "ledger verify budget.db",
        "ledger verify budget.db --json",
        "ledger accept-clock budget.db --reason none",
        "ledger accept-folder budget.db --reason 'the disk was replaced'",
        "show rate.sfumato --verify --ledger budget.db",
        "show mean.sfumato",
        "show mean.sfumato --json",
        "show rate.sfumato --ledger budget.db",
    ),
    "pages of a budget": (
        *LEDGER,
        *RELEASES,
        "ledger report budget.db -o out.html rate.sfumato mean.sfumato logistic.sfumato",
        "ledger report budget.db -o out.html --name schools",
        "report mean.sfumato -o out.html --ledger budget.db",
        "report logistic.sfumato -o out.html --public-rows held_out.csv",
        "report logistic.sfumato -o out.html --public-rows survey.csv",
        "plot rate.sfumato -o out.svg",
        "plot logistic.sfumato -o out.svg --level 0.5",
        "plot stay.sfumato -o out.gif",
    ),
    "releases of every spec": (
        *LEDGER[:2],
        *(f"release {spec}.toml -o {spec}.sfumato" for spec in MODELS if spec not in ("rate", "logistic", "mean")),
        "release weighted-rate.toml -o w.sfumato",
        "query synthesize network.sfumato --rows 3",
        "ledger show budget.db",
    ),
    "bounds": (
        *LEDGER,
        "bounds mean.toml",
        "bounds mean.toml --epsilon 0.1 --levels 0.05,0.95 --columns income,cost --json",
        "bounds mean.toml --yes --epsilon 0.1 -o out.toml",
        "bounds mean.toml --yes --epsilon 0.1",
        "bounds mean.toml --epsilon 0.1",
        "bounds mean.toml --yes --epsilon 0.1 --levels 0.1,0.9",
        "bounds stay.toml",
        "bounds stay.toml --yes --request more --json",
        "bounds quantile.toml --n 100",
        "bounds rate.toml",
        "ledger show budget.db",
    ),
    "keys": (
        *LEDGER[:2],
        "keys create office.key",
        "keys create office.key",
        "keys create other.key",
        "release rate.toml -o rate.sfumato --sign office.key",
        "show rate.sfumato --verify --public-key office.key.pub",
        "show rate.sfumato --verify --public-key other.key.pub",
        "show rate.sfumato --verify --public-key office.key.pub --ledger budget.db --json",
        "show rate.sfumato --csv",
        "ledger report budget.db -o out.html rate.sfumato --public-key other.key.pub",
    ),
    "audits": (
        "audit rate.toml --runs 200 -o out.json",
        "audit rate.toml --runs 200 --seed 1 --json",
        "audit mean.toml --runs 40 --n 50",
        "audit rate.toml --runs 2",
        "audit rate.toml --plot out.gif",
        "version",
    ),
}
