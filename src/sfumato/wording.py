"""The texts of a release: its promise as a sentence, and its description of one line a part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato._validate import visible
from sfumato.errors import SfumatoError
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.neighbours import protected
from sfumato.privacy.plain_reasons import reason
from sfumato.privacy.weakness import NOTE as WEAK

# Most coefficients whose estimate is computed for a description.
_QUICKLY = 300
# What is printed first of a release without a receipt.
NO_LEDGER = "charged to no ledger: nothing counts what else is released about the same records"
# Numbers that a description has.
_NUMBERS = 6
# Columns of a learnt table that are named.
_LISTED = 8


def promise_of(plan: Mapping[str, Any], guarantee: Guarantee) -> str:
    """The promise of a release as a sentence: epsilon at the delta of the plan's target, where it has one."""
    if guarantee.trust == "not private":
        return "None: made with a seeded stream, for tests and rehearsals; it protects nobody."
    target = plan["target"]
    delta = None if target is None else target["delta"]
    try:
        sentence = guarantee.at(delta) if delta else str(guarantee)
        return guarantee.of_estimate(sentence) if plan["goal"] == "estimate" else sentence
    except ImportError:  # profiles are evaluated with scipy and dp-accounting; a reader may have numpy alone
        asked = "at the price that its plan states"
        if delta and target["epsilon"]:
            asked = f"with at most epsilon {target['epsilon']:g} at delta {delta:g}, as its plan asked"
        why = f"{guarantee.trust.capitalize()}: {reason(guarantee.theorem)}."
        weak = f"{WEAK} " if guarantee.weak else ""
        return f"{weak}Differential privacy {asked}; exact numbers need scipy and dp-accounting. {why}"


def notice(release: Any) -> str:
    """The warning before every output of a seeded release; "" for a private one."""
    return "" if release.private else "NOT PRIVATE: made with a seeded stream, for tests only."


def first_line(release: Any) -> str:
    """What is printed first of a release that is not private, or was charged to no ledger; "" for others."""
    said = [notice(release).rstrip("."), "" if release.receipt is not None else NO_LEDGER]
    return "; ".join(filter(None, said))


def describe(release: Any) -> str:
    """What a release is, how it was made and what it promises, one line each."""
    count = release.draws.shape[0] * release.draws.shape[1]
    kind = "draw" if (count, release.kind) == (1, "draws") else release.kind
    schema, receipt, names = release.schema, release.receipt, columns_read(release)
    columns = f", column{'s' * (len(names) > 1)} {', '.join(names)}" if names else ""
    rows = [
        ("release", f"{count} {kind} of {_model_in_words(release.plan['model'])}"),
        ("made by", _made_by(release.plan)),
        (
            "about",
            f"{schema['name']}{columns}: {release.plan['n']:,} of unit '{schema['unit']}'{_with_their_rows(release)}",
        ),
        ("promise", release.promise),
        *numbers_in_words(release),
    ]
    if clipping := clipping_in_words(release):
        rows.append(("clipping", clipping))
    rows += [(heading.lower(), sentence) for heading, sentence in counting_in_words(release)]
    if missing := missing_in_words(release):
        rows.append(("missing", missing))
    if receipt is not None:
        rows.append(("charged", f"to {receipt['ledger']}, request {receipt['request_id']}"))
    if release.signature is not None:
        key = release.signature.key.hex()[:16]
        rows.append(("signed", f"with the key that begins {key}; verify with the signer's public key"))
    if release.stored:
        rows.append(("stored", "returned as it was sealed under this request before; the rows given now were not used"))
    head = [line] if (line := first_line(release)) else []
    return "\n".join([*head, *(f"{name:<8} {visible(value)}" for name, value in rows)])


def numbers_in_words(release: Any) -> list[tuple[str, str]]:
    """The first numbers of a release with their intervals, as a line of a description; none of very many coefficients.

    They take a while, and a description must not.
    """
    from sfumato.queries.summary import shown

    labels, date = _labels(release), date_of_release(release)
    if len(labels) > _QUICKLY and release.plan["model"].get("model") == "gibbs":
        return [("estimates", f"of {len(labels):,} coefficients: release.summary()")]
    try:
        numbers = release.numbers()
    except (SfumatoError, LookupError, ValueError):  # a record that somebody edited
        return []
    except ImportError:  # a reader may have numpy alone
        return [("estimates", "of what was released, with intervals, need scipy")]
    texts = numbers.texts(lambda value: shown(value, date))
    said = [f"{label} {each}{f' ({ends})' if ends else ''}" for label, (each, ends) in zip(labels, texts, strict=True)]
    rest = "" if len(said) <= _NUMBERS else f", ... and {len(said) - _NUMBERS} more (release.summary())"
    level = "" if numbers.ends is None else f"; {100 * numbers.level:g} % intervals"
    return [(numbers.name, ", ".join(said[:_NUMBERS]) + rest + level)]


