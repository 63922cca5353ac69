from django.db import models

from dialogue.models.conversation import Conversation


class SeekerFault(models.Model):
    """A fault of a simulated seeker that did not do its part, stored so that the supporter is not charged for it."""

    class Source(models.TextChoices):
        RULE = "rule"
        REVIEWER = "reviewer"

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="seeker_faults")
    turn = models.PositiveIntegerField()
    kind = models.CharField(max_length=30)
    source = models.CharField(max_length=10, choices=Source)
    evidence = models.TextField(blank=True)

    class Meta:
        ordering = ["conversation", "turn", "kind"]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "turn", "kind", "source"], name="one_seeker_fault_per_turn_kind_and_source"
            )
        ]

    def __str__(self) -> str:
        return f"{self.conversation_id}/{self.turn} {self.kind}"
