"""Randomness: a known answer, distinct streams everywhere, nothing that can be copied, and no fallback."""

from __future__ import annotations

import concurrent.futures
import copy
import multiprocessing
import os
import pickle

import numpy as np
import pytest
from randomgen import ChaCha

import sfumato.randomness as module
from goodness import LEVEL, chi_square_p
from sfumato.errors import ArgumentError, RandomnessError
from sfumato.randomness import Randomness, seeded


def numbers(stream: Randomness) -> tuple[int, float]:
    return stream.bits(128), float(stream.normal(1)[0])


def test_the_cipher_is_chacha20():
    """Keystream of the all-zero key, counter and nonce, as published with the cipher (Bernstein 2008; RFC 8439 A.1)."""
    generator = np.random.Generator(ChaCha(key=np.zeros(4, dtype=np.uint64), rounds=20))
    published = bytes.fromhex("76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7")
    assert generator.bytes(32) == published


def test_streams_are_private_and_distinct():
    drawn = {numbers(Randomness()) for _ in range(50)}
    assert len(drawn) == 50
    assert Randomness().private
    parent = Randomness()
    assert numbers(parent.spawn()) != numbers(parent.spawn())


def forked(draw, count: int) -> list:
    """What each of `count` forked children draws."""
    results = []
    for _ in range(count):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            os.write(write, repr(draw()).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            results.append(pipe.read())
        os.waitpid(child, 0)
    return results


def test_forked_children_draw_their_own():
    stream = Randomness()
    stream.bits(8)
    drawn = forked(lambda: numbers(stream), 4)
    assert len(set(drawn)) == 4
    assert repr(numbers(stream)) not in drawn


@pytest.mark.planted
def test_a_plain_generator_repeats_itself_after_fork():
    """The planted fault that the check above must see."""
    plain = np.random.Generator(ChaCha(key=np.arange(4, dtype=np.uint64), rounds=20))
    assert len(set(forked(lambda: plain.bytes(16), 4))) == 1


def _in_pool(_: int) -> tuple[int, float]:
    return numbers(Randomness())


def test_process_and_thread_pools_draw_distinct_numbers():
    with multiprocessing.get_context("fork").Pool(4) as pool:
        drawn = pool.map(_in_pool, range(40))
    assert len(set(drawn)) == 40
    shared = Randomness()
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        mine = list(threads.map(lambda _: shared.bits(64), range(2000)))
    assert len(set(mine)) == 2000


@pytest.mark.parametrize("act", [pickle.dumps, copy.copy, copy.deepcopy])
def test_it_cannot_be_copied(act):
    for stream in (Randomness(), seeded(3)):
        with pytest.raises(TypeError, match="spawn"):
            act(stream)


@pytest.mark.parametrize("broken", [lambda n: b"short", bytes])
def test_no_entropy_is_refused(monkeypatch, broken):
    monkeypatch.setattr(module.os, "urandom", broken)
    with pytest.raises(RandomnessError, match="random bytes"):
        Randomness()


def test_a_failing_system_is_refused(monkeypatch):
    def fails(_):
        raise OSError("no entropy")

    monkeypatch.setattr(module.os, "urandom", fails)
    with pytest.raises(RandomnessError, match="nothing was drawn"):
        Randomness()


def test_seeded_streams_repeat_and_say_so():
    assert numbers(seeded(7)) == numbers(seeded(7))
    assert numbers(seeded(7)) != numbers(seeded(8))
    assert not seeded(7).private
    assert "NOT private" in repr(seeded(7))
    first, second = seeded(7), seeded(7)
    assert numbers(first.spawn()) == numbers(second.spawn())
    assert numbers(first.spawn()) != numbers(first.spawn())
    with pytest.raises(ArgumentError, match="seed"):
        seeded(-1)


@pytest.mark.planted
@pytest.mark.parametrize("bound", [1, 2, 3, 7, 10])
def test_integers_below_are_uniform(bound):
    stream = seeded(bound)
    counts = np.bincount([stream.integers_below(bound) for _ in range(4000)], minlength=bound)
    assert len(counts) == bound
    if bound > 1:
        assert chi_square_p(counts, np.full(bound, 4000 / bound)) > LEVEL
        skewed = np.arange(1, bound + 1) / np.arange(1, bound + 1).sum()
        assert chi_square_p(counts, 4000 * skewed) < LEVEL


def test_integers_below_a_huge_bound_reach_its_top_digits():
    bound = 3 << 2000
    stream = seeded(1)
    thirds = np.bincount([stream.integers_below(bound) >> 2000 for _ in range(900)], minlength=3)
    assert chi_square_p(thirds, np.full(3, 300.0)) > LEVEL
    with pytest.raises(ArgumentError, match="bound"):
        stream.integers_below(0)


@pytest.mark.parametrize("make", [Randomness, lambda: seeded(5)], ids=["private", "seeded"])
def test_a_spawned_stream_is_another_one(make):
    """Not the parent under another name: its numbers are its own, and drawing them does not move the parent."""
    parent = make()
    child, second = parent.spawn(), parent.spawn()
    assert child is not parent
    assert child._generator is not parent._generator
    assert child._lock is not parent._lock
    assert len({numbers(stream) for stream in (parent, child, second, child.spawn())}) == 4
    assert child.private == parent.private


def test_a_private_child_has_a_key_of_its_own_from_the_system(monkeypatch):
    keys = [bytes([k]) * module.KEY_BYTES for k in range(1, 5)]
    expected = []
    for key in keys:
        monkeypatch.setattr(module, "_system_key", lambda key=key: key)
        expected.append(numbers(Randomness()))
    served = iter(keys)
    monkeypatch.setattr(module, "_system_key", lambda: next(served))
    parent = Randomness()
    assert [numbers(stream) for stream in (parent, parent.spawn(), parent.spawn(), parent.spawn())] == expected


def test_drawing_from_a_seeded_child_leaves_the_parent_where_it_was():
    alone, parent = seeded(9), seeded(9)
    numbers(parent.spawn())
    assert numbers(alone) == numbers(parent)
