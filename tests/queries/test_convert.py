"""Draws in other libraries' forms keep their shape, their labels and their promise."""

from __future__ import annotations

import builtins
import sys
import types

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.queries import convert

LEVELS = ["a", "b", "c"]


def shares() -> sf.Release:
    data = sf.Dataset.from_table({"x": LEVELS * 10}, schema=sf.Schema({"x": sf.Category(LEVELS, missing=LEVELS[0])}))
    plan = sf.plan(sf.families.DirichletCategorical(LEVELS), 30, mechanism="exact", draws=7)
    return sf.publish(plan, data, randomness=sf.seeded(1))


def rate() -> sf.Release:
    data = sf.Dataset.from_table({"x": [True, False] * 15}, schema=sf.Schema({"x": sf.Boolean(missing=False)}))
    plan = sf.plan(sf.families.BetaBernoulli(), 30, 1.0, 1e-6, mechanism="diffused")
    return sf.publish(plan, data)


def chains() -> sf.Release:
    schema = sf.Schema.vector(2, data_norm=1.0, target=sf.Boolean(missing=False))
    rng = np.random.default_rng(0)
    data = sf.Dataset.from_arrays(rng.normal(size=(200, 2)), rng.random(200) < 0.5, schema=schema)
    model = sf.Gibbs(sf.losses.Logistic(radius=1.0), sf.priors.Gaussian(precision=5.0), dimension=2)
    return sf.publish(sf.plan(model, 200, 1.0, 1e-6, mechanism="langevin", draws=3), data, randomness=sf.seeded(1))


def test_a_frame_has_one_row_per_draw_and_carries_the_promise():
    made = shares()
    frame = made.to_pandas(noise_aware=False)
    assert frame.shape == (7, 3)
    assert list(frame.columns) == LEVELS
    assert frame.index.names == ["chain", "draw"]
    assert (frame.loc[(0, 4)].to_numpy() == made.draws.values[0, 4]).all()
    assert frame.attrs["promise"] == made.promise
    assert frame.attrs["plan_digest"] == made.plan_digest
    assert rate().to_pandas(noise_aware=False).shape == (1, 1)
    many = chains()
    assert (many.to_pandas(noise_aware=False).loc[(2, 0)].to_numpy() == many.draws.values[2, 0]).all()


def test_the_installed_arviz_gives_its_own_form():
    arviz = convert._arviz()
    made = shares()
    found = made.to_arviz(noise_aware=False)
    wanted = "InferenceData" if arviz.__version__.startswith("0.") else "DataTree"
    assert type(found).__name__ == wanted
    posterior = found["posterior"]
    assert posterior["theta"].shape == (1, 7, 3)
    assert posterior["theta"].dims == ("chain", "draw", "coordinate")
    assert (posterior["theta"].sel(coordinate="b").values == made.draws.values[:, :, 1]).all()
    assert posterior.attrs["promise"] == made.promise
    assert posterior.attrs["trust"] == "not private"
    private = rate()
    one = private.to_arviz(noise_aware=False)["posterior"]
    assert one["theta"].dims == ("chain", "draw")
    assert one.attrs["trust"] == "proved"
    assert chains().to_arviz(noise_aware=False)["posterior"]["theta"].shape == (3, 1, 2)


@pytest.mark.parametrize("style", ["groups as arguments", "groups in a mapping"])
def test_both_forms_of_from_dict_are_called_as_they_ask(style, monkeypatch):
    """InferenceData's signature (0.x) and DataTree's (1.x), each shown by a stand-in that takes no other."""
    given = {}

    class Group:
        attrs: dict

    def keep(posterior, coords, dims):
        group = Group()
        group.attrs = {}
        given.update(posterior=posterior, coords=coords, dims=dims)
        return {"posterior": group}

    def old(posterior=None, *, coords=None, dims=None):
        return keep(posterior, coords, dims)

    def new(data, *, coords=None, dims=None):
        return keep(data["posterior"], coords, dims)

    module = types.ModuleType("arviz")
    module.from_dict = old if style == "groups as arguments" else new
    monkeypatch.setitem(sys.modules, "arviz", module)
    found = shares().to_arviz(noise_aware=False)
    assert given["posterior"]["theta"].shape == (1, 7, 3)
    assert given["coords"] == {"coordinate": LEVELS}
    assert given["dims"] == {"theta": ["coordinate"]}
    assert found["posterior"].attrs["mechanism"] == "exact"


@pytest.mark.parametrize(("missing", "said"), [("arviz", r"sfumato\[arviz\]"), ("pandas", "pip install pandas")])
def test_a_missing_library_is_named_with_what_installs_it(missing, said, monkeypatch):
    made = shares()

    def refuse(name, *rest):
        if name.split(".")[0] == missing:
            raise ImportError(name)
        return builtins.__import__(name, *rest)

    monkeypatch.setattr(convert, "import_module", refuse)
    with pytest.raises(ImportError, match=said):
        made.to_arviz(noise_aware=False) if missing == "arviz" else made.to_pandas(noise_aware=False)


def test_released_draws_are_said_to_leave_the_noise_out():
    made = rate()
    with pytest.warns(UserWarning, match=r"to_pandas\(noise_aware=True\)"):
        frame = made.to_pandas()
    assert frame.attrs["noise_aware"] == 0
    with pytest.warns(UserWarning, match="interval\\(\\) includes it"):
        chains().to_arviz()
    assert shares().to_pandas().attrs["noise_aware"] == 1  # draws of the posterior itself


def test_noise_aware_draws_have_the_quantiles_of_the_intervals():
    made = rate()
    frame = made.to_pandas(noise_aware=True, draws=20_000)
    assert frame.attrs["noise_aware"] == 1
    assert frame.shape == (20_000, 1)
    # An empirical quantile of N draws is off by sqrt(q (1 - q)/N) in probability: five of these.
    for level in (0.5, 0.9):
        # Of the reference prior, without the edge: a prior that is given moves no end.
        low, high = np.ravel(made.interval(level, prior=sf.families.BetaBernoulli(0.5, 0.5)))
        for end, share in ((low, 0.5 * (1 - level)), (high, 0.5 * (1 + level))):
            assert (frame.iloc[:, 0] <= end).mean() == pytest.approx(
                share, abs=5 * (share * (1 - share) / 20_000) ** 0.5
            )
    # The released draws of a rate with so much noise are far narrower than what is known.
    again = made.to_pandas(noise_aware=True, draws=50)
    assert (again.to_numpy() == made.to_pandas(noise_aware=True, draws=50).to_numpy()).all()
    assert made.to_arviz(noise_aware=True, draws=30)["posterior"][made.draws.labels[0]].shape == (1, 30)


def test_noise_aware_draws_of_coordinates_that_depend_on_each_other_are_refused():
    with pytest.raises(ArgumentError, match="joint law"):
        shares().to_pandas(noise_aware=True)
