"""Webhooks: addresses that are told of events of a study, and what came of telling them."""

import secrets
import uuid
from base64 import urlsafe_b64encode
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy

from studies.models.study import Study


def new_nonce() -> str:
    return secrets.token_hex(16)


class Webhook(models.Model):
    """An address that gets a signed request about each of the chosen events of a study."""

    class Event(models.TextChoices):
        PERSON_COMPLETED = "person.completed", gettext_lazy("a person completes the study")
        PERSON_ENDED = "person.ended", gettext_lazy("a person ends without completing it")
        STUDY_OPENED = "study.opened", gettext_lazy("the study opens")
        STUDY_PAUSED = "study.paused", gettext_lazy("the study is paused")
        STUDY_CLOSED = "study.closed", gettext_lazy("the study closes")
        TASK_ENDED = "task.ended", gettext_lazy("a judge, simulation, analysis or export ends")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="webhooks")
    address = models.CharField(max_length=500)
    events = models.JSONField(default=list)
    nonce = models.CharField(max_length=32, default=new_nonce, help_text="Its key is made from this and SECRET_KEY.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_by_name = models.CharField(max_length=150)
    created_at = models.DateTimeField(auto_now_add=True)
    stopped_at = models.DateTimeField(null=True, blank=True, help_text="It is told of nothing any more.")

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.study} {self.address}"

    def get_key(self) -> str:
        """Return the key that signs its requests: 256 bits, of which the database holds no part."""
        signed = salted_hmac("studies.webhook", self.nonce, algorithm="sha256").digest()
        return "whk_" + urlsafe_b64encode(signed).rstrip(b"=").decode()


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def unsent(self) -> Self:
        """Return those that still are to be sent."""
        return self.filter(sent_at=None, given_up_at=None)


class Delivery(models.Model):
    """A request to a webhook about one event, and what came of the tries. The row is the log."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=40)
    id_of_event = models.UUIDField(default=uuid.uuid4, help_text="The same in each try, for the receiver to compare.")
    body = models.JSONField()
    created_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(default=timezone.now, help_text="Not before this; a process that sends it moves it.")
    attempts = models.PositiveIntegerField(default=0)
    sent_at = models.DateTimeField(null=True, blank=True, help_text="When the receiver took it.")
    given_up_at = models.DateTimeField(null=True, blank=True)
    answer = models.CharField(max_length=200, blank=True, help_text="Of the last try: a status, or why there is none.")
    fault = models.JSONField(default=dict, blank=True, help_text="Why the last try was not taken: code and values.")

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        indexes = [
            models.Index(fields=["due_at"], condition=Q(sent_at=None, given_up_at=None), name="deliveries_to_send")
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.created_at:%Y-%m-%d %H:%M}"
