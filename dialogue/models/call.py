from django.db import models

from dialogue.models.conversation import Conversation
from dialogue.providers.base import ProviderError, Reply


class Call(models.Model):
    """The ledger: one row for each attempt to reach a model, written before it is made and closed after it."""

    class Purpose(models.TextChoices):
        REPLY = "reply"
        JUDGE = "judge"
        THINKER = "thinker"

    purpose = models.CharField(max_length=20, choices=Purpose)
    conversation = models.ForeignKey(
        Conversation, null=True, blank=True, on_delete=models.CASCADE, related_name="calls"
    )
    turn = models.PositiveIntegerField(null=True, blank=True)
    attempt = models.PositiveIntegerField(default=1)
    kind = models.CharField(max_length=40)
    provider = models.CharField(max_length=200, blank=True)
    model = models.CharField(max_length=200, blank=True)
    model_returned = models.CharField(max_length=200, blank=True)
    parameters = models.JSONField(default=dict)
    prompt_version = models.CharField(max_length=64, blank=True)
    request = models.JSONField(default=list, help_text="The messages as they were sent.")
    response = models.TextField(blank=True)
    reasoning = models.TextField(blank=True)
    status = models.CharField(max_length=20, default="started")
    error = models.TextField(blank=True)
    first_token_ms = models.PositiveIntegerField(null=True, blank=True)
    total_ms = models.PositiveIntegerField(null=True, blank=True)
    input_tokens = models.PositiveIntegerField(null=True, blank=True)
    output_tokens = models.PositiveIntegerField(null=True, blank=True)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.purpose} {self.pk} {self.status}"

    @classmethod
    def close(cls, pk: int, outcome: Reply | ProviderError, *, status: str = "ok") -> None:
        """What came of the attempt; a failure brings its own status."""
        rows = cls.objects.filter(pk=pk)
        if isinstance(outcome, ProviderError):
            rows.update(status=outcome.status, error=outcome.detail, response=outcome.partial)
            return
        rows.update(
            status="truncated" if status == "ok" and outcome.finish_reason == "length" else status,
            response=outcome.text,
            reasoning=outcome.reasoning,
            model_returned=outcome.model,
            first_token_ms=outcome.first_token_ms,
            total_ms=outcome.total_ms,
            input_tokens=outcome.input_tokens,
            output_tokens=outcome.output_tokens,
        )
