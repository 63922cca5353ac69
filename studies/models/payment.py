"""The amounts that people of a study are owed and were paid: rows are added, never changed."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from studies.models.participation import Participation
from studies.models.study import Study


class LedgerEntry(models.Model):
    """A line of the payment ledger of one person."""

    class Kind(models.TextChoices):
        DUE = "due", gettext_lazy("Owed for taking part")
        BONUS = "bonus", gettext_lazy("Bonus")
        CORRECTION = "correction", gettext_lazy("Correction")
        PAID = "paid", gettext_lazy("Paid")
        UNDONE = "undone", gettext_lazy("Payment undone")

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="ledger")
    participation = models.ForeignKey(
        Participation, null=True, on_delete=models.PROTECT, related_name="ledger", help_text="Empty once erased."
    )
    record_code = models.CharField(max_length=10, help_text="The person's; it stays when they are erased.")
    kind = models.CharField(max_length=10, choices=Kind)
    amount = models.DecimalField(max_digits=12, decimal_places=2, help_text="Corrections and bonuses can be negative.")
    currency = models.CharField(max_length=3)
    minutes = models.PositiveIntegerField(null=True, blank=True, help_text="Of what is owed for time.")
    rate = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True, help_text="Of an hour.")
    reason = models.CharField(max_length=300, blank=True)
    undoes = models.OneToOneField(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="undone_by", help_text="A payment."
    )
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    by_name = models.CharField(max_length=150, blank=True, help_text="Empty: booked from the study's payment rule.")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["at", "pk"]
        constraints = [
            models.CheckConstraint(condition=~Q(amount=0), name="ledger_entry_of_some_amount"),
            models.CheckConstraint(
                condition=Q(kind="undone", undoes__isnull=False) | (~Q(kind="undone") & Q(undoes__isnull=True)),
                name="undone_entry_names_its_payment",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.amount} {self.currency}"


class Payee(models.Model):
    """The name under which a platform pays a person. It goes when the person is erased, and into no export."""

    participation = models.OneToOneField(Participation, on_delete=models.CASCADE, related_name="payee")
    sealed_id = models.TextField(help_text="Their Prolific ID, encrypted (studies/payments/sealing.py).")

    def __str__(self) -> str:
        return f"payee {self.pk}"
