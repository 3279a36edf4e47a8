"""Guarantees: what they add up to, what they print, how they are stored, and what other accountants make of them."""

from __future__ import annotations

import importlib
import itertools
import json
import math
import pkgutil
import re

import dp_accounting
import mpmath as mp
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
import sfumato as sf
import sfumato.theorems
from sfumato.privacy import plain_reasons, statements
from sfumato.privacy.curves import Curve
from sfumato.privacy.guarantee import ADJACENCIES, TRUST, Guarantee

REPLACE_ONE = dp_accounting.NeighboringRelation.REPLACE_ONE
ADD_OR_REMOVE = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
NOTES = (
    sf.Assumption("strong convexity of the potential", "m", "finite and greater than 0", "2.5", "prior and loss"),
    sf.Assumption("public start", "theta_0", "True", "True", "argument"),
)
TRUSTED = "proved with slack"


def guarantee(curve: Curve, slack: float = 0.0, **fields: object) -> Guarantee:
    """A guarantee with every other field filled."""
    values: dict[str, object] = {
        "adjacency": "metric" if isinstance(curve, sf.Metric) else "replace-one",
        "theorem": "sharp theorem",
        "source": "Gopi, Lee and Liu 2022, Theorem 4",
        "assumptions": NOTES,
        "trust": TRUSTED if slack else "proved",
    }
    return Guarantee(curve=curve, slack=slack, **(values | fields))  # type: ignore[arg-type]


SAMPLES = [
    guarantee(sf.Gaussian(1.0)),
    guarantee(sf.Gaussian(0.3), slack=1e-7),
    guarantee(sf.Pure(0.5), adjacency="replace-entry", unit="household", draws=7),
    guarantee(sf.BoundedRange(0.5), trust="assumes converged"),
    guarantee(sf.Renyi([2.0, math.inf], [0.5, math.inf]), assumptions=()),
    guarantee(sf.Profile("gamma-rate", {"shape": 50.0, "rate": 60.0, "shift": 2.0, "draws": 1})),
    guarantee(sf.Profile("approximate", {"epsilon": 0.5, "delta": 1e-6})),
    guarantee(sf.Metric(0.5, 0.01, "|x - y|")),
    guarantee(sf.Gaussian(0.4) + 3 * sf.Pure(0.2)),
]


# --- stored and read back --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", SAMPLES)
def test_json_both_ways(sample):
    text = json.dumps(sample.to_json(), allow_nan=False)
    assert Guarantee.from_json(text) == Guarantee.from_json(json.loads(text)) == sample


def changed(**fields: object) -> dict[str, object]:
    return SAMPLES[0].to_json() | fields


@pytest.mark.parametrize(
    "document",
    [
        "[1]",
        "{not json",
        changed(sfumato="release"),
        changed(version=3),
        changed(version="1"),
        changed(version=True),
        changed(note="unknown key"),
        {key: value for key, value in SAMPLES[0].to_json().items() if key != "trust"},
        changed(trust="certain"),
        changed(adjacency="add-one"),
        changed(draws=0),
        changed(draws="1"),
        changed(slack=-0.1),
        changed(slack=0.1),  # with trust "proved"
        changed(curve={"curve": "gaussian", "mu": 1.0, "sigma": 2.0}),
        changed(curve={"curve": "metric", "epsilon": 1.0, "delta": 0.0, "distance": "d"}),
        changed(assumptions=3),
        changed(assumptions=[{"name": "convexity"}]),
        changed(assumptions=[{"name": 1, "symbol": "m", "required": "", "value": "", "origin": ""}]),
        changed(unit=3),
        changed(theorem=None),
    ],
)
def test_documents_that_say_something_else_are_refused(document):
    with pytest.raises(sf.errors.FormatError):
        Guarantee.from_json(document)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"curve": 1.0}, "curve must be"),
        ({"adjacency": "metric"}, "metric"),
        ({"curve": sf.Metric(1.0, 0.0, "d"), "adjacency": "replace-one"}, "metric"),
        ({"trust": "sure"}, "trust must be"),
        ({"draws": 0}, "draws must be"),
        ({"slack": 1.5}, "slack must"),
        ({"slack": 1e-9}, "trust must be at most"),
    ],
)
def test_impossible_guarantees_are_refused(fields, says):
    values = {"curve": sf.Gaussian(1.0), "adjacency": "replace-one", "theorem": "t", "source": "s"} | fields
    with pytest.raises(sf.errors.ArgumentError, match=says):
        Guarantee(**values)


