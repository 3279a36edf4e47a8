"""Dimitrakakis, Nelson, Zhang, Mitrokotsa, Rubinstein 2017: theorems and their proofs."""

from __future__ import annotations

import math

import numpy as np
from scipy import integrate, stats

from .case import FALSE, LOOSE, NOTATION, PROOF, Bound, Case, Evidence, Gap, Reading
from .laws import total_variation

METRIC = "tests/theorems/test_metric.py::"
SAMPLING = "tests/theorems/test_sampling_error.py::"
DISTINGUISH = "tests/theorems/test_distinguish.py::"


def theorem_4() -> Evidence:
    """Pairs of random laws on two to four points: every event of the product, and the factor that the last step drops."""
    rng = np.random.default_rng(4)
    factors, claimed, actual = [], [], []
    excess = lambda p, q, epsilon: max(
        float(np.maximum(a - math.exp(epsilon) * b, 0).sum()) for a, b in ((p, q), (q, p))
    )
    for _ in range(200):
        pairs = [rng.dirichlet(np.ones(int(rng.integers(2, 5))), 2) for _ in range(2)]
        epsilons = [0.6 * float(np.max(np.abs(np.log(p / q)))) for p, q in pairs]
        deltas = [excess(p, q, e) for (p, q), e in zip(pairs, epsilons, strict=True)]
        both = [np.outer(pairs[0][k], pairs[1][k]).ravel() for k in range(2)]
        factors.append(math.exp(epsilons[0]) * float(pairs[0].max()))
        claimed.append(sum(deltas))
        actual.append(excess(*both, sum(epsilons)))
    shows = (f"200 random pairs, ρ = 1: e^(ερ) P(B|y) up to {max(factors):.3g}; δ of the product at most "
             f"{max(a / c for a, c in zip(actual, claimed, strict=True)):.2f} of δ + δ'")  # fmt: skip
    return Gap(shows, step_claimed=np.ones(200).tolist(), step_actual=factors, claimed=claimed, actual=actual)


def theorem_6() -> Evidence:
    """Two parameters for which both logarithms of (6) are ln 4 at one pair (x, y)."""
    p, prior = np.array([[0.8, 0.2], [0.1, 0.9]]), np.array([1 / 7, 6 / 7])
    phi = prior @ p
    first, second = math.log(p[0, 0] / p[0, 1]), math.log(phi[1] / phi[0])
    posterior = prior[:, None] * p / phi
    truth = math.log(posterior[0, 0] / posterior[0, 1])
    shows = f"both logarithms {first:.4f} = {second:.4f} = L: the posterior ratio is {truth:.4f} = 2L"
    return Reading(shows, printed=[first], meant=[2 * first], truth=[truth])


def _families(count: int):
    """Random finite families that satisfy Assumption 2 with c > 1: p, prior, rho, c, L0."""
    rng = np.random.default_rng(17)
    while count:
        size, sets = int(rng.integers(2, 6)), int(rng.integers(2, 5))
        p = rng.dirichlet(np.full(sets, rng.choice([0.3, 1.0, 4.0])), size) + 1e-6
        p /= p.sum(axis=1, keepdims=True)
        rho = rng.choice([0.05, 0.3, 1.0, 3.0]) * (1 - np.eye(sets))
        logs = np.log(p)
        gaps = np.abs(logs[:, :, None] - logs[:, None, :])
        level = np.max(gaps / np.where(rho > 0, rho, np.inf), axis=(1, 2))
        prior = rng.dirichlet(np.ones(size)) * np.exp(-rng.choice([0.0, 1.0]) * np.minimum(level, 30)) + 1e-12
        prior /= prior.sum()
        offset = float(rng.choice(level))
        above = [(v, prior[level >= v].sum()) for v in level if v > offset]
        c = min((-math.log(tail) / (v - offset) for v, tail in above if tail < 1), default=50.0)
        if c > 1 and all(tail < 1 for _, tail in above):
            count -= 1
            yield p, prior, rho, c, offset


