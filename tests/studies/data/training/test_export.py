"""The command from rows to files: who is in them, in which form, and what the card says of the others."""

import json
import os
import random
import stat
import string
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dialogue.models import Conversation, RiskEvent, SeekerFault, Turn
from dialogue.models.conversation import SeekerKind, Status
from studies.data.exports.files import sha256
from studies.data.training import files as training_files
from studies.data.training import reading
from studies.data.training.card import Counts
from studies.data.training.filters import LeftOut
from studies.data.training.options import Options
from studies.instruments.loading import load
from studies.models import ArmRun, Consent, Participation, Rater, Response, Study
from tests import factories
from tests.studies.data.training.trl import faults, loaded

pytestmark = pytest.mark.django_db

OPENING = "My flat is so quiet since she moved out."


@pytest.fixture
def study() -> Study:
    return factories.study()


@pytest.fixture
def judge(study: Study) -> Rater:
    return factories.judge(study)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "new").mkdir()
    return tmp_path / "new" / "data.jsonl"


def run(out: Path, *arguments: str, kind: str = "sft") -> dict[str, Any]:
    """As from a command line, where Django's checks come first."""
    stdout = StringIO()
    given = ("demo", "--format", kind, "--out", str(out), "--json", *arguments)
    call_command("export_training", *given, verbosity=0, stdout=stdout, skip_checks=False)
    return json.loads(stdout.getvalue().splitlines()[-1])


def card(out: Path) -> dict[str, Any]:
    return json.loads(out.with_suffix(".card.json").read_text(encoding="utf-8"))


def left_out(out: Path, of: str = "conversations") -> dict[str, int]:
    return {reason: count for reason, count in card(out)["counts"][of]["left_out"].items() if count}


def consenting(study: Study, training: bool = True, **fields: Any) -> Participation:
    person = factories.person(study, **fields)
    sign(person, training=training)
    return person


def sign(person: Participation, **boxes: bool) -> None:
    Consent.objects.create(
        participation=person, instrument="consent_template", version="1", text_hash="h", language="en", boxes=boxes
    )


def simulated(study: Study, arm: str, reply: str = "", *, opening: str = OPENING, **fields: Any) -> ArmRun:
    turns = [(opening, reply or f"This is what {arm} says to it."), (f"To {arm} I say more.", f"And {arm} as well.")]
    fields = {"profile": "p1", "condition": "average", "model": f"model-{arm}", **fields}
    return factories.run_with_turns(study, arm=arm, turns=turns, **fields)


# Whole conversations


def test_a_conversation_is_a_row_with_its_origin(study, out):
    person = consenting(study)
    talk = factories.run_with_turns(study, person, model="m1")
    summary = run(out, "--test-share", "0")
    (row,) = loaded(out)
    assert row == {
        "messages": [
            {"role": "user", "content": "I feel low."},
            {"role": "assistant", "content": "What happened?"},
            {"role": "user", "content": "I lost my job."},
            {"role": "assistant", "content": "That is hard."},
        ],
        "conversation": talk.conversation.code,
        "arm": "amber",
        "model": "m1",
        "study": "demo",
        "split": "train",
        "seeker": f"participant:{person.code}",
        "seeker_kind": "person",
        "condition": "",
        "profile": "",
        "setup": "",
        "language": "en",
        "is_test": False,
        "turns": 2,
    }
    assert summary["rows"] == {"data.jsonl": 1, "data.train.jsonl": 1, "data.test.jsonl": 0}


def test_texts_are_masked_where_the_study_says_so(out):
    study = factories.study(chat=replace(factories.demo_spec().chat, redact_exports=True))
    factories.run_with_turns(study, consenting(study), turns=[("I'm Yusuf, call 07700 900123.", "Hello, Yusuf.")])
    run(out, "--test-share", "0")
    assert [message["content"] for message in loaded(out)[0]["messages"]] == [
        "I'm [name], call [number].",
        "Hello, [name].",
    ]


