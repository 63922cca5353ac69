from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from studies.models.study import Study


class Role(models.TextChoices):
    """A role of a colleague in a study; studies/access/table.py says what each role may do."""

    ADMIN = "admin", _("Study admin")
    RESEARCHER = "researcher", _("Researcher")
    SAFETY_OFFICER = "safety_officer", _("Safety officer")
    COUNSELLOR = "counsellor", _("Counsellor")
    REVIEWER = "reviewer", _("Reviewer")
    CODER = "coder", _("Coder")
    READER = "reader", _("Read-only")


class Membership(models.Model):
    """One role of one account in one study; an account may have several."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=20, choices=Role.choices)
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "user", "role"], name="one_row_per_role")]
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.user} {self.study} {self.role}"
