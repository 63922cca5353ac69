import csv
import hashlib
import html
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from studies.analysis import AnalysisError, analyse, compute, load, run
from studies.analysis.frames import EXPORTED
from studies.analysis.notes import Notes, read_notes
from studies.analysis.tables.registry import TABLES
from studies.analysis.tables.table import Table
from tests.studies.analysis.benchmark import write_benchmark
from tests.studies.analysis.builders import six_people, write_export

ExportOf = Callable[[Any], Path]
AGREEMENT = (
    "judge,strategy,human,instrument,item,moment,n,clusters,pearson,pearson_low,pearson_high,p,p_holm,spearman,kendall,"
    "within_r,system_r,bias,mae,ccc,kappa_quadratic,ceiling,note"
)
RELIABILITY = (
    "raters,unit,instrument,item,moment,n,k,icc_1_1,icc_a_1,icc_c_1,icc_1_k,icc_a_k,icc_c_k,alpha_ordinal,alpha_interval,"
    "icc_1_1_low,icc_a_k_high,alpha_ordinal_low,alpha_interval_high,kappa_fleiss,percent_agreement,cronbach,omega,note"
)
STRATEGY_TESTS = "judge,item,strategy_a,strategy_b,r_a,r_b,difference,low,high,williams_t,p,p_holm"
DISCRIMINATION = (
    "raters,item,users,models,msr,msr_corrected,msr_low,msr_high,mac,f_oneway,f_eq13,f_repeated,p_repeated,kendall_w,"
    "pairwise_share,test,correction,note"
)
ARMS = "arm,raters,item,n,mean,low,high,sd"
ROWS = {  # of the small study
    "agreement": 24,
    "strategy_tests": 12,
    "alt_test": 16,
    "reliability": 6,
    "arms": 24,
    "costs": 10,
    "rater_effects": 184,
    "sensitivity": 326,
    "cross_check": 56,
}
OF_BENCHMARKS = {
    "conditions": "arm,item,average,worst_case,difference,low,high,p,p_holm,wilcoxon_p,rank_biserial,d_z,raters",
    "survival": "arm,condition,statistic,turn,estimate,low,high,n,clusters,method,note",
    "trends": "arm,condition,source,item,statistic,turn,estimate,low,high,n,clusters,method,note",
    "emotion": "arm,condition,measure,statistic,estimate,low,high,n,clusters,method,note",
    "costs": "arm,purpose,measure,estimate,low,high,n,clusters,method,note",
}
LINUX = pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="/proc, where no one can write, is not at hand")
COSTS = "arm,language,purpose,measure,estimate,low,high,n,clusters,method,note"


class Page(HTMLParser):
    """What a report loads and links to, which ids it has, and its text with that of style and script."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        addresses = [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "srcset")]
        self.links += addresses if tag == "a" else []
        self.loads += addresses if tag != "a" else []

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def folder(export_of: ExportOf, small_study: list[dict[str, Any]]) -> Path:
    return export_of(small_study)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of the small study, for the tests that only look."""
    folder = tmp_path_factory.mktemp("analysed")
    analyse(write_export(folder / "export", six_people()), folder / "out", bootstrap=20, seed=3)
    return folder / "out"


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a benchmark."""
    folder = tmp_path_factory.mktemp("benchmark")
    analyse(write_benchmark(folder / "export", profiles=5, seed=3), folder / "out", bootstrap=20)
    return folder / "out"


@pytest.fixture
def few_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what happens around the tables, which take five times as long."""
    monkeypatch.setattr(
        run, "TABLES", [table for table in TABLES if table.name in ("agreement", "arms", "conditions", "reliability")]
    )


