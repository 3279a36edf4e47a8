"""`sfumato spec`, `plan`, `rehearse`, `price-list`, `compare`: from a spec file to what a release will cost and bring."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.errors import ArgumentError, SfumatoError
from sfumato.shells.file_kinds import expect
from sfumato.shells.printing import Force, Json, emit, write_new

SpecFile = Annotated[Path, typer.Argument(help="The spec file (.toml); sfumato spec writes one.")]
Records = Annotated[
    int | None,
    typer.Option("--n", help="The number of records; read from the data, or of persons from the schema, if left out."),
]


def spec(
    data: Annotated[str, typer.Option(help="The data file.")] = "data.csv",
    schema: Annotated[str, typer.Option(help="The schema file.")] = "schema.toml",
    column: Annotated[str, typer.Option(help="The column to release.")] = "column",
    name: Annotated[
        str | None, typer.Option(help="The data set, as the ledger names it; the schema's name if left out.")
    ] = None,
    ledger: Annotated[str, typer.Option(help="The ledger's file.")] = "budget.db",
    regression: Annotated[
        str | None, typer.Option(help="Write a regression of this kind instead: logistic, linear, poisson, ...")
    ] = None,
    synthetic: Annotated[
        bool, typer.Option("--synthetic", help='Write a synthetic table of all columns instead: network = "learn".')
    ] = False,
    target: Annotated[
        str | None, typer.Option(help="The column to be predicted, of a regression or from a synthetic table.")
    ] = None,
    features: Annotated[
        str | None, typer.Option(help="Of a regression: its columns, separated by commas; all others if left out.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write here instead of the terminal.")] = None,
    force: Force = False,
) -> None:
    """Write a first spec file to edit: a share, the shares of a category, the mean of a number, a regression, a synthetic table.

    Example: sfumato spec --data survey.csv --schema survey.toml --column smoker -o smokers.toml

    Example: sfumato spec --schema survey.toml --regression logistic --target smoker --features age,region

    Example: sfumato spec --data survey.csv --schema survey.toml --synthetic -o table.toml
    """
    from sfumato.schema.documents import toml_value
    from sfumato.shells.spec import TEMPLATE
    from sfumato.shells.spec_models import first_family

    if synthetic and (regression, features) != (None, None):
        raise ArgumentError("--synthetic is a table of all columns: leave --regression and --features out.")
    if regression is None and not synthetic and (target, features) != (None, None):
        raise ArgumentError("--target and --features are of a regression: add --regression logistic, or another kind.")
    # A schema that is there names the data set and has the type of the column, or the columns of a regression.
    known = _declared(schema)
    facts = {
        "data": data,
        "schema": schema,
        "ledger": ledger,
        "name": name or ("data" if known is None else known.name),
    }
    if synthetic:
        from sfumato.shells.synthetic_template import synthetic_text

        text = synthetic_text(target, known, facts)
    elif regression is None:
        family, released = first_family(known, column)
        named = {**facts, "column": column, "family": family}
        text = TEMPLATE.format(released=released, **{key: toml_value(fact) for key, fact in named.items()})
    else:
        from sfumato.shells.regression_template import regression_text

        listed = None if features is None else [each.strip() for each in features.split(",")]
        text = regression_text(regression, target, listed, known, facts)
    write_new(output, text, f"wrote {output}; next: sfumato plan {output}", force)


def _declared(file: str) -> Any:
    """The schema of this file, or None where the file is not there yet."""
    from sfumato.schema import Schema

    return Schema.load(expect(Path(file), "schema")) if Path(file).exists() else None


def plan(file: SpecFile, n: Records = None, as_json: Json = False) -> None:
    """Say what a release will do, what it will cost and what accuracy to expect; nothing is spent.

    Example: sfumato plan smokers.toml
    """
    from sfumato.shells import spec_engine
    from sfumato.shells.spec import Spec

    spec = Spec.load(file)
    planned = spec.plan(n)
    text = _with_clipping(_with_unit(str(planned), spec, planned), spec)
    where = spec_engine.said(spec.data, spec.schema, spec.engine)
    text = "\n".join([text, *([] if where is None else [f"engine     {where}"]), *_left(spec, planned)])
    try:
        widths = spec.expected_widths(planned)
    except ArgumentError as error:
        # The release would refuse intervals with the same sentence: said here, before anything is spent, and once.
        text = "\n".join(line for line in _with_missing(text, spec).split("\n") if not line.startswith("intervals "))
        emit(as_json, {**planned.to_json(), "no_intervals": str(error)}, f"{text}\nintervals  none: {error}")
        return
    if widths is None:
        emit(as_json, planned.to_json(), _with_missing(text, spec))
    else:
        # The widths say what the noise of a gradient means.
        lines = [line for line in _with_missing(text, spec).split("\n") if not line.startswith("expected ")]
        emit(as_json, {**planned.to_json(), "expected_widths": widths.to_json()}, "\n".join([*lines, "", str(widths)]))


def _with_unit(text: str, spec: Any, planned: Any) -> str:
    """The plan's text with the unit that it protects, which only the schema knows."""
    from sfumato.models.whose_rows import whose_rows
    from sfumato.privacy.neighbours import REPLACE_PERSON, protected

    unit, persons = spec.schema.unit, planned.persons
    if persons is None:
        return text.replace("one row replaced", f"one {unit} replaced").replace("every row (", f"every {unit} (")
    bare = whose_rows(planned.model, persons, None, planned.weight is not None)
    text = text.replace(bare, whose_rows(planned.model, persons, spec.schema))
    bare, named = (protected(REPLACE_PERSON, each, persons.rows) for each in (planned.guarantee.unit, unit))
    return text.replace(bare, named)


