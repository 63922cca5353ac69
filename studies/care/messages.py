"""The text of an alarm: study, the person's code, level, time and link.

It has no word of the conversation and no contact data.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from django.conf import settings
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from dialogue.models import RiskEvent
from studies.care.levels import describe_level
from studies.care.rota import get_zone
from studies.design.spec import StudySpec
from studies.models import Alarm, Participation
from studies.participation.language import CODES

TIME = "%Y-%m-%d %H:%M:%S"


@dataclass(frozen=True)
class Message:
    """An alarm as it leaves this server. `level` is None for a drill; `link` is a path where no address is set."""

    study: str
    person: str
    level: int | None
    at: datetime
    zone: str
    link: str
    languages: tuple[str, ...]
    round: int = 1
    step: int = 1
    lap: int = 1
    answered: bool = False  # "I do not feel safe", not a sign in a text
    in_role: bool = False  # a counsellor's, who plays a seeker: the words may be the role's

    def get_subject(self) -> str:
        if self.level is None:
            return f"[emostudy] Drill: please acknowledge ({self.study})"
        return f"[emostudy] Level {self.level}: please look now ({self.person})"

    def get_local_time(self) -> str:
        return self.at.astimezone(get_zone(self.zone)).strftime(TIME)

    def get_utc_time(self) -> str:
        return self.at.astimezone(UTC).strftime(TIME)

    def get_text(self) -> str:
        """Return the whole text, in each language of the study."""
        parts = []
        for language in self.languages:
            with translation.override(CODES[language]):
                parts.append("\n".join([*self.get_facts(), "", *self.get_words(), "", *self.get_way(), ""]))
        return "\n".join(parts)

    def get_facts(self) -> list[str]:
        person = [] if self.level is None else [_("Person: {code}").format(code=self.person)]
        level = _("drill") if self.level is None else describe_level(self.level)
        local = _("Time ({zone}): {time}").format(zone=self.zone, time=self.get_local_time())
        return [
            _("Study: {study}").format(study=self.study),
            *person,
            _("Level: {level}").format(level=level),
            *([] if self.zone == "UTC" else [local]),
            _("Time (UTC): {time}").format(time=self.get_utc_time()),
        ]

    def get_words(self) -> list[str]:
        if self.level is None:
            return [_("This is a drill. No one is in danger. Please acknowledge it, so that the study can open.")]
        if self.answered:
            words = [_('The person has answered "I do not feel safe" and has been shown where to find help.')]
        else:
            words = [_("The person has been shown where to find help.")]
        if self.in_role:
            words.append(_("This person plays a role, so the words may be the role's. They are asked whose they were."))
        if self.round > 1:
            words.append(_("Something new has happened since the last alarm about this person."))
        if self.lap > 1:
            words.append(_("No one on the list has acknowledged this alarm. It now goes to the first contact again."))
        elif self.step > 1:
            words.append(_("No one before you has acknowledged this alarm in time."))
        return words

    def get_way(self) -> list[str]:
        if self.link.startswith("/"):
            return [
                _("Open {path} on your emostudy server and press the button there.").format(path=self.link),
                _("This server has no BASE_URL, so this message cannot hold a whole link."),
            ]
        return [_("Open this link and press the button there:"), self.link]


def get_message(alarm: Alarm, spec: StudySpec) -> Message:
    """Return the text of an alarm. `spec` is the study's newest version."""
    event = alarm.event
    return Message(
        study=alarm.study.key,
        person=event.subject if event else "",
        level=event.level if event else None,
        at=event.created_at if event else timezone.localtime(alarm.created_at),
        zone=spec.safety.time_zone,
        link=get_link(alarm),
        languages=tuple(language for language in spec.languages if language in CODES) or ("en",),
        **{name: getattr(alarm, name) for name in ("round", "step", "lap")},
        answered=bool(event) and event.source == RiskEvent.Source.ANSWER,
        in_role=bool(event) and is_in_role(event),
    )


def is_in_role(event: RiskEvent) -> bool:
    """Return whether the words of a sign may be those of a role: of a counsellor's message who has not said so yet."""
    people = Participation.objects.filter(code=event.subject, track=Participation.Track.COUNSELLOR)
    return event.source == RiskEvent.Source.MESSAGE and not event.role_answer and people.exists()


def get_link(alarm: Alarm) -> str:
    """Return the address of the page that acknowledges an alarm; only its path where no BASE_URL is known."""
    return settings.BASE_URL + reverse("oncall-alarm", args=[alarm.get_token()])
