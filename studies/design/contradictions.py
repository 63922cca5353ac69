"""The faults of a study whose values are each well-formed but do not go together.

Pure but for reading instruments.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dialogue.chat.self_identification import names_itself
from dialogue.documents import place_of, suggestion
from dialogue.documents import translate as _
from dialogue.languages import CODES
from dialogue.schema import Rule, check_email
from studies.design.blocks import impossible
from studies.design.plan import SCREENING
from studies.design.safety_rules import SecondLine
from studies.design.spec import (
    BLINDING,
    CHECKPOINTS,
    CONSENT_KEYS,
    COUNSELLOR,
    DAILY_LIMIT,
    FOR_EXPERTS,
    FOR_PARTICIPANTS,
    INTERVIEW,
    MANUAL,
    TIMINGS,
    TOPIC_FLAGS,
    TRACKS,
    USUAL_RATERS,
    ArmSpec,
    ConsentSpec,
    StepSpec,
    StudySpec,
    Text,
)
from studies.design.strata import strata_faults
from studies.instruments.loading import RATING_SCALE, path_of
from studies.instruments.wording import keep_parts, placeholders

REVIEWER = "reviewer"
QUESTIONNAIRE = "questionnaire"  # the kind of step
CHECKPOINT, REPLY_RATING = "turn_checkpoint", "reply_rating"  # rating scales about a part of a conversation
OF_REVIEWERS = ("reviews", "pairs")  # the steps that no one else has
FOR_REVIEWERS = ("questionnaire", "training", *OF_REVIEWERS, "debrief")
ASKS_FOR_INTERVIEW = "if_interview"  # the part of a consent form that tells of one
NEED_INTERVIEW = (ASKS_FOR_INTERVIEW, "if_recording")  # parts that would promise what only such a step does
IMPLIED = {  # part of a consent form → what sets it
    TIMINGS: "display.timings",
    CHECKPOINTS: "[chat]",
    DAILY_LIMIT: "chat.conversations_per_day",
    FOR_PARTICIPANTS: "",  # a person's track
    FOR_EXPERTS: "",
    **dict.fromkeys(TOPIC_FLAGS.values(), "chat.topic"),
}
OF_MAIL = "_email"  # the end of a placeholder whose value is a mail address
MAYBE_ADDRESS = re.compile(r"[^\s,;:()<>，、；：。（）]+@[^\s,;:()<>，、；：。（）]+")  # but no name as @lab
AROUND_ADDRESS = ".[]\"'"
DEMO = "demo"  # the one study that may leave its consent form unfilled
GUIDE, WORST_CASE = "interview_guide", "worst_case_4"  # the guide names the dimensions of that scale only at its end
CANNOT_TELL = "cannot_tell"  # what a guess says beside the arms
CURRENCY = re.compile(
    r"(?<![A-Za-z])(AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|INR|JPY|KRW|NOK|NZD|PLN|SEK|SGD|TWD|USD)(?![A-Za-z])"
)


def contradictions(spec: StudySpec, instruments: Collection[str], instrument_folder: Path) -> Iterator[Rule]:
    """Return what does not go together, with its place. `instruments` are the ids that a study may use; their files are
    in `instrument_folder`."""
    yield from _twice("arms", spec.arms)
    yield from _twice("judges", spec.judges)
    if not spec.arms:
        yield ("arms",), _("no arms")
    elif spec.arms_per_person() > len(spec.arms):
        yield ("order", "arms_per_person"), _("there are only %(number)s arms", number=len(spec.arms))
    if spec.evaluator and not spec.seeker:
        yield ("evaluator",), _("needs [seeker]: the model that plays those for whom it rates")
    yield from _order_faults(spec)
    yield from strata_faults(spec, instruments, instrument_folder)
    yield from _chat_faults(spec)
    yield from _opening_faults(spec)
    yield from _step_faults(spec)
    yield from _instrument_faults(spec, instruments, instrument_folder)
    if spec.consent is None:
        yield ("consent",), _("is missing")
    else:
        yield from _provider_faults(spec.arms, spec.consent)
        yield from _currency_faults(spec, spec.consent)
        yield from _second_line_faults(spec.safety.second_line, spec.consent)
        if spec.consent.instrument in instruments:
            yield from _consent_faults(spec, spec.consent, instrument_folder / f"{spec.consent.instrument}.json")


def _order_faults(spec: StudySpec) -> Iterator[Rule]:
    order = spec.order
    if order.participants is not None and spec.selection == MANUAL:
        yield (
            ("order", "participants"),
            _("with manual selection, researchers decide how many to admit"),
        )
    if order.counsellors is None:
        if order.raters_per_arm is not None:
            yield ("order", "raters_per_arm"), _("needs counsellors, who share the arms")
        return
    if order.design != "blocks":
        yield ("order", "counsellors"), _('needs design = "blocks"')
    if order.arms_per_person is not None:
        yield ("order", "arms_per_person"), _("follows from counsellors and raters_per_arm: leave it out")
    if not any(step.kind == "chats" and step.is_for(COUNSELLOR) for step in spec.steps):
        yield ("order", "counsellors"), _("there are no chats in the counsellor track")
    if spec.arms:
        for wrong in impossible(len(spec.arms), order.counsellors, order.raters_per_arm or USUAL_RATERS):
            yield ("order", "counsellors"), wrong


def _twice(name: str, arms: Sequence[ArmSpec]) -> Iterator[Rule]:
    keys = [arm.key for arm in arms]
    for number, key in enumerate(keys):
        if key and key in keys[:number]:
            yield (
                (name, number, "key"),
                _('"%(key)s" is already the key of %(place)s', key=key, place=place_of((name, keys.index(key)))),
            )


def _chat_faults(spec: StudySpec) -> Iterator[Rule]:
    chat = spec.chat
    if chat.min_turns > chat.max_turns:
        yield ("chat", "min_turns"), _("is above max_turns (%(most)s)", most=chat.max_turns)
    key = "every" if chat.checkpoint_every else "checkpoints"
    turns = (chat.checkpoint_every,) if chat.checkpoint_every else chat.checkpoints
    beyond = [turn for turn in turns if turn > chat.max_turns]
    if beyond:
        yield ("chat", key), _("turn %(turn)s is beyond max_turns (%(most)s)", turn=beyond[0], most=chat.max_turns)
    if turns and not chat.checkpoint_instrument:
        yield ("chat", "checkpoint_instrument"), _("is missing, but there are checkpoints")
    if chat.checkpoint_instrument and not turns:
        yield ("chat", "checkpoints"), _("names no turn, but there is a checkpoint_instrument")
    if chat.conversations_per_day and spec.gone_after_days == 1:
        yield (
            ("chat", "conversations_per_day"),
            _("lets people wait until the next day, but gone_after_days ends their part after one"),
        )
    if not chat.final_instruments and any(step.kind == "chats" for step in spec.steps):
        yield ("chat", "final_instruments"), _("is missing: chats need a final rating")


def _opening_faults(spec: StudySpec) -> Iterator[Rule]:
    """Return openings that would tell people who answers: they are read for names as replies are."""
    titles = [title for arm in spec.arms for title in (arm.key, *arm.title.values())]
    names = tuple(dict.fromkeys([*spec.names(), *filter(None, titles)]))
    for language, text in spec.chat.opening.items():
        if names_itself(text, names):
            yield (
                ("chat", "opening", language),
                _("introduces the supporter by the name of an arm, a model or its maker: leave the name out"),
            )


def _step_faults(spec: StudySpec) -> Iterator[Rule]:
    if not any(step.kind == "consent" for step in spec.steps):
        yield ("steps",), _("no consent step")
    for number, step in enumerate(spec.steps):
        if step.kind == "consent" and spec.consent and step.instrument not in ("", spec.consent.instrument):
            yield (
                ("steps", number, "instrument"),
                _('differs from the instrument of [consent], "%(instrument)s"', instrument=spec.consent.instrument),
            )
    for number, step in enumerate(spec.steps):
        yield from _reviewer_step_faults(number, step)
    for track in TRACKS[1:]:
        walk = [(number, step) for number, step in enumerate(spec.steps) if step.is_for(track)]
        yield from _walk_faults(track, walk, spec.selection)
        yield from _after_chats_faults(track, walk, BLINDING, _("the blinding question"))
        yield from _after_chats_faults(track, walk, INTERVIEW, _("the interview"))
    asking = [number for number, step in enumerate(spec.steps) if step.kind == BLINDING]
    for number in asking:
        yield from _blinding_step_faults(number, spec, spec.steps[number])
    if asking:
        yield from _guessed_arm_faults(spec)


def _reviewer_step_faults(number: int, step: StepSpec) -> Iterator[Rule]:
    if step.kind in OF_REVIEWERS and step.track != REVIEWER:
        yield (
            ("steps", number, "track"),
            _('%(kind)s are for reviewers: give track = "%(track)s"', kind=step.kind, track=REVIEWER),
        )
    if step.track == REVIEWER and step.kind and step.kind not in FOR_REVIEWERS:
        yield ("steps", number, "kind"), _("reviewers have no %(kind)s step", kind=step.kind)
    if step.kind == "pairs" and step.instrument:
        yield ("steps", number, "instrument"), _("must be empty: the plan (plan_pairs) sets the questions about pairs")


def _walk_faults(track: str, walk: Sequence[tuple[int, StepSpec]], selection: str) -> Iterator[Rule]:
    for number, _step in [place for place in walk[:-1] if place[1].kind == "debrief"]:
        yield ("steps", number, "kind"), _("the debrief must be the last step")
    chats = [number for number, step in walk if step.kind == "chats"]
    if not chats:
        return
    for number in chats[1:]:
        yield ("steps", number, "kind"), _("chats may come only once")
    consents = [number for number, step in walk if step.kind == "consent"]
    if not consents:
        yield (
            ("steps", chats[0], "kind"),
            _("no consent step of the %(track)s track comes before the chats", track=track),
        )
    elif consents[0] > chats[0]:
        yield ("steps", consents[0], "kind"), _("consent must come before the chats")
    if selection == MANUAL and not any(step.instrument == SCREENING for _number, step in walk):
        yield (
            ("selection",),
            _(
                "manual selection needs a %(instrument)s questionnaire in the %(track)s track",
                instrument=SCREENING,
                track=track,
            ),
        )


def _after_chats_faults(track: str, walk: Sequence[tuple[int, StepSpec]], kind: str, name: str) -> Iterator[Rule]:
    """Yield the faults in the place of a step that comes once, after the chats. The debrief is last anyway."""
    chats = [number for number, step in walk if step.kind == "chats"]
    numbers = [number for number, step in walk if step.kind == kind]
    for number in numbers[:1]:
        if not chats:
            yield (
                ("steps", number, "kind"),
                _("no chats of the %(track)s track come before %(name)s", track=track, name=name),
            )
        elif number < chats[0]:
            yield ("steps", number, "kind"), _("%(name)s must come after the chats", name=name)
    for number in numbers[1:]:
        yield ("steps", number, "kind"), _("%(name)s may come only once", name=name)


def _blinding_step_faults(number: int, spec: StudySpec, step: StepSpec) -> Iterator[Rule]:
    if len(spec.arms) == 1:
        yield ("steps", number, "kind"), _("there is only one arm, and nothing to guess")
    if step.instrument != BLINDING:
        yield ("steps", number, "instrument"), _('must be "%(instrument)s"', instrument=BLINDING)


def _instrument_faults(spec: StudySpec, instruments: Collection[str], folder: Path) -> Iterator[Rule]:
    """Return interviews without a guide, and questionnaires that are made for another place."""
    for number, step in enumerate(spec.steps):
        if step.kind not in (INTERVIEW, QUESTIONNAIRE) or step.instrument not in instruments:
            continue
        place, name = ("steps", number, "instrument"), step.instrument
        form = json.loads(path_of(name, folder).read_text(encoding="utf-8"))
        if step.kind == INTERVIEW and form.get("kind") != INTERVIEW:
            yield place, _('"%(instrument)s" is no interview guide', instrument=name)
        elif step.kind == QUESTIONNAIRE and (wrong := _misplaced(name, form)):
            yield place, wrong


def _misplaced(name: str, form: Mapping[str, Any]) -> str:
    """Return where an instrument belongs that is made for another place than a questionnaire step; else nothing."""
    by_name = {
        CHECKPOINT: _('"%(instrument)s" is for checkpoints: name it in chat.checkpoint_instrument', instrument=name),
        REPLY_RATING: _('"%(instrument)s" comes under each reply: set chat.rate_each_reply', instrument=name),
        BLINDING: _('"%(instrument)s" belongs to a step of the kind blinding', instrument=name),
    }
    by_kind = {
        RATING_SCALE: _('"%(instrument)s" rates a conversation: name it in chat.final_instruments', instrument=name),
        "reply_flag": _(
            '"%(instrument)s" comes by itself beside each reply while a counsellor plays a role: take this step out',
            instrument=name,
        ),
        "pairwise": _(
            '"%(instrument)s" compares two conversations: reviewers get it by a plan of comparisons (plan_pairs)',
            instrument=name,
        ),
        "quiz": _('"%(instrument)s" belongs to a step of the kind training', instrument=name),
        INTERVIEW: _('"%(instrument)s" belongs to a step of the kind interview', instrument=name),
        "form": _('"%(instrument)s" is a consent form: name it in [consent]', instrument=name),
    }
    return by_name.get(name) or by_kind.get(form.get("kind", ""), "")


def _guessed_arm_faults(spec: StudySpec) -> Iterator[Rule]:
    """Return arms that no one could guess. People choose among the titles: each must name one arm, and none may be a
    key, which no page of theirs shows."""
    for number, arm in enumerate(spec.arms):
        if arm.key == CANNOT_TELL:
            yield ("arms", number, "key"), _('"%(word)s" is an answer to the blinding question', word=CANNOT_TELL)
        if arm.key and arm.key in arm.title.values():
            yield (
                ("arms", number, "title"),
                _("is missing or the same as the arm's key; the blinding question shows the titles"),
            )
        for other, earlier in enumerate(spec.arms[:number]):
            if shared := ", ".join(_languages_of_one_title(earlier, arm, spec.languages)):
                named = place_of(("arms", other))
                yield (
                    ("arms", number, "title"),
                    _(
                        "is also the title of %(place)s (%(languages)s), so a guess could mean either",
                        place=named,
                        languages=shared,
                    ),
                )


def _languages_of_one_title(one: ArmSpec, other: ArmSpec, languages: Sequence[str]) -> list[str]:
    titles = {language: (one.title.get(language, ""), other.title.get(language, "")) for language in languages}
    return [language for language, (this, that) in titles.items() if this and this.casefold() == that.casefold()]


def _provider_faults(arms: Sequence[ArmSpec], consent: ConsentSpec) -> Iterator[Rule]:
    for number, arm in enumerate(arms):
        if arm.provider and arm.provider not in consent.providers:
            named = suggestion(arm.provider, consent.providers)
            message = _('"%(provider)s" is not among consent.providers', provider=arm.provider)
            yield ("arms", number, "provider"), message + named
        if arm.kind == "openai_compatible" and not arm.provider:
            yield ("arms", number, "provider"), _("is missing: the consent form must name who gets a person's text")


def remarks(spec: StudySpec) -> list[str]:
    """Return remarks about settings that may be right but deserve a second look."""
    line = spec.safety.second_line
    used = {one.provider for one in (*spec.arms, *spec.judges, spec.seeker, spec.evaluator) if one}
    used |= {line.provider} if line else set()
    unused = [name for name in (spec.consent.providers if spec.consent else ()) if name not in used]
    texts = []
    if unused:
        names = ", ".join(unused)
        texts.append(_("The consent form names companies that no model of the study uses: %(names)s.", names=names))
    if _rates_what_the_interview_holds_back(spec):
        texts.append(
            _(
                "Counsellors rate %(instrument)s after each conversation, so the interview asks about dimensions that "
                "they know.",
                instrument=WORST_CASE,
            )
        )
    return texts


def _rates_what_the_interview_holds_back(spec: StudySpec) -> bool:
    interviewed = [step for step in spec.steps if step.kind == INTERVIEW and step.is_for(COUNSELLOR)]
    asks = any(step.instrument == GUIDE for step in interviewed)
    return asks and WORST_CASE in spec.chat.for_track(COUNSELLOR).final_instruments


def _currency_faults(spec: StudySpec, consent: ConsentSpec) -> Iterator[Rule]:
    """Yield a fault where the pay is in another currency than the consent form says, if texts name it by its code."""
    promised = _currencies(consent.values.get("pay_rate", {}))
    last_page = _currencies(spec.display.get("hourly_pay", {}))
    named = ", ".join(sorted(promised))
    if promised and last_page and not promised & last_page:
        currency = ", ".join(sorted(last_page))
        yield (
            ("display", "hourly_pay"),
            _("is in %(told)s, but consent.pay_rate is in %(named)s", told=currency, named=named),
        )
    if spec.payment and promised and spec.payment.currency not in promised:
        currency = spec.payment.currency
        yield (
            ("payment", "currency"),
            _("is %(told)s, but consent.pay_rate is in %(named)s", told=currency, named=named),
        )


def _currencies(text: Text) -> set[str]:
    return {code for words in text.values() for code in CURRENCY.findall(words)}


def _second_line_faults(line: SecondLine | None, consent: ConsentSpec) -> Iterator[Rule]:
    if line is None or line.kind == "scripted":
        return
    place = ("safety", "second_line")
    if not line.provider:
        yield (*place, "provider"), _("is missing: the consent form must name who gets a person's text")
    elif line.provider not in consent.providers:
        named = suggestion(line.provider, consent.providers)
        yield (*place, "provider"), _('"%(provider)s" is not among consent.providers', provider=line.provider) + named
    if line.kind == "openai_compatible" and not line.model:
        yield (*place, "model"), _("is missing")


def _consent_faults(spec: StudySpec, consent: ConsentSpec, file: Path) -> Iterator[Rule]:
    form = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    if "sections" not in form:
        yield ("consent", "instrument"), _('"%(instrument)s" is no consent form', instrument=consent.instrument)
        return
    for name in consent.values:
        if name not in form["placeholders"]:
            keys = (*form["placeholders"], *CONSENT_KEYS)
            yield ("consent", name), _("unknown key") + suggestion(name, keys)
    if spec.records_timings() and TIMINGS not in form["flags"]:
        yield (
            ("display", "timings"),
            _(
                'the consent form "%(instrument)s" does not mention timings (%(flag)s)',
                instrument=consent.instrument,
                flag=TIMINGS,
            ),
        )
    yield from _address_faults(consent)
    yield from _interview_flag_faults(spec, consent, form["flags"])
    for number, flag in enumerate(consent.flags):
        if flag in IMPLIED:
            yield (
                ("consent", "flags", number),
                _("is set by %(key)s, not here", key=IMPLIED[flag] or _("a person's track")),
            )
        elif flag not in form["flags"]:
            yield (
                ("consent", "flags", number),
                _('unknown flag "%(flag)s"', flag=flag) + suggestion(flag, form["flags"]),
            )
    if spec.key != DEMO:
        values = spec.consent_values()
        for name in needed_placeholders(form, spec.consent_flags("participant") | spec.consent_flags(COUNSELLOR)):
            if name in consent.values and not any(consent.values[name].values()):
                if name not in (*form.get("may_be_empty", ()), *values):
                    yield ("consent", name), _("is empty, but the consent form cannot do without it")
            elif not _is_filled(values.get(name, {})):
                yield ("consent", name), _("is not filled in, and the consent form needs it") + _way_out(form, name)


def _address_faults(consent: ConsentSpec) -> Iterator[Rule]:
    """Return mail addresses of the form that no mail reaches. A value that is called after one is nothing else; others
    may have words around."""
    for name, text in consent.values.items():
        wrong = next((fault for words in text.values() if (fault := _wrong_address(name, words))), "")
        if wrong:
            yield ("consent", name), wrong


def _wrong_address(name: str, words: str) -> str:
    """Return what is wrong with the mail addresses of a text; empty if nothing is, or if it is still a blank."""
    if "{{" in words:
        return ""
    addresses = (
        [words] if name.endswith(OF_MAIL) else [word.strip(AROUND_ADDRESS) for word in MAYBE_ADDRESS.findall(words)]
    )
    for address in addresses:
        try:
            check_email(address)
        except ValueError as error:
            return str(error) if name.endswith(OF_MAIL) else _('"%(word)s" is no e-mail address', word=address)
    return ""


def _interview_flag_faults(spec: StudySpec, consent: ConsentSpec, offered: Collection[str]) -> Iterator[Rule]:
    """Return that the consent form is silent about an interview, or announces one (or its recording) that no step
    holds."""
    interviews = any(step.kind == INTERVIEW for step in spec.steps)
    if interviews and ASKS_FOR_INTERVIEW in offered and ASKS_FOR_INTERVIEW not in consent.flags:
        yield (
            ("consent", "flags"),
            _(
                'the study has an interview, so the consent form must mention it: add "%(flag)s"',
                flag=ASKS_FOR_INTERVIEW,
            ),
        )
    for number, flag in enumerate(consent.flags):
        if flag in NEED_INTERVIEW and flag in offered and not interviews:
            yield (
                ("consent", "flags", number),
                _(
                    'the consent form announces an interview or its recording ("%(flag)s"), but no step is an '
                    "interview: add the step, or take this part out",
                    flag=flag,
                ),
            )


def _is_filled(text: Text) -> bool:
    return bool(text) and all(words and "{{" not in words for words in text.values())


def _way_out(form: Mapping[str, Any], name: str) -> str:
    return f" {way_out_in_files()}" if name in form.get("may_be_empty", ()) else ""


def way_out_in_files() -> str:
    """Return how a file says that there is nothing to fill in. Pages have a box for it."""
    return _('("" if there is none: its sentences are then left out)')


def needed_placeholders(form: Mapping[str, Any], flags: Collection[str]) -> list[str]:
    """Return the placeholders of a consent form that are left once its switched-off parts are gone, sorted. A part that
    hangs on whether there is a value needs it to be said, and so counts as switched on."""
    switches = {flag for flag in form["flags"] if flag not in flags}
    sections = [text for section in form["sections"] for text in section["text"].values()]
    boxes = [box[language] for box in form["checkboxes"] if _applies(box, flags) for language in CODES]
    texts = (keep_parts(text, lambda part: part not in switches) for text in sections + boxes)
    return sorted({name for text in texts for name in placeholders(text)})


def _applies(box: Mapping[str, Any], flags: Collection[str]) -> bool:
    return not box["audience"].startswith("if_") or box["audience"] in flags
