import pytest

from studies.analysis import language
from studies.analysis.language import ENGLISH, current_language, gettext, ngettext, speaking
from studies.analysis.reporting.naming import in_order, item_name, join_names, of_all, raters_name
from studies.analysis.reporting.numbers import bounds, count, decimal, p_value, percent, with_sign
from tests.languages import CHINESE


def test_a_text_is_in_the_language_that_is_spoken_and_in_english_after() -> None:
    with speaking(CHINESE):
        assert (current_language(), gettext("Conversations"), gettext("")) == ("zh-Hans", "对话", "")
        with speaking(ENGLISH):
            assert gettext("Conversations") == "Conversations"
    assert (current_language(), gettext("Conversations")) == ("en", "Conversations")


def test_a_text_that_the_catalogue_lacks_stays_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    with speaking(CHINESE):
        assert gettext("No catalogue has this.") == "No catalogue has this."
    monkeypatch.setattr(language, "LOCALE", tmp_path)
    with speaking(CHINESE):
        assert gettext("Conversations") == "Conversations"
        assert ngettext("{count} arm", "{count} arms", 2) == "{count} arms"


def test_items_of_our_questionnaires_have_their_label_others_their_key() -> None:
    assert item_name("emoharbor_10", "problem_resolution") == "Problem resolution"
    assert (item_name("emoharbor_10", "kindness"), item_name("own", "safety")) == ("kindness", "safety")
    with speaking(CHINESE):
        assert item_name("emoharbor_10", "problem_resolution") == "问题解决"


def test_items_stand_as_in_the_questionnaire_and_their_mean_last() -> None:
    given = ["*", "safety", "zeal", "problem_resolution", "care"]
    assert in_order("emoharbor_10", given) == ["problem_resolution", "safety", "care", "zeal", "*"]


def test_raters_are_named_with_strategy_or_code() -> None:
    assert [raters_name(name) for name in ("seeker", "judge:user_aware", "expert:E1", "robot")] == [
        "participants",
        "judges (user-aware)",
        "counsellors E1",
        "robot",
    ]


def test_names_are_listed_and_the_rest_counted() -> None:
    assert (join_names([]), join_names(["a"]), join_names(["a", "b", "c"])) == ("", "a", "a, b and c")
    assert of_all(list("abcdefgh")) == [*"abcdef", "2 more"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (decimal(-0.001), "0.00"),
        (decimal(float("nan")), "–"),
        (decimal(-1.236), "−1.24"),
        (with_sign(0.5), "+0.50"),
        (with_sign(0.001), "0.00"),
        (bounds(-0.1, 0.25), "[−0.10, 0.25]"),
        (bounds(float("nan"), 1), ""),
        (p_value(0.0342), "p\u00a0=\u00a0.034"),
        (p_value(0.0001), "p\u00a0<\u00a0.001"),
        (count(12345), "12,345"),
        (percent(0.256), "26 %"),
    ],
)
def test_numbers_are_written_for_readers(text: str, said: str) -> None:
    assert text == said


def test_a_group_of_judges_has_the_brackets_of_the_language() -> None:
    assert raters_name("judge:standard") == "judges (standard)"
    with speaking(CHINESE):
        assert raters_name("judge:standard") == "评审模型（标准）"
