from pathlib import Path
from typing import Any

import pytest

from studies.data.imports.ratings import import_ratings
from studies.models import Answer, Rater, Response, Study
from tests import factories
from tests.studies.data.imports.importing import Importing, table

pytestmark = pytest.mark.django_db
MODELS = (Rater, Response, Answer)
of_ours = Importing("import_ratings", *MODELS)
as_is = Importing("import_ratings", *MODELS, options=["--as-is"])
run_import, faults = as_is.run, as_is.faults

ONE = {
    "conversation": "c1",
    "rater": "expert1",
    "rater_kind": "expert",
    "instrument": "lend_an_ear",
    "item": "advice_giving",
    "score": "4.5",
}

OURS = ONE | {"instrument": "emoharbor_10", "item": "empathetic", "score": "4"}
INSTRUMENTS = "emoharbor_10, reply_rating, turn_checkpoint, worst_case_4"
FOREIGN = "(--as-is takes ratings on any other scale)"


@pytest.fixture
def study() -> Study:
    study = factories.study()
    factories.run_with_turns(study, external_id="c1")
    factories.run_with_turns(study, external_id="=c2")
    return study


def test_import_makes_one_response_of_the_items_of_one_place(study: Study, tmp_path: Path):
    judged = ONE | {"rater": "gpt", "rater_kind": "judge", "strategy": "standard", "replicate": "2"}
    path = table(
        tmp_path,
        ONE,
        ONE | {"item": "validating", "score": "-1e-3"},
        ONE | {"moment": "turn", "turn": "3.0", "score": "1"},
        judged | {"conversation": "'=c2", "score": "", "missing_reason": "refused"},
    )

    summary = run_import(path)

    assert summary == {"study": "demo", "added": 4, "already_there": 0, "missing": 1, "not_answered_yet": 0}
    assert list(
        Answer.objects.order_by("pk").values_list(
            "response__rater__kind",
            "response__rater__code",
            "response__rater__strategy",
            "response__run__external_id",
            "response__moment",
            "response__turn",
            "response__replicate",
            "response__is_rating",
            "item",
            "value",
            "missing_reason",
        )
    ) == [
        ("expert", "expert1", "", "c1", "final", 0, 1, True, "advice_giving", 4.5, ""),
        ("expert", "expert1", "", "c1", "final", 0, 1, True, "validating", -0.001, ""),
        ("expert", "expert1", "", "c1", "turn", 3, 1, True, "advice_giving", 1.0, ""),
        ("judge", "gpt", "standard", "=c2", "final", 0, 2, True, "advice_giving", None, "refused"),
    ]
    assert Response.objects.count() == 3


def test_import_keeps_as_whom_a_judge_rated_and_by_which_prompt(study: Study, tmp_path: Path):
    judged = ONE | {"rater": "gpt", "rater_kind": "judge", "strategy": "standard"}
    told = {"role": "evaluator", "prompt": "judge_evaluator.en/1#1f0c2a9b"}
    path = table(tmp_path, judged | told, judged | told | {"rater": "gpt~padding"}, judged | {"conversation": "'=c2"})

    assert run_import(path)["added"] == 3
    kept = Response.objects.order_by("pk").values_list("rater__code", "role", "prompt")
    assert list(kept) == [
        ("gpt", "evaluator", "judge_evaluator.en/1#1f0c2a9b"),
        ("gpt~padding", "evaluator", "judge_evaluator.en/1#1f0c2a9b"),
        ("gpt", "evaluator", ""),  # the file is silent, and a judge has one role
    ]


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"role": "rubric"}, "role: 'rubric' is not one of seeker, evaluator, third_person"),
        ({"rater_kind": "expert", "role": "seeker", "strategy": ""}, "role: 'seeker': only judges have one"),
        ({"role": "seeker"}, "role: the judge 'gpt' is 'evaluator' elsewhere: give each role its own rater"),
    ],
)
def test_import_refuses_a_second_role_of_a_judge(study: Study, tmp_path: Path, change: dict[str, str], wrong: str):
    judged = ONE | {"rater": "gpt", "rater_kind": "judge", "strategy": "standard", "role": "evaluator"}
    run_import(table(tmp_path, judged))

    assert faults(table(tmp_path, judged | {"item": "other"} | change)) == [f"2: {wrong}"]


