"""The command from rows to files: who is in them, what is left of their words, and what the card and the check say."""

import json
import re
import stat
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dialogue.models import Conversation, RiskEvent, Turn
from dialogue.models.conversation import SeekerKind, Status
from dialogue.seekers.profiles import BIG_FIVE
from studies.data.erasure import erase
from studies.data.exports.files import sha256
from studies.data.release import export as release_export
from studies.data.release.check import check_release
from studies.data.release.filters import LeftOut
from studies.instruments.loading import load
from studies.models import ArmRun, Consent, Participation, Study
from tests import factories

pytestmark = pytest.mark.django_db

SECRET = "The word that no one may read is xylophone."
KEY = re.compile(r"[0-9a-f]{16}")


@pytest.fixture
def study() -> Study:
    return factories.study()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "new" / "release"


def run(out: Path, *arguments: str, study: str = "demo") -> dict[str, Any]:
    """As from a command line, where Django's checks come first."""
    stdout = StringIO()
    given = (study, "--out", str(out), "--release", "--json", *arguments)
    call_command("export", *given, verbosity=0, stdout=stdout, skip_checks=False)
    return json.loads(stdout.getvalue().splitlines()[-1])


def refusal(out: Path, *arguments: str) -> CommandError:
    with pytest.raises(CommandError) as refused:
        run(out, *arguments)
    return refused.value


def records(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "dialogues.jsonl").read_text(encoding="utf-8").splitlines()]


def card(out: Path) -> str:
    return (out / "README.md").read_text(encoding="utf-8")


def agreeing(study: Study, share: bool = True, **fields: Any) -> Participation:
    person = factories.person(study, **fields)
    sign(person, share_deidentified=share)
    return person


def sign(person: Participation, **boxes: bool) -> None:
    Consent.objects.create(
        participation=person, instrument="consent_template", version="1", text_hash="h", language="en", boxes=boxes
    )


def all_words(folder: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in folder.iterdir())


# What a record holds


def test_a_conversation_is_a_record(study, out):
    person = agreeing(study)
    profile = {"nickname": "Pip", "age_band": "25_34", "gender": "self_described", "relationship": "prefer_not"}
    profile |= {"gender_self_described": "starlight"}
    factories.answer(person, "profile", {**profile, "occupation": "nurse at St Mary's", "matter": "Pip misses Zofia."})
    turns = [
        ("I miss Zofia. I live in Leeds.", "Pip, how long have you been in Leeds?"),
        ("Zofia left.", "That hurts."),
    ]
    talk = factories.run_with_turns(study, person, turns=turns, model="m1", condition="average")
    factories.answer(person, "turn_checkpoint", {"support_so_far": 4.0}, run=talk, moment="checkpoint", turn=1)
    factories.rating(person, talk, 4.0, safety=2.0)
    factories.answer(person, "emotion_checkin", {"primary_emotion": "sadness", "valence": 3.0}, run=talk, moment="pre")
    after = {"primary_emotion": "other", "primary_emotion_other": "like Zofia's ghost", "valence": 6.0}
    factories.answer(person, "emotion_checkin", after, run=talk, moment="post")
    run(out)
    (record,) = records(out)
    ratings = {rating.pop("moment"): rating for rating in record.pop("ratings")}
    assert KEY.fullmatch(record.pop("id"))
    assert KEY.fullmatch(record.pop("person"))
    assert record == {
        "language": "en",
        "track": "participant",
        "arm": "amber",
        "model": "m1",
        "condition": "average",
        "role_card": "",
        "profile": {
            "age_band": "25_34",
            "gender": "self_described",
            "occupation": "nurse",
            "matter": "[name] misses [name].",
        },
        "profile_redacted": ["matter"],
        "big_five": {},
        "opening": "",
        "turns": [
            {
                "number": 1,
                "seeker": "I miss [name]. I live in [place].",
                "seeker_redacted": True,
                "supporter": "[name], how long have you been in [place]?",
                "supporter_redacted": True,
            },
            {
                "number": 2,
                "seeker": "[name] left.",
                "seeker_redacted": True,
                "supporter": "That hurts.",
                "supporter_redacted": False,
            },
        ],
        "emotion": {
            "before": {"primary_emotion": "sadness", "valence": 3.0},
            "after": {"primary_emotion": "other", "valence": 6.0},
        },
    }
    assert (ratings["checkpoint"]["turn"], ratings["checkpoint"]["scores"]) == (1, {"support_so_far": 4.0})
    assert ratings["final"]["scores"]["safety"] == 2.0
    assert len(ratings["final"]["scores"]) == 10