def test_every_way_out_is_counted_and_its_words_are_in_no_file(study, out):
    """One conversation for each reason, all with the same mark but the one that may be used."""
    secret = [("The word is xylophone.", "Xylophone, then.")]

    def talk(person: Participation | None = None, **fields: Any) -> ArmRun:
        return factories.run_with_turns(study, person, turns=secret, **fields)

    talk(consenting(study), is_test=True)
    talk(consenting(study), status=Status.OPEN)
    talk(consenting(study, status="withdrawn"))
    talk(consenting(study, excluded=True))
    talk(consenting(study), valid=False)
    imported(talk(external_id="i1"))
    talk(consenting(study, training=False))
    talk(factories.person(study))
    talk(consenting(study), end_reason="safety")
    risky = talk(consenting(study))
    RiskEvent.objects.create(conversation=risky.conversation, turn=1, source="message", level=2)
    factories.run_with_turns(study, consenting(study))
    run(out)
    assert left_out(out) == {
        LeftOut.TEST: 1,
        LeftOut.OPEN: 1,
        LeftOut.WITHDRAWN: 1,
        LeftOut.EXCLUDED: 1,
        LeftOut.INVALID: 1,
        LeftOut.IMPORTED: 1,
        LeftOut.NO_CONSENT: 2,
        LeftOut.SAFETY: 1,
        LeftOut.NO_TURN: 1,
    }
    assert card(out)["counts"]["conversations"]["used"] == len(loaded(out)) == 1
    assert not any("ylophone" in path.read_text(encoding="utf-8") for path in out.parent.iterdir())


def imported(run: ArmRun) -> ArmRun:
    Conversation.objects.filter(pk=run.conversation_id).update(seeker_kind=SeekerKind.IMPORTED)
    return run


def test_the_consent_signed_last_counts(study, out):
    person = consenting(study)
    factories.run_with_turns(study, person)
    sign(person, training=False)
    run(out)
    assert left_out(out) == {LeftOut.NO_CONSENT: 1}


def test_result_without_rows_says_what_would_change_it(study: Study, out: Path) -> None:
    for person in (factories.person(study), consenting(study, training=False)):
        factories.run_with_turns(study, person)
    factories.run_with_turns(study, factories.person(study, is_test=True), is_test=True)
    run(out)
    notes = card(out)["notes"]
    assert any(note.startswith("Conversations of test data left out: 1. --include-tests") for note in notes)
    (told,) = [note for note in notes if "not agreed to training" in note]
    assert "agreed to training: 2." in told
    assert all(word in told for word in ('"if_training"', "training_statement", "[consent]", "study file"))
    factories.run_with_turns(study, consenting(study))
    run(out)
    assert not any("left out" in note for note in card(out)["notes"])


def test_test_data_and_imports_come_where_they_are_asked_for(study, out):
    factories.run_with_turns(study, consenting(study, is_test=True), is_test=True)
    imported(factories.run_with_turns(study, external_id="i1", turns=[(OPENING, "Tell me.")]))
    assert run(out)["rows"]["data.jsonl"] == 0
    run(out, "--include-tests", "--include-imported")
    assert [(row["seeker_kind"], row["is_test"]) for row in loaded(out)] == [("person", True), ("imported", False)]


def test_risk_masked_replies_and_faults_of_the_seeker_end_a_conversation(study, out):
    risky, masked, faulty = (simulated(study, arm, profile=arm) for arm in ("amber", "birch", "cedar"))
    RiskEvent.objects.create(conversation=risky.conversation, turn=2, source="reply", level=3)
    Turn.objects.filter(conversation=masked.conversation, number=2).update(masked=True)
    SeekerFault.objects.create(conversation=faulty.conversation, turn=2, kind="role_flip", source="rule")
    run(out)
    assert [row["turns"] for row in loaded(out)] == [1, 1, 1]
    assert left_out(out, "turns") == {"risk": 1, "masked_or_withheld": 1, "fault_of_the_simulated_seeker": 1}


def test_a_risk_at_no_known_turn_leaves_all_of_a_conversation_out(study, out):
    RiskEvent.objects.create(conversation=simulated(study, "amber").conversation, source="message", level=3)
    run(out)
    assert left_out(out) == {LeftOut.NO_TURN: 1}


