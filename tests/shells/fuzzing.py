"""Broken files and odd arguments for the commands, made from sound ones by one or two mutations of a seeded generator."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import random
import shutil
import signal
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from command_line import main, note_check
from sfumato import storage
from sfumato.schema.documents import toml_key, toml_value

# A cell of the table, of a column that is declared without this level: no command may ever print it.
CELL = "cell-of-one-patient"
SCHEMA = {
    "sfumato": "schema",
    "version": 1,
    "name": "clinic",
    "unit": "patient",
    "columns": {
        "ward": {"type": "category", "levels": ["a", "b", "c"], "missing": "a"},
        "stay": {"type": "number", "lower": 0.0, "upper": 60.0, "integer": True},
        "cured": {"type": "boolean", "missing": False},
    },
}
NOISY = {"epsilon": 1.0, "delta": 1e-6, "mechanism": "noisy-statistics"}
MODELS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "share": ({"family": "BetaBernoulli", "column": "cured", "alpha": 1.0}, NOISY),
    "histogram": ({"family": "DirichletCategorical", "column": "ward", "alpha": 1.0}, NOISY),
    "groups": ({"family": "BetaBernoulli", "column": "cured", "by": "ward"}, NOISY),
    "mean": ({"family": "BoundedMean", "column": "stay"}, {**NOISY, "goal": "estimate"}),
    "network": ({"network": {"ward": [], "stay": ["ward"]}, "bins": {"stay": 3}, "alpha": 1.0}, NOISY),
    "logistic": (
        {"regression": "logistic", "target": "cured", "features": ["stay"], "intercept": True},
        {"epsilon": 1.0, "delta": 1e-6, "steps": 16},
    ),
}
# Written as TOML: what a careless or a hostile hand puts where something else belongs.
VALUES = (
    "-1", "0", "1", "2", "0.5", "1e308", "5e-324", "inf", "-inf", "nan", "1000000000", "1000000000000",
    "1000000000000000000", "1" + "0" * 400, "0x" + "f" * 9000, "1" * 5000, '""', '"x"', '"{}"', '"{0.__class__}"',
    '"%s%n"', '"\\u0000"', '"\\u001b[31m"', '"\\u202e\\n"', '"' + "long" * 3000 + '"', '"."', '"/"', '"/dev/null"',
    '"/dev/zero"', "[]", "[1]", '["x"]', "[[]]", "[1e308, -1e308]", "[" * 3000 + "]" * 3000, "{}", "{ a = 1 }", "true",
    "1979-05-27", "07:32:00", '"clinic.csv"', '"ward"', '"stay"', '"cured"', '"auto"', '"exact"', '"REQUIRED"',
)  # fmt: skip
WORDS = (
    "", "-", "--", "-1", "0", "1.5", "nan", "inf", "1e999", "9" * 400, "x", "*", "{}", "%s", "\x1b[31m", "a\nb", "\udcff", "--n",
    "--json", "--help", "--no-such", "-o", ".", "/", "/dev/null", "clinic.csv", "share.toml", "share.sfumato", "schema.toml",
    "budget.db", "nowhere/x", "sqlite:/x", "sqlite://", "mysql://u:hidden@h", "postgresql://[::1", "postgresql:/u:hidden@h",
    "postgresql://u:hidden@127.0.0.1:abc/d", "long" * 2000,
)  # fmt: skip
COMMANDS = (
    ("plan", "share.toml"), ("plan", "share.toml", "--n", "30"), ("price-list", "share.toml", "--epsilons", "0.5,1"),
    ("compare", "share.toml", "--n", "30"), ("release", "share.toml", "-o", "new.sfumato"), ("show", "share.sfumato"),
    ("show", "share.sfumato", "--verify"), ("show", "share.sfumato", "--csv"), ("query", "mean", "share.sfumato"),
    ("query", "interval", "share.sfumato", "--level", "0.9"), ("query", "quantile", "share.sfumato", "--at", "0.5"),
    ("query", "probability", "share.sfumato", "--above", "0.5"), ("query", "top", "share.sfumato", "--k", "1"),
    ("query", "attacker", "share.sfumato"), ("query", "predict", "logistic.sfumato", "--public-rows", "clinic.csv"),
    ("query", "marginal", "network.sfumato", "ward"), ("query", "synthesize", "network.sfumato", "--rows", "3"),
    ("schema", "check", "schema.toml", "clinic.csv"), ("schema", "draft", "clinic.csv", "--header"), ("spec",),
    ("ledger", "show", "budget.db"), ("ledger", "verify", "budget.db"), ("version",),
    ("ledger", "register", "budget.db", "other", "--epsilon", "1", "--delta", "1e-6", "--unit", "patient"),
)  # fmt: skip
QUESTIONS = (
    *(words for words in COMMANDS if words[0] in ("show", "query")),
    ("report", "share.sfumato", "-o", "page.html"),
    ("show", "share.sfumato", "--json"),
)


class TooLong(BaseException):
    """A command did not end."""


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str

    def complaint(self) -> str | None:
        """What is wrong with the way in which this command ended, or None."""
        lines = self.err.splitlines()
        line = lines[0] if lines else ""
        if self.code not in (0, 2, 3, 4):
            return f"exit code {self.code}: {self.err[:300]}"
        if len(lines) > 1 or "Traceback" in self.err + self.out:
            return f"more than one line: {self.err[:300]}"
        if self.code and not (line.startswith("sfumato: ") or line.startswith('{"error": ')):
            return f"no sentence: {self.err[:300]!r}"
        if self.code and (len(line) < 25 or len(line) > 2000 or "needs more memory" in line or not line.isprintable()):
            return f"no clear line of a usual length: {line[:300]!r}"
        if any(secret in self.err + self.out for secret in (CELL, "hidden")):
            return "a cell or a password was printed"
        return None


def run(words: tuple[str, ...], seconds: float = 60.0) -> Outcome:
    """Run a command in this process; what does not end within `seconds` is stopped. That is a stop, not a time that is tested."""
    out, err = io.StringIO(), io.StringIO()
    before, code = sys.argv, 0

    def stop(*_: object) -> None:
        raise TooLong

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    sys.argv = ["sfumato", *words]
    if words[:1] == ("release",):
        note_check(words[1])
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as left:
        code = int(left.code or 0)
    except TooLong:
        code = -1
        err.write("did not end")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.argv = before
    return Outcome(words, code, out.getvalue(), err.getvalue())


# --- sound files ------------------------------------------------------------------------------------------------------


def write_sound_files(folder: Path) -> None:
    """A table of thirty rows, its schema, a spec and a release of every model, and a ledger with one charge."""
    rows = [f"{'abc'[k % 3] if k else CELL},{k * 7 % 61},{k % 3 == 0}" for k in range(30)]
    (folder / "clinic.csv").write_text("\n".join(["ward,stay,cured", *rows]) + "\n")
    (folder / "schema.toml").write_text(as_toml(SCHEMA))
    for name in MODELS:
        (folder / f"{name}.toml").write_text(as_toml(spec_of(name)))
    for words in (
        ("ledger", "create", "budget.db"),
        ("ledger", "register", "budget.db", "clinic", "--epsilon", "3", "--delta", "1e-5", "--unit", "patient"),
        *(("release", f"{name}.toml", "-o", f"{name}.sfumato") for name in MODELS),
    ):
        done = run(words)
        if done.code:
            raise RuntimeError(f"{words}: {done.err}")


def spec_of(name: str) -> dict[str, Any]:
    """The sound spec of a model; only the share is charged to a ledger."""
    model, price = copy.deepcopy(MODELS[name])
    ledger = {"ledger": {"file": "budget.db", "name": "clinic"}} if name == "share" else {}
    return {"data": {"file": "clinic.csv", "schema": "schema.toml"}, "model": model, "price": price, **ledger}


class Raw(str):
    """A text that is written to a TOML file as it stands."""

    __slots__ = ()


def as_toml(document: dict[str, Any]) -> str:
    """A document as TOML, inner tables on one line; a `Raw` value is copied."""
    lines = [f"{toml_key(key)} = {_value(value)}" for key, value in document.items() if not _section(key, value)]
    for key, value in document.items():
        if _section(key, value):
            parts = {f"{key}.{toml_key(k)}": v for k, v in value.items()} if key == "columns" else {key: value}
            for head, facts in parts.items():
                if isinstance(facts, dict):
                    lines += ["", f"[{head}]", *(f"{toml_key(k)} = {_value(v)}" for k, v in facts.items())]
                else:
                    lines = [f"{head} = {_value(facts)}", *lines]
    return "\n".join(lines) + "\n"


def _section(key: str, value: Any) -> bool:
    return isinstance(value, dict) and key in ("data", "model", "price", "ledger", "columns")


def _value(value: Any) -> str:
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    return toml_value(value)


# --- mutations --------------------------------------------------------------------------------------------------------


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of everything inside a document."""
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in inner:
        yield (*path, key)
        yield from places(value, (*path, key))