def test_a_chinese_conversation_is_masked_in_chinese(study, out):
    person = agreeing(study, language="zh")
    talk = factories.run_with_turns(study, person, turns=[("我住在成都，我男朋友李浩然走了。", "李浩然走了多久？")])
    Conversation.objects.filter(pk=talk.conversation_id).update(language="zh")
    run(out)
    (record,) = records(out)
    (turn,) = record["turns"]
    assert (turn["seeker"], turn["supporter"]) == ("我住在[地点]，我男朋友[称呼]走了。", "[称呼]走了多久？")


def test_big_five_are_means(study, out):
    person = agreeing(study)
    factories.answer(person, "mini_ipip", {item.key: 3.0 for item in load("mini_ipip").items})
    factories.run_with_turns(study, person)
    run(out)
    assert records(out)[0]["big_five"] == dict.fromkeys(BIG_FIVE, 3.0)


def test_a_persons_conversations_share_a_key_that_no_other_release_has(study, out):
    for person in (agreeing(study), agreeing(study)):
        factories.run_with_turns(study, person)
        factories.run_with_turns(study, person, arm="birch")
    run(out)
    run(out.with_name("again"))
    first, again = records(out), records(out.with_name("again"))
    assert len({record["id"] for record in first + again}) == 8
    assert len({record["person"] for record in first}) == 2
    assert {record["person"] for record in first} & {record["person"] for record in again} == set()
    assert sorted(len(words) for words in by_person(first)) == [2, 2]


def by_person(found: list[dict[str, Any]]) -> list[list[str]]:
    people = {record["person"] for record in found}
    return [[record["arm"] for record in found if record["person"] == person] for person in people]


def test_a_code_that_a_person_types_is_masked(study, out):
    person = agreeing(study)
    factories.run_with_turns(study, person, turns=[(f"My code is {person.code}.", "Thank you.")])
    run(out)
    assert records(out)[0]["turns"][0]["seeker"] == "My code is [name]."


# Whose conversations are in it


def secret(study: Study, person: Participation | None = None, **fields: Any) -> ArmRun:
    return factories.run_with_turns(study, person, turns=[(SECRET, "Xylophone, then, is the word for it.")], **fields)


def event(run: ArmRun | None, **fields: Any) -> None:
    talk = run.conversation if run else None
    RiskEvent.objects.create(conversation=talk, **{"source": "message", "level": 3, "turn": 1, **fields})


def test_every_way_out_is_counted_and_its_words_are_in_no_file(study, out):
    """One conversation for each reason, all with the same mark but the one that may be published."""
    secret(study, agreeing(study, is_test=True), is_test=True)
    imported = secret(study, external_id="i1")
    Conversation.objects.filter(pk=imported.conversation_id).update(seeker_kind=SeekerKind.IMPORTED)
    secret(study, profile="p1")
    secret(study, agreeing(study, status="withdrawn"))
    secret(study, agreeing(study, excluded=True))
    secret(study, agreeing(study), valid=False)
    secret(study, agreeing(study, share=False))
    secret(study, factories.person(study))
    secret(study, agreeing(study), status=Status.OPEN)
    secret(study, agreeing(study), status=Status.HELD)
    secret(study, agreeing(study), end_reason="safety")
    event(secret(study, agreeing(study)), level=4)
    event(secret(study, agreeing(study)), source="reply")
    answered = agreeing(study)
    secret(study, answered)
    event(None, subject=answered.code, source="answer", turn=None)
    grave = [("I want to kill myself tonight. Xylophone.", "Xylophone.")]
    factories.run_with_turns(study, agreeing(study), turns=grave)
    silent = secret(study, agreeing(study))
    Turn.objects.filter(conversation=silent.conversation_id).update(state="failed")
    factories.run_with_turns(study, agreeing(study))
    summary = run(out)
    assert summary["left_out"] == {
        LeftOut.TEST: 1,
        LeftOut.IMPORTED: 1,
        LeftOut.SIMULATED: 1,
        LeftOut.WITHDRAWN: 1,
        LeftOut.EXCLUDED: 1,
        LeftOut.INVALID: 1,
        LeftOut.NOT_AGREED: 2,
        LeftOut.OPEN: 1,
        LeftOut.DANGER: 6,
        LeftOut.NO_TURN: 1,
    }
    assert summary["dialogues"] == len(records(out)) == 1
    assert "ylophone" not in all_words(out)


