"""A person reads and downloads what is stored of them, stops, deletes while the consent form allows, has a receipt."""

import json
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from studies.data.erasure import erase, erase_everybody
from studies.data.holdings import HOLDINGS
from studies.design.retention_spec import RetentionSpec
from studies.models import Consent, Participation, Receipt, Study
from studies.models.participation import Status, digest
from studies.my_data.contents import NAMES, SHOWN, TITLES, get_document, get_sections
from studies.participation import enrolment, progress
from studies.payments.payees import remember_payee
from tests import factories
from tests.people import Person
from tests.studies.data.test_erasure import marked_person

pytestmark = pytest.mark.django_db
MINE = "I counted the blue lamps of the harbour."
PAGE = "/study/my-data/"


@pytest.fixture(autouse=True)
def var(tmp_path, settings):
    settings.VAR = tmp_path


@pytest.fixture
def study() -> Study:
    return factories.study()


def browser_of(person: Participation) -> Client:
    """A browser that came by the person's link."""
    Participation.objects.filter(pk=person.pk).update(token_hash=digest(f"link of {person.code}"))
    client = Client()
    client.post(f"/j/link of {person.code}/")
    return client


def somebody(study: Study, **fields) -> Participation:
    person = factories.person(study, plan=[{"kind": "debrief", "key": "debrief"}], **fields)
    run = factories.run_with_turns(study, person, turns=[(MINE, "How many were there?")])
    factories.rating(person, run, 4.0, comment="it listened")
    factories.answer(person, "profile", {"occupation": "lamp lighter"})
    Consent.objects.create(
        participation=person, instrument="consent_template", version="1", text_hash="h", language="en", boxes={}
    )
    return person


def test_page_says_what_is_stored_and_offers_to_read_download_and_stop(study):
    client = browser_of(somebody(study))

    page = client.get(PAGE).content.decode()

    for words in ("Your answers", "Your conversations", "Download everything", "Read it here", "Stop…"):
        assert words in page


def test_page_counts_conversations_messages_and_answers_not_records(study):
    client = browser_of(somebody(study))

    page = client.get(PAGE).content.decode()

    assert "(1 conversation with 1 message)" in page
    assert "(12 answers)" in page  # ten scores, the remark and one item of the profile
    assert "record)" not in page
    assert "records)" not in page


def test_chinese_pages_have_no_blank_before_their_brackets(study):
    client = browser_of(somebody(study))
    client.post("/study/language/", {"language": "zh"})

    overview, read = (client.get(f"{PAGE}{page}").content.decode() for page in ("", "read/"))

    assert "<strong>您的对话</strong>（1 次对话，共 1 条消息）" in overview
    assert re.findall(r"<summary>\s*(\S+（1）)", read)[:2] == ["您的参与（1）", "知情同意（1）"]
    assert "第 1 次对话（1）" in read


def test_page_of_those_who_left_offers_neither_pause_nor_leave(study):
    person = somebody(study)
    client = browser_of(person)
    assert 'href="/pause/"' in client.get(PAGE).content.decode()
    progress.leave(person)

    page = client.get("/study/").content.decode()

    assert 'href="/pause/"' not in page
    assert "Leave the study" not in page
    assert f'href="{PAGE}"' in page
    assert "no longer works" not in page


def test_page_after_deletion_says_that_the_link_no_longer_works(study):
    person = somebody(study)
    client = browser_of(person)
    client.post("/leave/", {"choice": "delete"})

    page = client.get("/study/").content.decode()

    assert "Please save it now: your personal link no longer works" in page
    assert 'href="/pause/"' not in page


def test_every_page_of_a_person_leads_to_it(study):
    client = browser_of(somebody(study))
    for address in ("/study/", "/pause/", "/leave/", "/help/", "/study/ask/"):
        assert f'href="{PAGE}"' in client.get(address, follow=True).content.decode(), address


def test_page_to_read_has_the_words_and_answers_in_words(study):
    client = browser_of(somebody(study))

    page = client.get(f"{PAGE}read/").content.decode()

    for words in (MINE, "How many were there?", "lamp lighter", "it listened"):
        assert words in page
    heads = [
        " ".join(re.sub(r"<[^>]+>", "", head).split()) for head in re.findall(r"<summary>(.*?)</summary>", page, re.S)
    ]
    moment = r"\d{4}-\d\d-\d\d \d\d:\d\d \(UTC\)"
    assert any(re.fullmatch(rf"About you · 1 answer · {moment}", head) for head in heads), heads
    assert "&lt;time" not in page


def test_file_has_everything_that_the_person_gave(study):
    person = somebody(study)
    remember_payee(person, "5f1e2d3c4b5a69788796a5b4")
    client = browser_of(person)

    answer = client.get(f"{PAGE}my-data.json")

    assert answer["Content-Disposition"] == f'attachment; filename="my-data-{person.code}.json"'
    data = json.loads(answer.content)["data"]
    assert data["conversations"]["turns"][0]["message"] == MINE
    assert data["you"]["payees"] == [{"prolific_id": "5f1e2d3c4b5a69788796a5b4"}]
    assert data["you"]["participations"][0]["code"] == person.code
    given = {one["item"]: one["given"] for one in data["answers"]["answers"]}
    assert given["occupation"] == "lamp lighter"


def test_nothing_shown_names_an_arm_or_what_others_said(study):
    person = marked_person(study)
    person.order = ["amber", "birch"]
    person.save()
    text = json.dumps(get_document(person), default=str)
    for secret in ("amber", "birch", "They say xyzzy", "scripted"):
        assert secret not in text, secret


