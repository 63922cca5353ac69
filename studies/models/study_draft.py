"""Study files that are written on a page, before they are loaded."""

from django.conf import settings
from django.db import models

from studies.models.study import Study

MOST_EARLIER = 50  # changes that can be undone


class StudyDraft(models.Model):
    """A study file with the files that lie beside it."""

    text = models.TextField(help_text="The study file (TOML).")
    files = models.JSONField(default=dict, help_text="Texts of prompts and role cards, by file name.")
    earlier = models.JSONField(default=list, help_text="What `text` and `files` were, the latest last.")
    study = models.ForeignKey(Study, null=True, blank=True, on_delete=models.SET_NULL, related_name="drafts")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    owner_name = models.CharField(max_length=150)
    revision = models.PositiveIntegerField(default=1)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-changed_at"]

    def __str__(self) -> str:
        return f"draft {self.pk}"

    def change(self, *, text: str | None = None, files: dict[str, str] | None = None) -> bool:
        """Take over a new text or new files, so that it can be undone; return whether that changes anything."""
        new = {"text": self.text if text is None else text, "files": self.files if files is None else files}
        if new == {"text": self.text, "files": self.files}:
            return False
        self.earlier = [*self.earlier, {"text": self.text, "files": self.files}][-MOST_EARLIER:]
        self.text, self.files = new["text"], new["files"]
        self.revision += 1
        return True

    def undo(self) -> None:
        """Return to what was before the last change."""
        *self.earlier, last = self.earlier
        self.text, self.files = last["text"], last["files"]
        self.revision += 1
