"""Families that satisfy the assumptions of posterior sampling under a distance, with their constants.

Each function returns the constants of one lemma, rounded to the private side, ready for `sfumato.theorems.metric`:

    constants = trimmed_exponential(rate=1.0, lower=0.5, upper=2.0, bound=1.0)
    metric.stochastic_draws_within(**constants.assumption, rho=constants.diameter)

`assumption` holds the keywords of the theorem, `distance` names rho, `diameter` is the largest rho between two records,
which is the rho of neighbours when one record is replaced.

Source: Dimitrakakis et al. 2017, Lemmas 19 to 24, corrected; see docs/proofs/metric_examples.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sfumato.privacy.curves import BoundedRange
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems._common import DRAWS, POSITIVE
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem

_PAPER = "Dimitrakakis et al. 2017, "
# Rounds a bound up: more than the rounding errors of a few operations.
_UP = 1 + 1e-12


_NETWORK = (
    Hypothesis("values", "values of a node", "c_k", "a whole number of at least 2", "Drop nodes with one value."),
    Hypothesis("parents", "parents of every node", "parents", "one list of node numbers per node",
               "List the parents of each node, [] for none."),
    Hypothesis("acyclic", "no cycle", "parents", "acyclic", "Remove an edge."),
    Hypothesis("floor", "smallest conditional probability", "floor", "in (0, 1)", "Truncate the tables.", "prior"),
    Hypothesis("floor-possible", "floor that the tables can meet", "floor", "at most 1/{}", "Lower it."),
)  # fmt: skip


@dataclass(frozen=True)
class UniformLipschitz:
    """Assumption 1: |log p_theta(x) - log p_theta(y)| <= lipschitz * rho(x, y) for every theta."""

    lipschitz: float
    distance: str
    diameter: float

    @property
    def assumption(self) -> dict[str, float]:
        """The keywords of the uniform Lipschitz theorems."""
        return {"lipschitz": self.lipschitz}

    def lifted(self) -> UniformLipschitz:
        """Lemma 5: n independent records satisfy it with the SAME constant under the sum of their distances."""
        return replace(self, distance=f"sum over records of {self.distance}")


@dataclass(frozen=True)
class StochasticLipschitz:
    """Assumption 2: prior{l > t} <= exp(-c (t - L0)) for t >= L0, with log_ratio = ln sup p_theta(x)/phi(x)."""

    concentration: float
    offset: float
    log_ratio: float
    distance: str
    diameter: float

    @property
    def ratio(self) -> float:
        """C itself; infinite where it exceeds the largest float."""
        return math.exp(self.log_ratio) if self.log_ratio < 709 else math.inf

    @property
    def assumption(self) -> dict[str, float]:
        """The keywords of the stochastic Lipschitz theorems."""
        return {"concentration": self.concentration, "offset": self.offset, "log_ratio": self.log_ratio}

    def lifted(self, *, log_ratio: float) -> StochasticLipschitz:
        """Lemma 5: (c, L0) are kept under the sum of the records' distances; ln C is NOT and must be given anew."""
        return replace(self, distance=f"sum over records of {self.distance}", log_ratio=log_ratio)


def trimmed_exponential(*, rate: float, lower: float, upper: float, bound: float, n: int = 1) -> StochasticLipschitz:
    """Exponential data x in [0, B] with a prior Exp(lambda) trimmed to [c1, c2]: l(theta) = theta, rho = |x - y|.

    c = lambda, L0 = c1, C = (c2 / min over theta in {c1, c2} of theta exp(-theta B))^n. Lemma 19; n records added.
    `rate` is lambda, `lower` c1, `upper` c2, `bound` B; theta is the rate of the data.
    Source: Dimitrakakis et al. 2017, Lemma 19.
    """
    h = Hypotheses("exponential data, trimmed prior", _PAPER + "Lemma 19")
    lam, low, high, b, count = _trimmed(h, rate, lower, upper, bound, n)
    smallest = min(math.log(theta) - theta * b for theta in (low, high))
    return _stochastic(lam, low, (math.log(high), smallest), "|x - y|", b, count)


