"""Graphics cards: the source of their kernels, and what an engine needs of a card."""
