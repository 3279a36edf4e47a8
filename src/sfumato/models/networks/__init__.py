"""Discrete networks with Dirichlet tables, and tables whose dependences are learnt: a release of one is a synthetic table."""

from __future__ import annotations

from typing import Any

from sfumato.models.networks.bayesian_network import BayesianNetwork
from sfumato.models.networks.learned import LearnedNetwork
from sfumato.models.networks.learning import learn
from sfumato.models.networks.markov_chain import MarkovChain

__all__ = ["TABLE", "BayesianNetwork", "LearnedNetwork", "MarkovChain", "learn"]

TABLE: dict[str, Any] = {network.name: network for network in (BayesianNetwork, LearnedNetwork, MarkovChain)}
