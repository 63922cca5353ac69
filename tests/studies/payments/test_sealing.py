"""Contact data are unreadable in the database, leave it by one file alone, and outlive a change of the key."""

from io import StringIO
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.core.checks import run_checks
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from studies.design.payment_spec import PaymentSpec
from studies.models import Participation, Payee, Study
from studies.payments.payees import read_prolific_id, remember_payee
from studies.payments.sealing import ContactKeyError
from tests import factories

pytestmark = pytest.mark.django_db
ID = "5f1e2d3c4b5a69788796a5b4"


@pytest.fixture
def study() -> Study:
    return factories.study("paid", payment=PaymentSpec(currency="EUR", amount=5.0))


def payee(study: Study) -> Participation:
    person = factories.person(study, status="completed", active_seconds=60, ended_at=timezone.now())
    remember_payee(person, ID)
    return person


def new_key() -> str:
    return Fernet.generate_key().decode()


def test_database_holds_no_id_that_can_be_read(study):
    person = payee(study)

    stored = Payee.objects.get().sealed_id
    assert ID not in stored
    assert read_prolific_id(person) == ID


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite's file and its log")
def test_database_file_holds_no_id(study):
    payee(study)

    name = str(connection.settings_dict["NAME"])
    assert [Path(path).read_bytes().count(ID.encode()) for path in (name, f"{name}-wal")] == [0, 0]


def test_only_admins_of_the_study_download_the_ids(study):
    payee(study)
    client = Client()
    ruth = factories.grant(study, User.objects.create(username="ruth", is_staff=True), "researcher")
    client.force_login(ruth)

    page = client.get("/research/paid/payments/").content.decode()

    assert client.get("/research/paid/payments/prolific.csv").status_code == 403
    assert client.get("/research/paid/payments/bank.csv").status_code == 200
    assert "prolific.csv" not in page
    factories.grant(study, ruth, "admin")
    assert client.get("/research/paid/payments/prolific.csv").content.decode() == f"{ID},5.00\r\n"


def test_new_key_reads_the_old_until_everything_is_encrypted_anew(study, settings):
    old, new = new_key(), new_key()
    settings.CONTACT_KEYS = [old]
    person = payee(study)
    settings.CONTACT_KEYS = [new, old]
    told = StringIO()

    call_command("reseal_contacts", stdout=told)

    settings.CONTACT_KEYS = [new]
    person.refresh_from_db()
    assert read_prolific_id(person) == ID
    assert told.getvalue() == "1 encrypted by the first key of CONTACT_KEY.\n"


def test_lost_key_is_said_and_changes_nothing(study, settings):
    person = payee(study)
    before = Payee.objects.get().sealed_id
    settings.CONTACT_KEYS = [new_key()]

    with pytest.raises(CommandError, match="No key in CONTACT_KEY opens") as refused:
        call_command("reseal_contacts")
    with pytest.raises(ContactKeyError):
        read_prolific_id(person)

    assert refused.value.returncode == 2
    assert Payee.objects.get().sealed_id == before


def test_page_says_that_the_key_is_lost_and_gives_no_half_file(study, settings):
    payee(study)
    settings.CONTACT_KEYS = [new_key()]
    client = Client()
    client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))

    page = client.get("/research/paid/payments/prolific.csv", follow=True)

    assert page.redirect_chain == [("/research/paid/payments/", 302)]
    assert "No file: no key in CONTACT_KEY opens the stored Prolific IDs." in page.content.decode()


def test_without_a_key_nothing_is_stored_and_people_take_part(settings, caplog):
    study = factories.study("open", open_enrolment=True)
    settings.CONTACT_KEYS = []

    answer = Client().post(f"/open/open/?PROLIFIC_PID={ID}")

    assert answer.status_code == 302
    assert study.participations.count() == 1
    assert not Payee.objects.exists()
    assert "a Prolific ID was not stored" in caplog.text
    assert ID not in caplog.text
    assert "studies.W002" in [found.id for found in run_checks()]


def test_without_a_key_the_page_of_payments_says_so(study, settings):
    person = factories.person(study, status="completed")
    settings.CONTACT_KEYS = []
    client = Client()
    client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))

    page = client.post("/research/paid/payments/ids/", {"ids": f"{person.code},{ID}"}, follow=True)

    assert "Nothing was stored, because the server has no key for contact data." in page.content.decode()
    assert not Payee.objects.exists()


def test_page_says_that_the_key_is_made_of_another(study, settings):
    client = Client()
    client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))
    said = "The key that encrypts them is derived from this machine"

    settings.CONTACT_KEY_IS_DERIVED = True
    assert said in client.get("/research/paid/payments/").content.decode()
    settings.CONTACT_KEY_IS_DERIVED = False
    assert said not in client.get("/research/paid/payments/").content.decode()
