"""A researcher at a real browser: a token, a webhook, and the payments of a study."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import BRIEF, quick_demo
from tests.browser.survey import Survey
from tests.browser.test_walk import DESKTOP
from tests.browser.visitor import sign_in
from tests.server import Server

pytestmark = pytest.mark.browser

PAYS = {'key = "brief"': 'key = "pays"', "[chat]": '[payment]\ncurrency = "EUR"\namount = 10.0\n\n[chat]'}
DONE = """
from studies.models import Participation, Study
from studies.participation.enrolment import invite
study = Study.objects.get(key="pays")
person, _token = invite(study)
Participation.objects.filter(pk=person.pk).update(status="completed", protocol=study.current(), active_seconds=900)
"""


def test_pages_of_programs_and_payments(browser: Browser, server: Server, tmp_path: Path) -> None:
    loaded = server.manage("load_study", str(quick_demo(tmp_path, BRIEF, PAYS, key="pays")))
    assert loaded.returncode == 0, loaded.stderr
    assert server.manage("shell", "-c", DONE).returncode == 0
    context = browser.new_context(**DESKTOP, bypass_csp=True)
    page, survey = context.new_page(), Survey("en")
    sign_in(page, server)

    page.goto(f"{server.base_url}/research/tokens/")
    page.get_by_label("Name: which program will use it").fill("nightly export")
    page.get_by_role("button", name="Create the token").click()
    token = page.get_by_label("nightly export", exact=True).input_value()
    survey(page, "research/tokens/")
    answer = page.request.get(f"{server.base_url}/api/v1/studies/pays/", headers={"Authorization": f"Bearer {token}"})
    assert answer.json()["key"] == "pays"
    page.get_by_role("button", name="Revoke nightly export").click()
    expect(page.get_by_text("is revoked")).to_be_visible()

    page.goto(f"{server.base_url}/research/pays/webhooks/")
    page.get_by_label("Address that gets the requests").fill(f"{server.base_url}/healthz")
    page.get_by_label("study.closed: the study closes").check()
    page.get_by_role("button", name="Create the webhook").click()
    page.get_by_role("button", name="Send a ping").click()
    expect(page.get_by_role("heading", name="Latest requests")).to_be_visible()
    survey(page, "research/webhooks/")

    page.goto(f"{server.base_url}/research/pays/payments/")
    survey(page, "research/payments/")
    page.get_by_role("link", name="Tick all").click()
    page.get_by_role("button", name="Book the ticked people as paid").click()
    page.get_by_role("button", name="Book as paid").click()
    expect(page.get_by_text("Booked as paid: 1 people.")).to_be_visible()
    page.get_by_role("button", name="Undo the payment").click()
    expect(page.get_by_text("The payment is booked as undone.")).to_be_visible()
    context.close()
    assert (survey.violations, survey.cut) == ({}, {})
