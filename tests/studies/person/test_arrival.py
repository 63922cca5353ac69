"""Coming in: by a personal link, or through the open door. Looking does nothing; the button does."""

import re

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from dialogue.chat.access import conversation_for
from studies.models import Participation
from studies.models.participation import Status
from studies.participation import board_acts, enrolment
from tests import factories
from tests.people import Person

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_commit_at_once")]

DOOR = "/open/hearts/"


@pytest.fixture(autouse=True)
def hearts(db):
    return factories.study("hearts", open_enrolment=True)


@pytest.fixture
def link(hearts):
    return f"/j/{enrolment.invite(hearts)[1]}/"


def browser(**headers):
    """As strict as a real one: a form without its token is refused."""
    return Client(enforce_csrf_checks=True, headers=headers)


def press(client, path, **fields):
    """Load the page and send its form, as a browser does that runs no script."""
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', client.get(path).content.decode())
    return client.post(path, {"csrfmiddlewaretoken": token[1], **fields})


@pytest.mark.parametrize("method", ["get", "head"])
def test_who_fetches_a_link_or_the_door_makes_and_binds_nothing(method, link):
    client = Client()
    for path in (link, DOOR, f"{DOOR}?track=counsellor"):
        assert getattr(client, method)(path).status_code == 200
    assert Participation.objects.count() == 1  # the one invited
    assert not Session.objects.exists()
    assert client.get("/study/").status_code == 403


def test_start_binds_the_browser_and_goes_on_to_the_study(link):
    client = browser()
    response = press(client, link)
    assert (response.status_code, response.url) == (302, "/study/")
    assert client.get("/study/").status_code == 200


def test_start_needs_the_form_of_our_page(link):
    client = browser()
    assert client.post(link).status_code == 403
    assert client.post(DOOR).status_code == 403
    assert Participation.objects.count() == 1


def test_start_of_the_door_makes_one_person_and_shows_their_link():
    client = browser()
    response = press(client, DOOR)
    assert (response.status_code, response.url) == (302, DOOR)
    page = client.get(DOOR)
    person = Participation.objects.get()
    assert page.context["link"] in page.content.decode()
    assert enrolment.person_by_token(page.context["link"].split("/")[-2]) == person
    assert client.get("/study/").status_code == 200


def test_door_keeps_its_track_over_the_button():
    client = browser()
    response = press(client, f"{DOOR}?track=counsellor")
    assert response.url == f"{DOOR}?track=counsellor"
    assert Participation.objects.get().track == "counsellor"


def test_continue_leads_back_who_came_through_the_door():
    client = browser()
    press(client, DOOR)
    del client.cookies["emostudy_session"]
    response = press(client, DOOR, act="continue")
    assert (response.status_code, response.url) == (302, "/study/")
    assert Participation.objects.count() == 1
    assert client.get("/study/").status_code == 200


def test_start_as_another_person_makes_another():
    client = browser()
    press(client, DOOR)
    first = client.get(DOOR).context["link"]
    press(client, DOOR)
    assert client.get(DOOR).context["link"] != first
    assert Participation.objects.count() == 2


def test_second_link_in_one_browser_opens_nothing_of_the_first_person():
    first = Person("hearts")
    first.go_to("chat", run=1)
    first.page()
    conversation = first.conversation()
    before = first.client.session
    assert conversation_for({"session": before}, conversation.code) == conversation

    second = Person("hearts")
    first.client.post(second.link)

    after = first.client.session
    assert after.session_key != before.session_key
    assert not Session.objects.filter(session_key=before.session_key).exists()
    assert conversation_for({"session": after}, conversation.code) is None
    assert enrolment.person_in_session(after) == second.row


def test_form_of_the_first_person_is_not_taken_for_the_second_one(link):
    client = browser()
    press(client, link)
    token = client.cookies["emostudy_csrf"].value
    other = Person("hearts")
    press(client, other.link)
    stale = client.post("/study/", {"step": "language", "language": "zh", "csrfmiddlewaretoken": token})
    assert stale.status_code == 403
    other.row.refresh_from_db()
    assert other.row.language == ""


def test_own_link_again_keeps_the_session_and_its_conversations():
    person = Person("hearts")
    person.go_to("chat", run=1)
    person.page()
    before = person.client.session.session_key
    person.client.post(person.link)
    assert person.client.session.session_key != before
    assert conversation_for({"session": person.client.session}, person.conversation().code)


def test_door_gives_the_session_a_new_key():
    client = Client()
    client.post(DOOR)
    before = client.session.session_key
    client.post(DOOR, {"act": "continue"})
    assert client.session.session_key != before
    client.post(DOOR)
    assert Session.objects.filter(session_key=client.session.session_key).count() == Session.objects.count() == 1


@pytest.mark.parametrize("https", [True, False])
def test_cookie_of_the_link_is_as_secure_as_that_of_the_session(https, settings):
    settings.SESSION_COOKIE_SECURE = https
    cookie = Client().post(DOOR).cookies["emostudy_link"]
    assert (bool(cookie["secure"]), cookie["httponly"], cookie["samesite"]) == (https, True, "Lax")


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", ("Start", "You can stop at any time")), ("zh", ("开始", "您可以随时停止"))],
)
def test_start_page_speaks_the_language_of_the_browser(language, words, link):
    for path in (link, DOOR):
        page = browser(**{"accept-language": language}).get(path).content.decode()
        assert all(word in page for word in words)