def test_only_conversations_of_at_least_the_score_stay(study, judge, out):
    """The judge of the demo on ten dimensions: their mean counts. One of its items is missing in the third."""
    runs = [simulated(study, "amber", profile=profile, opening=f"{profile} {OPENING}") for profile in "abcd"]
    for one, score in zip(runs, (4.0, 2.0, 5.0), strict=False):
        factories.rating(judge, one, score)
    runs[2].responses.get().answers.filter(item="safety").update(value=None, missing_reason="unreadable")
    run(out, "--min-score", "4")
    (row,) = loaded(out)
    assert (row["profile"], row["score"]) == ("a", 4.0)
    assert left_out(out) == {LeftOut.NO_SCORE: 2, LeftOut.LOW_SCORE: 1}
    assert card(out)["raters"] == {"kind": "judge", "count": 1, "versions": ["1.1.2"], "judges": ["demo standard"]}


def test_an_imported_final_score_may_name_the_last_turn(study, judge, out):
    talk = simulated(study, "amber")
    factories.rating(judge, talk, 4.0)
    talk.responses.update(turn=2)
    run(out, "--min-score", "1")
    assert [row["score"] for row in loaded(out)] == [4.0]


def test_items_and_raters_can_be_chosen(study, judge, out):
    person = consenting(study)
    talk = factories.run_with_turns(study, person)
    factories.rating(judge, talk, 5.0)
    factories.rating(person, talk, 2.0, safety=4.0, empathetic=3.0)
    run(out, "--min-score", "3.5", "--rater-kind", "seeker", "--items", "safety", "empathetic")
    assert [row["score"] for row in loaded(out)] == [3.5]


def test_scores_of_people_who_withdrew_do_not_count(study, out):
    reviewer = factories.person(study, track="reviewer")
    factories.rating(reviewer, simulated(study, "amber"), 5.0)
    arguments = ("--min-score", "1", "--rater-kind", "reviewer")
    assert run(out, *arguments)["rows"]["data.jsonl"] == 1
    Participation.objects.filter(pk=reviewer.pk).update(status="withdrawn")
    assert run(out, *arguments)["rows"]["data.jsonl"] == 0


def test_duplicates_are_left_out_and_the_first_stays(study, out):
    long = (
        "I moved to a new flat in spring, and the boxes are still in the hall. My sister came by to help me with the "
        "shelves, and afterwards we cooked pasta and watched the old film about the two brothers with a bakery."
    )
    for profile, opening in (("p1", long), ("p2", long.upper()), ("p3", f"{long}!"), ("p4", long[::-1])):
        simulated(study, "amber", profile=profile, opening=opening)
    run(out)
    assert [row["profile"] for row in loaded(out)] == ["p1", "p4"]
    assert left_out(out) == {LeftOut.SAME: 1, LeftOut.ALIKE: 1}


def test_a_judge_asked_in_another_way_counts_only_where_it_is_named(study, judge, out):
    talk = simulated(study, "amber")
    factories.rating(judge, talk, 4.0)
    factories.rating(factories.judge(study, "demo~apart"), talk, 1.0)
    scores = []
    for named in ((), ("--rater", "demo~apart")):
        run(out, "--min-score", "1", *named)
        scores += [row["score"] for row in loaded(out)]
    assert scores == [4.0, 1.0]


def test_roles_of_judges_are_never_averaged(study, judge, out):
    talk = simulated(study, "amber")
    factories.rating(judge, talk, 4.0)  # of a file that names no role: it counts with the seekers
    outsider = factories.judge(study, "outsider")
    factories.rating(outsider, talk, 1.0)
    Response.objects.filter(rater=outsider).update(role="third_person")
    with pytest.raises(CommandError, match="Judges have rated as seeker and third_person, and scores of two roles"):
        run(out, "--min-score", "1")
    for arguments, role, score in (
        (("--role", "seeker"), "seeker", 4.0),
        (("--role", "third_person"), "third_person", 1.0),
        (("--rater", "outsider"), "third_person", 1.0),
    ):
        run(out, "--min-score", "1", *arguments)
        assert [row["score"] for row in loaded(out)] == [score]
        assert card(out)["options"]["measure"]["role"] == role


def test_conversations_are_read_when_their_turn_comes(study, monkeypatch):
    """However many there are, only a few are in memory: what is changed meanwhile in a later one is seen."""
    monkeypatch.setattr(reading, "AT_ONCE", 2)
    last = [simulated(study, "amber", profile=f"p{number}") for number in range(5)][-1]
    found = reading.talks(study, Options("sft"), Counts(), lambda: None)
    next(found)
    Turn.objects.filter(conversation=last.conversation, number=1).update(text="Changed.")
    assert [talk.turns[0].seeker for talk in found] == [OPENING] * 3 + ["Changed."]


