"""Webhooks of a study: made and stopped by researchers."""

from collections.abc import Sequence

from django.contrib.auth.models import AbstractBaseUser
from django.utils import timezone

from studies.models import Study, Webhook

MOST_WEBHOOKS = 20  # in use, of one study


def create_webhook(study: Study, user: AbstractBaseUser, *, address: str, events: Sequence[str]) -> Webhook:
    """Create a webhook; its key is `get_key()`."""
    return Webhook.objects.create(
        study=study,
        address=address,
        events=[event for event in Webhook.Event.values if event in events],
        created_by=user,
        created_by_name=user.get_username(),
    )


def stop_webhook(webhook: Webhook) -> None:
    """End a webhook for good; what it has not been sent yet, it is not sent. Stopping it again changes nothing."""
    Webhook.objects.filter(pk=webhook.pk, stopped_at=None).update(stopped_at=timezone.now())
