"""What rules make of the tables: sentences, small tables, and what is told where there is nothing."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: TID253
import pytest

from studies.analysis import load
from studies.analysis.bootstrap import Bootstrap
from studies.analysis.language import ENGLISH, speaking
from studies.analysis.pooling import PARTS, POOLED
from studies.analysis.reporting.drawing import style
from studies.analysis.reporting.exhibits.agreement_forest import correlations
from studies.analysis.reporting.flows import boxes, flow_figure, flows
from studies.analysis.reporting.limits import limits_of, restricted_items
from studies.analysis.reporting.page import page
from studies.analysis.reporting.parts import Excerpt, Folded, Section, figures_in, first_unfolded, prose, with_own_names
from studies.analysis.reporting.sections import keep_in_mind, sections_of
from studies.analysis.reporting.sections.coverage import RULES, quality, rule
from studies.analysis.reporting.sections.judges import probes
from studies.analysis.results import Results
from studies.analysis.tables.quality import FLAGS
from studies.analysis.tables.registry import TABLES
from studies.analysis.tables.table import Table
from tests.languages import CHINESE
from tests.studies.analysis.builders import six_people, write_export

ExportOf = Callable[[Any], Path]


def results_of(folder: Path, **tables: list[Mapping[str, Any]]) -> Results:
    """With these rows in these tables, and none in the others; those of the arms pool everything, unless they say."""
    rows = {**tables, "arms": [dict.fromkeys(PARTS, POOLED) | row for row in tables.get("arms", [])]}
    found = {table.name: pd.DataFrame(rows.get(table.name, []), columns=table.all_columns()) for table in TABLES}
    return Results(load(folder), Bootstrap(2000, 1), found, TABLES)


def text_of(section: Section) -> str:
    return "".join(part for part in section.parts if isinstance(part, str))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_export(tmp_path / "export", six_people())


def agreed(judge: str, item: str, r: float, low: float, p: float = 0.04) -> dict[str, Any]:
    of = {"judge": judge, "strategy": "standard", "human": "seeker", "instrument": "ten", "moment": "final"}
    return of | {"item": item, "n": 12, "pearson": r, "pearson_low": low, "pearson_high": 0.9, "p_holm": p}


def test_spread_of_a_variant_is_shown_beside_its_difference_over_the_items(folder: Path) -> None:
    of = {"judge": "A", "strategy": "standard", "variant": "warm", "estimate": 0.1}
    rows = [
        *(of | {"item": item, "statistic": "difference"} for item in ("*", "care")),
        of | {"item": "care", "statistic": "within_sd"},
    ]
    section = probes(results_of(folder, probes=rows))
    [excerpt] = [part for part in section.parts if isinstance(part, Excerpt)]
    shown = excerpt.frame[["item", "statistic"]].to_numpy().tolist()
    assert shown == [["All items", "difference in score"], ["care", "spread of its replicates (SD)"]]


def test_fields_left_out_are_shown_where_there_are_some(folder: Path) -> None:
    judged = {"judge": "A", "item": "care"}
    strategies = {"strategy_a": "state_aware", "strategy_b": "state_aware~without_emotion"}
    rows = [judged | strategies | {"human": "seeker", "r_a": 0.5, "r_b": 0.3, "difference": -0.2}]
    of_variant = {"strategy": "state_aware", "variant": "without_emotion", "statistic": "difference", "estimate": 0.1}
    varied = [judged | of_variant]
    with_fields, without = (
        [part.name for part in probes(found).parts if isinstance(part, Excerpt)]
        for found in (results_of(folder, probes=varied, strategy_tests=rows), results_of(folder, probes=varied))
    )
    assert (with_fields, without) == (["probes", "field-tests"], ["probes"])


def test_table_1_has_a_line_for_judge_and_strategy_and_no_stars(folder: Path) -> None:
    rows = pd.DataFrame([agreed("A", "safety", 0.5, 0, 0.04), agreed("A", "care", 0.256, 0, 0.0001)])
    table = correlations(rows, "ten")
    assert table.columns.tolist() == ["judge", "strategy", "care", "safety", "n"]
    assert table.iloc[0].tolist() == ["A", "standard", "0.26", "0.50", "12"]


def test_the_report_names_items_of_checkpoints(folder: Path) -> None:
    """In every small table and figure, and in the whole tables below them; the files have the keys."""
    of = {"raters": "seeker", "instrument": "turn_checkpoint", "moment": "checkpoint", "item": "goal_progress"}
    human = {"human": "seeker", "judge": "J", "strategy": "standard"}
    tested = {"strategy_a": "standard", "strategy_b": "user_aware", "n": 9, "difference": 0.2, "low": 0.1, "high": 0.3}
    estimate = {"estimate": 0.2, "low": 0.1, "high": 0.3, "n": 9, "clusters": 9}
    of_order = of | estimate | {"statistic": "position_slope", "arm": "", "position": ""}
    of_r = {"pearson": 0.5, "pearson_low": 0.1, "pearson_high": 0.7}
    of_conditions = of | {"arm": "a", "average": 3.0, "worst_case": 2.0, "difference": -1.0, "seekers": "simulated"}
    rows: dict[str, list[Mapping[str, Any]]] = {
        "agreement": [of | human | of_r | {"n": 9, "clusters": 9, "p_holm": 0.01}],
        "strategy_tests": [of | human | tested | {"p_holm": 0.01, "p_bh": 0.01}],
        "reliability": [of | {"unit": "conversation", "n": 9, "k": 2, "icc_1_1": 0.4}],
        "rater_effects": [
            of | estimate | {"term": "erho2_users", "k": 5, "condition": "", "unit": "arm"},
            of | estimate | {"term": "variance", "level": "arm", "unit": ""},
        ],
        "conditions": [of_conditions | {"low": -1.5, "high": -0.5, "p_holm": 0.1, "pairs": 9}],
        "order": [of_order],
    }
    small = [part for section in sections_of(results_of(folder, **rows)) for part in unfolded(section.parts)]
    frames = {part.name: part.frame for part in small if isinstance(part, Excerpt)}
    said = {name: table_of(frame) for name, frame in frames.items()}
    named = [name for name, text in said.items() if "Progress towards the goal" in text]
    assert {"strategy-tests-seeker", "reliability", "variances-seeker", "conditions", "order"} <= set(named)
    assert "correlations-seeker-turn_checkpoint" in named
    assert [name for name, text in said.items() if "goal_progress" in text] == []


def unfolded(parts: Iterable[Any]) -> Iterator[Any]:
    for part in parts:
        yield from unfolded(part.parts) if isinstance(part, Folded) else [part]


def table_of(frame: pd.DataFrame) -> str:
    return " ".join(map(str, [*frame.columns, *frame.to_numpy().ravel()]))


def test_flow_has_the_stages_that_the_study_had_and_names_losses() -> None:
    found = boxes(
        {"arrived": 62, "screened_out": 9, "declined": 0, "started_chatting": 50, "completed": 17, "stopped": 33}
    )
    assert [(box.lines, box.beside) for box in found] == [
        (["opened their link: 62"], ["screened out: 9"]),
        (["began a conversation: 50", "completed the study: 17"], ["stopped: 33"]),
    ]


@pytest.mark.with_figures
def test_stages_that_the_files_do_not_tell_are_no_boxes(folder: Path) -> None:
    row = {"track": "participant", "statistic": "count"}
    rows = [row | {"stage": "invited", "estimate": 3.0}, row | {"stage": "consented", "estimate": float("nan")}]
    with_value = [rows[0], rows[1] | {"estimate": 2.0}]
    with style():
        svgs = [flow_figure(*flows(results_of(folder, flow=found))[0]).svg for found in (rows, with_value)]
    assert ["gave consent" in svg for svg in svgs] == [False, True]


def test_who_has_a_flag_is_told_in_words(folder: Path) -> None:
    of = {"person": "P1", "conversation": "", "arm": "", "estimate": 3.0, "flagged": "true"}
    rows = [of | {"statistic": name} for name in ("straight_arms", "instructed_missed")]
    section = quality(results_of(folder, quality=rows))
    assert section is not None
    [who] = [part for part in section.parts if isinstance(part, Excerpt) and part.name == "flagged"]
    assert who.frame["flags"].tolist() == [
        "an instructed item was answered differently; the same answer to every item in 3 arms or more"
    ]


def test_rules_of_flags_are_those_of_the_analysis() -> None:
    assert tuple(RULES) == FLAGS
    assert rule("straight_arms") == "the same answer to every item in 3 arms or more"
    assert rule("rating_seconds") == "a final rating in under 2 seconds per item (20 for ten)"
    assert rule("turns") == "ended with fewer turns than the study asks for (if that is unknown, 10)"
    assert rule("message_words") == "median message under 4 words"
    assert rule("message_characters") == "median message under 6 characters"


# What must be kept in mind


def scores(counts: Mapping[float, int], item: str = "care") -> pd.DataFrame:
    given = [score for score, count in counts.items() for _ in range(count)]
    return pd.DataFrame({"rater_kind": "seeker", "instrument": "ten", "item": item, "score": given})


@pytest.mark.parametrize(
    ("counts", "restricted"),
    [
        ({4: 10, 5: 10}, True),
        ({3: 4, 4: 8, 5: 8}, True),  # 16 of 20
        ({3: 5, 4: 8, 5: 7}, False),
        ({4: 10, 5: 9}, False),  # too few to say
        ({4.5: 20}, False),  # no rating scale
        ({1: 10, 5: 10}, False),  # two values, but not neighbours
    ],
)
def test_a_restricted_range_is_four_fifths_on_two_neighbours(counts: dict[float, int], restricted: bool) -> None:
    assert restricted_items(scores(counts)) == (["care"] if restricted else [])


def test_arms_whose_conversations_were_rated_unevenly_are_a_limit(export_of: ExportOf) -> None:
    folder = export_of(
        [{"conversation": f"C{n}", "participant": f"P{n}", "arm": "ab"[n % 2], "score": 3} for n in range(8)]
    )
    lines = [f"C{n},P{n},{'ab'[n % 2]},5" for n in range(8)] + [f"D{n},Q{n},b,5" for n in range(4)] + ["E,R,a,0"]
    (folder / "conversations.csv").write_text("conversation,participant,arm,turns\n" + "\n".join(lines) + "\n")
    results = results_of(folder)
    said = [
        limit for limit in limits_of(results.export, results.tables, results.bootstrap) if "spread unevenly" in limit
    ]
    assert len(said) == 1
    assert "4 of 8 with b, 0 of 4 with a" in said[0]  # a conversation without a turn did not begin
    assert "not missing completely at random" in said[0]


def of_kinds(export_of: ExportOf, kinds: Mapping[str, int], rater_kind: str) -> Results:
    """So many conversations of each kind of seekers, each of its own person or profile; all by the same rater."""
    ids = [f"{kind}{number}" for kind, count in kinds.items() for number in range(count)]
    folder = export_of([{"conversation": code, "rater": "R", "rater_kind": rater_kind, "score": 3} for code in ids])
    about = {code: code.rstrip("0123456789") for code in ids}
    lines = [
        f"{code},,{code},{kind}" if kind == "simulated" else f"{code},{code},,{kind}" for code, kind in about.items()
    ]
    header = "conversation,participant,profile,seeker_kind\n"
    (folder / "conversations.csv").write_text(header + "\n".join(lines) + "\n")
    return results_of(folder)


def about_clusters(results: Results) -> list[str]:
    return [limit for limit in results.limits() if "independent cluster" in limit]


def test_many_profiles_do_not_make_few_people_more(export_of: ExportOf) -> None:
    few = of_kinds(export_of, {"person": 20, "counsellor": 8, "simulated": 30}, "judge")
    clusters = "counsellors in a role: 8 and people: 20"
    said = f"There are few independent clusters ({clusters}). Intervals that rest only on these"
    assert [limit[: len(said)] for limit in about_clusters(few)] == [said]


@pytest.mark.parametrize(
    ("count", "said"), [(29, ["There are only 29 independent clusters, so the intervals may be too narrow."]), (30, [])]
)
def test_one_kind_of_seekers_needs_thirty_clusters(export_of: ExportOf, count: int, said: list[str]) -> None:
    assert about_clusters(of_kinds(export_of, {"person": count}, "judge")) == said


def test_a_flow_without_losses_does_not_speak_of_its_right_side() -> None:
    with style():
        captions = [
            flow_figure("participant", {"arrived": 3, "consented": 3} | losses).caption
            for losses in ({}, {"declined": 1})
        ]
    assert ["The right side" in caption for caption in captions] == [False, True]


def test_seekers_that_count_together_are_a_limit(export_of: ExportOf) -> None:
    def pooled(results: Results) -> list[str]:
        return [limit for limit in results.limits() if "arms.csv combine" in limit]

    assert pooled(of_kinds(export_of, {"person": 4}, "reviewer")) == []
    (kinds,) = pooled(of_kinds(export_of, {"person": 4, "simulated": 4}, "reviewer"))
    assert "combine several kinds of seekers (as rated by reviewers)" in kinds
    (judged,) = pooled(of_kinds(export_of, {"person": 4, "simulated": 4}, "judge"))
    assert "agreement.csv" not in judged
    folder = export_of(
        [
            {"conversation": f"C{n}", "rater": "J", "rater_kind": "judge", "score": 3, "condition": condition}
            for n, condition in enumerate(["average", "worst_case"])
        ]
    )
    (conditions,) = pooled(results_of(folder))
    assert "combine average and worst-case seekers (as rated by judges)" in conditions


def test_coverage_demonstration_and_few_resamples_are_limits(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"demonstration": true}')
    row = {"judge": "J", "arm": "a", "item": "care", "statistic": "missing_share", "estimate": 0.06}
    results = results_of(folder, coverage=[row])
    said = limits_of(results.export, results.tables, Bootstrap(999, 1))
    assert said[0].startswith("These are demonstration data")
    assert "Intervals rest on only 999 resamples. Another seed would change them." in said
    assert any(limit.startswith("More than one in twenty scores of J is missing") for limit in said)
    section = keep_in_mind(results)
    assert section
    assert text_of(section).count("<li>") == len(results.limits())


@pytest.mark.parametrize(
    ("unblinded", "said"),
    [
        ({"when": "earlier"}, "Researchers saw the results by arm before data collection was finished."),
        ({"when": "reopened"}, "The study was opened again after researchers had seen the results by arm."),
        ({"when": "over"}, None),
        (None, None),
    ],
)
def test_data_that_came_after_the_results_were_a_limit(folder: Path, unblinded: dict | None, said: str | None) -> None:
    before = results_of(folder).limits()
    (folder / "manifest.json").write_text(json.dumps({"unblinded": unblinded}))
    assert [limit for limit in results_of(folder).limits() if limit not in before] == ([said] if said else [])


# Parts and page


def test_a_table_without_a_section_still_gets_one(folder: Path) -> None:
    new = Table(
        "novelty", lambda export, bootstrap: iter(()), ["item", "estimate", "note"], {"estimate": "a way"}, "News"
    )
    rows = pd.DataFrame([["care", 0.12345, "only one"]], columns=new.columns)
    results = results_of(folder)
    results = Results(results.export, results.bootstrap, results.tables | {"novelty": rows}, (*TABLES, new))
    html = page(results, sections_of(results), {})
    assert '<summary><h3>News</h3></summary><div id="novelty">' in html
    assert html.count("News: the 1 row of novelty.csv") == 1
    assert '<td>care</td><td class="number">0.123</td><td class="note">only one</td>' in html
    assert "<dt>estimate</dt><dd>a way.</dd>" in html


def test_a_table_whose_file_has_other_rows_too_is_not_called_all_of_it(folder: Path) -> None:
    results = results_of(
        folder,
        reliability=[{"item": "care"}],
        rater_effects=[{"item": "care"}] * 41,
        order=[{"item": "care"}],
        survival=[{"arm": "amber"}],
    )
    names = ["reliability", "rater_effects", "order", "survival"]
    html = page(results, [Section("s", "S", [], names)], {})
    assert re.findall("<summary>[^<:]*: ([^<]*)<", html) == [
        "the 1 row of reliability.csv",
        "40 of the rows of rater_effects.csv",
        "1 of the rows of rater_effects.csv",
        "1 of the rows of survival.csv",
    ]


def test_a_table_that_nothing_computes_is_left_out(folder: Path) -> None:
    results = results_of(folder)
    few = {name: table for name, table in results.tables.items() if name in ("agreement", "reliability", "conditions")}
    kept = tuple(table for table in TABLES if table.name in few)
    html = page(*(of := Results(results.export, results.bootstrap, few, kept),), sections_of(of), {})
    assert "sensitivity.csv" not in html


def test_the_first_group_lies_open_and_figures_in_folds_are_files(folder: Path) -> None:
    parts = list(first_unfolded([("A", [prose("one")]), ("B", [prose("two")])]))
    assert parts == ["<p>one</p>", Folded("B", ["<p>two</p>"])]
    assert figures_in(with_own_names([Section("s", "S", parts)])) == []


def test_missing_values_are_empty_cells_and_names_are_escaped(folder: Path) -> None:
    frame = pd.DataFrame({"a_b": [float("nan"), 0.5], "<i>": ["0.25*", "x & y"], "p": [0.00012, 1.0]})
    html = page(results_of(folder), [Section("s", "S", [Excerpt("mine", "A <caption>", frame)])], {})
    assert '<th scope="col">a_<wbr>b</th><th scope="col">&lt;i&gt;</th>' in html
    assert '<tr><td></td><td class="number">0.25*</td><td class="number">&lt;.001</td></tr>' in html
    assert '<td class="number">0.500</td><td>x &amp; y</td>' in html
    assert '<div class="table" data-name="mine"><p class="caption">A &lt;caption&gt;</p>' in html


def test_heads_are_words_but_of_whole_tables_those_of_the_file(folder: Path) -> None:
    row = {"raters": "seeker", "unit": "conversation", "item": "care", "icc_a_1": 0.5}
    results = results_of(folder, reliability=[row])
    small = Excerpt("mine", "A", pd.DataFrame([row]))
    for language, words in ((ENGLISH, ["Raters", "ICC(A,1)"]), (CHINESE, ["评分者", "ICC(A,1)"])):
        with speaking(language):
            html = page(results, [Section("s", "S", [small], ["reliability"])], {})
        excerpt, whole = html.split("reliability.csv")
        assert all(f'<th scope="col">{word}</th>' in excerpt for word in words)
        assert '<th scope="col">icc_<wbr>a_<wbr>1</th>' in whole
