from studies.models.decision import Decision
from studies.models.export_record import ExportRecord
from studies.models.form_state import Draft, Submission
from studies.models.interview import Attachment, CandidateDimension, Interview, InterviewNote, Passage
from studies.models.pair import Comparison, Pair, PairPlan, Verdict
from studies.models.participation import ArmRun, Consent, Participation
from studies.models.response import Answer, Rater, Response
from studies.models.review import Adjudication, Review, ReviewItem, ReviewPlan
from studies.models.role_play import Card, Flag, RolePlay
from studies.models.safety import AdverseEvent, Alarm, SafetyAct, ScreenReview, StoppedArm
from studies.models.seeker_profile import SeekerProfile
from studies.models.selection import SelectionDecision, SelectionDraw, SelectionScore
from studies.models.study import Arm, Judge, Protocol, Study
from studies.models.study_draft import StudyDraft
from studies.models.task import Task
from studies.models.unblinding import Unblinding

__all__ = [
    "Adjudication",
    "AdverseEvent",
    "Alarm",
    "Answer",
    "Arm",
    "ArmRun",
    "Attachment",
    "CandidateDimension",
    "Card",
    "Comparison",
    "Consent",
    "Decision",
    "Draft",
    "ExportRecord",
    "Flag",
    "Interview",
    "InterviewNote",
    "Judge",
    "Pair",
    "PairPlan",
    "Participation",
    "Passage",
    "Protocol",
    "Rater",
    "Response",
    "Review",
    "ReviewItem",
    "ReviewPlan",
    "RolePlay",
    "SafetyAct",
    "ScreenReview",
    "SeekerProfile",
    "SelectionDecision",
    "SelectionDraw",
    "SelectionScore",
    "StoppedArm",
    "Study",
    "StudyDraft",
    "Submission",
    "Task",
    "Unblinding",
    "Verdict",
]
