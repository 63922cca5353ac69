"""The draws that gave people their arms."""

from django.db import models

from studies.models.participation import Participation


class Draw(models.Model):
    """A person's draw: all that the rule was told, and what it chose, so that the draw can be replayed."""

    participation = models.OneToOneField(Participation, on_delete=models.CASCADE, related_name="draw")
    version = models.PositiveIntegerField(help_text="Of the rule.")
    number = models.PositiveIntegerField(help_text="Among the draws of the version and track, from 0; or the row.")
    rule = models.JSONField(help_text="Design, arms in use, arms per person and seed.")
    seen = models.JSONField(help_text="How many people who counted had each order, in all and in each stratum.")
    strata = models.JSONField(default=dict, blank=True, help_text="The person's level of each factor; null if unknown.")
    candidates = models.JSONField(default=list, help_text="The orders that the rule held equally good.")
    order = models.JSONField(help_text="The arms that were chosen.")
    cards = models.JSONField(default=list, blank=True)
    drawn_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.participation_id} {self.number}"
