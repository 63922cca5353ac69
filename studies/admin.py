"""The admin pages: accounts, and a look at what is stored. Designs and collected data are read-only here."""

from collections.abc import Iterable, Iterator
from typing import Any

from allauth.account.decorators import secure_admin_login
from allauth.account.models import EmailAddress
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from dialogue.admin import ReadOnly
from studies.access.access import is_installation_admin
from studies.board.design import study_file_of
from studies.models import Answer, Arm, Card, Decision, Judge, Participation, Protocol, Response, RolePlay, Study

admin.site.has_permission = lambda request: is_installation_admin(request.user)
admin.site.login = secure_admin_login(admin.site.login)  # one way to sign in
admin.site.unregister(EmailAddress)  # allauth's; no one signs in by e-mail
admin.site.site_header = admin.site.site_title = "emostudy"


class KeepsWhatIsNeeded(admin.ModelAdmin):
    """A mixin that deletes nothing that people or data depend on, and says why."""

    delete_confirmation_template = "studies/admin/delete.html"
    delete_selected_confirmation_template = "studies/admin/delete_selected.html"

    def reasons_to_keep(self, rows: Iterable[Any]) -> Iterator[str]:
        """Yield a sentence for each reason why not all of these can be deleted."""
        raise NotImplementedError

    def get_deleted_objects(self, objs: Iterable[Any], request: HttpRequest) -> tuple[Any, Any, Any, list[str]]:
        """Return what would be deleted and what forbids it; where the last is not empty Django deletes nothing."""
        deleted, counts, needed, protected = super().get_deleted_objects(objs, request)
        return deleted, counts, needed, list(self.reasons_to_keep(objs)) or protected


class ModelRowAdmin(ReadOnly):
    """A model of a design. It is changed in a draft or in the study file; an arm is paused on the board."""

    list_display = ["key", "name", "protocol", "kind", "model"]
    list_filter = ["protocol__study"]
    list_select_related = ["protocol__study"]


@admin.register(Arm)
class ArmAdmin(ModelRowAdmin):
    list_display = [*ModelRowAdmin.list_display, "paused"]


@admin.register(Judge)
class JudgeAdmin(ModelRowAdmin):
    pass


@admin.register(Study)
class StudyAdmin(ReadOnly):
    """A study comes from a file, by `load_study`."""

    list_display = ["key", "stage", "created_at", "workbench"]
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
        return protocol.may_change()

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
    exclude = ["token_hash", "browser_hash"]


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
    def reasons_to_keep(self, rows: Iterable[User]) -> Iterator[str]:
        coders = Decision.objects.filter(coder__in=[user.pk for user in rows]).values_list("coder__username", flat=True)
        for name in sorted(set(coders)):
            message = _("%(name)s has made decisions about what is left out of results. Untick “Active” instead.")
            yield message % {"name": name}
