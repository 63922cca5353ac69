from studies.models.form_state import Draft, Submission
from studies.models.participation import ArmRun, Consent, Participation
from studies.models.response import Answer, Rater, Response
from studies.models.study import Arm, Judge, Protocol, Study
from studies.models.task import Task

__all__ = [
    "Answer",
    "Arm",
    "ArmRun",
    "Consent",
    "Draft",
    "Judge",
    "Participation",
    "Protocol",
    "Rater",
    "Response",
    "Study",
    "Submission",
    "Task",
]
