"""What people meet while a study is in rehearsal or paused, and after an amendment."""

from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from dialogue.models import RiskEvent
from studies.life import stages
from studies.models import Amendment, Consent, Participation, Stage, Study
from studies.participation import enrolment
from studies.participation.timeouts import time_out_absent
from studies.setup.storage import AmendmentReason, LacksLanguages, load_spec
from tests import factories
from tests.answers import BOXES
from tests.people import Person
from tests.studies.participation.test_timeouts import ago

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_commit_at_once")]
ADA = stages.Actor("ada")
PAUSED = "The study is paused"
AGAIN = "The study has changed. Please decide again"


@pytest.fixture
def hearts():
    return factories.study("hearts", open_enrolment=True)


def text_of(page):
    return " ".join(page.content.decode().split())


# Rehearsal


def test_real_people_find_a_study_in_rehearsal_shut_and_test_people_do_not():
    study = load_spec(replace(factories.demo_spec(), key="soon", open_enrolment=True)).protocol.study
    assert Client().post("/open/soon/").status_code == 403
    person, token = enrolment.invite(study)
    shut = Client().post(f"/j/{token}/", follow=True)
    assert (shut.status_code, "This study has not opened yet" in text_of(shut)) == (403, True)
    tester, token = enrolment.invite(study, is_test=True)
    assert Client().post(f"/j/{token}/", follow=True).status_code == 200
    for one, begun in ((person, False), (tester, True)):
        one.refresh_from_db()
        assert one.has_started() is begun


def test_test_people_do_not_keep_a_design_from_changing():
    study = load_spec(replace(factories.demo_spec(), key="soon")).protocol.study
    factories.person(study, is_test=True)
    loaded = load_spec(replace(study.current().spec(), gone_after_days=9))
    assert loaded.outcome == "new version"
    assert not Amendment.objects.exists()


# The pause


def test_who_pauses_waits_and_goes_on_where_they_were(hearts):
    person = Person("hearts")
    person.send({"language": "en"})
    stages.move(hearts, Stage.PAUSED, ADA)
    step = person.step
    assert PAUSED in text_of(person.page())
    assert hearts.current().spec().contact in text_of(person.page())
    stages.move(hearts, Stage.OPEN, ADA)
    assert PAUSED not in text_of(person.page())
    assert person.step == step


def test_a_form_that_was_open_when_the_pause_began_is_kept(hearts):
    person = Person("hearts")
    stages.move(hearts, Stage.PAUSED, ADA)
    before = person.step
    person.send({"language": "en"})
    assert person.step != before
    assert PAUSED in text_of(person.page())


def test_no_conversation_is_cut_off_by_a_pause(hearts):
    person = Person("hearts")
    person.go_to("chat", run=1)
    person.page()
    person.say()
    stages.move(hearts, Stage.PAUSED, ADA)
    assert PAUSED not in text_of(person.page())


def test_who_is_held_for_safety_keeps_the_question_in_a_pause_and_after_an_amendment(opened):
    person = Person("hearts")
    person.go_to("chat", run=1)
    person.page()
    person.say("I want to kill myself")
    stages.move(opened, Stage.PAUSED, ADA)
    assert "Are you safe right now?" in text_of(person.page())
    stages.move(opened, Stage.OPEN, ADA)
    amended(opened, asks_again=True)
    assert "Are you safe right now?" in text_of(person.page())


def test_lines_stay_at_hand_in_a_pause_after_grave_words_in_a_form(hearts):
    person = signed(hearts)
    RiskEvent.objects.create(subject=person.row.code, source="answer", level=3, entries=["written"])
    stages.move(hearts, Stage.PAUSED, ADA)
    page = person.page().content.decode()
    assert (PAUSED in page, "at-hand" in page) == (True, True)


def test_nobody_begins_in_a_paused_study(hearts):
    _person, token = enrolment.invite(hearts)
    stages.move(hearts, Stage.PAUSED, ADA)
    assert PAUSED in text_of(Client().post(f"/j/{token}/", follow=True))
    assert PAUSED in text_of(Client().post("/open/hearts/"))
    assert Participation.objects.count() == 1


