"""Prices by the numbers that tests vary, each through the procedure that charges it."""

from __future__ import annotations

import sfumato as sf
from sfumato.procedures import envelope, last_iterate, lattice, law
from sfumato.procedures.protocol import Task


def family_price(model, n: int, draws: int, power: float = 1.0, strength: float = 1.0) -> sf.Guarantee:
    """Draws of a family's tempered and strengthened posterior."""
    return law.price(model, n, draws, law.Parameters(power, strength))


def chain_price(
    model: sf.Gibbs, n: int, power: float, draws: int, steps: int | None, strength: float | None = None
) -> sf.Guarantee:
    """Last iterates of chains; with a strength, not below the exact draws that they stand for."""
    return last_iterate.price(model, n, draws, last_iterate.at(model, n, draws, power, strength, steps))


def lattice_price(model: sf.Gibbs, n: int, power: float, draws: int) -> sf.Guarantee:
    """Points of a lattice; the price is the same for every number of them."""
    return lattice.price(model, n, draws, lattice.Parameters(power, 9))


def trials_price(model: sf.Gibbs, n: int, power: float, draws: int, trials: int) -> sf.Guarantee:
    """Points of a lattice by rejection."""
    return envelope.price(model, n, draws, envelope.Parameters(power, trials))


def carried_out(procedure, model, n: int, draws: int, numbers, engine, source):
    """The values that a procedure draws, shaped (draws, ...), one chain after the other."""
    return procedure.carry_out(Task(model, n, draws, numbers), engine, source).pooled()
