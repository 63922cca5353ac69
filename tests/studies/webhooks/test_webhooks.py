"""Webhooks: which events are told, signed, tried again, given up; and what the API and the page do with them."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.utils import timezone, translation

from studies.connections.tokens import create_token
from studies.connections.webhook_pages import WebhookForm
from studies.connections.webhooks import create_webhook, stop_webhook
from studies.life import stages
from studies.models import Delivery, Participation, Stage, Study, Task, Webhook
from studies.models.participation import Status
from studies.participation import progress, timeouts
from studies.webhooks import deliveries
from studies.webhooks.events import forget_old_deliveries
from studies.workbench import tasks
from tests import factories
from tests.studies.care.servers import Hook, webhook_server

pytestmark = pytest.mark.django_db

EVENTS = Webhook.Event


@pytest.fixture
def study() -> Study:
    return factories.study()


@pytest.fixture
def ada() -> User:
    return User.objects.create(username="ada", is_staff=True, is_superuser=True)


@pytest.fixture
def receiver() -> Iterator[Hook]:
    hook = Hook()
    with webhook_server(hook):
        yield hook


@pytest.fixture
def webhook(study: Study, ada: User, receiver: Hook) -> Webhook:
    return create_webhook(study, ada, address=receiver.address, events=EVENTS.values)


def send() -> int:
    """Send what is due, also what waits for a later try."""
    Delivery.objects.update(due_at=timezone.now())
    return deliveries.send_due()


# Events


def complete(study: Study) -> Participation:
    person = factories.person(study, plan=[])
    assert progress.complete(person) == []
    return person


def test_completed_person_is_told_without_a_word_of_theirs(study, webhook, receiver):
    person = complete(study)

    assert send() == 1

    (body,) = receiver.bodies()
    assert (body["event"], body["study"]) == ("person.completed", "demo")
    assert body["data"] == {"person": person.code, "track": "participant", "status": "completed", "test": False}
    assert receiver.is_signed(webhook.get_key())
    assert receiver.requests[0][0]["X-Emostudy-Delivery"] == body["id"]
    assert not receiver.is_signed("whk_other")


def leave(person: Participation) -> None:
    progress.leave(person)


def stop_for_safety(person: Participation) -> None:
    progress.set_status(person, Status.STOPPED)


@pytest.mark.parametrize(("end", "status"), [(leave, "withdrawn"), (stop_for_safety, "stopped")])
def test_person_who_ends_otherwise_is_told(end, status, study, webhook):
    end(factories.person(study))

    assert [(row.event, row.body["data"]["status"]) for row in Delivery.objects.all()] == [("person.ended", status)]


def test_person_who_stays_away_is_told(ada):
    study = factories.study("patient", gone_after_days=1)
    create_webhook(study, ada, address="http://127.0.0.1:9/", events=EVENTS.values)
    person = factories.person(study)
    long_ago = timezone.now() - timedelta(days=3)
    Participation.objects.update(created_at=long_ago, started_at=long_ago, last_seen_at=long_ago)

    for _ in range(2):
        timeouts.time_out_absent(study)

    (row,) = Delivery.objects.all()
    assert row.body["data"] == {
        "person": person.code,
        "track": "participant",
        "status": "timed_out",
        "test": False,
    }


def test_stages_are_told_once_each(study, webhook, ada):
    who = stages.Actor.of(ada)
    for stage in (Stage.PAUSED, Stage.PAUSED, Stage.OPEN, Stage.CLOSED, Stage.ARCHIVED):
        stages.move(study, stage, who, reason="more people")

    told = [row.event for row in Delivery.objects.order_by("pk")]
    assert told == ["study.paused", "study.opened", "study.closed"]


@pytest.mark.parametrize("state", [Task.State.DONE, Task.State.FAILED])
def test_ended_task_is_told_once(state, study, webhook):
    task = Task.objects.create(study=study, command="judge")

    assert [tasks.finish(task.pk, state) for _ in range(2)] == [True, False]

    (row,) = Delivery.objects.all()
    assert row.body["data"] == {"number": task.pk, "command": "judge", "state": state}


def test_only_wanted_events_of_the_own_study_are_told(study, ada):
    create_webhook(study, ada, address="http://127.0.0.1:9/", events=["study.closed"])
    other = factories.study("another")

    complete(study)
    stages.move(other, Stage.CLOSED, stages.Actor.of(ada))

    assert not Delivery.objects.exists()


def test_event_that_is_rolled_back_is_not_told(study, webhook):
    with transaction.atomic():
        complete(study)
        transaction.set_rollback(True)

    assert not Delivery.objects.exists()


# Sending


def test_refused_delivery_is_tried_again_with_the_same_id_until_it_is_taken(study, webhook, receiver):
    receiver.status = 503
    complete(study)
    waits = []
    for _ in range(3):
        assert send() == 0
        row = Delivery.objects.get()
        waits.append(round((row.due_at - timezone.now()) / timedelta(minutes=1)))
    receiver.status = 204
    assert send() == 1

    row = Delivery.objects.get()
    assert waits == [1, 5, 30]
    assert (row.attempts, row.answer, row.given_up_at) == (4, "204", None)
    assert {body["id"] for body in receiver.bodies()} == {str(row.id_of_event)}
    assert send() == 0


def test_delivery_that_nobody_takes_is_given_up(study, webhook, receiver):
    receiver.status = 500
    complete(study)
    for _ in range(len(deliveries.WAITS) + 3):
        send()

    row = Delivery.objects.get()
    assert (row.attempts, row.answer) == (len(deliveries.WAITS) + 1, "the webhook answered 500")
    assert row.given_up_at is not None
    assert len(receiver.requests) == row.attempts


def test_nothing_is_sent_before_it_is_due_or_after_a_stop(study, webhook, receiver):
    complete(study)
    Delivery.objects.update(due_at=timezone.now() + timedelta(minutes=1))
    assert deliveries.send_due() == 0

    stop_webhook(webhook)
    assert send() == 0
    complete(study)
    assert (Delivery.objects.count(), receiver.requests) == (1, [])


def test_delivery_is_claimed_by_one_process(study, webhook):
    complete(study)
    mine, theirs = Delivery.objects.get(), Delivery.objects.get()

    assert [deliveries.claim(mine), deliveries.claim(theirs)] == [True, False]


def test_redirect_is_not_followed(study, webhook, receiver):
    receiver.status, receiver.location = 302, "http://127.0.0.1:9/elsewhere"
    complete(study)

    assert send() == 0
    assert Delivery.objects.get().answer == "the webhook answered 302"


def test_old_log_is_deleted_but_not_what_is_still_to_be_sent(study, webhook):
    for sent_at in (timezone.now(), None):
        complete(study)
        Delivery.objects.filter(sent_at=None).update(sent_at=sent_at)
    Delivery.objects.update(created_at=timezone.now() - timedelta(days=31))

    forget_old_deliveries()

    assert Delivery.objects.get().sent_at is None


def test_key_is_not_in_the_database(webhook):
    rows = [*Webhook.objects.values_list(), *Delivery.objects.values_list()]
    assert webhook.get_key().removeprefix("whk_") not in str(rows)


# The API


@pytest.fixture
def program(ada: User) -> Client:
    _row, token = create_token(ada, name="a script", scopes=["read", "write"])
    return Client(headers={"Authorization": f"Bearer {token}"})


def post(client: Client, path: str, body: Any = None) -> Any:
    return client.post(f"/api/v1/studies/demo/webhooks/{path}", body or {}, content_type="application/json")


def test_program_makes_tries_and_stops_a_webhook(program, study, receiver):
    made = post(program, "", {"address": receiver.address, "events": ["study.closed"]})
    assert made.status_code == 201
    number, key = made.json()["number"], made.json()["key"]
    (listed,) = program.get("/api/v1/studies/demo/webhooks/").json()
    assert (listed["number"], "key" in listed) == (number, False)

    assert post(program, f"{number}/ping/").status_code == 202
    assert send() == 1
    assert (receiver.bodies()[0]["event"], receiver.is_signed(key)) == ("ping", True)
    (logged,) = program.get(f"/api/v1/studies/demo/webhooks/{number}/deliveries/").json()["results"]
    assert (logged["event"], logged["attempts"], logged["answer"]) == ("ping", 1, "200")

    assert program.delete(f"/api/v1/studies/demo/webhooks/{number}/").status_code == 204
    assert post(program, f"{number}/ping/").status_code == 409
    assert program.get(f"/api/v1/studies/demo/webhooks/{number}/").json()["stopped_at"]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"address": "ftp://example.org/"}, "address"),
        ({"address": "example"}, "address"),
        ({"events": []}, "events"),
        ({"events": ["person.cried"]}, "events"),
    ],
)
def test_wrong_webhooks_are_refused(wrong, field, program, study):
    response = post(program, "", {"address": "https://example.org/", "events": ["study.closed"], **wrong})

    assert (response.status_code, list(response.json())) == (400, [field])


def test_webhook_of_another_study_is_not_there(program, webhook):
    factories.study("another")

    assert program.get(f"/api/v1/studies/another/webhooks/{webhook.pk}/").status_code == 404
    assert program.delete(f"/api/v1/studies/another/webhooks/{webhook.pk}/").status_code == 404


# The page


@pytest.fixture
def desk(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


PAGE = "/research/demo/webhooks/"


def test_page_makes_a_webhook_and_shows_its_key_once(desk, study, receiver):
    page = desk.post(PAGE, {"address": receiver.address, "events": ["task.ended", "study.closed"]})

    row = Webhook.objects.get()
    assert row.get_key() in page.content.decode()
    assert (row.events, row.created_by_name) == (["study.closed", "task.ended"], "ada")
    assert row.get_key() not in desk.get(PAGE).content.decode()


def test_page_pings_and_shows_what_came_of_it(desk, study, webhook, receiver):
    receiver.status = 410
    assert desk.post(f"{PAGE}{webhook.pk}/ping/")["Location"] == PAGE
    send()

    assert "The receiver answered 410." in desk.get(PAGE).content.decode()
    assert "接收方返回 410。" in desk.get(PAGE, headers={"accept-language": "zh-hans"}).content.decode()


def test_page_stops_a_webhook(desk, webhook):
    assert desk.post(f"{PAGE}{webhook.pk}/stop/")["Location"] == PAGE
    webhook.refresh_from_db()
    assert webhook.stopped_at
    assert desk.post(f"{PAGE}{webhook.pk}/ping/").status_code == 404


@pytest.mark.parametrize("wrong", [{"address": "nowhere"}, {"address": "ftp://a.org"}, {"events": []}])
def test_page_refuses_what_is_wrong(wrong, desk, study):
    page = desk.post(PAGE, {"address": "https://example.org/", "events": ["study.closed"], **wrong})

    assert (page.status_code, list(page.context["form"].errors)) == (422, list(wrong))
    assert not Webhook.objects.exists()


def test_page_names_the_events_in_its_language(study):
    with translation.override("zh-hans"):
        labels = dict(WebhookForm(study).fields["events"].choices)
    assert labels["study.opened"] == "study.opened：研究开放"


def test_page_is_for_researchers(study):
    client = Client()
    assert client.get(PAGE)["Location"].startswith("/research/sign-in/")
    client.force_login(User.objects.create(username="eve"))
    assert client.get(PAGE).status_code == 403
