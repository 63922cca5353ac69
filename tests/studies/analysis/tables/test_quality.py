"""Indices of careless answering, worked by hand; flags; and the agreement with and without."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pytest

from studies.analysis import analyse
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.frames import load
from studies.analysis.rows import Undefined
from studies.analysis.tables import quality
from studies.analysis.tables.quality import TABLE, even_odd, identical_rows, irv, longstring, reverse_items
from studies.analysis.tables.sensitivity import sensitivity, without_flagged
from studies.instruments.loading import load as instrument
from tests.studies.analysis.builders import frame_of, write_export

ExportOf = Callable[[Any], Path]
ITEMS = [item.key for item in instrument("emoharbor_10").items]
TEN = {"instrument": "emoharbor_10", "moment": "final"}


def final_rating(person: str, arm: str, scores: str, **also: Any) -> list[dict[str, Any]]:
    """`scores`: ten digits, in the order of the items."""
    about = {"conversation": f"{person}{arm}", "participant": person, "rater": person, "arm": arm, **TEN, **also}
    return [about | {"item": item, "score": int(score)} for item, score in zip(ITEMS, scores, strict=True)]


def careful_and_careless() -> list[dict[str, Any]]:
    """A thinks; B gives every item of three arms the same score; C's third rating repeats the first."""
    rows = [*final_rating("A", "x", "4325134251"), *final_rating("A", "y", "2415342513")]
    for arm, scores in (("x", "3" * 10), ("y", "3" * 10), ("z", "5" * 10)):
        rows += final_rating("B", arm, scores)
    for arm, scores in (("x", "1122334455"), ("y", "1222233344"), ("z", "1122334455")):
        rows += final_rating("C", arm, scores)
    return rows


def table_of(folder: Path) -> pd.DataFrame:
    rows = [row for _, found in quality.quality(load(folder), Bootstrap(5, 1)) for row in found]
    return frame_of(rows, TABLE.all_columns())


def value(table: pd.DataFrame, statistic: str, **of: str) -> Any:
    rows = table[table["statistic"] == statistic]
    for name, wanted in of.items():
        rows = rows[rows[name] == wanted]
    [found] = rows["estimate"]
    return found


def test_where_nobody_answered_all_items_the_indices_say_so(export_of: ExportOf) -> None:
    rows = final_rating("A", "x", "4325134251")[:9] + final_rating("A", "y", "2415342513")[1:]
    table = table_of(export_of(rows)).set_index("statistic")
    assert table.loc[["longstring", "irv"], "estimate"].isna().all()
    assert table.loc[["longstring", "irv"], "note"].str.startswith("estimate: no rating answered all items").all()


def flagged(table: pd.DataFrame) -> set[tuple[str, str, str]]:
    rows = quality.flagged_rows(table)
    return set(rows[["person", "conversation", "statistic"]].itertuples(index=False, name=None))


# The indices


@pytest.mark.parametrize(("scores", "longest"), [("3333333333", 10), ("1122334455", 2), ("1222233344", 4), ("12", 1)])
def test_longstring_is_the_longest_run(scores: str, longest: int) -> None:
    assert longstring(np.array(list(scores), dtype=float)) == longest


def test_irv_is_the_mean_standard_deviation_within_ratings() -> None:
    # By hand: 1, 3, 5 deviate by 2, 0, 2, so the root of 8 / 2; 3, 3, 3 not at all.
    assert irv(np.array([[1.0, 3, 5], [3, 3, 3]])) == 1.0
    with pytest.raises(Undefined, match="no rating answered all items"):
        irv(np.zeros((0, 3)))


def test_identical_rows_are_a_share_of_ratings() -> None:
    assert identical_rows(np.array([[1.0, 2], [1, 3], [1, 2], [4, 4]])) == 0.5
    with pytest.raises(Undefined, match="fewer than two ratings"):
        identical_rows(np.array([[1.0, 2]]))


