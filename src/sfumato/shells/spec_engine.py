"""[engine] of a spec: where the rows are while they are summed. Nothing of it changes a price or a promise."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sfumato.dataset.places import AUTO, ENGINES, GPU, STREAMED, engine_of
from sfumato.errors import ArgumentError, FormatError
from sfumato.schema import Schema
from sfumato.shells.file_kinds import expect

# rows: "auto", "memory", "streamed" or "gpu"; memory: the most bytes of rows in memory; dask: the address of a scheduler, with the
# files of its certificate.
KEYS = ("rows", "memory", "dask", "ca", "cert", "key")
_FILES = ("ca", "cert", "key")


def checked(file: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """The table as it is used; files are relative to the spec."""
    made = dict(given)
    for name in ("rows", "dask", *_FILES):
        if name in made and not isinstance(made[name], str):
            raise FormatError(f"{file.name}: {name} in [engine] must be a text; got {made[name]!r}.")
    if made.get("rows", AUTO) not in ENGINES:
        raise FormatError(
            f"{file.name}: rows in [engine] must be one of {', '.join(map(repr, ENGINES))}; got {made['rows']!r}."
        )
    memory = made.get("memory", 1)
    if not isinstance(memory, int) or isinstance(memory, bool) or memory < 1:
        raise FormatError(
            f"{file.name}: memory in [engine] must be a whole number of bytes, such as 8_000_000_000; got {memory!r}."
        )
    if "dask" in made and ("rows" in made or "memory" in made):
        raise FormatError(
            f"{file.name}: [engine] takes dask, or rows and memory; the rows of a cluster are on its workers."
        )
    if "dask" not in made and any(name in made for name in _FILES):
        raise FormatError(f'{file.name}: ca, cert and key in [engine] belong to dask = "tls://<host>:8786".')
    return {name: str(file.parent / value) if name in _FILES else value for name, value in made.items()}


def said(data: Path | None, schema: Schema, engine: Mapping[str, Any]) -> str | None:
    """Where the rows will be while they are summed, in words; None where the table is not there yet."""
    if "dask" in engine:
        return f"dask: the workers of {engine['dask']} read and sum the rows"
    if data is None or not data.is_file():
        return None
    if schema.persons is not None:
        return "the rows are gathered by person in memory or, where they do not fit, in encrypted temporary files"
    where = engine_of(data, schema, engine.get("rows", "auto"), engine.get("memory"))
    if where == STREAMED:
        return f"streamed: {data.name} is read on every pass; a release shows the time left from its first pass on"
    if where == GPU:
        absent = "" if find_spec("cupy") else ". CuPy is absent here, so that a release on this machine will be refused"
        words = "a regression's rows are brought to the card once and summed there; anything else is summed without it"
        return f"gpu: {words}{absent}"
    return "memory: the file is read once, and passes go over the rows in memory"


def opened(data: Path, schema: Schema, roster: Path | None, engine: Mapping[str, Any]) -> Any:
    """The data set, in the place that [engine] names."""
    from sfumato.dataset import Dataset

    if "dask" not in engine:
        options = {"engine": engine.get("rows", "auto"), "memory": engine.get("memory")}
        return Dataset.from_table(expect(data, "table"), schema=schema, roster=roster, **options)
    return Dataset.from_dask(str(data), schema=schema, client=_client(engine), roster=roster)


def without_card(engine: Mapping[str, Any]) -> dict[str, Any]:
    """The same for reading alone: records are counted where there is no card, too."""
    return {name: value for name, value in engine.items() if (name, value) != ("rows", GPU)}


def _client(engine: Mapping[str, Any]) -> Any:
    """Connect to the scheduler; the same certificate serves as that of the client and of whoever signed it."""
    from sfumato.dataset.workers import checked_addresses

    address = str(engine["dask"])
    checked_addresses([address])
    for name in _FILES:
        if name in engine and not Path(str(engine[name])).is_file():
            raise ArgumentError(f"there is no file {str(engine[name])!r} ({name} in [engine]).")
    if address.startswith("tls://") and not all(name in engine for name in _FILES):
        raise ArgumentError(
            'dask = "tls://..." needs ca, cert and key in [engine]: the three files that the scheduler was started with '
            "(docs/scale.md)."
        )
    try:
        from distributed import Client, Security
    except ImportError:
        raise ArgumentError("a cluster needs Dask: pip install 'sfumato[dask]'.") from None
    kind: Any = Client
    secure: Any = Security
    files = {
        "tls_client_cert": engine.get("cert"),
        "tls_client_key": engine.get("key"),
        "tls_ca_file": engine.get("ca"),
    }
    given = {name: path for name, path in files.items() if path is not None}
    security = secure(require_encryption=True, **given) if given else None
    try:
        return kind(address, security=security, set_as_default=False, timeout="20s")
    except OSError:
        raise ArgumentError(
            f"no scheduler answers at {address}. Is it started, and"
            + (" are ca, cert and key its own?" if given else " without TLS? One with TLS is tls://...")
        ) from None
