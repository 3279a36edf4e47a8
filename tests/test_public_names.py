"""What is public: exactly the listed names, usable twice, in either order, and cheap to import."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import pytest

import sfumato as sf

NAMES = [
    "Assumption", "Audit", "Boolean", "BoundedRange", "Category", "Dataset", "Date", "Gaussian", "Gibbs", "Guarantee",
    "Ledger", "Metric", "Neighbours", "Number", "OneRun", "Persons", "Plan", "PrivateHuberRegressor",
    "PrivateLinearRegression", "PrivateLinearSVC", "PrivateLogisticRegression", "PrivatePoissonRegressor",
    "PrivateQuantileRegressor", "Profile", "PublicEncoder", "PublicScaler", "Pure", "Release", "Renyi", "Replayed", "Schema",
    "Simulation", "Weight", "__version__", "audit", "check_pipeline", "compare", "errors", "expected_widths", "families",
    "grouped", "load", "losses", "make_pipeline", "networks", "one_run", "plan", "plan_bounds", "plan_for_width", "plots",
    "posterior_divergence", "price_list", "priors", "private_bounds", "private_quantile", "publish", "regression", "rehearse",
    "replay", "seeded", "share", "simulate", "theorems",
]  # fmt: skip


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_all_is_exactly_the_public_names():
    assert sorted(sf.__all__) == sorted(NAMES)
    assert set(dir(sf)) == set(NAMES)


def test_unknown_names_say_what_is_public():
    with pytest.raises(AttributeError, match="price_list"):
        _ = sf.pricelist


def test_each_name_can_be_used_twice_in_either_order():
    """Importing a submodule must not replace a public name by a module of the same name."""
    names = [name for name in NAMES if name != "__version__"]
    code = f"""
import itertools, sfumato as sf
for first, second in itertools.permutations({names!r}, 2):
    a, b = getattr(sf, first), getattr(sf, second)
    assert getattr(sf, first) is a and getattr(sf, second) is b, (first, second)
    exec(f"from sfumato import {{first}}, {{second}}")
print("ok")
"""
    assert run(code).strip() == "ok"
    assert len(list(itertools.permutations(names, 2))) > 300


def test_functions_stay_functions_after_their_modules_are_imported():
    names = [
        "plan",
        "compare",
        "price_list",
        "publish",
        "rehearse",
        "load",
        "seeded",
        "share",
        "audit",
        "replay",
        "one_run",
    ]
    code = f"""
import importlib, pkgutil, sfumato
for module in pkgutil.walk_packages(sfumato.__path__, "sfumato."):
    importlib.import_module(module.name)
print([name for name in {names!r} if callable(getattr(sfumato, name))])
"""
    assert run(code).strip() == repr(names)


def test_import_is_light():
    loaded = json.loads(run("import sys, json, sfumato; print(json.dumps(sorted(sys.modules)))"))
    heavy = {"scipy", "numba", "sklearn", "jax", "matplotlib", "dp_accounting", "numpy", "pandas"}
    assert heavy & {name.split(".")[0] for name in loaded} == set()


def test_a_gaussian_price_needs_no_scipy():
    code = """
import sys, sfumato as sf
g = sf.Guarantee(sf.Gaussian(mu=1.0) + sf.Gaussian(mu=0.5), "replace-one", "t", "s")
assert sf.Guarantee.from_json(g.to_json()) == g
str(g); g.table(); g.epsilon(1e-6); sf.Pure(1.0).mu
print("scipy" in sys.modules, "dp_accounting" in sys.modules)
"""
    assert run(code).split() == ["False", "False"]
