"""A kind of step that is registered from outside is loaded, walked, named, timed and counted like the product's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django.fixtures import Settings

from studies.design import spec as specs
from studies.design.spec import StepSpec
from studies.models import Consent, Participation, Study
from studies.participation import counts, progress
from studies.participation.step_kinds import KINDS
from tests import factories
from tests.extensions import breathing
from tests.people import Person

pytestmark = pytest.mark.django_db


@pytest.fixture
def brought(settings: Settings) -> Iterator[None]:
    templates = [{**settings.TEMPLATES[0]}]
    templates[0]["DIRS"] = [*templates[0]["DIRS"], Path(__file__).with_name("templates")]
    settings.TEMPLATES = templates
    breathing.bring()
    yield
    del KINDS[breathing.NAME]
    specs.STEPS.remove(breathing.NAME)


@pytest.fixture
def study(brought: None) -> Study:
    spec = factories.demo_spec()
    [consent] = [step for step in spec.steps if step.kind == "consent"]
    steps = (consent, StepSpec(breathing.NAME), StepSpec("debrief"))
    return factories.study(key="calm", steps=steps)


def test_person_walks_through_it_to_the_completion_code(study: Study) -> None:
    someone = Person("calm")
    someone.go_to(breathing.NAME)
    page = someone.page()
    assert "<h1>Breathe</h1>" in page.content.decode()
    assert page.context["outline"].minutes_left == pytest.approx(breathing.MINUTES, abs=2)
    someone.send({})
    someone.page()
    assert Participation.objects.get(pk=someone.row.pk).completion_code


def test_it_says_itself_what_is_missing(study: Study) -> None:
    someone = Person("calm")
    someone.go_to(breathing.NAME)
    assert breathing.NAME not in progress.missing_parts(someone.row)
    Consent.objects.all().delete()
    assert breathing.NAME in progress.missing_parts(someone.row)


def test_researchers_read_its_name(study: Study) -> None:
    someone = Person("calm")
    someone.go_to(breathing.NAME)
    assert "Breathing" in [step.label for step in counts.count_by_step(study)]
    desk = Client()
    desk.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))
    assert "Breathing" in desk.get("/research/calm/design/").content.decode()


def test_study_file_may_name_it(brought: None, settings: Settings, tmp_path: Path) -> None:
    load_with_step(settings, tmp_path)
    kinds = [step.kind for step in Study.objects.get(key="demo").current().spec().steps]
    assert breathing.NAME in kinds


def test_study_file_may_not_name_what_nobody_brought(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"steps\[1\]\.kind"):
        load_with_step(settings, tmp_path)


def load_with_step(settings: Settings, folder: Path) -> None:
    text = (settings.FIXTURES / "studies" / "demo.toml").read_text(encoding="utf-8")
    step = f'[[steps]]\nkind = "{breathing.NAME}"\n\n'
    at = text.index("[[steps]]")
    path = folder / "study.toml"
    path.write_text(text[:at] + step + text[at:], encoding="utf-8")
    call_command("load_study", str(path), verbosity=0)
