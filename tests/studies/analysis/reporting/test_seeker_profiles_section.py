"""The figures of who the seekers were."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from studies.analysis import load
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.language import speaking
from studies.analysis.reporting.drawing import Figure, style
from studies.analysis.reporting.sections.seeker_profiles import seeker_profiles
from studies.analysis.run import compute
from tests.languages import CHINESE
from tests.studies.analysis.tables.test_seeker_profiles import with_people, with_profiles

ExportOf = Callable[[Any], Path]
pytestmark = pytest.mark.with_figures


def figures_of(folder: Path, language: str = "en") -> list[Figure]:
    with speaking(language), style():
        section = seeker_profiles(compute(load(folder), Bootstrap(5, 1), lambda *_: None, ["people"]))
    return [part for part in section.parts if isinstance(part, Figure)] if section else []


def texts(figure: Figure) -> list[str]:
    root = ElementTree.fromstring(figure.svg)
    return ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]


def test_a_figure_has_a_panel_for_each_characteristic_that_is_known(export_of: ExportOf) -> None:
    profiles = [{"age": 20 + n, "mbti": "INFP", "emotion": "", "openness": 1 + n} for n in range(4)]
    [drawn] = figures_of(with_profiles(export_of, profiles))
    assert drawn.title == "Who the seekers were: simulated seekers (4)"
    said = texts(drawn)
    assert {"Age", "20–29", "MBTI type", "INFP", "4 (100 %)", "Big Five", "2.50 (1.29)"} <= set(said)
    assert "Feeling at first" not in said


def test_the_twelve_most_frequent_values_have_a_bar_and_the_others_one_together(export_of: ExportOf) -> None:
    jobs = [f"job {n:02}" for n in range(15)] + ["job 14"]
    [drawn] = figures_of(with_profiles(export_of, [{"occupation": job} for job in jobs]))
    said = texts(drawn)
    assert [text for text in said if text.startswith("job")] == ["job 14", *jobs[:11]]
    assert {"others", "3 (19 %)"} <= set(said)


def test_each_language_of_profiles_has_a_figure(export_of: ExportOf) -> None:
    profiles = [{"gender": gender, "language": language} for gender, language in (("woman", "en"), ("女", "zh"))]
    english, chinese = figures_of(with_profiles(export_of, profiles))
    assert (english.title.partition(", ")[2], chinese.title.partition(", ")[2]) == ("English (1)", "Chinese (1)")
    assert "女" in texts(chinese)
    assert "女" not in texts(english)


def test_answers_of_people_are_in_words_of_the_report(export_of: ExportOf) -> None:
    folder = with_people(export_of, {"topic": ["work"] * 6, "age_band": ["18_24"] * 6})
    [drawn] = figures_of(folder)
    assert drawn.title == "Who the seekers were: people (6)"
    assert {"18 to 24", "6 (100 %)"} <= set(texts(drawn))
    [drawn] = figures_of(folder, CHINESE)
    assert "18–24岁" in texts(drawn)


def test_a_characteristic_whose_values_are_all_merged_is_not_drawn(export_of: ExportOf) -> None:
    [drawn] = figures_of(with_people(export_of, {"topic": [*"abcdef"], "age_band": ["18_24"] * 6}))
    assert "Age" in texts(drawn)
    assert "Problem" not in texts(drawn)


def test_nothing_is_drawn_where_nothing_is_known(export_of: ExportOf) -> None:
    assert figures_of(export_of([{"conversation": "C", "arm": "a", "score": 3}])) == []
