"""Every way of reading a release: expressions that are evaluated with `release`, and command lines.

An answer and a refusal are both recorded. ARGUMENTS of an expression come from the release: `rows` are public rows of its schema,
`file` the same as a CSV file, `names` its columns, `labels` what it shows.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf
from recorded import texts
from sfumato.errors import SfumatoError
from sfumato.queries.batches import LinearUtility
from sfumato.schema import Schema
from sfumato.shells.report import methods

# Arrays of more numbers are shortened to the first of them and two sums.
MOST, FIRST = 24, 6

EXPRESSIONS = (
    "str(release)",
    "repr(release)",
    "release.labels",
    "release.private",
    "release.mean()",
    "release.mean(scaled=True)",
    "release.quantile([0.1, 0.5])",
    "release.interval()",
    "release.interval(0.5, 'privacy')",
    "release.interval(0.95, 'robust', scaled=True)",
    "release.interval(prior=prior)",
    "release.estimate()",
    "release.estimate('privacy', scaled=True)",
    "release.numbers()",
    "release.summary()",
    "release.summary(prior=prior)",
    "release.transcript",
    "release.totals",
    "release.to_pandas()",
    "release.to_pandas(noise_aware=True, draws=4)",
    "release.log_likelihood(public_rows=rows)",
    "release.coefficients()",
    "release.coefficients(0.5, 'privacy', scaled=True)",
    "release.coefficients(reference=reference)",
    "release.prior_dominated(release.interval())",
    "release.contrast({labels[0]: 1, labels[-1]: -2})",
    "release.predict(public_rows=rows)",
    "release.predict_proba(public_rows=rows)",
    "release.rows_note(public_rows=rows)",
    "release.predict_interval(public_rows=rows)",
    "release.predict_interval(public_rows=rows, level=0.5, of='answer')",
    "release.marginal_effects(public_rows=rows)",
    "release.synthesize(3, 1)",
    "release.marginal(names[0])",
    "release.marginal(names[:2], interval=0.9)",
    "release.conditional(names[0], names[1:2])",
    "release.conditional(names[1], {names[0]: levels(names[0])[0]}, interval=0.5)",
    "release.cross_table()",
    "release.cross_table(*names[1::-1], of='row shares', level=0.5)",
    "release.cross_table(of='counts')",
    "release.histogram()",
    "release.histogram('counts', 0.5)",
    "release.histogram().quantile(0.3)",
    "release.group_sizes()",
    "release.column_quantiles([0.25, 0.75], 0.5, 'privacy')",
)
# Questions to draws of any kind, asked of some releases alone.
QUESTIONS = (
    "release.view()",
    "release.in_units()",
    "release.attacker(0.2, separation=1.0)",
    "release.summary(0.5)",
    "methods(release)",
    "release.ask.mean(bounds=(-9, 99999))",
    "release.ask.probability(lambda draws: draws.reshape(len(draws), -1)[:, 0] > 0.3)",
    "release.ask.quantile(0.25)",
    "release.ask.best([[0, 1], [1, 0]], ['first', 'second'])",
    "release.ask.best(cost, [0.1, 0.6], (0, 1))",
    "release.ask.top(2)",
    "release.ask.prediction(public_rows=rows)",
    "release.respond(near, [0.2, 0.5, 0.8])",
    "release.respond(near, (0, 1), lipschitz=1.0)",
    "release.respond_all(LinearUtility(half, [[[1.0], [0.5]], [[0.2], [0.9]]]), ['first', 'second'])",
)
# What is read through another expression: file names, and objects without a text of their own.
ELSEWHERE = {
    "promise": "str(release)", "plot": "pictures", "save": "show", "verify": "show", "to_bytes": "show",
    "from_bytes": "show", "to_arviz": "tests/queries/test_convert.py", "to_pgmpy": "tests/queries/test_tables.py",
}  # fmt: skip


def declared(release: sf.Release) -> Schema:
    return Schema.from_json(json.loads(release.schema["document"]))


def public_rows(release: sf.Release) -> dict[str, list[Any]] | Any:
    """Five public rows of the release's schema: one beyond the bounds, one with an empty cell; without ids and weights."""
    schema = declared(release)
    if schema.dimension is not None:
        return np.array([[0.1, -0.2, 0.3], [0.5, 0.25, -0.5]])[:, : schema.dimension]
    made: dict[str, list[Any]] = {}
    for place, (name, column) in enumerate(schema.columns.items()):
        if column.levels is not None:
            made[name] = [column.levels[(k + place) % len(column.levels)] for k in range(5)]
        elif isinstance(column, sf.Date):
            made[name] = ["2019-02-03", "2020-01-01", "2022-10-11", "2031-01-01", "2021-05-06"]
        else:
            share = np.array([0.1, 0.9, 0.5, 1.5, 0.3 + place / 9])
            values = column.lower + share * (column.upper - column.lower)
            made[name] = (np.rint(values) if column.integer else values.round(3)).tolist()
    return made


def write_csv(rows: Any, path: Path) -> None:
    """The rows as a CSV file."""
    table = rows if isinstance(rows, dict) else {f"x{k}": column.tolist() for k, column in enumerate(rows.T)}
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))


def near(draws: Any, candidates: Any) -> Any:
    """A utility: one minus the distance of a number in [0, 1] from the first number drawn."""
    first = np.clip(draws.reshape(len(draws), -1)[:, :1], 0, 1)
    return 1 - abs(first - np.asarray(candidates, dtype=float)[None, :])


