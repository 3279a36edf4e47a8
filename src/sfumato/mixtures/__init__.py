"""A mixture of product distributions: fitted to noisy tables of pairs of columns, asked for shares, drawn from. Post-processing."""
