"""Tokens of the API: created and shown once, found by their hash, revoked."""

import secrets
from collections.abc import Sequence
from datetime import timedelta

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q
from django.utils import timezone

from studies.models import ApiToken, Study
from studies.models.api_token import SHOWN
from studies.models.participation import digest

PREFIX = "est_"  # tells programs that look for leaked secrets what this is
SECONDS_BETWEEN_NOTES = 60  # of when a token was used: not every request writes


def create_token(
    user: AbstractBaseUser, *, name: str, scopes: Sequence[str], study: Study | None = None, days: int | None = None
) -> tuple[ApiToken, str]:
    """Create a token and return it with its text, which is stored as a hash only.

    `study`: None for all studies; `days`: until it expires, None for never.
    """
    text = PREFIX + secrets.token_urlsafe(32)
    row = ApiToken.objects.create(
        name=name,
        study=study,
        scopes=[scope for scope in ApiToken.Scope.values if scope in scopes],
        token_hash=digest(text),
        beginning=text[:SHOWN],
        created_by=user,
        created_by_name=user.get_username(),
        expires_at=None if days is None else timezone.now() + timedelta(days=days),
    )
    return row, text


def find_token(text: str) -> ApiToken | None:
    """Return the usable token with this text, and note that it was used."""
    token = ApiToken.objects.usable().filter(token_hash=digest(text)).first()
    if token:
        now = timezone.now()
        long_ago = Q(last_used_at=None) | Q(last_used_at__lt=now - timedelta(seconds=SECONDS_BETWEEN_NOTES))
        ApiToken.objects.filter(long_ago, pk=token.pk).update(last_used_at=now)
    return token


def revoke_token(token: ApiToken, user: AbstractBaseUser) -> None:
    """End a token for good. Revoking it again changes nothing."""
    values = {"revoked_at": timezone.now(), "revoked_by_name": user.get_username()}
    ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(**values)
