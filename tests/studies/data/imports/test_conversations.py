import json
from pathlib import Path
from typing import Any

import pytest

from dialogue.models import Conversation, Turn
from studies.data.exports.columns import Filter
from studies.data.exports.tables import TABLES
from studies.data.imports.conversations import import_conversations
from studies.judging.material import get_turns
from studies.judging.planning import runs_to_judge
from studies.models import ArmRun
from studies.participation.counts import count_by_arm
from tests import factories
from tests.studies.data.imports.importing import Importing

pytestmark = pytest.mark.django_db
importing = Importing("import_conversations", Conversation, Turn, ArmRun)
run_import, faults = importing.run, importing.faults

COUNTED = ("conversations", "turns")  # tables of an export
ONE = {"id": "c1", "turns": [{"seeker": "Hello", "supporter": "Hi"}]}


def jsonl(folder: Path, *lines: Any) -> Path:
    """Values become JSON; bytes stand as they are."""
    path = folder / "conversations.jsonl"
    path.write_bytes(
        b"\n".join(line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode() for line in lines)
    )
    return path


def said(conversation: Conversation) -> list[tuple[int, str, str, str]]:
    return list(conversation.turns.order_by("number").values_list("number", "text", "reply", "state"))


def test_import_keeps_all_that_a_line_says(tmp_path: Path):
    study = factories.study()
    line = {
        "id": "x-1",
        "arm": "gpt",
        "condition": "worst_case",
        "participant": "s7",
        "profile": "p3",
        "language": "zh",
        "end_reason": "walked_out",
        "turns": [{"seeker": "我很累\u2028真的", "supporter": "为什么？", "emotion": "sad"}],
    }

    summary = run_import(jsonl(tmp_path, line))

    run = study.runs.get()
    told = [run.external_id, run.arm, run.condition, run.external_participant, run.profile, run.is_test, run.position]
    assert told == ["x-1", "gpt", "worst_case", "s7", "p3", False, 0]
    conversation = run.conversation
    told = [conversation.seeker_kind, conversation.status, conversation.end_reason, conversation.language]
    assert told == ["imported", "closed", "walked_out", "zh"]
    assert said(conversation) == [(1, "我很累\u2028真的", "为什么？", "answered")]
    assert conversation.turns.get().emotion == "sad"
    assert summary == {"study": "demo", "added": 1, "already_there": 0, "turns": 1, "empty_turns": 0}


def test_import_without_more_is_finished_and_reads_over_marks_and_empty_lines(tmp_path: Path):
    study = factories.study()

    run_import(jsonl(tmp_path, b"\xef\xbb\xbf" + json.dumps(ONE).encode() + b"\r", b"", b"   "))

    assert study.runs.get().conversation.end_reason == "finished"


@pytest.mark.parametrize(
    ("seeker", "supporter", "languages", "language"),
    [
        ("我最近总是睡不着。", "是从什么时候开始的？", ("en", "zh"), "zh"),
        ("我用ChatGPT写paper，被导师骂了。", "听起来很委屈。", ("en", "zh"), "zh"),
        ("I cannot sleep.", "Since when?", ("zh", "en"), "en"),
        ("How do I say 加油 to a friend?", "You have just done so.", ("zh", "en"), "en"),
        ("", "", ("zh", "en"), "zh"),
        ("…", "42", ("en", "zh"), "en"),
    ],
)
def test_import_tells_the_language_of_a_conversation_by_its_script(
    tmp_path: Path, seeker: str, supporter: str, languages: tuple[str, ...], language: str
):
    study = factories.study(languages=languages)
    line = {"id": "c1", "turns": [{"seeker": seeker, "supporter": supporter}]}

    run_import(jsonl(tmp_path, line))

    conversation = study.runs.get().conversation
    assert (conversation.language, conversation.end_reason) == (language, "finished")


def test_import_believes_the_language_that_a_line_says(tmp_path: Path):
    study = factories.study()
    run_import(jsonl(tmp_path, ONE | {"language": "zh"}))
    assert study.runs.get().conversation.language == "zh"


def test_import_keeps_and_counts_empty_turns(tmp_path: Path):
    study = factories.study()
    empty = {"seeker": "", "supporter": " "}

    summary = run_import(jsonl(tmp_path, {"id": "c1", "turns": [*ONE["turns"], empty, empty]}))

    assert (summary["turns"], summary["empty_turns"]) == (3, 2)
    assert said(study.runs.get().conversation)[2] == (3, "", " ", "answered")