def mini(**factors: str) -> dict[str, float]:
    """What someone answers who means these four digits, in key, of each factor of the Mini-IPIP."""
    scales = {scale.key: scale.items for scale in instrument("mini_ipip").scales}
    values = {}
    for factor, digits in factors.items():
        for key, digit in zip(scales[factor], digits, strict=True):
            values[key] = 6.0 - int(digit) if instrument("mini_ipip").item(key).reverse else float(digit)
    return values


def test_reverse_items_are_consistent_where_both_kinds_say_the_same() -> None:
    said = mini(E="2222", A="5555", C="3333", N="1111", O="4444")
    assert reverse_items(instrument("mini_ipip"), said) == 0
    # Five to every question, whichever way it is turned: 5 and, in key, 1.
    assert reverse_items(instrument("mini_ipip"), dict.fromkeys(said, 5.0)) == 4
    with pytest.raises(Undefined, match="not all items were answered"):
        reverse_items(instrument("mini_ipip"), mini(E="2222"))


def test_even_odd_is_stepped_up_by_spearman_brown() -> None:
    said = mini(E="1212", A="2424", C="3333", N="4543", O="5555")
    # By hand: odd means 1 2 3 4 5, even means 2 4 3 4 5.
    r = np.corrcoef([1, 2, 3, 4, 5], [2, 4, 3, 4, 5])[0, 1]
    assert even_odd(instrument("mini_ipip"), said) == pytest.approx(2 * r / (1 + r))
    with pytest.raises(Undefined, match="the means of the halves do not vary"):
        even_odd(instrument("mini_ipip"), mini(E="3333", A="3333", C="3333", N="3333", O="3333"))


# People


def test_quality_tells_careful_from_careless_people(export_of: ExportOf) -> None:
    table = table_of(export_of(careful_and_careless()))
    told = {
        person: [value(table, name, person=person) for name in ("longstring", "irv", "identical_rows")]
        for person in "ABC"
    }
    assert told["B"] == [10, 0, 2 / 3]
    assert [told[person][0] for person in "AC"] == [1, 4]
    assert told["C"][2] == 2 / 3
    assert told["A"][2] == 0
    assert told["A"][1] > told["C"][1] > 0
    assert flagged(table) == {("B", "", "straight_arms")}
    [note] = table.query("statistic == 'straight_arms' and person == 'B'")["note"]
    assert note.endswith("conversations: Bx, By, Bz")


def test_straight_arms_are_arms_and_final_ratings(export_of: ExportOf) -> None:
    rows = final_rating("B", "x", "3" * 10) + final_rating("B", "y", "3" * 10)
    rows += final_rating("B", "y", "3" * 10, conversation="again")
    for turn in (5, 10):
        rows += final_rating("B", "z", "3" * 10, moment="checkpoint", turn=turn)
    table = table_of(export_of(rows))
    assert value(table, "straight_arms") == 2
    assert flagged(table) == set()


def test_an_arm_is_straight_only_where_all_final_ratings_of_its_conversations_are(export_of: ExportOf) -> None:
    rows = [row for arm in "xyz" for row in final_rating("B", arm, "3" * 10)]
    assert flagged(table_of(export_of(rows))) == {("B", "", "straight_arms")}
    table = table_of(export_of(rows + final_rating("B", "z", "4325134251", conversation="another")))
    assert value(table, "straight_arms") == 2
    assert flagged(table) == set()
    [note] = table.query("statistic == 'straight_arms'")["note"]
    assert note.endswith("conversations: Bx, By")


def test_quality_does_not_depend_on_the_order_of_rows(export_of: ExportOf, tmp_path: Path) -> None:
    rows = careful_and_careless()
    np.random.default_rng(1).shuffle(rows)
    pd.testing.assert_frame_equal(
        table_of(export_of(rows)), table_of(write_export(tmp_path / "other", careful_and_careless()))
    )


def test_quality_is_of_people_alone_and_of_those_left_out_too(export_of: ExportOf) -> None:
    rows = careful_and_careless() + final_rating("A", "x", "3" * 10, rater="J", rater_kind="judge")
    folder = export_of(rows)
    (folder / "participants.csv").write_text("participant,excluded\nB,true\n")
    assert set(table_of(folder)["person"]) == {"A", "B", "C"}


