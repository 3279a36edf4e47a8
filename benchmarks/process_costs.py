"""What a process has cost: CPU seconds and peak memory. Standard library only, since another Python imports it too."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path


def cpu_seconds() -> float:
    """Of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def peak_memory() -> float:
    """Largest resident memory of this process, in MB.

    Linux keeps ru_maxrss across fork and exec, so that a small process would report the size of the one that started it;
    VmHWM starts anew with the program.
    """
    if sys.platform.startswith("linux"):
        status = Path("/proc/self/status").read_text().splitlines()
        return float(next(line.split()[1] for line in status if line.startswith("VmHWM"))) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)
