"""The file of a release: its parts as sealed bytes, and back. Sizes are checked before anything is built from them.

A file holds one document and the arrays "draws", "transcript", "totals" and what else was published (see `storage`), perhaps
followed by a signature (see `signing`). Reading detects damage and refuses fields of impossible types and sizes;
`Release.verify` checks that the parts agree with each other.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import signing, storage
from sfumato.draws import Draws
from sfumato.errors import FormatError
from sfumato.privacy.codec import refuse_unknown
from sfumato.privacy.guarantee import Guarantee

# Version 1 also held the promise as a sentence, and the words of theorems and hypotheses in its guarantee.
VERSION = 2
# The fields of the document; version 1 also had "promise".
_KEYS = ("version", "kind", "labels", "plan", "plan_digest", "guarantee", "schema", "receipt")
# The fields of its schema: name, unit and digest repeat the document, which is a JSON text.
_SCHEMA_KEYS = ("name", "unit", "digest", "document")
# Noisy sums that a regression publishes beside its path; and of a learnt table its mixture and the pairs that were chosen.
_PUBLISHED = ("moments", "shares", "curvature", "scores", "chosen", "weights", "laws")
_ARRAYS = ("draws", "transcript", "totals", *_PUBLISHED)
# Whole numbers that floats hold exactly; no number of records, steps or trials comes near.
_LARGEST_WHOLE = 1 << 53
# The most numbers in a curve, its parts included, and the deepest composition; planned curves have a few of either.
_LONGEST_CURVE, _DEEPEST_CURVE = 10_000, 16
# The most features of a vector schema whose label alone is used; other schemas have as many as there are coordinates.
_WIDEST = 1 << 20
# Numbers of a model's document that decide how much is allocated when the model is built.
_SIZES = ("dimension", "levels", "classes", "states", "cardinalities")


def to_bytes(release: Any) -> bytes:
    """Return the sealed bytes of a release: equal releases give equal bytes. The signature is no part of them."""
    version = version_of(release)
    document = {
        "version": version,
        "kind": release.kind,
        "labels": list(release.draws.labels),
        "plan": dict(release.plan),
        "plan_digest": release.plan_digest,
        "guarantee": release.guarantee.to_json(version),
        **({} if version > 1 else {"promise": release.written_promise}),
        "schema": dict(release.schema),
        "receipt": None if release.receipt is None else dict(release.receipt),
    }
    held = {"draws": release.draws.values, "transcript": release.draws.transcript, "totals": release.draws.totals}
    held |= release.draws.published
    arrays = {name: np.ascontiguousarray(array, "<f8") for name, array in held.items() if array is not None}
    return storage.pack({"release": document}, arrays)


def version_of(release: Any) -> int:
    """Version of the format of a release: that of the file it was read from, or the newest."""
    return VERSION if release.written_promise is None else 1


def from_bytes(data: bytes) -> dict[str, Any]:
    """Return the fields of a release; a damaged part, an unknown key, another version or an absurd size is refused."""
    sealed, trailer = storage.split(data)
    signature = signing.Signature.from_bytes(trailer)
    documents, arrays = storage.unpack(sealed)
    if set(documents) != {"release"} or not {"draws"} <= set(arrays) <= set(_ARRAYS):
        raise FormatError("the file holds no release, or more than one.")
    version = documents["release"].get("version") if isinstance(documents["release"], Mapping) else None
    if version is not None and (type(version) is not int or not 1 <= version <= VERSION):
        raise FormatError(f"the release has version {version!r}; this Sfumato reads 1 to {VERSION}. Update Sfumato.")
    keys = (*_KEYS, "promise") if version == 1 else _KEYS
    fields = refuse_unknown(documents["release"], keys, "a release")
    _check_texts(fields)
    try:
        _check_sizes(fields, arrays)
    except RecursionError:
        raise FormatError("the documents of the release are nested too deeply to be read.") from None
    parts = {
        "draws": Draws(
            arrays["draws"],
            tuple(fields["labels"]),
            arrays.get("transcript"),
            arrays.get("totals"),
            {name: arrays[name] for name in _PUBLISHED if name in arrays},
        ),
        "kind": fields["kind"],
        "plan": fields["plan"],
        "plan_digest": fields["plan_digest"],
        "guarantee": Guarantee.from_json(fields["guarantee"]),
        "schema": fields["schema"],
        "receipt": fields["receipt"],
        "signature": signature,
        "written_promise": fields.get("promise"),
    }
    _check_form(parts, sealed)
    return parts


def _check_form(parts: Mapping[str, Any], sealed: bytes) -> None:
    """Refuse a file that `to_bytes` would not write for the same release.

    Signatures and ledgers cover bytes, and a reader sees the release. With one form for each release, the bytes that are
    checked are the bytes that were read: spaces, numbers spelled otherwise or another type of array change them.
    """
    try:
        same = to_bytes(SimpleNamespace(**parts)) == sealed
    except RecursionError:
        same = False
    if not same:
        raise FormatError(
            "the file is not in the form in which Sfumato writes this release: its bytes were written by something else, so "
            "no signature and no ledger can have covered them."
        )


def sealed_part(data: bytes) -> bytes:
    """The bytes of a file that a ledger keeps: all but the signature."""
    return storage.split(data)[0]


def _check_texts(fields: Mapping[str, Any]) -> None:
    """Refuse text fields that are no texts, and documents that are no JSON objects."""
    labels = fields["labels"]
    if not isinstance(labels, list) or not labels or not all(isinstance(label, str) for label in labels):
        raise FormatError("the labels of the release must be a list of names.")
    schema = refuse_unknown(fields["schema"], _SCHEMA_KEYS, "the schema of a release")
    texts = {name: fields[name] for name in ("kind", "promise", "plan_digest") if name in fields}
    for name, value in {**texts, **{f"schema's {key}": schema[key] for key in _SCHEMA_KEYS}}.items():
        if not isinstance(value, str):
            raise FormatError(f"the {name} of the release must be a text; got {type(value).__name__}.")
    for name in ("plan", *(["receipt"] if fields["receipt"] is not None else [])):
        if not isinstance(fields[name], Mapping):
            raise FormatError(f"the {name} of the release must be a JSON object; got {type(fields[name]).__name__}.")


# --- sizes: limits on the loops and allocations that a crafted file can cause --------------------------------------------


def _check_sizes(fields: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Refuse numbers that do not fit the arrays in the file, or that are larger than in any release."""
    plan, coordinates = fields["plan"], len(fields["labels"])
    _check_whole(plan)
    for name in ("n", "draws"):
        if type(plan.get(name)) is not int or plan[name] < 1:
            raise FormatError(f"{name} of the plan must be a whole number of at least 1; got {plan.get(name)!r}.")
    shape = arrays["draws"].shape
    if len(shape) < 2 or math.prod(shape[:2]) != plan["draws"] or math.prod(shape[2:]) != coordinates:
        raise FormatError(
            f"the shape {shape} of the draws does not hold the number of draws of the plan, {plan['draws']:,}, of "
            f"{coordinates:,} labels each."
        )
    for curve in (fields["guarantee"], plan.get("guarantee"), plan.get("target")):
        _check_curve(curve)
    for key, value in _sizes(plan.get("model")):
        if value > coordinates:
            raise FormatError(f"{key} of the model is {value:,}, and the release has {coordinates:,} labels.")
    _check_schema(fields["schema"]["document"], coordinates)