def theorem_7() -> Evidence:
    """(8) by another proof: Jensen gives ln phi(y)/phi(x) <= E[ln p(y)/p(x) | y] <= C E l rho, so KL <= 2C(L0 + 1/c) rho.

    That is at most (8) for every c >= 1, at every distance.
    """
    claimed, actual = [], []
    for p, prior, rho, c, offset in _families(300):
        phi = prior @ p
        posterior = prior[:, None] * p / phi
        ratio = float(np.max(p / phi))
        for x, y in zip(*np.nonzero(rho), strict=True):
            actual.append(float(np.sum(posterior[:, x] * np.log(posterior[:, x] / posterior[:, y]))))
            claimed.append(2 * ratio * (offset + 1 / c) * rho[x, y])
    ratio, offset, rho = 2.0, 0.1, 0.1
    from_13 = math.log(ratio) + (1 + offset) * rho
    concluded = ratio * (1 + offset) * rho
    moment = lambda c: integrate.quad(lambda t: c * math.exp((1 - c) * t), 0, np.inf)[0]  # E exp(l), l exponential
    limit = 1 / (1 - math.exp(-1))
    assert abs(moment(limit) - math.e) < 1e-6
    shows = (f"C = 2, L₀ = ρ = 0.1: (13) gives ln φ(x)/φ(y) ≤ {from_13:.3f}, concluded {concluded:.3f}; "
             f"2C(L₀+1/c)ρ held in 300 random families")  # fmt: skip
    return Gap(shows, {"1.582": limit}, step_claimed=[concluded], step_actual=[from_13], claimed=claimed, actual=actual)


def display_12() -> Evidence:
    """l = L0 + Exponential(c): Assumption 2 with equality, and no parameter below L0."""
    offset, c = 2.0, 4.0
    mean = integrate.quad(lambda t: min(1.0, math.exp(-c * (t - offset))), 0, 30, points=[offset])[0]
    middle = offset * 0 + (1 - 0) / c  # xi(Theta_L0) = 0
    shows = f"L₀ = 2, c = 4, ξ(Θ_L₀) = 0: mean {mean:.3g}, middle of (12) {middle:.3g}, its end {offset + 1 / c:.3g}"
    return Gap(shows, step_claimed=[middle], step_actual=[mean], claimed=[offset + 1 / c], actual=[mean])


def theorem_8_proof() -> Evidence:
    printed, meant, truth = [], [], []
    for ratio, offset, c, rho in ((2.0, 0.5, 2.0, 0.1), (5.0, 0.1, 1.5, 0.01)):
        eight = ratio * (1 + 2 * offset + 1 / c) * rho
        truth.append(math.sqrt(eight / 2))  # Pinsker (14) on (8)
        printed.append(math.sqrt(ratio / 2 * (1 + 2 * offset / c) * rho))
        meant.append(math.sqrt(ratio / 2 * (1 + 2 * offset + 1 / c) * rho))
    shows = f"C = 2, L₀ = 0.5, c = 2, ρ = 0.1: {truth[0]:.4f} from (8) and (14), {printed[0]:.4f} printed"
    return Reading(shows, printed=printed, meant=meant, truth=truth)


def corollary_9() -> Evidence:
    """A uniform prior on 19 Bernoulli parameters, L0 = 0.8, L = 1; the event does not depend on the parameter."""
    theta, offset, level = np.arange(1, 20) / 20, 0.8, 1.0
    steep = np.abs(np.log(theta / (1 - theta)))
    c = min(-math.log(np.mean(steep >= v)) / (v - offset) for v in steep if v > offset)
    chance = 1 - math.exp(-c * (level - offset))
    ratio = lambda t: float(np.max(np.abs(np.log(t / t.mean()) - np.log((1 - t) / (1 - t).mean()))))
    actual, kept = ratio(theta), ratio(theta[steep <= level])
    assert c > 1
    assert chance > 0
    shows = (
        f"19 Bernoulli parameters, c = {c:.2f}, L = 1: log ratio {actual:.2f} > 2; {kept:.2f} with the prior restricted"
    )
    return Bound(shows, claimed=[2 * level], actual=[actual], safe=[(2 * level, kept)])


def _failure(draws: int, decoys: int, loss: float) -> float:
    """Chance that one of `decoys` independent fair bits has a mean above 1/2 + loss over the draws."""
    one = stats.binom.sf(math.floor(draws * (0.5 + loss)), draws, 0.5)
    return float(-np.expm1(decoys * np.log1p(-one)))


