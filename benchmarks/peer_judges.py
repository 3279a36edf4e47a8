"""Judges from outside, in an environment of their own: `python benchmarks/peer_judges.py KIND FILE` prints a line of JSON.

canary FILE        jax_privacy's CanaryScoreAuditor on scores in FILE (.npz): epsilon by Clopper-Pearson, Bonferroni's correction
noise FILE         OpenDP's exact Gaussian noise of the scale in FILE, as many samples as asked for; written back into FILE
coefficients FILE  |coefficient| of diffprivlib's logistic regression with data_norm=100 on rows in FILE; written back into FILE
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np


def canary(stored: dict[str, np.ndarray]) -> dict[str, float]:
    """The lower bound on epsilon, both orders of the two data sets."""
    from jax_privacy.auditing import Bonferroni, CanaryScoreAuditor

    auditor = CanaryScoreAuditor(stored["second"], stored["first"])
    bound = auditor.epsilon_clopper_pearson(
        1 - float(stored["level"]), float(stored["delta"]), one_sided=False, threshold_strategy=Bonferroni()
    )
    return {"epsilon": float(bound)}


def noise(stored: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Samples of OpenDP's Gaussian mechanism on whole numbers (its discrete Gaussian), all at 0."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    mechanism = dp.m.make_gaussian(*space, scale=float(stored["scale"]))
    return {"samples": np.array(mechanism([0] * int(stored["count"])), dtype=np.float64)}


def coefficients(stored: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Absolute coefficients of `runs` fits at epsilon 1 on rows with the norm bound 100, without an intercept."""
    from diffprivlib.models import LogisticRegression

    warnings.simplefilter("ignore")
    sizes = []
    for seed in range(int(stored["runs"])):
        model = LogisticRegression(
            epsilon=1.0, data_norm=100.0, fit_intercept=False, random_state=int(stored["seed"]) + seed
        )
        sizes.append(abs(float(model.fit(stored["rows"], stored["labels"]).coef_[0, 0])))
    return {"sizes": np.array(sizes)}


def main() -> None:
    """Answer one question."""
    kind, file = sys.argv[1], sys.argv[2]
    answer = {"canary": canary, "noise": noise, "coefficients": coefficients}[kind](dict(np.load(file)))
    if kind == "canary":
        print(json.dumps(answer))
    else:
        np.savez(file, **answer)


if __name__ == "__main__":
    main()
