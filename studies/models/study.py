from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django.apps import apps
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.utils.functional import cached_property
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from dialogue.compiled_sql import CompiledQuery
from dialogue.languages import get_code
from studies.design.serialisation import protocol_hash, spec_from_json
from studies.design.spec import INTERVIEW, KEEP_DECLINED_DAYS, MANUAL, ArmSpec, StudySpec
from studies.models.life import Stage, StageChange

slug = RegexValidator(r"^[a-z0-9][a-z0-9_-]*\Z", _("Small letters, digits, '-' and '_' only."))

DEMO = "demo"  # the key of the demonstration, which is open without any check


class Study(models.Model):
    key = models.CharField(max_length=60, unique=True, validators=[slug])
    created_at = models.DateTimeField(auto_now_add=True)
    stage = models.CharField(max_length=10, choices=Stage, default=Stage.REHEARSAL)
    anonymised_at = models.DateTimeField(null=True, blank=True, help_text="Its data hold no identifier since then.")

    class Meta:
        verbose_name_plural = "studies"

    def __str__(self) -> str:
        return self.key

    def current(self) -> "Protocol":
        """Return the version for people who have not begun."""
        return self.protocols.order_by("-version").first()

    def is_demo(self) -> bool:
        return self.key == DEMO

    def features(self) -> set[str]:
        """Return which of interviews and selection by hand any version of its design has; interviews also if there are
        some."""
        some = models.Exists(apps.get_model("studies", "Interview").objects.filter(participation__study=self))
        features = set()
        for steps, selection, held in self.protocols.values_list("design__steps", "design__selection", some):
            features |= {selection} & {MANUAL}
            features |= {INTERVIEW} if held or any(step["kind"] == INTERVIEW for step in steps) else set()
        return features

    def is_open(self) -> bool:
        """Return whether real people may begin."""
        return self.stage == Stage.OPEN

    def is_paused(self) -> bool:
        return self.stage == Stage.PAUSED

    def is_closed(self) -> bool:
        return self.stage == Stage.CLOSED or (self.stage == Stage.ARCHIVED and self.was_closed())

    def was_closed(self) -> bool:
        """Return whether it has been closed at some time. One that is archived may have been in rehearsal only."""
        return self.stage_changes.filter(stage=Stage.CLOSED).exists()

    def was_opened(self) -> bool:
        """Return whether what people meet is fixed, so that a change is an amendment."""
        if self.stage == Stage.REHEARSAL or self.is_demo():
            return False
        return self.stage != Stage.ARCHIVED or self.was_closed()

    @property
    def closing(self) -> StageChange | None:
        """Return when and by whom it was closed; None while it is not."""
        return self.stage_changes.filter(stage=Stage.CLOSED).last() if self.is_closed() else None

    @property
    def closed_at(self) -> datetime | None:
        closing = self.closing
        return closing.at if closing else None

    def is_finished(self) -> bool:
        """Return whether the study is closed and no one is under way whose data the results could influence."""
        return self.is_closed() and not self.under_way()

    def under_way(self) -> int:
        """Count the people who have begun and are not over, also reviewers, whose ratings are data too. Test data does
        not count."""
        return self.participations.real().under_way().count()


