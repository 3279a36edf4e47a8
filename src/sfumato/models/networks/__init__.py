"""Discrete networks with Dirichlet tables: a release of one is a synthetic table, and every marginal and conditional of it."""

from __future__ import annotations

from typing import Any

from sfumato.models.networks.bayesian_network import BayesianNetwork
from sfumato.models.networks.markov_chain import MarkovChain

__all__ = ["TABLE", "BayesianNetwork", "MarkovChain"]

TABLE: dict[str, Any] = {network.name: network for network in (BayesianNetwork, MarkovChain)}
