"""A spec file: which data, which model, at what price, charged to which ledger. TOML, read strictly, and nothing else.

    [data]    file, schema, n
    [model]   family or regression or network, with its columns and public numbers
    [price]   epsilon, delta, draws, mechanism, goal
    [ledger]  file, name, request

File names are relative to the spec's own folder. An unknown key is an error that names the known ones.
"""

from __future__ import annotations

import difflib
import inspect
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import ArgumentError, FormatError
from sfumato.schema import Boolean, Category, Number, Schema

_KEYS = {
    "data": ("file", "schema", "n"),
    "price": ("epsilon", "delta", "draws", "mechanism", "goal", "steps"),
    "ledger": ("file", "url", "name", "request", "witness"),
}
_KINDS = ("family", "regression", "network")
# Beyond this an attacker is as good as certain: a release would be one in name only.
_LARGEST = 50
_REGRESSIONS = ("logistic", "multinomial", "svm", "linear", "quantile", "poisson")

TEMPLATE = """\
# What is released, from which records, at what price. Every number here is public: none is read from the records.
[data]
file = "{data}"
schema = "{schema}"

[model]                        # a share; other models are shown in the documentation of the spec file
family = "BetaBernoulli"
column = "{column}"
# by = "region"                # one share for every level of another column

[price]
epsilon = 1.0
delta = 1e-6                   # far below one in the number of records
draws = 1

[ledger]                       # the budget; make it with: sfumato ledger create {ledger}
file = "{ledger}"
name = "{name}"
"""


