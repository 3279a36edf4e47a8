"""Every command, typed in a folder with files of fixed content; what it prints and writes is recorded."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import sfumato as sf
from command_line import typed
from recorded import texts, ways

# Commands that read a release. {0} and {1} are its first columns, {label} what it shows first.
QUESTIONS = (
    "show r.sfumato",
    "show r.sfumato --csv",
    "query mean r.sfumato",
    "query mean r.sfumato --json",
    "query interval r.sfumato",
    "query interval r.sfumato --level 0.5 --include privacy --json",
    "query quantile r.sfumato --at 0.25",
    "query quantile r.sfumato --json",
    "query probability r.sfumato --above 0.4",
    "query probability r.sfumato --below 0.4 --json",
    "query top r.sfumato --k 2",
    "query top r.sfumato --json",
    "query attacker r.sfumato",
    "query attacker r.sfumato --json",
    "query synthesize r.sfumato --rows 0",
    "query synthesize r.sfumato --rows 3 -o out.csv",
    "query summary r.sfumato",
    "query summary r.sfumato --level 0.5 --reference region=east --json",
    "query coefficients r.sfumato --scaled",
    "query coefficients r.sfumato --reference region=sum-to-zero -o out.csv",
    "query coefficients r.sfumato --level 0.8 --json",
    "query contrast r.sfumato '{label}=2' --level 0.5",
    "query contrast r.sfumato '{label}=2' --json",
    "query predict r.sfumato rows.csv",
    "query predict r.sfumato --public-rows rows.csv",
    "query predict r.sfumato --public-rows rows.csv --proba",
    "query predict r.sfumato --public-rows rows.csv --proba --json",
    "query predict r.sfumato --public-rows rows.csv --interval mean -o out.csv",
    "query predict r.sfumato --public-rows rows.csv --interval answer --level 0.5 --json",
    "query effects r.sfumato --public-rows rows.csv",
    "query effects r.sfumato --public-rows rows.csv -o out.csv",
    "query effects r.sfumato --public-rows rows.csv --json",
    "query cross-table r.sfumato",
    "query cross-table r.sfumato '{1}' '{0}' --of 'row shares' --level 0.5 --json",
    "query histogram r.sfumato --quantile 0.3",
    "query histogram r.sfumato --of counts --quantile 0.3 --quantile 0.5 --json",
    "query marginal r.sfumato '{1}'",
    "query marginal r.sfumato '{0}' '{1}' --interval 0.8 --json",
    "query conditional r.sfumato '{0}' --given '{1}' --interval 0.8",
    "query conditional r.sfumato '{0}' --given '{1}' --json",
    "query group-sizes r.sfumato",
    "query group-sizes r.sfumato --level 0.5 --json",
)


class Shell:
    """A folder in which commands are typed."""

    def __init__(self, monkeypatch: Any, capsys: Any, folder: Path) -> None:
        monkeypatch.chdir(folder)
        self.patches, self.capsys, self.folder = monkeypatch, capsys, folder

    def __call__(self, line: str) -> tuple[str, str, bool]:
        """What a command line prints, and the file that it writes as out.*; and whether it was refused."""
        code, out, err = typed(self.patches, self.capsys, *shlex.split(line))
        printed = compact(out) if "--json" in line and not code else out.rstrip("\n")
        parts = [*([printed] if printed else []), *(f"stderr: {each}" for each in err.splitlines())]
        parts += [f"exit {code}"] * bool(code)
        for path in sorted(self.folder.glob("out.*")):
            parts.append(f"--- {path.name}\n{written(path)}")
            path.unlink()
        return "\n".join(parts).replace(str(self.folder), "<folder>"), "", bool(code)


def compact(document: str) -> str:
    """A JSON document with one line for each key."""
    read = json.loads(document)
    if not isinstance(read, dict):
        return json.dumps(read)
    return "\n".join(f"{key}: {json.dumps(value)}" for key, value in read.items())


def written(path: Path) -> str:
    """A file that a command wrote, as text."""
    if path.suffix in (".html", ".svg"):
        return texts.elements(path.read_text(encoding="utf-8"))
    if path.suffix in (".csv", ".toml", ".json", ".txt"):
        return path.read_text(encoding="utf-8")
    return f"{path.suffix} file"


def questions(release: sf.Release) -> list[str]:
    """The commands with the names of this release."""
    names = [*ways.declared(release).columns, "nothing", "nothing"]
    return [line.format(*names, label=release.labels[0]) for line in QUESTIONS]
