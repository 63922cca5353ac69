"""Scores over the turns: which figures there are, and what is in them."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from studies.analysis import load
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.reporting.drawing import Figure, style
from studies.analysis.reporting.parts import Excerpt, Folded, Section
from studies.analysis.reporting.sections.turns import over_turns
from studies.analysis.run import compute
from tests.studies.analysis.benchmark import write_table

ExportOf = Callable[[Any], Path]
TEN = ("problem_resolution", "mood_improvement", "engagement")  # of emoharbor_10


def judged(arms: Sequence[str], languages: Sequence[str], turns: Iterable[int], items: Sequence[str] = TEN) -> Any:
    """Two conversations of each arm and language that a judge scored at these turns, the second not at the last."""
    for arm in arms:
        for language in languages:
            for number in (1, 2):
                of = {"conversation": f"{arm}-{language}-{number}", "arm": arm, "rater": "J", "rater_kind": "judge"}
                for item in items:
                    scored = of | {"strategy": "standard", "instrument": "emoharbor_10", "item": item}
                    yield scored | {"score": 3}
                    for turn in list(turns)[: -1 if number == 2 else None]:
                        yield scored | {"moment": "checkpoint", "turn": turn, "score": 2 + turn % 3}


def section_of(folder: Path, languages: Sequence[str] = ()) -> Section | None:
    if languages:
        names = {row.split(",")[0] for row in (folder / "ratings.csv").read_text().splitlines()[1:]}
        write_table(folder, "conversations", [{"conversation": n, "language": n.split("-")[1]} for n in sorted(names)])
    with style():
        return over_turns(compute(load(folder), Bootstrap(20, 1), lambda *_: None, ["trends"]))


def figures_of(parts: Iterable[Any]) -> list[Figure]:
    return [part for part in parts if isinstance(part, Figure)]


def texts(figure: Figure) -> list[str]:
    root = ElementTree.fromstring(figure.svg)
    return ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.with_figures
def test_a_figure_has_a_panel_for_each_item_a_line_for_each_arm_and_the_numbers(export_of: ExportOf) -> None:
    section = section_of(export_of(judged(["amber", "birch"], ["en"], (5, 10, 15))))
    assert section is not None
    [drawn] = figures_of(section.parts)
    said = texts(drawn)
    assert {"Problem resolution", "Mood improvement", "Engagement", "amber", "birch", "turn"} <= set(said)
    assert [said.count(sign) for sign in "●□"] == [3, 3]  # a row of numbers for each arm below each panel
    counts = [3 * 2 * 2 + 1, 3 * 2]  # two conversations, one at the last turn; a 2 stands on the axis too
    assert [said.count(number) for number in "21"] == counts


def test_each_language_has_a_figure_where_there_are_two(export_of: ExportOf) -> None:
    section = section_of(export_of(judged(["amber", "birch"], ["en", "zh"], (5, 10, 15))), ["en", "zh"])
    assert section is not None
    titles = [drawn.title for drawn in figures_of(section.parts)]
    assert [title.partition("): ")[0].rpartition(", ")[2] for title in titles] == ["English", "Chinese"]
    [by_language, single] = [part for part in section.parts if isinstance(part, Folded)]
    [slopes] = [part for part in by_language.parts if isinstance(part, Excerpt)]
    assert slopes.frame["language"].unique().tolist() == ["English", "Chinese"]
    assert len(figures_of(single.parts)) == len(TEN)  # these pool the languages


def test_more_arms_than_can_be_told_apart_have_several_figures(export_of: ExportOf) -> None:
    section = section_of(export_of(judged([f"arm{n}" for n in range(8)], ["en"], (5, 10, 15))))
    assert section is not None
    assert len(figures_of(section.parts)) == 2


@pytest.mark.parametrize(("turns", "drawn"), [((5,), 0), ((5, 10), 0), ((5, 10, 15), 1)])
def test_one_or_two_turns_are_not_drawn(export_of: ExportOf, turns: tuple[int, ...], drawn: int) -> None:
    section = section_of(export_of(judged(["amber"], ["en"], turns)))
    assert section is not None
    assert len(figures_of(section.parts)) == drawn


def test_a_scale_of_one_item_keeps_its_figure_by_arm(export_of: ExportOf) -> None:
    section = section_of(export_of(judged(["amber"], ["en"], (5, 10, 15), TEN[:1])))
    assert section is not None
    [drawn] = figures_of(section.parts)
    assert drawn.title.startswith("Problem resolution over the turns")


def test_feelings_of_an_import_and_of_a_thinker_are_drawn_apart(export_of: ExportOf) -> None:
    folder = export_of([{"conversation": "C", "arm": "amber", "score": 3}])
    turns = [{"conversation": "C", "turn": turn, "role": "seeker", "text": "-", "emotion": 40} for turn in (1, 2, 3)]
    write_table(folder, "turns", turns)
    states = [{"conversation": "C", "turn": turn, "source": "J", "emotion_score": 1 + turn} for turn in (1, 2, 3)]
    write_table(folder, "states", states)
    section = section_of(folder)
    assert section is not None
    assert [drawn.title.partition(" over the turns")[0] for drawn in figures_of(section.parts)] == [
        "emotion as imported",
        "supposed emotion",
    ]
