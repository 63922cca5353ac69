from django.conf import settings
from django.db import models

from studies.models.study import Study


class Unblinding(models.Model):
    """A researcher's decision that the results by arm may be seen, for good; it outlives their account."""

    class When(models.TextChoices):
        OVER = "over"
        EARLIER = "earlier"
        REOPENED = "reopened"

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="unblinding")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    by_name = models.CharField(max_length=150)
    when = models.CharField(max_length=10, choices=When, help_text="After data collection, earlier, or by reopening.")
    reason = models.CharField(max_length=300)
    at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.study} {self.when}"
