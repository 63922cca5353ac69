"""What the rows of each table say, in how many queries, and about whom."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from dialogue.deidentification.redaction import redact_message
from dialogue.models import Call, InnerState, SeekerFault, Turn
from dialogue.models.conversation import Status, TurnState
from studies.data.exports.columns import REDACTED, Filter, Table
from studies.data.exports.masking import read_rows
from studies.data.exports.tables import TABLES
from studies.instruments.forms import COMMENT, AnswerValue
from studies.instruments.loading import instrument_ids, load
from studies.models import Answer, Consent, Response, SeekerProfile, SelectionDecision, Study
from studies.participation import progress
from studies.participation.responses import rater_for, store_response
from studies.selection.scoring import store_score
from tests import factories

pytestmark = pytest.mark.django_db

REAL = Filter()
NOTHING_THOUGHT = AnswerValue("inner_thought", missing_reason="not_answered")
BY_NAME = {table.name: table for table in TABLES}


def rows(name: str, study: Study, only: Filter = REAL) -> list[dict[str, Any]]:
    table = BY_NAME[name]
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in read_rows(table, study, only)]


def test_participants_tell_status_order_and_consent():
    study = factories.study()
    person = factories.person(study, excluded=True, exclusion_reason="not serious")
    factories.run_with_turns(study, person)
    factories.run_with_turns(study, person, status=Status.OPEN)
    boxes = {"1": {"publish_quotes": True}, "2": {"share_deidentified": True, "publish_quotes": False}}
    for version, ticked in boxes.items():
        consent = Consent.objects.create(
            participation=person,
            instrument="consent_template",
            version=version,
            text_hash="h",
            language="en",
            boxes=ticked,
        )

    (row,) = rows("participants", study)

    assert row == {
        "participant": person.code,
        "track": "participant",
        "language": "en",
        "status": "active",
        "order": "amber>birch",
        "arms_done": 1,
        "consent_version": "2",
        "consented_at": consent.signed_at,
        "is_test": False,
        "excluded": True,
        "exclusion_reason": "not serious",
        "started_at": None,
        "ended_at": None,
        "active_seconds": 0,
        "share_deidentified": True,
        "publish_quotes": False,
        "selection_score": None,
        "selection_decision": None,
        "selection_reason": None,
        "amendment": 0,
        "redacted": False,
    }


def test_participants_tell_the_score_and_the_decision_of_a_selection():
    study = factories.study("chosen", selection="manual")
    chosen, declined, waiting = (factories.person(study) for _ in range(3))
    for name, total in (("ada", 6), ("bea", 5)):
        store_score(chosen, User.objects.create(username=name), {"issue_clear": total})
    for person, admitted in ((chosen, True), (declined, False)):
        SelectionDecision.objects.create(participation=person, admitted=admitted, reason="seed 7", by_name="ada")

    found = {
        row["participant"]: (row["selection_score"], row["selection_decision"], row["selection_reason"])
        for row in rows("participants", study)
    }

    assert found == {
        chosen.code: (5.5, "admitted", "seed 7"),
        declined.code: (None, "declined", "seed 7"),
        waiting.code: (None, None, None),
    }


def test_boxes_that_the_consent_form_did_not_have_are_empty():
    study = factories.study()
    factories.person(study)
    (row,) = rows("participants", study)
    assert (row["share_deidentified"], row["publish_quotes"]) == (None, None)


def test_participants_who_left_are_withdrawn_and_so_is_their_open_conversation():
    study = factories.study()
    person = factories.person(study)
    factories.run_with_turns(study, person)
    factories.run_with_turns(study, person, status=Status.OPEN)

    progress.leave(person)

    assert [row["status"] for row in rows("participants", study)] == ["withdrawn"]
    assert [row["end_reason"] for row in rows("conversations", study)] == ["finished", "withdrawn"]


def test_conversations_tell_the_feelings_before_and_after():
    study = factories.study()
    person = factories.person(study)
    run = factories.run_with_turns(study, person, topic="work")
    before = {"primary_emotion": "sadness", "valence": 2.0, "arousal": 6.0, "intensity": 5.0}
    after = {
        "valence": 4.0,
        "arousal": 5.0,
        "intensity": 1.0,
        "intensity_of_pre_emotion": 3.0,
        "perceived_change": 4.0,
    }
    factories.answer(person, "emotion_checkin", before, run=run, moment="pre")
    factories.answer(person, "emotion_checkin", after, run=run, moment="post")

    (row,) = rows("conversations", study)

    assert row == {
        "conversation": run.conversation.code,
        "participant": person.code,
        "arm": "amber",
        "model": "",
        "condition": "",
        "seeker_kind": "person",
        "profile": "",
        "card": "",
        "topic": "work",
        "language": "en",
        "position": 1,
        "turns": 2,
        "started_at": run.conversation.started_at,
        "ended_at": run.conversation.ended_at,
        "end_reason": "finished",
        "valence_before": 2.0,
        "valence_after": 4.0,
        "arousal_before": 6.0,
        "arousal_after": 5.0,
        "intensity_before": 5.0,
        "intensity_after": 3.0,
        "perceived_change": 4.0,
        "protocol_version": 1,
        "valid": True,
        "min_turns": 1,
        "setup": "",
        "replicate": None,
        "seeker_faults": "",
        "configuration": "",
        "earlier_languages": "",
        "holds": 0,
        "holds_lifted": 0,
        "held_seconds": None,
        "opening": "",
        "amendment": 0,
        "is_test": False,
    }


def test_conversations_without_the_question_on_the_earlier_feeling_use_the_plain_intensity():
    study = factories.study()
    person = factories.person(study)
    run = factories.run_with_turns(study, person)
    factories.answer(person, "emotion_checkin", {"intensity": 2.0}, run=run, moment="post")

    (row,) = rows("conversations", study)

    assert (row["intensity_before"], row["intensity_after"]) == (None, 2.0)


def test_conversations_of_simulated_seekers_have_no_person_and_no_position():
    study = factories.study()
    factories.run_with_turns(study, profile="p01", condition="worst_case")

    (row,) = rows("conversations", study)

    told = [row[name] for name in ("participant", "position", "seeker_kind", "profile", "condition")]
    assert told == ["", None, "simulated", "p01", "worst_case"]


def test_turns_are_a_message_and_a_reply_where_there_is_one():
    study = factories.study()
    run = factories.run_with_turns(study, factories.person(study), turns=[("Hello", "Hi")])
    answered = run.conversation.turns.get()
    answered.first_token_ms, answered.total_ms, answered.input_tokens, answered.output_tokens = 300, 900, 40, 7
    answered.seen = answered.names_itself = True
    answered.reading_ms, answered.typing_ms, answered.focus_losses, answered.pasted = 4000, 2500, 0, False
    answered.save()
    failed = factories.add_turn(run.conversation, 2, text="Again", state=TurnState.FAILED, attempts=3, error="timeout")

    code = run.conversation.code
    assert list(BY_NAME["turns"].rows(study, REAL)) == [
        (code, 1, "seeker", "Hello", answered.created_at, *[None] * 7, "", False, "", None, 4000, 2500, 0, False),
        (code, 1, "supporter", "Hi", None, 300, 900, 40, 7, 1, True, False, "", False, "", True, *[None] * 4),
        (code, 2, "seeker", "Again", failed.created_at, *[None] * 4, 3, None, None, "timeout", False, "", *[None] * 5),
    ]


@pytest.mark.parametrize("masks", [True, False])
def test_turns_are_exported_without_what_identifies_where_the_study_says_so(masks):
    study = factories.study(chat=replace(factories.demo_spec().chat, redact_exports=masks))
    factories.run_with_turns(study, turns=[("I'm Yusuf, call 07700 900123.", "Good."), ("我叫王强。", "Hello, Yusuf.")])

    told = [(row["text"], row["redacted"]) for row in rows("turns", study)]

    build_file_tables = ["I'm Yusuf, call 07700 900123.", "Good.", "我叫王强。", "Hello, Yusuf."]
    masked = [("I'm [name], call [number].", True), ("Good.", False), ("我叫[称呼]。", True), ("Hello, [name].", True)]
    assert told == (masked if masks else [(text, False) for text in build_file_tables])
    assert list(Turn.objects.values_list("text", flat=True)) == build_file_tables[::2]


def test_all_that_people_wrote_is_masked_where_the_study_says_so():
    study = factories.study(chat=replace(factories.demo_spec().chat, redact_exports=True))
    person = factories.person(study)
    factories.rating(person, factories.run_with_turns(study, person))
    Answer.objects.filter(item="safety").update(reason="Write to me: jo@example.org")
    response = Response.objects.get()
    Answer.objects.create(response=response, item=COMMENT, text="My name is Yusuf Demir.", position=9)

    assert {(row["reason"], row["redacted"]) for row in rows("ratings", study) if row["redacted"]} == {
        ("Write to me: [e-mail address]", True)
    }
    assert [(row["text"], row["redacted"]) for row in rows("answers", study)] == [("My name is [name].", True)]


def test_every_table_with_words_of_people_says_what_was_masked():
    with_words = [table for table in TABLES if any(column.in_words for column in table.columns)]
    assert len(with_words) == 14
    assert all(table.columns.count(REDACTED) == 1 for table in with_words)
    assert not any(REDACTED in table.columns for table in TABLES if table not in with_words)


def test_keys_of_options_and_countries_are_no_words_that_would_be_masked():
    keys = {str(option.value) for name in instrument_ids() for item in load(name).items for option in item.options}
    assert len(keys) > 50
    assert {key for key in keys if redact_message(key)[0] != key} == set()


def test_turns_of_an_import_say_neither_what_was_seen_nor_that_no_model_named_itself():
    study = factories.study()
    run = factories.run_with_turns(study, turns=[("Hello", "I am Bot 5.")], external_id="E1")
    run.conversation.seeker_kind = "imported"
    run.conversation.save()

    told = [(row["role"], row["seen"], row["masked"], row["names_itself"]) for row in rows("turns", study)]

    assert told == [("seeker", None, None, None), ("supporter", None, False, None)]


def test_ratings_say_who_what_and_about_whom():
    study = factories.study()
    person, reviewer = factories.person(study), factories.person(study, track="reviewer")
    run = factories.run_with_turns(study, person, condition="average")
    given = store_response(
        rater_for(reviewer),
        load("turn_checkpoint"),
        [AnswerValue("empathetic", value=2.0, position=3)],
        run=run,
        moment="checkpoint",
        turn=5,
        turns=(1, 4),
        seconds={"empathetic": 6.25},
    )

    assert rows("ratings", study) == [
        {
            "conversation": run.conversation.code,
            "participant": person.code,
            "arm": "amber",
            "condition": "average",
            "rater": reviewer.code,
            "rater_kind": "reviewer",
            "strategy": "",
            "replicate": 1,
            "instrument": "turn_checkpoint",
            "item": "empathetic",
            "moment": "checkpoint",
            "turn": 5,
            "score": 2.0,
            "missing_reason": "",
            "rated_at": given.submitted_at,
            "first_turn": 1,
            "last_turn": 4,
            "seconds": 6.25,
            "reason": "",
            "item_position": 3,
            "redacted": False,
            "role": "",
            "prompt": "",
        }
    ]


def test_ratings_of_a_judge_keep_strategy_replicate_and_a_missing_score():
    study = factories.study()
    person = factories.person(study)
    run = factories.run_with_turns(study, person)
    judged = Response.objects.create(
        rater=factories.judge(study), run=run, instrument="emoharbor_10", moment="final", replicate=2, is_rating=True
    )
    Answer.objects.create(response=judged, item="safety", missing_reason="unparseable")

    (row,) = rows("ratings", study)

    assert (row["participant"], row["rater"], row["rater_kind"]) == (person.code, "demo", "judge")
    assert (row["strategy"], row["replicate"], row["turn"]) == ("standard", 2, run.conversation.answered_turns())
    assert (row["score"], row["missing_reason"]) == (None, "unparseable")
    assert (row["first_turn"], row["last_turn"], row["seconds"]) == (None, None, None)


def test_the_turn_of_a_final_rating_is_the_last_turn_rated_in_every_file():
    """The person had not seen the last of three replies, the judge was shown all; the last message has none."""
    study = factories.study()
    person = factories.person(study)
    run = factories.run_with_turns(study, person, turns=[("One", "1"), ("Two", "2"), ("Three", "3")])
    factories.add_turn(run.conversation, 4, text="Four", state=TurnState.FAILED)
    factories.answer(person, "emotion_checkin", {"valence": 3.0}, run=run, moment="post")
    factories.rating(person, run, comment="Good.")
    factories.answer(person, "turn_checkpoint", {"empathetic": 2.0}, run=run, moment="checkpoint", turn=1)
    Response.objects.filter(run=run, moment="final").update(first_turn=1, last_turn=2)
    judged = Response.objects.create(
        rater=factories.judge(study), run=run, instrument="emoharbor_10", moment="final", is_rating=True
    )
    Answer.objects.create(response=judged, item="safety", value=4)

    rated = {(row["rater_kind"], row["moment"], row["turn"]) for row in rows("ratings", study)}
    assert rated == {("seeker", "final", 2), ("seeker", "checkpoint", 1), ("judge", "final", 3)}
    said = {(row["moment"], row["item"], row["turn"]) for row in rows("answers", study)}
    assert said == {("post", "valence", None), ("final", "comment", 2)}
    assert {(row["moment"], row["turn"]) for row in rows("scales", study)} == {("final", 2)}
    replies = {(row["conversation"], row["turn"]) for row in rows("turns", study) if row["role"] == "supporter"}
    assert {(row["conversation"], row["turn"]) for row in rows("ratings", study)} <= replies


def test_answers_hold_all_that_is_no_rating_and_the_remarks_to_ratings():
    study = factories.study()
    person = factories.person(study)
    run = factories.run_with_turns(study, person)
    factories.answer(person, "profile", {"occupation": "nurse"})
    factories.answer(person, "emotion_checkin", {"valence": 3.0}, run=run, moment="pre")
    factories.answer(person, "emoharbor_10", {"safety": 5.0, "comment": "It listened."}, run=run, moment="final")

    told = [
        (row["conversation"], row["instrument"], row["moment"], row["item"], row["value"], row["text"])
        for row in rows("answers", study)
    ]

    code = run.conversation.code
    assert told == [
        (None, "profile", "", "occupation", None, "nurse"),
        (code, "emotion_checkin", "pre", "valence", 3.0, ""),
        (code, "emoharbor_10", "final", "comment", None, "It listened."),
    ]
    assert [(row["item"], row["score"]) for row in rows("ratings", study)] == [("safety", 5.0)]


@pytest.mark.parametrize("masks", [False, True])
def test_words_at_an_open_question_of_a_rating_form_are_answers_and_no_ratings(masks: bool):
    study = factories.study(chat=replace(factories.demo_spec().chat, redact_exports=masks))
    person = factories.person(study)
    run = factories.run_with_turns(study, person)
    for turn, thought in ((1, AnswerValue("inner_thought", text="It knew I'm Yusuf.")), (2, NOTHING_THOUGHT)):
        given = [AnswerValue("empathetic", value=4.0), thought]
        store_response(rater_for(person), load("turn_checkpoint"), given, run=run, moment="checkpoint", turn=turn)

    names = ("conversation", "item", "moment", "turn", "text", "missing_reason")
    told = [tuple(row[name] for name in names) for row in rows("answers", study)]

    code, words = run.conversation.code, "It knew I'm [name]." if masks else "It knew I'm Yusuf."
    assert told == [
        (code, "inner_thought", "checkpoint", 1, words, ""),
        (code, "inner_thought", "checkpoint", 2, "", "not_answered"),
    ]
    assert [(row["item"], row["score"]) for row in rows("ratings", study)] == [("empathetic", 4.0)] * 2
    assert BY_NAME["ratings"].count(study, REAL) == 2


def test_scales_score_a_person_and_their_ratings_but_no_judge():
    study = factories.study()
    person = factories.person(study)
    run = factories.run_with_turns(study, person)
    factories.answer(person, "mini_ipip", {"mini_01": 5.0, "mini_06": 1.0, "mini_11": 4.0})
    factories.rating(person, run, score=3.0, safety=5.0)
    factories.rating(factories.judge(study), run)

    found = rows("scales", study)

    extraversion = next(row for row in found if row["scale"] == "E")
    overall = [row for row in found if row["scale"] == "overall"]
    assert extraversion == {
        "participant": person.code,
        "conversation": None,
        "instrument": "mini_ipip",
        "scale": "E",
        "moment": "",
        "score": pytest.approx((5 + 5 + 4) / 3),
        "items_answered": 3,
        "turn": None,
    }
    assert [(row["conversation"], row["score"], row["items_answered"]) for row in overall] == [
        (run.conversation.code, pytest.approx(3.2), 10)
    ]


def test_states_and_calls_name_the_conversation():
    study = factories.study()
    run = factories.run_with_turns(study, external_id="E1")
    InnerState.objects.create(conversation=run.conversation, turn=1, source="demo", emotion="sad", emotion_score=20)
    call = Call.objects.create(
        purpose="reply", conversation=run.conversation, turn=1, attempt=2, kind="scripted", model="m", status="ok"
    )

    assert list(BY_NAME["states"].rows(study, REAL)) == [("E1", 1, "demo", "", "sad", "", 20.0, False)]
    assert list(BY_NAME["calls"].rows(study, REAL)) == [
        (call.pk, "reply", "m", "E1", 1, "ok", 2, None, None, None, None, None, "", 1, None, None, "", "", None, "")
    ]


def test_flags_tell_what_was_marked_and_what_was_taken_back():
    study = factories.study()
    person = factories.person(study, track="counsellor")
    run = factories.run_with_turns(study, person)
    gone = factories.flag(run, 2, "harsh", withdrawn_at=timezone.now(), reply="That is hard.")
    stands = factories.flag(run, 2, "good", note="Here it turned.", reply="That is hard.")
    factories.flag(factories.run_with_turns(study, is_test=True))

    of = run.conversation.code, person.code, 2
    assert list(BY_NAME["flags"].rows(study, REAL)) == [
        (*of, "harsh", "", "That is hard.", gone.flagged_at, gone.withdrawn_at, False),
        (*of, "good", "Here it turned.", "That is hard.", stands.flagged_at, None, False),
    ]
    assert BY_NAME["flags"].count(study, REAL) == 2


def fill(study: Study, *, people: int, is_test: bool = False) -> None:
    """Something in every table, for each of so many people."""
    for _ in range(people):
        person = factories.person(study, is_test=is_test)
        run = factories.run_with_turns(study, person, is_test=is_test)
        factories.answer(person, "mini_ipip", {"mini_01": 4.0})
        factories.answer(person, "emotion_checkin", {"valence": 3.0}, run=run, moment="pre")
        factories.rating(person, run, comment="Good.")
        factories.compared(run)
        factories.reviewed(run, person)
        InnerState.objects.create(conversation=run.conversation, turn=1, source="demo")
        Call.objects.create(purpose="reply", conversation=run.conversation, turn=1, kind="scripted")
        factories.role_play(run)
        factories.flag(run)
        factories.interview(person)
        factories.decided(run)
        factories.draw(person)
        SeekerFault.objects.create(conversation=run.conversation, turn=1, kind="repetition", source="rule")
        played = SeekerProfile.objects.create(study=study, key=f"p{run.pk}", language="en", content={}, origin="a.json")
        run.profile = played.key
        run.save()


@pytest.mark.parametrize("people", [1, 3])
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_rows_take_one_query_and_are_as_many_as_counted(
    table: Table, people: int, django_assert_num_queries: Callable[[int], Any]
):
    study = factories.study()
    fill(study, people=people)
    each = {"turns": 4, "ratings": 10, "answers": 3, "scales": 11, "reviews": 2}.get(table.name, 1)

    # for the seekers' own faults and for holds, for what judges have not answered, and for the numbers of coders
    with django_assert_num_queries({"conversations": 3, "ratings": 2, "decisions": 2}.get(table.name, 1)):
        found = list(table.rows(study, REAL))

    assert len(found) == each * people
    assert table.count(study, REAL) == len(found)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_rows_are_of_real_people_of_this_study_unless_told_otherwise(table: Table):
    study, other = factories.study(), factories.study("other")
    fill(study, people=1)
    real = list(table.rows(study, REAL))
    fill(other, people=1)
    fill(study, people=2, is_test=True)

    assert list(table.rows(study, REAL)) == real
    assert len(list(table.rows(study, Filter(include_tests=True)))) == 3 * len(real)
    assert table.count(study, Filter(include_tests=True)) == 3 * len(real)


def test_a_test_persons_rating_of_a_real_conversation_is_test_data():
    study = factories.study()
    run = factories.run_with_turns(study, factories.person(study))
    factories.rating(factories.person(study, track="reviewer", is_test=True), run)

    assert rows("ratings", study) == []
    assert len(rows("ratings", study, Filter(include_tests=True))) == 10


def test_draws_tell_what_the_rule_was_told_and_which_strata_were_unknown():
    study = factories.study()
    person = factories.person(study, cards=["en01", "en02"])
    strata = {"severity": {"level": None}, "extraversion": {"level": "low", "score": 1.5, "cuts": [2.0, 4.0]}}
    drawn = factories.draw(person, strata=strata)
    factories.draw(factories.person(study, is_test=True))

    (row,) = rows("draws", study)

    assert row == {
        "participant": person.code,
        "track": "participant",
        "protocol_version": 1,
        "number": 2,
        "drawn_at": drawn.drawn_at,
        "rule_version": 2,
        "design": "williams",
        "seed": 1,
        "arms": "amber>birch",
        "order": "amber>birch",
        "cards": "en01>en02",
        "strata": "extraversion=low; severity=unknown",
        "candidates": "amber>birch",
        "seen": '{"completed":{},"orders":{"amber>birch":2},"strata":{}}',
        "rule": '{"arms":["amber","birch"],"design":"williams","per_person":2,"seed":1}',
        "scores": '{"extraversion":{"cuts":[2.0,4.0],"level":"low","score":1.5},"severity":{"level":null}}',
    }
