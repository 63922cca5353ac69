from datetime import timedelta
from typing import Self

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from dialogue.models.conversation import Conversation

LEASE = timedelta(seconds=10)  # so soon after a worker's death others take up what it held


class Job(models.Model):
    """A frozen plan of items, all of one kind. How far it is, is read from the items."""

    class State(models.TextChoices):
        OPEN = "open"
        DONE = "done"  # nothing is left to be tried: every item is done or has failed
        STOPPED = "stopped"  # by a person, or because every call failed the same way
        BUDGET = "budget"  # what it may cost is spent

    kind = models.CharField(max_length=40, help_text="Who does the work: a key of settings.JOB_HANDLERS.")
    scope = models.CharField(max_length=100, help_text="Whose job it is, in the words of who planned it.")
    title = models.CharField(max_length=300)
    plan = models.JSONField(help_text="All that its items share. Never changed.")
    batched_role = models.CharField(
        max_length=40, blank=True, help_text="Items of this role are first asked in batches, at the provider's price."
    )
    budget = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    spent = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    reason = models.JSONField(
        default=dict, blank=True, help_text="Why it ended before its items were done: code and values."
    )
    attended_until = models.DateTimeField(
        null=True, blank=True, help_text="Until then a command looks after it, and no other runner takes from it."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}: {self.title}"


FOR_BATCH = Q(batch=None, role=F("job__batched_role"))


class JobItemQuerySet(models.QuerySet["JobItem"]):
    def unfinished(self) -> Self:
        return self.filter(state__in=(JobItem.State.WAITING, JobItem.State.WORKING))

    def claimable(self) -> Self:
        """Return items that wait, or whose worker has gone silent, and that need nothing that is still to be done."""
        return self.free().exclude(FOR_BATCH)

    def for_batch(self) -> Self:
        """Return claimable items that are to be asked in a batch first."""
        return self.free().filter(FOR_BATCH)

    def free(self) -> Self:
        free = Q(state=JobItem.State.WAITING) | Q(state=JobItem.State.WORKING, lease_until__lt=timezone.now())
        ready = Q(needs=None) | Q(needs__state=JobItem.State.DONE)
        return self.filter(free, ready, job__state=Job.State.OPEN)

    def can_go_on(self) -> Self:
        """Return the items that can still be done. Those cannot that need one which is not tried any more: it has
        failed, or its job has ended without it."""
        tried = Q(needs__state__in=(JobItem.State.WAITING, JobItem.State.WORKING), needs__job__state=Job.State.OPEN)
        return self.filter(Q(needs=None) | Q(needs__state=JobItem.State.DONE) | tried)


class JobItem(models.Model):
    """One piece of work, done once: the same subject in the same role by the same configuration is the same item."""

    class State(models.TextChoices):
        WAITING = "waiting"
        WORKING = "working"
        DONE = "done"
        FAILED = "failed"  # planning it again tries it again
        QUARANTINED = "quarantined"  # failed the same way too often to be tried again by itself

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="items")
    conversation = models.ForeignKey(
        Conversation, null=True, blank=True, on_delete=models.CASCADE, related_name="job_items"
    )
    subject = models.CharField(max_length=200)
    role = models.CharField(max_length=40)
    configuration = models.CharField(max_length=64, help_text="The hash of all that decides what is asked of whom.")
    replicate = models.PositiveIntegerField(default=1)
    payload = models.JSONField(default=dict)
    needs = models.ForeignKey("self", null=True, blank=True, on_delete=models.CASCADE, related_name="needed_by")
    state = models.CharField(max_length=12, choices=State, default=State.WAITING)
    owner = models.CharField(max_length=64, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True, help_text="When its number was last given to the broker.")
    batch = models.ForeignKey(
        "dialogue.Batch",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="items",
        help_text="The last one that it was asked in. It holds the item, without a lease, until it has ended.",
    )
    attempts = models.PositiveIntegerField(default=0, help_text="How often a worker has taken it up.")
    failure = models.CharField(max_length=20, blank=True, help_text="A status of the ledger, or 'broken'.")
    detail = models.TextField(blank=True)
    failed_as = models.TextField(blank=True, help_text="Failure and detail of the last time that it failed.")
    failed_times = models.PositiveIntegerField(default=0, help_text="How often in a row it has failed in that way.")
    result = models.JSONField(default=dict, help_text="What of it is worth counting.")
    done_at = models.DateTimeField(null=True, blank=True)

    objects = JobItemQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["subject", "role", "configuration", "replicate"], name="one_item_per_subject_and_configuration"
            )
        ]
        indexes = [models.Index(fields=["job", "state"], name="items_of_a_job_by_state")]

    def __str__(self) -> str:
        return f"{self.role} {self.subject} ({self.state})"


class Spending(models.Model):
    """The sum that all jobs together have spent in one day (UTC), so that many workers can keep a day's budget."""

    day = models.DateField(unique=True)
    amount = models.DecimalField(max_digits=12, decimal_places=6, default=0)

    def __str__(self) -> str:
        return f"{self.day} {self.amount}"