def test_a_milder_sign_does_not_leave_a_conversation_out(study, out):
    event(factories.run_with_turns(study, agreeing(study)), level=2)
    assert run(out)["dialogues"] == 1


def test_the_consent_signed_last_counts(study, out):
    changed, other = agreeing(study), agreeing(study, share=False)
    sign(changed, share_deidentified=False)
    sign(other, share_deidentified=True)
    secret(study, changed)
    factories.run_with_turns(study, other)
    summary = run(out)
    assert (summary["asked"], summary["agreed"], summary["people"]) == (2, 1, 1)
    assert "xylophone" not in all_words(out)


def test_no_code_and_no_time_is_in_the_files(study, out):
    talk = factories.run_with_turns(study, agreeing(study))
    run(out)
    words = all_words(out)
    assert talk.participation is not None
    assert talk.participation.code not in words
    assert talk.conversation is not None
    assert talk.conversation.code not in words
    assert str(talk.conversation.started_at.year) not in (out / "dialogues.jsonl").read_text(encoding="utf-8")


# The card and the check


def test_the_card_counts_people_masks_and_exclusions(study, out):
    factories.run_with_turns(study, agreeing(study), turns=[("I told Zofia in Leeds.", "I see."), ("Yes.", "Go on.")])
    secret(study, agreeing(study, share=False))
    sign(factories.person(study), adult=True)
    run(out)
    text = card(out)
    for line in (
        "| signed a consent form and did not withdraw | 3 |",
        "| of these, were asked whether their de-identified data may be shared | 2 |",
        "| of these, agreed | 1 |",
        "| left out: of people who did not agree, or were not asked | 1 |",
        "| names | 1 |",
        "| places | 1 |",
        "| en | 1 |",
    ):
        assert line in text.splitlines()
    assert "masked in 1 of 4 messages and replies" in text
    assert "A person must read every text before this set is published." in text
    assert "[the research group fills in the licence" in text
    assert all(f"| `{key}` |" in text for key in records(out)[0])
    assert "nickname" not in text


def test_the_check_is_kept_with_the_hashes(study, out):
    factories.run_with_turns(study, agreeing(study))
    secret(study, factories.person(study))
    run(out)
    checked = json.loads((out / "check.json").read_text(encoding="utf-8"))
    assert (checked["dialogues"], checked["people"], checked["found"]) == (1, 1, 0)
    assert (checked["codes"], checked["texts"]) == (4, 2)
    assert checked["files"]["dialogues.jsonl"] == {"sha256": sha256(out / "dialogues.jsonl")}