# Pairs


def test_a_pair_is_two_replies_to_the_same_words_judged_apart(study, judge, out):
    worse, better = simulated(study, "amber"), simulated(study, "birch")
    factories.rating(judge, worse, 2.0)
    factories.rating(judge, better, 4.0)
    run(out, "--test-share", "0", kind="preference")
    (row,) = loaded(out)
    assert row == {
        "prompt": [{"role": "user", "content": OPENING}],
        "chosen": [{"role": "assistant", "content": "This is what birch says to it."}],
        "rejected": [{"role": "assistant", "content": "This is what amber says to it."}],
        "chosen_conversation": better.conversation.code,
        "rejected_conversation": worse.conversation.code,
        "chosen_arm": "birch",
        "rejected_arm": "amber",
        "chosen_model": "model-birch",
        "rejected_model": "model-amber",
        "study": "demo",
        "split": "train",
        "seeker": "profile:p1",
        "seeker_kind": "simulated",
        "condition": "average",
        "profile": "p1",
        "setup": "",
        "language": "en",
        "is_test": False,
        "turn": 1,
        "score_of": "conversation",
        "score_chosen": 4.0,
        "score_rejected": 2.0,
    }
    assert card(out)["counts"]["contexts"] == {"found": 3, "met_by_two_supporters": 1}


def test_what_is_no_pair_is_counted(study, judge, out):
    other = factories.judge(study, "other")
    scores = {"amber": (judge, 3.0), "birch": (judge, 3.2), "cedar": (other, 5.0)}
    for arm, (rater, score) in scores.items():
        factories.rating(rater, simulated(study, arm), score)
    simulated(study, "delta")
    summary = run(out, kind="preference")
    assert summary["rows"]["data.jsonl"] == 0
    assert left_out(out) == {LeftOut.NO_SCORE: 1}
    assert left_out(out, "pairs") == {"no_common_rater": 2, "within_margin": 1}
    assert run(out, "--margin", "0.2", kind="preference")["rows"]["data.jsonl"] == 1


def test_stock_replies_to_other_words_are_no_duplicates_and_to_the_same_words_are(study, judge, out):
    """p3 begins word for word as p1 did."""
    for profile, opening in (("p1", story(1)), ("p2", story(2)), ("p3", story(1))):
        for arm, score in (("amber", 1.0), ("birch", 5.0)):
            factories.rating(judge, simulated(study, arm, f"As {arm} says.", profile=profile, opening=opening), score)
    run(out, kind="preference")
    assert [row["profile"] for row in loaded(out)] == ["p1", "p2"]
    assert left_out(out, "pairs") == {"exact_duplicate": 1}


def test_scores_of_single_replies_decide_where_they_are_asked_for(study, out):
    """The conversation's own scores say the opposite."""
    person = consenting(study)
    for arm, reply, whole in (("amber", 5.0, 1.0), ("birch", 2.0, 5.0)):
        talk = factories.run_with_turns(study, person, arm=arm, turns=[(OPENING, f"I am {arm}."), ("So?", arm)])
        factories.answer(
            person, "reply_rating", {load("reply_rating").items[0].key: reply}, run=talk, moment="turn", turn=1
        )
        factories.rating(person, talk, whole)
    run(out, "--moment", "turn", "--rater-kind", "seeker", kind="preference")
    (row,) = loaded(out)
    assert (row["chosen_arm"], row["score_of"], row["score_chosen"]) == ("amber", "reply", 5.0)


def test_without_shared_words_the_card_says_why_there_is_no_pair(study, judge, out):
    for arm in ("amber", "birch"):
        factories.rating(judge, simulated(study, arm, opening=f"{arm} {OPENING}"), 3.0)
    assert run(out, kind="preference")["rows"]["data.jsonl"] == 0
    assert out.read_bytes() == b""
    assert any("same words" in note for note in card(out)["notes"])


# Files


def story(number: int) -> str:
    """Unlike that of any other number."""
    return "".join(random.Random(number).choices(string.ascii_lowercase + " ", k=120))


