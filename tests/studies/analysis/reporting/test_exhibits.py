"""The first screen, the exhibits and their files: what they show, in which order, and what they leave out."""

import csv
import re
import shutil
import subprocess
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: TID253
import pytest

from studies.analysis.language import speaking
from studies.analysis.notes import Note, Notes
from studies.analysis.pooling import PARTS, POOLED
from studies.analysis.reporting.drawing import Figure, style
from studies.analysis.reporting.excerpts import without_repetition
from studies.analysis.reporting.exhibits import exhibits_of
from studies.analysis.reporting.exhibits.agreement_forest import r_by_item
from studies.analysis.reporting.exhibits.card import card
from studies.analysis.reporting.exhibits.rater_reliability import rater_reliability
from studies.analysis.reporting.exhibits.separation import separation
from studies.analysis.reporting.exhibits.strategy_gain import gain_rows, gains_in_words
from studies.analysis.reporting.markup import tag
from studies.analysis.reporting.page import page
from studies.analysis.reporting.paper import escape_latex, escape_markdown, paper_of
from studies.analysis.reporting.parts import Excerpt, Exhibit, Section
from studies.analysis.reporting.sections import sections_of
from studies.analysis.results import Results
from tests.languages import CHINESE
from tests.studies.analysis.builders import six_people, write_export
from tests.studies.analysis.reporting.test_sections import results_of

SCALE = {"instrument": "ten", "moment": "final"}
ITEMS = ("*", "care", "safety")
STRATEGIES = {"state_aware": 0.8, "user_aware": 0.7, "standard": 0.5}  # by name, as the files have them


def agreed(strategy: str, r: float, item: str = "*", **other: Any) -> dict[str, Any]:
    row = SCALE | {"judge": "J", "strategy": strategy, "human": "seeker", "item": item, "n": 12, "clusters": 6}
    return row | {"pearson": r, "pearson_low": r - 0.2, "pearson_high": r + 0.1, "p_holm": 0.001} | other


def compared(a: str, b: str, difference: float, p: float, item: str = "*") -> dict[str, Any]:
    row = SCALE | {"judge": "J", "human": "seeker", "item": item, "strategy_a": a, "strategy_b": b, "n": 12}
    return row | {"difference": difference, "low": difference - 0.1, "high": difference + 0.2, "p": p}


def rated(arm: str, mean: float, item: str = "*", **other: Any) -> dict[str, Any]:
    row = SCALE | {"raters": "seeker", "arm": arm, "item": item, "mean": mean, "n": 6, "clusters": 6}
    return dict.fromkeys(PARTS, POOLED) | row | {"low": mean - 0.5, "high": mean + 0.5} | other


AGREEMENT = [agreed(strategy, r, item) for strategy, r in STRATEGIES.items() for item in ITEMS]
TESTS = [
    *(compared("standard", "state_aware", 0.3, 0.02, item) for item in ITEMS),
    *(compared("state_aware", "user_aware", -0.1, 0.5, item) for item in ITEMS),
    *(compared("standard", "user_aware", 0.2, 0.03, item) for item in ITEMS),
]
ARMS = [rated(arm, mean, item) for arm, mean in (("amber", 2.0), ("birch", 4.0), ("cedar", 3.0)) for item in ITEMS]


HEADS = ["judge", "strategy", *(f"appropriateness {number} (personalization)" for number in range(11))]
WIDE = pd.DataFrame([["gpt-5-mini", "state-aware", *["−0.15"] * 11]] * 15, columns=HEADS)
MANY_COLUMNS = Section("wide", "W", [], exhibit=Exhibit("wide", "W", [], Excerpt("wide", "By item", WIDE), WIDE))


def left(arm: str, share: float, end: str, turn: int) -> dict[str, Any]:
    of = {"arm": arm, "condition": "average", "seekers": "simulated", "statistic": "incidence"}
    return of | {"end": end, "turn": turn, "estimate": share}


@pytest.fixture
def results(tmp_path: Path) -> Results:
    folder = write_export(tmp_path / "export", six_people())
    return results_of(folder, agreement=AGREEMENT, strategy_tests=TESTS, arms=ARMS)


@pytest.fixture
def exhibits(results: Results) -> list[Exhibit]:
    with style():
        return exhibits_of(results)


def places(text: str, *parts: str) -> list[int]:
    return [text.index(part) for part in parts]


