"""A form is taken once; what is not sent yet is kept; what could not be saved can be sent again."""

import re
import uuid

import pytest
from django.core.management import call_command
from django.db import OperationalError
from django.test import Client

from dialogue.chat import chat_frames, history, messages
from dialogue.models import Turn
from studies.data import erasure
from studies.models import Answer, Draft, Participation, Rater, Response, Study, Submission
from studies.models.participation import Status
from studies.participation import enrolment, progress, submissions
from studies.participation.submissions import keep_draft
from tests.answers import middle
from tests.people import Person

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def demo(db, settings):
    call_command("load_study", str(settings.FIXTURES / "studies" / "demo.toml"), verbosity=0)


def key_on(page) -> str:
    return re.search(r'name="idempotency" value="([^"]+)"', page.content.decode())[1]


def at(kind: str, **where) -> Person:
    person = Person()
    person.go_to(kind, **where)
    return person


def test_each_showing_of_a_page_has_a_key_of_its_own_and_all_its_forms_bear_it():
    person = at("rating", run=1)
    first, second = person.page().content.decode(), person.page().content.decode()
    keys = re.findall(r'name="idempotency" value="([^"]+)"', first)
    assert len(keys) == first.count('method="post"') == 3
    # "I do not feel safe" is an answer of its own, beside the page's: its key is the page's with a name.
    assert {key.partition(".")[0] for key in keys} == {keys[0]}
    assert keys[0] not in second


def test_form_that_was_taken_is_not_taken_again_and_the_person_goes_on():
    person = at("rating", run=1)
    key, answers, step = key_on(person.page()), middle("emoharbor_10"), person.step
    first = person.send({**answers, "idempotency": key}, step)
    again = person.send({**answers, "idempotency": key}, step)
    assert first.status_code == again.status_code == 302
    assert Response.objects.filter(instrument="emoharbor_10").count() == 1
    assert Submission.objects.filter(key=key).count() == 1


def test_try_of_the_quiz_counts_once_however_often_its_form_arrives():
    person = at("training")
    wrong = dict.fromkeys(person.answers(), "a")
    key = key_on(person.page())
    person.send({**wrong, "idempotency": key})
    person.send({**wrong, "idempotency": key})
    person.row.refresh_from_db()
    assert person.row.quiz_attempts == 1


def test_key_of_a_form_to_be_mended_stays_free():
    person = at("rating", run=1)
    key, answers = key_on(person.page()), middle("emoharbor_10")
    lacking = {name: value for name, value in answers.items() if name != "safety"}
    person.be_refused({**lacking, "idempotency": key})
    assert not Submission.objects.filter(key=key).exists()
    assert person.send({**answers, "idempotency": key}).status_code == 302
    assert Response.objects.filter(instrument="emoharbor_10").count() == 1


def test_key_and_what_the_form_changed_are_stored_together_or_not_at_all(monkeypatch):
    person = at("rating", run=1)
    key = key_on(person.page())
    monkeypatch.setattr(progress, "advance", fail)
    person.client.raise_request_exception = False
    assert person.send({**middle("emoharbor_10"), "idempotency": key}).status_code == 503
    assert not Submission.objects.filter(key=key).exists()
    assert not Response.objects.filter(instrument="emoharbor_10").exists()


def fail(*_args, **_kwargs):
    raise OperationalError("the database is away")


def test_form_that_could_not_be_saved_is_in_the_page_to_be_sent_again(monkeypatch):
    person = at("rating", run=1)
    step, answers = person.step, {**middle("emoharbor_10"), "idempotency": key_on(person.page()), "comment": "<5 & 6>"}
    person.client.raise_request_exception = False
    with monkeypatch.context() as away:
        away.setattr(progress, "advance", fail)
        page = person.send(answers, step)
    html = page.content.decode()
    kept = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', html))
    assert kept == {**answers, "step": step.key, "comment": "&lt;5 &amp; 6&gt;"}
    assert (page.status_code, page["Retry-After"]) == (503, "5")
    assert 'action="/study/"' in html
    assert person.send(answers, step).status_code == 302


def test_session_that_could_not_be_saved_is_no_fault_of_the_browser(monkeypatch):
    person = Person()
    person.client.raise_request_exception = False
    with monkeypatch.context() as away:
        away.setattr("django.contrib.sessions.models.Session.save", fail)
        page = person.client.post("/study/language/", {"language": "zh"})
    assert (page.status_code, page["Retry-After"]) == (503, "5")


def test_other_break_is_told_as_such_and_a_password_is_not_repeated(client, monkeypatch):
    client.raise_request_exception = False
    monkeypatch.setattr("allauth.account.views.LoginView.post", lambda *_args, **_kwargs: 1 / 0)
    page = client.post("/research/sign-in/", {"login": "a", "password": "secret-word"})
    assert page.status_code == 500
    assert b"secret-word" not in page.content


