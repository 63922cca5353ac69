"""An erasure reaches everything that this server keeps of a person."""

import json
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import Model
from django.utils import timezone

from dialogue.models import Call, Conversation, InnerState, Job, RiskEvent
from dialogue.models.conversation import SeekerKind
from studies.care.acts import record_act
from studies.care.alarms import climb_overdue, raise_alarm
from studies.data import erasure
from studies.data.anonymising import anonymise
from studies.data.erasure_proof import collect_words, search_for
from studies.data.exports import removal
from studies.data.exports.columns import Filter
from studies.data.exports.destinations import ExportRefused
from studies.data.exports.export_records import recorded_export
from studies.data.exports.files import export
from studies.data.exports.word_search import BLOCK
from studies.data.holdings import scope_of
from studies.data.test_data import remove_test_data
from studies.interviews import attachments
from studies.judging.comparisons import PAIR, subject_of
from studies.management.commands.erase import ELSEWHERE
from studies.models import (
    AdverseEvent,
    Alarm,
    Answer,
    ArmRun,
    BoardAct,
    Comparison,
    Consent,
    Draft,
    ExportRecord,
    ExportRemoval,
    Pair,
    Participation,
    Rater,
    Receipt,
    Response,
    SafetyAct,
    SeekerProfile,
    SelectionDecision,
    Study,
    Task,
    Verdict,
)
from studies.models.participation import Status
from studies.my_data.contents import get_sections
from studies.participation.counts import open_risks_of_people
from studies.participation.responses import rater_for
from studies.payments.payees import remember_payee
from studies.selection.scoring import store_score
from tests import factories

pytestmark = pytest.mark.django_db
MARK = "xyzzy"


def everything_in(var: Path, *, but: Collection[type[Model]] = ()) -> str:
    """All values of all rows, and all files below var/."""
    rows = [str(row) for model in apps.get_models() if model not in but for row in model.objects.values_list()]
    files = [path.read_text(encoding="utf-8", errors="replace") for path in sorted(var.rglob("*")) if path.is_file()]
    return "\n".join(rows + files)


def marked_person(study: Study) -> Participation:
    """One who has left the mark in every place where words of a person can stand."""
    person = factories.person(study, outcome={"flags": [MARK]}, exclusion_reason=MARK, cards=[MARK])
    run = factories.run_with_turns(study, person, turns=[(MARK, f"You say {MARK}.")], topic=MARK)
    Consent.objects.create(
        participation=person, instrument="consent_template", version="1", text_hash=MARK, language="en", boxes={}
    )
    factories.answer(person, "profile", {"occupation": MARK})
    factories.rating(person, run, comment=MARK)
    factories.role_play(run, played=[MARK])
    factories.flag(run, note=MARK, reply=f"You say {MARK}.")
    transcript = SimpleUploadedFile("talk.txt", f"She said {MARK}.".encode())
    attachments.attach(factories.interview(person, MARK), transcript, agreed=False)
    reviewer = factories.person(study, track="reviewer")
    factories.rating(reviewer, run, comment=f"They say {MARK}.")
    factories.reviewed(run, reviewer, MARK)
    pair = Pair.objects.create(study=study, run_a=run, run_b=factories.run_with_turns(study))
    compared = Comparison.objects.create(pair=pair, rater=rater_for(reviewer), shown_first="a")
    Verdict.objects.create(comparison=compared, question="better_overall", verdict="a", reason=MARK)
    judged = Response.objects.create(
        rater=factories.judge(study), run=run, instrument="emoharbor_10", moment="final", is_rating=True
    )
    Answer.objects.create(response=judged, item="safety", text=MARK, value=3)
    for subject in (person, run):
        factories.decided(subject, MARK)
    SelectionDecision.objects.create(participation=person, admitted=True, reason=MARK, by_name="ada")
    factories.draw(person)
    store_score(person, User.objects.create(username="scorer"), {MARK: 2})
    Call.objects.create(
        purpose="judge", conversation=run.conversation, turn=1, kind="scripted", request=[MARK], response=MARK
    )
    InnerState.objects.create(conversation=run.conversation, turn=1, source="demo", cognition=MARK)
    person.questions.create(text=MARK, answer=MARK)
    for about in ({"participation": person}, {"run": run}):
        BoardAct.objects.create(study=study, kind="marked_invalid", reason=MARK, by_name="ada", **about)
    play_a_profile_of(person)
    RiskEvent.objects.create(conversation=run.conversation, subject=person.code, source="message", level=2, note=MARK)
    sign = RiskEvent.objects.create(subject=person.code, source="answer", level=4, note=MARK)
    record_act(sign, SafetyAct.Kind.NOTED, text=MARK)
    AdverseEvent.objects.create(
        study=study,
        event=sign,
        subject=person.code,
        origin="report",
        occurred_at=timezone.now(),
        description=MARK,
        severity="severe",
        relatedness="possible",
        action=MARK,
        changes=[{"at": "", "by": "ada", "before": {"description": MARK}}],
    )
    return person


