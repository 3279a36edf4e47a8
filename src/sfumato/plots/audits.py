"""`sf.plots.audit`: the errors of an attack beside the trade-off that the plan claims for every test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.auditing.result import Audit
from sfumato.errors import ArgumentError
from sfumato.pictures.audit import of_audit
from sfumato.plots import _render

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def audit(result: Audit) -> Figure:
    """Draw what `sf.audit` returned: bounds on the two errors of the attack at every threshold, and the claimed trade-off.

    Under the claim no test lies below the line. Points are upper confidence bounds on both errors, valid together, so a point below
    the line contradicts the claim with that confidence; points close above it show that the claim is nearly attained.
    """
    if not isinstance(result, Audit):
        raise ArgumentError(f"plots.audit draws the result of sf.audit; got {type(result).__name__}.")
    return _render.figure(of_audit(result))