def mutated(document: dict[str, Any], rng: random.Random, values: tuple[Any, ...]) -> dict[str, Any]:
    """The document with one place dropped, renamed, doubled under another name, or given another value."""
    changed = copy.deepcopy(document)
    path = rng.choice(list(places(changed)))
    holder: Any = changed
    for key in path[:-1]:
        holder = holder[key]
    last, kind = path[-1], rng.random()
    if kind < 0.15:
        del holder[last]
    elif kind < 0.25 and isinstance(holder, dict):
        holder[rng.choice([f"{last}x", last.upper(), "", "a.b", "\x7f"])] = holder.pop(last)
    elif kind < 0.3 and isinstance(holder, dict):
        holder[f"{last}_"] = holder[last]
    else:
        holder[last] = rng.choice(values)
    return changed


def broken_bytes(sound: bytes, rng: random.Random) -> bytes:
    """Bytes that are cut, doubled, flipped, of another encoding, or noise."""
    at = rng.randrange(max(1, len(sound)))
    kinds: list[Callable[[], bytes]] = [
        lambda: b"",
        lambda: sound[:at],
        lambda: sound + sound,
        lambda: sound[:at] + bytes([sound[at] ^ (1 << rng.randrange(8))]) + sound[at + 1 :],
        lambda: b"\xef\xbb\xbf" + sound,
        lambda: b"\xff\xfe" + sound,
        lambda: sound.decode("latin-1").encode("utf-16"),
        lambda: sound[:at] + b"\xe9\x80\xff" + sound[at:],
        lambda: sound[:at] + b"\x00" + sound[at:],
        lambda: rng.randbytes(200),
        lambda: sound.replace(b"\n", b"\r"),
    ]
    return rng.choice(kinds)()


