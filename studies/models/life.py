from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class Stage(models.TextChoices):
    """The stage of a study. Before the first, it is a draft: it has no study of its own yet."""

    REHEARSAL = "rehearsal", _("Rehearsal")
    OPEN = "open", _("Open")
    PAUSED = "paused", _("Paused")
    CLOSED = "closed", _("Closed")
    ARCHIVED = "archived", _("Archived")


class Signed(models.Model):
    """A decision of a researcher, with their name, which is kept when their account is deleted."""

    at = models.DateTimeField(default=timezone.now)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    by_name = models.CharField(max_length=150, blank=True)
    reason = models.CharField(max_length=500, blank=True)

    class Meta:
        abstract = True


class StageChange(Signed):
    """A study's step from one stage to another."""

    study = models.ForeignKey("studies.Study", on_delete=models.CASCADE, related_name="stage_changes")
    stage = models.CharField(max_length=10, choices=Stage, help_text="The stage from then on.")

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.study} {self.stage}"


class Amendment(Signed):
    """A change of what people meet after the study was opened: a version of the design, numbered and explained."""

    protocol = models.OneToOneField("studies.Protocol", on_delete=models.CASCADE, related_name="amendment")
    number = models.PositiveIntegerField(help_text="1 is the first of the study.")
    asks_again = models.BooleanField(help_text="Whether people who have signed are asked for their consent again.")

    class Meta:
        ordering = ["number"]

    def __str__(self) -> str:
        return f"{self.protocol.study} amendment {self.number}"


class ResourceCheck(models.Model):
    """Someone tried every line of help that the people of a study see, and says that each answers."""

    study = models.ForeignKey("studies.Study", on_delete=models.CASCADE, related_name="resource_checks")
    country = models.CharField(max_length=2)
    version = models.CharField(max_length=20, help_text="Of the list of lines.")
    at = models.DateTimeField(default=timezone.now)
    by_name = models.CharField(max_length=150)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.study} {self.country} {self.at:%Y-%m-%d}"
