"""Out of the role and back; what was said of danger on the way; and the questions afterwards."""

import pytest
from django.core import mail
from django.core.management import call_command

from dialogue.models import RiskEvent
from studies.models import Answer, Response, RolePlay
from tests.people import Person

pytestmark = pytest.mark.django_db
OUT = "/study/step-out/"


@pytest.fixture(autouse=True)
def demo(db, settings, on_commit_at_once):
    call_command("load_study", str(settings.FIXTURES / "studies" / "demo.toml"), verbosity=0)


@pytest.fixture
def counsellor() -> Person:
    person = Person(track="counsellor")
    person.go_to("chat", run=1)
    person.page()
    person.say()
    return person


def act(person: Person, act: str, **fields: str):
    return person.client.post(OUT, {"act": act, **fields})


def role_play_of(person: Person) -> RolePlay:
    run = person.row.runs.get(position=1)
    return RolePlay.objects.get_or_create(run=run, defaults={"card": {}})[0]


def test_stepping_out_is_counted_and_leads_to_a_page_of_its_own(counsellor):
    role_play_of(counsellor)
    response = act(counsellor, "out", idempotency="one")
    assert (response.status_code, response.url) == (302, OUT)
    act(counsellor, "out", idempotency="one")
    counsellor.client.get(OUT)
    assert role_play_of(counsellor).stepped_out == 1

    act(counsellor, "out", idempotency="two")
    assert role_play_of(counsellor).stepped_out == 2


def test_page_names_the_ways_on_and_who_can_be_reached(counsellor):
    page = counsellor.client.get(OUT).content.decode()
    assert "<h1>You are yourself again</h1>" in page
    for way in (
        'href="/study/"',
        'href="/pause/"',
        'href="/leave/"',
        'value="stop"',
        'value="unsafe"',
        'href="tel:988"',
    ):
        assert way in page
    assert "demo@example.org" in page


def test_stepping_out_where_no_card_was_given_counts_nothing_and_makes_nothing(counsellor):
    RolePlay.objects.all().delete()
    assert act(counsellor, "out").url == OUT
    assert RolePlay.objects.count() == 0


def test_conversation_stays_open_meanwhile(counsellor):
    act(counsellor, "out")
    assert counsellor.conversation().status == "open"
    assert counsellor.step.kind == "chat"
    counsellor.say()
    assert counsellor.conversation().answered_turns() == 2


def test_conversation_can_be_stopped_there(counsellor):
    assert act(counsellor, "stop").url == "/study/"
    room = counsellor.conversation()
    assert (room.status, room.end_reason) == ("closed", "early")
    counsellor.page()
    assert counsellor.step.key == "run1.rating.emoharbor_10"
    assert act(counsellor, "stop").url == "/study/"


def test_who_does_not_feel_safe_is_let_go_and_the_one_on_call_told(counsellor):
    assert act(counsellor, "unsafe").url == "/study/"
    room = counsellor.row.runs.get().conversation
    assert counsellor.step.kind == "stopped"
    assert (room.status, room.end_reason) == ("closed", "safety")
    event = RiskEvent.objects.get()
    assert (event.level, event.source, event.conversation) == (4, "answer", room)
    assert len(mail.outbox) == 1
    assert "You told us that you do not feel safe." in counsellor.page().content.decode()


def test_nobody_steps_out_who_plays_no_role(counsellor, client):
    participant = Person()
    participant.go_to("chat", run=1)
    participant.page()
    for method in (participant.client.get, participant.client.post):
        assert method(OUT, {"act": "unsafe"}).url == "/study/"
    assert participant.step.kind == "chat"

    counsellor.converse()
    assert act(counsellor, "out").url == "/study/"
    assert client.get(OUT).status_code == 403
    assert counsellor.client.delete(OUT).status_code == 405


def test_words_of_level_3_are_answered_and_asked_about_beside_a_way_out(counsellor):
    taken = counsellor.say("I want to kill myself")
    assert taken.assignment is not None  # a reply was fetched
    assert [frame.type for frame in taken.frames] == ["help"]
    page = counsellor.page().content.decode()
    question = page[page.index("Were these words part of the role, or your own?") :].partition("</form>")[0]
    assert 'form="step-out"' in question
    assert counsellor.client.get(OUT).status_code == 200
    assert mail.outbox == []


