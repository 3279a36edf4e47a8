"""`sfumato plot`: the picture of a release as a file. SVG needs no library; PNG and PDF are drawn with matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.shells.file_kinds import expect
from sfumato.shells.forged_files import blames_a_forged_file
from sfumato.shells.printing import Force, check_new
from sfumato.shells.query_commands import ReleaseFile

# Kinds of files, by their endings.
_ENDINGS = (".svg", ".png", ".pdf")
# Pixels an inch of a PNG: sharp in print at a column's width.
_DENSITY = 200


@blames_a_forged_file
def plot(
    file: ReleaseFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="The picture to write: .svg, .png or .pdf.")],
    level: Annotated[float, typer.Option(help="The level of the intervals.")] = 0.9,
    force: Force = False,
) -> None:
    """Verify a release and write the picture that shows its result: the first one of its report.

    Example: sfumato plot smokers.sfumato -o smokers.svg
    """
    from sfumato.pictures.of_release import pictures
    from sfumato.release import load

    ending = output.suffix.lower()
    if ending not in _ENDINGS:
        raise ArgumentError(f"-o names the picture and must end in .svg, .png or .pdf; got {output.name!r}.")
    share = _validate.between("--level", level, 0.0, 1.0)
    check_new(output, force, file)
    release = load(expect(file, "release")).verify()
    picture = pictures(release, share)[0]
    if ending == ".svg":
        from sfumato.pictures.svg import standalone

        output.write_text(standalone(picture), encoding="utf-8")
    else:
        _write(picture, output, ending)
    typer.echo(f"wrote {output}")


def _write(picture: Any, output: Path, ending: str) -> None:
    """Draw with matplotlib; where it is not installed the error says so, and that SVG needs nothing."""
    from sfumato.plots import _render

    try:
        figure = _render.figure(picture)
    except ImportError as error:
        raise ArgumentError(
            f"{ending[1:].upper()} files need matplotlib, which is not installed: pip install 'sfumato[plots]', or name a "
            ".svg file, which needs nothing."
        ) from error
    figure.savefig(output, format=ending[1:], dpi=_DENSITY)
