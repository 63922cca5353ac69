"""A supporter that speaks first: the same words for all arms, shown wherever the conversation is, and no turn."""

from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from dialogue.deidentification.redaction import Redaction
from dialogue.judges.prompts import judge_messages
from dialogue.models import Conversation, RiskEvent, Turn
from dialogue.prompts import DEFAULTS
from studies.data.erasure import erase
from studies.data.exports.columns import Filter
from studies.data.exports.tables import CONVERSATIONS, conversations, turns
from studies.design.spec import PromptSpec
from studies.interviews.materials import talks_of
from studies.judging.comparisons import PairHandler
from studies.judging.material import get_turns
from studies.models import ArmRun, Pair, PairPlan, Study
from studies.participation import chats
from studies.second_raters import comparison_step, review_step
from tests import factories
from tests.answers import middle
from tests.people import Person
from tests.studies.data.training.trl import loaded

pytestmark = pytest.mark.django_db

EN, ZH = "Hello! What <weighs> on you?", "你好！今天想聊些什么？"
OPENING = {"en": EN, "zh": ZH}


def study_with(opening: dict[str, str] = OPENING, **changes: Any) -> Study:
    spec = factories.demo_spec()
    return factories.study(chat=replace(spec.chat, opening=opening), **changes)


def chatting(language: str = "en", track: str = "participant") -> Person:
    study_with()
    return at_chat(Person(language=language, track=track))


def at_chat(person: Person, run: int = 0) -> Person:
    person.go_to("chat", run)
    person.page()
    return person


def text_of(person: Person) -> str:
    return unescape(person.page().content.decode())


def bubbles(person: Person) -> int:
    return text_of(person).count('<p class="bubble__text" lang="en">' + EN)


def talk_with(opening: str, *said: tuple[str, str], **fields: Any) -> ArmRun:
    study = Study.objects.filter(key="demo").first() or factories.study()
    run = factories.run_with_turns(study, factories.person(study), turns=said or factories.TURNS, **fields)
    Conversation.objects.filter(pk=run.conversation_id).update(opening=opening, opening_request="Speak.")
    run.refresh_from_db()
    return run


@pytest.mark.parametrize("track", ["participant", "counsellor"])
def test_all_arms_begin_with_the_study_s_own_words(track: str) -> None:
    person = chatting(track=track)
    first = person.conversation()
    person.converse()
    second = at_chat(person, 2).conversation()
    request = DEFAULTS.get("supporter_opens", "en").text
    assert [(one.opening, one.opening_request) for one in (first, second)] == [(EN, request)] * 2
    assert first.supporter != second.supporter


def test_page_shows_the_opening_once_also_after_a_reload_and_at_the_first_checkpoint() -> None:
    person = chatting()
    assert (bubbles(person), bubbles(person)) == (1, 1)
    assert "&lt;weighs&gt;" in person.page().content.decode()
    for _ in range(5):
        person.say()
    assert "data-instrument" in text_of(person)
    assert bubbles(person) == 1
    person.send({**middle("turn_checkpoint"), "checkpoint": "5"})
    assert bubbles(person) == 1
    for _ in range(5):
        person.say()
    assert "data-instrument" in text_of(person)
    assert bubbles(person) == 0


def test_without_an_opening_the_page_has_no_bubble() -> None:
    factories.study()
    person = at_chat(Person())
    assert '<li class="bubble' not in text_of(person).partition("<template")[0]
    assert (person.conversation().opening, person.conversation().opening_request) == ("", "")


def test_opening_changes_with_the_language_until_something_is_said() -> None:
    person = chatting()
    chats.switch_language(person.row, "zh")
    assert person.conversation().opening == ZH
    assert person.conversation().opening_request == DEFAULTS.get("supporter_opens", "zh").text
    person.say("我很累")
    chats.switch_language(person.row, "en")
    assert person.conversation().opening == ZH


def test_later_version_of_the_study_leaves_the_opening_of_a_conversation_as_it_is() -> None:
    person = chatting()
    study_with({"en": "Other words.", "zh": "别的话。"})
    assert bubbles(person) == 1


def test_request_can_be_the_study_s_own() -> None:
    study_with(prompts={"supporter_opens": PromptSpec("mine.txt", {"": "You begin."})})
    person = at_chat(Person())
    assert person.conversation().opening_request == "You begin."


def test_judges_read_the_opening_as_turn_0_and_it_is_no_turn() -> None:
    run = talk_with("Hello!\nI listen.")
    said = get_turns([run])[run.conversation_id]
    assert [turn.number for turn in said] == [1, 2]
    [_standing, asked] = judge_messages(said, [], language="en")
    lines = asked.text.splitlines()
    assert lines[lines.index("<dialogue>") + 1 :][:3] == [
        "[0] Supporter: Hello! I listen.",
        "[1] Seeker: I feel low.",
        "[1] Supporter: What happened?",
    ]


def test_opening_stands_before_the_first_turn_with_a_reply() -> None:
    run = talk_with("Hello!")
    Turn.objects.filter(conversation=run.conversation, number=1).update(state="failed")
    assert [(turn.number, turn.opening) for turn in get_turns([run])[run.conversation_id]] == [(2, "Hello!")]


