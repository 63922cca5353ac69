"""The role card next to a counsellor's conversation, with ticks for the behaviours they played."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from studies.models import Participation
from studies.participation.submissions import accept_once
from studies.person.role_play import role_play_of
from studies.person.study import confirm_saved, needs_person
from studies.setup.cards import tick


@require_POST
@needs_person
@accept_once(confirm_saved)
def tick_behaviour(request: HttpRequest, person: Participation) -> HttpResponse:
    """Set or remove a tick. `run` names the conversation, because another tab may be one behind."""
    run = role_play_of(person)
    behaviour = request.POST.get("behaviour", "")
    if run is None or request.POST.get("run") != str(run.position):
        return JsonResponse({"error": _("This conversation is over.")}, status=400)
    if not tick(run=run, behaviour=behaviour, played=request.POST.get("played") == "yes"):
        return JsonResponse({"error": _("The card has no such behaviour.")}, status=400)
    return JsonResponse({"saved": True})
