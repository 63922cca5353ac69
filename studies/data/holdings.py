"""Everything that this server keeps of the people of a study: one line for each kind of record.

Erasing (`erasure.py`), anonymising (`anonymising.py`) and the page My data (`studies/my_data`) go by this table, so
what one of them names, all of them name. A test (`tests/studies/data/test_holdings.py`) fails for a model that leads to
a person and has no line here. Records are deleted in the order of the table.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from django.db.models import Model, Q, QuerySet

from dialogue.models import Call, Conversation, InnerState, JobItem, RiskEvent, SeekerFault, Turn
from dialogue.models.conversation import SeekerKind
from studies.judging.comparisons import calls_on_pairs, items_on_pairs
from studies.models import (
    Adjudication,
    AdverseEvent,
    Alarm,
    Answer,
    ArmRun,
    Attachment,
    BoardAct,
    CandidateDimension,
    Comparison,
    Consent,
    Decision,
    Delivery,
    Draft,
    Draw,
    Flag,
    Interview,
    InterviewNote,
    LedgerEntry,
    Pair,
    Participation,
    Passage,
    Payee,
    Question,
    Rater,
    Receipt,
    Response,
    Review,
    ReviewItem,
    RolePlay,
    SafetyAct,
    ScreenReview,
    SeekerProfile,
    SelectionDecision,
    SelectionScore,
    Study,
    Submission,
    Verdict,
)
from studies.models.response import RaterKind
from studies.seeker_profiles.planning import calls_about, items_about, profiles_about

MODELS = (RaterKind.JUDGE, RaterKind.SIMULATED_SEEKER)  # raters who are no people


@dataclass(frozen=True)
class Scope:
    """The people of one study that an act is about, with their conversations and what they rated as."""

    study: Study
    people: QuerySet[Participation]
    runs: QuerySet[ArmRun]
    raters: QuerySet[Rater]
    codes: tuple[str, ...]

    def pairs(self) -> QuerySet[Pair]:
        """Return the pairs that one of their conversations is in."""
        return Pair.objects.filter(Q(run_a__in=self.runs) | Q(run_b__in=self.runs))

    def responses(self) -> QuerySet[Response]:
        """Return what they answered, and what others answered about their conversations."""
        return Response.objects.filter(Q(rater__in=self.raters) | Q(run__in=self.runs))

    def comparisons(self) -> QuerySet[Comparison]:
        """Return the comparisons that they made, and those of others that one of their conversations was in."""
        return Comparison.objects.filter(Q(rater__in=self.raters) | Q(pair__in=self.pairs()))

    def reviews(self) -> QuerySet[Review]:
        """Return their work as reviewers, and that of others on their conversations."""
        return Review.objects.filter(Q(reviewer__in=self.people) | Q(item__run__in=self.runs))

    def events(self) -> QuerySet[RiskEvent]:
        return RiskEvent.objects.filter(Q(subject__in=self.codes) | Q(conversation__run__in=self.runs))


def scope_of(person: Participation) -> Scope:
    """Return one person, with the simulated conversations whose profile goes back to their answers."""
    people = Participation.objects.filter(pk=person.pk)
    keys = profiles_about(people).values("key")
    simulated = Q(study=person.study_id, conversation__seeker_kind=SeekerKind.SIMULATED, profile__in=keys)
    runs = ArmRun.objects.filter(Q(participation=person) | simulated)
    return Scope(person.study, people, runs, Rater.objects.filter(participation=person), (person.code,))


def scope_of_imported(study: Study, name: str) -> Scope:
    """Return a person whom only imported files name: as the seeker of conversations, or as a rater."""
    runs = study.runs.filter(participation=None, external_participant=name)
    raters = study.raters.filter(participation=None, code=name).exclude(kind__in=MODELS)
    return Scope(study, Participation.objects.none(), runs, raters, ())


def scope_of_study(study: Study) -> Scope:
    """Return all people of a study, also those of imported files."""
    people = study.participations.all()
    keys = profiles_about(people).values("key")
    simulated = Q(conversation__seeker_kind=SeekerKind.SIMULATED) & ~Q(profile__in=keys)
    runs = study.runs.exclude(pk__in=study.runs.filter(simulated).values("pk"))
    raters = study.raters.exclude(kind__in=MODELS)
    return Scope(study, people, runs, raters, tuple(people.values_list("code", flat=True)))


class Fate(StrEnum):
    """The fate of records when a person is erased or a study is anonymised."""

    DELETED = "deleted"
    CLEARED = "cleared"  # something stays to be counted, without the person and without words
    KEPT = "kept"


class Group(StrEnum):
    """The section of My data in which records stand. Those of the last four are named there and not shown."""

    YOU = "you"
    ANSWERS = "answers"
    CONVERSATIONS = "conversations"
    WORK = "work"  # of a reviewer, a counsellor or someone interviewed
    TEAM = "team"  # what passed between the person and the research team
    NOTES = "notes"
    SAFETY = "safety"
    COMPUTERS = "computers"
    ASSIGNMENT = "assignment"


Find = Callable[[Scope], QuerySet[Any]]


@dataclass(frozen=True)
class Holding:
    """One kind of record.

    `shown`: what My data gives out of each record, by name: the path to it; nothing for what is named alone. `own`:
    which of the records are the person's own, where others are about them. `words`: the fields with the person's own
    words, which are looked for after an erasure. `blanks`: what anonymising puts into which fields.
    """

    name: str
    model: type[Model]
    group: Group
    find: Find
    shown: Mapping[str, str] = field(default_factory=dict)
    own: Find | None = None
    words: tuple[str, ...] = ()
    erased: Fate = Fate.DELETED
    anonymised: Fate = Fate.KEPT
    blanks: Mapping[str, Any] = field(default_factory=dict)

    def find_own(self, scope: Scope) -> QuerySet[Any]:
        return (self.own or self.find)(scope)


def by_person(model: type[Model], path: str = "participation") -> Find:
    """Return how records are found that lead to a person by this path."""
    return lambda scope: model._default_manager.filter(**{f"{path}__in": scope.people})


def by_run(model: type[Model], path: str = "run") -> Find:
    """Return how records are found that lead to a conversation by this path."""
    return lambda scope: model._default_manager.filter(**{f"{path}__in": scope.runs})


def by_person_or_run(model: type[Model]) -> Find:
    return lambda scope: model._default_manager.filter(Q(participation__in=scope.people) | Q(run__in=scope.runs))


def find_calls(scope: Scope) -> QuerySet[Call]:
    of_runs = Q(conversation__run__in=scope.runs)
    return Call.objects.filter(of_runs | Q(pk__in=calls_on_pairs(scope.pairs())) | Q(pk__in=calls_about(scope.people)))


def find_items(scope: Scope) -> QuerySet[JobItem]:
    of_runs = Q(conversation__run__in=scope.runs)
    return JobItem.objects.filter(
        of_runs | Q(pk__in=items_on_pairs(scope.pairs())) | Q(pk__in=items_about(scope.people))
    )


def of_events(model: type[Model]) -> Find:
    return lambda scope: model._default_manager.filter(event__in=scope.events())


MESSAGE = {
    "conversation": "conversation__run__position",
    "number": "number",
    "message": "text",
    "sent_at": "created_at",
    "reply": "reply",
    "replied_at": "replied_at",
    "reading_ms": "reading_ms",
    "typing_ms": "typing_ms",
    "times_away": "focus_losses",
    "pasted": "pasted",
}
ANSWER = {
    "questionnaire": "response__instrument",
    "version": "response__version",
    "moment": "response__moment",
    "turn": "response__turn",
    "conversation": "response__run__position",
    "item": "item",
    "value": "value",
    "text": "text",
    "reason": "reason",
    "missing": "missing_reason",
    "seconds": "seconds",
    "answered_at": "response__submitted_at",
}

HOLDINGS: tuple[Holding, ...] = (
    Holding(
        "calls",
        Call,
        Group.COMPUTERS,
        find_calls,
        blanks={"request": [], "response": "", "reasoning": "", "error": "", "key": ""},
    ),
    Holding("job_items", JobItem, Group.COMPUTERS, find_items, anonymised=Fate.DELETED),
    Holding(
        "deliveries",
        Delivery,
        Group.COMPUTERS,
        lambda scope: Delivery.objects.filter(webhook__study=scope.study, body__data__person__in=scope.codes),
        anonymised=Fate.DELETED,
    ),
    # Safety
    Holding("alarms", Alarm, Group.SAFETY, of_events(Alarm)),
    Holding("safety_acts", SafetyAct, Group.SAFETY, of_events(SafetyAct), words=("text",), blanks={"text": ""}),
    Holding(
        "adverse_events",
        AdverseEvent,
        Group.SAFETY,
        lambda scope: AdverseEvent.objects.filter(study=scope.study, subject__in=scope.codes),
        erased=Fate.CLEARED,
        blanks={"description": "", "action": "", "changes": []},
    ),
    Holding(
        "risk_events",
        RiskEvent,
        Group.TEAM,
        lambda scope: scope.events(),
        shown={
            "conversation": "conversation__run__position",
            "noticed_at": "created_at",
            "your_answer": "safe_answer",
            "answered_at": "safe_answered_at",
            "continued_at": "continued_at",
        },
        own=lambda scope: RiskEvent.objects.filter(subject__in=scope.codes),
        blanks={"note": ""},
    ),
    Holding("screen_reviews", ScreenReview, Group.SAFETY, by_run(ScreenReview, "turn__conversation__run")),
    # Conversations
    Holding(
        "turns",
        Turn,
        Group.CONVERSATIONS,
        by_run(Turn, "conversation__run"),
        shown=MESSAGE,
        own=by_person(Turn, "conversation__run__participation"),
        words=("text",),
        blanks={"text": "", "reply": "", "reply_original": "", "emotion": ""},
    ),
    Holding(
        "inner_states",
        InnerState,
        Group.COMPUTERS,
        by_run(InnerState, "conversation__run"),
        blanks={"cognition": "", "emotion": "", "goal": ""},
    ),
    Holding(
        "seeker_faults", SeekerFault, Group.COMPUTERS, by_run(SeekerFault, "conversation__run"), blanks={"evidence": ""}
    ),
    Holding(
        "flags",
        Flag,
        Group.CONVERSATIONS,
        by_run(Flag),
        shown={
            "conversation": "run__position",
            "turn": "turn",
            "reason": "reason",
            "note": "note",
            "flagged_at": "flagged_at",
            "withdrawn_at": "withdrawn_at",
        },
        own=by_person(Flag, "run__participation"),
        words=("note",),
        blanks={"note": "", "reply": ""},
    ),
    Holding(
        "role_plays",
        RolePlay,
        Group.WORK,
        by_run(RolePlay),
        shown={"conversation": "run__position", "played": "played", "stepped_out": "stepped_out"},
        own=by_person(RolePlay, "run__participation"),
    ),
    # Answers
    Holding(
        "answers",
        Answer,
        Group.ANSWERS,
        lambda scope: Answer.objects.filter(response__in=scope.responses()),
        shown=ANSWER,
        own=lambda scope: Answer.objects.filter(response__rater__in=scope.raters),
        words=("text", "reason"),
        anonymised=Fate.CLEARED,
        blanks={"reason": ""},
    ),
    Holding("responses", Response, Group.NOTES, lambda scope: scope.responses()),
    Holding(
        "drafts",
        Draft,
        Group.ANSWERS,
        by_person(Draft),
        shown={"page": "step", "answers": "answers", "saved_at": "saved_at"},
        words=("answers",),
        anonymised=Fate.DELETED,
    ),
    Holding("submissions", Submission, Group.COMPUTERS, by_person(Submission), anonymised=Fate.DELETED),
    # Reviewers
    Holding(
        "verdicts",
        Verdict,
        Group.WORK,
        lambda scope: Verdict.objects.filter(comparison__in=scope.comparisons()),
        shown={
            "question": "question",
            "verdict": "verdict",
            "reason": "reason",
            "done_at": "comparison__done_at",
        },
        own=lambda scope: Verdict.objects.filter(comparison__rater__in=scope.raters),
        words=("reason",),
        blanks={"reason": ""},
    ),
    Holding("comparisons", Comparison, Group.NOTES, lambda scope: scope.comparisons()),
    Holding("pairs", Pair, Group.NOTES, lambda scope: scope.pairs()),
    Holding(
        "reviews",
        Review,
        Group.WORK,
        lambda scope: scope.reviews(),
        shown={
            "given_at": "given_at",
            "done_at": "done_at",
            "example": "vignette",
            "scores_of_the_example": "scores",
            "declined_because": "declined_because",
            "note": "declined_note",
        },
        own=by_person(Review, "reviewer"),
        words=("declined_note",),
        blanks={"declined_note": ""},
    ),
    Holding("review_items", ReviewItem, Group.NOTES, by_run(ReviewItem)),
    Holding("adjudications", Adjudication, Group.NOTES, by_run(Adjudication), blanks={"reason": ""}),
    # Interviews
    Holding("passages", Passage, Group.NOTES, by_person(Passage, "interview__participation"), anonymised=Fate.DELETED),
    Holding(
        "interview_notes",
        InterviewNote,
        Group.NOTES,
        by_person(InterviewNote, "interview__participation"),
        anonymised=Fate.DELETED,
    ),
    Holding(
        "attachments",
        Attachment,
        Group.WORK,
        by_person(Attachment, "interview__participation"),
        shown={"kind": "kind", "file": "name", "bytes": "size", "stored_at": "added_at"},
        anonymised=Fate.DELETED,
    ),
    Holding(
        "interviews",
        Interview,
        Group.WORK,
        by_person(Interview),
        shown={"guide": "instrument", "version": "version", "started_at": "started_at", "ended_at": "ended_at"},
    ),
    Holding(
        "candidate_dimensions",
        CandidateDimension,
        Group.WORK,
        by_person(CandidateDimension),
        shown={"name": "name", "definition": "definition", "example": "example", "named_at": "named_at"},
        words=("definition", "example"),
        anonymised=Fate.DELETED,
    ),
    # The team
    Holding("decisions", Decision, Group.NOTES, by_person_or_run(Decision), blanks={"reason": ""}),
    Holding("board_acts", BoardAct, Group.NOTES, by_person_or_run(BoardAct), blanks={"reason": "", "told": ""}),
    Holding(
        "questions",
        Question,
        Group.TEAM,
        by_person(Question),
        shown={
            "question": "text",
            "asked_at": "asked_at",
            "answer": "answer",
            "answered_at": "answered_at",
            "read_at": "read_at",
        },
        words=("text",),
        anonymised=Fate.DELETED,
    ),
    Holding("selection_scores", SelectionScore, Group.NOTES, by_person(SelectionScore), blanks={"points": {}}),
    Holding(
        "selection_decisions",
        SelectionDecision,
        Group.TEAM,
        by_person(SelectionDecision),
        shown={"chosen": "admitted", "decided_at": "decided_at", "mail_sent_at": "mailed_at"},
        blanks={"reason": ""},
    ),
    Holding(
        "payees",
        Payee,
        Group.YOU,
        by_person(Payee),
        shown={"prolific_id": "sealed_id"},
        anonymised=Fate.DELETED,
    ),
    Holding(
        "ledger",
        LedgerEntry,
        Group.TEAM,
        by_person(LedgerEntry),
        shown={"kind": "kind", "amount": "amount", "currency": "currency", "minutes": "minutes", "booked_at": "at"},
        erased=Fate.KEPT,
        blanks={"reason": ""},
    ),
    # The person's way
    Holding(
        "seeker_profiles",
        SeekerProfile,
        Group.COMPUTERS,
        lambda scope: profiles_about(scope.people),
        anonymised=Fate.DELETED,
    ),
    Holding("draws", Draw, Group.ASSIGNMENT, by_person(Draw)),
    Holding(
        "consents",
        Consent,
        Group.YOU,
        by_person(Consent),
        shown={
            "form": "instrument",
            "version": "version",
            "language": "language",
            "boxes": "boxes",
            "signed_at": "signed_at",
            "hash_of_the_text": "text_hash",
        },
    ),
    Holding("raters", Rater, Group.ASSIGNMENT, lambda scope: scope.raters, anonymised=Fate.CLEARED),
    Holding(
        "runs",
        ArmRun,
        Group.ASSIGNMENT,
        lambda scope: scope.runs,
        blanks={"topic": "", "external_id": "", "external_participant": ""},
    ),
    Holding(
        "conversations",
        Conversation,
        Group.CONVERSATIONS,
        by_run(Conversation),
        shown={
            "conversation": "run__position",
            "topic": "run__topic",
            "language": "language",
            "started_at": "started_at",
            "ended_at": "ended_at",
        },
        own=by_person(Conversation, "run__participation"),
        blanks={"profile": ""},
    ),
    Holding(
        "receipts",
        Receipt,
        Group.YOU,
        by_person(Receipt),
        shown={"code": "code", "what": "kind", "given_at": "given_at"},
        erased=Fate.KEPT,
        anonymised=Fate.DELETED,
    ),
    Holding(
        "participations",
        Participation,
        Group.YOU,
        lambda scope: scope.people,
        shown={
            "code": "code",
            "part": "track",
            "language": "language",
            "country": "country",
            "status": "status",
            "invited_at": "created_at",
            "started_at": "started_at",
            "ended_at": "ended_at",
            "last_seen_at": "last_seen_at",
            "seconds_spent": "active_seconds",
            "completion_code": "completion_code",
        },
        erased=Fate.CLEARED,
        anonymised=Fate.CLEARED,
    ),
)
