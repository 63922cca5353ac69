"""The audit log: who looked at, exported, changed or erased what. Rows are added, never changed."""

import hashlib
import json
from datetime import UTC
from typing import Any, NoReturn

from django.db import models
from django.utils.translation import gettext_lazy


class AppendOnly(Exception):
    """An entry of the audit log was to be changed or deleted."""


class AuditChain(models.Model):
    """The end of the log of one study. Whoever adds an entry locks this row, so that no two entries follow the same."""

    study_key = models.CharField(max_length=60, unique=True, blank=True, help_text="Empty: of the installation.")
    length = models.PositiveIntegerField(default=0)
    last_hash = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"{self.study_key} {self.length}"


class AuditQuerySet(models.QuerySet["AuditEntry"]):
    def update(self, **_values: Any) -> NoReturn:
        raise AppendOnly

    def delete(self) -> NoReturn:
        raise AppendOnly


class AuditEntry(models.Model):
    """One act, chained to the entry before it. It names a study by its key, so that it outlives the study, and people
    by their record codes; it holds no words of anyone and no arm. The database refuses to change or delete a row."""

    class Act(models.TextChoices):
        SAW = "saw", gettext_lazy("Looked at")
        EXPORTED = "exported", gettext_lazy("Exported")
        CHANGED = "changed", gettext_lazy("Changed")
        STARTED = "started", gettext_lazy("Started work")
        UNBLINDED = "unblinded", gettext_lazy("Unblinded")
        ERASED = "erased", gettext_lazy("Erased")
        SIGNED_IN = "signed_in", gettext_lazy("Signed in")
        REFUSED = "refused", gettext_lazy("Was refused")

    class Thing(models.TextChoices):
        ACCESS = "access", gettext_lazy("Access of colleagues")
        ACCOUNT = "account", gettext_lazy("Account")
        ADMIN_SITE = "admin_site", gettext_lazy("Rows of the admin site")
        ADVERSE_EVENT = "adverse_event", gettext_lazy("Adverse event")
        APPLICANT = "applicant", gettext_lazy("Applicant")
        ARM = "arm", gettext_lazy("Arm")
        CALL = "call", gettext_lazy("Raw calls of models")
        CARD = "card", gettext_lazy("Role card")
        CONVERSATION = "conversation", gettext_lazy("Conversation")
        DATA = "data", gettext_lazy("Data")
        DESIGN = "design", gettext_lazy("Design")
        DRILL = "drill", gettext_lazy("Test alarm")
        HELP_LINES = "help_lines", gettext_lazy("Help lines")
        INTERVIEW = "interview", gettext_lazy("Interview")
        JUDGING = "judging", gettext_lazy("Judges")
        LOG = "log", gettext_lazy("Audit log")
        MODELS = "models", gettext_lazy("Check of models")
        PAYMENT = "payment", gettext_lazy("Payments")
        PEOPLE = "people", gettext_lazy("People")
        PERSON = "person", gettext_lazy("Person")
        PROFILE = "profile", gettext_lazy("Profiles")
        QUALITY = "quality", gettext_lazy("Decision about quality")
        QUESTION = "question", gettext_lazy("Question to the team")
        QUESTIONNAIRE = "questionnaire", gettext_lazy("Questionnaire")
        RATING_PLAN = "rating_plan", gettext_lazy("Plan of ratings")
        RESULTS = "results", gettext_lazy("Results")
        SAFETY_EVENT = "safety_event", gettext_lazy("Safety event")
        SIMULATION = "simulation", gettext_lazy("Simulation")
        STAGE = "stage", gettext_lazy("Stage of the study")
        TEST_DATA = "test_data", gettext_lazy("Test data")
        TOKEN = "token", gettext_lazy("Token of the API")
        WEBHOOK = "webhook", gettext_lazy("Webhook")
        WORK = "work", gettext_lazy("Work in the background")

    study_key = models.CharField(max_length=60, blank=True, help_text="Empty: of the installation.")
    number = models.PositiveIntegerField(help_text="1 is the first of its study.")
    at = models.DateTimeField()
    account = models.BigIntegerField(null=True, help_text="The number of the account, where one acted.")
    by_name = models.CharField(max_length=150, blank=True, help_text="Kept when the account is deleted.")
    act = models.CharField(max_length=20, choices=Act)
    thing = models.CharField(max_length=20, choices=Thing)
    code = models.CharField(max_length=100, blank=True, help_text="Which one: a record code, or the number of a row.")
    source = models.CharField(max_length=100, blank=True, help_text="The name of the route, or the command.")
    request = models.CharField(max_length=32, blank=True, help_text="The same in all entries of one request.")
    before = models.CharField(max_length=64, blank=True, help_text="The hash of the entry before.")
    hash = models.CharField(max_length=64)

    objects = AuditQuerySet.as_manager()

    class Meta:
        ordering = ["study_key", "number"]
        constraints = [models.UniqueConstraint(fields=["study_key", "number"], name="one_audit_entry_per_number")]

    def __str__(self) -> str:
        return f"{self.study_key} {self.number} {self.act} {self.thing}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise AppendOnly
        super().save(*args, **kwargs)

    def delete(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise AppendOnly

    def compute_hash(self) -> str:
        """Return the SHA-256 of the entry with the hash of the one before it, as 64 hexadecimal digits."""
        at = self.at.astimezone(UTC).isoformat(timespec="microseconds")
        who = (self.account, self.by_name, self.source, self.request)
        what = (self.act, self.thing, self.code)
        text = json.dumps([self.before, self.study_key, self.number, at, *who, *what], ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()
