from django.db import models
from django.utils import timezone

from studies.models.study import Study


class ExportRecord(models.Model):
    """A file or folder with people's data that a command or a page wrote on this server, so that erasing someone finds
    it wherever it is."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="export_records")
    path = models.CharField(max_length=1000, help_text="The whole path of an export's folder, or of a file.")
    include_tests = models.BooleanField(default=False)
    written_at = models.DateTimeField()

    class Meta:
        ordering = ["written_at"]
        constraints = [models.UniqueConstraint(fields=["study", "path"], name="one_record_of_an_export")]

    def __str__(self) -> str:
        return self.path


class ExportRemoval(models.Model):
    """Exports and results that have to go because people in them were erased. The row is stored with the erasure, and
    stays until all of them are removed: a crash or a folder that may not be written must not leave them there."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="export_removals")
    since = models.DateTimeField(help_text="What was written before cannot hold the people.")
    of_tests = models.BooleanField(default=False, help_text="Only test people: exports without test data stay.")
    codes = models.JSONField(default=list, help_text="Of the people and their conversations, by which files are found.")
    failed = models.JSONField(default=list, help_text="What could not be removed, each with the reason.")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["made_at"]

    def __str__(self) -> str:
        return f"{self.study} {self.since:%Y-%m-%d %H:%M}"
