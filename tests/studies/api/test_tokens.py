"""Tokens of the API: what each opens, and when none does."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from studies.connections.tokens import create_token, revoke_token
from studies.models import ApiToken
from studies.models.participation import digest
from tests import factories

pytestmark = pytest.mark.django_db

# One request for each scope, and what a token with that scope alone is answered.
ASKED = {
    "read": ("get", "studies/demo/progress/", 200),
    "write": ("post", "studies/demo/invites/", 201),
    "run": ("post", "studies/demo/estimates/judge/", 400),  # allowed, but the body names no judge
    "export": ("get", "studies/demo/tables/", 200),
}


@pytest.fixture
def study():
    return factories.study()


def ask(token: str, path: str = "studies/demo/", method: str = "get") -> int:
    client = Client(headers={"Authorization": f"Bearer {token}"})
    return getattr(client, method)(f"/api/v1/{path}", content_type="application/json").status_code


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("scope", ASKED)
def test_scope_opens_its_own_part_alone(scope, asked, ada, study):
    _row, token = create_token(ada, name="a script", scopes=[scope])
    method, path, answer = ASKED[asked]

    assert ask(token, path, method) == (answer if scope == asked else 403)


def test_token_of_one_study_opens_no_other(ada, study):
    factories.study("another")
    _row, token = create_token(ada, name="a script", scopes=["read"], study=study)

    assert ask(token, "studies/demo/progress/") == 200
    assert ask(token, "studies/another/progress/") == 403
    client = Client(headers={"Authorization": f"Bearer {token}"})
    assert [row["key"] for row in client.get("/api/v1/studies/").json()] == ["demo"]


def test_token_is_kept_as_a_hash_and_notes_its_use(ada, study):
    row, token = create_token(ada, name="a script", scopes=["read"])

    assert ask(token) == 200

    row.refresh_from_db()
    assert (row.token_hash, row.beginning) == (digest(token), token[:8])
    assert not any(token in str(values) for values in ApiToken.objects.values_list())
    assert timezone.now() - row.last_used_at < timedelta(seconds=10)


def make_unknown(row: ApiToken) -> None:
    row.delete()


def let_expire(row: ApiToken) -> None:
    ApiToken.objects.filter(pk=row.pk).update(expires_at=timezone.now())


def revoke(row: ApiToken) -> None:
    revoke_token(row, row.created_by)


def take_access_from_account(row: ApiToken) -> None:
    User.objects.update(is_staff=False)


def delete_account(row: ApiToken) -> None:
    User.objects.all().delete()


@pytest.mark.parametrize("end", [make_unknown, let_expire, revoke, take_access_from_account, delete_account])
def test_token_that_has_ended_opens_nothing(end, ada, study):
    row, token = create_token(ada, name="a script", scopes=["read"], days=1)
    assert ask(token) == 200

    end(row)

    assert ask(token) == 401


@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "Bearer est_wrong", "Bearer 令牌", "Basic YWRhOmFkYQ=="])
def test_other_headers_open_nothing(header, study):
    assert Client(headers={"Authorization": header}).get("/api/v1/studies/").status_code == 401


def test_requests_are_counted_by_token(ada, study, monkeypatch):
    from studies.api.throttles import CallerThrottle

    monkeypatch.setattr(CallerThrottle, "rate", "2/min", raising=False)
    tokens = [create_token(ada, name=name, scopes=["read"])[1] for name in ("one", "two")]

    assert [ask(tokens[0]) for _ in range(3)] == [200, 200, 429]
    assert ask(tokens[1]) == 200


def test_guesses_are_counted_by_address(monkeypatch):
    from studies.api.throttles import AddressThrottle

    monkeypatch.setattr(AddressThrottle, "rate", "2/min", raising=False)

    assert [ask(f"est_guess{number}") for number in range(3)] == [401, 401, 429]


# The page


@pytest.fixture
def desk(ada):
    client = Client()
    client.force_login(ada)
    return client


def test_page_shows_a_new_token_once(desk, ada, study):
    given = {"name": "nightly export", "study": study.pk, "scopes": ["read", "export"], "days": 30}
    page = desk.post("/research/tokens/", given)

    row = ApiToken.objects.get()
    token = page.context["text"]
    assert token in page.content.decode()
    assert ask(token) == 200
    assert (row.name, row.study, row.scopes, row.created_by) == ("nightly export", study, ["read", "export"], ada)
    assert abs(row.expires_at - timezone.now() - timedelta(days=30)) < timedelta(minutes=1)
    assert token not in desk.get("/research/tokens/").content.decode()


@pytest.mark.parametrize("wrong", [{"name": ""}, {"scopes": []}, {"scopes": ["all"]}, {"days": 0}, {"study": 999}])
def test_page_refuses_what_is_wrong(wrong, desk):
    page = desk.post("/research/tokens/", {"name": "a script", "scopes": ["read"], "days": 1} | wrong)

    assert page.status_code == 422
    assert list(page.context["form"].errors) == list(wrong)
    assert not ApiToken.objects.exists()


def test_page_revokes_a_token_for_good(desk, ada, study):
    row, token = create_token(ada, name="a script", scopes=["read"])

    for _ in range(2):
        assert desk.post(f"/research/tokens/{row.pk}/revoke/")["Location"] == "/research/tokens/"

    assert ask(token) == 401
    assert "revoked by ada" in desk.get("/research/tokens/").content.decode()
    assert desk.get(f"/research/tokens/{row.pk}/revoke/").status_code == 405
    assert desk.post("/research/tokens/999/revoke/").status_code == 404


def test_page_is_for_researchers(ada):
    client = Client()
    assert client.get("/research/tokens/")["Location"].startswith("/research/sign-in/")
    client.force_login(User.objects.create(username="eve"))
    assert client.get("/research/tokens/").status_code == 403
    assert client.post("/research/tokens/1/revoke/").status_code == 403


# The command


def test_command_prints_a_token(ada, study, capsys):
    call_command("create_token", "backup", "--user", "ada", "--scopes", "read", "export", "--study", "demo")

    token = capsys.readouterr().out.strip()
    assert ask(token, "studies/demo/tables/") == 200
    assert ApiToken.objects.values_list("name", "study__key", "expires_at").get() == ("backup", "demo", None)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--user", "bob"], "There is no account 'bob'."),
        (["--user", "eve"], "The account eve has no access to studies"),
        (["--user", "ada", "--study", "nowhere"], "There is no study 'nowhere'."),
        (["--user", "ada", "--days", "0"], "--days must be at least 1."),
    ],
)
def test_command_refuses(arguments, told, ada, study):
    User.objects.create(username="eve")

    with pytest.raises(CommandError, match=told):
        call_command("create_token", "backup", *arguments)
    assert not ApiToken.objects.exists()


def test_owner_is_told_by_mail_of_a_new_token(ada, study, mailoutbox):
    User.objects.filter(pk=ada.pk).update(email="ada@example.org")
    desk = Client()
    desk.force_login(User.objects.get(pk=ada.pk))
    created = desk.post("/research/tokens/", {"name": "a script", "scopes": ["read"], "days": "1"})
    [mail] = mailoutbox
    assert (mail.to, "A token for the API was created for your account." in mail.body) == (["ada@example.org"], True)
    assert created.context["text"] not in mail.body