@pytest.mark.parametrize(
    ("messages", "turns"),
    [
        ("u:Hello a:Hi", [(1, "Hello", "Hi", "answered")]),
        ("u:Hello u:There a:Hi a:You", [(1, "Hello\nThere", "Hi\nYou", "answered")]),
        ("a:Welcome u:Hello a:Hi", [(1, "", "Welcome", "answered"), (2, "Hello", "Hi", "answered")]),
        ("u:Hello a:Hi u:Bye", [(1, "Hello", "Hi", "answered"), (2, "Bye", "", "held")]),
        ("s:Kind u:Hello s:Now a:Hi", [(1, "Hello", "Hi", "answered")]),
        ("", []),
    ],
)
def test_messages_become_turns(tmp_path: Path, messages: str, turns: list[Any]):
    study = factories.study()
    roles = {"u": "user", "a": "assistant", "s": "system"}
    spoken = (word.split(":") for word in messages.split())
    listed = [{"role": roles[role], "content": text} for role, text in spoken]

    run_import(jsonl(tmp_path, {"id": "c1", "messages": listed}))

    assert said(study.runs.get().conversation) == turns


GOODBYE = {"id": "c1", "turns": [*ONE["turns"], {"seeker": "Bye", "supporter": None, "emotion": 80}]}


def test_a_last_message_without_a_reply_keeps_its_emotion_and_is_no_turn_to_judge(tmp_path: Path):
    study = factories.study()

    summary = run_import(jsonl(tmp_path, GOODBYE))

    run = study.runs.get()
    assert summary["turns"] == 2
    assert said(run.conversation) == [(1, "Hello", "Hi", "answered"), (2, "Bye", "", "held")]
    exported = {table.name: list(table.rows(study, Filter())) for table in TABLES if table.name in COUNTED}
    assert [row[1:4] for row in exported["turns"]] == [
        (1, "seeker", "Hello"),
        (1, "supporter", "Hi"),
        (2, "seeker", "Bye"),
    ]
    assert "80" in exported["turns"][2]
    [conversation] = exported["conversations"]
    columns = [column.name for table in TABLES if table.name == "conversations" for column in table.columns]
    assert dict(zip(columns, conversation, strict=True))["turns"] == 1
    assert [turn.number for turn in get_turns([run])[run.conversation_id]] == [1]
    assert [(row.turns, row.failed) for row in count_by_arm(study) if row.runs] == [(1, 0)]


def test_a_conversation_without_any_reply_is_imported_and_not_judged(tmp_path: Path):
    study = factories.study()

    run_import(jsonl(tmp_path, {"id": "c1", "turns": [{"seeker": "Hello?", "supporter": None}]}))

    assert study.runs.count() == 1
    assert not runs_to_judge(study).exists()


@pytest.mark.parametrize("last", [{"supporter": ""}, {"supporter": None, "emotion": "79"}])
def test_no_reply_an_empty_one_and_another_emotion_are_other_content(tmp_path: Path, last: dict[str, Any]):
    factories.study()
    run_import(jsonl(tmp_path, GOODBYE))
    turns = [GOODBYE["turns"][0], GOODBYE["turns"][1] | last]

    assert run_import(jsonl(tmp_path, GOODBYE))["already_there"] == 1
    assert faults(jsonl(tmp_path, {"id": "c1", "turns": turns})) == [
        "1: id: 'c1' is in the study already, with other content"
    ]


