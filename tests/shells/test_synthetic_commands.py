"""A learnt table on the command line: keys of the spec and their errors, the template, what a plan says, the synthetic CSV."""

from __future__ import annotations

import csv
import re
from contextlib import nullcontext

import numpy as np
import pytest

import sfumato as sf
from command_line import typed
from sfumato import publishing
from sfumato.errors import FormatError
from sfumato.mixtures.fitting import FOLDS
from sfumato.shells.spec import Spec

SCHEMA = """\
sfumato = "schema"
version = 2
name = "people"
unit = "person"

[table]
separator = ";"
encoding = "cp1252"
decimal = ","

[columns.age]
type = "number"
lower = 0
upper = 95
integer = true
missing_codes = ["k.A."]

[columns.income]
type = "number"
lower = -1000
upper = 90000

[columns.since]
type = "date"
lower = "2010-01-01"
upper = "2023-12-31"
format = "%d.%m.%Y"

[columns.region]
type = "category"
levels = ["Nord", "Süd", "Ost;West"]
missing = "Nord"

[columns.ill]
type = "boolean"
missing = false
"""
DATA = '[data]\nfile = "people.csv"\nschema = "people.toml"\n\n[price]\nepsilon = 3.0\ndelta = 1e-6\n'
PUBLIC = "bins = { age = [0, 15, 40, 95], income = [-1000, 0, 20000, 90000], since = 3 }"
N = 500


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A table as a German office writes it, with missing cells, and its schema."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(11)
    lines = ["age;income;since;region;ill"]
    for _ in range(N):
        age = int(rng.integers(0, 96))
        cells = [
            rng.choice([str(age), "k.A."], p=[0.9, 0.1]),
            f"{rng.normal(20000, 9000):.2f}".replace(".", ",") if rng.random() > 0.2 else "",
            f"{rng.integers(1, 29):02}.{rng.integers(1, 13):02}.{rng.integers(2010, 2024)}"
            if rng.random() > 0.1
            else "",
            rng.choice(["Nord", "Süd", '"Ost;West"']),
            str(age > 15 and bool(rng.random() < 0.3)),
        ]
        lines.append(";".join(cells))
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n", encoding="cp1252")
    (tmp_path / "people.toml").write_text(SCHEMA)
    return tmp_path


@pytest.fixture
def sfumato(monkeypatch, capsys):
    return lambda *words: typed(monkeypatch, capsys, *words)


def written(folder, model, price=""):
    (folder / "table.toml").write_text(f'{DATA}{price}\n[model]\nnetwork = "learn"\n{model}\n')
    return folder / "table.toml"


def test_the_keys_of_a_spec_are_the_arguments_of_learn(folder):
    rules = 'impossible = [{ age = "< 15", ill = true }]'
    spec = Spec.load(
        written(
            folder, f'{PUBLIC}\n{rules}\npairs = "select"\ntarget = "ill"\nmissing = ["age"]\nchosen = 2\nrounds = 1'
        )
    )
    schema = sf.Schema.load(folder / "people.toml")
    bins = {"age": [0, 15, 40, 95], "income": [-1000, 0, 20000, 90000], "since": 3}
    same = sf.networks.learn(schema, bins, "select", "ill", ["age"], [{"age": "< 15", "ill": True}], chosen=2, rounds=1)
    assert spec.model == same
    assert Spec.load(written(folder, 'missing = "all"\nbins = "uniform"')).model == sf.networks.learn(
        schema, "uniform", missing="all"
    )


