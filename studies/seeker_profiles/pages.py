"""Researchers' pages of profiles: import from files, build from answers, read, approve and refuse."""

import json
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from dialogue.languages import CODES
from dialogue.seekers.profiles import ProfilesRefused, parse_profile, parse_profiles
from dialogue.templatetags.languages import listed
from studies.design.spec import StudySpec
from studies.models import SeekerProfile, Study
from studies.seeker_profiles import approval, shown_profile
from studies.seeker_profiles.approval import DecisionRefused
from studies.seeker_profiles.checking import EXPANDED, State
from studies.seeker_profiles.expansion import ALL, MOST_PROFILES
from studies.seeker_profiles.handler import ANSWERS
from studies.seeker_profiles.planning import Work, work_for
from studies.seeker_profiles.selection import OtherProfiles, keep
from studies.seeker_profiles.spread import describe_spread
from studies.workbench.access import show, study_page
from studies.workbench.asking_first import ask_first
from studies.workbench.lists import Choice, Column, filter_rows, headings, make_choices, page_of, paging, sort_rows
from studies.workbench.recent_tasks import recent_tasks

COMMAND = "build_profiles"
OF_FILES = Q(made_of=None) & ~Q(origin=EXPANDED)
FROM = {ANSWERS: Q(made_of__isnull=False), EXPANDED: Q(origin=EXPANDED)}
LONGEST_REASON = 500
LARGEST_SEED = 2**31 - 1
SHAPES = {State.DRAFT: "attention", State.APPROVED: "done", State.REFUSED: "stopped"}
STATES: dict[str, Promise] = {
    State.DRAFT: gettext_lazy("draft"),
    State.APPROVED: gettext_lazy("approved"),
    State.REFUSED: gettext_lazy("refused"),
}
WHY_NOT: dict[str, Promise] = {
    DecisionRefused.CHANGED: gettext_lazy(
        "Someone changed this profile after you opened it. This is the current version."
    ),
    DecisionRefused.UNFIT: gettext_lazy("This profile does not pass the checks. Change its text first."),
    DecisionRefused.PLAYED: gettext_lazy(
        "Conversations already use this profile, so its text cannot change. Import the changed profile under a new id."
    ),
    DecisionRefused.KEY: gettext_lazy("profile.id: cannot be changed."),
}


class ImportForm(forms.Form):
    file = forms.FileField(label=gettext_lazy("Profile file (.json or .jsonl)"))


class BuildForm(forms.Form):
    include_tests = forms.BooleanField(label=gettext_lazy("Include test people, such as bots"), required=False)

    def arguments(self) -> list[str]:
        return ["--include-tests"] if self.cleaned_data["include_tests"] else []


class ExpandForm(forms.Form):
    count = forms.IntegerField(
        label=gettext_lazy("Further profiles in all"), min_value=1, max_value=MOST_PROFILES, initial=20
    )
    seed = forms.IntegerField(
        label=gettext_lazy("Seed of the draw (another one gives other people)"),
        min_value=1,
        max_value=LARGEST_SEED,
        initial=1,
    )
    language = forms.ChoiceField(label=gettext_lazy("Language"), required=False)

    def __init__(self, spec: StudySpec, data: Any = None) -> None:
        super().__init__(data)
        self.fields["language"].choices = [("", _("all")), *((language, language) for language in spec.languages)]

    def arguments(self) -> list[str]:
        """Return the arguments of the command that makes them."""
        data = self.cleaned_data
        arguments = ["--expand", ALL, "--count", str(data["count"]), "--seed", str(data["seed"])]
        return arguments + (["--language", data["language"]] if data["language"] else [])


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Reason for refusing it"),
        max_length=LONGEST_REASON,
        widget=forms.Textarea(attrs={"rows": 2, "class": "short"}),
    )


@dataclass(frozen=True)
class Row:
    profile: SeekerProfile
    who: str
    state: str | Promise
    shape: str
    findings: int  # by the checks
    unfit: bool


