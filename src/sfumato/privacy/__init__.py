"""The currency: privacy curves, how they convert and compose, and the guarantee that carries one."""
