"""What serves what: `python tools/support.py` writes docs/support.md, the table of models, mechanisms, procedures and intervals.

Every row is asked of the code: which procedure draws the model for a mechanism, which engines answer its sums, whose change
the price is about, and how an interval is read; or the sentence with which each of these is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import sfumato as sf
from sfumato.engines.opening import ENGINES
from sfumato.errors import SfumatoError
from sfumato.mechanisms import TABLE, named, serving
from sfumato.mechanisms.protocol import CONVERGED, PROVED
from sfumato.models.model import LOSSES
from sfumato.models.networks._tables import Tables
from sfumato.models.weighted import weighted_form
from sfumato.procedures import refusal, unaveraged, unweighted
from sfumato.queries.statistics.network_tables import NO_COUNTS
from sfumato.queries.statistics.table import reader_of

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "support.md"
_BITS = sf.Schema({"x": sf.Boolean(missing=False)})
_COLOURS = sf.Schema({"x": sf.Category(["red", "green", "blue"], missing="red")})
_COUNTS = sf.Schema({"x": sf.Number(0, 8, integer=True)})
_NUMBERS = sf.Schema({"x": sf.Number(0, 6)})
_VECTORS = sf.Schema.vector(2, data_norm=2.0)
_GROUPS = sf.Schema({"g": sf.Category(["a", "b"], missing="a"), "x": sf.Boolean(missing=False)})
_SIZES = sf.Schema({"g": sf.Category(["a", "b"], missing="a"), "x": sf.Number(0, 6)})
_LINES = sf.Schema({"a": sf.Boolean(missing=False), "b": sf.Category(["u", "v", "w"], missing="u")})
_STEPS = sf.Schema({"now": sf.Category(["u", "v"], missing="u"), "then": sf.Category(["u", "v"], missing="u")})
_CLASSES = sf.Category([0, 1], missing=0)
# Persons and weights that are asked for.
PERSONS, WEIGHT = sf.Persons("who", most=12, count=60, rows="visits"), sf.Weight("w", 4.0, fixed=True)
NO_TRANSCRIPT = (
    "an interval of a regression is read from the noisy gradients of a path: goal='estimate', keep=('transcript',)"
)


def _labelled(dimension: int, target: Any = _CLASSES) -> sf.Schema:
    return sf.Schema.vector(dimension, data_norm=1.0, target=target)


def _gibbs(loss: Any, dimension: int, prior: Any = None) -> sf.Gibbs:
    return sf.Gibbs(loss, prior or sf.priors.Gaussian(5.0), dimension)


def _box(dimension: int) -> sf.priors.Box:
    return sf.priors.Box(sf.priors.Gaussian(5.0), [-1.0] * dimension, [1.0] * dimension)


_F, _L = sf.families, sf.losses
_MEAN = _F.NormalMean(4.0, 0, 6, mean=3.0, precision=2.0)
_NETWORK = {"a": [], "b": ["a"]}
_LEVELS = {"a": 2, "b": ["u", "v", "w"]}
# Name -> a model of that kind, and a schema that it reads.
MODELS: dict[str, tuple[Any, sf.Schema]] = {
    "rate": (_F.BetaBernoulli(12, 8), _BITS),
    "rate above a floor": (_F.BetaBernoulli(2, 3, 0.1), _BITS),
    "rate of several trials": (_F.BetaBinomial(8, 20, 30), _COUNTS),
    "shares": (_F.DirichletCategorical(["red", "green", "blue"], 6.0), _COLOURS),
    "histogram of a number": (_F.Histogram(0, 6, [0, 1, 3, 6], alpha=6.0), _NUMBERS),
    "cross table": (_F.CrossTable({"g": ["a", "b"], "x": [False, True]}, alpha=6.0), _GROUPS),
    "mean without a model": (_F.BoundedMean(0, 6), _NUMBERS),
    "finite family": (_F.Finite.bernoulli(0.125), _BITS),
    "quantile": (_F.Quantile(0.5, [0, 1, 2, 4, 6]), _NUMBERS),
    "quantiles with intervals": (_F.Quantiles([0.25, 0.5], 0, 6, cells=16), _NUMBERS),
    "events": (_F.GammaPoisson(60, 20, 8), _COUNTS),
    "durations": (_F.ExponentialRate(20, 40, 6), _NUMBERS),
    "durations, trimmed": (_F.ExponentialRate(2, 1, 6, lower=0.5, upper=3.0), _NUMBERS),
    "scale": (_F.LaplaceScale(1.0, 0.5, 3.0, 8.0, centre=3.0), _NUMBERS),
    "precision": (_F.NormalPrecision(40, 40, 3.0, 3.0), _NUMBERS),
    "normal mean": (_MEAN, _NUMBERS),
    "vector mean": (_F.GaussianMean(2, 2.0, 4.0), _VECTORS),
    "correlated mean": (_F.MultivariateNormal([[2.0, 0.5], [0.5, 1.0]], 2.0, 4.0), _VECTORS),
    "log odds": (_F.LogitNormal(1.0), _BITS),
    "rates by group": (sf.grouped(_F.BetaBernoulli(12, 8), "g", ["a", "b"]), _GROUPS),
    "means by group": (sf.grouped(_MEAN, "g", ["a", "b"]), _SIZES),
    "network": (sf.networks.BayesianNetwork(_NETWORK, _LEVELS), _LINES),
    "network, one entry replaced": (sf.networks.BayesianNetwork(_NETWORK, _LEVELS, adjacency="replace-entry"), _LINES),
    "learnt table": (sf.networks.learn(_LINES), _LINES),
    "Markov chain": (sf.networks.MarkovChain(["u", "v"]), _STEPS),
    "logistic regression": (_gibbs(_L.Logistic(1.0), 3), _labelled(3)),
    "logistic regression on a box": (_gibbs(_L.Logistic(1.0), 3, _box(3)), _labelled(3)),
    "logistic regression on a ball, 2 coefficients": (
        _gibbs(_L.Logistic(1.0), 2, sf.priors.Ball(sf.priors.Gaussian(5.0), 1.0)), _labelled(2)
    ),
    "softmax regression": (_gibbs(_L.Softmax(1.0, 3), 6), _labelled(2, sf.Category([0, 1, 2], missing=0))),
    "linear regression (Huber)": (_gibbs(_L.Huber(1.0, clip=0.5), 3), _labelled(3, sf.Number(-1, 1))),
    "Poisson regression": (_gibbs(_L.ClippedPoisson(1.0, 2.0, 9.0), 2), _labelled(2, sf.Number(0, 9))),
    "quantile regression": (_gibbs(_L.Quantile(1.0, quantile=0.8), 3), _labelled(3, sf.Number(-1, 1))),
    "support vector machine": (_gibbs(_L.Hinge(1.0), 3), _labelled(3)),
    "support vector machine, 1 coefficient": (_gibbs(_L.Hinge(1.0), 1), _labelled(1)),
    "mean of rows": (_gibbs(_L.GaussianMean(1.0), 2), sf.Schema.vector(2, data_norm=1.0)),
}  # fmt: skip


class Row(NamedTuple):
    """A model with a mechanism: the procedure and the rest, or `refusal`."""

    model: str
    mechanism: str
    goal: str
    trust: str
    procedure: str = ""
    engines: tuple[str, ...] = ()
    neighbours: str = ""
    interval: str = ""
    averages: str = ""
    weights: str = ""
    refusal: str = ""

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of `sf.plan` for this row."""
        kept = ("transcript",) if self.interval == "from the transcript" else ()
        return {"mechanism": self.mechanism, "goal": self.goal, "trust": self.trust, "keep": kept}


