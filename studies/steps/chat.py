import json

from django.db import transaction
from django.utils.translation import gettext_lazy

from dialogue.chat import lifecycle, signs
from dialogue.chat.access import grant
from dialogue.models import Conversation
from dialogue.models.conversation import Status, TurnState
from dialogue.safety.resources import lines_for
from dialogue.templatetags.languages import html_language
from studies.care import answers
from studies.care.form_words import find_words, screen_words
from studies.design.plan import Step
from studies.instruments.forms import InstrumentForm, form_for
from studies.instruments.loading import load
from studies.models import Answer, ArmRun, Participation, RolePlay
from studies.participation import chats, progress
from studies.participation.responses import rater_for, store_response, turns_seen
from studies.participation.step_kinds import Page, StepKind, StoredData, Visit, Way, Work, register
from studies.participation.submissions import NeedsCorrection
from studies.role_play import flags
from studies.role_play.shown_card import ShownCard, show_card
from studies.steps.stalled import page_when_stalled

MINUTES_PER_TURN = 0.75


class Chat(StepKind):
    """A conversation with one partner, and the ratings for which it waits."""

    label = gettext_lazy("chat")

    def work(self, step: Step, way: Way) -> Work:
        return Work(0, MINUTES_PER_TURN * way.spec.chat.min_turns)

    def is_stored(self, step: Step, stored: StoredData) -> bool:
        run = stored.runs.get(step.run)
        return run is not None and run.conversation is not None and bool(run.conversation.end_reason)

    def show(self, visit: Visit) -> Page | None:
        try:
            run = chats.get_or_open_run(visit.participation, visit.step.run)
        except chats.ArmGone:
            return page_when_stalled(visit)
        conversation = run.conversation
        assert conversation is not None  # noqa: S101 - it has just been opened
        if conversation.status == Status.CLOSED:
            progress.advance(visit.participation, done=visit.step)
            return None
        if conversation.status == Status.PAUSED:
            refused = visit.answers_to_correct(str(conversation.answered_turns()))
            return self.checkpoint_page(visit, run, self.checkpoint(visit, conversation, data=refused))
        grant(visit.request.session, conversation)
        return Page("dialogue/chat.html", {"chat": chat_context(conversation, visit)})

    def checkpoint(self, visit: Visit, conversation: Conversation, data: object = None) -> InstrumentForm:
        questionnaire = load(visit.spec.chat.checkpoint_instrument)
        draft = visit.draft(str(conversation.answered_turns()))
        return form_for(
            questionnaire,
            language=visit.language,
            track=visit.track,
            earlier=draft,
            item_seed=visit.item_seed(questionnaire),
            data=data,
        )

    def checkpoint_page(self, visit: Visit, run: ArmRun, form: InstrumentForm) -> Page:
        assert run.conversation is not None  # noqa: S101 - opened before
        count = since_last_pause(run.conversation)
        turns = run.conversation.turns.order_by("-number")[:count]
        questionnaire = load(visit.spec.chat.checkpoint_instrument)
        context = {
            "form": form,
            "questionnaire": questionnaire,
            "opening_language": run.conversation.language_of(0),
            "opening": run.conversation.opening if count == run.conversation.answered_turns() else "",
            "turns": list(reversed(turns)),
            "partner": run.position,
            "answered": run.conversation.answered_turns(),
        }
        return Page("studies/steps/checkpoint.html", context)

    def accept(self, visit: Visit) -> bool:
        run = chats.find_run(visit.participation, visit.step.run)
        if run is None or run.conversation is None or run.conversation.status != Status.PAUSED:
            return False
        if "checkpoint" not in visit.request.POST:
            return False
        form = self.checkpoint(visit, run.conversation, data=visit.request.POST)
        if not form.is_valid():
            raise NeedsCorrection
        self.save_checkpoint(visit, run, form)
        return True

    @transaction.atomic
    def save_checkpoint(self, visit: Visit, run: ArmRun, form: InstrumentForm) -> None:
        """Store the rating and resume the conversation, both or neither."""
        assert run.conversation is not None  # noqa: S101 - opened before
        if visit.request.POST.get("checkpoint") != str(run.conversation.answered_turns()):
            return  # the form of an earlier checkpoint, sent again
        questionnaire, values = load(visit.spec.chat.checkpoint_instrument), form.cleaned_answers()
        store_response(
            rater_for(visit.participation),
            questionnaire,
            values,
            run=run,
            moment="checkpoint",
            turn=run.conversation.answered_turns(),
            language=visit.language,
            turns=turns_seen(run, first_since_last_pause(run.conversation)),
            seconds=visit.seconds,
        )
        lifecycle.resume(run.conversation.pk)
        words = find_words(visit.participation, questionnaire, values)
        visit.shows_danger = screen_words(visit.participation, words, run)


