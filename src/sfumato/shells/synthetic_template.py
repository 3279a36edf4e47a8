"""The first spec file of a synthetic table, which `sfumato spec --synthetic` writes: every option as a comment to edit."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.errors import ArgumentError
from sfumato.schema import Number, Schema
from sfumato.schema.documents import toml_key, toml_value
from sfumato.shells.spec_keys import nearest

_TEMPLATE = """\
# What is released, from which records, at what price. Every number here is public: none is read from the records.
[data]
file = {data}
schema = {schema}

[model]                        # a synthetic table of all columns of the schema, with its shares of one and two columns
network = "learn"
{target}
# bins = {bins}
#                              # edges, a number of equal bins, or private bins of equally many records, which are charged
# missing = "all"              # a missing cell is a level of its own; or a list of columns
# leave_out = ["id", ["county", "town"]]  # columns left out, and groups of which no two are counted together
# pairs = "select"             # some pairs of columns are chosen; "all" of them up to 30 columns unless stated
# impossible = [{{ age = "< 15", marital = ["married", "widowed"] }}]  # what no record can be

[price]
epsilon = 1.0
delta = 1e-6                   # far below one in the number of records

[ledger]                       # the budget; make it with: sfumato ledger create {ledger}
file = {ledger}
name = {name}
"""
# Bins where no schema names the columns.
_ANY_BINS = '{ age = [0, 18, 65, 120], income = "quantiles" }'


def synthetic_text(target: str | None, schema: Schema | None, facts: Mapping[str, str]) -> str:
    """The text of a spec; `facts` are names of files and data. A target that the schema does not have is refused."""
    bins, aimed = _ANY_BINS, "outcome"
    if schema is not None:
        columns = tuple(schema.columns)
        if target is not None and target not in columns:
            raise ArgumentError(
                f"--target must be one of the schema's columns {', '.join(map(repr, columns))}; got {target!r}."
                f"{nearest(target, columns)}"
            )
        numbers = [name for name, column in schema.columns.items() if isinstance(column, Number)][:2]
        said = [f"{toml_key(name)} = {value}" for name, value in zip(numbers, ("8", "{ quantiles = 8 }"), strict=False)]
        bins, aimed = f"{{ {', '.join(said)} }}" if said else _ANY_BINS, columns[-1]
    wanted = target or (None if schema is None else schema.target)
    line = f"target = {toml_value(wanted)}" if wanted else f"# target = {toml_value(aimed)}"
    line = f"{line.ljust(30)} # counted with every other column, and more exactly"
    written = {key: toml_value(fact) for key, fact in facts.items()}
    return _TEMPLATE.format(target=line, bins=bins, **written)
