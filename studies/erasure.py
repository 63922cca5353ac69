"""Removes a person's data everywhere it went. What is left is a code, a track and that they withdrew, to be counted."""

import shutil
from dataclasses import dataclass, field

from django.conf import settings
from django.db import transaction

from dialogue.models import Call, Conversation, InnerState, RiskEvent, Turn
from studies.models import Answer, Consent, Participation, Rater, Response, Task
from studies.models.participation import Status


@dataclass
class Removed:
    """How many rows of each kind, and which files."""

    rows: dict[str, int] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)


def erase(participation: Participation) -> Removed:
    removed = erase_rows(participation)
    removed.folders = remove_exports(participation)
    return removed


@transaction.atomic
def erase_rows(participation: Participation) -> Removed:
    person = Participation.objects.select_for_update().get(pk=participation.pk)
    conversations = Conversation.objects.filter(run__participation=person)
    responses = Response.objects.filter(rater__participation=person) | Response.objects.filter(
        run__participation=person
    )
    removed = Removed(
        {
            "conversations": conversations.count(),
            "turns": Turn.objects.filter(conversation__in=conversations).count(),
            "calls": Call.objects.filter(conversation__in=conversations).count(),
            "inner_states": InnerState.objects.filter(conversation__in=conversations).count(),
            "responses": responses.distinct().count(),
            "answers": Answer.objects.filter(response__in=responses).count(),
            "consents": Consent.objects.filter(participation=person).count(),
            "risk_events": RiskEvent.objects.filter(subject=person.code).count(),
        }
    )
    conversation_ids = list(conversations.values_list("pk", flat=True))
    RiskEvent.objects.filter(subject=person.code).delete()
    person.runs.all().delete()
    Conversation.objects.filter(pk__in=conversation_ids).delete()
    Rater.objects.filter(participation=person).delete()
    person.consents.all().delete()
    person.drafts.all().delete()
    person.submissions.all().delete()
    blank(person)
    return removed


def blank(person: Participation) -> None:
    person.status = Status.WITHDRAWN
    person.language = person.country = person.completion_code = person.exclusion_reason = ""
    person.plan, person.order, person.outcome = [], [], {}
    person.position = 0
    person.order_index = person.last_seen_at = None
    person.token_hash = f"erased-{person.pk}"
    person.save()


def remove_exports(participation: Participation) -> list[str]:
    """Exports and results of the study that lie on this server still hold the person: they go, and can be made anew."""
    folders = []
    for task in Task.objects.filter(study=participation.study).exclude(folder=""):
        path = settings.VAR / task.folder
        if path.exists():
            shutil.rmtree(path)
            folders.append(task.folder)
        task.folder = ""
        task.save(update_fields=["folder"])
    return folders
