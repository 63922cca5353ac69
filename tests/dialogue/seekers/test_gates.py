"""The simulator's own faults: what each rule marks, and what it must not."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogue.judges.prompts import JudgedTurn
from dialogue.seekers.behaviours import average, worst_case
from dialogue.seekers.components import components
from dialogue.seekers.gates import KINDS, Fault, find_faults, read_review
from dialogue.seekers.profiles import Profile, hidden_parts
from dialogue.seekers.reading import Unread, read_utterance
from tests.dialogue.seekers.talks import PROFILES

BY_ID = {profile.id: profile for profile in PROFILES}
ROWAN, MARISOL, TOBIAS, KWAME = (BY_ID[key] for key in ("en01", "en02", "en03", "en06"))
XIAOMAN, ZHOU, XIAOBEI = (BY_ID[key] for key in ("zh01", "zh02", "zh06"))


def faults(profile: Profile, said: Sequence[str], *, ends: str = "cap", average_case: bool = False) -> list[Fault]:
    turns = [JudgedTurn(number, text, "What is it like?") for number, text in enumerate(said, 1)]
    utterances = [read_utterance(text, profile.language) for text in said]
    condition = average(profile) if average_case else worst_case(profile)
    return find_faults(turns, utterances, profile, condition, ends)


def kinds(profile: Profile, *said: str, ends: str = "cap") -> list[str]:
    return [fault.kind for fault in faults(profile, said, ends=ends)]


@pytest.mark.parametrize(
    ("profile", "text", "evidence"),
    [
        (ROWAN, "I'm here for you, whatever happens.", "I'm here for you"),
        (ROWAN, "How can I help you with that?", "How can I help you"),
        (ROWAN, "Thank you for sharing that.", "Thank you for sharing"),
        (ROWAN, "It sounds like you feel torn.", "It sounds like you feel"),
        (ROWAN, "As an AI, I cannot feel.", "As an AI, I"),
        (ROWAN, "dunno\nSupporter: That must hurt.", "Supporter:"),
        (XIAOMAN, "我会一直陪着你，慢慢来。", "我会一直陪着你"),
        (XIAOMAN, "谢谢您愿意告诉我这些。", "谢谢您愿意告诉我"),
        (XIAOMAN, "听起来你很难过。", "听起来你很"),
        (XIAOMAN, "有什么我可以帮您的吗？", "我可以帮您"),
        (XIAOMAN, "作为AI，我没有感受。", "作为AI，我"),
    ],
)
def test_helpers_words_are_a_role_flip(profile: Profile, text: str, evidence: str) -> None:
    found = faults(profile, [text])
    assert [(fault.kind, fault.turn) for fault in found] == [("role_flip", 1)]
    assert found[0].evidence == evidence


@pytest.mark.parametrize(
    ("profile", "text"),
    [
        (ROWAN, "everyone tells me “I'm here for you” and then they go home"),
        (ROWAN, "how can i help him if he won't talk"),
        (ROWAN, "sounds like you're reading from a script"),
        (ROWAN, "as an AI you would say that"),
        (ROWAN, "you're here for me, sure"),
        (XIAOMAN, "你听起来像在念稿子"),
        (XIAOMAN, "听起来你好像在念稿子"),
        (XIAOMAN, "没有人陪我"),
        (XIAOMAN, "我可以给你讲讲那天的事"),
        (XIAOMAN, "“我会陪着你”这种话谁都会说"),
        (XIAOMAN, "作为一个AI，你当然这么说"),
    ],
)
def test_what_a_seeker_says_of_helpers_is_no_role_flip(profile: Profile, text: str) -> None:
    assert kinds(profile, text) == []


@pytest.mark.parametrize(
    ("profile", "text", "evidence"),
    [
        (
            ROWAN,
            "honestly i'm afraid of being someone who cannot cope with anything.",
            "afraid of being someone who cannot",
        ),
        (ROWAN, "I changes subject to the flatmate's cat", "changes subject to the flatmate's cat"),
        (ROWAN, "two generic replies in a row after turn 6 and I go", "two generic replies in a row"),
        (MARISOL, "you have little energy for this talk", "you have little energy for this"),
        (XIAOMAN, "就是觉得辜负了父母这些年的付出。", "觉得辜负了父母这些年"),
        (XIAOMAN, "你怀疑聊天有没有用，对吧", "你怀疑聊天有没有用"),
    ],
)
def test_hidden_text_word_for_word_is_a_leak(profile: Profile, text: str, evidence: str) -> None:
    (found,) = faults(profile, [text])
    assert (found.kind, found.turn) == ("profile_leak", 1)
    assert found.evidence.startswith(evidence) or evidence.startswith(found.evidence)


@pytest.mark.parametrize(
    ("profile", "text"),
    [
        (ROWAN, "i cannot cope. with anything"),
        (ROWAN, "yeah. thanks i guess"),  # what the reaction quotes is meant to be said
        (MARISOL, "My thirteen-year-old has stopped talking to her since she began seeing someone new"),  # the problem
        (KWAME, "people always leave me"),  # the fixed belief
        (KWAME, "Everyone knew. Except me, of course."),
        (ZHOU, "我是来解决问题的，不是来做检查的。"),
        (XIAOMAN, "我就是不如别人"),
    ],
)
def test_paraphrase_quotation_and_open_text_are_no_leak(profile: Profile, text: str) -> None:
    assert kinds(profile, text) == []


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.id)
def test_every_long_hidden_part_is_found(profile: Profile) -> None:
    for part in hidden_parts(profile):
        if len(part) > 60 and not any(mark in part for mark in "'“"):
            assert "profile_leak" in kinds(profile, part), part


@pytest.mark.parametrize(
    ("profile", "text", "evidence"),
    [
        (TOBIAS, "I am 45 years old and done.", "I am 45 years old"),
        (TOBIAS, "Look, I'm a mother myself.", "I'm a mother"),
        (TOBIAS, "I'm a mother and I am 45 years old.", "I am 45 years old; I'm a mother"),
        (MARISOL, "I'm her father, after all.", "I'm her father"),
        (MARISOL, "I work as a plumber, so no.", "I work as a plumber"),
        (MARISOL, "我不知道怎么跟她说这件事", "我不知道怎么跟她说这件事"),
        (ZHOU, "我今年35岁了", "我今年35岁"),
        (ZHOU, "我是孩子的妈妈", "我是孩子的妈妈"),
        (XIAOMAN, "我是个男生，不好意思哭", "我是个男生"),
        (ZHOU, "我的职业是医生。", "我的职业是医生"),
        (ZHOU, "I do not know what to say", "I do not know what to say"),
    ],
)
def test_contradiction_of_the_profile_is_marked(profile: Profile, text: str, evidence: str) -> None:
    found = [(fault.kind, fault.evidence) for fault in faults(profile, [text])]
    assert found == [("persona_contradiction", evidence)]


@pytest.mark.parametrize(
    ("profile", "text"),
    [
        (TOBIAS, "I am 57 years old."),
        (TOBIAS, "I'm 58 years old next week"),
        (TOBIAS, "I was 26 years old when I started, I'm 45 minutes from the plant"),
        (TOBIAS, "I'm a man my age, what do you expect. My wife says I'm not a girl."),
        (TOBIAS, "I'm her sister's husband, I'm no mother of hers"),
        (MARISOL, "He said “I am 45 years old”. I'm a mother. I work as a nurse at a school."),
        (ROWAN, "I'm a woman or a man, who cares"),  # neither is this person's word
        (ZHOU, "我23岁那年就当了老师，我是他爸爸"),
        (ZHOU, "我的工作是教书，我是孩子的父亲"),
        (XIAOBEI, "OK，DDL 又来了，client 催得我想哭"),
        (KWAME, "她 said what?? no way bro"),
    ],
)
def test_what_agrees_or_cannot_be_decided_is_no_contradiction(profile: Profile, text: str) -> None:
    assert kinds(profile, text) == []


def test_same_message_again_is_a_repetition() -> None:
    said = ["I told you that he does not call any more.", "ok", "ok", "I told you that he does not call any more!"]
    assert faults(ROWAN, said) == [Fault("repetition", 4, f"as in turn 1: {said[3]}")]
    assert kinds(XIAOMAN, "我每天醒来都觉得心里很慌。", "嗯", "我每天醒来都觉得心里很慌……") == ["repetition"]


def test_same_matter_in_other_words_is_none() -> None:
    assert kinds(ROWAN, "I told you that he does not call any more.", "He never calls me any more, as I said.") == []


def test_third_silent_turn_is_a_repetition() -> None:
    assert kinds(ROWAN, "……", "……", "ok", "……", "……") == []
    assert faults(ROWAN, ["hi", "……", "…", "..."]) == [Fault("repetition", 4, "silent for 3 turns")]


GRATEFUL = ["Thank you.", "You're right.", "That makes sense.", "I'll try that.", "no idea"]


def test_worst_case_seeker_who_agrees_all_the_time_is_too_compliant() -> None:
    assert faults(TOBIAS, GRATEFUL) == [
        Fault("over_compliance", 4, "thanks or agrees without objection in 4 of 5 messages")
    ]
    assert kinds(ZHOU, "谢谢您", "你说得对", "有道理", "我试试") == ["over_compliance"]


def test_compliance_is_no_fault_without_resistance_or_with_an_objection_or_in_few_messages() -> None:
    assert faults(TOBIAS, GRATEFUL, average_case=True) == []
    assert kinds(ROWAN, *GRATEFUL) == []  # resistance 1
    assert kinds(TOBIAS, *(f"{text} But it won't help." for text in GRATEFUL)) == []
    assert kinds(TOBIAS, *GRATEFUL[:3]) == []
    assert kinds(TOBIAS, *GRATEFUL[:2], "no", "whatever") == []
    assert kinds(ZHOU, "谢谢，但是没用", "你说得对，可是不行", "没有道理", "不想试") == []


@pytest.mark.parametrize(
    ("count", "ends", "found"),
    [
        (1, "walked_out", True),
        (2, "satisfied", True),
        (3, "walked_out", False),
        (2, "cap", False),
        (2, "safety", False),
    ],
)
def test_leaving_before_the_third_turn_is_early(count: int, ends: str, found: bool) -> None:
    said = ["hello there", "so what", "Goodbye"][-count:]
    assert kinds(ROWAN, *said, ends=ends) == (["early_stop"] if found else [])


def test_phrase_that_does_not_end_is_misused() -> None:
    said = ["well", "Okay then. Bye.", "no"]
    assert faults(ROWAN, said) == [Fault("stop_misuse", 2, "Okay then. Bye.")]
    assert faults(ROWAN, ["well", "no", "Goodbye", "and yet"]) == [
        Fault("stop_misuse", 3, "Goodbye (and yet turn 4 follows)")
    ]


def test_turns_in_which_the_supporter_opened_have_no_message_of_the_seeker() -> None:
    turns = [JudgedTurn(1, "", "Hello."), JudgedTurn(2, "As an AI, I wait.", "Oh?")]
    found = find_faults(turns, [read_utterance(turns[1].seeker, "en")], ROWAN, average(ROWAN), "cap")
    assert [(fault.kind, fault.turn) for fault in found] == [("role_flip", 2)]


def test_messages_that_do_not_go_with_the_turns_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        find_faults([JudgedTurn(1, "a", "b")], [], ROWAN, average(ROWAN), "")


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.id)
def test_behaviours_shown_as_they_should_be_are_no_faults(profile: Profile) -> None:
    samples = [line for component in components().values() for line in component.samples[profile.language]]
    assert faults(profile, [profile.script["opening"], *samples]) == []


@given(said=st.lists(st.text(min_size=1), max_size=6), profile=st.sampled_from(PROFILES))
def test_any_text_is_gone_through(said: list[str], profile: Profile) -> None:
    found = faults(profile, said)
    assert all(fault.kind in KINDS and 1 <= fault.turn <= len(said) for fault in found)
    assert len({(fault.kind, fault.turn) for fault in found}) == len(found)


# The reviewer.

MARKED = [Fault("role_flip", 3, "I'm here for you"), Fault("repetition", 5, "")]
REVIEW = json.dumps({"faults": [{"kind": f.kind, "turn": f.turn, "evidence": f.evidence} for f in MARKED]})


@pytest.mark.parametrize(
    "text",
    [
        f"<output>{REVIEW}</output>",
        f"Let me see.\n```json\n{REVIEW}\n```",
        REVIEW.replace("}]", "},]"),
        REVIEW.replace('"role_flip"', '"Role-flip"').replace('"repetition"', '"重复"'),
        REVIEW.replace(": 3", ': "3"').replace(": 5", ': "[5]"'),
        REVIEW.replace(', "evidence": ""', ""),
        f'{{"faults": []}} or rather {REVIEW}',
    ],
)
def test_review_is_read(text: str) -> None:
    assert read_review(text) == MARKED


def test_review_without_faults_is_an_empty_list() -> None:
    assert read_review('<output>{"faults": []}</output>') == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("There are no faults.", "unparseable"),
        ("", "unparseable"),
        (REVIEW[:40], "unparseable"),
        ('{"faults": "none"}', "missing"),
        ('{"faults": ["role_flip"]}', "unparseable"),
        (REVIEW.replace("repetition", "rudeness"), "unknown_kind"),
        (REVIEW.replace(": 5", ": 0"), "no_turn"),
        (REVIEW.replace('"turn": 5, ', ""), "no_turn"),
    ],
)
def test_review_of_which_a_part_is_lost_is_unread(text: str, reason: str) -> None:
    assert read_review(text) == Unread(reason)