def _with_clipping(text: str, spec: Any) -> str:
    """The plan's text with the columns' names and declared bounds in its line on clipping, which a plan alone does not know."""
    from sfumato.models.clipping import clipping_of

    bare, named = clipping_of(spec.model), clipping_of(spec.model, spec.schema)
    if bare or not named:
        return text.replace(bare, named) if bare else text
    first, _, rest = text.partition("\n")
    return f"{first}\nclipping   {named.replace('were first', 'are first')}\n{rest}"


def _left(spec: Any, planned: Any) -> list[str]:
    """What the spec's ledger would have left, or why it would refuse; nothing where the spec names none."""
    name, request = spec.ledger.get("name") or spec.schema.name, spec.request(planned)
    try:
        ledger = spec.open_ledger()
        if ledger is None:
            return []
        receipt = ledger.receipt(name, request)
        before = ledger._account(name)
        if receipt is None:
            after = before.plus(before.price(replace(planned.guarantee, unit=spec.schema.unit)))
    except SfumatoError as error:  # a plan is shown also where the ledger is not there yet, or cannot pay
        return [f"ledger     {error}{_registering(spec, error)}"]
    if receipt is None:
        left = f"of {name!r} epsilon {before.epsilon_left():.4g} is left at delta {before.terms.delta:g}"
        return [f"ledger     {left}; {after.epsilon_left():.4g} would be left after this charge"]
    if receipt.plan_digest == planned.digest:
        return [
            f"ledger     request {request!r} was charged before: the same release comes back and costs nothing more"
        ]
    another = "a release will be refused. Write another request in [ledger]"
    return [f"ledger     request {request!r} was already used for another plan: {another}"]


def _registering(spec: Any, error: SfumatoError) -> str:
    """With which options a name that is not registered yet is to be, where the schema declares persons."""
    from sfumato.shells.spec_persons import register_options

    if spec.schema.persons is None or "Register it first" not in str(error):
        return ""
    return f" For the persons of this schema: {register_options(spec.schema)}."


def rehearse(
    file: SpecFile,
    runs: Annotated[int, typer.Option(help="How many times the plan is carried out.")] = 20,
    n: Records = None,
    as_json: Json = False,
) -> None:
    """Carry out a regression's plan on invented rows, as many as there are records: the half-widths to expect. Nothing is spent.

    Example: sfumato rehearse income.toml --runs 10
    """
    from sfumato.shells.spec import Spec

    spec = Spec.load(file)
    widths = spec.expected_widths(spec.plan(n), runs, whole=True)
    if widths is None:
        raise ArgumentError("rehearse is for regressions; sfumato plan says what to expect of other models.")
    emit(as_json, widths.to_json(), str(widths))


