"""Words for the desk about a sign of danger: what found it, which page the person saw, and where their study stands
because of it. All of it follows from what is stored."""

from collections.abc import Iterator
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dialogue.models import RiskEvent, Turn
from dialogue.models.conversation import Status as ConversationStatus
from dialogue.models.conversation import TurnState
from dialogue.safety.screening import CLASSIFIER
from dialogue.safety.second_line import ENTRY as SECOND_LINE
from studies.care.answers import CONTINUES, PERSON, UNSAFE, WORSENING
from studies.care.form_words import WRITTEN
from studies.care.questions import ASKED
from studies.models import Alarm, Participation, SafetyAct
from studies.models.participation import Status
from studies.models.safety import name_contact
from studies.participation.counts import status_label
from studies.workbench.delivery_faults import describe_fault

Kind, Source = SafetyAct.Kind, RiskEvent.Source
Words = str | Promise

# What an act keeps as a code, and its words.
READ = "read"  # the text of an act by which a person says that they have read a message
DELETED = "deleted"  # the text of the act that tells that a person had their data deleted
ANSWERS: dict[str, Words] = {
    **dict(RiskEvent.SafeAnswer.choices),
    "role": gettext_lazy("The words were part of the role"),
    "me": gettext_lazy("The words were their own"),
    CONTINUES: gettext_lazy("Safe for today, and continues"),
    "follow_up": gettext_lazy("Would like someone to write"),
    READ: gettext_lazy("Has read the message"),
    DELETED: gettext_lazy("Has left, and had all their data deleted"),
    "real": gettext_lazy("Grave danger"),
    "false alarm": gettext_lazy("False alarm"),
}
CODES: dict[SafetyAct.Kind, dict[str, Words]] = {
    Kind.ALARMED: dict(Alarm.Channel.choices),
    Kind.ANSWERED: ANSWERS,
    Kind.REVIEWED: ANSWERS,
}
ENTRIES: dict[str, Words] = {
    UNSAFE: gettext_lazy("the person pressed “I do not feel safe”"),
    WORSENING: gettext_lazy("the person felt much worse after the conversation"),
    ASKED: gettext_lazy("in a question to the team"),
    WRITTEN: gettext_lazy("in an answer to a form"),
    CLASSIFIER: gettext_lazy("the classifier of the screen"),
    SECOND_LINE: gettext_lazy("the second line of the screen"),
}
CATEGORIES: dict[str, Words] = {
    "active_ideation": gettext_lazy("words about suicide"),
    "passive_ideation": gettext_lazy("words about wishing to be dead"),
    "attempt": gettext_lazy("words about a suicide attempt"),
    "past_attempt": gettext_lazy("words about an earlier suicide attempt"),
    "plan_or_preparation": gettext_lazy("words about a plan or preparations"),
    "means": gettext_lazy("words about means of suicide"),
    "method_named": gettext_lazy("words that name a method"),
    "timing": gettext_lazy("words about when"),
    "farewell": gettext_lazy("words of farewell"),
    "self_harm": gettext_lazy("words about self-harm"),
    "hopelessness": gettext_lazy("words of hopelessness"),
    "isolation": gettext_lazy("words about being alone"),
    "burden": gettext_lazy("words about being a burden"),
    "danger_to_others": gettext_lazy("words about hurting someone else"),
    "violence_from_others": gettext_lazy("words about violence from others"),
    "self": gettext_lazy("danger to themselves"),
    "to_others": gettext_lazy("danger to someone else"),
    "from_others": gettext_lazy("danger from others"),
    "child": gettext_lazy("a child is named, or writes"),
    # Of a reply
    "encouragement": gettext_lazy("a reply that encourages harm"),
    "method": gettext_lazy("a reply that tells a method"),
    "dangerous_advice": gettext_lazy("a reply with dangerous advice"),
    "belittling": gettext_lazy("a reply that belittles danger"),
}


