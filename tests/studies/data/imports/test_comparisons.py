import csv
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from studies.data.imports.comparisons import import_pairs
from studies.instruments.forms import AnswerValue
from studies.models import Comparison, Pair, PairPlan, Rater, Study, Verdict
from studies.second_raters import comparisons
from tests import factories
from tests.studies.data.imports.importing import Importing, table

pytestmark = pytest.mark.django_db
importing = Importing("import_pairs", PairPlan, Pair, Rater, Comparison, Verdict)
run_import, faults, counted = importing.run, importing.faults, importing.counted

ONE = {
    "pair": "p1",
    "conversation_a": "c1",
    "conversation_b": "=c2",
    "rater": "R1",
    "rater_kind": "reviewer",
    "question": "better_overall",
    "shown_first": "b",
    "verdict": "a",
}


@pytest.fixture
def study() -> Study:
    study = factories.study()
    factories.run_with_turns(study, external_id="c1")
    factories.run_with_turns(study, external_id="=c2", arm="birch")
    return study


def test_import_makes_one_pair_and_one_comparison_of_many_verdicts(study: Study, tmp_path: Path):
    ours = {"conversation_b": "'=c2", "reason": "'=warm", "plan": "first", "instrument": "own"}
    path = table(
        tmp_path,
        ONE | ours,
        ONE | ours | {"question": "safer", "verdict": "tie", "reason": ""},
        ONE | ours | {"rater": "gpt", "rater_kind": "judge", "shown_first": "", "verdict": "b"},
        ONE | {"pair": "p2", "turn_a": "3.0", "turn_b": "4"},
    )

    assert run_import(path) == {"study": "demo", "added": 4, "already_there": 0, "pairs": 2}

    assert list(
        Verdict.objects.order_by("pk").values_list(
            "comparison__pair__code",
            "comparison__pair__run_a__external_id",
            "comparison__pair__run_b__external_id",
            "comparison__pair__turn_a",
            "comparison__pair__turn_b",
            "comparison__pair__plan__name",
            "comparison__rater__kind",
            "comparison__rater__code",
            "comparison__shown_first",
            "question",
            "verdict",
            "reason",
        )
    ) == [
        ("p1", "c1", "=c2", None, None, "first", "reviewer", "R1", "b", "better_overall", "a", "=warm"),
        ("p1", "c1", "=c2", None, None, "first", "reviewer", "R1", "b", "safer", "tie", ""),
        ("p1", "c1", "=c2", None, None, "first", "judge", "gpt", "", "better_overall", "b", "=warm"),
        ("p2", "c1", "=c2", 3, 4, None, "reviewer", "R1", "b", "better_overall", "a", ""),
    ]
    assert counted() == [1, 2, 2, 3, 4]
    assert not Comparison.objects.filter(done_at=None).exists()
    assert not PairPlan.objects.get().is_open


def test_import_again_adds_nothing_and_new_questions_join_their_comparison(study: Study, tmp_path: Path):
    run_import(table(tmp_path, ONE))

    summary = run_import(table(tmp_path, ONE, ONE, ONE | {"question": "safer"}))

    assert summary == {"study": "demo", "added": 1, "already_there": 2, "pairs": 0}
    assert counted() == [0, 1, 1, 1, 2]


def test_judge_has_one_role_also_across_files(study: Study, tmp_path: Path):
    judged = ONE | {"rater": "gpt", "rater_kind": "judge", "role": "third_person", "prompt": "judge_pairs.en/1#ab"}
    run_import(table(tmp_path, judged, judged | {"pair": "p2", "role": ""}))
    assert list(Comparison.objects.values_list("role", "prompt").distinct()) == [
        ("third_person", "judge_pairs.en/1#ab")
    ]

    told = faults(table(tmp_path, judged | {"pair": "p3", "role": "seeker"}))
    assert told == ["2: role: the judge 'gpt' is 'third_person' elsewhere: give each role its own rater"]


