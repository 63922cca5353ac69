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


def new_record_code() -> str:
    return "R" + "".join(secrets.choice(ALPHABET) for _ in range(9))


def digest(token: str) -> str:
    """Return the hash of a token. Only the hash is stored, so no one who reads the database can open a link."""
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
    ENDED = "ended"  # by the team


OVER = (Status.COMPLETED, Status.SCREENED_OUT, Status.STOPPED, Status.WITHDRAWN, Status.TIMED_OUT, Status.ENDED)
AWAITED = (Status.APPLIED, Status.ACTIVE)  # we wait for the person's next action
UNDER_WAY = tuple(status for status in Status if status not in (*OVER, Status.INVITED))


# The tracks of people whom a study is about. Reviewers rate others' conversations.
TRACKS_OF_PEOPLE = ("participant", "counsellor")


class ParticipationQuerySet(models.QuerySet["Participation"]):
    def real(self) -> Self:
        """Return everything but test data, also reviewers."""
        return self.filter(is_test=False)

    def people(self) -> Self:
        """Return participants and counsellors, without reviewers and test data (bots, researchers' tries)."""
        return self.real().filter(track__in=TRACKS_OF_PEOPLE)

    def test_data(self) -> Self:
        """Return bots and researchers' tries, of every track."""
        return self.filter(is_test=True)

    def under_way(self) -> Self:
        """Return people who have begun and are not over."""
        return self.filter(status__in=UNDER_WAY)


class Participation(models.Model):
    """A person in a study: their code, the plan frozen for them, and their position in it."""

    class Track(models.TextChoices):
        PARTICIPANT = "participant", gettext_lazy("Participant")
        COUNSELLOR = "counsellor", gettext_lazy("Counsellor")
        REVIEWER = "reviewer", gettext_lazy("Reviewer")

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="participations")
    protocol = models.ForeignKey(
        Protocol, on_delete=models.PROTECT, null=True, blank=True, related_name="participations"
    )
    code = models.CharField(max_length=16, unique=True, default=new_code)
    record_code = models.CharField(
        max_length=10,
        unique=True,
        null=True,
        default=new_record_code,
        help_text="Stands for the person in what is kept: audit log, ledger, adverse events. Erasing empties it.",
    )
    token_hash = models.CharField(max_length=64, unique=True)
    browser_hash = models.CharField(
        max_length=64, blank=True, help_text="Of the browser in which the link was started, where it works in no other."
    )
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
    paused_at = models.DateTimeField(null=True, blank=True, help_text="UTC. When the team paused this person.")
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
        """Return the design of the person's version; before their first visit, of the current one."""
        return (self.protocol or self.study.current()).spec()

    def status_under_way(self) -> Status:
        """Return the status of a person who neither waits for a researcher nor is over. Reviewers need no consent."""
        signed = self.track == self.Track.REVIEWER or self.consents.exists()
        return Status.ACTIVE if signed else Status.APPLIED

    def has_started(self) -> bool:
        return self.status != Status.INVITED

    def is_paused(self) -> bool:
        """Return whether the team has paused this person, so that they cannot continue."""
        return self.paused_at is not None and self.status in AWAITED

    def is_over(self) -> bool:
        return self.status in OVER

    def is_erased(self) -> bool:
        """Return whether their data were deleted after they had agreed to take part."""
        return self.status == Status.WITHDRAWN and not self.plan


class Consent(models.Model):
    """A signed consent: the text's version and hash, the boxes, and the time."""

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
        """Return everything but test data, also simulated and imported conversations."""
        return self.filter(is_test=False)

    def people(self) -> Self:
        """Return conversations of participants and counsellors, without simulated, imported and test ones."""
        return self.real().filter(participation__track__in=TRACKS_OF_PEOPLE)

    def test_data(self) -> Self:
        return self.filter(is_test=True)


class ArmRun(models.Model):
    """A conversation in a study: its person, arm and position. It is the only link to dialogue."""

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
