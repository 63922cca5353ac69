"""Mails that tell an account's owner what was changed about it: someone else may have done it."""

import logging
from smtplib import SMTPException

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.core.mail import send_mail
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

log = logging.getLogger(__name__)

API_TOKEN = "api_token_created"  # noqa: S105 - a kind of change
# By allauth's template of its own mail; a token outlives a new password and asks for no second factor.
CHANGES = {
    "account/email/password_changed": gettext_lazy("Your password was changed."),
    "account/email/password_reset": gettext_lazy("Your password was changed."),
    "account/email/password_set": gettext_lazy("Your password was changed."),
    "mfa/email/totp_activated": gettext_lazy("An authenticator app was added to your account."),
    "mfa/email/totp_deactivated": gettext_lazy("The authenticator app was removed from your account."),
    "mfa/email/webauthn_added": gettext_lazy("A passkey was added to your account."),
    "mfa/email/webauthn_removed": gettext_lazy("A passkey was removed from your account."),
    "mfa/email/recovery_codes_generated": gettext_lazy("New recovery codes were made for your account."),
    API_TOKEN: gettext_lazy(
        "A token for the API was created for your account. It works, also after you change your password, until you "
        "revoke it on the page API tokens."
    ),
}


def tell_of_change(user: AbstractBaseUser, template: str) -> None:
    """Send the mail where the account has an address. The change holds also where the mail server does not take it."""
    address = getattr(user, "email", "")
    if not address or template not in CHANGES:
        return
    text = gettext("%(change)s Account: %(name)s, %(when)s.") % {
        "change": CHANGES[template],
        "name": user.get_username(),
        "when": f"{timezone.now():%Y-%m-%d %H:%M} UTC",
    }
    advice = gettext(
        "If this was not you, sign in, choose a new password, sign out everywhere on the page of your account, and "
        "tell an admin of this installation."
    )
    subject = gettext("Your emostudy account was changed")
    try:
        send_mail(subject, f"{text}\n\n{advice}\n", settings.DEFAULT_FROM_EMAIL, [address])
    except (OSError, SMTPException) as error:
        log.warning("a mail about an account could not be sent: %s", type(error).__name__)
