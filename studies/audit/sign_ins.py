"""Write down that someone did not get into an account."""

from typing import Any

from allauth.mfa.signals import authentication_failed
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.http import HttpRequest

from studies.audit.acting import Actor, act_as, get_actor
from studies.audit.chain import INSTALLATION, record
from studies.models import AuditEntry


def write_wrong_password(
    sender: object, credentials: dict[str, Any], request: HttpRequest | None = None, **_more: Any
) -> None:
    """Write down a wrong password. A name that no account has is not kept: people type passwords there."""
    user = User.objects.filter(username__iexact=credentials.get("username") or "").first()
    if user is not None:
        write_failure(user)


def write_wrong_code(sender: object, user: User, **_more: Any) -> None:
    """Write down a wrong code of a second step."""
    write_failure(user)


def write_failure(user: User) -> None:
    now = get_actor()
    with act_as(lambda: Actor(user.pk, user.get_username(), now.source, now.request)):
        record(INSTALLATION, AuditEntry.Act.REFUSED, AuditEntry.Thing.ACCOUNT)


def watch_sign_ins() -> None:
    user_login_failed.connect(write_wrong_password, dispatch_uid="audit")
    authentication_failed.connect(write_wrong_code, dispatch_uid="audit")
