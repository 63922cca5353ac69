"""The admin pages for set-up.

A study's models may be changed until the first person has begun; what was collected is read-only.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeGuard

from allauth.account.decorators import secure_admin_login
from allauth.account.models import EmailAddress
from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.db.models import ForeignKey, JSONField, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from dialogue.admin import ReadOnly
from dialogue.incoming import StorableJSON
from dialogue.languages import CODES
from studies.board.design import study_file_of
from studies.design.reading import StudyFileError, read_study
from studies.design.spec import ArmSpec, RolePlaySpec, StudySpec
from studies.design.writing import dump_study
from studies.instruments.loading import instrument_ids
from studies.models import Answer, Arm, Card, Decision, Judge, Participation, Protocol, Response, RolePlay, Study
from studies.models.study import ModelRow
from studies.participation.consent import template_ids

admin.site.login = secure_admin_login(admin.site.login)  # one way to sign in
admin.site.unregister(EmailAddress)  # allauth's; nobody signs in by e-mail
admin.site.site_header = admin.site.site_title = "emostudy"


def may_change(protocol: Protocol) -> bool:
    """Return whether a protocol's models may be changed; imported conversations fix a design as people do."""
    return protocol.is_draft() and not protocol.runs.exists()


def drafts() -> QuerySet[Protocol]:
    return Protocol.objects.filter(participations=None, runs=None).select_related("study")


def faults_of(spec: StudySpec) -> list[str]:
    """Return what would be wrong with this design as a study file, by writing it and reading it.

    Its role cards are rows by now, and their file need not be here.
    """
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "study.toml"
        file.write_text(dump_study(replace(spec, role_play=RolePlaySpec())), encoding="utf-8")
        for model in (*spec.arms, *spec.judges):
            write_prompt(file.parent, model)
        try:
            read_study(file, instruments=[*instrument_ids(), *template_ids()], prompt_folder=None)
        except StudyFileError as error:
            return [str(fault) for fault in error.faults]
    return []


def write_prompt(folder: Path, model: ArmSpec) -> None:
    """Write a model's prompt into `folder`.

    The name is one of which nothing but a file in `folder` can come; other names are refused before.
    """
    for language, text in model.prompt_text.items():
        file = f"{model.prompt}.{language}.txt" if language else model.prompt
        (folder / file).write_text(text, encoding="utf-8")


