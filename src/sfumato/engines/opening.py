"""Choice of the engine for a data set and a model: the first in a table that computes the needed sums.

An engine from outside the package is one more entry: `ENGINES.insert(0, Offer(...))` makes it the first choice; appended, it
is opened when requested by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from sfumato.dataset import Dataset, rows_of
from sfumato.dataset.places import GPU
from sfumato.engines.codes import CodesEngine
from sfumato.engines.design import kernel_arguments
from sfumato.engines.protocol import EXACT_SCORES, GRADIENTS, SHAPES, TOTALS, VALUES, Engine, most_additions
from sfumato.errors import ArgumentError
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.protocol import LABELLED_ROW, ScalarLinkLoss
from sfumato.models.reading import FamilyOrGibbs


@dataclass(frozen=True)
class Offer:
    """An entry of the table: an engine's name, the sums that it computes, how it is opened, and what it serves.

    `open` takes the data set and the model; `serves` takes the kind of the rows ("table", "dense", "sparse") and the model.
    `check` refuses a data set that the engine cannot hold, from public facts.
    """

    name: str
    answers: frozenset[str]
    open: Callable[[Dataset, Any], Engine]
    serves: Callable[[str, Any], bool] = lambda kind, model: True
    check: Callable[[Dataset, Any], None] = lambda dataset, model: None


def open_engine(dataset: Dataset, model: FamilyOrGibbs, needs: Collection[str], name: str | None = None) -> Any:
    """Open an engine that computes all of `needs` ("totals", "gradients", "values", "shapes"): the first, or the one named.

    An engine whose gradient sums may be rounded more often than prices assume is refused.
    """
    if dataset.kind == "cluster":
        return _checked("dask", _on_cluster(dataset, model, tuple(needs)), dataset.n)
    chosen = _chosen(dataset, model, needs, name)
    return _checked(chosen.name, chosen.open(dataset, model), dataset.n)


def check_engine(dataset: Dataset, model: FamilyOrGibbs, needs: Collection[str]) -> None:
    """Refuse, from public facts alone, what `open_engine` would refuse: so that nothing is charged for it."""
    if dataset.kind != "cluster":
        rows_of(dataset).check()
        _chosen(dataset, model, needs).check(dataset, model)


def watched(dataset: Dataset, report: Callable[[int, int], None]) -> AbstractContextManager[None]:
    """A block inside which `report` is told how many of the rows of a pass were read, where they are read from a file."""
    return rows_of(dataset).watched(report)


def _chosen(dataset: Dataset, model: FamilyOrGibbs, needs: Collection[str], name: str | None = None) -> Offer:
    kind = dataset.kind
    summed = {TOTALS} if model.summed == TOTALS else {GRADIENTS, VALUES, SHAPES, EXACT_SCORES}
    possible = ENGINES if set(needs) <= summed and (SHAPES not in needs or has_shapes(model)) else []
    fitting = [offer for offer in possible if set(needs) <= offer.answers and offer.serves(kind, model)]
    # A card serves the data sets that ask for it, and any other only by name.
    wanted = GPU if name is None and dataset.engine == GPU else name
    chosen = next((offer for offer in fitting if offer.name == wanted), None)
    if chosen is None and name is None:
        chosen = next((offer for offer in fitting if offer.name != GPU), None)
    if chosen is None:
        those = dict.fromkeys(offer.name for offer in fitting if offer.name != GPU)
        raise ArgumentError(
            f"no engine{f' named {name!r}' if name else ''} answers {', '.join(sorted(needs))} for {model!r} on {kind} rows; "
            f"those that do: {', '.join(those) or 'none'}."
        )
    return chosen


def _on_cluster(dataset: Dataset, model: FamilyOrGibbs, needs: tuple[str, ...]) -> Engine:
    """The engine of a data set whose rows are on a cluster: each partition is opened on its worker, by this same table."""
    from sfumato.engines.cluster import ClusterEngine

    return ClusterEngine(dataset, model, needs, _on_part)


def _on_part(dataset: Dataset, model: FamilyOrGibbs, needs: tuple[str, ...]) -> Engine:
    """The engine of one partition, whose additions are checked with those over all of them."""
    return _chosen(dataset, model, needs).open(dataset, model)


def _checked(name: str, engine: Any, n: int) -> Any:
    """The engine, unless it states more additions than prices assume."""
    if engine.additions and not engine.additions <= most_additions(n):
        raise ArgumentError(
            f"engine {name!r} adds a term up to {engine.additions:,.0f} times and prices assume at most "
            f"{most_additions(n):,.0f}: its rounding errors are not paid for. Let it start a new sum after fewer rows."
        )
    return engine


def has_shapes(model: FamilyOrGibbs) -> bool:
    """Whether moments and weighted sums are defined for a model: its loss is smooth, of one score, and has labelled rows."""
    loss = getattr(model, "loss", None)
    return isinstance(loss, ScalarLinkLoss) and loss.record == LABELLED_ROW and loss.constants().smooth


def _on_card(kind: str, model: Gibbs) -> bool:
    return kind != "sparse" and _compiled(model) and model.loss.record == LABELLED_ROW


def _room(name: str) -> Callable[[Dataset, Any], None]:
    """A function that sees whether the card has room for the rows."""

    def check(dataset: Dataset, model: Any) -> None:
        getattr(import_module("sfumato.engines.gpu"), name).check(dataset, model)

    return check


def _compiled(model: Gibbs) -> bool:
    return kernel_arguments(model.loss) is not None


def _opener(module: str, name: str) -> Callable[[Dataset, Any], Engine]:
    """A function that imports an engine when it is first opened: the compiler of two of them takes a second to load."""

    def opened(dataset: Dataset, model: FamilyOrGibbs) -> Engine:
        engine: Engine = getattr(import_module(f"sfumato.engines.{module}"), name)(dataset, model)
        return engine

    return opened


_SUMS = frozenset({GRADIENTS, SHAPES, EXACT_SCORES})
# The first that fits is opened, so faster engines come first.
ENGINES: list[Offer] = [
    Offer(
        "codes",
        frozenset({TOTALS}),
        lambda dataset, model: CodesEngine(dataset, model.columns, model.of_person_means),
    ),
    Offer("dense", _SUMS, _opener("dense", "DenseEngine"), lambda kind, model: kind != "sparse" and _compiled(model)),
    Offer(
        "sparse", _SUMS, _opener("sparse", "SparseEngine"), lambda kind, model: kind == "sparse" and _compiled(model)
    ),
    Offer("reference", _SUMS, _opener("reference", "ReferenceEngine")),
    Offer("values", frozenset({GRADIENTS, VALUES, EXACT_SCORES}), _opener("values", "ValuesEngine")),
    # One read a step with scores in float32; or two, with scores in float64, for the procedures that need it.
    Offer(GPU, frozenset({GRADIENTS, SHAPES}), _opener("gpu", "GpuEngine"), _on_card, _room("GpuEngine")),
    Offer(GPU, _SUMS, _opener("gpu", "ExactGpuEngine"), _on_card, _room("ExactGpuEngine")),
]
