"""The faults that the audits are shown: each fits the source and has a killer, and nothing that the suite promises is left out."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from audits import mutation
from audits.killers import BY_NAME, KILLERS
from audits.planting import FORMS, ROOT, TEST, Fault, kinds, read_faults
from sfumato import procedures

FAULTS = read_faults()
SOURCE = ROOT / "src" / "sfumato"
KINDS = kinds(FAULTS)
# The constants of THEORY 6, and what replaces a map, a start or a step that follows from published moments.
CONSTANTS = (
    "sqrt2 r^2 of the moments", "weights of long rows", "label's share of the radius", "weights v", "bend b", "G = 2 s",
    "1.5 on a line", "sqrt2 b k of the curvature", "s^2 of the score scale", "sqrt2 s^2 of the score matrix",
    "sum of mu_i^2", "sqrt(T)", "norm of the map in the float charge", "curvature units", "slope units",
)  # fmt: skip
RAW = ("map from raw moments", "clip level from raw moments", "start from raw moments", "steps from raw moments")
# Faults of row 13 beside the noise, over all procedures.
ROW_13 = ("13 clipping", "13 generator", "13 start", "13 delta", "13 steps", "13 draws")
LAWS = ("power", "strength", "log error", "factor of the masses", "direction of the pair", "draws not multiplied")


def missing_tests(faults: list[Fault]) -> list[str]:
    """Killers that are tests and do not exist."""
    absent = []
    for killer in {fault.killer.removeprefix(TEST) for fault in faults if fault.killer.startswith(TEST)}:
        path, _, name = killer.partition("::")
        text = (ROOT / path).read_text() if (ROOT / path).exists() else ""
        if not re.search(rf"^def {re.escape(name.partition('[')[0])}\(", text, re.MULTILINE):
            absent.append(killer)
    return absent


def test_every_fault_fits_the_source():
    for fault in FAULTS:
        assert fault.planted((SOURCE / fault.file).read_text()) != (SOURCE / fault.file).read_text()
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    with pytest.raises(ValueError, match="0 times"):
        replace(FAULTS[0], old="text that is nowhere").planted((SOURCE / FAULTS[0].file).read_text())


def test_every_killer_exists_and_every_attack_kills_something():
    named = {fault.killer for fault in FAULTS if not fault.killer.startswith(TEST)}
    assert missing_tests(FAULTS) == []
    assert missing_tests([replace(FAULTS[0], killer=f"{TEST}tests/auditing/test_mutation.py::test_nothing")]) != []
    assert {killer.procedure for killer in KILLERS} == set(procedures.TABLE)
    assert named == set(BY_NAME)


@pytest.mark.parametrize("procedure", procedures.TABLE)
def test_every_procedure_has_faults_of_its_price_and_of_its_noise_in_both_forms(procedure):
    """Rows 4 and 13; large factors in the quick form and factors near 1.1 in the long one."""
    own = [fault for fault in FAULTS if fault.procedure == procedure]
    for row in ("4 adjacency", "13 noise"):
        of_row = [fault for fault in own if fault.threat == row]
        assert {fault.form for fault in of_row} == set(FORMS), row
        factors = {form: [f.factor for f in of_row if f.form == form and f.factor] for form in FORMS}
        assert max(factors["quick"]) >= 1.5, row
        assert min(factors["long"]) <= 1.34, row


def test_every_threat_constant_and_kind_has_a_fault():
    threats = {fault.threat for fault in FAULTS}
    assert {f"6 {constant}" for constant in CONSTANTS} <= threats
    assert {f"23 {raw}" for raw in RAW} <= threats
    assert {fault.procedure for fault in FAULTS if fault.threat == f"23 {RAW[0]}"} == {"shaped-path", "shaped-chain"}
    assert {f"exact law: {part}" for part in LAWS} <= threats
    assert set(ROW_13) <= threats
    assert "14 one record decides" in threats
    assert len(KINDS) == 7
    for kind in KINDS:
        assert set(kind["threats"]) <= threats, kind["kind"]
        assert kind["faults"], kind["kind"]
    quick = [fault.factor for fault in FAULTS if fault.form == "quick" and BY_NAME.get(fault.killer, KILLERS[0]).most]
    assert min(factor for factor in quick if factor) >= 1.5


def test_the_command_tells_killed_from_survived(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """A price that is halved, and the same price with its factors in another order, which is no fault."""
    one = next(fault for fault in FAULTS if fault.killer == "noisy rate, listed" and fault.factor == 2.0)
    same = replace(one, name="the same number", new=one.old.replace("width / sigma * _UP", "_UP * width / sigma"))
    out = tmp_path / "mutation.json"
    assert mutation.main(["--quick"], [one], out) == 0
    assert "1 of 1 faults killed" in capsys.readouterr().out
    assert mutation.main(["--quick"], [one, same], out) == 1
    said = capsys.readouterr().out
    assert "1 of 2 faults killed; 0 attacks accuse the sound source" in said
    assert "the same number (4 adjacency): SURVIVED" in said
    assert '"killed": 1' in out.read_text()
    assert mutation.main(["--only", "no such word"], [one], out) == 1