def test_what_identifies_is_taken_out_of_the_opening_too() -> None:
    run = talk_with("Hello Zofia!")
    first, second = map(Redaction(["Zofia"], "en").turn, get_turns([run])[run.conversation_id])
    assert (first.opening, second.opening) == ("Hello [name]!", "")


def test_second_raters_read_it_without_a_name_of_its_model() -> None:
    run = talk_with("Hello, I am ChatGPT.")
    shown = "Hello, I am an AI program."
    names = run.protocol.spec().names()
    assert next(review_step.list_turns(run, names)).reply == shown
    assert [(turn.text, turn.reply) for turn in comparison_step.list_turns(run, 1, names)] == [
        ("", shown),
        ("I feel low.", "What happened?"),
    ]


def test_judge_of_pairs_reads_both_openings() -> None:
    a, b = talk_with("Hello, I am ChatGPT."), talk_with("Welcome.")
    plan = PairPlan.objects.create(study=a.study, name="first", instrument="pairwise_support", source={})
    pair = Pair.objects.create(study=a.study, plan=plan, run_a=a, run_b=b)
    handler = PairHandler.__new__(PairHandler)
    handler.names = ()
    first, second = handler.sides(pair, "a", get_turns([a, b]))
    assert [turn.opening for turn in (*first, *second)] == ["Hello, I am an AI program.", "", "Welcome.", ""]


def test_export_has_it_in_a_column_and_in_no_row_of_turns() -> None:
    run = talk_with("Hello!")
    [row] = conversations(run.study, Filter())
    told = dict(zip([column.name for column in CONVERSATIONS], row, strict=True))
    assert (told["opening"], told["turns"]) == ("Hello!", 2)
    assert [line[1:4] for line in turns(run.study, Filter())] == [
        (1, "seeker", "I feel low."),
        (1, "supporter", "What happened?"),
        (2, "seeker", "I lost my job."),
        (2, "supporter", "That is hard."),
    ]


def test_erasure_reaches_it() -> None:
    run = talk_with("Hello xyzzy!")
    assert run.participation is not None
    erase(run.participation)
    assert list(Conversation.objects.values_list("opening")) == []


def test_interviews_show_it_beside_the_turns() -> None:
    run = talk_with("Hello!")
    assert run.participation is not None
    assert [talk.opening for talk in talks_of(run.participation)] == ["Hello!"]


@pytest.fixture
def desk() -> Client:
    client = Client()
    client.force_login(User.objects.create_user("ada", is_staff=True, is_superuser=True))
    return client


def test_researchers_read_it_before_the_turns(desk: Client) -> None:
    run = talk_with("Hello <all>!")
    assert run.conversation is not None
    assert run.participation is not None
    sign = RiskEvent.objects.create(conversation=run.conversation, turn=2, level=2, subject=run.participation.code)
    factories.interview(run.participation)
    for place in (
        f"conversations/{run.conversation.code}/",
        f"risks/{sign.pk}/",
        f"interviews/{run.participation.code}/",
    ):
        page = desk.get(f"/research/demo/{place}").content.decode()
        assert page.count("Hello &lt;all&gt;!") == 1, place
        assert page.index("Hello &lt;all&gt;!") < page.index("I feel low."), place


def test_safety_desk_shows_it_beside_the_first_turns_alone(desk: Client) -> None:
    run = talk_with("Hello!", *((f"Words {number}.", "Oh.") for number in range(1, 13)))
    sign = RiskEvent.objects.create(conversation=run.conversation, turn=12, level=2)
    page = desk.get(f"/research/demo/risks/{sign.pk}/").content.decode()
    assert ("Words 12." in page, "Hello!" in page) == (True, False)


def test_design_page_tells_who_speaks_first(desk: Client) -> None:
    study_with()
    assert "Hello! What &lt;weighs&gt; on you?" in desk.get("/research/demo/design/").content.decode()
    factories.study()
    assert "none: the seeker speaks first" in desk.get("/research/demo/design/").content.decode()


def test_training_data_begin_with_it(tmp_path: Path) -> None:
    a = talk_with("Hello!", ("I feel low.", "What happened?"), arm="amber")
    Conversation.objects.update(seeker_kind="simulated")
    ArmRun.objects.update(participation=None, profile="p1")
    out = tmp_path / "data.jsonl"
    call_command("export_training", "demo", "--format", "sft", "--out", str(out), "--test-share", "0", verbosity=0)
    [line] = loaded(out)
    assert line["messages"] == [
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "I feel low."},
        {"role": "assistant", "content": "What happened?"},
    ]
    assert (line["turns"], line["arm"]) == (1, a.arm)


def test_a_run_of_an_earlier_version_opens_with_the_arm_of_that_version():
    study = factories.study()
    person = factories.person(study)
    run = chats.get_or_create_run(person, 1)
    before = run.protocol.arms.get(key=run.arm).model
    spec = study.current().spec()
    factories.load_study(replace(spec, arms=tuple(replace(arm, model="mirror-2") for arm in spec.arms)))
    person.protocol = study.current()
    person.save()
    opened = chats.get_or_open_run(person, 1)
    assert opened.protocol_id != person.protocol_id
    assert opened.conversation.supporter.model == before
