"""Acts of the team on the board of a running study, and questions of people to the team."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy

from studies.models.participation import ArmRun, Participation
from studies.models.study import Study

LONGEST_REASON = 500


class BoardAct(models.Model):
    """An act on an arm, a conversation or a person of a running study. Rows are added, never changed."""

    class Kind(models.TextChoices):
        ARM_PAUSED = "arm_paused", gettext_lazy("Arm paused")
        ARM_RESUMED = "arm_resumed", gettext_lazy("Arm resumed")
        MARKED_INVALID = "marked_invalid", gettext_lazy("Conversation left out")
        MARKED_VALID = "marked_valid", gettext_lazy("Conversation counted again")
        LINK_REISSUED = "link_reissued", gettext_lazy("New link")
        PERSON_PAUSED = "person_paused", gettext_lazy("Paused")
        PERSON_RESUMED = "person_resumed", gettext_lazy("Resumed")
        PERSON_ENDED = "person_ended", gettext_lazy("Part ended")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="board_acts")
    kind = models.CharField(max_length=20, choices=Kind)
    arm = models.CharField(max_length=100, blank=True, help_text="The arm's key.")
    run = models.ForeignKey(ArmRun, null=True, blank=True, on_delete=models.CASCADE, related_name="board_acts")
    participation = models.ForeignKey(
        Participation, null=True, blank=True, on_delete=models.CASCADE, related_name="board_acts"
    )
    reason = models.CharField(max_length=LONGEST_REASON)
    told = models.CharField(max_length=LONGEST_REASON, blank=True, help_text="What the person reads as the reason.")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    by_name = models.CharField(max_length=150, help_text="Kept when the account is deleted.")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-at", "-pk"]

    def __str__(self) -> str:
        return f"{self.study} {self.kind} {self.at:%Y-%m-%d %H:%M}"


class Question(models.Model):
    """A person's question to the team, by the link on each of their pages, and the team's answer."""

    participation = models.ForeignKey(Participation, on_delete=models.CASCADE, related_name="questions")
    text = models.TextField()
    step = models.CharField(max_length=100, blank=True, help_text="The key of the step at which they were.")
    asked_at = models.DateTimeField(default=timezone.now)
    answer = models.TextField(blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)
    answered_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    answered_by_name = models.CharField(max_length=150, blank=True, help_text="Kept when the account is deleted.")
    read_at = models.DateTimeField(null=True, blank=True, help_text="When the person said that they had read it.")

    class Meta:
        ordering = ["asked_at", "pk"]

    def __str__(self) -> str:
        return f"{self.participation} {self.asked_at:%Y-%m-%d %H:%M}"
