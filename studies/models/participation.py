import hashlib
import secrets
from typing import Self

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from dialogue.models import Conversation
from studies.design.plan import Step
from studies.design.spec import StudySpec
from studies.models.study import Protocol, Study

ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"


def new_code() -> str:
    return "P" + "".join(secrets.choice(ALPHABET) for _ in range(7))


def digest(token: str) -> str:
    """Only this is stored: who reads the database cannot open anybody's link."""
    return hashlib.sha256(token.encode()).hexdigest()


class Status(models.TextChoices):
    INVITED = "invited"
    APPLIED = "applied"  # has begun: language, screening
    IN_REVIEW = "in_review"  # waits for a researcher
    ACTIVE = "active"
    HELD = "held"
    COMPLETED = "completed"
    SCREENED_OUT = "screened_out"
    STOPPED = "stopped"
    WITHDRAWN = "withdrawn"
    TIMED_OUT = "timed_out"


OVER = (Status.COMPLETED, Status.SCREENED_OUT, Status.STOPPED, Status.WITHDRAWN, Status.TIMED_OUT)
AWAITED = (Status.APPLIED, Status.ACTIVE)  # the next thing to happen is theirs
UNDER_WAY = tuple(status for status in Status if status not in (*OVER, Status.INVITED))


# Whom a study is about. Reviewers rate what others said.
TRACKS_OF_PEOPLE = ("participant", "counsellor")


class ParticipationQuerySet(models.QuerySet["Participation"]):
    def real(self) -> Self:
        """No test data; reviewers too."""
        return self.filter(is_test=False)

    def people(self) -> Self:
        """Participants and counsellors; neither reviewers nor test data (bots, researchers' tries)."""
        return self.real().filter(track__in=TRACKS_OF_PEOPLE)

    def test_data(self) -> Self:
        """Bots and researchers' tries, of every track."""
        return self.filter(is_test=True)

    def under_way(self) -> Self:
        """Begun, and not over."""
        return self.filter(status__in=UNDER_WAY)


class Participation(models.Model):
    """A person in a study: who they are to us (a code), the plan frozen for them, and where in it they stand."""

    class Track(models.TextChoices):
        PARTICIPANT = "participant", gettext_lazy("Participant")
        COUNSELLOR = "counsellor", gettext_lazy("Counsellor")
        REVIEWER = "reviewer", gettext_lazy("Reviewer")

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="participations")
    protocol = models.ForeignKey(
        Protocol, on_delete=models.PROTECT, null=True, blank=True, related_name="participations"
    )
    code = models.CharField(max_length=16, unique=True, default=new_code)
    token_hash = models.CharField(max_length=64, unique=True)
    track = models.CharField(max_length=20, choices=Track, default=Track.PARTICIPANT)
    language = models.CharField(max_length=10, blank=True)
    country = models.CharField(max_length=2, blank=True)
    status = models.CharField(max_length=20, choices=Status, default=Status.INVITED)
    plan = models.JSONField(default=list)
    position = models.PositiveIntegerField(default=0)
    order = models.JSONField(default=list, help_text="Arm keys in this person's order; hidden from people and raters.")
    cards = models.JSONField(default=list, blank=True, help_text="Role card keys, one for each arm of the order.")
    order_index = models.PositiveIntegerField(null=True, blank=True)
    is_test = models.BooleanField(default=False)
    excluded = models.BooleanField(default=False)
    exclusion_reason = models.CharField(max_length=200, blank=True)
    outcome = models.JSONField(default=dict, blank=True, help_text="Of the screening: kind, reasons, flags.")
    quiz_attempts = models.PositiveIntegerField(default=0)
    completion_code = models.CharField(max_length=20, blank=True)
    percent_shown = models.PositiveSmallIntegerField(
        default=0, help_text="How far the person was told they are, of the minutes of their way; it never falls."
    )
    active_seconds = models.PositiveIntegerField(default=0)
    last_seen_at = models.DateTimeField(null=True, blank=True)
    awaited_since = models.DateTimeField(
        null=True, blank=True, help_text="UTC. When a researcher let them go on who had waited for one, or timed out."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = ParticipationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["protocol", "track", "is_test", "order_index"],
                condition=Q(order_index__isnull=False),
                name="one_person_per_order_slot",
            )
        ]

    def __str__(self) -> str:
        return self.code

    def steps(self) -> list[Step]:
        return [Step.from_json(step) for step in self.plan]

    def design(self) -> StudySpec:
        """Of the version that is theirs; before their first visit, of the one that would be."""
        return (self.protocol or self.study.current()).spec()

    def status_under_way(self) -> Status:
        """Of somebody who neither waits for a researcher nor is over. Reviewers are not asked for consent."""
        signed = self.track == self.Track.REVIEWER or self.consents.exists()
        return Status.ACTIVE if signed else Status.APPLIED

    def has_begun(self) -> bool:
        return self.status != Status.INVITED

    def is_over(self) -> bool:
        return self.status in OVER


class Consent(models.Model):
    """What exactly was agreed to, by the text's version and hash, its boxes, and when."""

    participation = models.ForeignKey(Participation, on_delete=models.CASCADE, related_name="consents")
    instrument = models.CharField(max_length=100)
    version = models.CharField(max_length=40)
    text_hash = models.CharField(max_length=64)
    language = models.CharField(max_length=10)
    boxes = models.JSONField()
    providers = models.JSONField(default=list, help_text="Who may be sent the person's text.")
    signed_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.participation} {self.version}"


class ArmRunQuerySet(models.QuerySet["ArmRun"]):
    def real(self) -> Self:
        """No test data; simulated and imported conversations too."""
        return self.filter(is_test=False)

    def people(self) -> Self:
        """Those that participants and counsellors held, as `ParticipationQuerySet.people` has them; neither simulated
        nor imported ones, nor test data."""
        return self.real().filter(participation__track__in=TRACKS_OF_PEOPLE)

    def test_data(self) -> Self:
        return self.filter(is_test=True)


class ArmRun(models.Model):
    """A conversation in a study: whose, with which arm, at which position. The one link from here to dialogue."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="runs")
    protocol = models.ForeignKey(Protocol, on_delete=models.PROTECT, related_name="runs")
    participation = models.ForeignKey(
        Participation, on_delete=models.PROTECT, null=True, blank=True, related_name="runs"
    )
    conversation = models.OneToOneField(
        Conversation, on_delete=models.PROTECT, null=True, blank=True, related_name="run"
    )
    position = models.PositiveIntegerField(default=0)
    arm = models.CharField(max_length=100, blank=True, help_text="The arm's key.")
    model = models.CharField(max_length=200, blank=True)
    condition = models.CharField(max_length=20, blank=True)
    profile = models.CharField(max_length=100, blank=True)
    card = models.CharField(max_length=100, blank=True)
    topic = models.CharField(max_length=300, blank=True)
    setup = models.CharField(
        max_length=300, blank=True, help_text="How a simulated seeker was changed for an ablation; empty for the whole."
    )
    replicate = models.PositiveIntegerField(default=1, help_text="Which of several simulations of the same.")
    external_id = models.CharField(max_length=200, blank=True, help_text="As the imported file called it.")
    external_participant = models.CharField(max_length=200, blank=True)
    valid = models.BooleanField(default=True)
    is_test = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ArmRunQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["participation", "position"],
                condition=Q(participation__isnull=False),
                name="one_run_per_position",
            ),
            models.UniqueConstraint(
                fields=["study", "external_id"], condition=~Q(external_id=""), name="one_run_per_external_id"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study} {self.arm} {self.pk}"