def lemma_11() -> Evidence:
    draws, delta, responses = 50, 0.5, 10_001
    printed = 2 * math.sqrt(math.log(2 / delta) / (2 * draws))
    union = 2 * math.sqrt(math.log(2 * responses / delta) / (2 * draws))
    actual = _failure(draws, responses - 1, printed)
    shows = f"N = 50, 10,001 responses, δ = 0.5: loss above {printed:.2f} with probability {actual:.2f}"
    return Bound(shows, claimed=[delta], actual=[actual],
                 safe=[(delta, _failure(draws, responses - 1, union)), (delta, _failure(draws, 1, printed))])  # fmt: skip


def theorem_13_sufficient() -> Evidence:
    """The likelihood ignores the data; Assumption 1 holds with every L > 0, here 1; rho = 9."""
    n, delta, lipschitz, rho = 1000, 1 / 16, 1.0, 9.0
    posterior = np.full((2, 2), 0.5)
    error = 0.5 * (1 - total_variation(posterior[:, 0], posterior[:, 1]))
    needed = 3 / (4 * lipschitz * n) * math.log(1 / delta)
    assert rho > needed
    apart = 0.5 * (1 - total_variation(np.array([1.0, 0.0]), np.array([0.0, 1.0])))
    shows = (
        f"equal posteriors, n = 1000, ρ = 9 ≥ {needed:.2g}: every adversary errs with probability {error:.2g}, not 1/16"
    )
    return Bound(shows, claimed=[delta], actual=[error], safe=[(delta, apart)])


def theorem_13_display() -> Evidence:
    printed, meant, truth = [], [], []
    for ratio, offset, c, n, delta in ((2.0, 0.5, 2.0, 100, 1e-3), (4.0, 1.0, 1.5, 20, 0.01)):
        log = math.log(1 / delta)
        side = lambda rho, r=ratio, o=offset, c=c: 2 * r * (1 + 2 * o + 1 / c) * rho
        truth.append(3 / n * log / side(1.0))  # the last line of the proof, which is linear in rho
        printed.append(3 / (2 * n * (ratio + 2 * offset / c)) * log)
        meant.append(3 / (2 * n * ratio * (1 + 2 * offset + 1 / c)) * log)
    shows = f"C = 2, L₀ = 0.5, c = 2, n = 100, δ = 1e-3: ρ ≥ {truth[0]:.4f} by the proof, {printed[0]:.4f} printed"
    return Reading(shows, printed=printed, meant=meant, truth=truth)


def lemma_14() -> Evidence:
    rng = np.random.default_rng(2)
    claimed, right, actual = [], [], []

    def add(used, wanted, utility) -> None:
        answer = int(np.argmax(utility @ used))
        actual.append(float(np.max(utility @ wanted) - utility[answer] @ wanted))
        distance = float(np.abs(used - wanted).sum())
        claimed.append(2 * distance)
        right.append(distance)

    add(np.array([0.5 + 1e-9, 0.5 - 1e-9]), np.array([0.3, 0.7]), np.eye(2))
    for _ in range(500):
        size = int(rng.integers(2, 6))
        used, wanted = rng.dirichlet(np.ones(size)), rng.dirichlet(np.ones(size))
        add(used, wanted, rng.random((int(rng.integers(2, 5)), size)).round(int(rng.integers(0, 3))))
    shows = f"posteriors (0.5, 0.5), (0.3, 0.7): regret {actual[0]:.3f}, L1 distance {right[0]:.3f}; 500 random cases"
    return Bound(shows, claimed=claimed, actual=actual, corrected=right)


def lemma_14_proof() -> Evidence:
    """Draws of theta from the ideal posterior, listed with their weights, decide what an answer loses."""
    used, wanted, utility = np.array([0.6, 0.4]), np.array([0.2, 0.8]), np.eye(2)
    r, best = int(np.argmax(utility @ used)), int(np.argmax(utility @ wanted))
    printed = float((utility[r] - utility[best]) @ used)
    meant = float((utility[best] - utility[r]) @ wanted)
    draws = np.repeat([0, 1], [200, 800])
    truth = float(np.mean((draws == best).astype(float) - (draws == r)))
    shows = f"posteriors (0.6, 0.4), ideal (0.2, 0.8): regret {truth:.2f} under ξ*, {printed:.2f} under ξ"
    return Reading(shows, printed=[printed], meant=[meant], truth=[truth])


