"""Shared test settings: the helper modules beside this file are importable, and hypothesis is deterministic.

`HYPOTHESIS_PROFILE=explore` draws fresh random examples and more of them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("fixed", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
