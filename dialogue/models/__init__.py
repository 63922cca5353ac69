from dialogue.models.call import Call
from dialogue.models.conversation import Conversation, Turn
from dialogue.models.risk import RiskEvent
from dialogue.models.state import InnerState
from dialogue.models.supporter import Supporter

__all__ = ["Call", "Conversation", "InnerState", "RiskEvent", "Supporter", "Turn"]
