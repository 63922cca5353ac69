from datetime import datetime
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from studies.models.study import Study

SHOWN = 8  # characters of a token that are kept in the clear, so that its owner recognises it


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def usable(self, now: datetime | None = None) -> Self:
        """Return those that open the API: neither revoked nor expired, and of an account that still has access."""
        lasting = Q(expires_at=None) | Q(expires_at__gt=now or timezone.now())
        return self.filter(
            lasting, revoked_at=None, created_by__is_active=True, created_by__is_staff=True
        ).select_related("created_by", "study")


class ApiToken(models.Model):
    """A key with which a program uses the API, for one study or for all. Only its hash is stored."""

    class Scope(models.TextChoices):
        READ = "read", gettext_lazy("read: studies, progress, tasks, results")
        WRITE = "write", gettext_lazy("write: studies, links, webhooks")
        RUN = "run", gettext_lazy("run: judges, simulations, analyses")
        EXPORT = "export", gettext_lazy("export: people's data")

    name = models.CharField(max_length=100)
    study = models.ForeignKey(Study, null=True, blank=True, on_delete=models.CASCADE, related_name="api_tokens")
    scopes = models.JSONField(default=list)
    token_hash = models.CharField(max_length=64, unique=True)
    beginning = models.CharField(max_length=SHOWN, help_text="The first characters of the token.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_by_name = models.CharField(max_length=150, help_text="Kept when the account is deleted.")
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_by_name = models.CharField(max_length=150, blank=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.name} ({self.beginning}…)"

    def allows(self, scope: str, study_key: str | None) -> bool:
        """Return whether the token may do this, in the study of this key; None: in no study of its own."""
        return scope in self.scopes and (self.study is None or study_key is None or study_key == self.study.key)

    def is_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()
