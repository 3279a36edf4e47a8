"""Pictures of a learnt table: strengths against independent computations, dots and names where they belong."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats.contingency import association

from sfumato.pictures import notebook, of_learned, of_release, svg
from sfumato.pictures._dependence import dependence
from sfumato.pictures._svg_matrix import placed
from sfumato.pictures._svg_text import width
from sfumato.pictures.description import Matrix, Pair, Rows
from sfumato.pictures.of_learned import Strength
from tests.learnt_cases import all_pairs, released, table

LEVEL = 0.9


@cache
def known(name: str = "all") -> list[Strength]:
    return of_learned.strengths(table(name))


def test_strengths_are_those_of_the_noisy_tables_and_of_the_mixture() -> None:
    own = table()
    noisy = {each.columns: each for each in own.counted}
    assert [each.columns for each in known()] == all_pairs()
    for each in known():
        counted = noisy[each.columns]
        expected = dependence(counted.counts, counted.variance, len(all_pairs()))
        assert (each.measured, each.clear) == (expected.strength, expected.clear)
        # Shares as counts of a million million records: rounding them changes V by less than a millionth.
        counts = np.round(own.joint(each.columns) * 1e12).astype(np.int64) + 1
        assert each.synthetic == pytest.approx(association(counts, method="cramer"), abs=1e-6)
    clear = {each.columns for each in known() if each.clear}
    assert ("age", "income") in clear
    assert ("age", "ill") in clear
    strongest = of_learned.ranked(known())[0]
    assert strongest.columns == ("age", "income")


def test_pairs_that_were_not_counted_have_hollow_dots_and_are_never_called_clear() -> None:
    own, each = table("chosen"), known("chosen")
    counted = {frozenset(one.columns) for one in own.counted if len(one.columns) == 2}
    picture = of_learned.matrix(released("chosen"), own, each)
    for pair in picture.pairs:
        names = frozenset((picture.names[pair.first], picture.names[pair.second]))
        assert pair.guessed == (names not in counted)
        assert not (pair.guessed and pair.unclear)
    assert all(one.measured is None and not one.clear for one in each if frozenset(one.columns) not in counted)
    assert "7 pairs were not counted together" in picture.alt
    assert any("guess" in text for _, text in picture.key)
    assert not any("guess" in text for _, text in of_learned.matrix(released(), table(), known()).key)


def test_the_pictures_are_the_matrix_then_tables_then_shares() -> None:
    first, *middle, last = of_release.pictures(released("private bins"), LEVEL)
    assert isinstance(first, Matrix)
    assert first.title.startswith("NOT PRIVATE: How strongly")
    assert middle
    assert all(isinstance(each, Rows) and "given" in each.title for each in middle)
    # The target is the column that is read given others.
    assert any("Shares of ill = yes, given age" in each.title for each in middle)
    assert isinstance(last, Rows)
    groups = [row.group for row in last.rows if row.group]
    assert list(dict.fromkeys(groups)) == ["age", "sex", "region", "income"]
    # Edges of private bins are released; the number of a bin says nothing.
    assert not any("bin " in row.label for row in last.rows)
    ages = [row.label for row in last.rows if row.group == "age"]
    assert ages[0].startswith("0 to")
    assert ages[-1].endswith("80")


def test_a_target_is_read_given_the_other_column_whichever_has_fewer_levels() -> None:
    own = table()
    aimed = replace(own, learnt=replace(own.learnt, model=replace(own.model, target="age")))
    by_age = next(each for each in own.counted if each.columns == ("age", "ill"))
    assert of_learned._turned(own, by_age).columns == ("age", "ill")
    turned = of_learned._turned(aimed, by_age)
    assert turned.columns == ("ill", "age")
    np.testing.assert_array_equal(turned.counts, by_age.counts.T)


def test_of_bins_those_evenly_apart_are_shown_with_both_ends() -> None:
    picture = of_learned.strongest(released(), table(), known(), LEVEL, 1)[0].picture
    assert "4 of 5 combinations" in picture.title
    groups = list(dict.fromkeys(row.group for row in picture.rows))
    assert groups[0].endswith("= 0 to 14")
    assert groups[-1].endswith("= 60 to 80")


@pytest.mark.parametrize("count", [2, 8, 15, 30, 40])
@pytest.mark.parametrize("across", [svg.WIDE, svg.NARROW])
def test_names_stand_inside_and_no_dot_meets_a_name_or_another_dot(count: int, across: int) -> None:
    names = tuple(f"column with a name {k}" if k % 3 else f"c{k}" for k in range(count))
    pairs = tuple(Pair(a, b, 1.0) for a in range(count) for b in range(a + 1, count))
    layout = placed(Matrix("t", names, pairs, "a"), across)
    for k, (text, left, middle) in enumerate(layout.names):
        assert left + width(text) <= across + 1e-9
        assert len(text) > 3 or text == names[k]
        for other in range(k):
            x, y = layout.middle(other, k)
            assert y == middle
            assert x + layout.radius(pairs[0]) <= left
    assert layout.radius(pairs[0]) <= min(layout.cell, layout.row) / 2
    # Areas are in proportion to strengths.
    small = layout.radius(Pair(0, 1, 0.81))
    assert small == pytest.approx(0.9 * layout.radius(pairs[0]), rel=1e-9)


def test_of_very_many_columns_those_with_the_strongest_pairs_are_drawn() -> None:
    names = [f"c{k}" for k in range(50)]
    rng = np.random.default_rng(3)
    made = [
        Strength((a, b), float(rng.random()) * 0.2 + 0.7 * (b == "c49"), clear=True, synthetic=0.1)
        for k, a in enumerate(names)
        for b in names[k + 1 :]
    ]
    kept = of_learned._kept(names, made)
    assert len(kept) == of_learned.MOST_NAMES
    assert "c49" in kept
    assert list(kept) == sorted(kept, key=lambda name: int(name[1:]))


def test_markup_is_escaped_and_every_dot_names_its_pair() -> None:
    picture = of_learned.matrix(released(), table(), known())
    hostile = replace(picture, names=("<b>", *picture.names[1:]))
    made = svg.figure(hostile)
    assert "<b>" not in made
    assert "&lt;b&gt;, sex" in made
    assert len(re.findall("<circle", svg.standalone(picture))) == len(picture.pairs) + len(picture.key)


def test_a_notebook_and_matplotlib_show_the_matrix() -> None:
    shown = notebook.fragment(released())
    assert "How strongly columns depend on each other" in shown
    assert "age=0 to 14" in shown
    figure = released("chosen").plot()
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert set(table().model.names) <= set(texts)
    drawn = of_learned.matrix(released("chosen"), table("chosen"), known("chosen"))
    assert len(figure.axes[0].patches) == len(all_pairs()) + len(drawn.key)
