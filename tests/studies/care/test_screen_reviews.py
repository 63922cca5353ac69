"""The screen is measured in real use: a second reader says of held and passed messages whether they were grave."""

import pytest
from django.contrib.auth.models import User

from dialogue.models import RiskEvent, Turn
from studies.analysis.measures.recall import estimate_recall
from studies.care import screen_reviews
from studies.care.acts import record_act
from studies.models import SafetyAct, ScreenReview, Study
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def messages(study: Study) -> list[Turn]:
    """One held message and two that passed, of one conversation."""
    run = factories.run_with_turns(study, factories.person(study))
    Turn.objects.filter(conversation=run.conversation).delete()
    levels = (3, 0, 1)
    return [
        Turn.objects.create(
            conversation=run.conversation, number=number, client_id=str(number), text=f"m{number}", risk_level=level
        )
        for number, level in enumerate(levels, 1)
    ]


def test_reader_gets_each_message_once_and_is_not_told_which_was_held(desk, messages):
    seen = set()
    for _ in messages:
        page = desk.get("/research/demo/risks/review/")
        turn = page.context["turn"]
        card = page.content.decode().partition('name="message"')[2].partition("</form>")[0]
        assert "level" not in card
        seen.add(turn.pk)
        desk.post("/research/demo/risks/review/", {"message": turn.pk, "answer": "grave"})

    assert seen == {turn.pk for turn in messages}
    assert desk.get("/research/demo/risks/review/").context["turn"] is None


def test_message_that_one_has_handled_oneself_is_left_to_others(desk, messages):
    held = messages[0]
    event = RiskEvent.objects.create(conversation=held.conversation, turn=held.number, source="message", level=3)
    ada = User.objects.get(username="ada")
    record_act(event, SafetyAct.Kind.RELEASED, by=ada)
    for turn in messages[1:]:
        ScreenReview.objects.create(turn=turn, grave=False)

    assert screen_reviews.get_next_message(Study.objects.get(), user=ada) is None
    bob = User.objects.create(username="bob")
    assert screen_reviews.get_next_message(Study.objects.get(), user=bob) == held


def test_answer_is_noted_at_the_event_and_the_first_stays(desk, messages):
    held = messages[0]
    event = RiskEvent.objects.create(conversation=held.conversation, turn=held.number, source="message", level=3)
    for answer in ("not_grave", "grave"):
        desk.post("/research/demo/risks/review/", {"message": held.pk, "answer": answer})

    assert ScreenReview.objects.get().grave is False
    assert [(act.kind, act.text) for act in event.acts.all()] == [("reviewed", "false alarm")]


def test_message_of_another_study_and_an_answer_that_is_none_are_refused(desk, messages):
    factories.study("other")
    assert desk.post("/research/other/risks/review/", {"message": messages[0].pk, "answer": "grave"}).status_code == 404
    desk.post("/research/demo/risks/review/", {"message": messages[0].pk, "answer": "perhaps"})
    assert not ScreenReview.objects.exists()


def test_recall_weighs_both_parts_by_their_size(study, messages):
    for turn, grave in zip(messages, (True, False, True), strict=True):
        ScreenReview.objects.create(turn=turn, grave=grave)

    quality = screen_reviews.get_screen_quality(study)

    assert (quality.held, quality.passed) == (1, 2)
    assert (quality.real.hits, quality.real.of, quality.missed.hits, quality.missed.of) == (1, 1, 1, 2)
    assert quality.recall == pytest.approx(1 / (1 + 1))
    assert 0 < quality.recall_low < 0.5 < quality.recall_high < 1


def test_estimate_recall_by_hand():
    # 8 of 10 held ones that were read are real, of 20 held: 16. 1 of 100 passed ones, of 1,000: 10. 16 / 26.
    found = estimate_recall((8, 10, 20), (1, 100, 1000))
    assert found.estimate == pytest.approx(16 / 26)
    assert found.low < found.estimate < found.high


@pytest.mark.parametrize("parts", [((0, 0, 3), (1, 5, 50)), ((2, 3, 3), (0, 0, 50)), ((0, 3, 3), (0, 5, 50))])
def test_recall_that_nothing_speaks_for_is_none(parts):
    assert estimate_recall(*parts) is None


def test_more_reading_makes_the_interval_narrower():
    few, many = estimate_recall((4, 5, 20), (1, 50, 1000)), estimate_recall((16, 20, 20), (20, 1000, 1000))
    assert many.high - many.low < few.high - few.low
