"""The socket of the board: says that something has changed, never what: of safety, not all who see the board may know.
The page then fetches its parts anew."""

from typing import Any

from django.db.models import Max
from django.utils.crypto import salted_hmac

from dialogue.models import Turn
from studies.care import desk
from studies.care.consumers import DeskConsumer
from studies.care.questions import find_open
from studies.models import Arm, Study

LATEST = 200  # turns of all studies whose states are watched: those before them have their reply


class BoardConsumer(DeskConsumer):
    """The websocket of the board's page. It sends `{"type": "board", "state"}` at first, and at each change."""

    def read_state(self, study: Study) -> dict[str, Any]:
        return {
            "type": "board",
            "state": salted_hmac("studies.board", repr(get_state(study)), algorithm="sha256").hexdigest(),
        }


def get_state(study: Study) -> dict[str, Any]:
    """Return values that differ whenever the board has changed, except by the passing of time. Nine short queries."""
    people = study.participations.aggregate(newest=Max("pk"), seen=Max("last_seen_at"), ended=Max("ended_at"))
    newest = Turn.objects.aggregate(newest=Max("pk"))["newest"] or 0
    latest = Turn.objects.filter(pk__gt=newest - LATEST, conversation__run__study=study).order_by("pk")
    turns = latest.values_list("pk", "state")
    paused = Arm.objects.filter(protocol__study=study, paused=True).count()
    return {
        "people": [str(value or "") for value in people.values()],
        "turns": [f"{pk} {state}" for pk, state in turns],
        "paused": paused,
        "questions": find_open(study).count(),
        "safety": list(desk.get_state(study)),
    }
