"""Applicants admitted and declined, one or many: what is stored, what each of them reads, and the file of all."""

import csv
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from studies.models import Participation, SelectionDecision, Study
from tests import factories
from tests.people import Person
from tests.studies.selection.people import applicant

pytestmark = pytest.mark.django_db

NOT_CHOSEN = "this time you were not chosen"


def decide(study: Study) -> str:
    return reverse("research-applicants-decide", args=[study.key])


def statuses(*people: Participation) -> list[str]:
    return [Participation.objects.get(pk=person.pk).status for person in people]


def test_many_are_admitted_after_a_page_that_changes_nothing(study, desk):
    one, two, other = applicant(study), applicant(study), applicant(study)

    asked = desk.post(decide(study), {"act": "admit", "code": [one.code, two.code]})

    page = asked.content.decode()
    assert [word in page for word in ("Admit 2 applicants?", one.code, two.code, other.code)] == [True] * 3 + [False]
    assert statuses(one, two, other) == ["in_review"] * 3

    answer = {"act": "admit", "codes": asked.context["ask"].codes(), "reason": " best scores ", "confirm": "yes"}
    told = desk.post(decide(study), answer, follow=True).content.decode()

    assert "2 people can continue." in told
    assert statuses(one, two, other) == ["applied", "applied", "in_review"]
    assert list(SelectionDecision.objects.order_by("pk").values_list("admitted", "reason", "by_name")) == [
        (True, "best scores", "ada"),
        (True, "best scores", "ada"),
    ]


def test_those_declined_read_thanks_and_where_to_find_help(study, desk):
    person = Person("chosen")
    person.go_to("screening")
    person.send(person.answers())

    desk.post(decide(study), {"act": "decline", "codes": person.row.code, "reason": "too vague", "confirm": "yes"})

    page = person.page().content.decode()
    assert [word in page for word in (NOT_CHOSEN, "People you can reach", "988", "too vague")] == [True] * 3 + [False]


def test_those_whom_the_screening_excludes_read_its_own_words(study):
    person = Person("chosen")
    person.go_to("screening")
    person.send({**person.answers(), "availability": "no"})
    assert NOT_CHOSEN not in person.page().content.decode()


def test_decision_without_a_reason_is_refused(study, desk):
    person = applicant(study)

    page = desk.post(decide(study), {"act": "decline", "codes": person.code, "reason": "  ", "confirm": "yes"})

    assert (page.status_code, "This field is required" in page.content.decode()) == (422, True)
    assert statuses(person) == ["in_review"]


def test_all_that_the_filters_show_can_be_chosen(study, desk):
    work, family = applicant(study), applicant(study, issue_category="family")

    asked = desk.post(f"{decide(study)}?problem=family", {"act": "decline", "all": "yes"}).context["ask"]

    assert asked.codes() == family.code
    assert statuses(work, family) == ["in_review"] * 2


@pytest.mark.parametrize(
    "sent", [{"act": "admit"}, {"act": "erase", "all": "yes"}, {"act": "admit", "code": "PNOBODY"}]
)
def test_nobody_is_decided_on_where_nobody_was_chosen(study, desk, sent):
    person = applicant(study)

    told = desk.post(decide(study), {**sent, "reason": "x", "confirm": "yes"}, follow=True).content.decode()

    assert "you chose no one" in told
    assert statuses(person) == ["in_review"]


def test_admission_warns_where_the_screening_asked_for_a_person(study, desk):
    doubted, sure = applicant(study, kind="review_by_person"), applicant(study)

    def warned(act):
        page = desk.post(decide(study), {"act": act, "code": [doubted.code, sure.code]}).content.decode()
        return f"asked for a person's decision about {doubted.code}." in page

    assert (warned("admit"), warned("decline")) == (True, False)


def test_second_decision_changes_nothing(study, desk):
    person = applicant(study)
    answer = {"codes": person.code, "reason": "first", "confirm": "yes"}

    desk.post(decide(study), {"act": "admit", **answer})
    desk.post(decide(study), {"act": "decline", **answer})

    assert statuses(person) == ["applied"]
    assert SelectionDecision.objects.get().admitted


def test_decision_on_the_page_of_a_person_is_kept_too(study, desk):
    person = applicant(study)

    desk.post(reverse("research-decline", args=[study.key, person.code]))

    decision = SelectionDecision.objects.get(participation=person)
    assert (decision.admitted, decision.by_name, statuses(person)) == (False, "ada", ["screened_out"])


def test_wait_for_another_decision_leaves_no_selection(study, desk):
    person = factories.person(study, status="in_review", plan=[{"kind": "training", "key": "training"}])

    desk.post(reverse("research-admit", args=[study.key, person.code]))

    assert statuses(person) == ["applied"]
    assert not SelectionDecision.objects.exists()


def test_decision_outlives_the_account_of_whoever_decided(study, desk):
    person = applicant(study)
    desk.post(decide(study), {"act": "admit", "codes": person.code, "reason": "good", "confirm": "yes"})

    User.objects.get(username="ada").delete()

    assert SelectionDecision.objects.get().by_name == "ada"


def test_file_of_those_decided_on_has_codes_and_reasons(study, desk):
    one, two = applicant(study), applicant(study)
    desk.post(decide(study), {"act": "admit", "codes": one.code, "reason": "=clear", "confirm": "yes"})
    desk.post(decide(study), {"act": "decline", "codes": two.code, "reason": "vague", "confirm": "yes"})

    text = desk.get(reverse("research-applicants-file", args=[study.key])).content.decode()

    rows = list(csv.DictReader(StringIO(text)))
    assert [(row["participant"], row["decision"], row["reason"], row["decided_by"]) for row in rows] == [
        (one.code, "admitted", "'=clear", "ada"),
        (two.code, "declined", "vague", "ada"),
    ]