def test_big_five_is_read_from_the_answers(export_of: ExportOf) -> None:
    folder = export_of(careful_and_careless())
    said = mini(E="2222", A="5555", C="3333", N="1111", O="4444")
    lines = [f"A,mini_ipip,{item},{answer:g},2.5" for item, answer in said.items()]
    lines += [f"B,mini_ipip,{item},5,1" for item in said] + ["C,mini_ipip,mini_01,4,"]
    (folder / "answers.csv").write_text("participant,instrument,item,value,seconds\n" + "\n".join(lines) + "\n")
    table = table_of(folder)
    assert [value(table, "reverse_items", person=person) for person in "AB"] == [0, 4]
    assert value(table, "even_odd", person="A") == pytest.approx(1)
    assert value(table, "seconds_per_item", person="B", instrument="mini_ipip") == 1
    assert np.isnan(value(table, "reverse_items", person="C"))
    assert table.query("statistic == 'reverse_items'")["flagged"].eq("").all()


# Conversations


def test_rating_seconds_flag_a_rating_that_was_too_fast(export_of: ExportOf, tmp_path: Path) -> None:
    rows = careful_and_careless()
    seconds = {"Ax": 3.0, "Ay": 1.9, "Bx": ""}
    lines = [
        ",".join(map(str, (*(row[name] for name in names), seconds.get(row["conversation"], 2.0))))
        for names in [("conversation", "participant", "rater", "arm", "instrument", "item", "moment", "score")]
        for row in rows
    ]
    folder = export_of(rows)
    (folder / "ratings.csv").write_text(
        "conversation,participant,rater,arm,instrument,item,moment,score,seconds,rater_kind\n"
        + "".join(f"{line},seeker\n" for line in lines)
    )
    table = table_of(folder)
    assert value(table, "rating_seconds", conversation="Ay") == pytest.approx(19)
    assert np.isnan(value(table, "rating_seconds", conversation="Bx"))
    assert {row for row in flagged(table) if row[2] == "rating_seconds"} == {("A", "Ay", "rating_seconds")}
    assert value(table, "seconds_per_item", person="A") == pytest.approx((3 + 1.9) / 2)


CONVERSATIONS = """conversation,participant,language,turns,min_turns,end_reason
good,A,en,10,10,finished
short,A,en,4,10,early
open,A,en,2,10,
free,A,en,4,3,finished
curt,B,en,10,10,finished
zh,B,zh,10,10,finished
broken,B,en,10,10,technical
simulated,,en,3,10,satisfied
"""
TURNS = """conversation,role,text,pasted,error
good,seeker,I have slept badly for weeks,false,
good,supporter,ok,,
curt,seeker,yes,false,
curt,seeker,no not really though,false,
curt,seeker,maybe so,true,
zh,seeker,我最近睡得很不好,,
short,seeker,it is all too much,false,timeout
"""


def test_quality_flags_conversations_by_the_rules_of_the_protocol(export_of: ExportOf) -> None:
    folder = export_of(careful_and_careless())
    (folder / "conversations.csv").write_text(CONVERSATIONS)
    (folder / "turns.csv").write_text(TURNS)
    table = table_of(folder)
    assert {row[1:] for row in flagged(table) if row[1]} == {
        ("short", "turns"),
        ("short", "technical"),
        ("curt", "message_words"),
        ("curt", "pasted"),
        ("broken", "technical"),
    }
    assert value(table, "message_words", conversation="curt") == 2
    assert value(table, "message_characters", conversation="zh") == 8
    assert np.isnan(value(table, "pasted", conversation="zh"))
    assert "simulated" not in set(table["conversation"])