def trimmed_laplace(
    *, rate: float, lower: float, upper: float, bound: float, mean: float = 0.0, n: int = 1
) -> StochasticLipschitz:
    """Laplace data |x| <= B with known centre mu; theta = 1/scale has a prior Exp(lambda) trimmed to [c1, c2].

    c = lambda, L0 = c1, C = (c2/2)^n / (min over theta in {c1, c2} of (theta/2) exp(-theta (B + |mu|)))^n.
    Lemma 20 prints the exponent with 1/c1 for c1 and a C that can be below 1; theta is the INVERSE scale.
    `rate` is lambda, `lower` c1, `upper` c2, `bound` B, `mean` mu. Source: Dimitrakakis et al. 2017, Lemma 20, corrected.
    """
    h = Hypotheses("Laplace data, trimmed prior", _PAPER + "Lemma 20, corrected")
    lam, low, high, b, count = _trimmed(h, rate, lower, upper, bound, n)
    farthest = b + abs(h.number(mean, "known centre", "mu", "finite", "State the public centre."))
    smallest = min(math.log(theta) - theta * farthest for theta in (low, high))
    return _stochastic(lam, low, (math.log(high), smallest), "|x - y|", 2 * b, count)


def beta_bernoulli(*, alpha: float, n: int) -> StochasticLipschitz:
    """Bits, n of them, with a prior Beta(alpha, alpha), alpha >= 1: l(theta) = |log(theta/(1-theta))|, rho Hamming.

    c = 2^(1-2 alpha)/B(alpha, alpha), L0 = 0, C = B(alpha, alpha)/B(alpha, alpha + n), attained at 0 or n ones.
    Lemma 21 works with the count of ones, whose binomial coefficient adds ln n to l and leaves the posterior as it is;
    its C forgets the factor theta^k (1-theta)^(n-k) and can be 1e25 times too large.
    """
    h = Hypotheses("bits, symmetric Beta prior", _PAPER + "Lemma 21, corrected")
    a = h.number(alpha, "shape of the prior", "alpha", "finite and greater than 0", "Choose 1 or more.", origin="prior")
    h.holds(a >= 1, "shape of the prior at least 1", "alpha", "at least 1", a, "Below 1 the prior favours 0 and 1.")
    count = h.count(n, "number of records", "n", 1, "State the public number of records.")
    # lgamma loses about an ulp of its size; the size is that of the largest argument.
    error = 1e-14 * (1 + math.lgamma(2 * a + count + 2))
    c = math.exp((1 - 2 * a) * math.log(2) - _log_beta(a, a) - error)
    log_c = max(0.0, _log_beta(a, a) - _log_beta(a, a + count)) + error
    return StochasticLipschitz(c, 0.0, log_c, "number of bits that differ", 1.0)


def trimmed_precision(
    *, rate: float, lower: float, upper: float, bound: float, mean: float = 0.0, n: int = 1
) -> StochasticLipschitz:
    """Normal data |x| <= B, known mean mu; the precision theta has a prior Exp(lambda) trimmed to [c1, c2].

    rho = |x^2 - y^2| + 2 |x - y|, l(theta) <= theta max(1, |mu|)/2, so c = 2 lambda/max(1, |mu|),
    L0 = c1 max(1, |mu|)/2 and C = max{ sqrt(c2/c1) exp(c1 (B+|mu|)^2/2), exp(c2 (B+|mu|)^2/2) }^n.
    Lemma 22 prints a minimum, and c2^2 for (B+|mu|)^2. Neighbours on [-B, B] are up to 4B (B <= 1) or (B+1)^2 apart.
    """
    h = Hypotheses("normal data, trimmed precision", _PAPER + "Lemma 22, corrected")
    lam, low, high, b, count = _trimmed(h, rate, lower, upper, bound, n)
    mu = abs(h.number(mean, "known mean", "mu", "finite", "State the public mean."))
    half, farthest = max(1.0, mu) / 2, b + mu
    smallest = min(math.log(theta) / 2 - theta * farthest * farthest / 2 for theta in (low, high))
    extremes = (math.log(high) / 2, smallest)
    return _stochastic(lam / half, low * half, extremes, "|x^2 - y^2| + 2|x - y|", _square_diameter(b), count)


