"""Forged release files: one field edited, and every checksum and digest that covers it made anew.

So only a check of what the field must be can notice. `forged("rate noisy", {"plan.n": 61})` is a whole forgery.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf
from sfumato import storage
from sfumato.ledger.chain import canonical, digest
from sfumato.privacy.guarantee import Guarantee
from sfumato.wording import promise_of

FOLDER = Path(__file__).parent / "fixtures" / "releases"
NAMES = sorted(path.stem.replace("-", " ") for path in FOLDER.glob("*.release"))
# Certified profiles take seconds to price again: these are verified in the long form of the suite only.
SLOW = ("charged in gdp with a reveal", "rate of trials", "rate exact", "rate concentrated", "target renyi", "log odds")
TRIED = [name for name in NAMES if os.environ.get("SFUMATO_LONG") or name not in SLOW]


def stored(name: str) -> bytes:
    """The bytes of a kept release."""
    return (FOLDER / f"{name.replace(' ', '-')}.release").read_bytes()


def parts(name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The document and the arrays of a kept release, free to be edited."""
    documents, arrays = storage.unpack(stored(name))
    return copy.deepcopy(documents["release"]), {key: array.copy() for key, array in arrays.items()}


def schema_text(release: str, **changes: object) -> str:
    """The schema of a kept release with some facts replaced."""
    document, _ = parts(release)
    return json.dumps({**json.loads(document["schema"]["document"]), **changes})


def forge(name: str, edits: Mapping[str, Any], remake: tuple[str, ...] = ("schema", "plan", "receipt")) -> bytes:
    """The file of a kept release with fields replaced, named by dotted paths; "draws[0,0]" and the like edit arrays.

    A value that is a function is applied to the field. `remake` lists what is computed anew afterwards; add "promise" to
    have the printed sentence follow the edit too.
    """
    document, arrays = parts(name)
    for path, value in edits.items():
        array, _, place = path.partition("[")
        if array in arrays:
            found = arrays[array]
            where = tuple(map(int, place.rstrip("]").split(","))) if place else ...
            found[where] = value(found[where]) if callable(value) else value
            continue
        *above, last = path.split(".")
        inner: Any = document
        for key in above:
            inner = inner[int(key)] if isinstance(inner, list) else inner[key]
        at = int(last) if isinstance(inner, list) else last
        inner[at] = value(inner[at]) if callable(value) else value
    _remade(document, remake)
    return storage.pack({"release": document}, arrays)


def forged(name: str, edits: Mapping[str, Any], *also: str) -> sf.Release:
    """The same, read back; `also` names more that is to be made anew ("promise")."""
    return sf.Release.from_bytes(forge(name, edits, ("schema", "plan", "receipt", *also)))


def _remade(document: dict[str, Any], what: tuple[str, ...]) -> None:
    if "schema" in what:
        document["schema"]["digest"] = sf.Schema.from_json(json.loads(document["schema"]["document"])).digest
    if "promise" in what:
        document["promise"] = promise_of(document["plan"], Guarantee.from_json(document["guarantee"]))
    if "plan" in what:
        text = json.dumps(document["plan"], sort_keys=True, separators=(",", ":"))
        document["plan_digest"] = hashlib.sha256(text.encode()).hexdigest()
    if "receipt" in what and document["receipt"] is not None:
        document["receipt"]["plan_digest"] = document["plan_digest"]
        document["receipt"]["guarantee_digest"] = digest(canonical(document["guarantee"]))
