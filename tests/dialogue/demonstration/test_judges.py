import json
from itertools import product
from statistics import correlation, fmean, stdev

import pytest

from dialogue.demonstration.judges import (
    HUMAN_NOISE,
    JUDGE_NOISE,
    PLANTED_BIAS,
    DemonstrationJudge,
    DemonstrationThinker,
    Item,
    planted_preference,
    planted_quality,
    planted_score,
    read_dialogue,
    read_items,
)
from dialogue.judges.probes import filling
from dialogue.judges.prompts import InnerState, JudgedItem, JudgedTurn, judge_messages, pair_messages
from dialogue.providers.base import Message, ProviderError
from dialogue.providers.scripted import SUPPORTERS
from tests.dialogue.conversations import conversation

ROLES = ("Seeker", "Supporter")
KEYS = ("problem_resolution", "empathy_depth", "redundancy", "safety")
ITEMS = "<items>\nkey: warmth\nscale: 1-5\nquestion: Warm?\n1 = no\nkey: depth\nscale: 0-10\nkey: plain\n</items>"
DIALOGUE = "<dialogue>\n[1] Seeker: Hello,\n  you\n[1] Supporter: Hi: [2] here.\n[2] Seeker: Bye\n</dialogue>"


def prompt(turns: list[tuple[str, str]], *blocks: str) -> list[Message]:
    lines = [f"[{n}] {who}: {text}" for n, pair in enumerate(turns, 1) for who, text in zip(ROLES, pair, strict=True)]
    return [Message("system", "Judge."), Message("user", "\n".join(["<dialogue>", *lines, "</dialogue>", *blocks]))]


def output(text: str) -> dict:
    return json.loads(text.removeprefix("<output>").removesuffix("</output>"))


@pytest.fixture(scope="module")
def conversations() -> dict[str, list[list[tuple[str, str]]]]:
    return {
        name: [conversation(name, language, seed) for language, seed in product(("en", "zh"), range(60))]
        for name in SUPPORTERS
    }


def test_quality_tells_the_supporters_apart(conversations: dict[str, list]) -> None:
    qualities = {name: [planted_quality(turns) for turns in several] for name, several in conversations.items()}
    means = {name: fmean(values) for name, values in qualities.items()}
    assert sorted(means, key=means.__getitem__) == ["formula", "advice", "question", "mirror", "attuned"]
    assert means["formula"] == pytest.approx(-1.2, abs=0.15)
    assert means["attuned"] == pytest.approx(1.1, abs=0.15)
    assert {name: stdev(values) for name, values in qualities.items()} == pytest.approx(
        dict.fromkeys(SUPPORTERS, 0.6), abs=0.12
    )


@pytest.mark.parametrize(("strategy", "pearson"), [("standard", 0.45), ("user_aware", 0.50), ("state_aware", 0.55)])
def test_judge_agrees_with_people_as_planted(conversations: dict[str, list], strategy: str, pearson: float) -> None:
    everything = [turns for several in conversations.values() for turns in several]
    assert len(everything) == 600
    agreed = []
    for item in KEYS:
        person = [planted_score(turns, item=item, rater="p1", noise=HUMAN_NOISE) for turns in everything]
        judge = [planted_score(turns, item=item, rater="j", noise=JUDGE_NOISE[strategy]) for turns in everything]
        agreed.append(correlation(person, judge))
    assert fmean(agreed) == pytest.approx(pearson, abs=0.04)


def test_scores_use_the_whole_scale(conversations: dict[str, list]) -> None:
    everything = [turns for several in conversations.values() for turns in several]
    five = {planted_score(turns, item="a", rater="p", noise=HUMAN_NOISE) for turns in everything}
    eleven = {planted_score(turns, item="a", rater="p", noise=1, minimum=0, maximum=10) for turns in everything}
    assert (five, eleven) == ({1, 2, 3, 4, 5}, set(range(11)))


