import secrets
from datetime import datetime
from typing import Any, Self

from django.db import models
from django.db.models import Q

from dialogue.models.supporter import Supporter

ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # nothing that looks like something else


def new_code() -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(16))


class Status(models.TextChoices):
    OPEN = "open"
    PAUSED = "paused"  # a rating is due
    HELD = "held"  # waits for safety's sake
    CLOSED = "closed"


class EndReason(models.TextChoices):
    FINISHED = "finished"
    EARLY = "early"
    WALKED_OUT = "walked_out"
    SATISFIED = "satisfied"
    CAP = "cap"
    SAFETY = "safety"
    TECHNICAL = "technical"
    WITHDRAWN = "withdrawn"


class SeekerKind(models.TextChoices):
    PERSON = "person"
    COUNSELLOR = "counsellor"
    SIMULATED = "simulated"
    IMPORTED = "imported"


class ConversationQuerySet(models.QuerySet["Conversation"]):
    def closed(self) -> Self:
        return self.filter(status=Status.CLOSED)


class Conversation(models.Model):
    """One seeker with one supporter. It pauses, waits and closes by itself; why is the business of who opened it."""

    code = models.CharField(max_length=32, unique=True, default=new_code)
    supporter = models.ForeignKey(Supporter, on_delete=models.PROTECT, null=True, blank=True)
    seeker_kind = models.CharField(max_length=20, choices=SeekerKind, default=SeekerKind.PERSON)
    role_play = models.BooleanField(default=False)
    unpaced = models.BooleanField(default=False, help_text="Test data: every reply is shown as fast as it comes.")
    first_piece_ms = models.PositiveIntegerField(
        null=True, blank=True, help_text="No reply begins sooner after the message; empty for no floor."
    )
    characters_per_second = models.FloatField(
        null=True, blank=True, help_text="No reply is shown faster than this; empty for no limit."
    )
    mask_names = models.BooleanField(default=False, help_text="A model that names itself is shown without the name.")
    redacts = models.BooleanField(
        default=False, help_text="Names, addresses and numbers of the person are masked before a model is sent them."
    )
    timings = models.BooleanField(default=False, help_text="How the person types and reads is kept, as consented to.")
    names = models.JSONField(default=list, blank=True, help_text="The study's own names of models and makers.")
    second_line = models.JSONField(
        default=dict, blank=True, help_text="The settings of the second line of the risk screen; empty for none."
    )
    language = models.CharField(max_length=10, default="en", help_text="The one that it was held in last.")
    earlier_languages = models.JSONField(
        default=list, blank=True, help_text="Those in which something was said before the person switched, in order."
    )
    switched_after = models.JSONField(default=list, blank=True, help_text="The last turn in each of these languages.")
    profile = models.TextField(blank=True, help_text="What the supporter is told of the seeker; empty for nothing.")
    opening = models.TextField(
        blank=True, help_text="What the supporter said first, before any turn; empty where the seeker speaks first."
    )
    opening_request = models.TextField(
        blank=True, help_text="What the supporter is sent before its opening, as if the seeker had said it."
    )
    min_turns = models.PositiveIntegerField(default=1)
    max_turns = models.PositiveIntegerField(default=30)
    pause_after = models.JSONField(default=list, help_text="Turn counts after which a rating is due.")
    status = models.CharField(max_length=10, choices=Status, default=Status.OPEN)
    suspended = models.BooleanField(default=False, help_text="The team lets it rest: no message is taken.")
    end_reason = models.CharField(max_length=20, choices=EndReason, blank=True)
    next_seq = models.PositiveBigIntegerField(default=1, help_text="Below it every frame number may have been used.")
    state_seq = models.PositiveBigIntegerField(default=0, help_text="The number of the frame that tells the status.")
    access_number = models.PositiveIntegerField(
        default=0, help_text="Raised to shut out the browsers that were let in by a lower one."
    )
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = ConversationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(status=Status.CLOSED) | Q(end_reason=""), name="conversation_reason_only_when_closed"
            )
        ]

    def __str__(self) -> str:
        return self.code

    def reserve(self, count: int, **also: Any) -> int:
        """Take `count` frame numbers for good, and set other fields in the same write; returns the first number. Call
        it with the row locked."""
        first = self.next_seq
        self.next_seq = first + count
        Conversation.objects.filter(pk=self.pk).update(next_seq=self.next_seq, **also)
        return first

    def is_opening_due(self) -> bool:
        """Return whether the supporter speaks first and has not spoken yet."""
        return bool(self.opening_request) and not self.opening

    def language_of(self, turn: int) -> str:
        """Return the language that a turn was asked for in, by its number; of the opening with 0."""
        earlier = zip(self.earlier_languages, self.switched_after, strict=True)
        return next((language for language, last in earlier if turn <= last), self.language)

    def last_turn(self) -> "Turn | None":
        return self.turns.order_by("-number").first()

    def answered_turns(self) -> int:
        """Return the number of messages with a complete reply (PROTOCOL §4.2): a failed reply does not count."""
        return self.turns.filter(state=TurnState.ANSWERED).count()