def row_of(profile: SeekerProfile) -> Row:
    state = State(profile.state)
    findings = len(shown_profile.finding_sentences(profile))
    unfit = approval.is_unfit(profile)
    return Row(profile, shown_profile.who(profile), STATES[state], SHAPES[state], findings, unfit)


def columns() -> list[Column]:
    return [
        Column("key", _("Profile"), "key"),
        Column("who", _("The person")),
        Column("state", _("State"), "state"),
        Column("language", _("Language"), "language"),
        Column("origin", _("From"), "origin"),
        Column("checks", _("Checks")),
        Column("decided", _("Decided (UTC)"), "decided_at"),
    ]


# The list.


@require_http_methods(["GET"])
@study_page
def profiles(request: HttpRequest, study: Study) -> HttpResponse:
    return list_page(request, study)


def list_page(
    request: HttpRequest,
    study: Study,
    *,
    faults: tuple[str, ...] = (),
    expand_form: ExpandForm | None = None,
    status: int = 200,
) -> HttpResponse:
    spec = study.current().spec()
    rows = filter_rows(study.seeker_profiles.all(), request, {"state": "state", "language": "language"})
    if request.GET.get("from"):
        rows = rows.filter(FROM.get(request.GET["from"], OF_FILES))
    rows = rows.select_related("decided_by")
    page = page_of(sort_rows(rows, request, columns(), usual="key"), request)
    context = {
        "headings": headings(request, columns()),
        "page": page,
        "rows": [row_of(profile) for profile in page],
        "spread": list(describe_spread(rows.values_list("content", flat=True))),
        "any": page.paginator.count or study.seeker_profiles.exists(),
        "choices": choices(request),
        "faults": faults,
        "import_form": ImportForm(),
        "expand_form": expand_form or ExpandForm(spec),
        **build_context(study, spec),
        **recent_tasks(study, COMMAND),
        **paging(page, request),
    }
    return show(request, study, "profiles", context, status=status)


def choices(request: HttpRequest) -> list[Choice]:
    languages = [(language, language) for language in CODES]
    origins = [(ANSWERS, _("answers")), ("files", _("files")), (EXPANDED, _("other profiles"))]
    return make_choices(
        request,
        [
            ("state", _("State"), list(STATES.items())),
            ("language", _("Language"), languages),
            ("from", _("From"), origins),
        ],
    )


def build_context(study: Study, spec: StudySpec) -> dict[str, Any]:
    """Return the writer, the people from whose answers profiles may be made, and the form that starts it."""
    writer = spec.seeker
    form = BuildForm(initial={"include_tests": study.is_demo()})
    work = work_for(study, writer, include_tests=study.is_demo()) if writer else Work()
    return {"writer": writer, "work": work, "build_form": form}


@require_POST
@study_page
def import_file(request: HttpRequest, study: Study) -> HttpResponse:
    form = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return list_page(request, study, faults=tuple(form.errors["file"]), status=400)
    file = form.cleaned_data["file"]
    try:
        outcome = keep(study, parse_profiles(file.read(), file.name), origin=file.name)
    except (ProfilesRefused, OtherProfiles) as error:
        return list_page(request, study, faults=tuple(str(error).splitlines()), status=400)
    messages.success(request, _("%(added)s profiles added, %(unchanged)s already present.") % vars(outcome))
    if outcome.refused:
        messages.warning(request, _("%(refused)s of them mention danger to life and were refused.") % vars(outcome))
    if outcome.mild:
        messages.warning(request, _("Too mild for the worst case, so left out there: %s.") % listed(outcome.mild))
    return redirect("research-profiles", study.key)


@require_POST
@study_page
def build(request: HttpRequest, study: Study) -> HttpResponse:
    form = BuildForm(request.POST)
    if form.is_valid() and study.current().spec().seeker:
        return ask_first(study, COMMAND, form.arguments(), back="research-profiles")
    return redirect("research-profiles", study.key)


