from studies.models.participation import ArmRun, Consent, Participation
from studies.models.response import Answer, Rater, Response
from studies.models.study import Arm, Judge, Protocol, Study
from studies.models.task import Task

__all__ = [
    "Answer",
    "Arm",
    "ArmRun",
    "Consent",
    "Judge",
    "Participation",
    "Protocol",
    "Rater",
    "Response",
    "Study",
    "Task",
]