class TurnState(models.TextChoices):
    WAITING = "waiting"  # its reply is due or under way
    ANSWERED = "answered"
    FAILED = "failed"  # no reply could be had; it may be asked for again
    HELD = "held"  # no model was asked: for safety's sake, or because these were the last words


class Turn(models.Model):
    """A seeker's message and the reply to it. `owner` and `lease_until` say which process is fetching the reply."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="turns")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=TurnState, default=TurnState.WAITING)
    client_id = models.CharField(
        max_length=64, help_text="The browser's own id of the message: a resend is no new turn."
    )
    text = models.TextField(blank=True)
    seq = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField(null=True, blank=True)
    emotion = models.CharField(max_length=200, blank=True, help_text="As imported; empty for live conversations.")
    reply = models.TextField(blank=True)
    reply_seq = models.PositiveBigIntegerField(default=0)
    reply_original = models.TextField(blank=True, help_text="What the model said, where something else was shown.")
    masked = models.BooleanField(default=False)
    replied_at = models.DateTimeField(null=True, blank=True)
    first_token_ms = models.PositiveIntegerField(null=True, blank=True)
    total_ms = models.PositiveIntegerField(null=True, blank=True)
    input_tokens = models.PositiveIntegerField(null=True, blank=True)
    output_tokens = models.PositiveIntegerField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    error = models.CharField(max_length=40, blank=True, help_text="The status of the last failed attempt.")
    seen = models.BooleanField(default=False, help_text="The reply was on the person's screen.")
    names_itself = models.BooleanField(default=False, help_text="The model named itself or its maker in the reply.")
    reading_ms = models.PositiveIntegerField(
        null=True, blank=True, help_text="From the end of the reply before to the first key of this message."
    )
    typing_ms = models.PositiveIntegerField(null=True, blank=True, help_text="From the first key to sending.")
    focus_losses = models.PositiveIntegerField(
        null=True, blank=True, help_text="How often the page was left for another while this turn was the person's."
    )
    pasted = models.BooleanField(null=True, blank=True, help_text="Text was pasted into this message.")
    risk_level = models.PositiveSmallIntegerField(default=0)
    help_seq = models.PositiveBigIntegerField(
        default=0, help_text="The number of the help that the second line asked for; 0: help follows the message."
    )
    first_level = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="What the first line found, where a second line answered."
    )
    screen = models.CharField(max_length=20, blank=True, help_text="The version of the first line, likewise.")
    second_level = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="What the second line found; empty where there is none, or no answer."
    )
    second_screen = models.CharField(
        max_length=200, blank=True, help_text="The second line: kind, model and the version of its prompt or rules."
    )
    owner = models.CharField(max_length=64, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["conversation", "number"]
        constraints = [
            models.UniqueConstraint(fields=["conversation", "number"], name="one_turn_per_number"),
            models.UniqueConstraint(fields=["conversation", "client_id"], name="one_turn_per_client_id"),
        ]

    def __str__(self) -> str:
        return f"{self.conversation_id}/{self.number}"

    def language(self) -> str:
        return self.conversation.language_of(self.number)

    def claim(self, owner: str, until: datetime) -> None:
        self.owner, self.lease_until = owner, until
        self.attempts += 1

    def claimable(self, *, now: datetime, alive: bool) -> bool:
        """Return whether another runner may fetch this reply. `alive`: whether its present owner can still be at
        work."""
        if self.state != TurnState.WAITING:
            return False
        return not self.owner or not alive or self.lease_until is None or self.lease_until < now
