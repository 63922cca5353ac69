"""The state of forms: keys of accepted forms, and drafts."""

from django.db import models

from studies.models.participation import Participation


class Submission(models.Model):
    """An accepted form. Each display of a page has a key, and a key is accepted once."""

    participation = models.ForeignKey(Participation, on_delete=models.CASCADE, related_name="submissions")
    key = models.CharField(max_length=64)
    taken_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["participation", "key"], name="one_submission_per_key")]

    def __str__(self) -> str:
        return f"{self.participation_id} {self.key}"


class Draft(models.Model):
    """Answers on a page that were not accepted yet: not sent, or sent with faults.

    It is deleted when the form is accepted, and is in no export.
    """

    participation = models.ForeignKey(Participation, on_delete=models.CASCADE, related_name="drafts")
    step = models.CharField(max_length=120)
    answers = models.JSONField(default=dict)
    faults = models.JSONField(
        null=True, help_text="Null until a form was refused; then what was wrong beside what the form itself says."
    )
    saved_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["participation", "step"], name="one_draft_per_step")]

    def __str__(self) -> str:
        return f"{self.participation_id} {self.step}"
