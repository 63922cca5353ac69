"""Exclusions from the results: two coders must agree, each before they see the other's decision.

A single conversation can also be left out by one of the team (`board_acts`); coders do not undo that.

Pay and completion codes depend on neither (PROTOCOL §1.4).
"""

from collections.abc import Iterable
from enum import StrEnum
from itertools import chain

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Count, QuerySet

from studies.models import ArmRun, BoardAct, Decision, Participation, Study
from studies.participation.counts import filter_by_test

CODERS = 2
LONGEST_REASON = 200  # of Participation.exclusion_reason

Subject = Participation | ArmRun


class Verdict(StrEnum):
    OPEN = "open"  # fewer than two have decided
    KEEP = "keep"
    LEAVE_OUT = "leave_out"
    DIFFER = "differ"


def verdict(decisions: Iterable[Decision]) -> Verdict:
    votes = [decision.keep for decision in decisions]
    if len(votes) < CODERS:
        return Verdict.OPEN
    if all(votes):
        return Verdict.KEEP
    return Verdict.DIFFER if any(votes) else Verdict.LEAVE_OUT


@transaction.atomic
def decide(*, subject: Subject, coder: AbstractBaseUser, keep: bool, reason: str) -> None:
    """Store a coder's decision on a person or a conversation, in place of their earlier one."""
    before = lock_verdict(subject)
    Decision.objects.update_or_create(**subject_fields(subject), coder=coder, defaults={"keep": keep, "reason": reason})
    settle(subject, before)


@transaction.atomic
def withdraw_decision(*, subject: Subject, coder: AbstractBaseUser) -> None:
    before = lock_verdict(subject)
    subject.decisions.filter(coder=coder).delete()
    settle(subject, before)


def lock_verdict(subject: Subject) -> Verdict:
    """Lock the row, so that two coders at the same moment follow one another, and return its verdict."""
    type(subject).objects.select_for_update().get(pk=subject.pk)
    return verdict(subject.decisions.all())


def subject_fields(subject: Subject) -> dict[str, Subject]:
    return {"participation" if isinstance(subject, Participation) else "run": subject}


def settle(subject: Subject, before: Verdict) -> None:
    """Apply a change of the verdict. Exclusions for other reasons, such as an import's, stay."""
    decisions = list(subject.decisions.order_by("pk"))
    after = verdict(decisions)
    if after == Verdict.LEAVE_OUT:
        leave_out(subject, decisions)
    elif before == Verdict.LEAVE_OUT:
        restore(subject)


def leave_out(subject: Subject, decisions: Iterable[Decision]) -> None:
    if isinstance(subject, Participation):
        reasons = dict.fromkeys(decision.reason for decision in decisions)
        subject.excluded, subject.exclusion_reason = True, "; ".join(reasons)[:LONGEST_REASON]
        subject.save(update_fields=["excluded", "exclusion_reason"])
    else:
        subject.valid = False
        subject.save(update_fields=["valid"])


def restore(subject: Subject) -> None:
    if isinstance(subject, Participation):
        subject.excluded, subject.exclusion_reason = False, ""
        subject.save(update_fields=["excluded", "exclusion_reason"])
    else:
        subject.valid = mark_of(subject) is None
        subject.save(update_fields=["valid"])


def mark_of(run: ArmRun) -> BoardAct | None:
    """Return the act by which one of the team left the conversation out; None if it is not, or counts again."""
    marks = (BoardAct.Kind.MARKED_INVALID, BoardAct.Kind.MARKED_VALID)
    act = run.board_acts.filter(kind__in=marks).order_by("at", "pk").last()
    return act if act and act.kind == BoardAct.Kind.MARKED_INVALID else None


def disagreements(study: Study, *, test: str = "") -> list[Subject]:
    """Return the subjects on which two coders differ. `test`: as in `counts.filter_by_test`."""
    people, runs = filter_by_test(study.participations.all(), test), filter_by_test(study.runs.all(), test)
    subjects: Iterable[Subject] = chain(
        subjects_with_decisions(people), subjects_with_decisions(runs.select_related("conversation", "participation"))
    )
    return [subject for subject in subjects if verdict(subject.decisions.all()) == Verdict.DIFFER]


def subjects_with_decisions(rows: QuerySet) -> QuerySet:
    several = rows.filter(decisions__isnull=False).annotate(coders=Count("decisions")).filter(coders__gte=CODERS)
    return several.order_by("pk").prefetch_related("decisions")
