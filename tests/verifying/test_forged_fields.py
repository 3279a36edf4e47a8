"""One test for every field that can be forged: all digests are made anew, so only the check of that field can notice."""

from __future__ import annotations

from dataclasses import replace

import pytest

import sfumato as sf
from forging import NAMES, TRIED, forge, forged, parts, schema_text, stored
from release_cases import CASES, CHARGED
from sfumato.errors import FormatError, SfumatoError
from sfumato.ledger.units import UNITS
from sfumato.mechanisms.tempering import STRONGEST
from sfumato.shells import report


@pytest.mark.parametrize("name", TRIED)
def test_releases_that_earlier_code_wrote_still_load_and_verify(name):
    release = sf.Release.from_bytes(stored(name))
    assert release.verify() is release
    assert release.to_bytes() == stored(name)


def test_a_release_of_every_way_of_drawing_is_kept():
    assert sorted(NAMES) == sorted([*CASES, *CHARGED])


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
    "target: larger epsilon": ("rate noisy", {"plan.target.epsilon": 5.0}, ("promise",), "larger than"),
    "target: larger delta": ("rate noisy", {"plan.target.delta": 1e-3}, ("promise",), "larger than"),
    "origin of a hypothesis": (
        "rate noisy",
        {f"{where}assumptions.0.origin": "audited by an authority" for where in ("guarantee.", "plan.guarantee.")},
        (),
        "hypotheses",
    ),
    "schema with a name given twice": (
        "rate noisy",
        {"schema.document": lambda text: '{"name": "census", ' + text[1:]},
        (),
        "twice",
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
    "kind": ("rate noisy", {"kind": "estimate"}, (), "kind"),
    "goal": ("rate noisy", {"plan.goal": "estimate", "kind": "estimate"}, (), "goal"),
    "label": ("shares noisy", {"labels.0": "pink"}, (), "shape"),
    "number of records": ("bounded mean", {"plan.n": 61}, (), "expected"),
    "number of draws": ("rate noisy", {"plan.draws": 5}, (), "number of draws"),
    "model": ("rate noisy", {"plan.model.alpha": 1.0}, (), "expected"),
    "mechanism": ("rate noisy", {"plan.mechanism": "diffused"}, (), "plans with"),
    "a parameter": ("rate noisy", {"plan.parameters.noise": 1000.0}, (), "what the plan costs"),
    "a further field of the plan": ("rate noisy", {"plan": lambda plan: {**plan, "note": "approved"}}, (), "note"),
    "version of the plan": ("rate noisy", {"plan.version": 3}, (), "version"),
    "keep": ("rate noisy", {"plan.keep": ["transcript"]}, (), "transcript"),
    "strength of a prior": ("chain exact", {"plan.parameters.strength": 0.5}, (), "strength"),
    "strength of a prior that is kept": ("kinks on a line", {"plan.parameters.strength": 2.0}, (), "strength"),
    "expected value": ("bounded mean", {"plan.expected.value": 0.001}, (), "expected"),
    "expected value, averaged": ("rate noisy", {"plan.expected.value": lambda v: v / 2}, (), "expected"),
    "expected without privacy": ("rate noisy", {"plan.expected.without_privacy": 1.0}, (), "expected"),
    "expected of a chain": ("chain", {"plan.expected.value": 1.0}, (), "expected"),
    "expected of a path": ("path", {"plan.expected.value": 1e-9}, (), "expected"),
    "kind of the expectation": ("shaped chain", {"plan.expected.id": "half-width"}, (), "expected"),
    "passes": ("chain", {"plan.cost.passes": 1}, (), "cost"),
    "passes of trials": ("lattice by trials", {"plan.cost.passes": 1}, (), "cost"),
    "passes of a converged chain": ("converged", {"plan.cost.passes": 1}, (), "cost"),
    "passes in a plane": ("kinks in a plane", {"plan.cost.passes": 1}, (), "cost"),
    "chains": ("chain", {"plan.cost.chains": 1}, (), "cost"),
    "expected value, in its sixth digit": ("chain", {"plan.expected.value": lambda v: v * (1 + 1e-5)}, (), "expected"),
    "expected value, absent": ("chain", {"plan.expected.value": None}, (), "expected"),
    "expected value, averaged, off by a fifth": (
        "rate noisy",
        {"plan.expected.value": lambda v: v * 1.2},
        (),
        "expected",
    ),
    "strength beyond the strongest": ("chain exact", {"plan.parameters.strength": 2 * STRONGEST}, (), "strength"),
}


@pytest.mark.parametrize("field", list(FIELDS))
def test_a_forged_field_is_refused(field):
    name, edits, also, word = FIELDS[field]
    with pytest.raises(SfumatoError, match=word):
        forged(name, edits, *also).verify()


@pytest.mark.parametrize("field", ["quantity", "unit", "how"])
def test_words_of_an_old_plan_are_never_printed(field):
    """Plans of version 1 hold the words of their expectation; they are made anew, so a forged one misleads nobody."""
    release = forged("rate noisy", {f"plan.expected.{field}": "as measured by an authority"})
    assert release.verify() is release
    assert "authority" not in str(release) + report.page(release)
    assert "half-width about the true rate" in report.page(release)


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
        # The sentence of the promise, which files of version 1 hold, is worded otherwise today; nothing compares it.
        assert forge(name, {}, ("schema", "plan", "receipt")) == stored(name)


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
    "a millionth of the amount": ("charged in gdp", {"receipt.amount": lambda paid: paid * (1 - 1e-6)}, "amount"),
    "a millionth of the amount in zcdp": (
        "charged in zcdp",
        {"receipt.amount": lambda paid: paid * (1 - 1e-6)},
        "amount",
    ),
    "no amount in renyi": ("charged in renyi", {"receipt.amount": 0.0}, "amount"),
    "reveal in renyi": ("charged in renyi", {"receipt.delta0": 1e-9}, "amount"),
    "reveal in zcdp": ("charged in zcdp", {"receipt.delta0": 1e-9}, "amount"),
    "more units than a budget has": ("charged in gdp", {"receipt.units": UNITS + 1}, "amount"),
    "row of the registration": ("charged in gdp", {"receipt.seq": 1}, "row"),
    "row that is no whole number": ("charged in gdp", {"receipt.seq": 2.5}, "row"),
    "time that is no text": ("charged in gdp", {"receipt.time": 7}, "row"),
    "hash in capitals": ("charged in gdp", {"receipt.hash": str.upper}, "hash"),
    "hash and more": ("charged in gdp", {"receipt.hash": lambda text: text + "0"}, "hash"),
    "hash that is no text": ("charged in gdp", {"receipt.hash": 7}, "hash"),
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


@pytest.mark.parametrize("part", ["schema", "receipt"])
def test_a_release_in_memory_is_held_to_the_form_of_a_file(part):
    """A further key, which no check of the record compares with anything."""
    release = sf.Release.from_bytes(stored("charged in gdp"))
    with pytest.raises(FormatError, match="note"):
        replace(release, **{part: {**getattr(release, part), "note": "approved"}}).verify()
