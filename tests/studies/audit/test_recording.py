"""What people of the team do is written down, once, in the transaction that does it."""

from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import DatabaseError
from django.http import HttpResponse
from django.test import Client
from django.urls import resolve

from studies.access.log_lines import find_logged
from studies.audit import recording
from studies.audit.acting import Actor, act_as, actor_of_command
from studies.audit.chain import check_chain
from studies.connections.tokens import create_token
from studies.data.applicant_retention import forget
from studies.data.erasure import erase
from studies.models import AdverseEvent, ApiToken, ArmRun, AuditEntry, Participation, Study, StudyDraft, Task
from studies.participation.board_acts import set_paused
from studies.workbench.asking_first import ask_first
from studies.workbench.tasks import TASK_VARIABLE
from tests import factories

pytestmark = pytest.mark.django_db
R = "/research/demo/"


def entries(study_key: str = "demo") -> list[tuple[str, str, str]]:
    return [(one.act, one.thing, one.code) for one in AuditEntry.objects.filter(study_key=study_key)]


@pytest.fixture
def person(study: Study) -> Participation:
    return factories.person(study)


@pytest.fixture
def run(study: Study, person: Participation) -> ArmRun:
    return factories.run_with_turns(study, person)


def command(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out, verbosity=0)
    return out.getvalue()


# Looking


def test_opening_a_person_and_a_conversation_is_written_down_by_record_code(desk, person, run):
    desk.get(f"{R}people/{person.code}/")
    response = desk.get(f"{R}conversations/{run.conversation.code}/")

    assert entries() == [("saw", "person", person.record_code), ("saw", "conversation", f"{person.record_code}/1")]
    entry = AuditEntry.objects.get(thing="conversation")
    ada = User.objects.get()
    assert (entry.account, entry.by_name, entry.source) == (ada.pk, "ada", "research-conversation")
    assert response["X-Request-ID"] == entry.request
    assert len({one.request for one in AuditEntry.objects.all()}) == 2


def test_a_conversation_of_no_person_stands_under_its_own_code(desk, study):
    run = factories.run_with_turns(study)
    desk.get(f"{R}conversations/{run.conversation.code}/")
    assert entries() == [("saw", "conversation", run.conversation.code)]


@pytest.mark.parametrize("path", ["people/nobody/", "conversations/nothing/", "nowhere/"])
def test_what_is_not_there_was_not_looked_at(path, desk, study):
    assert desk.get(R + path).status_code == 404
    assert entries() == []


def test_strangers_and_people_without_the_role_have_looked_at_nothing_and_accounts_were_refused(person):
    page = f"{R}people/{person.code}/"
    assert Client().get(page).status_code == 302
    eve = Client()
    eve.force_login(factories.grant(person.study, User.objects.create(username="eve", is_staff=True), "coder"))
    assert eve.get(page).status_code == 403
    assert eve.post(f"{R}life/pause/", {"reason": "Too hot."}).status_code == 403
    assert entries() == [("refused", "person", person.record_code), ("refused", "stage", "")]
    assert set(AuditEntry.objects.values_list("by_name", flat=True)) == {"eve"}


def test_an_account_without_any_study_is_refused_in_the_log_of_the_installation(study):
    eve = Client()
    eve.force_login(User.objects.create(username="eve"))
    assert eve.get("/research/of-nobody/people/nobody/").status_code == 403
    assert entries("of-nobody") == []
    assert entries("") == [("refused", "person", "")]


def test_the_board_and_lists_of_codes_write_nothing(desk, person, django_assert_num_queries):
    for path in ("", "people/", "risks/", "payments/", "quality/"):
        assert desk.get(R + path).status_code == 200
    assert entries() == []


def test_a_page_that_cannot_be_written_down_is_not_shown(desk, person, monkeypatch):
    def fail(*_arguments: Any) -> None:
        raise DatabaseError("full")

    monkeypatch.setattr(recording, "record", fail)
    desk.raise_request_exception = False
    assert desk.get(f"{R}people/{person.code}/").status_code == 500


# Doing


def test_an_act_is_written_down_once_and_without_the_arm(desk, study):
    assert desk.post(f"{R}arms/amber/pause/", {"reason": "It hangs."}).status_code == 302

    entry = AuditEntry.objects.get()
    assert (entry.act, entry.thing, entry.code, entry.source) == ("changed", "arm", "", "research-pause-arm")
    assert "amber" not in str(vars(entry))
    assert "hangs" not in str(vars(entry))


def test_asking_first_and_forms_with_faults_are_not_written_down(desk, study):
    assert desk.get(f"{R}arms/amber/pause/").status_code == 200
    assert desk.post(f"{R}arms/amber/pause/", {"reason": ""}).status_code == 422
    assert entries() == []


def test_an_act_that_changes_nothing_is_not_written_down(desk, study):
    set_paused(study, "amber", paused=True, by=User.objects.get(), reason="It hangs.")
    assert desk.post(f"{R}arms/amber/pause/", {"reason": "Again."}).status_code == 302
    assert entries() == []