def play_a_profile_of(person: Participation) -> None:
    """A model made it, and a simulated seeker was it."""
    profile = {"key": "made-1", "language": "en", "content": {"C": MARK}, "origin": "answers", "made_of": person}
    SeekerProfile.objects.create(study=person.study, **profile)
    factories.run_with_turns(person.study, turns=[(MARK, "Yes.")], profile="made-1")
    job = Job.objects.create(kind="profile", scope="demo", title="profiles", plan={})
    item = job.items.create(
        subject="person", role="profile", configuration="x", payload={"participation": person.code}, detail=MARK
    )
    Call.objects.create(purpose="profile", item=item, kind="scripted", request=[MARK])


def erase(*arguments: str) -> dict:
    stdout = StringIO()
    call_command("erase", *arguments, "--yes", "--json", verbosity=0, stdout=stdout)
    return json.loads(stdout.getvalue().splitlines()[-1])


@pytest.fixture
def var(tmp_path: Path, settings) -> Path:
    settings.VAR = tmp_path
    return tmp_path


def test_erase_leaves_no_word_of_the_person(var: Path):
    study = factories.study()
    person = marked_person(study)
    call_command("export", "demo", "--out", str(var / "tasks/demo/1/export"), verbosity=0, stdout=StringIO())
    Task.objects.create(study=study, command="export", folder="tasks/demo/1")
    assert everything_in(var).count(MARK) > 20
    raise_alarm(RiskEvent.objects.filter(subject=person.code).first())
    assert Alarm.objects.count() == 1

    Draft.objects.create(participation=person, step="profile", answers={"occupation": MARK})
    remember_payee(person, "5f1e2d3c4b5a69788796a5b4")
    RiskEvent.objects.update(released_at=timezone.now())

    summary = erase("demo", person.code)

    assert MARK not in everything_in(var)
    assert not Alarm.objects.exists()
    written = [export.partition(" (")[0] for export in summary.pop("exports")]
    assert written == ["tasks/demo/1", "tasks/demo/1/export"]
    assert summary.pop("proof")["found"] == []
    assert summary.pop("receipt") == person.receipts.get().code
    rows = {kind: count for kind, count in summary.pop("rows").items() if count}
    assert summary == {
        "study": "demo",
        "participant": person.code,
        "folders": ["tasks/demo/1"],
        "remaining": [],
        "failed": [],
    }
    assert rows == {
        "conversations": 2,
        "turns": 2,
        "calls": 2,
        "inner_states": 1,
        "responses": 4,
        "answers": 24,
        "role_plays": 1,
        "flags": 1,
        "reviews": 1,
        "adjudications": 1,
        "comparisons": 1,
        "interviews": 1,
        "interview_notes": 1,
        "passages": 1,
        "interview_files": 1,
        "candidate_dimensions": 1,
        "decisions": 2,
        "consents": 1,
        "risk_events": 2,
        "seeker_profiles": 1,
        "selection_scores": 1,
        "selection_decisions": 1,
        "questions": 1,
        "board_acts": 2,
        "draws": 1,
        "alarms": 1,
        "attachments": 1,
        "drafts": 1,
        "job_items": 1,
        "pairs": 1,
        "payees": 1,
        "raters": 1,
        "review_items": 1,
        "runs": 2,
        "safety_acts": 1,
        "verdicts": 1,
    }


