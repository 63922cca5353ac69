"""Pages that ask for a reason and then do something to a running study: to an arm, a conversation or a person."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from dialogue.chat.replies import tell_sockets
from dialogue.chat.state import Notice
from dialogue.templatetags.languages import listed, name_of_language
from studies.care.stopping_rules import get_stops
from studies.design.spec import StudySpec
from studies.models import ArmRun, Participation, Study
from studies.models.board import LONGEST_REASON
from studies.participation import board_acts
from studies.participation.enrolment import lacks_arms
from studies.workbench.access import navigation, show, study_page
from studies.workbench.new_links import redirect_to_links


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Why"),
        max_length=LONGEST_REASON,
        strip=True,
        widget=forms.Textarea(attrs={"rows": 2, "class": "short"}),
    )


class TypedCodeForm(ReasonForm):
    """A reason, and the person's code typed to confirm."""

    code = forms.CharField(widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}))

    def __init__(self, code: str, data: Any = None) -> None:
        super().__init__(data)
        self.expected = code
        self.fields["code"].label = _("Type %(key)s to confirm") % {"key": code}

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"].strip()
        if code != self.expected:
            raise forms.ValidationError(_("That is not the code of this person."))
        return code


class EndForm(TypedCodeForm):
    """Also what the person reads as the reason, in their language."""

    told = forms.CharField(
        max_length=LONGEST_REASON, strip=True, widget=forms.Textarea(attrs={"rows": 3, "class": "short"})
    )
    field_order = ("told", "reason", "code")

    def __init__(self, person: Participation, data: Any = None) -> None:
        super().__init__(person.code, data)
        language = name_of_language(person.language)
        self.fields["told"].label = _("What they read as the reason, in %(language)s") % {"language": language}
        self.fields["reason"].label = _("Why, for the team alone")


@dataclass(frozen=True)
class Question:
    """A question that the page asks. `consequences`: sentences; `button`: its words; `back`: where it came from."""

    title: str
    consequences: Sequence[str]
    button: str
    back: str
    warning: str = ""


def ask_why(request: HttpRequest, study: Study, question: Question) -> tuple[HttpResponse | None, str]:
    """Return the page that asks, or None and the reason that was given."""
    form = ReasonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        return None, form.cleaned_data["reason"]
    return page_that_asks(request, study, question, form, status=422 if request.method == "POST" else 200), ""


def page_that_asks(
    request: HttpRequest, study: Study, question: Question, form: forms.Form, *, status: int
) -> HttpResponse:
    context = {"form": form, "question": question, "navigation": navigation(request, study, here=question.back)}
    return show(request, study, "act", context, status=status)


def go_back(request: HttpRequest, question: Question, message: str) -> HttpResponse:
    """Redirect to the question's page and show `message`; an empty one means that nothing was changed."""
    if message:
        messages.success(request, message)
    else:
        messages.info(
            request,
            _("Nothing was changed. Someone may have done this already. Reload the page to see how things stand."),
        )
    return redirect(question.back)


# Arms


@require_http_methods(["GET", "POST"])
@study_page
def pause_arm(request: HttpRequest, study: Study, arm: str) -> HttpResponse:
    question = Question(
        title=_("Pause the arm %(arm)s?") % {"arm": arm},
        consequences=[
            _("People whose arms have not been drawn yet do not get it."),
            *tell_fewer_conversations(study, arm),
            _(
                "People who already have this arm in their order still meet it, so that their comparisons stay "
                "complete."
            ),
            _("You can resume it at any time. Your name and your reason are kept."),
        ],
        button=_("Pause the arm"),
        back=reverse("research-study", args=[study.key]),
        warning=warn_of_missing_arms(study, arm),
    )
    return set_paused(request, study, arm, question, paused=True)


