"""Pictures, each a matplotlib Figure that is returned and never shown; they need `pip install 'sfumato[plots]'`.

Nothing here reads a record: pictures are drawn from guarantees, plans and releases. matplotlib is imported when the first
picture is drawn.
"""

from sfumato.plots.audits import audit
from sfumato.plots.forest import intervals
from sfumato.plots.lipschitz_mass import theta_mass
from sfumato.plots.over_time import over_time
from sfumato.plots.privacy_curves import privacy_curve
from sfumato.plots.renyi_curves import renyi_curve
from sfumato.plots.schedules import schedule
from sfumato.plots.trade_offs import trade_off
from sfumato.plots.utility import utility_curve

__all__ = [
    "audit",
    "intervals",
    "over_time",
    "privacy_curve",
    "renyi_curve",
    "schedule",
    "theta_mass",
    "trade_off",
    "utility_curve",
]
