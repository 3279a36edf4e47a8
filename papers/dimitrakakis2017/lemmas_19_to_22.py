"""Constants of four conjugate families: printed, corrected, and true by quadrature or enumeration."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from scipy import special, stats

from papers import drawing
from papers.dimitrakakis2017 import _trimmed
from papers.dimitrakakis2017._trimmed import Setting
from papers.reporting import FALSE, LOOSE, REPRODUCED, TIGHTER, Output
from sfumato.theorems import metric_examples as examples

PLACE = "Lemmas 19 to 22, Claims 2 to 4"
ORDINARY = (Setting(1.0, 0.5, 2.0, 1.0), Setting(3.0, 0.1, 4.0, 2.0), Setting(0.2, 1.0, 9.0, 0.3))
LAPLACE = (Setting(1.0, 0.1, 0.9, 0.1), Setting(1.0, 0.5, 2.0, 1.0), Setting(1.0, 0.5, 2.0, 1.0, 1.0))
NORMAL = (Setting(1.0, 1.0, 4.0, 0.01), Setting(1.0, 0.1, 0.2, 10.0), Setting(1.0, 0.5, 2.0, 1.0, -1.5))
BETA = ((2.0, 10), (2.0, 100), (8.2, 100), (40.0, 1000))
Row = tuple[str, str, float, float, float, float, float]


def run(out: Output) -> None:
    """One row for each lemma and setting, then a claim for each printed constant."""
    rows = [_trimmed_row("19", at) for at in ORDINARY] + [_trimmed_row("20", at) for at in LAPLACE]
    rows += [_beta_row(alpha, n) for alpha, n in BETA] + [_trimmed_row("22", at) for at in NORMAL]
    header = ["lemma", "setting", "ln C printed", "ln C corrected", "ln C true", "c printed", "largest c"]
    out.table(header, rows)
    _draw(out, rows)
    _trimmed_claims(out, rows)
    _beta_claims(out, [row for row in rows if row[0] == "21"])
    _claims_2_to_4(out)


def _printed(lemma: str, at: Setting) -> float:
    """Logarithm of the printed C."""
    c1, c2, bound, mu = at.lower, at.upper, at.bound, at.mean
    if lemma == "19":
        return math.log(c2 / min(c1 * math.exp(-c1 * bound), c2 * math.exp(-c2 * bound)))
    if lemma == "20":
        sides = (math.exp((-bound - mu) / c1), math.exp((mu - bound) / c1))
        return max(math.log(c2 / (2 * min(1 / (2 * c2), side / (2 * c1)))) for side in sides)
    return min(0.5 * math.log(c2 / c1) + c1 * c2**2 / 2, c2**3 / 2)


def _trimmed_row(lemma: str, at: Setting) -> Row:
    make, density = {
        "19": (examples.trimmed_exponential, _trimmed.exponential),
        "20": (examples.trimmed_laplace, _trimmed.laplace),
        "22": (examples.trimmed_precision, _trimmed.normal),
    }[lemma]
    ends = {"rate": at.rate, "lower": at.lower, "upper": at.upper, "bound": at.bound}
    constants = make(**ends) if lemma == "19" else make(**ends, mean=at.mean)
    slope = max(1.0, abs(at.mean)) / 2 if lemma == "22" else 1.0  # the printed l(theta)/theta
    true = _trimmed.truth(density, at, slope)
    words = f"λ={at.rate:g}, [{at.lower:g}, {at.upper:g}], B={at.bound:g}" + (f", μ={at.mean:g}" if at.mean else "")
    return (
        lemma,
        words,
        _printed(lemma, at),
        constants.log_ratio,
        math.log(true.ratio),
        at.rate / slope,
        true.concentration,
    )


def _beta_row(alpha: float, n: int) -> Row:
    k = np.arange(n + 1)
    peak = special.xlogy(k, k / n) + special.xlogy(n - k, 1 - k / n)
    true = float(np.max(peak - special.betaln(alpha + k, alpha + n - k)) + special.betaln(alpha, alpha))
    printed = special.betaln(alpha, alpha) - special.betaln((n + 2 * alpha - 1) / 2, (n + 2 * alpha + 1) / 2)
    level = np.geomspace(1e-4, 20, 400)
    largest = np.min(-np.log(2 * special.betainc(alpha, alpha, special.expit(-level))) / level)
    c = 2 ** (1 - 2 * alpha) / special.beta(alpha, alpha)
    corrected = examples.beta_bernoulli(alpha=alpha, n=n).log_ratio
    return "21", f"α={alpha:g}, n={n}", float(printed), corrected, true, float(c), float(largest)


def _trimmed_claims(out: Output, rows: list[Row]) -> None:
    slack = 1e-6  # of the grids of parameters and records
    one, two, four = ([row for row in rows if row[0] == lemma] for lemma in ("19", "20", "22"))
    bend = float(np.diff([t * math.exp(-t) for t in (2.99, 3.0, 3.01)], 2)[0]) / 1e-4
    out.claim(
        "Lemma 19", "c = lambda, L0 = c1, C = c2/min{c1 exp(-c1 B), c2 exp(-c2 B)}", paper="these constants",
        here="true C is " + ", ".join(f"{math.exp(row[4] - row[2]):.3f}" for row in one) + " of the printed in three settings",
        verdict=REPRODUCED, shown=all(row[4] <= row[2] + slack and row[5] <= row[6] * (1 + slack) for row in one)
        and bend > 0,
        why="A step of the proof fails: it calls the density concave in theta, whose second derivative at theta = 3, x = 1 is "
            f"{bend:.2f}. The density has one peak, so its least value is at an end, as the lemma uses.",
    )  # fmt: skip
    below = two[0]
    out.claim(
        "Lemma 20", "C in terms of exp(-(B -+ mu)/c1)/(2 c1) and 1/(2 c2)", paper=f"C = {math.exp(below[2]):.3f} ({below[1]})",
        here=f"true {math.exp(below[4]):.3f}, corrected {math.exp(below[3]):.3f}", verdict=FALSE,
        shown=below[4] > below[2] and below[2] < 0 and all(row[4] <= row[3] + slack for row in two),
        why="C is a maximum over a mean, so never below 1. The prior bounds theta = 1/s: c1 and c2 stand where 1/c1, 1/c2 belong.",
    )  # fmt: skip
    narrow, wide = four[0], four[1]
    largest = max(0.5 * math.log(2) + 0.1 * 0.04 / 2, 0.2 * 0.04 / 2)  # with the maximum, but c2^2 still
    mended = min(0.5 * math.log(4) + 1.0 * 1e-4 / 2, 4.0 * 1e-4 / 2)  # with (B+|mu|)^2, but the minimum still
    out.claim(
        "Lemma 22", "C = min{sqrt(c2/c1) exp(c1 c2^2/2), exp(c2^3/2)}", paper=f"C = {math.exp(wide[2]):.3f} ({wide[1]})",
        here=f"true {math.exp(wide[4]):.3f}, corrected {math.exp(wide[3]):.3f}", verdict=FALSE,
        shown=wide[4] > max(wide[2], largest) and narrow[4] > mended and all(row[4] <= row[3] + slack for row in four),
        why="A density is bounded below by the smaller value, so C needs the maximum; and (B+|mu|)^2 stands where c2^2 is printed. "
            "Mending one of the two leaves it false.",
    )  # fmt: skip
    slopes = [_trimmed.lipschitz_slope(at) / (max(1.0, abs(at.mean)) / 2) for at in NORMAL]
    out.claim(
        "Lemma 22", "c = 2 lambda/max{|mu|, 1}, L0 = c1 max{|mu|, 1}/2 under |x^2 - y^2| + 2|x - y|", paper="these constants",
        here="l(theta) is " + ", ".join(f"{s:.3f}" for s in slopes) + " of the printed; c at most the largest possible",
        verdict=REPRODUCED, shown=max(slopes) <= 1 + 1e-9 and all(row[5] <= row[6] * (1 + slack) for row in four),
    )  # fmt: skip
    x = np.linspace(0, 1, 401)
    far = float((np.abs(x[:, None] ** 2 - x**2) + 2 * np.abs(x[:, None] - x)).max())
    out.claim(
        "After Lemma 22", "the posterior is classically (0, 3 delta)-private for data in [0, 1]", paper="3 delta",
        here=f"records are at most {far:.3f} apart, and the claim is under sqrt(rho): {math.sqrt(far):.3f} delta", verdict=LOOSE,
        shown=abs(far - 3) < 1e-9,
    )  # fmt: skip


def _beta_claims(out: Output, rows: list[Row]) -> None:
    excess = max((row[2] - row[4]) / math.log(10) for row in rows)
    out.claim(
        "Lemma 21", "C = B(alpha)/B((n + 2 alpha - 1)/2, (n + 2 alpha + 1)/2)", paper="an upper bound",
        here=f"up to 10^{excess:.0f} times too large; C = B(alpha, alpha)/B(alpha, alpha + n) is exact", verdict=LOOSE,
        shown=excess > 25 and all(abs(row[3] - row[4]) < 1e-6 and row[2] >= row[4] for row in rows),
        why="The printed C bounds theta^k (1-theta)^(n-k) by 1.",
    )  # fmt: skip
    out.claim(
        "Lemma 21", "c = 2^(1-2 alpha)/B(alpha)", paper="this c",
        here="the largest possible is " + ", ".join(f"{row[6] / row[5]:.4f}" for row in rows) + " times it", verdict=REPRODUCED,
        shown=all(1 - 1e-9 <= row[6] / row[5] < 1.001 for row in rows),
    )  # fmt: skip
    out.claim(
        "Lemma 21", "L0 = ln n", paper="ln 100 = 4.61 at n = 100", here="0: the binomial coefficient does not change the posterior",
        verdict=TIGHTER, shown=all(row[5] <= row[6] + 1e-9 for row in rows) and examples.beta_bernoulli(alpha=2, n=99).offset == 0,
        why="Under the likelihood of the sequence of bits l(theta) = |log theta/(1-theta)|, whose tail has the same c with L0 = 0.",
    )  # fmt: skip
    _delta_with_n(out)


def _delta_with_n(out: Output) -> None:
    counts, alpha = (1, 10, 100, 400), 2.0
    inverse = 2 ** (2 * alpha - 1) * special.beta(alpha, alpha)
    printed = [math.exp(0.5 * (_beta_row(alpha, n)[2] + math.log((1 + 2 * math.log(n) + inverse) / 2))) for n in counts]
    true = [_apart(alpha, n) for n in counts]
    out.claim(
        "After Lemma 21", "delta = sqrt(C (1 + 2 ln n + 2^(2 alpha - 1) B(alpha))/2) increases with n (alpha = 2)",
        paper="increasing", here=", ".join(f"{value:.3g}" for value in printed) + " at n = 1, 10, 100, 400", verdict=REPRODUCED,
        shown=all(a < b for a, b in pairwise(printed)), why="A delta above 1 says nothing: this one says nothing at any n.",
    )  # fmt: skip
    limit = float(stats.gamma(alpha).cdf(alpha) - stats.gamma(alpha + 1).cdf(alpha))
    out.claim(
        "After Lemma 21", "this (0, delta) is essentially unimprovable unless the prior is trimmed", paper="unimprovable",
        here="exact for one bit " + ", ".join(f"{one:.3f}" for one, _ in true) + " at the same n; under sqrt(rho) "
             + ", ".join(f"{far:.3f}" for _, far in true),
        verdict=FALSE, shown=all(a[0] > b[0] for a, b in pairwise(true)) and max(far for _, far in true) < 0.5,
        why=f"The worst pair, 0 and 1 ones, tends to Gamma(2) against Gamma(3): {limit:.3f}. The thesis cited is not at hand; it "
            "may mean (eps, 0), which does need trimming.",
    )  # fmt: skip


def _apart(alpha: float, n: int) -> tuple[float, float]:
    """Largest total variation of Beta posteriors at distance 1, and over sqrt(distance) at any; densities cross once, at t."""
    k, j = np.triu_indices(n + 1, 1)
    log_odds = (special.betaln(alpha + j, alpha + n - j) - special.betaln(alpha + k, alpha + n - k)) / (j - k)
    t = special.expit(log_odds)
    apart = special.betainc(alpha + k, alpha + n - k, t) - special.betainc(alpha + j, alpha + n - j, t)
    return float(apart[j - k == 1].max()), float((apart / np.sqrt(j - k)).max())


def _claims_2_to_4(out: Output) -> None:
    p = np.linspace(0.002, 0.998, 499)
    h, g, f, limit = [], [], [], []
    for alpha in (1.05, 1.5, 2.0, 3.39, 8.11, 40.0):
        whole = special.beta(alpha, alpha)
        area = special.betainc(alpha, alpha, p / (1 + p)) * whole
        slope = p ** (alpha - 1) / (1 + p) ** (2 * alpha)
        h.append((alpha * area - p**alpha / ((1 - p) * (1 + p) ** (2 * alpha - 1))) / area)
        g.append(p * slope / area * np.log(p) - np.log(2 * area / whole))
        f.append(np.log(2 * area / whole) / np.log(p))
        limit.append(f[-1][-1] * 2 ** (2 * alpha - 1) * whole)
    out.claim(
        "Claims 2, 3", "H(p) <= 0 and G(p) < 0 on (0, 1)", paper="negative",
        here=f"six alphas from 1.05 to 40, 499 values of p: H/A at most {np.max(h):.3f}, G at most {np.max(g):.1e}",
        verdict=REPRODUCED, shown=bool(np.max(h) <= 0 and np.max(g) < 0),
    )  # fmt: skip
    out.claim(
        "Claim 4", "F(p) decreases to 1/(B(alpha) 2^(2 alpha - 1)) as p -> 1", paper="decreasing",
        here=f"decreasing on the grid; at p = 0.998 it is {min(limit):.4f} to {max(limit):.4f} times the limit", verdict=REPRODUCED,
        shown=bool(np.max(np.diff(f, axis=1)) < 0 and min(limit) >= 1 and max(limit) < 1.005),
    )  # fmt: skip


def _draw(out: Output, rows: list[Row]) -> None:
    figure, axes = drawing.panels("ln C minus its true value: below 0 the constant is false", size=(8.2, 5.0))
    axis, place = axes[0, 0], np.arange(len(rows))[::-1]
    axis.axvline(0, color=drawing.GREY, linewidth=1.2)
    axis.plot([row[2] - row[4] for row in rows], place, "o", color=drawing.COLOURS[1], label="printed")
    axis.plot([row[3] - row[4] for row in rows], place, "x", color=drawing.COLOURS[0], label="corrected")
    axis.set_xscale("symlog", linthresh=1)
    axis.set_xticks([-100, -10, -1, 0, 1, 10, 100, 1000])
    drawing.plain_numbers(axis.xaxis)
    axis.set_yticks(place, [f"Lemma {row[0]}: {row[1]}" for row in rows])
    drawing.label(axis, "", "nats (linear between -1 and 1, logarithmic beyond)", "")
    drawing.legend(axis, loc="lower right")
    out.figure(figure, "Printed and corrected ln C of Lemmas 19 to 22 minus the true value, in thirteen settings.")
