from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest

from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.measures.proportions import wilson
from studies.analysis.tables.blinding import METHODS, TABLE, blinding
from tests.studies.analysis.benchmark import write_table
from tests.studies.analysis.builders import frame_of
from tests.studies.analysis.measures.test_blinding import CRISP

ExportOf = Callable[[Any], Path]
Said = tuple[str, str, str, float | None]  # participant, arm that was met, guess, how sure


def asked(export_of: ExportOf, said: Sequence[Said], **of_conversations: Any) -> Path:
    """An export in which these answered the blinding question of one conversation each entry."""
    about = [
        {"conversation": f"C{number}", "participant": person, "arm": arm}
        for number, (person, arm, *_) in enumerate(said)
    ]
    folder = export_of([row | {"rater": row["participant"], "score": 3} for row in about])
    write_table(folder, "conversations", [row | {"seeker_kind": "person"} | of_conversations for row in about])
    answers = []
    for number, (person, _arm, guess, sure) in enumerate(said):
        answer = {"participant": person, "conversation": f"C{number}", "instrument": "blinding"}
        answers.append(answer | {"item": "guess", "value": "", "text": guess})
        if sure is not None:
            answers.append(answer | {"item": "sure", "value": sure, "text": ""})
    answers.append({"participant": "P0", "conversation": "", "instrument": "blinding", "item": "why", "text": "tone"})
    write_table(folder, "answers", answers)
    return folder


