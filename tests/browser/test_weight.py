"""What a page costs a slow line and an old phone: bytes over the wire with nothing cached, requests, shifts, nodes."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.amounts import choose
from tests.browser.conftest import figures
from tests.browser.test_walk import PHONE
from tests.browser.visitor import HurriedVisitor, come_in
from tests.server import Server

pytestmark = pytest.mark.browser

KB = 1000
# Bytes as they come over the wire, heads included. HTML is sent as it is: pages hold secrets beside what a person
# wrote, and compressing both together would let who sees the length guess the one by the other (BREACH).
BUDGETS = {"Document": 20 * KB, "Stylesheet": 18 * KB, "Script": 18 * KB, "Image": 1 * KB, "Font": 0}
CHAT_BUDGET = 60 * KB
FORM_BUDGETS = {**BUDGETS, "Document": 60 * KB}  # twenty questions with five answers each, in words
# After all else it fetches the page for a time without a network, and the script that keeps it.
CHAT_BUDGETS = {**BUDGETS, "Fetch": 7 * KB}
REQUESTS = {"form": 13, "chat": 16}
NODES = 800
SHIFTS = """() => new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((one) => (sum += one.hadRecentInput ? 0 : one.value)))
    .observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => setTimeout(() => done(sum)));
})"""


@dataclass
class Load:
    """All that one page was made of: bytes by kind, hosts, and what was sent without compression."""

    page: Page
    bytes: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    hosts: set[str] = field(default_factory=set)
    plain: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(self.bytes.values())


def load_cold(context: BrowserContext, url: str) -> Load:
    """In a browser that has never been here, but for the cookies."""
    load = Load(context.new_page())
    session = context.new_cdp_session(load.page)
    session.send("Network.enable")
    kinds: dict[str, str] = {}

    def responded(event: dict[str, Any]) -> None:
        response = event["response"]
        name = response["url"].split("?")[0]
        kinds[event["requestId"]] = "Image" if name.endswith(".svg") else event["type"]
        load.requests += 1
        load.hosts.add(name.split("/")[2])
        encoding = {key.lower(): value for key, value in response["headers"].items()}.get("content-encoding")
        if event["type"] in ("Stylesheet", "Script") and encoding is None:
            load.plain.append(name)

    def finished(event: dict[str, Any]) -> None:
        load.bytes[kinds[event["requestId"]]] += int(event["encodedDataLength"])

    session.on("Network.responseReceived", responded)
    session.on("Network.loadingFinished", finished)
    load.page.goto(url, wait_until="networkidle")
    return load


@pytest.fixture(scope="module", params=choose(usual=["zh"], full=["en", "zh"]))
def language(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def loads(browser: Browser, server: Server, language: str) -> Iterator[dict[str, Load]]:
    """A page of twenty questions, and a conversation, each loaded by one who came as far as there."""
    context = browser.new_context(**PHONE)
    visitor = HurriedVisitor(context.new_page(), language)
    come_in(visitor.page, f"{server.base_url}/open/brief/")
    loads = {}
    while "form" not in loads:
        if "mini_ipip" in visitor.key():
            loads["form"] = load_again(browser, context, server)
        visitor.take_step()
    while not visitor.page.locator("[data-conversation]").count():
        visitor.take_step()
    loads["chat"] = load_again(browser, context, server)
    yield loads
    for load in loads.values():
        load.page.context.close()
    context.close()


def load_again(browser: Browser, context: BrowserContext, server: Server) -> Load:
    fresh = browser.new_context(**PHONE, storage_state=context.storage_state())
    return load_cold(fresh, f"{server.base_url}/study/")


@pytest.mark.parametrize(("name", "budgets"), [("form", FORM_BUDGETS), ("chat", CHAT_BUDGETS)])
def test_page_keeps_to_its_budget(
    loads: dict[str, Load], server: Server, language: str, name: str, budgets: dict[str, int]
) -> None:
    load = loads[name]
    told = ", ".join(f"{kind} {weight}" for kind, weight in load.bytes.items())
    figures.append(f"weight: {name}, {language}: {load.total} bytes in {load.requests} requests ({told})")
    assert {kind: weight for kind, weight in load.bytes.items() if weight > budgets.get(kind, 0)} == {}
    assert load.requests <= REQUESTS[name]
    assert load.hosts == {server.base_url.removeprefix("http://")}
    assert load.plain == []


def test_chat_page_is_light_in_all(loads: dict[str, Load]) -> None:
    assert loads["chat"].total <= CHAT_BUDGET


@pytest.mark.parametrize("name", ["form", "chat"])
def test_nothing_blocks_or_shifts_what_is_read(loads: dict[str, Load], name: str) -> None:
    page = loads[name].page
    assert page.locator("script:not([type=module], [defer], [async])").count() == 0
    assert page.evaluate(SHIFTS) < 0.1


@pytest.mark.parametrize("name", ["form", "chat"])
def test_page_says_what_browsers_need(loads: dict[str, Load], language: str, name: str) -> None:
    page = loads[name].page
    assert page.locator("html").get_attribute("lang") == {"en": "en", "zh": "zh-Hans"}[language]
    assert "width=device-width" in (page.locator('meta[name="viewport"]').get_attribute("content") or "")
    assert page.locator(":is(img, svg):not([width][height])").count() == 0
    smallest = "all => Math.min(...all.map(box => parseFloat(getComputedStyle(box).fontSize)))"
    typed_in = page.locator("textarea, select, input:is([type=text], [type=search])")
    if typed_in.count():
        assert typed_in.evaluate_all(smallest) >= 16  # a smaller one makes a phone zoom in when it is touched


def test_chat_page_has_few_nodes(loads: dict[str, Load]) -> None:
    assert loads["chat"].page.locator("*").count() < NODES
