"""`peer_dpmm.py ROWS REQUEST OUT`: one synthetic table by dpmm 0.1.9, run by a Python that has it.

ROWS is an .npz with `codes` (rows, columns), `sizes` and `names`; REQUEST is JSON with method ("MST", "AIM", "PrivBayes"),
settings (arguments of dpmm's class), epsilon, delta, adjacency and seed. The synthetic codes go to OUT; a line of JSON with CPU
seconds (fit and rows; not the import) and the peak memory of the process is printed.

dpmm prices the addition or removal of one record: a table of counts moves by 1 in norm, a score (an L1 gap) by 1. When one
record is REPLACED, a table moves by up to sqrt(2) and a score by up to 2. Two uses of dpmm are offered:
  - "add-remove": as shipped. Under replace-one its release then has zCDP parameter 2 rho for what was measured, and 4 rho for
    what was selected by the exponential mechanism;
  - "replace-one": the same mechanism with the same shares of the price, calibrated to the wider steps. Halving rho pays for
    the tables; the scores' sensitivity is multiplied by sqrt(2) on top, since half of rho pays for a factor sqrt(2) only.
PrivBayes selects by a mutual information, for which dpmm uses the sensitivity of replacing one record already (Zhang et al.
2017, Lemma 1, though for another base of logarithms and a normalised score): only the noise on its tables is widened.
"""

from __future__ import annotations

import json
import math
import sys
import warnings

import numpy as np
import pandas as pd
from dpmm.models.aim import AIMGM
from dpmm.models.mst import MSTGM
from dpmm.models.priv_bayes import PrivBayesGM

from process_costs import cpu_seconds, peak_memory

MODELS = {"MST": MSTGM, "AIM": AIMGM, "PrivBayes": PrivBayesGM}


def to_replace_one(method: str, generator: object) -> None:
    """Calibrate a mechanism of dpmm's to the replacement of one record; see the head of this file."""
    generator.rho /= 2
    if method != "AIM":
        # MST and PrivBayes have computed their noise already; AIM computes it from rho when it fits.
        generator.sigma *= math.sqrt(2)
    if method == "PrivBayes":
        return
    choose = generator.exponential_mechanism
    generator.exponential_mechanism = lambda scores, epsilon, sensitivity: choose(
        scores, epsilon, sensitivity * math.sqrt(2)
    )


def main() -> None:
    """Fit one model and write its rows."""
    stored, request, out = np.load(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
    warnings.simplefilter("ignore")
    names = [str(name) for name in stored["names"]]
    frame = pd.DataFrame(stored["codes"].astype(int), columns=names)
    domain = {name: int(size) for name, size in zip(names, stored["sizes"], strict=True)}
    method = request["method"]
    start = cpu_seconds()
    model = MODELS[method](
        epsilon=request["epsilon"], delta=request["delta"], domain=domain, n_jobs=1, **request["settings"]
    )
    if request["adjacency"] == "replace-one":
        to_replace_one(method, model.generator)
    model.set_random_state(np.random.RandomState(request["seed"]))
    model.set_domain(domain)
    model.check_fit(frame)
    model.fit(frame)
    rows = model.generate(n_records=len(frame))
    seconds = cpu_seconds() - start
    np.savez(out, codes=rows[names].to_numpy().astype(np.int64))
    measured = [list(clique) for clique in model.generator.cliques]
    print(json.dumps({"seconds": seconds, "memory": peak_memory(), "measured": measured}), flush=True)


if __name__ == "__main__":
    main()
