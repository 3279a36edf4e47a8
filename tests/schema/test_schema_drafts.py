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
