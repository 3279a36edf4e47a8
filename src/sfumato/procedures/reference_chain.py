"""Draws by a chain that is assumed to have converged, at the price of exact draws; only with trust="assumes converged".

The number of steps is public and printed. That the last state of the chain has the law of an exact draw is an assumption,
not a theorem; every printed form of the guarantee states it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.draws import Draws
from sfumato.engines.protocol import Array, ValuesEngine
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.protocol import ROW
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import chains, protocol
from sfumato.procedures.domains import inside, untruncated
from sfumato.procedures.lattice import sensitivity
from sfumato.procedures.outlook import Cost, Expected
from sfumato.procedures.protocol import Task
from sfumato.randomness import Randomness
from sfumato.samplers import reference
from sfumato.samplers.langevin import Report, silent
from sfumato.samplers.support import multiples
from sfumato.theorems.exponential import exponential_mechanism

NAME = "reference-chain"
NEEDS = ("values", "gradients")
KEEPS: tuple[str, ...] = ()
TRUST = "assumes converged"
# Default steps of warm-up and of the chain after it: usual lengths for NUTS.
_WARMUP, _LENGTH = 500, 500
# Typical number of gradient evaluations of one NUTS step (a tree of depth 3); used for the plan's cost only.
_PER_STEP = 8


@dataclass(frozen=True)
class Parameters(protocol.Parameters):
    """Power, lengths of warm-up and chain; `strength` of the prior where the draws are priced by the sharp theorem.

    Without a strength they are priced as an exponential mechanism.
    """

    power: float
    warmup: int
    length: int
    strength: float | None = None
    positive: ClassVar[tuple[str, ...]] = ("strength",)


def refuses(model: Gibbs) -> str | None:
    """Serve every Gibbs model whose dimension is known."""
    return None if model.dimension is not None else "it needs the dimension: sf.Gibbs(..., dimension=...)"


def at(model: Gibbs, n: int, draws: int, power: float, strength: float | None, steps: int | None = None) -> Parameters:
    """The chain at this power; `steps` is its length after the warm-up."""
    return Parameters(power, _WARMUP, steps or _LENGTH, strength)


def refuses_averages(model: Gibbs, most: int) -> str | None:
    """Serve averages of a person's rows, as the exact draws that the chain stands for do."""
    return None


def price(model: Gibbs, n: int, draws: int, parameters: Parameters) -> Guarantee:
    """The price of exact draws, marked with the assumption that the chains have converged.

    With a strength: mu = G sqrt(draws/m) (sharp theorem). Without: the bounded range of the exponential mechanism.
    """
    power = parameters.power
    if parameters.strength is None:
        exact = exponential_mechanism(power=power, sensitivity=sensitivity(model, power), draws=draws)
    else:
        exact = chains.sharp_price(model, n, power, draws)
    return replace(exact, trust=TRUST)


def expected(model: Gibbs, n: int, parameters: Parameters) -> Expected:
    """Asymptotic variance of a draw at this power."""
    return chains.expected_of_power(parameters.power)


def cost(model: Gibbs, n: int, draws: int, parameters: Parameters) -> Cost:
    """Passes over the records that chains of this length usually ask for."""
    return Cost((parameters.warmup + parameters.length) * _PER_STEP, draws)


def ending_grid(model: Gibbs, n: int, power: float) -> float:
    """The public grid of a chain's last state: a power of two, about a millionth of the posterior's scale."""
    return float(Fraction(2) ** (math.frexp(_scale(model, n, power))[1] - 21))


def _scale(model: Gibbs, n: int, power: float) -> float:
    """A length over which the posterior changes, from public numbers."""
    stiff = model.smoothness(n, power)
    soft = max(model.strong_convexity(n, power), 1 / model.prior.domain_radius**2)
    return 1 / math.sqrt(stiff if math.isfinite(stiff) else soft)


def carry_out(
    task: Task[Gibbs, Parameters], engine: ValuesEngine, randomness: Randomness, report: Report = silent
) -> Draws:
    """Run one chain for each draw from the public start, and round its last state to a public grid."""
    model, n, numbers = task.model, task.n, task.parameters
    power = numbers.power
    smooth, scale = math.isfinite(model.smoothness(n, power)), _scale(model, n, power)
    theta = reference.last_states(
        _value(model, n, power, engine),
        _slope(model, engine, power) if smooth else None,
        chains.public_start(model, task.draws, engine.dimension),
        scale,
        numbers.warmup,
        numbers.length,
        randomness,
    )
    grid = ending_grid(model, n, power)
    return Draws(np.rint(theta / grid)[:, None, :] * grid, engine.labels)


def check(task: Task[Gibbs, Parameters], draws: Draws) -> bool:
    """Whether draws are multiples of the public grid, in the domain up to one cell of it."""
    if not draws.bare:
        return False
    values, grid = draws.flat(), ending_grid(task.model, task.n, task.parameters.power)
    return multiples(values, grid) and inside(task.model, values, grid * math.sqrt(values.shape[1]))


def _value(model: Gibbs, n: int, power: float, engine: ValuesEngine) -> Callable[[Array], float]:
    """U_D up to a constant, infinite outside the domain."""
    inner = untruncated(model)
    mean = 0.0 if inner.start is None else np.array(inner.start)
    fine, steep = 2.0**-40, model.constants.lipschitz

    def value(theta: Array) -> float:
        """U_D at one parameter."""
        point = theta[None]
        if not np.isfinite(point).all() or not np.allclose(model.prior.project(point), point, rtol=1e-12, atol=0):
            return math.inf
        size = float(np.linalg.norm(theta)) + 1e-300
        bound = size * (model.loss.radius if model.loss.record == ROW else steep)
        total = engine.values(point, bound * fine, bound)[0] * (bound * fine) * power
        if model.loss.record == ROW:
            total += 0.5 * power * n * size * size
        return float(total + 0.5 * ((theta - mean) * inner.gradient(theta)).sum())

    return value


def _slope(model: Gibbs, engine: ValuesEngine, power: float) -> Callable[[Array], Array]:
    """The gradient of U_D at one parameter."""
    field = chains.field(model, engine, power)
    return lambda theta: np.nan_to_num(field(theta[None])[0])
