"""What a plan will bring, from public numbers alone: carried out on invented rows before anything is spent.

`parameter_errors` is `sf.rehearse`: how far a released parameter lies from the true one. `expected_widths` gives the half-width
that the interval of every coefficient of a regression will have, on rows that `expected_rows` describes.
"""

from sfumato.rehearsing.parameter_errors import Rehearsal, rehearse

__all__ = ["Rehearsal", "rehearse"]
