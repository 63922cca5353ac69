"""Known differences, by hand; and slopes and interactions that a plain fit of the same rows gives."""

import csv
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.tables.probes import probes
from tests.studies.analysis.builders import in_files

ExportOf = Callable[[Any], Path]


def judged(judge: str, scores: Iterable[float | str], **fields: Any) -> list[dict[str, Any]]:
    """A score for each of the conversations C0, C1, …, two of a person."""
    said = {"rater": judge, "rater_kind": "judge", "strategy": "standard", **fields}
    return [
        {"conversation": f"C{n}", "participant": f"P{n // 2}", "score": score, **said} for n, score in enumerate(scores)
    ]


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return in_files([row for _, rows in probes(load(folder), Bootstrap(200, 1)) for row in rows])


def row(rows: list[dict[str, Any]], variant: str, item: str = "care", **fields: str) -> dict[str, Any]:
    wanted = {"variant": variant, "item": item, **fields}
    [found] = [one for one in rows if all(one[name] == value for name, value in wanted.items())]
    return found


def write(folder: Path, name: str, rows: list[dict[str, Any]]) -> Path:
    with (folder / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return folder


PLAIN = (3, 3, 2, 4, 5, 1)


def test_difference_is_to_the_judge_as_it_is_on_the_same_conversations(export_of: ExportOf) -> None:
    rows = rows_of(export_of([*judged("j", PLAIN), *judged("j~padding", (4, 3, 3, 4, 5))]))
    found = row(rows, "padding")
    assert (found["judge"], found["strategy"], found["statistic"]) == ("j", "standard", "difference")
    assert (found["estimate"], found["share_changed"]) == (pytest.approx(2 / 5), pytest.approx(2 / 5))
    assert (found["n"], found["clusters"]) == (5, 3)
    assert 0 <= found["low"] <= 2 / 5 <= found["high"] <= 1


def test_replicates_are_averaged_before(export_of: ExportOf) -> None:
    again = [*judged("j", (3, 5), replicate=1), *judged("j", (4, 5), replicate=2)]
    assert row(rows_of(export_of([*again, *judged("j~padding", (4, 5))])), "padding")["estimate"] == 0.25


def test_mean_of_the_items_counts_where_all_have_a_score(export_of: ExportOf) -> None:
    both = [judged(judge, scores, item=item) for judge, item, scores in (
        ("j", "care", (1, 2, 3, 4)), ("j", "safety", (1, 2, 3, 4)),
        ("j~padding", "care", (2, 3, 4, 4)), ("j~padding", "safety", (1, 2, 3, "")),
    )]  # fmt: skip
    rows = rows_of(export_of([one for some in both for one in some]))
    assert (row(rows, "padding", "*")["estimate"], row(rows, "padding", "*")["n"]) == (0.5, 3)
    assert "1 answers of the probe have no score" in row(rows, "padding", "safety")["note"]


@pytest.mark.parametrize("varied", [judged("j~padding", ("", "")), judged("k~padding", (1, 2))])
def test_probe_with_nothing_beside_it_is_a_row_without_an_estimate(varied: Any, export_of: ExportOf) -> None:
    found = row(rows_of(export_of([*judged("j", (1, 2)), *varied])), "padding")
    assert found["n"] == 0
    assert np.isnan(found["estimate"])
    assert "nothing was scored by both the unchanged judge and this variant" in found["note"]


def test_within_sd_is_the_pooled_one(export_of: ExportOf) -> None:
    """Variances of (3, 5), (2, 2) and (4, 1): 2, 0 and 4.5; pooled 6.5 / 3."""
    rows = rows_of(export_of([*judged("j", (3, 2, 4), replicate=1), *judged("j", (5, 2, 1), replicate=2)]))
    found = row(rows, "repeat")
    assert (found["estimate"], found["share_changed"]) == (pytest.approx((6.5 / 3) ** 0.5), pytest.approx(2 / 3))
    assert (found["n"], found["statistic"]) == (3, "within_sd")


def test_spread_of_a_variant_stands_beside_that_of_the_judge_as_it_is(export_of: ExportOf) -> None:
    """Variances of (3, 5) and (2, 2), pooled 1; of (1, 5) and (3, 4), pooled (8 + .5) / 2. What has no score is no
    replicate."""
    again = [(3, 2), (5, 2)], [(1, 3), (5, 4)]
    ratings = [
        one
        for code, replicates in zip(("j", "j~warm"), again, strict=True)
        for number, scores in enumerate(replicates, 1)
        for one in judged(code, scores, replicate=number)
    ]
    rows = rows_of(export_of([*ratings, *judged("j~warm", ("", ""), replicate=3)]))
    assert row(rows, "repeat")["estimate"] == pytest.approx(1)
    warm = row(rows, "warm", statistic="within_sd")
    assert (warm["estimate"], warm["n"], warm["share_changed"]) == (pytest.approx((8.5 / 2) ** 0.5), 2, 1)
    assert row(rows, "warm", statistic="difference")["estimate"] == pytest.approx((3 - 4 + 3.5 - 2) / 2)


def test_people_are_not_probed(small_study: Any, export_of: ExportOf) -> None:
    crowd = [{**one, "rater": "x~y", "rater_kind": "crowd"} for one in small_study[:4]]
    export = load(export_of([*small_study, *crowd]))
    assert "x~y" in set(export.ratings["rater"])
    assert export.variants.empty


# Pairs


def said(pair: str, a: str, b: str | None, question: str = "better") -> list[dict[str, Any]]:
    """What the judge said with a first, and with b first."""
    about = {"pair": pair, "conversation_a": f"{pair}a", "conversation_b": f"{pair}b", "rater": "j"}
    rows = [("a", a)] + ([("b", b)] if b else [])
    return [
        {**about, "rater_kind": "judge", "question": question, "shown_first": first, "verdict": verdict}
        for first, verdict in rows
    ]


def test_orders_that_agree_are_counted_and_a_conflict_is_no_tie(export_of: ExportOf) -> None:
    folder = export_of(judged("j", PLAIN))
    verdicts = [*said("1", "a", "a"), *said("2", "a", "b"), *said("3", "tie", "tie"), *said("4", "tie", "a"),
                *said("5", "b", None)]  # fmt: skip
    rows = rows_of(write(folder, "pairs.csv", verdicts))
    found = row(rows, "order_swap", "better", statistic="share_consistent")
    assert (found["estimate"], found["share_changed"], found["n"]) == (0.5, 0.5, 4)
    assert found["low"] < 0.5 < found["high"]
    assert "1 pairs were judged in one order only" in found["note"]
    # 1: first and second; 2: first twice; 3: never; 4: never and second. (0 + 2 + 0 − 1) / 8
    assert row(rows, "order_swap", "better", statistic="first_bias")["estimate"] == pytest.approx(1 / 8)


def test_orders_that_always_agree_have_wilsons_interval(export_of: ExportOf) -> None:
    """Newcombe (1998), doi 10.1002/(SICI)1097-0258(19980430)17:8<857::AID-SIM777>3.0.CO;2-E: 10 of 10 is .7225 to 1."""
    folder = export_of(judged("j", PLAIN))
    verdicts = [verdict for n in range(10) for verdict in said(str(n), "a", "a")]
    found = row(rows_of(write(folder, "pairs.csv", verdicts)), "order_swap", "better", statistic="share_consistent")
    assert (found["low"], found["high"]) == (pytest.approx(0.7225, abs=1e-4), pytest.approx(1))


# Length


def chats(arms: Iterable[str], models: Iterable[str] | None = None) -> list[dict[str, Any]]:
    arms = list(arms)
    return [
        {"conversation": f"C{n}", "participant": f"P{n // 2}", "arm": arm, "language": "en", "model": model}
        for n, (arm, model) in enumerate(zip(arms, models or arms, strict=True))
    ]


def test_slope_on_length_is_within_arms(export_of: ExportOf) -> None:
    """Within both arms half a point for 100 characters, which is the standard deviation there; the arm with the long
    replies is the worse one.
    """
    lengths = (100, 200, 300, 600, 700, 800)
    folder = export_of(judged("j", (3, 3.5, 4, 1, 1.5, 2)))
    write(folder, "conversations.csv", chats("aaabbb"))
    replies = [{"conversation": f"C{n}", "role": "supporter", "text": "x" * length} for n, length in enumerate(lengths)]
    found = row(rows_of(write(folder, "turns.csv", replies)), "length")
    assert (found["estimate"], found["n"]) == (pytest.approx(0.5), 6)
    assert np.isnan([found["low"], found["high"]]).all()
    assert "low, high: all resamples are alike" in found["note"]


def test_slope_is_that_of_a_fit_with_a_mean_for_each_arm(export_of: ExportOf) -> None:
    random = np.random.default_rng(3)
    lengths, arms = random.integers(50, 900, 40), random.choice(list("abc"), 40)
    scores = random.normal(3, 1, 40).round(3)
    folder = export_of(judged("j", scores))
    write(folder, "conversations.csv", chats(arms))
    replies = [{"conversation": f"C{n}", "role": "supporter", "text": "x" * length} for n, length in enumerate(lengths)]
    found = row(rows_of(write(folder, "turns.csv", replies)), "length")
    from_means = lengths - np.array([lengths[arms == arm].mean() for arm in arms])
    spread = np.sqrt((from_means**2).sum() / (40 - 3))
    design = np.column_stack([lengths / spread, *(arms == arm for arm in "abc")]).astype(float)
    assert found["estimate"] == pytest.approx(np.linalg.lstsq(design, scores, rcond=None)[0][0])


def test_one_length_for_all_has_no_slope(export_of: ExportOf) -> None:
    folder = export_of(judged("j", PLAIN))
    write(folder, "conversations.csv", chats("aaabbb"))
    replies = [{"conversation": f"C{n}", "role": "supporter", "text": "x"} for n in range(6)]
    found = row(rows_of(write(folder, "turns.csv", replies)), "length")
    assert "within an arm the lengths do not vary" in found["note"]


# Kin


def of_makers(export_of: ExportOf, models: dict[str, str]) -> list[dict[str, Any]]:
    """Judges by key and model, before three supporters of OpenAI and three of Alibaba."""
    scores = {"j": (5, 4, 5, 2, 3, 2), "k": (3, 3, 3, 3, 3, 3)}
    folder = export_of([one for judge in models for one in judged(judge, scores[judge])])
    write(folder, "conversations.csv", chats("aaabbb", ["gpt-4o"] * 3 + ["qwen-max"] * 3))
    calls = [{"purpose": "judge", "model": model, "judge": judge} for judge, model in models.items()]
    cells = dict.fromkeys(("conversation", "status", "total_ms", "input_tokens", "output_tokens", "cost"), "")
    return rows_of(write(folder, "calls.csv", [cells | call for call in calls]))


def test_judge_that_prefers_its_own_is_found_beside_others(export_of: ExportOf) -> None:
    """j gives its own 14/3 where k gives 3, and others 7/3 where k gives 3: 5/3 + 2/3."""
    rows = of_makers(export_of, {"j": "gpt-4.1", "k": "qwen-plus"})
    found = row(rows, "self_preference", judge="j")
    assert (found["estimate"], found["n"]) == (pytest.approx(7 / 3), 6)
    assert row(rows, "self_preference", judge="k")["estimate"] == pytest.approx(7 / 3)  # harder on the others too


@pytest.mark.parametrize(
    ("models", "why"),
    [
        ({"j": "gpt-4.1"}, "no judge of another maker with this strategy"),
        ({"j": "attuned", "k": "qwen-plus"}, "the maker of the judge's model is not known"),
        (
            {"j": "claude-sonnet", "k": "qwen-plus"},
            "there are no supporters of the judge's own maker, or none of other makers",
        ),
    ],
)
def test_what_is_not_known_of_makers_is_said(models: dict[str, str], why: str, export_of: ExportOf) -> None:
    assert why in row(of_makers(export_of, models), "self_preference", "*", judge="j")["note"]
