"""Words are not format: rewording a theorem or a hypothesis changes no file, no digest and no request."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, replace

import pytest

import sfumato as sf
from forging import forge, stored
from sfumato import wording
from sfumato.errors import FormatError
from sfumato.privacy import statements
from sfumato.privacy.guarantee import Guarantee
from sfumato.release_file import version_of
from sfumato.shells import report
from sfumato.verifying.record import Record

CHAIN = "finite_step.last_iterate"
# One release for each of several theorems, all quick to price again.
KEPT = (
    "chain",
    "path",
    "mean",
    "network",
    "lattice by trials",
    "kinks on a line",
    "quantile",
    "finite",
    "durations trimmed",
)
MEAN = sf.families.NormalMean(1.0, -1.0, 1.0)


def reword(monkeypatch, id: str, former: bool = True) -> None:
    """Say a theorem and all its hypotheses in other words; with `former`, as a maintainer is asked to."""
    entry = statements.declared(id)
    hypotheses = tuple(
        replace(each, name=f"reworded {each.name}", former=((each.name, each.symbol, each.required),) if former else ())
        for each in entry.hypotheses
    )
    words = ((entry.name, entry.source),) if former else ()
    new = replace(entry, name="another name", source="another source", hypotheses=hypotheses, former=words)
    monkeypatch.setitem(statements.THEOREMS, id, new)


def renewed(name: str) -> sf.Release:
    """A kept release as it would be written today: its guarantee, and that of its plan, by identifiers."""
    old = sf.Release.from_bytes(stored(name))
    record = Record.of(old)
    price, task = record.price, record.task
    expected = record.procedure.expected(task.model, task.n, task.parameters).to_json()
    today = {"version": 2, "procedure": record.procedure.NAME, "guarantee": price.to_json(), "expected": expected}
    plan = {**old.plan, **today}
    text = json.dumps(plan, sort_keys=True, separators=(",", ":"))
    return replace(
        old,
        plan=plan,
        plan_digest=hashlib.sha256(text.encode()).hexdigest(),
        guarantee=replace(price, unit=old.guarantee.unit),
        written_promise=None,
    )


# --- rewording ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("chain", CHAIN),
        ("chain diffused", "finite_step.at_least_exact"),
        ("chain diffused", "sharp.gibbs_draw"),
        ("lattice by trials", "inexact.approximate_sampler"),
        ("lattice by trials", "rejection.bounded_trials"),
        ("network above a floor", "networks.truncated_draws"),
    ],
)
def test_an_old_release_verifies_after_its_theorem_was_reworded(name, id, monkeypatch):
    """Without the former words it would not: the test does reword what the file rests on."""
    reword(monkeypatch, id)
    sf.Release.from_bytes(stored(name)).verify()
    reword(monkeypatch, id, former=False)
    with pytest.raises(FormatError, match="hypotheses"):
        sf.Release.from_bytes(stored(name)).verify()


@pytest.mark.parametrize("name", ["chain", "chain diffused", "lattice by trials", "path"])
def test_a_new_release_needs_no_former_words(name, monkeypatch):
    data = renewed(name).to_bytes()
    for id in list(statements.THEOREMS):
        reword(monkeypatch, id, former=False)
    again = sf.Release.from_bytes(data)
    assert again.verify().to_bytes() == data
    assert again.guarantee.theorem.startswith("another name")
    assert any(each.name.startswith("reworded ") for each in again.guarantee.assumptions)
    assert "another name" in again.promise


def test_rewording_changes_no_digest(monkeypatch):
    before = sf.plan(MEAN, 100, 1.0, 1e-6, mechanism="diffused")
    reword(monkeypatch, "location.gaussian_location", former=False)
    after = sf.plan(MEAN, 100, 1.0, 1e-6, mechanism="diffused")
    assert before.guarantee.theorem != after.guarantee.theorem
    assert (before.digest, before.to_json()) == (after.digest, after.to_json())


def test_reworded_guarantees_are_the_same(monkeypatch):
    before = sf.plan(MEAN, 100, 1.0, 1e-6, mechanism="diffused").guarantee
    reword(monkeypatch, "location.gaussian_location", former=False)
    after = sf.plan(MEAN, 100, 1.0, 1e-6, mechanism="diffused").guarantee
    assert statements.same_guarantee(before, after)
    assert not statements.same_guarantee(before, replace(after, theorem="another name"))


@pytest.mark.parametrize("version", [1, 2])
def test_a_repeated_request_in_other_words_is_the_same_request(version, monkeypatch, tmp_path):
    """Charged with words by an earlier version, or with identifiers: the receipt is the first one's."""
    written = Guarantee.to_json
    with sf.Ledger.open(tmp_path / "budget.db") as ledger:
        ledger.register("study", 3.0, 1e-5, unit="row")
        guarantee = sf.plan(MEAN, 100, 1.0, 1e-6, mechanism="diffused").guarantee
        with monkeypatch.context() as patched:
            patched.setattr(Guarantee, "to_json", lambda self: written(self, version))
            first = ledger.charge("study", guarantee, "one")
        reword(monkeypatch, "location.gaussian_location")
        again = sf.plan(MEAN, 100, 1.0, 1e-6, mechanism="diffused").guarantee
        assert again.theorem != guarantee.theorem
        assert ledger.charge("study", again, "one") == first
        for other in (2 * again, replace(again, theorem="hearsay"), replace(again, assumptions=again.assumptions[1:])):
            with pytest.raises(sf.errors.RequestConflict, match="another guarantee"):
                ledger.charge("study", other, "one")


