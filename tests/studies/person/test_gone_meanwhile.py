"""A page that someone opens at the moment at which their data are erased stores nothing of them."""

import threading
import time

import pytest
from django.core.management import call_command
from django.db import connection
from django.http import HttpResponse

from dialogue.models import Conversation
from studies.data import erasure
from studies.models import ArmRun, Participation
from studies.models.participation import Status
from studies.participation import chats
from tests.people import Person

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


def wait_for_a_waiter() -> None:
    """Return when the page has read the person's row and waits for its lock."""
    give_up = time.monotonic() + 30
    with connection.cursor() as cursor:
        while time.monotonic() < give_up:
            cursor.execute(WAITING)
            if cursor.fetchone()[0]:
                return
            time.sleep(0.02)
    raise TimeoutError("the page does not wait")


@pytest.fixture(autouse=True)
def demo(db, settings, tmp_path):
    settings.VAR = tmp_path
    call_command("load_study", str(settings.FIXTURES / "studies" / "demo.toml"), verbosity=0)


@pytest.mark.django_db
@pytest.mark.parametrize("open_run", [chats.get_or_create_run, chats.get_or_open_run])
def test_no_run_is_opened_for_one_whose_part_is_over(open_run):
    person = Person()
    person.go_to("questionnaire", run=1)
    stale = person.row
    assert stale.order
    erasure.erase(Participation.objects.get(pk=stale.pk))
    with pytest.raises(chats.PersonGone):
        open_run(stale, 1)
    assert (ArmRun.objects.count(), Conversation.objects.count()) == (0, 0)


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one lock")
@pytest.mark.parametrize("kind", ["questionnaire", "chat"])
def test_page_that_is_opened_while_someone_is_erased_leaves_nothing(kind, monkeypatch):
    person = Person()
    person.go_to(kind, run=1)
    ArmRun.objects.all().delete()
    page: list[HttpResponse] = []
    locked = threading.Event()
    cut_links = erasure.cut_links

    def cut_slowly(gone: Participation) -> None:
        locked.set()
        wait_for_a_waiter()
        cut_links(gone)

    def open_page() -> None:
        try:
            page.append(person.client.get("/study/"))
        finally:
            connection.close()

    def erase() -> None:
        try:
            erasure.erase(Participation.objects.get(pk=person.row.pk))
        finally:
            connection.close()

    monkeypatch.setattr(erasure, "cut_links", cut_slowly)
    erasing = threading.Thread(target=erase)
    erasing.start()
    assert locked.wait(30)
    opening = threading.Thread(target=open_page)
    opening.start()
    erasing.join()
    opening.join()

    # The page of a questionnaire has nothing that an erasure could take from it; a conversation is not opened any more.
    assert [one.status_code for one in page] == [302 if kind == "chat" else 200]
    assert (ArmRun.objects.count(), Conversation.objects.count()) == (0, 0)
    row = Participation.objects.get(pk=person.row.pk)
    assert (row.status, row.last_seen_at, row.language) == (Status.WITHDRAWN, None, "")
