from dialogue.models.batch import Batch
from dialogue.models.call import Call
from dialogue.models.conversation import Conversation, Turn
from dialogue.models.job import Job, JobItem, Spending
from dialogue.models.risk import RiskEvent
from dialogue.models.seeker_fault import SeekerFault
from dialogue.models.state import InnerState
from dialogue.models.supporter import Supporter

__all__ = [
    "Batch",
    "Call",
    "Conversation",
    "InnerState",
    "Job",
    "JobItem",
    "RiskEvent",
    "SeekerFault",
    "Spending",
    "Supporter",
    "Turn",
]
