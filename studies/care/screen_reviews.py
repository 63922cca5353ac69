"""A measure of how well the screen notices grave danger in this study.

A second person reads messages that it held and a random sample of those that it let pass, without being told which is
which.
"""

import random
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import QuerySet

from dialogue.models import RiskEvent, Turn
from studies.care.acts import record_act
from studies.models import SafetyAct, ScreenReview, Study

GRAVE = 3  # from this level on a message is grave
SAMPLE = 100  # messages of the study that passed and are to be read
SEED = 20260104


def get_messages_of(study: Study) -> QuerySet[Turn]:
    """Return all messages of the study's people, role-play apart: there, words of danger are the role's."""
    return Turn.objects.filter(conversation__run__in=study.runs.people(), conversation__role_play=False)


def get_sample(study: Study) -> list[int]:
    """Return the messages that passed and are to be read, by primary key.

    Each message has a number that its key and the seed alone decide, and the lowest numbers are taken. So the sample is
    random, and one that is drawn later keeps most of what was read before.
    """
    passed = get_messages_of(study).filter(risk_level__lt=GRAVE).values_list("pk", flat=True)
    return sorted(passed, key=lambda pk: random.Random(f"{SEED} {pk}").random())[:SAMPLE]


def get_next_message(study: Study, *, user: AbstractBaseUser) -> Turn | None:
    """Return the next message for `user` to read: of those held only such that someone else has settled."""
    held = get_messages_of(study).filter(risk_level__gte=GRAVE)
    own = SafetyAct.objects.filter(by=user).values("event__conversation", "event__turn")
    handled = {(act["event__conversation"], act["event__turn"]) for act in own}
    waiting = [*held.values_list("pk", flat=True), *get_sample(study)]
    reviewed = set(ScreenReview.objects.filter(turn__in=waiting).values_list("turn", flat=True))
    for pk in sorted(set(waiting) - reviewed, key=lambda pk: random.Random(f"{SEED} order {pk}").random()):
        turn = Turn.objects.select_related("conversation").get(pk=pk)
        if (turn.conversation_id, turn.number) not in handled:
            return turn
    return None


@transaction.atomic
def store_review(turn: Turn, *, grave: bool, by: AbstractBaseUser) -> None:
    """Store what the second reader says. The first word stays."""
    _review, is_new = ScreenReview.objects.get_or_create(turn=turn, defaults={"by": by, "grave": grave})
    events = RiskEvent.objects.filter(conversation=turn.conversation_id, turn=turn.number, source="message")
    for event in events if is_new else ():
        record_act(event, SafetyAct.Kind.REVIEWED, by=by, text="real" if grave else "false alarm")


@dataclass(frozen=True)
class Share:
    """A share of messages: `hits` of `of` that were read, and the exact 95 % interval; None where none was read."""

    hits: int
    of: int
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class ScreenQuality:
    """The quality of the screen.

    `held` and `passed` count messages; `recall` is the estimated share of grave messages that were held.
    """

    held: int
    passed: int
    real: Share  # of the held ones that were read
    missed: Share  # of the sample that passed
    recall: float | None
    recall_low: float | None
    recall_high: float | None


def get_screen_quality(study: Study) -> ScreenQuality:
    """Estimate how many grave messages the screen holds here, from what was read so far."""
    from studies.analysis.measures.recall import estimate_recall  # scipy is slow to load, and few pages need it

    messages = get_messages_of(study)
    held = messages.filter(risk_level__gte=GRAVE).count()
    passed = messages.filter(risk_level__lt=GRAVE).count()
    reviews = ScreenReview.objects.filter(turn__in=messages)
    real = _share(reviews.filter(turn__risk_level__gte=GRAVE))
    missed = _share(reviews.filter(turn__risk_level__lt=GRAVE, turn__in=get_sample(study)))
    recall = estimate_recall((real.hits, real.of, held), (missed.hits, missed.of, passed))
    return ScreenQuality(held, passed, real, missed, *(recall or (None, None, None)))


def _share(reviews: QuerySet[ScreenReview]) -> Share:
    from studies.analysis.measures.proportions import exact_interval

    of, hits = reviews.count(), reviews.filter(grave=True).count()
    return Share(hits, of, hits / of, *exact_interval(hits, of)) if of else Share(0, 0, None, None, None)
