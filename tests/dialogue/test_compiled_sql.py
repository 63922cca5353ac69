"""A compiled query gives what the query itself would, for each call's own values."""

from decimal import Decimal

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from dialogue.chat.state import LOCKED_CONVERSATION, PAST_TURN_FIELDS, PAST_TURNS, get_past_turns, lock_conversation
from dialogue.compiled_sql import insert_numbered, insert_plain, update_plain
from dialogue.models import Call, Conversation, InnerState, Turn

pytestmark = pytest.mark.django_db


def conversation_with(*texts: str) -> Conversation:
    conversation = Conversation.objects.create()
    for number in range(len(texts), 0, -1):  # stored in another order than they are read
        Turn.objects.create(conversation=conversation, number=number, client_id=str(number), text=texts[number - 1])
    return conversation


def test_past_turns_are_those_of_this_conversation_in_order():
    first, second = conversation_with("a", "b", "c"), conversation_with("d")
    assert [turn.text for turn in get_past_turns(first)] == ["a", "b", "c"]
    assert [turn.text for turn in get_past_turns(second)] == ["d"]
    assert get_past_turns(Conversation.objects.create()) == []


def test_fields_that_are_left_out_are_read_when_asked_for():
    conversation = conversation_with("a")
    Turn.objects.update(reply_original="what the model said")
    (turn,) = PAST_TURNS.rows(conversation.pk)
    assert turn.get_deferred_fields() == {f.attname for f in Turn._meta.fields} - {"id", "conversation_id"} - {
        *PAST_TURN_FIELDS
    }
    assert turn.reply_original == "what the model said"


@pytest.mark.django_db(transaction=True)
def test_no_conversation_is_locked_outside_a_transaction():
    conversation = Conversation.objects.create()
    with transaction.atomic():
        assert lock_conversation(conversation.pk) == conversation
    with pytest.raises(transaction.TransactionManagementError):
        lock_conversation(conversation.pk)


def test_locked_row_is_the_whole_conversation_or_none():
    one, other = conversation_with("a"), conversation_with()
    with transaction.atomic():
        assert {
            field.attname: getattr(lock_conversation(one.pk), field.attname) for field in Conversation._meta.fields
        } == {field.attname: getattr(one, field.attname) for field in Conversation._meta.fields}
        assert lock_conversation(other.pk) == other
        with pytest.raises(Conversation.DoesNotExist):
            lock_conversation(other.pk + 1)


def test_lock_is_asked_for_where_the_database_has_row_locks():
    conversation = conversation_with()
    with (
        transaction.atomic(),
        CaptureQueriesContext(
            connection,
        ) as queries,
    ):
        LOCKED_CONVERSATION.rows(conversation.pk)
    assert queries.captured_queries[0]["sql"].endswith(" FOR UPDATE") == connection.features.has_select_for_update


AWKWARD = ["a\tb\nc\r\nd", r"\N", "\\", r"\\.", '"quoted", {"json": [1, null]}', "你好 🙂\u2028", "%s %d", ""]
COLUMNS = ("conversation_id", "turn", "source", "cognition", "emotion", "goal", "emotion_score")


def rows_about(conversation: Conversation) -> list[tuple[object, ...]]:
    return [(conversation.pk, n, "seeker", text, "", "", None if n % 2 else n) for n, text in enumerate(AWKWARD)]


@pytest.mark.parametrize("insert", [insert_plain, insert_numbered])
def test_inserted_rows_hold_what_was_given(insert):
    insert(InnerState, COLUMNS, rows_about(Conversation.objects.create()))
    assert list(InnerState.objects.order_by("turn").values_list("cognition", flat=True)) == AWKWARD
    assert list(InnerState.objects.order_by("turn").values_list("emotion_score", flat=True)[:3]) == [0, None, 2]


def test_numbers_are_those_of_the_rows_and_are_not_given_twice():
    conversation = conversation_with()
    first = insert_numbered(InnerState, COLUMNS, rows_about(conversation))
    assert [InnerState.objects.get(pk=number).cognition for number in first] == AWKWARD
    told = {"conversation": conversation, "turn": 99, "source": "seeker"}
    assert InnerState.objects.create(**told).pk not in first
    assert insert_numbered(InnerState, COLUMNS, []) == []


def test_updated_rows_hold_what_was_given_and_others_what_they_held():
    numbers = insert_numbered(InnerState, COLUMNS, rows_about(conversation_with()))
    kept = InnerState.objects.get(pk=numbers[0])
    rows = [
        (text, None if n % 2 else n + 0.5, number)
        for n, (text, number) in enumerate(zip(AWKWARD[1:], numbers[1:], strict=True))
    ]
    update_plain(InnerState, ("goal", "emotion_score"), rows)
    update_plain(InnerState, ("goal", "emotion_score"), [])
    changed = {row.pk: (row.goal, row.emotion_score) for row in InnerState.objects.exclude(pk=kept.pk)}
    assert changed == {number: (text, score) for text, score, number in rows}
    assert InnerState.objects.get(pk=kept.pk).goal == ""
    assert [row.cognition for row in InnerState.objects.order_by("turn")] == AWKWARD


def test_updated_amounts_are_exact():
    calls = [Call.objects.create(purpose="judge", kind="scripted", cost=1).pk for _ in range(2)]
    update_plain(Call, ("cost",), [(Decimal("0.000001"), calls[0]), (None, calls[1])])
    assert list(Call.objects.order_by("pk").values_list("cost", flat=True)) == [Decimal("0.000001"), None]
