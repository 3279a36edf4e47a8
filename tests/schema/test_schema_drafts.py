"""Drafts of a schema from files that are not as they should be."""

from __future__ import annotations

import pytest

from sfumato.errors import ArgumentError
from sfumato.schema import Schema


def test_a_draft_from_a_header_reads_no_line_after_it_even_where_quotes_do_not_close(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('age,"name\nsecret,31\nother",7\n')
    with pytest.raises(ArgumentError, match="quotes do not close") as caught:
        Schema.draft(path, header=True)
    assert "secret" not in str(caught.value)
    path.write_text('age,"na""me"\nsecret,31\n')
    assert "secret" not in Schema.draft(path, header=True)
    assert '"na\\"me"' in Schema.draft(path, header=True)


def test_a_dictionary_that_is_no_csv_is_a_sentence(tmp_path):
    path = tmp_path / "dictionary.csv"
    path.write_text("name,type\n" + "x" * 200_000 + ",number\n")
    with pytest.raises(ArgumentError, match="well-formed"):
        Schema.draft(path)


@pytest.mark.parametrize(
    "text",
    [
        "name,class,group\nAnna Secret,5b,2\nBea Secret,4a,1\n",
        "name,min,max\nAnna Secret,41,170\nAnna Secret,50,180\n",
        "name,from,to\nAnna,Secret Street,1\n",
    ],
)
def test_a_file_of_data_that_looks_like_a_code_book_is_refused_and_no_cell_is_shown(tmp_path, text):
    path = tmp_path / "pupils.csv"
    path.write_text(text)
    with pytest.raises(ArgumentError) as refused:
        Schema.draft(path)
    assert "Secret" not in str(refused.value)
    assert "5b" not in str(refused.value)


def test_a_code_book_with_one_known_type_or_none_is_read(tmp_path):
    path = tmp_path / "book.csv"
    path.write_text("name,class\nage,integer\nopinion,likert\n")
    assert 'type = "REQUIRED"' in Schema.draft(path)
    path.write_text("name,type,label\nage,,in years\n")
    assert "[columns.age]" in Schema.draft(path)