def arguments(release: sf.Release) -> dict[str, Any]:
    """What the expressions name."""
    schema = declared(release)
    category = next((name for name, column in schema.columns.items() if isinstance(column, sf.Category)), "region")

    def levels(name: str) -> Any:
        return release.marginal(name).levels[0]

    def prior() -> Any:
        return sf.families.BetaBernoulli(2, 5)

    return {
        "sf": sf, "release": release, "rows": public_rows(release), "names": list(schema.columns), "labels": release.labels,
        "prior": prior(), "near": near, "cost": lambda draws, actions: 1 - near(draws, actions), "LinearUtility": LinearUtility,
        "half": lambda draws: np.full((len(draws), 1), 0.5), "reference": {category: "sum-to-zero"}, "levels": levels,
        "methods": methods,
    }  # fmt: skip


def evaluated(expression: str, known: Mapping[str, Any]) -> tuple[str, str, bool]:
    """The value of an expression as text, with its fields, or its refusal; and whether it was refused."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            text, fields = shown(eval(expression, dict(known)))
        except SfumatoError as error:
            return f"{type(error).__name__}: {error}", "", True
        except Exception as error:  # a wrong type that Python refuses, whose words differ from version to version
            return type(error).__name__, "", True
    return text, "\n".join([*fields, *(f"warning: {each.message}" for each in caught)]), False


def shown(value: Any) -> tuple[str, list[str]]:
    """A value as text, of an array its numbers; and the fields of an object that has a text."""
    if hasattr(value, "to_csv"):
        return value.to_csv().strip(), [f"{key}: {one}" for key, one in value.attrs.items()]
    if hasattr(value, "get_axes"):
        return figure(value), []
    if isinstance(value, str) and value.lstrip().startswith("<"):
        return texts.elements(value), []
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and _has_text(value):
        return str(value), _fields(value)
    return _flat(value), []


def figure(made: Any) -> str:
    """A matplotlib figure: of every panel its texts, limits and marks, in the order in which they were drawn."""
    lines = [f"figure {made.get_suptitle()!r} {' x '.join(f'{each:.3g}' for each in made.get_size_inches())} inches"]
    for axis in made.get_axes():
        limits = (*axis.get_xlim(), *axis.get_ylim())
        lines.append(f"panel {axis.get_title()!r}, {axis.get_xlabel()!r}, {axis.get_ylabel()!r}, {_flat(list(limits))}")
        lines.append(f"scales {axis.get_xscale()}, {axis.get_yscale()}")
        lines.append(f"ticks {[each.get_text() for each in axis.get_xticklabels()]}")
        lines.append(f"ticks {[each.get_text() for each in axis.get_yticklabels()]}")
        for line in axis.get_lines():
            places = np.asarray(line.get_xydata(), dtype=float)
            style = f"{line.get_color()} {line.get_linestyle()} {line.get_linewidth():g} {line.get_marker()}"
            lines.append(f"line {line.get_label()!r} {style} {_flat(places)}")
        lines += [f"text {each.get_text()!r} at {_flat(list(each.get_position()))}" for each in axis.texts]
        lines += [f"{type(each).__name__} {_flat(np.asarray(each.get_extents().extents))}" for each in axis.patches]
        lines += [f"{type(each).__name__} of {len(each.get_offsets())}" for each in axis.collections]
    legends = [axis.get_legend() for axis in made.get_axes()] + list(made.legends)
    lines += [f"legend {[text.get_text() for text in each.get_texts()]}" for each in legends if each is not None]
    return "\n".join(lines)


def _has_text(value: Any) -> bool:
    """Whether an object prints more than its representation."""
    return type(value).__str__ is not object.__str__


def _fields(value: Any) -> list[str]:
    """Fields that hold something that is not in the text already."""
    fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    said = str(value)
    return [
        f"  .{key} {_flat(one)}"
        for key, one in fields.items()
        if _simple(one) and not (isinstance(one, str) and one in said)
    ]


def _simple(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.size > 0
    return isinstance(value, int | float) or (isinstance(value, str | tuple | list | dict) and len(value) > 0)


def _flat(value: Any) -> str:
    if isinstance(value, np.ndarray):
        shape = "x".join(map(str, value.shape))
        if value.size <= MOST or value.dtype.kind not in "fi":
            return f"{shape}: {_flat(value.tolist())}"
        # Of many numbers the first, the sum of all, and a sum in which each place counts otherwise.
        numbers = value.ravel().astype(float)
        places = numbers @ np.cos(np.arange(len(numbers)))
        return f"{shape}: {_flat(numbers[:FIRST].tolist())} ... sum {numbers.sum():.4g}, by place {places:.4g}"
    if dataclasses.is_dataclass(value):
        return " ".join([type(value).__name__, *(line.strip() for line in _fields(value))])
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flat(one)}" for key, one in value.items()) + "}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(_flat, value)) + "]"
    return str(value)


def transcript(answers: Sequence[tuple[str, str, str, bool]], refusals: bool) -> str:
    """Answers (heading, text, fields, refused) by text, with their headings; then fields; then refusals, or only their number."""
    told: dict[str, list[str]] = {}
    refused: dict[str, list[str]] = {}
    for heading, text, _, no in answers:
        (refused if no else told).setdefault(text, []).append(heading)
    parts = ["\n".join([*asked, text]) for text, asked in told.items()]
    parts += [f"{heading}\n{fields}" for heading, _, fields, _ in answers if fields]
    parts += ["\n".join([*asked, text]) for text, asked in refused.items() if refusals]
    return "\n\n".join([*parts, f"{sum(map(len, refused.values()))} of {len(answers)} refused"])
