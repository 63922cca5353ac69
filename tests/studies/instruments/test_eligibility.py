import pytest

from studies.instruments.eligibility import outcome
from studies.instruments.loading import load

SCREENING = load("screening")
LONG_ENOUGH = "My manager keeps moving my shifts, I lie awake over it, and I would like to sort out what to say to her."
COMMON = {
    "age": 30,
    "country": "IE",
    "language": "en",
    "fluency": 5,
    "in_crisis": "no",
    "suicidal_2w": "no",
    "attempt_12m": "no",
    "acute_condition": "no",
    "support_person": "yes",
    "availability": "yes",
    "previous": "no",
}
PARTICIPANT = COMMON | {
    "llm_experience": "weekly",
    "issue_category": "work",
    "issue_text": LONG_ENOUGH,
    "issue_bearable": 4,
    "treatment": "no",
}
EXPERT = COMMON | {
    "pro_qualification": "registered",
    "pro_hours": "1000p",
    "pro_supervision": "yes",
    "pro_roleplay": 4,
}


def participant(language="en", **changes):
    return outcome(SCREENING, PARTICIPANT | changes, track="participant", language=language)


@pytest.mark.parametrize(
    ("changes", "kind", "reasons", "show_help"),
    [
        ({}, "eligible", (), False),
        ({"age": 18}, "eligible", (), False),
        ({"age": 17}, "exclude", ("underage",), True),
        ({"llm_experience": "never"}, "exclude", ("no_llm_experience",), False),
        ({"issue_category": "none"}, "exclude", ("no_issue",), False),
        ({"fluency": 3}, "eligible", (), False),
        ({"fluency": 2}, "exclude", ("language",), False),
        ({"availability": "no"}, "exclude", ("not_available",), False),
        ({"previous": "yes"}, "exclude", ("conflict_or_repeat",), False),
        ({"in_crisis": "yes"}, "exclude_with_care", ("safety",), True),
        ({"suicidal_2w": "yes", "attempt_12m": "yes"}, "exclude_with_care", ("safety",), True),
        ({"acute_condition": "yes"}, "exclude_with_care", ("unstable",), True),
        ({"issue_bearable": 2}, "exclude_with_care", ("issue_too_heavy",), True),
        ({"attempt_12m": "prefer_not"}, "review_by_person", ("safety_unknown",), True),
        ({"acute_condition": "prefer_not"}, "review_by_person", ("unstable_unknown",), True),
        ({"treatment": "changing"}, "review_by_person", ("treatment_changing",), False),
        ({"treatment": "stable"}, "eligible", (), False),
        # The strongest wins, whatever the order of the rules in the file.
        ({"treatment": "changing", "age": 16}, "exclude", ("underage", "treatment_changing"), True),
        ({"age": 16, "issue_bearable": 1}, "exclude_with_care", ("issue_too_heavy", "underage"), True),
        ({"in_crisis": "prefer_not", "suicidal_2w": "yes"}, "exclude_with_care", ("safety", "safety_unknown"), True),
    ],
)  # fmt: skip
def test_outcome_for_participants(changes, kind, reasons, show_help):
    found = participant(**changes)
    assert (found.kind, found.reasons, found.show_help) == (kind, reasons, show_help)


def test_outcome_flags_without_excluding():
    found = participant(support_person="no")
    assert (found.kind, found.reasons, found.flags, found.show_help) == ("eligible", (), ("no_support_person",), True)


@pytest.mark.parametrize(
    ("changes", "kind", "reasons"),
    [
        ({}, "eligible", ()),
        ({"pro_qualification": "student"}, "exclude", ("not_experienced",)),
        ({"pro_qualification": "none", "pro_hours": "lt100"}, "exclude", ("not_experienced",)),
        ({"pro_supervision": "no"}, "review_by_person", ("no_supervision",)),
        ({"pro_roleplay": 2}, "exclude", ("role_play_uncomfortable",)),
        ({"pro_roleplay": 3}, "eligible", ()),
        ({"suicidal_2w": "yes"}, "exclude_with_care", ("safety",)),
        ({"llm_experience": "never"}, "eligible", ()),
    ],
)
def test_outcome_for_experts(changes, kind, reasons):
    found = outcome(SCREENING, EXPERT | changes, track="expert", language="en")
    assert (found.kind, found.reasons) == (kind, reasons)


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, "ask_again"),
        ({"treatment": "changing"}, "ask_again"),
        ({"age": 17}, "exclude"),
        ({"in_crisis": "yes"}, "exclude_with_care"),
    ],
)
def test_short_text_is_asked_again_where_nothing_else_excludes(changes, kind):
    found = participant(issue_text="Too much work.", **changes)
    assert found.kind == kind
    assert "issue_unclear" not in found.reasons


@pytest.mark.parametrize(
    ("language", "length", "kind"),
    [("en", 80, "eligible"), ("en", 79, "ask_again"), ("zh", 30, "eligible"), ("zh", 29, "ask_again")],
)
def test_short_text_is_measured_by_language(language, length, kind):
    assert participant(language=language, issue_text=" " + "字" * length + "\n").kind == kind


def test_outcome_refuses_to_decide_without_a_required_answer():
    answers = {key: answer for key, answer in PARTICIPANT.items() if key not in ("in_crisis", "age")}
    with pytest.raises(ValueError, match=r"^screening: no answer to age, in_crisis$"):
        outcome(SCREENING, answers, track="participant", language="en")
