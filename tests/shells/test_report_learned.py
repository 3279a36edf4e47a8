"""The report of a learnt table: what it says, that it says it in the columns' own values, and what it warns of."""

from __future__ import annotations

import re
from functools import cache
from html import unescape

import pytest

from sfumato.pictures import of_learned
from sfumato.queries.table_quality import Way, quality
from sfumato.shells.report import page
from sfumato.shells.report_quality import _verdict
from sfumato.wording import describe, missing_in_words, shown_labels
from tests.learnt_cases import N, all_pairs, released, table


@cache
def text(name: str) -> str:
    """The page without its markup."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page(released(name)).partition("</style>")[2])))


def test_the_quality_section_has_the_numbers_of_the_release() -> None:
    made = quality(table("chosen"))
    shown = text("chosen")
    for way in made.ways[:2]:
        for number in (way.misfit, way.noise, *([way.error] if way.columns > 1 else [])):
            assert number is not None
            assert (f"{number:.4f}" if number < 0.01 else f"{number:.3f}") in shown
    assert "not estimated" in shown
    assert "three columns not counted not counted not counted" in shown
    assert f"measures the error of {made.triples} sets of three" in shown
    assert f"From {N:,} records (unit: person) 3 of the 10 pairs of 5 columns were counted" in shown


def test_pairs_that_were_not_counted_are_listed_with_what_that_means() -> None:
    made, shown = quality(table("chosen")), text("chosen")
    guesses = {each.columns: each.synthetic for each in of_learned.strengths(table("chosen"))}
    assert f"1 were kept apart by the plan: sex and region {guesses['sex', 'region']:.2f}." in shown
    for first, second in made.not_chosen:
        assert f"{first} and {second} {guesses[first, second]:.2f}" in shown
    assert "is the model's guess" in shown
    assert "All pairs of columns were counted." in text("private bins")
    assert "kept apart" not in text("private bins")


@pytest.mark.parametrize("name", ["chosen", "private bins"])
def test_sharp_edges_stand_on_every_page(name: str) -> None:
    for words in (
        "sample of a model",
        "What no pair of columns shows is invented",
        "Rare combinations are mostly noise",
        "evidence about somebody",
        "Intervals come from the noisy tables",
        "Significance tests on synthetic rows are wrong",
    ):
        assert words in text(name)


def test_bins_are_written_with_their_edges_everywhere() -> None:
    release = released("private bins")
    assert any("bin 1 of" in label for label in release.draws.labels)
    labels = shown_labels(release)
    assert len(labels) == len(release.draws.labels)
    assert labels[0].startswith("age=0 to ")
    for shown in (text("private bins"), str(release.summary()), describe(release), " ".join(labels)):
        assert not re.search(r"bin \d+ of", shown)
        assert "age=0 to" in shown or "age = 0 to" in shown


def test_a_rule_private_bins_and_a_target_are_named() -> None:
    assert "1 rule known beforehand excludes combinations" in text("rule")
    assert "The bins of age, income follow from noisy counts" in text("private bins")
    assert "ill was counted with every other column" in text("private bins")
    assert "known beforehand" not in text("chosen")


def test_the_description_names_columns_pairs_and_missing_cells() -> None:
    said = describe(released())
    assert "1 estimate of a learnt table of age, sex, region, income, ill; 10 pairs of columns" in said
    assert "\nestimate age=0 to 14 " in said
    assert "release.summary()" in said
    chosen = released("chosen")
    assert "3 chosen of 9 pairs of columns" in describe(chosen)
    assert missing_in_words(chosen) == (
        "empty, unreadable or undeclared cells: a level of their own in income; elsewhere age as 40, sex as f, "
        "region as n, ill as no."
    )
    assert "level of their own" not in missing_in_words(released())


def test_a_gap_beyond_the_noise_is_said_to_miss_something() -> None:
    assert "misses some" in _verdict(Way(2, 0.05, 0.02, 0.04, 0.01, 0.01))
    assert "nothing that the model misses" in _verdict(Way(2, 0.02, 0.02, 0.01, 0.01, 0.01))


def test_every_counted_pair_stands_in_the_table_and_other_releases_have_no_such_section() -> None:
    shown = text("private bins")
    assert "All 10 counted pairs" in shown
    assert all(f"{a} and {b}" in shown for a, b in all_pairs())
    import sfumato as sf

    schema = sf.Schema({"ill": sf.Boolean(missing=False)}, name="survey")
    data = sf.Dataset.from_table({"ill": [True, False] * 25}, schema=schema)
    assert "synthetic" not in page(sf.publish(sf.plan(sf.families.BetaBernoulli(), 50, 1.0, 1e-6), data))
