"""Invitations by mail: the account of a colleague, and the mail that tells them."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core.mail import send_mail
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from dialogue.templatetags.languages import listed
from studies.access.granting import RolesError
from studies.models import Study
from studies.models.membership import Role
from studies.workbench.access import title_of
from studies.workbench.delivery_faults import DeliveryFault, name_mail_fault

log = logging.getLogger(__name__)

DAY = 24 * 3600


class LinkTokens(PasswordResetTokenGenerator):
    """Tokens of the links by which a password is chosen. None outlives a change of the account's rights: whoever was
    shown the link may not be one who can give these."""

    key_salt = "studies.colleagues.invitations.LinkTokens"

    def _make_hash_value(self, user: Any, timestamp: int) -> str:
        rights = [
            user.is_superuser,
            *(sorted(rows.values_list("pk", flat=True)) for rows in (user.groups, user.user_permissions)),
            sorted(user.memberships.values_list("study", "role")),
        ]
        return f"{super()._make_hash_value(user, timestamp)}{rights}"


link_tokens = LinkTokens()


@dataclass(frozen=True)
class Invitation:
    """An invitation. `is_new`: the account was created for it, so whoever invited may hand the link over."""

    user: User
    is_new: bool
    link: str


def find_or_create_account(named: str) -> tuple[User, bool]:
    """Return the account with this user name or mail address, or a new one for this address, and whether it is new.

    Raise RolesError where there is none and none can be made. Raise ValidationError where it is no address.
    """
    users = get_user_model().objects
    accounts = list(users.filter(username__iexact=named)) or list(users.filter(email__iexact=named))
    if len(accounts) > 1:
        raise RolesError(_("Several accounts have this address. Give the user name instead."))
    if accounts:
        if not (accounts[0].is_active and accounts[0].is_staff):
            raise RolesError(_("This account is locked. An admin of the installation can change that."))
        return accounts[0], False
    if "@" not in named:
        raise RolesError(_("There is no account with this user name. Give a mail address to invite someone new."))
    validate_email(named)
    try:
        with transaction.atomic():
            return users.create_user(named.lower(), named, is_staff=True), True
    except IntegrityError:  # someone else has invited them in this moment
        return users.get(username=named.lower()), False


def link_for(request: HttpRequest, user: User, study: Study) -> str:
    """Return where the mail leads: to the choice of a password, for those who have none, else to the study."""
    if user.has_usable_password():
        return request.build_absolute_uri(reverse("research-study", args=[study.key]))
    parts = [urlsafe_base64_encode(force_bytes(user.pk)), link_tokens.make_token(user)]
    return request.build_absolute_uri(reverse("research-welcome", args=parts))


def send_invitation(request: HttpRequest, study: Study, invitation: Invitation, roles: Iterable[Role]) -> str:
    """Send the mail. Return why it could not be sent; empty if it was."""
    user = invitation.user
    if not user.email:
        return _("The account has no mail address.")
    if settings.EMAIL_BACKEND.endswith("console.EmailBackend"):
        return str(DeliveryFault.of("no_mail"))
    title = " ".join(title_of(study.current()).split())
    subject = _("You are invited to the study “%(title)s”") % {"title": title}
    try:
        send_mail(subject, text_of(request, title, invitation, roles), settings.DEFAULT_FROM_EMAIL, [user.email])
    except OSError as error:  # smtplib's errors are OSErrors
        log.warning("an invitation could not be sent: %s", type(error).__name__)
        return str(name_mail_fault(error))
    return ""


def text_of(request: HttpRequest, title: str, invitation: Invitation, roles: Iterable[Role]) -> str:
    facts = {
        "by": request.user.get_username(),
        "title": title,
        "roles": listed(role.label for role in roles),
        "link": invitation.link,
        "name": invitation.user.get_username(),
        "days": settings.PASSWORD_RESET_TIMEOUT // DAY,
    }
    intro = _("%(by)s gives you access to the study “%(title)s” on emostudy. Your role: %(roles)s.") % facts
    if invitation.user.has_usable_password():
        return f"{intro}\n\n{_('Sign in as %(name)s:') % facts}\n{invitation.link}\n"
    choose = _("Choose a password with this link. You can use it once, within %(days)s days:") % facts
    after = _("Your user name is %(name)s. If you do not expect this mail, ignore it.") % facts
    return f"{intro}\n\n{choose}\n{invitation.link}\n\n{after}\n"
