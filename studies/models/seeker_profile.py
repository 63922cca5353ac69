from django.conf import settings
from django.db import models

from studies.models.ordered_json import OrderedJSONField
from studies.models.study import Study


class SeekerProfile(models.Model):
    """A profile of a simulated seeker: P = {D, P, C, S} (EmoHarbor, appendix B), from a file, from a person's own
    answers, or written after another profile.

    Only an approved profile is used.
    """

    class State(models.TextChoices):
        DRAFT = "draft"
        APPROVED = "approved"
        REFUSED = "refused"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="seeker_profiles")
    key = models.CharField(max_length=100)
    language = models.CharField(max_length=10)
    content = OrderedJSONField(help_text="As in a file of profiles: id, lang, D, P, C, S.")
    origin = models.CharField(max_length=200, help_text="The file it came from, 'answers' or 'expanded'.")
    seed = models.CharField(
        max_length=100, blank=True, help_text="The key of the profile after which a model wrote this one."
    )
    state = models.CharField(max_length=10, choices=State, default=State.APPROVED)
    checks = models.JSONField(default=list, blank=True, help_text="What the automatic checks found.")
    made_of = models.ForeignKey(
        "studies.Participation", null=True, blank=True, on_delete=models.CASCADE, related_name="seeker_profiles"
    )
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    decided_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["key"]
        constraints = [models.UniqueConstraint(fields=["study", "key"], name="one_seeker_profile_per_key")]

    def __str__(self) -> str:
        return self.key
