"""Interviews with their notes, files, coded passages and candidate dimensions."""

from django.conf import settings
from django.db import models

from studies.models.participation import Participation
from studies.models.response import Answer
from studies.models.role_play import Flag
from studies.models.study import Study


class Interview(models.Model):
    """An interview with one person. What the person writes themselves are Answers like all others."""

    participation = models.OneToOneField(Participation, on_delete=models.CASCADE, related_name="interview")
    instrument = models.CharField(max_length=100)
    version = models.CharField(max_length=40)
    interviewer = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    started_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.participation} {self.instrument}"


class InterviewNote(models.Model):
    """A note of the interviewer on a question, and on a flagged reply or a rating if it names one."""

    interview = models.ForeignKey(Interview, on_delete=models.CASCADE, related_name="notes")
    question = models.CharField(max_length=100)
    text = models.TextField()
    flag = models.ForeignKey(Flag, null=True, blank=True, on_delete=models.SET_NULL)
    rating = models.ForeignKey(Answer, null=True, blank=True, on_delete=models.SET_NULL)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    noted_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["interview", "question", "pk"]

    def __str__(self) -> str:
        return f"{self.interview_id} {self.question}"


class Attachment(models.Model):
    """A recording or a transcript, kept below var/ and served to researchers only."""

    class Kind(models.TextChoices):
        AUDIO = "audio"
        TRANSCRIPT = "transcript"

    interview = models.ForeignKey(Interview, on_delete=models.CASCADE, related_name="attachments")
    kind = models.CharField(max_length=20, choices=Kind)
    name = models.CharField(max_length=200, help_text="As the file was called where it came from.")
    path = models.CharField(max_length=300, help_text="Below var/.")
    size = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    added_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class Passage(models.Model):
    """A passage with a code and a memo: of an answer, a note or a transcript, quoted as it stood."""

    interview = models.ForeignKey(Interview, on_delete=models.CASCADE, related_name="passages")
    source = models.CharField(max_length=120, help_text="answer:<item>, note:<number> or file:<number>.")
    text = models.TextField()
    code = models.CharField(max_length=100)
    memo = models.TextField(blank=True)
    coder = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    coded_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["interview", "pk"]

    def __str__(self) -> str:
        return f"{self.code} {self.interview_id}"


class CandidateDimension(models.Model):
    """A dimension that a person misses among those they rated; counted over persons by its name."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="candidate_dimensions")
    participation = models.ForeignKey(Participation, on_delete=models.CASCADE, related_name="candidate_dimensions")
    name = models.CharField(max_length=100)
    definition = models.TextField(blank=True)
    example = models.TextField(blank=True)
    named_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [models.UniqueConstraint(fields=["participation", "name"], name="one_candidate_per_person")]

    def __str__(self) -> str:
        return self.name
