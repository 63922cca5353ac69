"""The answers of people about their own safety, by a button or a tick, and what follows from them."""

from django.db import transaction
from django.utils import timezone

from dialogue.chat import lifecycle
from dialogue.compiled_sql import CompiledQuery
from dialogue.models import RiskEvent, Turn
from dialogue.models.conversation import EndReason
from dialogue.models.conversation import Status as ConversationStatus
from studies.care import oncall
from studies.care.acts import record_act
from studies.care.alarms import raise_alarm
from studies.models import Answer, ArmRun, Participation, SafetyAct
from studies.models.participation import Status
from studies.participation import progress
from studies.participation.locking import lock_person

Source, SafeAnswer = RiskEvent.Source, RiskEvent.SafeAnswer

UNSAFE, WORSENING = "want_support", "worsening"  # among the entries of an event: what was answered
PERSON = "person"  # as an act names someone who took part
ROLE, CONTINUES, FOLLOW_UP = "role", "continues", "follow_up"  # texts of acts, beside the three answers
LONGEST_PLACE = 500  # characters
MOOD = "valence"  # the item of a feelings check that is compared before and after a conversation


GRAVE_SIGNS = CompiledQuery(
    RiskEvent,
    lambda: (
        RiskEvent.objects.select_related("conversation")
        .filter(level__gte=3, subject="")
        .exclude(source=Source.REPLY)
        .order_by("-created_at", "-pk")[:1]
    ),
)


def get_event(person: Participation) -> RiskEvent | None:
    """Return the newest sign of level 3 or 4 that the person gave; None where there is none."""
    return GRAVE_SIGNS.first(3, person.code, Source.REPLY)


def is_open_answer(event: RiskEvent | None) -> bool:
    """Return whether the sign is "I do not feel safe", and no one on call has closed it yet."""
    return event is not None and is_choice(event) and event.released_at is None


def is_choice(event: RiskEvent) -> bool:
    """Return whether the person gave the sign by a button or a tick, so that there are no words of theirs."""
    return event.source == Source.ANSWER and UNSAFE in event.entries


def awaits_answer(event: RiskEvent | None) -> bool:
    """Return whether words in a form or a question were the sign, and the person has not said yet how safe they are."""
    if event is None or event.source != Source.ANSWER or is_choice(event):
        return False
    return event.released_at is None and not event.safe_answer


def leaves_in_danger(person: Participation, event: RiskEvent | None) -> bool:
    """Return whether the person is held, or has left since, and neither they nor a person on call have ended that."""
    if event is None or event.released_at is not None or event.role_answer == ROLE:
        return False
    return person.status in (Status.HELD, Status.WITHDRAWN) and event.safe_answer != SafeAnswer.SAFE


def is_unsafe(event: RiskEvent | None) -> bool:
    """Return whether the last that was heard from the person is that they are not safe, and no one has closed it."""
    if event is None or event.released_at is not None:
        return False
    return event.source == Source.ANSWER or event.safe_answer == SafeAnswer.NO


@transaction.atomic
def record_unsafe(person: Participation, run: ArmRun | None = None) -> RiskEvent:
    """Record "I do not feel safe" as level 4, end the person's part kindly, and alarm the one on call.

    Said again, it alarms again. Someone whose part is over keeps their status.
    """
    lock_person(person)
    person.refresh_from_db()
    event = get_event(person)
    if event is not None and is_open_answer(event):
        answer_safe(person, event, SafeAnswer.NO)
        return event
    ended = end_part(person)
    event = create_answer(person, run or ended, level=4, entry=UNSAFE)
    raise_alarm(event)
    return event


def end_part(person: Participation) -> ArmRun | None:
    """End the person's part kindly, with the conversations that are under way; return the run of the first of them."""
    under_way = person.runs.filter(conversation__isnull=False).exclude(conversation__status=ConversationStatus.CLOSED)
    runs = list(under_way)
    for run in runs:
        lifecycle.stop(run.conversation_id, EndReason.SAFETY)
    if not person.is_over():
        oncall.stop(person)
    return runs[0] if runs else None


def create_answer(person: Participation, run: ArmRun | None, *, level: int, entry: str) -> RiskEvent:
    """Store a sign that the person gave by an answer."""
    return RiskEvent.objects.create(
        conversation=run.conversation if run else None,
        subject=person.code,
        source=Source.ANSWER,
        level=level,
        entries=[entry],
        is_test=person.is_test,
    )


@transaction.atomic
def answer_safe(person: Participation, event: RiskEvent, answer: str) -> None:
    """Store the answer to "Are you safe right now?" and do what it asks for.

    "No" alarms again, and is a sign of its own where this one has been closed. "Yes, I am safe" lets the person
    continue at once where the sign was only suspected.
    """
    if answer == SafeAnswer.NO and event.released_at is not None:
        record_unsafe(person)
        return
    lock_person(person)
    fresh = RiskEvent.objects.select_for_update(of=("self",)).select_related("conversation").get(pk=event.pk)
    fresh.safe_answer, fresh.safe_answered_at = answer, timezone.now()
    fresh.save(update_fields=["safe_answer", "safe_answered_at"])
    record_act(fresh, SafetyAct.Kind.ANSWERED, by_name=PERSON, text=answer)
    if answer == SafeAnswer.NO:
        raise_alarm(fresh)
    elif answer == SafeAnswer.SAFE and fresh.suspected and may_continue(fresh):
        let_continue(person, fresh)


def may_continue(event: RiskEvent) -> bool:
    """Return whether an answer can end this hold: never at level 4, whatever found it."""
    return event.level == 3 and event.released_at is None and event.continued_at is None


