"""Other people's private regressions, written from their papers for `benchmarks/utility.py`.

Every `fit(rows, labels, epsilon, delta, seed, ...) -> theta` takes rows of norm at most 1 and labels that are -1 or 1 (for
linear regression: in [-1, 1]) and is (epsilon, delta)-private when one record is replaced, as Sfumato's own fits are. They
use ordinary floating-point noise from a seed: good enough to compare errors, not to protect anyone.
"""
