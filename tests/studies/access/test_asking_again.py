"""Unblinding, exports and erasures ask again who sits at the browser."""

import time

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.test import Client

from studies.connections.tokens import create_token
from tests import factories

pytestmark = pytest.mark.django_db

PASSWORD = "a long enough one"
AGAIN = "/research/account/again/"


@pytest.fixture(autouse=True)
def ada():
    ada = User.objects.create_user("ada", password=PASSWORD, is_staff=True)
    return factories.grant(factories.study("demo"), ada, "admin")


@pytest.fixture
def desk():
    client = Client()
    client.post("/research/sign-in/", {"login": "ada", "password": PASSWORD})
    return client


def wait(client, seconds):
    """The browser as it would be so many seconds later."""
    session = client.session
    records = session["account_authentication_methods"]
    session["account_authentication_methods"] = [{**record, "at": record["at"] - seconds} for record in records]
    session.save()


def found(client, page):
    response = client.get(page)
    return response.status_code, response.headers.get("Location", "")


PAGES = {
    "export": "/research/demo/export/",
    "unblind": "/research/demo/analysis/unblind/",
    "test-data": "/research/demo/test-data/",
    "anonymise": "/research/demo/life/anonymise/",
    "erase": "/research/demo/life/erase/",
    "payments": "/research/demo/payments/bank.csv",
    "applicants": "/research/demo/applicants/decided.csv",
    "adverse events": "/research/demo/risks/adverse/export.csv",
    "tokens": "/research/tokens/",
}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_page_asks_after_ten_minutes_and_leads_back(desk, page):
    before = found(desk, page)
    assert AGAIN not in before[1]
    wait(desk, 601)
    asked = desk.get(page)
    assert asked["Location"] == f"{AGAIN}?next={page}"
    assert "Confirm that it is you" in desk.get(asked["Location"]).content.decode()
    wrong = desk.post(AGAIN, {"password": "wrong", "next": page})
    assert "That is not your password." in wrong.content.decode()
    assert desk.get(page).status_code == 302
    assert desk.post(AGAIN, {"password": PASSWORD, "next": page})["Location"] == page
    assert found(desk, page) == before


def test_form_that_was_opened_in_time_is_taken_for_half_an_hour(desk):
    study_page = PAGES["unblind"]
    wait(desk, 601)
    assert desk.post(study_page, {"reason": "the data are complete"})["Location"] != f"{AGAIN}?next=/research/"
    wait(desk, 1200)
    asked = desk.post(study_page, {"reason": "again"}, headers={"referer": f"http://testserver{study_page}"})
    assert asked["Location"].startswith(f"{AGAIN}?next=")
    page = desk.get(asked["Location"], follow=True).content.decode()
    assert "Nothing has been done yet." in page


def test_admin_site_asks_before_a_password_a_right_or_a_second_factor_changes(desk, ada):
    User.objects.filter(pk=ada.pk).update(is_superuser=True)
    factor = Authenticator.objects.create(user=ada, type=Authenticator.Type.TOTP, data={})
    wait(desk, 2000)
    pages = (f"auth/user/{ada.pk}/password/", f"auth/user/{ada.pk}/change/", "auth/user/add/", "auth/group/add/")
    for page in (*pages, f"mfa/authenticator/{factor.pk}/delete/"):
        assert found(desk, f"/admin/{page}") == (302, f"{AGAIN}?next=/admin/{page}")
        assert desk.post(f"/admin/{page}", {"post": "yes"})["Location"].startswith(AGAIN)
    assert Authenticator.objects.filter(pk=factor.pk).exists()
    assert desk.get("/admin/studies/study/").status_code == 200


def test_referrer_of_another_site_is_not_led_back_to(desk):
    wait(desk, 3600)
    asked = desk.post(PAGES["unblind"], {}, headers={"referer": "https://evil.example/"})
    assert asked["Location"] == f"{AGAIN}?next=/research/"


def test_other_pages_do_not_ask(desk):
    wait(desk, 24 * 3600)
    assert desk.get("/research/demo/").status_code == 200
    assert desk.get("/research/demo/people/").status_code == 200


def test_who_may_not_pass_is_refused_and_not_asked(desk, ada):
    ada.memberships.update(role="reader")
    wait(desk, 3600)
    assert desk.get(PAGES["export"]).status_code == 403


def test_api_asks_browsers_and_not_tokens(desk, ada):
    exports = "/api/v1/studies/demo/tables/"
    assert desk.get(exports).status_code == 200
    wait(desk, 601)
    refused = desk.get(exports)
    assert (refused.status_code, "Confirm your password first" in refused.json()["detail"]) == (403, True)
    _row, text = create_token(ada, name="nightly", scopes=["read", "export"], study=None, days=1)
    assert Client(headers={"authorization": f"Bearer {text}"}).get(exports).status_code == 200
    assert time.time() - desk.session["account_authentication_methods"][-1]["at"] > 600