# --- adding ----------------------------------------------------------------------------------------------------------


def test_different_neighbours_do_not_compose():
    row = guarantee(sf.Gaussian(1.0))
    for other in (
        guarantee(sf.Gaussian(1.0), adjacency="replace-entry"),
        guarantee(sf.Gaussian(1.0), unit="household"),
    ):
        for pair in ((row, other), (other, row)):
            with pytest.raises(sf.errors.CompositionError, match="same neighbours"):
                pair[0] + pair[1]
    with pytest.raises(sf.errors.CompositionError):
        row + guarantee(sf.Metric(1.0, 0.0, "d"))
    with pytest.raises(sf.errors.CompositionError):
        guarantee(sf.Metric(1.0, 0.0, "d")) + guarantee(sf.Metric(1.0, 0.0, "hamming"))
    with pytest.raises(TypeError):
        row + sf.Gaussian(1.0)


@pytest.mark.parametrize(("first", "second"), list(itertools.product(TRUST, TRUST)))
def test_a_sum_is_as_trustworthy_as_its_weakest_part(first, second):
    total = guarantee(sf.Gaussian(1.0), trust=first) + guarantee(sf.Pure(1.0), trust=second)
    assert TRUST.index(total.trust) == max(TRUST.index(first), TRUST.index(second))


def test_a_sum_carries_everything():
    extra = sf.Assumption("bound on the rows", "r", "finite", "1.0", "schema")
    total = guarantee(sf.Gaussian(0.6)) + guarantee(
        sf.Gaussian(0.8), slack=1e-6, theorem="path", assumptions=(*NOTES, extra), draws=4
    )
    assert total.curve.mu == pytest.approx(1.0, rel=1e-14)
    assert total.theorem == "sharp theorem; path"
    assert total.source == SAMPLES[0].source
    assert total.assumptions == (*NOTES, extra)
    assert (total.draws, total.slack, total.trust) == (5, 1e-6, TRUSTED)


@pytest.mark.parametrize("sample", SAMPLES)
def test_k_fold_is_k_singles(sample):
    thrice, singles = 3 * sample, sample + sample + sample
    assert thrice.draws == singles.draws == 3 * sample.draws
    assert (thrice.trust, thrice.theorem, thrice.assumptions) == (sample.trust, sample.theorem, sample.assumptions)
    assert singles.slack == pytest.approx(thrice.slack, rel=1e-15)
    for epsilon in (0.2, 2.0):
        assert thrice.delta(epsilon) == pytest.approx(singles.delta(epsilon), rel=1e-12)
    with pytest.raises(sf.errors.ArgumentError, match="number of releases"):
        0 * sample


# --- total-variation slack -------------------------------------------------------------------------------------------


@given(st.floats(0.05, 5), st.floats(1e-15, 1e-3), st.floats(0, 20))
def test_slack_adds_its_term(mu, slack, epsilon):
    value = guarantee(sf.Gaussian(mu), slack=slack).delta(epsilon)
    with mp.workdps(40):
        truth = oracles.gaussian_delta(epsilon, mu) + (1 + mp.exp(mp.mpf(epsilon))) * mp.mpf(slack)
        assert min(truth, 1) <= value <= min(mp.mpf(1), truth * (1 + mp.mpf(1e-11)))


