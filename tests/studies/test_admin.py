"""/admin/: a design may be set up until the first person has begun; what was collected is read-only."""

import json
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.db.models import ProtectedError
from django.forms.models import model_to_dict
from django.test import Client
from django.utils.html import escape

from studies.admin import faults_of
from studies.models import Arm, Decision, Judge
from studies.participation.enrolment import invite
from tests import factories

pytestmark = pytest.mark.django_db

READ_ONLY = ["study", "protocol", "participation", "response", "answer", "card", "roleplay"]


@pytest.fixture
def study():
    return factories.study()


@pytest.fixture
def desk():
    client = Client()
    client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))
    return client


def fields_of(row, **changes):
    """What the form of this row sends."""
    values = {name: "" if value is None else value for name, value in model_to_dict(row).items()}
    values = {**values, "title": json.dumps(row.title), "prompt_text": "{}", "extra": "{}", **changes}
    return {name: value for name, value in values.items() if value is not False}


def change(desk, row, **changes):
    """The faults that the form shows, or None where it was stored."""
    response = desk.post(f"/admin/studies/{row._meta.model_name}/{row.pk}/change/", fields_of(row, **changes))
    if response.status_code == 302:
        return None
    form = response.context["adminform"].form
    return [error for errors in form.errors.values() for error in errors]


def amber(study):
    return Arm.objects.get(protocol=study.current(), key="amber")


@pytest.mark.parametrize("name", [*READ_ONLY, "arm", "judge"])
def test_a_list_is_for_researchers(name, desk, study):
    person = factories.person(study)
    factories.rating(person, factories.run_with_turns(study, person))

    assert desk.get(f"/admin/studies/{name}/").status_code == 200
    assert Client().get(f"/admin/studies/{name}/").status_code == 302


@pytest.mark.parametrize("name", READ_ONLY)
def test_what_was_collected_is_read_only(name, desk, study):
    person = factories.person(study)
    response = factories.rating(person, factories.run_with_turns(study, person))
    rows = {
        "study": study,
        "protocol": study.current(),
        "participation": person,
        "response": response,
        "answer": response.answers.first(),
        "card": study.cards.first(),
        "roleplay": factories.role_play(response.run),
    }
    page = f"/admin/studies/{name}/{rows[name].pk}"

    assert desk.get(f"{page}/change/").status_code == 200
    assert desk.post(f"{page}/change/").status_code == 403
    assert desk.post(f"{page}/delete/").status_code == 403
    assert desk.get(f"/admin/studies/{name}/add/").status_code == 403


def test_a_person_shows_no_trace_of_their_link(desk, study):
    person = factories.person(study)

    page = desk.get(f"/admin/studies/participation/{person.pk}/change/").content.decode()

    assert person.code in page
    assert person.token_hash not in page