def test_a_refusal_that_changes_something_all_the_same_is_written_down(study, rf):
    def answer() -> HttpResponse:
        set_paused(study, "amber", paused=True, by=User.objects.create(username="ada"), reason="It hangs.")
        return HttpResponse(status=422)

    request = rf.post(f"{R}arms/amber/pause/")
    request.audit_number = "1"
    match = resolve(request.path)
    logged, _apart = find_logged(match.view_name, "POST")
    recording.record_write(request, match, logged, answer)
    assert entries() == [("changed", "arm", "")]


def test_neither_act_nor_entry_is_stored_without_the_other(desk, study, monkeypatch):
    def fail(*_arguments: Any) -> None:
        raise DatabaseError("full")

    monkeypatch.setattr(recording, "record", fail)
    desk.raise_request_exception = False
    assert desk.post(f"{R}arms/amber/pause/", {"reason": "It hangs."}).status_code == 500
    assert not study.board_acts.exists()
    assert not study.current().arms.get(key="amber").paused


def test_a_page_that_breaks_takes_back_what_it_began(desk, study, monkeypatch):
    from studies.board import act_pages

    def break_down(*_arguments: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(act_pages.messages, "success", break_down)
    desk.raise_request_exception = False
    assert desk.post(f"{R}arms/amber/pause/", {"reason": "It hangs."}).status_code == 500
    assert (entries(), study.board_acts.count()) == ([], 0)


def test_stage_access_and_unblinding(desk):
    study = factories.study("hearts")
    factories.person(study)
    eve = User.objects.create_user("eve", "eve@example.org", is_staff=True)
    factories.grant(study, eve, "reader")
    desk.post(f"/research/hearts/access/{eve.pk}/", {"roles": ["coder"]})
    desk.post("/research/hearts/analysis/unblind/", {"key": "hearts", "when": "earlier", "reason": "It is over."})
    desk.post("/research/hearts/life/close/", {"key": "hearts"})

    assert entries("hearts") == [
        ("changed", "access", str(eve.pk)),
        ("unblinded", "results", ""),
        ("changed", "stage", ""),
    ]


def test_signing_in_stands_in_the_log_of_the_installation(study):
    User.objects.create_user("eve", password="right horse", is_staff=True)
    browser = Client()
    browser.post("/research/sign-in/", {"login": "eve", "password": "right horse"})
    assert entries("") == [("signed_in", "account", "")]
    assert AuditEntry.objects.get().by_name == "eve"


def test_wrong_password_of_an_account_is_written_down(study):
    eve = User.objects.create_user("eve", password="right horse", is_staff=True)
    Client().post("/research/sign-in/", {"login": "Eve", "password": "wrong"})
    assert entries("") == [("refused", "account", "")]
    entry = AuditEntry.objects.get()
    assert (entry.account, entry.by_name, entry.source) == (eve.pk, "eve", "research-sign-in")


def test_name_that_no_account_has_is_not_written_down(study):
    Client().post("/research/sign-in/", {"login": "my secret password", "password": ""})
    Client().post("/research/sign-in/", {"login": "my secret password", "password": "x"})
    assert entries("") == []


def test_guesses_beyond_the_limit_are_refused_before_they_are_written_down(study):
    User.objects.create_user("eve", password="right horse", is_staff=True)
    for guess in range(8):
        Client().post("/research/sign-in/", {"login": "eve", "password": str(guess)})
    assert entries("") == [("refused", "account", "")] * 5


def test_the_admin_site_is_written_down_by_row(desk, person):
    desk.get(f"/admin/studies/participation/{person.pk}/change/")
    assert entries("") == [("saw", "admin_site", str(person.pk))]
    assert AuditEntry.objects.get().source == "admin:studies_participation_change"


def test_a_draft_that_becomes_a_study_is_written_down_with_it(desk, study):
    from studies.builder.drafts import copy_study

    text, files = copy_study(study.current())
    changed = text.replace('"demo"', '"fresh"', 1)
    draft = StudyDraft.objects.create(text=changed, files=files, owner=User.objects.get(), owner_name="ada")
    desk.post(f"/research/drafts/{draft.pk}/load/")
    assert entries("fresh") == [("changed", "design", "1")]


# The API


def ask(user: User, method: str, path: str, **more: Any) -> Any:
    _row, text = create_token(user, name="ours", scopes=ApiToken.Scope.values)
    return getattr(Client(), method)(
        f"/api/v1/studies/demo/{path}", headers={"Authorization": f"Bearer {text}"}, **more
    )


def test_a_program_acts_as_the_account_of_its_token(study):
    eve = factories.grant(study, User.objects.create(username="eve", is_staff=True), "researcher")
    assert ask(eve, "get", "tables/turns.csv").status_code == 200
    assert ask(eve, "post", "pause/", data={}, content_type="application/json").status_code == 200

    assert entries() == [("exported", "data", "turns"), ("changed", "stage", "")]
    assert {(one.account, one.by_name) for one in AuditEntry.objects.all()} == {(eve.pk, "eve")}


def test_a_program_that_is_refused_has_exported_nothing(study):
    eve = factories.grant(study, User.objects.create(username="eve", is_staff=True), "reader")
    assert ask(eve, "get", "tables/turns.csv").status_code == 403
    assert entries() == [("refused", "data", "turns")]


# Erasing


@pytest.fixture
def var(tmp_path: Path, settings: Any) -> Path:
    settings.VAR = tmp_path
    return tmp_path


def test_erasing_breaks_the_link_of_every_entry_to_the_person(desk, person, run, var):
    code, record_code = person.code, person.record_code
    desk.get(f"{R}people/{code}/")
    desk.post(f"{R}people/{code}/erase/", {"key": code, "code": code})

    assert entries() == [("saw", "person", record_code), ("erased", "person", record_code)]
    person.refresh_from_db()
    assert (person.code, person.record_code) == (code, None)
    assert AuditEntry.objects.get(act="erased").by_name == "ada"
    assert not Participation.objects.filter(record_code=record_code).exists()
    assert check_chain("demo").fault is None
    assert code not in "".join(str(vars(one)) for one in AuditEntry.objects.all())


def test_an_adverse_event_keeps_the_record_code_alone(desk, person, var):
    form = {"subject": person.code, "occurred_at": "2026-01-02T03:04", "description": "x", "severity": "mild"}
    desk.post(f"{R}risks/adverse/new/", {**form, "relatedness": "unlikely", "outcome": "unknown"})
    event = AdverseEvent.objects.get()
    assert event.record_code == person.record_code

    erase(person)

    event.refresh_from_db()
    assert (event.subject, event.record_code) == ("", person.record_code)


def test_whoever_erases_is_named_and_the_server_has_no_name(person, var):
    erase(person)
    other = factories.person(person.study)
    forget([other])

    assert entries() == [("erased", "person", person.record_code), ("erased", "applicant", other.record_code)]
    assert {(one.account, one.by_name, one.source) for one in AuditEntry.objects.all()} == {(None, "", "")}


# Commands


@pytest.fixture
def at_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "operator")