@require_POST
@study_page
def expand(request: HttpRequest, study: Study) -> HttpResponse:
    """Ask whether to write further profiles after the approved ones."""
    spec = study.current().spec()
    form = ExpandForm(spec, request.POST)
    if not form.is_valid():
        return list_page(request, study, expand_form=form, status=422)
    if spec.seeker:
        return ask_first(study, COMMAND, form.arguments(), back="research-profiles")
    return redirect("research-profiles", study.key)


# One profile.


@require_http_methods(["GET", "POST"])
@study_page
def profile(request: HttpRequest, study: Study, key: str) -> HttpResponse:
    """Show a profile and accept a decision.

    `act`: approve, refuse, draft, rewrite; `seen`: the fingerprint of what the person saw.
    """
    row = get_object_or_404(study.seeker_profiles.select_related("made_of", "decided_by", "study"), key=key)
    act = ACTS.get(request.POST.get("act", ""))
    if request.method == "POST" and act:
        return act(request, study, row)
    return profile_page(request, study, row)


def profile_page(
    request: HttpRequest,
    study: Study,
    row: SeekerProfile,
    *,
    reason_form: ReasonForm | None = None,
    text: str = "",
    faults: tuple[str, ...] = (),
    status: int = 200,
) -> HttpResponse:
    context = {
        "row": row_of(row),
        "profile": row,
        "seen": approval.fingerprint(row),
        "groups": shown_profile.groups(row),
        "findings": shown_profile.finding_sentences(row),
        "reason": shown_profile.reason_of(row),
        "answered": shown_profile.source_answers(row.made_of) if row.made_of else [],
        "reason_form": reason_form or ReasonForm(),
        "played": approval.is_played(row),
        "text": text or json.dumps(row.content, ensure_ascii=False, indent=2),
        "faults": faults,
    }
    return show(request, study, "profile", context, status=status)


def approve(request: HttpRequest, study: Study, row: SeekerProfile) -> HttpResponse:
    return perform(
        request,
        row,
        lambda: approval.approve(row, by=request.user, as_seen=request.POST.get("seen", "")),
        _("Approved: simulated seekers can now use %(key)s."),
    )


def refuse(request: HttpRequest, study: Study, row: SeekerProfile) -> HttpResponse:
    form = ReasonForm(request.POST)
    if not form.is_valid():
        return profile_page(request, study, row, reason_form=form, status=400)
    reason = form.cleaned_data["reason"]
    return perform(
        request,
        row,
        lambda: approval.refuse(row, by=request.user, reason=reason, as_seen=request.POST.get("seen", "")),
        _("Refused: simulated seekers will not use %(key)s."),
    )


def draft(request: HttpRequest, study: Study, row: SeekerProfile) -> HttpResponse:
    return perform(
        request,
        row,
        lambda: approval.back_to_draft(row, as_seen=request.POST.get("seen", "")),
        _("%(key)s is a draft again and waits for your decision."),
    )


def rewrite(request: HttpRequest, study: Study, row: SeekerProfile) -> HttpResponse:
    text = request.POST.get("text", "")
    try:
        approval.rewrite(row, parse_profile(text), as_seen=request.POST.get("seen", ""))
    except ProfilesRefused as refused:
        return profile_page(request, study, row, text=text, faults=tuple(map(str, refused.faults)), status=400)
    except DecisionRefused as refused:
        return profile_page(request, study, row, text=text, faults=(str(WHY_NOT[str(refused)]),), status=400)
    messages.success(request, _("Saved and checked again. The profile waits for a decision."))
    return redirect("research-profile", study.key, row.key)


ACTS = {"approve": approve, "refuse": refuse, "draft": draft, "rewrite": rewrite}


def perform(request: HttpRequest, row: SeekerProfile, act: Any, message: str) -> HttpResponse:
    try:
        act()
    except DecisionRefused as refused:
        messages.error(request, WHY_NOT[str(refused)])
    else:
        messages.success(request, message % {"key": row.key})
    return redirect("research-profile", row.study.key, row.key)
