"""The demonstration's writer: a whole profile for every topic, goal and personality, with nothing in it to find."""

from itertools import product

import pytest

from dialogue.providers.base import Message, ModelSettings, ProviderError
from dialogue.providers.registry import model_for
from dialogue.seekers.profile_checks import OwnAnswers, check_profile
from dialogue.seekers.profile_writer import NAME, WriterInput, read_answer, writer_messages
from dialogue.seekers.profiles import Profile
from studies.instruments.loading import load

SCORES = (1.5, 3.0, 4.5)


def choices(item: str, language: str) -> list[str]:
    return [option.text[language] for option in load("profile").item(item).options if option.value != "prefer_not"]


async def profile_of(answered: WriterInput) -> Profile:
    model = model_for(ModelSettings(kind="scripted", model=NAME), language=answered.language)
    profile = read_answer((await model.reply(writer_messages(answered))).text, answered)
    assert isinstance(profile, Profile)
    return profile


def answered(language: str, topic: str, goal: str, score: float, status: str = "") -> WriterInput:
    name = {"en": "Robin", "zh": "小禾"}[language]
    return WriterInput(
        language=language,
        demographics={"alias": name, "age": 29, "gender": "–"},
        category=topic,
        big_five=dict.fromkeys("EACNO", score),
        answers={"topic": topic, "goal": goal, "status": status, "matter": "Sam at Tesco, sam@example.org"},
    )


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_every_topic_makes_a_profile_in_which_nothing_is_found(language: str) -> None:
    own = OwnAnswers(names=("Sam",), texts=("Sam at Tesco, sam@example.org",), big_five=dict.fromkeys("EACNO", 3.0))
    stories = set()
    for topic in choices("topic", language):
        profile = await profile_of(answered(language, topic, choices("goal", language)[0], 3.0))
        assert check_profile(profile, own=own) == []
        stories.add(profile.concern["problem"])
    assert len(stories) == len(choices("topic", language))


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_manner_and_wishes_follow_the_answers(language: str) -> None:
    topic, status = choices("topic", language)[0], choices("status", language)[0]
    made = [
        await profile_of(answered(language, topic, goal, score, status))
        for goal, score in product(choices("goal", language), SCORES)
    ]
    assert [check_profile(profile) for profile in made] == [[]] * len(made)
    assert len({profile.personality["support_preference"] for profile in made}) == len(choices("goal", language))
    assert len({profile.script["opening"] for profile in made}) == len(SCORES)


async def test_what_is_not_its_prompt_is_refused() -> None:
    model = model_for(ModelSettings(kind="scripted", model=NAME))
    assert model.demonstration is True
    with pytest.raises(ProviderError, match="no <person> block"):
        await model.reply([Message("user", "Hello")])
