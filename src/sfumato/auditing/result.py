"""The result of an audit: the claim, what was proved against it, and how large a fault would have been seen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.errors import FormatError
from sfumato.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Audit:
    """Lower bounds on what a plan gives away, beside its claim.

    mu, epsilon: lower confidence bounds at `level`, the latter at `delta`. exact_epsilon: epsilon of the enumerated law, without
    sampling, where the released law is a finite grid. replayed: what meets noise beside what is declared, with outputs
    frozen. power: the smallest factor on the claim that these runs would have called broken with 95 % probability. broken:
    whether the claim is refuted; a true claim is called broken with probability `false_alarm` at most. points: bounds (false
    accusations, misses) at every threshold of the test.
    """

    guarantee: Guarantee
    digest: str
    procedure: str
    pair: str
    pairs: int
    statistic: str
    runs: int
    level: float
    false_alarm: float
    delta: float
    mu: float
    epsilon: float
    exact_epsilon: float | None
    replayed: str | None
    power: float
    broken: bool
    points: tuple[tuple[float, float], ...]

    @property
    def claimed_mu(self) -> float | None:
        """Mu of the claim, None where it has none."""
        return self.guarantee.curve.mu if self.guarantee.slack == 0 else None

    @property
    def claimed_epsilon(self) -> float:
        """Epsilon of the claim at `delta`."""
        return self.guarantee.epsilon(self.delta)

    @property
    def share(self) -> float:
        """The proved part of the claim: of mu where the claim has one, else of epsilon; exact where the law was enumerated."""
        told = self.epsilon if self.exact_epsilon is None else max(self.exact_epsilon, self.epsilon)
        shares = [told / self.claimed_epsilon] if 0 < self.claimed_epsilon < math.inf else [0.0]
        if self.claimed_mu:
            shares.append(self.mu / self.claimed_mu)
        return max(shares)

    def __str__(self) -> str:
        return "\n".join(f"{name:<10} {text}" for name, text in self.lines())

    def lines(self) -> list[tuple[str, str]]:
        """The result as named sentences, for the terminal and the report."""
        claim = [f"({self.claimed_epsilon:.4g}, {self.delta:g})-differential privacy"]
        bounds = [f"epsilon is at least {self.epsilon:.3g} at delta {self.delta:g}"]
        if self.claimed_mu is not None:
            claim.insert(0, f"mu = {self.claimed_mu:.4g}")
            bounds.insert(0, f"mu is at least {self.mu:.3g} ({100 * self.mu / self.claimed_mu:.0f} % of the claim)")
        rows = [("claim", "; ".join(claim))]
        if self.runs:
            chosen = f"the strongest of {self.pairs} pairs of neighbouring data sets"
            rows += [
                ("attack", f"{self.statistic} on: {self.pair} ({chosen})"),
                ("runs", f"{self.runs:,} on each of two made-up data sets; no private row was read"),
                ("shown", f"{', '.join(bounds)}, with {100 * self.level:g} % confidence"),
            ]
        if self.exact_epsilon is not None:
            rows.append(
                ("exact", f"the law of a release, enumerated: epsilon {self.exact_epsilon:.6g} at delta {self.delta:g}")
            )
        if self.replayed is not None:
            rows.append(("replayed", f"with frozen outputs, {self.replayed}"))
        return [*rows, ("power", self.seen()), ("verdict", self.verdict())]

    def seen(self) -> str:
        """How large a fault these runs would have seen."""
        if not self.runs:
            return (
                "nothing was sampled: a draw of this chain takes seconds, and its promise assumes that it has converged"
            )
        if math.isinf(self.power):
            return "too few runs to refute even 64 times the claim: use more"
        return f"would have seen {self.power:.3g} times the claim with 95 % probability"

    def verdict(self) -> str:
        """Whether the claim is refuted."""
        if self.broken:
            return f"BROKEN: the claim is refuted (a true one would be with probability {self.false_alarm:g} at most)"
        return f"not refuted (a true claim is refuted with probability {self.false_alarm:g} at most)"

    def to_json(self) -> dict[str, Any]:
        """The result as a document."""
        return {
            "sfumato": "audit",
            "version": 1,
            "plan": self.digest,
            "procedure": self.procedure,
            "claim": {"mu": self.claimed_mu, "epsilon": self.claimed_epsilon, "delta": self.delta},
            "shown": {
                "mu": self.mu,
                "epsilon": self.epsilon,
                "exact_epsilon": self.exact_epsilon,
                "level": self.level,
                "replayed": self.replayed,
            },
            "attack": {"pair": self.pair, "pairs": self.pairs, "statistic": self.statistic, "runs": self.runs},
            "power": None if math.isinf(self.power) else self.power,
            "false_alarm": self.false_alarm,
            "broken": self.broken,
            "points": [list(point) for point in self.points],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any], guarantee: Guarantee) -> Audit:
        """Read a document back; `guarantee` is that of the plan which was audited."""
        try:
            if document["sfumato"] != "audit" or document["version"] != 1:
                raise FormatError("this is no audit that this version reads; sfumato audit -o writes one.")
            shown, attack = document["shown"], document["attack"]
            power, exact = document["power"], shown["exact_epsilon"]
            return cls(
                guarantee=guarantee,
                digest=str(document["plan"]),
                procedure=str(document["procedure"]),
                pair=str(attack["pair"]),
                pairs=int(attack["pairs"]),
                statistic=str(attack["statistic"]),
                runs=int(attack["runs"]),
                level=float(shown["level"]),
                false_alarm=float(document["false_alarm"]),
                delta=float(document["claim"]["delta"]),
                mu=float(shown["mu"]),
                epsilon=float(shown["epsilon"]),
                exact_epsilon=None if exact is None else float(exact),
                replayed=None if shown["replayed"] is None else str(shown["replayed"]),
                power=math.inf if power is None else float(power),
                broken=document["broken"] is not False,
                points=tuple((_rate(a), _rate(b)) for a, b in document["points"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError("the audit lacks a field or holds something else than a number in it.") from error

    def plot(self) -> Figure:
        """The attack beside the claimed trade-off (`sf.plots.audit`)."""
        from importlib import import_module

        figure: Figure = import_module("sfumato.plots").audit(self)
        return figure


def _rate(value: Any) -> float:
    """A probability of a document."""
    rate = float(value)
    if not 0 <= rate <= 1:
        raise ValueError(rate)
    return rate