def test_the_card_has_r_of_the_item_mean_in_the_order_of_the_strategies(results: Results) -> None:
    said = card(results)
    found = places(
        said,
        "<dt>standard</dt><dd><strong>r = 0.50</strong> <span>[0.30, 0.60]</span>",
        "<dt>user-aware</dt><dd><strong>r = 0.70</strong> <span>[0.50, 0.80]</span>",
        "<dt>state-aware</dt><dd><strong>r = 0.80</strong> <span>[0.60, 0.90]</span>",
    )
    assert found == sorted(found)


def test_the_card_compares_each_strategy_with_the_standard_one_after_holm(results: Results) -> None:
    said = card(results)
    assert (
        "<dt>user-aware − standard</dt><dd><strong>+0.20</strong> <span>[0.10, 0.40], p\u00a0=\u00a0.040</span>" in said
    )
    assert (
        "<dt>state-aware − standard</dt><dd><strong>+0.30</strong> <span>[0.20, 0.50], p\u00a0=\u00a0.040</span>"
        in said
    )
    assert "so exploratory" in said
    assert "user-aware − state-aware" not in said


def test_a_difference_is_turned_where_the_standard_strategy_is_named_second(tmp_path: Path) -> None:
    folder = write_export(tmp_path / "export", six_people())
    rows = gain_rows(results_of(folder, strategy_tests=[compared("other", "standard", -0.3, 0.02)]))
    assert list(gains_in_words(rows)) == ["other − standard: +0.30 [0.10, 0.40], p\u00a0=\u00a0.020."]
    with speaking(CHINESE):
        assert "[0.10, 0.40]，p" in next(gains_in_words(rows))


def test_the_card_has_the_arms_by_their_mean(results: Results) -> None:
    said = card(results)
    found = places(said, "<dt>birch</dt>", "<dt>cedar</dt>", "<dt>amber</dt>")
    assert found == sorted(found)


def test_the_card_says_how_many_people_and_clusters_it_rests_on(results: Results) -> None:
    said = card(results)
    scores = "168 scores on items (24 by participants and 48 by reviewers)"
    assert f"The data: 6 participants, 2 reviewers, 1 judge, 12 conversations and {scores}." in said
    assert "intervals in brackets: 6. With fewer than 30, they may be too narrow." in said


def test_a_card_of_no_table_says_only_on_what_it_rests(tmp_path: Path) -> None:
    said = card(results_of(write_export(tmp_path / "export", six_people())))
    assert "<dl>" not in said
    assert "168 scores on items" in said


def test_the_table_of_reliability_says_where_an_estimate_or_interval_is_missing(tmp_path: Path) -> None:
    folder = write_export(tmp_path / "export", six_people())
    row = SCALE | {"raters": "reviewer", "unit": "conversation", "item": "care", "n": 12, "k": 2.0}
    whole = row | {"icc_a_1": 0.5, "icc_a_1_low": 0.2, "icc_a_1_high": 0.7}
    nan = float("nan")
    unknown = (
        whole | {"item": "safety", "icc_1_1": 0.3} | dict.fromkeys(("icc_a_1", "icc_a_1_low", "icc_a_1_high"), nan)
    )
    full = dict.fromkeys(("icc_1_1", "icc_1_1_low", "icc_1_1_high"), 0.3)
    for rows, is_said in (
        ([whole], False),
        ([whole | {"icc_a_1_low": nan}], True),
        ([whole | full, unknown | full], True),
    ):
        exhibit = rater_reliability(results_of(folder, reliability=rows))
        assert exhibit is not None
        assert isinstance(exhibit.part, Excerpt)
        assert ("Estimates or intervals that are not shown" in exhibit.part.remark) == is_said


def test_captions_say_how_their_intervals_were_computed(tmp_path: Path) -> None:
    by_two_ways = Note("two_way_jackknife", kinds=Note("people_and_raters"))
    methods = [Notes(by_two_ways, Note("bonett_wright").on("Spearman")), Notes(by_two_ways)]
    agreement = [
        agreed("standard", 0.5, item, method=method) for item, method in zip(("*", "care"), methods, strict=True)
    ]
    few = Note("few_raters_of_many", raters=3, count=50).on("(A,·)")
    icc = {"raters": "reviewer", "unit": "conversation", "item": "care", "icc_a_1": 0.5}
    icc |= {"method": Notes(Note("f").on("ICC"), Note("f").on("Cronbach")), "note": Notes(few)}
    folder = write_export(tmp_path / "export", six_people())
    with style():
        first, second = exhibits_of(results_of(folder, agreement=agreement, reliability=[SCALE | icc]))
    said = f"Method of the intervals: {by_two_ways}."
    assert isinstance(first.part, Figure)
    assert first.part.caption.endswith(f"with 95\u00a0% intervals. {said}")
    assert first.beside[0].remark.endswith(said)
    assert isinstance(second.part, Excerpt)
    assert "Method of the intervals: ICC: F. " in second.part.remark
    assert second.part.remark.endswith(f"Keep in mind: {few}.")


