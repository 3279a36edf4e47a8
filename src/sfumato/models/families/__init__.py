"""Conjugate families, one file each."""

from sfumato.models.families.beta_bernoulli import BetaBernoulli

__all__ = ["BetaBernoulli"]
