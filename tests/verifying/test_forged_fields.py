"""One test for every field that can be forged: all digests are made anew, so only the check of that field can notice."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os

import numpy as np
import pytest

import sfumato as sf
from forging import NAMES, forge, forged, parts, stored
from release_cases import CASES, CHARGED, ball, labelled, logistic, made
from sfumato import storage
from sfumato.errors import FormatError, SfumatoError

# Their certified profiles take seconds to price again.
SLOW = ("charged in gdp with a reveal", "rate of trials", "rate exact", "rate concentrated", "target renyi", "log odds")
LONG = bool(os.environ.get("SFUMATO_LONG"))


@pytest.mark.parametrize("name", [name for name in NAMES if LONG or name not in SLOW])
def test_releases_that_earlier_code_wrote_still_load_and_verify(name):
    release = sf.Release.from_bytes(stored(name))
    assert release.verify() is release
    assert release.to_bytes() == stored(name)


def test_a_release_of_every_way_of_drawing_is_kept():
    assert sorted(NAMES) == sorted([*CASES, *CHARGED])


def schema_text(release: str, **changes: object) -> str:
    document, _ = parts(release)
    return json.dumps({**json.loads(document["schema"]["document"]), **changes})


# field -> (release, what is edited, further parts that are made to follow, a word of the refusal)
FIELDS = {
    "target: epsilon": ("rate noisy", {"plan.target.epsilon": 0.01}, (), "target"),
    "target: delta": ("rate noisy", {"plan.target.delta": 1e-9}, ("promise",), "target"),
    "target: curve": ("target gaussian", {"plan.target.curve.mu": 0.01}, ("promise",), "target"),
    "target: none": ("rate noisy", {"plan.target": None}, ("promise",), "target"),
    "target: point and curve": ("target gaussian", {"plan.target.epsilon": 1.0, "plan.target.delta": 0.1}, (), "both"),
    "target of trials with slack": ("lattice by trials", {"plan.target.delta": 1e-20}, ("promise",), "target"),
    "guarantee": ("rate noisy", {"guarantee.curve.mu": 0.01}, ("promise",), "recorded guarantee"),
    "guarantee of the plan": ("rate noisy", {"plan.guarantee.curve.mu": 0.01}, (), "planned guarantee"),
    "slack of the guarantee": ("lattice by trials", {"guarantee.slack": 1e-30}, ("promise",), "recorded guarantee"),
    "trust": (
        "converged",
        {"guarantee.trust": "proved", "plan.guarantee.trust": "proved"},
        ("promise",),
        "assumes converged",
    ),
    "trust of the plan": ("chain", {"plan.guarantee.trust": "not private"}, (), "planned guarantee says"),
    "neighbours": ("network noisy", {"guarantee.adjacency": "replace-entry"}, ("promise",), "neighbours"),
    "draws in the guarantee": ("rate noisy", {"guarantee.draws": 1}, ("promise",), "number of draws"),
    "theorem": ("chain", {"guarantee.theorem": "one-time pad"}, ("promise",), "theorem"),
    "source": ("chain", {"guarantee.source": "hearsay"}, ("promise",), "theorem"),
    "value of a hypothesis": ("chain", {"guarantee.assumptions.0.value": "1e-9"}, (), "hypotheses"),
    "a hypothesis left out": ("chain", {"guarantee.assumptions": lambda listed: listed[1:]}, (), "hypotheses"),
    "an assumption called checked": (
        "chain",
        {"guarantee.assumptions": lambda listed: [{**each, "origin": "argument"} for each in listed]},
        (),
        "hypotheses",
    ),
    "unit of the guarantee": ("rate noisy", {"guarantee.unit": "household"}, ("promise",), "unit"),
    "unit and promise together": (
        "rate noisy",
        {"guarantee.unit": "household", "schema.unit": "household"},
        ("promise",),
        "unit in the schema",
    ),
    "unit of the plan": ("rate noisy", {"plan.guarantee.unit": "country"}, (), "unit"),
    "name": ("rate noisy", {"schema.name": "census"}, (), "name"),
    "schema": ("rate noisy", {"schema.document": schema_text("rate noisy", name="census")}, (), "name"),
    "promise": ("rate noisy", {"promise": "(0.01, 1e-06)-differential privacy."}, (), "promise"),
    "kind": ("rate noisy", {"kind": "estimate"}, (), "kind"),
    "goal": ("rate noisy", {"plan.goal": "estimate", "kind": "estimate"}, (), "goal"),
    "label": ("shares noisy", {"labels.0": "pink"}, (), "shape"),
    "number of records": ("bounded mean", {"plan.n": 61}, (), "expected"),
    "number of draws": ("rate noisy", {"plan.draws": 5}, (), "number of draws"),
    "model": ("rate noisy", {"plan.model.alpha": 1.0}, (), "expected"),
    "mechanism": ("rate noisy", {"plan.mechanism": "diffused"}, (), "plans with"),
    "a parameter": ("rate noisy", {"plan.parameters.noise": 1000.0}, (), "what the plan costs"),
    "a further field of the plan": ("rate noisy", {"plan": lambda plan: {**plan, "note": "approved"}}, (), "note"),
    "version of the plan": ("rate noisy", {"plan.version": 2}, (), "version"),
    "keep": ("rate noisy", {"plan.keep": ["transcript"]}, (), "transcript"),
    "strength of a prior": ("chain exact", {"plan.parameters.strength": 0.5}, (), "strength"),
    "strength of a prior that is kept": ("kinks on a line", {"plan.parameters.strength": 2.0}, (), "strength"),
    "expected value": ("bounded mean", {"plan.expected.value": 0.001}, (), "expected"),
    "expected value, averaged": ("rate noisy", {"plan.expected.value": lambda v: v / 2}, (), "expected"),
    "expected without privacy": ("rate noisy", {"plan.expected.without_privacy": 1.0}, (), "expected"),
    "expected quantity": ("bounded mean", {"plan.expected.quantity": "error"}, (), "expected"),
    "expected unit": ("bounded mean", {"plan.expected.unit": "per cent"}, (), "expected"),
    "how it is expected": ("bounded mean", {"plan.expected.how": "measured"}, (), "expected"),
    "expected of a chain": ("chain", {"plan.expected.value": 1.0}, (), "expected"),
    "expected of a path": ("path", {"plan.expected.value": 1e-9}, (), "expected"),
    "passes": ("chain", {"plan.cost.passes": 1}, (), "cost"),
    "passes of trials": ("lattice by trials", {"plan.cost.passes": 1}, (), "cost"),
    "passes of a converged chain": ("converged", {"plan.cost.passes": 1}, (), "cost"),
    "passes in a plane": ("kinks in a plane", {"plan.cost.passes": 1}, (), "cost"),
    "chains": ("chain", {"plan.cost.chains": 1}, (), "cost"),
}


@pytest.mark.parametrize("field", list(FIELDS))
def test_a_forged_field_is_refused(field):
    name, edits, also, word = FIELDS[field]
    with pytest.raises(SfumatoError, match=word):
        forged(name, edits, *also).verify()


def test_a_plan_that_does_not_match_its_digest_is_refused():
    data = forge("rate noisy", {"plan.n": 61}, remake=())
    with pytest.raises(FormatError, match="digest"):
        sf.Release.from_bytes(data).verify()


def test_a_schema_that_does_not_match_its_digest_is_refused():
    data = forge("rate noisy", {"schema.digest": "0" * 64}, remake=())
    with pytest.raises(FormatError, match="schema"):
        sf.Release.from_bytes(data).verify()


def test_an_unedited_release_passes_through_the_forge():
    """The forger itself changes nothing: what is refused above is refused for the edit."""
    for name in ("rate noisy", "charged in gdp", "chain"):
        assert forge(name, {}, ("schema", "plan", "receipt", "promise")) == stored(name)


# --- draws -------------------------------------------------------------------------------------------------------------

# Every way of drawing; paths that keep no transcript are averages of floats, on no grid.
DRAWN = [name for name in NAMES if (LONG or name not in SLOW) and name != "path"]
# Their grid follows from a noisy size that is not released: only the support is known.
SUPPORT_ONLY = ("durations by group", "bounded means by group")


@pytest.mark.parametrize("value", [np.nan, np.inf], ids=str)
@pytest.mark.parametrize("name", ["rate noisy", "chain", "path", "means by group", "shares", "lattice in a plane"])
def test_draws_that_are_not_finite_are_refused(name, value):
    first = "draws[0,0]" if parts(name)[1]["draws"].ndim == 2 else "draws[0,0,0]"
    with pytest.raises(FormatError, match="finite"):
        forged(name, {first: value}).verify()


@pytest.mark.parametrize("name", [name for name in DRAWN if name not in SUPPORT_ONLY])
def test_a_draw_off_its_grid_is_refused(name):
    """The first coordinate is moved by a thousandth of itself and a low digit more: no public grid holds it."""
    _, arrays = parts(name)
    moved = arrays["draws"].copy()
    moved.reshape(-1)[0] = moved.reshape(-1)[0] * (1 + 1.00000123e-3) + 1.2345e-13
    with pytest.raises(FormatError, match=r"draws|transcript"):
        forged(name, {"draws": moved}).verify()


# Values on the grid of the law, as far as it goes, but outside what the model allows.
OUTSIDE = {
    "a negative duration": ("durations by group", -1.0),
    "a mean beyond its bounds": ("bounded means by group", 7.0),
    "a point beyond the ball": ("chain in a ball", [0.0625, 0.0]),
    "a point beyond the box": ("chain in a box", [0.0625, 0.0]),
    "a place beyond the lattice": ("lattice by trials", 1.25),
    "a place beyond the interval": ("kinks on a line", 10**6),
    "a converged chain beyond the ball": ("converged in a ball", 2.0),
    "a rate above 1": ("rate noisy", 1.5),
    "a point that is no candidate": ("quantile", 3.0),
}


@pytest.mark.parametrize("what", list(OUTSIDE))
def test_a_draw_outside_its_support_is_refused(what):
    name, value = OUTSIDE[what]
    draws = parts(name)[1]["draws"].copy()
    values = np.atleast_1d(value)
    draws.reshape(-1)[: len(values)] = values
    if name == "bounded means by group":
        draws[...] = draws[:, :1]
    with pytest.raises(FormatError, match="draws"):
        forged(name, {"draws": draws}).verify()


def test_an_average_outside_the_domain_is_refused():
    """A path without its transcript has no grid, but it cannot leave the ball that it was projected to."""
    release = made(logistic(2, ball(0.05)), labelled(2), goal="estimate", steps=20)
    assert release.verify()
    outside = dataclasses.replace(release.draws, values=np.array([[[0.04, 0.04]]]))
    with pytest.raises(FormatError, match="draws"):
        dataclasses.replace(release, draws=outside).verify()


def test_shares_that_do_not_sum_to_one_are_refused():
    draws = parts("shares noisy")[1]["draws"] * 0.5
    with pytest.raises(FormatError, match="draws"):
        forged("shares noisy", {"draws": draws}).verify()


def test_estimates_from_one_total_are_all_the_same():
    with pytest.raises(FormatError, match="draws"):
        forged("bounded mean", {"draws[0,1]": lambda value: value + 0.5}).verify()


@pytest.mark.parametrize(
    ("name", "array"), [("groups", "totals"), ("path with transcript", "transcript")], ids=["totals", "transcript"]
)
@pytest.mark.parametrize("change", [lambda v: v + 1e-13, lambda v: np.nan], ids=["low digit", "nan"])
def test_totals_and_transcripts_off_their_grid_are_refused(name, array, change):
    first = "[0]" if array == "totals" else "[0,0,0]"
    with pytest.raises(FormatError, match="transcript or totals"):
        forged(name, {array + first: change}).verify()


# --- receipts ----------------------------------------------------------------------------------------------------------

RECEIPTS = {
    "amount": ("charged in gdp", {"receipt.amount": 0.001}, "amount"),
    "amount in zcdp": ("charged in zcdp", {"receipt.amount": 0.001}, "amount"),
    "amount in renyi": ("charged in renyi", {"receipt.amount": -1.0}, "amount"),
    "reveal": ("charged in gdp", {"receipt.delta0": 1e-9}, "amount"),
    "variation": ("charged in gdp", {"receipt.tv": 1e-9}, "slack"),
    "units": ("charged in gdp", {"receipt.units": 0}, "amount"),
    "units as text": ("charged in gdp", {"receipt.units": "1"}, "amount"),
    "currency": ("charged in gdp", {"receipt.currency": "zcdp"}, "amount"),
    "unknown currency": ("charged in gdp", {"receipt.currency": "euro"}, "amount"),
    "row": ("charged in gdp", {"receipt.seq": 0}, "row"),
    "time": ("charged in gdp", {"receipt.time": "yesterday"}, "time"),
    "hash": ("charged in gdp", {"receipt.hash": "beef"}, "hash"),
    "name": ("charged in gdp", {"receipt.ledger": ""}, "name"),
    "request": ("charged in gdp", {"receipt.request_id": 7}, "request"),
    "a further field": ("charged in gdp", {"receipt": lambda found: {**found, "note": "paid"}}, "note"),
    "trust": ("charged in gdp", {"guarantee.trust": "not private"}, "trust"),
}


@pytest.mark.parametrize("field", list(RECEIPTS))
def test_a_forged_receipt_is_refused(field):
    name, edits, word = RECEIPTS[field]
    with pytest.raises(FormatError, match=word):
        forged(name, edits, "promise").verify()


@pytest.mark.parametrize("field", ["plan_digest", "guarantee_digest"])
def test_a_receipt_for_another_release_is_refused(field):
    data = forge("charged in gdp", {f"receipt.{field}": "0" * 64}, remake=())
    with pytest.raises(FormatError, match=field.split("_", maxsplit=1)[0]):
        sf.Release.from_bytes(data).verify()


def test_an_invented_receipt_is_refused():
    """The receipt of one release put on another that was charged to nobody."""
    document, _ = parts("charged in gdp")
    data = forge("rate noisy", {"receipt": document["receipt"]}, remake=("plan",))
    with pytest.raises(FormatError, match="receipt was not given for this release"):
        sf.Release.from_bytes(data).verify()


# --- sizes: nothing large is allocated and nothing runs without end --------------------------------------------------------

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