@pytest.mark.parametrize(
    ("kind", "act"),
    [(Receipt.Kind.DELETED, ("answered", "person", "deleted")), (Receipt.Kind.ERASED, ("erased", "", ""))],
)
def test_open_alarm_outlasts_the_erasure_of_a_person_in_danger_without_their_words(var: Path, kind, act):
    study = factories.study()
    person = marked_person(study)
    [settled, waiting] = RiskEvent.objects.filter(subject=person.code).order_by("level")
    [alarm] = raise_alarm(waiting)
    record_act(waiting, SafetyAct.Kind.WHERE, by_name="person", text=MARK)

    for _time in range(2):
        erasure.erase(person, kind=kind)

    assert MARK not in everything_in(var)
    assert list(open_risks_of_people(study)) == [waiting]
    assert not RiskEvent.objects.filter(pk=settled.pk).exists()
    acts = waiting.acts.filter(kind__in=["answered", "erased"])
    assert list(acts.values_list("kind", "by_name", "text")) == [act]
    alarm.refresh_from_db()
    assert climb_overdue(alarm.climb_at) == 1


@pytest.mark.parametrize(("level", "warns"), [(4, True), (2, False)])
def test_command_says_before_it_erases_that_someone_may_be_in_danger(level: int, warns: bool, var: Path, capsys):
    person = factories.person(factories.study())
    RiskEvent.objects.create(subject=person.code, source="answer", level=level)
    erase("demo", person.code)
    assert ("This person may be in danger" in capsys.readouterr().err) == warns


@contextmanager
def not_removable(monkeypatch) -> Iterator[None]:
    """Folders that another account of the server owns; root may delete what it likes, so permissions do not tell."""

    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(removal, "remove_export", refuse)
        patch.setattr(removal, "remove_whole", refuse)
        yield


def test_erasure_is_done_where_an_export_cannot_be_removed_and_tried_again(var: Path, monkeypatch, desk, caplog):
    study = factories.study()
    person = marked_person(study)
    call_command("export", "demo", "--out", str(var / "export"), verbosity=0)
    with not_removable(monkeypatch):
        removed = erasure.erase(person)
        assert removed.failed == ["export (Permission denied)"]
        assert Receipt.objects.get().exports == removed.exports != []
        assert "could not be removed: export (Permission denied)" in caplog.text
        page = desk.get("/research/demo/life/").content.decode()
        assert "export (Permission denied)" in page
        assert removal.finish_removals() == 0  # whoever planned it may still be at it
        ExportRemoval.objects.update(made_at=timezone.now() - removal.UNDER_WAY)
        assert removal.finish_removals() == 0
    assert (var / "export" / "turns.csv").exists()

    assert removal.finish_removals() == 1

    assert not (var / "export").exists()
    assert not ExportRemoval.objects.exists()
    assert "could not be removed" not in desk.get("/research/demo/life/").content.decode()


@pytest.mark.parametrize("whose", ["person", "everyone", "imported", "test_data", "anonymise"])
def test_what_a_crash_leaves_of_an_erasure_is_finished(whose: str, var: Path, monkeypatch):
    study = factories.study()
    person = marked_person(study)
    factories.run_with_turns(study, external_id="c1", external_participant="Mary Imported")
    call_command("export", "demo", "--out", str(var / "export"), "--include-tests", verbosity=0)
    if whose == "test_data":
        study.participations.update(is_test=True)
    elif whose in ("everyone", "anonymise"):
        finish(study)
    acts = {
        "person": lambda: erasure.erase(person),
        "everyone": lambda: erasure.erase_everybody(study),
        "imported": lambda: erasure.erase_imported(study, "Mary Imported"),
        "test_data": lambda: remove_test_data(study),
        "anonymise": lambda: anonymise(study),
    }
    with monkeypatch.context() as patch:
        patch.setattr(removal.RemovedFiles, "remove", end_process)
        with pytest.raises(KeyboardInterrupt):
            acts[whose]()
    assert (var / "export").exists()

    ExportRemoval.objects.update(made_at=timezone.now() - removal.UNDER_WAY)
    assert removal.finish_removals() == 1
    assert not (var / "export").exists()


