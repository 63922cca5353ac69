"""The page Access: invitations by real mail, changes, removal with undo, leaving and handing over."""

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from studies.colleagues import invitations
from studies.models import Membership, Study, StudyDraft
from tests import factories
from tests.studies.care.servers import Box, free_port, mail_server

pytestmark = pytest.mark.django_db
PASSWORD = "a-long-one-of-ours"
SMTP = "django.core.mail.backends.smtp.EmailBackend"


@pytest.fixture
def box(settings) -> Iterator[Box]:
    box = Box()
    with mail_server(box) as port:
        settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = SMTP, "127.0.0.1", port
        yield box


@pytest.fixture
def study() -> Study:
    return factories.study()


@pytest.fixture
def ada(study) -> User:
    return factories.grant(study, User.objects.create_user("ada", password=PASSWORD, is_staff=True), "admin")


@pytest.fixture
def desk(ada) -> Client:
    return signed_in(ada)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def colleague(study: Study, name: str, *roles: str) -> User:
    user = User.objects.create_user(name, f"{name}@example.org", PASSWORD, is_staff=True)
    return factories.grant(study, user, *roles)


def address(name: str = "", *args: object) -> str:
    return reverse(f"research-access{name and '-'}{name}", args=["demo", *args])


def roles(of: str) -> list[str]:
    return sorted(Membership.objects.filter(user__username=of).values_list("role", flat=True))


def invite(desk: Client, named: str, *given: str, **options):
    return desk.post(address("invite"), {"named": named, "roles": given}, **options)


def link_in(text: str) -> str:
    [link] = re.findall(r"http://testserver(\S+)", text)
    return link


# Inviting


def test_somebody_new_gets_a_mail_chooses_a_password_and_sees_this_study_alone(box, desk, study):
    factories.study("other")

    page = invite(desk, "Bo@example.org", "researcher", follow=True)

    assert "bo@example.org has access, and a mail tells them." in page.content.decode()
    assert box.recipients() == ["Bo@example.org"]
    [text] = box.texts()
    assert ("ada gives you access" in text, "Your role: Researcher." in text) == (True, True)
    bo = Client()
    form = bo.get(link_in(text), follow=True)
    assert "Your user name is bo@example.org." in form.content.decode()
    chosen = {"new_password1": PASSWORD, "new_password2": PASSWORD}
    done = bo.post(form.request["PATH_INFO"], chosen, follow=True)
    assert "Sign in with the user name bo@example.org." in done.content.decode()
    bo.post(reverse("research-sign-in"), {"login": "bo@example.org", "password": PASSWORD})
    assert [study.key for study, _title in bo.get(reverse("research-studies")).context["studies"]] == ["demo"]
    assert Membership.objects.get(user__username="bo@example.org").invited_by.username == "ada"


def test_somebody_whom_two_invite_at_the_same_time_has_one_account(box, desk, study, monkeypatch):
    def be_slow(named: str) -> None:
        User.objects.create_user(named.lower(), named, is_staff=True)  # as the other request does

    monkeypatch.setattr(invitations, "validate_email", be_slow)
    assert invite(desk, "Bo@example.org", "researcher").status_code == 302
    assert (User.objects.filter(username="bo@example.org").count(), roles("bo@example.org")) == (1, ["researcher"])


def test_the_link_serves_once(box, desk):
    invite(desk, "bo@example.org", "coder")
    link = link_in(box.texts()[0])
    first = Client()
    form = first.get(link, follow=True)
    first.post(form.request["PATH_INFO"], {"new_password1": PASSWORD, "new_password2": PASSWORD})

    again = Client().get(link, follow=True)

    assert "This link has been used or is too old, or" in again.content.decode()


def test_a_link_is_void_once_the_account_has_other_rights_and_a_new_one_is_sent(box, desk, study):
    """Whoever was shown it would have these rights, too."""
    invite(desk, "bo@example.org", "coder")
    bo = User.objects.get(username="bo@example.org")
    factories.grant(factories.study("elsewhere"), bo, "admin")
    assert "too old, or a newer one was sent" in Client().get(link_in(box.texts()[0]), follow=True).content.decode()

    page = desk.post(address("roles", bo.pk), {"roles": ["researcher"]}, follow=True)

    assert "bo@example.org has access, and a mail tells them." in page.content.decode()
    assert "Set the password" in Client().get(link_in(box.texts()[1]), follow=True).content.decode()


