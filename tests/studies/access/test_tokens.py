"""A token may do what its account's role says and its scopes say, and never more than either."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from studies.connections.tokens import create_token
from studies.design.writing import dump_study
from studies.models import ApiToken, Membership, Study
from tests import factories

pytestmark = pytest.mark.django_db
ALL = ApiToken.Scope.values


@pytest.fixture
def study() -> Study:
    factories.study("other")
    return factories.study()


def account(study: Study, *roles: str) -> User:
    return factories.grant(study, User.objects.create(username="ada", is_staff=True), *roles)


def ask(user: User, path: str, data: dict | None = None, scopes: list[str] = ALL):
    _row, text = create_token(user, name="ours", scopes=scopes)
    client, headers = Client(), {"Authorization": f"Bearer {text}"}
    if data is None:
        return client.get(f"/api/v1/{path}", headers=headers)
    return client.post(f"/api/v1/{path}", data, content_type="application/json", headers=headers)


@pytest.mark.parametrize(
    ("role", "scopes", "status"),
    [
        ("researcher", ALL, 200),
        ("researcher", ["read"], 403),
        ("reader", ALL, 403),
        ("coder", ALL, 403),
        ("safety_officer", ALL, 403),
    ],
)
def test_an_export_needs_role_and_scope(role, scopes, status, study):
    assert ask(account(study, role), "studies/demo/tables/", scopes=scopes).status_code == status


def test_a_token_for_all_studies_is_for_those_of_its_account(study):
    user = account(study, "researcher")
    found = ask(user, "studies/").json()
    assert [row["key"] for row in found] == ["demo"]
    assert ask(user, "studies/other/").status_code == 404


def test_a_token_ends_with_the_role(study):
    user = account(study, "researcher")
    Membership.objects.all().delete()
    assert ask(user, "studies/demo/").status_code == 404


def test_a_study_of_others_is_not_loaded_and_a_new_one_has_its_admin(study):
    user = account(study, "researcher")
    text = dump_study(factories.demo_spec())
    taken, new = (text.replace('key = "demo"', f'key = "{key}"', 1) for key in ("other", "fresh"))

    assert ask(user, "studies/", {"toml": taken}).status_code == 403
    assert ask(user, "studies/", {"toml": new}).status_code == 201

    made = Membership.objects.exclude(study=study).values_list("study__key", "user__username", "role")
    assert list(made) == [("fresh", "ada", "admin")]


def test_a_coder_sets_up_no_study(study):
    assert ask(account(study, "coder"), "studies/", {"toml": ""}).status_code == 403


def test_the_page_of_tokens_shows_and_revokes_ones_own_alone(study):
    theirs, _text = create_token(User.objects.create(username="bo", is_staff=True), name="theirs", scopes=ALL)
    desk = Client()
    desk.force_login(account(study, "researcher"))

    page = desk.get(reverse("research-tokens"))
    revoked = desk.post(reverse("research-token-revoke", args=[theirs.pk]))

    assert (list(page.context["tokens"]), revoked.status_code) == ([], 404)
    assert [str(one) for one in page.context["form"].fields["study"].queryset] == ["demo"]
    theirs.refresh_from_db()
    assert theirs.revoked_at is None
