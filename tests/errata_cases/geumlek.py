"""Geumlek, Song, Chaudhuri 2017."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
from scipy import optimize, special, stats

from .case import FALSE, LOOSE, NOTATION, Bound, Case, Evidence, Reading
from .laws import gaussian_delta, log_law, renyi

CONJUGATE = "tests/theorems/test_conjugate.py::"
GLM = "tests/theorems/test_canonical_glm.py::"
_LOGITS = np.linspace(-60, 60, 60_001)


def _beta(a: float, b: float) -> np.ndarray:
    """Log masses of Beta(a, b) on a grid of logits."""
    return log_law(lambda x: -a * np.logaddexp(0, -x) - b * np.logaddexp(0, x), _LOGITS)


def _divergence(partition, p, q, order: float) -> float:
    """(5), with a log-partition function of the parameters."""
    mixed = [order * x + (1 - order) * y for x, y in zip(p, q, strict=True)]
    if min(mixed) <= 0 or min(q) <= 0:
        return math.inf
    return (partition(mixed) - order * partition(p)) / (order - 1) + partition(q)


def _dirichlet(p, q, order: float) -> float:
    return _divergence(lambda v: sum(special.gammaln(v)) - special.gammaln(sum(v)), p, q, order)


def loss_tail() -> Evidence:
    """N(1, 1) against N(0, 1), epsilon = 1: the privacy loss is N(1/2, 1)."""
    delta, tail = gaussian_delta(1.0, 1.0), float(stats.norm.sf(0.5))
    shows = (
        f"Gaussian noise, shift 1, ε = 1: (ε, δ)-private with δ = {delta:.3f}, but Z > ε with probability {tail:.3f}"
    )
    return Bound(shows, claimed=[delta], actual=[tail], safe=[(tail, delta)])


def partition_function() -> Evidence:
    p, q, order = (3.0, 2.0), (2.0, 3.0), 1.5
    truth = renyi(_beta(*p), _beta(*q), order)
    printed = _divergence(lambda v: math.gamma(v[0]) + math.gamma(v[1]) - math.gamma(sum(v)), p, q, order)
    meant = _dirichlet(p, q, order)
    shows = f"Beta(3, 2) against Beta(2, 3), order 1.5: {truth:.4f} by quadrature and with log Γ, {printed:.4f} with Γ"
    return Reading(shows, printed=[printed], meant=[meant], truth=[truth])


def trigamma() -> Evidence:
    total = 7.5
    partition = lambda a: mpmath.loggamma(a) + mpmath.loggamma(total - a) - mpmath.loggamma(total)
    points = (2.0, 6.0)
    truth = [float(mpmath.diff(partition, a, 2)) for a in points]
    value = lambda k: [float(special.polygamma(k, a) + special.polygamma(k, total - a)) for a in points]
    shows = f"second derivative of C at (2, 7.5): {truth[0]:.4f}; trigamma {value(1)[0]:.4f}, digamma {value(0)[0]:.4f}"
    return Reading(shows, printed=value(0), meant=value(1), truth=truth)


def _ends(alpha: float, beta: float, size: float, r: float, order: float, outside: bool) -> float:
    """Cor 2: the largest divergence with P at an end of pset(eta_0, size), Q r away, also outside of pset if asked."""
    values = []
    for p in ((alpha, beta + size), (alpha + size, beta)):
        for sign in (r, -r):
            q = (p[0] + sign, p[1] - sign)
            if outside or (alpha - 1e-9 <= q[0] <= alpha + size + 1e-9):
                values.append(_dirichlet(p, q, order))
    return max(values)


def corollary_2() -> Evidence:
    printed, meant, truth = [], [], []
    for alpha, beta, n, r, order in ((3.0, 3.0, 40, 0.2, 2.0), (6.0, 12.0, 100, 0.5, 4.0), (2.0, 5.0, 7, 0.3, 1.3)):
        posterior = [(alpha + r * k, beta + r * (n - k)) for k in range(n + 1)]
        pairs = [pair for near in itertools.pairwise(posterior) for pair in itertools.permutations(near)]
        truth.append(max(_dirichlet(p, q, order) for p, q in pairs))
        printed.append(_ends(alpha, beta, n, r, order, outside=False))
        meant.append(_ends(alpha, beta, r * n, r, order, outside=False))
    over = _ends(2.0, 5.0, 0.3 * 7, 0.3, 1.3, outside=True) / truth[2]
    shows = (f"Beta(3, 3), n = 40, r = 0.2, order 2: {truth[0]:.5f} by brute force and with rn, {printed[0]:.5f} with n; "
             f"at order 1.3 an η_Q outside pset gives {over:.2f} times the truth")  # fmt: skip
    return Reading(shows, printed=printed, meant=meant, truth=truth, tolerance=1e-9)


def _counts(cells, n: int, order: float) -> tuple[float, float, float]:
    """True supremum over data sets (r = 1); over P at a vertex and Q anywhere next to it; and with Q inside pset."""
    k = len(cells)
    moves = list(itertools.permutations(range(k), 2))
    with_one = lambda p, i: [x + (m == i) for m, x in enumerate(p)]
    step = lambda p, i, j: [x + (m == i) - (m == j) for m, x in enumerate(p)]
    rest = [c for c in itertools.product(range(n), repeat=k) if sum(c) == n - 1]
    base = [[a + x for a, x in zip(cells, c, strict=True)] for c in rest]
    true = max(_dirichlet(with_one(b, i), with_one(b, j), order) for b in base for i, j in moves)
    vertices = [[a + n * (m == i) for m, a in enumerate(cells)] for i in range(k)]
    near = [(p, step(p, i, j)) for p in vertices for i, j in moves]
    inside = [(p, q) for p, q in near if all(x >= a for x, a in zip(q, cells, strict=True))]
    inside += [(q, p) for p, q in inside]
    value = lambda pairs: max(_dirichlet(p, q, order) for p, q in pairs)
    return true, value(near), value(inside)


def dirichlet_vertices() -> Evidence:
    settings = [
        ((2.0, 2.0, 2.0), 10, 2.0),
        ((2.5, 3.0, 4.0), 8, 2.0),
        ((1.5, 1.5, 6.0), 8, 1.4),
        ((3.0, 3.0, 3.0), 6, 3.0),
    ]
    values = [_counts(*setting) for setting in settings]
    true, near, inside = values[0]
    enough = "enough" if inside >= true else "too little"
    shows = f"Dir(2, 2, 2), n = 10: truth {true:.4f}; with η_Q outside pset {near:.4f}; inside {inside:.4f}, {enough}"
    stated = {"1.0986": true}
    pair = lambda a, b, order: _dirichlet((a + 1, b), (a, b + 1), order)
    right = [max(pair(a, b, order) for a, b in itertools.permutations(cells, 2)) for cells, _, order in settings]
    claimed, actual = [v[1] for v in values], [v[0] for v in values]
    return Bound(shows, stated, claimed=claimed, actual=actual, corrected=right)


def theorem_17() -> Evidence:
    """Calibrated at order 4, epsilon = 1/2; the cost at order 20 of the Gaussian pair that attains Theorem 16."""
    order, epsilon, other = 4.0, 0.5, 20.0
    rho = math.sqrt(epsilon * 0.05 / (2 * order))  # c = B = n = 1, beta = 0.05
    mu = 2 * rho / math.sqrt(0.05)
    grid = np.linspace(-30, 60, 90_001)
    p, q = (log_law(lambda x, m=m: -((x - m) ** 2) / 2, grid) for m in (mu, 0.0))
    truth = renyi(p, q, other)
    w = np.linspace(-60, 60, 60_001)
    one, two = (log_law(lambda x, y=y: -rho * np.logaddexp(0, -y * x) - 0.025 * x**2, w) for y in (1, -1))
    logistic = renyi(one, two, other)
    shows = f"order 4, ε = 0.5, λ̃ = 20: cost {truth:.4g}, not {epsilon / other:.3g}; one logistic record {logistic:.3f}"
    return Reading(shows, printed=[epsilon / other], meant=[epsilon * other / order], truth=[truth])


def gaussian_baseline() -> Evidence:
    claimed, right, actual = [], [], []
    grid = np.linspace(-40, 40, 80_001)
    for delta, sigma, order in ((0.7, 1.9, 3.0), (1.0, 1.0, 2.0), (1.0, 0.5, 1.5)):
        p, q = (log_law(lambda x, m=m, s=sigma: -((x - m) ** 2) / (2 * s**2), grid) for m in (0.0, delta))
        actual.append(renyi(p, q, order))
        claimed.append(order * delta**2 / sigma**2)
        right.append(order * delta**2 / (2 * sigma**2))
    shows = f"Δ = 0.7, σ = 1.9, order 3: {actual[0]:.4f} by quadrature, {claimed[0]:.4f} printed"
    return Bound(shows, claimed=claimed, actual=actual, corrected=right)


def _link(name: str, u: np.ndarray, y: int) -> np.ndarray:
    if name == "probit":
        return special.log_ndtr(u if y else -u)
    rate = np.exp(np.minimum(u, 600))
    return np.log(-np.expm1(-rate)) if y else -rate


def other_links() -> Evidence:
    """One record, labels 1 and 0 at x = c: the order-2 divergence on wider and wider intervals; and the logistic link."""
    c, b = 3.0, 1.0
    printed = 2 * 2 * c**2 / b
    cost = lambda link, limit: renyi(*(
        log_law(lambda w, y=y: link(c * w, y) - 0.5 * b * w**2, np.linspace(-limit, limit, 20_001)) for y in (1, 0)
    ), 2.0)  # fmt: skip
    widest = {name: cost(lambda u, y, n=name: _link(n, u, y), 8.0) for name in ("probit", "cloglog")}
    logit = cost(lambda u, y: -np.logaddexp(0, -u if y else u), 12.0)
    slope = stats.norm.pdf(-10) / stats.norm.cdf(-10)
    shows = (f"probit slope at −10: {slope:.3g}; c = 3, nβ = 1, order 2: {printed:g} claimed, |w| ≤ 8 alone gives "
             f"{widest['probit']:.0f} (probit), {widest['cloglog']:.2g} (cloglog)")  # fmt: skip
    return Bound(shows, claimed=[printed, printed, 1.0], actual=[*widest.values(), slope], safe=[(printed, logit)])


def ops() -> Evidence:
    """Truncated to |w| <= R = c/beta in one dimension: n records with label 1, one label flips."""
    claimed, right, actual = [], [], []
    for c, b, rho, n in ((1.0, 0.5, 1.0, 200), (2.0, 2.0, 0.5, 60), (1.0, 1.0, 1.0, 1)):
        grid = np.linspace(-c / b, c / b, 40_001)
        loss = lambda y, c=c, g=grid: np.logaddexp(0, -y * c * g)
        logs = [-rho * ((n - 1) * loss(1) + loss(y)) - 0.5 * n * b * grid**2 for y in (1, -1)]
        p, q = (x - special.logsumexp(x) for x in logs)
        actual.append(float(np.max(np.abs(p - q))))
        claimed.append(4 * c**2 * rho / b)
        right.append(2 * c**2 * rho / b)
    glm = lambda order: 2 * order / (200 * 0.5)  # Theorem 16 at c = rho = 1, beta = 0.5, n = 200
    cross = [optimize.brentq(lambda x, e=e: glm(x) - e, 1, 1e4) for e in (right[0], claimed[0])]
    shows = (f"c = ρ = 1, β = 0.5, n = 200: largest log ratio {actual[0]:.2f}, proved {right[0]:g}, printed {claimed[0]:g}; "
             f"crossing at λ = {cross[0]:.0f}, not {cross[1]:.0f}")  # fmt: skip
    return Bound(shows, claimed=claimed, actual=actual, corrected=right)


def smallest_ball() -> Evidence:
    """The MAP of equal records of length x is the root of b R = rho x sigma(-x R); the longest root over x <= c."""
    claimed, right, actual = [], [], []
    for b, c, rho in ((1e-3, 1.0, 1.0), (0.01, 2.0, 0.5), (0.2, 3.0, 1.0)):
        root = lambda x, b=b, rho=rho: optimize.brentq(
            lambda r: b * r - rho * x * special.expit(-x * r), 0, rho * x / b
        )
        actual.append(max(root(x) for x in np.linspace(0.005 * c, c, 400)))
        claimed.append(c / b)
        peak = optimize.minimize_scalar(lambda u: -u * special.expit(-u), bounds=(0, 5), method="bounded").fun
        right.append(math.sqrt(-peak * rho / b))
    shows = f"β = 1e-3, c = 1: the farthest MAP of equal records lies at {actual[0]:.3f}"
    return Bound(shows, {"16.687": right[0]}, claimed=claimed, actual=actual, corrected=right)


CASES = (
    Case("G", "2, after Def 2", FALSE, "(ε, δ)-DP is: Z ≤ ε with probability at least 1 − δ", "sufficient, not necessary",
         loss_tail, "tests/theorems/test_log_sobolev.py::test_theorem_5_on_a_normal_pair"),
    Case("G", "3, C(η)", NOTATION, "Γ(η¹) + Γ(η²−η¹) − Γ(η²)", "log Γ for Γ; may be the text's extraction", partition_function,
         CONJUGATE + "test_the_partition_function_needs_the_logarithm_of_gamma"),
    Case("G", "Cor 2, ψ₁", NOTATION, "ψ₁ is the digamma function", "the trigamma function", trigamma),
    Case("G", "Cor 2", NOTATION, "pset(η₀, n)", "rn for n; exact with η_Q kept in pset", corollary_2,
         CONJUGATE + "test_corollary_2_must_use_the_tempered_count"),
    Case("G", "3.1, K ≥ 3", LOOSE, "vertices of pset and their neighbours, O(d³) pairs (the appendix is not at hand)",
         "a record moved between the two smallest prior cells: 1.0986 at order 2; vertices with η_Q inside pset give too little",
         dirichlet_vertices,
         CONJUGATE + "test_vertices_of_dir_222_give_less_than_the_truth"),
    Case("G", "4.2", FALSE, "probit and cloglog have B = 1",
         "only the canonical link, logistic, has; the slopes of the others are unbounded",
         other_links,
         GLM + "test_non_canonical_links_break_theorem_16"),
    Case("G", "Thm 17", NOTATION, "(λ̃, ε/λ̃)", "(λ̃, ελ̃/λ); may be the text's extraction", theorem_17,
         GLM + "test_last_line_of_theorem_17_corrected"),
    Case("G", "5.1, baseline", LOOSE, "λΔ²/σ²", "λΔ²/(2σ²)", gaussian_baseline,
         GLM + "test_gaussian_baseline_is_half_of_what_is_printed"),
    Case("G", "5.2, OPS", LOOSE, "4c²ρ/β",
         "2c²ρ/β; with it Alg 5 is better up to λ = n/ρ, with the printed price up to 2n/ρ", ops,
         "tests/theorems/test_exponential.py::test_ops_on_a_segment_is_exactly_this_bounded_range"),
    Case("G", "5.2, ball", LOOSE, "c/β (1000) is the smallest ball that holds the MAP", "16.687 at β = 1e-3, c = 1",
         smallest_ball, "tests/theorems/test_exponential.py::test_the_smallest_ball_holds_every_map_and_is_attained"),
)  # fmt: skip
