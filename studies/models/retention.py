from django.db import models
from django.utils.translation import gettext_lazy

from studies.models.study import Study


class RetentionRecord(models.Model):
    """A day after which data of a study go: when it was announced, and when they went. Where no mail can be sent,
    `announced_at` is when a server first saw the day, which the page Lifecycle shows from then on at the latest."""

    class What(models.TextChoices):
        CONTACTS = "contacts", gettext_lazy("Contact data are deleted")
        ANONYMISE = "anonymise", gettext_lazy("The study is anonymised")
        DELETE = "delete", gettext_lazy("The data of all people are deleted")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="retention_records")
    what = models.CharField(max_length=10, choices=What)
    day = models.DateField(help_text="The last day on which the data are kept (UTC).")
    announced_at = models.DateTimeField(null=True, blank=True, help_text="When a mail server took the announcement.")
    done_at = models.DateTimeField(null=True, blank=True)
    rows = models.JSONField(default=dict, blank=True, help_text="How many records it was about, by kind.")

    class Meta:
        ordering = ["day", "pk"]
        constraints = [models.UniqueConstraint(fields=["study", "what", "day"], name="one_record_per_retention_day")]

    def __str__(self) -> str:
        return f"{self.study} {self.what} {self.day}"
