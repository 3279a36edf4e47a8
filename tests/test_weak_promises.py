"""A promise that protects next to nobody is refused in one sentence everywhere, and says so everywhere where it is allowed."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.bounds_plan import plan_bounds
from sfumato.errors import ArgumentError, FormatError, PublishError
from sfumato.ledger.terms import Terms
from sfumato.pictures.promises import promises
from sfumato.privacy import weakness
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.weakness import NOTE
from sfumato.shells.cli import app
from sfumato.shells.report import methods, page

N = 100
RATE = sf.families.BetaBernoulli(1, 1)
SCHEMA = sf.Schema({"ill": sf.Boolean(missing=False)}, name="s", unit="person")
BITS = sf.Dataset.from_table({"ill": [True, False] * (N // 2)}, schema=SCHEMA)
# (epsilon, delta) and whether 100 records may have it.
POINTS = [
    ((1.0, 1e-3), False),
    ((1.0, 0.5), False),
    ((50.1, 1e-6), False),
    ((1e6, 0.5), False),
    ((1.0, 9.9e-4), True),
    ((50.0, 9.9e-4), True),
]


def planned(epsilon: float, delta: float, **options: object) -> sf.Plan:
    return sf.plan(RATE, N, epsilon, delta, mechanism="noisy-statistics", **options)


def sentence_of(point: tuple[float, float]) -> str:
    """The refusal of `sf.plan`."""
    with pytest.raises(ArgumentError) as refusal:
        planned(*point)
    return str(refusal.value)


@pytest.mark.parametrize(("point", "fine"), POINTS)
def test_a_plan_needs_a_delta_below_a_tenth_of_one_record_and_an_epsilon_of_at_most_50(point, fine):
    if fine:
        assert not planned(*point, allow_weak=True).guarantee.weak
        assert NOTE not in str(planned(*point))
        return
    said = sentence_of(point)
    assert "epsilon = " in said if point[0] > 50 else "each of 100 records to be published whole" in said
    assert "allow_weak" in said
    assert planned(*point, allow_weak=True).guarantee.weak
    with pytest.raises(ArgumentError, match="True or False"):
        planned(*point, allow_weak="yes")


def test_the_delta_that_is_proposed_is_accepted():
    for n in (1, 7, 10, 11, 99, 100, 101, 1_000, 12_345):
        said = weakness.of_point(1.0, 0.9, n)
        proposed = float(said.partition("such as ")[2].partition(",")[0])
        assert weakness.of_point(1.0, proposed, n) == ""
        assert weakness.of_point(1.0, 1 / (10 * n), n) != ""


@pytest.mark.parametrize(("target", "fine"), [
    (sf.Gaussian(6.0), True), (sf.Gaussian(9.5), False), (sf.Pure(50.0), True), (sf.Pure(50.1), False),
    (sf.Renyi([2.0], [40.0]), True), (sf.Renyi([2.0], [60.0]), False),
])  # fmt: skip
def test_a_curve_needs_such_a_point(target, fine):
    assert (weakness.of_curve(target, N) == "") == fine
    model = sf.families.BetaBernoulli(1, 1, floor=0.2)
    mechanism = "exponential" if isinstance(target, sf.Pure) else "noisy-statistics"
    if fine:
        assert not sf.plan(model, N, target=target, mechanism=mechanism).guarantee.weak
        return
    with pytest.raises(ArgumentError, match="allow_weak"):
        sf.plan(model, N, target=target, mechanism=mechanism)
    assert sf.plan(model, N, target=target, mechanism=mechanism, allow_weak=True).guarantee.weak


def test_the_price_of_the_true_posterior_is_marked_where_it_promises_nothing():
    assert NOTE in str(sf.plan(sf.families.GammaPoisson(20, 1, 100), 50, mechanism="exact"))
    assert not sf.plan(RATE, 50, mechanism="exact").guarantee.weak


def test_of_persons_the_sentence_says_what_would_be_published():
    persons = sf.Persons("patient", most=5, count=200, rows="visits")
    with pytest.raises(ArgumentError, match="each of 200 persons, with all of their visits, to be published whole"):
        sf.plan(RATE, 200, 1.0, 1e-3, persons=persons)


ESTIMATORS = {
    sf.PrivateHuberRegressor: {"bounds_y": (0, 1)},
    sf.PrivateLinearRegression: {"bounds_y": (0, 1)},
    sf.PrivateLinearSVC: {"classes": [0, 1], "missing_class": 0},
    sf.PrivateLogisticRegression: {"classes": [0, 1], "missing_class": 0},
    sf.PrivatePoissonRegressor: {"bounds_y": (0, 1)},
    sf.PrivateQuantileRegressor: {"bounds_y": (0, 1)},
}


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_every_estimator_refuses_in_the_sentence_of_the_plan(kind):
    X, y = np.linspace(-1, 1, N)[:, None], np.arange(N) % 2
    for point in ((1.0, 0.5), (1e6, 1e-6)):
        model = kind(*point, data_norm=1.0, **ESTIMATORS[kind])
        with pytest.raises(ArgumentError) as refusal:
            model.fit(X, y)
        assert str(refusal.value) == sentence_of(point)
    model = kind(1.0, 0.5, data_norm=1.0, allow_weak=True, **ESTIMATORS[kind]).fit(X, y)
    assert str(model.guarantee_).startswith(NOTE)
    assert NOTE in str(model.plan_)


def test_other_ways_to_a_plan_refuse_too():
    with pytest.raises(ArgumentError, match="epsilon = 60"):
        sf.price_list(RATE, N, [1.0, 60.0], 1e-6)
    assert NOTE in str(sf.price_list(RATE, N, [60.0], 1e-6, allow_weak=True).plans[0])
    wide = sf.Schema({"x": sf.Number(0, 10)}, name="s")
    with pytest.raises(ArgumentError, match="epsilon = 60"):  # half of it for each bound
        plan_bounds(wide, N, epsilon=60.0)
    numbers = sf.Dataset.from_table({"x": np.arange(N) % 10}, schema=wide)
    with pytest.raises(ArgumentError, match="epsilon = 60"):
        sf.private_quantile(numbers, "x", 0.5, 60.0)
    assert sf.private_quantile(numbers, "x", 0.5, 60.0, allow_weak=True).release.guarantee.weak
    assert inspect.signature(sf.plan).parameters["allow_weak"].default is False


# --- what is allowed is stated in every form ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def release() -> sf.Release:
    return sf.publish(planned(1.0, 0.01, allow_weak=True), BITS)


def test_every_form_of_the_promise_states_it(release, tmp_path):
    release.save(tmp_path / "weak.sfumato")
    again = sf.load(tmp_path / "weak.sfumato").verify()
    plan = planned(1.0, 0.01, allow_weak=True)
    guarantee = again.guarantee
    run = CliRunner().invoke
    forms = {
        "plan": str(plan),
        "plan in a notebook": plan._repr_html_(),
        "guarantee": str(guarantee),
        "guarantee at a delta": guarantee.at(1e-6),
        "its table": guarantee.table(),
        "guarantee in a notebook": guarantee._repr_html_(),
        "vacuous": str(replace(guarantee, curve=sf.Gaussian(1e9))),
        "no epsilon": replace(guarantee, curve=sf.Renyi([1.0], [0.1])).at(1e-9),
        "release": str(again),
        "summary": str(again.summary()),
        "release in a notebook": again._repr_html_(),
        "attacker": again.attacker().sentence,
        "report": page(again),
        "methods": methods(again),
        "show": run(app, ["show", str(tmp_path / "weak.sfumato"), "--json"]).output,
        "query attacker": run(app, ["query", "attacker", str(tmp_path / "weak.sfumato"), "--json"]).output,
        "exported": str(again.to_pandas(noise_aware=False).attrs),
    }
    assert {name for name, text in forms.items() if NOTE not in text} == set()
    assert promises(again, None)[0].name == "s: noisy-statistics (weak)"
    assert promises(replace(guarantee, trust="assumes converged"), None)[0].name.endswith("(weak, assumes converged)")
    assert "sf-alarm" in plan._repr_html_().partition("Weak")[0].rpartition("<p")[2]


def test_without_scipy_the_promise_states_it_too(release, monkeypatch):
    monkeypatch.setattr(Guarantee, "at", lambda *_: (_ for _ in ()).throw(ImportError("scipy")))
    assert replace(release).promise.startswith(f"{NOTE} Differential privacy with at most epsilon 1")


def test_it_is_recorded_composed_and_cannot_be_edited_away(release):
    guarantee = release.guarantee
    document = guarantee.to_json()
    assert document["weak"] is True
    assert release.plan["guarantee"]["weak"] is True
    assert Guarantee.from_json(document) == guarantee
    plain = replace(guarantee, weak=False)
    assert "weak" not in plain.to_json()
    assert (guarantee + plain).weak
    assert (plain + guarantee).weak
    assert (2 * guarantee).weak
    assert not (plain + plain).weak
    for wrong in ({**document, "weak": "yes"}, {**plain.to_json(), "weak": False}):
        with pytest.raises(FormatError, match="weak"):
            Guarantee.from_json(wrong)
    with pytest.raises(FormatError, match="weak"):
        replace(release, guarantee=plain).verify()
    plan = planned(1.0, 0.01, allow_weak=True)
    with pytest.raises(PublishError, match="changed after planning"):
        sf.publish(replace(plan, guarantee=replace(plan.guarantee, weak=False)), BITS)


# --- spec files and the command line --------------------------------------------------------------------------------------

SPEC = """
[data]
schema = "s.toml"
n = 100
[model]
family = "BetaBernoulli"
column = "ill"
[price]
epsilon = {}
delta = {}
mechanism = "noisy-statistics"
"""


@pytest.mark.parametrize("command", ["plan", "compare", "price-list"])
def test_the_command_line_refuses_in_the_sentence_of_the_plan(command, tmp_path):
    SCHEMA.save(tmp_path / "s.toml")
    path = tmp_path / "rate.toml"
    for point in ((1.0, 1e-3), (51.0, 1e-6)):
        path.write_text(SPEC.format(*point))
        arguments = [command, str(path)]
        if command == "price-list":
            arguments += ["--epsilons", str(point[0])]
        answer = CliRunner().invoke(app, arguments)
        assert answer.exit_code != 0
        assert sentence_of(point) in " ".join(answer.output.split()) or sentence_of(point) in str(answer.exception)


def test_a_spec_allows_it_by_name(tmp_path):
    SCHEMA.save(tmp_path / "s.toml")
    path = tmp_path / "rate.toml"
    path.write_text(SPEC.format(1.0, 1e-3) + "allow_weak = true\n")
    for command in (["plan"], ["plan", "--json"], ["price-list", "--epsilons", "1", "--json"]):
        answer = CliRunner().invoke(app, [*command, str(path)])
        assert answer.exit_code == 0, answer.output
        assert ('"weak": true' if "--json" in command else NOTE) in answer.output
    assert CliRunner().invoke(app, ["compare", str(path)]).exit_code == 0


# --- ledgers --------------------------------------------------------------------------------------------------------------


def test_a_ledger_refuses_it_by_a_rule_of_its_own(tmp_path):
    place = str(tmp_path / "b.db")
    with sf.Ledger.open(place) as ledger:
        for point in ((100.0, 0.1), (50.1, 1e-6), (1.0, 1.1e-3)):
            with pytest.raises(ArgumentError, match="allow_weak"):
                ledger.register("s", *point, unit="person")
        assert ledger.names() == []
        ledger.register("fine", 50.0, 1e-3, unit="person", allow_weak=True)
        ledger.register("fine", 50.0, 1e-3, unit="person")  # the same terms: there was nothing to allow
        assert NOTE not in str(ledger.spent("fine"))
    register = ["ledger", "register", place, "s", "--epsilon", "100", "--delta", "0.1", "--unit", "person"]
    assert CliRunner().invoke(app, register).exit_code != 0
    assert NOTE in CliRunner().invoke(app, [*register, "--allow-weak"]).output
    with sf.Ledger.open(place) as ledger:
        forms = {
            "spent": str(ledger.spent("s")),
            "notebook": ledger.spent("s")._repr_html_(),
            "show": CliRunner().invoke(app, ["ledger", "show", place, "s", "--json"]).output,
        }
        CliRunner().invoke(app, ["ledger", "report", place, "-o", str(tmp_path / "one.html"), "--name", "s"])
        CliRunner().invoke(app, ["ledger", "report", place, "-o", str(tmp_path / "all.html")])
        forms["report"] = (tmp_path / "one.html").read_text()
        forms["overview"] = (tmp_path / "all.html").read_text().partition("</table>")[0]
        assert {name for name, text in forms.items() if NOTE not in text} == set()
        sf.publish(planned(1.0, 0.01, allow_weak=True), BITS, ledger, name="s", request_id="one")
        assert str(ledger.report("s").guarantee).startswith(NOTE)
        assert NOTE in str(ledger.history("s")[-2].guarantee)


def test_terms_that_no_ledger_would_have_written_are_damage():
    document = Terms(100.0, 0.1, allow_weak=True).to_json()
    assert Terms.from_json(document).allow_weak
    assert "allow_weak" not in Terms(1.0, 1e-6).to_json()
    with pytest.raises(ArgumentError, match="allow_weak"):
        Terms.from_json({name: value for name, value in document.items() if name != "allow_weak"})
