"""`[model] network = "learn"` of a spec file: a table whose dependences are learnt, from every column that is not left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sfumato import _validate
from sfumato.errors import ArgumentError, FormatError
from sfumato.schema import Schema
from sfumato.shells.spec_keys import are_names, known_keys, nearest

if TYPE_CHECKING:
    from sfumato.models.networks.learned import LearnedNetwork

# The word in place of a network that is drawn by hand.
LEARN = "learn"
KEYS = ("network", "bins", "pairs", "target", "missing", "impossible", "leave_out", "chosen", "rounds")


def read_learnt(file: str, facts: dict[str, Any], schema: Schema) -> tuple[LearnedNetwork, Schema]:
    """The model, and the schema of the columns that are not left out."""
    from sfumato.models.networks.learning import learn

    known_keys(file, facts, KEYS, "[model] of a learnt table")
    if facts["network"] != LEARN:
        raise FormatError(
            f'{file}: network must be "{LEARN}", or a table column = [parents] that draws it by hand; '
            f"got {_validate.shown(facts['network'])}."
        )
    options = {key: value for key, value in facts.items() if key != "network"}
    _check_types(file, options)
    _check_columns(file, options, tuple(schema.columns))
    gone = {each for each in options.get("leave_out", ()) if isinstance(each, str)}
    left = [name for name in schema.columns if name not in gone]
    _check_kept(file, options, gone)
    if len(left) < 2:
        raise FormatError(f"{file}: a table to learn needs at least two columns; {', '.join(left) or 'none'} is left.")
    try:
        return learn(schema, **options), schema.only(left)
    except ArgumentError as error:
        raise FormatError(f"{file}: {error}") from error


def _check_types(file: str, options: Mapping[str, Any]) -> None:
    """Refuse values of the wrong type, with an example of a right one."""
    groups = options.get("leave_out", [])
    rules = options.get("impossible", [])
    right = {
        "bins": (
            isinstance(options.get("bins", {}), Mapping | str),
            '"uniform", "quantiles", or a table such as { age = 10, income = { quantiles = 8 } }',
        ),
        "pairs": (isinstance(options.get("pairs", ""), str), '"all" or "select"'),
        "missing": (
            options.get("missing", "all") == "all" or are_names(options["missing"]),
            '"all" or a list of columns such as ["income"]',
        ),
        "leave_out": (
            isinstance(groups, list) and all(isinstance(each, str) or are_names(each) for each in groups),
            'a list of columns and groups such as ["id", ["county", "town"]]',
        ),
        "impossible": (
            isinstance(rules, list) and all(isinstance(each, Mapping) for each in rules),
            'a list of rules such as [{ age = "< 15", marital = "married" }]',
        ),
    }
    for key, (fits, example) in right.items():
        if not fits:
            raise FormatError(
                f"{file}: {key} in [model] must be {example}; got {_validate.shown(options[key])}."
                f"{_meant(key, options[key])}"
            )


def _meant(key: str, given: Any) -> str:
    """One column is a list of one."""
    if key in ("missing", "leave_out") and isinstance(given, str):
        return f' Write {key} = ["{given}"] for one column.'
    return ""


def _check_columns(file: str, options: Mapping[str, Any], columns: tuple[str, ...]) -> None:
    """Refuse names that are no column of the schema; the error suggests the nearest one."""
    for key, names in _named(options).items():
        for name in names:
            if name not in columns:
                raise FormatError(
                    f"{file}: {key} in [model] names {name!r}, which is no column of the schema: {', '.join(columns)}."
                    f"{nearest(name, columns)}"
                )


def _check_kept(file: str, options: Mapping[str, Any], gone: set[str]) -> None:
    """Refuse a column that is left out and named elsewhere."""
    for key, names in _named(options).items():
        both = [name for name in names if name in gone and key != "leave_out"]
        if both:
            raise FormatError(f"{file}: {both[0]!r} is in leave_out and in {key}: take it out of one of them.")


def _named(options: Mapping[str, Any]) -> dict[str, list[str]]:
    """The columns that each key names."""
    bins, missing, target = options.get("bins", {}), options.get("missing", []), options.get("target")
    groups = [[each] if isinstance(each, str) else each for each in options.get("leave_out", [])]
    return {
        "bins": list(bins) if isinstance(bins, Mapping) else [],
        "missing": [] if missing == "all" else list(missing),
        "target": [] if target is None else [target],
        "leave_out": [name for group in groups for name in group],
        "impossible": [name for rule in options.get("impossible", []) for name in rule],
    }
