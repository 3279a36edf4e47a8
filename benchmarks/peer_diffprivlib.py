"""diffprivlib's logistic regression in an environment of its own, one fit for every line that is read.

`python benchmarks/peer_diffprivlib.py rows.npz`: for each line "epsilon seed held_out" on standard input, fits the split of
that seed (diffprivlib's own objective perturbation, pure epsilon, `data_norm=1`, no intercept: the constant is a feature)
and prints a line of JSON: theta, seconds.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import numpy as np
from diffprivlib.models import LogisticRegression

from tables import split


def main() -> None:
    """Serve fits until the input ends."""
    stored = np.load(sys.argv[1])
    rows, labels = stored["rows"], stored["labels"]
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        epsilon, seed, held_out = line.split()
        fit, _ = split(len(rows), int(held_out), int(seed))
        features, targets = rows[fit], labels[fit]
        model = LogisticRegression(epsilon=float(epsilon), data_norm=1.0, fit_intercept=False, max_iter=1000)
        start = time.perf_counter()
        model.fit(features, targets)
        seconds = time.perf_counter() - start
        print(json.dumps({"theta": model.coef_.ravel().tolist(), "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
