"""The battery of audits: complete, cheap in its quick form, able to see; and its page, which shows what was kept."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import sfumato as sf
from audits import battery, cases, page
from sfumato import procedures
from sfumato.models import families, losses

LISTED = cases.cases()


def test_every_procedure_family_and_loss_is_attacked():
    assert {case.procedure for case in LISTED} == set(procedures.TABLE)
    named = {family.__name__ for family in families.TABLE.values()}
    drawn = {type(made()).__name__ for made, _ in cases.FAMILIES.values()}
    assert named <= drawn | {"Grouped"}, named - drawn
    known = {
        loss.__name__ for loss in vars(losses).values() if isinstance(loss, type) and issubclass(loss, losses.Loss)
    }
    made = {type(loss()).__name__ for loss in cases.LOSSES.values()}
    # Base classes, and the one whose slope a user writes.
    assert known - made <= {"Loss", "ScalarLink", "ScalarLinkLoss"}, known - made


def test_names_are_unique_and_the_quick_form_has_every_procedure_that_can_be_sampled():
    names = [case.name for case in LISTED]
    assert len(names) == len(set(names))
    assert {case.procedure for case in LISTED if case.quick} == set(procedures.TABLE) - {"reference-chain"}
    parts = {case.part for case in LISTED if case.quick and case.procedure == "shaped-path"}
    assert parts == {"", "moments", "shares", "path", "curvature", "scores"}


def test_a_word_chooses_cases_and_an_unknown_one_none(tmp_path, capsys):
    assert [case.name for case in cases.cases("law: Finite, exp")] == ["law: Finite, exponential"]
    assert battery.main(["--quick", "--only", "no such case", "-o", str(tmp_path)]) == 1
    assert battery.main(["--quick", "--only", "law: Finite, exp", "-o", str(tmp_path)]) == 0
    assert "1 cases, 0 refuted" in capsys.readouterr().out
    (row,) = json.loads((tmp_path / "battery.json").read_text())["rows"]
    assert row["broken"] == ""
    assert row["exact"] <= row["claim"] * (1 + 1e-9)


@pytest.mark.planted
@pytest.mark.parametrize(
    "name", ["law: Finite, exponential", "path: Huber, d = 1", "noisy-totals: BoundedMean, inside"]
)
def test_half_the_claim_is_refuted(name):
    """The same attacks on a plan that states a price of half what it costs."""
    (case,) = [each for each in LISTED if each.name == name]
    sound, plan = battery.run(case, quick=True, false_alarm=1e-8), case.plan()
    assert sound.broken == ""
    half = replace(plan.guarantee, curve=_half(plan.guarantee.curve))
    lying = replace(case, plan=lambda: replace(plan, guarantee=half))
    assert battery.run(lying, quick=True, false_alarm=1e-8).broken != ""


def _half(curve):
    return sf.Gaussian(curve.mu / 2) if isinstance(curve, sf.Gaussian) else sf.Pure(curve.epsilon(0.0) / 2)


# --- the page -----------------------------------------------------------------------------------------------------------


def test_the_page_is_written_from_the_kept_results():
    assert page.PAGE.read_text(encoding="utf-8") == page.page()
    assert (page.KEPT / "battery.csv").read_text(encoding="utf-8") == page._csv()


def test_nothing_that_is_kept_was_refuted_and_every_fault_was_noticed():
    rows = page.report_of("battery")["rows"]
    assert {row["name"] for row in rows} == {case.name for case in LISTED}
    assert [row["name"] for row in rows if row["broken"]] == []
    mutation = page.report_of("mutation")
    assert mutation["form"] == "long"
    assert [fault["name"] for fault in mutation["faults"] if not fault["killed"]] == []
    assert mutation["accuse_sound"] == []


def test_every_loose_claim_has_a_reason():
    rows = [row for row in page.report_of("battery")["rows"] if row["runs"] and page.share(row) * page.SLACK < 1]
    assert [row["name"] for row in rows if page.reason(row) is None] == []
    assert rows
    assert page.reason({"name": "law: no such model"}) is None


def test_judges_agree_within_5_percent_and_another_library_is_refuted():
    said = page.report_of("judges")
    assert len({row["procedure"] for row in said["bounds"]}) == 6
    assert all(abs(row["ours"] / row["theirs"] - 1) <= 0.05 for row in said["bounds"])
    assert said["diffprivlib"]["broken"]
    assert said["diffprivlib"]["epsilon"] > 1


def test_quick_results_are_not_kept(tmp_path):
    (tmp_path / "battery.json").write_text(json.dumps({"quick": True, "rows": []}))
    with pytest.raises(SystemExit, match="quick form"):
        page.keep(tmp_path)
