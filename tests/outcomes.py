"""Outcomes that are recorded beside the tests: what a call returns or refuses, for one set of arguments after another.

Oracles and proofs say that a number is right; a record says that it has not changed. A test makes a tree of outcomes
(`outcome`, `varied`) and `Record.differences` compares it with the kept one. A number may differ by one unit of its last
place, and by as much as it moved when each logarithm and exponential was off by one unit (`nudged`), so that another
machine's mathematics passes and a dropped 1 + 1e-15 does not.

`python tests/outcomes.py [word]` records all of them anew (or those of files with this word in their name), which a change
of a theorem, a sampler or a tolerance asks for: read the difference before it is committed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
FOLDER = HERE / "fixtures" / "outcomes"
# Arrays with more entries are recorded by their shape, ends and two weighted sums.
LONGEST = 12
# One unit in the last place, relative: what is allowed at least.
LEAST = 2.3e-16
# Functions of libm and NumPy that another machine may round otherwise.
ROUNDED = (
    "exp", "expm1", "log", "log1p", "log2", "exp2", "pow", "sin", "cos", "tan", "tanh", "sinh", "cosh", "atan", "atanh", "asinh",
    "acosh", "erf", "erfc", "lgamma", "arctan", "arctanh", "arcsinh", "arcsin", "arccos", "logaddexp", "sum", "power",
)  # fmt: skip


def plain(value: Any) -> Any:
    """A value as JSON: numbers, texts, lists and mappings; objects by their fields."""
    if value is None or isinstance(value, bool | str):
        return (
            value
            if not isinstance(value, str) or len(value) < 80
            else value[:40] + hashlib.sha256(value.encode()).hexdigest()[:8]
        )
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()[:16]
    if isinstance(value, int):
        if abs(value) < 1 << 53:
            return value
        length = value.bit_length()  # of a long whole number its length and its leading digits
        return {"bits": length, "top": float(Fraction(value, 1 << length))}
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, Mapping) and len(value) > 24 and all(isinstance(key, float) for key in value):
        return {"keys": plain([*map(float, value)][:: len(value) // 4]), "values": _array(np.array([*value.values()]))}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((plain(each) for each in value), key=str)
    if isinstance(value, Sequence) or hasattr(value, "__next__"):
        value = list(value)
        if len(value) > 24 and all(isinstance(each, int | float) for each in value):
            return _array(np.array(value, dtype=np.float64))
        return [plain(each) for each in value]
    for name in ("to_json", "_asdict"):
        if hasattr(value, name) and not isinstance(value, type):
            return plain(getattr(value, name)())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if hasattr(value, "toarray"):
        return _array(value.toarray())
    return getattr(value, "__qualname__", type(value).__name__)


def _array(values: np.ndarray) -> Any:
    if values.size <= LONGEST or values.dtype.kind not in "fiub":
        return (
            [plain(each) for each in values.ravel().tolist()]
            if values.ndim != 1
            else [plain(e) for e in values.tolist()]
        )
    flat = values.astype(np.float64).ravel()
    finite = np.where(np.isfinite(flat), flat, 0.0)
    place = np.arange(flat.size)
    # exactly rounded sums, which do not depend on the order of additions
    sums = [math.fsum(finite * (1 + place % 7)), math.fsum(finite * (place % 11 + place % 2))]
    return {"shape": list(values.shape), "ends": plain(flat[:2].tolist() + flat[-2:].tolist()), "sums": sums}


def refused(error: Exception) -> str:
    """The kind of a refusal, and what it is about: the hypothesis, or the first words."""
    about = getattr(error, "hypothesis", None)
    words = " ".join(str(error).split()[:3]) if about is None else f"{about} = {getattr(error, 'given', '')}"
    return f"{type(error).__name__}: {words}"


def outcome(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """What a call returns, as JSON, or what it refuses."""
    try:
        return plain(call(*arguments, **named))
    except Exception as error:  # whatever is raised is the outcome
        return refused(error)


def others(value: Any) -> list[Any]:
    """Values to try in the place of one: beyond each end of what could be allowed, at the ends, and of other types."""
    if isinstance(value, bool):
        return [not value, None, 1]
    if isinstance(value, int):
        return [0, 1, -1, 2 * value + 1, value + 0.5, math.nan, None]
    if isinstance(value, float):
        return [0.0, 1.0, -value, value / 3, 3 * value, 40 * value, math.nan, math.inf, -math.inf, None, True]
    if isinstance(value, str):
        return ["", "other", None]
    if isinstance(value, list | tuple) and value and all(isinstance(each, int | float) for each in value):
        first, rest = value[0], list(value[1:])
        return [
            list(value[::-1]),
            rest,
            [],
            [0 * first, *rest],
            [-first, *rest],
            [math.nan, *rest],
            [3 * first, *rest],
            None,
        ]
    return [None]


def varied(
    call: Callable[..., Any], given: Mapping[str, Any], more: Mapping[str, Sequence[Any]] | None = None
) -> dict[str, Any]:
    """Outcomes of a call with one argument changed at a time; `more` names further values of some arguments."""
    first = outcome(call, **given)
    kept, base = {"": first}, dict(_numbers(first))
    for name, value in given.items():
        for place, other in enumerate([*others(value), *(more or {}).get(name, ())]):
            kept[f"{name}={f'value {place}' if callable(other) else _short(other)}"] = _change(
                base, outcome(call, **{**given, name: other})
            )
    return kept


def _change(base: Mapping[str, Any], value: Any) -> Any:
    """What of an outcome is not as in the first: its numbers by their paths, or the whole if it is of another form."""
    now = dict(_numbers(value))
    if not isinstance(value, dict | list) or now.keys() != base.keys():
        return value
    return {path: each for path, each in now.items() if each != base[path]}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else text[:30] + hashlib.sha256(text.encode()).hexdigest()[:6]


@contextmanager
def nudged(up: bool) -> Iterator[None]:
    """Every logarithm, exponential and the like is one unit in the last place too large, or too small."""
    towards = math.inf if up else -math.inf
    kept = []

    def off(function: Callable[..., Any], array: bool) -> Callable[..., Any]:
        def rounded(*arguments: Any, **named: Any) -> Any:
            value = function(*arguments, **named)
            if (array and not isinstance(value, float | np.ndarray)) or getattr(
                value, "dtype", np.float64
            ) != np.float64:
                return value
            if array:
                with np.errstate(all="ignore"):
                    return np.where(
                        (value == 0) | (value == 1) | ~np.isfinite(value), value, np.nextafter(value, towards)
                    )[()]
            return value if value in (0, 1) or not math.isfinite(value) else math.nextafter(value, towards)

        return rounded

    for module in (math, np):
        for name in ROUNDED:
            function = getattr(module, name, None)
            if function is not None and name not in ("sum", "power", "logaddexp"):
                kept.append((module, name, function))
                setattr(module, name, off(function, module is np))
    try:
        yield
    finally:
        for module, name, function in kept:
            setattr(module, name, function)


def _numbers(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _numbers(each, f"{path}/{key}")
    elif isinstance(value, list):
        yield f"{path}/length", len(value)
        for place, each in enumerate(value):
            yield from _numbers(each, f"{path}/{place}")
    else:
        yield path, value


def _away(one: Any, other: Any) -> float:
    """How far two numbers lie apart, relative to the larger; infinity for what is not the same and no number."""
    if (
        type(one) is bool
        or type(other) is bool
        or not isinstance(one, int | float)
        or not isinstance(other, int | float)
    ):
        return 0.0 if one == other and type(one) is type(other) else math.inf
    return 0.0 if one == other else abs(one - other) / max(abs(one), abs(other))


class Record:
    """The outcomes of one test module: made by a function, for each of a number of cases."""

    def __init__(self, name: str, cases: Mapping[str, Any], make: Callable[[Any], Any], least: float = LEAST) -> None:
        self.path, self.cases, self.make, self.least = FOLDER / f"{name}.json", cases, make, least
        self._read: dict[str, Any] | None = None

    def kept(self) -> dict[str, Any]:
        """What is recorded: for each case its outcome, and the paths whose tolerance is larger than the least."""
        if self._read is None:
            self._read = json.loads(self.path.read_text()) if self.path.exists() else {}
        return self._read

    def differences(self, case: str) -> list[str]:
        """Where a case differs from its record."""
        now, kept = json.loads(json.dumps(plain(self.make(self.cases[case])))), self.kept()[case]
        loose = kept.get("loose", {})
        new, old = dict(_numbers(now)), dict(_numbers(kept["values"]))
        lines = [f"{path}: only recorded" for path in old.keys() - new.keys()]
        lines += [f"{path}: not recorded" for path in new.keys() - old.keys()]
        for path in old.keys() & new.keys():
            if _away(old[path], new[path]) > max(self.least, loose.get(path, 0.0)):
                lines.append(f"{path}: {old[path]!r} was recorded; now {new[path]!r}")
        return sorted(lines)

    def all_differences(self) -> list[str]:
        """Where any case differs from its record, and cases without one; the quick form of the suite leaves some cases out."""
        lines = [f"{case}: {line}" for case in self.cases if case in self.kept() for line in self.differences(case)]
        return [f"{case}: not recorded" for case in self.cases if case not in self.kept()] + lines

    def write(self) -> None:
        """Record all cases anew."""
        lines = []
        for case, given in self.cases.items():
            value = json.loads(json.dumps(plain(self.make(given))))
            flat, loose = dict(_numbers(value)), {}
            for up in (True, False):
                with nudged(up):
                    moved = dict(_numbers(json.loads(json.dumps(plain(self.make(given))))))
                for path, number in flat.items():
                    away = _away(number, moved.get(path)) if path in moved else math.inf
                    if 2 * away > self.least:
                        # what changes altogether is no number that one machine may hold another to
                        loose[path] = max(loose.get(path, 0.0), float(f"{4 * away:.1e}"))
            entry = {"values": value} | ({"loose": loose} if loose else {})
            lines.append(f"{json.dumps(case)}: {json.dumps(entry, separators=(',', ':'))}")
        FOLDER.mkdir(parents=True, exist_ok=True)
        self.path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        self._read = None


def main(word: str = "") -> None:
    """Record the outcomes of every module of tests that holds a RECORD."""
    warnings.simplefilter("error")  # as under pytest
    os.environ["SFUMATO_LONG"] = "1"  # the cases of the long form too
    sys.path[:0] = [str(HERE), str(HERE / "planted")]
    for path in sorted(HERE.rglob("test_outcomes_*.py")):
        if word in path.name:
            sys.path.insert(0, str(path.parent))
            spec = importlib.util.spec_from_file_location(path.stem, path)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[path.stem] = module
            spec.loader.exec_module(module)
            for record in module.RECORDS:
                record.write()
                print(record.path.name, len(record.cases), "cases", record.path.stat().st_size // 1024, "KiB")


if __name__ == "__main__":
    main(*sys.argv[1:])
