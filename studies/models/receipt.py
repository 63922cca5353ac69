"""Receipts: a person left, and their data were kept or deleted."""

import secrets

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy

from studies.models.participation import ALPHABET, Participation


def new_receipt_code() -> str:
    return "R" + "".join(secrets.choice(ALPHABET) for _ in range(9))


class Receipt(models.Model):
    """A receipt: when a person's data were kept or deleted. It holds none of the data."""

    class Kind(models.TextChoices):
        KEPT = "kept", gettext_lazy("Left; the data are kept")
        DELETED = "deleted", gettext_lazy("The data were deleted")
        ERASED = "erased", gettext_lazy("The team deleted the data")

    participation = models.ForeignKey(Participation, on_delete=models.CASCADE, related_name="receipts")
    code = models.CharField(max_length=16, unique=True, default=new_receipt_code)
    kind = models.CharField(max_length=10, choices=Kind)
    rows = models.JSONField(default=dict, help_text="How many records were deleted, by kind.")
    exports = models.JSONField(default=list, help_text="Exports that may have held the person: path, and when.")
    given_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["given_at", "pk"]

    def __str__(self) -> str:
        return self.code
