"""Safety records: alarms, acts, adverse events, and arms that a rule has paused."""

import secrets
from base64 import urlsafe_b64encode
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dialogue.models import RiskEvent, Turn
from studies.models.participation import digest
from studies.models.study import Arm, Study

UNNAMED = "on call"  # the contact of a study without a rota
MOST_ROUNDS = 1_000_000


def name_contact(stored: str) -> str:
    """Return the name of a contact or an account for pages."""
    return _("the person on call") if stored == UNNAMED else stored


def new_nonce() -> str:
    return secrets.token_hex(16)


class AlarmQuerySet(models.QuerySet["Alarm"]):
    def unsent(self) -> Self:
        """Return those that no server has taken yet and that no one has acknowledged; drills are none."""
        return self.filter(event__isnull=False, sent_at=None, acknowledged_at=None)


class Alarm(models.Model):
    """A message to one contact on call about one event; without an event it is a drill."""

    class Channel(models.TextChoices):
        EMAIL = "email", gettext_lazy("E-mail")
        WEBHOOK = "webhook", gettext_lazy("Webhook")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="alarms")
    event = models.ForeignKey(RiskEvent, null=True, blank=True, on_delete=models.CASCADE, related_name="alarms")
    round = models.PositiveIntegerField(default=1, help_text="Counts up when the person says that they are not safe.")
    step = models.PositiveIntegerField(default=1, help_text="Which contact in a row this round reached, from 1.")
    lap = models.PositiveIntegerField(default=1, help_text="Counts up when no one in the whole order has acknowledged.")
    contact = models.CharField(max_length=100)
    channel = models.CharField(max_length=10, choices=Channel)
    address = models.CharField(max_length=500)
    form = models.CharField(max_length=10, blank=True, help_text="Of a webhook: 'json', 'slack' or 'ntfy'.")
    secret_env = models.CharField(max_length=100, blank=True, help_text="The variable with the key that signs it.")
    nonce = models.CharField(max_length=32, default=new_nonce, help_text="Its link is made from this and SECRET_KEY.")
    token_hash = models.CharField(max_length=64, unique=True, help_text="Of the link that acknowledges it.")
    created_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(default=timezone.now, help_text="Not before this; a process that sends it moves it.")
    sent_at = models.DateTimeField(null=True, blank=True, help_text="When the server took it.")
    attempts = models.PositiveIntegerField(default=0)
    fault = models.JSONField(default=dict, blank=True, help_text="Why it was not sent, or not signed: code and values.")
    climb_at = models.DateTimeField(
        null=True, blank=True, help_text="The next contact is alarmed then; empty once that is done or not needed."
    )
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    acknowledged_by_name = models.CharField(max_length=150, blank=True, help_text="A contact's or an account's name.")

    objects = AlarmQuerySet.as_manager()

    class Meta:
        ordering = ["created_at", "pk"]
        indexes = [
            models.Index(fields=["due_at"], condition=Q(sent_at=None, acknowledged_at=None), name="alarms_to_send"),
            models.Index(fields=["climb_at"], condition=Q(climb_at__isnull=False), name="alarms_to_climb"),
        ]

    def __str__(self) -> str:
        return f"{self.study} {self.contact} {self.created_at:%Y-%m-%d %H:%M}"

    def contact_name(self) -> str:
        return name_contact(self.contact)

    def acknowledged_name(self) -> str:
        return name_contact(self.acknowledged_by_name)

    def get_token(self) -> str:
        """Return the token of its link: 256 bits, of which the database holds a hash alone."""
        signed = salted_hmac("studies.alarm", self.nonce, algorithm="sha256").digest()
        return urlsafe_b64encode(signed).rstrip(b"=").decode()

    def get_token_hash(self) -> str:
        return digest(self.get_token())


class SafetyAct(models.Model):
    """A step in the handling of an event: what was done, by whom and when. Rows are added, never changed."""

    class Kind(models.TextChoices):
        ALARMED = "alarmed", gettext_lazy("Alarm sent")
        FAILED = "failed", gettext_lazy("Alarm not sent")
        ACKNOWLEDGED = "acknowledged", gettext_lazy("Alarm acknowledged")
        OVERDUE = "overdue", gettext_lazy("No one acknowledged in time")
        ANSWERED = "answered", gettext_lazy("Answer of the person")
        WHERE = "where", gettext_lazy("Where the person is")
        WROTE = "wrote", gettext_lazy("Message to the person")
        RELEASED = "released", gettext_lazy("Released")
        ENDED = "ended", gettext_lazy("Study ended for the person")
        NOTED = "noted", gettext_lazy("Note")
        REVIEWED = "reviewed", gettext_lazy("Independent review")
        REPORTED = "reported", gettext_lazy("Entered as an adverse event")
        ERASED = "erased", gettext_lazy("The person's data erased by the team")

    event = models.ForeignKey(RiskEvent, on_delete=models.CASCADE, related_name="acts")
    kind = models.CharField(max_length=15, choices=Kind)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    by_name = models.CharField(max_length=150, blank=True, help_text="A contact's name, or 'person'.")
    text = models.TextField(blank=True)
    fault = models.JSONField(default=dict, blank=True, help_text="Why an alarm was not sent: code and values.")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["at", "pk"]

    def __str__(self) -> str:
        return f"{self.event_id} {self.kind} {self.at:%Y-%m-%d %H:%M}"


