import hashlib
import json
from collections.abc import Mapping
from typing import Any

from django.db import models

from dialogue.compiled_sql import CompiledQuery
from dialogue.providers.base import ModelSettings, copy_settings


class Supporter(models.Model):
    """A supporter, frozen: one row for each set of settings, never changed, so that a reply's source is known."""

    digest = models.CharField(max_length=64, unique=True)
    kind = models.CharField(max_length=40)
    model = models.CharField(max_length=200, blank=True)
    base_url = models.CharField(max_length=500, blank=True)
    api_key_env = models.CharField(max_length=100, blank=True)
    provider = models.CharField(max_length=200, blank=True)
    prompt = models.TextField(blank=True)
    temperature = models.FloatField(null=True, blank=True)
    max_tokens = models.PositiveIntegerField(null=True, blank=True)
    extra = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.kind} {self.model}"

    @classmethod
    def get_or_freeze(cls, **fields: Any) -> "Supporter":
        """Return the row with these settings, made if there is none yet."""
        digest = digest_of(fields)
        return WITH_DIGEST.first(digest) or cls.objects.get_or_create(digest=digest, defaults=fields)[0]

    def settings(self) -> ModelSettings:
        """Return the settings of the model behind it."""
        return copy_settings(self)


WITH_DIGEST = CompiledQuery(Supporter, lambda: Supporter.objects.filter(digest="").order_by())


def digest_of(fields: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
