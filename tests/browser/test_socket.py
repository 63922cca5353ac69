"""The line to the server (static/js/socket.js), where several tabs share what the browser keeps."""

import pytest
from playwright.sync_api import Browser

from tests.server import Server

pytestmark = pytest.mark.browser

TWO_TABS = """async () => {
  const { ChatSocket } = await import("/static/js/socket.js");
  const tab = () => new ChatSocket("room", { onFrame() {}, onState() {} });
  const [one, other] = [tab(), tab()];
  const first = one.send("written in one tab");
  other.send("written in the other");
  one.receive({ type: "ack", id: first, turn: 1 });
  return tab().unsent.map(({ text }) => text);
}"""
LATE_ACK = """async () => {
  const { ChatSocket } = await import("/static/js/socket.js");
  const socket = new ChatSocket("other-room", { onFrame() {}, onState() {} });
  const id = socket.send("sent again over a new line");
  socket.receive({ type: "message", seq: 1, turn: 1, id, text: "" });
  socket.receive({ type: "reply", seq: 2, turn: 1, text: "" });
  socket.receive({ type: "ack", id, turn: 1 });
  return socket.replyDue;
}"""
# A line whose other end is in the test's hands: no network is needed, and none is missing.
LINES = """
  const lines = [];
  class Line extends EventTarget {
    static OPEN = 1;
    readyState = 0;
    sent = [];
    constructor() { super(); lines.push(this); }
    open() { this.readyState = 1; this.dispatchEvent(new Event("open")); }
    send(text) { this.sent.push(JSON.parse(text).type); }
    close() { this.readyState = 3; }
  }
  window.WebSocket = Line;
"""
OFFLINE = f"""async () => {{
  const {{ ChatSocket }} = await import("/static/js/socket.js");
  {LINES}
  const states = [];
  const socket = new ChatSocket("offline-room", {{ onFrame() {{}}, onState: (state) => states.push(state) }});
  socket.connect();
  lines[0].open();
  window.dispatchEvent(new Event("offline"));
  const afterwards = states.at(-1);
  lines[0].dispatchEvent(new Event("close"));
  window.dispatchEvent(new Event("online"));
  const [dead, anew] = lines;
  dead.open();
  const late = states.at(-1);
  anew.open();
  return {{ afterwards, lines: lines.length, late, states, sent: anew.sent }};
}}"""
HURRIED = f"""async () => {{
  const {{ ChatSocket }} = await import("/static/js/socket.js");
  {LINES}
  const socket = new ChatSocket("hurried-room", {{ onFrame() {{}}, onState() {{}} }});
  socket.connect();
  window.dispatchEvent(new Event("online"));
  lines.at(-1).open();
  window.dispatchEvent(new Event("online"));
  return lines.map(({{ readyState }}) => readyState);
}}"""
UNHEARD = f"""async () => {{
  const {{ ChatSocket }} = await import("/static/js/socket.js");
  {LINES}
  window.socket = new ChatSocket("silent-room", {{ onFrame() {{}}, onState() {{}} }});
  window.lines = lines;
  socket.connect();
  lines[0].open();
  window.id = socket.send("Does anyone hear me?");
}}"""
UNOPENED = f"""async () => {{
  const {{ ChatSocket }} = await import("/static/js/socket.js");
  {LINES}
  window.states = [];
  window.lines = lines;
  new ChatSocket("unopened-room", {{ onFrame() {{}}, onState: (state) => states.push(state) }}).connect();
}}"""
ENDING = f"""async () => {{
  const {{ ChatSocket }} = await import("/static/js/socket.js");
  {LINES}
  window.socket = new ChatSocket("ending-room", {{ onFrame() {{}}, onState() {{}} }});
  window.lines = lines;
  socket.connect();
  lines[0].open();
  socket.end(false);
}}"""


@pytest.fixture
def page(browser: Browser, server: Server):
    page = browser.new_page()
    page.goto(server.base_url)
    yield page
    page.close()


def test_message_of_one_tab_is_kept_when_another_tab_hears_of_its_own(page):
    assert page.evaluate(TWO_TABS) == ["written in the other"]


def test_late_acknowledgement_makes_no_reply_due_that_was_told(page):
    assert page.evaluate(LATE_ACK) is False


def test_lost_network_is_told_at_once_and_a_new_line_opened_as_soon_as_it_is_back(page):
    """The line itself would not know for half a minute."""
    assert page.evaluate(OFFLINE) == {
        "afterwards": "broken",
        "lines": 2,
        "late": "connecting",
        "states": ["connecting", "connected", "broken", "connecting", "connected"],
        "sent": ["resume"],
    }


def test_line_that_was_begun_without_a_network_is_begun_anew_and_an_open_one_is_left_alone(page):
    assert page.evaluate(HURRIED) == [3, 1]


def test_line_on_which_nobody_acknowledges_is_given_up_sooner_than_one_on_which_a_reply_is_due(page):
    page.clock.install()
    page.evaluate(UNHEARD)
    page.clock.run_for(11_000)
    assert page.evaluate("lines.length") == 2
    page.evaluate("""() => {
        lines[1].open();
        socket.receive({ type: "message", seq: 1, turn: 1, id, text: "" });
    }""")
    page.clock.run_for(11_000)
    assert page.evaluate("lines.length") == 2
    page.clock.run_for(20_000)
    assert page.evaluate("lines.length") == 3


def test_offer_to_connect_that_nobody_answers_is_told_and_made_again(page):
    page.clock.install()
    page.evaluate(UNOPENED)
    page.clock.run_for(21_000)
    assert page.evaluate("[states, lines.map(({ readyState }) => readyState)]") == [
        ["connecting", "broken", "connecting"],
        [3, 0],
    ]
    page.evaluate("lines[1].open()")
    page.clock.run_for(60_000)
    assert page.evaluate("[states.at(-1), lines.length]") == ["connected", 2]


def test_end_is_asked_for_again_where_the_line_was_dead_until_it_is_answered(page):
    page.clock.install()
    page.evaluate(ENDING)
    page.clock.run_for(11_000)
    page.evaluate("lines[1].open()")
    assert page.evaluate("lines.map(({ sent }) => sent)") == [["resume", "end"], ["resume", "end"]]
    page.evaluate("socket.receive({ type: 'closed', seq: 1, next: '/study/' })")
    page.clock.run_for(60_000)
    assert page.evaluate("lines.length") == 2


def test_tab_that_was_superseded_does_not_come_back_for_its_message(page):
    page.clock.install()
    page.evaluate(UNHEARD)
    page.evaluate("socket.receive({ type: 'superseded' })")
    page.clock.run_for(60_000)
    assert page.evaluate("lines.length") == 1
    page.evaluate("localStorage.clear()")
