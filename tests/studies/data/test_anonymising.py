"""An anonymised study has no words and no identifier of anyone, and its scores are as they were."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from dialogue.models import Conversation
from dialogue.models.conversation import SeekerKind
from studies.data.holdings import HOLDINGS, Fate
from studies.models import Answer, ArmRun, Participation, Rater, Receipt, Study
from studies.participation.enrolment import invite
from studies.payments.payees import remember_payee
from tests import factories
from tests.studies.data.test_erasure import MARK, everything_in, marked_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def var(tmp_path: Path, settings) -> Path:
    settings.VAR = tmp_path
    return tmp_path


@pytest.fixture
def study() -> Study:
    return factories.study()


def finish(study: Study) -> None:
    study.participations.update(status="completed")
    factories.close(study)


def anonymise(*arguments: str) -> dict:
    told = StringIO()
    call_command("anonymise", *arguments, "--json", verbosity=0, stdout=told)
    return json.loads(told.getvalue().splitlines()[-1])


def test_no_word_and_no_identifier_is_left(study, var):
    person = marked_person(study)
    remember_payee(person, "5f1e2d3c4b5a69788796a5b4")
    person.questions.create(text=MARK)
    person.consents.update(text_hash="of the form that everyone signs")
    imported = factories.run_with_turns(study, turns=[(MARK, MARK)], external_id=MARK, external_participant=MARK)
    Conversation.objects.filter(run=imported).update(seeker_kind=SeekerKind.IMPORTED)
    Rater.objects.create(study=study, kind="crowd", code=MARK)
    codes = list(study.participations.values_list("code", flat=True))
    call_command("export", "demo", "--out", str(var / "export"), verbosity=0, stdout=StringIO())
    finish(study)

    done = anonymise("demo", "--confirm", "demo")

    # A card is the study's own text, and its ticks are behaviours of a list.
    left = everything_in(var).replace(f"['{MARK}']", "")
    assert MARK not in left
    assert [code for code in codes if code in left] == []
    assert done["folders"] == ["export"]
    assert done["deleted"]["questions"] == 2
    study.refresh_from_db()
    assert study.anonymised_at is not None


def test_scores_and_chosen_options_stay(study, var):
    person = factories.person(study)
    run = factories.run_with_turns(study, person)
    factories.rating(person, run, 3.0, comment="she was right")
    factories.answer(person, "profile", {"gender": "woman"})
    finish(study)

    anonymise("demo", "--confirm", "demo")

    answers = {one.item: (one.value, one.text) for one in Answer.objects.all()}
    assert answers["safety"] == (3.0, "")
    assert answers["comment"] == (None, "")
    assert answers["gender"] == (None, "woman")
    assert ArmRun.objects.get(pk=run.pk).arm == "amber"


def test_links_end_and_nothing_of_the_old_code_leads_to_anybody(study, var):
    person, token = invite(study)
    code = person.code
    finish(study)

    anonymise("demo", "--confirm", "demo")

    assert Client().get(f"/j/{token}/").status_code == 404
    assert not Participation.objects.filter(code=code).exists()
    assert not Receipt.objects.exists()


def test_second_time_changes_nothing_more(study, var):
    marked_person(study)
    finish(study)
    anonymise("demo", "--confirm", "demo")
    before = Answer.objects.count()

    assert set(anonymise("demo", "--confirm", "demo")["deleted"].values()) == {0}
    assert Answer.objects.count() == before


@pytest.mark.parametrize(("finished", "confirm"), [(False, "demo"), (True, "other"), (True, None)])
def test_nothing_changes_without_confirmation_or_while_people_take_part(study, var, finished, confirm):
    marked_person(study)
    if finished:
        finish(study)
    words = everything_in(var).count(MARK)

    with pytest.raises(CommandError) as refused:
        anonymise("demo", *(["--confirm", confirm] if confirm else []))

    assert refused.value.returncode == 2
    assert everything_in(var).count(MARK) == words


def test_every_text_of_a_person_is_named_or_known():
    """A new column with free text must be cleared, or named here with the reason why it stays."""
    stays = {
        "calls": {"prompt_version"},
        "conversations": {"opening", "opening_request"},  # said before the person said anything
        "answers": {"text"},  # cleared by item
    }
    for holding in HOLDINGS:
        if holding.anonymised != Fate.DELETED:
            texts = {f.name for f in holding.model._meta.concrete_fields if f.get_internal_type() == "TextField"}
            assert texts - set(holding.blanks) - stays.get(holding.name, set()) == set(), holding.name