def test_an_estimate_that_is_not_there_has_its_reason(export_of: ExportOf) -> None:
    table = table_of(export_of(final_rating("A", "x", "4325134251")))
    gaps = table[table["estimate"].isna()].set_index("statistic")["note"]
    assert gaps.str.startswith("estimate: ").to_dict() == {
        "identical_rows": True,
        "seconds_per_item": True,
        "rating_seconds": True,
    }


def test_of_rows_gives_a_page_what_the_files_give(export_of: ExportOf) -> None:
    rows = careful_and_careless()
    folder = export_of(rows)
    (folder / "conversations.csv").write_text(CONVERSATIONS)
    (folder / "turns.csv").write_text(TURNS)
    usual = dict.fromkeys(quality.NEEDED["ratings"], "") | {"rater_kind": "seeker", "seconds": None}
    page = quality.of_rows(
        {
            "ratings": [usual | {name: row[name] for name in row if name in usual} for row in rows],
            "conversations": pd.read_csv(folder / "conversations.csv").to_dict("records"),
            "turns": pd.read_csv(folder / "turns.csv", keep_default_na=False).to_dict("records"),
            "answers": [],
        }
    )
    pd.testing.assert_frame_equal(frame_of(page, TABLE.all_columns()), table_of(folder))


# Items that tell what to answer

CODEBOOK = """file,column,type,minimum,maximum,instructed,meaning
work_days.json,reading,scale,1,5,4,Choose 4 here.
work_days.json,colour,single,,,blue,Choose blue.
work_days.json,tired,scale,1,5,,I was tired.
ten.json,reading,scale,1,5,2,Choose 2 here.
ratings.csv,reading,number,1,5,1,No item.
"""
ANSWERS = """participant,conversation,instrument,item,moment,value,text,missing_reason
A,,work_days,reading,,4,,
A,,work_days,colour,,,blue,
A,,work_days,tired,,1,,
A,Ax,ten,reading,final,2,,
B,,work_days,reading,,3,,
B,,work_days,colour,,,blue,
B,Bx,ten,reading,final,2,,
B,By,ten,reading,final,5,,
C,,work_days,reading,,,,not_answered
C,,work_days,colour,,,green,
D,,work_days,reading,,,,not_answered
"""


def with_instructed(folder: Path) -> Path:
    (folder / "codebook.csv").write_text(CODEBOOK)
    (folder / "answers.csv").write_text(ANSWERS)
    return folder


def test_instructed_items_are_a_share_of_a_persons_answers_to_them(export_of: ExportOf) -> None:
    table = table_of(with_instructed(export_of(careful_and_careless())))
    rows = table[table["statistic"] == "instructed_share"].set_index("person")
    assert rows["estimate"].to_dict() == {"A": 1, "B": 0.5, "C": 0}  # D left them open
    assert rows["n"].to_dict() == {"A": 3, "B": 4, "C": 1}
    assert rows["clusters"].to_dict() == {"A": 1, "B": 2, "C": 0}
    assert set(rows["flagged"]) == {""}


def test_who_answers_otherwise_than_told_is_flagged_where_it_was(export_of: ExportOf) -> None:
    table = table_of(with_instructed(export_of(careful_and_careless())))
    assert {row for row in flagged(table) if row[2] == "instructed_missed"} == {
        ("B", "", "instructed_missed"),
        ("B", "By", "instructed_missed"),
        ("C", "", "instructed_missed"),
    }
    rows = table[table["statistic"] == "instructed_missed"]
    told = rows[["person", "instrument", "conversation", "estimate", "n", "clusters"]].to_numpy().tolist()
    assert sorted(told) == [
        ["A", "ten", "Ax", 0, 1, 1],
        ["A", "work_days", "", 0, 2, 0],
        ["B", "ten", "Bx", 0, 1, 1],
        ["B", "ten", "By", 1, 1, 1],
        ["B", "work_days", "", 1, 2, 0],
        ["C", "work_days", "", 1, 1, 0],
    ]


