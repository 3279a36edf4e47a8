"""Crafted sizes: nothing large is allocated and nothing runs without end, on reading or on verifying."""

from __future__ import annotations

import hashlib
import json

import pytest

import sfumato as sf
from forging import forge, forged, schema_text, stored
from sfumato import storage
from sfumato.errors import FormatError, SfumatoError

SIZES = {
    "draws": ("rate noisy", {"plan.draws": 10**12}),
    "records": ("rate noisy", {"plan.n": 10**300}),
    "no records": ("rate noisy", {"plan.n": 0}),
    "dimension of a mean": ("vector mean", {"plan.model.dimension": 10**9, "plan.model.mean": None}),
    "dimension of a regression": ("chain", {"plan.model.dimension": 10**9}),
    "features of the schema": ("chain", {"schema.document": schema_text("chain", dimension=10**9)}),
    "levels": ("shares", {"plan.model.levels": 10**9}),
    "cardinalities": ("network noisy", {"plan.model.cardinalities.0": ["a", 10**9]}),
    "states": ("transitions", {"plan.model.states": 10**9}),
    "orders": ("rate noisy", {"guarantee.curve": {"curve": "renyi", "orders": [2.0] * 10**5, "values": [1.0] * 10**5}}),
    "orders of the target": (
        "rate noisy",
        {"plan.target.curve": {"curve": "renyi", "orders": [2.0] * 10**5, "values": [1.0] * 10**5}},
    ),
    "parts of a target that are short by themselves": (
        "rate noisy",
        {
            "plan.target": {
                "epsilon": None,
                "delta": None,
                "curve": {
                    "curve": "composed",
                    "parts": [
                        {"count": k, "part": {"curve": "renyi", "orders": [2.0] * 999, "values": [1.0] * 999}}
                        for k in range(1, 12)
                    ],
                },
            }
        },
    ),
    "steps": ("path with transcript", {"plan.parameters.steps": 10**18}),
    "points": ("kinks on a line", {"plan.parameters.points": 10**15}),
    "points of a lattice": ("lattice in a plane", {"plan.parameters.points": 10**15}),
    "a whole number of many digits": ("rate noisy", {"plan.cost.passes": 10**4000}),
}


@pytest.mark.parametrize("what", list(SIZES))
def test_an_absurd_size_is_refused_before_anything_is_built(what):
    import resource

    name, edits = SIZES[what]
    data = forge(name, edits, remake=("plan",))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(SfumatoError):
        sf.Release.from_bytes(data).verify()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000, "kilobytes"


def test_the_numbers_of_a_curve_are_counted_over_all_its_parts():
    name, edits = SIZES["parts of a target that are short by themselves"]
    with pytest.raises(FormatError, match="more than 10,000 numbers in all"):
        sf.Release.from_bytes(forge(name, edits, remake=("plan",)))


def test_draws_of_the_plan_and_of_the_arrays_are_compared_on_reading():
    """Before anything is verified: a query that loops over the draws of the plan must not trust the plan."""
    with pytest.raises(FormatError, match="number of draws"):
        forged("rate noisy", {"plan.draws": 10**12})


def test_an_empty_array_with_a_long_side_is_refused():
    """It takes no bytes, so only its shape can give it away: a loop over its steps would never end."""
    documents, arrays = storage.unpack(stored("path with transcript"))
    whole = storage.pack(documents, arrays)
    for shape in ([0, 10**18], [10**18, 0], [1, 10**18, 0]):
        edited = _with_shape(whole, shape)
        with pytest.raises(FormatError, match="shape"):
            storage.unpack(edited)


def _with_shape(whole: bytes, shape: list[int]) -> bytes:
    start = len(storage.MAGIC) + 40
    length = int.from_bytes(whole[len(storage.MAGIC) : len(storage.MAGIC) + 8], "little")
    content = json.loads(whole[start : start + length])
    empty = {"dtype": "<f8", "shape": shape, "size": 0, "sha256": hashlib.sha256(b"").hexdigest()}
    content["arrays"] = [{**each, **empty} if each["name"] == "transcript" else each for each in content["arrays"]]
    header = json.dumps(content).encode()
    digest = hashlib.sha256(header).digest()
    return storage.MAGIC + len(header).to_bytes(8, "little") + digest + header + whole[start + length :]


def test_numbers_that_json_does_not_have_are_refused():
    data = stored("rate noisy")
    start = len(storage.MAGIC) + 40
    for planted in (b"NaN", b"Infinity", b"1e999"):
        length = int.from_bytes(data[len(storage.MAGIC) : len(storage.MAGIC) + 8], "little")
        header = data[start : start + length].replace(b'"delta":1e-06', b'"delta":' + planted)
        edited = storage.MAGIC + len(header).to_bytes(8, "little") + hashlib.sha256(header).digest() + header
        with pytest.raises(FormatError, match="header holds"):
            storage.unpack(edited + data[start + length :])