def test_import_again_adds_nothing_and_new_items_join_their_response(study: Study, tmp_path: Path):
    run_import(table(tmp_path, ONE))

    summary = run_import(table(tmp_path, ONE, ONE, ONE | {"item": "validating"}))

    assert (summary["added"], summary["already_there"]) == (1, 2)
    assert (Rater.objects.count(), Response.objects.count(), Answer.objects.count()) == (1, 1, 2)


def test_import_takes_a_final_rating_for_one_whatever_turn_an_export_says(study: Study, tmp_path: Path):
    run_import(table(tmp_path, ONE | {"moment": "final", "turn": ""}))

    summary = run_import(table(tmp_path, ONE | {"moment": "final", "turn": "6"}))

    assert (summary["added"], summary["already_there"]) == (0, 1)
    assert Response.objects.get().turn == 0


def test_import_tells_ratings_without_a_moment_apart_by_their_turns(study: Study, tmp_path: Path):
    run_import(table(tmp_path, ONE | {"turn": "1"}, ONE | {"turn": "2", "score": "1"}))

    assert set(Response.objects.values_list("turn", flat=True)) == {1, 2}


def test_import_takes_the_code_of_a_conversation_held_here(study: Study, tmp_path: Path):
    person = factories.person(study)
    run = factories.run_with_turns(study, person)

    run_import(table(tmp_path, ONE | {"conversation": run.conversation.code, "rater": person.code}))

    response = Response.objects.get()
    assert (response.run, response.rater.participation) == (run, person)


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"score": "nan"}, "score: 'nan' is not a finite number"),
        ({"score": "-inf"}, "score: '-inf' is not a finite number"),
        ({"score": "1e999"}, "score: '1e999' is not a finite number"),
        ({"score": "1_0"}, "score: '1_0' is not a finite number"),
        ({"score": "4,5"}, "score: '4,5' is not a finite number; write 4.5"),
        ({"rater_kind": "human"}, "rater_kind: 'human' is not one of seeker, expert, reviewer, crowd, judge, "
                                  "simulated_seeker"),
        ({"conversation": "c9"}, "conversation: there is no 'c9' in this study"),
        ({"conversation": ""}, "conversation: is empty"),
        ({"rater": ""}, "rater: is empty"),
        ({"item": "x" * 101}, "item: is longer than 100 characters"),
        ({"instrument": "a\x00"}, "instrument: holds a NUL character"),
        ({"strategy": "standard"}, "strategy: 'standard': only judges have one"),
        ({"moment": "pre"}, "moment: 'pre' is not one of turn, checkpoint, final"),
        ({"turn": "1.5"}, "turn: '1.5' is not a whole number from 0 on"),
        ({"replicate": "0"}, "replicate: '0' is not a whole number from 1 on"),
        ({"replicate": "2147483648"}, "replicate: '2147483648' is not a whole number from 1 on"),
        ({"missing_reason": "lost"}, "missing_reason: there is a score, so nothing is missing"),
    ],
)  # fmt: skip
def test_import_refuses_a_faulty_row(study: Study, tmp_path: Path, change: dict[str, str], wrong: str):
    assert faults(table(tmp_path, ONE, ONE | {"item": "validating"} | change)) == [f"3: {wrong}"]


def test_import_tells_every_fault_with_the_line_on_which_its_row_begins(study: Study, tmp_path: Path):
    path = table(
        tmp_path, ONE | {"rater": "two\nlines"}, ONE | {"score": "x"}, ONE | {"rater_kind": "x", "conversation": "x"}
    )

    assert [line.split(":")[:2] for line in faults(path)] == [
        ["4", " score"],
        ["5", " rater_kind"],
        ["5", " conversation"],
    ]