def test_without_a_codebook_that_tells_them_only_our_own_instruments_are_known(export_of: ExportOf) -> None:
    folder = with_instructed(export_of(careful_and_careless()))
    (folder / "codebook.csv").unlink()
    assert "instructed_share" not in set(table_of(folder)["statistic"])
    (folder / "codebook.csv").write_text("file,column,type,values,meaning\nten.json,reading,scale,1 to 5,Choose 2.\n")
    assert "instructed_share" not in set(table_of(folder)["statistic"])


def test_instructed_items_do_not_count_among_the_answers_of_a_questionnaire(export_of: ExportOf) -> None:
    folder = export_of(careful_and_careless())
    said = mini(E="2222", A="5555", C="3333", N="1111", O="4444")
    lines = [f"A,mini_ipip,{item},{answer:g},2" for item, answer in said.items()]
    (folder / "answers.csv").write_text(
        "participant,instrument,item,value,seconds\n" + "\n".join([*lines, "A,mini_ipip,reading,4,50"]) + "\n"
    )
    (folder / "codebook.csv").write_text(
        "file,column,type,minimum,maximum,instructed\nmini_ipip.json,reading,scale,1,5,4\n"
    )
    rows = table_of(folder).query("instrument == 'mini_ipip'")
    assert rows.set_index("statistic")["n"].to_dict() == {
        "even_odd": 20,
        "reverse_items": 20,
        "seconds_per_item": 20,
        "instructed_missed": 1,
    }


def test_sensitivity_leaves_out_the_ratings_beside_a_missed_instruction(export_of: ExportOf) -> None:
    rows = final_rating("A", "x", "4325134251") + final_rating("A", "y", "2415342513")
    rows += final_rating("B", "x", "1122334455") + final_rating("B", "y", "1222233344")
    folder = export_of(rows)
    (folder / "codebook.csv").write_text(CODEBOOK)
    header = "participant,conversation,instrument,item,moment,value,text\n"
    (folder / "answers.csv").write_text(header + "A,Ay,ten,reading,final,3,\nB,,work_days,reading,,1,\n")
    kept = without_flagged(load(folder))
    assert set(kept["conversation"]) == {"Ax"}  # of B, who missed one about themselves, nothing


# With and without


def test_sensitivity_shows_the_agreement_with_what_was_left_out_and_without_flags(export_of: ExportOf) -> None:
    rows = careful_and_careless()
    rows += [
        row | {"rater": "J", "rater_kind": "judge", "score": 1 + number // 3 % 5} for number, row in enumerate(rows)
    ]
    rows += final_rating("D", "x", "5432154321") + final_rating("D", "x", "1234512345", rater="J", rater_kind="judge")
    folder = export_of(rows)
    (folder / "participants.csv").write_text("participant,excluded\nD,true\n")
    found = pd.DataFrame([row for _, rows in sensitivity(load(folder), Bootstrap(5, 1)) for row in rows])
    found = found[(found["statistic"] == "pearson") & (found["item"] == "safety")].set_index("variant")
    assert found["n"].to_dict() == {"all": 8, "with_left_out": 9, "without_flagged": 5}
    kept = [row for row in rows if row["item"] == "safety" and row["participant"] != "D"]
    human, judge = ([row["score"] for row in kept if (row["rater"] == "J") is judged] for judged in (False, True))
    assert found["estimate"]["all"] == pytest.approx(np.corrcoef(human, judge)[0, 1])
    without_b = [place for place, row in enumerate(kept[: len(human)]) if row["participant"] != "B"]
    r = np.corrcoef(np.array(human)[without_b], np.array(judge)[without_b])[0, 1]
    assert found["estimate"]["without_flagged"] == pytest.approx(r)


def test_report_counts_flags_and_says_that_they_leave_nobody_out(export_of: ExportOf, tmp_path: Path) -> None:
    analyse(export_of(careful_and_careless()), tmp_path / "out", bootstrap=5)
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "flags do not leave anyone out" in report
    row = '<td>straight_arms</td><td class="long">the same answer to every item in 3 arms or more</td>'
    assert f'{row}<td class="number">1</td><td class="number">0</td><td class="number">3</td>' in report