def test_the_schema_of_a_spec_holds_the_columns_that_are_used_and_no_others(folder):
    spec = Spec.load(written(folder, 'leave_out = ["income", ["age", "since"]]'))
    assert list(spec.schema.columns) == ["age", "since", "region", "ill"] == list(spec.model.names)
    assert (0, 1) not in spec.model.candidates
    assert (0, 2) in spec.model.candidates


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("bin = 3", r"has the keys network, bins, .* got 'bin'. Did you mean 'bins'\?"),
        ("bins = 3", r"bins in \[model\] must be .*quantiles = 8.* got 3"),
        ("bins = { agee = 3 }", r"bins in \[model\] names 'agee', which is no column .* Did you mean 'age'\?"),
        ("bins = { region = 3 }", r"only Number and Date columns"),
        ('bins = { age = "quantile" }', r"'quantile'"),
        ('bins = "quantile"', r"'uniform'.*'quantiles'.*'quantile'"),
        ('pairs = "some"', r"pairs must be .*'all'.*'select'"),
        ("pairs = 3", r'"all" or "select"; got 3'),
        ('target = "sick"', r"target in \[model\] names 'sick'"),
        ('missing = "age"', r'Write missing = \["age"\] for one column'),
        ("missing = true", r'"all" or a list of columns'),
        ('missing = ["aeg"]', r"Did you mean 'age'\?"),
        ('leave_out = "age"', r'Write leave_out = \["age"\] for one column'),
        ("leave_out = [[1, 2]]", r"a list of columns and groups"),
        ('leave_out = ["ill"]\ntarget = "ill"', r"'ill' is in leave_out and in target"),
        ('leave_out = ["age", "income", "since", "region"]', r"at least two columns; ill is left"),
        ('impossible = { age = "< 15" }', r"a list of rules"),
        ('impossible = [{ age = "< 15", ill = true }]', r"private quantiles"),
        (f'{PUBLIC}\nimpossible = [{{ age = "< 16", ill = true }}]', r"must end at an inner edge"),
        (f'{PUBLIC}\nimpossible = [{{ age = "< 15", ill = "often" }}]', r"'ill' must be"),
        (f'{PUBLIC}\nimpossible = [{{ since = "< soon", ill = true }}]', r"compare with a date such as '< 2020-01-31'"),
        ('impossible = [{ region = ["Nord", "Süd", "Ost;West"], ill = [true, false] }]', r"every combination of ill and region"),
        ("chosen = 3", r"for pairs=.select."),
        ('pairs = "select"\nchosen = 99', r"chosen must be at most"),
        ("alpha = 1.0", r"got 'alpha'"),
    ],
)  # fmt: skip
def test_wrong_keys_are_refused_in_one_sentence(model, sentence, folder, sfumato):
    with pytest.raises(FormatError, match=sentence):
        Spec.load(written(folder, model))
    code, _, err = sfumato("plan", "table.toml")
    assert code == 2
    assert err.startswith("sfumato: table.toml: ")
    assert len(err.splitlines()) == 1


def test_another_word_for_a_network_is_refused(folder):
    written(folder, "")
    file = folder / "table.toml"
    file.write_text(file.read_text().replace('"learn"', '"learned"'))
    with pytest.raises(FormatError, match='network must be "learn", or a table'):
        Spec.load(file)


def test_draws_are_refused_and_rows_are_free(folder, sfumato):
    written(folder, PUBLIC, "draws = 5\n")
    code, _, err = sfumato("plan", "table.toml")
    assert code == 2
    assert "any number of synthetic rows costs nothing more; got 5" in err
    with pytest.raises(sf.errors.ArgumentError, match="draws must be 1"):
        sf.plan(Spec.load(folder / "table.toml").model, N, 1.0, 1e-6, draws=2)


def test_the_template_is_a_spec(folder, sfumato):
    for target in ((), ("--target", "ill")):
        code, out, _ = sfumato("spec", "--data", "people.csv", "--schema", "people.toml", "--synthetic", *target)
        assert code == 0
        (folder / "new.toml").write_text(out)
        assert Spec.load(folder / "new.toml").model.target == (target[1] if target else None)
        # Every option that is a comment can be taken in as it stands, but for those that name columns of other tables.
        (folder / "new.toml").write_text(re.sub(r"^# (bins|missing|pairs|target)\b", r"\1", out, flags=re.MULTILINE))
        model = Spec.load(folder / "new.toml").model
        assert model.missing == model.names
    assert "--synthetic is a table of all columns" in sfumato("spec", "--synthetic", "--features", "age")[2]
    assert "Did you mean 'ill'?" in sfumato("spec", "--schema", "people.toml", "--synthetic", "--target", "il")[2]


