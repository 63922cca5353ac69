"""The planted truth of the scripted seekers comes back, whichever supporter, profile, condition and language."""

import asyncio
import json
from collections.abc import Iterable
from itertools import pairwise
from statistics import fmean

import pytest

from dialogue.demonstration.seekers import SEEKER_MODELS, ScriptedSeeker, feelings
from dialogue.judges.prompts import JudgedTurn
from dialogue.providers.base import Message, ModelSettings, ProviderError
from dialogue.providers.registry import model_for
from dialogue.providers.scripted import SUPPORTERS
from dialogue.safety.screening import screen_message
from dialogue.seekers.behaviours import average, instruction, worst_case
from dialogue.seekers.components import components
from dialogue.seekers.gates import Fault, find_faults, read_review
from dialogue.seekers.profiles import Profile, write_for_seeker
from dialogue.seekers.prompts import review_messages, talker_messages, thinker_messages
from dialogue.seekers.reading import Thought, read_thought, read_utterance
from tests.dialogue.seekers.talks import MAX_TURNS, PROFILES, Talk, talk

CONDITIONS = {"average": average, "worst_case": worst_case}
ORDER = ["formula", "advice", "question", "mirror", "attuned"]
KEY = tuple[str, str, str]  # arm, condition, profile


@pytest.fixture(scope="module")
def talks() -> dict[KEY, Talk]:
    return {
        (arm, name, profile.id): asyncio.run(talk(arm, profile, make(profile)))
        for arm in SUPPORTERS
        for name, make in CONDITIONS.items()
        for profile in PROFILES
    }


def chosen(talks: dict[KEY, Talk], arm: str, condition: str = "", language: str = "") -> list[Talk]:
    return [
        each
        for (of, under, profile), each in talks.items()
        if of == arm and under.startswith(condition) and profile.startswith(language)
    ]


def last_feeling(several: Iterable[Talk]) -> float:
    return fmean(each.thoughts[-1].emotion_score for each in several)


def lost(several: list[Talk]) -> float:
    return fmean(each.ends == "walked_out" for each in several)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("condition", ["average", "worst_case", ""])
def test_supporters_come_out_in_the_order_that_is_planted(
    talks: dict[KEY, Talk], condition: str, language: str
) -> None:
    means = {arm: last_feeling(chosen(talks, arm, condition, language)) for arm in SUPPORTERS}
    assert sorted(means, key=means.__getitem__) == ORDER
    assert means["attuned"] - means["formula"] > 25


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("arm", ["advice", "question", "mirror", "attuned"])
def test_worst_case_seekers_feel_worse_with_every_supporter(talks: dict[KEY, Talk], arm: str, language: str) -> None:
    assert last_feeling(chosen(talks, arm, "worst_case", language)) < last_feeling(
        chosen(talks, arm, "average", language)
    )


def test_better_supporters_lose_more_to_the_worst_case(talks: dict[KEY, Talk]) -> None:
    def drop(arm: str) -> float:
        return last_feeling(chosen(talks, arm, "average")) - last_feeling(chosen(talks, arm, "worst_case"))

    assert drop("attuned") > drop("mirror") > drop("formula") > 0


def test_poor_supporters_lose_their_seekers_and_sooner(talks: dict[KEY, Talk]) -> None:
    shares = [lost(chosen(talks, arm)) for arm in ORDER]
    assert shares[0] > 0.9
    assert shares[1] > 0.8
    assert max(shares[2:]) < 0.2
    assert shares[4] == 0
    for arm in ("formula", "advice"):
        average_length, worst_length = (fmean(len(each.turns) for each in chosen(talks, arm, c)) for c in CONDITIONS)
        assert worst_length < average_length < MAX_TURNS


def test_satisfied_are_those_who_were_understood(talks: dict[KEY, Talk]) -> None:
    satisfied = {(arm, condition) for (arm, condition, _), each in talks.items() if each.ends == "satisfied"}
    assert ("attuned", "average") in satisfied
    assert {arm for arm, _ in satisfied} == {"attuned"}
    shares = [fmean(each.ends == "satisfied" for each in chosen(talks, "attuned", name)) for name in CONDITIONS]
    assert shares[0] > 0.8 > 0.3 > shares[1]


def test_scripted_seekers_are_well_played_and_safe(talks: dict[KEY, Talk]) -> None:
    by_id = {profile.id: profile for profile in PROFILES}
    for (_, condition, key), each in talks.items():
        profile = by_id[key]
        found = find_faults(each.turns, each.utterances, profile, CONDITIONS[condition](profile), each.ends)
        assert found == []
        # The screen takes one of their phrases, which speaks of a throat, for level 3.
        assert max(screen_message(utterance.text).level for utterance in each.utterances) < 4


def test_same_seeker_says_the_same_again(talks: dict[KEY, Talk]) -> None:
    again = asyncio.run(talk("mirror", PROFILES[7], worst_case(PROFILES[7])))
    assert again == talks["mirror", "worst_case", PROFILES[7].id]


