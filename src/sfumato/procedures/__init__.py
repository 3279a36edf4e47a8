"""The procedures by name, and how a recorded plan is read back to the one that made it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

from sfumato.errors import ArgumentError
from sfumato.models.model import TOTALS, Model
from sfumato.models.reading import model_from_json
from sfumato.procedures.outlook import Expected
from sfumato.procedures.protocol import Procedure, Task

# Each name is one module with the functions of `protocol.Procedure`; code from outside may put the module itself here.
TABLE: dict[str, Any] = {
    "law": "sfumato.procedures.law",
    "noisy-totals": "sfumato.procedures.noisy_totals",
    "noisy-tables": "sfumato.procedures.noisy_tables",
    "last-iterate": "sfumato.procedures.last_iterate",
    "path": "sfumato.procedures.path",
    "shaped-path": "sfumato.procedures.shaped_path",
    "shaped-chain": "sfumato.procedures.shaped_chain",
    "lattice": "sfumato.procedures.lattice",
    "envelope": "sfumato.procedures.envelope",
    "kinked-grid": "sfumato.procedures.kinked_grid",
    "reference-chain": "sfumato.procedures.reference_chain",
}


def named(name: str) -> Procedure[Any, Any]:
    """Return the procedure of this name."""
    if name not in TABLE:
        raise ArgumentError(f"procedure must be one of {', '.join(TABLE)}; got {name!r}.")
    entry = TABLE[name]
    return cast(Procedure[Any, Any], import_module(entry) if isinstance(entry, str) else entry)


def fits(procedure: Procedure[Any, Any], model: Model) -> bool:
    """Whether the model sums what the procedure needs."""
    return ("totals" in procedure.NEEDS) == (model.summed == TOTALS)


def refusal(procedure: Procedure[Any, Any], model: Model) -> str | None:
    """Return why the procedure cannot draw this model, or None."""
    if not fits(procedure, model):
        served = "families with a bounded sufficient statistic" if "totals" in procedure.NEEDS else "sf.Gibbs models"
        return f"it serves {served}; got {model!r}"
    return procedure.refuses(model)


def unkept(procedure: Procedure[Any, Any], keep: tuple[str, ...]) -> str | None:
    """Return why this procedure cannot release what `keep` names, or None."""
    absent = [what for what in keep if what not in procedure.KEEPS]
    return f"it has no {absent[0]} to keep; use 'langevin-path' with goal='estimate'" if absent else None


def offered(name: str, model: Model, keep: tuple[str, ...]) -> tuple[Procedure[Any, Any], str | None]:
    """The procedure of this name, and why it cannot draw this model or release what `keep` names, or None."""
    procedure = named(name)
    return procedure, refusal(procedure, model) or unkept(procedure, keep)


def task_of(document: Mapping[str, Any]) -> tuple[Procedure[Any, Any], Task[Any, Any]]:
    """The procedure and the task of a plan's document."""
    model = model_from_json(document["model"])
    procedure = named(procedure_name(document, model))
    numbers = procedure.Parameters.from_json(document["parameters"])
    return procedure, Task(model, document["n"], document["draws"], numbers, tuple(document["keep"]))


def procedure_name(document: Mapping[str, Any], model: Model) -> str:
    """The procedure of a plan's document; plans of version 1 do not name it, and it follows from what they record."""
    if document["version"] != 1:
        return str(document["procedure"])
    mechanism, numbers = document["mechanism"], document["parameters"]
    if mechanism in _OF_ONE_PROCEDURE:
        return _OF_ONE_PROCEDURE[mechanism]
    if model.summed == TOTALS:
        return "law"
    if "length" in numbers:
        return "reference-chain"
    if mechanism == "exponential":
        return "envelope" if "trials" in numbers else "lattice"
    return "kinked-grid" if "points" in numbers else "last-iterate"


_OF_ONE_PROCEDURE = {"noisy-statistics": "noisy-totals", "langevin": "last-iterate", "langevin-path": "path"}


def expected_of(document: Mapping[str, Any]) -> Expected:
    """What a plan's document leads a reader to expect; of version 1, which holds words, it is computed again."""
    said = document["expected"]
    if document["version"] != 1:
        return Expected(said["id"], said["value"], said["without_privacy"], model_from_json(document["model"]).quantity)
    procedure, task = task_of(document)
    return procedure.expected(task.model, task.n, task.parameters)
