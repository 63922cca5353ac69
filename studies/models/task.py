from datetime import timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

from studies.models.study import Study

STALE_AFTER = timedelta(minutes=5)


class Task(models.Model):
    """A command that a researcher started from a page and that runs in a process of its own."""

    class State(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="tasks")
    command = models.CharField(max_length=40)
    arguments = models.JSONField(default=list)
    state = models.CharField(max_length=10, choices=State, default=State.RUNNING)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    message = models.TextField(blank=True)
    outcome = models.JSONField(default=dict, blank=True, help_text="Counts and cost of what asked models.")
    folder = models.CharField(max_length=500, blank=True, help_text="What it wrote, below var/.")
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    stop_asked_by = models.CharField(max_length=150, blank=True, help_text="It then begins nothing more.")
    started_at = models.DateTimeField(auto_now_add=True)
    heard_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-started_at"]

    def __str__(self) -> str:
        return f"{self.command} {self.started_at:%Y-%m-%d %H:%M}"

    def is_stale(self) -> bool:
        """Return whether its process has died without a word."""
        return self.state == self.State.RUNNING and timezone.now() - self.heard_at > STALE_AFTER
