"""The three papers reproduced: one script for each figure, table and numeric claim. `make papers` runs them all.

A script is a module with a one-line docstring (its title), `PLACE` (where it stands in the paper), perhaps `NEEDS` (names of
the data files that it reads) and `run(out)`, which gives its figures, tables and claims to `out` (papers.reporting.Output).
"""
