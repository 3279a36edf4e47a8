"""Engines read the rows of a data set and return sums of bounded per-record terms, nothing else."""
