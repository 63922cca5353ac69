"""The page that anonymises a finished study, after it has said what goes and what stays."""

from collections.abc import Mapping

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from studies.data.anonymising import AnonymisedRecords, NotFinished, anonymise
from studies.data.holdings import scope_of_study
from studies.models import Study
from studies.workbench.access import show, study_page_after_timeouts
from studies.workbench.typed_key import TypedKeyForm

# What goes, and the kinds of records (`holdings.py`) that each line is about. A test holds it against the rules.
GOES: Mapping[str | Promise, tuple[str, ...]] = {
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
    gettext_lazy("Questions that people asked the team, and the answers."): ("questions",),
    gettext_lazy(
        "What the team wrote: notes and messages at the safety desk, descriptions of adverse events, and reasons "
        "for decisions and payments. Scores given to applicants are removed too."
    ): (
        *("safety_acts", "risk_events", "adverse_events", "adjudications", "decisions", "board_acts"),
        *("selection_scores", "selection_decisions", "ledger"),
    ),
    gettext_lazy("Requests to models and their answers, and what webhooks were sent about people."): (
        *("calls", "job_items", "deliveries"),
    ),
    gettext_lazy("Prolific IDs, and the receipts that people got under My data."): (
        "payees",
        "receipts",
    ),
    gettext_lazy("People's codes and links. Everyone gets a new code, and no link works any more."): (
        *("raters", "participations"),
    ),
}
STAYS = (
    gettext_lazy("Scores, chosen options, and which arms people met."),
    gettext_lazy("Numbers and times, such as the length of conversations and the amounts of payments."),
    gettext_lazy("Language and country of people, and which consent form they signed."),
    gettext_lazy("The design of the study and the audit log."),
)


@require_http_methods(["GET", "POST"])
@study_page_after_timeouts
def anonymise_study(request: HttpRequest, study: Study) -> HttpResponse:
    """Ask for the study's key, then anonymise the study; refused until it is finished."""
    form = TypedKeyForm(study, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            report(request, anonymise(study))
        except NotFinished:
            messages.error(request, _("Nothing has changed: the study is not closed, or people are still taking part."))
        return redirect("research-life", study.key)
    context = {
        "form": form,
        "goes": GOES,
        "stays": STAYS,
        "people": study.participations.count(),
        "imported": count_imported(study),
        "under_way": study.under_way(),
        "finished": study.is_finished(),
    }
    return show(request, study, "anonymise", context, status=422 if request.method == "POST" else 200)


def count_imported(study: Study) -> int:
    """Count the names in imported conversations and ratings."""
    scope = scope_of_study(study)
    seekers = scope.runs.filter(participation=None).exclude(external_participant="")
    raters = scope.raters.filter(participation=None)
    return len({*seekers.values_list("external_participant", flat=True), *raters.values_list("code", flat=True)})


def report(request: HttpRequest, records: AnonymisedRecords) -> None:
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
    if records.remaining:
        files = ", ".join(records.remaining)
        message = _("These files on the server still name someone. Delete them unless they must stay: %(files)s")
        messages.warning(request, message % {"files": files})