def test_start_pages_offer_the_other_language_and_keep_the_choice(link):
    for path in (link, f"{DOOR}?track=counsellor"):
        client = browser(**{"accept-language": "en"})
        other = re.search(r'<a[^>]+href="([^"]+)"[^>]+lang="zh-Hans"', client.get(path).content.decode())[1]
        chosen = path.partition("?")[0] + other.replace("&amp;", "&")
        assert "开始" in client.get(chosen).content.decode()
        assert ("track=counsellor" in chosen) == ("track" in path)
        press(client, chosen)
        assert '<html lang="zh-Hans">' in client.get("/study/").content.decode()


def test_page_for_a_pause_shows_the_link_that_this_device_has(hearts):
    client, address = Client(), re.compile(r'id="own-link"[^>]+value="([^"]*/j/[^"]+)"')
    client.post(DOOR)
    shown = address.search(client.get("/pause/").content.decode())[1]
    assert enrolment.person_by_token(shown.rstrip("/").rpartition("/")[2]) == enrolment.person_in_session(
        client.session
    )

    elsewhere = Client()
    elsewhere.post(shown.partition("testserver")[2])
    page = elsewhere.get("/pause/").content.decode()
    assert address.search(page) is None
    assert "This page cannot show it" in page


def test_page_for_a_pause_shows_no_link_of_someone_else(hearts, link):
    client = Client()
    client.post(DOOR)
    client.post(link)
    assert "own-link" not in client.get("/pause/").content.decode()


def test_link_speaks_the_persons_own_language(hearts):
    person = Person("hearts", language="zh")
    person.go_to("consent")
    page = Client(headers={"accept-language": "en"}).get(person.link).content.decode()
    assert '<html lang="zh-Hans">' in page


def test_page_says_continue_to_the_person_whose_browser_it_is(link):
    client = browser()
    assert "Continue" not in client.get(link).content.decode()
    press(client, link)
    page = client.get(link).content.decode()
    assert "Continue" in page
    assert "Another person" not in page
    assert "Another person" in client.get(Person("hearts").link).content.decode()


def test_token_stays_out_of_what_a_browser_tells_on(link):
    """Not no-referrer on the page itself: browsers would then send the form with `Origin: null`."""
    client = browser()
    assert client.get(link)["Referrer-Policy"] == "strict-origin"
    assert press(client, link)["Referrer-Policy"] == "no-referrer"
    assert client.get(DOOR)["Referrer-Policy"] == "same-origin"


def test_unknown_link_is_not_found_whatever_is_asked():
    assert Client().get("/j/nonsense/").status_code == 404
    assert Client().post("/j/nonsense/").status_code == 404
    assert Client().post("/open/none/").status_code == 404
    assert Client().post(f"{DOOR}?track=reviewer").status_code == 404


def test_link_of_someone_whose_part_is_over_still_leads_to_their_last_page():
    person = Person("hearts")
    Participation.objects.update(status=Status.WITHDRAWN)
    client = browser()
    press(client, person.link)
    assert client.get("/study/").status_code == 200


@pytest.fixture
def careful(db):
    """A study whose links work in one browser only, and a person of it with their link."""
    study = factories.study("careful", one_browser=True, open_enrolment=True)
    person, token = enrolment.invite(study)
    return person, f"/j/{token}/"


def test_link_of_one_browser_is_bound_by_the_button_alone_and_refused_elsewhere(careful):
    person, link = careful
    assert Client().get(link).status_code == 200
    own, other = browser(), browser()
    assert press(own, link).url == "/study/"
    assert press(own, link).url == "/study/"
    for response in (other.get(link), Client().post(link)):
        assert response.status_code == 403
        assert "This link belongs to another browser" in response.content.decode()
    assert other.get("/study/").status_code == 403
    own.cookies.pop("emostudy_session")
    assert press(own, link).url == "/study/"
    person.refresh_from_db()
    assert person.browser_hash not in ("", own.cookies["emostudy_browser"].value)


def test_new_link_is_bound_anew(careful, admin_user):
    person, link = careful
    press(browser(), link)
    fresh = f"/j/{board_acts.reissue_link(person, by=admin_user, reason='new phone')}/"
    assert press(browser(), fresh).url == "/study/"
    assert Client().get(fresh).status_code == 403


def test_who_comes_by_the_door_of_such_a_study_is_bound_at_once(careful):
    client = Client()
    client.post("/open/careful/")
    page = client.get("/open/careful/").content.decode()
    assert "in this browser" in page
    path = re.search(r"/j/[\w-]+/", page)[0]
    assert Client().get(path).status_code == 403
    assert client.post("/open/careful/", {"act": "continue"}).url == "/study/"


def test_other_studies_set_no_cookie_that_tells_browsers_apart(link):
    client = browser()
    press(client, link)
    assert "emostudy_browser" not in client.cookies


def test_link_on_another_device_continues_for_those_who_have_started(link):
    assert "Welcome back" not in Client().get(link).content.decode()
    first = Client()
    first.post(link)
    first.get("/study/")
    page = Client().get(link).content.decode()
    assert "Welcome back" in page
    assert "You continue where you stopped." in page
    assert not Client().get(link).context["takes_over"]
