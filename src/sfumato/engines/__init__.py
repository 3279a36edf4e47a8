"""Engines read the rows of a data set and answer sums of bounded per-record terms, and nothing else."""