def contents(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


def test_the_report_tells_the_reason_of_every_gap(out: Path, benchmark: Path) -> None:
    for folder in (out, benchmark):
        assert "the table does not say why" not in (folder / "report.html").read_text(encoding="utf-8")


def test_analyse_writes_tables_figures_report_and_results(folder: Path, tmp_path: Path) -> None:
    summary = analyse(folder, tmp_path / "out", bootstrap=20)
    assert sorted(summary.files) == sorted(contents(tmp_path / "out"))
    tables = {table.file_name() for table in TABLES}
    assert {name for name in summary.files if "/" not in name} == tables | {
        "results.json",
        "report.html",
        "report.zh.html",
        "files.txt",
    }
    figures = {name for name in summary.files if name.startswith("figures/")}
    assert {Path(name).suffix for name in figures} == {".svg"}
    assert {name for name in summary.files if name.startswith("paper/")} == {
        "paper/results.qmd",
        *(f"paper/figure-{number}.{ending}" for number in (1, 2, 3) for ending in ("csv", "pdf", "svg", "tex")),
        *(f"paper/table-{number}.{ending}" for number in (1, 2, 3, 4) for ending in ("csv", "tex")),
    }
    assert (summary.ratings, summary.conversations, summary.participants) == (168, 12, 6)
    assert list(summary.rows) == [table.name for table in TABLES if not table.file]
    assert {name: rows for name, rows in summary.rows.items() if name in ROWS} == ROWS


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_table_says_how_its_numbers_are_computed(table: Table) -> None:
    assert table.methods
    assert table.heading


@pytest.mark.parametrize(
    ("name", "columns"),
    [("agreement", AGREEMENT), ("reliability", RELIABILITY), ("arms", ARMS), ("costs", COSTS)],
)
def test_tables_have_the_promised_columns(out: Path, name: str, columns: str) -> None:
    with (out / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        header = next(csv.reader(file))
    assert set(columns.split(",")) - set(header) == set()


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("agreement", AGREEMENT),
        ("strategy_tests", STRATEGY_TESTS),
        ("discrimination", DISCRIMINATION),
        ("arms", ARMS),
        ("conditions", OF_BENCHMARKS["conditions"].removesuffix(",raters")),
    ],
)
def test_promised_columns_come_first_and_in_their_order(out: Path, name: str, columns: str) -> None:
    with (out / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        assert next(csv.reader(file))[: columns.count(",") + 1] == columns.split(",")


@pytest.mark.parametrize("name", OF_BENCHMARKS)
def test_tables_of_a_benchmark_have_the_promised_columns_and_a_reason_for_each_gap(benchmark: Path, name: str) -> None:
    with (benchmark / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert set(OF_BENCHMARKS[name].split(",")) - set(rows[0]) == set()
    estimates = {"estimate", "low", "high", *OF_BENCHMARKS["conditions"].split(",")[2:11]} & set(rows[0])
    if name != "conditions":
        estimates -= {"p"}  # of tests alone
    for row in rows:
        assert [column for column in estimates if row[column] == "" and column not in row["note"]] == []


def test_report_of_a_benchmark_has_its_sections_and_figures(benchmark: Path, out: Path) -> None:
    figures = {path.name for path in (benchmark / "figures").iterdir()}
    assert figures >= {
        "conditions-simulated-seeker-simulated-ten-final.svg",
        "ablation-kind-worst-case-simulated-seeker-ten.svg",
        "survival-simulated.svg",
        "trends-emotion-score-seeker-simulated.svg",
        "emotion-emotion-score-seeker-simulated.svg",
    }
    curves = ElementTree.parse(benchmark / "figures" / "survival-simulated.svg").getroot()
    assert {"kind", "mild", "stern", "turn", "●", "□"} <= {
        "".join(text.itertext()) for text in curves.iter() if text.text
    }
    found, plain = (Page((folder / "report.html").read_text(encoding="utf-8")) for folder in (benchmark, out))
    sections = {*OF_BENCHMARKS, "ablation"}
    assert sections <= set(found.ids)
    assert (sections - {"costs"}).isdisjoint(plain.ids)
    assert "only 5 independent clusters" in found.text
    assert "Worst case minus average" in found.text
    assert "Worst case minus average" not in plain.text


def test_report_tells_where_the_two_conditions_were_met_by_others(tmp_path: Path) -> None:
    rows = [
        {"conversation": f"C{number}", "participant": f"P{number}", "arm": "a", "condition": condition, "score": number}
        for number, condition in enumerate(("average", "average", "worst_case", "worst_case"))
    ]
    warnings = analyse(write_export(tmp_path / "export", rows), tmp_path / "out", bootstrap=20).warnings
    assert (
        "Some arms met different seekers in the worst case than in the average case. Differences may come from the "
        "seekers." in warnings
    )


def test_an_empty_cell_of_an_estimate_has_its_reason_in_note(out: Path) -> None:
    for name in ("agreement", "reliability", "arms", "costs"):
        with (out / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                about = {"note", "method", "clusters", "judge", "strategy", "role", "language"}
                estimates = set(row) - about - {"p_holm", "p_bh"}
                gaps = {re.sub("_(low|high)$", "", column) for column in estimates if row[column] == ""}
                assert [gap for gap in gaps if gap not in row["note"]] == []


def test_analyse_gives_the_same_bytes_for_the_same_input_on_one_processor_and_on_more(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0, 1})
    analyse(folder, tmp_path / "once", bootstrap=20, seed=4)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0})
    analyse(folder, tmp_path / "again", bootstrap=20, seed=4)
    analyse(folder, tmp_path / "other", bootstrap=20, seed=5)
    once, again, other = (contents(tmp_path / name) for name in ("once", "again", "other"))
    assert once == again
    assert once["sensitivity.csv"] != other["sensitivity.csv"]