@given(
    st.floats(0.05, 5),
    st.floats(1e-15, 1e-3),
    st.one_of(st.floats(1e-12, 0.5), st.integers(1, 12).map(lambda k: 10.0**-k)),
)
def test_epsilon_under_slack_is_sound_and_minimal(mu, slack, delta):
    claim = guarantee(sf.Gaussian(mu), slack=slack)
    epsilon = claim.epsilon(delta)

    def total(e: float) -> mp.mpf:
        return oracles.gaussian_delta(e, mu, digits=30) + (1 + mp.exp(mp.mpf(e))) * mp.mpf(slack)

    with mp.workdps(40):
        if epsilon < math.inf:
            assert total(epsilon) <= delta
            assert epsilon == 0 or total(epsilon * (1 - 1e-9)) > delta
        else:  # then nothing on a fine grid fits either
            top = math.log(max(delta / slack, 1.0))
            assert all(total(top * k / 100) > delta for k in range(101))


@pytest.mark.parametrize("excess", [1e-2, 1e-4, 1e-6])
def test_the_last_epsilon_before_none_is_found(excess):
    # The sum falls and rises again; a delta just above its minimum is met on a short interval only.
    claim = guarantee(sf.Gaussian(1.0), slack=1e-9)
    lowest = min(claim.delta(5 + 0.001 * k) for k in range(1500))
    assert claim.epsilon(lowest * (1 - 1e-4)) == math.inf
    epsilon = claim.epsilon(lowest * (1 + excess))
    assert epsilon < math.inf
    assert claim.delta(epsilon) <= lowest * (1 + excess)


def test_slack_leaves_no_renyi_and_no_pure_claim():
    claim = guarantee(sf.Pure(0.5), slack=1e-6)
    assert claim.renyi(2.0) == math.inf
    assert claim.epsilon(0.0) == math.inf
    assert claim.delta(0.5) >= (1 + math.exp(0.5)) * 1e-6
    assert claim.delta(800.0) == 1.0


@pytest.mark.parametrize(("slack", "delta"), [(1e-310, 0.5), (5e-324, 1e-5), (1.0, 0.5), (0.5, 0.9)])
def test_extreme_slack_raises_nothing(slack, delta):
    epsilon = guarantee(sf.Gaussian(1.0), slack=slack).epsilon(delta)
    assert epsilon == math.inf if slack > 1e-3 else epsilon == pytest.approx(sf.Gaussian(1.0).epsilon(delta))
    assert guarantee(sf.Gaussian(1.0), slack=slack).epsilon(1.0) == 0.0


@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.slack == 0])
def test_without_slack_the_curve_answers(sample):
    assert sample.delta(0.7) == sample.curve.delta(0.7)
    assert sample.epsilon(1e-3) == sample.curve.epsilon(1e-3)
    assert sample.renyi(2.0) == sample.curve.renyi(2.0)


# --- what is printed -------------------------------------------------------------------------------------------------

PAIR = re.compile(r"\(([0-9.e+-]+), ([0-9.e+-]+)\)")


def printed_pairs(text: str) -> list[tuple[float, float]]:
    return [(float(epsilon), float(delta)) for epsilon, delta in PAIR.findall(text)]


def false_pairs(claim: Guarantee, text: str) -> list[tuple[float, float]]:
    """Printed (epsilon, delta) pairs that the guarantee does not give."""
    return [(epsilon, delta) for epsilon, delta in printed_pairs(text) if claim.delta(epsilon) > delta]


@given(st.floats(0.05, 8), st.floats(1e-9, 0.2))
def test_every_printed_pair_holds(mu, delta):
    claim = guarantee(sf.Gaussian(mu))
    assert len(printed_pairs(str(claim))) == 2
    assert false_pairs(claim, str(claim)) == []
    assert len(printed_pairs(claim.at(delta))) == 1
    assert false_pairs(claim, claim.at(delta)) == []


@settings(max_examples=30)
@given(st.floats(0.05, 8), st.floats(1e-9, 0.2))
def test_every_printed_pair_holds_under_slack(mu, delta):
    claim = guarantee(sf.Gaussian(mu), slack=1e-12)
    assert false_pairs(claim, str(claim)) == []
    assert false_pairs(claim, claim.at(delta)) == []