@require_http_methods(["GET", "POST"])
@study_page
def resume_arm(request: HttpRequest, study: Study, arm: str) -> HttpResponse:
    question = Question(
        title=_("Resume the arm %(arm)s?") % {"arm": arm},
        consequences=[_("From now on, new orders include it again. Your name and your reason are kept.")],
        button=_("Resume the arm"),
        back=reverse("research-study", args=[study.key]),
        warning=warn_of_stopping_rule(study, arm),
    )
    return set_paused(request, study, arm, question, paused=False)


def set_paused(request: HttpRequest, study: Study, arm: str, question: Question, *, paused: bool) -> HttpResponse:
    get_object_or_404(study.current().arms, key=arm)
    page, reason = ask_why(request, study, question)
    if page:
        return page
    is_changed = board_acts.set_paused(study, arm, paused=paused, by=request.user, reason=reason)
    message = _("%(arm)s is paused.") if paused else _("%(arm)s is in use again.")
    return go_back(request, question, message % {"arm": arm} if is_changed else "")


def warn_of_stopping_rule(study: Study, arm: str) -> str:
    """Return a warning if a stopping rule has paused this arm."""
    if arm not in get_stops(study):
        return ""
    return _("A stopping rule of the study has paused this arm. Resume it only after the safety officer has agreed.")


def tell_fewer_conversations(study: Study, arm: str) -> list[str]:
    """Return a sentence if new people meet all arms that there are, and so fewer without this one."""
    spec = study.current().spec()
    before, after = len(spec.arms), len(without(spec, arm).arms)
    if spec.order.arms_per_person or spec.order.counsellors or after == before:
        return []
    sentence = ngettext(
        "They then have %(after)d conversation instead of %(before)d, because in this study everyone meets all arms.",
        "They then have %(after)d conversations instead of %(before)d, because in this study everyone meets all arms.",
        after,
    )
    return [sentence % {"after": after, "before": before}]


def without(spec: StudySpec, arm: str) -> StudySpec:
    return replace(spec, arms=tuple(one for one in spec.arms if one.key != arm))


def warn_of_missing_arms(study: Study, arm: str) -> str:
    """Return a warning if new people could not start without this arm."""
    others = without(study.current().spec(), arm)
    tracks = [track.label for track in Participation.Track if lacks_arms(others, track)]
    if not tracks:
        return ""
    return _("Without it no one new can start (%(tracks)s), because there are fewer arms than each person needs.") % {
        "tracks": listed(tracks)
    }


# Conversations