def _check_whole(document: Any) -> None:
    """Refuse whole numbers that are not exact as floats: sums and powers of huge ones take for ever."""
    if any(type(value) is int and abs(value) > _LARGEST_WHOLE for value in _values(document)):
        raise FormatError("the plan holds a whole number above 2^53, which no plan has.")


def _check_curve(document: Any, depth: int = 0) -> int:
    """Return the number of values in a curve; refuse too many of them, and compositions that are too deep."""
    if depth > _DEEPEST_CURVE:
        raise FormatError(f"a privacy curve is composed of parts more than {_DEEPEST_CURVE} levels deep.")
    if not isinstance(document, Mapping | list):
        return 1
    count = 0
    for each in document.values() if isinstance(document, Mapping) else document:
        count += _check_curve(each, depth + 1)
        if count > _LONGEST_CURVE:
            raise FormatError(f"a privacy curve lists more than {_LONGEST_CURVE:,} numbers in all.")
    return count


def _sizes(model: Any, key: str = "") -> Iterator[tuple[str, int]]:
    """The whole numbers of a model's document under keys that name a size."""
    if isinstance(model, Mapping):
        for name, value in model.items():
            yield from _sizes(value, name)
    elif isinstance(model, list) and key == "cardinalities":
        for entry in model:
            yield from ((key, size) for size in (entry if isinstance(entry, list) else ()) if type(size) is int)
    elif type(model) is int and key in _SIZES:
        yield key, model


def _check_schema(text: str, coordinates: int) -> None:
    """Refuse a vector schema that is far wider than the release; `verify` checks everything else."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return
    width = document.get("dimension") if isinstance(document, Mapping) else None
    if isinstance(width, int) and width > max(coordinates, _WIDEST):
        raise FormatError(f"the schema has {width:,} features, and the release {coordinates:,} labels.")


def _values(document: Any) -> Iterator[Any]:
    """Every number, text and other leaf of a document."""
    if not isinstance(document, Mapping | list):
        yield document
        return
    for value in document.values() if isinstance(document, Mapping) else document:
        yield from _values(value)
