"""Second raters: plans, reviews and adjudications."""

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from studies.models.participation import ArmRun, Participation
from studies.models.study import Study

LEASE = timedelta(hours=24)  # after this, an unrated conversation is given to others


class ReviewPlan(models.Model):
    """A set of conversations, drawn once, each to be rated by a number of reviewers."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="review_plans")
    name = models.CharField(max_length=100)
    instruments = models.JSONField(help_text="Ids of the rating scales, in their order.")
    source = models.JSONField(help_text="How the conversations were drawn: kind, size, arm, judge, …")
    ratings_each = models.PositiveIntegerField(default=2, help_text="Ratings of a conversation that is in the overlap.")
    overlap = models.FloatField(default=1.0, help_text="Share of conversations that get them; the others get one.")
    calibration = models.BooleanField(default=True, help_text="Vignettes with known scores come first.")
    repeat_every = models.PositiveIntegerField(
        default=0, help_text="After so many conversations an earlier one comes again; 0 for never."
    )
    seed = models.BigIntegerField(default=1)
    is_open = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["study", "name"], name="one_review_plan_per_name")]

    def __str__(self) -> str:
        return self.name

    def is_for(self, reviewer: Participation) -> bool:
        """Return whether a reviewer gets this plan: artificial reviewers rate test data, others rate the rest."""
        return bool(self.source.get("is_test")) == reviewer.is_test


class ReviewItem(models.Model):
    """A conversation of a plan, with its position and the number of ratings it needs."""

    plan = models.ForeignKey(ReviewPlan, on_delete=models.CASCADE, related_name="items")
    run = models.ForeignKey(ArmRun, on_delete=models.CASCADE, related_name="review_items")
    position = models.PositiveIntegerField()
    wanted = models.PositiveIntegerField()

    class Meta:
        ordering = ["plan", "position"]
        constraints = [models.UniqueConstraint(fields=["plan", "run"], name="one_review_item_per_run")]

    def __str__(self) -> str:
        return f"{self.plan_id} {self.position}"


class Review(models.Model):
    """One piece of a reviewer's work: a conversation, a repeated one, or a vignette."""

    class Because(models.TextChoices):
        DISTRESS = "distress"
        RECOGNISED = "recognised"
        UNCLEAR = "unclear"
        OTHER = "other"
        EXPIRED = "expired"  # the lease ended, and another reviewer got the conversation

    plan = models.ForeignKey(ReviewPlan, on_delete=models.CASCADE, related_name="reviews")
    reviewer = models.ForeignKey(Participation, on_delete=models.CASCADE, related_name="reviews")
    item = models.ForeignKey(ReviewItem, on_delete=models.CASCADE, null=True, blank=True, related_name="reviews")
    vignette = models.CharField(max_length=60, blank=True)
    replicate = models.PositiveIntegerField(default=1, help_text="2 where a conversation came again.")
    scores = models.JSONField(default=dict, help_text="Of a vignette: item → score; conversations have Responses.")
    given_at = models.DateTimeField(auto_now_add=True)
    done_at = models.DateTimeField(null=True, blank=True)
    declined_at = models.DateTimeField(null=True, blank=True, help_text="The reviewer gave it back unrated.")
    declined_because = models.CharField(max_length=20, choices=Because, blank=True)
    declined_note = models.CharField(max_length=500, blank=True, help_text="In the reviewer's words.")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["reviewer", "item", "replicate"], condition=Q(item__isnull=False), name="one_review_per_item"
            ),
            models.UniqueConstraint(
                fields=["reviewer", "plan", "vignette"], condition=~Q(vignette=""), name="one_review_per_vignette"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.reviewer_id} {self.item_id or self.vignette}"

    def is_fresh(self) -> bool:
        """Return whether the review is still reserved for its reviewer; a vignette always is."""
        return self.item_id is None or self.given_at > timezone.now() - LEASE


class Adjudication(models.Model):
    """The decision on an item on which raters differ. The ratings themselves stay as they were."""

    run = models.ForeignKey(ArmRun, on_delete=models.CASCADE, related_name="adjudications")
    instrument = models.CharField(max_length=100)
    item = models.CharField(max_length=100)
    score = models.FloatField()
    reason = models.TextField()
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    decided_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "instrument", "item"], name="one_adjudication_per_item")]

    def __str__(self) -> str:
        return f"{self.run_id} {self.item}"
