import pytest

from studies.bots.page_reader import Field, Toggle, read_page

PAGE = """
<h1>Feelings &amp; more</h1>
<form action="/study/language/" method="post"><button name="language" value="en">English</button></form>
<form method="post">
  <input type="hidden" name="csrfmiddlewaretoken" value="abc"><input type="hidden" name="step" value="run1.chat">
  <div data-item="mood">
    <label><input type="radio" name="mood" value="low" checked>Low</label>
    <label><input type="radio" name="mood" value="high">High</label>
  </div>
  <div data-item="why" data-show-if="mood" data-show-values="low other" data-hide-if="agree" data-hide-values="on">
    <textarea name="why" rows="4">Since
Monday</textarea>
  </div>
  <select name="country"><option value="">Choose</option><option value="US" selected>US</option></select>
  <input name="age" inputmode="numeric" value="30"><input type="checkbox" name="agree">
  <input name="late" disabled><input type="submit" name="go" value="Go">
</form>
<input name="outside" value="x">
<main data-conversation="c0de"></main><p class="big completion-code"> 7KQ2MZ4RTB </p>
"""


def test_fields_are_those_that_stand_on_the_page() -> None:
    form = read_page(PAGE).step_form()
    assert form is not None
    assert form.fields == {
        "csrfmiddlewaretoken": Field("hidden", [], "abc"),
        "step": Field("hidden", [], "run1.chat"),
        "mood": Field("radio", ["low", "high"], "low"),
        "why": Field("textarea", [], "Since\nMonday"),
        "country": Field("select", ["", "US"], "US"),
        "age": Field("text", [], "30"),
        "agree": Field("checkbox", ["on"], ""),
    }
    assert form.hidden_values() == {"csrfmiddlewaretoken": "abc", "step": "run1.chat"}
    assert list(form.visible_fields()) == ["mood", "why", "country", "age", "agree"]


def test_page_tells_its_conversation_and_the_completion_code() -> None:
    page = read_page(PAGE)
    assert (page.conversation, page.completion_code, page.heading) == ("c0de", "7KQ2MZ4RTB", "Feelings & more")
    assert [list(form.fields) for form in page.forms[:1]] == [["language"]]


def test_page_without_them_tells_nothing() -> None:
    page = read_page("<h1>Wait</h1><p>Please.</p>")
    assert (page.conversation, page.completion_code, page.step_form()) == ("", "", None)


def test_transcript_is_read_turn_by_turn() -> None:
    page = read_page(
        '<ol class="transcript">'
        '<li class="bubble bubble--own"><p class="bubble__name">Seeker</p><p class="bubble__text">I feel &lt;low>.</p>'
        '<li class="bubble bubble--own"><p class="bubble__text">Still there?</p>'
        '<li class="bubble bubble--partner"><p class="bubble__name">S</p><p class="bubble__text">Yes.\nGo on.</p></ol>'
        '<ol class="transcript"><li class="bubble bubble--partner"><p class="bubble__text">Hello.</p></ol>'
    )
    first = [("own", "I feel <low>."), ("own", "Still there?"), ("partner", "Yes.\nGo on.")]
    assert page.transcripts == [first, [("partner", "Hello.")]]
    assert page.talks() == [[("Still there?", "Yes.\nGo on.")], []]


def test_bubbles_that_are_no_transcript_are_not_read() -> None:
    assert read_page('<li class="bubble bubble--own"><p class="bubble__text">Hello.</p>').talks() == []


def test_field_is_shown_and_hidden_by_the_answers_to_others() -> None:
    form = read_page(PAGE).step_form()
    assert form is not None
    assert form.toggles["why"] == [Toggle("show", "mood", ("low", "other")), Toggle("hide", "agree", ("on",))]
    assert form.is_shown("why", {"mood": "low"})
    assert not form.is_shown("why", {"mood": "high"})
    assert not form.is_shown("why", {"mood": "low", "agree": "on"})
    assert form.is_shown("mood", {})


@pytest.mark.parametrize(("summary", "is_refused"), [("<div data-error-summary></div>", True), ("", False)])
def test_page_tells_whether_the_form_that_was_sent_is_to_be_mended(summary, is_refused):
    assert read_page(f"<h1>Rating</h1>{summary}<form></form>").is_refused is is_refused