def rows() -> list[Row]:
    """One row for every model and mechanism, and one for each that may be drawn by a reference chain."""
    return [
        _row(name, model, mechanism, trust)
        for name, (model, _) in MODELS.items()
        for mechanism in TABLE
        for trust in ((PROVED, CONVERGED) if named(mechanism).MAY_ASSUME and model.summed == LOSSES else (PROVED,))
    ]


def _row(name: str, model: Any, mechanism: str, trust: str) -> Row:
    goal = "estimate" if mechanism in ("shaped-path", "langevin-path") else model.goal
    procedure = serving(mechanism, model, goal, trust)
    if isinstance(procedure, str):
        return Row(name, mechanism, goal, trust, refusal=procedure)
    kinds = ("dense", "sparse") if model.summed == LOSSES or MODELS[name][1].dimension else ("table",)
    engines = tuple(
        dict.fromkeys(
            offer.name
            for offer in ENGINES
            if set(procedure.NEEDS) <= offer.answers and any(offer.serves(kind, model) for kind in kinds)
        )
    )
    # Noise on totals covers a whole record, whatever the model protects.
    neighbours = "replace-one" if procedure.NAME == "noisy-totals" else getattr(model, "adjacency", "replace-one")
    interval = _interval(model, procedure.NAME)
    contributions = (_averages(model, procedure), _weights(model, procedure))
    return Row(name, mechanism, goal, trust, procedure.NAME, engines, neighbours, interval, *contributions)


