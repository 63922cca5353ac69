"""The page Access of a study: who has which role, invitations, changes, leaving and handing over."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core import signing
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dialogue.templatetags.languages import colon, listed
from studies.access.access import Access
from studies.access.granting import RolesError, can_sign_in, has_other_admin, roles_of, set_roles, transfer
from studies.access.table import RIGHTS, ROLES
from studies.colleagues.invitations import Invitation, find_or_create_account, link_for, send_invitation
from studies.models import Study
from studies.models.membership import Role
from studies.workbench.access import show, study_page

UNDO = 24 * 3600  # seconds for which a removal can be undone


class RolesForm(forms.Form):
    """The roles of a colleague; at least one."""

    roles = forms.MultipleChoiceField(
        label=gettext_lazy("Roles"), choices=Role.choices, widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["roles"].choices = [(role.value, f"{role.label}{colon()}{ROLES[role]}") for role in Role]

    def get_roles(self) -> list[Role]:
        return [Role(name) for name in self.cleaned_data["roles"]]


class InviteForm(RolesForm):
    named = forms.CharField(label=gettext_lazy("Mail address, or user name of an account"), max_length=150)

    field_order = ["named", "roles"]


class TransferForm(forms.Form):
    to = forms.ModelChoiceField(label=gettext_lazy("New admin"), queryset=User.objects.none())
    stays = forms.BooleanField(label=gettext_lazy("I stay as a researcher"), required=False, initial=True)

    def __init__(self, study: Study, giver: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        others = can_sign_in().filter(memberships__study=study)
        self.fields["to"].queryset = others.exclude(pk=giver).distinct().order_by("username")


@dataclass(frozen=True)
class Colleague:
    """A colleague. `waits`: they have not chosen a password yet."""

    user: User
    roles: str
    since: datetime
    invited_by: str
    waits: bool
    is_self: bool


@require_GET
@study_page
def access(request: HttpRequest, study: Study) -> HttpResponse:
    return access_page(request, study, InviteForm())


def access_page(request: HttpRequest, study: Study, form: InviteForm, *, status: int = 200) -> HttpResponse:
    context = {
        "colleagues": colleagues_of(study, request.user.pk),
        "roots": get_user_model().objects.filter(is_superuser=True, is_active=True).order_by("username"),
        "form": form,
        "undo": read_removal(study, request.GET.get("undo", "")),
        "undo_key": request.GET.get("undo", ""),
        "has_role": study.memberships.filter(user_id=request.user.pk).exists(),
        "roles": [(role.label, ROLES[role]) for role in Role],
        "rights": [(right.meaning, [role in right.roles for role in Role]) for right in RIGHTS.values()],
    }
    return show(request, study, "access", context, status=status)


def colleagues_of(study: Study, viewer: int | None) -> list[Colleague]:
    rows: dict[int, list[Any]] = {}
    for row in study.memberships.select_related("user", "invited_by").order_by("user__username", "pk"):
        rows.setdefault(row.user_id, []).append(row)
    return [
        Colleague(
            user=held[0].user,
            roles=labels_of(Role(row.role) for row in held),
            since=min(row.at for row in held),
            invited_by=next((row.invited_by.get_username() for row in held if row.invited_by), ""),
            waits=not held[0].user.has_usable_password(),
            is_self=user == viewer,
        )
        for user, held in rows.items()
    ]


def labels_of(roles: Iterable[Role]) -> str:
    held = set(roles)
    return listed(role.label for role in Role if role in held)


# Inviting


@require_POST
@study_page
def invite(request: HttpRequest, study: Study) -> HttpResponse:
    form = InviteForm(request.POST)
    if not form.is_valid():
        return access_page(request, study, form, status=422)
    try:
        invitation = give_access(request, study, form.cleaned_data["named"], form.get_roles())
    except (RolesError, ValidationError) as error:
        form.add_error("named", error.messages if isinstance(error, ValidationError) else str(error))
        return access_page(request, study, form, status=422)
    return tell(request, study, invitation)


@transaction.atomic
def give_access(request: HttpRequest, study: Study, named: str, roles: list[Role]) -> Invitation:
    """Add these roles to those of the account, which is created if there is none. Raise RolesError."""
    user, is_new = find_or_create_account(named)
    set_roles(study, user, {*roles_of(study, user), *roles}, by=request.user)
    return Invitation(user, is_new, link_for(request, user, study))


def tell(request: HttpRequest, study: Study, invitation: Invitation) -> HttpResponse:
    """Send the mail; where that fails, show the link of an account that was created just now."""
    roles = [role for role in Role if role in roles_of(study, invitation.user)]
    fault = send_invitation(request, study, invitation, roles)
    name = invitation.user.get_username()
    if not fault:
        messages.success(request, _("%(name)s has access, and a mail tells them.") % {"name": name})
    elif invitation.is_new:
        context = {"name": name, "fault": fault, "link": invitation.link}
        return show(request, study, "access_link", context)
    else:
        messages.warning(request, _("%(name)s has access, but no mail was sent.") % {"name": name} + f" {fault}")
    return redirect("research-access", study.key)


@require_POST
@study_page
def mail_again(request: HttpRequest, study: Study, account: int) -> HttpResponse:
    """Send the invitation of someone who has not chosen a password again, with a new link, to their own address."""
    user = colleague_for(study, account)
    if user.has_usable_password():
        messages.info(request, _("%(name)s has a password already.") % {"name": user.get_username()})
    return send_new_link(request, study, user)


def send_new_link(request: HttpRequest, study: Study, user: User) -> HttpResponse:
    """Send a new link to someone who has not chosen a password: with other rights, the earlier one is void."""
    if user.has_usable_password():
        return redirect("research-access", study.key)
    return tell(request, study, Invitation(user, is_new=False, link=link_for(request, user, study)))


def colleague_for(study: Study, account: int) -> User:
    users = get_user_model().objects.filter(memberships__study=study).distinct()
    return get_object_or_404(users, pk=account)


# Changing and removing


@require_http_methods(["GET", "POST"])
@study_page
def change(request: HttpRequest, study: Study, account: int) -> HttpResponse:
    user = colleague_for(study, account)
    sent = request.POST if request.method == "POST" else None
    form = RolesForm(sent, initial={"roles": list(roles_of(study, user))})
    if sent is not None and form.is_valid():
        try:
            set_roles(study, user, form.get_roles(), by=request.user)
        except RolesError as error:
            form.add_error("roles", str(error))
        else:
            messages.success(request, _("The roles of %(name)s are changed.") % {"name": user.get_username()})
            return send_new_link(request, study, user)
    context = {"form": form, "colleague": user, "waits": not user.has_usable_password()}
    return show(request, study, "access_roles", context, status=422 if sent is not None else 200)


@require_http_methods(["GET", "POST"])
@study_page
def remove(request: HttpRequest, study: Study, account: int) -> HttpResponse:
    """Ask, then take all roles away. The next page offers to undo it."""
    if account == request.user.pk:
        return redirect("research-access-leave", study.key)
    user = colleague_for(study, account)
    held = roles_of(study, user)
    if request.method != "POST":
        return show(request, study, "access_remove", {"colleague": user, "roles": labels_of(held)})
    try:
        set_roles(study, user, [], by=request.user)
    except RolesError as error:
        messages.error(request, str(error))
        return redirect("research-access", study.key)
    messages.success(request, _("%(name)s no longer has access to this study.") % {"name": user.get_username()})
    undo = signing.dumps([user.pk, sorted(held)], salt=salt_of(study))
    return redirect(f"{reverse('research-access', args=[study.key])}?{urlencode({'undo': undo})}")


def salt_of(study: Study) -> str:
    return f"access to study {study.pk}"


def read_removal(study: Study, undo: str) -> tuple[User, list[Role]] | None:
    """Return who was removed, and their roles; None where the address does not say it, or someone is back."""
    try:
        account, roles = signing.loads(undo, salt=salt_of(study), max_age=UNDO)
    except signing.BadSignature:
        return None
    user = get_user_model().objects.filter(pk=account).first()
    return None if user is None or roles_of(study, user) else (user, [Role(role) for role in roles])


@require_POST
@study_page
def restore(request: HttpRequest, study: Study) -> HttpResponse:
    removal = read_removal(study, request.POST.get("undo", ""))
    if removal is None:
        messages.error(request, _("This can no longer be undone. Invite them again instead."))
    else:
        user, roles = removal
        set_roles(study, user, roles, by=request.user)
        messages.success(request, _("%(name)s has access again.") % {"name": user.get_username()})
        return send_new_link(request, study, user)
    return redirect("research-access", study.key)


# Leaving and handing over


@require_http_methods(["GET", "POST"])
@study_page
def leave(request: HttpRequest, study: Study) -> HttpResponse:
    """Ask, then take one's own roles away. The last admin cannot leave."""
    held = roles_of(study, request.user)
    is_last = Role.ADMIN in held and not has_other_admin(study, request.user)
    if request.method != "POST":
        return show(request, study, "access_leave", {"roles": labels_of(held), "is_last": is_last})
    try:
        is_done = set_roles(study, request.user, [], by=request.user)
    except RolesError as error:
        messages.error(request, str(error))
        return redirect("research-access", study.key)
    if not is_done:  # an admin of the installation without a role here
        return redirect("research-access", study.key)
    messages.success(request, _("You have left the study %(key)s.") % {"key": study.key})
    return redirect("research-studies")


@require_http_methods(["GET", "POST"])
@study_page
def transfer_study(request: HttpRequest, study: Study) -> HttpResponse:
    """Make someone else the admin in one's place."""
    sent = request.POST if request.method == "POST" else None
    form = TransferForm(study, request.user.pk, sent)
    if sent is not None and form.is_valid():
        to, stays = form.cleaned_data["to"], form.cleaned_data["stays"]
        transfer(study, giver=request.user, to=to, stay_as=Role.RESEARCHER if stays else None)
        messages.success(request, _("%(name)s is now an admin of the study.") % {"name": to.get_username()})
        is_still_here = Access(request.user, study).is_member()
        return redirect("research-access", study.key) if is_still_here else redirect("research-studies")
    return show(request, study, "access_transfer", {"form": form}, status=422 if sent is not None else 200)