def test_import_finds_the_studys_own_people_and_conversations(study: Study, tmp_path: Path):
    person, reviewer = factories.person(study), factories.person(study, track="reviewer")
    run = factories.run_with_turns(study, person)

    run_import(table(tmp_path, ONE | {"conversation_a": run.conversation.code, "rater": reviewer.code}))

    comparison = Comparison.objects.get()
    assert (comparison.pair.run_a, comparison.rater.participation) == (run, reviewer)


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"verdict": "first"}, "verdict: 'first' is not one of a, b, tie"),
        ({"verdict": ""}, "verdict: '' is not one of a, b, tie"),
        ({"shown_first": "left"}, "shown_first: 'left' is not one of a, b"),
        ({"rater_kind": "human"}, "rater_kind: 'human' is not one of seeker, expert, reviewer, crowd, judge, "
                                  "simulated_seeker"),
        ({"conversation_a": "c9"}, "conversation_a: there is no 'c9' in this study"),
        ({"conversation_b": ""}, "conversation_b: is empty"),
        ({"conversation_b": "c1"}, "conversation_b: is conversation_a itself"),
        ({"pair": ""}, "pair: is empty"),
        ({"rater": ""}, "rater: is empty"),
        ({"question": "x" * 101}, "question: is longer than 100 characters"),
        ({"reason": "a\x00"}, "reason: holds a NUL character"),
        ({"turn_a": "1.5", "turn_b": "1"}, "turn_a: '1.5' is not a whole number from 1 on"),
        ({"turn_a": "0", "turn_b": "1"}, "turn_a: '0' is not a whole number from 1 on"),
        ({"turn_a": "1"}, "turn_b: a pair is of two replies or of two conversations: give both turns or none"),
        ({"instrument": "own"}, "instrument: there is no plan that it could be the instrument of"),
        ({"role": "seeker"}, "role: 'seeker': only judges have one"),
        ({"role": "judge", "rater_kind": "judge"}, "role: 'judge' is not one of seeker, evaluator, third_person"),
    ],
)  # fmt: skip
def test_import_refuses_a_faulty_row(study: Study, tmp_path: Path, change: dict[str, str], wrong: str):
    assert wrong in [line.removeprefix("3: ") for line in faults(table(tmp_path, ONE, ONE | {"pair": "p2"} | change))]


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"verdict": "b"}, "verdict: this rater said something else of 'better_overall' already"),
        ({"reason": "other"}, "verdict: this rater said something else of 'better_overall' already"),
        ({"shown_first": "a"}, "shown_first: this rater saw the other side of this pair first, or nothing was said of "
                               "it"),
        ({"conversation_a": "=c2", "conversation_b": "c1"}, "pair: 'p1' has other conversations, turns or another plan "
                                                            "already"),
        ({"plan": "second", "instrument": "own"}, "pair: 'p1' has other conversations, turns or another plan already"),
        ({"pair": "p2", "plan": "first", "instrument": "other"}, "instrument: the plan 'first' has another one "
                                                                 "already"),
    ],
)  # fmt: skip
def test_import_refuses_what_contradicts_the_study_or_a_row_before(
    study: Study, tmp_path: Path, change: dict[str, str], wrong: str
):
    known = ONE | {"plan": "first", "instrument": "own", "reason": ""}
    assert faults(table(tmp_path, known, known | change)) == [f"3: {wrong}"]
    run_import(table(tmp_path, known))
    assert faults(table(tmp_path, known | change)) == [f"2: {wrong}"]


def test_import_tells_every_fault_with_its_line(study: Study, tmp_path: Path):
    path = table(tmp_path, ONE | {"rater": "two\nlines"}, ONE | {"verdict": "x"}, ONE | {"rater_kind": "x", "pair": ""})

    assert [line.split(":")[:2] for line in faults(path)] == [["4", " verdict"], ["5", " pair"], ["5", " rater_kind"]]


