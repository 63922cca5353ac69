"""Small tables: names for keys, and what has no value with its reason."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: TID253
import pytest

from studies.analysis import load, notes, run
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.language import speaking
from studies.analysis.notes import INTERVAL, Note, Notes
from studies.analysis.pooling import PARTS
from studies.analysis.reporting.drawing import style
from studies.analysis.reporting.excerpts import (
    columns_that_differ,
    excerpt,
    remark_on_empty_rows,
    remark_on_gaps,
    with_intervals,
    with_names,
)
from studies.analysis.reporting.exhibits.agreement_forest import correlations
from studies.analysis.reporting.naming import contestant_name, scale_name, thinker_name
from studies.analysis.reporting.numbers import decimal, p_alone, span
from studies.analysis.reporting.page import page
from studies.analysis.reporting.parts import Excerpt, Folded, Section
from studies.analysis.reporting.sections import sections_of
from studies.analysis.reporting.sections.agreement import agreement
from studies.analysis.reporting.sections.arms import arms, few_users
from studies.analysis.reporting.sections.costs import costs
from studies.analysis.reporting.sections.coverage import coverage
from studies.analysis.reporting.sections.experts import expert_table
from studies.analysis.reporting.sections.feelings import feelings
from studies.analysis.reporting.sections.methods import methods
from studies.analysis.reporting.sections.pairs import pairs
from studies.analysis.reporting.sections.people import people
from studies.analysis.reporting.sections.reliability import reliability
from studies.analysis.reporting.sections.turns import over_turns
from studies.analysis.reporting.study import who_took_part
from studies.analysis.tables import discrimination, rater_effects
from tests.languages import CHINESE
from tests.studies.analysis.benchmark import write_table
from tests.studies.analysis.builders import six_people, write_export
from tests.studies.analysis.reporting.test_sections import results_of, text_of

NAN = float("nan")
SEEN = {"raters": "seeker", "instrument": "emoharbor_10", "moment": "final", "item": "safety"}
BOUNDS = {"estimate": 0.5, "low": 0.25, "high": 0.75, "n": 9, "clusters": 9, "note": Notes()}
POSITIONS = Notes(Note("under_two_positions").on("estimate", "low", "high"), Note("one_rater"))
NOTHING = {"estimate": NAN, "low": NAN, "high": NAN, "note": POSITIONS}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_export(tmp_path / "export", six_people())


def small(section: Section | None) -> dict[str, Excerpt]:
    assert section is not None
    return {part.name: part for part in unfolded(section.parts) if isinstance(part, Excerpt)}


def unfolded(parts: Any) -> list[Any]:
    return [inner for part in parts for inner in (unfolded(part.parts) if isinstance(part, Folded) else [part])]


# What has no value


def test_rows_without_an_estimate_are_counted_below_with_their_reasons() -> None:
    other = {"note": Notes(Note("no_r").on("estimate"))}
    rows = pd.DataFrame([SEEN | BOUNDS, SEEN | NOTHING, SEEN | NOTHING, SEEN | NOTHING | other])
    found = excerpt("x", "X", rows, ["item", "estimate", "low"])
    assert isinstance(found, Excerpt)
    assert found.frame.to_dict("records") == [{"item": "Safety", "estimate": 0.5, "low": 0.25}]
    assert found.remark == "3 rows have no value and are left out: fewer than two positions (2); no r (1)."


def test_a_table_of_which_no_row_has_an_estimate_is_a_sentence() -> None:
    said = excerpt("x", "Slopes", pd.DataFrame([SEEN | NOTHING]), ["item", "estimate"])
    assert said == "<p>Slopes: 1 row has no value and is left out: fewer than two positions (1).</p>"
    with speaking(CHINESE):
        assert str(excerpt("x", "斜率", pd.DataFrame([SEEN | NOTHING]), ["item", "estimate"])).startswith("<p>斜率：1")


def test_a_row_without_a_reason_says_so_and_full_rows_say_nothing() -> None:
    assert "the table does not say why" in remark_on_empty_rows(pd.DataFrame([SEEN | NOTHING | {"note": NAN}]))
    assert (remark_on_empty_rows(rows := pd.DataFrame([SEEN | BOUNDS])), remark_on_gaps(rows, ["low"])) == ("", "")


def test_gaps_in_single_columns_have_their_reason_below() -> None:
    said = Notes(Note("resamples_alike").on("low", "high"), Note("few_clusters", count=8).on(INTERVAL))
    lacking = BOUNDS | {"low": NAN, "high": NAN, "note": said}
    rows = pd.DataFrame([SEEN | lacking, SEEN | BOUNDS])
    found = excerpt("x", "X", rows, ["item", "estimate", "low", "high"])
    assert isinstance(found, Excerpt)
    assert found.remark == "Without a value: Low, High: all resamples are alike (1)."
    bounds = pd.DataFrame({"msr_low": [NAN], "note": [Notes(Note("one_user").on("msr"))]})
    assert remark_on_gaps(bounds, ["msr_low"]) == "Without a value: MSR low: one user (1)."


def test_the_reasons_are_said_in_the_language_of_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        notes, "gettext", lambda message: {"fewer than two positions": "少于两个位置"}.get(message, message)
    )
    with speaking(CHINESE):
        assert "少于两个位置 (1)" in remark_on_empty_rows(pd.DataFrame([SEEN | NOTHING]))


def test_the_remark_stands_below_its_table(folder: Path) -> None:
    table = Excerpt("mine", "A table", pd.DataFrame({"a": [1]}), "One row is left out.")
    html = page(results_of(folder), [Section("s", "S", [table])], {})
    assert '</table></div><p class="remark">One row is left out.</p></div>' in html


def test_only_a_long_name_may_break(folder: Path) -> None:
    table = Excerpt("mine", "A table", pd.DataFrame({"a": ["x" * 25, "x" * 24, "0.57 [−0.35, 1e+07]"]}))
    html = page(results_of(folder), [Section("s", "S", [table])], {})
    cells = f'<td class="long">{"x" * 25}</td></tr><tr><td>{"x" * 24}</td></tr><tr><td class="number bounded">0.57 '
    assert cells in html


# Numbers


@pytest.mark.parametrize(("p", "said"), [(0.0, "<.001"), (0.00099, "<.001"), (0.0342, ".034"), (1.0, "1.000")])
def test_p_in_a_column(p: float, said: str) -> None:
    assert p_alone(p) == said


@pytest.mark.parametrize("column", ["p", "p_holm", "p_repeated", "wilcoxon_p"])
def test_a_small_p_is_never_zero(folder: Path, column: str) -> None:
    frame = pd.DataFrame({column: [0.00001], "pairs": [0.00001]})
    html = page(results_of(folder), [Section("s", "S", [Excerpt("mine", "A table", frame)])], {})
    assert '<td class="number">&lt;.001</td><td class="number">0.000</td>' in html


def test_counts_that_differ_are_a_range_and_huge_bounds_a_power() -> None:
    assert (span([86, 89, 88]), span([5, 5.0]), span([1200])) == ("86–89", "5", "1,200")
    assert (decimal(1.2e21), decimal(-4e7), decimal(99999.0)) == ("1e+21", "-4e+07", "99999.00")


OF_EXPERTS = dict.fromkeys(PARTS, "*") | {"raters": "expert", "moment": "final"}


def test_wide_tables_tell_the_fewest_too(folder: Path) -> None:
    judged = {"judge": "J", "strategy": "state_aware", "p_holm": NAN, "pearson": 0.5}
    rows = pd.DataFrame([judged | {"item": item, "n": n} for item, n in (("care", 86), ("safety", 89))])
    assert correlations(rows, "ten").iloc[0].tolist() == ["J", "state-aware", "0.50", "0.50", "86–89"]
    means = [SEEN | {"arm": "a", "mean": 3.0, "n": n, "item": item} for item, n in (("safety", 7), ("empathetic", 5))]
    experts = [
        OF_EXPERTS | {"arm": "a", "instrument": "ten", "item": key, "n": n, "mean": 3.0}
        for key, n in (("x", 2), ("y", 3))
    ]
    assert small(arms(results_of(folder, arms=means)))["means-seeker-emoharbor_10"].frame["n"].tolist() == ["5–7"]
    assert small(expert_table(results_of(folder, arms=experts)))["experts-ten"].frame["n"].tolist() == ["2–3"]


def test_counsellors_tables_name_the_papers_columns_only_where_they_have_them(folder: Path) -> None:
    of = OF_EXPERTS | {"arm": "a", "n": 2, "mean": 3.0}
    ours = of | {"instrument": "emoharbor_10", "item": "problem_resolution"}
    others = of | {"instrument": "ten", "item": "care"}
    for rows, has_them in (([ours, others], True), ([others], False)):
        section = expert_table(results_of(folder, arms=rows))
        assert section is not None
        text = "".join(part for part in section.parts if isinstance(part, str))
        assert "Means of counsellors&#x27; final ratings, one line for each system." in text
        assert [word in text for word in ("Table 3 of Yang", "Help. problem")] == [has_them] * 2


def test_coverage_stands_beside_the_means(folder: Path) -> None:
    of = {"arm": "a", "instrument": "ten", "item": "care", "moment": "final"}
    means = [of | {"raters": raters, "mean": 3.0, "n": 10} for raters in ("judge:standard", "seeker", "reviewer")]
    asked = of | {"strategy": "standard", "statistic": "missing_share", "n": 20}
    told = [asked | {"judge": "J", "estimate": 0.1}, asked | {"judge": "K", "estimate": 0.0}]
    told.append(asked | {"judge": "J", "strategy": "user_aware", "estimate": 0.5})
    told.append(asked | {"judge": "J", "item": "other", "estimate": 1.0})
    told.append(
        of | {"judge": "", "strategy": "", "raters": "seeker", "statistic": "skipped_share", "n": 12, "estimate": 0.25}
    )
    tables = small(arms(results_of(folder, arms=means, coverage=told)))
    said = {name: table.frame.get("scored / requested") for name, table in tables.items()}
    assert said["means-judge:standard-ten"].tolist() == ["38 / 40"]  # type: ignore[union-attr]
    assert said["means-seeker-ten"].tolist() == ["9 / 12"]  # type: ignore[union-attr]
    assert said["means-reviewer-ten"] is None


def test_what_people_skipped_is_told_by_kind_with_the_worst_item(folder: Path) -> None:
    of = {"judge": "", "strategy": "", "arm": "*", "instrument": "ten", "moment": "final", "statistic": "skipped_share"}
    rows = [
        of | {"raters": "seeker", "item": "care", "estimate": 0.1, "n": 30},
        of | {"raters": "seeker", "item": "safety", "estimate": 0.5, "n": 10},
        of | {"raters": "seeker", "item": "safety", "estimate": 1.0, "n": 2, "arm": "a"},
        of | {"raters": "expert", "item": "care", "estimate": 0.0, "n": 5},
    ]
    table = small(coverage(results_of(folder, coverage=rows)))["skipped"].frame
    assert table["raters"].tolist() == ["counsellors", "participants"]
    assert table["asked"].tolist() == [5, 40]
    assert table["skipped_share"].tolist() == [0, pytest.approx(0.2)]
    assert table["item"].tolist() == ["care", "safety"]


@pytest.mark.parametrize(("users", "said"), [([8, 30, 29], "Few met both (8–29)"), ([30], "")])
def test_intervals_of_few_people_are_warned_of(users: list[int], said: str) -> None:
    warned = few_users(pd.DataFrame({"clusters": [*users, 2], "low": [0.1] * len(users) + [NAN]}))
    assert warned[: len(said)] == said
    assert bool(warned) == bool(said)


def test_tables_show_the_intervals_of_their_estimates(folder: Path) -> None:
    found = {"win": 0.57, "win_low": 0.35, "win_high": 0.74, "tie": 0.1, "loss": NAN}
    verdict = {"contestant_a": "counsellor worst_case", "contestant_b": "person", "question": "better_overall", "n": 9}
    verdict |= {"raters": "judge", "instrument": "pairwise_support"}
    agreed = SEEN | {"raters": "reviewer", "unit": "conversation", "n": 9, "k": 2}
    agreed |= {"icc_1_1": 0.4, "icc_1_1_low": 0.1, "icc_1_1_high": 0.6}
    spread = SEEN | BOUNDS | {"raters": rater_effects.OWN, "term": "variance", "level": "counsellor", "unit": ""}
    users = SEEN | BOUNDS | {"term": "erho2_users", "k": 5, "condition": "", "seekers": "person", "unit": "arm"}
    results = results_of(folder, pairwise=[verdict | found], reliability=[agreed], rater_effects=[spread, users])
    [contest] = small(pairs(results))["pairwise"].frame.to_dict("records")
    assert (contest["win"], contest["tie"]) == ("0.57 [0.35, 0.74]", "0.10")
    assert (contest["contestant_a"], contest["raters"]) == ("counsellors in a role, worst case", "judges")
    tables = small(reliability(results))
    assert tables["reliability"].frame["icc_1_1"].tolist() == ["0.40 [0.10, 0.60]"]
    variances = tables[f"variances-{rater_effects.OWN}"]
    assert variances.frame["between counsellors"].tolist() == ["0.50 [0.25, 0.75]"]
    assert variances.caption == (
        "Variances of scores by counsellors, own conversations (n scores), with 95\u00a0% intervals"
    )
    assert tables["decision_study"].frame["5"].tolist() == ["0.50 [0.25, 0.75]"]


def test_a_corrected_r_is_explained_below_its_table(folder: Path) -> None:
    for ratings, is_said in ((six_people(), False), ([row for row in six_people() if "rater_kind" in row], True)):
        export = load(write_export(folder, ratings))
        results = run.compute(export, Bootstrap(20, 1), lambda *_: None, ["agreement"])
        with style():
            table = small(agreement(results))[f"r-{'reviewer' if is_said else 'seeker'}-J-standard-ten-final"]
        assert ("disattenuated" in table.frame) == is_said
        assert table.remark.startswith("r corrected for unreliability is r divided by") == is_said


def test_an_estimate_that_is_not_there_has_no_text() -> None:
    rows = pd.DataFrame({"win": [NAN], "win_low": [NAN], "win_high": [NAN]})
    assert with_intervals(rows, ["win"])["win"].isna().all()


# Names


def test_keys_have_names_in_every_table() -> None:
    keys: Mapping[str, str] = {
        "raters": "judge:standard", "human": "expert", "strategy": "state_aware", "condition": "worst_case",
        "seekers": "person", "instrument": "emoharbor_10", "item": "safety", "moment": "final",
    }  # fmt: skip
    assert with_names(pd.DataFrame([keys])).iloc[0].tolist() == [
        "judges (standard)", "counsellors", "state-aware", "worst case",
        "people", "Ten dimensions of personalised emotional support", "Safety", "at the end",
    ]  # fmt: skip
    assert with_names(pd.DataFrame([dict.fromkeys(keys, "")])).iloc[0].tolist() == [""] * len(keys)
    assert scale_name("emoharbor_10", "final") == "Ten dimensions of personalised emotional support, at the end"
    assert (contestant_name("person"), contestant_name("amber")) == ("people", "amber")


def test_the_whole_tables_below_have_names_too(folder: Path) -> None:
    row = SEEN | {"arm": "a", "mean": 3.0, "n": 5, "raters": "judge:state_aware"}
    results = results_of(folder, arms=[row])
    html = page(results, [Section("arms", "Arms", [], ("arms",))], {})
    assert "<td>judges (state-aware)</td>" in html
    assert "emoharbor_10" not in html
    assert results.table("arms")["raters"].tolist() == ["judge:state_aware"]


def test_rows_that_only_another_column_tells_apart_have_it() -> None:
    of = {"raters": "expert", "item": "*", "moment": "final"}
    rows = pd.DataFrame([of | {"instrument": "emoharbor_10"}, of | {"instrument": "worst_case_4"}])
    assert columns_that_differ(["raters", "item"], rows) == ["raters", "instrument", "item"]
    assert columns_that_differ(["raters", "item"], rows[:1]) == ["raters", "item"]


def test_a_thinker_is_no_participant(folder: Path) -> None:
    of = {
        "arm": "a",
        "condition": "average",
        "seekers": "simulated",
        "language": "*",
        "source": "seeker",
        "instrument": "",
        "moment": "",
    }
    slope = of | BOUNDS | {"item": "emotion_score", "statistic": "slope"}
    means = [of | BOUNDS | {"item": "emotion_score", "statistic": "mean", "turn": turn} for turn in (1, 2, 3)]
    rated = slope | {"source": "seeker", "seekers": "person", "instrument": "turn_checkpoint", "item": "goal_progress"}
    section = over_turns(results_of(folder, trends=[slope, rated, *means]))
    assert small(section)["slopes"].frame["source"].tolist() == ["the simulated seeker's own Thinker", "participants"]
    assert section is not None
    titles = [part.title for part in section.parts if hasattr(part, "title") and not isinstance(part, str)]
    assert ["by the simulated seeker's own Thinker, simulated seekers" in title for title in titles] == [True]
    change = of | BOUNDS | {"measure": "emotion_score", "statistic": "change"}
    [felt] = small(feelings(results_of(folder, emotion=[change])))["emotion"].frame.to_dict("records")
    assert (felt["measure"], felt["source"]) == ("supposed emotion score", thinker_name("seeker"))
    assert (thinker_name("demo"), thinker_name("")) == ("Thinker of demo", "")


def test_profiles_are_not_called_people(folder: Path) -> None:
    of = {"raters": "judge:standard", "instrument": "ten", "moment": "final", "item": "care"}
    pair = of | {"seekers": "simulated", "condition": "average", "clusters": 12, "arm_a": "a", "arm_b": "b"}
    pair |= {"difference": 0.5, "low": 0.1, "high": 0.9, "p_holm": 0.01}
    section = arms(results_of(folder, arms=[of | {"arm": "a", "mean": 3, "n": 6}], arm_pairs=[pair]))
    assert section is not None
    assert "the same simulated seekers, each compared with themselves." in text_of(section)


def test_purposes_of_calls_have_names(folder: Path) -> None:
    of = {"arm": "a", "seekers": "person", "language": "*", "n": 9, "estimate": 1.0}
    measures = ("seconds", "input_tokens", "output_tokens", "cost", "calls", "failed_calls")
    rows = [of | {"purpose": purpose, "measure": name} for purpose in ("*", "reply") for name in measures]
    assert small(costs(results_of(folder, costs=rows)))["costs"].frame["purpose"].tolist() == [
        "total",
        "replies",
    ]


# Who took part


def test_people_are_counted_by_kind_and_simulated_seekers_are_none(tmp_path: Path) -> None:
    rated = [
        ("C1", "P1", "seeker"),
        ("C2", "E1", "expert"),
        ("S1", "seeker", "simulated_seeker"),
        ("S2", "seeker", "simulated_seeker"),
    ]
    rated += [(chat, "J", "judge") for chat in ("C1", "C2", "S1", "S2")] + [("C1", "R1", "reviewer")]
    folder = write_export(
        tmp_path / "export", [{"conversation": c, "rater": r, "rater_kind": k, "score": 3} for c, r, k in rated]
    )
    kinds = {
        "C1": ("P1", "", "person"),
        "C2": ("E1", "", "counsellor"),
        "S1": ("", "A", "simulated"),
        "S2": ("", "B", "simulated"),
    }
    columns = ("participant", "profile", "seeker_kind")
    write_table(
        folder,
        "conversations",
        [{"conversation": chat, "arm": "a"} | dict(zip(columns, of, strict=True)) for chat, of in kinds.items()],
    )
    results = results_of(folder)
    assert list(who_took_part(results.export)) == [
        "1 participant", "1 counsellor", "1 reviewer", "2 simulated seekers", "1 judge"
    ]  # fmt: skip
    chart = small(methods(results))["chart"].frame
    said = chart[chart["CHART"] == "8"].iloc[0, 2]
    assert said == "4 conversations, 1 participant, 1 counsellor, 1 reviewer, 2 simulated seekers and 1 judge"
    raters = small(people(results))["raters"].frame.set_index("raters")["number"].to_dict()
    assert raters == {"participants": 1, "counsellors": 1, "reviewers": 1, "simulated seekers": 2, "judges": 1}


# What stays English, and the paper's own numbers


def test_tests_and_corrections_can_be_said_in_another_language(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chinese = {str(discrimination.TEST): "秩检验", str(discrimination.CORRECTION): "校正"}
    monkeypatch.setattr(notes, "gettext", lambda message: chinese.get(message, message))
    row = SEEN | {"msr": 0.5, "test": discrimination.TEST, "correction": discrimination.CORRECTION}
    results = results_of(folder, arms=[SEEN | {"arm": "a", "mean": 3, "n": 6}], discrimination=[row])
    with speaking(CHINESE):
        section = arms(results)
        html = page(results, [Section("d", "D", [], ("discrimination",))], {})
    assert section is not None
    assert ("秩检验" in text_of(section), "校正" in text_of(section)) == (True, True)
    assert "<td>秩检验</td><td>校正</td>" in html


def test_methods_say_where_the_paper_does_not_follow_its_formulas(folder: Path) -> None:
    said = "with an MSR of .745, 100 profiles and 20 models, equation 13 gives an F of 77.6, but 112 is printed"
    assert said in text_of(methods(results_of(folder, discrimination=[SEEN | {"msr": 0.5}])))
    assert said not in text_of(methods(results_of(folder)))
    assert pytest.approx(77.6, abs=0.05) == 0.745 * 100 * 20 / 19 * 99 / 100


def test_no_bare_key_is_left_in_a_cell(folder: Path) -> None:
    of_seekers = {"raters": "judge:standard", "seekers": "simulated"}
    results = results_of(
        folder,
        order=[SEEN | BOUNDS | {"statistic": "carry_over_f", "arm": "", "position": ""}],
        blinding=[BOUNDS | {"arm": "", "statistic": "accuracy_corrected"}],
        conditions=[SEEN | BOUNDS | of_seekers | {"arm": "a", "average": 3.0, "worst_case": 2.0, "difference": -1.0}],
    )
    tables = [table.frame for section in sections_of(results) for table in small(section).values()]
    cells = {str(cell) for frame in tables for cell in frame.to_numpy().ravel()}
    assert {
        "carry-over (F)",
        "right guesses, corrected for chance",
    } <= cells
    keys = {"carry_over_f", "accuracy_corrected", "judge:standard", "expert"}
    assert not cells & {*keys, "seeker", "state_aware", "emoharbor_10"}