def test_where_nobody_of_that_kind_has_scored_the_card_says_so(study, judge, out):
    for arm, score in (("amber", 1.0), ("birch", 4.0)):
        factories.rating(judge, simulated(study, arm), score)
    run(out, "--rater-kind", "reviewer", kind="preference")
    assert left_out(out) == {"no_score": 2}
    notes = card(out)["notes"]
    assert any(note.startswith("2 conversations have no such score from reviewer: --rater-kind") for note in notes)
    assert not any("same words" in note for note in notes)


def many(study: Study, judge: Rater) -> None:
    """Twelve profiles and six people, each with three arms of which one is clearly the best."""
    for number in range(12):
        for arm, score in (("amber", 1.0), ("birch", 3.0), ("cedar", 5.0)):
            talk = simulated(study, arm, f"{arm} to {number}.", profile=f"p{number}", opening=story(number))
            factories.rating(judge, talk, score)
    for number in range(6):
        person = consenting(study)
        for arm, score in (("amber", 2.0), ("birch", 4.0)):
            turns = [(story(100 + number), f"{arm} to person {number}."), ("And?", f"{arm}, {number}.")]
            factories.rating(judge, factories.run_with_turns(study, person, arm=arm, turns=turns), score)


@pytest.mark.parametrize(
    ("kind", "arguments", "rows"), [("sft", (), 48), ("sft", ("--min-score", "1"), 48), ("preference", (), 42)]
)
def test_files_are_as_trl_and_datasets_want_them(study, judge, out, kind, arguments, rows):
    """42: three pairs of arms for each of 12 profiles, one for each of 6 people."""
    many(study, judge)
    run(out, *arguments, kind=kind)
    assert len(loaded(out)) == rows
    for path in (out, out.with_suffix(".train.jsonl"), out.with_suffix(".test.jsonl")):
        assert faults(loaded(path), kind) == []


@pytest.mark.parametrize("kind", ["sft", "preference"])
def test_no_seeker_is_on_both_sides(study, judge, out, kind):
    many(study, judge)
    run(out, "--test-share", "0.4", kind=kind)
    train, test = (loaded(out.with_suffix(f".{side}.jsonl")) for side in ("train", "test"))
    assert {row["seeker"] for row in train} & {row["seeker"] for row in test} == set()
    assert train
    assert test
    assert sorted(map(json.dumps, train + test)) == sorted(map(json.dumps, loaded(out)))
    assert ({row["split"] for row in train}, {row["split"] for row in test}) == ({"train"}, {"test"})


def test_the_same_export_again_is_the_same_file(study, judge, out):
    many(study, judge)
    run(out, kind="preference")
    before = {path.name: path.read_bytes() for path in out.parent.glob("*.jsonl")}
    run(out, kind="preference")
    assert {path.name: path.read_bytes() for path in out.parent.glob("*.jsonl")} == before


def test_the_card_tells_origin_options_and_hashes(study, judge, out):
    many(study, judge)
    run(out, "--seed", "7", kind="preference")
    told = card(out)
    assert (told["study"], told["protocols"][0]["hash"]) == ("demo", study.current().hash())
    assert told["options"]["measure"]["instrument"] == "emoharbor_10"
    assert (told["options"]["seed"], told["options"]["margin"], told["consent_box"]) == (7, 0.5, "training")
    assert told["counts"]["rows"]["by_chosen_arm"] == {"cedar": 24, "birch": 18}
    assert told["counts"]["rows"]["by_seeker_kind"] == {"simulated": 36, "person": 6}
    for name, file in told["files"].items():
        assert file == {"rows": len(loaded(out.parent / name)), "sha256": sha256(out.parent / name)}


def test_only_this_account_can_read_the_files(study, out):
    simulated(study, "amber")
    run(out)
    assert {stat.S_IMODE(path.stat().st_mode) for path in out.parent.iterdir()} == {0o600}
    assert len(list(out.parent.iterdir())) == 4


def test_a_study_without_conversations_gives_empty_files_and_a_card(study, out):
    assert run(out)["rows"] == {"data.jsonl": 0, "data.train.jsonl": 0, "data.test.jsonl": 0}
    assert out.read_bytes() == b""
    assert card(out)["counts"]["conversations"]["found"] == 0


