"""The sentences and the table of a guarantee. Numbers are rounded up: a promise is never printed smaller than it is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sfumato.privacy.curves import BoundedRange, Gaussian
from sfumato.privacy.metric import Metric
from sfumato.privacy.neighbours import protected, replaced
from sfumato.privacy.plain_reasons import reason
from sfumato.privacy.renyi import Renyi
from sfumato.privacy.weakness import NOTE as WEAK

if TYPE_CHECKING:
    from sfumato.privacy.guarantee import Guarantee

# What a sentence says of the price of a single draw; of an estimate it says something else.
ONE = "covers one draw"


def at(guarantee: Guarantee, delta: float) -> str:
    """The plain sentence with epsilon read off at this delta."""
    if isinstance(guarantee.curve, Metric) or guarantee.vacuous:
        return whole(guarantee)
    epsilon = guarantee.epsilon(delta)
    if epsilon == math.inf:
        return _noted(
            guarantee,
            f"No epsilon is promised at delta = {delta!r} ({_neighbours(guarantee)}); {_why(guarantee)}",
        )
    return _noted(guarantee, f"({_short(epsilon)}, {_short(delta)})-differential privacy. {_who(guarantee)}")


def whole(guarantee: Guarantee) -> str:
    """The plain sentence: the kind of the guarantee, its epsilon at some deltas, whom it protects, and why it holds."""
    return _noted(guarantee, _whole(guarantee))


def _noted(guarantee: Guarantee, sentence: str) -> str:
    """The sentence; of a weak promise behind the note that it was asked for."""
    return f"{WEAK} {sentence}" if guarantee.weak else sentence


def _whole(guarantee: Guarantee) -> str:
    if guarantee.vacuous:
        where = f"delta is 1 at every epsilon; {_neighbours(guarantee)}"
        return f"Vacuous: this protects nobody ({where}); {_why(guarantee)}"
    curve = guarantee.curve
    if isinstance(curve, Metric):
        bound = f"exp({_short(curve.epsilon_value)} rho) P(B|y) + {_short(curve.delta_value)} rho"
        return (
            f"For every two data sets x, y and every event B: P(B|x) <= {bound}, rho = {curve.distance}; "
            f"this covers {guarantee.draws} draw(s); {_why(guarantee)}"
        )
    limit = curve.renyi(math.inf)  # of several draws the sum
    if isinstance(curve, Gaussian):
        head = f"{_short(curve.mu)}-Gaussian differential privacy"
    elif limit < math.inf:
        head = f"Pure {_short(limit)}-differential privacy{' (bounded range)' * isinstance(curve, BoundedRange)}"
    elif isinstance(curve, Renyi) and curve.orders == (1.0,) and not guarantee.slack:
        bounds = f"KL divergence at most {_short(curve.values[0])} (total variation at most {_short(curve.delta(0.0))})"
        return f"{bounds}; no epsilon is promised at a smaller delta. {_who(guarantee)}"
    else:
        head = "Differential privacy"
    points = ", ".join(f"({_short(guarantee.epsilon(d))}, {d:.0e})" for d in (1e-5, 1e-6))
    tail = f" with total-variation slack {_short(guarantee.slack)}" if guarantee.slack else ""
    return f"{head}{tail}; (epsilon, delta) = {points}. {_who(guarantee)}"


def _who(guarantee: Guarantee) -> str:
    whom = protected(guarantee.adjacency, guarantee.unit, guarantee.rows)
    many = ONE if guarantee.draws == 1 else f"covers all {guarantee.draws} draws together"
    why = _why(guarantee)
    return f"It holds for every {whom} ({_neighbours(guarantee)}) and {many}. {why[0].upper()}{why[1:]}"


def _neighbours(guarantee: Guarantee) -> str:
    return f"neighbours: {replaced(guarantee.adjacency, guarantee.unit, guarantee.rows)}, n public"


def _why(guarantee: Guarantee) -> str:
    return f"{guarantee.trust}: {reason(guarantee.theorem)}."


def table(guarantee: Guarantee) -> str:
    """The guarantee and every checked hypothesis as an aligned text table."""
    head = [
        *([("allowed", WEAK)] if guarantee.weak else []),
        ("curve", repr(guarantee.curve)),
        ("neighbours", f"{guarantee.adjacency} (unit: {guarantee.unit}; n is public)"),
        *([("whose rows", f"{guarantee.rows} by {guarantee.id_column}")] if guarantee.id_column else []),
        ("theorem", guarantee.theorem),
        ("source", guarantee.source),
        ("trust", guarantee.trust),
        ("draws", str(guarantee.draws)),
    ]
    if guarantee.slack:
        head.append(("slack", f"{_short(guarantee.slack)} (total variation)"))
    if not isinstance(guarantee.curve, Metric):
        pure = guarantee.renyi(math.inf)
        head += [("epsilon at delta 0", _short(pure))] if pure < math.inf else []
        head += [(f"epsilon at delta {d:.0e}", _short(guarantee.epsilon(d))) for d in (1e-3, 1e-5, 1e-6, 1e-9)]
    width = max(len(name) for name, _ in head)
    lines = [f"{name:<{width}}  {value}" for name, value in head]
    if guarantee.assumptions:
        rows = [("hypothesis", "symbol", "required", "value", "from")]
        rows += dict.fromkeys((a.name, a.symbol, a.required, a.value, a.origin) for a in guarantee.assumptions)
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        lines += [""] + ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines)


def _short(value: float) -> str:
    """Four significant digits, rounded up."""
    if value in (0.0, math.inf):
        return "0" if value == 0 else "infinity"
    shown = f"{value:.4g}"
    if float(shown) < value:
        mantissa, exponent = f"{value:.3e}".split("e")
        shown = f"{float(f'{round(float(mantissa) * 1000) + 1}e{int(exponent) - 3}'):.4g}"
    return shown