def normal_family(
    *, precision_norm: float, mean_norm: float, bound: float, dimension: int, centred: bool = False
) -> UniformLipschitz:
    """Normal data |x| <= R in d dimensions, every precision with |A|_F <= a and every mean with |mu| <= m.

    L = a max(1, m)/2 under rho = |xx' - yy'|_F + 2|x - y|; `centred` (every mean 0): a/2 under |xx' - yy'|_F. Lemma 23.
    Two records of the unit ball are up to 4.7096 apart for d >= 2 and 4 for d = 1 (the paper says 3): in general
    max over phi of sqrt(2) R^2 sin(phi) + 4 R sin(phi/2).
    """
    h = Hypotheses("normal family", _PAPER + "Lemma 23, corrected")
    a = h.number(precision_norm, "Frobenius norm of the precision", "|A|_F", "finite and 0 or greater", "Truncate it.")
    m = h.number(mean_norm, "norm of the mean", "|mu|", "finite and 0 or greater", "Truncate the prior to a ball.")
    radius = h.number(bound, "bound on the rows", "R", "finite and greater than 0", "Declare data_norm.", "schema")
    d = h.count(dimension, "dimension", "d", 1, "State the dimension.")
    h.holds(not centred or m == 0, "mean of a centred family", "|mu|", "0", m, "Leave out centred=True.")
    if centred:
        return UniformLipschitz(a / 2 * _UP, "|xx' - yy'|_F", radius**2 * (1.0 if d == 1 else math.sqrt(2)) * _UP)
    u = (math.sqrt(1 + 4 * radius**2) - 1) / (2 * math.sqrt(2) * radius)  # cos(phi/2) at the maximum
    round_one = math.sqrt(1 - u * u) * (2 * math.sqrt(2) * radius**2 * u + 4 * radius)
    diameter = _square_diameter(radius) if d == 1 else round_one * _UP
    return UniformLipschitz(a * max(1.0, m) / 2 * _UP, "|xx' - yy'|_F + 2|x - y|", diameter)


theorem(
    "metric_examples.network_draws", "network with bounded conditional probabilities", _PAPER + "Lemma 24, corrected",
    *_NETWORK,
    Hypothesis("power", "power", "r", POSITIVE, "Choose a positive power."),
    DRAWS,
    Hypothesis("adjacency", "neighbours", "adjacency", "'replace-one' or 'replace-entry'", "Or use discrete_network."),
)  # fmt: skip


def network_draws(
    *,
    parents: Sequence[Sequence[int]],
    cardinalities: Sequence[int],
    floor: float,
    adjacency: str = "replace-one",
    draws: int = 1,
    power: float = 1.0,
    unit: str = "row",
) -> Guarantee:
    """N draws of all tables of a discrete Bayesian network whose conditional probabilities are all at least `floor`.

    With Lambda_k = ln((1 - (c_k - 1) floor)/floor) for a node of c_k values, each draw has bounded range

        replace-one (a whole record):      2 r sum_k Lambda_k,
        replace-entry (one cell, node j):  2 r max_j sum of Lambda_k over j and its children.

    `parents[k]` lists the parents of node k. Any prior on such tables; tables may be shared between nodes. Lemma 24
    prints 2 max_j v_j ln(1/floor) (v_j one plus the children of j) "under the classical definition": that is one entry.
    """
    h = Hypotheses("metric_examples.network_draws")
    spans, children = _network(h, parents, cardinalities, floor)
    r = h.number(power, "power")
    n = h.count(draws, "draws")
    known = adjacency in ("replace-one", "replace-entry")
    h.holds(known, "adjacency", given=adjacency)
    entry = max(spans[j] + math.fsum(spans[k] for k in children[j]) for j in range(len(spans)))
    span = math.fsum(spans) if adjacency == "replace-one" else entry
    return h.guarantee(n * BoundedRange(2 * r * span * _UP), adjacency, unit, draws=n)


