"""Where a model meets the rows: each engine answers sums of bounded per-record terms and nothing else."""
