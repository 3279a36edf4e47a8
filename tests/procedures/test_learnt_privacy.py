"""What a learnt table takes from the rows is what its price lists: every table, tree and choice, and nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

import sfumato as sf
from sfumato.engines.opening import open_engine
from sfumato.errors import ArgumentError, FormatError
from sfumato.models.networks.learned import LearnedNetwork
from sfumato.procedures import choosing_pairs, learnt_parts, noisy_tables, task_of
from sfumato.schema.missing_cells import missing_key

SCHEMA = sf.Schema(
    {
        "a": sf.Category(["x", "y"], missing="x"),
        "b": sf.Category(["u", "v", "w"], missing="u"),
        "c": sf.Boolean(missing=False),
        "z": sf.Number(0, 64),
    }
)
MODELS = {
    "all pairs": sf.networks.learn(SCHEMA, bins="uniform", target="c"),
    "private bins": sf.networks.learn(SCHEMA, bins={"z": {"quantiles": 4}}),
    "chosen pairs": sf.networks.learn(SCHEMA, pairs="select", chosen=3, rounds=2),
    "target": sf.networks.learn(SCHEMA, pairs="select", target="c", chosen=2, rounds=1, missing=["a", "z"]),
}
N = 60


def data(seed: int, gone: tuple[str, ...] = ()) -> sf.Dataset:
    rng = np.random.default_rng(seed)
    table = {
        "a": rng.choice(["x", "y"], N, p=[0.9, 0.1] if seed else [0.1, 0.9]).tolist(),
        "b": rng.choice(["u", "v", "w"], N).tolist(),
        "c": (rng.random(N) < 0.3).tolist(),
        "z": (64 * rng.beta(1 + 4 * seed, 3, N)).tolist(),
    }
    for name in gone:
        table[name][:20] = [None] * 20
    return sf.Dataset.from_table(table, schema=SCHEMA)


def carried_out(
    model: LearnedNetwork, dataset: sf.Dataset, seed: int = 3
) -> tuple[sf.Plan, noisy_tables._Counting, list]:
    plan = sf.plan(model, N, 1.0, 1e-6)
    engine = open_engine(dataset, model, noisy_tables.NEEDS)
    totals, counted, _ = noisy_tables.noisy_counts(plan.task, engine, sf.seeded(seed))
    return plan, counted, totals


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_all_noise_and_all_choices_of_a_run_are_in_the_price(model, monkeypatch):
    noises, choices = [], []
    add, draw = noisy_tables.rounded_normals, choosing_pairs.draw_finite
    monkeypatch.setattr(noisy_tables, "rounded_normals", lambda *given: noises.append(given) or add(*given))
    monkeypatch.setattr(choosing_pairs, "draw_finite", lambda *given: choices.append(given) or draw(*given))
    plan, counted, _ = carried_out(model, data(0, ("a",)))
    squares, trees = 0.0, [len(model.cell_radices(name)) for name, _ in model.quantiles]
    for place, (_, counts, deviation, _) in enumerate(noises):
        # A tree moves by 2 in squares at each of its levels, a table by 2.
        levels = trees[place] if place < len(trees) else 1
        assert sum(counts) == levels * N
        squares += 2 * levels / float(deviation) ** 2
    for law, drawn, _ in choices:
        assert drawn == 1
        assert len(law.logs) == len(law.points)
        squares += (2 * norm.ppf(1 / (1 + math.exp(2 * plan.parameters.choice)))) ** 2
    # Prices are rounded up by parts in 1e14 and count errors of a log mass of 4e-14.
    assert plan.guarantee.curve.mu == pytest.approx(math.sqrt(squares), rel=1e-9)
    assert len(choices) == model.chosen
    assert len(noises) == len(trees) + len(counted.tables)


def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noisy counts that are the same whatever the rows are."""
    rng = np.random.default_rng(9)
    monkeypatch.setattr(
        noisy_tables, "rounded_normals",
        lambda source, counts, deviation, grid: [Fraction(int(each)) for each in rng.integers(0, N, len(counts))],
    )  # fmt: skip


def seen_of(monkeypatch: pytest.MonkeyPatch, name: str, owner: object) -> list:
    seen: list = []
    own: Callable = getattr(owner, name)

    def kept(*given: object) -> object:
        seen.append(own(*given))
        return seen[-1]

    monkeypatch.setattr(owner, name, kept)
    return seen


def test_references_and_bins_follow_from_noisy_tables_alone(monkeypatch):
    """Two tables of other rows, and the same noisy counts: the reference of the first round and all bins are the same numbers."""
    references, bins = [], []
    for seed in (0, 1):
        with monkeypatch.context() as patch:
            frozen(patch)
            seen = seen_of(patch, "reference_shares", choosing_pairs)
            carried_out(MODELS["chosen pairs"], data(seed))
            references.append(seen[0])
        with monkeypatch.context() as patch:
            frozen(patch)
            bins.append(carried_out(MODELS["private bins"], data(seed))[1].model.bins)
    assert np.array_equal(*references)
    assert bins[0] == bins[1]
    # The rows do decide what is counted.
    exact = [carried_out(MODELS["chosen pairs"], data(seed))[1].exact for seed in (0, 1)]
    assert exact[0] != exact[1]