def test_a_plan_says_what_is_counted_charged_and_ruled_out(folder, sfumato):
    written(folder, f'{PUBLIC}\nimpossible = [{{ age = "< 15", ill = true }}]\nmissing = ["age", "income"]')
    out = sfumato("plan", "table.toml")[1]
    assert "one estimate; any number of synthetic rows costs nothing more" in out
    assert re.search(r"^tables +10 pairs of 5 columns, \d+ cells; .* known to \+/- \d+ \(90 %\)", out, re.MULTILINE)
    assert re.search(r"^impossible no record has age=\[0, 15\) and ill=True$", out, re.MULTILINE)
    assert "a level of their own in age, income; elsewhere since as 2016-12-31" in out
    assert len(re.findall(r"^missing ", out, re.MULTILINE)) == 1
    assert "since to [2010-01-01, 2023-12-31], " not in out  # it is the last one
    assert "since to [2010-01-01, 2023-12-31]: values beyond the bounds count as the bound" in out
    assert not re.search(r"^(bins|charged) ", out, re.MULTILINE)
    written(folder, 'pairs = "select"\nchosen = 3\nrounds = 1\ntarget = "ill"')
    out = sfumato("plan", "table.toml")[1]
    assert "5 single columns, the 4 pairs with ill and 3 of 6 pairs, which are chosen in 1 round;" in out
    assert "age (10), income (10), since (10)" in out
    # Shares of mu^2: 10 % for bins, and of the rest 10 % each for single columns and choices.
    assert "tables of pairs 72 %, private bins 10 %, single columns 9 %, choices of pairs 9 % of mu^2" in out
    assert "of two with ill among them and of the pairs that are chosen" in out


def test_the_synthetic_table_is_written_like_the_data(folder, sfumato):
    """Separator, decimal mark, encoding; missing cells empty, whole numbers whole, and its own schema reads it back."""
    written(folder, f'{PUBLIC}\nmissing = ["age", "income", "since"]')
    assert sfumato("release", "table.toml", "-o", "t.sfumato")[0] == 0
    assert sfumato("query", "synthesize", "t.sfumato", "--rows", "400", "-o", "rows.csv")[0] == 0
    text = (folder / "rows.csv").read_bytes().decode("cp1252")
    rows = list(csv.DictReader(text.splitlines(), delimiter=";"))
    assert len(rows) == 400
    assert all(re.fullmatch(r"\d*", row["age"]) for row in rows)
    assert all(re.fullmatch(r"(-?\d+(,\d+)?)?", row["income"]) for row in rows)
    assert all(re.fullmatch(r"(\d\d\.\d\d\.\d{4})?", row["since"]) for row in rows)
    assert {row["region"] for row in rows} == {"Nord", "Süd", "Ost;West"}
    for name in ("age", "income", "since"):
        assert 0 < sum(not row[name] for row in rows) < len(rows)
    counted = str(sf.Schema.load(folder / "people.toml").check(folder / "rows.csv", counts=True))
    cells = {line.split()[0]: [int(each) for each in line.split()[1:]] for line in counted.splitlines()[3:]}
    assert all(changed[1:] == [0, 0, 0] for changed in cells.values())
    assert cells["age"][0] == sum(not row["age"] for row in rows)
    assert cells["region"][0] == cells["ill"][0] == 0
    assert sfumato("query", "synthesize", "t.sfumato", "--rows", "3")[1].startswith("age;income;")


def test_a_synthetic_table_of_a_file_without_a_header_has_none_and_keeps_the_places(folder, sfumato):
    schema = (folder / "people.toml").read_text()
    assert schema.count("[table]\n") == 1
    named = ["c1", *sf.Schema.from_toml(schema).columns]
    (folder / "people.toml").write_text(schema.replace("[table]\n", f"[table]\nheader = false\nnames = {named}\n"))
    lines = (folder / "people.csv").read_bytes().split(b"\n")[1:]
    (folder / "people.csv").write_bytes(b"\n".join(b"odd;" + line if line else line for line in lines))
    written(folder, f'{PUBLIC}\nmissing = ["age", "income", "since"]')
    assert sfumato("release", "table.toml", "-o", "t.sfumato")[0] == 0
    assert sfumato("query", "synthesize", "t.sfumato", "--rows", "9", "-o", "rows.csv")[0] == 0
    rows = [line.split(";") for line in (folder / "rows.csv").read_bytes().decode("cp1252").splitlines()]
    assert len(rows) == 9
    assert {row[0] for row in rows} == {""}
    counts = sf.Schema.load(folder / "people.toml").check(folder / "rows.csv", counts=True)
    assert (counts.rows, counts.ragged, counts.columns["region"].missing) == (9, 0, 0)


