"""Check what a study needs before it is opened to real people.

A study whose arms are all scripts needs no one on call, no answers of models and no rehearsal: no one is told anything
that was not written before.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from dialogue.models import Call
from dialogue.safety.resources import list_version
from dialogue.templatetags.languages import in_brackets, listed
from studies.care.alarms import CONSOLE
from studies.care.opening_requirements import DAYS, RESOURCE_DAYS, SCRIPTED, lacks_drill, needs_lines_tried
from studies.care.rota import get_contacts
from studies.design.retention_spec import DAYS as DAYS_KEPT
from studies.design.retention_spec import RetentionSpec
from studies.design.spec import StudySpec
from studies.models import Participation, ResourceCheck, Study
from studies.models.participation import Status
from studies.participation.consent import template
from studies.workbench.labels import country_name

ANSWER_DAYS = 7  # for which an arm's answer to the test question holds
GOOD = ("ok", "truncated")
NEEDED_VALUES = ("pi_name", "contact_email", "withdrawal_deadline", "retention_end")
EXAMPLE = ("@example.org", "@example.com", "@example.net")  # addresses that reach no one (RFC 2606)


@dataclass(frozen=True)
class Requirement:
    """Something that has to be there. `advice`: what to do, with a command or the name of a page at `route`."""

    code: str
    met: bool
    text: str
    advice: str
    route: str = ""


def find_missing(study: Study) -> list[Requirement]:
    return [each for each in list_requirements(study) if not each.met]


def list_requirements(study: Study) -> list[Requirement]:
    """Return all that this study needs, met or not; nothing for the demonstration."""
    if study.is_demo():
        return []
    spec = study.current().spec()
    requirements = []
    if any(step.kind == "consent" for step in spec.steps):
        requirements += [consent_values(spec), contact(spec), resources(study, spec)]
        requirements += [consent_of_pay(spec)] if spec.payment else []
    if any(step.kind == "chats" for step in spec.steps):
        requirements += [consent_of_oncall(spec), reach(spec)]
    if spec.retention:
        requirements.append(days_to_come(spec.retention))
    if chats_with_models(study, spec):
        requirements += [drill(study), answers(study), *rehearsals(study, spec)]
    return requirements


def chats_with_models(study: Study, spec: StudySpec) -> bool:
    chats = any(step.kind == "chats" for step in spec.steps)
    return chats and study.current().arms.filter(paused=False).exclude(kind=SCRIPTED).exists()


def consent_values(spec: StudySpec) -> Requirement:
    """Return the requirement that the consent form names who is responsible, a contact, and how long data are kept."""
    assert spec.consent is not None  # noqa: S101 - there is a consent step
    names = listed(name for name in NEEDED_VALUES if not all_filled(spec, name))
    return Requirement(
        "consent",
        not names,
        _(
            "The consent form names who is responsible, whom to write to, until when people can withdraw, and how long "
            "their data are kept."
        ),
        _("Fill in under [consent]: %(names)s") % {"names": names},
        "research-design",
    )


def consent_of_oncall(spec: StudySpec) -> Requirement:
    """Return the requirement that the consent form does not deny that someone is on call."""
    return Requirement(
        "consent-oncall",
        not denies(spec, "oncall_role"),
        _("The consent form tells people about the person on call."),
        _(
            "It says that nobody is on call, but an alarm goes to someone. Fill in under [consent]: oncall_role, "
            "oncall_channel, oncall_hours"
        ),
        "research-design",
    )


def consent_of_pay(spec: StudySpec) -> Requirement:
    """Return the requirement that the consent form does not deny what the section Payment pays."""
    return Requirement(
        "consent-pay",
        not denies(spec, "pay_rate"),
        _("The consent form tells people about their pay."),
        _(
            "It says that people are not paid, but the section Payment pays them. Fill in under [consent]: pay_rate, "
            "pay_method"
        ),
        "research-design",
    )


def denies(spec: StudySpec, name: str) -> bool:
    """Return whether people read the part of the form that stands where this value is empty."""
    assert spec.consent is not None  # noqa: S101 - there is a consent step
    sections = template(spec.consent.instrument)["sections"]
    has_part = any(f"{{{{if_no_{name}}}}}" in text for section in sections for text in section["text"].values())
    return has_part and not all_filled(spec, name)


def all_filled(spec: StudySpec, name: str) -> bool:
    texts = spec.consent_values().get(name, {})
    return bool(texts) and all(text.strip() for text in texts.values())


def contact(spec: StudySpec) -> Requirement:
    """Return whether the addresses that people read are the study's own, here and in the consent form."""
    assert spec.consent is not None  # noqa: S101 - there is a consent step
    named = [spec.contact, *spec.consent.values.get("contact_email", {}).values()]
    wrong = listed(dict.fromkeys(address for address in named if not address or address.endswith(EXAMPLE)))
    return Requirement(
        "contact",
        all(named) and not wrong,
        _("People can write to someone who reads it."),
        _("Set contact and contact_email to an address of yours; now it is %(address)s.") % {"address": wrong},
        "research-design",
    )


