"""Two conversations, or two replies, side by side."""

import secrets

from django.db import models

from studies.models.participation import ALPHABET, ArmRun
from studies.models.response import Rater, RaterKind
from studies.models.study import Study


def new_code() -> str:
    return "D" + "".join(secrets.choice(ALPHABET) for _ in range(7))


def order_of(kind: str, first: str) -> str:
    """Return the strategy under which a rater compares.

    A judge sees every pair in both orders, and is a rater of its own in each: `a_first`, `b_first`.
    """
    return f"{first}_first" if kind == RaterKind.JUDGE and first else ""


class PairPlan(models.Model):
    """A set of pairs, drawn once, each for a number of raters and the same questions."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="pair_plans")
    name = models.CharField(max_length=100)
    instrument = models.CharField(max_length=100, help_text="Where the questions are.")
    source = models.JSONField(help_text="How the pairs were drawn.")
    verdicts_each = models.PositiveIntegerField(default=1)
    seed = models.BigIntegerField(default=1)
    is_open = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["study", "name"], name="one_pair_plan_per_name")]

    def __str__(self) -> str:
        return self.name


class Pair(models.Model):
    """Two sides, A and B, both a whole conversation or both the reply of one turn."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="pairs")
    plan = models.ForeignKey(PairPlan, on_delete=models.CASCADE, null=True, blank=True, related_name="pairs")
    code = models.CharField(max_length=200, default=new_code, help_text="Ours, or as the imported file called it.")
    run_a = models.ForeignKey(ArmRun, on_delete=models.CASCADE, related_name="pairs_as_a")
    run_b = models.ForeignKey(ArmRun, on_delete=models.CASCADE, related_name="pairs_as_b")
    turn_a = models.PositiveIntegerField(null=True, blank=True, help_text="Empty for the whole conversation.")
    turn_b = models.PositiveIntegerField(null=True, blank=True)
    position = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["plan", "position", "pk"]
        constraints = [models.UniqueConstraint(fields=["study", "code"], name="one_pair_per_code")]

    def __str__(self) -> str:
        return self.code

    def side(self, side: str) -> tuple[ArmRun, int | None]:
        """Return the run on this side (a, b) and the turn of its reply; None for the whole conversation."""
        return (self.run_a, self.turn_a) if side == Comparison.Side.A else (self.run_b, self.turn_b)


class Comparison(models.Model):
    """One rater's work on one pair: which side stood left (first), and when it was done."""

    class Side(models.TextChoices):
        A = "a"
        B = "b"

    pair = models.ForeignKey(Pair, on_delete=models.CASCADE, related_name="comparisons")
    rater = models.ForeignKey(Rater, on_delete=models.CASCADE, related_name="comparisons")
    shown_first = models.CharField(max_length=1, choices=Side, blank=True, help_text="Empty where an import is silent.")
    role = models.CharField(max_length=20, blank=True, help_text="As whom a judge rates, as in exported files.")
    prompt = models.CharField(
        max_length=200, blank=True, help_text="The standing text by which a model was asked, and its hash."
    )
    given_at = models.DateTimeField(auto_now_add=True)
    done_at = models.DateTimeField(null=True, blank=True)
    declined_at = models.DateTimeField(null=True, blank=True, help_text="When the reviewer gave it back unjudged.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["pair", "rater"], name="one_comparison_per_rater")]

    def __str__(self) -> str:
        return f"{self.pair_id} {self.rater_id}"

    def second_side(self) -> str:
        return self.Side.B if self.shown_first == self.Side.A else self.Side.A

    def verdict_on(self, place: str) -> str:
        """Return the verdict on the pair for `first`, `tie` or `second` on the page."""
        return {"first": self.shown_first, "second": self.second_side()}.get(place, Verdict.Choice.TIE)


class Verdict(models.Model):
    """The answer to one question: A, B or neither, whichever side they stood on."""

    class Choice(models.TextChoices):
        A = "a"
        B = "b"
        TIE = "tie"

    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="verdicts")
    question = models.CharField(max_length=100)
    verdict = models.CharField(max_length=3, choices=Choice)
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["comparison", "question"], name="one_verdict_per_question")]

    def __str__(self) -> str:
        return f"{self.comparison_id} {self.question} {self.verdict}"
