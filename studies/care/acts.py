"""The acts around a sign of danger, kept on its event in the order in which they happened."""

from typing import Any

from dialogue.models import RiskEvent
from studies.models import SafetyAct
from studies.workbench.delivery_faults import DeliveryFault


def record_act(
    event: RiskEvent,
    kind: SafetyAct.Kind,
    *,
    by: Any = None,
    by_name: str = "",
    text: str = "",
    fault: DeliveryFault | None = None,
) -> SafetyAct:
    """Store what was done about an event.

    `by` is a researcher's account; `by_name` names someone without one, a contact on call or "person". Without
    `by_name`, the account's name is kept, so that it stays when the account is deleted.
    """
    name = by_name or (by.get_username() if by else "")
    return SafetyAct.objects.create(
        event=event, kind=kind, by=by, by_name=name, text=text, fault=fault.as_json() if fault else {}
    )