def test_analyse_gives_the_same_tables_for_shuffled_rows(folder: Path, tmp_path: Path) -> None:
    analyse(folder, tmp_path / "once", bootstrap=20)
    header, *rows = (folder / "ratings.csv").read_text().splitlines(keepends=True)
    (folder / "ratings.csv").write_text("".join([header, *reversed(rows)]))
    analyse(folder, tmp_path / "again", bootstrap=20)
    once, again = (contents(tmp_path / name) for name in ("once", "again"))
    differing = [name for name in once if once[name] != again[name]]
    assert differing == ["report.html", "report.zh.html", "results.json"]  # the data's hash


def test_report_gives_the_reason_of_every_table_without_rows(out: Path) -> None:
    report = (out / "report.html").read_text(encoding="utf-8")
    reasons = json.loads((out / "results.json").read_text(encoding="utf-8"))["tables_without_rows"]
    files = {table.name: table.file_name() for table in TABLES}
    own = [name for name in reasons if files[name] == f"{name}.csv"]
    lines = {name: (out / f"{name}.csv").read_text(encoding="utf-8").count("\n") for name in own}
    assert lines == dict.fromkeys(own, 1)
    assert all(f"({files[name]}): {reason}" in report for name, reason in reasons.items())
    assert "Tables without rows" in report


def test_results_have_the_limits_in_every_language(out: Path) -> None:
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    chinese = (out / "report.zh.html").read_text(encoding="utf-8")
    assert len(results["limits_zh"]) == len(results["limits"]) > 0
    assert all(html.escape(sentence, quote=False) in chinese for sentence in results["limits_zh"])


def test_results_have_the_codes_of_all_notes(out: Path) -> None:
    tables = json.loads((out / "results.json").read_text(encoding="utf-8"))["tables"]
    rows = [row for table in tables.values() for row in table if row.get("note")]
    assert len(rows) > 50
    for row in rows:
        assert row["note"] == str(Notes(*read_notes(row)))


def test_results_say_settings_versions_hashes_and_every_row(out: Path) -> None:
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    digest = hashlib.sha256((out.parent / "export" / "ratings.csv").read_bytes()).hexdigest()
    assert results["settings"] == {"bootstrap": 20, "seed": 3, "correlations": "jackknife", "level": 0.95}
    assert results["files"] == {"ratings.csv": {"sha256": digest, "rows": 168}}
    assert set(results["versions"]) == {
        "python",
        "numpy",
        "pandas",
        "scipy",
        "statsmodels",
        "pingouin",
        "krippendorff",
        "matplotlib",
    }
    assert results["absent"][0] == "participants.csv"
    assert results["tables_without_rows"]["conditions"] == "No arm met both average and worst-case seekers."
    assert results["methods"] == {table.name: dict(table.methods) for table in TABLES}
    assert {name: len(rows) for name, rows in results["tables"].items() if name in ROWS} == ROWS
    seeker = results["tables"]["agreement"][-1]
    assert seeker["human"] == "seeker"
    assert seeker["ceiling"] is None
    assert seeker["method"] == "jackknife of clusters, Student's t, on Fisher's z; bias: BCa"