def test_questions_without_an_answer_are_refused_in_plain_words(folder, sfumato):
    written(folder, f'{PUBLIC}\nmissing = "all"')
    assert sfumato("release", "table.toml", "-o", "t.sfumato")[0] == 0
    for words, sentence in {
        ("query", "quantile", "t.sfumato"): "an estimate has no quantiles: ask for an interval.",
        ("query", "probability", "t.sfumato", "--above", "0.5"): "an estimate has no shares: ask for an interval.",
        ("query", "top", "t.sfumato"): "ask release.marginal(column)",
        (
            "query",
            "marginal",
            "t.sfumato",
            "age",
            "ill",
            "since",
            "--interval",
            "0.9",
        ): "no single table counts age, ill",
        ("compare", "table.toml"): "priced by one theorem",
        ("rehearse", "table.toml"): "rehearse is for regressions",
    }.items():
        code, _, err = sfumato(*words)
        assert code == 2
        assert sentence in err
        assert len(err.splitlines()) == 1
    release = sf.load(folder / "t.sfumato")
    with pytest.raises(sf.errors.ArgumentError, match="pgmpy has no form"):
        release.to_pgmpy()
    with pytest.raises(sf.errors.ArgumentError, match="no single width"):
        sf.plan_for_width(Spec.load(folder / "table.toml").model, N, 0.01)
    with pytest.raises(sf.errors.MechanismRefused, match=r"^Gaussian noise is never pure"):
        sf.plan(Spec.load(folder / "table.toml").model, N, 1.0, 0)
    assert "age=" in str(release.to_pandas(noise_aware=False).columns)


def test_levels_of_a_learnt_table_are_asked_for_as_texts(folder, sfumato):
    written(folder, f'{PUBLIC}\nmissing = ["age"]')
    assert sfumato("release", "table.toml", "-o", "t.sfumato")[0] == 0
    code, out, _ = sfumato("query", "conditional", "t.sfumato", "ill", "--given", "age=missing", "--interval", "0.9")
    assert code == 0
    assert "90 % interval" in out
    # Intervals of all shares name bins as the questions do; for programs labels are those of the file.
    assert re.search(r"^age=0 to 14 +0", sfumato("query", "interval", "t.sfumato")[1], re.MULTILINE)
    assert '"age=[0, 15)"' in sfumato("query", "interval", "t.sfumato", "--json")[1]
    code, out, _ = sfumato("query", "marginal", "t.sfumato", "since", "region")
    assert code == 0
    assert "[2010-01-01," in out


def test_rounds_and_fits_are_steps_of_one_run(folder, monkeypatch):
    """A bar that began anew after the rounds would show the run as nearly done twice."""
    model = Spec.load(written(folder, f'{PUBLIC}\npairs = "select"\nchosen = 4\nrounds = 2')).model
    seen: list[tuple[int, int]] = []

    class Line:
        def __call__(self, done, steps):
            seen.append((done, steps))

        def rows(self, read, n):
            pytest.fail("rows in memory are not read from a file")

    monkeypatch.setattr(publishing, "shown", lambda name: nullcontext(Line()))
    data = sf.Dataset.from_table(folder / "people.csv", schema=sf.Schema.load(folder / "people.toml"))
    sf.publish(sf.plan(model, data.n, 1.0, 1e-6), data, progress=True)
    steps = 2 + FOLDS  # two rounds, and a fit for each fold
    assert seen == [(step, steps) for step in range(1, steps + 1)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"missing": True}, {"missing": None}, {"missing": "age"}, {"bins": 3}, {"bins": ["age"]}, {"bins": {"age": "ten"}},
        {"leave_out": [[["age"]]]}, {"leave_out": [3]}, {"impossible": [3]}, {"target": ["ill"]}, {"pairs": 3},
        {"pairs": "select", "chosen": 3, "rounds": 99}, {"schema": None}, {"schema": {"age": 1}},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_arguments_of_learn_are_refused_by_name(wrong, folder):
    schema = sf.Schema.load(folder / "people.toml")
    with pytest.raises(sf.errors.ArgumentError, match=next(name for name in reversed(wrong))):
        sf.networks.learn(**{"schema": schema, **wrong})