class Protocol(models.Model):
    """One version of a study's design. It may change until it is open to people or someone has met it, and never
    after."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="protocols")
    version = models.PositiveIntegerField()
    design = models.JSONField(help_text="The study file, but for its arms and judges, which are rows of their own.")
    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True, blank=True, help_text="Since when it has been open to real people.")
    opened_hash = models.CharField(max_length=64, blank=True, help_text="Its hash at that time.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "version"], name="one_protocol_per_version")]

    def __str__(self) -> str:
        return f"{self.study} v{self.version}"

    def may_change(self) -> bool:
        """Return whether it may be changed in place: it was never open, and no one and no conversation has met it."""
        return not (self.opened_at or self.participations.exists() or self.runs.exists())

    def spec(self) -> StudySpec:
        """Return the design; it is read once for each instance, because a page needs it several times."""
        return self._spec

    @cached_property
    def _spec(self) -> StudySpec:
        return self.read_with(ARMS_IN_USE.rows(self.pk))

    def full_spec(self) -> StudySpec:
        """Return the design with the arms that are paused."""
        return self.read_with(self.arms.all())

    def read_with(self, rows: "Iterable[Arm]") -> StudySpec:
        arms = [arm.as_json() for arm in rows]
        judges = [judge.as_json() for judge in JUDGES.rows(self.pk)]
        return spec_from_json({**self.design, "arms": arms, "judges": judges})

    def patience(self) -> timedelta | None:
        """Return how long a person of this version may give no sign of life; None without a limit."""
        days = self.design.get("gone_after_days")
        return timedelta(days=days) if days else None

    def keeps_declined(self) -> timedelta | None:
        """Return how long it keeps the answers of applicants who cannot take part; None where no one selects."""
        days = self.design.get("keep_declined_days", KEEP_DECLINED_DAYS)
        return timedelta(days=days) if self.design["selection"] == MANUAL else None

    def demonstrations(self) -> set[str]:
        """Return the keys of its arms and judges that are scripts, not models."""
        rows = (self.arms, self.judges)
        return {key for some in rows for key in some.filter(kind="scripted").values_list("key", flat=True)}

    def hash(self) -> str:
        return protocol_hash(self.spec())


class ModelRow(models.Model):
    """The common fields of arms and judges: the model with its settings and prompt."""

    key = models.CharField(max_length=60, validators=[slug])
    title = models.JSONField(help_text=_('A title by language: {"en": "…", "zh": "…"}.'))
    kind = models.CharField(
        max_length=40, choices=[("openai_compatible", "openai_compatible"), ("scripted", "scripted (demonstration)")]
    )
    base_url = models.CharField(max_length=500, blank=True)
    model = models.CharField(max_length=200, blank=True)
    api_key_env = models.CharField(
        max_length=100, blank=True, help_text=_("The name of the environment variable that holds the key, not the key.")
    )
    provider = models.CharField(max_length=200, blank=True, help_text=_("As it is named in the consent form."))
    prompt = models.CharField(max_length=200, blank=True, help_text=_("The file name of the prompt."))
    prompt_text = models.JSONField(default=dict, blank=True)
    temperature = models.FloatField(null=True, blank=True)
    max_tokens = models.PositiveIntegerField(null=True, blank=True)
    extra = models.JSONField(default=dict, blank=True)
    number = models.PositiveIntegerField(default=0)

    class Meta:
        abstract = True
        ordering = ["number", "pk"]

    def __str__(self) -> str:
        return self.key

    def clean(self) -> None:
        if self.kind == "openai_compatible" and not (self.base_url and self.model):
            raise ValidationError(_("A model behind an address needs both a base URL and a model name."))

    def name(self) -> str:
        """Return its title in the language of the page."""
        return self.title.get(get_code(get_language() or "")) or next(iter(self.title.values()), self.key)

    def is_demonstration(self) -> bool:
        return self.kind == "scripted"

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.spec_fields()}

    @classmethod
    @cache
    def spec_fields(cls) -> list[str]:
        """Return the fields of `ArmSpec` that are columns here: some are of arms alone."""
        columns = {column.name for column in cls._meta.fields}
        return [name for name in ArmSpec.__dataclass_fields__ if name in columns]


class Arm(ModelRow):
    protocol = models.ForeignKey(Protocol, on_delete=models.CASCADE, related_name="arms")
    group = models.CharField(
        max_length=60, blank=True, help_text=_("The models with which results list it: open, closed, in-domain …")
    )
    reasoning = models.BooleanField(default=False, help_text=_("The model reasons before it answers."))
    paused = models.BooleanField(default=False, help_text=_("From now on, no new order of arms includes it."))

    class Meta(ModelRow.Meta):
        constraints = [models.UniqueConstraint(fields=["protocol", "key"], name="one_arm_per_key")]


class Judge(ModelRow):
    protocol = models.ForeignKey(Protocol, on_delete=models.CASCADE, related_name="judges")

    class Meta(ModelRow.Meta):
        constraints = [models.UniqueConstraint(fields=["protocol", "key"], name="one_judge_per_key")]


# Each page of a person reads its study's design.
ARMS_IN_USE = CompiledQuery(Arm, lambda: Arm.objects.filter(protocol=0, paused=False))
JUDGES = CompiledQuery(Judge, lambda: Judge.objects.filter(protocol=0))