@require_http_methods(["GET", "POST"])
@study_page
def mark_invalid(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    run = run_of(study, code)
    question = Question(
        title=_("Leave out the conversation %(code)s?") % {"code": code},
        consequences=[
            _("Analyses leave it out, with all its ratings. It stays in exports with valid = false."),
            _("The person's pay, code and other conversations are not affected."),
            _("You can count it again. Your name and your reason are kept. Decide without looking at its ratings."),
        ],
        button=_("Leave it out"),
        back=reverse("research-conversation", args=[study.key, code]),
    )
    page, reason = ask_why(request, study, question)
    if page:
        return page
    is_changed = board_acts.mark_invalid(run, by=request.user, reason=reason)
    return go_back(request, question, _("The conversation is left out of results.") if is_changed else "")


@require_http_methods(["GET", "POST"])
@study_page
def mark_valid(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    run = run_of(study, code)
    question = Question(
        title=_("Count the conversation %(code)s again?") % {"code": code},
        consequences=[_("Results include it again, unless two coders have excluded it.")],
        button=_("Count it again"),
        back=reverse("research-conversation", args=[study.key, code]),
    )
    page, reason = ask_why(request, study, question)
    if page:
        return page
    is_changed = board_acts.mark_valid(run, by=request.user, reason=reason)
    return go_back(request, question, _("The conversation counts in results again.") if is_changed else "")


def run_of(study: Study, code: str) -> ArmRun:
    return get_object_or_404(study.runs.select_related("conversation"), conversation__code=code)


# Links


@require_http_methods(["GET", "POST"])
@study_page
def reissue_link(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    """Make a new link and lead to the page that shows it for a few minutes; only its hash is stored."""
    person = person_of(study, code)
    if not board_acts.may_have_link(person):
        raise Http404
    question = Question(
        title=_("Give %(code)s a new link?") % {"code": code},
        consequences=[
            _("The old link stops working, and browsers in which it was opened are signed out."),
            _("With the new link, they continue where they were. Nothing is lost."),
            _("The next page shows the new link for a few minutes. Send it to this person only."),
        ],
        button=_("Make a new link"),
        back=reverse("research-person", args=[study.key, code]),
    )
    page, reason = ask_why(request, study, question)
    if page:
        return page
    key = board_acts.reissue_link(person, by=request.user, reason=reason)
    link = request.build_absolute_uri(reverse("join", args=[key]))
    return redirect_to_links(request, study, [(person.code, person.track, link)], back=question.back)


# People


@require_http_methods(["GET", "POST"])
@study_page
def pause_person(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    person = person_of(study, code)
    question = Question(
        title=_("Pause %(code)s?") % {"code": code},
        consequences=[
            _("Their page says that the team has paused their part. They can still ask the team and get help."),
            _("A reply that is on its way still reaches them. After that, their conversation is paused."),
            _("They keep their place and are not timed out. You can let them continue at any time, where they were."),
        ],
        button=_("Pause this person"),
        back=reverse("research-person", args=[study.key, code]),
    )
    page, reason = ask_why(request, study, question)
    if page:
        return page
    notices = board_acts.pause_person(person, by=request.user, reason=reason)
    return tell_and_go_back(request, question, notices, _("%(code)s is paused.") % {"code": code})


@require_http_methods(["GET", "POST"])
@study_page
def resume_person(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    person = person_of(study, code)
    question = Question(
        title=_("Let %(code)s continue?") % {"code": code},
        consequences=[_("Their page opens where they were. If they have left it open, it does so automatically.")],
        button=_("Let them continue"),
        back=reverse("research-person", args=[study.key, code]),
    )
    page, reason = ask_why(request, study, question)
    if page:
        return page
    is_changed = board_acts.resume_person(person, by=request.user, reason=reason)
    return go_back(request, question, _("%(code)s can continue.") % {"code": code} if is_changed else "")


@require_http_methods(["GET", "POST"])
@study_page
def end_person(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    person = person_of(study, code)
    question = Question(
        title=_("End the study for %(code)s?") % {"code": code},
        consequences=[
            _("They see thanks, your reason, where to find help, and a completion code. An open conversation ends."),
            _("They are owed what they would get for completing, without the bonus. Their data stay."),
            _("You cannot take this back. To stop them only for a while, pause them."),
        ],
        button=_("End it for this person"),
        back=reverse("research-person", args=[study.key, code]),
    )
    form = EndForm(person, request.POST or None)
    if not form.is_valid():
        return page_that_asks(request, study, question, form, status=422 if request.method == "POST" else 200)
    texts = {"reason": form.cleaned_data["reason"], "told": form.cleaned_data["told"]}
    try:
        notices = board_acts.end_person(person, by=request.user, **texts)
    except board_acts.ReplyUnderWay:
        form.add_error(None, _("A reply is being written to them. Please wait a moment, and press the button again."))
        return page_that_asks(request, study, question, form, status=409)
    return tell_and_go_back(request, question, notices, _("The study has ended for %(code)s.") % {"code": code})


def tell_and_go_back(
    request: HttpRequest, question: Question, notices: list[Notice] | None, message: str
) -> HttpResponse:
    """Send the notices after the commit, because other processes read the database, and go back."""
    transaction.on_commit(lambda: tell_sockets(notices or ()))
    return go_back(request, question, "" if notices is None else message)


def person_of(study: Study, code: str) -> Participation:
    return get_object_or_404(study.participations.select_related("study"), code=code)
