"""What public functions and methods answer and refuse is what was recorded, topic by topic."""

from __future__ import annotations

import pytest

from recorded import asked, kinds, texts, ways


@pytest.mark.parametrize("topic", asked.TOPICS)
def test_topic(topic):
    with kinds.fixed(topic):
        known = asked.names()
        answers = [(f">>> {each}", *ways.evaluated(each, known)) for each in asked.TOPICS[topic]]
    texts.check(f"functions/{topic}", ways.transcript(answers, True))
