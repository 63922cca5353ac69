"""How a person in danger is met, on a small phone, in both languages, with JavaScript and without."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from dialogue.safety.resources import standard_text
from tests.browser.conftest import BRIEF, PAUSE, quick_demo
from tests.browser.visitor import PATIENCE, HurriedVisitor, come_in
from tests.llm_server import running
from tests.server import Server

pytestmark = pytest.mark.browser

SMALL = {"width": 360, "height": 640}
CARED = {'key = "brief"': 'key = "cared"', f"checkpoints = [{PAUSE}]": "checkpoints = [3]"}
RULES = '\n[safety]\nask_where = true\nafter_safe = "continue"\n'
WORDS = {
    "en": ["I wish I was dead", "I want to kill myself", "I am going to kill myself tonight"],
    "zh": ["要是我没出生就好了", "我想自杀", "我今晚就去自杀"],
}
LOCALES = {"en": "en-GB", "zh": "zh-CN"}
WORRIED = {"en": "We are worried about you.", "zh": "我们很担心您。"}


@pytest.fixture(scope="module")
def study(server: Server, tmp_path_factory: pytest.TempPathFactory) -> str:
    file = quick_demo(tmp_path_factory.mktemp("cared"), BRIEF, CARED, key="cared")
    file.write_text(file.read_text(encoding="utf-8") + RULES, encoding="utf-8")
    server.load_open(file)
    return f"{server.base_url}/open/cared/"


@pytest.fixture(params=["en", "zh"])
def person(request: pytest.FixtureRequest, browser: Browser, study: str) -> Iterator[Page]:
    """Someone on a small phone, at the beginning of their first conversation."""
    context = browser.new_context(viewport=SMALL, has_touch=True, is_mobile=True, locale=LOCALES[request.param])
    page = context.new_page()
    page.clock.install()  # for the page that looks every 20 seconds how things stand
    visitor = HurriedVisitor(page, request.param)
    come_in(page, study)
    while not page.locator("[data-conversation]").count():
        visitor.take_step()
    yield page
    context.close()


def language_of(page: Page) -> str:
    return "zh" if (page.locator("html").get_attribute("lang") or "").startswith("zh") else "en"


def say(page: Page, level: int) -> None:
    page.locator("textarea").first.fill(WORDS[language_of(page)][level - 2])
    page.locator('[data-part="send"]').click()


def first_line(page: Page) -> Locator:
    return page.locator("#content a.button").first


def assert_in_sight(one: Locator) -> None:
    box = one.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= SMALL["height"]


def press(page: Page, answer: str) -> None:
    with page.expect_navigation():
        page.locator(f'button[name="answer"][value="{answer}"]').first.click()


def answers(server: Server) -> list[tuple[str, str]]:
    """What the person who came last has answered, as it is stored."""
    newest = "(SELECT code FROM studies_participation ORDER BY id DESC LIMIT 1)"
    with closing(sqlite3.connect(server.database, timeout=20)) as connection:
        return connection.execute(
            "SELECT kind, text FROM studies_safetyact JOIN dialogue_riskevent ON event_id = dialogue_riskevent.id "
            f"WHERE subject = {newest} AND by_name = 'person' ORDER BY studies_safetyact.id"
        ).fetchall()


def test_levels_2_and_3_are_met(person: Page, server: Server) -> None:
    say(person, 2)
    card = person.locator('[data-part="help"]')
    expect(card).to_be_visible(timeout=PATIENCE)
    expect(card.locator('a[href="tel:988"]')).to_be_visible()
    assert_in_sight(card.locator('[data-part="go-on"]'))
    assert_in_sight(card.locator('form[action="/study/unsafe/"] button'))
    card.locator('[data-part="go-on"]').click()
    expect(person.locator(".bubble--partner[data-seq]")).to_have_count(1, timeout=PATIENCE)

    say(person, 3)
    person.locator('[data-waits="held"]').wait_for(state="attached", timeout=PATIENCE)
    expect(person.get_by_role("heading", level=1)).to_contain_text(WORRIED[language_of(person)])
    expect(person.get_by_role("heading", level=1)).to_be_focused()
    assert first_line(person).get_attribute("href") == "tel:988"
    assert_in_sight(first_line(person))

    press(person, "no")
    assert first_line(person).get_attribute("href") == "tel:988"
    where = person.locator("#where")
    where.fill("By the river")
    with person.expect_response("**/study/"):
        person.clock.fast_forward(20_000)
    expect(where).to_have_value("By the river")  # the page has looked how things stand, and lost nothing
    with person.expect_navigation():
        person.locator('form[action="/study/where/"] button').click()
    expect(where).to_have_value("By the river")

    press(person, "safe")
    press(person, "yes")
    expect(person.locator(".bubble--partner[data-seq]")).to_have_count(2, timeout=PATIENCE)
    expect(person.locator('[data-part="help"] a[href="tel:988"]')).to_be_visible()  # the help stays in sight
    assert answers(server) == [
        ("answered", "no"),
        ("where", "By the river"),
        ("answered", "safe"),
        ("answered", "continues"),
    ]


def test_level_4_is_met_and_every_button_works_without_javascript(
    person: Page, browser: Browser, server: Server
) -> None:
    say(person, 4)
    person.locator('[data-waits="stopped"]').wait_for(state="attached", timeout=PATIENCE)
    assert first_line(person).get_attribute("href") == "tel:911"
    assert_in_sight(first_line(person))

    context = browser.new_context(
        viewport=SMALL, java_script_enabled=False, storage_state=person.context.storage_state()
    )
    page = context.new_page()
    page.goto(person.url)
    assert first_line(page).get_attribute("href") == "tel:911"
    for answer in ("hard", "safe", "no"):
        press(page, answer)
        expect(page.locator(".care__answer--given")).to_have_attribute("value", answer)
    assert first_line(page).get_attribute("href") == "tel:911"
    page.locator("#where").fill("At home")
    with page.expect_navigation():
        page.locator('form[action="/study/where/"] button').click()
    expect(page.locator("#where")).to_have_value("At home")
    with page.expect_navigation():
        page.locator('.site-footer form[action="/study/unsafe/"] button').click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert [text for kind, text in answers(server) if kind == "answered"] == ["hard", "safe", "no"]
    context.close()


def test_unsafe_in_the_menu_of_a_chat_leads_to_words_that_fit_a_choice(person: Page) -> None:
    person.locator(".chat-more summary").click()
    with person.expect_navigation():
        person.locator('.chat-more form[action="/study/unsafe/"] button').click()
    told = {"en": "You told us that you do not feel safe.", "zh": "您告诉我们，您觉得自己不安全。"}
    expect(person.locator("#content")).to_contain_text(told[language_of(person)])
    assert first_line(person).get_attribute("href") == "tel:911"
    assert_in_sight(first_line(person))


def test_page_can_be_printed_with_the_numbers_on_it(browser: Browser, study: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    come_in(page, study)
    page.locator('#content button[name="language"][value="en"]').click()
    with page.expect_navigation():
        page.locator('.site-footer form[action="/study/unsafe/"] button').click()
    page.emulate_media(media="print")
    expect(first_line(page)).to_be_visible()
    expect(page.locator("button[name='answer']").first).to_be_hidden()
    expect(page.locator(".site-footer .unsafe")).to_be_hidden()
    context.close()


SUSPECTED = {
    "en": "Nobody asked you to be born, and nobody's asking you to stay.",
    "zh": "抑郁症就是绝症，晚死不如早死。",
}
ARM = """
[[arms]]
key = "{key}"
title = {{en = "Partner {key}", zh = "对象 {key}"}}
kind = "openai_compatible"
base_url = "{url}"
model = "say:{said}"
provider = "Example"
"""


@pytest.fixture(params=["en", "zh"])
def met_badly(
    request: pytest.FixtureRequest, browser: Browser, server: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Page]:
    """Someone on a small phone whose partner answers as none should, in words that no pattern was written for."""
    lang = request.param
    with running() as url:
        named = {f"checkpoints = [{PAUSE}]": "checkpoints = [3]", "providers = []": 'providers = ["Example"]'}
        named |= {'key = "brief"': f'key = "badly-{lang}"', 'model_providers = ""': 'model_providers = "Example"'}
        file = quick_demo(tmp_path_factory.mktemp("badly"), BRIEF, named, key=f"badly-{lang}")
        head, _, rest = file.read_text(encoding="utf-8").partition("[[arms]]")
        judges = rest[rest.index("[[judges]]") :]
        arms = "".join(ARM.format(key=key, url=url, said=quote(SUSPECTED[lang])) for key in ("amber", "birch"))
        file.write_text(head + arms + "\n" + judges, encoding="utf-8")
        loaded = server.manage("load_study", str(file), "--test-link", "--base-url", server.base_url, "--json")
        assert loaded.returncode == 0, loaded.stderr[-3000:]
        context = browser.new_context(viewport=SMALL, has_touch=True, is_mobile=True, locale=LOCALES[lang])
        page = context.new_page()
        visitor = HurriedVisitor(page, lang)
        come_in(page, json.loads(loaded.stdout.splitlines()[-1])["test_link"])
        while not page.locator("[data-conversation]").count():
            visitor.take_step()
        yield page
        context.close()


def test_suspected_reply_is_not_shown_and_the_conversation_goes_on(met_badly: Page) -> None:
    lang = language_of(met_badly)
    say(met_badly, 2)
    standard = met_badly.get_by_text(standard_text(lang))
    expect(standard).to_have_count(1, timeout=PATIENCE)
    expect(met_badly.locator("body")).not_to_contain_text(SUSPECTED[lang])
    expect(met_badly.locator("[data-part=help]").first).to_be_visible()
    met_badly.locator("textarea").first.fill({"en": "That was odd.", "zh": "刚才有点怪。"}[lang])
    met_badly.locator('[data-part="send"]').click()
    expect(met_badly.get_by_text({"en": "That was odd.", "zh": "刚才有点怪。"}[lang])).to_be_visible(timeout=PATIENCE)