def test_a_failure_leaves_the_earlier_files_and_nothing_half_done(study, out, monkeypatch):
    simulated(study, "amber")
    run(out)
    before = {path.name: path.read_bytes() for path in out.parent.iterdir()}

    def full(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    simulated(study, "birch")
    monkeypatch.setattr(training_files.Writer, "close", full)
    with pytest.raises(CommandError, match="No space left"):
        run(out)
    assert {path.name: path.read_bytes() for path in out.parent.iterdir()} == before


def test_files_of_others_are_not_written_over(study, out):
    out.with_suffix(".test.jsonl").write_text("mine", encoding="utf-8")
    with pytest.raises(CommandError, match="no card of an earlier export") as refusal:
        run(out)
    assert refusal.value.returncode == 2
    assert [path.name for path in out.parent.iterdir()] == ["data.test.jsonl"]


def test_an_export_of_another_study_is_not_written_over(study, out):
    run(out)
    factories.study("other")
    with pytest.raises(CommandError, match="of the study 'demo'"):
        call_command("export_training", "other", "--format", "sft", "--out", str(out), verbosity=0)


def test_what_is_no_ordinary_file_is_refused_before_anything_is_replaced(study, out):
    run(out)
    out.unlink()
    os.mkfifo(out)
    before = out.with_suffix(".card.json").read_bytes()
    with pytest.raises(CommandError, match="is no ordinary file"):
        run(out)
    assert stat.S_ISFIFO(out.stat().st_mode)
    assert out.with_suffix(".card.json").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--min-score", "nan"), "--min-score must be a finite number"),
        (("--margin", "0"), "--margin must be more than 0"),
        (("--test-share", "1"), "--test-share must be"),
        (("--moment", "turn"), "--moment turn is for --format preference"),
        (("--min-score", "3", "--items", "warmth"), "emoharbor_10 has no warmth. It has: problem_resolution,"),
        (("--min-score", "3", "--instrument", "theirs"), "'theirs' is not one of ours, and no one has rated on it"),
        (("--min-score", "3", "--instrument", "known"), "Name its items with --items"),
        (("--min-score", "3", "--rater", "nobody"), "--rater: no judge 'nobody' has rated here. There are: demo."),
        (("--min-score", "3", "--rater", ""), "--rater: no judge '' has rated here"),
        (("--rater-kind", "seeker", "--rater", "nobody"), "--rater: no seeker 'nobody' has rated here."),
        (("--min-score", "3", "--strategy", "nope"), "no judge with the strategy 'nope' has rated here. There are: st"),
        (("--strategy", "nope"), "--strategy: no judge with the strategy 'nope' has rated here."),
        (
            ("--min-score", "3", "--role", "evaluator"),
            "--role: no judge has rated as evaluator here. There are: seeker.",
        ),
        (("--min-score", "3", "--rater-kind", "seeker", "--role", "seeker"), "--role is about judges"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(study, judge, out, arguments, said):
    given = factories.rating(judge, simulated(study, "amber"), 3.0)
    Response.objects.create(rater=judge, run=given.run, instrument="known", version="1", moment="final")
    with pytest.raises(CommandError) as refusal:
        run(out, *arguments)
    assert said in str(refusal.value)
    assert refusal.value.returncode == 2
    assert list(out.parent.iterdir()) == []


def test_a_folder_that_is_not_there_is_refused_and_not_made(study, tmp_path):
    with pytest.raises(CommandError, match=f"there is no folder {tmp_path / 'mistyped'}") as refusal:
        run(tmp_path / "mistyped" / "data.jsonl")
    assert refusal.value.returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_another_kind_is_refused(study, tmp_path):
    with pytest.raises(CommandError, match=r"ends in \.jsonl"):
        run(tmp_path / "data.csv")


@pytest.mark.parametrize("kind", ["sft", "preference"])
def test_queries_do_not_grow_with_the_conversations(study, judge, out, kind):
    counted = []
    for profile in ("p1", "p2", "p3", "p4"):
        for arm, score in (("amber", 2.0), ("birch", 4.0)):
            talk = simulated(study, arm, profile=profile, opening=f"{profile} {OPENING}")
            factories.rating(judge, talk, score)
        factories.run_with_turns(study, consenting(study))
        with CaptureQueriesContext(
            connection,
        ) as queries:
            run(out, "--min-score", "1", kind=kind)
        counted.append(len(queries))
    assert counted[1] == counted[3]  # the first also begins the study's audit log
