"""What a page's forms need beside the answers: keys of those that were taken, and answers that are not taken yet."""

from django.db import models

from studies.models.participation import Participation


class Submission(models.Model):
    """A form that was taken. The page gives each showing of a form a key of its own; one key is taken once."""

    participation = models.ForeignKey(Participation, on_delete=models.CASCADE, related_name="submissions")
    key = models.CharField(max_length=64)
    taken_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["participation", "key"], name="one_submission_per_key")]

    def __str__(self) -> str:
        return f"{self.participation_id} {self.key}"


class Draft(models.Model):
    """What a person has answered on a page and the study has not taken yet: not sent, or sent with something to mend.
    Gone as soon as it is taken; in no export."""

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
