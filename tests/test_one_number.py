"""One number for one thing: what a release prints first is the estimate of its interval, in every command, method and page."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import command_line
import sfumato as sf
from recorded import kinds
from sfumato.pictures import of_release
from sfumato.pictures.description import Rows
from sfumato.queries.at_the_edge import AT_LEAST, AT_MOST, EMPTY, NOT_KNOWN, in_words, meaning, state
from sfumato.queries.shares_by_level import adding_up
from sfumato.queries.summary import shown
from sfumato.shells import report
from sfumato.wording import number_writer

# Of each kind of release one; the other kinds of tests/recorded are read by the same functions.
KINDS = (
    "rate noisy", "rate diffused", "shares", "histogram", "cross table", "bounded mean", "mean of dates", "rates by region",
    "means by region", "groups diffused", "quantiles", "quantiles of dates", "events", "durations", "precision", "mean", "log odds",
    "vector mean", "network of a survey", "learned", "logistic", "linear", "poisson", "path with transcript",
    "rate weighted", "mean weighted", "visits", "visits logistic",
)  # fmt: skip
WITHOUT = ("finite", "quantile", "multinomial", "chain in a ball", "logistic drawn")


@pytest.fixture
def typed(monkeypatch, capsys, tmp_path):
    """Type a command about a release, which must answer."""

    def ask(release: sf.Release, words: str) -> str:
        release.save("r.sfumato")
        code, out, err = command_line.typed(monkeypatch, capsys, *words.split())
        assert code == 0, err
        return out

    monkeypatch.chdir(tmp_path)
    return ask


def is_regression(release: sf.Release) -> bool:
    return release.plan["model"].get("model") == "gibbs"


def expected(release: sf.Release) -> dict[str, float | None]:
    """Label -> the estimate, None where none is shown."""
    said = release.numbers().states
    return {
        label: None if word else value
        for label, word, value in zip(release.labels, said, release.estimate().ravel(), strict=True)
    }


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in kinds.KINDS])
def test_every_command_and_document_has_the_estimate(kind, typed):
    release = kinds.release(kind)
    wanted = expected(release)
    ends = dict(zip(release.labels, release.interval().reshape(2, -1).T.tolist(), strict=True))
    documents = {
        "show": json.loads(typed(release, "show r.sfumato --json"))["estimates"],
        "mean": json.loads(typed(release, "query mean r.sfumato --json")),
        "interval": json.loads(typed(release, "query interval r.sfumato --json")),
    }
    summary = json.loads(typed(release, "query summary r.sfumato --json"))
    if is_regression(release):
        rows = summary["coefficients"]
        documents["summary"] = {name: {**row, "estimate": row["coef"]} for name, row in rows.items()}
    else:
        documents["summary"] = summary["estimates"]
    for document in documents.values():
        found = {label: row["estimate"] for label, row in document.items()}
        assert found.keys() == wanted.keys()
        for label, value in wanted.items():
            assert found[label] == (value if value is None else pytest.approx(value, rel=1e-12, abs=1e-300))
            assert [document[label]["lower"], document[label]["upper"]] == pytest.approx(
                ends[label], rel=1e-12, abs=1e-300
            )
    table = list(csv.reader(io.StringIO(typed(release, "query summary r.sfumato --csv"))))
    column = table[0].index("coef" if is_regression(release) else "estimate")
    cells = [row[column] for row in table[1:]]
    assert [None if cell == "" else pytest.approx(float(cell), rel=1e-12, abs=1e-300) for cell in cells] == [
        *wanted.values()
    ]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in kinds.KINDS])
def test_every_text_has_the_estimate_and_not_the_mean_of_the_draws(kind, typed):
    release = kinds.release(kind)
    numbers, write = release.numbers(), number_writer(release)
    first = [in_words(*each, write) for each in zip(numbers.estimates, *numbers.ends, numbers.states, strict=True)][:6]
    described, listed = str(release), typed(release, "query mean r.sfumato")
    assert all(text in described and text in listed for text in first)
    if not is_regression(release):
        assert all(text in str(release.summary()) for text in first)
    means = [write(value) for value in release.mean().ravel()]
    apart = [mean for mean, text in zip(means, first, strict=False) if mean != text and len(mean) > 4]
    for text in (described, listed, str(release.summary()), release._repr_html_(), report.page(release)):
        assert not any(f" {mean} " in text or f">{mean}<" in text for mean in apart)
    # Means of draws are there for those who ask, under that name.
    asked = typed(release, "query mean r.sfumato --draws")
    assert "mean of the draws" in asked
    assert f"{release.mean().ravel()[0]:.6g}" in asked


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in kinds.KINDS])
def test_the_estimate_is_the_limit_of_ever_narrower_intervals(kind):
    release = kinds.release(kind)
    estimate = release.estimate().ravel()
    scale = np.abs(np.diff(release.interval(0.9).reshape(2, -1), axis=0))[0]
    for level, near in ((1e-3, 2e-3), (1e-6, 1e-4)):
        low, high = release.interval(level).reshape(2, -1)
        # A quantile is a whole cell of its lattice: the limit is the cell, and the estimate lies in it.
        assert np.all(estimate >= low - near * scale)
        assert np.all(estimate <= high + near * scale)
    for level in (0.1, 0.5, 0.95):
        low, high = release.interval(level).reshape(2, -1)
        assert np.all((low <= estimate) & (estimate <= high))


@pytest.mark.parametrize("kind", [kind for kind in WITHOUT if kind in kinds.KINDS])
def test_where_no_interval_is_worked_out_the_mean_is_called_that_of_the_draws(kind, typed):
    release = kinds.release(kind)
    assert release.numbers().reason
    document = json.loads(typed(release, "show r.sfumato --json"))
    assert [row["mean of the draws"] for row in document["estimates"].values()] == release.mean().ravel().tolist()
    assert document["no_interval"] == release.numbers().reason
    for text in (str(release), typed(release, "query mean r.sfumato"), release._repr_html_()):
        assert "mean of the draws" in text
        assert "estimate " not in text.replace("estimate of", "").replace("an estimate", "").replace("the estimate", "")


def test_questions_are_answered_from_what_a_reader_believes_and_say_so():
    release = kinds.release("rate noisy")
    drawn = release.to_arviz(noise_aware=True).posterior["theta"].values
    assert release.ask.mean().value == pytest.approx(float(drawn.mean()), rel=1e-12)
    assert release.ask.quantile(0.5).value == pytest.approx(float(release.estimate()), abs=0.01)
    assert "what this release tells of the parameter" in str(release.ask.probability(lambda theta: theta > 0.5))
    one = replace(release, draws=replace(release.draws, values=release.draws.values[:, :1]))
    answer = one.respond(lambda theta, at: 1 - np.abs(theta[:, None] - np.asarray(at)[None, :]), [0.2, 0.5, 0.8])
    assert answer.response == 0.5
    tables = kinds.release("cross table")
    assert f"over 1 draw of {release.ask.sample.law}" not in str(tables.ask.mean())
    assert "the posterior that follows from the noisy totals" in str(tables.ask.mean())


EDGES = [
    # estimate, lower, upper, possible, counted, said
    (0.3, 0.1, 0.5, (0, 1), True, ""),
    (0.02, 0.0, 0.05, (0, 1), True, AT_MOST),
    (0.98, 0.9, 1.0, (0, 1), True, AT_LEAST),
    (0.5, 0.05, 0.86, (0, 1), True, NOT_KNOWN),
    (0.5, 0.1, 0.9, (0, 1), True, ""),  # eight tenths of what is possible, and no more
    (30.0, 18.0, 40.0, (18, 90), False, ""),  # of a mean the interval may reach the bound
    (18.0, 18.0, 40.0, (18, 90), False, AT_MOST),
    (90.0, 70.0, 90.0, (18, 90), False, AT_LEAST),
    (30.0, 18.0, 76.0, (18, 90), False, NOT_KNOWN),
    (0.0, -5.0, 5.0, (-np.inf, np.inf), False, ""),
]


@pytest.mark.parametrize(("estimate", "lower", "upper", "possible", "counted", "said"), EDGES)
def test_no_number_is_shown_where_none_is_known(estimate, lower, upper, possible, counted, said):
    assert state(estimate, lower, upper, possible, counted) == said
    words = in_words(estimate, lower, upper, said, "{:g}".format)
    assert (
        words
        == {
            "": f"{estimate:g}",
            AT_MOST: f"at most {upper:g}",
            AT_LEAST: f"at least {lower:g}",
            NOT_KNOWN: "not known",
        }[said]
    )
    assert (said in meaning([said])) if said else meaning([said]) == ""


def small_groups(of: sf.families.Family, values: dict[str, list], **options) -> sf.Release:
    """A release by group of one group of a thousand, one of six people and one of nobody."""
    groups = ["large"] * 1_000 + ["six"] * 6
    schema = sf.Schema({"g": sf.Category(["large", "six", "none"], missing="none"), **values["column"]}, name="survey")
    data = sf.Dataset.from_table({"g": groups, "x": values["x"]}, schema=schema)
    plan = sf.plan(sf.grouped(of, "g", ["large", "six", "none"]), data.n, epsilon=0.3, delta=1e-6, **options)
    return sf.publish(plan, data, randomness=sf.seeded(6))


@pytest.mark.parametrize("family", ["rate", "mean"])
def test_groups_that_are_not_told_from_empty_ones_are_called_so_everywhere(family, typed):
    if family == "rate":
        bits = [k % 3 == 0 for k in range(1_006)]
        model, values = sf.families.BetaBernoulli(), {"column": {"x": sf.Boolean(missing=False)}, "x": bits}
        release = small_groups(model, values, mechanism="noisy-statistics")
    else:
        numbers = [float(20 + k % 50) for k in range(1_006)]
        model, values = sf.families.BoundedMean(18, 90), {"column": {"x": sf.Number(18, 90)}, "x": numbers}
        release = small_groups(model, values, goal="estimate")
    assert release.numbers().states == ("", EMPTY, EMPTY)
    texts = (str(release), str(release.summary()), typed(release, "query mean r.sfumato"), report.page(release))
    for text in (*texts, release._repr_html_()):
        assert EMPTY in text
    document = json.loads(typed(release, "query mean r.sfumato --json"))
    assert [row["estimate"] is None for row in document.values()] == [False, True, True]
    assert [row["state"] for row in document.values()] == ["", EMPTY, EMPTY]
    (picture,) = of_release.pictures(release)
    assert isinstance(picture, Rows)
    first = picture.rows[0]
    assert (first.label, first.dot, first.faint) == ("large", True, False)
    assert all(row.faint and not row.dot for row in picture.rows[1:])


@given(
    st.lists(st.tuples(*[st.just(0.0) | st.floats(1e-9, 1)] * 3).map(sorted), min_size=2, max_size=9),
)
def test_shares_of_a_whole_add_up_to_one_within_their_intervals(rows):
    low, middle, high = np.array(rows).T
    made = adding_up(middle, low, high, (0,))
    assert np.all((low <= made) & (made <= high))
    reachable = np.where(middle > 0, high, low).sum()
    if low.sum() <= 1 - 1e-9 and reachable >= 1 + 1e-9:
        assert made.sum() == pytest.approx(1, abs=1e-6)
    kept = (low < made) & (made < high)
    if kept.sum() > 1:  # one factor for all that are inside their intervals
        assert np.ptp(np.log(made[kept] / middle[kept])) < 1e-6


def test_rows_of_shares_add_up_to_one_in_tables_and_networks():
    cross, network, learned = (kinds.release(name) for name in ("cross table", "network of a survey", "learned"))
    assert cross.cross_table(of="row shares").cells.values.sum(axis=-1) == pytest.approx(1, abs=1e-9)
    assert cross.cross_table(of="column shares").cells.values.sum(axis=0) == pytest.approx(1, abs=1e-9)
    assert network.conditional("ill", ["smoker", "region"]).values.sum(axis=-1) == pytest.approx(1, abs=1e-9)
    assert network.conditional("region", {"smoker": True}).values.sum() == pytest.approx(1, abs=1e-9)
    assert learned.conditional("region", "age").values.sum(axis=-1) == pytest.approx(1, abs=1e-9)
    for release, columns in ((cross, "region"), (network, "ill"), (learned, ["age", "sex"])):
        # With and without a level the shares are the same numbers.
        assert np.array_equal(release.marginal(columns).values, release.marginal(columns, interval=0.5).values)


def test_a_number_of_a_date_is_a_date_in_every_text():
    release = kinds.release("mean of dates")
    assert number_writer(release)(
        release.estimate()[()] if release.estimate().ndim == 0 else release.estimate()[0]
    ) in str(release)
    assert shown(1.0) == "1"