def test_an_arm_of_a_draft_may_be_changed_paused_and_deleted(desk, study):
    arm = amber(study)

    assert change(desk, arm, title='{"en": "Phrases", "zh": "词句"}', paused="on", protocol=study.current().pk) is None
    arm.refresh_from_db()
    assert (arm.title, arm.paused) == ({"en": "Phrases", "zh": "词句"}, True)
    assert desk.post(f"/admin/studies/arm/{arm.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not Arm.objects.filter(pk=arm.pk).exists()


@pytest.mark.parametrize("kind", [Arm, Judge])
@pytest.mark.parametrize("begun", ["person", "import"])
def test_a_model_is_fixed_once_somebody_has_begun(begun, kind, desk, study):
    if begun == "person":
        factories.person(study)
    else:
        factories.run_with_turns(study)
    row = kind.objects.first()
    page = f"/admin/studies/{kind._meta.model_name}/{row.pk}"

    assert desk.get(f"{page}/change/").status_code == 200
    assert desk.post(f"{page}/change/", fields_of(row, title="Other")).status_code == 403
    why = "demo v1 is in use: people have started with it, or conversations were imported into it."
    assert kept_because(desk.post(f"{page}/delete/", {"post": "yes"})) == [why]
    assert kept_because(delete_selected(desk, kind.objects.all())) == [why]
    assert kind.objects.get(pk=row.pk).title == row.title


def delete_selected(desk, rows):
    chosen = {"action": "delete_selected", "_selected_action": [row.pk for row in rows], "post": "yes"}
    return desk.post(f"/admin/{rows.model._meta.app_label}/{rows.model._meta.model_name}/", chosen)


def kept_because(response):
    """The reasons that the page gives for deleting nothing."""
    assert response.status_code == 200
    page = response.content.decode()
    assert "This cannot be deleted:" in page
    return [reason for reason in response.context["protected"] if f"<li>{escape(reason)}</li>" in page]


def test_arms_that_people_yet_to_come_need_are_kept(desk, study):
    """However many are chosen at once: those that were invited would have nobody to talk to."""
    invite(study)
    arms = study.current().arms.all()

    assert kept_because(delete_selected(desk, arms)) == ["demo v1 cannot continue without it. arms: no arms"]
    assert study.current().arms.count() == 5
    Arm.objects.exclude(key="amber").delete()
    gone = desk.post(f"/admin/studies/arm/{amber(study).pk}/delete/", {"post": "yes"})
    assert kept_because(gone) == ["demo v1 cannot continue without it. arms: no arms"]


def test_an_arm_stays_in_its_version(desk, study):
    other = factories.study("other").current()

    assert change(desk, amber(study), protocol=other.pk) is None
    assert study.current().arms.count() == 5


def test_an_account_that_has_decided_on_results_is_kept(desk, study):
    coder = factories.decided(factories.person(study), coder="bo").coder

    why = ["bo has made decisions about what is left out of results. Untick “Active” instead."]
    assert kept_because(desk.post(f"/admin/auth/user/{coder.pk}/delete/", {"post": "yes"})) == why
    assert kept_because(delete_selected(desk, User.objects.all())) == why
    assert Decision.objects.count() == 1
    other = User.objects.create(username="eve")
    assert desk.post(f"/admin/auth/user/{other.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not User.objects.filter(pk=other.pk).exists()


@pytest.mark.parametrize("of", ["study", "participation", "conversation", "coder"])
def test_the_database_deletes_nothing_that_others_depend_on(of, study):
    person = factories.person(study)
    run = factories.run_with_turns(study, person)
    rows = {"study": study, "participation": person, "conversation": run.conversation}
    rows["coder"] = factories.decided(person).coder

    with pytest.raises(ProtectedError):
        rows[of].delete()


def test_an_arm_cannot_join_a_study_that_has_begun(desk, study):
    begun = factories.study("begun", open_enrolment=True)
    factories.person(begun)
    new = Arm(protocol=begun.current(), key="new", title={"en": "New", "zh": "新"}, kind="scripted", model="mirror")

    response = desk.post("/admin/studies/arm/add/", fields_of(new))

    assert "protocol" in response.context["adminform"].form.errors
    assert not Arm.objects.filter(key="new").exists()


def test_an_arm_can_be_added_to_a_draft(desk, study):
    new = Arm(
        protocol=study.current(),
        key="fir",
        title={"en": "Fir", "zh": "冷杉"},
        kind="scripted",
        model="mirror",
        number=9,
    )

    assert desk.post("/admin/studies/arm/add/", fields_of(new)).status_code == 302
    assert [arm.key for arm in study.current().spec().arms][-1] == "fir"


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        (
            {"kind": "openai_compatible"},
            ["A model behind an address needs both a base URL and a model name."],
        ),
        ({"key": "birch"}, ["Arm with this Protocol and Key already exists."]),
        ({"key": "Two Words"}, ["Small letters, digits, '-' and '_' only."]),
        ({"temperature": "7"}, ["arms[1].temperature: must be between 0 and 2"]),
        (
            {"api_key_env": "sk-secret"},
            ["arms[1].api_key_env: must be the name of an environment variable (capitals, digits, _), never the key"],
        ),
        ({"provider": "Somebody"}, ['arms[1].provider: "Somebody" is not among consent.providers']),
        ({"prompt": "../secret"}, ["A file name only, without a folder."]),
        ({"prompt": "kind.txt"}, ["A prompt needs both a file name and a text."]),
        ({"prompt_text": '{"": "Be kind."}'}, ["A prompt needs both a file name and a text."]),
        (
            {"prompt": "kind", "prompt_text": '{"en": "Be kind."}'},
            ["arms[1].prompt: there is kind.en.txt, but no kind.zh.txt"],
        ),
        (
            {"prompt": "kind", "prompt_text": '{"../../en": "Be kind."}'},
            ['Texts by language, {"en": "…", "zh": "…"}, or one for every language, {"": "…"}.'],
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_change_that_breaks_the_study_is_refused(changes, faults, desk, study):
    arm = amber(study)

    assert change(desk, arm, **changes) == faults
    arm.refresh_from_db()
    assert (arm.key, arm.kind, arm.prompt) == ("amber", "scripted", "")


def test_a_prompt_may_be_given_in_every_language(desk, study):
    arm = amber(study)

    assert change(desk, arm, prompt="kind", prompt_text='{"en": "Be kind.", "zh": "请友善。"}') is None
    arm.refresh_from_db()
    assert arm.prompt_text == {"en": "Be kind.", "zh": "请友善。"}


def test_a_design_from_a_file_has_no_faults(study):
    spec = study.current().spec()

    assert faults_of(spec) == []
    assert faults_of(replace(spec, arms=())) == ["arms: no arms"]


def test_a_protocol_gives_its_study_file(desk, study):
    number = study.current().pk
    link = f"/admin/studies/protocol/{number}/study.toml"

    assert link in desk.get("/admin/studies/protocol/").content.decode()
    assert desk.get(link).content.decode().startswith('key = "demo"')
    assert desk.get("/admin/studies/protocol/77777/study.toml").status_code == 404
    assert Client().get(link).status_code == 302


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(("name", "queries"), [("participation", 6), ("response", 7), ("answer", 5)])
def test_a_list_asks_the_database_as_often_for_many_rows_as_for_one(
    name, queries, count, desk, study, django_assert_num_queries
):
    for _ in range(count):
        factories.answer(factories.person(study), "screening", {"treatment": "no"})

    with django_assert_num_queries(queries):
        desk.get(f"/admin/studies/{name}/")


UNSTORABLE = ('{"a": 1e999}', '{"a": NaN}', r'{"a": "\u0000"}', r'{"a\ud800": 1}', f'{{"a": {"9" * 20}}}', "9" * 5000)


@pytest.mark.parametrize("extra", [*UNSTORABLE, "[" * 100_000, "[" * 500 + "]" * 500])
def test_json_that_cannot_be_stored_is_a_mistake_in_the_form(extra, desk, study):
    row = amber(study)
    assert change(desk, row, extra=extra) == ["Enter a valid JSON."]
    assert change(desk, row, title=extra) == ["Enter a valid JSON."]


@pytest.mark.parametrize("extra", ['{"a": [1, -2.5, true, "\u00e4"]}', f'{{"a": {2**63 - 1}}}', "{}"])
def test_json_that_can_be_stored_is_taken(extra, desk, study):
    assert change(desk, amber(study), extra=extra) is None


@pytest.mark.parametrize("extra", ['{"a": null}', '{"a": [{"b": null}]}', "[1]", "5", '"a"'])
def test_extra_that_a_study_file_cannot_hold_is_a_mistake_in_the_form(extra, desk, study):
    assert change(desk, amber(study), extra=extra) == [
        "An object without null values: a study file cannot express null."
    ]


def test_role_of_a_judge_that_there_is_not_is_a_mistake_in_the_form(desk, study):
    judge = study.current().judges.get(key="demo")
    assert change(desk, judge, extra='{"role": "evaluator"}') is None
    assert change(desk, judge, extra='{"role": "critic"}') == [
        'judges[1].role: "critic" is none of seeker, evaluator, rubric'
    ]
    judge.refresh_from_db()
    assert judge.extra == {"role": "evaluator"}