def test_commands_are_written_down_with_the_account_of_the_computer(study, at_the_shell):
    command("invite", "demo", "--count", "2")
    command("pause_study", "demo")
    User.objects.create(username="eve")
    command("grant", "demo", "eve", "reader")

    assert entries() == [("changed", "people", ""), ("changed", "stage", ""), ("changed", "access", "")]
    found = [(one.account, one.by_name, one.source) for one in AuditEntry.objects.all()]
    assert found == [(None, "operator", name) for name in ("invite", "pause_study", "grant")]


def test_a_command_that_refuses_or_changes_nothing_is_not_written_down(study):
    command("pause_study", "demo")
    for arguments in (
        ("pause_study", "demo"),
        ("grant", "demo", "nobody", "reader"),
        ("judge", "demo", "--strategy", "x"),
    ):
        with suppress(CommandError):
            command(*arguments)
    assert entries() == [("changed", "stage", "")]


def test_exports_are_written_down_where_they_are_recorded(study, run, tmp_path, at_the_shell):
    command("export", "demo", "--out", str(tmp_path / "out"))
    assert entries() == [("exported", "data", "")]
    assert AuditEntry.objects.get().source == "export"


def test_erasing_by_command(person, var, at_the_shell):
    command("erase", "demo", person.code, "--yes")
    assert entries() == [("erased", "person", person.record_code)]
    assert (AuditEntry.objects.get().by_name, AuditEntry.objects.get().source) == ("operator", "erase")


def test_work_that_a_page_started_is_that_of_its_account(study, monkeypatch):
    eve = User.objects.create(username="eve", is_staff=True)
    task = Task.objects.create(study=study, command="judge", started_by=eve)
    monkeypatch.setenv(TASK_VARIABLE, str(task.pk))
    assert actor_of_command("judge") == (eve.pk, "eve", "judge", "")


def test_an_estimate_on_a_page_has_started_nothing(desk, study):
    bots = ["--track", "participant", "--count", "1"]
    address = ask_first(study, "run_bots", bots, back="research-life")["Location"]
    response = desk.get(address)
    assert response.status_code == 200
    assert response.context["quote"].refusals == []
    command("run_bots", "demo", *bots, "--estimate")
    assert entries() == []


def test_a_command_that_a_request_calls_is_the_act_of_its_account(study, at_the_shell):
    ada = Actor(7, "ada", "research-people", "f00d")
    with act_as(lambda: ada):
        command("pause_study", "demo")
    entry = AuditEntry.objects.get()
    assert (entry.account, entry.by_name, entry.source, entry.request) == (7, "ada", "pause_study", "f00d")


def test_a_command_that_breaks_has_been_started(study, monkeypatch):
    from studies.management.commands import try_oncall

    def break_down(*_arguments: Any, **_options: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(try_oncall.Command, "work", break_down)
    with pytest.raises(RuntimeError):
        command("try_oncall", "demo")
    assert entries() == [("started", "drill", "")]
