"""Our auditor beside judges from outside: `make judges`, or `python benchmarks/audit_judges.py --peers .venv-peers/bin/python`.

1. jax_privacy's CanaryScoreAuditor bounds epsilon from the same scores, at the same level and delta, for six procedures.
2. OpenDP's exact Gaussian noise and ours, of the same scale, have the same law.
3. Our auditor is pointed at diffprivlib 0.6.6's logistic regression with data_norm=100, which claims epsilon = 1.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import sfumato as sf
from sfumato.auditing.attack import Attack, pilot
from sfumato.auditing.claims import Claim
from sfumato.auditing.error_rates import error_rates, pilot_thresholds
from sfumato.auditing.pairs import Neighbours
from sfumato.privacy.guarantee import Guarantee
from sfumato.samplers.normal import rounded_normals

LEVEL, DELTA = 0.95, 1e-5
# Runs a side: of plans whose chains are run together, and of those that are run one by one.
MANY, FEW = 20_000, 4_000
# Samples of each noise, and its scale: wide enough that rounding to whole numbers hides nothing.
SAMPLES, SCALE = 50_000, 8.0
# Fits of diffprivlib on each of two data sets.
FITS = 3_000


def asked(peers: str, kind: str, **arrays: Any) -> Any:
    """An answer of a judge."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "question.npz"
        np.savez(file, **arrays)
        script = str(Path(__file__).with_name("peer_judges.py"))
        done = subprocess.run([peers, script, kind, str(file)], capture_output=True, text=True, check=True)
        return json.loads(done.stdout) if kind == "canary" else dict(np.load(file))


# --- 1. epsilon from the same scores ----------------------------------------------------------------------------------


def far_rows(model: sf.Gibbs, n: int, rows: tuple[float, float]) -> Neighbours:
    """One record at either end, in the range where the loss is linear; the others in the middle."""
    schema = sf.Schema.vector(1, data_norm=1.0, target=sf.Number(-1e3, 1e3))
    sets = []
    for first in rows:
        features = np.full((n, 1), 0.3)
        features[0] = first
        sets.append(sf.Dataset.from_arrays(features, np.full(n, 1e3), schema=schema))
    return Neighbours("rows at both ends", *sets)


def bits(ones: int, n: int) -> sf.Dataset:
    """A table of n bits, so many of them true."""
    schema = sf.Schema({"x": sf.Boolean(missing=False)})
    return sf.Dataset.from_table({"x": [True] * ones + [False] * (n - ones)}, schema=schema)