def test_the_share_of_pairs_is_explained_where_it_is_shown(tmp_path: Path) -> None:
    folder = write_export(tmp_path / "export", six_people())
    row = SCALE | {"raters": "seeker", "item": "*", "users": 8, "models": 5, "msr": 1.7, "judge": "", "condition": ""}
    none = Notes(Note("too_few_users_for_pairs", count=8).on("pairwise_share"))
    remarks = []
    for values in ({"pairwise_share": 0.5}, {"note": none}):
        exhibit = separation(results_of(folder, discrimination=[row | values]))
        assert exhibit is not None
        assert isinstance(exhibit.part, Excerpt)
        remarks.append(exhibit.part.remark)
    assert "Pairs told apart: share of pairs of arms that differ" in remarks[0]
    assert "share of pairs of arms that differ" not in remarks[1]
    assert "with 8 users no pair can be told apart" in remarks[1]


def test_an_exhibit_without_a_sentence_is_referred_to_by_one(results: Results) -> None:
    with style():
        document = paper_of([MANY_COLUMNS], results, "A study")["paper/results.qmd"].decode()
    assert "\nSee @tbl-wide.\n" in document


def test_figures_and_tables_are_numbered_in_their_order(exhibits: list[Exhibit]) -> None:
    assert [(exhibit.key, exhibit.part.label) for exhibit in exhibits] == [
        ("agreement", "Figure 1"), ("arms", "Figure 2"), ("strategies", "Figure 3")
    ]  # fmt: skip


@pytest.mark.with_figures
def test_all_items_stand_first_in_a_figure(exhibits: list[Exhibit]) -> None:
    for exhibit in exhibits[1:]:
        assert isinstance(exhibit.part, Figure)
        found = places(exhibit.part.svg, "All items", "care", "safety")
        assert found == sorted(found)


def test_r_by_item_has_intervals_and_both_means(exhibits: list[Exhibit]) -> None:
    [table] = exhibits[0].beside
    assert table.frame.columns.tolist() == ["judge", "item", "standard", "user-aware", "state-aware"]
    assert table.frame[["item", "standard"]].to_numpy().tolist() == [
        ["All items", "0.50 [0.30, 0.60]"],
        ["Mean of the items' r", "0.50"],
        ["care", "0.50 [0.30, 0.60]"],
        ["safety", "0.50 [0.30, 0.60]"],
        ["Conversations", "12"],
    ]
    assert "r of the means over the items" in table.remark


def test_r_by_item_of_several_judges_has_a_column_for_each_of_few_and_a_block_for_each_under_several_strategies() -> (
    None
):
    judges = pd.DataFrame([agreed("standard", 0.5, "care", judge=judge) for judge in "AB"])
    assert r_by_item(judges, "ten").columns.tolist() == ["strategy", "item", "A", "B"]
    more = [agreed(strategy, 0.5, "care", judge=judge) for judge in "AB" for strategy in ("standard", "user_aware")]
    table = r_by_item(pd.DataFrame(more), "ten")
    assert table.columns.tolist() == ["judge", "item", "standard", "user-aware"]
    assert table["judge"].tolist() == ["A", "A", "B", "B"]


# Items that do not point the same way


def alpha(of: str, raters: str = "seeker") -> dict[str, Any]:
    return SCALE | {"raters": raters, "item": "*", "unit": "conversation", "n": 12, "k": 2, "cronbach": float(of)}


@pytest.fixture
def opposed(tmp_path: Path) -> Results:
    folder = write_export(tmp_path / "export", six_people())
    agreed_by_item = [agreed(strategy, r, item) for strategy, r in STRATEGIES.items() for item in ("*", "care")]
    of_safety = [agreed(strategy, r - 0.3, "safety") for strategy, r in STRATEGIES.items()]
    rows = {"strategy_tests": TESTS, "arms": ARMS, "reliability": [alpha("-0.63")]}
    return results_of(folder, agreement=[*agreed_by_item, *of_safety], **rows)


