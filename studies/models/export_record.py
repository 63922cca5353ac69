from django.db import models

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
