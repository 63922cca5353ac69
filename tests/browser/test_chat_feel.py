"""How the conversation feels, with the server's side of the line in the test's hands: each frame comes when it says."""

import datetime
import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, WebSocketRoute, expect

from dialogue.chat import chat_frames
from tests.browser.survey import NEXT_FRAME, PROBES
from tests.browser.test_walk import DESKTOP, PHONE
from tests.browser.visitor import HurriedVisitor, come_in
from tests.server import Server

pytestmark = pytest.mark.browser

PLACES = {"en": ("brief", "participant"), "zh": ("brief", "participant"), "role-play": ("full", "counsellor")}
LONG_REPLY = "Something that was said before, over several lines. " * 6
UNBROKEN = {
    "a word without an end": "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 4,
    "an address": "https://example.org/" + "a-very-long-path/" * 20,
    "emoji": "👨‍👩‍👧‍👦🏳️‍🌈❤️‍🩹" * 60,
    "Chinese": "我一直在想工作上的那次争吵晚上也睡不好，" * 20,
}
NARROW = {**PHONE, "viewport": {"width": 320, "height": 568}}
SMALL = {**PHONE, "viewport": {"width": 360, "height": 640}}
AT_400_PERCENT = {"viewport": {"width": 320, "height": 256}, "device_scale_factor": 4}  # a window of 1280 × 1024


class Line:
    """The other end of the page's socket."""

    def __init__(self, page: Page) -> None:
        self.route: WebSocketRoute | None = None
        self.received: list[dict[str, Any]] = []
        self.seq = 0
        page.route_web_socket("**/ws/chat/**", self.open)

    def open(self, route: WebSocketRoute) -> None:
        self.route = route
        route.on_message(lambda text: self.received.append(json.loads(text)))

    def push(self, make: Callable[..., chat_frames.Outgoing], **values: Any) -> None:
        self.seq += 1
        assert self.route
        self.route.send(make(seq=self.seq, **values).encode())

    def acknowledge(self, turn: int) -> None:
        assert self.route
        self.route.send(chat_frames.Ack(id=self.messages()[-1]["id"], turn=turn).encode())

    def messages(self) -> list[dict[str, Any]]:
        return [frame for frame in self.received if frame["type"] == "message"]


