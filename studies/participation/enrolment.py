"""Enrolment: invitations, links, the first visit, and a person's place in the design."""

import secrets
from collections.abc import MutableMapping
from itertools import zip_longest
from typing import Any

from django.contrib.sessions.backends.base import SessionBase
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone

from studies.design.allocation import order_for
from studies.design.blocks import Place, Row
from studies.design.plan import expand, plan_for, steps_for
from studies.design.spec import COUNSELLOR, StudySpec
from studies.models import Participation, Study
from studies.models.participation import Status, digest
from studies.participation import timeouts
from studies.setup.card_blocks import beside, take_row
from studies.setup.cards import draw_cards

SESSION_KEY = "participation"
DRAWS = 20  # tries to get a place in the design when several people arrive at once


class ArmsMissing(Exception):
    """The error that too few arms are in use for this person."""


def invite(study: Study, *, track: str = "participant", is_test: bool = False) -> tuple[Participation, str]:
    """Create a person and return them with the token of their link, which is stored as a hash only."""
    token = secrets.token_urlsafe(32)
    person = Participation.objects.create(study=study, track=track, is_test=is_test, token_hash=digest(token))
    return person, token


def person_by_token(token: str) -> Participation | None:
    return Participation.objects.select_related("study").filter(token_hash=digest(token)).first()


def bind_session(session: SessionBase, participation: Participation) -> None:
    """Make this browser the person's. Somebody else's session ends, and with it access to their conversations."""
    if session.get(SESSION_KEY) in (None, participation.pk):
        session.cycle_key()
    else:
        session.flush()
    session[SESSION_KEY] = participation.pk


def person_in_session(session: MutableMapping[str, Any]) -> Participation | None:
    key = session.get(SESSION_KEY)
    return Participation.objects.select_related("study", "protocol").filter(pk=key).first() if key else None


def begin(participation: Participation) -> None:
    """Freeze the study's present version and its plan for a person on their first visit.

    It changes nothing if the study is closed or its present version has too few arms.
    """
    if participation.status == Status.INVITED:
        freeze_plan(participation)


@transaction.atomic
def freeze_plan(participation: Participation) -> None:
    # The study's row is not locked, because everybody who arrives would wait for all others.
    fresh = Participation.objects.select_for_update(of=("self",)).select_related("study").get(pk=participation.pk)
    present = fresh.study.current()
    may_begin = admits_new_people(fresh.study, is_test=fresh.is_test) and not lacks_arms(present.spec(), fresh.track)
    if fresh.status == Status.INVITED and may_begin:
        fresh.protocol = present
        fresh.plan = [step.to_json() for step in plan_for(fresh.protocol.spec(), fresh.track)]
        fresh.status = Status.APPLIED if asks_for_consent(fresh) else Status.ACTIVE
        fresh.started_at = timezone.now()
        fresh.save()
    participation.refresh_from_db()


def admits_new_people(study: Study, *, is_test: bool) -> bool:
    """Return whether somebody new may begin; test people always may, because they are in no result."""
    return is_test or not study.is_closed()


def lacks_arms(spec: StudySpec, track: str) -> bool:
    """Return whether people of this track need more arms than there are."""
    chats = any(step.kind == "chats" for step in steps_for(spec, track))
    return chats and not 1 <= spec.arms_per_person(track) <= len(spec.arms)


def asks_for_consent(participation: Participation) -> bool:
    """Return whether the person's plan has a consent form; reviewers have an agreement instead."""
    return any(step.kind == "consent" for step in participation.steps())


def is_unsigned(participation: Participation) -> bool:
    """Return whether consent was asked and not given; then nothing of theirs may stay when they leave."""
    return asks_for_consent(participation) and not participation.consents.exists()


def is_forgotten(participation: Participation) -> bool:
    """Return whether they have left and nothing of theirs was kept."""
    left = participation.status == Status.WITHDRAWN
    return left and (not participation.plan or is_unsigned(participation))


def draw_order(participation: Participation) -> None:
    """Give the person the next place in the design, and put the steps of their arms into the plan.

    It is drawn when the first conversation is next, so that people who leave earlier use up no place (PROTOCOL §1.3),
    and after absent people have been timed out. The database refuses a place that is taken; then the next one is tried.
    Raises ArmsMissing.
    """
    timeouts.time_out_absent(participation.study)
    for _ in range(DRAWS):
        try:
            with transaction.atomic():
                take_place(participation)
        except IntegrityError:
            continue
        return
    raise RuntimeError(f"no place in the design could be had for {participation.code} in {DRAWS} tries")


def take_place(participation: Participation) -> None:
    assert participation.protocol is not None  # noqa: S101 - begun before
    spec = participation.protocol.spec()
    if lacks_arms(spec, participation.track):
        raise ArmsMissing(f"{participation.protocol} has {len(spec.arms)} arms in use")
    index, places = (take_row if spec.has_block_plan(participation.track) else take_next)(participation)
    if not places:
        raise ArmsMissing(f"all arms of row {index + 1} of {participation.protocol} are paused")
    plan = expand(tuple(participation.steps()), spec, [place.arm for place in places], track=participation.track)
    participation.order, participation.order_index = [place.arm for place in places], index
    participation.cards = [place.card for place in places if place.card]
    participation.plan = [step.to_json() for step in plan]
    participation.save(update_fields=["order", "order_index", "cards", "plan"])


def take_next(participation: Participation) -> tuple[int, Row]:
    """Return the place after the last one taken; for a counsellor with cards drawn evenly."""
    order = participation.design().order
    highest = beside(participation).aggregate(highest=Max("order_index"))["highest"]
    index = 0 if highest is None else highest + 1
    arms = order_for(
        order.design,
        [arm.key for arm in participation.design().arms],
        index=index,
        seed=order.seed,
        per_person=order.arms_per_person,
    )
    plays = participation.track == COUNSELLOR
    cards = draw_cards(participation=participation, count=len(arms), index=index) if plays else []
    return index, tuple(Place(arm, card) for arm, card in zip_longest(arms, cards, fillvalue=""))
