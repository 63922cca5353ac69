from django.conf import settings
from django.db import models
from django.db.models import Q

from studies.models.participation import ArmRun, Participation


class Decision(models.Model):
    """One coder's decision on a person or a conversation: keep or leave out, and why. Two must agree."""

    participation = models.ForeignKey(
        Participation, on_delete=models.CASCADE, null=True, blank=True, related_name="decisions"
    )
    run = models.ForeignKey(ArmRun, on_delete=models.CASCADE, null=True, blank=True, related_name="decisions")
    coder = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT)
    keep = models.BooleanField()
    reason = models.CharField(max_length=500)
    decided_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(participation__isnull=False, run__isnull=True)
                | Q(participation__isnull=True, run__isnull=False),
                name="decision_on_person_or_conversation",
            ),
            models.UniqueConstraint(
                fields=["participation", "coder"],
                condition=Q(participation__isnull=False),
                name="one_decision_per_person_and_coder",
            ),
            models.UniqueConstraint(
                fields=["run", "coder"], condition=Q(run__isnull=False), name="one_decision_per_run_and_coder"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.participation_id or self.run_id} {'keep' if self.keep else 'leave out'}"