class Chat:
    """A person's page at the beginning of a conversation, drawn without motion, so that nothing is half-way."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.page = context.new_page()
        self.page.add_init_script(PROBES)
        self.line = Line(self.page)
        self.page.goto(url)
        self.log = self.page.locator('[data-part="log"]')
        self.text = self.page.locator("textarea")
        expect(self.page.locator('[data-state="connected"]')).to_be_visible()

    def fill(self, turns: int, reply: str = LONG_REPLY) -> None:
        """What was said before."""
        for turn in range(1, turns + 1):
            self.line.push(chat_frames.StoredMessage, turn=turn, id=f"m{turn}", text=f"What I said in turn {turn}.")
            self.line.push(chat_frames.StoredReply, turn=turn, text=reply)
        expect(self.replies()).to_have_count(turns)

    def replies(self) -> Locator:
        return self.page.locator(".bubble--partner[data-seq]")

    def draw(self) -> None:
        self.page.evaluate(NEXT_FRAME)

    def distance_to_end(self) -> float:
        return float(self.log.evaluate("log => log.scrollHeight - log.scrollTop - log.clientHeight"))

    def scroll_up(self) -> None:
        self.log.evaluate("log => (log.scrollTop = 200)")
        self.draw()

    def stream(self, turn: int, pieces: list[str]) -> Iterator[None]:
        """Hands back after each piece, when it has been drawn."""
        self.line.push(chat_frames.StoredMessage, turn=turn, id=f"m{turn}", text="And now?")
        at = 0
        for piece in pieces:
            self.line.push(chat_frames.Chunk, turn=turn, at=at, text=piece)
            at += len(piece)
            expect(self.page.locator(".bubble--partner .bubble__text").last).to_have_text("".join(pieces)[:at].strip())
            self.draw()
            yield
        self.line.push(chat_frames.StoredReply, turn=turn, text="".join(pieces))
        expect(self.replies()).to_have_count(turn)
        self.draw()
        yield


@pytest.fixture(scope="module")
def states(browser: Browser, server: Server) -> dict[str, Any]:
    """The cookies of people who stand before their first message."""
    states = {}
    for name, (study, track) in PLACES.items():
        context = browser.new_context()
        visitor = HurriedVisitor(context.new_page(), "zh" if name == "zh" else "en")
        come_in(visitor.page, f"{server.base_url}/open/{study}/?track={track}")
        while not visitor.page.locator("[data-conversation]").count():
            visitor.take_step()
        states[name] = context.storage_state()
        context.close()
    return states


@pytest.fixture
def open_chat(browser: Browser, server: Server, states: dict[str, Any]) -> Iterator[Callable[..., Chat]]:
    contexts: list[BrowserContext] = []

    def open_chat(who: str = "en", **settings: Any) -> Chat:
        settings = {**DESKTOP, "reduced_motion": "reduce", **settings}
        contexts.append(browser.new_context(storage_state=states[who], **settings))
        return Chat(contexts[-1], f"{server.base_url}/study/")

    yield open_chat
    for context in contexts:
        context.close()


def test_who_reads_further_up_is_not_moved_while_a_reply_comes_in(open_chat: Callable[..., Chat]) -> None:
    chat = open_chat()
    chat.fill(6)
    chat.scroll_up()
    reading = chat.replies().nth(1)
    place = reading.bounding_box()
    for _ in chat.stream(7, [LONG_REPLY] * 8):
        assert chat.log.evaluate("log => log.scrollTop") == 200
        assert reading.bounding_box() == place
    newest = chat.page.locator('[data-part="newest"]')
    expect(newest).to_be_visible()
    newest.click()
    chat.draw()
    assert chat.distance_to_end() < 1
    expect(newest).to_be_hidden()
    expect(chat.log).to_be_focused()


def test_who_is_at_the_end_stays_there_while_a_reply_comes_in(open_chat: Callable[..., Chat]) -> None:
    chat = open_chat()
    chat.fill(6)
    for _ in chat.stream(7, [LONG_REPLY] * 8):
        assert chat.distance_to_end() < 1
        assert chat.page.evaluate("document.scrollingElement.scrollHeight - innerHeight") == 0
    expect(chat.page.locator('[data-part="newest"]')).to_be_hidden()


def test_input_method_takes_enter_for_itself(open_chat: Callable[..., Chat]) -> None:
    chat = open_chat("zh")
    session = chat.page.context.new_cdp_session(chat.page)
    chat.text.click()
    session.send("Input.imeSetComposition", {"text": "ni hao", "selectionStart": 6, "selectionEnd": 6})
    expect(chat.text).to_have_value("ni hao")
    chat.page.keyboard.press("Enter")
    session.send("Input.insertText", {"text": "你好"})  # what the input method makes of it
    assert chat.line.messages() == []
    written = chat.text.input_value().strip()
    assert "你好" in written
    chat.page.keyboard.press("Enter")
    expect(chat.page.locator(".bubble--own")).to_have_count(1)
    assert [message["text"].strip() for message in chat.line.messages()] == [written]


def test_enter_makes_a_new_line_on_a_phone_and_the_button_sends(open_chat: Callable[..., Chat]) -> None:
    chat = open_chat(**PHONE)
    chat.text.tap()
    chat.page.keyboard.type("One")
    chat.page.keyboard.press("Enter")
    chat.page.keyboard.type("two")
    expect(chat.text).to_have_value("One\ntwo")
    chat.page.locator('[data-part="send"]').tap()
    expect(chat.page.locator(".bubble--own .bubble__text")).to_have_text("One\ntwo")


def test_send_stays_under_the_finger_in_a_low_window(open_chat: Callable[..., Chat]) -> None:
    """Above the keyboard of a phone, the row below the box is hidden while the box has the caret."""
    chat = open_chat(viewport={"width": 390, "height": 480})
    chat.text.click()
    chat.page.keyboard.type("One press is enough")
    box = chat.page.locator('[data-part="send"]').bounding_box() or {}
    chat.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    chat.page.mouse.down()
    chat.draw()
    chat.page.mouse.up()
    expect(chat.page.locator(".bubble--own .bubble__text")).to_have_text("One press is enough")
    expect(chat.text).to_be_focused()


def test_question_about_the_role_quotes_the_words(open_chat: Callable[..., Chat]) -> None:
    chat = open_chat("role-play", **PHONE)
    chat.text.fill("I wish I were dead")
    chat.page.locator('[data-part="send"]').tap()
    chat.line.acknowledge(1)
    chat.line.push(chat_frames.Help, turn=1, level=2)
    bar = chat.page.locator('[data-part="role"]')
    expect(bar).to_be_visible()
    expect(bar.locator("blockquote")).to_have_text("I wish I were dead")


def test_role_card_makes_way_for_who_sends_with_enter(open_chat: Callable[..., Chat]) -> None:
    chat = open_chat("role-play", viewport={"width": 320, "height": 568})
    card = chat.page.locator("[data-role-card]")
    expect(card).to_be_visible()
    chat.text.fill("We had a quarrel at work")
    chat.text.press("Enter")
    expect(card).to_be_hidden()


@pytest.mark.parametrize(("settings", "covers"), [(PHONE, True), (DESKTOP, False)], ids=["phone", "desktop"])
def test_role_card_makes_way_for_the_reply(
    open_chat: Callable[..., Chat], settings: dict[str, Any], covers: bool
) -> None:
    chat = open_chat("role-play", **settings)
    card = chat.page.locator("[data-role-card]")
    expect(card).to_be_visible()
    chat.text.fill("We had a quarrel at work")
    chat.page.locator('[data-part="send"]').click()
    expect(chat.page.locator(".bubble--own")).to_have_count(1)
    expect(card).to_be_visible(visible=not covers)


def test_message_box_grows_to_six_lines(open_chat: Callable[..., Chat]) -> None:
    chat = open_chat()
    chat.text.click()
    heights = []
    for _ in range(9):
        heights.append((chat.text.bounding_box() or {})["height"])
        chat.page.keyboard.press("Shift+Enter")
    steps = [after - before for before, after in pairwise(heights)]
    assert steps == [24] * 5 + [0] * 3


@pytest.mark.parametrize("what", UNBROKEN)
def test_long_text_wraps(open_chat: Callable[..., Chat], what: str) -> None:
    chat = open_chat("zh" if what == "Chinese" else "en", **NARROW)
    text = UNBROKEN[what]
    chat.text.click()
    chat.page.keyboard.insert_text(text)
    chat.page.locator('[data-part="send"]').click()
    chat.line.acknowledge(1)
    chat.line.push(chat_frames.StoredReply, turn=1, text=text)
    expect(chat.replies()).to_have_count(1)
    assert chat.page.evaluate("probes.sideways(320)") == []
    assert chat.page.evaluate("probes.cutText(320)") == []


@pytest.mark.parametrize(("language", "time"), [("en", "2:05 PM"), ("zh", "14:05")])
def test_state_and_time_of_a_message_follow_the_language(
    open_chat: Callable[..., Chat], language: str, time: str
) -> None:
    chat = open_chat(language, timezone_id="UTC")
    chat.page.clock.set_fixed_time(datetime.datetime(2026, 3, 1, 14, 5, tzinfo=datetime.UTC))
    chat.text.fill("…")
    chat.page.keyboard.press("Enter")
    sending, saved = {"en": ("Sending …", "Saved"), "zh": ("正在发送……", "已保存")}[language]
    state = chat.page.locator(".bubble--own .bubble__state")
    expect(state).to_have_text(sending)
    chat.line.acknowledge(1)
    expect(state).to_have_text(f"{saved} · {time}")
    chat.line.push(chat_frames.Chunk, turn=1, at=0, text="Yes")
    chat.line.push(chat_frames.StoredReply, turn=1, text="Yes.", sent_at="2026-03-01T14:05:00Z")
    expect(chat.page.locator(".bubble--partner[data-seq] .bubble__state")).to_have_text(time)


def test_everything_can_be_reached_in_a_very_low_window(open_chat: Callable[..., Chat]) -> None:
    chat = open_chat(**AT_400_PERCENT)
    chat.fill(3)
    chat.line.push(chat_frames.Help, turn=3, level=2)
    expect(chat.page.locator('[data-part="help"]')).to_be_visible()
    assert chat.page.evaluate("probes.cutText(320)") == []
    assert chat.page.evaluate("probes.sideways(320)") == []
    chat.text.fill("I am here.")
    chat.page.locator('[data-part="send"]').click()
    assert len(chat.line.messages()) == 1


@pytest.mark.parametrize(
    ("part", "make"), [("pause", chat_frames.Pause), ("closed", chat_frames.Closed), ("held", chat_frames.Held)]
)
def test_focus_goes_to_what_takes_the_place_of_the_message_box(
    open_chat: Callable[..., Chat], part: str, make: type[chat_frames.Outgoing]
) -> None:
    chat = open_chat()
    chat.fill(2)
    chat.text.click()
    chat.page.keyboard.type("I was just")
    values = {} if make is chat_frames.Closed else {"turn": 2}
    chat.line.push(make, **values)
    expect(chat.page.locator(f'[data-part="{part}"]')).to_be_focused()


@pytest.mark.parametrize("leave", ["Tab", "submit"])
def test_reply_is_rated_by_keyboard_with_the_answer_that_is_left_standing(
    open_chat: Callable[..., Chat], leave: str
) -> None:
    chat = open_chat("role-play")
    posts: list[str] = []

    def take(route: Route) -> None:
        posts.append(route.request.post_data or "")
        route.fulfill(json={"saved": True})

    chat.page.route("**/study/reply-rating/", take)
    chat.fill(1, reply="Yes.")
    radios = chat.page.locator(".reply-rating input[type=radio]")
    radios.first.focus()
    for key in ("Space", "ArrowRight", "ArrowRight", "ArrowRight"):
        chat.page.keyboard.press(key)
    assert posts == []
    if leave == "Tab":
        chat.page.keyboard.press("Tab")
    else:  # as some browsers do with Enter
        chat.page.locator(".reply-rating").evaluate("form => form.requestSubmit()")
    expect(chat.page.locator(".reply-rating__state")).to_have_text("Saved")
    expect(chat.text).to_be_focused()
    expect(radios.nth(3)).to_be_checked()
    assert len(posts) == 1
    assert radios.nth(3).get_attribute("value") == "4"
    assert re.search(r'name="reply_helpfulness"\s+4\s', posts[0]), posts[0]


def test_rating_is_not_changed_while_it_is_on_its_way(open_chat: Callable[..., Chat]) -> None:
    """The first one counts, so no other may look as if it had been stored."""
    chat = open_chat("role-play")
    waiting: list[Route] = []
    chat.page.route("**/study/reply-rating/", lambda route: waiting.append(route))
    chat.fill(1, reply="Yes.")
    steps = chat.page.locator(".reply-rating__step")
    steps.nth(1).click()
    expect(chat.page.locator(".reply-rating__state")).to_be_focused()
    steps.nth(3).click(force=True)
    expect(steps.nth(1).locator("input")).to_be_checked()
    expect(steps.nth(1).locator("input")).to_be_disabled()
    waiting[0].abort()
    expect(chat.page.locator(".reply-rating__state")).to_contain_text("may not have been saved")
    steps.nth(3).click()
    waiting[1].fulfill(json={"saved": True})
    expect(chat.page.locator(".reply-rating__state")).to_have_text("Saved")
    expect(steps.nth(3).locator("input")).to_be_checked()
    assert len(waiting) == 2


def test_notice_that_a_reply_is_due_goes_when_it_has_come(open_chat: Callable[..., Chat]) -> None:
    chat = open_chat()
    notice = chat.page.locator('[data-part="notice"]')
    chat.line.push(chat_frames.StoredMessage, turn=1, id="m1", text="It was a long day.")
    chat.text.fill("And another thing.")
    chat.text.press("Enter")
    expect(notice).to_have_text("You can send this when the reply is complete.")
    chat.line.push(chat_frames.Chunk, turn=1, at=0, text="Long?")
    expect(notice).to_be_visible()
    chat.line.push(chat_frames.StoredReply, turn=1, text="Long?")
    expect(notice).to_be_hidden()
    expect(chat.text).to_have_value("And another thing.")


def test_notice_goes_when_the_reply_is_known_not_to_come(open_chat: Callable[..., Chat]) -> None:
    chat = open_chat()
    chat.line.push(chat_frames.StoredMessage, turn=1, id="m1", text="It was a long day.")
    assert chat.line.route
    chat.line.route.send(chat_frames.Error(code="busy", detail="").encode())
    notice = chat.page.locator('[data-part="notice"]')
    expect(notice).to_have_text("The reply to your last message is still on its way.")
    chat.line.push(chat_frames.Failed, turn=1)
    expect(notice).to_be_hidden()


def test_notice_about_anything_else_stays_when_a_reply_comes(open_chat: Callable[..., Chat]) -> None:
    chat = open_chat()
    chat.line.push(chat_frames.StoredMessage, turn=1, id="m1", text="It was a long day.")
    chat.text.fill("x" * 4001)
    chat.text.press("Enter")
    notice = chat.page.locator('[data-part="notice"]')
    expect(notice).to_contain_text("A message can have up to 4000 characters")
    chat.line.push(chat_frames.StoredReply, turn=1, text="Long?")
    expect(chat.replies()).to_have_count(1)
    expect(notice).to_be_visible()


@pytest.mark.parametrize(
    ("who", "own", "of_partner", "earlier"),
    [("en", "Saved · 9:05 AM", "9:06 AM", "Jan 31, 9:05 AM"), ("zh", "已保存 · 09:05", "09:06", "1月31日 09:05")],
)
def test_times_stand_at_what_was_stored_before(
    open_chat: Callable[..., Chat], who: str, own: str, of_partner: str, earlier: str
) -> None:
    """As after a reload: the page did not see it arrive."""
    chat = open_chat(who, timezone_id="UTC")
    today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    told = {"turn": 1, "id": "m1", "text": "It was a long day."}
    chat.line.push(chat_frames.StoredMessage, **told, sent_at=f"{today}T09:05:00Z")
    chat.line.push(chat_frames.StoredReply, turn=1, text="Long?", sent_at=f"{today}T09:06:00Z")
    chat.line.push(chat_frames.StoredMessage, turn=2, id="m2", text="Yes.", sent_at="2026-01-31T09:05:00Z")
    own_states = chat.page.locator(".bubble--own .bubble__state")
    expect(own_states.first).to_have_text(own)
    expect(chat.page.locator(".bubble--partner .bubble__state").first).to_have_text(of_partner)
    expect(own_states.nth(1)).to_contain_text(earlier)


@pytest.mark.parametrize("settings", [DESKTOP, PHONE, SMALL], ids=["desktop", "phone", "small"])
def test_page_does_not_move_on_by_itself_beside_help(open_chat: Callable[..., Chat], settings: dict[str, Any]) -> None:
    chat = open_chat(**settings)
    chat.page.clock.install()
    chat.line.push(chat_frames.StoredMessage, turn=1, id="m1", text="I just want to disappear")
    chat.line.push(chat_frames.Help, turn=1, level=2)
    chat.line.push(chat_frames.StoredReply, turn=1, text="I am here.")
    chat.line.push(chat_frames.Pause, turn=1, next="/help/")
    card, moving = chat.page.locator('[data-part="help"]'), chat.page.locator('[data-part="pause"]')
    expect(moving.locator("[data-go]")).to_be_in_viewport(ratio=1)
    expect(card.locator('a[href="tel:988"]')).to_be_in_viewport(ratio=1)
    expect(card.locator('form[action="/study/unsafe/"] button')).to_be_in_viewport(ratio=1)
    expect(card.locator('[data-part="go-on"]')).to_be_hidden()  # there is nothing to write in now
    expect(moving.locator("[data-soon]")).to_be_hidden()
    chat.page.clock.fast_forward(60_000)
    expect(card).to_be_visible()
    with chat.page.expect_navigation():
        moving.locator("[data-go]").click()
    assert chat.page.url.endswith("/help/")


def test_end_of_a_conversation_leaves_help_in_sight(open_chat: Callable[..., Chat]) -> None:
    chat = open_chat(**PHONE)
    chat.page.clock.install()
    chat.fill(1)
    chat.line.push(chat_frames.Help, turn=1, level=3)  # the reply was withheld, and ends the conversation
    chat.line.push(chat_frames.Closed, next="/help/")
    expect(chat.page.locator('[data-part="closed"] [data-go]')).to_be_in_viewport(ratio=1)
    chat.page.clock.fast_forward(60_000)
    expect(chat.page.locator('[data-part="help"] a[href="tel:988"]')).to_be_in_viewport(ratio=1)


def test_page_still_moves_on_to_the_page_for_danger(open_chat: Callable[..., Chat]) -> None:
    chat = open_chat(**PHONE)
    chat.line.push(chat_frames.StoredMessage, turn=1, id="m1", text="I want to kill myself")
    with chat.page.expect_navigation():
        chat.line.push(chat_frames.Help, turn=1, level=3)
        chat.line.push(chat_frames.Held, turn=1, next="/help/")
    assert chat.page.url.endswith("/help/")


@pytest.mark.parametrize("settings", [DESKTOP, PHONE, NARROW], ids=["desktop", "phone", "narrow"])
def test_card_with_help_has_all_ways(open_chat: Callable[..., Chat], settings: dict[str, Any]) -> None:
    chat = open_chat(**settings)
    chat.line.push(chat_frames.StoredMessage, turn=1, id="m1", text="I just want to disappear")
    chat.line.push(chat_frames.Help, turn=1, level=2)
    card = chat.page.locator('[data-part="help"]')
    for name in ("Continue writing", "I do not feel safe", "Stop early"):
        expect(card.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    expect(card.get_by_role("link", name="Pause")).to_be_in_viewport(ratio=1)
    expect(card.locator('a[href="tel:988"]')).to_be_in_viewport(ratio=1)


def test_card_with_help_folds_all_but_the_first_two_lines(open_chat: Callable[..., Chat]) -> None:
    chat = open_chat(**PHONE)
    chat.line.push(chat_frames.StoredMessage, turn=1, id="m1", text="I just want to disappear")
    chat.line.push(chat_frames.Help, turn=1, level=2)
    card = chat.page.locator('[data-part="help"]')
    for number in ("988", "911"):
        expect(card.locator(f'a[href="tel:{number}"]')).to_be_in_viewport(ratio=1)
    other = card.locator('a[href="tel:1-800-799-7233"]')
    expect(other).to_be_hidden()
    card.locator("summary").click()
    expect(other).to_be_visible()


def test_notice_of_a_broken_line_says_whether_a_message_waits(open_chat: Callable[..., Chat]) -> None:
    chat = open_chat()
    notice = chat.page.locator('[data-part="notice"]')
    # The line does not come back
    chat.page.evaluate("() => { window.WebSocket = class extends EventTarget { static OPEN = 1; close() {} }; }")
    chat.page.evaluate("window.dispatchEvent(new Event('offline'))")
    expect(notice).to_contain_text("What you sent is saved,")
    chat.text.fill("We had a quarrel at work")
    chat.page.locator('[data-part="send"]').click()
    expect(notice).to_contain_text("Your message is still on this device: please keep this page open.")


@pytest.mark.parametrize("who", ["en", "role-play"])
def test_box_stays_whole_beneath_a_notice_above_the_keyboard_of_a_small_phone(
    open_chat: Callable[..., Chat], who: str
) -> None:
    chat = open_chat(who, **{**SMALL, "viewport": {"width": 360, "height": 330}})
    chat.page.evaluate("() => { window.WebSocket = class extends EventTarget { static OPEN = 1; close() {} }; }")
    if who == "role-play":
        chat.page.locator("[data-role-card-open]").tap()
    chat.text.tap()
    chat.page.keyboard.insert_text("It was a long day at work and I slept badly")
    chat.page.evaluate("window.dispatchEvent(new Event('offline'))")
    expect(chat.page.locator('[data-part="notice"]')).to_be_visible()
    expect(chat.text).to_be_in_viewport(ratio=1)
    expect(chat.page.locator('[data-part="send"]')).to_be_in_viewport(ratio=1)


def test_small_phone_with_doubled_text_has_room_for_words(open_chat: Callable[..., Chat]) -> None:
    chat = open_chat(**{**SMALL, "viewport": {"width": 180, "height": 320}, "device_scale_factor": 4})
    for part in (chat.text, chat.page.locator('[data-part="send"]')):
        assert (part.bounding_box() or {})["width"] >= 140
    chat.page.goto(chat.page.url.replace("/study/", "/help/"))
    name = chat.page.locator(".site-header__study")
    assert (name.bounding_box() or {})["width"] >= 140
    expect(chat.page.get_by_role("heading", level=1)).to_be_in_viewport()


def test_menu_keeps_the_unsafe_button_apart_and_says_what_follows(open_chat: Callable[..., Chat]) -> None:
    chat = open_chat(**PHONE)
    chat.page.locator(".chat-more summary").click()
    menu = chat.page.locator(".chat-more__list")
    expect(menu).to_contain_text("The study ends for you.")
    button, language = menu.locator(".unsafe__button").bounding_box(), menu.locator(".language-switch").bounding_box()
    assert button
    assert language
    assert language["y"] - (button["y"] + button["height"]) >= 24
    assert (menu.bounding_box() or {})["x"] >= 0


def test_menu_closes_by_escape_and_by_what_is_done_elsewhere(open_chat: Callable[..., Chat]) -> None:
    chat = open_chat(**PHONE)
    summary, menu = chat.page.locator(".chat-more summary"), chat.page.locator(".chat-more__list")
    summary.click()
    expect(menu).to_be_visible()
    chat.page.keyboard.press("Tab")
    chat.page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(summary).to_be_focused()
    summary.click()
    chat.log.click(position={"x": 20, "y": 20})
    expect(menu).to_be_hidden()
    summary.click()
    chat.text.focus()
    expect(menu).to_be_hidden()
    summary.click()
    summary.click()
    expect(menu).to_be_hidden()
