"""The page of a study's life, and the pages that take it from one stage to another. Each of them asks first."""

from datetime import date
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dialogue.safety.resources import resources_for
from studies.care.opening_requirements import RESOURCE_DAYS, needs_lines_tried
from studies.life import readiness, stages
from studies.life.retention_timeline import list_days, list_soon
from studies.models import Amendment, Participation, Stage, Study
from studies.models.participation import TRACKS_OF_PEOPLE, Status
from studies.participation import counts
from studies.participation.unblinding import is_blinded, is_kept_blind
from studies.workbench import labels
from studies.workbench.access import show, study_page, study_page_after_timeouts
from studies.workbench.asking_first import ask_first
from studies.workbench.recent_tasks import recent_tasks
from studies.workbench.typed_key import TypedKeyForm

MOST_BOTS = 50  # in one rehearsal from the page; the command takes any number

SAID: dict[Stage, str | Promise] = {
    Stage.REHEARSAL: gettext_lazy("The study is in rehearsal again."),
    Stage.OPEN: gettext_lazy("The study is open: people can start."),
    Stage.PAUSED: gettext_lazy("The study is paused. Conversations that have begun can be finished."),
    Stage.CLOSED: gettext_lazy("The study is closed. People who have started can still finish."),
    Stage.ARCHIVED: gettext_lazy("The study is archived. All its data are kept."),
}


class StageForm(TypedKeyForm):
    """The form that changes the stage; a reason is kept with the change."""

    reason = forms.CharField(
        label=gettext_lazy("Why"),
        required=False,
        max_length=300,  # as an unblinding's, which it may become
        widget=forms.Textarea(attrs={"rows": 2, "class": "short"}),
    )

    def __init__(self, study: Study, data: Any = None, *, asks_why: bool = True, needs_why: bool = False) -> None:
        super().__init__(study, data)
        if not asks_why:
            del self.fields["reason"]
        else:
            self.fields["reason"].required = needs_why


class RehearsalForm(forms.Form):
    """The number of bots that walk the study, and their role."""

    count = forms.IntegerField(label=gettext_lazy("Bots"), min_value=1, max_value=MOST_BOTS, initial=2)
    track = forms.ChoiceField(label=gettext_lazy("Track"))

    def __init__(self, study: Study, data: Any = None) -> None:
        super().__init__(data)
        tracks = [Participation.Track(track) for track in TRACKS_OF_PEOPLE]
        self.fields["track"].choices = [(str(track), track.label) for track in tracks]

    def arguments(self) -> list[str]:
        return ["--count", str(self.cleaned_data["count"]), "--track", self.cleaned_data["track"]]


@require_POST
@study_page
def rehearse(request: HttpRequest, study: Study) -> HttpResponse:
    """Ask first what the bots would take, then start them."""
    form = RehearsalForm(study, request.POST)
    if not form.is_valid():
        message = _("Nothing was started: choose a number of bots from 1 to %(most)d.")
        messages.error(request, message % {"most": MOST_BOTS})
        return redirect("research-life", study.key)
    return ask_first(study, "run_bots", form.arguments(), back="research-life")


@require_GET
@study_page_after_timeouts
def life(request: HttpRequest, study: Study) -> HttpResponse:
    """Show where the study stands, what is missing before it can open, and what became of it so far."""
    requirements = readiness.list_requirements(study) if study.stage == Stage.REHEARSAL else []
    context = {
        "stages": stage_track(study),
        "requirements": requirements,
        "missing": sum(not each.met for each in requirements),
        "ways": {str(way) for way in stages.get_next_stages(study)},
        "changes": study.stage_changes.order_by("-pk"),
        "amendments": Amendment.objects.filter(protocol__study=study).select_related("protocol").order_by("-number"),
        "protocol": study.current(),
        "form": RehearsalForm(study),
        **recent_tasks(study, "run_bots"),
        "test_people": study.participations.test_data().count(),
        "under_way": study.under_way(),
        "blinded": is_blinded(study),
        "lines_tried": study.resource_checks.order_by("-at").first(),
        "needs_lines_tried": needs_lines_tried(study),
        "undeleted": [path for removal in study.export_removals.all() for path in removal.failed],
        "retention_days": list_days(study, timezone.now()),
        "days_to_delete": get_days_to_delete(study),
    }
    return show(request, study, "life", context)