def test_the_card_has_the_range_of_the_items_where_they_do_not_point_the_same_way(opposed: Results) -> None:
    said = card(opposed)
    assert "<dt>standard (lowest: safety; highest: care)</dt><dd><strong>r = 0.20–0.50</strong></dd>" in said
    assert "(Cronbach&#x27;s α = −0.63), so no mean over the items is shown. Reverse" in said
    assert "<dt>state-aware − standard (lowest: care; highest: safety)</dt><dd><strong>+0.30 to +0.30</strong>" in said
    assert "<dt>birch</dt>" not in said


@pytest.mark.with_figures
def test_no_exhibit_has_a_mean_over_items_that_do_not_point_the_same_way(opposed: Results) -> None:
    with style():
        exhibits = exhibits_of(opposed)
    assert [exhibit.key for exhibit in exhibits] == ["agreement", "arms", "strategies"]
    for exhibit in exhibits:
        assert isinstance(exhibit.part, Figure)
        shown = [*exhibit.sentences, exhibit.part.svg, *(part.frame.to_csv() for part in exhibit.beside)]
        assert not re.search("All items|Mean of the items|all items", "".join(shown))
        assert "*" not in set(exhibit.numbers["item"])
        assert any("do not point the same way" in sentence for sentence in exhibit.sentences)
        places(exhibit.part.svg, "care", "safety")


def test_items_with_an_alpha_above_0_keep_their_mean(tmp_path: Path) -> None:
    folder = write_export(tmp_path / "export", six_people())
    results = results_of(folder, agreement=AGREEMENT, reliability=[alpha("0.02"), alpha("-1", "judge:standard")])
    assert "r = 0.50</strong> <span>[0.30, 0.60]" in card(results)


def test_supplement_is_folded_and_numbered_by_itself(results: Results) -> None:
    sections = sections_of(results)
    kinds = [section.is_folded for section in sections]
    assert kinds == sorted(kinds)
    parts = [part for section in sections if section.is_folded for part in section.parts]
    labels = [part.label for part in parts if isinstance(part, Figure | Excerpt)]
    assert {"Figure S1", "Table S1"} <= set(labels)
    assert all(label.split()[1].startswith("S") for label in labels)
    html = page(results, sections, {})
    assert html.index('id="summary"') < html.index('id="main-agreement"') < html.index('<details class="chapter">')


def test_a_column_of_one_value_is_said_below_and_a_blank_one_left_out() -> None:
    frame = pd.DataFrame({"raters": ["people"] * 2, "item": ["a", "b"], "mean": [1.0, 1.0], "language": ["–", "–"]})
    shown, said = without_repetition(frame)
    assert shown.columns.tolist() == ["item", "mean"]
    assert said == "Throughout: Raters people."


def test_a_table_of_one_row_keeps_its_columns() -> None:
    frame = pd.DataFrame({"raters": ["people"], "mean": [1.0], "language": [""]})
    shown, said = without_repetition(frame)
    assert (shown.columns.tolist(), said) == (["raters", "mean"], "")


# The files for those who write


def test_paper_has_each_exhibit_and_a_document_that_has_them_all(results: Results) -> None:
    with style():
        files = paper_of(sections_of(results), results, 'A "study"')
    names = {f"paper/figure-{number}.{ending}" for number in (1, 2, 3) for ending in ("csv", "pdf", "svg", "tex")}
    names |= {f"paper/table-{number}.{ending}" for number in (1, 2) for ending in ("csv", "tex")}
    assert set(files) == names | {"paper/results.qmd"}
    document = files["paper/results.qmd"].decode()
    assert 'title: "A \\"study\\""' in document
    assert [f"](figure-{number})" in document for number in (1, 2, 3)] == [True] * 3
    assert "| Item | standard | user-aware | state-aware |" in document
    assert "(@fig-agreement, @tbl-agreement-below-1)" in document
    assert re.findall(r"\{#([a-z]+-[a-z0-9-]+)\}", document) == [
        "fig-agreement", "tbl-agreement-below-1", "fig-arms", "tbl-arms-below-1", "fig-strategies"
    ]  # fmt: skip
    rows = list(csv.DictReader(StringIO(files["paper/figure-2.csv"].decode())))
    assert [(row["arm"], row["item"]) for row in rows[:2]] == [("birch", "*"), ("birch", "care")]