def price_list(
    file: SpecFile,
    epsilons: Annotated[str, typer.Option(help="Prices to try, separated by commas.")] = "0.1,0.3,1,3",
    n: Records = None,
    as_json: Json = False,
) -> None:
    """Show what each epsilon buys; nothing is spent.

    Example: sfumato price-list smokers.toml --epsilons 0.1,0.5,1,2
    """
    from sfumato.planning import priced
    from sfumato.shells.spec import Spec

    try:
        levels = tuple(float(each) for each in epsilons.split(","))
    except ValueError:
        raise ArgumentError(f"epsilons must be numbers separated by commas; got {epsilons!r}.") from None
    spec = Spec.load(file)
    count = spec.records() if n is None else n
    prices = priced(lambda epsilon: spec.plan(count, epsilon=epsilon), levels, spec.price["delta"])
    widths = [None if each is None else spec.narrowness(each, len(prices)) for each in prices.plans]
    document = [
        {"epsilon": level, "plan": None if each is None else each.to_json(), "reason": reason, **_in_json(expected)}
        for level, each, reason, expected in zip(prices.epsilons, prices.plans, prices.reasons, widths, strict=True)
    ]
    emit(as_json, document, str(prices) if not any(widths) else _widths_by_price(prices, widths))


_FACTS = ("half_widths", "wide_half_widths", "prior_half_widths", "little", "reasons", "assumptions", "warning")


def _in_json(expected: Any) -> dict[str, Any]:
    """The half-widths at one price, and of which coefficients little will be told."""
    facts = {} if expected is None else expected.to_json()
    return {key: facts.get(key) for key in _FACTS}


def _widths_by_price(prices: Any, widths: list[Any]) -> str:
    """A regression's price list: the expected half-width of each coefficient at every epsilon, a star where little will be told."""
    from sfumato.queries.coefficients import aligned

    known = [each for each in widths if each is not None]
    head = ["epsilon", *(f"{level:g} " for level in prices.epsilons)]
    body = [[name, *(_starred(each, name) for each in widths)] for name in known[0].names]
    reasons = [
        f"epsilon {level:g}: {reason}" for level, reason in zip(prices.epsilons, prices.reasons, strict=True) if reason
    ]
    if any(each.little for each in known):
        seen = "; ".join(dict.fromkeys(reason for each in known for reason in each.reasons))
        because = f" ({seen})" if seen else ""
        reasons.append(
            f"* Little will be told at this price{because}: the interval is not much narrower than the prior's own."
        )
    first = f"expected half-widths of 90 % intervals, at delta = {prices.delta:g}"
    return "\n".join([first, *aligned([head, *body]), *reasons, *known[0].assumed_lines()])


def _starred(expected: Any, name: str) -> str:
    """A half-width to three digits, or both ends of a range, with a star or a space behind, so that the digits stay in line."""
    if expected is None:
        return "- "
    most = "" if expected.wide_half_widths is None else f" to {expected.widest(name):.3g}"
    return f"{expected[name]:.3g}{most}{'*' if name in expected.little else ' '}"


def compare(file: SpecFile, n: Records = None, as_json: Json = False) -> None:
    """Show how much each theorem allows for the spec's model at its price.

    Example: sfumato compare income.toml
    """
    from sfumato.calibrate import target_of
    from sfumato.comparing import compare as comparison
    from sfumato.privacy import weakness
    from sfumato.shells.spec import Spec

    spec = Spec.load(file)
    count = spec.records() if n is None else n
    if spec.schema.weight is not None:
        raise ArgumentError(
            "compare is about draws of a posterior; of weighted records only estimates are released: sfumato plan."
        )
    price = spec.price["epsilon"], spec.price["delta"]
    allowed = comparison(spec.model, count, *price, persons=spec.schema.persons)
    weakness.allowed(target_of(*price).weakness(count), spec.price.get("allow_weak", False))
    emit(as_json, allowed.to_json(), str(allowed))


def _with_missing(text: str, spec: Any) -> str:
    """The plan's text with what empty, unreadable and undeclared cells count as, which only the schema says."""
    from sfumato.models.clipping import missing_of

    missing = missing_of(spec.model, spec.schema)
    if missing:  # the schema says more than a plan's own line
        text = "\n".join(line for line in text.split("\n") if not line.startswith("missing "))
    return text.replace("\nrecords  ", f"\nmissing    {missing}\nrecords  ", 1) if missing else text