@pytest.mark.parametrize("name", ["report.html", "report.zh.html"])
def test_report_needs_no_network_and_works_without_its_script(out: Path, name: str) -> None:
    html = (out / name).read_text(encoding="utf-8")
    page = Page(html)
    assert [address for address in page.loads if not address.startswith(("#", "data:"))] == []
    assert not {"link", "iframe", "object", "button"} & set(page.tags)
    assert page.tags.count("script") == 1
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert page.tags.count("svg") == len(list((out / "figures").glob("*.svg")))


def test_report_says_what_it_rests_on(out: Path) -> None:
    text = Page((out / "report.html").read_text(encoding="utf-8")).text
    assert "20 resamples of clusters, seed 3. There are 6 clusters in all" in text
    assert "There are only 6 independent clusters, so the intervals may be too narrow." in text
    assert "participants.csv, answers.csv, scales.csv" in text
    assert "Demonstration data" not in text
    scores = "168 scores on items (24 by participants and 48 by reviewers)"
    assert f"The data: 6 participants, 2 reviewers, 1 judge, 12 conversations and {scores}." in text


def test_reports_link_to_each_other_and_say_their_language(out: Path) -> None:
    english, chinese = ((out / name).read_text(encoding="utf-8") for name in ("report.html", "report.zh.html"))
    assert ("report.zh.html" in Page(english).links, "report.html" in Page(chinese).links) == (True, True)
    assert ('<html lang="en">' in english, '<html lang="zh-Hans">' in chinese) == (True, True)


@pytest.mark.usefixtures("few_tables")
def test_report_of_demonstration_data_bears_a_ribbon(folder: Path, tmp_path: Path) -> None:
    (folder / "manifest.json").write_text('{"demonstration": true}')
    assert analyse(folder, tmp_path / "out", bootstrap=20).demonstration
    assert "Demonstration data" in Page((tmp_path / "out" / "report.html").read_text(encoding="utf-8")).text


