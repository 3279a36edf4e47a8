"""J. Geumlek, S. Song, K. Chaudhuri: Rényi differential privacy mechanisms for posterior sampling, NIPS 2017."""