@dataclass(frozen=True)
class Spec:
    """A spec that was read: paths, the schema of the columns that the model uses, the model, price and ledger."""

    path: Path
    data: Path | None
    n: int | None
    schema: Schema
    model: Any
    price: Mapping[str, Any]
    ledger: Mapping[str, Any]

    @classmethod
    def load(cls, path: str | Path) -> Spec:
        """Read a spec file; what is wrong with it is said with the key and the file."""
        file = Path(path)
        try:
            document = tomllib.loads(file.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise FormatError(f"{file.name} cannot be read as TOML: {error}") from error
        _known(file.name, document, ("data", "model", "price", "ledger"), "a spec")
        for part in ("data", "model", "price"):
            if not isinstance(document.get(part), Mapping):
                raise FormatError(f"{file.name} has no table [{part}]. Write one: see sfumato spec --help.")
        for part, keys in _KEYS.items():
            _known(file.name, document.get(part, {}), keys, f"[{part}]")
        facts = document["data"]
        if "schema" not in facts:
            raise FormatError(f'{file.name}: [data] needs schema = "<file>.toml", the public facts about a record.')
        whole = Schema.load(file.parent / _text(facts, "schema", file.name))
        model, schema = _model(file.name, dict(document["model"]), whole)
        _check_columns(file.name, model, schema)
        data = file.parent / _text(facts, "file", file.name) if "file" in facts else None
        price = dict(document["price"])
        for needed in ("epsilon", "delta"):
            if needed not in price:
                raise FormatError(
                    f"{file.name}: [price] needs {needed}. Write epsilon = 1.0 and delta = 1e-6 (far below one in n)."
                )
        epsilon = price["epsilon"]
        if isinstance(epsilon, int | float) and epsilon > _LARGEST:
            raise FormatError(
                f"{file.name}: epsilon = {epsilon:g} promises nothing to anybody. Choose one between 0.1 and 10; "
                "sfumato price-list shows what each buys."
            )
        n = facts.get("n")
        if n is not None and (not isinstance(n, int) or isinstance(n, bool) or n < 1):
            raise FormatError(f"{file.name}: n must be a whole number of 1 or more, the number of records; got {n!r}.")
        return cls(file, data, n, schema, model, price, dict(document.get("ledger", {})))

    def dataset(self) -> Any:
        """Open the data file under the schema."""
        from sfumato.dataset import Dataset

        if self.data is None:
            raise ArgumentError(f'{self.path.name}: [data] needs file = "<data>.csv" for a release.')
        found = Dataset.from_table(self.data, schema=self.schema)
        if found.n == 0:
            raise ArgumentError(f"{self.data.name} is empty: it holds no record.")
        if self.n is not None and found.n != self.n:
            raise ArgumentError(
                f"{self.path.name} says n = {self.n:,} and {self.data.name} has another number of records."
            )
        return found

    def records(self) -> int:
        """The number of records, which is public: as the spec says, or counted."""
        return int(self.n) if self.n is not None else self.dataset().n

    def plan(self, n: int | None = None, **changed: Any) -> Any:
        """The plan for n records; `changed` replaces numbers of [price]."""
        from sfumato.planning import plan

        options = {**self.price, **changed}
        count, delta = self.records() if n is None else n, options["delta"]
        if isinstance(delta, float) and 1 / count < delta < 1:
            raise ArgumentError(
                f"{self.path.name}: delta = {delta:g} would allow a whole record among {count:,} to be published. Write a delta "
                "far below one in the number of records, such as 1e-6."
            )
        if self._regression:
            options.setdefault("goal", "estimate")
            if options["goal"] == "estimate" and options.get("mechanism", "auto") in ("auto", "langevin-path"):
                options.setdefault("keep", ("transcript",))  # free, and intervals need it
        return plan(self.model, count, **options)

    @property
    def _regression(self) -> bool:
        from sfumato.models.gibbs import Gibbs

        return isinstance(self.model, Gibbs)

    def request(self, plan: Any) -> str:
        """The request's name: as the spec says, or the same for the same plan, so that repeating a command costs nothing."""
        return str(self.ledger.get("request") or f"{self.path.stem} {plan.digest[:12]}")

    def open_ledger(self) -> Any:
        """The ledger that the spec names, or None."""
        from sfumato.ledger import Ledger

        where = self.ledger.get("url") or self.ledger.get("file")
        if where is None:
            if self.ledger:
                raise FormatError(f'{self.path.name}: [ledger] needs file = "budget.db" or url = "postgresql://...".')
            return None
        if "file" in self.ledger and not (self.path.parent / where).exists():
            raise ArgumentError(
                f"there is no ledger {where!r}. Make it with: sfumato ledger create {where}, then register "
                f"{self.ledger.get('name', self.schema.name)!r} with its whole budget."
            )
        witness = self.ledger.get("witness")
        return Ledger.open(
            self.path.parent / where if "file" in self.ledger else where,
            **({} if witness is None else {"witness": self.path.parent / witness}),
        )


def _known(file: str, found: Any, keys: tuple[str, ...], what: str) -> None:
    if not isinstance(found, Mapping):
        raise FormatError(f"{file}: {what} must be a table.")
    for key in found:
        if key not in keys:
            near = difflib.get_close_matches(key, keys, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise FormatError(f"{file}: {what} has the keys {', '.join(keys)}; got {key!r}.{hint}")


def _text(facts: Mapping[str, Any], key: str, file: str) -> str:
    if not isinstance(facts[key], str):
        raise FormatError(f"{file}: {key} must be a text in quotes; got {facts[key]!r}.")
    return str(facts[key])


def _model(file: str, facts: dict[str, Any], schema: Schema) -> tuple[Any, Schema]:
    """The model and the schema of the columns that it reads."""
    kinds = [kind for kind in _KINDS if kind in facts]
    if len(kinds) != 1:
        raise FormatError(
            f"{file}: [model] needs exactly one of {', '.join(_KINDS)}; got {', '.join(kinds) or 'none'}."
        )
    build = {"family": _family, "regression": _regression, "network": _network}[kinds[0]]
    return build(file, facts, schema)


def _check_columns(file: str, model: Any, schema: Schema) -> None:
    """Refuse a model that cannot read its columns before anything is planned."""
    from sfumato.models.gibbs import Gibbs
    from sfumato.models.regression import check_rows

    if isinstance(model, Gibbs):
        check_rows(model, schema)
        return
    try:
        model.columns(schema)
    except ArgumentError as error:
        found = ", ".join(f"{name!r} is a {type(column).__name__}" for name, column in schema.columns.items())
        raise FormatError(
            f"{file}: {getattr(model, 'name', 'the model')} cannot be of these columns: {found}."
        ) from error


def _family(file: str, facts: dict[str, Any], schema: Schema) -> tuple[Any, Schema]:
    from sfumato.models import families
    from sfumato.models.grouped import grouped

    name = facts.pop("family")
    known = tuple(families.TABLE)
    if name not in known:
        near = difflib.get_close_matches(str(name), known, 1, 0.4)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise FormatError(f"{file}: family must be one of {', '.join(known)}; got {name!r}.{hint}")
    by = facts.pop("by", None)
    column = facts.pop("column", None)
    family = getattr(families, name)
    parameters = tuple(inspect.signature(family).parameters)
    _known(file, facts, ("column", "by", *parameters), f"the family {name}")
    if by is not None and by in schema.columns and isinstance(schema.columns[by], Number):
        raise FormatError(f"{file}: by = {by!r} is a Number; groups are the levels of a Category or a Boolean.")
    columns = [column] if column is not None else [each for each in schema.columns if each != by]
    if column is None and len(columns) > 1:
        raise FormatError(
            f'{file}: [model] needs column = "...", one of {", ".join(columns)}: the schema has more than one.'
        )
    part = schema.only([*columns, *([by] if by else [])])
    for key, value in _declared(part.columns[columns[0]]).items():
        if key in parameters:
            facts.setdefault(key, value)
    if isinstance(part.columns[columns[0]], Category) and {"lower", "upper", "bound"} & set(parameters):
        raise FormatError(f"{file}: the family {name} is of a Number; {columns[0]!r} is a Category.")
    missing = [
        key
        for key, parameter in inspect.signature(family).parameters.items()
        if parameter.default is inspect.Parameter.empty and key not in facts
    ]
    if missing:
        raise FormatError(f"{file}: the family {name} needs {', '.join(missing)} in [model].")
    model = family(**facts)
    return (grouped(model, by=by, levels=_levels(part, by)) if by else model), part


def _declared(column: Any) -> dict[str, Any]:
    """What the schema already says about the numbers of a family."""
    if isinstance(column, Category):
        return {"levels": column.levels}
    if isinstance(column, Number):
        bound = int(column.upper) if column.integer else column.upper
        return {"lower": column.lower, "upper": column.upper, "bound": bound}
    return {}


def _levels(schema: Schema, by: str) -> tuple[Any, ...]:
    found = schema.columns[by]
    if isinstance(found, Category):
        return tuple(found.levels)
    return (False, True) if isinstance(found, Boolean) else ()


def _network(file: str, facts: dict[str, Any], schema: Schema) -> tuple[Any, Schema]:
    from sfumato.models.networks import BayesianNetwork

    parents = facts.pop("network")
    if not isinstance(parents, Mapping):
        raise FormatError(
            f"{file}: network must be a table column = [parents], such as network = {{ a = [], b = ['a'] }}."
        )
    _known(file, facts, ("bins", "alpha", "floor", "adjacency"), "[model] of a network")
    part = schema.only(list(dict.fromkeys([*parents, *(above for each in parents.values() for above in each)])))
    return BayesianNetwork.from_schema(part, parents, **facts), part


def _regression(file: str, facts: dict[str, Any], schema: Schema) -> tuple[Any, Schema]:
    from sfumato.models import losses, priors
    from sfumato.models.gibbs import Gibbs

    kind = facts.pop("regression")
    if kind not in _REGRESSIONS:
        raise FormatError(f"{file}: regression must be one of {', '.join(_REGRESSIONS)}; got {kind!r}.")
    _known(file, facts, ("target", "features", "intercept", "quantile", "clip"), "[model] of a regression")
    target = facts.get("target", schema.target)
    if target is None:
        raise FormatError(f'{file}: [model] needs target = "...", the column to be predicted.')
    features = facts.get("features", [each for each in schema.columns if each != target])
    if target in features:
        raise FormatError(f"{file}: the target {target!r} cannot be one of the features.")
    part = schema.only([*features, target], target)
    design = part.design()
    # Half of the longest row, as the estimators choose it: a constant as long as a usual row.
    # The levels of a category hold the constant already: beside them it could not be told apart.
    levels = any(isinstance(part.columns[each], Category) for each in features)
    constant = design.radius / 2 if facts.get("intercept", not levels) else 0.0
    loss = _loss(
        file, kind, facts, losses.radius_with_intercept(design.radius, constant) if constant else design.radius, part
    )
    outputs = getattr(loss, "classes", 1)
    dimension = outputs * (design.dimension + (1 if constant else 0))
    precision = loss.constants(dimension).smoothness / 25
    return Gibbs(loss, priors.Gaussian(precision), dimension, constant), part


def _loss(file: str, kind: str, facts: Mapping[str, Any], radius: float, schema: Schema) -> Any:
    from sfumato.models import losses

    column = schema.columns[str(schema.target)]
    if kind == "logistic":
        return losses.Logistic(radius)
    if kind == "svm":
        return losses.SmoothedHinge(radius, width=0.5)
    if kind == "multinomial":
        levels = column.levels if isinstance(column, Category) else ()
        if len(levels) < 3:
            raise FormatError(
                f"{file}: a multinomial regression needs a Category of three levels or more as its target."
            )
        return losses.Softmax(radius, classes=len(levels))
    if not isinstance(column, Number):
        raise FormatError(f"{file}: a {kind} regression needs a Number as its target; {schema.target!r} is none.")
    if kind == "poisson":
        clip = float(facts.get("clip", column.upper))
        return losses.ClippedPoisson(radius, clip=clip, label_bound=column.upper)
    half = (column.upper - column.lower) / 2
    if kind == "linear":
        return losses.Huber(radius, clip=float(facts.get("clip", half)))
    return losses.SmoothedQuantile(radius, quantile=float(facts.get("quantile", 0.5)), width=half / 5)