def test_files_for_papers_have_the_numbers_of_the_report(results: Results) -> None:
    with style():
        sections = sections_of(results)
        files = paper_of(sections, results, "A study")
    labels = re.findall(r">((?:Figure|Table) \d+): ", page(results, sections, {}))
    names = {name.rpartition("/")[2] for name in files if name.endswith(".tex")}
    assert names == {f"{label.lower().replace(' ', '-')}.tex" for label in labels}
    captions = [re.findall(r"\\caption\{([^.]*)", files[f"paper/table-{number}.tex"].decode()) for number in (1, 2)]
    assert [len(found) for found in captions] == [1, 1]
    assert captions[0][0].startswith("Pearson's r of judges and participants by item")
    assert "\\begin{table" not in files["paper/figure-1.tex"].decode()
    rows = list(csv.DictReader(StringIO(files["paper/table-2.csv"].decode())))
    assert (rows[0]["arm"], rows[0]["All items"]) == ("birch", "4.00")


def test_the_figure_of_strategies_has_one_p(results: Results) -> None:
    with style():
        files = paper_of(sections_of(results), results, "A study")
    heads = next(csv.reader(StringIO(files["paper/figure-3.csv"].decode())))
    assert [name for name in heads if name == "p" or name.startswith("p_") or name.endswith("_p")] == ["p_family"]


def test_a_table_that_is_too_wide_for_a_page_is_turned(results: Results) -> None:
    items = [f"item {number}" for number in range(10)]
    rows = [
        {"strategy": name, **dict.fromkeys(items, score)} for name, score in (("standard", "0.5"), ("aware", "0.6"))
    ]
    frame = pd.DataFrame(rows)
    section = Section("wide", "Wide", [], exhibit=Exhibit("wide", "Wide", [], Excerpt("wide", "Items", frame), frame))
    text = paper_of([section], results, "A study")["paper/wide.tex"].decode()
    assert " & standard & aware \\\\\n\\midrule\nitem 0 & 0.5 & 0.6 \\\\" in text