def needs_check(person: Participation, event: RiskEvent) -> bool:
    """Return whether one more question stands between the person and their conversation."""
    continues = person.design().safety.after_safe == "continue"
    return continues and event.safe_answer == SafeAnswer.SAFE and may_continue(event)


def get_rule(person: Participation, event: RiskEvent) -> str:
    """Return what "Yes, I am safe" leads to: "continue" at once, "check" for one more question, "wait" for the one on
    call, or "role" where a counsellor is asked instead whether the words were the role's."""
    continues = person.design().safety.after_safe == "continue"
    if event.level == 4 and continues and asks_about_role(event):
        return "role"
    if not may_continue(event):
        return "wait"
    if event.suspected:
        return "continue"
    return "check" if continues else "wait"


@transaction.atomic
def pass_check(person: Participation, event: RiskEvent) -> None:
    """Let someone continue who has said twice that they are safe."""
    lock_person(person)
    fresh = RiskEvent.objects.select_for_update(of=("self",)).get(pk=event.pk)
    if needs_check(person, fresh):
        let_continue(person, fresh)


def let_continue(person: Participation, event: RiskEvent) -> None:
    """Let the person's study go on where it waited; the sign stays open for review."""
    event.continued_at = timezone.now()
    event.save(update_fields=["continued_at"])
    record_act(event, SafetyAct.Kind.ANSWERED, by_name=PERSON, text=CONTINUES)
    fresh = lock_person(person)
    if fresh.status == Status.HELD:
        progress.set_status(fresh, fresh.status_under_way())
    if event.conversation_id:
        lifecycle.release(event.conversation_id)


@transaction.atomic
def store_place(event: RiskEvent, place: str) -> None:
    """Store where the person says that they are. It stands on the event alone, and goes into no mail."""
    record_act(event, SafetyAct.Kind.WHERE, by_name=PERSON, text=place[:LONGEST_PLACE])


# Role-play


def asks_about_role(event: RiskEvent) -> bool:
    """Return whether a counsellor has still to say whose words these were."""
    role_play = event.conversation is not None and event.conversation.role_play
    return role_play and event.source == Source.MESSAGE and not event.role_answer


def get_unanswered_role_sign(person: Participation) -> RiskEvent | None:
    """Return the first grave sign of an earlier conversation about which a counsellor has not said whose words they
    were; None where there is none, or a person on call has closed it."""
    signs = RiskEvent.objects.filter(subject=person.code, source=Source.MESSAGE, level__gte=3, role_answer="")
    over = signs.filter(conversation__role_play=True, conversation__status=ConversationStatus.CLOSED)
    unsettled = over.filter(released_at=None, continued_at=None)
    return unsettled.select_related("conversation").order_by("created_at", "pk").first()


def get_words(event: RiskEvent) -> str:
    """Return the message that gave the sign; empty where none did."""
    if event.conversation_id is None or event.source != Source.MESSAGE:
        return ""
    texts = Turn.objects.filter(conversation=event.conversation_id, number=event.turn).values_list("text", flat=True)
    return texts.first() or ""


def has_said_role(event: RiskEvent) -> bool:
    """Return whether a counsellor has said once that a sign of level 4 was the role, and is asked once more."""
    return event.acts.filter(kind=SafetyAct.Kind.ANSWERED, text=ROLE).exists()


@transaction.atomic
def answer_role(event: RiskEvent, answer: str) -> bool:
    """Store whose words they were, "role" or "me"; return whether that is now settled.

    At level 4, "role" must be said twice. Then the study's rule for level 3 holds: the conversation continues, or it
    waits for the one on call.
    """
    person = lock_person(Participation.objects.get(code=event.subject))
    fresh = RiskEvent.objects.select_for_update(of=("self",)).select_related("conversation").get(pk=event.pk)
    if not asks_about_role(fresh):
        return True
    twice = has_said_role(fresh)
    if fresh.level == 4:
        record_act(fresh, SafetyAct.Kind.ANSWERED, by_name=PERSON, text=answer)
        if answer == ROLE and not twice:
            return False
    oncall.handle_role_answer(fresh, answer)
    if fresh.level == 4 and answer == ROLE and person.design().safety.after_safe == "continue":
        let_continue(person, fresh)
    return True


# Feeling much worse after a conversation


def has_become_worse(person: Participation, run: ArmRun, mood: int, *, by: int | None) -> bool:
    """Return whether the mood after a conversation lies at least `by` points below the mood before it."""
    before = Answer.objects.filter(
        response__rater__participation=person, response__run=run, response__moment="pre", item=MOOD
    ).first()
    return by is not None and before is not None and before.value is not None and before.value - mood >= by


def record_worsening(person: Participation, run: ArmRun) -> RiskEvent:
    """Store that someone feels much worse than before their conversation."""
    return create_answer(person, run, level=2, entry=WORSENING)


def get_worsening(person: Participation, run: ArmRun) -> RiskEvent | None:
    """Return the sign that this conversation left the person much worse."""
    signs = RiskEvent.objects.filter(subject=person.code, conversation=run.conversation_id, source=Source.ANSWER)
    return next((one for one in signs.order_by("-pk") if WORSENING in one.entries), None)


@transaction.atomic
def ask_for_follow_up(event: RiskEvent) -> None:
    """Store that the person would like someone to write to them, and tell the one on call."""
    if not event.acts.filter(kind=SafetyAct.Kind.ANSWERED, text=FOLLOW_UP).exists():
        record_act(event, SafetyAct.Kind.ANSWERED, by_name=PERSON, text=FOLLOW_UP)
        raise_alarm(event)