@given(st.one_of(st.floats(1e-6, 10), st.integers(1, 9999).map(lambda k: k / 1000 * (1 + 1e-13))))
def test_printed_parameters_are_never_smaller(value):
    shown = re.match(r"([0-9.e+-]+)-Gaussian", str(guarantee(sf.Gaussian(value))))
    assert float(shown.group(1)) >= value
    shown = re.match(r"Pure ([0-9.e+-]+)-", str(guarantee(sf.Pure(value))))
    assert float(shown.group(1)) >= value
    assert float(shown.group(1)) <= value * 1.0011
    text = str(guarantee(sf.Metric(value, value / 1e5, "d")))
    shown = re.search(r"exp\(([0-9.e+-]+) rho\) P\(B\|y\) \+ ([0-9.e+-]+) rho", text)
    assert float(shown.group(1)) >= value
    assert float(shown.group(2)) >= value / 1e5


@settings(max_examples=20)
@given(st.floats(1e-15, 0.01))
def test_printed_slack_is_never_smaller(slack):
    claim = guarantee(sf.Gaussian(0.5), slack=slack)
    assert float(re.search(r"slack ([0-9.e+-]+)", str(claim)).group(1)) >= slack
    assert float(re.search(r"slack +([0-9.e+-]+)", claim.table()).group(1)) >= slack


@given(st.floats(0.01, 10), st.floats(1e-9, 0.1))
def test_a_printed_profile_is_never_smaller(epsilon, delta):
    curve = sf.Profile("approximate", {"epsilon": epsilon, "delta": delta})
    ((shown_epsilon, shown_delta),) = printed_pairs(str(curve))
    assert shown_epsilon >= epsilon
    assert shown_delta >= delta


@pytest.mark.planted
def test_a_sentence_rounded_to_the_nearest_is_rejected():
    claim = guarantee(sf.Gaussian(1.0))
    assert false_pairs(claim, f"({claim.epsilon(1e-6):.4g}, 1e-06)") == []  # 4.88655 happens to round up
    assert false_pairs(claim, f"({claim.epsilon(1e-5):.4g}, 1e-05)") == [(4.377, 1e-5)]
    assert false_pairs(claim, f"({claim.epsilon(1.004e-5) + 1e-9:.9g}, {1.004e-5:.2g})") != []


@pytest.mark.parametrize("mu", [5e-324, 1e-321, 1e-308, 0.0, 10.0])
def test_extreme_parameters_can_be_printed(mu):
    assert "Gaussian differential privacy" in str(guarantee(sf.Gaussian(mu)))
    assert guarantee(sf.Gaussian(mu)).table()


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_sentence_says_who_why_and_how_far(sample):
    text = str(sample)
    assert sample.theorem in text
    assert sample.trust in text.lower()
    if sample.adjacency != "metric":
        assert f"one {sample.unit} replaced" in text or f"entry of a {sample.unit} replaced" in text
        assert ("one draw" if sample.draws == 1 else f"all {sample.draws} draws together") in text
    else:
        assert sample.curve.distance in text


def test_where_no_epsilon_is_promised_the_sentence_says_so():
    claim = guarantee(sf.Profile("approximate", {"epsilon": 0.5, "delta": 1e-6}))
    assert "No epsilon is promised" in claim.at(1e-7)
    assert "infinity" in guarantee(sf.Profile("approximate", {"epsilon": 0.5, "delta": 1e-4})).table()


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_table_contains_every_assumption(sample):
    table = sample.table()
    for note in sample.assumptions:
        row = next(line for line in table.splitlines() if line.startswith(note.name))
        assert all(part in row for part in (note.symbol, note.required, note.value, note.origin))
    for part in (repr(sample.curve), sample.adjacency, sample.unit, sample.theorem, sample.source, sample.trust):
        assert part in table
    assert ("total variation" in table) == (sample.slack > 0)