theorem("metric_examples.discrete_network", "network under a distance", _PAPER + "Lemma 24", *_NETWORK)


def discrete_network(
    *, parents: Sequence[Sequence[int]], cardinalities: Sequence[int], floor: float
) -> UniformLipschitz:
    """Lemma 24 as a metric claim: L = max_k Lambda_k under rho = sum of v_j over the entries that differ.

    v_j is one plus the number of children of node j; a whole record is at most sum_j v_j away.
    `parents`, `cardinalities` and `floor` as for `network_draws`; Lambda_k is defined there.
    Source: Dimitrakakis et al. 2017, Lemma 24.
    """
    h = Hypotheses("metric_examples.discrete_network")
    spans, children = _network(h, parents, cardinalities, floor)
    total = float(sum(1 + len(below) for below in children))
    return UniformLipschitz(max(spans) * _UP, "sum over differing entries of 1 + number of children", total)


def _network(
    h: Hypotheses, parents: Sequence[Sequence[int]], cardinalities: Sequence[int], floor: float
) -> tuple[list[float], list[list[int]]]:
    """Lambda_k per node and the children of each node."""
    sizes = [h.count(size, "values", minimum=2) for size in cardinalities]
    above = [sorted(set(map(int, nodes))) for nodes in parents]
    known = all(0 <= j < len(sizes) for nodes in above for j in nodes)
    h.holds(bool(sizes) and len(above) == len(sizes) and known, "parents", given=len(above))
    left, placed = set(range(len(sizes))), set[int]()
    while ready := {k for k in left if placed.issuperset(above[k])}:
        left, placed = left - ready, placed | ready
    h.holds(not left, "acyclic", given=f"a cycle through {sorted(left)}")
    f = h.number(floor, "floor")
    h.holds(f * max(sizes) <= 1, "floor-possible", given=f, bound=f"{max(sizes)}")
    # log1p of (1 - c_k f)/f, whose rounding error is at most an ulp of 1 over f.
    spans = [math.log1p(max(0.0, 1 - size * f) / f + 5e-16 / f) * _UP for size in sizes]
    return spans, [[k for k in range(len(sizes)) if j in above[k]] for j in range(len(sizes))]


def _trimmed(
    h: Hypotheses, rate: float, lower: float, upper: float, bound: float, n: int
) -> tuple[float, float, float, float, int]:
    lam = h.number(rate, "rate of the prior", "lambda", "finite and greater than 0", "Choose a positive rate.", "prior")
    low = h.number(lower, "lower end of the trimmed prior", "c1", "finite and greater than 0", "Trim above 0.", "prior")
    high = h.number(upper, "upper end of the trimmed prior", "c2", "finite and greater than 0", "Trim it.", "prior")
    h.holds(low < high, "order of the trimmed ends", "c1 < c2", f"below c2 = {high:.6g}", low, "Swap them.", "prior")
    b = h.number(bound, "bound on the data", "B", "finite and greater than 0", "Declare the bounds.", "schema")
    return lam, low, high, b, h.count(n, "number of records", "n", 1, "State the public number of records.")


def _stochastic(
    c: float, offset: float, extremes: tuple[float, float], distance: str, diameter: float, n: int
) -> StochasticLipschitz:
    """Constants of n records from the largest and smallest log density of one: ln C <= n (largest - smallest)."""
    largest, smallest = extremes
    log_c = n * (largest - smallest + 1e-13 * (abs(largest) + abs(smallest)))
    name = distance if n == 1 else f"sum over records of {distance}"
    return StochasticLipschitz(c * (1 - 1e-12), offset * _UP, log_c, name, diameter * _UP)


def _square_diameter(bound: float) -> float:
    """Largest |x^2 - y^2| + 2|x - y| on [-B, B]: x = B with y = -min(B, 1)."""
    return (4 * bound if bound <= 1 else (bound + 1) ** 2) * _UP


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
