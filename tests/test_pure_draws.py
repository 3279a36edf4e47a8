"""Several draws at delta = 0: the pure epsilon of all of them is printed and recorded."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import FormatError
from sfumato.privacy.codec import curve_from_json
from sfumato.shells.report import methods

N = 200
SCHEMA = sf.Schema({"ill": sf.Boolean(missing=False)}, name="s", unit="person")
BITS = sf.Dataset.from_table({"ill": [True, False] * (N // 2)}, schema=SCHEMA)
MODEL = sf.families.BetaBernoulli(1, 1, floor=0.1)
PLAN = sf.plan(MODEL, N, 1.0, 0.0, draws=10)


def test_every_form_states_the_pure_epsilon_of_all_draws(tmp_path):
    with sf.Ledger.open(tmp_path / "b.db") as ledger:
        ledger.register("s", 3.0, 1e-6, unit="person")
        release = sf.publish(PLAN, BITS, ledger, request_id="ten")
        charged = ledger.history("s")[-2].guarantee
    said = "Pure 1-differential privacy; (epsilon, delta) = (0.58"
    for form in (str(PLAN), str(PLAN.guarantee), str(release), str(release.summary()), str(charged)):
        assert said in form
    assert "epsilon at delta 0      1\n" in PLAN.guarantee.table()
    assert "under (1, 0)-differential privacy" in methods(release)
    assert ">0</th>" in PLAN.guarantee._repr_html_()
    for document in (charged.to_json(), release.plan["guarantee"], release.guarantee.to_json()):
        assert document["curve"]["epsilon"] == PLAN.guarantee.epsilon(0.0)
        assert 0.999999 < document["curve"]["epsilon"] <= 1.0


def test_the_recorded_epsilon_is_that_of_the_parts():
    document = json.loads(json.dumps(PLAN.guarantee.curve.to_json()))
    assert curve_from_json(document) == PLAN.guarantee.curve
    for wrong in ({**document, "epsilon": 0.5}, {key: value for key, value in document.items() if key != "epsilon"}):
        with pytest.raises(FormatError, match="sum of its pure parts"):
            curve_from_json(wrong)
    mixed = sf.Pure(0.5) + sf.Gaussian(0.5)
    assert "epsilon" not in mixed.to_json()
    assert curve_from_json(mixed.to_json()) == mixed
    with pytest.raises(FormatError, match="sum of its pure parts"):
        curve_from_json({**mixed.to_json(), "epsilon": 0.5})


@pytest.mark.parametrize("parts", [[0.1] * 3, [0.3, 0.7], [1e-9] * 7, [0.25, 0.5, 2.0]])
def test_the_sum_is_never_rounded_down(parts):
    guarantee = PLAN.guarantee
    whole = replace(guarantee, curve=sum((sf.Pure(part) for part in parts[1:]), sf.BoundedRange(parts[0])))
    shown = float(str(whole).partition("Pure ")[2].partition("-differential")[0])
    assert shown >= np.sum(parts)
    assert shown <= 1.002 * np.sum(parts)


def test_what_is_not_pure_states_no_epsilon_at_delta_0():
    for curve in (sf.Gaussian(0.5), sf.Pure(0.5) + sf.Gaussian(0.5)):
        guarantee = replace(PLAN.guarantee, curve=curve)
        assert "Pure" not in str(guarantee)
        assert "delta 0 " not in guarantee.table()
        assert ">0</th>" not in guarantee._repr_html_()
    slack = replace(PLAN.guarantee, slack=1e-9, trust="proved with slack")
    assert "delta 0 " not in slack.table()