@pytest.mark.parametrize(
    "claim",
    [
        guarantee(sf.Metric(0.5, 1.0, "d")),
        guarantee(sf.Profile("approximate", {"epsilon": 0.5, "delta": 1.0})),
        guarantee(sf.Renyi([2.0], [math.inf])),
        guarantee(sf.Gaussian(1e3)),
        guarantee(sf.Gaussian(0.1), slack=0.5),
        guarantee(sf.Gaussian(0.1), slack=1.0),
    ],
)
def test_a_vacuous_promise_is_named(claim):
    assert claim.vacuous
    assert str(claim).startswith("Vacuous")


@pytest.mark.parametrize(
    "claim",
    [
        *SAMPLES,
        guarantee(sf.Gaussian(1.0), slack=1e-9),
        guarantee(sf.Gaussian(0.1), slack=0.1),
        guarantee(sf.Pure(90.0)),
    ],
)
def test_a_promise_is_not_called_vacuous(claim):
    assert not claim.vacuous
    assert not str(claim).startswith("Vacuous")


def test_the_lists_of_words():
    assert ADJACENCIES == ("replace-one", "replace-entry", "replace-person", "metric")
    assert TRUST == ("proved", "proved with slack", "assumes converged", "not private")


# --- other accountants -----------------------------------------------------------------------------------------------


def pld_epsilon(event: object, delta: float, relation: object = REPLACE_ONE) -> float:
    return float(PLDAccountant(relation).compose(event).get_epsilon(delta))


def rdp_epsilon(event: object, delta: float) -> float:
    return float(RdpAccountant(neighboring_relation=REPLACE_ONE).compose(event).get_epsilon(delta))


@pytest.mark.parametrize("mu", [0.1, 0.5, 2.0])
def test_gaussian_events(mu):
    event, exact = guarantee(sf.Gaussian(mu)).to_dp_event(), sf.Gaussian(mu).epsilon(1e-5)
    assert event.noise_multiplier <= 1 / mp.mpf(mu)
    # Add-or-remove is one shift of mu, which is what the guarantee says of a replacement.
    assert exact * (1 - 1e-6) <= pld_epsilon(event, 1e-5, ADD_OR_REMOVE) <= exact * (1 + 1e-3)
    # This library doubles the shift for a replacement in one accountant and not in the other: never below ours.
    assert pld_epsilon(event, 1e-5) == pytest.approx(sf.Gaussian(2 * mu).epsilon(1e-5), rel=1e-3)
    assert exact <= rdp_epsilon(event, 1e-5) <= 1.2 * exact


@pytest.mark.parametrize("bound", [0.1, 1.0, 5.0])
def test_pure_events(bound):
    event, curve = guarantee(sf.Pure(bound)).to_dp_event(), sf.Pure(bound)
    assert curve.epsilon(1e-5) * (1 - 1e-9) <= pld_epsilon(event, 1e-5) <= bound + 2e-4
    assert rdp_epsilon(event, 1e-5) >= curve.epsilon(1e-5)
    by_order = RdpAccountant([2.0, 8.0], REPLACE_ONE).compose(event)
    assert by_order._rdp == pytest.approx([curve.renyi(2.0), curve.renyi(8.0)], rel=1e-9)


@pytest.mark.parametrize("bound", [0.1, 1.0, 5.0])
def test_bounded_range_events(bound):
    event = guarantee(sf.BoundedRange(bound)).to_dp_event()
    by_order = RdpAccountant([2.0, 8.0], REPLACE_ONE).compose(event)
    assert all(
        by_order._rdp
        >= [sf.BoundedRange(bound).renyi(2.0) * (1 - 1e-12), sf.BoundedRange(bound).renyi(8.0) * (1 - 1e-12)]
    )
    assert rdp_epsilon(event, 1e-5) >= sf.BoundedRange(bound).epsilon(1e-5)
    assert not PLDAccountant(REPLACE_ONE).supports(event)


EVENTS = {"gaussian": sf.Gaussian(0.4), "pure": sf.Pure(0.3), "bounded range": sf.BoundedRange(0.3)}