def _averages(model: Any, procedure: Any) -> str:
    """Whether a person may have several rows, whose contributions are averaged: "yes", "Renyi", or why not."""
    reason = unaveraged(procedure, model, PERSONS.terms)
    if reason is not None:
        return reason
    spread = procedure.NAME == "law" and model.claim(1).theorem in ("dirichlet", "network", "network-tables")
    return "Renyi" if spread else "yes"


def _weights(model: Any, procedure: Any) -> str:
    """Whether records may have survey weights, or why not."""
    try:
        weighted = weighted_form(model)
    except SfumatoError as error:
        return str(error).partition(";")[0]
    return refusal(procedure, weighted) or unweighted(procedure, weighted, WEIGHT) or "yes"


def _interval(model: Any, procedure: str) -> str:
    try:
        reader_of(model)
    except SfumatoError as error:
        return str(error)
    if model.summed == LOSSES:
        return {"path": "from the transcript", "shaped-path": "yes"}.get(procedure, NO_TRANSCRIPT)
    if isinstance(model, Tables) and procedure != "noisy-totals":
        return NO_COUNTS
    return "yes"


def page() -> str:
    """The page as Markdown."""
    listed = rows()
    served, refused = [row for row in listed if row.procedure], [row for row in listed if row.refusal]
    notes = sorted({_sentence(row.interval) for row in served if row.interval not in ("yes", "from the transcript")})
    reasons = sorted({_sentence(row.refusal) for row in refused})
    limits = sorted({_sentence(cell) for row in served for cell in (row.averages, row.weights) if cell not in _PLAIN})
    lines = [
        "# What serves what", "",
        "Written by `python tools/support.py` from the code; a test publishes, verifies and asks every row. A model with a",
        "mechanism is drawn by one procedure, whose sums one of the engines answers (the first that fits the rows). Neighbours are",
        "what the price is about: one record replaced, or one entry of a record. `trust` is `\"proved\"` unless stated.", "",
        "`persons` says whether [a person may have several rows](rows.md) that are averaged, at the price of one row or at a",
        "Renyi price (\"Renyi\"); the rules `first` and `reduce` serve every row of this table but those about one entry.",
        "`weights` says whether records may have survey weights.", "",
        "`engines` are those of rows in memory. Rows of a table may also stay in [their file or on a Dask cluster](scale.md):",
        "every row of this table is served there too, by the same engines on the rows of a pass, or of a partition. `gpu` serves",
        "rows that are to be summed [on a graphics card](scale.md#a-graphics-card), but for persons with several rows.", "",
        "## Served", "",
        "| model | mechanism | goal | procedure | engines | neighbours | interval | persons | weights |",
        "|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for row in served:
        trust = "" if row.trust == PROVED else f", {row.trust}"
        note = _sentence(row.interval)
        engines, interval = ", ".join(row.engines), f"no ({notes.index(note) + 1})" if note in notes else row.interval
        cells = (row.model, row.mechanism + trust, row.goal, row.procedure, engines, row.neighbours, interval)
        cells += tuple(_limited(cell, limits) for cell in (row.averages, row.weights))
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "No interval:", "", *(f"{k}. {note}" for k, note in enumerate(notes, 1)), ""]
    lines += ["Not for persons or weights:", "", *(f"- {chr(97 + k)}. {limit}" for k, limit in enumerate(limits)), ""]
    lines += ["## Refused", "", "| model | mechanism | reason |", "|---|---|---|"]
    for row in refused:
        trust = "" if row.trust == PROVED else f", {row.trust}"
        lines.append(f"| {row.model} | {row.mechanism}{trust} | {reasons.index(_sentence(row.refusal)) + 1} |")
    lines += ["", "Reasons:", "", *(f"{k}. {reason}" for k, reason in enumerate(reasons, 1)), ""]
    lines += ["Words: [glossary](glossary.md).", ""]
    return "\n".join(lines)


_PLAIN = ("yes", "Renyi")


def _limited(cell: str, limits: list[str]) -> str:
    """The cell, or the letter of its reason."""
    return cell if cell in _PLAIN else f"no ({chr(97 + limits.index(_sentence(cell)))})"


def _sentence(text: str) -> str:
    """A refusal as a sentence, without the model that it quotes."""
    plain = text.split("; got ", maxsplit=1)[0].replace("|", "/").replace("<", "&lt;").rstrip(".")
    return f"{plain[0].upper()}{plain[1:]}."


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"{PAGE.relative_to(ROOT)}: {sum(bool(row.procedure) for row in rows())} served, {len(rows())} rows")
