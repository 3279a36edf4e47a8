"""The procedures by name, and how a recorded plan is read back to the one that made it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

from sfumato.errors import ArgumentError
from sfumato.models.model import TOTALS, Model
from sfumato.models.reading import model_from_json
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures.chain_law import ChainLaw, law_of_draw
from sfumato.procedures.outlook import OF_A_DRAW, Expected
from sfumato.procedures.protocol import Procedure, Task
from sfumato.schema.persons import PersonTerms
from sfumato.schema.weight import Weight
from sfumato.theorems import persons as of_persons

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


def unaveraged(procedure: Procedure[Any, Any], model: Model, persons: PersonTerms | None) -> str | None:
    """Return why this procedure is not proved for averages of a person's rows, or None."""
    if persons is None or persons.most is None or persons.most == 1:  # an average of one row is that row
        return None
    refuses = getattr(procedure, "refuses_averages", None)
    if refuses is None:
        return "it is proved for one row a person; use rule first or reduce"
    reason: str | None = refuses(model, persons.most)
    return reason


def unweighted(procedure: Procedure[Any, Any], model: Model, weight: Weight | None) -> str | None:
    """Return why this procedure is not proved for records with survey weights, or None."""
    if weight is None:
        return None
    refuses = getattr(procedure, "refuses_weights", None)
    if refuses is None:
        return "it is not proved for survey weights; use 'noisy-statistics', or of a regression an estimate"
    reason: str | None = refuses(model)
    return reason


def for_contributions(price: Guarantee, persons: PersonTerms | None, weight: Weight | None, people: int) -> Guarantee:
    """The price where records have weights, or are persons with all of their rows: by the theorems of both."""
    if weight is not None:
        # What the schema declares, and what `refuses_weights` of the procedure does.
        price = of_persons.weighted_records(price, fixed=weight.fixed, zero=True)
    if persons is None:
        return price
    # What `gathering` does: the roster is declared, each contribution is of one person's rows, and whoever has none gets one row.
    facts: dict[str, Any] = {"people": people, "public_roster": True, "own_rows": True}
    facts |= {"id_column": persons.id, "rows": persons.rows}
    if persons.most is None:
        return of_persons.one_row(price, **facts)
    # What `refuses_averages` of the procedure declares.
    return of_persons.averages(price, most=persons.most, hull=True, absent=True, **facts)


def offered(
    name: str,
    model: Model,
    keep: tuple[str, ...],
    persons: PersonTerms | None = None,
    weight: Weight | None = None,
) -> tuple[Procedure[Any, Any], str | None]:
    """The procedure of this name, and why it cannot draw this model or release what `keep` names, or None."""
    procedure = named(name)
    reason = refusal(procedure, model) or unkept(procedure, keep)
    return procedure, reason or unaveraged(procedure, model, persons) or unweighted(procedure, model, weight)


def task_of(document: Mapping[str, Any]) -> tuple[Procedure[Any, Any], Task[Any, Any]]:
    """The procedure and the task of a plan's document."""
    model = model_from_json(document["model"])
    procedure = named(procedure_name(document, model))
    numbers = procedure.Parameters.from_json(document["parameters"])
    persons = PersonTerms.from_json(document["persons"]) if "persons" in document else None
    weight = Weight(**document["weight"]) if "weight" in document else None
    return procedure, Task(model, document["n"], document["draws"], numbers, tuple(document["keep"]), persons, weight)


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


def law_of(procedure: str, task: Task[Any, Any]) -> ChainLaw | None:
    """The law of a draw of a Gibbs posterior, of a chain after its steps, on made-up rows; None where none is known."""
    module, numbers = named(procedure), dict(task.parameters)
    if hasattr(module, "draw_law"):
        return cast(ChainLaw | None, module.draw_law(task))
    power, step, steps, strength = (numbers.get(name) for name in ("power", "step", "steps", "strength"))
    return None if power is None else law_of_draw(task.model, task.n, power, step, int(steps or 0), strength)


def expected_of(document: Mapping[str, Any]) -> Expected:
    """What a plan's document leads a reader to expect: of a draw by its law; of version 1, which holds words, computed again."""
    said = document["expected"]
    if document["version"] != 1 and said["id"] != OF_A_DRAW:
        return Expected(said["id"], said["value"], said["without_privacy"], model_from_json(document["model"]).quantity)
    procedure, task = task_of(document)
    expected = procedure.expected(task.model, task.n, task.parameters)
    law = law_of(procedure.NAME, task) if expected.id == OF_A_DRAW else None
    return expected if law is None else law.expected