def test_misfits_are_exact_whole_numbers_of_a_public_reference(monkeypatch):
    model = MODELS["chosen pairs"]
    misfits = seen_of(monkeypatch, "misfit_of", choosing_pairs)
    references = seen_of(monkeypatch, "reference_shares", choosing_pairs)
    laws = seen_of(monkeypatch, "law_of", choosing_pairs)
    plan, counted, _ = carried_out(model, data(1))
    edges = [0, *np.cumsum(list(model.sizes.values())).tolist()]
    for place, (a, b) in enumerate(model.open_pairs):
        block = references[0][edges[a] : edges[a + 1], edges[b] : edges[b + 1]].ravel()
        wanted = [round(Fraction(float(share)) * N * 1024) for share in block]
        gap = sum(abs(1024 * count - want) for count, want in zip(counted.exact[a, b], wanted, strict=True))
        noise = learnt_parts.pair_parts(model, plan.parameters.noise, ((a, b),))[-1].deviation
        assert isinstance(misfits[place], int)
        # A share times n is rounded to a float first: half a unit more at ties.
        assert abs(misfits[place] - (gap - round(1024 * len(block) * noise * math.sqrt(2 / math.pi)))) <= 1
    power = Fraction(plan.parameters.choice)
    for log, misfit in zip(laws[0].logs, misfits, strict=False):
        assert abs(log - power * misfit * 2**48 / 1024) <= Fraction(1, 2)


def test_a_missing_level_is_that_of_its_own_column():
    model = MODELS["target"]
    block = {"a": np.zeros(4, int), "b": np.zeros(4, int), "c": np.zeros(4, int), "z": np.zeros(4)}
    block |= {
        missing_key("a"): np.array([True, False, False, False]),
        missing_key("z"): np.array([False, True, True, False]),
    }
    block |= {missing_key(name): np.ones(4, bool) for name in ("b", "c")}
    resolved = model.resolved({"z": np.linspace(0, 64, 11)})
    assert resolved.codes(block, "a").tolist() == [2, 0, 0, 0]
    assert resolved.codes(block, "z").tolist() == [0, 10, 10, 0]
    assert resolved.codes(block, "b").tolist() == resolved.codes(block, "c").tolist() == [0] * 4


def test_every_cell_has_noise_of_its_own():
    """Differences of noisy and exact counts over their deviation: with 10^6 steps a deviation, none occurs twice."""
    for name in ("all pairs", "chosen pairs"):
        _, counted, _ = carried_out(MODELS[name], data(0))
        noise = [(table.counts.ravel() - counted.exact[table.columns]) / table.deviation for table in counted.tables]
        rounded = np.round(np.concatenate(noise), 9)
        assert len(set(rounded.tolist())) == len(rounded)
        # Mean square of m standard normals: 1 +- sqrt(2/m); five deviations.
        assert abs((rounded**2).mean() - 1) < 5 * math.sqrt(2 / len(rounded))


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_model_is_the_same_after_its_document(model):
    document = json.loads(json.dumps(sf.plan(model, N, 1.0, 1e-6).to_json()))
    again = task_of(document)[1].model
    assert again == model
    assert again.to_json() == model.to_json()


def test_numbers_that_contradict_the_model_are_refused():
    for name, changed in (
        ("all pairs", {"bins_noise": 1.0}),
        ("all pairs", {"choice": 1.0}),
        ("private bins", {"bins_noise": None}),
        ("chosen pairs", {"choice": None}),
        ("chosen pairs", {"single_noise": None}),
        ("target", {"rule": 2}),
    ):
        model = MODELS[name]
        numbers = replace(sf.plan(model, N, 1.0, 1e-6).parameters, **changed)
        with pytest.raises(FormatError):
            noisy_tables.price(model, N, 1, numbers)
    with pytest.raises(ArgumentError, match="learnt table"):
        sf.plan(MODELS["all pairs"], N, 1.0, 1e-6, draws=2)


@pytest.mark.parametrize(
    "changed",
    [
        {"quantiles": [("p", [0, 1, 2]), ("p", [0, 1, 2, 3, 4, 5])]},
        {"quantiles": [("p", [0, 1, 2])], "bins": [("p", [0, 1, 2])]},
        {"bins": [("p", [0, 1, 2]), ("p", [0, 1, 3])]},
        {"bins": [("p", [0, math.nan, 2])]},
        {"cardinalities": [("p", 2), ("p", 3), ("q", 2)]},
        {"cardinalities": [("p", 2)]},
        {"cardinalities": [("p", 1), ("q", 2)]},
        {"cardinalities": [("p", 1999), ("q", 2)]},
        {"missing": ["p", "p"]},
        {"missing": "pq"},
        {"missing": ["nowhere"]},
        {"apart": ["pq"]},
        {"apart": [["p", "nowhere"]]},
        {"apart": [["p", "q"]]},
        {"target": ""},
        {"chosen": 2},
        {"chosen": 1, "rounds": 2},
        {"chosen": 1, "target": "p"},
        {"impossible": [[("p", (0, 1)), ("q", (0, 1))]]},
        {"impossible": [[("p", (0, 1)), ("q", (0,))], [("q", (1,)), ("p", (0, 1))]]},
        {"impossible": [[("p", (0.5,)), ("q", (0,))]]},
        {"impossible": [[("p", (2,)), ("q", (0,))]]},
    ],
    ids=repr,
)
def test_a_document_that_contradicts_itself_is_refused(changed):
    with pytest.raises(ArgumentError):
        LearnedNetwork(**{"cardinalities": [("p", 2), ("q", 2)], **changed})