def break_file(path: Path, rng: random.Random) -> None:
    """Break the bytes of a file, remove it, or put a folder in its place."""
    kind = rng.random()
    if kind < 0.8:
        path.write_bytes(broken_bytes(path.read_bytes(), rng))
        return
    path.unlink()
    if kind < 0.9:
        path.mkdir()


def in_spec(folder: Path, rng: random.Random) -> tuple[str, ...]:
    """A mutation of a spec file."""
    name = rng.choice(list(MODELS))
    path = folder / f"{name}.toml"
    if rng.random() < 0.2:
        break_file(path, rng)
    else:
        path.write_text(as_toml(mutated(spec_of(name), rng, tuple(map(Raw, VALUES)))))
    command = rng.choice(["plan", "plan", "release", "release", "price-list", "compare"])
    extra = {"release": ("-o", "new.sfumato"), "price-list": ("--epsilons", "1")}.get(command, ())
    return (command, path.name, *extra)


def in_schema(folder: Path, rng: random.Random) -> tuple[str, ...]:
    """A mutation of the schema file."""
    path = folder / "schema.toml"
    if rng.random() < 0.25:
        break_file(path, rng)
    else:
        path.write_text(as_toml(mutated(SCHEMA, rng, tuple(map(Raw, VALUES)))))
    name = rng.choice(list(MODELS))
    commands = [
        ("schema", "check", "schema.toml", "clinic.csv"),
        ("schema", "check", "schema.toml", "clinic.csv", "--counts"),
        ("plan", f"{name}.toml"),
        ("release", f"{name}.toml", "-o", "new.sfumato"),
        ("spec", "--schema", "schema.toml"),
    ]
    return rng.choice(commands)