def test_nobody_sees_anothers(study):
    mine, other = somebody(study), somebody(study)
    receipt = Receipt.objects.create(participation=other, kind="kept")
    client = browser_of(mine)

    assert client.get(f"{PAGE}receipt/{receipt.code}/").status_code == 404
    assert other.code not in client.get(f"{PAGE}my-data.json").content.decode()
    assert Client().get(PAGE).status_code == 403
    assert client.post(PAGE).status_code == 405


def test_deleting_leaves_a_receipt_that_can_be_downloaded(study):
    person = somebody(study)
    client = browser_of(person)

    client.post("/leave/", {"choice": "delete"})

    receipt = person.receipts.get()
    page = client.get(PAGE).content.decode()
    assert receipt.code in page
    assert MINE not in client.get(f"{PAGE}read/").content.decode()
    text = client.get(f"{PAGE}receipt/{receipt.code}/").content.decode()
    assert "Receipt: your data were deleted" in text
    assert "You have left the study" in client.get("/study/").content.decode()
    assert person.code in text
    assert receipt.rows["turns"] == 1


def test_person_whom_the_team_erased_reads_that_the_team_deleted_their_data(study):
    person = somebody(study)
    client = browser_of(person)

    erase(person)

    page = client.get("/study/").content.decode()
    assert "<h1>\n    \n      The research team has deleted your data" in page
    assert "You have left" not in page
    overview = client.get(PAGE).content.decode()
    assert "The research team has deleted your data. What is left is listed here." in overview
    assert "Receipt: the research team deleted your data" in overview
    assert "the fact that you left" not in overview
    text = client.get(f"{PAGE}receipt/{person.receipts.get().code}/").content.decode()
    assert "Receipt: the research team deleted your data" in text


def test_person_reads_the_same_when_the_whole_study_was_erased(study):
    person = somebody(study)
    client = browser_of(person)
    study.participations.update(status=Status.COMPLETED)
    factories.close(study)

    erase_everybody(study)

    assert "The research team has deleted your data" in client.get("/study/").content.decode()


def test_what_is_chosen_among_two_is_a_radio_and_what_is_confirmed_alone_a_checkbox(study):
    person = somebody(study)
    client = browser_of(person)
    page = client.get("/leave/").content.decode()
    assert page.count('<input type="radio" name="choice"') == 2

    client.post("/leave/", {"choice": "keep"})

    page = client.get("/leave/").content.decode()
    assert '<input type="checkbox" name="choice" value="delete">' in page
    assert 'type="radio" name="choice"' not in page


def test_leaving_and_keeping_has_a_receipt_too_and_deleting_later_a_second(study):
    person = somebody(study)
    client = browser_of(person)

    client.post("/leave/", {"choice": "keep"})
    client.post("/leave/", {"choice": "delete"})
    client.post("/leave/", {"choice": "delete"})

    assert list(person.receipts.values_list("kind", flat=True)) == ["kept", "deleted"]


@pytest.mark.parametrize(("offset", "deleted"), [(0, True), (-1, False)])
def test_data_can_be_deleted_until_the_day_that_the_consent_form_names(offset, deleted):
    day = (timezone.now().date() + timedelta(days=offset)).isoformat()
    person = somebody(factories.study("dated", retention=RetentionSpec(delete_until=day)))
    client = browser_of(person)

    page = client.get(PAGE).content.decode()
    client.post("/leave/", {"choice": "delete"})

    assert person.receipts.filter(kind="deleted").exists() == deleted
    assert person.runs.exists() != deleted
    assert ("You can have your data deleted until:" in page) == deleted


def test_somebody_whose_part_is_over_deletes_or_reads_that_the_day_is_over():
    day = (timezone.now().date() - timedelta(days=1)).isoformat()
    late = somebody(factories.study("dated", retention=RetentionSpec(delete_until=day)), status="completed")
    client = browser_of(late)

    assert client.get("/leave/").url == PAGE
    assert "If you still want them deleted, ask the research team." in client.get(PAGE).content.decode()


def test_completed_person_is_asked_only_whether_to_delete(study):
    client = browser_of(somebody(study, status="completed"))

    page = client.get("/leave/").content.decode()

    assert "Delete everything" in page
    assert "let the study keep my data" not in page


def test_person_who_never_signed_reads_that_all_is_deleted(study):
    person, _token = enrolment.invite(study)
    client = browser_of(person)
    client.get("/study/")

    assert "You have not agreed to take part yet." in client.get(PAGE).content.decode()


def test_every_shown_kind_and_name_has_its_words():
    shown = [holding for holding in HOLDINGS if holding.shown]
    assert {holding.group for holding in shown} <= set(SHOWN)
    assert {holding.name for holding in shown} == set(TITLES)
    plain = ("answers", "turns")
    names = {name for holding in shown if holding.name not in plain for name in holding.shown}
    assert names == set(NAMES)


def test_queries_do_not_grow_with_records(study, django_assert_max_num_queries):
    person = somebody(study)
    factories.run_with_turns(study, person)
    with django_assert_max_num_queries(40):
        get_sections(person)


@pytest.mark.parametrize(
    ("days", "told"),
    [
        ({"display": {}}, "You can have everything deleted at any time, on the page"),
        (
            {"retention": RetentionSpec(delete_until="2999-06-30")},
            "at any time before you agree to take part, and after that until 30 June 2999.",
        ),
        (
            {"display": {"withdraw_until": {"en": "the end of June", "zh": "六月底"}}},
            "at any time before you agree to take part, and after that until the end of June.",
        ),
    ],
)
def test_screening_says_until_when_data_can_be_deleted(days: dict, told: str):
    factories.study("dated", **days)
    person = Person("dated")
    person.go_to("screening")
    assert told in " ".join(person.page().content.decode().split())