class AdverseEvent(models.Model):
    """An event that happened to a person and may be related to the study, for the ethics board."""

    class Severity(models.TextChoices):
        MILD = "mild", gettext_lazy("Mild")
        MODERATE = "moderate", gettext_lazy("Moderate")
        SEVERE = "severe", gettext_lazy("Severe")
        LIFE_THREATENING = "life_threatening", gettext_lazy("Life-threatening")
        DEATH = "death", gettext_lazy("Death")

    class Relatedness(models.TextChoices):
        UNRELATED = "unrelated", gettext_lazy("Unrelated to the study")
        UNLIKELY = "unlikely", gettext_lazy("Unlikely related")
        POSSIBLE = "possible", gettext_lazy("Possibly related")
        PROBABLE = "probable", gettext_lazy("Probably related")
        DEFINITE = "definite", gettext_lazy("Definitely related")

    class Outcome(models.TextChoices):
        UNKNOWN = "unknown", gettext_lazy("Unknown")
        ONGOING = "ongoing", gettext_lazy("Ongoing")
        RECOVERED = "recovered", gettext_lazy("Recovered")
        RECOVERED_WITH_EFFECTS = "recovered_with_effects", gettext_lazy("Recovered with lasting effects")
        DIED = "died", gettext_lazy("Died")

    class Origin(models.TextChoices):
        SIGN = "sign", gettext_lazy("A sign of danger")
        REPORT = "report", gettext_lazy("A report of the person")
        HAND = "hand", gettext_lazy("Entered by hand")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="adverse_events")
    event = models.ForeignKey(
        RiskEvent, null=True, blank=True, on_delete=models.SET_NULL, related_name="adverse_events"
    )
    subject = models.CharField(max_length=64, blank=True, help_text="The person's code.")
    record_code = models.CharField(max_length=10, blank=True, help_text="The person's; it stays when they are erased.")
    origin = models.CharField(max_length=10, choices=Origin)
    occurred_at = models.DateTimeField()
    description = models.TextField()
    severity = models.CharField(max_length=20, choices=Severity)
    serious = models.BooleanField(default=False, help_text="Death, danger to life, hospital, lasting harm.")
    expected = models.BooleanField(default=False, help_text="Named in the protocol or the consent form.")
    relatedness = models.CharField(max_length=10, choices=Relatedness)
    action = models.TextField(blank=True)
    outcome = models.CharField(max_length=25, choices=Outcome, default=Outcome.UNKNOWN)
    report_due_at = models.DateTimeField(null=True, blank=True)
    reported_to = models.CharField(max_length=200, blank=True)
    reported_at = models.DateTimeField(null=True, blank=True)
    changes = models.JSONField(default=list, blank=True, help_text="Who changed which fields, and when.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-occurred_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.study} {self.subject} {self.severity}"


class StoppedArm(models.Model):
    """An arm that was paused because a stopping rule of the study was met."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="stopped_arms")
    arm = models.ForeignKey(Arm, on_delete=models.CASCADE, related_name="stops")
    rule = models.JSONField(help_text="The rule as it stood in the study file.")
    count = models.PositiveIntegerField()
    of = models.PositiveIntegerField(help_text="Conversations with the arm.")
    at = models.DateTimeField(default=timezone.now)
    officer_told_at = models.DateTimeField(null=True, blank=True)
    officer_due_at = models.DateTimeField(default=timezone.now, help_text="The mail to the officer is tried from here.")

    class Meta:
        ordering = ["-at"]

    def __str__(self) -> str:
        return f"{self.study} {self.arm_id} {self.at:%Y-%m-%d %H:%M}"


class ScreenReview(models.Model):
    """A second person says whether one message showed grave danger; with it the screen is measured in real use."""

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="screen_reviews")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    grave = models.BooleanField(help_text="A reader would call it level 3 or 4.")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["turn"], name="one_review_per_message")]

    def __str__(self) -> str:
        return f"{self.turn_id} {'grave' if self.grave else 'not grave'}"
