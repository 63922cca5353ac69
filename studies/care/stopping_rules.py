"""Stopping rules: how safe each arm has been so far, and when an arm is paused by itself."""

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.db.models import Count, Max, Sum
from django.utils import timezone

from dialogue.models import RiskEvent
from studies.design.safety_rules import StoppingRule
from studies.models import Arm, StoppedArm, Study
from studies.workbench.delivery_faults import name_mail_fault

log = logging.getLogger(__name__)

WORSENING = "worsening"  # among the entries of an event: the person felt much worse after the conversation
TELL_AGAIN = timedelta(minutes=1)  # between two tries to mail the officer; longer than a mail server may take
COUNTED = ("events", "worsening", "withheld")


@dataclass(frozen=True)
class Tally:
    """The number of an arm's `of` conversations with at least one such event, and the exact 95 % interval."""

    count: int
    of: int
    low: float
    high: float


@dataclass(frozen=True)
class ArmSafety:
    """One row for each arm of the study's present version; `tallies` by what a stopping rule counts."""

    arm: str
    title: str
    paused: bool
    tallies: dict[str, Tally]


def get_arm_safety(study: Study) -> list[ArmSafety]:
    """Count real people's conversations by arm. Only for those with the permission `safety`: it unblinds."""
    runs = study.runs.people()
    conversations = dict(runs.values_list("arm").annotate(Count("pk")))
    by_rule = _count_by_arm(study)
    return [
        ArmSafety(
            arm=arm.key,
            title=arm.name(),
            paused=arm.paused,
            tallies={name: _tally(by_rule[name][arm.key], conversations.get(arm.key, 0)) for name in COUNTED},
        )
        for arm in study.current().arms.order_by("number", "pk")
    ]


def _count_by_arm(study: Study) -> dict[str, Counter[str]]:
    """Return by what is counted how many conversations with each arm had it. Words that were a role's do not count."""
    events = RiskEvent.objects.exclude(role_answer="role").filter(conversation__run__in=study.runs.people())
    affected: dict[str, dict[int, str]] = {name: {} for name in COUNTED}
    for event in events.select_related("conversation__run"):
        for name in COUNTED:
            if _counts_as(event, name):
                affected[name][event.conversation_id] = event.conversation.run.arm
    return {name: Counter(arms.values()) for name, arms in affected.items()}


def _counts_as(event: RiskEvent, name: str) -> bool:
    match name:
        case "events":
            return event.level >= 3 and event.source != RiskEvent.Source.REPLY
        case "withheld":
            return event.level >= 3 and event.source == RiskEvent.Source.REPLY
        case _:
            return WORSENING in event.entries


def _tally(count: int, of: int) -> Tally:
    from studies.analysis.measures.proportions import exact_interval  # scipy is slow to load, and few pages need it

    low, high = exact_interval(count, of) if of else (0.0, 1.0)
    return Tally(count, of, low, high)


def apply_rules(study: Study) -> list[StoppedArm]:
    """Pause each arm that meets a rule of the study, once for each rule, and tell the safety officer."""
    rules = study.current().spec().safety.stopping_rules
    if not rules:
        return []
    stopped = [
        stop
        for arm in get_arm_safety(study)
        for rule in rules
        if is_met(rule, arm.tallies[rule.count]) and (stop := pause_arm(study, arm, rule))
    ]
    tell_officer(study)
    return stopped


def is_met(rule: StoppingRule, tally: Tally) -> bool:
    return tally.count >= rule.at_least and (rule.share is None or tally.low > rule.share)


@transaction.atomic
def pause_arm(study: Study, arm: ArmSafety, rule: StoppingRule) -> StoppedArm | None:
    """Pause the arm in every version of the study; None where this rule has paused it before, and a person since
    decided otherwise."""
    Study.objects.select_for_update().get(pk=study.pk)
    row = study.current().arms.get(key=arm.arm)
    described = asdict(rule)
    if StoppedArm.objects.filter(study=study, arm__key=arm.arm, rule=described).exists():
        return None
    Arm.objects.filter(protocol__study=study, key=arm.arm).update(paused=True)
    tally = arm.tallies[rule.count]
    return StoppedArm.objects.create(study=study, arm=row, rule=described, count=tally.count, of=tally.of)


def get_stops(study: Study) -> Mapping[str, StoppedArm]:
    """Return the latest pause by a rule of each arm that is paused and was not resumed by one of the team since."""
    stops = study.stopped_arms.filter(arm__paused=True).select_related("arm").order_by("at", "pk")
    acts = dict(study.board_acts.exclude(arm="").order_by().values_list("arm").annotate(Max("at")))
    latest = {stop.arm.key: stop for stop in stops}
    return {key: stop for key, stop in latest.items() if key not in acts or acts[key] < stop.at}


def tell_officer(study: Study) -> None:
    """Mail the safety officer about arms that were paused and of which they do not know yet.

    A process claims a row by moving `officer_due_at` ahead. If it dies before the mail is out, or the mail server
    refuses, another look finds the row when that time has come.
    """
    officer = study.current().spec().safety.officer_email
    now = timezone.now()
    untold = StoppedArm.objects.filter(study=study, officer_told_at=None)
    for stop in untold.filter(officer_due_at__lte=now).select_related("arm") if officer else ():
        claimed = untold.filter(pk=stop.pk, officer_due_at=stop.officer_due_at)
        if not claimed.update(officer_due_at=now + TELL_AGAIN):
            continue
        try:
            send_mail(_subject(study), _body(study, stop), settings.DEFAULT_FROM_EMAIL, [officer])
        except OSError as error:  # smtplib's errors are OSErrors
            why = name_mail_fault(error).in_english()
            log.error("study %s: the safety officer could not be told of a paused arm: %s", study.key, why)
        else:
            StoppedArm.objects.filter(pk=stop.pk).update(officer_told_at=timezone.now())


class Watch:
    """A watch that applies the rules of all studies at each new event, and tells again whom it could not tell.

    The clock of alarms calls it. A new process looks at everything once, so nothing depends on what one remembers.
    """

    def __init__(self) -> None:
        self.seen: dict[str, int | None] | None = None

    def look(self) -> None:
        # The second line can raise the level of an event that is there already.
        seen = RiskEvent.objects.aggregate(newest=Max("pk"), levels=Sum("level"))
        if seen != self.seen:
            for study in Study.objects.filter(protocols__isnull=False).distinct():
                apply_rules(study)
            self.seen = seen
        untold = StoppedArm.objects.filter(officer_told_at=None, officer_due_at__lte=timezone.now())
        for study in Study.objects.filter(pk__in=untold.values("study")):
            tell_officer(study)


def _subject(study: Study) -> str:
    return f"[emostudy] {study.key}: a stopping rule has paused an arm"


def _body(study: Study, stop: StoppedArm) -> str:
    return (
        f"Study: {study.key}\nArm: {stop.arm.key}\n"
        f"Rule: {stop.rule['count']}, at least {stop.rule['at_least']}\n"
        f"Count: {stop.count} of {stop.of} conversations\n\n"
        "New people are no longer given this arm. Conversations that have begun continue. Please look at the safety "
        "desk, and decide with the research team whether the arm stays paused. This mail names the arm: do not pass "
        "it on to colleagues who are blind to it.\n"
    )