@pytest.mark.with_figures
def test_report_and_figures_take_names_as_text(
    export_of: ExportOf, small_study: list[dict[str, Any]], tmp_path: Path
) -> None:
    for row in small_study:
        row["item"] = {"care": "<script>alert(1)</script>", "safety": "$x^2 安全 'a'"}[row["item"]]
        row["rater"] = "../../J" if row["rater"] == "J" else row["rater"]
    analyse(export_of(small_study), tmp_path / "out", bootstrap=20)
    page = Page((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    assert page.tags.count("script") == 1
    assert "<script>alert(1)</script>" in page.text
    for figure in (tmp_path / "out" / "figures").glob("a*.svg"):
        texts = "".join(ElementTree.parse(figure).getroot().itertext())
        assert "$x^2 安全 'a'" in texts


@pytest.mark.usefixtures("few_tables")
def test_figures_whose_names_differ_in_signs_only_are_all_kept(
    export_of: ExportOf, small_study: list[dict[str, Any]], tmp_path: Path
) -> None:
    rows = small_study + [row | {"instrument": "TEN!"} for row in small_study]
    files = analyse(export_of(rows), tmp_path / "out", bootstrap=20).files
    assert {"figures/arms-seeker-ten-final.svg", "figures/arms-seeker-ten-final-2.svg"} <= set(files)


@pytest.mark.usefixtures("few_tables")
def test_tables_guard_texts_that_a_spreadsheet_would_run(
    export_of: ExportOf, small_study: list[dict[str, Any]], tmp_path: Path
) -> None:
    for row in small_study:
        row["item"] = "'=1+1" if row["item"] == "care" else row["item"]
    analyse(export_of(small_study), tmp_path / "out", bootstrap=20)
    with (tmp_path / "out" / "arms.csv").open(newline="", encoding="utf-8") as file:
        assert {row["item"] for row in csv.DictReader(file)} == {"'=1+1", "safety", "*"}


def test_analyse_without_judges_arms_or_several_raters_says_what_is_left_out(
    export_of: ExportOf, tmp_path: Path
) -> None:
    summary = analyse(export_of([{"conversation": "C1", "score": 3}]), tmp_path / "out", bootstrap=20)
    assert {name: rows for name, rows in summary.rows.items() if rows} == {"sensitivity": 1}
    text = Page((tmp_path / "out" / "report.html").read_text(encoding="utf-8")).text
    assert "No judge and person scored the same conversation, so there is nothing to compare." in text
    assert "No rating belongs to an arm." in text


def test_analyse_tells_its_progress(folder: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int, str]] = []
    analyse(folder, tmp_path / "out", bootstrap=20, on_progress=lambda *step: told.append(step))
    steps = len(TABLES) + 1
    assert told[0] == (0, steps, "agreement")
    assert {(steps - 1, steps, what) for what in ("report.html: arms", "report.zh.html")} <= set(told)
    assert told[-1] == (steps, steps, "done")
    assert [step[0] for step in told] == sorted(step[0] for step in told)


@pytest.mark.parametrize(("bootstrap", "seed"), [(0, 1), (-5, 1), (10, -1)])
def test_analyse_refuses_odd_settings(folder: Path, tmp_path: Path, bootstrap: int, seed: int) -> None:
    with pytest.raises(AnalysisError, match="bootstrap must be at least 1 and seed at least 0"):
        analyse(folder, tmp_path / "out", bootstrap=bootstrap, seed=seed)


@pytest.mark.parametrize(("bootstrap", "seed"), [(2.5, 1), (20, 1.0), ("20", 1)])
def test_settings_that_are_no_whole_numbers_are_refused(folder: Path, bootstrap: Any, seed: Any) -> None:
    with pytest.raises(AnalysisError) as raised:
        compute(load(folder), tables=["arms"], bootstrap=bootstrap, seed=seed)
    assert str(raised.value) == f"bootstrap and seed must be whole numbers, not {bootstrap!r} and {seed!r}"


@pytest.mark.usefixtures("few_tables")
def test_a_manifest_with_a_byte_order_mark_is_read(folder: Path, tmp_path: Path) -> None:
    (folder / "manifest.json").write_text('{"demonstration": true, "title": "Ours"}', encoding="utf-8-sig")
    assert analyse(folder, tmp_path / "out", bootstrap=20).demonstration
    assert "Ours" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_analyse_of_bad_input_writes_nothing(folder: Path, tmp_path: Path) -> None:
    with (folder / "ratings.csv").open("a", encoding="utf-8") as file:
        file.write("C0a,,,,P0,seeker,,,ten,care,final,,high,,,\n")
    with pytest.raises(AnalysisError, match=r"^ratings\.csv:170:score: 'high' is not a number$"):
        analyse(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        *((name, "", " is empty") for name in EXPORTED if name.endswith(".csv")),
        ("manifest.json", "{", " is not JSON (Expecting property name enclosed in double quotes: line 1 column 2 "),
        ("conversations.csv", "conversation,position\nC,0\n", "2:position: '0' is not a whole number from 1"),
        ("conversations.csv", "conversation,holds\nC,one\n", "2:holds: 'one' is not a number"),
        ("turns.csv", "conversation,role,text\n", "1:turn: the column is missing "),
        ("answers.csv", "participant,value\nP1,x\n", "2:value: 'x' is not a number"),
        ("scales.csv", "participant,scale,score\nP1,E,x\n", "2:score: 'x' is not a number"),
        ("participants.csv", "participant,track\nP1,all\nP2,all\nP1,all\n", "4:participant: 'P1' is in line 2 already"),
        ("states.csv", "conversation,turn\nC,x\n", "2:turn: 'x' is not a whole number"),
        ("states.csv", "conversation,turn\nC,100001\n", "2:turn: '100001' is not a whole number from 0 to 100,000"),
        ("states.csv", "conversation,turn\nC,\n", "2:turn: is empty"),
        (
            "calls.csv",
            "conversation,purpose,status,total_ms,input_tokens,output_tokens,cost\nC,reply,ok,-5,3,4,\n",
            "2:total_ms: '-5' is below 0",
        ),
        ("study.json", "[", " is not JSON (Expecting value: line 1 column 2 "),
        ("study.json", "[]", " is no list of versions, each with its study"),
        ("study.json", '[{"study": 3}]', " the study of the last version is no object"),
        ("pairs.csv", "pair\n", "1:conversation_a: the columns conversation_a, conversation_b, rater, "),
        ("calls.csv", "conversation\n", "1:purpose: the columns purpose, status, "),
    ],
)
def test_analyse_refuses_a_fault_of_any_file_before_the_first_table(
    folder: Path, tmp_path: Path, name: str, text: str, fault: str
) -> None:
    (folder / name).write_text(text)
    told: list[tuple[int, int, str]] = []
    with pytest.raises(AnalysisError) as raised:
        analyse(folder, tmp_path / "out", on_progress=lambda *step: told.append(step))
    assert str(raised.value).startswith(f"{name}:{fault}")
    assert told == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("out", "why"),
    [
        ("mine", "is a file, not a folder"),
        ("mine/below", "is no folder that can be written into (Not a directory)"),
        pytest.param("/proc/self", "is no folder that can be written into (", marks=LINUX),
    ],
)
def test_analyse_refuses_a_place_for_results_before_the_first_table(
    folder: Path, tmp_path: Path, out: str, why: str
) -> None:
    (tmp_path / "mine").write_text("mine")
    told: list[tuple[int, int, str]] = []
    with pytest.raises(AnalysisError) as raised:
        analyse(folder, tmp_path / out, on_progress=lambda *step: told.append(step))
    assert str(raised.value).startswith(f"{tmp_path / out}: {why}")
    assert told == []