def test_days_of_a_pause_are_no_absence(hearts):
    person = factories.person(hearts, started_at=ago(29), last_seen_at=ago(29))
    stages.move(hearts, Stage.PAUSED, ADA)
    Participation.objects.update(started_at=ago(60), last_seen_at=ago(60))
    stages.move(hearts, Stage.OPEN, ADA)
    time_out_absent(hearts)
    person.refresh_from_db()
    assert person.status == "active"


def test_nobody_is_timed_out_while_the_study_is_paused(hearts):
    person = factories.person(hearts, started_at=ago(29), last_seen_at=ago(29))
    stages.move(hearts, Stage.PAUSED, ADA)
    Participation.objects.update(started_at=ago(60), last_seen_at=ago(60))
    time_out_absent(hearts)
    person.refresh_from_db()
    assert person.status == "active"


# Amendments


def amended(study: Study, *, asks_again: bool) -> Amendment:
    spec = study.current().spec()
    consent = replace(spec.consent, version="hearts-6")
    told = AmendmentReason("We keep the data one year longer.", by_name="ada", asks_again=asks_again)
    return load_spec(replace(spec, consent=consent), amendment=told).protocol.amendment


def signed(study: Study) -> Person:
    person = Person(study.key)
    person.go_to("training")
    return person


@pytest.fixture
def opened(hearts):
    """A study whose version is fixed, as opening does."""
    stages.freeze_version(hearts.current())
    return hearts


def test_who_has_signed_is_asked_again_and_keeps_what_they_did(opened):
    person = signed(opened)
    amended(opened, asks_again=True)
    page = person.page()
    assert AGAIN in text_of(page)
    assert "We keep the data one year longer." in text_of(page)
    step = person.step
    person.client.post("/study/", {"step": "consent_again", **dict.fromkeys(BOXES, "on")})
    assert AGAIN not in text_of(person.page())
    assert person.step == step
    assert [consent.version for consent in Consent.objects.order_by("pk")] == ["demo-5", "hearts-6"]


def test_people_are_not_asked_again_in_a_language_that_is_not_theirs(opened):
    signed(opened)
    spec = replace(opened.current().spec(), languages=("zh",))
    told = AmendmentReason("No English any more.", by_name="ada", asks_again=True)
    with pytest.raises(LacksLanguages, match="en"):
        load_spec(spec, amendment=told)
    load_spec(spec, amendment=replace(told, asks_again=False))
    assert opened.current().spec().languages == ("zh",)


def test_who_has_a_language_that_the_study_has_lost_still_reads_the_consent_form(opened):
    person = signed(opened)
    spec = opened.current().spec()
    values = {name: {"zh": text["zh"]} if any(text.values()) else text for name, text in spec.consent.values.items()}
    changed = replace(spec, languages=("zh",), consent=replace(spec.consent, version="hearts-6", values=values))
    Participation.objects.update(language="zh")
    load_spec(changed, amendment=AmendmentReason("No English any more.", by_name="ada", asks_again=True))
    Participation.objects.update(language="en")
    assert person.page().status_code == 200
    person.client.post("/study/", {"step": "consent_again", **dict.fromkeys(BOXES, "on")})
    assert [consent.language for consent in Consent.objects.order_by("pk")] == ["en", "zh"]


def test_a_box_that_is_missing_is_named_and_nothing_is_signed(opened):
    person = signed(opened)
    amended(opened, asks_again=True)
    sent = person.client.post("/study/", {"step": "consent_again"})
    assert (sent.status_code, sent["Location"]) == (303, "/study/#error-summary")
    page = person.page()
    assert AGAIN in text_of(page)
    assert page.context["form"].errors
    assert Consent.objects.count() == 1


def test_nobody_is_asked_again_without_need(opened):
    person = signed(opened)
    amended(opened, asks_again=False)
    assert AGAIN not in text_of(person.page())
    amended_later = Person("hearts")
    amended_later.go_to("consent")
    assert AGAIN not in text_of(amended_later.page())


def test_the_conversation_ends_before_somebody_is_asked_again(opened):
    person = Person("hearts")
    person.go_to("chat", run=1)
    person.page()
    person.say()
    amended(opened, asks_again=True)
    assert AGAIN not in text_of(person.page())