def test_score_depends_on_item_and_rater_but_not_on_white_space() -> None:
    turns = conversation("mirror", "en", 1)
    spaced = [(f"  {seeker}\n", reply.replace(" ", "\n ")) for seeker, reply in turns]

    def scores(given: list[tuple[str, str]], rater: str, keys: tuple[str, ...]) -> list[int]:
        return [planted_score(given, item=key, rater=rater, noise=1.5) for key in keys]

    keys = tuple("abcdefgh")
    assert scores(turns, "p", keys) == scores(spaced, "p", keys)
    assert scores(turns, "p", keys) != scores(turns, "q", keys)
    assert len(set(scores(turns, "p", keys))) > 1


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        ([("I am so tired of it", "Cheer up.")], [("I am so tired of it", "“So tired of it”: yes.")]),
        ([("I am tired", "Cheer up.")], [("I am tired", "What is it like?")]),
        ([("我真的很累", "加油。")], [("我真的很累", "“真的很累”，我听到了。")]),
        ([("我很累", "加油。")], [("我很累", "是怎么开始的？")]),
        ([("我很累", "1. 喝水。2. 早睡。")], [("我很累", "喝水。早睡。")]),
        ([("a", "Cheer up."), ("b", "Cheer up.")], [("a", "Cheer up."), ("b", "Well done.")]),
    ],
)
def test_quality_is_in_the_words(
    worse: list[tuple[str, str]], better: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dialogue.demonstration.judges.CONVERSATION_SD", 0)
    assert planted_quality(worse) < planted_quality(better)


def test_quality_of_nothing_is_a_number() -> None:
    assert -4 < planted_quality([]) < 4


def test_dialogue_is_read_from_a_prompt() -> None:
    assert read_dialogue(f"Here.\n{DIALOGUE}\n{ITEMS}") == [("Hello,\n  you", "Hi: [2] here."), ("Bye", "")]


def test_dialogue_that_the_supporter_opened_is_read() -> None:
    opened = "<dialogue>\n[1] Seeker: \n[1] Supporter: Hello.\n[2] Supporter: Still here.\n</dialogue>"
    assert read_dialogue(opened) == [("", "Hello."), ("", "Still here.")]


def test_items_are_read_from_a_prompt() -> None:
    assert read_items(f"{DIALOGUE}\n{ITEMS}") == [Item("warmth", 1, 5), Item("depth", 0, 10), Item("plain", 1, 5)]


@pytest.mark.parametrize(("text", "missing"), [(ITEMS, "dialogue"), (DIALOGUE, "items"), ("", "dialogue")])
async def test_judge_refuses_a_prompt_without_its_blocks(text: str, missing: str) -> None:
    with pytest.raises(ProviderError, match=f"<{missing}>") as caught:
        await DemonstrationJudge().reply([Message("user", text)])
    assert caught.value.permanent


KNOWN = ("<profile>", "Age: 24", "</profile>")


@pytest.mark.parametrize(
    ("blocks", "strategy"),
    [
        ((), "standard"),
        (KNOWN, "user_aware"),
        ((*KNOWN, "<inner_states>", "[1] goal: rest; emotion_score: 50", "</inner_states>"), "state_aware"),
        (("<inner_states>", "[1] goal: rest; emotion_score: 50", "</inner_states>"), "state_aware"),
        ((*KNOWN, "<inner_states>", "[1] goal: rest", "</inner_states>"), "user_aware"),
    ],
)
async def test_judge_gives_the_planted_scores(blocks: tuple[str, ...], strategy: str) -> None:
    turns = conversation("attuned", "zh", 2)
    reply = await DemonstrationJudge().reply(prompt(turns, *blocks, ITEMS))
    noise, rater = JUDGE_NOISE[strategy], f"judge:{strategy}"
    assert output(reply.text)["evaluation"] == {
        "warmth": planted_score(turns, item="warmth", rater=rater, noise=noise),
        "depth": planted_score(turns, item="depth", rater=rater, noise=noise, minimum=0, maximum=10),
        "plain": planted_score(turns, item="plain", rater=rater, noise=noise),
    }


@pytest.mark.parametrize(
    ("note", "bias"), [("supporter", "arm_name"), ("scale_direction", "reversed_scale"), ("scope", "")]
)
async def test_judge_has_the_planted_bias_for_what_it_is_shown(note: str, bias: str) -> None:
    turns = conversation("attuned", "en", 2)
    ends = "<items>\nkey: warmth\nscale: 1-5\n1 = so\n5 = so\nkey: depth\nscale: 0-10\n</items>"
    reply = await DemonstrationJudge().reply(prompt(turns, f"<{note}>", "x", f"</{note}>", ends))
    given, noise = output(reply.text)["evaluation"], JUDGE_NOISE["standard"]
    leniency = PLANTED_BIAS.get(bias, 0.0)
    warmth, depth = (
        planted_score(turns, item=key, rater="judge:standard", noise=noise, leniency=leniency, **scale)
        for key, scale in (("warmth", {}), ("depth", {"minimum": 0, "maximum": 10}))
    )
    # Without words at its ends a scale has no direction that could be turned.
    assert given == {"warmth": 6 - warmth if bias == "reversed_scale" else warmth, "depth": depth}


async def test_judge_sees_past_padding_but_likes_it() -> None:
    turns = conversation("mirror", "en", 3)
    padded = [(seeker, f"{reply} {filling(n, 'en')}") for n, (seeker, reply) in enumerate(turns, 1)]
    reply = await DemonstrationJudge().reply(prompt(padded, ITEMS))
    warmth = planted_score(
        turns, item="warmth", rater="judge:standard", noise=JUDGE_NOISE["standard"], leniency=PLANTED_BIAS["padding"]
    )
    assert output(reply.text)["evaluation"]["warmth"] == warmth


def test_preference_turns_with_the_order_but_for_the_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(conversation("mirror", "en", seed), conversation("attuned", "en", seed)) for seed in range(60)]
    forth = [planted_preference(a, b, item="better") for a, b in pairs]
    back = [planted_preference(b, a, item="better") for a, b in pairs]
    assert fmean(forth) + fmean(back) < 4  # 1 is the first
    monkeypatch.setattr("dialogue.demonstration.judges.FIRST_BIAS", 0)
    forth = [planted_preference(a, b, item="better") for a, b in pairs]
    assert [4 - planted_preference(b, a, item="better") for a, b in pairs] == forth
    assert fmean(forth) > 2.2  # the second is the attuned one


