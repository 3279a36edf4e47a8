"""How much a test repeats: `make test` takes the quick size, `make test-long` (SFUMATO_LONG=1) the full one.

The quick size goes through the same code; what it leaves out are repetitions, or cases whose path another one takes too.
"""

from __future__ import annotations

import os
from typing import TypeVar

Size = TypeVar("Size")

LONG = os.environ.get("SFUMATO_LONG") == "1"


def sized(quick: Size, full: Size) -> Size:
    """The first in the quick form of the suite, the second in the long one."""
    return full if LONG else quick