class ModelRowForm(forms.ModelForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk and "protocol" in self.fields:
            self.fields["protocol"].disabled = True  # moved to another version, it would be missing from its own

    def clean_prompt(self) -> str:
        name: str = self.cleaned_data["prompt"]
        if name != Path(name).name:
            raise forms.ValidationError(_("A file name only, without a folder."))
        return name

    def clean_title(self) -> dict[str, str]:
        title = self.cleaned_data["title"]
        if not is_text(title):
            raise forms.ValidationError(_('Texts by language: {"en": "…", "zh": "…"}.'))
        return title

    def clean_prompt_text(self) -> dict[str, str]:
        texts = self.cleaned_data["prompt_text"] or {}
        if not is_prompt(texts):
            raise forms.ValidationError(
                _('Texts by language, {"en": "…", "zh": "…"}, or one for every language, {"": "…"}.')
            )
        return texts

    def clean_extra(self) -> dict[str, Any]:
        extra = self.cleaned_data["extra"] or {}
        if not isinstance(extra, dict) or holds_null(extra):
            raise forms.ValidationError(_("An object without null values: a study file cannot express null."))
        return extra

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        if "prompt" in given and "prompt_text" in given and bool(given["prompt"]) != bool(given["prompt_text"]):
            raise forms.ValidationError(_("A prompt needs both a file name and a text."))
        return given

    def _post_clean(self) -> None:
        """Add an error for each fault of the whole design.

        Only here the row has its new values, and the whole design can be looked at with them.
        """
        super()._post_clean()
        if not self.errors:
            for fault in faults_of(spec_with(self.instance)):
                self.add_error(None, fault)


def is_prompt(texts: object) -> bool:
    """Return whether these are texts by language, or one text for all; nothing else, and no text that is not there."""
    return texts == {} or is_text(texts) or (is_words(texts) and set(texts) == {""})


def holds_null(value: object) -> bool:
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value is None or any(map(holds_null, members))


def is_text(texts: object) -> bool:
    return is_words(texts) and len(texts) > 0 and set(texts) <= set(CODES)


def is_words(texts: object) -> TypeGuard[Mapping[str, str]]:
    return isinstance(texts, Mapping) and all(isinstance(text, str) and text.strip() for text in texts.values())


def spec_with(row: ModelRow) -> StudySpec:
    """Return the row's study as it would be with this row as it is now."""
    others = type(row).objects.filter(protocol=row.protocol).exclude(pk=row.pk)
    return spec_of(row.protocol, type(row), [*others, row])


def spec_of(protocol: Protocol, kind: type[ModelRow], rows: Iterable[ModelRow]) -> StudySpec:
    """Return the version's design if these were its arms, or its judges."""
    rows = sorted(rows, key=lambda each: (each.number, each.pk or 0))
    specs = tuple(ArmSpec(**each.as_json()) for each in rows if not getattr(each, "paused", False))
    return replace(protocol.spec(), **{"arms" if kind is Arm else "judges": specs})


class KeepsWhatIsNeeded(admin.ModelAdmin):
    """A mixin that deletes nothing that people or data depend on, and says why."""

    delete_confirmation_template = "studies/admin/delete.html"
    delete_selected_confirmation_template = "studies/admin/delete_selected.html"

    def why_kept(self, rows: Iterable[Any]) -> Iterator[str]:
        """Yield a sentence for each reason why not all of these can be deleted."""
        raise NotImplementedError

    def get_deleted_objects(self, objs: Iterable[Any], request: HttpRequest) -> tuple[Any, Any, Any, list[str]]:
        """Return what would be deleted and what forbids it; where the last is not empty Django deletes nothing."""
        deleted, counts, needed, protected = super().get_deleted_objects(objs, request)
        return deleted, counts, needed, list(self.why_kept(objs)) or protected


class ModelRowAdmin(KeepsWhatIsNeeded):
    form = ModelRowForm
    formfield_overrides = {JSONField: {"decoder": StorableJSON}}
    list_display = ["key", "name", "protocol", "kind", "model"]
    list_filter = ["protocol__study"]
    list_select_related = ["protocol__study"]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and (obj is None or may_change(obj.protocol))

    def why_kept(self, rows: Iterable[ModelRow]) -> Iterator[str]:
        for protocol in Protocol.objects.filter(pk__in={row.protocol_id for row in rows}).select_related("study"):
            yield from self.why_kept_in(protocol, [row for row in rows if row.protocol_id == protocol.pk])

    def why_kept_in(self, protocol: Protocol, rows: list[ModelRow]) -> Iterator[str]:
        if not may_change(protocol):
            told = _("%(version)s is in use: people have started with it, or conversations were imported into it.")
            yield told % {"version": protocol}
            return
        left = self.model.objects.filter(protocol=protocol).exclude(pk__in=[row.pk for row in rows])
        for fault in faults_of(spec_of(protocol, self.model, left)):
            yield _("%(version)s cannot continue without it. %(fault)s") % {"version": protocol, "fault": fault}

    def formfield_for_foreignkey(self, db_field: ForeignKey, request: HttpRequest, **kwargs: Any) -> Any:
        return super().formfield_for_foreignkey(db_field, request, **kwargs, queryset=drafts())


@admin.register(Arm)
class ArmAdmin(ModelRowAdmin):
    list_display = [*ModelRowAdmin.list_display, "paused"]


@admin.register(Judge)
class JudgeAdmin(ModelRowAdmin):
    pass


@admin.register(Study)
class StudyAdmin(ReadOnly):
    """A study comes from a file, by `load_study`."""

    list_display = ["key", "created_at", "closed_at", "workbench"]
    search_fields = ["key"]

    @admin.display(description=_("Workbench"))
    def workbench(self, study: Study) -> SafeString:
        return format_html('<a href="{}">{}</a>', reverse("research-study", args=[study.key]), study.key)


@admin.register(Protocol)
class ProtocolAdmin(ReadOnly):
    list_display = ["study", "version", "created_at", "draft", "study_file"]
    list_select_related = ["study"]
    readonly_fields = ["study_file"]

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.download)
        return [path("<int:number>/study.toml", view, name="studies_protocol_file"), *super().get_urls()]

    def download(self, request: HttpRequest, number: int) -> HttpResponse:
        return study_file_of(get_object_or_404(Protocol.objects.select_related("study"), pk=number))

    @admin.display(boolean=True, description=_("Can still change"))
    def draft(self, protocol: Protocol) -> bool:
        return may_change(protocol)

    @admin.display(description=_("Study file"))
    def study_file(self, protocol: Protocol) -> SafeString:
        address = reverse("admin:studies_protocol_file", args=[protocol.pk])
        return format_html('<a href="{}">{}</a>', address, _("Download"))


@admin.register(Participation)
class ParticipationAdmin(ReadOnly):
    list_display = ["code", "study", "track", "status", "language", "is_test", "last_seen_at"]
    list_filter = ["study", "status", "track", "is_test"]
    list_select_related = ["study"]
    search_fields = ["code"]
    exclude = ["token_hash"]


@admin.register(Response)
class ResponseAdmin(ReadOnly):
    list_display = ["rater", "instrument", "moment", "turn", "replicate", "submitted_at"]
    list_filter = ["instrument", "moment"]
    list_select_related = ["rater"]


@admin.register(Answer)
class AnswerAdmin(ReadOnly):
    list_display = ["response", "item", "value", "missing_reason"]
    list_select_related = ["response"]


@admin.register(Card)
class CardAdmin(ReadOnly):
    """The admin of cards, which are written on the workbench or come from a file."""

    list_display = ["key", "study", "language", "condition", "retired", "created_at"]
    list_filter = ["study", "language", "retired"]
    list_select_related = ["study"]


@admin.register(RolePlay)
class RolePlayAdmin(ReadOnly):
    list_display = ["run", "played", "stepped_out"]
    list_select_related = ["run__study"]


admin.site.unregister(User)


@admin.register(User)
class AccountAdmin(KeepsWhatIsNeeded, UserAdmin):
    def why_kept(self, rows: Iterable[User]) -> Iterator[str]:
        coders = Decision.objects.filter(coder__in=[user.pk for user in rows]).values_list("coder__username", flat=True)
        for name in sorted(set(coders)):
            told = _("%(name)s has made decisions about what is left out of results. Untick “Active” instead.")
            yield told % {"name": name}
