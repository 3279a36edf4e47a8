"""Notes of the files that releases were made from, so that none is given as public rows, and of those that were checked before.

A note holds the path of a file, its device and inode, its size, and the SHA-256 of its first and last MiB: a link to the file and
a copy under another name are known by it. Since a digest of a private table confirms guesses of it, its owner alone can read a
note, and no error, release, log or report repeats one. Each user has a file of notes beside the witness of a ledger that was
charged, and another in the user's folder for the state of programs, where commands find it that know of no ledger.

`sfumato schema check` notes the schema and the content of the file that it counted, and nothing of what it counted; `sfumato
release` asks for such a note.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from sfumato.errors import ArgumentError, PublishError

# Bytes at each end of a file of which the digest is: reading them takes milliseconds, whatever the file's size.
_END = 1 << 20
# Files of one data set that are noted, and bytes of a file of notes that is full: it holds thousands of them.
_MOST, _FULL = 4096, 1 << 21
# How the names of files of notes end, before the number of their user.
_ENDING, _CHECKED = ".private-files-", ".checked-files-"


@dataclass(frozen=True, repr=False)
class FileNote:
    """What one file is known by."""

    path: str
    device: int
    inode: int
    size: int
    digest: str

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> FileNote:
        """The note of a file as it is now."""
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            ends = hashlib.sha256(file.read(_END))
            file.seek(max(0, found.st_size - _END))
            ends.update(file.read(_END))
        return cls(os.path.realpath(path), found.st_dev, found.st_ino, found.st_size, ends.hexdigest())

    def same_file(self, other: FileNote) -> bool:
        """Whether path, place on the disk or content are the same."""
        place, content = (self.device, self.inode), (self.size, self.digest)
        return self.path == other.path or place == (other.device, other.inode) or content == (other.size, other.digest)


@dataclass(frozen=True, repr=False)
class CheckNote:
    """A schema, by its digest, and the content of a file that was counted under it."""

    schema: str
    size: int
    digest: str


def notes_of(*sources: object) -> tuple[FileNote, ...]:
    """Notes of the sources that are files, or paths with wildcards; tables in memory have none."""
    paths = [os.fsdecode(source) for source in sources if isinstance(source, str | os.PathLike)]
    files = [file for path in paths for file in ([path] if os.path.exists(path) else sorted(glob.glob(path)))]
    return tuple(FileNote.of(file) for file in files[:_MOST] if os.path.isfile(file) and os.access(file, os.R_OK))


def checks_of(schema: str, files: tuple[FileNote, ...]) -> tuple[CheckNote, ...]:
    """The notes of a check of these files under a schema, which is given by its digest."""
    return tuple(CheckNote(schema, file.size, file.digest) for file in files)


def remember(notes: Sequence[FileNote | CheckNote], witness: Path | None = None) -> None:
    """Keep the notes beside the witness, or raise, and in the user's folder where that can be written."""
    if not notes:
        return
    ending = _CHECKED if isinstance(notes[0], CheckNote) else _ENDING
    for path in _places(witness, ending):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(notes, path)
        except OSError as error:
            if witness is not None and path.parent == witness.parent:
                raise PublishError(
                    f"which file was read must be noted beside the witness {witness}, and cannot be: {error.strerror}. Nothing was "
                    "charged."
                ) from None


def _places(witness: Path | None, ending: str) -> list[Path]:
    """The files of notes of this user: beside the witness, and in the user's folder; a container may have no home."""
    name = f"{ending}{_user()}"
    places = [] if witness is None else [witness.with_name(witness.name + name)]
    with suppress(RuntimeError):
        places.append(state_folder() / f"user{name}")
    return places


def refuse_unchecked(schema: str, files: tuple[FileNote, ...], witness: Path | None = None) -> None:
    """Raise unless every file was counted under this schema as it is now; the error is the same for every table."""
    lines = {line for path in _places(witness, _CHECKED) for each in (path, _older(path)) for line in _lines(each)}
    if not lines.issuperset(map(_line, checks_of(schema, files))):
        raise ArgumentError(
            "a release needs one check of its table under its schema, as both are now: run sfumato schema check SCHEMA DATA, look "
            "at what it counts, and release then (where the user's folder is not kept, with --ledger LEDGER). Nothing was charged."
        )


def refuse_private(source: object, witness: Path | None = None) -> None:
    """Raise where `source` is a file that something was released from, or a copy of one; other sources have no file.

    Looked at are the user's notes and those beside witnesses in the present folder, in that of the file and in that of `witness`.
    """
    if not isinstance(source, str | os.PathLike):
        return
    near = {Path(), Path(source).parent, Path(os.path.realpath(source)).parent}
    near |= set() if witness is None else {witness.parent}
    with suppress(RuntimeError):  # no home
        near.add(state_folder())
    for given in notes_of(source):
        if any(given.same_file(note) for folder in near for note in _notes_in(folder)):
            raise ArgumentError(
                f"{Path(source).name!r} is a file from which something was released, or a link to it or a copy of it: its rows are "
                "private, and as public rows they would be read without noise and without a charge. Give a public table. (A public "
                "table that took the name of such a file is read as a copy under another name.)"
            )


def state_folder() -> Path:
    """The user's folder for the state of programs, by the convention of the operating system."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return base / "sfumato"


def _user() -> int:
    """The number of the user: several users of one ledger cannot read each other's notes."""
    return os.getuid() if sys.platform != "win32" else 0


def _line(note: FileNote | CheckNote) -> bytes:
    return json.dumps(asdict(note)).encode()


def _write(notes: Sequence[FileNote | CheckNote], path: Path) -> None:
    """Append the notes that are not there yet, a line each, to a file that its owner alone can read.

    A line is written at once, so that several processes may append. A file that is full becomes the older one of two.
    """
    known = {*_lines(path), *_lines(_older(path))}
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        os.chmod(handle if os.chmod in os.supports_fd else path, 0o600)
        for line in dict.fromkeys(map(_line, notes)):
            # A line that was cut short by a crash ends here.
            os.write(handle, b"" if line in known else b"\n%s\n" % line)
        os.fsync(handle)
        with suppress(FileNotFoundError):  # another process has moved it
            if os.fstat(handle).st_size > _FULL and os.path.samestat(os.fstat(handle), path.stat()):
                os.replace(path, _older(path))
    finally:
        os.close(handle)


def _older(path: Path) -> Path:
    return path.with_name(f"{path.name}.older")


def _lines(path: Path) -> list[bytes]:
    """The lines of a file of notes; none of one that is not there, or that is another user's."""
    with suppress(OSError):
        return list(filter(None, path.read_bytes().split(b"\n")))
    return []


def _notes_in(folder: Path) -> Iterator[FileNote]:
    """The notes in the files of a folder; what is no note is passed over."""
    for line in (line for path in folder.glob(f"*{_ENDING}*") for line in _lines(path)):
        with suppress(ValueError, TypeError):
            yield FileNote(**json.loads(line))
