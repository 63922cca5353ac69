from studies.models.api_token import ApiToken
from studies.models.audit import AuditChain, AuditEntry
from studies.models.board import BoardAct, Question
from studies.models.decision import Decision
from studies.models.draw import Draw
from studies.models.export_record import ExportRecord, ExportRemoval
from studies.models.form_state import Draft, Submission
from studies.models.interview import Attachment, CandidateDimension, Interview, InterviewNote, Passage
from studies.models.life import Amendment, ResourceCheck, Stage, StageChange
from studies.models.membership import Membership
from studies.models.pair import Comparison, Pair, PairPlan, Verdict
from studies.models.participation import ArmRun, Consent, Participation
from studies.models.payment import LedgerEntry, Payee
from studies.models.receipt import Receipt
from studies.models.response import Answer, Rater, Response
from studies.models.retention import RetentionRecord
from studies.models.review import Adjudication, Review, ReviewItem, ReviewPlan
from studies.models.role_play import Card, Flag, RolePlay
from studies.models.safety import AdverseEvent, Alarm, SafetyAct, ScreenReview, StoppedArm
from studies.models.seeker_profile import SeekerProfile
from studies.models.selection import SelectionDecision, SelectionDraw, SelectionScore
from studies.models.study import Arm, Judge, Protocol, Study
from studies.models.study_draft import StudyDraft
from studies.models.task import Task
from studies.models.unblinding import Unblinding
from studies.models.webhook import Delivery, Webhook

__all__ = [
    "Adjudication",
    "AdverseEvent",
    "Alarm",
    "Amendment",
    "Answer",
    "ApiToken",
    "Arm",
    "ArmRun",
    "Attachment",
    "AuditChain",
    "AuditEntry",
    "BoardAct",
    "CandidateDimension",
    "Card",
    "Comparison",
    "Consent",
    "Decision",
    "Delivery",
    "Draft",
    "Draw",
    "ExportRecord",
    "ExportRemoval",
    "Flag",
    "Interview",
    "InterviewNote",
    "Judge",
    "LedgerEntry",
    "Membership",
    "Pair",
    "PairPlan",
    "Participation",
    "Passage",
    "Payee",
    "Protocol",
    "Question",
    "Rater",
    "Receipt",
    "ResourceCheck",
    "Response",
    "RetentionRecord",
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
    "Stage",
    "StageChange",
    "StoppedArm",
    "Study",
    "StudyDraft",
    "Submission",
    "Task",
    "Unblinding",
    "Verdict",
    "Webhook",
]
