"""What the report shows of the arms, and of the people who met them."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: TID253
import pytest

from studies.analysis import compute, load, run
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.language import speaking
from studies.analysis.notes import Note, Notes
from studies.analysis.pooling import PARTS, POOLED
from studies.analysis.reporting.drawing import TOGETHER, Figure, style
from studies.analysis.reporting.exhibits.arm_means import arm_means
from studies.analysis.reporting.parts import Excerpt, Folded, Part, Section
from studies.analysis.reporting.sections.arms import arms, primary
from studies.analysis.reporting.sections.coverage import sensitivity
from studies.analysis.reporting.sections.people import people
from studies.analysis.results import Results
from studies.analysis.tables.arms import of_items
from studies.analysis.tables.person_answers import FOLLOWS, SMALL
from studies.analysis.tables.registry import TABLES
from tests.languages import CHINESE
from tests.studies.analysis.builders import experts, six_people, write_export

RNG = 3


def results_of(folder: Path, **tables: Iterable[Mapping[str, Any]]) -> Results:
    found = {table.name: pd.DataFrame(tables.get(table.name, []), columns=table.all_columns()) for table in TABLES}
    return Results(load(folder), Bootstrap(200, 1), found, TABLES)


def computed(folder: Path, *names: str) -> Results:
    export = load(folder)
    return Results(export, Bootstrap(200, 1), compute(export, tables=names, bootstrap=200), TABLES)


def parts_of(section: Section | None, kind: type) -> list[Any]:
    assert section is not None
    return [part for part in section.parts if isinstance(part, kind)]


def board_in_main_part(results: Results) -> Excerpt:
    with style():
        exhibit = arm_means(results)
    assert exhibit is not None
    (board,) = exhibit.beside
    return board


def boards_in_supplement(results: Results) -> list[Excerpt]:
    with style():
        return [part for part in parts_of(arms(results), Excerpt) if part.name.startswith("means-")]


def text_of(parts: Iterable[Part]) -> str:
    return "".join(part for part in parts if isinstance(part, str))


# Of counsellors' own conversations


@pytest.mark.parametrize(("counsellors", "by_model"), [(8, True), (32, False)])
def test_arms_of_few_counsellors_are_the_mixed_models(tmp_path: Path, counsellors: int, by_model: bool) -> None:
    ratings, *_truth = experts(counsellors=counsellors, arms=4, each=6, seed=RNG)
    results = computed(write_export(tmp_path / "export", ratings), "arms", "rater_effects")
    plain, effects = results.table("arms"), results.table("rater_effects")
    shown, said = primary(plain, results)
    bounds = ["mean", "low", "high"]
    if by_model:
        expected = effects[effects["term"] == "arm"].set_index("level")[["estimate", "low", "high"]]
        assert shown.set_index("arm")[bounds].to_numpy() == pytest.approx(expected.loc[shown["arm"]].to_numpy())
        assert "from the mixed model of rater_effects.csv" in said
        assert "could not be fitted" not in said
    else:
        pd.testing.assert_frame_equal(shown, plain)
        assert said == "Lines are cluster bootstrap intervals."
    with style():
        captions = [figure.caption for figure in parts_of(arms(results), Figure)]
    assert any("mixed model" in caption for caption in captions) == by_model


def test_an_item_without_a_model_is_shown_as_in_the_table(tmp_path: Path) -> None:
    ratings, *_truth = experts(counsellors=6, arms=3, each=4, seed=RNG)
    ratings += [row | {"item": "same", "score": 4} for row in ratings]
    results = computed(write_export(tmp_path / "export", ratings), "arms", "rater_effects")
    plain = of_items(results.table("arms"))
    shown, said = primary(plain, results)
    same = shown["item"] == "same"
    pd.testing.assert_frame_equal(shown[same], plain[same])
    assert (shown.loc[~same, "low"] != plain.loc[~same, "low"]).all()
    assert said.endswith("Where the model could not be fitted, they come from arms.csv.")


def test_arms_that_counsellors_rated_as_others_too_are_shown_as_in_the_table(tmp_path: Path) -> None:
    ratings, *_truth = experts(counsellors=6, arms=3, each=4, seed=RNG)
    ratings.append(ratings[0] | {"rater": "E05", "score": 1})
    results = computed(write_export(tmp_path / "export", ratings), "arms", "rater_effects")
    assert primary(results.table("arms"), results)[1] == "Lines are cluster bootstrap intervals."


# Differences


def pair(item: str, low: float, p_holm: float) -> dict[str, Any]:
    of = {"raters": "seeker", "instrument": "ten", "moment": "final", "seekers": "", "condition": "", "clusters": 6}
    found = {"difference": low + 0.5, "low": low, "high": low + 1, "p_holm": p_holm}
    return of | found | {"item": item, "arm_a": "a", "arm_b": "b"}


def test_differences_are_counted_by_item_and_the_mean_of_the_items_is_none(tmp_path: Path) -> None:
    folder = write_export(tmp_path / "export", six_people())
    mean = {"arm": "a", "raters": "seeker", "item": "care", "instrument": "ten", "moment": "final", "mean": 3, "n": 6}
    mean |= dict.fromkeys(PARTS, POOLED)
    tested = [pair("*", 0.1, 0.001), pair("care", 0.1, 0.04), pair("safety", -0.2, 0.4)]
    with style():
        section = arms(results_of(folder, arms=[mean], arm_pairs=tested))
        figures = parts_of(section, Figure)
    assert section is not None
    text = text_of(section.parts)
    assert "a p below .05 after Holm&#x27;s correction within their item: 1 of 2 tested." in text
    assert "those of &quot;All items&quot; are not counted here." in text
    assert "about one in twenty of these 3 would miss the line" in figures[-1].caption


def test_arms_that_no_one_met_both_have_a_sentence_instead_of_an_empty_figure(tmp_path: Path) -> None:
    ratings = [row | {"participant": f"{row['participant']}{row['arm']}"} for row in six_people()]
    export = load(write_export(tmp_path / "export", ratings))
    results = run.compute(export, Bootstrap(20, 1), lambda *_: None, ["arms", "arm_pairs", "discrimination"])
    with style():
        section = arms(results)
        names = [figure.name for figure in parts_of(section, Figure)]
    assert section is not None
    assert [name for name in names if name.startswith("arm-pairs")] == []
    text = text_of(section.parts)
    assert "No difference between two arms could be computed: no one met both arms (3)." in text
    assert "How well do the ratings tell the arms apart?" not in text


# Who took part, and with and without


def person(item: str, level: str, count: float, *notes: Note, **more: Any) -> dict[str, Any]:
    of = {"track": "participant", "instrument": "profile", "item": item, "level": level, "n": 12}
    numbers = {"count": count, "share": count / 12, "mean": float("nan"), "sd": float("nan")}
    return of | numbers | {"note": Notes(*notes)} | more


def test_people_are_shown_by_track_and_small_numbers_are_not(tmp_path: Path) -> None:
    hidden = float("nan")
    few, told_by_others = (note.on("count", "share") for note in (SMALL, FOLLOWS))
    rows = [
        person("age", "", hidden, instrument="screening", mean=25.5, sd=3.6),
        person("gender", "woman", 7),
        person("gender", "man", hidden, few),
        person("gender", "woman", 5, track="reviewer"),
        person("gender", "non_binary", hidden, told_by_others),
        person("language", "zh", 12, instrument=""),
        person("E", "", hidden, instrument="mini_ipip", mean=3.1, sd=0.7),
    ]
    results = results_of(write_export(tmp_path / "export", six_people()), people=rows)
    [first, *_others] = parts_of(people(results), Excerpt)
    assert first.frame.columns.tolist() == ["characteristic", "participants", "reviewers"]
    assert first.frame.to_numpy().tolist() == [
        ["Age in years", "25.50 (3.60)", "–"],
        ["Gender: Man", "<5", "–"],
        ["Gender: Non-binary", "hidden", "–"],
        ["Gender: Woman", "7 (58 %)", "5 (42 %)"],
        ["Language: Chinese", "12 (100 %)", "–"],
        ["Extraversion", "3.10 (0.70)", "–"],
    ]
    section = people(results)
    assert "Scales are those of Mini-IPIP (20-item Big Five)." in text_of(section.parts)
    with speaking(CHINESE):
        [first, *_others] = parts_of(people(results), Excerpt)
    assert "性别: 男" in first.frame.iloc[:, 0].tolist()


def estimate(statistic: str, sample: str, value: float, arm: str = "a") -> dict[str, Any]:
    of = dict.fromkeys(("judge", "strategy", "human", "raters", "arm_b", "seekers", "condition"), "")
    of |= {"instrument": "ten", "moment": "final", "item": "care", "arm_a": arm}
    return of | {"statistic": statistic, "variant": sample, "estimate": value}


def test_with_and_without_tells_how_far_estimates_move_and_turn(tmp_path: Path) -> None:
    rows = [
        estimate(statistic, sample, value, arm)
        for statistic, arm, values in (("mean", "a", (3, 3.5)), ("mean", "b", (2, 2.1)), ("difference", "a", (1, -0.4)))
        for sample, value in zip(("all", "without_incidents"), values, strict=True)
    ]
    results = results_of(write_export(tmp_path / "export", six_people()), sensitivity=rows)
    [moved] = parts_of(sensitivity(results), Excerpt)
    assert moved.frame.to_numpy().tolist() == [
        ["excluding incidents", "differences between two arms", 1, "1.40", "1.40", 1, 0],
        ["excluding incidents", "means of the arms", 2, "0.30", "0.50", "", 0],
    ]
    alone = results_of(tmp_path / "export", sensitivity=rows[::2])
    section = sensitivity(alone)
    assert section is not None
    assert "so all versions give the same results" in text_of(section.parts)


def test_a_sample_that_leaves_nothing_is_no_sample_that_changes_nothing(tmp_path: Path) -> None:
    nothing = estimate("mean", "without_flagged", float("nan")) | {
        "note": Notes(Note("sample_too_small").on("estimate"))
    }
    results = results_of(
        write_export(tmp_path / "export", six_people()), sensitivity=[estimate("mean", "all", 3), nothing]
    )
    section = sensitivity(results)
    assert section is not None
    assert "are one" not in text_of(section.parts)
    [moved] = parts_of(section, Excerpt)
    assert moved.frame.to_numpy().tolist() == [["excluding what is flagged", "means of the arms", 0, "–", "–", "", 1]]


def test_best_and_second_of_each_item_are_marked_and_combinations_stand_apart(tmp_path: Path) -> None:
    scores = {"a": 4, "b": 3, "c": 2}
    ratings = [
        {
            "conversation": f"{arm}{number}",
            "participant": f"P{number}",
            "arm": arm,
            "rater": judge,
            "rater_kind": "judge",
            "strategy": "standard",
            "item": item,
            "score": score + (judge == "J2") - (item == "clear"),
        }
        for arm, score in scores.items()
        for number in range(4)
        for judge in ("J1", "J2")
        for item in ("care", "clear")
    ]
    results = computed(write_export(tmp_path / "export", ratings), "arms")
    with style():
        section = arms(results)
    tables = {part.name: part for folded in parts_of(section, Folded) for part in folded.parts}
    main = board_in_main_part(results)
    board = main.frame.set_index("arm")
    assert "n: the conversations behind a mean, each counted once for every moment" in main.remark
    assert [*board] == ["All items", "care", "clear", "n"]
    assert boards_in_supplement(results) == []
    assert board.loc["a", "care"] == "<strong>4.50</strong>"
    assert board.loc["b", "All items"] == "<u>3.00</u>"
    assert board.loc["c", "All items"] == "2.00"
    singles = tables["leaderboard-judge:standard-ten"].frame
    assert [*singles.columns[:2]] == ["judge", "arm"]
    assert singles["judge"].tolist() == ["J1"] * 3 + ["J2"] * 3
    assert singles.loc[singles["judge"] == "J2", "care"].tolist() == ["<strong>5.00</strong>", "<u>4.00</u>", "3.00"]


def test_means_of_many_arms_are_drawn_by_item_in_the_supplement_alone(tmp_path: Path) -> None:
    ratings = [
        {
            "conversation": f"{arm}{number}",
            "participant": f"P{number}",
            "arm": arm,
            "item": item,
            "score": 1 + place / 2,
        }
        for place, arm in enumerate(f"arm{number}" for number in range(TOGETHER + 1))
        for number in range(3)
        for item in ("care", "clear")
    ]
    results = computed(write_export(tmp_path / "export", ratings), "arms")
    assert len(board_in_main_part(results).frame) == TOGETHER + 1
    assert boards_in_supplement(results) == []
    with style():
        assert [part.name for part in parts_of(arms(results), Figure)] == ["arms-seeker-ten-final"]


@pytest.mark.parametrize("arms_in_manifest", ["x", ["x"], [{}], [{"arm": "a", "title": "A"}, {"arm": "a"}], {"arm": 1}])
def test_arms_that_the_manifest_describes_oddly_are_shown_by_their_keys(tmp_path: Path, arms_in_manifest: Any) -> None:
    ratings = [
        {"conversation": f"{arm}{number}", "participant": f"P{number}", "arm": arm, "item": "care", "score": 3}
        for arm in "ab"
        for number in range(3)
    ]
    export = write_export(tmp_path / "export", ratings)
    (export / "manifest.json").write_text(json.dumps({"arms": arms_in_manifest}), encoding="utf-8")
    results = computed(export, "arms")
    for board in (board_in_main_part(results), *boards_in_supplement(results)):
        assert board.frame["arm"].tolist() == ["a", "b"]


def test_arms_stand_with_their_models_by_group_and_reasoning_ones_are_marked(tmp_path: Path) -> None:
    """As in the leaderboards of both papers."""
    ratings = [
        {"conversation": f"{arm}{number}", "participant": f"P{number}", "arm": arm, "item": "care", "score": score}
        for arm, score in {"a": 4, "b": 3, "c": 2, "z": 1}.items()
        for number in range(4)
    ]
    export = write_export(tmp_path / "export", ratings)
    described = [
        {"arm": "b", "title": {"en": "Model B"}, "model": "b-1", "group": "open", "reasoning": True},
        {"arm": "a", "title": {"en": "a"}, "model": "a-1", "group": "ours", "reasoning": False},
        {"arm": "c", "title": {"en": "Model C", "zh": "模型丙"}, "model": "c-1", "group": "open", "reasoning": False},
    ]
    (export / "manifest.json").write_text(json.dumps({"arms": described}), encoding="utf-8")
    results = computed(export, "arms")
    assert board_in_main_part(results).frame["arm"].tolist() == ["a", "b", "c", "z"]  # by their means
    (board,) = boards_in_supplement(results)
    told = board.frame[["group", "arm", "model"]].to_numpy().tolist()
    assert told == [
        ["open weights", "b", "Model B †"],
        ["open weights", "c", "Model C"],
        ["ours", "a", "a-1"],
        ["", "z", ""],
    ]
    assert "†: a model that reasons" in board.remark
    with speaking("zh"):
        (board,) = boards_in_supplement(results)
    assert board.frame["model"].tolist() == ["Model B †", "模型丙", "a-1", ""]