# --- what new files hold ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KEPT)
def test_a_new_file_holds_identifiers_and_no_sentence(name):
    release = renewed(name)
    document = json.dumps([release.guarantee.to_json(), release.plan["guarantee"]])
    assert release.guarantee.theorem not in document
    assert all(each.id for each in release.guarantee.assumptions)
    assert all(f'"{each.name}"' not in document for each in release.guarantee.assumptions)
    again = sf.Release.from_bytes(release.to_bytes())
    assert again.guarantee == release.guarantee
    assert version_of(again) == 2


FORGERIES = {
    "theorem": {"theorem": "sharp.gibbs_draw"},
    "source": {"source": "sharp.gibbs_draw"},
    "theorem in words": {"theorem": "one-time pad"},
    "unknown hypothesis": {"assumptions.0.id": f"{CHAIN}/hearsay"},
    "hypothesis of another theorem": {"assumptions.0.id": "sharp.gibbs_draw/convex"},
    "another hypothesis": {"assumptions.0.id": f"{CHAIN}/full-batch"},
    "value": {"assumptions.4.value": "1e-9"},
    "origin": {"assumptions.0.origin": "assumed"},
    "bound": {"assumptions.6.bound": "7"},
}


@pytest.mark.parametrize("field", list(FORGERIES))
def test_a_forged_identifier_is_refused(field):
    release = renewed("chain")
    document = release.guarantee.to_json()
    for path, value in FORGERIES[field].items():
        *above, last = path.split(".")
        inner = document
        for key in above:
            inner = inner[int(key)] if isinstance(inner, list) else inner[key]
        assert inner[last] != value
        inner[last] = value
    release.verify()
    with pytest.raises(FormatError, match="hypotheses"):
        replace(release, guarantee=Guarantee.from_json(document)).verify()


@pytest.mark.parametrize("edit", [lambda a: a[1:], lambda a: a[::-1], lambda a: a * 2, lambda a: (*a, a[0])])
def test_hypotheses_are_compared_one_by_one(edit):
    release = renewed("chain")
    assert release.verify() is release
    guarantee = replace(release.guarantee, assumptions=edit(release.guarantee.assumptions))
    with pytest.raises(FormatError, match="hypotheses"):
        replace(release, guarantee=guarantee).verify()


def test_a_text_that_is_no_identifier_stands_for_itself():
    own = sf.Guarantee(
        sf.Gaussian(1.0),
        "replace-one",
        "my own theorem",
        "my notes",
        assumptions=(sf.Assumption("a", "b", "c", "d", "e"),),
    )
    both = own + sf.plan(MEAN, 100, 1.0, 1e-6, mechanism="diffused").guarantee
    for guarantee in (own, both, both + both):
        again = Guarantee.from_json(json.dumps(guarantee.to_json()))
        assert again == guarantee
        assert again.to_json() == guarantee.to_json()
    assert both.theorem == "my own theorem; shift of a normal posterior"
    assert both.to_json()["theorem"] == "my own theorem; location.gaussian_location"
    assert Guarantee.from_json(own.to_json(1)) == own


def test_every_theorem_is_declared_under_its_own_name():
    """An id is module.function; hypotheses have ids of their own; nothing is declared twice."""
    seen = {
        statements.declared(Record.of(sf.Release.from_bytes(stored(name))).price.theorem.id)
        for name in ("chain", "path")
    }
    assert None not in seen
    for id, entry in statements.THEOREMS.items():
        module, function = id.split(".")
        assert callable(getattr(getattr(sf.theorems, module), function))
        ids = [each.id for each in entry.hypotheses]
        assert len(set(ids)) == len(ids)
        assert all(each.name and each.symbol and each.required for each in entry.hypotheses)


# --- the promise ---------------------------------------------------------------------------------------------------------------


def test_a_forged_sentence_in_an_old_file_is_never_shown():
    """It cannot be compared, for words may change; so it is not shown, and what is shown is computed."""
    lie = "(0.01, 1e-06)-differential privacy."
    honest = sf.Release.from_bytes(stored("rate noisy"))
    release = sf.Release.from_bytes(forge("rate noisy", {"promise": lie})).verify()
    assert release.to_bytes() != honest.to_bytes()
    assert release.promise == honest.promise != lie
    shown = [
        str(release),
        str(release.summary()),
        report.page(release),
        str(release.to_pandas(noise_aware=False).attrs),
        repr(release),
    ]
    assert not any(lie in text for text in shown)
    assert honest.promise in shown[0]


def test_the_promise_is_computed_once_and_only_when_asked(monkeypatch):
    asked = []
    computed = wording.promise_of
    monkeypatch.setattr(wording, "promise_of", lambda *both: asked.append(both) or computed(*both))
    data = sf.Dataset.from_table({"x": [0.5] * 100}, schema=sf.Schema({"x": sf.Number(-1, 1)}, name="x", unit="row"))
    release = sf.publish(sf.plan(MEAN, 100, 1.0, 1e-6, mechanism="diffused"), data)
    again = sf.Release.from_bytes(release.to_bytes()).verify()
    assert asked == []
    assert again.promise == release.promise
    assert again.promise is again.promise
    assert len(asked) == 2
    assert b"differential privacy" not in release.to_bytes()
    assert "promise" not in [field.name for field in fields(release)]


@pytest.mark.parametrize(("name", "about"), [("chain", False), ("rate noisy", True)])
def test_a_description_names_columns_only_where_columns_were_read(name, about):
    """A release of vectors reads no named column."""
    release = sf.Release.from_bytes(stored(name))
    line = next(line for line in str(release).splitlines() if line.startswith("about"))
    assert bool(wording.columns_read(release)) == about
    assert (", column" in line) == about
