"""The board at a real browser: it renews itself while a person asks something, and its menu folds on a phone."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.survey import Survey
from tests.browser.test_walk import DESKTOP, PHONE
from tests.browser.visitor import HurriedVisitor, come_in, sign_in
from tests.server import Server

pytestmark = pytest.mark.browser

SOON = 20_000  # milliseconds: the server looks every two seconds, the page waits three more


def test_board_renews_itself_and_a_question_is_answered_from_it(browser: Browser, server: Server) -> None:
    desk = browser.new_context(**DESKTOP, bypass_csp=True).new_page()
    survey = Survey("en")
    sign_in(desk, server)
    desk.goto(f"{server.base_url}/research/demo/?test=all")
    expect(desk.get_by_text("This page is live.")).to_be_visible(timeout=SOON)

    person = browser.new_context(**PHONE, bypass_csp=True).new_page()
    come_in(person, f"{server.base_url}/open/demo/?track=participant", lambda _page, _name: None)
    person.get_by_role("link", name="Ask the research team").click()
    survey(person, "study/ask/")
    person.get_by_label("Your question").fill("Can I take a break in the middle?")
    person.get_by_role("button", name="Send the question").click()
    person.get_by_text("Your question has been sent.").wait_for()

    asked = desk.locator(".questions__one").filter(has_text="Can I take a break in the middle?")
    expect(asked).to_be_visible(timeout=SOON)  # without a reload
    expect(desk.locator('[data-part="waiting"]')).to_contain_text("Questions from people")
    survey(desk, "research/ with a question")
    asked.get_by_role("link", name="Answer").click()
    survey(desk, "research/questions/…")
    desk.get_by_label("Your answer").fill("Yes. Your link brings you back.")
    desk.get_by_role("button", name="Send the answer").click()
    person.reload()
    answer = person.get_by_text("Yes. Your link brings you back.")
    expect(answer).to_be_visible()
    survey(person, "study/ with an answer")
    person.get_by_role("button", name="I have read it").click()
    expect(answer).not_to_be_visible()
    person.get_by_text("The team answered your question").click()
    expect(answer).to_be_visible()

    desk.goto(f"{server.base_url}/research/demo/arms/amber/pause/")
    survey(desk, "research/arms/…/pause/")
    desk.get_by_label("Why").fill("Its server is slow today.")
    desk.get_by_role("button", name="Pause the arm").click()
    expect(desk.locator('[data-part="arms"]')).to_contain_text("Its server is slow today.")
    desk.get_by_role("link", name="Resume …").click()
    desk.get_by_label("Why").fill("It is quick again.")
    desk.get_by_role("button", name="Resume the arm").click()
    expect(desk.locator('[data-part="arms"]')).not_to_contain_text("slow today")
    assert (survey.violations, survey.cut) == ({}, {})


def test_person_is_paused_in_a_conversation_goes_on_and_is_ended(browser: Browser, server: Server) -> None:
    survey = Survey("en")
    invited = server.manage("invite", "brief", "--count", "1", "--test")
    person = browser.new_context(**PHONE, bypass_csp=True).new_page()
    visitor = HurriedVisitor(person, "en")
    come_in(person, re.findall(r"http\S+", invited.stdout)[0])
    while not person.locator("[data-conversation]").count():
        visitor.take_step()
    visitor.say()
    desk = browser.new_context(**DESKTOP, bypass_csp=True).new_page()
    sign_in(desk, server)
    desk.goto(f"{server.base_url}/research/brief/?test=all")
    desk.locator('[data-part="now"]').get_by_role("link", name="Pause …").first.click()
    survey(desk, "research/people/…/pause/")
    desk.get_by_label("Why").fill("They have called us.")
    desk.get_by_role("button", name="Pause this person").click()

    expect(person.locator('[data-part="rest"]')).to_be_visible()  # told by the socket, without a reload
    survey(person, "chat that rests")
    person.locator('[data-part="rest"] [data-go]').click()
    expect(person.get_by_role("heading", name="Your part is paused")).to_be_visible()
    survey(person, "study/ of a paused person")
    survey(desk, "research/people/… of a paused person")
    desk.get_by_role("link", name="Let them continue …").click()
    desk.get_by_label("Why").fill("All is well.")
    desk.get_by_role("button", name="Let them continue").click()
    person.reload()
    expect(person.locator(".bubble--partner[data-seq]")).to_have_count(1)  # what was said comes by the socket
    visitor.say()
    assert visitor.answered() == 2

    desk.get_by_role("link", name="End their part …").click()
    survey(desk, "research/people/…/end/")
    desk.get_by_label("Why, for the team alone").fill("They asked by telephone.")
    desk.get_by_label("What they read as the reason, in English").fill("You asked us on the telephone to stop here.")
    typed = desk.get_by_label("Type P")
    typed.fill(str(typed.locator("xpath=preceding-sibling::label").inner_text()).split()[1])
    desk.get_by_role("button", name="End it for this person").click()
    person.locator('[data-part="closed"] [data-go]').or_(person.locator(".completion-code")).first.wait_for()
    person.goto(f"{server.base_url}/study/")
    expect(person.locator(".completion-code")).to_be_visible()
    expect(person.get_by_text("You asked us on the telephone to stop here.")).to_be_visible()
    survey(person, "study/ of a person whose part was ended")
    assert (survey.violations, survey.cut) == ({}, {})


def test_menu_folds_on_a_phone_and_stands_open_elsewhere(browser: Browser, server: Server) -> None:
    phone = browser.new_context(**PHONE, bypass_csp=True).new_page()
    sign_in(phone, server)
    phone.goto(f"{server.base_url}/research/demo/people/")
    links = phone.get_by_role("link", name="Conversations", exact=True)
    expect(links).to_be_hidden()
    menu = phone.get_by_role("button", name="Menu")
    expect(menu).to_contain_text("People")
    menu.click()
    links.click()
    expect(phone.get_by_role("heading", level=1, name="Conversations")).to_be_visible()
    phone.set_viewport_size({"width": 1280, "height": 800})
    expect(links).to_be_visible()
    expect(menu).to_be_hidden()
