"""Role-play: cards, the behaviours that a counsellor played, and the replies that they flagged."""

from typing import Any

from django.db import models
from django.db.models import Q

from dialogue.seekers.components import is_worst_case
from studies.models.ordered_json import OrderedJSONField
from studies.models.participation import ArmRun
from studies.models.study import Study, slug


class Card(models.Model):
    """A seeker to be played: a profile P = {D, P, C, S} (EmoHarbor §2.1) and how strongly each behaviour shows."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="cards")
    key = models.CharField(max_length=60, validators=[slug])
    language = models.CharField(max_length=10)
    profile = OrderedJSONField(help_text="D, P, C and S, as in seeker_profiles_demo.json.")
    intensities = models.JSONField(default=dict, help_text="Behaviour (seeker_behaviours.json) → 0 to 3.")
    retired = models.BooleanField(default=False, help_text="Given to no one from now on.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["key"]
        constraints = [models.UniqueConstraint(fields=["study", "key"], name="one_card_per_key")]

    def __str__(self) -> str:
        return self.key

    def as_given(self) -> dict[str, Any]:
        """Return the part of the card that a counsellor's run stores."""
        return {
            "key": self.key,
            "language": self.language,
            "profile": self.profile,
            "intensities": self.intensities,
        }

    def condition(self) -> str:
        return "worst_case" if is_worst_case(self.intensities) else "average"


class RolePlay(models.Model):
    """The card as it was when it was given out, and the behaviours that the counsellor ticked as played."""

    run = models.OneToOneField(ArmRun, on_delete=models.CASCADE, related_name="role_play")
    card = OrderedJSONField(help_text="key, profile and intensities of the card, as they were.")
    played = models.JSONField(default=list, help_text="Behaviours that were ticked as played, in their order.")
    stepped_out = models.PositiveIntegerField(default=0, help_text="How often the counsellor stepped out of the role.")

    def __str__(self) -> str:
        return f"{self.run_id} {self.card.get('key', '')}"

    def shows(self, behaviour: str) -> bool:
        return self.card.get("intensities", {}).get(behaviour, 0) > 0

    def tick(self, behaviour: str, *, played: bool) -> None:
        """Set or remove a tick; repeating it changes nothing."""
        others = [each for each in self.played if each != behaviour]
        if played and behaviour not in self.played:
            self.played = [*others, behaviour]
        elif not played:
            self.played = others


class Flag(models.Model):
    """A reply that the seeker or counsellor flagged while chatting. A withdrawn flag stays, with the time."""

    run = models.ForeignKey(ArmRun, on_delete=models.CASCADE, related_name="flags")
    turn = models.PositiveIntegerField()
    reason = models.CharField(max_length=40)
    note = models.TextField(blank=True)
    reply = models.TextField(help_text="The reply's exact text, as it was shown.")
    flagged_at = models.DateTimeField(auto_now_add=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["run", "turn", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "turn"], condition=Q(withdrawn_at__isnull=True), name="one_standing_flag_per_reply"
            )
        ]

    def __str__(self) -> str:
        return f"{self.run_id}/{self.turn} {self.reason}"