def end_process(*_arguments: object) -> bool:
    raise KeyboardInterrupt


def finish(study: Study) -> None:
    study.participations.update(status=Status.COMPLETED)
    factories.close(study)


def erase_everyone(*options: str) -> dict:
    out = StringIO()
    call_command("erase", "demo", "--everyone", "--json", *options, stdout=out)
    return json.loads(out.getvalue().splitlines()[-1])


def test_command_erases_everyone_of_a_closed_study_and_proves_it(var: Path):
    study = factories.study()
    marked_person(study)
    words = "My dog is called Balthasar the Third"
    factories.run_with_turns(study, factories.person(study), turns=[(words, "I see.")])
    imported = factories.run_with_turns(study, external_id="c1", external_participant="Mary Imported")
    Conversation.objects.filter(run=imported).update(seeker_kind=SeekerKind.IMPORTED)
    call_command("export", "demo", "--out", str(var / "export"), verbosity=0)
    finish(study)
    assert MARK in everything_in(var)

    told = erase_everyone("--yes")

    assert MARK not in everything_in(var).replace(f"['{MARK}']", "")  # a card is the study's own text
    assert "Mary Imported" not in everything_in(var)
    assert not (var / "export").exists()
    assert told["rows"]["turns"] > 0
    assert words not in everything_in(var)
    assert told["proof"]["pieces"] > 0
    assert not told["proof"]["found"]
    assert not erase_everyone("--yes")["rows"]["turns"]


@pytest.mark.parametrize("is_closed", [True, False])
def test_command_keeps_everyone_of_a_study_that_is_not_finished(is_closed: bool, var: Path):
    study = factories.study()
    marked_person(study)
    if is_closed:
        factories.close(study)
    words = everything_in(var).count(MARK)
    if not is_closed:
        study.participations.update(status=Status.COMPLETED)
    with pytest.raises(CommandError, match="not closed, or people are still taking part"):
        erase_everyone("--yes")
    assert everything_in(var).count(MARK) == words


def test_script_must_say_yes_to_erase_everyone(var: Path):
    study = factories.study()
    marked_person(study)
    finish(study)
    words = everything_in(var).count(MARK)
    with pytest.raises(CommandError, match="add --yes"):
        erase_everyone()
    assert everything_in(var).count(MARK) == words


def test_open_alarm_outlasts_the_erasure_of_everybody(var: Path):
    study = factories.study()
    person = marked_person(study)
    waiting = RiskEvent.objects.filter(subject=person.code).order_by("level").last()
    raise_alarm(waiting)
    finish(study)

    erasure.erase_everybody(study)

    assert MARK not in everything_in(var)
    assert list(open_risks_of_people(study)) == [waiting]


@pytest.mark.parametrize("end", [{"released_at": timezone.now()}, {"is_test": True}, {"level": 2}])
def test_signs_that_wait_for_no_one_go_with_what_a_person_deletes(end: dict):
    person = factories.person(factories.study())
    RiskEvent.objects.create(**{"subject": person.code, "source": "answer", "level": 3, **end})

    erasure.erase(person, kind=Receipt.Kind.DELETED)

    assert not RiskEvent.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite's file and its log")
def test_erase_leaves_no_word_in_the_database_file_nor_in_its_log(var: Path):
    person = marked_person(factories.study())
    name = str(connection.settings_dict["NAME"])
    files = [name, f"{name}-wal"]
    assert marks_in(files) > 20

    erase("demo", person.code)

    assert marks_in(files) == 0


