from django.db import models
from django.db.models import Q

from studies.models.participation import ArmRun, Participation
from studies.models.study import Study


class RaterKind(models.TextChoices):
    SEEKER = "seeker"
    EXPERT = "expert"
    REVIEWER = "reviewer"
    CROWD = "crowd"
    JUDGE = "judge"
    SIMULATED_SEEKER = "simulated_seeker"


class Rater(models.Model):
    """A source of answers: a person in a role, or a judge with its strategy. Both fill the same questionnaires."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="raters")
    kind = models.CharField(max_length=20, choices=RaterKind)
    code = models.CharField(max_length=100)
    strategy = models.CharField(max_length=40, blank=True)
    participation = models.ForeignKey(
        Participation, on_delete=models.CASCADE, null=True, blank=True, related_name="raters"
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "kind", "code", "strategy"], name="one_rater")]

    def __str__(self) -> str:
        return f"{self.kind} {self.code} {self.strategy}".strip()


class Response(models.Model):
    """The answers of one rater to one questionnaire at one moment, about a conversation or about themselves."""

    rater = models.ForeignKey(Rater, on_delete=models.CASCADE, related_name="responses")
    run = models.ForeignKey(ArmRun, on_delete=models.CASCADE, null=True, blank=True, related_name="responses")
    instrument = models.CharField(max_length=100)
    version = models.CharField(max_length=40, blank=True)
    moment = models.CharField(max_length=20, blank=True, help_text="turn, checkpoint, final; pre, post; or empty")
    turn = models.PositiveIntegerField(default=0)
    replicate = models.PositiveIntegerField(default=1)
    language = models.CharField(max_length=10, blank=True)
    is_rating = models.BooleanField(default=False)
    first_turn = models.PositiveIntegerField(null=True, blank=True, help_text="A rating is about the turns from here")
    last_turn = models.PositiveIntegerField(
        null=True, blank=True, help_text="to here: the last turn whose reply had been on the rater's screen."
    )
    role = models.CharField(max_length=20, blank=True, help_text="As whom a judge rated, as in exported files.")
    prompt = models.CharField(
        max_length=200, blank=True, help_text="The standing text by which a model was asked, and its hash."
    )
    started_at = models.DateTimeField(null=True, blank=True)
    submitted_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["rater", "run", "instrument", "moment", "turn", "replicate"],
                condition=Q(run__isnull=False),
                name="one_response_per_run_and_moment",
            ),
            models.UniqueConstraint(
                fields=["rater", "instrument", "moment", "turn", "replicate"],
                condition=Q(run__isnull=True),
                name="one_response_per_moment",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id} {self.instrument} {self.moment}"


class Answer(models.Model):
    """The answer to one item. A missing answer has a reason and no value: missing is never a score."""

    response = models.ForeignKey(Response, on_delete=models.CASCADE, related_name="answers")
    item = models.CharField(max_length=100)
    value = models.FloatField(null=True, blank=True)
    text = models.TextField(blank=True)
    missing_reason = models.CharField(max_length=40, blank=True)
    seconds = models.FloatField(null=True, blank=True)
    reason = models.TextField(blank=True, help_text="Why this score, in the rater's words.")
    position = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="In which place of its page the item stood, from 1."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["response", "item"], name="one_answer_per_item")]

    def __str__(self) -> str:
        return f"{self.response_id} {self.item}"
