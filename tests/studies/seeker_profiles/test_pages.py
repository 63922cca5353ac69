"""The pages of simulated seekers' profiles: read, approved, refused, taken back, written anew."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from dialogue.seekers.profiles import as_content, load_profiles
from studies.design.spec import ArmSpec
from studies.models import SeekerProfile, Study, Task
from studies.seeker_profiles.checking import State, check_row
from studies.seeker_profiles.selection import DEMO_PROFILES, get_approved_profiles, keep
from studies.workbench import tasks
from tests import factories
from tests.studies.seeker_profiles.people import PROFILE, person

pytestmark = pytest.mark.django_db

PROFILES = {profile.id: profile for profile in load_profiles(DEMO_PROFILES)}


def draft(study: Study, key: str = "en01", **fields: Any) -> SeekerProfile:
    row = SeekerProfile(study=study, origin="answers", **fields)
    check_row(row, PROFILES[key], [], usual=State.DRAFT).save()
    return row


def address(name: str = "profiles", *args: str) -> str:
    return reverse(f"research-{name}", args=["demo", *args])


def page(desk: Client, key: str = "en01") -> str:
    response = desk.get(address("profile", key))
    assert response.status_code == 200
    return response.content.decode()


def act(desk: Client, act: str, key: str = "en01", **fields: str) -> Any:
    """As from the form of the page as it is now."""
    seen = desk.get(address("profile", key)).context["seen"]
    return desk.post(address("profile", key), {"act": act, "seen": seen, **fields}, follow=True)


def state(key: str = "en01") -> str:
    return SeekerProfile.objects.get(key=key).state


def text_of(row: SeekerProfile, **changes: Any) -> str:
    return json.dumps({**row.content, **changes}, ensure_ascii=False)


@pytest.mark.parametrize("place", [address(), address("profile", "en01")])
def test_pages_are_for_researchers(study: Study, place: str) -> None:
    draft(study)
    assert Client().get(place).status_code == 302
    stranger = Client()
    stranger.force_login(User.objects.create(username="eve"))
    assert stranger.get(place).status_code == 403
    stranger.post(place, {"act": "approve"})
    assert state() == "draft"


@pytest.mark.parametrize("name", ["profiles-import", "profiles-build", "profiles-expand"])
def test_forms_are_for_researchers_and_are_sent(study: Study, desk: Client, name: str) -> None:
    assert Client().post(address(name)).status_code == 403
    assert desk.get(address(name)).status_code == 405
    assert not Task.objects.exists()


def test_unknown_profile_is_not_found(study: Study, desk: Client) -> None:
    assert desk.get(address("profile", "nobody")).status_code == 404
    other = factories.study("other")
    draft(other)
    assert desk.get(address("profile", "en01")).status_code == 404


def test_empty_list_says_what_to_do_first(study: Study, desk: Client) -> None:
    told = desk.get(address()).content.decode()
    assert "No profiles yet" in told
    assert "import_profiles demo" in told


def test_list_tells_state_and_checks(study: Study, desk: Client) -> None:
    keep(study, list(PROFILES.values()), origin="seeker_profiles_demo.json")
    response = desk.get(address())
    rows = response.context["rows"]
    assert [row.profile.key for row in rows] == sorted(PROFILES)
    assert {(str(row.state), row.findings) for row in rows} == {("approved", 0)}
    assert "Rowan, 24, non-binary, call-centre agent" in response.content.decode()


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("", ["en01", "en02", "zh01"]),
        ("?state=draft", ["en01"]),
        ("?language=zh", ["zh01"]),
        ("?from=answers", ["en01"]),
        ("?from=files", ["en02", "zh01"]),
        ("?from=expanded", ["zh02"]),
        ("?sort=-key", ["zh01", "en02", "en01"]),
        ("?state=refused", []),
    ],
)
def test_list_is_filtered_and_sorted(study: Study, desk: Client, query: str, keys: list[str]) -> None:
    keep(study, [PROFILES["en02"], PROFILES["zh01"]], origin="mine.json")
    draft(study, made_of=person(study))
    if "expanded" in query:
        row = SeekerProfile(study=study, origin="expanded", seed="zh01")
        check_row(row, PROFILES["zh02"], [], usual=State.REFUSED).save()
    response = desk.get(address() + query)
    assert [row.profile.key for row in response.context["rows"]] == keys
    if not keys:
        assert "No matching profile" in response.content.decode()


@pytest.mark.parametrize("number", [1, 3])
def test_list_asks_the_database_as_often_for_three_as_for_one(
    study: Study, desk: Client, django_assert_num_queries: Any, number: int
) -> None:
    keep(study, list(PROFILES.values())[:number], origin="mine.json")
    for _ in range(number):
        person(study)
    desk.get(address())
    with django_assert_num_queries(23):  # five for the audit log
        desk.get(address())


def test_profile_is_readable_with_what_the_person_answered_beside_it(study: Study, desk: Client) -> None:
    draft(study, made_of=person(study))
    told = page(desk)
    assert "After six months of angry callers Rowan dreads every shift" in told
    assert "E 2.0, A 3.75, C 2.75, N 4.25, O 3.75" in told
    assert PROFILE["matter"] in told
    assert "Zaphod" in told
    assert "Nurse" not in told


def test_findings_are_told_in_sentences_at_their_places(study: Study, desk: Client) -> None:
    row = draft(study)
    act(desk, "rewrite", text=text_of(row, C={**row.content["C"], "background": "Write to a@example.org"}))
    told = page(desk)
    assert "C.background contains an e-mail address: “a@example.org”." in told
    groups = desk.get(address("profile", "en01")).context["groups"]
    assert [line.place for _, lines in groups for line in lines if line.marked] == ["C.background"]


def test_approved_one_is_played(study: Study, desk: Client) -> None:
    draft(study)
    assert get_approved_profiles(study) == []
    told = act(desk, "approve").content.decode()
    assert "Approved: simulated seekers can now use en01." in told
    row = SeekerProfile.objects.get()
    assert (row.state, row.decided_by.username) == ("approved", "ada")
    assert row.decided_at is not None
    assert get_approved_profiles(study) == [PROFILES["en01"]]


def test_refusal_needs_a_reason_and_keeps_it(study: Study, desk: Client) -> None:
    draft(study)
    assert act(desk, "refuse", reason=" ").status_code == 400
    assert state() == "draft"
    told = act(desk, "refuse", reason="Everyone in the town knows this story.").content.decode()
    assert state() == "refused"
    assert "Everyone in the town knows this story." in told
    assert get_approved_profiles(study) == []


@pytest.mark.parametrize("decided", ["approve", "refuse"])
def test_decision_is_taken_back(study: Study, desk: Client, decided: str) -> None:
    draft(study)
    act(desk, decided, reason="A twin.")
    act(desk, "draft")
    row = SeekerProfile.objects.get()
    assert (row.state, row.decided_by, row.decided_at, row.checks) == ("draft", None, None, [])
    assert "A twin." not in page(desk)


def test_what_the_checks_refuse_is_not_approved_until_it_is_written_anew(study: Study, desk: Client) -> None:
    row = draft(study)
    grave = text_of(row, S={**row.content["S"], "opening": "i want to kill myself"})
    act(desk, "rewrite", text=grave)
    assert state() == "refused"
    assert 'value="approve"' not in page(desk)
    for attempt in ("approve", "draft"):
        act(desk, attempt)
        assert state() == "refused"
    act(desk, "rewrite", text=text_of(row))
    assert state() == "draft"


def test_rewriting_an_approved_one_makes_a_draft_of_it(study: Study, desk: Client) -> None:
    row = draft(study)
    act(desk, "approve")
    act(desk, "rewrite", text=text_of(row, D={**row.content["D"], "age": 30}))
    row.refresh_from_db()
    assert (row.state, row.content["D"]["age"], row.decided_by) == ("draft", 30, None)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "not valid JSON"),
        (json.dumps({"id": "en01", "lang": "en", "D": {}, "P": {}, "S": {}}), "profile.D.alias: is missing"),
        (json.dumps({"id": "en01", "lang": "en", "D": {}, "P": {}, "S": {}}), "profile.C: is missing"),
        (
            json.dumps({**json.loads(DEMO_PROFILES.read_text())["profiles"][0], "id": "x"}),
            "profile.id: cannot be changed",
        ),
    ],
)
def test_faults_of_the_text_are_shown_beside_it_and_nothing_is_saved(
    study: Study, desk: Client, text: str, fault: str
) -> None:
    draft(study)
    before = SeekerProfile.objects.get().content
    response = act(desk, "rewrite", text=text)
    assert response.status_code == 400
    told = response.content.decode()
    assert fault in told
    assert 'aria-invalid="true"' in told
    assert response.context["text"] == text
    assert SeekerProfile.objects.get().content == before


def test_rewriting_is_checked_against_the_answers(study: Study, desk: Client) -> None:
    row = draft(study, made_of=person(study))
    trouble = {**row.content["C"], "background": "Zaphod never liked the Leeds branch."}
    act(desk, "rewrite", text=text_of(row, C=trouble))
    rules = {(each["rule"], each["found"]) for each in SeekerProfile.objects.get().checks}
    assert ("name", "Zaphod, Leeds") in rules
    assert ("answers", "non-binary ≠ Woman") in rules


def test_played_one_keeps_its_text(study: Study, desk: Client) -> None:
    row = draft(study)
    factories.run_with_turns(study, profile="en01")
    assert "so its text cannot change" in page(desk)
    response = act(desk, "rewrite", text=text_of(row, D={**row.content["D"], "age": 30}))
    assert response.status_code == 400
    assert SeekerProfile.objects.get().content == row.content


@pytest.mark.parametrize("late", ["approve", "refuse", "draft", "rewrite"])
def test_word_on_what_has_changed_meanwhile_does_nothing(study: Study, desk: Client, late: str) -> None:
    row = draft(study)
    seen = desk.get(address("profile", "en01")).context["seen"]
    act(desk, "rewrite", text=text_of(row, D={**row.content["D"], "age": 30}))
    fields = {"act": late, "seen": seen, "reason": "No.", "text": text_of(row)}
    told = desk.post(address("profile", "en01"), fields, follow=True).content.decode()
    assert "Someone changed this profile" in told
    row.refresh_from_db()
    assert (row.state, row.content["D"]["age"]) == ("draft", 30)


def test_twice_approved_is_once(study: Study, desk: Client) -> None:
    draft(study)
    seen = desk.get(address("profile", "en01")).context["seen"]
    for _ in range(2):
        desk.post(address("profile", "en01"), {"act": "approve", "seen": seen})
    assert state() == "approved"


def upload(desk: Client, content: bytes, name: str = "mine.json") -> Any:
    return desk.post(address("profiles-import"), {"file": SimpleUploadedFile(name, content)}, follow=True)


def test_file_is_imported(study: Study, desk: Client) -> None:
    told = upload(desk, DEMO_PROFILES.read_bytes()).content.decode()
    assert "12 profiles added, 0 already present." in told
    assert SeekerProfile.objects.filter(origin="mine.json", state="approved").count() == 12


def test_profile_too_mild_for_the_worst_case_is_named_at_once_and_on_its_page(study: Study, desk: Client) -> None:
    content = as_content(PROFILES["en01"]) | {"worst_case_default": {"low_engagement": 1}}
    told = upload(desk, json.dumps({"profiles": [content]}).encode()).content.decode()
    assert "Too mild for the worst case, so left out there: en01." in told
    assert "worst_case_default is too mild for the worst case" in page(desk)


def test_faults_of_a_file_are_shown_and_nothing_is_stored(study: Study, desk: Client) -> None:
    response = upload(desk, b'{"profiles": [{"id": "a"}]}')
    assert response.status_code == 400
    assert "mine.json: profiles[1].lang: is missing" in response.content.decode()
    assert desk.post(address("profiles-import")).status_code == 400
    assert not SeekerProfile.objects.exists()


def test_build_asks_first_and_starts_one_task(
    study: Study, desk: Client, on_commit_at_once: None, monkeypatch: Any
) -> None:
    started: list[Task] = []
    monkeypatch.setattr(tasks, "spawn", started.append)
    for _ in range(2):
        asked = desk.post(address("profiles-build"), {"include_tests": "on"}, follow=True)
        response = desk.post(asked.request["PATH_INFO"], {"work": asked.context["work"]}, follow=True)
    assert [(task.command, task.arguments) for task in started] == [("build_profiles", ["--include-tests"])]
    assert "from answers; without test data" not in response.content.decode()
    assert "from answers; with test data" in response.content.decode()


def test_further_profiles_are_asked_about_first_with_what_they_cost(
    study: Study, desk: Client, on_commit_at_once: None, monkeypatch: Any
) -> None:
    started: list[Task] = []
    monkeypatch.setattr(tasks, "spawn", started.append)
    factories.study(seeker=ArmSpec("openai_compatible", "far", "http://127.0.0.1:9/v1", key="seeker", title={}))
    keep(study, list(PROFILES.values()), origin="mine.json")
    asked = desk.post(address("profiles-expand"), {"count": "7", "seed": "3", "language": "zh"}, follow=True)
    assert asked.context["about"] == "after the approved profiles; 7 in all; seed 3; zh"
    assert asked.context["facts"][:2] == [("Profiles", "7"), ("Calls", "14")]
    assert not started
    desk.post(asked.request["PATH_INFO"], {"work": asked.context["work"]})
    assert [(task.command, task.arguments) for task in started] == [
        ("build_profiles", ["--expand", "all", "--count", "7", "--seed", "3", "--language", "zh"])
    ]


def test_further_profiles_without_an_approved_one_are_refused_with_what_to_do(study: Study, desk: Client) -> None:
    factories.study(seeker=ArmSpec("openai_compatible", "far", "http://127.0.0.1:9/v1", key="seeker", title={}))
    asked = desk.post(address("profiles-expand"), {"count": "7", "seed": "3", "language": ""}, follow=True)
    assert "the study has no approved profile in en or zh that may be used" in asked.content.decode()
    assert not asked.context["may_start"]


@pytest.mark.parametrize("wrong", [{"count": "0"}, {"count": "1001"}, {"seed": "x"}, {"language": "fr"}])
def test_odd_wish_for_further_profiles_is_refused_where_it_stands(
    study: Study, desk: Client, wrong: dict[str, str]
) -> None:
    response = desk.post(address("profiles-expand"), {"count": "7", "seed": "3", "language": ""} | wrong)
    assert response.status_code == 422
    assert set(response.context["expand_form"].errors) == set(wrong)


def test_script_of_the_demonstration_writes_no_further_profiles(study: Study, desk: Client) -> None:
    told = desk.get(address()).content.decode()
    assert "This needs a model: the demonstration's script writes from answers alone." in told
    assert 'name="count"' not in told


def test_build_counts_whom_it_may_be_of(study: Study, desk: Client) -> None:
    person(study)
    person(study, boxes={})
    work = desk.get(address()).context["work"]
    assert (len(work.people), work.not_agreed) == (1, 1)


def test_without_a_model_nothing_is_started(desk: Client, monkeypatch: Any) -> None:
    factories.study(seeker=None)
    assert "names no model for this" in desk.get(address()).content.decode()
    desk.post(address("profiles-build"))
    desk.post(address("profiles-expand"), {"count": "1", "seed": "1", "language": ""})
    assert not Task.objects.exists()
