"""What is read from, said of and drawn of a release of each kind is what was recorded."""

from __future__ import annotations

import pytest

from recorded import kinds, texts, ways
from recorded.shells import Shell, questions
from sfumato.errors import SfumatoError
from sfumato.pictures import of_release, svg
from sfumato.shells import report


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_answers(kind, monkeypatch, capsys, tmp_path):
    release, whole, typed = kinds.release(kind), kind in kinds.WHOLE, kind in kinds.TYPED
    known, shell = ways.arguments(release), Shell(monkeypatch, capsys, tmp_path)
    release.save("r.sfumato")
    ways.write_csv(ways.public_rows(release), tmp_path / "rows.csv")
    asked = ways.EXPRESSIONS + ways.QUESTIONS if whole else ways.EXPRESSIONS
    with kinds.fixed(kind):
        answers = [(f">>> {each}", *ways.evaluated(each, known)) for each in asked]
        answers += [(f"$ {each}", *shell(each)) for each in questions(release) if typed]
    texts.check(f"{kind}/answers", ways.transcript(answers, kind in kinds.REFUSING))


@pytest.mark.parametrize("kind", [kind for kind in kinds.KINDS if kind not in kinds.PLAIN])
def test_pictures_and_pages(kind):
    release = kinds.release(kind)
    try:
        figures = [svg.figure(each) for each in of_release.pictures(release, 0.8)]
        # The form for narrow screens is drawn by the same functions.
        whole = figures if kind in kinds.WHOLE else [each.partition('<svg class="narrow-form"')[0] for each in figures]
        drawn = "\n".join(map(texts.elements, whole))
    except SfumatoError as error:
        drawn = str(error)
    card = texts.elements(release._repr_html_(), False)
    page = texts.elements(report.page(release), False)
    texts.check(f"{kind}/pages", f"PICTURES\n{drawn}\n\nCARD\n{card}\n\nREPORT\n{page}")
