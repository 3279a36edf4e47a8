"""The table of interval methods: models by class, each with the file that reads its releases or the reason for none."""

from __future__ import annotations

from sfumato.errors import ArgumentError
from sfumato.models import families
from sfumato.models.families._vectors import Vectors
from sfumato.models.gibbs import Gibbs
from sfumato.models.hidden_sizes import HiddenSizes
from sfumato.models.networks._tables import Tables
from sfumato.models.networks.learned import LearnedNetwork
from sfumato.models.reading import FamilyOrGibbs
from sfumato.queries import transcript_posterior
from sfumato.queries.statistics import (
    bounded_means,
    by_group,
    learned_shares,
    network_tables,
    quantiles,
    shares,
    vectors,
)
from sfumato.queries.statistics.protocol import Method, Reader
from sfumato.queries.statistics.released_totals import one_statistic

# A subclass uses the line of its nearest base class; a sentence is the reason for no interval.
METHODS: dict[type, Method | str] = {
    **{kind: Method(one_statistic(build)) for kind, build in by_group.STATISTICS.items()},
    families.DirichletCategorical: Method(shares.read),
    Vectors: Method(vectors.read),
    families.BoundedMean: Method(bounded_means.read),
    HiddenSizes: Method(by_group.read, by_group.refusal),
    Gibbs: Method(transcript_posterior.read, transcript_posterior.refusal),
    families.Quantiles: Method(quantiles.read),
    families.Quantile: (
        "a drawn quantile is one of public candidates, with its rank error in plan.expected: no interval goes with it. "
        "sf.families.Quantiles estimates quantiles with intervals."
    ),
    families.Finite: "a finite family has points, not intervals: count the draws of each point, or use respond(...).",
    Tables: Method(network_tables.read, network_tables.refusal),
    LearnedNetwork: Method(learned_shares.read),
}


def reader_of(model: FamilyOrGibbs) -> Reader:
    """The method that computes intervals of a model; a model without one is refused with a sentence."""
    name = getattr(model, "name", type(model).__name__)
    unknown = f"no noise-aware interval is worked out for {name}; quantile(...) gives the quantiles of the draws alone."
    method = next((METHODS[kind] for kind in type(model).__mro__ if kind in METHODS), unknown)
    refusal = method if isinstance(method, str) else method.refusal(model)
    if isinstance(method, str) or refusal is not None:
        raise ArgumentError(str(refusal))
    return method.read