def clipping_in_words(release: Any) -> str:
    """What clipping to the declared bounds does to the released quantity; "" where nothing is clipped or readable."""
    from sfumato.models.clipping import clipping_of
    from sfumato.models.reading import model_from_json
    from sfumato.schema import Schema

    try:
        return clipping_of(model_from_json(release.plan["model"]), Schema.from_json(release.schema["document"]))
    except (SfumatoError, AttributeError, KeyError):
        return ""


def persons_in_words(release: Any) -> str:
    """Whose rows count, how often, and what is estimated; "" where every record is one row, or the record is unreadable."""
    from sfumato.models.reading import model_from_json
    from sfumato.models.whose_rows import whose_rows
    from sfumato.schema import Schema

    try:
        schema = Schema.from_json(release.schema["document"])
        if schema.persons is None:
            return ""
        return whose_rows(model_from_json(release.plan["model"]), schema.persons.terms, schema)
    except (SfumatoError, AttributeError, KeyError):
        return ""


def counting_in_words(release: Any) -> list[tuple[str, str]]:
    """How records count, each sentence with its heading: their source, persons' rows, survey weights, and Poisson counts."""
    said = {"Rows": given_in_words(release), "Persons": persons_in_words(release), "Weights": weights_in_words(release)}
    said["Counts"] = _counts_in_words(release)
    return [(heading, sentence) for heading, sentence in said.items() if sentence]


def _counts_in_words(release: Any) -> str:
    """That intervals are those of Poisson counts, where they are; "" where the record is unreadable."""
    from sfumato.models.reading import model_from_json
    from sfumato.queries.plan_notes import of_poisson_counts

    try:
        return of_poisson_counts(model_from_json(release.plan["model"]), str(release.plan.get("procedure", "")))
    except (SfumatoError, AttributeError, KeyError):
        return ""


def given_in_words(release: Any) -> str:
    """What an estimator's rows were made of; "" for a data set, whose columns are declared, or where the record is unreadable."""
    from sfumato.schema import Schema

    try:
        units = Schema.from_json(release.schema["document"]).units
    except (SfumatoError, AttributeError, KeyError):
        return ""
    return "" if units is None else units.given()


def weights_in_words(release: Any) -> str:
    """How survey weights count; "" where there are none, or the record is unreadable."""
    from sfumato.models.whose_rows import by_weight
    from sfumato.schema import Schema

    try:
        weight = Schema.from_json(release.schema["document"]).weight
    except (SfumatoError, AttributeError, KeyError):
        return ""
    return "" if weight is None else by_weight(weight)


def record_in_words(release: Any) -> str:
    """What one record is: the unit or, where persons may have several rows, a person with all of them."""
    guarantee, unit = release.guarantee, str(release.schema["unit"])
    return protected(guarantee.adjacency, unit, guarantee.rows) if guarantee.id_column else unit


def _with_their_rows(release: Any) -> str:
    """Whose rows they are, behind the number of persons."""
    guarantee = release.guarantee
    return f", each with all of their {guarantee.rows} (by {guarantee.id_column})" if guarantee.id_column else ""


def shown_labels(release: Any) -> tuple[str, ...]:
    """The labels of a release; of a histogram of dates its bins in dates, of a learnt table its bins in the columns' values."""
    from sfumato.models.families._bins import labels_in
    from sfumato.models.families.histogram import Histogram
    from sfumato.models.reading import model_from_json
    from sfumato.queries import learned_tables
    from sfumato.schema import Schema

    if _is_learned(release.plan["model"]):
        levels = learned_tables.read(release.draws, release.plan, release.schema).levels
        return tuple(f"{name}={level}" for name, each in levels.items() for level in each)
    model = model_from_json(release.plan["model"])
    if not isinstance(model, Histogram):
        return tuple(release.draws.labels)
    schema = Schema.from_json(release.schema["document"])
    return labels_in(schema.columns[model.columns(schema)[0]], tuple(release.draws.labels), model.edges)


def _labels(release: Any) -> tuple[str, ...]:
    """The labels in a description: those of a learnt table name its bins, all others are as released."""
    if not _is_learned(release.plan["model"]):
        return tuple(release.labels)
    try:
        return shown_labels(release)
    except (SfumatoError, LookupError, ValueError):  # a record that somebody edited
        return tuple(release.labels)


def _is_learned(model: Mapping[str, Any]) -> bool:
    from sfumato.models.networks.learned import LearnedNetwork

    return bool(model.get("family") == LearnedNetwork.name)


def date_of_release(release: Any) -> Any:
    """The Date column whose mean or quantiles were released; None for other releases."""
    from sfumato.models.clipping import date_of
    from sfumato.models.reading import model_from_json
    from sfumato.schema import Schema

    try:
        return date_of(model_from_json(release.plan["model"]), Schema.from_json(release.schema["document"]))
    except (SfumatoError, AttributeError, KeyError):
        return None


