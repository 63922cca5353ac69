"""No real person talks with a model before someone on call has acknowledged a drill."""

import tomllib
from dataclasses import replace
from datetime import timedelta

import pytest
import tomlkit
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from studies.care import alarms
from studies.models import Alarm, Participation, Study
from studies.participation import enrolment
from tests import factories

pytestmark = pytest.mark.django_db
SIGNED = {"secret_env": "NO_SUCH_KEY"}
SERVED = {"kind": "openai_compatible", "base_url": "https://x.example/v1", "model": "m", "provider": "Lab"}


def study_with_models(key: str = "hearts", **changes) -> Study:
    spec = factories.demo_spec()
    return factories.study(key, arms=(replace(spec.arms[0], **SERVED), *spec.arms[1:]), **changes)


@pytest.fixture
def study() -> Study:
    return study_with_models()


def test_invite_is_refused_and_says_what_to_run(study):
    with pytest.raises(CommandError, match=r"manage\.py try_oncall hearts --wait 10"):
        call_command("invite", "hearts", "--count", "1", verbosity=0)
    assert not Participation.objects.exists()


@pytest.mark.parametrize("extra", [["--test"], ["--track", "reviewer"]])
def test_test_people_and_reviewers_need_no_drill(study, extra):
    call_command("invite", "hearts", "--count", "1", *extra, verbosity=0)
    assert Participation.objects.count() == 1


def test_an_acknowledged_drill_opens_the_study(study):
    factories.acknowledged_drill(study)
    call_command("invite", "hearts", "--count", "1", verbosity=0)
    assert Participation.objects.count() == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"acknowledged_at": None},
        {"acknowledged_at": timezone.now() - timedelta(days=31)},
        {"address": "left@example.org"},
    ],
)
def test_a_drill_that_is_unanswered_or_old_or_of_somebody_who_has_left_does_not(study, fields):
    drill = factories.acknowledged_drill(study)
    Alarm.objects.filter(pk=drill.pk).update(**fields)
    assert not alarms.has_acknowledged_drill(study)
    with pytest.raises(CommandError):
        call_command("invite", "hearts", "--count", "1", verbosity=0)


def test_scripted_studies_and_the_demonstration_need_none():
    factories.study("scripts")
    study_with_models("demo")
    for key in ("scripts", "demo"):
        call_command("invite", key, "--count", "1", verbosity=0)


def test_once_real_people_have_begun_an_old_drill_closes_no_door(study):
    drill = factories.acknowledged_drill(study)
    factories.person(study)
    Alarm.objects.filter(pk=drill.pk).update(acknowledged_at=timezone.now() - timedelta(days=40))
    call_command("invite", "hearts", "--count", "1", verbosity=0)


def test_the_page_makes_no_links_and_says_why(study, admin_client):
    response = admin_client.post("/research/hearts/invite/", {"count": 2, "track": "participant"}, follow=True)
    page = response.content.decode()
    assert "no one on call has acknowledged a drill" in page
    assert 'href="/research/hearts/risks/drill/"' in page
    assert not Participation.objects.exists()
    admin_client.post("/research/hearts/invite/", {"count": 2, "track": "participant", "test": "on"})
    assert Participation.objects.count() == 2


def test_the_open_door_asks_people_to_come_back_later():
    study = study_with_models(open_enrolment=True)
    for method in ("get", "post"):
        response = getattr(Client(), method)("/open/hearts/")
        assert response.status_code == 403
        assert "This study has not opened yet" in response.content.decode()
    assert not Participation.objects.exists()
    factories.acknowledged_drill(study)
    assert Client().get("/open/hearts/").status_code == 200


def test_a_link_from_before_the_models_came_waits_too(study):
    person, token = enrolment.invite(study)
    _test_person, test_token = enrolment.invite(study, is_test=True)
    assert Client().post(f"/j/{token}/").status_code == 403
    assert Client().post(f"/j/{test_token}/").status_code == 302
    factories.acknowledged_drill(study)
    assert Client().post(f"/j/{token}/").status_code == 302
    assert person.code


def test_load_study_warns(settings, tmp_path, capsys):
    document = tomllib.loads((settings.FIXTURES / "studies" / "demo.toml").read_text(encoding="utf-8"))
    document |= {"key": "hearts", "safety": {"oncall": [{"name": "Ann", "webhook": "https://a.example", **SIGNED}]}}
    path = tmp_path / "hearts.toml"
    path.write_text(tomlkit.dumps(document), encoding="utf-8")
    call_command("load_study", str(path))
    assert capsys.readouterr().err == (
        "Warning: webhooks cannot be signed yet: the variable NO_SUCH_KEY is not set here. "
        "Set it for the server and for commands, and start the server again.\n"
    )
    document["arms"][0] |= SERVED
    document["consent"]["providers"] = ["Lab"]
    path.write_text(tomlkit.dumps(document), encoding="utf-8")
    call_command("load_study", str(path))
    assert "manage.py try_oncall hearts" in capsys.readouterr().err
