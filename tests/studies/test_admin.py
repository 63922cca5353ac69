"""/admin/ is for looking and for accounts: designs and what was collected are read-only."""

import pytest
from django.contrib.auth.models import User
from django.db.models import ProtectedError
from django.test import Client
from django.utils.html import escape

from studies.models import Decision
from tests import factories

pytestmark = pytest.mark.django_db

READ_ONLY = ["study", "protocol", "arm", "judge", "participation", "response", "answer", "card", "roleplay"]


@pytest.fixture
def study():
    return factories.study()


@pytest.fixture
def desk():
    client = Client()
    client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))
    return client


@pytest.mark.parametrize("name", READ_ONLY)
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
        "arm": study.current().arms.first(),
        "judge": study.current().judges.first(),
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


def delete_selected(desk, rows):
    chosen = {"action": "delete_selected", "_selected_action": [row.pk for row in rows], "post": "yes"}
    return desk.post(f"/admin/{rows.model._meta.app_label}/{rows.model._meta.model_name}/", chosen)


def kept_because(response):
    """The reasons that the page gives for deleting nothing."""
    assert response.status_code == 200
    page = response.content.decode()
    assert "This cannot be deleted:" in page
    return [reason for reason in response.context["protected"] if f"<li>{escape(reason)}</li>" in page]


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


def test_a_protocol_gives_its_study_file(desk, study):
    number = study.current().pk
    link = f"/admin/studies/protocol/{number}/study.toml"

    assert link in desk.get("/admin/studies/protocol/").content.decode()
    assert desk.get(link).content.decode().startswith('key = "demo"')
    assert desk.get("/admin/studies/protocol/77777/study.toml").status_code == 404
    assert Client().get(link).status_code == 302


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    ("name", "queries"), [("participation", 6), ("response", 7), ("answer", 5), ("arm", 6), ("judge", 6)]
)
def test_a_list_asks_the_database_as_often_for_many_rows_as_for_one(
    name, queries, count, desk, study, django_assert_num_queries
):
    for _ in range(count):
        factories.answer(factories.person(study), "screening", {"treatment": "no"})

    with django_assert_num_queries(queries + 8):  # for the first entry of the audit log
        desk.get(f"/admin/studies/{name}/")