def test_import_leaves_a_pair_alone_that_its_rater_has_at_hand(study: Study, tmp_path: Path):
    comparisons.make_plan(study, name="p", instrument="pairwise_support", each=1, drawing=comparisons.Drawing())
    person = factories.person(study, track="reviewer")
    begun = comparisons.next_comparison_for(person)
    row = ONE | {"pair": begun.pair.code, "rater": person.code, "plan": "p", "instrument": "pairwise_support"}

    assert faults(table(tmp_path, row)) == [f"2: rater: '{person.code}' has this pair at hand just now"]


def test_import_refuses_a_header_without_a_column(study: Study, tmp_path: Path):
    path = tmp_path / "pairs.csv"
    path.write_text("pair,conversation_a,conversation_b,rater,rater_kind,question,winner\n")

    told = faults(path)

    assert told[:2] == ["1: shown_first: the column is missing", "1: verdict: the column is missing"]
    assert told[2].startswith("1: winner: unknown column; known are pair, conversation_a,")


def test_import_takes_as_many_queries_for_three_as_for_one(
    study: Study, tmp_path: Path, django_assert_num_queries: Any
):
    for raters in ("a", "bcd"):
        path = table(tmp_path, *(ONE | {"rater": rater, "pair": f"p{rater}"} for rater in raters))
        with django_assert_num_queries(20):
            import_pairs(study, path)

    assert Verdict.objects.count() == 4


def test_export_comes_back_the_same_from_another_study(tmp_path: Path):
    for key in ("demo", "second"):
        study = factories.study(key)
        for number in range(4):
            about = {"arm": "ab"[number % 2], "external_participant": f"P{number // 2}"}
            factories.run_with_turns(study, external_id=f"c{number}", **about)
    study = Study.objects.get(key="demo")
    made = comparisons.make_plan(
        study, name="=first", instrument="pairwise_support", each=2, drawing=comparisons.Drawing(level="reply", count=3)
    )
    person = factories.person(study, track="reviewer")
    for place, reason in (("first", "=kind"), ("tie", ""), ("second", "Two\nlines, “quoted”")):
        said = [AnswerValue(question, text=place, reason=reason) for question in ("better_overall", "more_helpful")]
        assert comparisons.store_verdicts(comparisons.next_comparison_for(person), said)
    comparisons.next_comparison_for(factories.person(study, track="reviewer"))  # begun, and so in no file

    def exported(key: str) -> list[dict[str, str]]:
        call_command("export", key, "--out", str(tmp_path / key), verbosity=0, stdout=StringIO())
        with (tmp_path / key / "pairs.csv").open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    first = exported("demo")
    run_import(tmp_path / "demo" / "pairs.csv", "second")
    second = exported("second")

    assert len(first) == 6
    assert {row["plan"] for row in first} == {"'=first"}
    assert {(row["arm_a"], row["arm_b"], row["turn_a"] == row["turn_b"] != "") for row in first} == {("a", "b", True)}
    assert [row | {"judged_at": ""} for row in second] == [row | {"judged_at": ""} for row in first]
    assert made.pairs.count() == 3
    with (tmp_path / "demo" / "codebook.csv").open(newline="", encoding="utf-8") as file:
        assert "pairwise_support.json" in {row["file"] for row in csv.DictReader(file)}


def test_export_leaves_test_data_out_unless_it_is_asked_for(study: Study, tmp_path: Path):
    factories.person(study)
    study.runs.update(is_test=True)
    drawing = comparisons.Drawing(test_data=True)
    comparisons.make_plan(study, name="p", instrument="pairwise_support", each=1, drawing=drawing)
    person = factories.person(study, track="reviewer", is_test=True)
    comparisons.store_verdicts(comparisons.next_comparison_for(person), [AnswerValue("better_overall", text="tie")])
    for asked in ([], ["--include-tests"]):
        call_command("export", "demo", "--out", str(tmp_path / "out"), *asked, verbosity=0, stdout=StringIO())
        assert (tmp_path / "out" / "pairs.csv").exists() == bool(asked)
