"""Readings of a shape-first regression: pure functions of published numbers, without rows and without randomness."""
