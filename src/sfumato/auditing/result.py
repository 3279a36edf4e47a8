"""The result of an audit: the claim, what was proved against it, and how large a fault would have been seen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato._version import __version__
from sfumato.auditing.claims import Claim
from sfumato.errors import FormatError
from sfumato.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What can refute a claim.
ATTACKS = SAMPLING, ENUMERATION, REPLAY = ("sampling", "enumeration", "replay")


@dataclass(frozen=True)
class Audit:
    """Lower bounds on what a plan gives away, beside its claim.

    mu, epsilon: lower confidence bounds at `level`, the latter at `delta`. exact_epsilon: epsilon of the enumerated law, without
    sampling, where the released law is a finite grid. replayed: what meets noise beside what is declared, with outputs
    frozen. power: the smallest factor on the claim that these runs would have called broken with 95 % probability, if the pair
    and the test reach it; a fault that shows on another pair alone, or to a better test, may be larger. refuted_by: the
    attacks that refute the claim, of "sampling", "enumeration" and "replay"; a true claim is refuted with probability
    `false_alarm` at most. points: bounds (false accusations, misses) at every threshold of the test. enough: runs a side that
    would see 1.5 times the claim, None where these did or a billion would not. seed: that of all runs, by which they are repeated.
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
    refuted_by: tuple[str, ...]
    points: tuple[tuple[float, float], ...]
    enough: int | None = None
    seed: int = 0

    @property
    def broken(self) -> bool:
        """Whether an attack refutes the claim."""
        return bool(self.refuted_by)

    @property
    def claimed_mu(self) -> float | None:
        """Mu of the claim, None where it has none."""
        return self.guarantee.curve.mu if self.guarantee.slack == 0 else None

    @property
    def claimed_epsilon(self) -> float:
        """Epsilon of the claim at `delta`."""
        return self.guarantee.epsilon(self.delta)

    def claimed_trade_off(self, levels: Sequence[float]) -> list[tuple[float, float]]:
        """Pairs (level, miss): under the claim a test that accuses wrongly with probability `level` misses at least with `miss`."""
        claim = Claim.of(self.guarantee)
        return list(zip(levels, claim.least_missed(np.array(levels)).tolist(), strict=True))

    @property
    def share(self) -> float:
        """The proved part of the claim: of mu where the claim has one, else of epsilon; exact where the law was enumerated."""
        shown = self.epsilon if self.exact_epsilon is None else max(self.exact_epsilon, self.epsilon)
        shares = [shown / self.claimed_epsilon] if 0 < self.claimed_epsilon < math.inf else [0.0]
        if self.claimed_mu:
            shares.append(self.mu / self.claimed_mu)
        return max(shares)

    def __str__(self) -> str:
        return "\n".join(f"{name:<10} {text}" for name, text in self.lines())

    def lines(self) -> list[tuple[str, str]]:
        """The result as named sentences, for the terminal and the report."""
        claim = f"epsilon {self.claimed_epsilon:.4g} at delta {self.delta:g}"
        rows = [("claim", claim if self.claimed_mu is None else f"mu {self.claimed_mu:.4g}; {claim}")]
        if self.runs:
            chosen = (
                f"the strongest of {self.pairs:,} pairs of neighbouring data sets" if self.pairs > 1 else "one pair"
            )
            rows += [
                ("attack", f"a {self.statistic} on {chosen}: {self.pair}"),
                ("runs", f"{self.runs:,} on each of the two data sets, which are made up: no private row was read"),
                ("shown", self.bounds()),
            ]
        if self.exact_epsilon is not None:
            exact = f"epsilon {self.exact_epsilon:.4g} at delta {self.delta:g}, computed without sampling"
            rows.append(("exact", f"{exact} from the probabilities of all that can be released"))
        if self.replayed is not None:
            rows.append(("replayed", f"with the same outputs on both data sets: {self.replayed}"))
        return [*rows, ("power", self.seen()), ("verdict", self.verdict())]

    def bounds(self) -> str:
        """What the runs prove."""
        sure = f"with {100 * self.level:g} % confidence"
        if self.mu <= 0 and self.epsilon <= 0:
            return f"no lower bound above 0 {sure}: the claim is too small for so few runs to reach"
        epsilon = f"epsilon is at least {self.epsilon:.3g} at delta {self.delta:g}"
        if not self.claimed_mu:
            return f"{epsilon} ({_percent(self.epsilon, self.claimed_epsilon)}), {sure}"
        return f"mu is at least {self.mu:.3g} ({_percent(self.mu, self.claimed_mu)}) and {epsilon}, {sure}"

    def seen(self) -> str:
        """How large a fault these runs would have seen, and how many would see half more than the claim."""
        if not self.runs:
            return (
                "nothing was sampled: a draw of this chain takes seconds, and its promise assumes that it has converged"
            )
        more = "" if self.enough is None else f"; {self.enough:,} runs would see 1.5 times"
        if math.isinf(self.power):
            return f"{self.runs:,} runs are too few to see even 64 times the claim{more}"
        return (
            f"would have seen {self.power:.3g} times the claim with 95 % probability, where this test reaches it{more}"
        )

    def verdict(self) -> str:
        """Whether the claim is refuted."""
        if self.broken:
            by = " and ".join(self.refuted_by)
            return (
                f"BROKEN: the claim is refuted by {by}; a true claim is with probability {self.false_alarm:g} at most"
            )
        return "not refuted; an attack can refute a claim and never prove it"

    def to_json(self) -> dict[str, Any]:
        """The result as a document."""
        return {
            "sfumato": "audit",
            "version": 1,
            "made_by": f"Sfumato {__version__}",
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
            "attack": {
                "pair": self.pair,
                "pairs": self.pairs,
                "statistic": self.statistic,
                "runs": self.runs,
                "seed": self.seed,
            },
            "power": {"factor": None if math.isinf(self.power) else self.power, "runs_for_1.5": self.enough},
            "false_alarm": self.false_alarm,
            "broken": self.broken,
            "refuted_by": list(self.refuted_by),
            "points": [list(point) for point in self.points],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any], guarantee: Guarantee) -> Audit:
        """Read a document back; `guarantee` is that of the plan which was audited."""
        if (document.get("sfumato", "audit"), document.get("version", 1)) != ("audit", 1):
            raise FormatError("this is no audit that this version reads; sfumato audit -o writes one.")
        try:
            _ = document["sfumato"], document["version"]
            shown, attack = document["shown"], document["attack"]
            power, enough = document["power"]["factor"], document["power"]["runs_for_1.5"]
            exact = shown["exact_epsilon"]
            return cls(
                guarantee=guarantee,
                digest=str(document["plan"]),
                procedure=str(document["procedure"]),
                pair=str(attack["pair"]),
                pairs=_count(attack["pairs"]),
                statistic=str(attack["statistic"]),
                runs=_count(attack["runs"]),
                level=_number(shown["level"]),
                false_alarm=_number(document["false_alarm"]),
                delta=_number(document["claim"]["delta"]),
                mu=_number(shown["mu"]),
                epsilon=_number(shown["epsilon"]),
                exact_epsilon=None if exact is None else _number(exact),
                replayed=None if shown["replayed"] is None else str(shown["replayed"]),
                power=math.inf if power is None else _number(power),
                enough=None if enough is None else _count(enough),
                refuted_by=_attacks(document["refuted_by"], document["broken"]),
                seed=_count(attack["seed"]),
                points=tuple((_rate(a), _rate(b)) for a, b in document["points"]),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise FormatError(
                "the audit lacks a field, or one holds no number where it should; sfumato audit -o writes one."
            ) from error

    def plot(self) -> Figure:
        """The attack beside the claimed trade-off (`sf.plots.audit`)."""
        from importlib import import_module

        figure: Figure = import_module("sfumato.plots").audit(self)
        return figure


def _attacks(names: Any, broken: Any) -> tuple[str, ...]:
    """The attacks that a document says refute its claim."""
    listed = tuple(names)
    if not set(listed) <= set(ATTACKS) or bool(listed) is not broken:
        raise ValueError(listed)
    return listed


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} % of the claim" if 0 < whole < math.inf else "nothing is claimed"


def _number(value: Any) -> float:
    """A finite number of a document that is 0 or more."""
    number = float(value)
    if not 0 <= number < math.inf:
        raise ValueError(number)
    return number


def _count(value: Any) -> int:
    """A count of a document."""
    if type(value) is not int or value < 0:
        raise ValueError(value)
    return value


def _rate(value: Any) -> float:
    """A probability of a document."""
    rate = _number(value)
    if rate > 1:
        raise ValueError(rate)
    return rate
