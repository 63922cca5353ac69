"""What a page's forms need beside the answers: keys of those that were taken, and answers that are not sent yet."""

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
    """What a person has answered on the page of a step and not sent yet. Gone as soon as the page is sent; in no
    export."""

    participation = models.ForeignKey(Participation, on_delete=models.CASCADE, related_name="drafts")
    step = models.CharField(max_length=120)
    answers = models.JSONField(default=dict)
    saved_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["participation", "step"], name="one_draft_per_step")]

    def __str__(self) -> str:
        return f"{self.participation_id} {self.step}"
