"""Broken specs, schemas, releases, ledgers and arguments: whatever is given, a command ends with one clear line."""

from __future__ import annotations

import os
import random
import resource
import sys
from pathlib import Path

import fuzzing
import pytest

# `make test` tries 200 mutations in all; SFUMATO_LONG=1 tries 2,000.
EACH = 400 if os.environ.get("SFUMATO_LONG") == "1" else 40
# What a command may take beside what this process holds already. A crafted size asks for far more.
MEMORY = 2 * 2**30


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    before = Path.cwd()
    os.chdir(folder)
    try:
        fuzzing.write_sound_files(folder)
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def bounded_memory():
    """Let a command that asks for endless memory fail at once instead of taking the machine down with it."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    if sys.platform == "linux":
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("kind", list(fuzzing.KINDS))
def test_every_mutation_ends_in_one_clear_line(kind, sound, tmp_path, monkeypatch, bounded_memory):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SFUMATO_TRACEBACK", raising=False)
    complaints, refused = [], 0
    for seed in range(EACH):
        rng = random.Random(f"{kind} {seed}")
        folder = fuzzing.fresh_copy(sound, tmp_path / "files")
        monkeypatch.chdir(folder)
        outcome = fuzzing.run(fuzzing.KINDS[kind](folder, rng))
        refused += outcome.code != 0
        if complaint := outcome.complaint():
            complaints.append(f"{kind} {seed}: {' '.join(outcome.words)[:200]}: {complaint}")
    assert not complaints, "\n".join(complaints)
    assert refused >= EACH // 4, "too few mutations broke anything: the fuzz is blind"


def test_the_sound_files_need_no_complaint(sound, monkeypatch, tmp_path):
    monkeypatch.chdir(fuzzing.fresh_copy(sound, tmp_path / "files"))
    for words in (*fuzzing.COMMANDS, *fuzzing.QUESTIONS):
        outcome = fuzzing.run(words)
        assert outcome.complaint() is None, outcome
    assert fuzzing.read_back(fuzzing.as_toml(fuzzing.SCHEMA)) == fuzzing.SCHEMA
    assert fuzzing.read_back(fuzzing.as_toml(fuzzing.spec_of("network"))) == fuzzing.spec_of("network")


@pytest.mark.parametrize(
    ("code", "out", "err"),
    [
        (1, "", "sfumato: this is a fault of Sfumato, not of your files"),
        (-1, "", "did not end"),
        (2, "", ""),
        (2, "", "KeyError: 'n'"),
        (2, "", "sfumato: ValueError"),
        (2, "", "sfumato: two lines of some length, of which\nthe second is one too many"),
        (0, fuzzing.CELL, ""),
        (0, "", "Traceback (most recent call last):"),
        (2, "", "sfumato: 'sfumato plan' needs more memory than this machine has free."),
        (3, "", "sfumato: postgresql://u:hidden@h could not be reached at all"),
    ],
)
def test_the_complaints_of_the_fuzz_are_not_blind(code, out, err):
    assert fuzzing.Outcome(("plan",), code, out, err).complaint() is not None