@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("accountant", ["pld", "rdp"])
def test_k_fold_of_every_event_is_k_singles(name, accountant):
    curve, count = EVENTS[name], 5
    books = [
        PLDAccountant(REPLACE_ONE) if accountant == "pld" else RdpAccountant(neighboring_relation=REPLACE_ONE)
        for _ in "ab"
    ]
    many, one = guarantee(count * curve).to_dp_event(), guarantee(curve).to_dp_event()
    if not books[0].supports(one):
        assert (name, accountant) == ("bounded range", "pld")
        return
    books[0].compose(many)
    for _ in range(count):
        books[1].compose(one)
    assert books[0].get_epsilon(1e-5) == pytest.approx(books[1].get_epsilon(1e-5), rel=1e-3)


@pytest.mark.parametrize(
    "curve", [5 * sf.Pure(0.3), 2 * sf.Pure(0.3) + sf.Pure(0.7), 3 * sf.Pure(0.2) + sf.Gaussian(0.5)]
)
def test_composed_events_are_never_below_the_truth(curve):
    event = guarantee(curve).to_dp_event()
    bounds = [part.epsilon_value for part, count in curve.parts if isinstance(part, sf.Pure) for _ in range(count)]
    for epsilon in (pld_epsilon(event, 1e-5), rdp_epsilon(event, 1e-5)):
        with mp.workdps(40):
            assert oracles.composed_responses(bounds, epsilon) <= 1e-5


def test_a_free_guarantee_is_no_event():
    assert guarantee(sf.Gaussian(0.0)).to_dp_event() == dp_accounting.NoOpDpEvent()


@pytest.mark.parametrize("curve", [sf.Pure(800.0), sf.Gaussian(1e-310), sf.Gaussian(1e-3), sf.BoundedRange(1e-3)])
def test_extreme_events_can_be_made(curve):
    assert isinstance(guarantee(curve).to_dp_event(), dp_accounting.DpEvent)


@pytest.mark.parametrize(
    "claim",
    [
        guarantee(sf.Gaussian(1.0), slack=1e-9),
        guarantee(sf.Renyi([2.0], [0.5])),
        guarantee(sf.Metric(0.5, 0.01, "d")),
        guarantee(sf.Profile("approximate", {"epsilon": 0.5, "delta": 1e-6})),
        guarantee(sf.Gaussian(1.0) + sf.Renyi([2.0], [0.5])),
    ],
)
def test_what_has_no_event_is_refused(claim):
    with pytest.raises(sf.errors.ArgumentError, match="dp_accounting has no event"):
        claim.to_dp_event()


# The theorems that price no release: comparisons with the papers, metric guarantees, and parts of others.
UNPHRASED = {"log_sobolev", "metric", "metric_examples", "curvature", "moments"}


@pytest.mark.planted
def test_every_theorem_that_prices_a_release_is_explained_before_it_is_named():
    for module in pkgutil.iter_modules(sfumato.theorems.__path__):
        importlib.import_module(f"sfumato.theorems.{module.name}")
    for id, theorem in statements.THEOREMS.items():
        sentence = plain_reasons.reason(statements.Words(theorem.name, id))
        assert sentence.endswith(theorem.name) == (id.partition(".")[0] in UNPHRASED), id
        assert sentence.removesuffix("]").endswith(theorem.name)


def test_a_sentence_is_plain_first_and_exact_behind():
    plan = sf.plan(sf.families.BetaBernoulli(1, 1), 50, 1.0, 1e-6, mechanism="diffused", draws=2)
    assert plan.guarantee.at(1e-6).endswith(
        "-differential privacy. It holds for every row (neighbours: one row replaced, n public) and covers all 2 draws together. "
        "Proved: computed exactly for the worst two neighbouring tables [exact profile (Beta-Bernoulli)]."
    )
    path = statements.in_words("path.whole_path", "name")
    assert plain_reasons.reason(path).startswith("the price covers every step of the computation, published or not [")
    assert plain_reasons.reason("my own theorem") == "my own theorem"


def test_two_theorems_of_one_kind_are_explained_once():
    both = statements.in_words("path.whole_path; weighted.weighted_path", "name")
    assert plain_reasons.reason(both).count("every step of the computation") == 1