@pytest.mark.parametrize(("answer", "step"), [("role", "chat"), ("me", "held")])
def test_answer_about_level_3_holds_only_who_speaks_for_themselves(counsellor, answer, step):
    counsellor.say("I want to kill myself")
    counsellor.client.post("/study/role/", {"turn": "2", "answer": answer})
    assert counsellor.step.kind == step
    assert RiskEvent.objects.get().role_answer == answer
    assert len(mail.outbox) == (answer == "me")
    assert counsellor.client.get(OUT).status_code == (200 if answer == "role" else 302)


@pytest.mark.parametrize("answer", ["role", "me"])
def test_words_of_level_4_hold_whoever_speaks(counsellor, answer):
    taken = counsellor.say("I am going to kill myself tonight")
    assert taken.assignment is None  # no model was asked
    counsellor.client.post("/study/role/", {"turn": "2", "answer": answer})
    assert counsellor.step.kind == "held"
    assert counsellor.row.runs.get(position=1).conversation.status == "held"
    assert counsellor.client.get(OUT).url == "/study/"
    assert 'href="tel:988"' in counsellor.page().content.decode()
    assert mail.outbox


# Afterwards


def test_counsellor_is_never_interrupted_by_a_rating(counsellor):
    assert counsellor.conversation().pause_after == []
    participant = Person()
    participant.go_to("chat", run=1)
    participant.page()
    assert participant.conversation().pause_after == [5, 10]


def test_counsellor_is_asked_more_afterwards_and_last_of_all_about_themselves(counsellor):
    keys = [step.key for step in counsellor.row.steps() if step.run == 1]
    assert keys[-5:] == [
        "run1.rating.emoharbor_10",
        "run1.rating.worst_case_4",
        "run1.rating.role_fidelity",
        "run1.questionnaire.de_roling.post",
        "run1.between",
    ]
    participant = Person()
    participant.go_to("chat", run=1)
    assert [step.key for step in participant.row.steps() if step.run == 1][-3:] == [
        "run1.rating.emoharbor_10",
        "run1.questionnaire.emotion_checkin.post",
        "run1.between",
    ]


def test_answers_about_the_role_are_no_ratings_and_the_score_of_a_mood_is_found(counsellor):
    counsellor.go_to("between", run=1)
    responses = Response.objects.filter(rater__participation=counsellor.row, run__position=1)
    assert dict(responses.values_list("instrument", "is_rating").order_by("pk")) == {
        "emotion_checkin": False,
        "emoharbor_10": True,
        "worst_case_4": True,
        "role_fidelity": False,
        "de_roling": False,
    }
    assert responses.get(instrument="de_roling").moment == "post"
    assert Answer.objects.get(response__instrument="de_roling", item="valence").value == 3


def test_who_does_not_feel_safe_after_the_role_is_let_go(counsellor):
    counsellor.converse()
    while counsellor.step.instrument != "de_roling":
        assert counsellor.send(counsellor.answers()).status_code == 302
    counsellor.send({**counsellor.answers(), "want_support": "unsafe"})
    assert counsellor.step.kind == "stopped"
    assert RiskEvent.objects.get().level == 4


def test_who_would_like_to_talk_with_a_person_is_shown_the_lines_first(counsellor):
    counsellor.converse()
    while counsellor.step.instrument != "de_roling":
        counsellor.send(counsellor.answers())
    counsellor.send({**counsellor.answers(), "want_support": "yes"})
    page = counsellor.page().content.decode()
    assert page.index('href="tel:988"') < page.index("Continue with the study")
    counsellor.send({})
    page = counsellor.page().content.decode()
    assert 'name="topic' not in page
    assert "You find your next role with the conversation." in page
    assert counsellor.step.key == "run1.between"


def test_reason_is_kept_with_its_score(counsellor):
    counsellor.converse()
    counsellor.send({**counsellor.answers(), "why-empathetic": "It heard me once.\r\nThen no more."})
    kept = dict(Answer.objects.filter(response__instrument="emoharbor_10").values_list("item", "reason"))
    assert kept.pop("empathetic") == "It heard me once.\nThen no more."
    assert set(kept.values()) == {""}


def test_reason_not_sent_yet_is_kept_and_shown_open(counsellor):
    counsellor.converse()
    counsellor.page()
    key = counsellor.step.key
    counsellor.client.post("/study/draft/", {"step": key, "why-safety": "No harm was done."})
    page = counsellor.page().content.decode()
    assert page.count('<details class="reason" open>') == 1
    assert "No harm was done." in page
