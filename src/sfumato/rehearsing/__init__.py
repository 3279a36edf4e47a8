"""What a plan will bring, from public numbers alone: carried out on invented rows before anything is spent.

`expected_widths` gives the half-width that the interval of every coefficient of a regression will have, on rows that
`expected_rows` describes; `parameter_errors` how far a released parameter lies from the true one. `rehearsal` is `sf.rehearse`.
"""

from sfumato.rehearsing.expected_widths import ExpectedWidths, expected_widths
from sfumato.rehearsing.parameter_errors import Rehearsal
from sfumato.rehearsing.rehearsal import rehearse

__all__ = ["ExpectedWidths", "Rehearsal", "expected_widths", "rehearse"]