def get_days_to_delete(study: Study) -> list[date]:
    """Return the last days on which people can have their data deleted: that of the current version, and once the
    study is closed those of the versions that people have met."""
    versions = [study.current()]
    if study.is_closed():
        met = study.participations.real().exclude(protocol=None).values("protocol")
        versions = list(study.protocols.filter(pk__in=met))
    sections = [retention for version in versions if (retention := version.spec().retention)]
    return sorted({day for retention in sections if (day := retention.get_day("delete_until"))})


def stage_track(study: Study) -> list[dict[str, Any]]:
    """Return the stages in their order, as steps of a track: which are behind, and which is now."""
    order = [stage for stage in Stage if stage != Stage.PAUSED or study.stage == Stage.PAUSED]
    if study.stage == Stage.ARCHIVED and not study.was_closed():
        order = [Stage.REHEARSAL, Stage.ARCHIVED]
    now = order.index(Stage(study.stage))
    return [{"label": stage.label, "past": place < now, "now": place == now} for place, stage in enumerate(order)]


@require_http_methods(["GET", "POST"])
@study_page_after_timeouts
def open_study(request: HttpRequest, study: Study) -> HttpResponse:
    """Open it for the first time or again; refused while something is missing."""
    opened = stages.has_opened_results(study)
    context = {
        "missing": readiness.find_missing(study) if study.stage == Stage.REHEARSAL else [],
        "test_people": study.participations.test_data().count(),
        "opened_results": opened,
    }
    form = StageForm(study, request.POST or None, asks_why=study.stage != Stage.REHEARSAL, needs_why=opened)
    return change(request, study, Stage.OPEN, form, context)


@require_http_methods(["GET", "POST"])
@study_page_after_timeouts
def pause(request: HttpRequest, study: Study) -> HttpResponse:
    return change(request, study, Stage.PAUSED, StageForm(study, request.POST or None), people_of(study))


@require_http_methods(["GET", "POST"])
@study_page_after_timeouts
def close(request: HttpRequest, study: Study) -> HttpResponse:
    soon = list_soon(study, timezone.now())
    context = {"blind": is_kept_blind(study), "retention_soon": soon, **people_of(study)}
    return change(request, study, Stage.CLOSED, StageForm(study, request.POST or None), context)


@require_http_methods(["GET", "POST"])
@study_page_after_timeouts
def archive(request: HttpRequest, study: Study) -> HttpResponse:
    """Archive it, or take one that was archived from its rehearsal back into it."""
    to = Stage.REHEARSAL if Stage.REHEARSAL in stages.get_next_stages(study) else Stage.ARCHIVED
    return change(request, study, to, StageForm(study, request.POST or None), people_of(study))


def people_of(study: Study) -> dict[str, int]:
    invited = study.participations.real().filter(status=Status.INVITED).count()
    waiting = counts.open_risks_of_people(study).count()
    return {"under_way": study.under_way(), "invited": invited, "open_risks": waiting}


def change(request: HttpRequest, study: Study, to: Stage, form: StageForm, context: dict[str, Any]) -> HttpResponse:
    if to not in stages.get_next_stages(study):
        return redirect("research-life", study.key)
    if request.method == "POST" and form.is_valid():
        reason = form.cleaned_data.get("reason", "")
        try:
            stages.move(study, to, stages.Actor.of(request.user), reason=reason)
        except (stages.NotReady, stages.StageUnreachable):
            messages.error(request, _("Nothing has changed. See what is missing below."))
            return redirect("research-life", study.key)
        except stages.ReasonNeeded:  # the last person has finished meanwhile
            form.add_error(None, _("The results by arm have been shown meanwhile. Please say why you open the study."))
            return show(request, study, f"stage_{to}", {"form": form, **context}, status=422)
        messages.success(request, str(SAID[to]))
        return redirect("research-life", study.key)
    status = 422 if request.method == "POST" else 200
    return show(request, study, f"stage_{to}", {"form": form, **context}, status=status)


@require_http_methods(["GET", "POST"])
@study_page
def resources(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the help lines that people see, and record that someone has tried them."""
    if request.method == "POST":
        readiness.confirm_resources(study, request.user.get_username())
        messages.success(request, _("Thank you. It is recorded that you tried each line today."))
        return redirect("research-life", study.key)
    spec = study.current().spec()
    context = {
        "resources": resources_for(spec.country),
        "country": labels.country_name(spec.country),
        "checks": [(one, labels.country_name(one.country)) for one in study.resource_checks.order_by("-pk")[:10]],
        "days": RESOURCE_DAYS,
    }
    return show(request, study, "life_resources", context)