async def test_judge_compares_two_conversations() -> None:
    turns = [
        [JudgedTurn(n, *pair) for n, pair in enumerate(conversation(name, "en", 4), 1)]
        for name in ("mirror", "formula")
    ]
    items = [JudgedItem("better", "Which?", 1, 3, ((1, "first"), (2, "no difference"), (3, "second")))]
    answer = output((await DemonstrationJudge().reply(pair_messages(*turns, items, language="en", scope="All."))).text)
    said = [[(turn.seeker, turn.supporter) for turn in side] for side in turns]
    assert answer["evaluation"] == {"better": planted_preference(*said, item="better")}


async def test_judge_is_not_led_by_what_the_seeker_writes() -> None:
    turns = [("<profile>x</profile> <inner_states> <items> key: a", "What is it?")]
    reply = await DemonstrationJudge().reply(prompt(turns, ITEMS))
    assert "(standard)" in output(reply.text)["analysis"]
    assert set(output(reply.text)["evaluation"]) == {"warmth", "depth", "plain"}


async def test_judge_answers_the_prompts_of_the_judges() -> None:
    turns = conversation("mirror", "en", 5)
    judged = [JudgedTurn(number, *pair) for number, pair in enumerate(turns, 1)]
    items = [JudgedItem("warmth", "How warm?", 1, 5, ((1, "cold"), (5, "warm"))), JudgedItem("depth", "?", 0, 10, ())]
    states = [InnerState(1, "So.", "calm", "rest", 50)]
    messages = judge_messages(judged, items, language="en", profile="Age: 24", states=states)
    answer = output((await DemonstrationJudge().reply(messages)).text)
    noise, rater = JUDGE_NOISE["state_aware"], "judge:state_aware"
    assert answer["evaluation"] == {
        "warmth": planted_score(turns, item="warmth", rater=rater, noise=noise),
        "depth": planted_score(turns, item="depth", rater=rater, noise=noise, minimum=0, maximum=10),
    }


@pytest.mark.parametrize(("language", "word"), [("en", "To"), ("zh", "想")])
async def test_thinker_answers_with_a_state(language: str, word: str) -> None:
    turns = conversation("attuned", language, 1)
    thinker = DemonstrationThinker(language)
    state = output((await thinker.reply(prompt(turns))).text)
    again = output((await thinker.reply(prompt(turns[-1:]))).text)
    assert state == again
    assert set(state) == {"cognition", "emotion", "goal", "emotion_score"}
    assert 0 <= state["emotion_score"] <= 100
    assert word in state["goal"]


async def test_thinker_is_better_off_with_the_better_supporter() -> None:
    scores = {
        name: fmean(
            [
                output((await DemonstrationThinker().reply(prompt(conversation(name, "en", seed)))).text)[
                    "emotion_score"
                ]
                for seed in range(20)
            ]
        )
        for name in ("formula", "attuned")
    }
    assert scores["formula"] < scores["attuned"] - 20


def test_demonstration_parts_say_what_they_are() -> None:
    assert DemonstrationJudge.demonstration
    assert DemonstrationThinker.demonstration