def marks_in(files: list[str]) -> int:
    """Return how often the mark is there, as another process reads it: this one would lose SQLite's locks."""
    return subprocess.run(["cat", *files], capture_output=True, check=True).stdout.count(MARK.encode())


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite's locks")
def test_database_keeps_its_log_when_another_process_leaves_it_after_the_proof(var: Path):
    factories.study()
    assert search_for(["words that no one has said"]).found == []
    name = str(connection.settings_dict["NAME"])
    reader = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT 1 FROM studies_study').fetchall()"
    subprocess.run([sys.executable, "-c", reader, name], check=True)
    assert Path(f"{name}-wal").exists()


def exported(out: Path, *options: str) -> Path:
    call_command("export", "demo", "--out", str(out), *options, verbosity=0, stdout=StringIO())
    return out


def test_erase_removes_exports_that_a_command_wrote_anywhere_but_no_file_of_others(
    var: Path, tmp_path_factory: pytest.TempPathFactory
):
    person = marked_person(factories.study())
    elsewhere = exported(tmp_path_factory.mktemp("home") / "data")
    (elsewhere / "my_notes.txt").write_text("not of the export")
    below = exported(var / "exports" / "first")
    judgements = elsewhere.parent / "judgements.jsonl"
    call_command("export_judgements", "demo", "--out", str(judgements), verbosity=0, stdout=StringIO())
    assert judgements.exists()

    summary = erase("demo", person.code)

    assert summary["folders"] == [str(elsewhere), "exports/first", str(judgements)]
    assert [path.name for path in elsewhere.iterdir()] == ["my_notes.txt"]
    assert not below.exists()
    assert not judgements.exists()
    assert not ExportRecord.objects.exists()


def test_erase_leaves_exports_that_cannot_hold_the_person(var: Path):
    study = factories.study()
    before = exported(var / "before")
    marked_person(study)
    test_person = factories.person(study, is_test=True)
    real_people_only = exported(var / "real")
    with_tests = exported(var / "all", "--include-tests")

    summary = erase("demo", test_person.code)

    assert summary["folders"] == ["all"]
    assert before.exists()
    assert real_people_only.exists()
    assert not with_tests.exists()


@pytest.mark.django_db(transaction=True)
def test_export_that_is_written_while_someone_is_erased_removes_itself(var: Path, tmp_path: Path):
    person = factories.person(factories.study())
    out, erased = tmp_path / "export", []

    def erase_once(_name: str, _rows: int) -> None:
        if not erased:
            erased.append(erasure.erase(person))

    with pytest.raises(ExportRefused, match="run it once more"):
        export(person.study, out, only=Filter(), on_file=erase_once)

    assert erased[0].exports  # the receipt names what may have held them
    assert not out.exists()
    assert not ExportRecord.objects.exists()
    export(person.study, out, only=Filter(), on_file=lambda _name, _rows: None)
    assert person.code not in (out / "turns.csv").read_text(encoding="utf-8")


def test_export_that_fails_leaves_no_record(var: Path, tmp_path: Path):
    with (
        pytest.raises(OSError, match="full"),
        recorded_export(factories.study(), [tmp_path / "a"], include_tests=False),
    ):
        raise OSError("full")
    assert not ExportRecord.objects.exists()


def test_erase_finds_results_below_var_and_names_what_it_leaves(var: Path):
    person = marked_person(factories.study())
    results = var / "results"
    results.mkdir()
    (results / "results.json").write_text("{}")
    (results / "report.html").write_text(f"{'x' * (BLOCK - 4)}{person.code} said it")  # across a block's end
    (var / "other" / "results").mkdir(parents=True)
    (var / "other" / "results" / "results.json").write_text("{}")
    (var / "links.csv").write_text(f"code,track,url\n{person.code},participant,https://example.org/j/x/\n")

    summary = erase("demo", person.code)

    assert summary["folders"] == ["results"]
    assert summary["remaining"] == ["links.csv"]
    assert not results.exists()
    assert (var / "links.csv").exists()
    assert (var / "other" / "results").exists()


