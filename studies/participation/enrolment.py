"""Enrolment: invitations, links, the first visit, and a person's place in the design."""

import secrets
from collections.abc import MutableMapping
from typing import Any

from django.contrib.sessions.backends.base import SessionBase
from django.db import transaction
from django.utils import timezone

from dialogue.compiled_sql import CompiledQuery
from studies.allocation.drawing import draw_arms, lock, warm_up
from studies.allocation.places import has_place, places_of
from studies.design.plan import expand, plan_for, steps_for
from studies.design.spec import StudySpec
from studies.models import Participation, Receipt, Study
from studies.models.participation import Status, digest
from studies.participation import timeouts

SESSION_KEY = "participation"
LINK_KEY = "link"  # the hash of the link by which the browser came


class ArmsMissing(Exception):
    """The error that too few arms are in use for this person."""


def invite(study: Study, *, track: str = "participant", is_test: bool = False) -> tuple[Participation, str]:
    """Create a person and return them with the token of their link, which is stored as a hash only."""
    token = secrets.token_urlsafe(32)
    person = Participation.objects.create(study=study, track=track, is_test=is_test, token_hash=digest(token))
    return person, token


def person_by_token(token: str) -> Participation | None:
    return Participation.objects.select_related("study").filter(token_hash=digest(token)).first()


def bind_link(person: Participation, browser: str) -> bool:
    """Return whether the person's link works in this browser. Where the study has but one, the first is theirs."""
    if not person.design().one_browser:
        return True
    Participation.objects.filter(pk=person.pk, browser_hash="").update(browser_hash=digest(browser))
    person.refresh_from_db(fields=["browser_hash"])
    return admits_browser(person, browser)


def admits_browser(person: Participation, browser: str) -> bool:
    """Return whether the person's link works in this browser, or has not been started in any."""
    return not person.design().one_browser or person.browser_hash in ("", digest(browser))


def bind_session(session: SessionBase, participation: Participation) -> None:
    """Make this browser the person's. Someone else's session ends, and with it access to their conversations."""
    if session.get(SESSION_KEY) in (None, participation.pk):
        session.cycle_key()
    else:
        session.flush()
    session[SESSION_KEY], session[LINK_KEY] = participation.pk, participation.token_hash


PERSON = CompiledQuery(
    Participation, lambda: Participation.objects.select_related("study", "protocol").filter(pk=0).order_by()
)


def person_in_session(session: MutableMapping[str, Any]) -> Participation | None:
    key = session.get(SESSION_KEY)
    person = PERSON.first(key) if key else None
    return person if person and came_by_their_link(session, person) else None


def came_by_their_link(session: MutableMapping[str, Any], person: Participation) -> bool:
    """Return False where the person has been given a new link since. After an erasure the farewell is still shown."""
    return person.is_erased() or session.get(LINK_KEY, person.token_hash) == person.token_hash


def start(participation: Participation) -> None:
    """Freeze the study's present version and its plan for a person on their first visit.

    It changes nothing if the study is closed or full, or its present version has too few arms.
    """
    if participation.status == Status.INVITED:
        if places_of(participation.study, participation.track):
            timeouts.time_out_absent(participation.study)
        freeze_plan(participation)


@transaction.atomic
def freeze_plan(participation: Participation) -> None:
    # The study's row is not locked, because everyone who arrives would wait for all others; where places are counted,
    # they must.
    fresh = Participation.objects.select_for_update(of=("self",)).select_related("study").get(pk=participation.pk)
    present = fresh.study.current()
    if places_of(fresh.study, fresh.track):
        lock(present)
    if fresh.status == Status.INVITED and may_start(fresh) and not lacks_arms(present.spec(), fresh.track):
        fresh.protocol = present
        fresh.plan = [step.to_json() for step in plan_for(fresh.protocol.spec(), fresh.track)]
        fresh.status = Status.APPLIED if asks_for_consent(fresh) else Status.ACTIVE
        fresh.started_at = timezone.now()
        fresh.save()
    participation.refresh_from_db()


def admits_new_people(study: Study, *, is_test: bool) -> bool:
    """Return whether someone new may begin; test people always may, because they are in no result."""
    return is_test or study.is_open()


def may_start(person: Participation) -> bool:
    """Return whether the study is open and has a place for someone who has not begun."""
    study = person.study
    return admits_new_people(study, is_test=person.is_test) and has_place(study, person.track, is_test=person.is_test)


def is_full(study: Study, track: str, *, is_test: bool = False) -> bool:
    """Return whether all places are taken, after absent people have been timed out."""
    if has_place(study, track, is_test=is_test):
        return False
    timeouts.time_out_absent(study)
    return not has_place(study, track, is_test=is_test)


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


def is_erased_by_team(participation: Participation) -> bool:
    """Return whether the team deleted their data, on request or when the study's time to keep them was over: those who
    did it themselves have a receipt that says so."""
    return participation.is_erased() and not participation.receipts.filter(kind=Receipt.Kind.DELETED).exists()


def draw_order(participation: Participation) -> None:
    """Draw the person's arms, and put the steps of these arms into the plan. Once drawn, they stay.

    They are drawn when the first conversation is next, so that people who leave earlier use up no place (PROTOCOL
    §1.3), and after absent people have been timed out, whose places are free again. Raises ArmsMissing.
    """
    assert participation.protocol is not None  # noqa: S101 - begun before
    spec = participation.protocol.spec()
    if lacks_arms(spec, participation.track):
        raise ArmsMissing(f"{participation.protocol} has {len(spec.arms)} arms in use")
    timeouts.time_out_absent(participation.study)
    warm_up(spec, participation.track)
    with transaction.atomic():
        lock_draws(participation)
        if not participation.order:
            take_place(participation)


def lock_draws(participation: Participation) -> None:
    """Lock the person and then the draws of their version, and see whether another tab has drawn meanwhile."""
    drawn = Participation.objects.select_for_update(of=("self",)).get(pk=participation.pk)
    if drawn.order:
        participation.refresh_from_db()
    else:
        lock(drawn.protocol)


def take_place(participation: Participation) -> None:
    draw = draw_arms(participation)
    if not draw.order:
        raise ArmsMissing(f"all arms of row {draw.number + 1} of {participation.protocol} are paused")
    plan = expand(tuple(participation.steps()), participation.design(), draw.order, track=participation.track)
    participation.order, participation.order_index, participation.cards = draw.order, draw.number, draw.cards
    participation.plan = [step.to_json() for step in plan]
    participation.save(update_fields=["order", "order_index", "cards", "plan"])
    draw.save()