def theorem_17() -> Evidence:
    """Theta_L misses 1/1000 of the prior, and one data set is explained by that part alone."""
    miss = 1e-3
    prior, p = np.array([1 - miss, miss]), np.array([[1e-7, 1 - 1e-7], [0.9, 0.1]])
    phi = prior @ p
    posterior = prior[:, None] * p / phi
    loss = np.maximum(posterior[1] - posterior[0], 0)  # the restricted posterior answers "in Theta_L" to every x
    average = float(phi @ loss)
    shows = f"1 − ξ*(Θ_L) = 0.001: loss {loss[0]:.4f} at one x; average over x {average:.4f}"
    # Many draws, so the second term of (b) is negligible; the constant is 2, as in the proof.
    return Bound(shows, claimed=[2 * miss], actual=[float(loss[0])], safe=[(2 * miss, average)])


CASES = (
    Case("D", "Thm 4, proof", PROOF, "e^(ερ) P(B|y) δ'ρ ≤ δ'ρ (last step)",
         "P(B|x) ≤ min(1, e^(ερ) P(B|y)) + δρ, and the minimum is at most 1", theorem_4),
    Case("D", "Thm 6, proof", NOTATION, "“not L-differentially private”", "2L, as the display before it", theorem_6,
         "tests/theorems/test_metric_finite.py::"
         "test_every_pair_reported_by_theorem_6_refutes_2l_privacy_and_an_empty_list_proves_nothing"),
    Case("D", "Thm 7(2)", PROOF, "ln φ(x)/φ(y) ≤ C(1+L₀)ρ follows from (13)",
         "ln C is dropped, and the moment needs c ≥ 1.582 at ρ = 1; Jensen gives 2C(L₀+1/c)ρ, which is at most (8)", theorem_7,
         METRIC + "test_a_step_of_the_printed_proof_of_theorem_7_fails_for_c_below_1_582"),
    Case("D", "(12)", PROOF, "≤ L₀ ξ(Θ_L₀) + [1 − ξ(Θ_L₀)]/c", "L₀ without ξ(Θ_L₀); the end L₀ + 1/c is right", display_12),
    Case("D", "Thm 8(2), proof", NOTATION, "1 + 2L₀c⁻¹", "1 + 2L₀ + c⁻¹, as (8); may be the text's extraction",
         theorem_8_proof),
    Case("D", "Cor 9", FALSE, "the posterior is (2L, 0)-private with prior probability 1 − e^(−c(L−L₀))",
         "the event does not depend on θ: its probability is 0 or 1; the prior restricted to Θ_L gives (2L, 0)", corollary_9,
         METRIC + "test_corollary_9_is_false_and_restriction_repairs_it"),
    Case("D", "Lemma 11", FALSE, "one bound for all responses and queries, with ln(2/δ)",
         "ln(2·responses·queries/δ), a union bound; the order in N and δ stands for a fixed number of them", lemma_11,
         SAMPLING + "test_printed_bound_fails_for_many_responses_and_for_many_queries"),
    Case("D", "Thm 13", FALSE, "the adversary can distinguish if ρ ≥ …", "only if: its proof shows a necessary condition",
         theorem_13_sufficient, DISTINGUISH + "test_theorem_13_is_no_sufficient_condition"),
    Case("D", "Thm 13, second display", NOTATION, "2n(C + 2L₀c⁻¹)", "2nC(1 + 2L₀ + c⁻¹), as its proof; may be extraction",
         theorem_13_display, DISTINGUISH + "test_second_display_of_theorem_13_is_not_what_its_proof_shows"),
    Case("D", "Lemma 14", LOOSE, "2‖ξ − ξ*‖₁", "‖ξ − ξ*‖₁, twice the total variation, attained", lemma_14,
         SAMPLING + "test_regret_is_bounded_by_twice_the_total_variation_and_the_constant_is_attained"),
    Case("D", "Lemma 14, proof", NOTATION, "regret u_ξ(r) − u_ξ(r*)", "u_ξ*(r*) − u_ξ*(r): under the ideal posterior",
         lemma_14_proof),
    Case("D", "Thm 17(b)", FALSE, "loss O(1 − ξ*(Θ_L)) for every x", "on average over x", theorem_17,
         SAMPLING + "test_a_data_set_that_breaks_theorem_17_b_as_printed"),
)  # fmt: skip
