from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from dialogue.models.conversation import Conversation


class RiskEvent(models.Model):
    """A sign of danger and what was done about it. `conversation` is empty where it was said in a questionnaire."""

    class Source(models.TextChoices):
        MESSAGE = "message", gettext_lazy("Message")
        REPLY = "reply", gettext_lazy("Reply")
        ANSWER = "answer", gettext_lazy("Answer")

    class SafeAnswer(models.TextChoices):
        """Answers to "Are you safe right now?" """

        NO = "no", gettext_lazy("No, or I am not sure")
        HARD = "hard", gettext_lazy("Yes, but it is hard")
        SAFE = "safe", gettext_lazy("Yes, I am safe")

    conversation = models.ForeignKey(
        Conversation, null=True, blank=True, on_delete=models.CASCADE, related_name="risks"
    )
    subject = models.CharField(max_length=64, blank=True, help_text="The person's code.")
    turn = models.PositiveIntegerField(null=True, blank=True)
    source = models.CharField(max_length=10, choices=Source)
    level = models.PositiveSmallIntegerField()
    entries = models.JSONField(
        default=list, help_text="Which patterns of the screen matched; 'classifier' where it did."
    )
    categories = models.JSONField(
        default=list, blank=True, help_text="What the patterns are about, 'means' or 'farewell'."
    )
    screen = models.CharField(max_length=20, blank=True, help_text="The version of the screen.")
    first_level = models.PositiveSmallIntegerField(default=0, help_text="What the first line found.")
    second_level = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="What the second line found; empty where there is none, or no answer."
    )
    second_screen = models.CharField(
        max_length=200, blank=True, help_text="The second line: kind, model and the version of its prompt."
    )
    suspected = models.BooleanField(
        default=False, help_text="No pattern of level 3 fired: only the classifier or the second line found it."
    )
    safe_answer = models.CharField(max_length=10, choices=SafeAnswer, blank=True)
    safe_answered_at = models.DateTimeField(null=True, blank=True)
    is_test = models.BooleanField(default=False, help_text="Of a test person, a bot or a simulated seeker.")
    role_answer = models.CharField(max_length=10, blank=True, help_text="In role-play: 'role' or 'me'.")
    created_at = models.DateTimeField(auto_now_add=True)
    released_at = models.DateTimeField(null=True, blank=True)
    released_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    note = models.TextField(blank=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [models.CheckConstraint(condition=Q(level__lte=4), name="risk_level_at_most_4")]

    def __str__(self) -> str:
        return f"level {self.level} {self.source} {self.created_at:%Y-%m-%d %H:%M}"