def test_a_weak_password_is_refused(box, desk):
    invite(desk, "bo@example.org", "coder")
    client = Client()
    form = client.get(link_in(box.texts()[0]), follow=True)

    page = client.post(form.request["PATH_INFO"], {"new_password1": "password1234", "new_password2": "password1234"})

    assert "too common" in page.content.decode()
    assert not User.objects.get(username="bo@example.org").has_usable_password()


@pytest.mark.parametrize("named", ["bo", "BO", "bo@example.org"])
def test_an_account_that_exists_gets_the_roles_and_a_mail_without_a_password_link(named, box, desk, study):
    colleague(study, "bo", "researcher")

    invite(desk, named, "safety_officer")

    assert roles("bo") == ["researcher", "safety_officer"]
    assert link_in(box.texts()[0]) == reverse("research-study", args=["demo"])


def test_without_mail_the_link_of_a_new_account_is_shown_once(desk, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"

    page = invite(desk, "bo@example.org", "coder").content.decode()

    assert "EMAIL_URL is not set" in page
    assert Client().get(link_in(page.replace("</pre>", " ")), follow=True).context["validlink"]


def test_no_admin_is_shown_the_link_of_an_account_that_was_there_before(desk, study, settings):
    """Else the admin of one study could take over an account that has roles in another one."""
    settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = SMTP, "127.0.0.1", free_port()
    waiting = User.objects.create_user("bo@example.org", "bo@example.org", is_staff=True)

    for page in (
        invite(desk, "bo@example.org", "coder", follow=True),
        desk.post(address("mail", waiting.pk), follow=True),
    ):
        assert "no mail was sent" in page.content.decode()
        assert "/welcome/" not in page.content.decode()
    assert roles("bo@example.org") == ["coder"]


def test_the_mail_can_be_sent_again_until_a_password_is_chosen(box, desk, study):
    invite(desk, "bo@example.org", "coder")
    bo = User.objects.get(username="bo@example.org")

    desk.post(address("mail", bo.pk))
    bo.set_password(PASSWORD)
    bo.save()
    late = desk.post(address("mail", bo.pk), follow=True)

    assert (len(box.mails), "/welcome/" in box.texts()[1]) == (2, True)
    assert "has a password already" in late.content.decode()


@pytest.mark.parametrize(
    ("named", "given", "said"),
    [
        ("nobody", ["coder"], "There is no account with this user name."),
        ("not an@address", ["coder"], "Enter a valid email address."),
        ("bo@example.org", [], "This field is required."),
        ("bo@example.org", ["coder", "researcher"], "stay blind"),
        ("locked", ["coder"], "This account is locked."),
        ("root", ["coder"], "An admin of the installation sees everything"),
        ("same@example.org", ["coder"], "Several accounts have this address."),
    ],
)
def test_what_cannot_be_invited_is_told_and_nothing_stored(named, given, said, box, desk):
    User.objects.create_user("locked", is_active=False, is_staff=True)
    User.objects.create_superuser("root")
    for name in ("one", "two"):
        User.objects.create_user(name, "same@example.org", is_staff=True)
    before = User.objects.count()

    page = invite(desk, named, *given)

    assert (page.status_code, said in page.content.decode()) == (422, True)
    assert (User.objects.count(), Membership.objects.count(), box.mails) == (before, 1, [])


# Changing and removing


def test_roles_are_changed(desk, study):
    bo = colleague(study, "bo", "researcher")

    desk.post(address("roles", bo.pk), {"roles": ["coder", "reviewer"]})

    assert roles("bo") == ["coder", "reviewer"]
    assert signed_in(bo).get(reverse("research-people", args=["demo"])).status_code == 403


def test_blind_roles_are_not_combined_with_others(desk, study):
    bo = colleague(study, "bo", "coder")

    page = desk.post(address("roles", bo.pk), {"roles": ["coder", "reader"]})

    assert (page.status_code, roles("bo")) == (422, ["coder"])


def test_the_last_admin_keeps_the_role(desk, ada):
    page = desk.post(address("roles", ada.pk), {"roles": ["researcher"]})
    assert (page.status_code, roles("ada")) == (422, ["admin"])
    assert "A study needs an admin." in page.content.decode()


@pytest.mark.parametrize("fields", [{"is_active": False}, {"is_staff": False}, {"password": make_password(None)}])
def test_an_admin_who_cannot_sign_in_does_not_count(fields, desk, ada, study):
    bo = colleague(study, "bo", "admin")
    User.objects.filter(pk=bo.pk).update(**fields)
    assert desk.post(address("transfer"), {"to": bo.pk}).status_code == 422
    desk.post(address("leave"))
    assert roles("ada") == ["admin"]


def test_removal_asks_first_and_can_be_undone(desk, study):
    bo = colleague(study, "bo", "researcher", "safety_officer")
    page = address("remove", bo.pk)

    assert "Researcher, Safety officer" in desk.get(page).content.decode()
    assert roles("bo") == ["researcher", "safety_officer"]
    after = desk.post(page, follow=True)
    assert roles("bo") == []
    assert signed_in(bo).get(address()).status_code == 404
    desk.post(address("restore"), {"undo": after.context["undo_key"]})
    assert roles("bo") == ["researcher", "safety_officer"]


def test_undo_of_another_study_or_made_up_does_nothing(desk, study):
    other = factories.study("other")
    bo = colleague(other, "bo", "researcher")
    root = signed_in(User.objects.create_superuser("root"))
    removed = root.post(reverse("research-access-remove", args=["other", bo.pk]), follow=True)

    for undo in (removed.context["undo_key"], "made-up", ""):
        desk.post(address("restore"), {"undo": undo})

    assert roles("bo") == []


def test_a_colleague_of_another_study_is_not_found(desk):
    bo = colleague(factories.study("other"), "bo", "researcher")
    for name in ("roles", "remove"):
        assert desk.get(address(name, bo.pk)).status_code == 404
        assert desk.post(address(name, bo.pk), {"roles": ["coder"]}).status_code == 404
    assert roles("bo") == ["researcher"]


# Leaving and handing over


def test_leaving_asks_first(desk, study, ada):
    bo = colleague(study, "bo", "coder")
    client = signed_in(bo)
    assert "Coder" in client.get(address("leave")).content.decode()
    assert roles("bo") == ["coder"]

    assert client.post(address("leave"))["Location"] == reverse("research-studies")

    assert roles("bo") == []


def test_the_last_admin_cannot_leave(desk, ada, study):
    assert "You are the last admin." in desk.get(address("leave")).content.decode()
    desk.post(address("leave"))
    assert roles("ada") == ["admin"]
    colleague(study, "bo", "admin")
    desk.post(address("leave"))
    assert roles("ada") == []


@pytest.mark.parametrize(("stays", "left"), [("on", ["researcher"]), ("", [])])
def test_a_study_is_handed_over(stays, left, desk, study):
    bo = colleague(study, "bo", "coder")

    response = desk.post(address("transfer"), {"to": bo.pk, "stays": stays}, follow=True)

    assert (response.status_code, roles("bo"), roles("ada")) == (200, ["admin"], left)


def test_a_study_is_handed_to_a_colleague_alone(desk, study):
    stranger = User.objects.create_user("eve", is_staff=True)
    page = desk.post(address("transfer"), {"to": stranger.pk})
    assert (page.status_code, roles("eve"), roles("ada")) == (422, [], ["admin"])


# Whose studies


def test_the_page_names_colleagues_and_admins_of_the_installation(desk, study):
    User.objects.create_superuser("root")
    colleague(study, "bo", "coder")
    page = desk.get(address())
    found = [(one.user.username, one.roles) for one in page.context["colleagues"]]
    assert found == [("ada", "Study admin"), ("bo", "Coder")]
    assert [root.username for root in page.context["roots"]] == ["root"]


def test_others_see_colleagues_and_no_forms(study, ada):
    page = signed_in(colleague(study, "bo", "coder")).get(address()).content.decode()
    assert "ada" in page
    assert [word for word in ("Invite a colleague", "Hand the study over", "/access/1/") if word in page] == []


def test_whoever_sets_up_a_study_on_the_page_is_its_admin(desk):
    desk.post(reverse("research-new-study"), {"begin": "demo"})
    [draft] = Study.objects.get(key="demo").drafts.model.objects.all()
    desk.post(reverse("research-draft-load", args=[draft.pk]))
    assert list(Membership.objects.filter(study__key="my_demo").values_list("user__username", "role")) == [
        ("ada", "admin")
    ]


def test_a_draft_with_the_key_of_somebody_elses_study_is_not_loaded(desk):
    other = factories.study("my_demo")
    desk.post(reverse("research-new-study"), {"begin": "demo"})
    draft = other.drafts.model.objects.get()

    page = desk.post(reverse("research-draft-load", args=[draft.pk]), follow=True)

    assert "Another study has the key “my_demo” already." in page.content.decode()
    assert (other.protocols.count(), other.memberships.count()) == (1, 0)


def test_a_researcher_who_loads_a_new_version_does_not_become_an_admin(study):
    client = signed_in(colleague(study, "bo", "researcher"))
    client.post(reverse("research-edit-design", args=["demo"]))
    client.post(reverse("research-draft-load", args=[study.drafts.get().pk]))
    assert roles("bo") == ["researcher"]


def test_designs_and_drafts_of_others_cannot_be_copied_or_seen(desk):
    factories.study("other")
    secret = signed_in(User.objects.create_superuser("root"))
    secret.post(reverse("research-new-study"), {"begin": "minimal"})

    page = desk.get(reverse("research-new-study"))
    refused = desk.post(reverse("research-new-study"), {"begin": "copy:other"})

    assert ([copy.value for copy in page.context["copies"]], page.context["drafts"]) == (["copy:demo"], [])
    assert refused.status_code == 400


def test_an_account_with_the_permission_may_set_up_its_first_study(study):
    bo = colleague(study, "bo", "coder")
    page = reverse("research-new-study")
    assert signed_in(bo).get(page).status_code == 403
    bo.user_permissions.add(Permission.objects.get(codename="add_study"))
    assert signed_in(bo).get(page).status_code == 200


def test_a_draft_sets_up_no_study_for_someone_who_may_no_longer(study):
    bo = colleague(study, "bo", "researcher")
    client = signed_in(bo)
    client.post(reverse("research-new-study"), {"begin": "demo"})
    address = reverse("research-draft-load", args=[StudyDraft.objects.get().pk])
    bo.memberships.update(role="coder")
    assert (client.get(address).status_code, client.post(address).status_code) == (404, 404)
    assert (Study.objects.count(), roles("bo")) == (1, ["coder"])
    bo.memberships.update(role="researcher")
    assert client.get(address).status_code == 200


def test_a_removed_session_sees_nothing_more(study, ada):
    bo = colleague(study, "bo", "researcher")
    client = signed_in(bo)
    assert client.get(reverse("research-people", args=["demo"])).status_code == 200
    Membership.objects.filter(user=bo).delete()
    assert client.get(reverse("research-people", args=["demo"])).status_code == 404
    assert list(client.get(reverse("research-studies")).context["studies"]) == []


# A forgotten password


def test_an_admin_makes_a_link_for_a_colleague_of_their_own_studies(box, desk, study):
    bob = colleague(study, "bob", "researcher")
    session = signed_in(bob)
    assert "stops working at once" in desk.get(address("password", bob.pk)).content.decode()
    assert bob.check_password(PASSWORD)

    desk.post(address("password", bob.pk))

    bob.refresh_from_db()
    assert not bob.has_usable_password()
    assert session.get(address()).status_code == 302
    assert box.recipients() == ["bob@example.org"]
    link = link_in(box.texts()[0])
    new = {"new_password1": "quite-another-one", "new_password2": "quite-another-one"}
    fresh = Client()
    fresh.post(fresh.get(link, follow=True).request["PATH_INFO"], new)
    bob.refresh_from_db()
    assert bob.check_password("quite-another-one")


def test_without_mail_the_link_for_a_new_password_is_shown(desk, study, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    bob = colleague(study, "bob", "researcher")
    assert "/research/welcome/" in desk.post(address("password", bob.pk)).content.decode()


@pytest.mark.parametrize("more", ["elsewhere", "admin", "superuser", "permission"])
def test_no_link_is_made_for_an_account_with_more_rights(more, desk, study):
    bob = colleague(study, "bob", *(["admin"] if more == "admin" else ["researcher"]))
    if more == "elsewhere":
        factories.grant(factories.study("other"), bob, "reader")
    elif more == "permission":
        bob.user_permissions.add(Permission.objects.get(codename="add_study"))
    User.objects.filter(pk=bob.pk).update(is_superuser=more == "superuser")

    told = desk.post(address("password", bob.pk), follow=True).content.decode()

    bob.refresh_from_db()
    assert "Ask an admin of the installation" in told
    assert "/research/welcome/" not in told
    assert bob.check_password(PASSWORD)


def test_an_admin_of_the_installation_may_for_admins_of_studies_but_not_for_each_other(study, settings):
    root = User.objects.create_superuser("root", password=PASSWORD)
    bob = colleague(study, "bob", "admin")
    factories.grant(study, User.objects.create_superuser("rex", password=PASSWORD), "admin")
    signed_in(root).post(address("password", bob.pk))
    signed_in(root).post(address("password", User.objects.get(username="rex").pk))
    assert [User.objects.get(username=name).has_usable_password() for name in ("bob", "rex")] == [False, True]


def test_the_sign_in_page_says_what_to_do_about_a_forgotten_password(client):
    assert "Forgotten your password?" in client.get("/research/sign-in/").content.decode()
