"""Draws in other libraries' forms: a pandas frame, or ArviZ's InferenceData (0.x) and DataTree (1.x)."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from sfumato.draws import Draws

# Names of the one variable and of its dimension where a draw has several coordinates.
VARIABLE, DIMENSION = "theta", "coordinate"


def facts(plan: Mapping[str, Any], promise: str, trust: str, kind: str, digest: str) -> dict[str, Any]:
    """Attributes that accompany the draws: the promise as printed, and how they were made."""
    return {
        "promise": promise,
        "trust": trust,
        "private": int(trust != "not private"),  # a whole number: NetCDF, which ArviZ saves to, has no booleans
        "kind": kind,
        "mechanism": str(plan["mechanism"]),
        "n": int(plan["n"]),
        "plan_digest": digest,
        "inference_library": "sfumato",
    }


def needed(module: str, by: str, install: str = "") -> Any:
    """An optional library; where it is missing, the error says what needs it and how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise ImportError(f"{by} needs {name}, which is not installed: pip install {install or name}") from error


def to_pandas(draws: Draws, attributes: Mapping[str, Any]) -> Any:
    """One row per draw, indexed by (chain, draw); one column per label. The promise is in `attrs`."""
    pandas = needed("pandas", "to_pandas")
    chains, count = draws.shape[:2]
    index = pandas.MultiIndex.from_product([range(chains), range(count)], names=["chain", "draw"])
    frame = pandas.DataFrame(draws.pooled().reshape(chains * count, -1), index=index, columns=list(draws.labels))
    frame.attrs.update(attributes)
    return frame


def to_arviz(draws: Draws, attributes: Mapping[str, Any]) -> Any:
    """The draws as a posterior group shaped (chain, draw[, coordinate]), coordinates named by the labels."""
    arviz = _arviz()
    chains, count = draws.shape[:2]
    if draws.shape[2:] == ():
        values, named = {draws.labels[0]: np.array(draws.values)}, {}
    else:
        values = {VARIABLE: np.array(draws.values.reshape(chains, count, -1))}
        named = {"coords": {DIMENSION: list(draws.labels)}, "dims": {VARIABLE: [DIMENSION]}}
    # In 0.x groups are arguments; in 1.x the groups are the entries of one mapping.
    by_name = "posterior" in inspect.signature(arviz.from_dict).parameters
    with warnings.catch_warnings():
        # ArviZ warns of more chains than draws; a release may hold one draw from each of many chains.
        warnings.simplefilter("ignore", UserWarning)
        data = (
            arviz.from_dict(posterior=values, **named) if by_name else arviz.from_dict({"posterior": values}, **named)
        )
    data["posterior"].attrs.update(attributes)
    return data


def _arviz() -> Any:
    """ArviZ, without the notice about its rewriting that version 0.23 prints on import."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return needed("arviz", "to_arviz", "'sfumato[arviz]'")