@pytest.mark.usefixtures("few_tables")
def test_new_folder_goes_again_where_the_analysis_is_broken_off(folder: Path, tmp_path: Path) -> None:
    def break_off(_done: int, _total: int, what: str) -> None:
        if what.startswith("arms"):
            raise KeyboardInterrupt

    (tmp_path / "kept").mkdir()
    for out in ("new", "kept"):
        with pytest.raises(KeyboardInterrupt):
            analyse(folder, tmp_path / out, bootstrap=20, on_progress=break_off)
    assert not (tmp_path / "new").exists()
    assert list((tmp_path / "kept").iterdir()) == []


@pytest.mark.usefixtures("few_tables")
def test_full_disk_leaves_earlier_results_as_they_are(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "agreement.csv").write_text("of before")
    (out / "files.txt").write_text("agreement.csv\nfiles.txt\n")
    write = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        if path.name == "results.json":
            raise OSError(28, "No space left on device", str(path))
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        analyse(folder, out, bootstrap=20)
    assert sorted(path.name for path in out.iterdir()) == ["agreement.csv", "files.txt"]
    assert (out / "agreement.csv").read_text() == "of before"


@pytest.mark.usefixtures("few_tables")
def test_new_results_leave_no_exhibit_of_earlier_ones_and_touch_no_other_file(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    files = analyse(folder, out, bootstrap=20).files
    for name in ("paper/table-9.tex", "figures/old.svg", "../elsewhere.txt"):
        (out / name).write_text("of before")
    (out / "files.txt").write_text("\n".join([*files, "paper/table-9.tex", "figures/old.svg", "../elsewhere.txt"]))
    for name in ("notes.txt", "figures/mine.svg", "paper/thesis.tex"):
        (out / name).write_text("mine")
    assert analyse(folder, out, bootstrap=20).files == files
    assert set(contents(out)) == {*files, "notes.txt", "figures/mine.svg", "paper/thesis.tex"}
    assert (out / "files.txt").read_text().splitlines() == sorted(files)
    assert (tmp_path / "elsewhere.txt").read_text() == "of before"


@pytest.mark.usefixtures("few_tables")
def test_a_list_of_someone_else_is_neither_followed_nor_overwritten(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    mine = {"files.txt": b"notes.txt\n", "notes.txt": b"mine"}
    for name, content in mine.items():
        (out / name).write_bytes(content)
    with pytest.raises(AnalysisError, match=r"lists in files\.txt: files\.txt\. Give another folder"):
        analyse(folder, out, bootstrap=20)
    assert contents(out) == mine


@pytest.mark.parametrize("name", ["report.html", "arms.csv", "paper/table-9.tex"])
def test_analyse_refuses_to_overwrite_what_no_earlier_run_lists(folder: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    (out / name).parent.mkdir(parents=True)
    (out / name).write_text("mine")
    with pytest.raises(AnalysisError) as raised:
        analyse(folder, out)
    assert str(raised.value) == (
        f"{out}: holds files that this run would overwrite and that no earlier one lists in files.txt: {name}. Give "
        "another folder, or move them away"
    )
    assert contents(out) == {name: b"mine"}


@pytest.mark.usefixtures("few_tables")
def test_a_figure_of_another_is_found_before_anything_is_removed(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    files = analyse(folder, out, bootstrap=20).files
    figure = next(name for name in files if name.startswith("figures/"))
    (out / "files.txt").write_text("".join(f"{name}\n" for name in files if name != figure))
    before = contents(out)
    with pytest.raises(AnalysisError, match=f"lists in files.txt: {figure}. Give"):
        analyse(folder, out, bootstrap=20)
    assert contents(out) == before


@pytest.mark.parametrize(
    ("out", "why"),
    [
        ("export", "is the folder that is read"),
        ("export/../export", "is the folder that is read"),
        ("export/results", "is inside "),
        (".", "holds "),
    ],
)
def test_analyse_keeps_results_apart_from_what_it_reads(folder: Path, tmp_path: Path, out: str, why: str) -> None:
    folder = folder.rename(tmp_path / "export")
    before = contents(folder)
    with pytest.raises(AnalysisError) as raised:
        analyse(folder, tmp_path / out)
    assert str(raised.value).startswith(f"{tmp_path / out}: {why}")
    assert contents(folder) == before


def test_analyse_does_not_write_over_a_file(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(AnalysisError, match="is a file, not a folder"):
        analyse(folder, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"


def test_importing_the_analysis_imports_no_heavy_package() -> None:
    heavy = "{'pandas', 'pingouin', 'scipy', 'matplotlib', 'krippendorff', 'statsmodels', 'django'}"
    code = f"import sys, studies.analysis; print(sorted({heavy} & set(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_analyse_runs_without_django_and_its_settings(folder: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from studies.analysis import analyse; "
        f"analyse(Path({str(folder)!r}), Path({str(tmp_path / 'out')!r}), bootstrap=5); "
        "print(sorted(name for name in sys.modules if name.split('.')[0] == 'django'))"
    )
    said = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.strip() == "[]"
    assert (tmp_path / "out" / "report.html").is_file()


def test_a_notebook_gets_tables_as_frames(folder: Path, out: Path) -> None:
    export = load(str(folder))
    tables = compute(export, tables=["arms"], bootstrap=20, seed=3)
    assert list(tables) == ["arms"]
    with (out / "arms.csv").open(newline="", encoding="utf-8") as file:
        written = [float(row["low"]) for row in csv.DictReader(file)]
    assert tables["arms"]["low"].tolist() == pytest.approx(written, rel=1e-11)


def test_a_table_that_is_not_there_is_refused(folder: Path) -> None:
    with pytest.raises(AnalysisError, match=r"^there is no table mean, median$"):
        compute(load(folder), tables=["median", "arms", "mean"])


def test_a_text_in_place_of_a_list_of_tables_is_refused(folder: Path) -> None:
    with pytest.raises(AnalysisError, match=r"^tables must be a list of names, as in \['arms'\], not a text$"):
        compute(load(folder), tables="arms")