def table_of(folder: Path) -> pd.DataFrame:
    rows = [row for _, found in blinding(load(folder), Bootstrap(200, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns())


def one(table: pd.DataFrame, arm: str, statistic: str) -> pd.Series:
    [row] = table[(table["arm"] == arm) & (table["statistic"] == statistic)].to_dict("records")
    return pd.Series(row)


def crisp() -> list[Said]:
    names = ("drug", "placebo", "cannot_tell")
    cells = [(arm, guess) for (arm, guess), count in np.ndenumerate(CRISP) for _ in range(int(count))]
    return [(f"P{number}", names[arm], names[guess], None) for number, (arm, guess) in enumerate(cells)]


def test_blinding_of_crisp_is_the_printed_one(export_of: ExportOf) -> None:
    table = table_of(asked(export_of, crisp()))
    assert [round(one(table, arm, "bang")["estimate"], 2) for arm in ("drug", "placebo")] == [0.21, 0.01]
    james = one(table, "*", "james")
    assert round(james["estimate"], 2) == 0.75
    assert 0.70 < james["low"] < james["estimate"] < james["high"] < 0.80
    assert (one(table, "drug", "bang")["n"], james["n"], james["clusters"]) == (277, 416, 416)
    assert one(table, "*", "cannot_tell")["estimate"] == pytest.approx(253 / 416)


def test_blinding_tells_how_often_guesses_are_right_beyond_chance(export_of: ExportOf) -> None:
    said = [("P0", "a", "a", 5), ("P1", "b", "b", 4), ("P2", "c", "a", 1), ("P3", "a", "b", 2)]
    table = table_of(asked(export_of, [*said, ("P4", "c", "cannot_tell", None)]))
    plain, corrected = one(table, "*", "accuracy"), one(table, "*", "accuracy_corrected")
    assert (plain["estimate"], plain["n"], plain["clusters"]) == (0.5, 4, 4)
    assert (plain["low"], plain["high"]) == wilson(0.5, 4)
    assert corrected["estimate"] == pytest.approx((0.5 - 1 / 3) / (2 / 3))
    assert corrected["high"] == pytest.approx((wilson(0.5, 4)[1] - 1 / 3) / (2 / 3))
    assert corrected["method"] == "Wilson, n = clusters; 3 arms"
    assert one(table, "a", "one_vs_rest")["estimate"] == pytest.approx(1 / 2 - 1 / 3)
    # A wrong guess weighs a half among three arms.
    assert one(table, "a", "bang")["estimate"] == pytest.approx(1 / 2 - 1 / 2 / 2)
    assert "3 arms: a wrong guess weighs 1/2" in one(table, "a", "bang")["note"]
    assert one(table, "*", "certainty")["estimate"] == 3
    assert one(table, "c", "certainty")["n"] == 1


def test_blinding_counts_an_arm_that_was_only_named(export_of: ExportOf) -> None:
    table = table_of(asked(export_of, [("P0", "a", "z", 1), ("P1", "b", "b", 1)]))
    assert set(table["arm"]) == {"a", "b", "*"}
    assert one(table, "*", "accuracy_corrected")["method"].endswith("3 arms")


def test_blinding_names_arms_that_nobody_met(export_of: ExportOf) -> None:
    said = [("P0", "a", "A", 1), ("P1", "b", "b", 1), ("P2", "a", "zebra", 1)]
    table = table_of(asked(export_of, said))
    told = table[table["note"].str.endswith("named but met by no one: A, zebra")]
    assert set(told["statistic"]) == {"bang", "james", "accuracy", "accuracy_corrected"}
    plain = table_of(asked(export_of, [(person, met, met, sure) for person, met, _guess, sure in said]))
    assert not plain["note"].str.contains("met by no one").any()


def test_blinding_takes_people_for_clusters(export_of: ExportOf) -> None:
    said = [
        (f"P{person}", arm, guess, 3) for person in range(6) for arm, guess in (("a", "a"), ("b", "ab"[person % 2]))
    ]
    table = table_of(asked(export_of, said))
    assert one(table, "*", "james")[["n", "clusters"]].tolist() == [12, 6]
    assert "only 6 clusters" in one(table, "*", "james")["note"]
    # Three had both right, three one of two: a variance of 1/80, so 3/16 × 80 = 15 answers, by t with 5 degrees less.
    answers = 15 * (1.959964 / 2.570582) ** 2
    accuracy = one(table, "*", "accuracy")
    assert (accuracy["low"], accuracy["high"]) == pytest.approx(wilson(0.75, answers))
    assert accuracy["method"] == "Wilson, effective n"


def test_blinding_where_all_are_alike_has_no_interval(export_of: ExportOf) -> None:
    table = table_of(asked(export_of, [(f"P{n}", "ab"[n % 2], "ab"[n % 2], 5) for n in range(6)]))
    for arm, statistic, reason in (
        ("a", "one_vs_rest", "one of the two shares is 0 or 1, and so in every resample"),
        ("*", "james", "all resamples are alike"),
        ("*", "certainty", "the answers do not vary"),
    ):
        row = one(table, arm, statistic)
        assert np.isnan(row["low"])
        assert reason in row["note"]
    assert one(table, "*", "james")["estimate"] == 0
    bang = one(table, "a", "bang")
    assert (bang["estimate"], bang["high"], bang["method"]) == (1, 1, "score, n = clusters")
    assert -1 < bang["low"] < 1
    assert "only 3 clusters" in bang["note"]


def test_blinding_has_no_interval_where_an_arm_was_never_named_right(export_of: ExportOf) -> None:
    """No resample would have such a guess, so that 0 would lie outside far too often."""
    said = [(f"P{n}", "ab"[n % 2], ["b", "cannot_tell", "b", "a"][n % 4], None) for n in range(24)]
    row = one(table_of(asked(export_of, said)), "a", "one_vs_rest")
    assert row["estimate"] == pytest.approx(0 - 0.5)
    assert np.isnan(row["low"])
    assert row["note"] == "low, high: one of the two shares is 0 or 1, and so in every resample"


def test_blinding_tells_what_chance_gives(export_of: ExportOf) -> None:
    said = [("P0", "a", "a", 5), ("P1", "b", "b", 4), ("P2", "c", "a", 1), ("P3", "a", "cannot_tell", 2)]
    table = table_of(asked(export_of, said))
    assert one(table, "*", "james")["by_chance"] == pytest.approx((1 + 1 / 4) / 2)
    assert one(table, "*", "accuracy")["by_chance"] == pytest.approx(1 / 3)
    found = [one(table, "a", name)["by_chance"] for name in ("bang", "one_vs_rest")]
    assert [*found, one(table, "*", "accuracy_corrected")["by_chance"]] == [0, 0, 0]
    assert np.isnan(one(table, "*", "cannot_tell")["by_chance"])


def test_blinding_takes_several_answers_of_a_person_for_one(export_of: ExportOf) -> None:
    said = [(f"P{n}", "ab"[n % 2], "ab"[n % 3 % 2], None) for n in range(12)]
    single, doubled = (table_of(asked(export_of, answers)) for answers in (said, [*said, *said]))
    bounds = ["estimate", "low", "high", "clusters"]
    assert one(doubled, "a", "bang")[bounds].tolist() == pytest.approx(one(single, "a", "bang")[bounds].tolist())
    assert one(doubled, "a", "bang")["n"] == 12


def test_blinding_where_nobody_can_tell(export_of: ExportOf) -> None:
    table = table_of(asked(export_of, [(f"P{n}", "ab"[n % 2], "cannot_tell", None) for n in range(4)]))
    assert one(table, "*", "james")["estimate"] == 1
    assert "no one named an arm" in one(table, "*", "accuracy")["note"]
    assert "no one said how sure they were" in one(table, "a", "certainty")["note"]


def test_blinding_leaves_out_what_is_left_out(export_of: ExportOf) -> None:
    said = [("P0", "a", "a", 5), ("P1", "b", "a", 5), ("P2", "b", "b", 5)]
    folder = asked(export_of, said)
    write_table(folder, "participants", [{"participant": "P1", "excluded": "true"}])
    assert one(table_of(folder), "*", "accuracy")["n"] == 2


@pytest.mark.parametrize("file", ["answers.csv", None])
def test_blinding_without_answers_has_no_rows(export_of: ExportOf, file: str | None) -> None:
    folder = asked(export_of, [("P0", "a", "", None)])
    if file:
        (folder / file).unlink()
    assert table_of(folder).empty


def test_blinding_ignores_names_and_order(export_of: ExportOf) -> None:
    said = [(f"P{n}", "abc"[n % 3], ["a", "b", "cannot_tell"][n % 7 % 3], n % 5 + 1) for n in range(30)]
    renamed = [
        (person, {"a": "y", "b": "x", "c": "w"}[arm], {"a": "y", "b": "x"}.get(guess, guess), sure)
        for person, arm, guess, sure in reversed(said)
    ]
    first, again = table_of(asked(export_of, said)), table_of(asked(export_of, renamed))
    for statistic in ("bang", "one_vs_rest", "cannot_tell", "certainty"):
        assert one(first, "a", statistic)["estimate"] == pytest.approx(one(again, "y", statistic)["estimate"])
    assert one(first, "*", "james")["estimate"] == pytest.approx(one(again, "*", "james")["estimate"])


def test_methods_name_every_statistic(export_of: ExportOf) -> None:
    assert set(table_of(asked(export_of, [("P0", "a", "a", 5), ("P1", "b", "a", 5)]))["statistic"]) == set(METHODS)
