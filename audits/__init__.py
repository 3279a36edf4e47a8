"""Attacks on every procedure and model, and faults planted to show that the attacks can see: `make audit`, `make audit-quick`."""