def since_last_pause(conversation: Conversation) -> int:
    """Return how many turns the rating is about: those since the previous checkpoint."""
    now = conversation.answered_turns()
    earlier = [pause for pause in conversation.pause_after if pause < now]
    return now - max(earlier, default=0)


def first_since_last_pause(conversation: Conversation) -> int:
    """Return the number of the first of these turns; failed ones have a number but are not counted."""
    numbers = conversation.turns.filter(state=TurnState.ANSWERED).order_by("-number").values_list("number", flat=True)
    return min(numbers[: since_last_pause(conversation)], default=1)


def needs_help(person: Participation, conversation: Conversation) -> bool:
    """Return whether the card with help stands open: after the last turn, or after words in a form."""
    after_turn = conversation.started_at is not None and signs.needs_help(conversation)
    return after_turn or answers.awaits_answer(answers.get_event(person))


def chat_context(conversation: Conversation, visit: Visit) -> dict[str, object]:
    """Return the context of the chat page, which names no supporter."""
    return {
        "code": conversation.code,
        "partner": visit.step.run,
        "opening": conversation.opening,
        "opening_language": conversation.language_of(0),
        "spoken": conversation.language,
        "earlier_languages": json.dumps(list_earlier_languages(conversation)),
        "answered": conversation.answered_turns() if conversation.started_at else 0,
        "is_rated_next": is_rated_next(visit),
        "min_turns": conversation.min_turns,
        "max_turns": conversation.max_turns,
        "role_play": conversation.role_play,
        "same_topic": visit.spec.chat.for_track(visit.participation.track).topic == "keep" and visit.step.run > 1,
        "timings": conversation.timings,
        "rate_each_reply": visit.spec.chat.rate_each_reply,
        "reply_ratings": get_reply_ratings(visit, conversation) if visit.spec.chat.rate_each_reply else "",
        "reply_item": visit.reword(load("reply_rating")).items[0] if visit.spec.chat.rate_each_reply else None,
        **(flag_context(conversation.run, visit.language) if conversation.role_play else {}),
        "card": card_of(conversation.run) if conversation.role_play else None,
        "language": visit.language,
        "needs_help": needs_help(visit.participation, conversation),
        "resources": lines_for(visit.participation.country or visit.spec.country, level=2, category="self"),
    }


def get_reply_ratings(visit: Visit, conversation: Conversation) -> str:
    """Return as JSON the person's rating of each reply that has one, by its turn."""
    rated = Answer.objects.filter(
        response__run__conversation=conversation,
        response__moment="turn",
        response__rater__participation=visit.participation,
        value__isnull=False,
    )
    return json.dumps({turn: int(value) for turn, value in rated.values_list("response__turn", "value")})


def list_earlier_languages(conversation: Conversation) -> list[tuple[int, str]]:
    """Return the languages that the person has left, each with its last turn, as HTML names them."""
    earlier = zip(conversation.earlier_languages, conversation.switched_after, strict=True)
    return [(last, html_language(language)) for language, last in earlier]


def is_rated_next(visit: Visit) -> bool:
    """Return whether a rating of the conversation is the next step after it."""
    steps = visit.participation.steps()
    position = visit.participation.position + 1
    return position < len(steps) and (steps[position].kind, steps[position].run) == ("rating", visit.step.run)


def flag_context(run: ArmRun, language: str) -> dict[str, object]:
    """Return what a counsellor may flag of a reply, and what they have flagged."""
    return {
        "flag_items": load(flags.INSTRUMENT).items,
        "flags": [flags.show_flag(one, language) for one in flags.get_standing_flags(run)],
    }


def card_of(run: ArmRun) -> ShownCard | None:
    """Return the role card as it was when the conversation was opened, with its ticks."""
    role_play = RolePlay.objects.filter(run=run).first()
    return show_card(role_play.card, role_play.played) if role_play and role_play.card else None


register("chat", Chat())