def test_seeker_begins_as_the_profile_says(talks: dict[KEY, Talk]) -> None:
    for (_, _, key), each in talks.items():
        (profile,) = (profile for profile in PROFILES if profile.id == key)
        assert each.turns[0].seeker == profile.script["opening"]


def test_volatile_seekers_swing(talks: dict[KEY, Talk]) -> None:
    """A severe intensity (en06) moves the feeling more from turn to turn than none at all (en03)."""

    def movement(key: str) -> float:
        scores = [t.emotion_score for t in talks["mirror", "worst_case", key].thoughts]
        return fmean(abs(b - a) for a, b in pairwise(scores))

    assert movement("en06") > 2 * movement("en03")


@pytest.mark.parametrize("profile", [PROFILES[1], PROFILES[10]], ids=lambda profile: profile.id)
def test_one_agent_ends_as_well_and_by_the_same_rules(profile: Profile) -> None:
    alone = asyncio.run(talk("formula", profile, average(profile), one_agent=True))
    assert alone.thoughts == []
    assert alone.ends == "walked_out"
    assert find_faults(alone.turns, alone.utterances, profile, average(profile), alone.ends) == []


def test_leaving_out_volatility_helps_most() -> None:
    """As in the ablation of arXiv:2605.28228: emotional volatility did most harm."""
    turns = [("I can't sleep at all", "“can't sleep at all”: what keeps you awake?")] * 8
    whole = dict.fromkeys(components(), 2)
    gained = {key: feelings(turns, "p", {**whole, key: 0})[-1] - feelings(turns, "p", whole)[-1] for key in whole}
    assert min(gained.values()) > 0
    assert max(gained, key=gained.__getitem__) == "emotional_volatility"


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_talker_follows_its_thought(language: str) -> None:
    (profile, *_) = (profile for profile in PROFILES if profile.language == language)
    told = write_for_seeker(profile, detail="full")
    turns = [JudgedTurn(1, "…a", "Oh?"), JudgedTurn(2, "b", "And then?")]

    async def said(score: int) -> str:
        thought = Thought("c", "e", "g", score)
        messages = talker_messages(told, "", turns, thought, language, can_end=True)
        return (await ScriptedSeeker("seeker_talker", language).reply(messages)).text

    assert len({await said(score) for score in (10, 48, 90)}) == 3


async def test_talker_never_ends_where_the_phrases_are_not_told() -> None:
    profile = PROFILES[0]
    turns = [JudgedTurn(number, f"no. {number}", "1. Run. 2. Sleep.") for number in range(1, 10)]
    told = write_for_seeker(profile, detail="simple")
    for can_end, end in ((True, "walked_out"), (False, "")):
        messages = talker_messages(told, "", turns, None, "en", can_end)
        reply = await ScriptedSeeker("seeker_talker").reply(messages)
        assert read_utterance(reply.text, "en").end == end


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_thinker_is_read_and_has_a_first_feeling(language: str) -> None:
    behaviour = instruction(worst_case(PROFILES[5]), language, -1.0)
    thinker = ScriptedSeeker("seeker_thinker", language)
    calm, upset = [
        read_thought((await thinker.reply(thinker_messages("x", text, [], [], language))).text)
        for text in ("", behaviour)
    ]
    assert isinstance(calm, Thought)
    assert isinstance(upset, Thought)
    assert upset.emotion_score < calm.emotion_score


@pytest.mark.parametrize(
    ("language", "flip", "again"),
    [
        ("en", "I'm here for you.", "he does not call me any more these days"),
        ("zh", "我会一直陪着你。", "我每天醒来都觉得心里很慌"),
    ],
)
async def test_reviewer_marks_what_it_is_shown(language: str, flip: str, again: str) -> None:
    turns = [JudgedTurn(1, again, flip), JudgedTurn(2, flip, "Oh?"), JudgedTurn(3, again, again)]
    reply = await ScriptedSeeker("seeker_reviewer", language).reply(review_messages("x", turns, language))
    assert read_review(reply.text) == [
        Fault("role_flip", 2, flip.rstrip(".。")),
        Fault("repetition", 3, f"as in turn 1: {again}"),
    ]


@pytest.mark.parametrize("name", sorted(SEEKER_MODELS))
async def test_registry_makes_them_and_they_say_what_they_are(name: str) -> None:
    model = model_for(ModelSettings("scripted", model=name), language="zh")
    assert isinstance(model, ScriptedSeeker)
    assert model.demonstration
    with pytest.raises(ProviderError, match="The prompt has no <") as caught:
        await model.reply([Message("user", "hello")])
    assert caught.value.permanent


async def test_pieces_are_handed_over_as_they_come() -> None:
    pieces: list[str] = []
    reply = await ScriptedSeeker("seeker_thinker").reply(thinker_messages("x", "", [], [], "en"), pieces.append)
    assert "".join(pieces) == reply.text
    assert set(json.loads(reply.text[8:-9])) == {"cognition", "emotion", "goal", "emotion_score"}