def test_erase_names_results_beside_an_export_elsewhere(var: Path, tmp_path_factory: pytest.TempPathFactory):
    person = marked_person(factories.study())
    home = tmp_path_factory.mktemp("home")
    data = exported(home / "data")
    for folder, words in (home / "results", person.code), (data / "results", person.code), (home / "other", "nobody"):
        folder.mkdir()
        (folder / "results.json").write_text(json.dumps([words]))
    (home / "letters").mkdir()
    (home / "letters" / "of.txt").write_text(person.code)

    summary = erase("demo", person.code)

    assert summary["remaining"] == [str(data / "results"), str(home / "results")]
    assert (home / "results" / "results.json").exists()


def test_erase_says_only_what_it_removed_and_what_it_cannot_know(var: Path, capsys: pytest.CaptureFixture[str]):
    person = factories.person(factories.study())
    factories.run_with_turns(person.study, person)

    call_command("erase", "demo", person.code, "--yes")

    lines = capsys.readouterr().out.splitlines()
    assert "conversations: 1 removed" in lines
    assert not [line for line in lines if ": 0 removed" in line]
    assert lines[-3:] == [
        f"{person.code}: only the code, the track, the withdrawal, payments and the receipt are kept.",
        f"receipt: {person.receipts.get().code}",
        ELSEWHERE,
    ]


def test_erase_leaves_the_others_alone_and_the_person_counted(var: Path):
    study = factories.study()
    other = factories.person(study)
    factories.rating(other, factories.run_with_turns(study, other))
    person = marked_person(study)

    erase("demo", person.code)
    summary = erase("demo", person.code)

    assert set(summary["rows"].values()) == {0}
    person.refresh_from_db()
    assert (person.status, person.order, person.language) == ("withdrawn", [], "")
    assert Answer.objects.filter(response__rater__participation=other).count() == 10


def test_erase_reaches_ratings_that_were_imported_under_the_persons_code(var: Path):
    study = factories.study()
    person = factories.person(study)
    factories.run_with_turns(study, external_id="c1")
    path = var / "ratings.csv"
    path.write_text(f"conversation,rater,rater_kind,instrument,item,score\nc1,{person.code},reviewer,own,care,3\n")
    call_command("import_ratings", "demo", str(path), "--as-is", verbosity=0, stdout=StringIO())

    erase("demo", person.code)

    assert Response.objects.count() == 0


@pytest.mark.parametrize(("study", "code"), [("demo", "P0000000"), ("nobody", "P0000000")])
def test_erase_of_an_unknown_code_is_bad_input(var: Path, study: str, code: str):
    factories.study()

    with pytest.raises(CommandError, match="There is no") as refused:
        erase(study, code)

    assert refused.value.returncode == 2


def test_adverse_event_stays_without_the_person_and_without_words(study):
    person = marked_person(study)

    erase("demo", person.code)

    row = AdverseEvent.objects.get()
    assert (row.severity, row.relatedness, row.origin) == ("severe", "possible", "report")
    assert (row.subject, row.event, row.description, row.action, row.changes) == ("", None, "", "", [])


WORDS = "I counted the blue lamps of the harbour until it was light."
CHINESE = "我数着港口的蓝色灯火，一直数到天亮才睡着。"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("words", [WORDS, CHINESE, "我睡不好。", "long " + "wörds of a long night " * 400])
def test_erase_proves_that_the_words_are_gone(var: Path, words: str):
    study = factories.study()
    person = factories.person(study)
    factories.run_with_turns(study, person, turns=[(words, "Yes.")])
    factories.answer(person, "profile", {"occupation": words})
    Draft.objects.create(participation=person, step="later", answers={"one": [words]})
    (var / "server.log").write_text("nothing of anyone")
    before = search_for(collect_words(scope_of(person)))

    proof = erase("demo", person.code)["proof"]

    assert before.found != []
    assert proof["found"] == []
    assert proof["pieces"] >= 1
    assert proof["files"] >= 1


