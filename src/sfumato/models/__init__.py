"""Models: the loss of one record, the prior, and the constants that they imply."""