def test_import_refuses_another_score_for_a_rating_that_is_there(study: Study, tmp_path: Path):
    run_import(table(tmp_path, ONE))
    other = ONE | {"item": "validating"}
    path = table(tmp_path, ONE | {"score": "4"}, other, other | {"score": "", "missing_reason": "lost"})

    assert faults(path) == [
        "2: score: this rating has 4.5 already, not 4",
        "4: score: this rating has 4.5 already, not no score",
    ]


def test_row_that_says_nothing_is_not_answered_yet(study: Study, tmp_path: Path):
    """A form that is filled in by and by can be brought in again and again."""
    blank = ONE | {"score": " "}
    other, lost = blank | {"item": "validating"}, blank | {"item": "listening", "missing_reason": "left out"}
    said = blank | {"item": "warmth", "reason": "I cannot tell."}

    first = run_import(table(tmp_path, blank, other, lost, said))
    second = run_import(table(tmp_path, ONE, other, lost, said))

    assert first == {"study": "demo", "added": 2, "already_there": 0, "missing": 2, "not_answered_yet": 2}
    assert second == {"study": "demo", "added": 1, "already_there": 2, "missing": 0, "not_answered_yet": 1}
    assert list(Answer.objects.order_by("item").values_list("item", "value", "missing_reason")) == [
        ("advice_giving", 4.5, ""),
        ("listening", None, "left out"),
        ("warmth", None, ""),
    ]


def test_row_that_says_nothing_makes_no_rater_and_takes_no_score_away(study: Study, tmp_path: Path):
    run_import(table(tmp_path, ONE, ONE | {"score": ""}, ONE | {"rater": "expert2", "score": ""}))

    assert list(Answer.objects.values_list("response__rater__code", "value")) == [("expert1", 4.5)]
    assert list(Rater.objects.values_list("code", flat=True)) == ["expert1"]


def test_row_that_says_nothing_must_be_sound_all_the_same(study: Study, tmp_path: Path):
    assert faults(table(tmp_path, ONE, ONE | {"score": "", "conversation": "c9"})) == [
        "3: conversation: there is no 'c9' in this study"
    ]


def test_import_keeps_why_a_score_was_given(study: Study, tmp_path: Path):
    run_import(table(tmp_path, ONE | {"reason": "It heard me."}))
    assert Answer.objects.get().reason == "It heard me."


@pytest.mark.parametrize(
    ("header", "wrong"),
    [
        ("conversation,rater,rater_kind,instrument,item", ["1: score: the column is missing"]),
        (
            "conversation;rater;rater_kind;instrument;item;score",
            ["1: is separated by semicolons, as Excel saves it in some countries; it must be by commas"],
        ),
        (
            "conversation\trater\trater_kind\tinstrument\titem\tscore",
            ["1: is separated by tabs; it must be by commas"],
        ),
        (
            "conversation,rater,rater_kind,instrument,item,score,note",
            [
                "1: note: unknown column; known are conversation, rater, rater_kind, instrument, item, score, moment, "
                "turn, strategy, replicate, missing_reason, reason, role, prompt, participant, arm, condition, "
                "rated_at, first_turn, last_turn, seconds, item_position, redacted"
            ],
        ),
        ("conversation,rater,rater_kind,instrument,item,score,item", ["1: item: the column is there twice"]),
        (
            "",
            [
                f"1: {name}: the column is missing"
                for name in ("conversation", "rater", "rater_kind", "instrument", "item", "score")
            ],
        ),
    ],
)
def test_import_refuses_a_faulty_header(study: Study, tmp_path: Path, header: str, wrong: list[str]):
    path = tmp_path / "ratings.csv"
    path.write_text(f"{header}\n")

    assert faults(path) == wrong


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"c1,expert1\n", "2: has 2 fields, but the header has 6"),
        (b'c1,expert1,expert,x,y,"1\n', "2: is not CSV: unexpected end of data"),
        (b"c1,\xff,expert,x,y,1\n", "2: is not UTF-8 (invalid start byte at byte 55); save it as CSV UTF-8"),
        (
            b"c1,E1,expert,x,y,1\n" * 1000 + b"c1,\xff,expert,x,y,1\n",
            "1002: is not UTF-8 (invalid start byte at byte 19055); save it as CSV UTF-8",
        ),
    ],
)
def test_import_refuses_what_is_no_table(study: Study, tmp_path: Path, content: bytes, wrong: str):
    path = tmp_path / "ratings.csv"
    path.write_bytes(b"conversation,rater,rater_kind,instrument,item,score\n" + content)

    assert faults(path) == [wrong]