def test_reply_rating_that_was_refused_may_be_sent_again_and_counts_once():
    person = at("chat", run=1)
    person.page()
    person.say("My week was long.")
    rating = {"turn": "1", "idempotency": "code.1"}
    answers = [{"reply_helpfulness": "9"}, {"reply_helpfulness": "4"}, {"reply_helpfulness": "1"}]
    sent = [person.client.post("/study/reply-rating/", {**rating, **answer}).status_code for answer in answers]
    assert sent == [400, 200, 200]
    assert Answer.objects.get(item="reply_helpfulness").value == 4


# Drafts


def draft(person: Person, answers: dict[str, str], **more: str) -> None:
    sent = {"step": person.step.key, "csrfmiddlewaretoken": "x", "seconds.safety": "2.0", **answers, **more}
    assert person.client.post("/study/draft/", sent).status_code == 204


def test_answers_not_sent_yet_are_there_again_and_gone_once_the_page_is_sent():
    person = at("rating", run=1)
    draft(person, {"safety": "2", "comment": "It listened."})
    html = person.page().content.decode()
    assert re.search(r'name="safety" value="2"[^>]*checked', html)
    assert "It listened." in html
    assert Draft.objects.get().answers == {"safety": "2", "comment": "It listened."}
    person.send(middle("emoharbor_10"))
    assert not Draft.objects.exists()
    assert Answer.objects.get(response__instrument="emoharbor_10", item="safety").value == 3


def test_late_draft_of_a_page_that_was_left_is_let_go():
    person = at("rating", run=1)
    before = person.step.key
    person.send(person.answers())
    assert person.client.post("/study/draft/", {"step": before, "safety": "1"}).status_code == 204
    assert not Draft.objects.exists()


def test_draft_of_one_checkpoint_is_not_that_of_the_next():
    person = at("chat", run=1)
    person.page()
    for _ in range(5):
        person.say("My week was long.")
    draft(person, {"understood": "1"}, checkpoint="5")
    assert Draft.objects.get().step == "run1.chat.5"


def test_draft_goes_with_the_person_s_part():
    left, erased = at("rating", run=1), at("rating", run=1)
    for person in (left, erased):
        draft(person, {"safety": "2"})
    left.client.post("/leave/", {"choice": "keep"})
    assert not left.row.drafts.exists()
    erased.client.post("/leave/", {"choice": "delete", "idempotency": "k"})
    assert not Draft.objects.exists()
    assert not Submission.objects.filter(participation=erased.row).exists()


def test_overlong_draft_is_not_kept():
    person = at("rating", run=1)
    draft(person, {"comment": "x" * 60_000})
    assert not Draft.objects.exists()


# What is to be mended


def test_page_of_a_refused_form_shows_its_faults_and_answers_however_often_it_is_opened():
    person = at("rating", run=1)
    person.be_refused({"empathetic": "5", "comment": "It listened.", "seconds.empathetic": "2.0"})
    for _ in range(2):
        html = person.page().content.decode()
        assert 'id="error-summary"' in html
        assert 'href="#id_safety"' in html
        assert 'href="#id_empathetic"' not in html
        assert re.search(r'name="empathetic" value="5"[^>]*checked', html)
        assert "It listened." in html


def test_what_is_answered_after_the_refusal_is_kept_beside_the_faults_that_are_left():
    person = at("rating", run=1)
    answers = middle("emoharbor_10")
    person.be_refused({name: value for name, value in answers.items() if name not in ("safety", "empathetic")})
    draft(person, {name: value for name, value in answers.items() if name != "empathetic"})
    html = person.page().content.decode()
    assert 'href="#id_empathetic"' in html
    assert 'href="#id_safety"' not in html


def test_page_whose_form_is_taken_begins_anew():
    person = at("chat", run=1)
    person.page()
    for _ in range(5):
        person.say("My week was long.")
    person.be_refused({"understood": "1", "checkpoint": "5"})
    assert person.send({**middle("turn_checkpoint"), "checkpoint": "5"}).status_code == 302
    assert not Draft.objects.exists()
    for _ in range(5):
        person.say("My week was long.")
    assert "data-error-summary" not in person.page().content.decode()


def test_long_answers_are_not_lost_with_the_refusal():
    person = at("rating", run=1)
    html = person.be_refused({"comment": "x" * 60_000}).content.decode()
    assert "x" * 60_000 in html


def test_nothing_is_kept_of_who_has_left_meanwhile():
    person = at("rating", run=1)
    step = person.step
    person.client.post("/leave/", {"choice": "keep"})
    keep_draft(person.row, step.key, {"safety": "2"}, faults=[])
    assert not Draft.objects.exists()


def test_taking_leave_and_stepping_out_answer_every_form_with_a_redirect():
    person = at("rating", run=1)
    sent = [
        person.client.post("/leave/", {}),
        person.client.post("/leave/", {"choice": "none", "idempotency": "k"}),
        person.client.post("/study/step-out/", {"act": "none"}),
        person.client.post("/leave/", {"choice": "delete", "idempotency": "k"}),
    ]
    assert [each.status_code for each in sent] == [303, 303, 302, 302]
    assert person.page().context["step"].kind == "withdrawn"


