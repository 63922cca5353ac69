from itertools import islice

import pytest

from dialogue.demonstration.judges import planted_quality
from dialogue.safety.screening import screen_message, screen_reply
from studies.bots.stories import LEADS, STORIES, Story, lines_for
from studies.instruments.loading import load

ALL = [(language, story) for language, stories in STORIES.items() for story in stories]
IDS = [f"{language}-{story.topic}" for language, story in ALL]


@pytest.mark.parametrize(("language", "story"), ALL, ids=IDS)
def test_nothing_in_a_story_shows_a_sign_of_danger(language: str, story: Story) -> None:
    told = [f"{lead}{line}" for line in story.lines for lead in LEADS[language]]
    for text in [*told, story.matter, story.occupation, story.interests]:
        assert screen_message(text).level < 3, text
        assert screen_reply(text) is None, text


@pytest.mark.parametrize(("language", "story"), ALL, ids=IDS)
def test_story_is_long_and_clear_enough_for_the_study(language: str, story: Story) -> None:
    assert len(story.lines) >= 14
    assert len(set(story.lines)) == len(story.lines)
    assert not load("screening").item("issue_text").is_too_short(story.matter, language)
    assert load("screening").item("issue_category").option(story.topic) is not None
    assert load("profile").item("topic").option(story.topic) is not None


@pytest.mark.parametrize("language", STORIES)
def test_each_language_has_different_stories(language: str) -> None:
    assert len({story.topic for story in STORIES[language]}) == len(STORIES[language]) == 4


def test_same_seed_tells_the_story_in_the_same_words() -> None:
    story = STORIES["en"][0]
    assert list(islice(lines_for(story, "en", "1"), 40)) == list(islice(lines_for(story, "en", "1"), 40))


def test_other_seeds_tell_it_in_other_words() -> None:
    story = STORIES["zh"][0]
    openings = {tuple(islice(lines_for(story, "zh", str(seed)), 3)) for seed in range(40)}
    assert len(openings) >= 35
    assert len({planted_quality([(line, "") for line in opening]) for opening in openings}) == len(openings)


def test_first_line_opens_the_story_and_it_goes_on_for_ever() -> None:
    story = STORIES["en"][1]
    lines = list(islice(lines_for(story, "en", "7"), 100))
    assert lines[0].endswith(story.lines[0])
    assert len(lines) == 100