def test_import_takes_as_many_queries_for_three_as_for_one(
    study: Study, tmp_path: Path, django_assert_num_queries: Any
):
    for raters in ("a", "bcd"):
        path = table(tmp_path, *(ONE | {"rater": rater} for rater in raters))
        with django_assert_num_queries(13):
            import_ratings(study, path, as_is=True)

    assert Answer.objects.count() == 4


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"score": "9"}, "score: 9 is outside the scale of safety, 1 to 5"),
        ({"score": "-3"}, "score: -3 is outside the scale of safety, 1 to 5"),
        ({"score": "4.5"}, f"score: 4.5 is between two steps of the scale of safety: whole numbers only {FOREIGN}"),
        (
            {"item": "EMPATHETIC"},
            f'item: "EMPATHETIC" is no item of "emoharbor_10"; did you mean "empathetic"? {FOREIGN}',
        ),
        ({"item": "warmth"}, f'item: "warmth" is no item of "emoharbor_10" {FOREIGN}'),
        (
            {"instrument": "emoharbor10"},
            f'instrument: "emoharbor10" is no rating instrument; known are {INSTRUMENTS}; '
            f'did you mean "emoharbor_10"? {FOREIGN}',
        ),
        (
            {"instrument": "mini_ipip", "item": "mini_01"},
            f'instrument: "mini_ipip" is no rating instrument; known are {INSTRUMENTS} {FOREIGN}',
        ),
        (
            {"instrument": "turn_checkpoint", "item": "inner_thought"},
            "score: 4 is a score, but inner_thought has no scale",
        ),
        ({"instrument": "", "item": "safety"}, "instrument: is empty"),
        ({"item": ""}, "item: is empty"),
    ],
)  # fmt: skip
def test_import_refuses_what_nobody_can_have_rated_on_our_instruments(
    study: Study, tmp_path: Path, change: dict[str, str], wrong: str
):
    assert of_ours.faults(table(tmp_path, OURS, OURS | {"item": "safety"} | change)) == [f"3: {wrong}"]


def test_unknown_name_is_told_once_and_each_wrong_score_on_its_own_line(study: Study, tmp_path: Path):
    unknown = OURS | {"item": "warmth"}
    path = table(tmp_path, unknown, unknown | {"rater": "expert2"}, OURS | {"score": "0"}, OURS | {"score": "6"})

    assert of_ours.faults(path) == [
        f'2: item: "warmth" is no item of "emoharbor_10" {FOREIGN}',
        "4: score: 0 is outside the scale of empathetic, 1 to 5",
        "5: score: 6 is outside the scale of empathetic, 1 to 5",
    ]


@pytest.mark.parametrize("score", ["1", "5", "3.0", ""])
def test_import_takes_each_step_of_our_scales_and_missing_scores(study: Study, tmp_path: Path, score: str):
    missing = "" if score else "refused"

    summary = of_ours.run(table(tmp_path, OURS | {"score": score, "missing_reason": missing}))

    assert summary["added"] == 1
    assert Answer.objects.get().value == (float(score) if score else None)
