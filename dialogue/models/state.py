from django.db import models

from dialogue.models.conversation import Conversation


class InnerState(models.Model):
    """A Thinker's guess at what goes on in the seeker after a reply (EmoHarbor §4.1.2 and appendix H.2)."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="states")
    turn = models.PositiveIntegerField()
    source = models.CharField(max_length=100, help_text="The key of the judge whose Thinker it was, or 'seeker'.")
    cognition = models.TextField(blank=True)
    emotion = models.TextField(blank=True)
    goal = models.TextField(blank=True)
    emotion_score = models.FloatField(null=True, blank=True, help_text="0 to 100")

    class Meta:
        ordering = ["conversation", "turn"]
        constraints = [
            models.UniqueConstraint(fields=["conversation", "turn", "source"], name="one_state_per_turn_and_source")
        ]

    def __str__(self) -> str:
        return f"{self.conversation_id}/{self.turn}"
