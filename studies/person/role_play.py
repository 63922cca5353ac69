"""A counsellor's actions next to the conversation: flag replies, and step out of the role."""

from collections.abc import Callable
from contextlib import suppress

from django.db.models import F
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from dialogue.chat import lifecycle, state
from dialogue.input_checks import MOST_TURNS, int_from
from dialogue.models import Turn
from dialogue.models.conversation import Status, TurnState
from dialogue.safety.resources import resources_for
from studies.care import answers
from studies.models import ArmRun, Participation, RolePlay
from studies.participation import progress
from studies.participation.chats import find_run
from studies.participation.language import instrument_language
from studies.participation.submissions import accept_once
from studies.person.study import country_of, needs_person, page_context, participation_for
from studies.role_play import flags


def role_play_of(person: Participation) -> ArmRun | None:
    """Return the run in which this person is playing a role now."""
    step = progress.current_step(person)
    run = find_run(person, step.run) if step.kind == "chat" else None
    return run if run and run.conversation and run.conversation.role_play else None


def reply_in_form(request: HttpRequest, person: Participation | None) -> tuple[ArmRun, Turn] | None:
    """Return the reply that a form is about, if it stands in the conversation that the person is playing now."""
    run = role_play_of(person) if person else None
    number = int_from(request.POST.get("turn"), 1, MOST_TURNS)
    if run is None or run.conversation is None or number is None:
        return None
    turn = run.conversation.turns.filter(number=number, state=TurnState.ANSWERED).first()
    return (run, turn) if turn else None


def flag_response(request: HttpRequest) -> HttpResponse:
    meant = reply_in_form(request, participation_for(request))
    one = flags.get_standing_flags(meant[0]).filter(turn=meant[1].number).first() if meant else None
    return JsonResponse({"flag": flags.show_flag(one, instrument_language()) if one else None})


@require_POST
@needs_person
@accept_once(flag_response)
def flag_reply(request: HttpRequest, person: Participation) -> HttpResponse:
    """Save or withdraw a flag (`act`), and answer with the flag that stands then or with what is wrong."""
    meant = reply_in_form(request, person)
    if meant is None:
        return JsonResponse({"error": _("The open conversation has no such reply.")}, status=400)
    run, turn = meant
    if request.POST.get("act") == "withdraw":
        flags.take_back(run=run, turn=turn)
        return flag_response(request)
    form = flags.form_of(language=instrument_language(), data=request.POST)
    if form.errors:
        return JsonResponse({"error": next(iter(form.errors.values()))[0]}, status=400)
    flags.flag_reply(run=run, turn=turn, reason=form.cleaned_data["reason"], note=form.cleaned_data["note"])
    return flag_response(request)


@require_http_methods(["GET", "POST"])
@needs_person
@accept_once(lambda _request: redirect("study-step-out"))
def step_out(request: HttpRequest, person: Participation) -> HttpResponse:
    """Show a page outside the role. The conversation waits unless it is stopped here."""
    run = role_play_of(person)
    if run is None or run.conversation is None or run.conversation.status != Status.OPEN:
        return redirect("study")
    if request.method == "POST":
        act = ACTS.get(request.POST.get("act", ""))
        return act(person, run) if act else redirect("study-step-out")
    context = {
        **page_context(person),
        "resources": resources_for(country_of(person)),
        "is_test": person.is_test,
        "may_skip": run.conversation.answered_turns() == 0,
    }
    return render(request, "studies/step_out.html", context)


def leave_role(_person: Participation, run: ArmRun) -> HttpResponse:
    RolePlay.objects.filter(run=run).update(stepped_out=F("stepped_out") + 1)
    return redirect("study-step-out")


def stop_conversation(_person: Participation, run: ArmRun) -> HttpResponse:
    with suppress(state.ChatRefused):  # it has ended meanwhile, or the team has paused the person
        lifecycle.end(run.conversation_id, early=True)
    return redirect("study")


def skip_role(person: Participation, run: ArmRun) -> HttpResponse:
    """End a conversation in which no reply has come yet, without its ratings; once one has come, stop it as usual."""
    with suppress(state.ChatRefused):  # as above; then its ratings stay
        lifecycle.end(run.conversation_id, early=True)
        if run.conversation is not None and run.conversation.answered_turns() == 0:
            progress.drop_ratings(person, run=run.position)
    return redirect("study")


def say_unsafe(person: Participation, run: ArmRun) -> HttpResponse:
    answers.record_unsafe(person, run)
    return redirect("study")


ACTS: dict[str, Callable[[Participation, ArmRun], HttpResponse]] = {
    "out": leave_role,
    "stop": stop_conversation,
    "skip": skip_role,
    "unsafe": say_unsafe,
}
