from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone

from dialogue.models.job import Job
from dialogue.providers.base import ModelSettings


class BatchQuerySet(models.QuerySet["Batch"]):
    def open(self) -> Self:
        return self.filter(ended_at=None)

    def looked_after_by(self, job: int | None) -> Self:
        """Return the batches that a command for `job` looks after, or the resident runner if `job` is None. The
        resident runner looks after all that no command looks after."""
        if job is not None:
            return self.filter(Q(job=job) | Q(items__job=job)).distinct()
        attended = Job.objects.filter(attended_until__gt=timezone.now())
        return self.exclude(Q(job__in=attended) | Q(items__job__in=attended)).distinct()


class Batch(models.Model):
    """Requests that were handed to a provider as one file. Its rows of the ledger are its requests."""

    class State(models.TextChoices):
        PREPARING = "preparing"  # its file is written and uploaded
        SUBMITTING = "submitting"  # the provider is being asked to begin; who died then does not know whether it has
        VALIDATING = "validating"  # from here on as the provider says
        IN_PROGRESS = "in_progress"
        FINALIZING = "finalizing"
        COMPLETED = "completed"
        FAILED = "failed"  # refused when it was checked: nothing was run
        EXPIRED = "expired"
        CANCELLING = "cancelling"
        CANCELLED = "cancelled"
        ABANDONED = "abandoned"  # the provider never had it

    OURS = (State.PREPARING, State.SUBMITTING)

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="batches", help_text="Whose budget pays.")
    number = models.PositiveIntegerField(help_text="Counted within the job, from 1.")
    base_url = models.CharField(max_length=500, blank=True)
    model = models.CharField(max_length=200, blank=True)
    api_key_env = models.CharField(max_length=200, blank=True)
    owner = models.CharField(max_length=64, blank=True, help_text="Who prepares and submits it.")
    lease_until = models.DateTimeField(null=True, blank=True)
    input_file = models.CharField(max_length=200, blank=True, help_text="The provider's number of the uploaded file.")
    remote = models.CharField(max_length=200, blank=True, help_text="The provider's number of the batch.")
    state = models.CharField(max_length=12, choices=State, default=State.PREPARING)
    size = models.PositiveIntegerField(default=0, help_text="Items that it took.")
    total = models.PositiveIntegerField(default=0, help_text="Requests; these three as the provider counts.")
    answered = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    next_size = models.PositiveIntegerField(
        null=True, blank=True, help_text="Where it was refused as too much at once: how many items to try next."
    )
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    submitted_at = models.DateTimeField(null=True, blank=True, help_text="When the provider was asked to begin.")
    ended_at = models.DateTimeField(null=True, blank=True, help_text="When its rows were closed and its items free.")

    objects = BatchQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["job", "number"], name="one_batch_per_job_and_number")]

    def __str__(self) -> str:
        return f"batch {self.number} of job {self.job_id} ({self.state})"

    @property
    def holder(self) -> str:
        """Return the owner of the batch's items."""
        return f"batch-{self.pk}"

    def settings(self) -> ModelSettings:
        """Return the settings of the model that the batch was handed to."""
        return ModelSettings(
            "openai_compatible", model=self.model, base_url=self.base_url, api_key_env=self.api_key_env
        )