@pytest.mark.django_db(transaction=True)
def test_what_was_written_in_a_rating_form_is_shown_to_the_person_and_proved_to_be_gone(var: Path):
    person = factories.person(factories.study())
    factories.answer(
        person, "turn_checkpoint", {"inner_thought": WORDS}, run=factories.run_with_turns(person.study, person)
    )
    [answers] = [kind for section in get_sections(person) for kind in section.kinds if kind.name == "answers"]

    assert [record["text"] for record in answers.records] == [WORDS]
    assert [piece for piece in collect_words(scope_of(person)) if piece in WORDS] != []
    assert erase("demo", person.code)["proof"]["found"] == []


@pytest.mark.django_db(transaction=True)
def test_proof_finds_words_that_were_left_in_a_log(var: Path):
    study = factories.study()
    person = factories.person(study)
    factories.run_with_turns(study, person, turns=[(WORDS, "Yes.")])
    (var / "notes.log").write_text(f"someone said: {WORDS}")

    assert erase("demo", person.code)["proof"]["found"] == ["notes.log"]


def test_proof_does_not_look_for_what_others_said_too(var: Path):
    study = factories.study()
    person, other = factories.person(study), factories.person(study)
    for each in (person, other):
        factories.run_with_turns(study, each, turns=[(WORDS, "Yes.")])

    assert collect_words(scope_of(person)) == []


def test_erase_reaches_people_whom_only_imported_files_name(var: Path):
    study = factories.study()
    theirs = factories.run_with_turns(study, turns=[(WORDS, "Yes.")], external_id="c1", external_participant="worker 7")
    others = factories.run_with_turns(study, external_id="c2", external_participant="worker 8")
    rater = Rater.objects.create(study=study, kind="crowd", code="worker 7")
    factories.rating(rater, others, comment=WORDS)
    export = exported(var / "export")

    summary = erase("demo", "--imported", "worker 7")

    assert WORDS not in everything_in(var)
    assert not export.exists()
    assert summary["proof"]["found"] == []
    assert {kind: summary["rows"][kind] for kind in ("runs", "turns", "raters", "responses")} == {
        "runs": 1,
        "turns": 1,
        "raters": 1,
        "responses": 1,
    }
    assert ArmRun.objects.filter(pk=others.pk).exists()
    assert not ArmRun.objects.filter(pk=theirs.pk).exists()
    with pytest.raises(CommandError, match="has the name 'worker 7'"):
        erase("demo", "--imported", "worker 7")


def test_queued_work_of_judges_on_pairs_goes_too(var: Path):
    study = factories.study()
    person = factories.person(study)
    pair = Pair.objects.create(
        study=study, run_a=factories.run_with_turns(study, person), run_b=factories.run_with_turns(study)
    )
    job = Job.objects.create(kind="pairs", scope="demo", title="pairs", plan={})
    for first in "ab":
        job.items.create(subject=subject_of(pair.pk, first), role=PAIR, configuration="x", payload={"said": MARK})

    erase("demo", person.code)

    assert not job.items.exists()


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("typed", ["P000", ""])
def test_erase_at_a_terminal_removes_nothing_unless_the_code_is_typed_again(typed, var, monkeypatch):
    person = factories.person(factories.study())
    factories.run_with_turns(person.study, person)
    monkeypatch.setattr("sys.stdin", Terminal(f"{typed}\n"))
    with pytest.raises(CommandError, match="Nothing was removed"):
        call_command("erase", "demo", person.code)
    assert person.runs.count() == 1
    monkeypatch.setattr("sys.stdin", Terminal(f"{person.code}\n"))
    call_command("erase", "demo", person.code)
    assert person.runs.count() == 0


def test_erase_in_a_script_asks_no_one(var, monkeypatch):
    person = factories.person(factories.study())
    factories.run_with_turns(person.study, person)
    monkeypatch.setattr("sys.stdin", StringIO(""))
    call_command("erase", "demo", person.code)
    assert person.runs.count() == 0
