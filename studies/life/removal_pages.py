"""The pages that anonymise a finished study, or delete all its people's data, after they have said what stays."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from studies.data.anonymising import AnonymisedRecords, anonymise
from studies.data.erasure import NotFinished, RemovedRecords, erase_everybody
from studies.data.holdings import scope_of_study
from studies.models import Study
from studies.participation.counts import open_risks_of_people
from studies.workbench.access import show, study_page_after_timeouts
from studies.workbench.typed_key import TypedKeyForm

QUESTIONS = gettext_lazy("Questions that people asked the team, and the answers.")
REQUESTS = gettext_lazy("Requests to models and their answers, and what webhooks were sent about people.")
DESIGN = gettext_lazy("The design of the study and the audit log.")

# What goes, and the kinds of records (`holdings.py`) that each line is about. Tests hold both against the rules.
ANONYMISED: Mapping[str | Promise, tuple[str, ...]] = {
    gettext_lazy("All messages and replies, the topics of conversations, and notes on flagged replies."): (
        *("turns", "flags", "runs", "conversations"),
    ),
    gettext_lazy("What simulated seekers thought and felt, and profiles made from people's answers."): (
        *("inner_states", "seeker_faults", "seeker_profiles"),
    ),
    gettext_lazy("Everything people wrote in forms: free text, reasons, and forms that were not sent."): (
        *("answers", "verdicts", "reviews", "drafts", "submissions"),
    ),
    gettext_lazy("Interviews: recordings, transcripts, notes, coded passages and candidate dimensions."): (
        *("attachments", "interview_notes", "passages", "candidate_dimensions"),
    ),
    QUESTIONS: ("questions",),
    gettext_lazy(
        "What the team wrote: notes and messages at the safety desk, descriptions of adverse events, and reasons "
        "for decisions and payments. Scores given to applicants are removed too."
    ): (
        *("safety_acts", "risk_events", "adverse_events", "adjudications", "decisions", "board_acts"),
        *("selection_scores", "selection_decisions", "ledger"),
    ),
    REQUESTS: ("calls", "job_items", "deliveries"),
    gettext_lazy("Prolific IDs, and the receipts that people got under My data."): (
        "payees",
        "receipts",
    ),
    gettext_lazy("People's codes and links. Everyone gets a new code, and no link works any more."): (
        *("raters", "participations"),
    ),
}
STAYS_ANONYMISED = (
    gettext_lazy("Scores, chosen options, and which arms people met."),
    gettext_lazy("Numbers and times, such as the length of conversations and the amounts of payments."),
    gettext_lazy("Language and country of people, and which consent form they signed."),
    DESIGN,
)
ERASED: Mapping[str | Promise, tuple[str, ...]] = {
    gettext_lazy(
        "All conversations of people and of imported files, with flags, topics and what was noticed in them."
    ): (*("turns", "flags", "role_plays", "screen_reviews", "runs", "conversations"),),
    gettext_lazy("Profiles made from people's answers, and the simulated conversations held with them."): (
        *("inner_states", "seeker_faults", "seeker_profiles"),
    ),
    gettext_lazy(
        "All answers, ratings and comparisons: those of people and reviewers, and what models gave to the "
        "conversations above."
    ): (
        *("answers", "responses", "verdicts", "comparisons", "pairs", "reviews", "review_items", "adjudications"),
        *("drafts", "submissions", "raters"),
    ),
    gettext_lazy("Interviews: recordings, transcripts, notes, coded passages and candidate dimensions."): (
        *("attachments", "interview_notes", "passages", "interviews", "candidate_dimensions"),
    ),
    QUESTIONS: ("questions",),
    gettext_lazy("Signs of danger that are settled, with their alarms and what the team did about them."): (
        *("alarms", "safety_acts", "risk_events"),
    ),
    gettext_lazy("Decisions about people and their reasons, and scores given to applicants."): (
        *("decisions", "board_acts", "selection_scores", "selection_decisions"),
    ),
    REQUESTS: ("calls", "job_items", "deliveries"),
    gettext_lazy("Consents, draws of arms, Prolific IDs and personal links."): ("consents", "draws", "payees"),
}
STAYS_ERASED = (
    gettext_lazy("People's codes and tracks, that they left, and the receipts for what was deleted."),
    gettext_lazy("Amounts of payments and adverse events, without words, under a code that leads to no one."),
    gettext_lazy("Signs of danger that still wait for someone on call, without words."),
    gettext_lazy("Conversations of simulated seekers whose profiles were not made from people's answers."),
    DESIGN,
)


@require_http_methods(["GET", "POST"])
@study_page_after_timeouts
def anonymise_study(request: HttpRequest, study: Study) -> HttpResponse:
    """Ask for the study's key, then anonymise the study; refused until it is finished."""
    form = TypedKeyForm(study, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            report_anonymised(request, anonymise(study))
        except NotFinished:
            refuse_unfinished(request)
        return redirect("research-life", study.key)
    context = {"form": form, "goes": ANONYMISED, "stays": STAYS_ANONYMISED, **describe_scope(study)}
    return show(request, study, "anonymise", context, status=422 if request.method == "POST" else 200)


@require_http_methods(["GET", "POST"])
@study_page_after_timeouts
def erase_study(request: HttpRequest, study: Study) -> HttpResponse:
    """Ask for the study's key, then delete the data of all people; refused until the study is finished."""
    form = TypedKeyForm(study, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            report_erased(request, erase_everybody(study))
        except NotFinished:
            refuse_unfinished(request)
        return redirect("research-life", study.key)
    signs = open_risks_of_people(study).count()
    context = {"form": form, "goes": ERASED, "stays": STAYS_ERASED, "open_signs": signs, **describe_scope(study)}
    return show(request, study, "erase_study", context, status=422 if request.method == "POST" else 200)


def refuse_unfinished(request: HttpRequest) -> None:
    messages.error(request, _("Nothing has changed: the study is not closed, or people are still taking part."))


def describe_scope(study: Study) -> dict[str, Any]:
    """Return whom an act on the whole study concerns, and whether it can be done now."""
    return {
        "people": study.participations.count(),
        "imported": count_imported(study),
        "under_way": study.under_way(),
        "finished": study.is_finished(),
    }


def count_imported(study: Study) -> int:
    """Count the names in imported conversations and ratings."""
    scope = scope_of_study(study)
    seekers = scope.runs.filter(participation=None).exclude(external_participant="")
    raters = scope.raters.filter(participation=None)
    return len({*seekers.values_list("external_participant", flat=True), *raters.values_list("code", flat=True)})


def report_anonymised(request: HttpRequest, records: AnonymisedRecords) -> None:
    """Show the numbers of anonymised records, and the files that still name someone."""
    message = _(
        "The study is anonymised. People: %(people)d. Records deleted: %(deleted)d, cleared: %(cleared)d. Exports and "
        "results removed: %(folders)d."
    )
    numbers = {
        "people": records.cleared["participations"],
        "deleted": sum(records.deleted.values()),
        "cleared": sum(records.cleared.values()),
        "folders": len(records.folders),
    }
    messages.success(request, message % numbers)
    warn_of_files(request, records.remaining, records.failed)


def report_erased(request: HttpRequest, removed: RemovedRecords) -> None:
    """Show the numbers of deleted records, and the files that still name someone."""
    message = _(
        "The data of all people are deleted. Records deleted: %(rows)d. Exports and results removed: %(folders)d."
    )
    messages.success(request, message % {"rows": sum(removed.rows.values()), "folders": len(removed.folders)})
    warn_of_files(request, removed.remaining, removed.failed)


def warn_of_files(request: HttpRequest, remaining: list[str], failed: list[str]) -> None:
    if remaining:
        message = _("These files on the server still name someone. Delete them unless they must stay: %(files)s")
        messages.warning(request, message % {"files": ", ".join(remaining)})
    if failed:
        message = _(
            "These exports and results could not be removed. The server tries again once an hour; the page Lifecycle "
            "names them until they are gone:"
        )
        messages.error(request, f"{message} {', '.join(failed)}")