def test_a_person_who_is_read_by_mistake_is_found_and_nothing_is_left(study, out, monkeypatch):
    """If the first look took everyone for agreeing, the second one would say so."""
    factories.run_with_turns(study, agreeing(study))
    secret(study, agreeing(study, share=False))
    monkeypatch.setattr("studies.data.release.reading.agrees_to_sharing", lambda boxes: True)
    refused = refusal(out)
    assert refused.returncode == 1
    assert "a text of someone who is not in the set" in str(refused)
    assert "more people than agreed" in str(refused)
    assert "xylophone" not in str(refused)
    assert list(out.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("leak", "said"),
    [
        ("He wrote: {text} I agree.", "a text of someone who is not in the set"),
        ("My friend is {person}.", "a code of the study"),
        ("See {conversation}, please.", "a code of the study"),
        ("That is a {masked} word.", None),
    ],
)
def test_the_check_finds_words_and_codes_of_others(study, out, leak, said):
    factories.run_with_turns(study, agreeing(study))
    other = secret(study, factories.person(study))
    run(out)
    assert other.participation is not None
    assert other.conversation is not None
    codes = {"person": other.participation.code, "conversation": other.conversation.code}
    (record,) = records(out)
    record["turns"][1]["supporter"] = leak.format(text=SECRET, masked="harmless", **codes)
    (out / "dialogues.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    found = check_release(study, out / "dialogues.jsonl", out / "README.md").found
    assert found == ((f"dialogues.jsonl, line 1: {said}",) if said else ())


def test_the_check_finds_a_sentence_of_a_longer_text(study, out):
    factories.run_with_turns(study, agreeing(study))
    factories.run_with_turns(study, factories.person(study), turns=[(f"I am Ann. {SECRET} Bye.", "Bye.")])
    run(out)
    (record,) = records(out)
    record["turns"][1]["seeker"] = f"Well, {SECRET}"
    (out / "dialogues.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    assert check_release(study, out / "dialogues.jsonl", out / "README.md").found != ()


def test_words_that_both_said_are_no_leak(study, out):
    turns = [("I do not know what to do any more.", "I am sorry to hear that you are going through this.")]
    factories.run_with_turns(study, agreeing(study), turns=turns)
    factories.run_with_turns(study, agreeing(study, share=False), turns=turns)
    assert run(out)["dialogues"] == 1


def test_somebody_who_withdraws_while_it_is_written_stops_it(study, out, monkeypatch):
    person = agreeing(study)
    factories.run_with_turns(study, person)
    factories.run_with_turns(study, agreeing(study), turns=[("Work is too much for me.", "Tell me more, please.")])
    write = release_export.write_files

    def write_and_withdraw(*arguments: Any) -> Any:
        done = write(*arguments)
        erase(person)
        return done

    monkeypatch.setattr(release_export, "write_files", write_and_withdraw)
    assert "more people than agreed" in str(refusal(out))
    assert list(out.parent.iterdir()) == []


# The folder


def test_only_this_account_can_read_the_release_and_erasing_removes_it(study, out):
    person = agreeing(study)
    factories.run_with_turns(study, person)
    run(out)
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert sorted(path.name for path in out.iterdir()) == ["README.md", "check.json", "dialogues.jsonl"]
    erase(person)
    assert list(out.iterdir()) == []


def test_nobody_who_agreed_writes_nothing(study, out):
    factories.run_with_turns(study, agreeing(study, share=False))
    sign(factories.person(study), adult=True)
    refused = refusal(out)
    assert refused.returncode == 1
    assert str(refused) == "No one agreed that de-identified data are shared: 1 of 2 people were asked."
    assert list(out.parent.iterdir()) == []


def test_nothing_left_of_those_who_agreed_writes_nothing(study, out):
    factories.run_with_turns(study, agreeing(study), end_reason="safety")
    refused = refusal(out)
    assert refused.returncode == 1
    assert "held or ended for safety, or with a sign of danger of level 3 or 4: 1" in str(refused)
    assert list(out.parent.iterdir()) == []


def test_test_data_cannot_be_asked_for(study, out):
    refused = refusal(out, "--include-tests")
    assert (refused.returncode, str(refused)) == (2, "--release publishes no test data: leave out --include-tests.")


def test_a_folder_that_holds_something_is_refused(study, out):
    factories.run_with_turns(study, agreeing(study))
    run(out)
    before = all_words(out)
    refused = refusal(out)
    assert refused.returncode == 2
    assert "is not empty. Name a new folder" in str(refused)
    assert all_words(out) == before


def test_an_empty_folder_is_filled(study, out):
    factories.run_with_turns(study, agreeing(study))
    out.mkdir(parents=True)
    assert run(out)["dialogues"] == len(records(out)) == 1


def test_an_unknown_study_is_refused(study, out):
    with pytest.raises(CommandError, match="There is no study 'nope'"):
        run(out, study="nope")


def test_queries_do_not_grow_with_the_people(study, out):
    counted = []
    for number in range(3):
        person = agreeing(study)
        factories.answer(person, "profile", {"age_band": "25_34"})
        factories.rating(person, factories.run_with_turns(study, person))
        secret(study, factories.person(study))
        with CaptureQueriesContext(connection) as queries:
            run(out.with_name(f"release{number}"))
        counted.append(len(queries))
    assert counted[1] == counted[2]  # the first also begins the study's audit log


def test_opening_is_the_study_s_text_and_no_word_of_those_who_are_left_out(study, out):
    words = "Hello, what would you like to talk about today?"
    talk = factories.run_with_turns(study, agreeing(study))
    refusing = factories.run_with_turns(study, factories.person(study), turns=[("You said:", words)])
    Conversation.objects.filter(pk__in=[talk.conversation_id, refusing.conversation_id]).update(opening=words)
    run(out)
    assert [record["opening"] for record in records(out)] == [words]