def attacks() -> list[tuple[str, Attack]]:
    """Attacks on six procedures at a claimed mu of 3, or an epsilon that is as easy to see."""
    target, rates = sf.Gaussian(3.0), sf.families.BetaBernoulli(1, 1)
    open_huber = sf.Gibbs(sf.losses.Huber(1.0, 1.0, -1e3, 1e3), sf.priors.Gaussian(1.0), 1)
    ball = sf.Gibbs(sf.losses.Huber(1.0, 1.0, -1e3, 1e3), sf.priors.Ball(sf.priors.Gaussian(1.0), radius=4.0), 1)
    ends = far_rows(open_huber, 5, (1.0, -1.0))
    source = sf.seeded(18)
    made = []
    for plan, pair, inside, runs in [
        (sf.plan(rates, 20, target=target, mechanism="noisy-statistics"), Neighbours("bits", bits(10, 20), bits(11, 20)),
         True, MANY),
        (sf.plan(rates, 3, epsilon=4.0, delta=1e-3, mechanism="diffused", draws=8), Neighbours("bits", bits(0, 3), bits(1, 3)),
         False, MANY),
        (sf.plan(open_huber, 5, target=target, mechanism="langevin"), ends, False, MANY),
        (sf.plan(open_huber, 5, target=target, mechanism="langevin-path", goal="estimate"), ends, False, MANY),
        (sf.plan(open_huber, 5, target=target, mechanism="shaped-path", goal="estimate", steps=4), ends, False, FEW),
        (sf.plan(ball, 5, epsilon=8.0, delta=0.0, mechanism="exponential"), ends, False, MANY),
    ]:  # fmt: skip
        chosen = pilot(plan, pair, runs // 4, source, inside)
        made.append((plan.procedure, chosen.attack(runs, source)))
    return made


def compare_bounds(peers: str) -> list[dict[str, Any]]:
    """Our bound and the judge's for every procedure."""
    rows = []
    for procedure, attack in attacks():
        ours = attack.rates(LEVEL).epsilon(DELTA)
        theirs = asked(peers, "canary", first=attack.first, second=attack.second, level=LEVEL, delta=DELTA)["epsilon"]
        rows.append({"procedure": procedure, "runs": len(attack.first), "ours": ours, "theirs": theirs})
        print(
            f"{procedure:14} {len(attack.first):>6} runs  ours {ours:.3f}  jax_privacy {theirs:.3f}  ratio {ours / theirs:.3f}"
        )
    return rows


# --- 2. exact noise -----------------------------------------------------------------------------------------------------


def compare_noise(peers: str) -> dict[str, Any]:
    """Whole-number Gaussian noise of OpenDP against ours: a chi-squared test of two samples, and one that must be rejected.

    Ours is the normal rounded to whole numbers, OpenDP's the discrete Gaussian: at a scale of 8 their probabilities differ by less
    than 1e-2 relative where a sample can tell, the variance by 1/12. The chi-squared statistic counts that difference.
    """
    theirs = asked(peers, "noise", scale=SCALE, count=SAMPLES)["samples"]
    rows = {}
    for name, scale in (("same scale", SCALE), ("0.95 of the scale", 0.95 * SCALE)):
        drawn = rounded_normals(sf.seeded(3), [Fraction(0)] * SAMPLES, Fraction(scale), Fraction(1))
        rows[name] = two_samples(np.array(drawn, dtype=np.float64), theirs)
        print(f"noise, {name}: chi-squared p = {rows[name]:.3g}")
    return {"samples": SAMPLES, "scale": SCALE, "p": rows}


def two_samples(first: np.ndarray, second: np.ndarray) -> float:
    """p-value of the chi-squared test that two samples of whole numbers have one law; rare values are joined."""
    edges = np.concatenate([[-np.inf], np.arange(-2.5 * SCALE, 2.5 * SCALE + 1) + 0.5, [np.inf]])
    counts = np.array([np.histogram(each, edges)[0] for each in (first, second)])
    return float(stats.chi2_contingency(counts)[1])


# --- 3. another library -------------------------------------------------------------------------------------------------


def attack_diffprivlib(peers: str) -> dict[str, Any]:
    """Attack fits with x = 100 against x = 0 in one of two rows; the test accuses where the coefficient is small."""
    labels, scores = np.array([1, 0]), []
    for seed, first in ((0, 0.0), (10**6, 100.0)):
        rows = np.array([[first], [0.0]])
        answer = asked(peers, "coefficients", rows=rows, labels=labels, runs=FITS, seed=seed)
        scores.append(-np.log(answer["sizes"]))
    pilots = FITS // 4
    thresholds = pilot_thresholds(scores[0][:pilots], scores[1][:pilots])
    counted = [each[pilots:] for each in scores]
    claim = Claim.of(Guarantee(sf.Pure(1.0), "replace-one", "claimed by diffprivlib 0.6.6", "diffprivlib"))
    broken = claim.broken_by(error_rates(*counted, thresholds, 1 - 1e-6))
    bound = error_rates(*counted, thresholds, LEVEL).epsilon(0.0)
    print(
        f"diffprivlib 0.6.6, claimed epsilon 1: at least {bound:.3f} with 95 % confidence, {'BROKEN' if broken else 'not refuted'}"
    )
    return {"claimed": 1.0, "epsilon": bound, "runs": len(counted[0]), "broken": broken}


def main() -> None:
    """Ask all judges and write what they said."""
    parser = argparse.ArgumentParser(description="Compare our auditor with judges from outside.")
    parser.add_argument(
        "--peers", default=".venv-peers/bin/python", help="a Python with jax_privacy, opendp, diffprivlib"
    )
    parser.add_argument("-o", dest="folder", type=Path, default=Path("build/audit"))
    options = parser.parse_args()
    said = {
        "bounds": compare_bounds(options.peers),
        "noise": compare_noise(options.peers),
        "diffprivlib": attack_diffprivlib(options.peers),
    }
    off = max(abs(math.log(row["ours"] / row["theirs"])) for row in said["bounds"])
    print(f"largest difference from jax_privacy: {100 * math.expm1(off):.1f} %")
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / "judges.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
