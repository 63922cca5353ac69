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