def describe_findings(event: RiskEvent) -> list[Words]:
    """Return the sources of a sign, in words."""
    entries, categories = event.entries, event.categories
    by_pattern = any(entry not in ENTRIES for entry in entries)
    of_patterns = [_("words that the screen knows")] if by_pattern and not categories else []
    about = [CATEGORIES.get(category, category) for category in categories]
    return [*(words for entry, words in ENTRIES.items() if entry in entries), *about, *of_patterns]


def describe_role_answer(event: RiskEvent) -> Words:
    """Return whose words a counsellor said that these were; empty where they have not said so."""
    return ANSWERS.get(event.role_answer, event.role_answer)


class ShownAct(NamedTuple):
    """An act as the desk shows it: what kind of act it is, and its text. `who` is empty where the kind says it."""

    act: SafetyAct
    kind: Words
    text: Words
    who: str


def show_act(act: SafetyAct, event: RiskEvent) -> ShownAct:
    """Return an act in words. Where a sign was only suspected, the person continued without a second question, and has
    not said more than that they are safe."""
    who = "" if act.by_name == PERSON else name_contact(act.by_name)
    if act.kind == Kind.ANSWERED and act.text == CONTINUES and event.suspected:
        return ShownAct(
            act, _("Continued"), _("At once after “Yes, I am safe”, since the sign was only suspected"), who
        )
    words = CODES.get(Kind(act.kind), {})
    text = describe_fault(act.fault) or words.get(act.text, act.text)
    return ShownAct(act, act.get_kind_display(), text, who)


def show_act_to_stranger(act: SafetyAct, event: RiskEvent) -> ShownAct:
    """Return an act for the page behind an alarm's link. What someone wrote stays on the desk; a code does not."""
    shown = show_act(act, event)
    return shown if act.kind in CODES else shown._replace(text="")


def describe_page(event: RiskEvent) -> str:
    """Return a description of the page that the person saw after the sign."""
    role_play = event.conversation is not None and event.conversation.role_play
    if event.source == Source.REPLY:
        return _("A standard text in place of the reply, and help")
    if event.source == Source.ANSWER:
        return _("The page with help") if event.level >= 3 else _("A card with help")
    if event.level == 4:
        return _("The page that waits, with help") if role_play else _("The page that ends the study, with help")
    if role_play:
        is_quiet = event.level == 2 and event.entries == [CLASSIFIER]
        return (
            _("Nothing: the role's words are often dark") if is_quiet else _("A bar that asks whose words these were")
        )
    return _("The page that waits, with help") if event.level == 3 else _("A card with help")


def waits(event: RiskEvent, person: Participation | None) -> bool:
    """Return whether the person waits because of this sign."""
    is_held = person is not None and person.status == Status.HELD
    return is_held and event.released_at is None and event.continued_at is None


def has_held_message(event: RiskEvent) -> bool:
    """Return whether a release lets a message have its reply."""
    talk = event.conversation
    if talk is None or talk.status != ConversationStatus.HELD:
        return False
    return Turn.objects.filter(conversation=talk, state=TurnState.HELD).exists()


def describe_standing(event: RiskEvent, person: Participation | None) -> str:
    """Return where the person's study stands."""
    if person is None:
        return "–"
    if waits(event, person):
        return _("On hold")
    if person.status == Status.STOPPED:
        return _("Ended for safety")
    if event.continued_at and not person.is_over() and person.status != Status.HELD:
        return _("Continued by their own answer")
    return status_label(person.status)


def describe_release(event: RiskEvent, person: Participation | None) -> Iterator[str]:
    """Yield the sentences that say what a release does."""
    if waits(event, person):
        yield _("Releasing lets the person continue.")
        if has_held_message(event):
            yield _("The held message then gets a reply.")
    else:
        yield _("Releasing confirms that someone has taken care of this.")
        if person is not None and person.status == Status.STOPPED:
            yield _("The study has ended for this person, and releasing does not change that.")
        elif event.continued_at:
            yield _("The person has already continued by their own answer.")
        else:
            yield _("No one waits for it.")
    yield _("Say what was done.")