@pytest.mark.with_figures
@pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")
@pytest.mark.parametrize("options", ["", "twocolumn"])
def test_exhibits_fit_into_a_page_of_latex(results: Results, tmp_path: Path, options: str) -> None:
    with style():
        files = paper_of([*sections_of(results), MANY_COLUMNS], results, "A study")
    for name, content in files.items():
        (tmp_path / Path(name).name).write_bytes(content)
    inputs = "\n".join(f"\\input{{{path.name}}}" for path in sorted(tmp_path.glob("*.tex")))
    (tmp_path / "main.tex").write_text(
        f"\\documentclass[{options}]{{article}}\n\\usepackage{{graphicx,booktabs,tabularx}}\n"
        f"\\begin{{document}}\n{inputs}\n\\end{{document}}\n"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    too_wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", done.stdout)]
    assert [points for points in too_wide if points > 5] == []
    assert "Float too large" not in done.stdout


def test_the_arms_that_were_left_early_are_named_with_the_test_that_detects_most(tmp_path: Path) -> None:
    tested = {"arm": "*", "condition": "average", "seekers": "simulated"}
    rows = [
        *(left("amber", share, "walked_out", turn) for turn, share in ((3, 0.2), (5, 0.5))),
        left("amber", 0.1, "early", 5),
        left("birch", 0.25, "walked_out", 4),
        left("cedar", 0.75, "satisfied", 5),
        left("cedar", 0.0, "early", 5),
        tested | {"statistic": "log_rank", "p": 0.4},
        tested | {"statistic": "log_rank_stratified", "p": 0.012},
    ]
    folder = write_export(tmp_path / "export", six_people())
    with style():
        (arms,) = exhibits_of(results_of(folder, arms=ARMS, survival=rows))
        (untested,) = exhibits_of(results_of(folder, arms=ARMS, survival=rows[:3]))
    assert arms.sentences[-2:] == [
        "Walked out or ended early (simulated seekers, average): amber 60 %, birch 25 % and no other arm.",
        "Log-rank test of the turns until a walk-out, an early end, a satisfied goodbye or a stop for safety: "
        "p\u00a0=\u00a0.012.",
    ]
    assert untested.sentences[-1] == "Walked out or ended early (simulated seekers, average): amber 60 %."


def test_the_figure_of_conditions_says_of_what_its_intervals_are(tmp_path: Path) -> None:
    bounds = dict.fromkeys(("average_low", "worst_case_low", "low"), 1.0) | dict.fromkeys(
        ("average_high", "worst_case_high", "high"), 3.0
    )
    row = SCALE | {"raters": "simulated_seeker", "seekers": "simulated", "arm": "amber", "item": "*", "pairs": 6}
    row |= {"average": 2.5, "worst_case": 1.5, "difference": -1.0, "p_holm": 0.2, **bounds}
    folder = write_export(tmp_path / "export", six_people())
    with style():
        (conditions,) = exhibits_of(results_of(folder, conditions=[row]))
    assert isinstance(conditions.part, Figure)
    assert "with 95\u00a0% intervals (BCa, cluster bootstrap)" in conditions.part.caption


def test_the_two_highest_arms_are_compared_and_the_best_comes_first(tmp_path: Path) -> None:
    folder = write_export(tmp_path / "export", six_people())
    of = SCALE | {"raters": "seeker", "seekers": "person", "condition": "", "p_holm": 0.0004}
    pairs = [
        of | {"item": item, "arm_a": a, "arm_b": b, "difference": -d, "low": -d - 0.2, "high": -d + 0.1}
        for item, d in (("*", 1.0), ("care", 2.0))
        for a, b in (("cedar", "birch"), ("amber", "birch"))
    ]
    with style():
        (arms,) = exhibits_of(results_of(folder, arms=ARMS, arm_pairs=pairs))
        (several,) = exhibits_of(results_of(folder, arms=ARMS, arm_pairs=[*pairs, pairs[0] | {"condition": "worst"}]))
    assert arms.sentences[-1] == (
        "The two arms with the highest means: birch − cedar 1.00 [0.90, 1.20], p\u00a0<\u00a0.001. p is after Holm's "
        "correction over all pairs of arms. This comparison was not declared in advance, so it is exploratory."
    )
    assert "highest means" not in "".join(several.sentences)


def test_the_flow_says_where_other_conversations_are(tmp_path: Path) -> None:
    folder = write_export(tmp_path / "export", six_people())
    begun = {"stage": "conversations_begun", "statistic": "count"}
    rows = [begun | {"track": "imported", "estimate": 120}, begun | {"track": "simulated", "estimate": 60}]
    rows.append(rows[0] | {"stage": "conversations_analysed"})
    with style():
        (flow,) = exhibits_of(results_of(folder, flow=rows))
        (alone,) = exhibits_of(results_of(folder, flow=[rows[0], rows[2]]))
    assert flow.sentences[1:] == ["Other conversations are in the flows of the supplement: simulated seekers (60)."]
    assert len(alone.sentences) == 1


def test_the_highest_means_are_marked_in_files_for_papers_too() -> None:
    first, second = tag("strong", "3.9 & 4"), tag("u", "3.75")
    assert (escape_latex(first), escape_latex(second)) == (r"\textbf{3.9 \& 4}", r"\underline{3.75}")
    assert (escape_markdown(first), escape_markdown(second)) == ("**3.9 & 4**", "[3.75]{.underline}")
    assert escape_latex("<u>3</u>") == r"\textless{}u\textgreater{}3\textless{}/u\textgreater{}"


def test_a_study_without_an_exhibit_has_no_paper(tmp_path: Path) -> None:
    results = results_of(write_export(tmp_path / "export", six_people()))
    assert paper_of([Section("s", "S", [])], results, "A study") == {}


@pytest.mark.parametrize(
    ("text", "latex", "markdown"),
    [
        ("50 % of a_b", "50 \\% of a\\_b", "50 % of a\\_b"),
        ("<.001 & −1 | [0, 1]", "\\textless{}.001 \\& $-$1 | [0, 1]", "\\<.001 & −1 \\| \\[0, 1\\]"),
        ("\\input{x} $y^2", "\\textbackslash{}input\\{x\\} \\$y\\textasciicircum{}2", "\\\\input\\{x\\} \\$y\\^2"),
    ],
)
def test_texts_of_a_study_are_no_commands_in_latex_or_markdown(text: str, latex: str, markdown: str) -> None:
    assert (escape_latex(text), escape_markdown(text)) == (latex, markdown)
