"""The selection of applicants: scores, draws and decisions."""

from django.conf import settings
from django.db import models

from studies.models.participation import Participation
from studies.models.study import Study


class SelectionScore(models.Model):
    """The points that one scorer gave to the application of one person."""

    participation = models.ForeignKey(Participation, on_delete=models.CASCADE, related_name="selection_scores")
    scorer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT)
    points = models.JSONField(help_text="By the key of the item.")
    total = models.PositiveSmallIntegerField()
    scored_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["participation", "scorer"], name="one_score_per_scorer")]

    def __str__(self) -> str:
        return f"{self.participation_id} {self.total}"


class SelectionDraw(models.Model):
    """A draw among applicants that was carried out: with its settings and the same applicants it can be repeated."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="selection_draws")
    rule = models.JSONField(help_text="Size, strata, shares, minimum score and seed.")
    applicants = models.PositiveIntegerField(help_text="How many it was drawn among.")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    by_name = models.CharField(max_length=150)
    drawn_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.study} {self.rule['seed']}"


class SelectionDecision(models.Model):
    """The decision on an applicant; it outlives the account of whoever decided."""

    participation = models.OneToOneField(Participation, on_delete=models.CASCADE, related_name="selection_decision")
    admitted = models.BooleanField()
    reason = models.CharField(max_length=500, blank=True)
    draw = models.ForeignKey(SelectionDraw, null=True, blank=True, on_delete=models.SET_NULL, related_name="decisions")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    by_name = models.CharField(max_length=150)
    decided_at = models.DateTimeField(auto_now_add=True)
    mailed_at = models.DateTimeField(
        null=True, blank=True, help_text="When the mail server took a mail about it. The address is not kept."
    )

    def __str__(self) -> str:
        return f"{self.participation_id} {'admitted' if self.admitted else 'declined'}"
