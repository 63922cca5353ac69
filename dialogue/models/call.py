from typing import Any

from django.db import models

from dialogue.models.batch import Batch
from dialogue.models.conversation import Conversation
from dialogue.models.job import JobItem
from dialogue.providers.base import ProviderError, Reply

TIMES_AND_TOKENS = ("first_token_ms", "total_ms", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
LONGEST_REASON = 40


class Call(models.Model):
    """The ledger: one row for each attempt to reach a model, written before it is made and closed after it."""

    class Purpose(models.TextChoices):
        REPLY = "reply"
        JUDGE = "judge"
        THINKER = "thinker"
        SEEKER = "seeker"  # a simulated seeker's Talker, or the whole of it where it is one agent
        EVALUATOR = "evaluator"  # rates in the place of a simulated seeker, with a model of its own
        REVIEWER = "reviewer"  # looks for a simulated seeker's own faults
        PROFILE = "profile"  # makes a profile of a person's answers, or after another profile
        PROFILE_CHECK = "profile_check"  # looks whether a further profile is consistent
        SAFETY = "safety"  # the second line of the risk screen
        CHECK = "check"  # one question that finds out whether a model answers

    purpose = models.CharField(max_length=20, choices=Purpose)
    conversation = models.ForeignKey(
        Conversation, null=True, blank=True, on_delete=models.CASCADE, related_name="calls"
    )
    turn = models.PositiveIntegerField(null=True, blank=True)
    item = models.ForeignKey(JobItem, null=True, blank=True, on_delete=models.SET_NULL, related_name="calls")
    batch = models.ForeignKey(Batch, null=True, blank=True, on_delete=models.SET_NULL, related_name="calls")
    key = models.CharField(
        max_length=64,
        blank=True,
        db_index=True,
        help_text="The hash of who is asked what; the same again is not paid again.",
    )
    replicate = models.PositiveIntegerField(default=1)
    attempt = models.PositiveIntegerField(default=1)
    kind = models.CharField(max_length=40)
    provider = models.CharField(max_length=200, blank=True)
    model = models.CharField(max_length=200, blank=True)
    model_returned = models.CharField(max_length=200, blank=True)
    parameters = models.JSONField(default=dict)
    prompt_version = models.CharField(max_length=120, blank=True)
    request = models.JSONField(default=list, help_text="The messages as they were sent.")
    response = models.TextField(blank=True)
    reasoning = models.TextField(blank=True)
    status = models.CharField(max_length=20, default="started")
    finish_reason = models.CharField(
        max_length=LONGEST_REASON, blank=True, help_text="Why the answer ended, as the server says: stop, length …"
    )
    error = models.TextField(blank=True)
    first_token_ms = models.PositiveIntegerField(null=True, blank=True)
    total_ms = models.PositiveIntegerField(null=True, blank=True)
    input_tokens = models.PositiveIntegerField(null=True, blank=True)
    output_tokens = models.PositiveIntegerField(null=True, blank=True)
    cached_tokens = models.PositiveIntegerField(null=True, blank=True, help_text="Of the input: what the provider had.")
    reasoning_tokens = models.PositiveIntegerField(null=True, blank=True, help_text="Of the output.")
    cost = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        null=True,
        blank=True,
        help_text="While it is under way: what is set aside for it.",
    )
    prices = models.CharField(max_length=40, blank=True, help_text="The version of the price table.")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.purpose} {self.pk} {self.status}"

    @classmethod
    def close(cls, pk: int, outcome: Reply | ProviderError, *, status: str = "ok") -> None:
        """Store what came of the attempt; a failure brings its own status."""
        cls.objects.filter(pk=pk).update(**cls.closing(outcome, status))

    @classmethod
    def closing(cls, outcome: Reply | ProviderError, status: str) -> dict[str, Any]:
        """Return the fields that an outcome fills, but for the cost."""
        if isinstance(outcome, ProviderError):
            nothing = dict.fromkeys(TIMES_AND_TOKENS)
            failure = {"status": outcome.status, "error": outcome.detail, "response": outcome.partial}
            return {**nothing, "reasoning": "", "model_returned": "", "finish_reason": "", **failure}
        return {
            "status": "truncated" if status == "ok" and outcome.finish_reason == "length" else status,
            "error": "",
            "response": outcome.text,
            "reasoning": outcome.reasoning,
            "model_returned": outcome.model,
            "finish_reason": outcome.finish_reason[:LONGEST_REASON],
            **{name: getattr(outcome, name) for name in TIMES_AND_TOKENS},
        }

    def as_reply(self) -> Reply:
        """Return the stored answer, as it was when it came."""
        return Reply(
            text=self.response,
            model=self.model_returned,
            finish_reason=self.finish_reason or ("length" if self.status == "truncated" else "stop"),  # "": older rows
            reasoning=self.reasoning,
            first_token_ms=self.first_token_ms,
            total_ms=self.total_ms,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cached_tokens=self.cached_tokens,
            reasoning_tokens=self.reasoning_tokens,
        )
