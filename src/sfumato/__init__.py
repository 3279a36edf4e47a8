"""Sfumato: Bayesian models of sensitive data, released under differential privacy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato import errors as errors
    from sfumato import plots as plots
    from sfumato import theorems as theorems
    from sfumato._version import __version__ as __version__
    from sfumato.auditing.audit import audit as audit
    from sfumato.auditing.one_run import OneRun as OneRun
    from sfumato.auditing.one_run import one_run as one_run
    from sfumato.auditing.pairs import Neighbours as Neighbours
    from sfumato.auditing.replay import Replayed as Replayed
    from sfumato.auditing.replay import replay as replay
    from sfumato.auditing.result import Audit as Audit
    from sfumato.bounds_plan import plan_bounds as plan_bounds
    from sfumato.bounds_proposal import private_bounds as private_bounds
    from sfumato.bounds_proposal import private_quantile as private_quantile
    from sfumato.comparing import compare as compare
    from sfumato.dataset import Dataset as Dataset
    from sfumato.estimators import PrivateHuberRegressor as PrivateHuberRegressor
    from sfumato.estimators import PrivateLinearRegression as PrivateLinearRegression
    from sfumato.estimators import PrivateLinearSVC as PrivateLinearSVC
    from sfumato.estimators import PrivateLogisticRegression as PrivateLogisticRegression
    from sfumato.estimators import PrivatePoissonRegressor as PrivatePoissonRegressor
    from sfumato.estimators import PrivateQuantileRegressor as PrivateQuantileRegressor
    from sfumato.estimators import PublicEncoder as PublicEncoder
    from sfumato.estimators import PublicScaler as PublicScaler
    from sfumato.estimators import check_pipeline as check_pipeline
    from sfumato.estimators import make_pipeline as make_pipeline
    from sfumato.ledger import Ledger as Ledger
    from sfumato.mechanisms.plan import Plan as Plan
    from sfumato.models import families as families
    from sfumato.models import losses as losses
    from sfumato.models import networks as networks
    from sfumato.models import priors as priors
    from sfumato.models.building import regression as regression
    from sfumato.models.gibbs import Gibbs as Gibbs
    from sfumato.planning import plan as plan
    from sfumato.planning import plan_for_width as plan_for_width
    from sfumato.planning import price_list as price_list
    from sfumato.privacy.curves import BoundedRange as BoundedRange
    from sfumato.privacy.curves import Gaussian as Gaussian
    from sfumato.privacy.curves import Pure as Pure
    from sfumato.privacy.guarantee import Assumption as Assumption
    from sfumato.privacy.guarantee import Guarantee as Guarantee
    from sfumato.privacy.metric import Metric as Metric
    from sfumato.privacy.profiles import Profile as Profile
    from sfumato.privacy.renyi import Renyi as Renyi
    from sfumato.privacy.sharing import share as share
    from sfumato.publishing import publish as publish
    from sfumato.randomness import seeded as seeded
    from sfumato.rehearsing import rehearse as rehearse
    from sfumato.rehearsing.expected_widths import expected_widths as expected_widths
    from sfumato.release import Release as Release
    from sfumato.release import load as load
    from sfumato.schema import Boolean as Boolean
    from sfumato.schema import Category as Category
    from sfumato.schema import Date as Date
    from sfumato.schema import Number as Number
    from sfumato.schema import Persons as Persons
    from sfumato.schema import Schema as Schema
    from sfumato.schema import Weight as Weight
    from sfumato.simulating import Simulation as Simulation
    from sfumato.simulating import posterior_divergence as posterior_divergence
    from sfumato.simulating import simulate as simulate

# name -> (module, attribute); an empty attribute means the module itself.
_PUBLIC = {
    "Assumption": ("sfumato.privacy.guarantee", "Assumption"),
    "Audit": ("sfumato.auditing.result", "Audit"),
    "Boolean": ("sfumato.schema", "Boolean"),
    "BoundedRange": ("sfumato.privacy.curves", "BoundedRange"),
    "Category": ("sfumato.schema", "Category"),
    "Dataset": ("sfumato.dataset", "Dataset"),
    "Date": ("sfumato.schema", "Date"),
    "Gaussian": ("sfumato.privacy.curves", "Gaussian"),
    "Gibbs": ("sfumato.models.gibbs", "Gibbs"),
    "Guarantee": ("sfumato.privacy.guarantee", "Guarantee"),
    "Ledger": ("sfumato.ledger", "Ledger"),
    "Metric": ("sfumato.privacy.metric", "Metric"),
    "Neighbours": ("sfumato.auditing.pairs", "Neighbours"),
    "Number": ("sfumato.schema", "Number"),
    "OneRun": ("sfumato.auditing.one_run", "OneRun"),
    "Persons": ("sfumato.schema", "Persons"),
    "Plan": ("sfumato.mechanisms.plan", "Plan"),
    "PrivateHuberRegressor": ("sfumato.estimators", "PrivateHuberRegressor"),
    "PrivateLinearRegression": ("sfumato.estimators", "PrivateLinearRegression"),
    "PrivateLinearSVC": ("sfumato.estimators", "PrivateLinearSVC"),
    "PrivateLogisticRegression": ("sfumato.estimators", "PrivateLogisticRegression"),
    "PrivatePoissonRegressor": ("sfumato.estimators", "PrivatePoissonRegressor"),
    "PrivateQuantileRegressor": ("sfumato.estimators", "PrivateQuantileRegressor"),
    "PublicEncoder": ("sfumato.estimators", "PublicEncoder"),
    "PublicScaler": ("sfumato.estimators", "PublicScaler"),
    "Profile": ("sfumato.privacy.profiles", "Profile"),
    "Pure": ("sfumato.privacy.curves", "Pure"),
    "Release": ("sfumato.release", "Release"),
    "Renyi": ("sfumato.privacy.renyi", "Renyi"),
    "Replayed": ("sfumato.auditing.replay", "Replayed"),
    "Schema": ("sfumato.schema", "Schema"),
    "Simulation": ("sfumato.simulating", "Simulation"),
    "Weight": ("sfumato.schema", "Weight"),
    "__version__": ("sfumato._version", "__version__"),
    "audit": ("sfumato.auditing.audit", "audit"),
    "check_pipeline": ("sfumato.estimators", "check_pipeline"),
    "compare": ("sfumato.comparing", "compare"),
    "errors": ("sfumato.errors", ""),
    "expected_widths": ("sfumato.rehearsing.expected_widths", "expected_widths"),
    "families": ("sfumato.models.families", ""),
    "grouped": ("sfumato.models.grouped", "grouped"),
    "load": ("sfumato.release", "load"),
    "losses": ("sfumato.models.losses", ""),
    "make_pipeline": ("sfumato.estimators", "make_pipeline"),
    "networks": ("sfumato.models.networks", ""),
    "one_run": ("sfumato.auditing.one_run", "one_run"),
    "plan": ("sfumato.planning", "plan"),
    "plan_bounds": ("sfumato.bounds_plan", "plan_bounds"),
    "plan_for_width": ("sfumato.planning", "plan_for_width"),
    "plots": ("sfumato.plots", ""),
    "posterior_divergence": ("sfumato.simulating", "posterior_divergence"),
    "price_list": ("sfumato.planning", "price_list"),
    "priors": ("sfumato.models.priors", ""),
    "private_bounds": ("sfumato.bounds_proposal", "private_bounds"),
    "private_quantile": ("sfumato.bounds_proposal", "private_quantile"),
    "publish": ("sfumato.publishing", "publish"),
    "regression": ("sfumato.models.building", "regression"),
    "rehearse": ("sfumato.rehearsing", "rehearse"),
    "replay": ("sfumato.auditing.replay", "replay"),
    "seeded": ("sfumato.randomness", "seeded"),
    "share": ("sfumato.privacy.sharing", "share"),
    "simulate": ("sfumato.simulating", "simulate"),
    "theorems": ("sfumato.theorems", ""),
}

__all__ = sorted(_PUBLIC)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}; public names: {', '.join(__all__)}")
    module, attribute = _PUBLIC[name]
    loaded = import_module(module)
    return getattr(loaded, attribute) if attribute else loaded


def __dir__() -> list[str]:
    return list(__all__)
