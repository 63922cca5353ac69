"""Replies that a counsellor marks while chatting. A mark that is changed or taken back stays, with the time of that."""

from collections.abc import Mapping

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from dialogue.models import Turn
from studies.instruments.forms import InstrumentForm, form_for
from studies.instruments.loading import load
from studies.models import ArmRun, Flag

INSTRUMENT = "reply_flags"


def get_standing_flags(run: ArmRun) -> QuerySet[Flag]:
    return run.flags.filter(withdrawn_at=None)


@transaction.atomic
def flag_reply(*, run: ArmRun, turn: Turn, reason: str, note: str) -> Flag:
    """Mark a reply, in place of how it was marked before. Saying the same again changes nothing."""
    ArmRun.objects.select_for_update().values_list("pk").get(pk=run.pk)
    flag = get_standing_flags(run).filter(turn=turn.number).first()
    if flag and (flag.reason, flag.note) == (reason, note):
        return flag
    take_back(run=run, turn=turn)
    return Flag.objects.create(run=run, turn=turn.number, reason=reason, note=note, reply=turn.reply)


def take_back(*, run: ArmRun, turn: Turn) -> None:
    get_standing_flags(run).filter(turn=turn.number).update(withdrawn_at=timezone.now())


def form_of(*, language: str, data: Mapping[str, str]) -> InstrumentForm:
    """Return the form with the fault that only the two answers together can have."""
    questionnaire = load(INSTRUMENT)
    form = form_for(questionnaire, language=language, data=data)
    answers = form.given_answers() if form.is_valid() else {}
    if answers.get("reason") in questionnaire.raw["needs_note"] and "note" not in answers:
        form.add_error("note", _("Please say in a few words what you noticed about this reply."))
    return form


def words_of(one: Flag, language: str) -> str:
    option = load(INSTRUMENT).item("reason").option(one.reason)
    return option.text[language] if option else one.reason


def show_flag(one: Flag, language: str) -> dict[str, object]:
    """Return a flag as the counsellor's page knows it."""
    return {"turn": one.turn, "reason": one.reason, "words": words_of(one, language), "note": one.note}