def resources(study: Study, spec: StudySpec) -> Requirement:
    return Requirement(
        "resources",
        not needs_lines_tried(study),
        _("Someone on your team has tried each help line for people in %(country)s in the last %(days)d days.")
        % {"country": country_name(spec.country), "days": RESOURCE_DAYS},
        _(
            "Dial or open each line. Then confirm it under Lifecycle → Help lines, or with open_study "
            "--resources-checked-by NAME."
        ),
        "research-resources",
    )


def reach(spec: StudySpec) -> Requirement:
    """Return whether an alarm leaves this server: by mail, or to a webhook."""
    contacts = get_contacts(spec)
    sends_mail = settings.EMAIL_BACKEND != CONSOLE
    return Requirement(
        "reach",
        any(contact.webhook or (contact.email and sends_mail) for contact in contacts),
        _("An alarm can reach someone on call, by mail or by webhook."),
        _("Set EMAIL_URL, so that this server sends mail, or name a webhook in the section On call.")
        if contacts
        else _("Name someone in the section On call, with an address."),
        "research-design",
    )


def days_to_come(retention: RetentionSpec) -> Requirement:
    """Return the requirement that no day is over after which data go."""
    today = timezone.now().date()
    over = listed(f"{name}{in_brackets(day)}" for name in DAYS_KEPT if (day := retention.get_day(name)) and day < today)
    return Requirement(
        "retention",
        not over,
        _("The days until which data are kept are still to come."),
        _("Set later days in the section Retention of the design. These are over: %(days)s") % {"days": over},
        "research-design",
    )


def confirm_resources(study: Study, name: str) -> ResourceCheck:
    """Record that someone has tried the help lines that this study shows now."""
    country = study.current().spec().country
    return ResourceCheck.objects.create(study=study, country=country, version=list_version(), by_name=name)


def drill(study: Study) -> Requirement:
    return Requirement(
        "drill",
        not lacks_drill(study),
        _("Someone on call has acknowledged a drill in the last %(days)d days.") % {"days": DAYS},
        _("Send a drill from the safety desk. Whoever receives it presses the button behind its link."),
        "research-drill",
    )


def answers(study: Study) -> Requirement:
    """Return the requirement that each arm of this version answered the test question within `ANSWER_DAYS` days."""
    protocol = study.current()
    since = max(protocol.created_at, timezone.now() - timedelta(days=ANSWER_DAYS))
    calls = Call.objects.filter(purpose=Call.Purpose.CHECK, parameters__study=study.key, created_at__gte=since)
    last = {call.parameters["checked"]: call.status for call in calls.order_by("pk")}
    arms = protocol.arms.filter(paused=False).exclude(kind=SCRIPTED).values_list("key", flat=True)
    silent = [key for key in arms if last.get(f"arm {key}") not in GOOD]
    return Requirement(
        "arms",
        not silent,
        _("Every arm has answered a test question in the last %(days)d days.") % {"days": ANSWER_DAYS},
        _("Ask the models on the page Design, or with manage.py check_models %(key)s. Not seen to answer: %(arms)s")
        % {"key": study.key, "arms": listed(silent)},
        "research-design",
    )


def rehearsals(study: Study, spec: StudySpec) -> Iterator[Requirement]:
    """Yield a requirement for each track: a bot or a test link has completed this version."""
    ended = study.participations.test_data().filter(protocol=study.current(), status=Status.COMPLETED)
    tracks = set(ended.values_list("track", flat=True))
    for track in spec.tracks():
        yield Requirement(
            f"rehearsal-{track}",
            track in tracks,
            _("A bot, or someone on your team with a test link, has completed this version: %(track)s.")
            % {"track": Participation.Track(track).label},
            _("Use Lifecycle → Rehearse with bots, or run manage.py run_bots %(key)s --count 2 --track %(track)s.")
            % {"key": study.key, "track": track},
        )