# What was seen, and how long it took


def seen_up_to(person: Person, turn: int) -> None:
    run = person.row.runs.get(position=1)
    history.mark_seen(run.conversation_id, run.conversation.turns.get(number=turn).reply_seq)


def test_rating_tells_the_turns_that_it_was_given_on():
    person = at("rating", run=1)
    Turn.objects.update(seen=False)
    seen_up_to(person, 8)
    person.send({**middle("emoharbor_10"), "seconds.safety": "3.5", "seconds.comment": "nonsense"})
    response = Response.objects.get(instrument="emoharbor_10")
    assert (response.first_turn, response.last_turn) == (1, 8)
    seconds = dict(response.answers.values_list("item", "seconds"))
    assert seconds["safety"] == 3.5
    assert {value for item, value in seconds.items() if item != "safety"} == {None}


def test_checkpoint_tells_the_turns_since_the_one_before():
    person = at("chat", run=1)
    person.page()
    for number in range(1, 11):
        person.say("My week was long.")
        seen_up_to(person, number)
        if number in (5, 10):
            person.send({**middle("turn_checkpoint"), "checkpoint": str(number)})
    ranges = Response.objects.filter(moment="checkpoint").order_by("turn").values_list("first_turn", "last_turn")
    assert list(ranges) == [(1, 5), (6, 10)]


def test_nothing_is_measured_where_the_study_does_not_say_so():
    person = at("rating", run=1)
    person.row.protocol.design["display"]["timings"] = False
    person.row.protocol.save()
    assert b"data-timings" not in person.page().content
    person.send({**middle("emoharbor_10"), "seconds.safety": "3.5"})
    assert not Answer.objects.filter(seconds__isnull=False).exists()


@pytest.mark.parametrize("recorded", [True, False])
def test_how_a_message_was_written_is_stored_where_it_was_agreed_to(recorded):
    person = at("chat", run=1)
    person.page()
    conversation = person.row.runs.get(position=1).conversation
    conversation.timings = recorded
    conversation.save()
    timing = chat_frames.Timing(reading_ms=4000, typing_ms=9000, focus_losses=1, pasted=True)
    messages.take_seeker_turn(conversation.pk, client_id=str(uuid.uuid4()), text="Hello.", owner="me", timing=timing)
    turn = Turn.objects.get()
    stored = turn.reading_ms, turn.typing_ms, turn.focus_losses, turn.pasted
    assert stored == ((4000, 9000, 1, True) if recorded else (None, None, None, None))


def test_person_who_left_can_still_be_told_so_by_a_second_click():
    person = at("rating", run=1)
    leaving = {"choice": "keep", "idempotency": "twice"}
    assert [person.client.post("/leave/", leaving).status_code for _ in range(2)] == [302, 302]
    person.row.refresh_from_db()
    assert person.row.status == Status.WITHDRAWN


@pytest.mark.parametrize("path", ["draft", "reply-rating", "flag", "step-out"])
def test_who_has_come_by_a_link_and_not_begun_has_nothing_to_send(path):
    """The link binds the browser; the first page makes the plan."""
    client = Client()
    _, token = enrolment.invite(Study.objects.get())
    assert client.post(f"/j/{token}/").status_code == 302
    sent = client.post(f"/study/{path}/", {"step": "language", "turn": "1", "idempotency": "code.1"})
    assert sent.status_code < 500
    assert not Draft.objects.exists()


def test_forms_of_invented_pages_do_not_fill_the_database(monkeypatch):
    monkeypatch.setattr(submissions, "MOST_DRAFTS", 2)
    person = at("rating", run=1)
    for number in range(3):
        sent = {"choice": "", "step": f"{number}{'y' * 200}", "big": "z" * 300_000}
        assert person.client.post("/leave/", sent).status_code == 303
        person.client.post("/study/draft/", {"step": person.step.key, "checkpoint": str(number), "care": "4"})
    kept = person.row.drafts.values_list("step", "answers").order_by("pk")
    assert list(kept) == [(f"2{'y' * 99}", {}), (f"{person.step.key}.2", {"care": "4"})]


@pytest.mark.parametrize("page", ["/study/", "/study/ask/"])
def test_form_that_waited_for_an_erasure_stores_nothing(page, monkeypatch):
    person = at("rating", run=1)
    key, step = key_on(person.page()), person.step.key

    def erase_first(_session, read_before):
        erasure.erase(Participation.objects.get(pk=read_before.pk))
        return True

    monkeypatch.setattr(enrolment, "came_by_their_link", erase_first)
    sent = {**middle("emoharbor_10"), "text": "Where are my words?", "step": step, "idempotency": f"{key}x"}
    assert person.client.post(page, sent).status_code == 302
    assert (Answer.objects.count(), Rater.objects.filter(participation=person.row).count()) == (0, 0)
    assert (person.row.questions.count(), person.row.drafts.count()) == (0, 0)