def test_import_again_adds_nothing(tmp_path: Path):
    study = factories.study()
    path = jsonl(tmp_path, ONE, {"id": "c2", "messages": [{"role": "user", "content": "Bye"}]})
    run_import(path)

    summary = run_import(path)

    assert (summary["added"], summary["already_there"]) == (0, 2)
    assert study.runs.count() == 2


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        (b"{", "is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b'{"id": ' + b"9" * 5000 + b"}", "is not JSON: a number is too long"),
        (b"[]", "is no JSON object"),
        (b'{"id": "\xff"}', "is not UTF-8 (invalid start byte at byte 8)"),
        ({"turns": []}, "id: is missing"),
        (ONE | {"id": 3}, "id: must be text, not 3"),
        (ONE | {"id": "x" * 201}, "id: is longer than 200 characters"),
        (ONE | {"participant": "a\x00"}, "participant: holds a NUL character"),
        (b'{"id": "c1", "turns": [{"seeker": "\\ud800", "supporter": ""}]}',
         "turns.1.seeker: holds half of a surrogate pair"),
        (ONE | {"condition": "hard"}, "condition: 'hard' is not one of average, worst_case"),
        (ONE | {"language": "de"}, "language: 'de' is not one of en, zh"),
        (
            ONE | {"end_reason": "bored"},
            "end_reason: 'bored' is not one of finished, early, walked_out, satisfied, cap, safety, technical, "
            "withdrawn",
        ),
        (
            ONE | {"modle": "x"},
            "modle: unknown key; known are id, arm, condition, participant, profile, language, end_reason, opening, "
            "turns, messages",
        ),
        ({"id": "c1"}, 'turns: one of "turns" and "messages" is needed'),
        (ONE | {"messages": []}, 'turns: one of "turns" and "messages" is needed, not both'),
        ({"id": "c1", "turns": ["Hello"]}, "turns: must be a list of objects"),
        ({"id": "c1", "turns": [{"seeker": "Hello"}]}, 'turns.1.supporter: is missing; an empty one is ""'),
        (
            {"id": "c1", "turns": [{"seeker": "Hello", "supporter": None}, {"seeker": "Hm", "supporter": None}]},
            'turns.1.supporter: null, no reply, is for the last turn alone; an empty reply is ""',
        ),
        (
            {"id": "c1", "turns": [{"seeker": None, "supporter": None}]},
            'turns.1.seeker: is missing; an empty one is ""',
        ),
        (
            {"id": "c1", "messages": [{"role": "bot", "content": ""}]},
            "messages.1.role: 'bot' is not one of user, seeker, assistant, supporter, system",
        ),
    ],
)  # fmt: skip
def test_import_refuses_a_faulty_line(tmp_path: Path, line: Any, wrong: str):
    factories.study()

    assert faults(jsonl(tmp_path, {"id": "c0", "turns": []}, line)) == [f"2: {wrong}"]


def test_import_tells_every_fault_at_once(tmp_path: Path):
    factories.study()
    path = jsonl(tmp_path, ONE, {"id": "c2"}, ONE, {"id": "c4", "turns": 1, "language": "x"})

    assert faults(path) == [
        '2: turns: one of "turns" and "messages" is needed',
        "3: id: 'c1' is on line 1 already",
        "4: turns: must be a list of objects",
        "4: language: 'x' is not one of en, zh",
    ]


@pytest.mark.parametrize("change", [{"arm": "b"}, {"end_reason": "cap"}, {"turns": []}])
def test_import_refuses_other_content_for_an_id_that_is_there(tmp_path: Path, change: dict[str, Any]):
    factories.study()
    run_import(jsonl(tmp_path, ONE))

    assert faults(jsonl(tmp_path, ONE | change)) == ["1: id: 'c1' is in the study already, with other content"]


def test_import_refuses_the_id_of_a_conversation_that_was_held_here(tmp_path: Path):
    study = factories.study()
    code = factories.run_with_turns(study, factories.person(study)).conversation.code

    assert faults(jsonl(tmp_path, ONE | {"id": code})) == [
        f"1: id: '{code}' is a conversation that was held in this study"
    ]


def test_import_of_a_missing_file_is_bad_input(tmp_path: Path):
    factories.study()

    assert faults(tmp_path / "nothing.jsonl") == [" No such file or directory"]


def test_import_takes_as_many_queries_for_three_as_for_one(tmp_path: Path, django_assert_num_queries: Any):
    study = factories.study()
    counts = []
    for ids in ("a", "bcd"):
        path = jsonl(tmp_path, *(ONE | {"id": id} for id in ids))
        with django_assert_num_queries(13):
            counts.append(import_conversations(study, path).added)

    assert counts == [1, 3]


def test_opening_is_stored_beside_the_turns_and_is_none_of_them(tmp_path: Path):
    study = factories.study()
    line = ONE | {"opening": "Welcome"}

    assert run_import(jsonl(tmp_path, line))["turns"] == 1
    again = run_import(jsonl(tmp_path, line))

    conversation = study.runs.get().conversation
    assert (conversation.opening, said(conversation)) == ("Welcome", [(1, "Hello", "Hi", "answered")])
    assert (again["added"], again["already_there"]) == (0, 1)
    assert [turn.opening for turn in get_turns([study.runs.get()])[conversation.pk]] == ["Welcome"]
    assert faults(jsonl(tmp_path, line | {"opening": "Other"})) == [
        "1: id: 'c1' is in the study already, with other content"
    ]
    assert faults(jsonl(tmp_path, line | {"id": "c2", "opening": 3})) == ["1: opening: must be text, not 3"]