JSON_VALUES = (
    None, True, -1, 0, 0.5, 1e308, 5e-324, 2**53, 10**18, 10**400, "", "x", "{}", "\x1b[31m\n", "long" * 3000, [], [1], [[]],
    {}, {"a": 1}, "inf", -0.0, "=1+1", "<script>",
)  # fmt: skip


def in_release(folder: Path, rng: random.Random) -> tuple[str, ...]:
    """A mutation of a release: of its bytes, or of its record or arrays with new checksums."""
    name = rng.choice(list(MODELS))
    path = folder / f"{name}.sfumato"
    if rng.random() < 0.2:
        break_file(path, rng)
    else:
        path.write_bytes(forged(path.read_bytes(), rng))
    words = rng.choice(QUESTIONS)
    return tuple(path.name if word.endswith(".sfumato") else word for word in words)


def forged(sound: bytes, rng: random.Random) -> bytes:
    """The release with one field of its record, of the schema inside it, or of an array changed, and its checksums remade."""
    documents, arrays = storage.unpack(sound)
    kind = rng.random()
    if kind < 0.6:
        documents = {"release": mutated(documents["release"], rng, JSON_VALUES)}
    elif kind < 0.8:
        inner = json.loads(documents["release"]["schema"]["document"])
        documents["release"]["schema"]["document"] = json.dumps(mutated(inner, rng, JSON_VALUES))
    else:
        which = rng.choice(sorted(arrays))
        arrays = {**arrays, which: _odd_array(arrays[which], rng)}
    return storage.pack(documents, arrays)


def _odd_array(array: Any, rng: random.Random) -> Any:
    value = rng.choice([np.nan, np.inf, -1.0, 1e308])
    return rng.choice(
        [array.reshape(-1), array[..., :0], np.full(array.shape, value), np.zeros((1,) * rng.randrange(9))]
    )


def in_ledger(folder: Path, rng: random.Random) -> tuple[str, ...]:
    """A mutation of the ledger's file or witness."""
    break_file(folder / rng.choice(["budget.db", "budget.db", "budget.db.witness"]), rng)
    commands = [
        ("ledger", "show", "budget.db"),
        ("ledger", "show", "budget.db", "clinic", "--json"),
        ("ledger", "verify", "budget.db"),
        ("ledger", "create", "budget.db"),
        ("ledger", "register", "budget.db", "other", "--epsilon", "1", "--delta", "1e-6", "--unit", "patient"),
        ("release", "share.toml", "-o", "new.sfumato"),
        ("report", "share.sfumato", "-o", "page.html", "--ledger", "budget.db"),
    ]
    return rng.choice(commands)


def in_arguments(folder: Path, rng: random.Random) -> tuple[str, ...]:
    """A command with a word missing, added or replaced."""
    words = list(rng.choice(COMMANDS))
    at, kind = rng.randrange(len(words)), rng.random()
    if kind < 0.2:
        del words[at]
    elif kind < 0.4:
        words.insert(rng.randrange(len(words) + 1), rng.choice(WORDS))
    else:
        words[at] = rng.choice(WORDS)
    return tuple(words)


KINDS: dict[str, Callable[[Path, random.Random], tuple[str, ...]]] = {
    "spec": in_spec,
    "schema": in_schema,
    "release": in_release,
    "ledger": in_ledger,
    "arguments": in_arguments,
}


def fresh_copy(sound: Path, folder: Path) -> Path:
    """The sound files in an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    return Path(shutil.copytree(sound, folder))


def read_back(text: str) -> dict[str, Any]:
    """A TOML text as a document."""
    return tomllib.loads(text)
