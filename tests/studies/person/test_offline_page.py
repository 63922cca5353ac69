"""The page that a browser keeps for a time without a network: the same for all, and nothing of anyone."""

import re
from base64 import b64encode
from hashlib import sha256

import pytest
from django.test import Client

from dialogue.safety.resources import countries, get_phone_lines
from studies.models.participation import Status
from tests import factories
from tests.people import Person

pytestmark = pytest.mark.django_db


def test_every_country_has_lines_that_a_phone_reaches_without_the_internet():
    for code, _names in countries():
        page = Client().get(f"/offline/{code}/").content.decode()
        wanted = [channel.href for line in get_phone_lines(code) for channel in line.channels]
        assert wanted
        assert re.findall(r'href="([^"]+)"', page) == wanted


@pytest.mark.parametrize("country", ["none", "us", "BG"])
def test_country_without_an_entry_of_its_own_has_no_page(country):
    assert Client().get(f"/offline/{country}/").status_code == 404


def test_page_needs_no_other_file_and_runs_no_script():
    page = Client().get("/offline/US/")
    text = page.content.decode()
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.S)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert page["Content-Security-Policy"].startswith(f"default-src 'none'; style-src 'sha256-{digest}'; ")
    assert re.search(r"<script|<link|<img|src=|url\(", text) is None


def test_page_is_the_same_for_someone_who_takes_part_and_for_a_stranger():
    factories.study()
    person = Person()
    person.go_to("chat", run=1)
    assert person.client.get("/offline/US/").content == Client().get("/offline/US/").content


def test_page_is_in_the_language_of_its_reader():
    factories.study()
    person = Person(language="zh")
    person.go_to("chat", run=1)
    page = person.client.get("/offline/CN/").content.decode()
    assert '<html lang="zh-Hans">' in page
    assert "再试一次" in page


def test_script_may_answer_for_pages_outside_its_folder():
    worker = Client().get("/offline/worker.js")
    assert (worker["Content-Type"], worker["Service-Worker-Allowed"]) == ("text/javascript; charset=utf-8", "/")
    assert (worker["Cache-Control"], worker.status_code) == ("no-store", 200)


def test_conversation_and_the_pages_of_danger_have_it_kept_and_other_pages_not():
    factories.study()
    person = Person()
    person.go_to("questionnaire")
    assert "offline_page.js" not in person.page().content.decode()
    person.go_to("chat", run=1)
    for status in (Status.ACTIVE, Status.HELD, Status.STOPPED):
        person.row.status = status
        person.row.save()
        assert 'data-keep="/offline/' in person.page().content.decode(), status


@pytest.mark.parametrize("status", [Status.WITHDRAWN, Status.COMPLETED, Status.TIMED_OUT, Status.ENDED])
def test_page_of_those_whose_part_is_over_lets_it_go(status):
    factories.study()
    person = Person()
    person.go_to("chat", run=1)
    person.row.status, person.row.position = status, len(person.row.plan) - 1
    person.row.save()
    page = person.page().content.decode()
    assert ("offline_page.js" in page, "data-keep" in page) == (True, False)