def test_who_was_asked_again_may_leave(opened):
    person = signed(opened)
    amended(opened, asks_again=True)
    assert 'href="/leave/"' in person.page().content.decode()
    person.client.post("/leave/", {"choice": "keep"})
    person.row.refresh_from_db()
    assert person.row.status == "withdrawn"


# The researchers' pages


@pytest.fixture
def desk():
    client = Client()
    client.force_login(User.objects.create_superuser("ada"))
    return client


def test_the_page_shows_where_the_study_stands_and_what_is_missing(desk):
    load_spec(replace(factories.demo_spec(), key="soon"))
    text = text_of(desk.get(reverse("research-life", args=["soon"])))
    assert "Real people cannot start yet." in text
    assert "Set contact and contact_email to an address of yours; now it is demo@example.org." in text
    desk.post(reverse("research-resources", args=["soon"]))
    assert Study.objects.get(key="soon").resource_checks.get().by_name == "ada"


def test_a_rehearsal_asks_first_what_it_would_cost(desk):
    load_spec(replace(factories.demo_spec(), key="soon"))
    page = desk.post(reverse("research-rehearse", args=["soon"]), {"count": 2, "track": "participant"}, follow=True)
    text = text_of(page)
    assert "Rehearsal by bots" in text
    assert "2 bots" in text
    assert not Study.objects.get(key="soon").tasks.exists()


@pytest.mark.parametrize("sent", [{"count": 0, "track": "participant"}, {"count": 51, "track": "participant"}, {}])
def test_a_rehearsal_of_too_many_or_none_is_not_started(sent, desk):
    load_spec(replace(factories.demo_spec(), key="soon"))
    page = desk.post(reverse("research-rehearse", args=["soon"]), sent, follow=True)
    assert "Nothing was started: choose a number of bots from 1 to 50." in text_of(page)


def test_opening_too_early_leads_back_to_what_is_missing(desk):
    load_spec(replace(factories.demo_spec(), key="soon"))
    response = desk.post(reverse("research-open", args=["soon"]), {"key": "soon"}, follow=True)
    assert response.redirect_chain == [(reverse("research-life", args=["soon"]), 302)]
    assert "Nothing has changed." in text_of(response)
    assert Study.objects.get(key="soon").stage == Stage.REHEARSAL


def test_a_version_shows_what_changed_and_its_own_file(desk, opened):
    amended(opened, asks_again=True)
    text = text_of(desk.get(reverse("research-version", args=["hearts", 2])))
    assert "Amendment 1, by ada" in text
    assert "<code>version = &quot;demo-5&quot;</code>" in text
    assert "<code>version = &quot;hearts-6&quot;</code>" in text
    file = desk.get(reverse("research-version-file", args=["hearts", 1])).content.decode()
    assert 'version = "demo-5"' in file
    assert "We keep the data one year longer." in text_of(desk.get(reverse("research-life", args=["hearts"])))


def test_archived_is_taken_back(desk, opened):
    factories.close(opened)
    acts = {"archive": Stage.ARCHIVED, "close": Stage.CLOSED, "open": Stage.OPEN, "pause": Stage.PAUSED}
    for name, stage in acts.items():
        response = desk.post(reverse(f"research-{name}", args=["hearts"]), {"key": "hearts"})
        assert response.status_code == 302
        opened.refresh_from_db()
        assert opened.stage == stage


def test_study_that_was_never_opened_is_archived_and_taken_back(desk):
    load_spec(replace(factories.demo_spec(), key="mistake"))
    address, life = (reverse(f"research-{name}", args=["mistake"]) for name in ("archive", "life"))
    assert "it is in rehearsal again then" in text_of(desk.get(address))
    for stage in (Stage.ARCHIVED, Stage.REHEARSAL):
        assert address in desk.get(life).content.decode()
        assert desk.get(address).status_code == 200
        assert desk.post(address, {"key": "mistake"}).status_code == 302
        study = Study.objects.get(key="mistake")
        assert (study.stage, study.was_opened(), study.is_closed()) == (stage, False, False)
        assert desk.get(reverse("research-study", args=["mistake"])).status_code == 200
