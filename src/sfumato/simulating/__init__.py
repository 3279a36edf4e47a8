"""What a plan's law does to known totals, for studies of mechanisms: draws in bulk and divergences. None of it is private."""

from sfumato.simulating.divergence import posterior_divergence
from sfumato.simulating.simulation import Simulation, simulate

__all__ = ["Simulation", "posterior_divergence", "simulate"]