def missing_in_words(release: Any) -> str:
    """What empty, unreadable and undeclared cells count as; "" where the record cannot be read."""
    from sfumato.models.clipping import missing_of
    from sfumato.models.reading import model_from_json
    from sfumato.schema import Schema

    try:
        return missing_of(model_from_json(release.plan["model"]), Schema.from_json(release.schema["document"]))
    except (SfumatoError, AttributeError, KeyError):
        return ""


def number_writer(release: Any) -> Any:
    """The function that writes the released numbers: with five digits, or days as dates."""
    from functools import partial

    from sfumato.queries.summary import shown

    return partial(shown, date=date_of_release(release))


def expected_in_words(plan: Mapping[str, Any]) -> str:
    """What the plan leads its reader to expect; nothing where the model or the numbers of its document cannot be read."""
    from sfumato.procedures import expected_of

    try:
        return f"Expected {expected_of(plan)}"
    except (SfumatoError, LookupError, ValueError):
        return ""


def columns_read(release: Any) -> tuple[str, ...]:
    """The columns that a family read; none for a regression, which reads them all, nor where the record is unreadable."""
    from sfumato.models.model import TOTALS
    from sfumato.models.reading import model_from_json
    from sfumato.schema import Schema

    try:
        model, schema = model_from_json(release.plan["model"]), Schema.from_json(release.schema["document"])
        return tuple(model.columns(schema)) if model.summed == TOTALS else ()
    except (SfumatoError, AttributeError, KeyError):
        return ()


def _made_by(plan: Mapping[str, Any]) -> str:
    """The mechanism and its numbers; plans of version 1 name no procedure."""
    from sfumato.procedures.plain_numbers import made_by

    numbers = _numbers(plan["parameters"], hidden=("grid", "totals"))
    return made_by(plan["mechanism"], str(plan.get("procedure", "")), plan["parameters"], numbers)


def _numbers(values: Mapping[str, Any], hidden: tuple[str, ...] = ()) -> str:
    shown = [
        (key, value)
        for key, value in values.items()
        if key not in hidden and isinstance(value, (int, float)) and not isinstance(value, bool)
    ]
    return ", ".join(f"{key}={value:g}" for key, value in shown)


def _model_in_words(model: Mapping[str, Any]) -> str:
    """The model's name with its public numbers."""
    if isinstance(model.get("model"), Mapping) and "by" not in model:
        return f"{_model_in_words(model['model'])} of weighted records"
    if isinstance(model.get("model"), Mapping):
        return f"{_model_in_words(model['model'])} by {model['by']} ({len(model['levels'])} groups)"
    if _is_learned(model):
        return _learned_in_words(model)
    if "parents" in model:
        return f"{model['family']} of {', '.join(node for node, _ in model['parents'])}"
    if model.get("model") == "gibbs":
        return f"{_regression_name(model)} regression ({model['dimension']} coefficients)"
    if isinstance(model.get("edges"), Sequence):
        return f"{model.get('family')} of {len(model['edges']) - 1} bins"
    if isinstance(model.get("levels_of"), Sequence):
        return f"{model.get('family')} of {', '.join(name for name, _ in model['levels_of'])}"
    shown = {key: value for key, value in model.items() if not (key == "floor" and value == 0)}
    name, numbers = model.get("family", model.get("model", "a model")), _numbers(shown)
    return f"{name}({numbers})" if numbers else str(name)


def _learned_in_words(model: Mapping[str, Any]) -> str:
    """A learnt table by its columns and how many pairs of them are counted; its family where the record cannot be read."""
    from sfumato.models.reading import model_from_json

    try:
        own = model_from_json(model)
        names, fixed, pairs = own.names, len(own.fixed_pairs) if own.chosen else 0, len(own.candidates)
    except (SfumatoError, AttributeError, LookupError, TypeError, ValueError):
        return str(model["family"])
    more = f" and {len(names) - _LISTED} more columns" if len(names) > _LISTED else ""
    aimed = f" and all {fixed} with {own.target}" if own.chosen and own.target is not None else ""
    counted = (
        f"{own.chosen} chosen of {pairs - fixed} pairs of columns{aimed}" if own.chosen else f"{pairs} pairs of columns"
    )
    return f"a learnt table of {', '.join(names[:_LISTED])}{more}; {counted}"


def _regression_name(model: Mapping[str, Any]) -> str:
    """The kind of a regression, "linear" or "poisson"; the name in the document where its loss cannot be read."""
    from sfumato.models.reading import model_from_json

    try:
        return str(model_from_json(model).loss.regression_name)
    except (SfumatoError, AttributeError, KeyError):
        return str(model["loss"].get("loss", "a"))
