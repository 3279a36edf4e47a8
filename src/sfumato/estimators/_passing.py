"""What a pipeline passes to its last step beside the coded rows: the ids of persons, and whose schema declares them."""

from __future__ import annotations

from typing import Any

from sklearn import get_config  # type: ignore[import-untyped]
from sklearn.pipeline import Pipeline  # type: ignore[import-untyped]
from sklearn.utils.metadata_routing import process_routing  # type: ignore[import-untyped]

from sfumato.errors import ArgumentError
from sfumato.estimators._norms import schemas
from sfumato.schema import Persons

_GROUPS = "groups"


def passed_on(pipe: Pipeline, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a pipeline's fit that are meant for its last step, a private estimator: `groups` or nothing.

    With scikit-learn's metadata routing the estimator must have asked for them (`set_fit_request(groups=True)`); without it they
    have the name of the step before their own.
    """
    if not params:
        return {}
    name = pipe.steps[-1][0]
    if get_config()["enable_metadata_routing"]:
        return dict(process_routing(pipe, "fit", **params)[name]["fit"])
    wanted = f"{name}__{_GROUPS}"
    others = [key for key in params if key != wanted]
    if others:
        raise ArgumentError(f"fit takes X, y and, where persons are declared, {wanted}; got {', '.join(others)}.")
    return {_GROUPS: params[wanted]}


def persons_behind(step: Any) -> Persons | None:
    """The persons that the schemas of public steps declare; None if none does. Schemas that contradict each other are refused."""
    declared = [schema.persons.of_columns(()) for schema in schemas(step) if schema.persons is not None]
    if any(each != declared[0] for each in declared):
        raise ArgumentError(
            "the schemas of the steps declare different persons: one row cannot belong to both. Give all steps parts of one "
            "schema, such as schema.only([...])."
        )
    return declared[0] if declared else None


def emptied(held: dict[str, Any]) -> dict[str, Any]:
    """Hand over what a dictionary holds and leave it empty: the caller's frame then keeps none of it in a traceback."""
    given = dict(held)
    held.clear()
    return given
