"""diffprivlib's fits, asked of a process in an environment of its own (peer_diffprivlib.py)."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import tables


class Peer:
    """One table given to the process, one fit at a time."""

    def __init__(self, python: str, rows: Any, labels: Any) -> None:
        self._folder = tempfile.TemporaryDirectory()
        stored = Path(self._folder.name) / "rows.npz"
        np.savez(stored, rows=rows, labels=labels)
        script = str(tables.HERE / "peer_diffprivlib.py")
        self._process = subprocess.Popen(
            [python, script, str(stored)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def fit(self, epsilon: float, seed: int, held_out: int) -> tuple[Any, float]:
        """Coefficients and seconds of the fit of one split."""
        if self._process.stdin is None or self._process.stdout is None:
            raise SystemExit("the peer's process has no pipes")
        self._process.stdin.write(f"{epsilon} {seed} {held_out}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit("the peer's process ended: is diffprivlib installed in that environment? (make peers)")
        found = json.loads(answer)
        return np.asarray(found["theta"]), float(found["seconds"])

    def close(self) -> None:
        """End the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._folder.cleanup()
